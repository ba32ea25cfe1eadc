//! The most triggers that one command reaches, and what happens until later commands have reached the others.

use terms::{
    Command, Event, NewOrder, OrderId, OrderKind, Phase, Position, Price, Reject, Reply, Shares, Side, Symbol,
    SymbolIndex, Trigger,
};

use crate::bounds::{Market, account, open_of, order, restart};

/// The executions of a command.
const MOST: u32 = 10;

/// Has account 2 buy one share when an execution reaches this price from below.
fn stop(market: &mut Market, trigger: i64, limit: i64) -> OrderId {
    let trigger = Trigger::from_below(Price::from_units(trigger).unwrap());
    market.place(2, order(Side::Buy, limit, 1).triggered_by(trigger))
}

/// Executes one share at a price. Account 1 sells it and account 2 buys it.
fn trade(market: &mut Market, price: i64) {
    market.place(1, order(Side::Sell, price, 1));
    market.place(2, order(Side::Buy, price, 1));
}

/// The triggers that the last command reached.
fn reached(market: &Market) -> Vec<i64> {
    let of = |event: &Event| match event {
        Event::TriggerReached { trigger, .. } => Some(trigger.price().units()),
        _ => None,
    };
    market.events.iter().filter_map(of).collect()
}

/// The orders whose turn came with the last command.
fn turns(market: &Market) -> Vec<OrderId> {
    let of = |event: &Event| match event {
        Event::OrderTriggered { order, .. } | Event::OrderResumed { order, .. } => Some(*order),
        _ => None,
    };
    market.events.iter().filter_map(of).collect()
}

/// A regression: one execution reached a million triggers at once, and all of them were events of one command.
#[test]
fn a_command_reaches_so_many_triggers_and_later_ones_the_others() {
    let mut market = Market::new(MOST);
    let stops: Vec<OrderId> = (0..3 * MOST as i64).map(|nth| stop(&mut market, 101 + nth, 50)).collect();
    trade(&mut market, 200);
    assert_eq!(
        reached(&market),
        (101..110).collect::<Vec<_>>(),
        "the execution counts as one, and so does each trigger"
    );
    assert_eq!((turns(&market).len(), market.engine.reached_orders()), (0, 9 + 1), "the loop is to go on");
    market.check();
    // An order that comes now waits behind those that are reached, and so the last price stays.
    let waits = market.place(1, order(Side::Sell, 50, 2));
    assert_eq!((market.executed(), open_of(&market, 1, waits)), (0, 2));
    // A trigger that the last price reaches stays refused, and one that it does not reach may be placed.
    let low = order(Side::Buy, 50, 1).triggered_by(Trigger::from_below(Price::from_units(199).unwrap()));
    let asked = Command::PlaceOrder { account: account(2), order: low, client_id: None, until: None };
    assert!(matches!(market.apply(asked), Reply::Rejected(Reject::TriggersAtOnce { .. })));
    stop(&mut market, 201, 50);
    let mut events = 0;
    let (mut told, mut in_turn) = (Vec::new(), Vec::new());
    while market.engine.reached_orders() > 0 {
        restart(&mut market);
        market.apply(Command::ActivateReached);
        market.check();
        events = events.max(market.events.len());
        told.extend(reached(&market));
        in_turn.extend(turns(&market));
    }
    assert_eq!(told, (110..131).collect::<Vec<_>>(), "the nearest first, each once");
    let [before, after] = [&stops[..9], &stops[9..]];
    assert_eq!(in_turn, [before, &[waits], after].concat(), "in the order in which they began to wait for their turn");
    assert_eq!(open_of(&market, 1, waits), 0, "it met those that had their turn before it");
    assert!(events <= 12 * MOST as usize, "{events} events of one command");
}

/// Orders at one price are one step, however many they are.
#[test]
fn orders_with_one_trigger_are_reached_together() {
    let mut market = Market::new(MOST);
    for _ in 0..3 * MOST {
        stop(&mut market, 101, 50);
    }
    trade(&mut market, 200);
    assert_eq!(reached(&market), [101]);
    assert_eq!(market.engine.reached_orders(), 0, "and a command activates a thousand of them");
    market.check();
}

