//! Trailing stops: the engine beside the model, command by command.

use crate::common::duel::Duel;
use terms::{
    AccountId, AccountLimits, BrokenRule, Command, DOLLAR, Money, NewOrder, Op, OrderId, OrderKind, PastLimit, Place,
    Position, Price, Query, Reject, Reply, Shares, Side, Symbol, SymbolRules, TRAILING_MAX, Trail,
};

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn price(units: i64) -> Price {
    Price::from_units(units).unwrap()
}

/// Makes one account with much of everything, and an execution at this price.
fn opened(at: i64) -> Duel {
    let mut duel = Duel::new(1, 1_000);
    let (account, symbol) = (account(), symbol());
    duel.play(Op::Command(Command::CreateSymbol { symbol }));
    duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(1_000 * DOLLAR) }));
    duel.play(Op::Command(Command::IssueShares { symbol, account, shares: Position::from_units(1_000_000) }));
    trade(&mut duel, at);
    duel
}

fn place(duel: &mut Duel, side: Side, limit: i64, shares: i64) {
    let order = NewOrder::limit(symbol(), side, price(limit), Shares::from_units(shares).unwrap());
    duel.play(Op::Command(Command::Place(Place::order(account(), order))));
}

/// Makes an execution of one unit at this price.
fn trade(duel: &mut Duel, at: i64) {
    place(duel, Side::Buy, at, 1);
    place(duel, Side::Sell, at, 1);
}

/// Places a trailing stop at this distance. Returns its id.
fn behind(duel: &mut Duel, side: Side, distance: i64) -> OrderId {
    told_behind(duel, side, distance);
    OrderId(duel.model().orders_placed())
}

/// Does the work of `behind`, and returns the reply.
fn told_behind(duel: &mut Duel, side: Side, distance: i64) -> Reply {
    let order = NewOrder::of_kind(OrderKind::Market, symbol(), side, side.any_price(), Shares::from_units(1).unwrap());
    let trail = Trail::by(price(distance));
    let asked = Command::Place(Place::trailing(account(), order, trail).unwrap());
    duel.play_told(asked)
}

/// The trigger of an order.
fn waits(duel: &mut Duel, order: OrderId) -> Option<i64> {
    duel.play(Op::Query(Query { account: account(), order: order.into() }));
    let order = duel.model().order(order);
    order.trigger.filter(|_| order.waits).map(|trigger| trigger.price().units())
}

/// One sell executes at a new high and goes on below the trigger that this high makes.
#[test]
fn a_sell_moves_a_stop_up_and_triggers_it() {
    let mut duel = opened(100);
    let stop = behind(&mut duel, Side::Sell, 10);
    let farther = behind(&mut duel, Side::Sell, 30);
    assert_eq!((waits(&mut duel, stop), waits(&mut duel, farther)), (Some(90), Some(70)));
    place(&mut duel, Side::Buy, 120, 1);
    place(&mut duel, Side::Buy, 105, 2);
    place(&mut duel, Side::Sell, 105, 2);
    assert_eq!(waits(&mut duel, stop), None, "120 moves it to 110, and 105 is below that");
    assert_eq!(duel.model().order(stop).executions[0].price, price(105), "it takes what is left");
    assert_eq!(waits(&mut duel, farther), Some(90), "it moved and was not reached");
    duel.end();
}

/// The market falls through the bids as each stop's own execution reaches the next stop, and a buy follows it all the
/// way down.
#[test]
fn trailing_stops_trigger_each_other_down_the_levels() {
    let mut duel = opened(100);
    let stops: Vec<OrderId> = [5, 10, 15, 20].map(|distance| behind(&mut duel, Side::Sell, distance)).to_vec();
    let buy = behind(&mut duel, Side::Buy, 25);
    assert_eq!(waits(&mut duel, buy), Some(125));
    for level in [95, 90, 85, 80, 75] {
        place(&mut duel, Side::Buy, level, 1);
    }
    duel.export_and_import();
    place(&mut duel, Side::Sell, 95, 1);
    let executed = |order: &OrderId| duel.model().order(*order).executions[0].price.units();
    assert_eq!(stops.iter().map(executed).collect::<Vec<i64>>(), [90, 85, 80, 75]);
    assert_eq!(waits(&mut duel, buy), Some(100), "25 above the lowest price");
    duel.export_and_import();
    // They are gone: a new high moves none.
    trade(&mut duel, 99);
    assert_eq!(waits(&mut duel, buy), Some(100));
    trade(&mut duel, 100);
    assert_eq!(waits(&mut duel, buy), None);
    duel.end();
}

