//! Trailing stops: the engine beside the model, command by command.

use crate::common::duel::Duel;
use terms::{
    AccountId, AccountLimits, Bond, BrokenRule, Command, DOLLAR, Event, ExecutionBounds, Money, NewOrder, Op, OrderId,
    OrderKind, PastLimit, Place, Position, Price, Query, Reject, Reply, Shares, Side, Symbol, SymbolRules,
    TRAILING_MAX, TRAILING_OF_ACCOUNT_MAX, Trail,
};

fn account() -> AccountId {
    account_of(1)
}

fn account_of(number: usize) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn price(units: i64) -> Price {
    Price::from_units(units).unwrap()
}

/// Makes one account with much of everything, and an execution at this price.
fn opened(at: i64) -> Duel {
    open(Duel::new(1, 1_000), at)
}

fn open(mut duel: Duel, at: i64) -> Duel {
    let (account, symbol) = (account(), symbol());
    duel.play(Op::Command(Command::CreateSymbol { symbol }));
    endow(&mut duel, account);
    trade(&mut duel, at);
    duel
}

/// Makes an account with much of everything.
fn endow(duel: &mut Duel, account: AccountId) {
    duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(1_000 * DOLLAR) }));
    let shares = Position::from_units(1_000_000);
    duel.play(Op::Command(Command::IssueShares { symbol: symbol(), account, shares }));
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
    behind_of(duel, account(), side, distance);
    OrderId(duel.model().orders_placed())
}

/// Has as many orders follow the price as may, except for `room`, each the next ones of another account.
fn fill(duel: &mut Duel, room: usize, side: Side, distance: impl Fn(i64) -> i64) -> Vec<OrderId> {
    (2..2 + TRAILING_MAX / TRAILING_OF_ACCOUNT_MAX).for_each(|number| endow(duel, account_of(number)));
    let place = |nth: usize| {
        let told = behind_of(duel, account_of(2 + nth / TRAILING_OF_ACCOUNT_MAX), side, distance(nth as i64));
        assert!(matches!(told, Reply::Opened(_)), "{told:?}");
        OrderId(duel.model().orders_placed())
    };
    (0..TRAILING_MAX - room).map(place).collect()
}

/// Places a trailing stop of an account at this distance. Returns the reply.
fn behind_of(duel: &mut Duel, account: AccountId, side: Side, distance: i64) -> Reply {
    let order = NewOrder::of_kind(OrderKind::Market, symbol(), side, side.any_price(), Shares::from_units(1).unwrap());
    let trail = Trail::by(price(distance));
    let asked = Command::Place(Place::trailing(account, order, trail).unwrap());
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
    let orders = fill(&mut duel, 0, Side::Sell, |nth| 1_000 + nth);
    let told = behind_of(&mut duel, account(), Side::Buy, 1);
    assert_eq!(told, Reply::Rejected(Reject::TooManyTrails { most: TRAILING_MAX, of_account: false }));
    duel.export_and_import();
    trade(&mut duel, 6_000);
    assert_eq!((waits(&mut duel, orders[0]), waits(&mut duel, orders[999])), (Some(5_000), Some(4_001)));
    duel.play(Op::Command(Command::CancelOrder { account: account_of(2), order: orders[7].into() }));
    let other = behind(&mut duel, Side::Buy, 1);
    assert_eq!(waits(&mut duel, other), Some(6_001));
    duel.export_and_import();
    duel.end();
}

