//! The most triggers that one command reaches, and what happens until later commands have reached the others.

use terms::{
    Bond, Command, Event, ExecutionBounds, FundsOrder, Money, NewOrder, OrderId, OrderKind, Phase, Place, Position,
    Price, Query, Reject, Reply, SelfTrade, Shares, Side, Symbol, SymbolIndex, Trail, Trigger,
};

use crate::bounds::{Market, account, open_of, order, restart, symbol};

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
    let asked = Command::Place(Place::order(account(2), low));
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

/// The ways in which a client takes what is on the other side.
#[derive(Clone, Copy, Debug)]
enum Taking {
    Kind(OrderKind),
    Funds,
}

const TAKING: [Taking; 5] = [
    Taking::Kind(OrderKind::Limit),
    Taking::Kind(OrderKind::ImmediateOrCancel),
    Taking::Kind(OrderKind::FillOrKill),
    Taking::Kind(OrderKind::Market),
    Taking::Funds,
];

/// A market in which free orders wait for prices between the last one and the first one of an order of this side, and
/// none of them is reached by that order's second price. Returns the account of the order, and its prices.
fn behind(market: &mut Market, side: Side) -> (u32, [i64; 2]) {
    let (last, prices) = if side == Side::Buy { (200, [100, 250]) } else { (60, [150, 50]) };
    trade(market, last);
    for nth in 0..2 * MOST as i64 {
        let trigger = match side {
            Side::Buy => Trigger::from_above(Price::from_units(150 + nth).unwrap()),
            Side::Sell => Trigger::from_below(Price::from_units(100 + nth).unwrap()),
        };
        let any = Side::Buy.any_price().units();
        let free = NewOrder { kind: OrderKind::Market, ..order(Side::Buy, any, 1) };
        market.place(2, free.triggered_by(trigger));
    }
    let (maker, taker) = if side == Side::Buy { (1, 2) } else { (2, 1) };
    for price in prices {
        market.place(maker, order(side.opposite(), price, 1));
    }
    (taker, prices)
}

/// Has an account take two shares at any price. Returns its order.
fn take(market: &mut Market, number: u32, side: Side, taking: Taking, worth: i64) -> OrderId {
    let any = side.any_price();
    match taking {
        Taking::Kind(OrderKind::Market) => {
            market.place(number, NewOrder { kind: OrderKind::Market, ..order(side, any.units(), 2) })
        }
        Taking::Kind(kind) => {
            let limit = if side == Side::Buy { 300 } else { 40 };
            market.place(number, NewOrder { kind, ..order(side, limit, 2) })
        }
        Taking::Funds => {
            let funds = Money::from_units(worth.into());
            let order = FundsOrder { symbol: symbol(), side, funds, self_trade: SelfTrade::Allowed };
            match market.apply(Command::Place(Place::funds(account(number), order))) {
                Reply::Opened(order) => order,
                refused => panic!("{refused:?}"),
            }
        }
    }
}

/// A regression: 10,001 market buys, which hold nothing, waited for prices from above, between the last price and the
/// first one of another client's buy. That buy executed at its first price alone, and the maker of its second price
/// could cancel before it went on.
#[test]
fn triggers_that_lie_behind_an_order_do_not_cut_it() {
    for side in [Side::Buy, Side::Sell] {
        for taking in TAKING {
            let mut market = Market::new(MOST);
            let (taker, prices) = behind(&mut market, side);
            let placed = take(&mut market, taker, side, taking, prices.iter().sum());
            let what = format!("{side:?} {taking:?}");
            assert_eq!(
                (market.executed(), open_of(&market, taker, placed)),
                (2, 0),
                "no command comes between: {what}"
            );
            assert_eq!(reached(&market).len(), MOST as usize - 2, "as many as the command has left: {what}");
            let mut left = 2 * MOST as usize - reached(&market).len();
            while market.engine.reached_orders() > 0 {
                market.check();
                restart(&mut market);
                market.apply(Command::ActivateReached);
                left -= reached(&market).len();
            }
            assert_eq!(left, 0, "the second price does not reach them, and all are reached: {what}");
        }
    }
}

