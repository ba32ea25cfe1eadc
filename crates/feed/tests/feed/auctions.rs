//! The history of orders that execute in an auction, where a resting order may be the aggressor, and more than once.

use crate::common::{EAGER, Market, apply, follow_sized};
use feed::{History, View};
use journal::simulated::{PowerCut, SimulatedDisk};
use terms::{
    AccountId, Command, Money, NewOrder, OrderId, Phase, Place, Position, Price, Sequence, Shares, Side, Symbol,
    SymbolIndex, Time,
};

const ONE: i64 = 100_000_000;

pub fn symbol() -> Symbol {
    Symbol::parse(b"S").unwrap()
}

pub fn account(number: &str) -> AccountId {
    AccountId::parse(number.as_bytes()).unwrap()
}

pub fn place(number: &str, side: Side, dollars: i64, shares: i64) -> Command {
    let (limit, shares) = (Price::from_units(dollars * ONE).unwrap(), Shares::from_units(shares * ONE).unwrap());
    let order = NewOrder::limit(symbol(), side, limit, shares);
    Command::Place(Place::order(account(number), order))
}

fn phase(phase: Phase) -> Command {
    Command::ChangePhase { symbol: symbol(), phase, due: None }
}

/// Builds a market in which each command is a turn.
pub fn market(commands: Vec<Command>) -> Market {
    let mut market = Market::new(1);
    for command in commands {
        let mut events = Vec::new();
        let time = Time(1_700_000_000_000_000 + market.engine.sequence().0 * 1_000);
        market.apply(command, time, &mut events);
        market.batches.push((market.engine.sequence(), time, events));
    }
    market
}

/// Order 2 buys: in one auction it is the older one of the first two pairs, the younger one of the next, and the older
/// one again. After that it is a maker like any other, and once more in the next auction.
fn alternating() -> Vec<Command> {
    let mut commands = vec![
        Command::CreateSymbol { symbol: symbol() },
        Command::CreateAccount { account: account("1"), balance: Money::from_units(10_i128.pow(24)) },
        Command::CreateAccount { account: account("2"), balance: Money::from_units(10_i128.pow(24)) },
        Command::IssueShares { symbol: symbol(), account: account("2"), shares: Position::from_units(10_i128.pow(12)) },
        phase(Phase::Auction),
        place("2", Side::Sell, 99, 1),
        place("1", Side::Buy, 105, 9),
        place("2", Side::Sell, 98, 1),
        place("2", Side::Sell, 100, 1),
        place("2", Side::Sell, 97, 1),
        phase(Phase::Open),
        place("2", Side::Sell, 105, 2),
        phase(Phase::Auction),
        place("1", Side::Buy, 106, 1),
        place("2", Side::Sell, 104, 2),
        phase(Phase::Open),
        place("2", Side::Sell, 105, 7),
    ];
    commands.push(place("1", Side::Buy, 95, 1));
    commands
}

#[test]
fn the_executions_of_an_order_are_found_whatever_it_was_in_each() {
    let market = market(alternating());
    let of_two: Vec<_> = market
        .trades
        .iter()
        .filter(|trade| [trade.maker_order, trade.aggressor_order].contains(&OrderId(2)))
        .map(|trade| trade.aggressor_order == OrderId(2))
        .collect();
    assert!(of_two.windows(2).filter(|roles| roles == &[false, true]).count() >= 1, "{of_two:?}");
    assert!(market.model.order(OrderId(2)).open.is_zero(), "it is done");
    let turns = market.batches.len();
    let (view, history) = follow_sized(&market, &SimulatedDisk::new(), turns, EAGER);
    market.check(&view);
    for page in [1, 2, 100] {
        market.check_history(&history, page);
    }
    let executions = history.executions_of(OrderId(2), 100).unwrap().unwrap();
    assert_eq!(executions.len(), of_two.len());
    let mut done = history.done(OrderId(2)).unwrap().unwrap();
    while history.read_executions(&mut done.executions, 1).unwrap() {}
    let found: Vec<_> = done.executions.finish().unwrap().iter().map(|execution| execution.shares).collect();
    assert_eq!(found, executions.iter().map(|trade| trade.shares).collect::<Vec<_>>());
}

/// A history that is behind follows an auction's events once more, and notes nothing twice.
#[test]
fn a_history_that_was_cut_off_anywhere_finds_the_same() {
    let market = market(alternating());
    let turns = market.batches.len();
    for cut in 1..turns {
        let disk = SimulatedDisk::new();
        let (_, mut history) = follow_sized(&market, &disk, cut, EAGER);
        history.checkpoint().unwrap();
        drop(history);
        let disk = disk.after_crash(cut as u64, PowerCut::LosesAll);
        let engine = market.engine_after(cut / 2);
        let mut history = History::open_sized(&disk, &engine, EAGER).unwrap();
        let mut view = View::new(&engine, Some(&history));
        apply(&market, &mut view, &mut history, cut / 2..turns);
        market.check(&view);
        market.check_history(&history, 3);
    }
}

#[test]
fn the_view_shows_what_gathers_from_wherever_it_begins() {
    let market = market(alternating());
    for begin in 0..market.batches.len() {
        let engine = market.engine_after(begin);
        let view = View::new(&engine, None);
        let (symbol, sequence) = (SymbolIndex(0), engine.sequence());
        if sequence == Sequence::ZERO {
            continue;
        }
        assert_eq!(view.listing(symbol).phase, engine.phase(symbol));
        let is_open = engine.phase(symbol).phase == Phase::Open;
        assert_eq!(view.listing(symbol).auction_price(), engine.auction_price(symbol).filter(|_| !is_open));
    }
}
