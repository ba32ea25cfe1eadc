//! Replacements in one step: an order that is refused leaves the one that it was to replace as it was.

use std::num::NonZeroU32;

use engine::{DoneOrders, Engine};
use terms::{
    AccountId, AccountLimits, Bond, BrokenRule, Command, DOLLAR, Entry, Event, KillScope, Money, NewOrder, OrderId,
    OrderKind, PastLimit, Phase, Place, Position, Price, Reject, Reply, SelfTrade, Shares, Side, Symbol, Time, Trail,
    Trigger,
};

const UNIT: i64 = 100_000_000;

fn account(number: u8) -> AccountId {
    AccountId::parse(&[b'0' + number]).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn price(dollars: i64) -> Price {
    Price::from_units(dollars * UNIT).unwrap()
}

fn order(side: Side, shares: i64, dollars: i64) -> NewOrder {
    NewOrder::limit(symbol(), side, price(dollars), Shares::from_units(shares * UNIT).unwrap())
}

fn buy(shares: i64, dollars: i64) -> NewOrder {
    order(Side::Buy, shares, dollars)
}

fn sell(shares: i64, dollars: i64) -> NewOrder {
    order(Side::Sell, shares, dollars)
}

fn of_kind(kind: OrderKind, order: NewOrder) -> NewOrder {
    NewOrder { kind, ..order }
}

fn placing(number: u8, order: NewOrder) -> Command {
    Command::Place(Place::order(account(number), order))
}

/// Three accounts with a hundred dollars and ten shares each.
struct Market {
    engine: Engine,
    events: Vec<Event>,
}

impl Market {
    fn new() -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Drop), events: Vec::new() };
        market.apply(Command::CreateSymbol { symbol: symbol() });
        for account in [1, 2, 3].map(account) {
            market.apply(Command::CreateAccount { account, balance: Money::from_units(100 * DOLLAR) });
            let shares = Position::from_units(10 * i128::from(UNIT));
            market.apply(Command::IssueShares { symbol: symbol(), account, shares });
        }
        market
    }

    /// A market in which these commands were given.
    fn with(commands: &[Command]) -> Market {
        let mut market = Market::new();
        for &command in commands {
            let reply = market.apply(command);
            assert!(!matches!(reply, Reply::Rejected(_)), "{command:?}: {reply:?}");
        }
        market
    }

    fn apply(&mut self, command: Command) -> Reply {
        let entry = Entry { sequence: self.engine.sequence().next(), time: Time(1), command };
        let reply = self.engine.apply(&entry, &mut Vec::new(), &mut |event| self.events.push(event));
        self.engine.check_invariants();
        reply
    }

    /// Replaces an order of account 1 in one step. Returns the reply to the new order.
    fn keep(&mut self, replaced: u64, place: Place) -> Reply {
        self.apply(Command::ReplaceOrder { account: account(1), order: OrderId(replaced).into() });
        self.apply(Command::Place(place.bound(Bond::Replacing)))
    }

    /// The state, as it is exported.
    fn items(&self) -> Vec<String> {
        let mut items = Vec::new();
        self.engine.export(&mut |item| items.push(format!("{item:?}")));
        // The first one has the number of the last command.
        items.split_off(1)
    }
}

/// Checks that the market after these commands stays the same if an order is refused in place of the one with this id,
/// and goes on as if nobody had asked.
#[track_caller]
fn check_kept(before: &[Command], replaced: u64, place: Place, why: &str) {
    let mut market = Market::with(before);
    let items = market.items();
    market.events.clear();
    let reply = market.keep(replaced, place);
    assert!(matches!(reply, Reply::Rejected(_)) && format!("{reply:?}").contains(why), "{reply:?}");
    assert_eq!(market.items(), items, "nothing has changed");
    assert_eq!(market.events, [], "nobody is told anything");
    let mut other = Market::with(before);
    other.events.clear();
    // One joins the level of the kept order, one stands beside it, and one meets them.
    for command in [placing(2, buy(1, 10)), placing(3, buy(1, 9)), placing(3, sell(9, 9))] {
        assert_eq!(market.apply(command), other.apply(command), "{command:?}");
    }
    assert_eq!((market.events.as_slice(), market.items()), (other.events.as_slice(), other.items()));
}

/// Checks that an order is placed in place of the one with this id as if that one had been canceled just before.
#[track_caller]
fn check_replaced(before: &[Command], replaced: u64, place: Place) {
    let [mut one, mut two] = [Market::with(before), Market::with(before)];
    let reply = one.keep(replaced, place);
    assert!(matches!(reply, Reply::Opened(_) | Reply::Moved { .. }), "{reply:?}");
    two.apply(Command::CancelOrder { account: account(1), order: OrderId(replaced).into() });
    assert_eq!(two.apply(Command::Place(place.bound(Bond::IfCanceled))), reply);
    assert_eq!(one.events, two.events);
    assert_eq!(one.items(), two.items());
}

