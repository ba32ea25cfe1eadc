//! Orders that follow the market cost those that move them nothing: no order waits or is cut for their moves.

use terms::{
    Command, Deadline, Event, ExecutionBounds, FundsOrder, Money, NewOrder, OrderId, OrderKind, Phase, Place, Position,
    Price, Reject, Reply, SelfTrade, Shares, Side, Symbol, SymbolIndex, Time, Trail,
};

use crate::bounds::{Market, account, open_of, order, symbol};

/// The orders that follow the price of each symbol.
const FOLLOWING: usize = 20;

/// The price of the first execution.
const FIRST: i64 = 1_000;

/// A market with an execution, behind which market buys follow. These hold nothing, and no execution here reaches them.
fn market(bounds: ExecutionBounds) -> Market {
    let mut market = Market::with_bounds(bounds);
    follow(&mut market, symbol());
    market
}

/// Has orders follow the price of a symbol.
fn follow(market: &mut Market, symbol: Symbol) {
    let placed = |side| NewOrder { symbol, ..order(side, FIRST, 1) };
    market.place(1, placed(Side::Sell));
    market.place(2, placed(Side::Buy));
    let any = Side::Buy.any_price();
    let order = NewOrder::of_kind(OrderKind::Market, symbol, Side::Buy, any, Shares::MIN);
    let trail = Trail::by(Price::from_units(FIRST).unwrap());
    for _ in 0..FOLLOWING {
        let asked = Command::Place(Place::trailing(account(2), order, trail).unwrap());
        let told = market.apply(asked);
        assert!(matches!(told, Reply::Opened(_)), "{told:?}");
    }
}

/// The moves of the last command: all that follow move at once.
fn moves(market: &Market) -> usize {
    let moved = market.events.iter().filter(|event| matches!(event, Event::TrailsMoved { .. })).count();
    moved * FOLLOWING
}

/// A regression: each order that moved counted as an execution, so beside 100 orders that followed the price the orders
/// of a used-up turn waited, each as if another one were under way.
#[test]
fn orders_that_move_triggers_do_not_wait() {
    let mut market = market(ExecutionBounds { command: 100, turn: 30, small: 1, share: 100, ..ExecutionBounds::ALL });
    let lows: Vec<i64> = (1..=60).map(|nth| FIRST - nth).collect();
    for &low in &lows {
        market.place(2, order(Side::Buy, low, 1));
    }
    market.turn = Some(Time(1_000_000));
    for &low in &lows {
        market.place(1, order(Side::Sell, low, 1));
        assert_eq!((market.executed(), moves(&market)), (1, FOLLOWING), "one execution moves all");
        market.check();
    }
    assert_eq!(market.engine.reached_orders(), 0);
    let funds = Money::from_units(FIRST.into());
    let funds = FundsOrder { symbol: symbol(), side: Side::Buy, funds, self_trade: SelfTrade::Allowed };
    market.place(1, order(Side::Sell, FIRST, 1));
    let told = market.apply(Command::Place(Place::funds(account(2), funds)));
    assert!(matches!(told, Reply::Opened(_)), "{told:?}");
}

/// An order with funds is placed for as many shares as it trades now, so it may not wait.
#[test]
fn an_order_with_funds_is_refused_where_it_would_wait() {
    let mut market = market(ExecutionBounds::of_command(10));
    for _ in 0..20 {
        market.place(1, order(Side::Sell, FIRST, 1));
    }
    market.place(2, order(Side::Buy, FIRST, 20));
    assert_eq!(market.engine.reached_orders(), 1, "it is under way");
    let funds = Money::from_units(FIRST.into());
    let funds = FundsOrder { symbol: symbol(), side: Side::Buy, funds, self_trade: SelfTrade::Allowed };
    let asked = Command::Place(Place::funds(account(2), funds));
    assert_eq!(market.apply(asked), Reply::Rejected(Reject::WouldWait));
}

/// An order with funds was placed for 15 shares at 1,000 and went on with a later command, when these were gone: at
/// 5,000 the buyer paid 35,000 instead of 15,000.
#[test]
fn an_order_with_funds_does_not_go_on_with_another_command() {
    let mut market = market(ExecutionBounds::of_command(10));
    let cheap: Vec<OrderId> = (0..20).map(|_| market.place(1, order(Side::Sell, FIRST, 1))).collect();
    market.place(1, order(Side::Sell, 5 * FIRST, 5));
    let funds = order(Side::Buy, FIRST, 15).held_money();
    let balance = |market: &Market| market.engine.balance(account(2)).unwrap();
    let before = balance(&market);
    let funds = FundsOrder { symbol: symbol(), side: Side::Buy, funds, self_trade: SelfTrade::Allowed };
    let told = market.apply(Command::Place(Place::funds(account(2), funds)));
    let Reply::Opened(bought) = told else { panic!("{told:?}") };
    assert_eq!((market.executed(), open_of(&market, 2, bought), market.engine.reached_orders()), (10, 0, 0));
    for order in cheap.into_iter().skip(10) {
        market.apply(Command::CancelOrder { account: account(1), order: order.into() });
    }
    market.apply(Command::ActivateReached);
    assert_eq!(before.minus(balance(&market)), order(Side::Buy, FIRST, 10).held_money());
    market.check();
}

/// Its maker would see a part of it, and could cancel the rest.
#[test]
fn moves_at_its_first_price_do_not_cut_an_order() {
    let mut market = market(ExecutionBounds { command: 10, turn: 1_000, small: 10, share: 10, ..ExecutionBounds::ALL });
    for low in [900, 950] {
        market.place(1, order(Side::Sell, low, 1));
    }
    let taker = market.place(2, order(Side::Buy, 960, 2));
    assert_eq!((moves(&market), market.executed(), open_of(&market, 2, taker)), (FOLLOWING, 2, 0));
    market.check();
}

/// An `EndAuction` ends as many auctions as one command may execute, however many triggers each of them moves.
#[test]
fn auctions_that_move_triggers_end_with_one_command() {
    let mut market = market(ExecutionBounds::of_command(50));
    let names = ["A", "B", "C", "D"].map(|name| Symbol::parse(name.as_bytes()).unwrap());
    for symbol in names {
        market.apply(Command::CreateSymbol { symbol });
        market.apply(Command::IssueShares { symbol, account: account(1), shares: Position::from_units(100) });
        follow(&mut market, symbol);
    }
    // While an order of its symbol that has ended is still there, an auction is left to an `EndAuction`.
    let until = Deadline::new(Time(1_000_000));
    for symbol in names {
        let placed = NewOrder { symbol, ..order(Side::Buy, 1, 1) };
        let ended = Command::Place(Place::order(account(1), placed).until(until));
        assert!(matches!(market.apply(ended), Reply::Opened(_)));
    }
    market.turn = Some(Time(1_000_000));
    for symbol in names {
        market.apply(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
        for side in [Side::Sell, Side::Buy] {
            market.place(if side == Side::Sell { 1 } else { 2 }, NewOrder { symbol, ..order(side, FIRST - 1, 1) });
        }
        market.apply(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    }
    market.apply(Command::ExpireOrders);
    let open =
        |market: &Market| (1..=4).filter(|&nth| market.engine.phase(SymbolIndex(nth)).phase == Phase::Open).count();
    assert_eq!(open(&market), 0);
    market.apply(Command::EndAuction);
    assert_eq!((open(&market), moves(&market)), (4, 4 * FOLLOWING), "each auction counts two");
    market.check();
}
