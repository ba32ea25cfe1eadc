//! Words of orders: side, kind, trigger, self-trade prevention, the order as a client asks for it, and its name.

use std::num::NonZeroI64;

use crate::amount::{Money, Price, Shares};
use crate::ids::{ClientOrderId, OrderId, Symbol};

/// The side of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Gives money for shares; holds limit × shares of the balance.
    Buy,
    /// Gives shares for money; holds the shares.
    Sell,
}

impl Side {
    /// The side that an order of this side trades with.
    #[inline]
    pub fn opposite(self) -> Side {
        match self {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        }
    }

    /// The limit that accepts every price.
    #[inline]
    pub fn any_price(self) -> Price {
        match self {
            Side::Buy => Price::MAX,
            Side::Sell => Price::MIN,
        }
    }
}

/// The kind of an order: its executions when it arrives, and the use of its remaining shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderKind {
    /// Executes up to its limit; the rest waits on the book until it is canceled.
    #[default]
    Limit,
    /// Never executes when it arrives: it is refused if it would.
    PostOnly,
    /// Post-only as well, but moved to the next price at which it does not execute. Once placed, it is
    /// [`OrderKind::PostOnly`].
    PostOnlyMove,
    /// Executes up to its limit; the remaining shares are canceled at once.
    ImmediateOrCancel,
    /// Executes all of its shares up to its limit, or is canceled at once.
    FillOrKill,
    /// Executes at any price; the remaining shares are canceled at once. A buy holds nothing, and stops when the
    /// balance of its account is used up.
    Market,
    /// A limit order for the auction in which its symbol is, or else for the next one: it gathers there, and the shares
    /// that do not execute when the symbol opens are canceled.
    AuctionLimit,
    /// A market order for that auction: it executes at any price within the price band. Once placed, its limit is the
    /// end of the band.
    AuctionMarket,
}

impl OrderKind {
    /// All kinds.
    pub const ALL: [OrderKind; 8] = [
        OrderKind::Limit,
        OrderKind::PostOnly,
        OrderKind::ImmediateOrCancel,
        OrderKind::FillOrKill,
        OrderKind::Market,
        OrderKind::PostOnlyMove,
        OrderKind::AuctionLimit,
        OrderKind::AuctionMarket,
    ];

    /// Whether the remaining shares rest on the book.
    #[inline]
    pub fn rests(self) -> bool {
        match self {
            OrderKind::Limit | OrderKind::PostOnly | OrderKind::PostOnlyMove => true,
            OrderKind::AuctionLimit | OrderKind::AuctionMarket => true,
            OrderKind::ImmediateOrCancel | OrderKind::FillOrKill | OrderKind::Market => false,
        }
    }

    /// Whether the order is for an auction, and ends with it.
    #[inline]
    pub fn is_for_auction(self) -> bool {
        matches!(self, OrderKind::AuctionLimit | OrderKind::AuctionMarket)
    }

    /// Whether an order may show a part of its shares at a time.
    pub fn may_show_a_part(self) -> bool {
        self.rests() && self != OrderKind::AuctionMarket
    }

    /// Whether the client of such an order names no limit.
    pub fn is_market(self) -> bool {
        matches!(self, OrderKind::Market | OrderKind::AuctionMarket)
    }

    /// The kind of an order from its placing on.
    pub fn once_placed(self) -> OrderKind {
        match self {
            OrderKind::PostOnlyMove => OrderKind::PostOnly,
            OrderKind::Limit
            | OrderKind::PostOnly
            | OrderKind::ImmediateOrCancel
            | OrderKind::FillOrKill
            | OrderKind::Market
            | OrderKind::AuctionLimit
            | OrderKind::AuctionMarket => self,
        }
    }

