//! Rounds of turns: the orders of all symbols go on in equal parts, however many of one symbol wait.

use terms::{
    Bond, Command, Event, ExecutionBounds, NewOrder, OrderId, OrderKind, Place, Position, Price, Reply, Shares, Side,
    Symbol, Time, Trigger,
};

use crate::bounds::{Market, account, open_of, order};

const BOUNDS: ExecutionBounds = ExecutionBounds { command: 100, turn: 10, small: 1, share: 10, ..ExecutionBounds::ALL };

fn listed(number: usize) -> Symbol {
    Symbol::parse(format!("S{number}").as_bytes()).unwrap()
}

/// An order in a symbol of a number.
fn of(number: usize, side: Side, shares: i64) -> NewOrder {
    NewOrder { symbol: listed(number), ..order(side, 500, shares) }
}

/// A market with these symbols, in each of which account 1 may sell many shares.
fn market(symbols: usize) -> Market {
    let mut market = Market::with_bounds(BOUNDS);
    for symbol in (0..symbols).map(listed) {
        market.apply(Command::CreateSymbol { symbol });
        let shares = Position::from_units(1_000_000);
        market.apply(Command::IssueShares { symbol, account: account(1), shares });
    }
    market
}

/// Has account 1 sell so many single shares in a symbol.
fn sell_each(market: &mut Market, number: usize, shares: usize) {
    for _ in 0..shares {
        market.place(1, of(number, Side::Sell, 1));
    }
}

/// Begins a turn that has executed all that it may, so that each further command executes once.
fn begin_turn(market: &mut Market) {
    for _ in 0..10 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    market.turn = Some(Time(1_000_000_000));
    market.place(2, order(Side::Buy, 500, 10));
    assert_eq!(market.executed(), 10);
}

/// Has an order that sells one share wait for one that buys it, and has that one execute.
fn bracket(market: &mut Market, number: usize) -> OrderId {
    let pending = NewOrder { symbol: listed(number), ..order(Side::Sell, 900, 1) };
    let pending = place_two(market, 2, of(number, Side::Buy, 1), pending);
    market.place(1, of(number, Side::Sell, 1));
    assert_eq!(market.executed(), 1);
    pending
}

/// Whether a command released an order that waited for another one.
fn is_released(market: &Market, pending: OrderId) -> bool {
    market.events.iter().any(|event| matches!(event, Event::OrderReleased { order, .. } if *order == pending))
}

/// A symbol kept its rank until the last order of a queue had its turn. Market buys hold nothing, so an account without
/// a share or a dollar at stake kept those of other symbols waiting for a thousand commands.
#[test]
fn orders_of_other_symbols_have_their_turns_beside_thousands_of_stops_at_one_price() {
    let mut market = market(4);
    let trigger = Trigger::from_below(Price::from_units(500).unwrap());
    let stop = NewOrder::market(listed(0), Side::Buy, Shares::from_units(1).unwrap()).triggered_by(trigger);
    for _ in 0..4_000 {
        market.place(2, stop);
    }
    sell_each(&mut market, 0, 1);
    market.place(2, of(0, Side::Buy, 1));
    assert_eq!(market.engine.reached_orders(), 3_000, "one command activates a thousand");
    sell_each(&mut market, 1, 30);
    sell_each(&mut market, 2, 1);
    let stop_loss = market.place(2, NewOrder { kind: OrderKind::Limit, ..of(2, Side::Buy, 1) }.triggered_by(trigger));
    begin_turn(&mut market);
    let sweep = market.place(2, of(1, Side::Buy, 26));
    assert_eq!(open_of(&market, 2, sweep), 25, "it is under way");
    market.place(2, of(2, Side::Buy, 1));
    let pending = bracket(&mut market, 3);
    market.apply(Command::ActivateReached);
    assert!(market.engine.reached_orders() > 1_000, "most of the stops wait");
    assert_eq!(open_of(&market, 2, sweep), 0, "it has three turns with one command");
    let is_its = |event: &Event| matches!(event, Event::OrderTriggered { order, .. } if *order == stop_loss);
    assert!(market.events.iter().any(is_its), "a stop of another symbol is activated");
    assert!(is_released(&market, pending), "an order whose working order was executed is placed");
    market.check();
}

