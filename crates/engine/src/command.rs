//! Input of the engine: commands, which change the market and are journaled, and queries, which are not.

use std::num::NonZeroI64;

use crate::account_limits::AccountLimits;
use crate::amount::{Money, Position, Price, Shares};
use crate::fees::{Fees, Tier};
use crate::groups::Group;
use crate::ids::{AccountId, ClientOrderId, Deadline, OrderId, Sequence, Symbol, Time};
use crate::kills::KillScope;
use crate::phase::Phase;
use crate::protections::Grace;
use crate::rules::SymbolRules;
use crate::shared_log::LogMessage;

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
    pub fn opposite(self) -> Side {
        match self {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        }
    }

    /// The limit that accepts every price.
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
}

impl OrderKind {
    /// All kinds.
    pub const ALL: [OrderKind; 6] = [
        OrderKind::Limit,
        OrderKind::PostOnly,
        OrderKind::ImmediateOrCancel,
        OrderKind::FillOrKill,
        OrderKind::Market,
        OrderKind::PostOnlyMove,
    ];

    /// Whether the remaining shares rest on the book.
    pub fn rests(self) -> bool {
        match self {
            OrderKind::Limit | OrderKind::PostOnly | OrderKind::PostOnlyMove => true,
            OrderKind::ImmediateOrCancel | OrderKind::FillOrKill | OrderKind::Market => false,
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

    pub fn price(self) -> Price {
        Price::from_units(self.0.get().wrapping_abs()).expect("invariant: it is made of a price")
    }

    /// Whether a rising price reaches it.
    pub fn is_from_below(self) -> bool {
        self.0.is_positive()
    }

    /// Whether an execution at this price reaches it.
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
    /// Its kind does not rest, or it executed as often as one order may and would have gone on.
    NotResting,
    /// The order was triggered, or released after its working order, and would have been refused if it had been placed
    /// then.
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

/// A requested change. It never changes after it is parsed; the engine decides whether to accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Create an account with dollars.
    CreateAccount { account: AccountId, balance: Money },
    /// Create a symbol unless it exists.
    CreateSymbol { symbol: Symbol },
    /// Give an account new shares of a symbol.
    IssueShares { symbol: Symbol, account: AccountId, shares: Position },
    /// Create an account with dollars of another one. Gateways make it of a `CreateAccount` by a caller who may give
    /// away no more than that account has.
    FundAccount { payer: AccountId, account: AccountId, balance: Money },
    /// Give an account shares of another one. Gateways make it of such a caller's `IssueShares`.
    GiveShares { payer: AccountId, symbol: Symbol, account: AccountId, shares: Position },
    /// Place an order. While its client order id stands for an order, no second one is placed under it. At its deadline
    /// its open shares are canceled.
    PlaceOrder { account: AccountId, order: NewOrder, client_id: Option<ClientOrderId>, until: Option<Deadline> },
    /// Place a market order for money. The engine chooses the number of shares; the order never rests.
    PlaceByFunds { account: AccountId, order: FundsOrder, client_id: Option<ClientOrderId> },
    /// Cancel the open shares of an order.
    CancelOrder { account: AccountId, order: OrderName },
    /// Take shares off an open order, which keeps its place in its level. `shares` is its new total, executed ones
    /// included.
    AmendOrder { account: AccountId, order: OrderName, shares: Shares },
    /// Activate orders whose triggers were reached, and that were too many for the command that reached them. No client
    /// sends it: the market's loop makes it while there are such orders.
    ActivateReached,
    /// Cancel the remaining orders of kills that go on, and orders whose deadlines have come,
    /// [`CANCELS_MAX`](crate::CANCELS_MAX) of each. No client asks for this: the market's loop gives the command when
    /// there are such orders.
    ExpireOrders,
    /// Place an order like `PlaceOrder`, if the command just before it canceled an order. One request holds both, in
    /// this order.
    PlaceIfCanceled { account: AccountId, order: NewOrder, client_id: Option<ClientOrderId>, until: Option<Deadline> },
    /// Place the second order of a pair whose first the command just before placed, in the same request: the first
    /// event of either cancels the other. Both have one symbol, side and number of shares, and one of them waits for a
    /// price. If the second is refused, the first is canceled.
    PlaceLinked { account: AccountId, order: NewOrder, client_id: Option<ClientOrderId>, until: Option<Deadline> },
    /// Place a market order for money on the condition of `PlaceIfCanceled`.
    PlaceByFundsIfCanceled { account: AccountId, order: FundsOrder, client_id: Option<ClientOrderId> },
    /// Replace all rules of a symbol. The new ones hold for orders that are placed or triggered from now on.
    ChangeRules { symbol: Symbol, rules: SymbolRules },
    /// Free a client order id whose order is done, so that another order can be placed under it.
    FreeClientOrderId { account: AccountId, id: ClientOrderId },
    /// Place an iceberg: like `PlaceOrder`, or like `PlaceIfCanceled` where its manner says so, with a tip of `display`
    /// shares. Its parts stand here one by one, so that the command takes no more room than others: see
    /// [`IcebergOrder`].
    ///
    /// [`IcebergOrder`]: crate::IcebergOrder
    PlaceIceberg {
        account: AccountId,
        symbol: Symbol,
        manner: Manner,
        limit: Price,
        shares: Shares,
        display: Shares,
        trigger: Option<Trigger>,
        client_id: Option<ClientOrderId>,
        until: Option<Deadline>,
    },
    /// Replace the fees that accounts of a tier pay for executions in a symbol, from now on.
    ChangeFees { symbol: Symbol, tier: Tier, fees: Option<Fees> },
    /// Move an account to a tier.
    ChangeTier { account: AccountId, tier: Tier },
    /// Put a symbol into this phase. The orders that gathered execute when it opens. `due` is the time at which a
    /// calendar has the change due; none if a client asks for it now. If several nodes share a log, a due change is
    /// ignored if the phase was changed since then, or by the same line of another node's calendar.
    ChangePhase { symbol: Symbol, phase: Phase, due: Option<Time> },
    /// End the auction with the earliest end. No client sends it: the market's loop makes it when that end has come.
    EndAuction,
    /// Note that everything in the market's calendar up to a time was done. The loop gives this command after the ones
    /// for the calendar.
    FollowCalendar { through: Time },
    /// Put an account into a group, or take it out of its group.
    ChangeGroup { account: AccountId, group: Group },
    /// Place a trailing stop: like `PlaceOrder`, or like `PlaceIfCanceled` where its manner says so, with a trigger
    /// that follows the market at a distance: see [`TrailingOrder`].
    ///
    /// [`TrailingOrder`]: crate::TrailingOrder
    PlaceTrailing {
        account: AccountId,
        symbol: Symbol,
        manner: Manner,
        limit: Price,
        shares: Shares,
        trail: Trail,
        client_id: Option<ClientOrderId>,
        until: Option<Deadline>,
    },
    /// Place a working order, limit or post-only, for which others wait: the next command of the same request, or the
    /// next two if `two_wait`.
    PlaceWorking {
        account: AccountId,
        order: NewOrder,
        client_id: Option<ClientOrderId>,
        until: Option<Deadline>,
        two_wait: bool,
    },
    /// Place a pending order: the engine places it when the working order of its request, of the same symbol, has
    /// executed completely. It gets its id now, but stands in no book and holds nothing until then. The second of two
    /// is linked with the first when they are placed. If it is refused, the working order is canceled.
    PlacePending { account: AccountId, order: NewOrder, client_id: Option<ClientOrderId>, until: Option<Deadline> },
    /// Cancel the open ones of the oldest [`CANCELS_MAX`](crate::CANCELS_MAX) orders of an account, in one symbol or in
    /// all, whatever their place. `through` is the newest order that is meant, if not all are.
    CancelAll { account: AccountId, symbol: Option<Symbol>, through: Option<OrderId> },
    /// Refuse new orders in a scope until it is released, and cancel its open orders: the first
    /// [`CANCELS_MAX`](crate::CANCELS_MAX). `ExpireOrders` cancels the others.
    Kill { scope: KillScope },
    /// Accept orders again in a scope that was killed.
    Release { scope: KillScope },
    /// Protect an account: its open orders are canceled when its last protected connection ends and none returns within
    /// this grace.
    Protect { account: AccountId, grace: Grace },
    /// End the protection of an account. If it `is_lost`, no connection returned: its open orders are canceled,
    /// wherever they stand, oldest first. Only the loop makes such a command. `through` is the newest order that is
    /// lost, if not all are: orders that are placed between two steps stay.
    Unprotect { account: AccountId, is_lost: bool, through: Option<OrderId> },
    /// Replace the limits of an account. The new ones hold for orders that are placed or come to the book from now on.
    ChangeLimits { account: AccountId, limits: AccountLimits },
    /// Note that this message of the shared log was taken: the commands behind it in the same unit of the journal are
    /// the message's. Changes nothing unless it is the next message of its writer. Only the loop makes such a command.
    TakeMessage(LogMessage),
}

impl Command {
    /// Adds the condition that the command just before it canceled an order. None for a command that places no order or
    /// already has the condition.
    pub fn if_canceled(self) -> Option<Command> {
        match self {
            Command::PlaceOrder { account, order, client_id, until } => {
                Some(Command::PlaceIfCanceled { account, order, client_id, until })
            }
            Command::PlaceByFunds { account, order, client_id } => {
                Some(Command::PlaceByFundsIfCanceled { account, order, client_id })
            }
            Command::PlaceIceberg { .. } => self.iceberg_on_condition(true),
            Command::PlaceTrailing { .. } => self.trailing_on_condition(true),
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::GiveShares { .. }
            | Command::CancelOrder { .. }
            | Command::AmendOrder { .. }
            | Command::ActivateReached
            | Command::ExpireOrders
            | Command::PlaceLinked { .. }
            | Command::PlaceIfCanceled { .. }
            | Command::PlaceByFundsIfCanceled { .. }
            | Command::ChangeRules { .. }
            | Command::FreeClientOrderId { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. }
            | Command::ChangeGroup { .. }
            | Command::PlaceWorking { .. }
            | Command::PlacePending { .. }
            | Command::CancelAll { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. }
            | Command::TakeMessage(_) => None,
        }
    }

    /// Removes that condition. None for a command without it.
    pub fn unconditional(self) -> Option<Command> {
        match self {
            Command::PlaceIfCanceled { account, order, client_id, until } => {
                Some(Command::PlaceOrder { account, order, client_id, until })
            }
            Command::PlaceByFundsIfCanceled { account, order, client_id } => {
                Some(Command::PlaceByFunds { account, order, client_id })
            }
            Command::PlaceIceberg { .. } => self.iceberg_on_condition(false),
            Command::PlaceTrailing { .. } => self.trailing_on_condition(false),
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::GiveShares { .. }
            | Command::PlaceOrder { .. }
            | Command::PlaceByFunds { .. }
            | Command::CancelOrder { .. }
            | Command::AmendOrder { .. }
            | Command::ActivateReached
            | Command::ExpireOrders
            | Command::ChangeRules { .. }
            | Command::FreeClientOrderId { .. }
            | Command::PlaceLinked { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. }
            | Command::ChangeGroup { .. }
            | Command::PlaceWorking { .. }
            | Command::PlacePending { .. }
            | Command::CancelAll { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. }
            | Command::TakeMessage(_) => None,
        }
    }
}

/// The packed terms of an order in one byte: side, kind, self-trade prevention, and whether it is placed only if the
/// command before it canceled an order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Manner(pub(crate) u8);

/// The distance between a trigger and the best price: an amount of money, or a part of that price. `trail.rs` computes
/// the trigger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trail(pub(crate) NonZeroI64);

/// The terms on which an order is placed and stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) client_id: Option<ClientOrderId>,
    pub(crate) until: Option<Deadline>,
    pub(crate) condition: Condition,
    /// The shares that it shows at a time, if not all.
    pub(crate) display: Option<Shares>,
    /// The distance between the market and its trigger, if that follows the market.
    pub(crate) trail: Option<Trail>,
    /// The id and slot that a released order already has.
    pub(crate) released: Option<(OrderId, u32)>,
}

impl Terms {
    pub(crate) const NONE: Terms = Terms {
        client_id: None,
        until: None,
        condition: Condition::Always,
        display: None,
        trail: None,
        released: None,
    };
}

/// The condition on which an order is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    /// The command just before this one canceled an order.
    Canceled,
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
        let limit = if kind == OrderKind::Market { side.any_price() } else { limit };
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

/// A question about an order, answered in its place among the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// The account that asks: it sees only its own orders.
    pub account: AccountId,
    /// The order asked about.
    pub order: OrderName,
}

/// The ops that a gateway hands in, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A command, to be sequenced, journaled and applied.
    Command(Command),
    /// A query, to be answered.
    Query(Query),
}

/// A command with its sequence and time, as it is applied and replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The sequence of the entry before plus one.
    pub sequence: Sequence,
    /// The time, not before that of the entry before.
    pub time: Time,
    /// The command.
    pub command: Command,
}