/// A regression: 25,000 market buys, which hold nothing, waited just above the last price. A buy of another client
/// executed at its first price alone, and its next maker could cancel before it went on.
#[test]
fn triggers_that_lie_before_an_order_do_not_cut_it() {
    for (side, far, first) in [(Side::Buy, 160, 150), (Side::Sell, 40, 50)] {
        let mut market = Market::new(MOST);
        trade(&mut market, 100);
        let (maker, taker) = (if side == Side::Buy { 1 } else { 2 }, if side == Side::Buy { 2 } else { 1 });
        let triggers = 2 * MOST as i64;
        for nth in 0..triggers {
            let trigger = match side {
                Side::Buy => Trigger::from_below(Price::from_units(101 + nth).unwrap()),
                Side::Sell => Trigger::from_above(Price::from_units(99 - nth).unwrap()),
            };
            market.place(2, order(Side::Buy, 1, 1).triggered_by(trigger));
        }
        for limit in [first, far] {
            market.place(maker, order(side.opposite(), limit, 1));
        }
        let placed = market.place(taker, order(side, far, 2));
        assert_eq!((market.executed(), open_of(&market, taker, placed)), (2, 0), "{side:?}");
        assert_eq!(reached(&market).len(), MOST as usize - 2, "as many as the command has left");
        let mut left = triggers - reached(&market).len() as i64;
        while market.engine.reached_orders() > 0 {
            restart(&mut market);
            market.apply(Command::ActivateReached);
            market.check();
            left -= reached(&market).len() as i64;
        }
        assert_eq!(left, 0, "its last price reaches all that its first one does");
    }
}

/// A symbol has no executions yet, so triggers of both directions are reached at once.
#[test]
fn an_order_reaches_what_it_leaves_behind_before_it_goes_on_and_the_others_last() {
    let mut market = Market::new(100);
    for (trigger, is_from_below) in [(80, true), (120, true), (150, false), (110, false)] {
        let price = Price::from_units(trigger).unwrap();
        let trigger = if is_from_below { Trigger::from_below(price) } else { Trigger::from_above(price) };
        market.place(2, order(Side::Buy, 1, 1).triggered_by(trigger));
    }
    for limit in [100, 130] {
        market.place(1, order(Side::Sell, limit, 1));
    }
    market.place(2, order(Side::Buy, 130, 2));
    assert_eq!(reached(&market), [150, 110, 80, 120]);
    let executed = market.events.iter().rposition(|event| matches!(event, Event::Executed { .. })).unwrap();
    let told = market.events[..executed].iter().filter(|event| matches!(event, Event::TriggerReached { .. }));
    assert_eq!(told.count(), 2, "130 does not reach 110, so these come before it");
    market.check();
}

/// An order at its second price would no longer know the triggers that it reached at the first one, and left behind.
#[test]
fn an_order_goes_no_further_than_its_first_price_while_that_reaches_triggers() {
    for stops in [MOST as i64 - 3, MOST as i64 + 5] {
        let mut market = Market::new(MOST);
        // Nothing has executed, so there are triggers on both sides of the first price.
        for nth in 0..stops {
            let trigger = Trigger::from_above(Price::from_units(200 + nth).unwrap());
            market.place(1, order(Side::Sell, 900, 1).triggered_by(trigger));
        }
        for limit in [100, 250] {
            market.place(1, order(Side::Sell, limit, 1));
        }
        let taker = market.place(2, order(Side::Buy, 300, 2));
        let is_cut = stops > MOST as i64;
        assert_eq!((market.executed(), open_of(&market, 2, taker)), if is_cut { (1, 1) } else { (2, 0) });
        assert_eq!(reached(&market).len() as i64, if is_cut { MOST as i64 - 1 } else { stops });
        let mut left = stops - reached(&market).len() as i64;
        while market.engine.reached_orders() > 0 {
            restart(&mut market);
            market.apply(Command::ActivateReached);
            market.check();
            left -= reached(&market).len() as i64;
        }
        assert_eq!(
            (left, open_of(&market, 2, taker)),
            (0, 0),
            "all were reached at 100, also those that 250 does not reach"
        );
    }
}

/// The triggers that it reaches before it leaves its first price count, or it would be cut there.
#[test]
fn a_fill_or_kill_order_counts_the_triggers_that_its_first_price_reaches() {
    for (stops, is_filled) in [(MOST as i64 - 2, true), (MOST as i64 - 1, false)] {
        let mut market = Market::new(MOST);
        for nth in 0..stops {
            // Those that lie before it do not count.
            stop(&mut market, 50 + nth, 10);
            let trigger = Trigger::from_above(Price::from_units(150 + nth).unwrap());
            market.place(1, order(Side::Sell, 900, 1).triggered_by(trigger));
        }
        for limit in [100, 101] {
            market.place(1, order(Side::Sell, limit, 1));
        }
        let taker = market.place(2, NewOrder { kind: OrderKind::FillOrKill, ..order(Side::Buy, 300, 2) });
        assert_eq!((market.executed(), open_of(&market, 2, taker)), (if is_filled { 2 } else { 0 }, 0));
        market.check();
        while market.engine.reached_orders() > 0 {
            market.apply(Command::ActivateReached);
        }
        // At one price none of them matters.
        let taker = market.place(2, NewOrder { kind: OrderKind::FillOrKill, ..order(Side::Buy, 300, 1) });
        assert_eq!((market.executed(), open_of(&market, 2, taker)), (usize::from(!is_filled), 0));
        market.check();
    }
}

