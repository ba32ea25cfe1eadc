//! Orders whose time has come, before a command of the loop ends them.

use terms::{
    CancelReason, Command, Deadline, Event, NewOrder, OrderId, OrderKind, Place, Price, Reply, Side, Time, Trigger,
};

use crate::bounds::{Market, account, open_of, order};

const END: Time = Time(1_000_000);

/// Begins a market whose commands all come before the end.
fn market(executions_max: u32) -> Market {
    let mut market = Market::new(executions_max);
    market.turn = Some(Time(END.0 - 1));
    market
}

/// Places an order that ends at the end.
fn place(market: &mut Market, number: u32, order: NewOrder) -> OrderId {
    let placed = Place::order(account(number), order).until(Deadline::from_code(END.0));
    match market.apply(Command::Place(placed)) {
        Reply::Opened(order) => order,
        refused => panic!("{refused:?}"),
    }
}

/// The orders that the last command ended because their time had come.
fn expired(market: &Market) -> Vec<OrderId> {
    let ended = market.events.iter().filter_map(|event| match event {
        Event::OrderCanceled { order, why: CancelReason::Expired, .. } => Some(*order),
        _ => None,
    });
    ended.collect()
}

/// A command ends 1,000 orders at their time, and the others executed until the next one.
#[test]
fn an_order_whose_time_has_come_executes_with_nobody() {
    let mut market = market(100);
    let ended = place(&mut market, 1, order(Side::Sell, 500, 10));
    let stays = market.place(1, order(Side::Sell, 501, 10));
    market.turn = Some(END);
    let fill_or_kill = NewOrder { kind: OrderKind::FillOrKill, ..order(Side::Buy, 600, 11) };
    market.place(2, fill_or_kill);
    assert_eq!((market.executed(), expired(&market).len()), (0, 0), "it does not count what has ended");
    let buy = market.place(2, order(Side::Buy, 600, 8));
    assert_eq!((market.executed(), expired(&market)), (1, vec![ended]));
    assert_eq!([open_of(&market, 1, stays), open_of(&market, 2, buy)], [2, 0]);
    market.check();
}

#[test]
fn a_stop_that_is_reached_at_its_time_ends() {
    let mut market = market(100);
    let trigger = Trigger::stop_loss(Side::Buy, Price::from_units(500).unwrap());
    let stop = place(&mut market, 2, NewOrder { trigger: Some(trigger), ..order(Side::Buy, 600, 5) });
    market.place(1, order(Side::Sell, 500, 10));
    market.turn = Some(END);
    market.place(2, order(Side::Buy, 500, 1));
    assert_eq!((market.executed(), expired(&market)), (1, vec![stop]));
    market.check();
}

#[test]
fn the_rest_of_an_order_that_is_under_way_ends_at_its_time() {
    let mut market = market(2);
    for _ in 0..5 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    let taker = place(&mut market, 2, order(Side::Buy, 600, 5));
    assert_eq!(open_of(&market, 2, taker), 3);
    market.turn = Some(END);
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), expired(&market)), (0, vec![taker]));
    market.check();
}