/// A regression: while the commands of a turn had few executions left, an order went on in shares. Triggers on either
/// side of it took the commands between two of its shares.
#[test]
fn triggers_do_not_keep_an_order_that_goes_on_in_shares() {
    let mut market =
        Market::with_bounds(ExecutionBounds { command: 100, turn: 10, small: 10, share: 10, ..ExecutionBounds::ALL });
    trade(&mut market, 200);
    let triggers = 300;
    for nth in 0..triggers {
        stop(&mut market, 1_000 + nth, 1);
    }
    for nth in 0..30 {
        market.place(1, order(Side::Sell, 1_000 + 10 * nth, 1));
    }
    let placed = market.place(2, order(Side::Buy, 2_000, 30));
    assert_eq!((market.executed(), open_of(&market, 2, placed)), (10, 20), "it is under way");
    assert_eq!(reached(&market).len(), 0, "its command has no execution left");
    market.check();
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), open_of(&market, 2, placed)), (20, 0), "and it goes on with the next one");
    market.check();
    let mut told = reached(&market).len();
    while market.engine.reached_orders() > 0 {
        restart(&mut market);
        market.apply(Command::ActivateReached);
        market.check();
        told += reached(&market).len();
    }
    assert_eq!(told, 291, "all up to 1,290, each once");
}

/// A regression: they were reached when it was done. An order that a client sent between two of its shares stood before
/// them, and executed before stops that the first share had reached.
#[test]
fn orders_that_come_while_an_order_is_under_way_stand_behind_what_it_reached() {
    let mut market = Market::new(MOST);
    trade(&mut market, 90);
    let stops: Vec<OrderId> = (0..4).map(|nth| stop(&mut market, 101 + nth, 50)).collect();
    for nth in 0..3 * MOST as i64 {
        market.place(1, order(Side::Sell, 100 + nth, 1));
    }
    let under_way = market.place(2, order(Side::Buy, 200, 3 * MOST as i64));
    assert_eq!((market.executed(), reached(&market).len()), (MOST as usize, 0), "its command has no execution left");
    restart(&mut market);
    market.apply(Command::ActivateReached);
    assert_eq!(reached(&market), [101, 102, 103, 104]);
    assert!(open_of(&market, 2, under_way) > 0, "it goes on");
    let late = market.place(1, order(Side::Sell, 300, 1));
    market.check();
    let mut in_turn = Vec::new();
    while market.engine.reached_orders() > 0 {
        restart(&mut market);
        market.apply(Command::ActivateReached);
        market.check();
        in_turn.extend(turns(&market).into_iter().filter(|&order| order != under_way));
    }
    assert_eq!(open_of(&market, 2, under_way), 0);
    assert_eq!(in_turn, [&stops[..], &[late]].concat());
}

/// Has an account place a working order, and one or two that wait for it. Returns the ids of these.
fn bracket(market: &mut Market, number: u32, working: NewOrder, pending: &[NewOrder]) -> Vec<OrderId> {
    let (account, client_id, until) = (account(number), None, None);
    let two_wait = pending.len() == 2;
    let told = market.apply(Command::Place(
        Place::order(account, working).named(client_id).until(until).bound(Bond::Working { two_wait }),
    ));
    assert!(matches!(told, Reply::Opened(_)), "{told:?}");
    let place = |&order: &NewOrder| match market
        .apply(Command::Place(Place::order(account, order).named(client_id).until(until).bound(Bond::Pending)))
    {
        Reply::Opened(order) => order,
        refused => panic!("{refused:?}"),
    };
    pending.iter().map(place).collect()
}

/// A regression: an order paid 1,000 for its first share and 1,900 for its last one, and the stop at 1,800 that was to
/// protect it was canceled, because 1,000 reached triggers that were left.
#[test]
fn no_pending_order_is_placed_while_triggers_are_left() {
    let other = Symbol::parse(b"OTHER").unwrap();
    let price = |units: i64| Price::from_units(units).unwrap();
    let stop_loss = order(Side::Sell, 1, 2).triggered_by(Trigger::from_above(price(1_800)));
    let take_profit = order(Side::Sell, 2_400, 2).triggered_by(Trigger::from_below(price(2_400)));
    for pending in [&[stop_loss][..], &[stop_loss, take_profit]] {
        let mut market = Market::new(MOST);
        market.apply(Command::CreateSymbol { symbol: other });
        market.apply(Command::IssueShares { symbol: other, account: account(1), shares: Position::from_units(10) });
        trade(&mut market, 2_000);
        for nth in 0..3 * MOST as i64 {
            let free = NewOrder { kind: OrderKind::Market, ..order(Side::Buy, Side::Buy.any_price().units(), 1) };
            market.place(2, free.triggered_by(Trigger::from_above(price(1_500 + nth))));
        }
        for limit in [1_000, 1_900] {
            market.place(1, order(Side::Sell, limit, 1));
        }
        let placed = bracket(&mut market, 2, order(Side::Buy, 1_900, 2), pending);
        let of_other = |order: NewOrder| NewOrder { symbol: other, ..order };
        market.place(1, of_other(order(Side::Sell, 70, 1)));
        let beside = of_other(order(Side::Sell, 80, 1));
        let [beside] = bracket(&mut market, 2, of_other(order(Side::Buy, 70, 1)), &[beside])[..] else { panic!() };
        assert!(market.engine.pends_on(beside).is_some(), "it waits for its turn");
        let mut has_waited = false;
        while market.engine.reached_orders() > 0 {
            restart(&mut market);
            market.apply(Command::ActivateReached);
            market.check();
            assert!(
                !market
                    .events
                    .iter()
                    .any(|event| matches!(event, Event::OrderCanceled { order, .. } if placed.contains(order)))
            );
            if !market.engine.triggers_left(SymbolIndex(0)).is_none() {
                has_waited |= market.engine.pends_on(beside).is_none();
                assert!(placed.iter().all(|&order| market.engine.pends_on(order).is_some()), "they keep their places");
            }
        }
        assert!(has_waited, "the other symbol's is placed meanwhile");
        for &order in &placed {
            assert_eq!((market.engine.pends_on(order), open_of(&market, 2, order)), (None, 2));
        }
        market.place(2, order(Side::Buy, 1_800, 2));
        market.place(1, order(Side::Sell, 1_800, 1));
        assert_eq!((market.executed(), open_of(&market, 2, placed[0])), (2, 1), "the stop is there, and sells");
        market.check();
    }
}

