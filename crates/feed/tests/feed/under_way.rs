//! Followed orders that one command does not bring to their end: what the view shows of them, and their trades, which
//! the history finds though trades of others stand between them.

use crate::common::{EAGER, Market, apply, batch, follow_sized};
use feed::{History, View};
use journal::simulated::{PowerCut, SimulatedDisk};
use model::workload::Random;
use terms::{
    AccountId, Command, Event, ExecutionBounds, Money, NewOrder, OrderId, OrderKind, Place, Position, Price, Shares,
    Side, Symbol, Time,
};

const ONE: i64 = 100_000_000;
const TURNS: usize = 250;

/// A command executes twice; or four times, and one execution after the other of orders of different symbols.
fn bounds(seed: u64) -> ExecutionBounds {
    match seed % 2 {
        0 => ExecutionBounds::of_command(2),
        _ => ExecutionBounds { share: 1, ..ExecutionBounds::of_command(4) },
    }
}

/// Builds a market of two symbols with small orders, and large ones that take them.
fn market(seed: u64) -> Market {
    let mut market = Market::new(seed).with_execution_bounds(bounds(seed));
    let mut random = Random::new(seed ^ 0xBEEF);
    let symbols = ["S", "T"].map(|name| Symbol::parse(name.as_bytes()).unwrap());
    let accounts = ["1", "22", "333"].map(|id| AccountId::parse(id.as_bytes()).unwrap());
    let mut first: Vec<Command> = symbols.map(|symbol| Command::CreateSymbol { symbol }).into();
    for account in accounts {
        first.push(Command::CreateAccount { account, balance: Money::from_units(10_i128.pow(25)) });
        let shares = Position::from_units(10_i128.pow(14));
        first.extend(symbols.map(|symbol| Command::IssueShares { symbol, account, shares }));
    }
    turn(&mut market, first);
    for _ in 0..TURNS {
        let mut commands = Vec::new();
        for _ in 0..=random.below(4) {
            let (account, symbol) = (random.pick(&accounts), random.pick(&symbols));
            let price = |units: i64| Price::from_units(units * ONE).unwrap();
            let shares = |units: usize| Shares::from_units(units as i64 * ONE).unwrap();
            let order = match random.below(10) {
                0..6 => NewOrder::limit(symbol, Side::Sell, price(95 + random.below(6) as i64), shares(1)),
                6..9 => {
                    let kind = random.pick(&OrderKind::ALL);
                    NewOrder::of_kind(kind, symbol, Side::Buy, price(101), shares(2 + random.below(8)))
                }
                _ => {
                    let order = OrderId(1 + random.below(1 + market.placed.len()) as u64);
                    commands.push(Command::CancelOrder { account, order: order.into() });
                    continue;
                }
            };
            commands.push(Command::Place(Place::order(account, order)));
        }
        if random.percent(50) {
            commands.insert(0, Command::ActivateReached);
        }
        turn(&mut market, commands);
    }
    market
}

fn turn(market: &mut Market, commands: Vec<Command>) {
    let mut events = Vec::new();
    let time = Time(1_700_000_000_000_000 + market.engine.sequence().0 * 1_000);
    commands.into_iter().for_each(|command| market.apply(command, time, &mut events));
    market.batches.push((market.engine.sequence(), time, events));
}

/// Counts how often an order that had executed went on with an execution of another order just before.
fn gone_on(market: &Market) -> usize {
    let mut last = None;
    let mut count = 0;
    let events = market.batches.iter().flat_map(|(_, _, events)| events);
    let mut resumed = None;
    for (_, event) in events {
        if let Event::OrderResumed { order, placed, .. } = *event {
            let had = market.placed_shares(order) != placed.shares;
            resumed = Some(order).filter(|order| had && last != Some(*order));
        } else if let Event::Executed { aggressor, .. } = *event {
            count += usize::from(resumed.take() == Some(aggressor));
            last = Some(aggressor);
        }
    }
    count
}

#[test]
fn the_view_shows_orders_under_way_and_those_behind_them_from_wherever_it_begins() {
    let (mut resumed, mut shown) = (0, 0);
    for seed in 0..8 {
        let mut market = market(seed);
        resumed += market.resumed();
        let (model, batches) = (std::mem::take(&mut market.entries), std::mem::take(&mut market.batches));
        let mut again = Market::new(seed).with_execution_bounds(bounds(seed));
        let mut view = View::new(&again.engine, None);
        let mut entries = model.into_iter().peekable();
        for (at, (through, time, _)) in batches.into_iter().enumerate() {
            let mut events = Vec::new();
            while let Some(entry) = entries.next_if(|entry| entry.sequence <= through) {
                again.apply(entry.command, entry.time, &mut events);
            }
            again.batches.push((through, time, events));
            view.apply(&batch(&again, at));
            again.check(&view);
            again.check(&View::new(&again.engine, None));
            shown += again.model.open_orders().filter(|order| order.delayed.is_some()).count();
        }
    }
    assert!(resumed > 200 && shown > 200, "{resumed} orders had their turn, {shown} were shown before");
}

#[test]
fn the_executions_of_an_order_that_goes_on_are_found_also_after_a_crash_in_between() {
    let mut apart = 0;
    for seed in 0..8 {
        let market = market(seed);
        apart += gone_on(&market);
        let turns = market.batches.len();
        let (view, history) = follow_sized(&market, &SimulatedDisk::new(), turns, EAGER);
        market.check(&view);
        for page in [1, 7] {
            market.check_history(&history, page);
        }
        for cut in (1..turns).step_by(31) {
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
            market.check_history(&history, 50);
        }
    }
    assert!(apart > 30, "only {apart} went on behind executions of others");
}
