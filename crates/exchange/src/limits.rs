//! Limits on the requests of a member, whatever it owns: the exchange refuses what exceeds them at once, and does not
//! keep it for later. This module knows no account.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use terms::{Amendment, Change, Command, Money, NewOrder, Op, OrderForm, OrderKind, Shares, Side};

use crate::budget::AccountRange;

/// Bounds of a member, over all its keys and connections; `None` is no bound.
#[derive(Debug, Default)]
pub struct Limits {
    orders_per_second: Option<NonZeroU32>,
    order_shares: Option<Shares>,
    order_value: Option<Money>,
    messages_per_second: Option<NonZeroU32>,
    connections: Option<NonZeroU32>,
    pace: Pace,
    messages: Pace,
    /// The pace of cancels that the exchange lets through beyond the bound of messages.
    cancels: Pace,
    /// The pace of signed requests that this server tells other servers of.
    told: Pace,
}

/// The bound that an order exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    OrdersPerSecond(u32),
    OrderShares(Shares),
    OrderValue(Money),
    /// Refuses an order for money, because its price decides how many shares it has.
    SharesOfMoney(Shares),
    /// Refuses a sell that moves up to where it rests, because its value is not known before.
    ValueOfMoving(Money),
    /// Refuses an amendment that names the limit or the shares alone, because the value of the order is not known.
    ValueOfAmended(Money),
    MessagesPerSecond(u32),
    Connections(u32),
    /// The accounts that an issuer may create.
    Accounts(AccountRange),
    /// Refuses an order because another one, which is placed with it or not at all, is past a bound.
    OfAnotherOrder,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::OrdersPerSecond(most) => {
                write!(f, "too many orders: this member may place {most} a second; try again")
            }
            Limit::OrderShares(most) => write!(f, "too many shares: an order of this member may have {}", most),
            Limit::OrderValue(most) => {
                write!(f, "too much money: an order of this member may be worth {} dollars", most)
            }
            Limit::SharesOfMoney(most) => write!(
                f,
                "too many shares: an order of this member may have {most}, and one for money has no number before it executes: say how many shares"
            ),
            Limit::ValueOfMoving(most) => write!(
                f,
                "too much money: an order of this member may be worth {most} dollars, and a post-only sell that moves has no limit before it is placed: say one that it keeps"
            ),
            Limit::ValueOfAmended(most) => write!(
                f,
                "too much money: an order of this member may be worth {most} dollars, and its value is its limit times its shares: an amendment that names one of them has to name the other"
            ),
            Limit::MessagesPerSecond(most) => {
                write!(f, "too many messages: this member may send {most} a second; try again")
            }
            Limit::Connections(most) => {
                write!(f, "too many connections: this member may have {most} open; close one")
            }
            Limit::Accounts(range) => write!(f, "outside the budget: this member may create the accounts {range}"),
            Limit::OfAnotherOrder => f.write_str("another order of this list is past a limit of this member"),
        }
    }
}

impl Limits {
    /// Makes limits: N orders a second, and after a pause N at once; the shares of one order; the dollars of one order,
    /// which are its limit times its shares, or its funds. A market order for shares has no value before it executes.
    pub fn new(
        orders_per_second: Option<NonZeroU32>,
        order_shares: Option<Shares>,
        order_value: Option<Money>,
    ) -> Limits {
        Limits { orders_per_second, order_shares, order_value, ..Limits::default() }
    }

    /// Adds a bound on messages a second, whatever they ask for.
    #[must_use]
    pub fn with_messages(self, messages_per_second: Option<NonZeroU32>) -> Limits {
        Limits { messages_per_second, ..self }
    }

    /// Adds a bound on connections at once.
    #[must_use]
    pub fn with_connections(self, connections: Option<NonZeroU32>) -> Limits {
        Limits { connections, ..self }
    }

    /// The most connections of the member.
    pub(crate) fn connections(&self) -> Option<NonZeroU32> {
        self.connections
    }