/// The next order of the queue came at once, so an order of another symbol waited for a hundred thousand.
#[test]
fn an_order_waits_for_no_more_than_one_order_of_each_symbol_at_a_turn() {
    let mut market = market(2);
    sell_each(&mut market, 0, 600);
    sell_each(&mut market, 1, 30);
    begin_turn(&mut market);
    for _ in 0..50 {
        market.place(2, of(0, Side::Buy, 10));
    }
    let short = market.place(2, of(1, Side::Buy, 26));
    assert_eq!((market.engine.reached_orders(), open_of(&market, 2, short)), (51, 25));
    market.apply(Command::ActivateReached);
    assert_eq!(open_of(&market, 2, short), 0);
    let last = market
        .events
        .iter()
        .rposition(|event| matches!(event, Event::Executed { aggressor, .. } if *aggressor == short));
    let before = market.events[..last.unwrap()].iter().filter(|event| matches!(event, Event::Executed { .. })).count();
    assert!(before <= 24 + 3 * 10, "{before} executions before its last one");
    assert_eq!(market.executed(), 100, "the rest of the command is left to the others");
    market.check();
}

/// Each command began with the same symbols.
#[test]
fn symbols_that_take_whole_commands_leave_turns_to_others() {
    const BUSY: usize = 30;
    let mut market = market(BUSY + 2);
    for number in 0..BUSY {
        sell_each(&mut market, number, 1_000);
    }
    sell_each(&mut market, BUSY, 30);
    begin_turn(&mut market);
    for number in 0..BUSY {
        for _ in 0..100 {
            market.place(2, of(number, Side::Buy, 10));
        }
    }
    let short = market.place(2, of(BUSY, Side::Buy, 21));
    let pending = bracket(&mut market, BUSY + 1);
    let (mut commands, mut released) = (0, None);
    while released.is_none() || open_of(&market, 2, short) > 0 {
        market.apply(Command::ActivateReached);
        commands += 1;
        released = released.or(is_released(&market, pending).then_some(commands));
        assert!(commands < 60, "one command in three comes to each symbol");
    }
    assert!(released < Some(10), "{released:?}");
    market.check();
}

/// Places a working order, and one that waits for it.
fn place_two(market: &mut Market, number: u32, working: NewOrder, pending: NewOrder) -> OrderId {
    let (account, order, client_id, until) = (account(number), working, None, None);
    market.apply(Command::Place(
        Place::order(account, order).named(client_id).until(until).bound(Bond::Working { two_wait: false }),
    ));
    let told =
        market.apply(Command::Place(Place::order(account, pending).named(client_id).until(until).bound(Bond::Pending)));
    let Reply::Opened(pending) = told else { panic!("{told:?}") };
    pending
}

/// A large fill-or-kill once had the executions of a whole command besides, and its turn counted none of them.
#[test]
fn a_clients_own_command_places_no_large_fill_or_kill_beyond_what_its_turn_may_execute() {
    const SMALL: usize = 10;
    let mut market = Market::with_bounds(ExecutionBounds { small: SMALL as u32, ..BOUNDS });
    begin_turn(&mut market);
    for _ in 0..200 {
        market.place(2, order(Side::Sell, 600, 1));
    }
    let trigger = Trigger::from_below(Price::from_units(600).unwrap());
    let stop = NewOrder::market(order(Side::Buy, 1, 1).symbol, Side::Buy, Shares::from_units(1).unwrap());
    for _ in 0..2 {
        market.place(2, stop.triggered_by(trigger));
    }
    place_two(&mut market, 1, order(Side::Sell, 500, 1), order(Side::Buy, 600, 1));
    let fill = NewOrder { kind: OrderKind::FillOrKill, ..order(Side::Buy, 600, 100) };
    let fill = place_two(&mut market, 1, order(Side::Sell, 500, 1), fill);
    market.place(2, order(Side::Buy, 500, 2));
    assert!(market.executed() >= 3, "the order that waited first is placed");
    assert!(market.executed() <= SMALL, "{} executions of one command", market.executed());
    assert_eq!((open_of(&market, 1, fill), market.engine.reached_orders()), (100, 1));
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), open_of(&market, 1, fill)), (100, 0), "a command of the loop places it");
    market.check();
}

/// Orders of one working order were placed between two rounds, and none where the first round took the command.
#[test]
fn orders_whose_working_orders_are_executed_do_not_wait_for_a_command_each() {
    const BUSY: usize = 30;
    let mut market = market(BUSY + 1);
    for number in 0..BUSY {
        sell_each(&mut market, number, 1_000);
    }
    begin_turn(&mut market);
    for number in 0..BUSY {
        for _ in 0..100 {
            market.place(2, of(number, Side::Buy, 10));
        }
    }
    for _ in 0..1_000 {
        bracket(&mut market, BUSY);
    }
    let pending = bracket(&mut market, BUSY);
    let (mut commands, mut is_placed) = (0, false);
    while !is_placed {
        market.apply(Command::ActivateReached);
        commands += 1;
        is_placed = is_released(&market, pending);
        assert!(commands < 150, "symbols have turns, and as many pending orders have theirs with one command in two");
    }
    assert!(market.engine.reached_orders() > 1_000, "orders of the others wait all the while");
    market.check();
}