    /// The name of the kind wherever orders are shown.
    pub fn name(self) -> &'static str {
        match self {
            OrderKind::Limit => "limit",
            OrderKind::PostOnly => "post_only",
            OrderKind::PostOnlyMove => "post_only_move",
            OrderKind::ImmediateOrCancel => "immediate_or_cancel",
            OrderKind::FillOrKill => "fill_or_kill",
            OrderKind::Market => "market",
            OrderKind::AuctionLimit => "auction_limit",
            OrderKind::AuctionMarket => "auction_market",
        }
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<OrderKind> {
        OrderKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The number of the kind wherever orders are stored.
    pub fn code(self) -> u8 {
        match self {
            OrderKind::Limit => 0,
            OrderKind::PostOnly => 1,
            OrderKind::ImmediateOrCancel => 2,
            OrderKind::FillOrKill => 3,
            OrderKind::Market => 4,
            OrderKind::PostOnlyMove => 5,
            OrderKind::AuctionLimit => 6,
            OrderKind::AuctionMarket => 7,
        }
    }

    /// The kind with this number.
    pub fn from_code(code: u8) -> Option<OrderKind> {
        OrderKind::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// The price of an execution at which an order that waits becomes active.
///
/// Triggers of one direction rank nearest first: those that a falling price reaches from above, then those that a
/// rising price reaches from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trigger(NonZeroI64);

impl Trigger {
    /// Reached by an execution at this price or above.
    pub fn from_below(price: Price) -> Trigger {
        Trigger::from_code(price.units()).expect("invariant: a price is above zero")
    }

    /// Reached by an execution at this price or below.
    pub fn from_above(price: Price) -> Trigger {
        Trigger::from_code(price.units().wrapping_neg()).expect("invariant: a price is above zero")
    }

    /// The trigger of a stop loss: reached from below for a buy, from above for a sell.
    pub fn stop_loss(side: Side, price: Price) -> Trigger {
        match side {
            Side::Buy => Trigger::from_below(price),
            Side::Sell => Trigger::from_above(price),
        }
    }

    /// The trigger of a take profit: reached from above for a buy, from below for a sell.
    pub fn take_profit(side: Side, price: Price) -> Trigger {
        Trigger::stop_loss(side.opposite(), price)
    }

    /// Whether this is a stop loss for an order of this side.
    pub fn is_stop_loss(self, side: Side) -> bool {
        self.is_from_below() == (side == Side::Buy)
    }

    #[inline]
    pub fn price(self) -> Price {
        Price::from_units(self.0.get().wrapping_abs()).expect("invariant: it is made of a price")
    }

    /// Whether a rising price reaches it.
    #[inline]
    pub fn is_from_below(self) -> bool {
        self.0.is_positive()
    }

    /// Whether an execution at this price reaches it.
    #[inline]
    pub fn is_reached_by(self, price: Price) -> bool {
        if self.is_from_below() { price >= self.price() } else { price <= self.price() }
    }

    /// The stored number: the price, negative if it is reached from above; zero for no trigger.
    pub fn code(trigger: Option<Trigger>) -> i64 {
        trigger.map_or(0, |trigger| trigger.0.get())
    }

    /// The trigger with this number; none for zero, and for the one number whose price would be too high.
    pub fn from_code(code: i64) -> Option<Trigger> {
        NonZeroI64::new(code).filter(|code| *code != NonZeroI64::MIN).map(Trigger)
    }
}

/// Self-trade prevention: what happens when an order would execute with an open one of its own account or group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SelfTrade {
    /// The two orders execute like any others.
    #[default]
    Allowed,
    /// The remaining shares of the arriving order are canceled.
    CancelNewest,
    /// The resting order is canceled, and the arriving one goes on.
    CancelOldest,
    /// Both orders are canceled.
    CancelBoth,
    /// Both lose the shares that they would have executed. The one without any left is canceled.
    Decrement,
}

impl SelfTrade {
    /// All modes.
    pub const ALL: [SelfTrade; 5] = [
        SelfTrade::Allowed,
        SelfTrade::CancelNewest,
        SelfTrade::CancelOldest,
        SelfTrade::CancelBoth,
        SelfTrade::Decrement,
    ];

    /// The name of the mode wherever orders are shown.
    pub fn name(self) -> &'static str {
        match self {
            SelfTrade::Allowed => "allowed",
            SelfTrade::CancelNewest => "cancel_newest",
            SelfTrade::CancelOldest => "cancel_oldest",
            SelfTrade::CancelBoth => "cancel_both",
            SelfTrade::Decrement => "decrement",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<SelfTrade> {
        SelfTrade::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The number of the mode wherever orders are stored.
    pub fn code(self) -> u8 {
        match self {
            SelfTrade::Allowed => 0,
            SelfTrade::CancelNewest => 1,
            SelfTrade::CancelOldest => 2,
            SelfTrade::CancelBoth => 3,
            SelfTrade::Decrement => 4,
        }
    }

    /// The mode with this number.
    pub fn from_code(code: u8) -> Option<SelfTrade> {
        SelfTrade::ALL.into_iter().find(|mode| mode.code() == code)
    }
}

/// The reason why open shares of an order were canceled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CancelReason {
    /// Its account canceled it.
    Asked,
    /// Its kind does not rest; or it was for money, and had to go on with a later command.
    NotResting,
    /// The order was triggered, or released after its working order, and would have been refused if it had been placed
    /// then. Or it rested outside the near end of the price band, and another order met it.
    Refused,
    /// Its deadline passed.
    Expired,
    /// The order would have executed with an order of its own account or group.
    SelfTrade,
    /// Its partner was executed or ended, or was itself changed.
    Linked,
    /// Its working order ended without executing completely.
    NotPlaced,
    /// The last protected connection of its account ended.
    Disconnected,
}

impl CancelReason {
    /// All reasons.
    pub const ALL: [CancelReason; 8] = [
        CancelReason::Asked,
        CancelReason::NotResting,
        CancelReason::Refused,
        CancelReason::Expired,
        CancelReason::SelfTrade,
        CancelReason::Linked,
        CancelReason::NotPlaced,
        CancelReason::Disconnected,
    ];

    /// The name of the reason wherever orders are shown.
    pub fn name(self) -> &'static str {
        match self {
            CancelReason::Asked => "asked",
            CancelReason::NotResting => "not_resting",
            CancelReason::Refused => "refused",
            CancelReason::Expired => "expired",
            CancelReason::SelfTrade => "self_trade",
            CancelReason::Linked => "linked",
            CancelReason::NotPlaced => "not_placed",
            CancelReason::Disconnected => "disconnected",
        }
    }

    /// The number of the reason wherever orders are stored.
    pub fn code(self) -> u8 {
        match self {
            CancelReason::Asked => 1,
            CancelReason::NotResting => 2,
            CancelReason::Refused => 3,
            CancelReason::Expired => 4,
            CancelReason::SelfTrade => 5,
            CancelReason::Linked => 6,
            CancelReason::NotPlaced => 7,
            CancelReason::Disconnected => 8,
        }
    }

    /// The reason with this number.
    pub fn from_code(code: u8) -> Option<CancelReason> {
        CancelReason::ALL.into_iter().find(|reason| reason.code() == code)
    }
}

/// An order as a client asks for it. Its symbol is a name, and inside the engine an index. The client order id is not
/// part of it: few orders have one, and each order's event is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder<S = Symbol> {
    pub symbol: S,
    pub side: Side,
    /// The worst price that it accepts; for a market order [`Side::any_price`].
    pub limit: Price,
    /// Above zero.
    pub shares: Shares,
    pub kind: OrderKind,
    /// The price that an execution must reach before the order does what its kind does.
    pub trigger: Option<Trigger>,
    /// Self-trade prevention.
    pub self_trade: SelfTrade,
}

impl<S> NewOrder<S> {
    /// A limit order: its remaining shares rest.
    pub fn limit(symbol: S, side: Side, limit: Price, shares: Shares) -> NewOrder<S> {
        let (kind, self_trade) = (OrderKind::Limit, SelfTrade::Allowed);
        NewOrder { symbol, side, limit, shares, kind, trigger: None, self_trade }
    }