fn plain(order: NewOrder) -> Place {
    Place::order(account(1), order)
}

#[test]
fn a_refused_order_leaves_the_other_one_at_its_place_whatever_the_reason() {
    // Order 2 stands between two others of its price, and holds half of the money.
    let resting = [placing(2, buy(1, 10)), placing(1, buy(5, 10)), placing(3, buy(1, 10)), placing(2, sell(1, 12))];
    check_kept(&resting, 2, plain(buy(11, 10)), "InsufficientFunds");
    check_kept(&resting, 2, plain(sell(11, 20)), "InsufficientShares");
    check_kept(&resting, 2, plain(of_kind(OrderKind::PostOnly, buy(1, 12))), "WouldTake");
    let behind = Place::trailing(account(1), buy(1, 11), Trail::by(price(1))).unwrap();
    check_kept(&resting, 2, behind, "NothingToTrail");
    let unknown = NewOrder { symbol: Symbol::parse(b"QQQ").unwrap(), ..buy(1, 1) };
    check_kept(&resting, 2, plain(unknown), "UnknownSymbol");
    let with = |command: Command| [&resting[..], &[command]].concat();
    let halted = with(Command::ChangePhase { symbol: symbol(), phase: Phase::Halted, due: None });
    check_kept(&halted, 2, plain(buy(1, 10)), "Halted");
    let killed = with(Command::Kill { scope: KillScope::Symbol(symbol()) });
    let mut market = Market::with(&killed);
    let gone = market.keep(2, plain(buy(1, 10)));
    assert_eq!(gone, Reply::Rejected(Reject::NotCanceled), "the kill has canceled the old order");
    let limits = AccountLimits { order_shares: Shares::from_units(5 * UNIT).unwrap(), ..AccountLimits::NONE };
    let limited = with(Command::ChangeLimits { account: account(1), limits });
    check_kept(&limited, 2, plain(buy(6, 10)), "PastLimit");
    // The only order of its price comes back to a price of its own.
    check_kept(&[placing(1, buy(5, 10))], 1, plain(buy(11, 10)), "InsufficientFunds");
    check_kept(&[placing(1, sell(10, 20))], 1, plain(sell(11, 20)), "InsufficientShares");
}

#[test]
fn a_refused_order_leaves_orders_that_wait_as_they_are() {
    let traded = [placing(2, sell(1, 10)), placing(3, buy(1, 10))];
    let stop = buy(2, 15).triggered_by(Trigger::from_below(price(14)));
    let other = Place::order(account(2), buy(2, 15).triggered_by(Trigger::from_below(price(14))));
    let waits = [&traded[..], &[placing(1, stop), Command::Place(other)]].concat();
    check_kept(&waits, 3, plain(buy(11, 10)), "InsufficientFunds");
    check_kept(&waits[..3], 3, plain(buy(11, 10)), "InsufficientFunds");
    let trailing = Place::trailing(account(1), buy(2, 15), Trail::by(price(3))).unwrap();
    let follows = [&traded[..], &[Command::Place(trailing)]].concat();
    check_kept(&follows, 3, plain(buy(11, 10)), "InsufficientFunds");
    let iceberg = Place::iceberg(account(1), buy(5, 10), Shares::from_units(UNIT).unwrap()).unwrap();
    let iceberg = [Command::Place(iceberg), placing(2, buy(1, 10))];
    check_kept(&iceberg, 1, plain(buy(11, 10)), "InsufficientFunds");
    // Both orders of a pair, of which one rests, and a working order with the one that waits for it.
    let linked = Command::Place(plain(stop).bound(Bond::Linked));
    let pair = [&traded[..], &[placing(1, buy(2, 9)), linked]].concat();
    for replaced in [3, 4] {
        check_kept(&pair, replaced, plain(buy(11, 10)), "InsufficientFunds");
        check_replaced(&pair, replaced, plain(buy(10, 10)));
    }
    let working = Command::Place(plain(buy(2, 9)).bound(Bond::Working { two_wait: false }));
    let chain = [working, Command::Place(plain(sell(2, 20)).bound(Bond::Pending))];
    for replaced in [1, 2] {
        check_kept(&chain, replaced, plain(buy(11, 10)), "InsufficientFunds");
        check_replaced(&chain, replaced, plain(buy(1, 10)));
    }
}