/// The price of an auction would be another last price.
#[test]
fn an_auction_waits_until_the_triggers_of_the_last_price_are_reached() {
    let mut market = Market::new(MOST);
    let stops: Vec<OrderId> = (0..25).map(|nth| stop(&mut market, 101 + nth, 50)).collect();
    trade(&mut market, 200);
    market.phase(Phase::Auction);
    market.place(1, order(Side::Sell, 60, 1));
    market.place(2, order(Side::Buy, 60, 1));
    market.phase(Phase::Open);
    assert_eq!(market.engine.phase(SymbolIndex(0)).phase, Phase::Auction, "it goes on");
    assert!(!market.engine.has_auctions_to_end(market.engine.time()), "and the loop need not ask");
    market.apply(Command::EndAuction);
    assert_eq!((market.executed(), market.engine.phase(SymbolIndex(0)).phase), (0, Phase::Auction));
    market.apply(Command::CancelOrder { account: account(2), order: stops[24].into() });
    for left in [true, true, false] {
        restart(&mut market);
        market.apply(Command::ActivateReached);
        market.check();
        assert_eq!(market.engine.reached_orders(), usize::from(left), "they are held back");
        assert_eq!(market.engine.has_auctions_to_end(market.engine.time()), !left);
    }
    market.apply(Command::EndAuction);
    assert_eq!(market.executed(), 1);
    assert_eq!(market.engine.phase(SymbolIndex(0)).phase, Phase::Open);
    market.check();
}

/// A symbol whose triggers took hundreds of commands kept the auctions of all symbols that were due later.
#[test]
fn the_auction_of_another_symbol_ends_while_triggers_are_left() {
    let mut market = Market::new(MOST);
    let other = Symbol::parse(b"OTHER").unwrap();
    market.apply(Command::CreateSymbol { symbol: other });
    let phase = |market: &mut Market, phase| {
        market.apply(Command::ChangePhase { symbol: other, phase, due: None });
        market.engine.phase(SymbolIndex(1)).phase
    };
    for nth in 0..25 {
        stop(&mut market, 101 + nth, 50);
    }
    trade(&mut market, 200);
    market.phase(Phase::Auction);
    market.place(1, order(Side::Sell, 60, 1));
    market.place(2, order(Side::Buy, 60, 1));
    market.phase(Phase::Open);
    assert_eq!(phase(&mut market, Phase::Auction), Phase::Auction);
    let issued = Command::IssueShares { account: account(1), symbol: other, shares: Position::from_units(100) };
    market.apply(issued);
    for side in [Side::Sell, Side::Buy] {
        let of = account(if side == Side::Sell { 1 } else { 2 });
        for _ in 0..2 * MOST {
            let limit = Price::from_units(70).unwrap();
            let placed = NewOrder::limit(other, side, limit, Shares::from_units(1).unwrap());
            market.apply(Command::PlaceOrder { account: of, order: placed, client_id: None, until: None });
        }
    }
    assert_eq!(phase(&mut market, Phase::Open), Phase::Auction, "it goes on with what is left");
    assert!(market.engine.has_auctions_to_end(market.engine.time()), "and the loop asks for its end");
    market.apply(Command::EndAuction);
    assert_eq!(market.executed(), MOST as usize);
    assert_eq!(market.engine.phase(SymbolIndex(0)).phase, Phase::Auction, "which waits for its triggers");
    market.check();
}

/// Their symbol is free when the last of them is canceled.
#[test]
fn orders_whose_triggers_are_left_can_be_canceled() {
    let mut market = Market::new(MOST);
    let stops: Vec<OrderId> = (0..11).map(|nth| stop(&mut market, 101 + nth, 50)).collect();
    trade(&mut market, 200);
    for (nth, stop) in stops.iter().enumerate() {
        let told = market.apply(Command::CancelOrder { account: account(2), order: (*stop).into() });
        assert!(matches!(told, Reply::Canceled(_)), "{nth}: {told:?}");
        market.check();
        restart(&mut market);
    }
    assert_eq!(market.engine.reached_orders(), 0);
    trade(&mut market, 100);
    assert_eq!(market.executed(), 1, "nobody waits any more");
    assert_eq!(market.engine.last_price(SymbolIndex(0)), Price::from_units(100));
}

/// Another symbol goes on meanwhile.
#[test]
fn orders_of_other_symbols_do_not_wait() {
    let mut market = Market::new(MOST);
    let other = Symbol::parse(b"QQQ").unwrap();
    market.apply(Command::CreateSymbol { symbol: other });
    let shares = terms::Position::from_units(10);
    market.apply(Command::IssueShares { symbol: other, account: account(1), shares });
    for nth in 0..25 {
        stop(&mut market, 101 + nth, 50);
    }
    trade(&mut market, 200);
    market.place(1, NewOrder { symbol: other, ..order(Side::Sell, 70, 1) });
    market.place(2, NewOrder { symbol: other, ..order(Side::Buy, 70, 1) });
    assert_eq!(market.executed(), 1);
}