    /// An order of any kind. A market order ignores the limit given.
    pub fn of_kind(kind: OrderKind, symbol: S, side: Side, limit: Price, shares: Shares) -> NewOrder<S> {
        let limit = if kind.is_market() { side.any_price() } else { limit };
        NewOrder { symbol, side, limit, shares, kind, trigger: None, self_trade: SelfTrade::Allowed }
    }

    /// A market order.
    pub fn market(symbol: S, side: Side, shares: Shares) -> NewOrder<S> {
        NewOrder::of_kind(OrderKind::Market, symbol, side, side.any_price(), shares)
    }

    /// The order as it was placed: a market order under way has the price to which it goes in place of any price.
    #[must_use]
    pub fn as_placed(self) -> NewOrder<S> {
        NewOrder { limit: if self.kind == OrderKind::Market { self.side.any_price() } else { self.limit }, ..self }
    }

    /// Adds a trigger to the order.
    #[must_use]
    pub fn triggered_by(self, trigger: Trigger) -> NewOrder<S> {
        NewOrder { trigger: Some(trigger), ..self }
    }

    /// Replaces the order's mode of self-trade prevention.
    #[must_use]
    pub fn with_self_trade(self, self_trade: SelfTrade) -> NewOrder<S> {
        NewOrder { self_trade, ..self }
    }

