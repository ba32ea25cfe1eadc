//! The bound of moves: each order whose trigger an execution moves counts as an execution of its command and turn.

use terms::{
    Command, Deadline, Event, ExecutionBounds, FundsOrder, Money, NewOrder, OrderId, OrderKind, Phase, Position, Price,
    Reject, Reply, SelfTrade, Shares, Side, Symbol, SymbolIndex, Time, Trail, TrailingOrder,
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
        let asked = TrailingOrder { account: account(2), order, trail, client_id: None, until: None };
        let told = market.apply(asked.command());
        assert!(matches!(told, Reply::Opened(_)), "{told:?}");
    }
}

/// The moves of the last command: all that follow move at once.
fn moves(market: &Market) -> usize {
    let moved = market.events.iter().filter(|event| matches!(event, Event::TrailsMoved { .. })).count();
    moved * FOLLOWING
}

/// A regression: a request of 10,000 one-share orders, each at a new low, moved a thousand triggers with each order:
/// ten million moves in one turn, which was bounded by its executions alone.
#[test]
fn the_moves_of_one_turn_count_with_its_executions() {
    let mut market = market(ExecutionBounds { command: 100, turn: 200, small: 10, share: 100 });
    let lows: Vec<i64> = (1..=30).map(|nth| FIRST - nth).collect();
    for &low in &lows {
        market.place(2, order(Side::Buy, low, 1));
    }
    market.turn = Some(Time(1_000_000));
    let mut moved = 0;
    let mut sells: Vec<OrderId> = Vec::new();
    for &low in &lows {
        sells.push(market.place(1, order(Side::Sell, low, 1)));
        moved += moves(&market);
        market.check();
    }
    assert_eq!(moved, 9 * FOLLOWING, "each of nine sells counts 21, and then 11 of 200 executions are left");
    assert_eq!(market.engine.reached_orders(), lows.len() - 9, "the others wait, each as if one were under way");
    let funds =
        FundsOrder { symbol: symbol(), side: Side::Sell, funds: Money::from_units(1), self_trade: SelfTrade::Allowed };
    let asked = Command::PlaceByFunds { account: account(1), order: funds, client_id: None };
    assert_eq!(market.apply(asked), Reply::Rejected(Reject::WouldWait));
    let mut in_turn = Vec::new();
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
        market.check();
        assert!(moves(&market) <= 100 + FOLLOWING, "{} moves of one command", moves(&market));
        in_turn.extend(market.events.iter().filter_map(|event| match event {
            Event::Executed { aggressor, .. } => Some(*aggressor),
            _ => None,
        }));
    }
    assert_eq!(in_turn, sells[9..], "in the order in which they came");
}

/// An order with funds is placed for as many shares as it trades now, so it may not wait.
#[test]
fn an_order_with_funds_is_refused_where_it_would_wait() {
    for (turn, is_refused) in [(1_000, false), (FOLLOWING as u32, true)] {
        let mut market = market(ExecutionBounds { command: 100, turn, small: 10, share: 100 });
        market.place(1, order(Side::Sell, FIRST, 1));
        market.turn = Some(Time(1_000_000));
        let funds = Money::from_units(FIRST.into());
        let funds = FundsOrder { symbol: symbol(), side: Side::Buy, funds, self_trade: SelfTrade::Allowed };
        let told = market.apply(Command::PlaceByFunds { account: account(2), order: funds, client_id: None });
        assert_eq!(told == Reply::Rejected(Reject::WouldWait), is_refused, "{told:?}");
    }
}

/// A hundred trailing orders and a used-up turn had such orders wait for a further command. A post-only order that may
/// move kept a limit that crossed.
#[test]
fn orders_that_execute_nothing_wait_for_no_moves() {
    let mut market = market(ExecutionBounds { command: 100, turn: FOLLOWING as u32, small: 10, share: 100 });
    market.place(1, order(Side::Sell, FIRST, 1));
    market.turn = Some(Time(1_000_000));
    let of_kind = |kind, limit| NewOrder { kind, ..order(Side::Buy, limit, 1) };
    let far = FIRST - 10;
    for kind in [OrderKind::Limit, OrderKind::PostOnly, OrderKind::ImmediateOrCancel, OrderKind::FillOrKill] {
        market.place(2, of_kind(kind, far));
        assert_eq!(market.engine.reached_orders(), 0, "{kind:?}");
    }
    let place =
        |kind| Command::PlaceOrder { account: account(2), order: of_kind(kind, FIRST), client_id: None, until: None };
    let crossed = Reject::WouldTake { price: Price::from_units(FIRST).unwrap() };
    assert_eq!(market.apply(place(OrderKind::PostOnly)), Reply::Rejected(crossed));
    let told = market.apply(place(OrderKind::PostOnlyMove));
    let beside = Price::from_units(FIRST - 1).unwrap();
    assert!(matches!(told, Reply::Moved { limit, is_new: true, .. } if limit == beside), "{told:?}");
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 0));
    market.place(2, of_kind(OrderKind::Limit, FIRST));
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 1), "one that would execute waits");
    market.check();
}

/// Its maker would see a part of it, and could cancel the rest.
#[test]
fn moves_at_its_first_price_do_not_cut_an_order() {
    let mut market = market(ExecutionBounds { command: 10, turn: 1_000, small: 10, share: 10 });
    for low in [900, 950] {
        market.place(1, order(Side::Sell, low, 1));
    }
    let taker = market.place(2, order(Side::Buy, 960, 2));
    assert_eq!((moves(&market), market.executed(), open_of(&market, 2, taker)), (FOLLOWING, 2, 0));
    market.check();
}

/// An `EndAuction` ends as many auctions as one command may execute, and each of them may move a thousand triggers.
#[test]
fn the_moves_of_auctions_count_with_their_executions() {
    let mut market = market(ExecutionBounds::of_command(50));
    let names = ["A", "B", "C", "D"].map(|name| Symbol::parse(name.as_bytes()).unwrap());
    for symbol in names {
        market.apply(Command::CreateSymbol { symbol });
        market.apply(Command::IssueShares { symbol, account: account(1), shares: Position::from_units(100) });
        follow(&mut market, symbol);
    }
    // While an order that has ended is still there, auctions are left to an `EndAuction`.
    let until = Deadline::new(Time(1_000_000));
    let ended = Command::PlaceOrder { account: account(1), order: order(Side::Buy, 1, 1), client_id: None, until };
    assert!(matches!(market.apply(ended), Reply::Opened(_)));
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
    assert_eq!((open(&market), moves(&market)), (3, 3 * FOLLOWING), "each auction counts 22");
    market.apply(Command::EndAuction);
    assert_eq!(open(&market), 4);
    market.check();
}
