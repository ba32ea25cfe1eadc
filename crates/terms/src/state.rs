//! Items of a market's state, in an order that depends on the state alone.

use crate::account_limits::AccountLimits;
use crate::amount::{Money, Position, Price, Shares};
use crate::band::BandReferences;
use crate::executed::Executed;
use crate::executed::Execution;
use crate::fees::{Fees, Tier};
use crate::groups::Group;
use crate::ids::{AccountId, AccountIndex, ClientOrderId, Deadline, OrderId, Sequence, Symbol, SymbolIndex, Time};
use crate::kills::KillScope;
use crate::log_message::LogMessage;
use crate::order::{NewOrder, OrderKind, SelfTrade, Side};
use crate::phase::SymbolPhase;
use crate::protections::Grace;
use crate::rules::SymbolRules;
use crate::trail::Trail;
use crate::transfers::AccountStatus;
use crate::triggers_left::TriggersLeft;

/// One part of the market's state. A stream of them is, in this order:
///
/// - one `Head`;
/// - the accounts by index, and the symbols by index;
/// - the positions, none of them zero, by account and symbol;
/// - the linked pairs, the older order of each first, by its id;
/// - the phases of symbols that are not open, by index;
/// - for each symbol its open buys and then its open sells, best price first and in their order within a price, each
///   followed by its kind, unless it is a plain limit order, and by its executions, oldest first, or by their sum if
///   there are more than are kept;
/// - the last prices of all symbols, by index;
/// - the rules of symbols that have any, by index;
/// - the orders that wait for a price: first those that no execution has reached, by symbol, in each those with fixed
///   triggers before the trailing ones, by trigger, and at one trigger those with fixed triggers in the order in which
///   they began to wait, and trailing ones by order id; then those that wait for their turn, in the order in which they
///   began to;
/// - the pending orders: first those whose working order is open, by order id, then the due ones in their order;
/// - the deadlines of open orders, the earliest first, at one time by order id;
/// - the open icebergs, by order id;
/// - the orders whose client order ids stand for them, by order id;
/// - the fees of symbols and tiers that have any, by symbol and tier;
/// - the accounts of another tier than the first, by index;
/// - the accounts in groups, by index;
/// - the killed scopes: everything first, then the accounts and the symbols by index;
/// - the protected accounts, by index;
/// - the accounts with limits, by index;
/// - the time up to which the calendar was followed;
/// - the last messages of nodes, by node;
/// - the symbols whose phase was changed in a market of several nodes, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateItem {
    /// The end of the sequence.
    Head {
        /// The last command applied.
        sequence: Sequence,
        /// The time of that command.
        time: Time,
        /// The id that the next accepted order gets.
        next_order: OrderId,
    },
    /// An account and its balance.
    Account { id: AccountId, balance: Money },
    /// A symbol and all its shares: those that were issued, without withdrawn ones.
    Symbol { name: Symbol, issued: Position },
    /// The position of an account in a symbol.
    Position { account: AccountIndex, symbol: SymbolIndex, shares: Position },
    /// Two linked orders, both open.
    Link { order: OrderId, partner: OrderId },
    /// The phase of a symbol that is not open.
    Phase { symbol: SymbolIndex, phase: SymbolPhase },
    /// An open order, with all its open shares.
    Order { order: OrderId, account: AccountIndex, symbol: SymbolIndex, side: Side, limit: Price, open: Shares },
    /// The kind and the mode of self-trade prevention of the order on a book before it, unless that is a limit order
    /// that may execute with its own account.
    Kind { kind: OrderKind, self_trade: SelfTrade },
    /// An execution of the order before it, which is on a book or waits for its turn.
    Execution(Execution),
    /// The sum of the executions of the order before it, which has more than are kept.
    Executed(Executed),
    /// A symbol, the price of its last execution, the prices up to which triggers are still to be reached, and those
    /// around which its bands lie.
    Watch { symbol: SymbolIndex, last: Option<Price>, left: TriggersLeft, references: BandReferences },
    /// The rules of a symbol that has any.
    Rules { symbol: SymbolIndex, rules: SymbolRules },
    /// An open order that waits for its trigger, or, if that `is_reached`, for its turn. A command may leave triggers
    /// that its executions reach to later ones; their orders are not `is_reached` yet. Its shares are all its open
    /// ones. `trail` is the distance between its trigger and the market; none for a fixed trigger, or one that was
    /// reached.
    Stop {
        order: OrderId,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        is_reached: bool,
        trail: Option<Trail>,
    },
    /// An open order that waits for its turn without a trigger. Its shares are its open ones, and its limit is the
    /// worst price at which it executes. An order that `is_under_way` is first in its symbol. Its executions follow:
    /// an order that was amended may have some, too.
    Delayed { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex>, is_under_way: bool },
    /// The deadline of an open order.
    Deadline { order: OrderId, until: Deadline },
    /// An open order that shows `display` shares at a time. `shown` is the tip of one that rests, and zero for one that
    /// waits.
    Iceberg { order: OrderId, display: Shares, shown: Shares },
    /// The order that a client order id of its account stands for, as it was placed. It has no open shares since
    /// `done`.
    ClientOrder {
        order: OrderId,
        id: ClientOrderId,
        account: AccountIndex,
        /// The order without its trigger, if that follows or followed the market.
        placed: NewOrder<SymbolIndex>,
        until: Option<Deadline>,
        /// The shares that it shows at a time, if not all.
        display: Option<Shares>,
        /// The distance between its trigger and the market, also after it was reached.
        trail: Option<Trail>,
        done: Option<Time>,
    },
    /// The fees that accounts of a tier pay for executions in a symbol.
    Fees { symbol: SymbolIndex, tier: Tier, fees: Fees<AccountIndex> },
    /// An account in another tier than the first.
    Tier { account: AccountIndex, tier: Tier },
    /// An account in a group.
    Group { account: AccountIndex, group: Group },
    /// An account that has made transfers.
    AccountStatus { account: AccountIndex, status: AccountStatus },
    /// A scope that is killed.
    Kill { scope: KillScope<AccountIndex, SymbolIndex> },
    /// A protected account.
    Protection { account: AccountIndex, grace: Grace },
    /// An account with limits.
    Limits { account: AccountIndex, limits: AccountLimits },
    /// The time up to which the market's calendar was followed. Only in a market that has followed one.
    Calendar { through: Time },
    /// The last message of a node that the market took of the shared log.
    Message(LogMessage),
    /// The time at which the phase of a symbol was last changed, or that change was due. Only where messages of a
    /// shared log are taken.
    PhaseChanged { symbol: SymbolIndex, at: Time },
    /// A pending order: it is placed when its working order has executed, or, if `is_due`, when its turn comes. It
    /// holds nothing.
    Pending { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex>, working: OrderId, is_due: bool },
}

/// A market whose state can be read. Those who follow its events begin with that state.
pub trait MarketState {
    /// The sequence of the last command applied.
    fn sequence(&self) -> Sequence;

    /// The time of that command.
    fn time(&self) -> Time;

    /// The id that the next accepted order gets.
    fn next_order(&self) -> OrderId;

    /// Visits the state, item by item, in the order that [`StateItem`] describes.
    fn export(&self, visit: &mut dyn FnMut(StateItem));
}