/// Triggers of both directions are reached when the order is done, those from below first.
#[test]
fn an_order_reaches_triggers_when_it_is_done() {
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
    assert_eq!(reached(&market), [80, 120, 150, 110], "130 does not reach 110, and 100 does");
    let executed = market.events.iter().rposition(|event| matches!(event, Event::Executed { .. })).unwrap();
    let told = market.events.iter().position(|event| matches!(event, Event::TriggerReached { .. }));
    assert!(told > Some(executed));
    market.check();
}

/// An order placed there would look like those that an earlier execution reached.
#[test]
fn no_order_begins_to_wait_for_a_price_that_others_are_left_for() {
    let mut market = Market::new(MOST);
    behind(&mut market, Side::Buy);
    take(&mut market, 2, Side::Buy, Taking::Kind(OrderKind::Limit), 0);
    let stop = |market: &mut Market, trigger: Trigger| {
        let order = order(Side::Buy, 1, 1).triggered_by(trigger);
        market.apply(Command::Place(Place::order(account(2), order)))
    };
    let price = |units: i64| Price::from_units(units).unwrap();
    let refused = |told: Reply, by: i64| matches!(told, Reply::Rejected(Reject::TriggersAtOnce { last, .. }) if last.units() == by);
    assert!(refused(stop(&mut market, Trigger::from_above(price(120))), 100), "the first execution reaches it");
    assert!(refused(stop(&mut market, Trigger::from_below(price(240))), 250), "the last one reaches it");
    let trail = Trail::by(price(1));
    let order = order(Side::Sell, 1, 1);
    let asked = Command::Place(Place::trailing(account(1), order, trail).unwrap());
    for told in [
        stop(&mut market, Trigger::from_above(price(99))),
        stop(&mut market, Trigger::from_below(price(251))),
        market.apply(asked),
    ] {
        assert!(matches!(told, Reply::Opened(_)), "{told:?}");
    }
    market.check();
    restart(&mut market);
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
        market.check();
    }
    assert!(matches!(stop(&mut market, Trigger::from_above(price(120))), Reply::Opened(_)), "none is left");
}

/// The order would otherwise execute although the price never turned so far after it moved.
#[test]
fn an_order_that_follows_the_market_is_not_reached_by_a_price_before_it_moved() {
    let mut market = Market::new(MOST);
    trade(&mut market, 100);
    for nth in 0..25 {
        stop(&mut market, 101 + nth, 1);
    }
    let trail = Trail::by(Price::from_units(12).unwrap());
    let asked = Command::Place(Place::trailing(account(2), order(Side::Buy, 1, 1), trail).unwrap());
    assert!(matches!(market.apply(asked), Reply::Opened(_)));
    for nth in 0..=MOST {
        market.place(1, order(Side::Sell, if nth < MOST { 110 } else { 115 }, 1));
    }
    let taker = market.place(2, order(Side::Buy, 120, MOST as i64 + 1));
    assert_eq!((market.executed(), open_of(&market, 2, taker)), (MOST as usize, 1), "it is under way");
    // Others come to the book only where an auction gathers them.
    market.phase(Phase::Auction);
    market.place(1, order(Side::Sell, 95, 1));
    market.phase(Phase::Open);
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), open_of(&market, 2, taker)), (1, 0));
    let moved = |event: &Event| matches!(event, Event::TrailsMoved { price, .. } if price.units() == 95);
    assert!(market.events.iter().any(moved), "its trigger is 107, and triggers up to 110 are left");
    assert!(ended(&market).is_empty());
    while market.engine.reached_orders() > 0 {
        market.check();
        restart(&mut market);
        market.apply(Command::ActivateReached);
        assert!(ended(&market).is_empty());
    }
    market.check();
}