    /// Whether the order's limit allows an execution at a price.
    #[inline]
    pub fn accepts(&self, price: Price) -> bool {
        match self.side {
            Side::Buy => price <= self.limit,
            Side::Sell => price >= self.limit,
        }
    }

    /// Whether it pays from the balance as it executes, and holds nothing.
    #[inline]
    pub fn pays_as_it_goes(&self) -> bool {
        self.kind == OrderKind::Market && self.side == Side::Buy
    }

    /// Whether it may get another limit when it is placed. An order that waits for a price keeps its own.
    pub fn may_move(&self) -> bool {
        self.kind == OrderKind::PostOnlyMove && self.trigger.is_none()
    }

    /// Whether the order can be one of a pair: it never executes at once when it is placed.
    pub fn can_be_linked(&self) -> bool {
        (self.trigger.is_some() && !self.kind.is_for_auction()) || self.kind == OrderKind::PostOnly
    }

    /// The money that the order holds.
    pub fn held_money(&self) -> Money {
        match self.side {
            Side::Buy if !self.pays_as_it_goes() => self.limit.times(self.shares),
            Side::Buy | Side::Sell => Money::ZERO,
        }
    }

    /// Whether other orders can wait for this one.
    pub fn can_work(&self) -> bool {
        self.trigger.is_none() && matches!(self.kind, OrderKind::Limit | OrderKind::PostOnly)
    }
}

/// A market order for as many shares as the money buys, or as bring no more than the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FundsOrder {
    pub symbol: Symbol,
    pub side: Side,
    /// Above zero.
    pub funds: Money,
    /// Self-trade prevention. Unless it is `Allowed`, the account's own resting orders do not count as liquidity.
    pub self_trade: SelfTrade,
}

/// A reference to an order of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderName {
    /// The order with this id.
    Id(OrderId),
    /// The order that a client order id stands for when the command's or query's turn comes.
    Client(ClientOrderId),
}

impl From<OrderId> for OrderName {
    fn from(order: OrderId) -> OrderName {
        OrderName::Id(order)
    }
}

impl From<ClientOrderId> for OrderName {
    fn from(id: ClientOrderId) -> OrderName {
        OrderName::Client(id)
    }
}