#[test]
fn what_the_old_order_holds_and_counts_is_free_for_the_new_one() {
    check_replaced(&[placing(1, buy(10, 10))], 1, plain(buy(10, 10)));
    check_replaced(&[placing(1, sell(10, 20))], 1, plain(sell(10, 21)));
    // The old order would stop the new one, or execute with it.
    check_replaced(&[placing(1, sell(10, 20))], 1, plain(of_kind(OrderKind::PostOnly, buy(5, 20))));
    check_replaced(&[placing(1, sell(10, 20))], 1, plain(of_kind(OrderKind::PostOnlyMove, buy(5, 20))));
    check_replaced(&[placing(1, sell(5, 20))], 1, plain(buy(5, 20)));
    let prevents = buy(2, 20).with_self_trade(SelfTrade::CancelNewest);
    check_replaced(&[placing(1, sell(5, 19)), placing(2, sell(2, 20))], 1, plain(prevents));
    let open_orders = NonZeroU32::new(1);
    let position = Shares::from_units(15 * UNIT).unwrap();
    let limits = AccountLimits { open_orders, position, ..AccountLimits::NONE };
    let limited = [Command::ChangeLimits { account: account(1), limits }, placing(1, buy(5, 10))];
    check_replaced(&limited, 1, plain(buy(5, 11)));
    check_kept(&limited, 1, plain(buy(6, 11)), "Position");
    // A fill-or-kill that the old order alone would fill is placed and finds nothing.
    check_replaced(&[placing(1, sell(5, 20))], 1, plain(of_kind(OrderKind::FillOrKill, buy(5, 20))));
    let mut market = Market::with(&limited);
    market.keep(1, plain(buy(6, 11)));
    let past = Reply::Rejected(Reject::PastLimit(PastLimit::OpenOrders { most: NonZeroU32::MIN }));
    assert_eq!(market.apply(placing(1, buy(1, 1))), past, "the old order counts again");
}

#[test]
fn nothing_is_replaced_without_the_name_of_an_open_order_just_before() {
    let mut market = Market::with(&[placing(2, buy(1, 9)), placing(1, buy(1, 10))]);
    let not_canceled = Reply::Rejected(Reject::NotCanceled);
    assert_eq!(market.keep(1, plain(buy(1, 11))), not_canceled, "another account's");
    assert_eq!(market.keep(7, plain(buy(1, 11))), not_canceled, "nobody's");
    let others = Place::order(account(2), buy(1, 11));
    assert_eq!(market.keep(2, others), not_canceled, "an order of another account");
    market.apply(Command::CancelOrder { account: account(2), order: OrderId(1).into() });
    assert_eq!(market.apply(Command::Place(others.bound(Bond::Replacing))), not_canceled, "a cancel is no name");
    market.apply(Command::ReplaceOrder { account: account(1), order: OrderId(2).into() });
    market.apply(Command::ActivateReached);
    assert_eq!(
        market.apply(Command::Place(plain(buy(1, 11)).bound(Bond::Replacing))),
        not_canceled,
        "one came between"
    );
    market.apply(Command::ReplaceOrder { account: account(1), order: OrderId(2).into() });
    let conditional = Command::Place(plain(buy(1, 11)).bound(Bond::IfCanceled));
    assert_eq!(market.apply(conditional), not_canceled, "a name is no cancel");
    assert_eq!(market.keep(2, plain(buy(1, 11))), Reply::Opened(OrderId(3)));
    assert_eq!(market.keep(2, plain(buy(1, 12))), not_canceled, "it is replaced");
    assert_eq!(market.engine.open_order_count(), 1);
}

#[test]
fn an_order_that_was_placed_before_leaves_the_other_one() {
    let id = terms::ClientOrderId::parse(b"new").ok();
    let named = plain(buy(1, 11)).named(id);
    let mut market = Market::with(&[placing(1, buy(1, 10)), Command::Place(named)]);
    let items = market.items();
    assert_eq!(market.keep(1, named), Reply::Repeated(OrderId(2)));
    assert_eq!(market.items(), items);
    let taken = market.keep(1, plain(buy(2, 11)).named(id));
    assert!(matches!(taken, Reply::Rejected(Reject::ClientOrderIdTaken { .. })), "{taken:?}");
    assert_eq!(market.items(), items);
    let halted = Reply::Rejected(Reject::BreaksRule(BrokenRule::Halted));
    market.apply(Command::ChangePhase { symbol: symbol(), phase: Phase::Halted, due: None });
    assert_eq!(market.keep(1, plain(buy(1, 12))), halted);
    assert_eq!(market.engine.open_order_count(), 2);
}