    /// Counts a message. Errors: there were too many.
    pub fn take_message(&self) -> Result<(), Limit> {
        match self.messages_per_second {
            Some(most) if !self.messages.take(most, now()) => Err(Limit::MessagesPerSecond(most.get())),
            _ => Ok(()),
        }
    }

    /// Counts a signed request that this server tells other servers of, before it knows what the request asks for: as
    /// many a second as the bound of messages, and as many again for cancels that are let through. Errors: there were
    /// too many.
    pub fn take_told(&self) -> Result<(), Limit> {
        match self.messages_per_second {
            Some(most) if !self.told.take(most.saturating_add(most.get()), now()) => {
                Err(Limit::MessagesPerSecond(most.get()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks whether there is room for another message, without counting one. Errors: there is none.
    pub fn has_room(&self) -> Result<(), Limit> {
        match self.messages_per_second {
            Some(most) if !self.messages.has_room(most, now()) => Err(Limit::MessagesPerSecond(most.get())),
            _ => Ok(()),
        }
    }

    /// Whether an op goes through although its message is one too many: a member can always reduce its open orders.
    /// Cancels of single orders have their own room, as large as the bound of messages a second.
    pub(crate) fn lets_through(&self, op: &Op) -> bool {
        match op {
            Op::Command(Command::CancelAll { .. } | Command::Kill { .. } | Command::KillTogether { .. }) => true,
            Op::Command(Command::CancelOrder { .. }) => {
                self.messages_per_second.is_none_or(|most| self.cancels.take(most, now()))
            }
            Op::Command(_) | Op::Query(_) => false,
        }
    }

    /// Makes an amendment that names the shares of an order alone one that can only take shares off, where the value of
    /// an order is bounded: nobody knows here what the order would be worth with more shares.
    pub(crate) fn narrow(&self, op: &mut Op) {
        let Op::Command(Command::Amend(amendment)) = op else { return };
        let Amendment { account, order, .. } = *amendment;
        if self.order_value.is_some()
            && let Some(shares) = amendment.shares()
            && *amendment == Amendment::of(account, order).with_shares(shares)
        {
            *op = Op::Command(Command::AmendOrder { account, order, shares });
        }
    }

    /// Checks an order that a command places, or may place again with other terms, and counts it if it is within the
    /// bounds. Errors: it exceeds a bound.
    pub(crate) fn check(&self, command: &Command) -> Result<(), Limit> {
        if self.orders_per_second.is_none() && self.order_shares.is_none() && self.order_value.is_none() {
            return Ok(());
        }
        let Some(size) = size(command) else { return Ok(()) };
        match (self.order_shares, size.shares) {
            (Some(most), Count::Of(shares)) if shares > most => return Err(Limit::OrderShares(most)),
            (Some(most), Count::Unknown) => return Err(Limit::SharesOfMoney(most)),
            (_, Count::Of(_) | Count::Unknown | Count::Unchanged) => {}
        }
        match (self.order_value, size.value) {
            (Some(most), Value::AtMost(value)) if value > most => return Err(Limit::OrderValue(most)),
            (Some(most), Value::Rises) => return Err(Limit::ValueOfMoving(most)),
            (Some(most), Value::OfOneTerm) => return Err(Limit::ValueOfAmended(most)),
            (_, Value::AtMost(_) | Value::OfMarket | Value::Rises | Value::OfOneTerm | Value::Unchanged) => {}
        }
        match self.orders_per_second {
            Some(most) if !self.pace.take(most, now()) => Err(Limit::OrdersPerSecond(most.get())),
            _ => Ok(()),
        }
    }
}

/// Compares the bounds alone, not how much of them was used.
impl PartialEq for Limits {
    fn eq(&self, other: &Limits) -> bool {
        let bounds = |limits: &Limits| {
            let Limits { orders_per_second, order_shares, order_value, messages_per_second, connections, .. } = limits;
            (*orders_per_second, *order_shares, *order_value, *messages_per_second, *connections)
        };
        bounds(self) == bounds(other)
    }
}

impl Eq for Limits {}

/// The size of an order, as far as it is known before the order is placed.
struct Size {
    shares: Count,
    value: Value,
}

/// The number of shares of an order.
enum Count {
    Of(Shares),
    /// The order is for money.
    Unknown,
    /// An amendment leaves it as it is.
    Unchanged,
}

/// The value that an order may have.
enum Value {
    AtMost(Money),
    /// The order is a market order for shares: it has the value that they execute at.
    OfMarket,
    /// The order gets another limit when it is placed, above its own.
    Rises,
    /// An amendment names either the limit or the shares.
    OfOneTerm,
    /// An amendment names neither.
    Unchanged,
}

/// The size of an order that gets other terms; `None` if it keeps its place whatever they are.
fn amended_size(amendment: &Amendment) -> Option<Size> {
    let (shares, limit) = (amendment.shares(), amendment.limit());
    let value = match (limit, shares) {
        (Some(limit), Some(shares)) => Value::AtMost(limit.times(shares)),
        (Some(_), None) | (None, Some(_)) => Value::OfOneTerm,
        (None, None) => Value::Unchanged,
    };
    let leaves = amendment.waits_for().is_some() || amendment.tif().is_some() || amendment.display() == Change::Remove;
    let may_leave = leaves || !matches!(value, Value::Unchanged);
    may_leave.then(|| Size { shares: shares.map_or(Count::Unchanged, Count::Of), value })
}

/// The size of the order that a command places, or may place again; `None` if it places none.
fn size(command: &Command) -> Option<Size> {
    if let Command::Amend(amendment) = command {
        return amended_size(amendment);
    }
    let (order, is_triggered) = match command.place()?.form() {
        OrderForm::Plain(order) | OrderForm::Iceberg { order, .. } => (order, order.trigger.is_some()),
        OrderForm::Trailing { order, .. } => (order, true),
        OrderForm::Funds(order) => return Some(Size { shares: Count::Unknown, value: Value::AtMost(order.funds) }),
    };
    let NewOrder { side, kind, limit, shares, .. } = order;
    let value = match (kind, side) {
        (OrderKind::Market | OrderKind::AuctionMarket, _) => Value::OfMarket,
        // An order that waits for a price keeps its limit.
        (OrderKind::PostOnlyMove, Side::Sell) if !is_triggered => Value::Rises,
        _ => Value::AtMost(limit.times(shares)),
    };
    Some(Size { shares: Count::Of(shares), value })
}

const SECOND_NS: u64 = 1_000_000_000;

/// The time when the next order would be due if all came evenly, in nanoseconds of this process. It is at most a second
/// ahead.
#[derive(Debug, Default)]
struct Pace(AtomicU64);

impl Pace {
    /// Whether there is room for one more.
    fn has_room(&self, per_second: NonZeroU32, now: u64) -> bool {
        let due = self.0.load(Ordering::Relaxed).max(now);
        due.saturating_add(SECOND_NS / u64::from(per_second.get())) <= now.saturating_add(SECOND_NS)
    }

    /// Counts one, unless there were too many. Returns whether it counted it.
    fn take(&self, per_second: NonZeroU32, now: u64) -> bool {
        let step = SECOND_NS / u64::from(per_second.get());
        let next = |due: u64| {
            let due = due.max(now);
            (due.saturating_add(step) <= now.saturating_add(SECOND_NS)).then(|| due.saturating_add(step))
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

/// Nanoseconds since the first call.
pub(crate) fn now() -> u64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(BEGUN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use terms::{AccountId, FundsOrder, OrderId, Place, Price, SelfTrade, Side, Symbol};

    use super::*;

    fn shares(units: i64) -> Shares {
        Shares::from_units(units).expect("not negative")
    }

    fn place(order: NewOrder) -> Command {
        let account = AccountId::parse(b"1").expect("digits");
        Command::Place(Place::order(account, order))
    }

    #[test]
    fn an_order_past_a_bound_is_refused_with_that_bound() {
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let price = Price::from_units(100_000_000).expect("above zero");
        let limit = |units| place(NewOrder::limit(symbol, Side::Buy, price, shares(units)));
        let value = price.times(shares(50));
        let limits = Limits::new(None, Some(shares(70)), Some(value));
        assert_eq!(limits.check(&limit(50)), Ok(()));
        assert_eq!(limits.check(&limit(51)), Err(Limit::OrderValue(value)));
        assert_eq!(limits.check(&limit(71)), Err(Limit::OrderShares(shares(70))));
        let market = |units| place(NewOrder::market(symbol, Side::Buy, shares(units)));
        assert_eq!(limits.check(&market(70)), Ok(()), "its value is not known");
        assert_eq!(limits.check(&market(71)), Err(Limit::OrderShares(shares(70))));
        let account = AccountId::parse(b"1").expect("digits");
        let funds = |funds| {
            let order = FundsOrder { symbol, side: Side::Buy, funds, self_trade: SelfTrade::Allowed };
            Command::Place(Place::funds(account, order))
        };
        let of_value = Limits::new(None, None, Some(value));
        assert_eq!(of_value.check(&funds(value)), Ok(()));
        assert_eq!(of_value.check(&funds(value.plus(Money::from_units(1)))), Err(Limit::OrderValue(value)));
        assert_eq!(limits.check(&funds(Money::from_units(1))), Err(Limit::SharesOfMoney(shares(70))));
        let moving = |side| {
            let order = NewOrder::limit(symbol, side, price, shares(1));
            place(NewOrder { kind: OrderKind::PostOnlyMove, ..order })
        };
        assert_eq!(limits.check(&moving(Side::Buy)), Ok(()), "it moves down");
        assert_eq!(limits.check(&moving(Side::Sell)), Err(Limit::ValueOfMoving(value)));
        assert_eq!(Limits::new(None, Some(shares(70)), None).check(&moving(Side::Sell)), Ok(()));
        assert_eq!(Limits::default().check(&limit(i64::MAX)), Ok(()));
    }

    /// An order of one share could otherwise become one of any size.
    #[test]
    fn an_amended_order_is_within_the_bounds_of_a_new_one() {
        let (price, until) =
            (Price::from_units(100_000_000).expect("above zero"), terms::Deadline::new(terms::Time(9)));
        let one = Amendment::of(AccountId::parse(b"1").expect("digits"), OrderId(7).into());
        let value = price.times(shares(50));
        let limits = Limits::new(None, Some(shares(70)), Some(value));
        let check = |amendment| limits.check(&Command::Amend(amendment));
        assert_eq!(check(one.with_shares(shares(50)).with_limit(price)), Ok(()));
        assert_eq!(check(one.with_shares(shares(51)).with_limit(price)), Err(Limit::OrderValue(value)));
        assert_eq!(check(one.with_shares(shares(71))), Err(Limit::OrderShares(shares(70))));
        assert_eq!(check(one.with_shares(shares(1))), Err(Limit::ValueOfAmended(value)), "its limit is not known");
        assert_eq!(check(one.with_limit(price)), Err(Limit::ValueOfAmended(value)));
        assert_eq!(Limits::new(None, Some(shares(70)), None).check(&Command::Amend(one.with_limit(price))), Ok(()));
        assert_eq!(check(one.with_deadline(until)), Ok(()));
        assert_eq!(check(one.with_tif(terms::TimeInForce::ImmediateOrCancel)), Ok(()));
    }

    #[test]
    fn an_amendment_of_shares_alone_takes_shares_off_where_the_value_of_an_order_is_bounded() {
        let (account, order) = (AccountId::parse(b"1").expect("digits"), OrderId(7).into());
        let one = Amendment::of(account, order);
        let narrowed = |limits: &Limits, amendment| {
            let mut op = Op::Command(Command::Amend(amendment));
            limits.narrow(&mut op);
            op
        };
        let bounded = Limits::new(None, None, Some(Money::from_units(5)));
        let (less, price) = (one.with_shares(shares(3)), Price::from_units(1).expect("above zero"));
        let taken_off = Op::Command(Command::AmendOrder { account, order, shares: shares(3) });
        assert_eq!(narrowed(&bounded, less), taken_off);
        for other in [less.with_limit(price), less.with_deadline(None), one.with_limit(price)] {
            assert_eq!(narrowed(&bounded, other), Op::Command(Command::Amend(other)));
        }
        let unbounded = Limits::new(NonZeroU32::new(1), Some(shares(70)), None);
        assert_eq!(narrowed(&unbounded, less), Op::Command(Command::Amend(less)));
    }

    #[test]
    fn amendments_count_where_they_may_place_an_order_again() {
        let limits = || Limits::new(NonZeroU32::new(1), None, None);
        let one = Amendment::of(AccountId::parse(b"1").expect("digits"), OrderId(7).into());
        let counts = |amendment| {
            let limits = limits();
            limits.check(&Command::Amend(amendment)).and_then(|()| limits.check(&Command::Amend(amendment))).is_err()
        };
        let price = Price::from_units(1).expect("above zero");
        let anew = [one.with_shares(shares(1)), one.with_limit(price), one.with_display(None)];
        assert!(anew.into_iter().all(counts));
        assert!(counts(one.with_wait(terms::WaitsFor::StopLoss(price))));
        assert!(counts(one.with_tif(terms::TimeInForce::Rests)));
        assert!(!counts(one.with_deadline(None)) && !counts(one.with_display(Some(shares(1)))));
    }

    #[test]
    fn so_many_orders_a_second_and_after_a_pause_as_many_at_once() {
        let (pace, ten) = (Pace::default(), NonZeroU32::new(10).expect("above zero"));
        let taken = |at_ms: u64, tries: usize| (0..tries).filter(|_| pace.take(ten, at_ms * 1_000_000)).count();
        assert_eq!(taken(5_000, 25), 10);
        assert_eq!(taken(5_050, 5), 0);
        assert_eq!(taken(5_100, 5), 1);
        assert_eq!(taken(5_600, 25), 5);
        assert_eq!(taken(60_000, 25), 10, "no more is saved up");
    }

    #[test]
    fn a_message_too_many_is_done_as_far_as_it_ends_something() {
        let limits = Limits::default().with_messages(NonZeroU32::new(1));
        let account = AccountId::parse(b"1").expect("digits");
        assert_eq!((limits.take_message(), limits.take_message()), (Ok(()), Err(Limit::MessagesPerSecond(1))));
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let order = Op::Command(place(NewOrder::market(symbol, Side::Buy, shares(1))));
        let cancel = Op::Command(Command::CancelOrder { account, order: OrderId(1).into() });
        let all = Op::Command(Command::CancelAll { account, symbol: None, through: None });
        let kill = Op::Command(Command::Kill { scope: terms::KillScope::Account(account) });
        assert_eq!([&order, &cancel, &cancel].map(|op| limits.lets_through(op)), [false, true, false]);
        let kill_of_many = Op::Command(Command::KillTogether { account, among: terms::Among::First });
        assert!((0..100).all(|_| [&all, &kill, &kill_of_many].iter().all(|op| limits.lets_through(op))));
        assert!((0..100).all(|_| Limits::default().take_message().is_ok()));
        let told: Vec<bool> = (0..3).map(|_| limits.take_told().is_ok()).collect();
        assert_eq!(told, [true, true, false], "one message, and one cancel");
        assert!((0..100).all(|_| Limits::default().take_told().is_ok()));
    }

    #[test]
    fn cancels_never_count() {
        let limits = Limits::new(NonZeroU32::new(1), None, None);
        let account = AccountId::parse(b"1").expect("digits");
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let order = place(NewOrder::market(symbol, Side::Buy, shares(1)));
        let cancel = Command::CancelOrder { account, order: OrderId(1).into() };
        assert_eq!(limits.check(&order), Ok(()));
        assert_eq!(limits.check(&order), Err(Limit::OrdersPerSecond(1)));
        assert!((0..100).all(|_| limits.check(&cancel).is_ok()));
    }
}
