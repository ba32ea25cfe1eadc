//! The turns that the commands of one market time take together.

use terms::{
    BrokenRule, Command, Distance, Event, ExecutionBounds, FundsOrder, Money, NewOrder, OrderKind, Pause, Place, Price,
    Reject, Reply, SelfTrade, Side, SymbolRules, Time, Trigger,
};

use crate::bounds::{Market, account, open_of, order, symbol};

/// The bounds of a market whose commands have so many turns together.
fn of_turns(turns: u32) -> ExecutionBounds {
    ExecutionBounds { turns, ..ExecutionBounds::ALL }
}

/// The orders that the last command activated.
fn activated(market: &Market) -> usize {
    market.events.iter().filter(|event| matches!(event, Event::OrderTriggered { .. })).count()
}

/// Has account 2 buy one share as soon as one is sold at this price. It finds none at its limit.
fn stop(market: &mut Market, trigger: i64) {
    let trigger = Trigger::from_below(Price::from_units(trigger).unwrap());
    market.place(2, order(Side::Buy, 50, 1).triggered_by(trigger));
}

/// A regression: one request reached a thousand stops with each of ten thousand orders, and all of them were activated
/// before anybody else was answered.
#[test]
fn the_commands_of_one_turn_activate_no_more_than_so_many_orders_together() {
    // Twenty-five activations.
    let mut market = Market::with_bounds(of_turns(250));
    for trigger in (0..40).map(|nth| 101 + nth / 20) {
        stop(&mut market, trigger);
    }
    market.turn = Some(Time(1_000));
    market.place(1, order(Side::Sell, 101, 1));
    market.place(2, order(Side::Buy, 101, 1));
    assert_eq!((activated(&market), market.engine.reached_orders()), (20, 0));
    market.place(1, order(Side::Sell, 102, 1));
    market.place(2, order(Side::Buy, 102, 1));
    // The turn has five activations left, and each command may make ten.
    assert_eq!((activated(&market), market.engine.reached_orders()), (10, 10));
    market.apply(Command::ActivateReached);
    assert_eq!((activated(&market), market.engine.reached_orders()), (10, 0));
    market.turn = Some(Time(1_001));
    (0..3).for_each(|_| stop(&mut market, 103));
    market.place(1, order(Side::Sell, 103, 1));
    market.place(2, order(Side::Buy, 103, 1));
    assert_eq!((activated(&market), market.engine.reached_orders()), (3, 0), "the next turn has all of them again");
    market.check();
}

/// A regression: orders that look at a thousand others before they execute cost as much as placing one share.
#[test]
fn orders_that_look_before_they_execute_wait_once_those_of_their_turn_have_looked() {
    let mut market = Market::with_bounds(of_turns(40));
    market.place(1, order(Side::Sell, 500, 20));
    market.turn = Some(Time(1_000));
    let all = OrderKind::FillOrKill;
    let funds = |units| FundsOrder {
        symbol: symbol(),
        side: Side::Buy,
        funds: Money::from_units(units),
        self_trade: SelfTrade::Allowed,
    };
    let worth = order(Side::Buy, 500, 1).held_money().units();
    for nth in 0..4 {
        if nth % 2 == 0 {
            market.place(2, NewOrder { kind: all, ..order(Side::Buy, 500, 1) });
        } else {
            let told = market.apply(Command::Place(Place::funds(account(2), funds(worth))));
            assert!(matches!(told, Reply::Opened(_)), "{told:?}");
        }
        assert_eq!(market.executed(), 1);
    }
    let told = market.apply(Command::Place(Place::funds(account(2), funds(worth))));
    assert_eq!(told, Reply::Rejected(Reject::WouldWait));
    let plain = market.place(2, order(Side::Buy, 500, 1));
    assert_eq!((market.executed(), open_of(&market, 2, plain)), (1, 0), "others execute at once");
    let waits = market.place(2, NewOrder { kind: all, ..order(Side::Buy, 500, 1) });
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 1));
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), open_of(&market, 2, waits)), (1, 0));
    market.check();
}

/// A regression: an order that might interrupt trading looked at a thousand others, and cost as much as one that looks
/// at none. A client without money for it could repeat it at will.
#[test]
fn orders_that_look_for_an_interruption_wait_once_those_of_their_turn_have_looked() {
    let mut market = Market::with_bounds(of_turns(40));
    let percent = Distance::from_hundredths(1_000);
    let interruption = Pause::from_seconds(60);
    let rules = SymbolRules { band_up: percent, band_down: percent, interruption, ..SymbolRules::NONE };
    market.place(1, order(Side::Sell, 500, 20));
    market.place(2, order(Side::Buy, 500, 1));
    market.apply(Command::ChangeRules { symbol: symbol(), rules });
    market.turn = Some(Time(1_000));
    let beyond = order(Side::Buy, 1_000, 1);
    for _ in 0..4 {
        let place = Command::Place(Place::order(account(2), beyond));
        assert!(matches!(market.apply(place), Reply::Rejected(Reject::BreaksRule(BrokenRule::OutsideBand { .. }))));
    }
    let within = market.place(2, order(Side::Buy, 510, 1));
    assert_eq!((market.executed(), open_of(&market, 2, within)), (1, 0), "others execute at once");
    market.place(2, beyond);
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 1));
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 0), "it is refused at its turn");
    market.check();
}
