//! A history that begins behind open orders invents nothing that the snapshot does not say of them.

use crate::auctions::{account, market, place, symbol};
use crate::common::{EAGER, apply};
use engine::{DoneOrders, Engine};
use feed::{History, View};
use journal::simulated::SimulatedDisk;
use terms::{Command, Executed, Money, OrderId, Position, Side};

/// Twelve executions were lost, and as many equal ones that came later were taken for them.
#[test]
fn executions_that_add_up_by_chance_are_not_told_as_the_first_ones() {
    let mut commands = vec![
        Command::CreateSymbol { symbol: symbol() },
        Command::CreateAccount { account: account("1"), balance: Money::from_units(10_i128.pow(24)) },
        Command::CreateAccount { account: account("2"), balance: Money::from_units(10_i128.pow(24)) },
        Command::IssueShares { symbol: symbol(), account: account("2"), shares: Position::from_units(10_i128.pow(12)) },
        place("1", Side::Buy, 11, 100),
    ];
    let sells = || (0..12).map(|_| place("2", Side::Sell, 11, 1));
    commands.extend(sells());
    let begun = commands.len();
    commands.extend(sells());
    let market = market(commands);
    let mut engine = Engine::new(1, DoneOrders::Drop);
    for entry in &market.entries[..begun] {
        engine.apply(entry, &mut Vec::new(), &mut |_| {});
    }
    let mut history = History::open_sized(&SimulatedDisk::new(), &engine, EAGER).unwrap();
    let mut view = View::new(&engine, Some(&history));
    apply(&market, &mut view, &mut history, begun..market.batches.len());
    let so_far = || {
        let mut so_far = history.executions_so_far(OrderId(1)).unwrap().unwrap();
        while history.read_executions(&mut so_far, 5).unwrap() {}
        so_far
    };
    let later = so_far().known();
    assert_eq!(later.len(), 12);
    assert_eq!(so_far().oldest(&Executed::of(&later)), None);
}