/// A regression: one account took all places, and nobody else could place a trailing stop in the symbol.
#[test]
fn an_account_leaves_room_for_others_that_follow_the_price() {
    const MOST: usize = TRAILING_OF_ACCOUNT_MAX;
    let mut duel = opened(5_000);
    endow(&mut duel, account_of(2));
    let orders: Vec<OrderId> = (0..MOST).map(|nth| behind(&mut duel, Side::Sell, 1_000 + nth as i64)).collect();
    let refused = Reply::Rejected(Reject::TooManyTrails { most: MOST, of_account: true });
    for side in [Side::Buy, Side::Sell] {
        assert_eq!(behind_of(&mut duel, account(), side, 1), refused);
        assert!(matches!(behind_of(&mut duel, account_of(2), side, 1_000), Reply::Opened(_)));
    }
    duel.export_and_import();
    assert_eq!(behind_of(&mut duel, account(), Side::Buy, 1), refused);
    // One takes the place of another, and one that is over leaves its place.
    let order = NewOrder::of_kind(OrderKind::Market, symbol(), Side::Buy, Side::Buy.any_price(), Shares::MIN);
    let place = Place::trailing(account(), order, Trail::by(price(1))).unwrap();
    duel.play(Op::Command(Command::ReplaceOrder { account: account(), order: orders[3].into() }));
    let told = duel.play_told(Command::Place(place.bound(Bond::Replacing)));
    assert!(matches!(told, Reply::Opened(_)), "{told:?}");
    assert_eq!(behind_of(&mut duel, account(), Side::Buy, 1), refused);
    duel.play(Op::Command(Command::CancelOrder { account: account(), order: orders[7].into() }));
    assert!(matches!(behind_of(&mut duel, account(), Side::Buy, 1), Reply::Opened(_)));
    assert_eq!(behind_of(&mut duel, account(), Side::Buy, 1), refused);
    duel.end();
}

/// A regression: each activated order moved a thousand others, and ten such ended a command.
#[test]
fn what_moves_takes_nothing_from_what_a_command_activates() {
    const BUYS: i64 = 13;
    let mut duel = opened(5_000);
    fill(&mut duel, BUYS as usize, Side::Sell, |nth| 1_000 + nth % 7);
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

/// The number of these events that match.
fn count(events: &[Event], is_it: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is_it(event)).count()
}

/// Goes on until no order waits for its turn.
fn go_on(duel: &mut Duel) {
    while duel.model().reached_orders() > 0 {
        duel.play(Op::Command(Command::ActivateReached));
    }
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::TrailReached { .. })
}

/// The ends counted nothing, so one command with which the market goes on could end the following of millions.
#[test]
fn each_order_that_ends_its_following_counts_as_an_execution() {
    let mut duel = open(Duel::with_bounds(1, 1_000, ExecutionBounds::of_command(20)), 100);
    place(&mut duel, Side::Buy, 50, 1);
    for distance in 1..=15 {
        behind(&mut duel, Side::Sell, distance);
    }
    let order = NewOrder::limit(symbol(), Side::Sell, price(50), Shares::from_units(1).unwrap());
    let events = duel.play_heard(Op::Command(Command::Place(Place::order(account(), order))));
    assert_eq!(count(&events, is_end), 15, "none goes on to follow");
    assert_eq!(count(&events, |event| matches!(event, Event::TriggerReached { .. })), 20 - 1 - 15);
    duel.export_and_import();
    go_on(&mut duel);
    duel.end();
}

/// Places an order of one unit in a symbol.
fn of_one(symbol: Symbol, side: Side, limit: i64) -> Command {
    Command::Place(Place::order(account(), NewOrder::limit(symbol, side, price(limit), Shares::MIN)))
}

/// Makes symbols in which eight sells follow the price of 100, and where these prices are bid.
fn followed_symbols(duel: &mut Duel, names: &[&str], bids: &[i64]) -> Vec<Symbol> {
    let symbols: Vec<Symbol> = names.iter().map(|name| Symbol::parse(name.as_bytes()).unwrap()).collect();
    for &symbol in &symbols {
        duel.play_told(Command::CreateSymbol { symbol });
        duel.play_told(Command::IssueShares { symbol, account: account(), shares: Position::from_units(100) });
        duel.play_told(of_one(symbol, Side::Buy, 100));
        duel.play_told(of_one(symbol, Side::Sell, 100));
        for &bid in bids {
            duel.play_told(of_one(symbol, Side::Buy, bid));
        }
        for distance in 1..=8 {
            let order = NewOrder::of_kind(OrderKind::Market, symbol, Side::Sell, Side::Sell.any_price(), Shares::MIN);
            duel.play_told(Command::Place(Place::trailing(account(), order, Trail::by(price(distance))).unwrap()));
        }
    }
    symbols
}