/// Has account 2 buy one share when an execution is at this distance above the lowest one.
fn trail(market: &mut Market, distance: i64) -> OrderId {
    let trail = Trail::by(Price::from_units(distance).unwrap());
    let order = order(Side::Buy, 1, 1);
    let told = market.apply(Command::Place(Place::trailing(account(2), order, trail).unwrap()));
    let Reply::Opened(order) = told else { panic!("{told:?}") };
    order
}

/// The orders that the last command reached where they followed the market.
fn ended(market: &Market) -> Vec<i64> {
    let of = |event: &Event| match event {
        Event::TrailReached { trigger, .. } => Some(trigger.price().units()),
        _ => None,
    };
    market.events.iter().filter_map(of).collect()
}

/// A regression: all that followed the market were reached at once, so where more than a thousand fixed triggers were
/// nearer and the command had no executions left, they came before these.
#[test]
fn orders_that_follow_the_market_are_reached_in_their_turn() {
    let mut market = Market::new(MOST);
    trade(&mut market, 100);
    let (far, most) = (1_500, 2 * MOST as i64);
    for distance in (1..=most).chain([far]) {
        trail(&mut market, distance);
    }
    let stops: Vec<OrderId> = (0..1_200).map(|nth| stop(&mut market, 101 + nth, 1)).collect();
    trade(&mut market, 2_000);
    assert_eq!(ended(&market), (101..=100 + most).chain([1_600]).collect::<Vec<_>>(), "no later price moves them");
    let (mut told, mut in_turn) = (reached(&market), turns(&market));
    while market.engine.reached_orders() > 0 {
        restart(&mut market);
        market.apply(Command::ActivateReached);
        market.check();
        assert!(reached(&market).len() <= MOST as usize && ended(&market).is_empty());
        told.extend(reached(&market));
        in_turn.extend(turns(&market));
    }
    assert_eq!(told, (101..1_301).chain([1_600]).collect::<Vec<_>>(), "the nearest first");
    let fixed_first: Vec<bool> = in_turn.iter().map(|order| stops.contains(order)).collect();
    assert!((0..2 * most as usize).all(|nth| fixed_first[nth] == (nth % 2 == 0)), "at one price the fixed ones first");
    assert_eq!((fixed_first.len(), fixed_first.last()), (1_200 + most as usize + 1, Some(&false)));
}

/// A trailing stop that is left would otherwise go on with the market, and wait for a price that was not its own.
#[test]
fn orders_that_are_left_follow_the_market_no_more() {
    let mut market = Market::new(MOST);
    trade(&mut market, 1_000);
    for nth in 0..2 * MOST as i64 {
        stop(&mut market, 1_001 + nth, 1);
    }
    let trails = [30, 31, 32].map(|distance| trail(&mut market, distance));
    for limit in [1_031, 900] {
        market.place(2, order(Side::Buy, limit, 1));
    }
    market.place(1, order(Side::Sell, 900, 2));
    // Of ten executions two are made, and two orders end their following.
    assert_eq!((market.executed(), reached(&market).len(), ended(&market)), (2, 6, vec![1_030, 1_031]));
    let waits = |market: &Market| {
        trails.map(|order| {
            let query = Query { account: account(2), order: order.into() };
            let Reply::Status(status) = market.engine.query(&query, &mut Vec::new()) else { panic!("{order}") };
            let terms = status.terms.unwrap();
            (terms.waits.unwrap().price().units(), terms.trail.is_some())
        })
    };
    let told = [(1_030, false), (1_031, false), (932, true)];
    assert_eq!(waits(&market), told, "the first price reached two, and the last one moves the other");
    restart(&mut market);
    assert_eq!(waits(&market), told);
    market.check();
    let canceled = market.apply(Command::CancelOrder { account: account(2), order: trails[0].into() });
    assert!(matches!(canceled, Reply::Canceled(_)), "{canceled:?}");
    let mut in_line = Vec::new();
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
        market.check();
        restart(&mut market);
        in_line.extend(reached(&market));
    }
    assert_eq!(in_line, (1_007..1_021).chain([1_031]).collect::<Vec<_>>());
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
            market.apply(Command::Place(Place::order(of, placed)));
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