#[test]
fn a_thousand_orders_follow_the_price_of_a_symbol() {
    let mut duel = opened(5_000);
    let orders: Vec<OrderId> = (0..TRAILING_MAX as i64).map(|nth| behind(&mut duel, Side::Sell, 1_000 + nth)).collect();
    let placed = duel.model().orders_placed();
    behind(&mut duel, Side::Buy, 1);
    assert_eq!(duel.model().orders_placed(), placed, "one more is refused");
    duel.export_and_import();
    trade(&mut duel, 6_000);
    assert_eq!((waits(&mut duel, orders[0]), waits(&mut duel, orders[999])), (Some(5_000), Some(4_001)));
    duel.play(Op::Command(Command::CancelOrder { account: account(), order: orders[7].into() }));
    let other = behind(&mut duel, Side::Buy, 1);
    assert_eq!(waits(&mut duel, other), Some(6_001));
    duel.export_and_import();
    duel.end();
}

/// A regression: each activated order moved a thousand others, and ten such ended a command.
#[test]
fn what_moves_takes_nothing_from_what_a_command_activates() {
    const BUYS: i64 = 13;
    let mut duel = opened(5_000);
    for nth in 0..TRAILING_MAX as i64 - BUYS {
        behind(&mut duel, Side::Sell, 1_000 + nth % 7);
    }
    let buys: Vec<OrderId> = (0..BUYS).map(|_| behind(&mut duel, Side::Buy, 10)).collect();
    place(&mut duel, Side::Sell, 5_010, 1);
    for level in 0..BUYS {
        place(&mut duel, Side::Sell, 5_020 + 10 * level, 1);
    }
    place(&mut duel, Side::Buy, 5_010, 1);
    assert_eq!(duel.model().reached_orders(), 0);
    assert!(buys.iter().all(|&buy| waits(&mut duel, buy).is_none()));
    duel.end();
}

/// The order counted at the last price, while a stop counts at the price that it waits for.
#[test]
fn a_trailing_market_order_is_worth_the_price_that_it_waits_for() {
    let mut duel = opened(100);
    let most = price(105).times(Shares::MIN);
    // The price that it waits for need not be a multiple of the tick.
    let rules = SymbolRules { tick: price(20), value_max: most, ..SymbolRules::NONE };
    duel.play(Op::Command(Command::ChangeRules { symbol: symbol(), rules }));
    let value = price(110).times(Shares::MIN);
    let refused = Reply::Rejected(Reject::BreaksRule(BrokenRule::TooMuchValue { value, most }));
    assert_eq!(told_behind(&mut duel, Side::Buy, 10), refused);
    assert!(matches!(told_behind(&mut duel, Side::Buy, 5), Reply::Opened(_)));
    duel.play(Op::Command(Command::ChangeRules { symbol: symbol(), rules: SymbolRules::NONE }));
    let most = price(95).times(Shares::MIN);
    let limits = AccountLimits { order_value: most, ..AccountLimits::NONE };
    duel.play(Op::Command(Command::ChangeLimits { account: account(), limits }));
    let refused = Reply::Rejected(Reject::PastLimit(PastLimit::OrderValue { most }));
    assert_eq!(told_behind(&mut duel, Side::Sell, 4), refused);
    assert!(
        matches!(told_behind(&mut duel, Side::Sell, 5), Reply::Opened(_)),
        "it waits for 95, and 100 was paid last"
    );
}