/// Each order of a request could end the following of a thousand in a symbol of its own, however much the others did.
#[test]
fn orders_wait_for_their_turn_where_many_follow_once_a_turn_has_ended_the_following_of_many() {
    let bounds = ExecutionBounds { command: 100, turn: 8, small: 5, share: 100, ..ExecutionBounds::ALL };
    let mut duel = open(Duel::with_bounds(1, 1_000, bounds), 100);
    let symbols = followed_symbols(&mut duel, &["A", "B", "C"], &[50]);
    for order in &followed_ids(&duel)[16..19] {
        duel.play_told(Command::CancelOrder { account: account(), order: (*order).into() });
    }
    let sells = symbols.iter().map(|&symbol| of_one(symbol, Side::Sell, 50));
    duel.turn(&sells.collect::<Vec<_>>());
    let follow: Vec<bool> = followed_ids(&duel).iter().map(|&order| duel.model().order(order).follows).collect();
    let ended = follow.chunks(8).map(|chunk| chunk.iter().filter(|follows| !**follows).count());
    assert!(ended.eq([8, 0, 5]), "the second order waits, and beside five the third does not");
    duel.export_and_import();
    go_on(&mut duel);
    assert!(followed_ids(&duel)[8..16].iter().all(|&order| !duel.model().order(order).follows));
    duel.end();
}

/// The orders that `followed_symbols` had follow.
fn followed_ids(duel: &Duel) -> Vec<OrderId> {
    (1..=duel.model().orders_placed()).map(OrderId).filter(|&id| duel.model().order(id).trail.is_some()).collect()
}

/// An order that goes on has a share of the command, and may end the following of more.
#[test]
fn ends_beyond_the_share_of_an_order_count_for_the_command() {
    let bounds = ExecutionBounds { command: 20, turn: 5, small: 5, share: 5, ..ExecutionBounds::ALL };
    let mut duel = open(Duel::with_bounds(1, 1_000, bounds), 100);
    let symbols = followed_symbols(&mut duel, &["A", "B", "C", "D"], &[100, 100, 100, 100, 100, 50]);
    for symbol in symbols {
        let order = NewOrder::limit(symbol, Side::Sell, price(50), Shares::from_units(6).unwrap());
        duel.play_told(Command::Place(Place::order(account(), order)));
    }
    assert_eq!(duel.model().reached_orders(), 4, "all are under way");
    let events = duel.play_heard(Op::Command(Command::ActivateReached));
    let resumed = count(&events, |event| matches!(event, Event::OrderResumed { .. }));
    assert_eq!((resumed, count(&events, is_end)), (3, 24), "each counts 9 of 20");
    go_on(&mut duel);
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
    assert_eq!(behind_of(&mut duel, account(), Side::Buy, 10), refused);
    assert!(matches!(behind_of(&mut duel, account(), Side::Buy, 5), Reply::Opened(_)));
    duel.play(Op::Command(Command::ChangeRules { symbol: symbol(), rules: SymbolRules::NONE }));
    let most = price(95).times(Shares::MIN);
    let limits = AccountLimits { order_value: most, ..AccountLimits::NONE };
    duel.play(Op::Command(Command::ChangeLimits { account: account(), limits }));
    let refused = Reply::Rejected(Reject::PastLimit(PastLimit::OrderValue { most }));
    assert_eq!(behind_of(&mut duel, account(), Side::Sell, 4), refused);
    assert!(
        matches!(behind_of(&mut duel, account(), Side::Sell, 5), Reply::Opened(_)),
        "it waits for 95, and 100 was paid last"
    );
}
