//! The items of a market's state, in one order that depends on nothing but the state.

use crate::account_limits::AccountLimits;
use crate::amount::{Money, Position, Price, Shares};
use crate::command::{NewOrder, Side};
use crate::executed::Executed;
use crate::executed::Execution;
use crate::fees::{Fees, Tier};
use crate::groups::Group;
use crate::ids::{AccountId, AccountIndex, ClientOrderId, Deadline, OrderId, Sequence, Symbol, SymbolIndex, Time};
use crate::kills::KillScope;
use crate::phase::SymbolPhase;
use crate::protections::Grace;
use crate::rules::SymbolRules;
use crate::shared_log::LogMessage;
use crate::trail::Trail;

/// One part of the market's state. A stream of them is: one `Head`, the accounts by index, the symbols by index, the
/// One part of the market's state. A stream of them is: one `Head`, the accounts by index, the symbols by index, the
/// positions (none of them zero) by account and symbol, the pairs of linked orders, the older order of each first, by
/// its id, the phases of the symbols that are not open, by index, and for each symbol its open buys and then its open
/// sells, best price first and in their order within a price, each order followed by its executions, oldest first, or
/// by what they come to if there are more than are kept; the symbols that are watched, by index; the rules of the
/// symbols that have any, by index; the orders that wait for a price, first those that no execution has reached, by
/// symbol, of each first those whose triggers stand still, by trigger, and in the order in which they began to wait,
/// then the others, which wait for their turn, in the order in which they began to; the orders that wait for another
/// order, first those whose working order is open, by order id, then the others in their order; the deadlines of open
/// orders, the earliest first, and by order id at one time; the open orders that show a part of their shares, by order
/// id; the orders whose client order ids stand for them, by order id; the fees of the symbols and tiers that have any,
/// by symbol and tier; the accounts of another tier than the first, by index; the accounts that are of a group, by
/// index; what is killed, everything first, then the accounts and the symbols by index; the accounts that are
/// protected, by index; the accounts that have limits, by index; how far the calendar was followed; the last messages of
/// nodes, by node; and the symbols whose phase was changed in a market of several nodes, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateItem {
    /// Where the sequence stands.
    Head {
        /// The last command applied.
        sequence: Sequence,
        /// Its time.
        time: Time,
        /// The id that the next accepted order gets.
        next_order: OrderId,
    },
    /// An account and what it may spend.
    Account { id: AccountId, balance: Money },
    /// A symbol and all shares ever issued of it.
    Symbol { name: Symbol, issued: Position },
    /// What an account may sell.
    Position { account: AccountIndex, symbol: SymbolIndex, shares: Position },
    /// Two orders of which one cancels the other. Both are open.
    Link { order: OrderId, partner: OrderId },
    /// The phase of a symbol that is not open.
    Phase { symbol: SymbolIndex, phase: SymbolPhase },
    /// An open order, with all that is open of it.
    Order { order: OrderId, account: AccountIndex, symbol: SymbolIndex, side: Side, limit: Price, open: Shares },
    /// An execution of the order before it, which is on a book or under way.
    Execution(Execution),
    /// The sum of the executions of the order before it, which are more than are kept.
    Executed(Executed),
    /// A symbol whose executions are noted, and the price of the last one.
    Watch { symbol: SymbolIndex, last: Option<Price> },
    /// The rules of a symbol that has any.
    Rules { symbol: SymbolIndex, rules: SymbolRules },
    /// An open order that waits for its trigger, or, if that `is_reached`, for its turn. Its shares are those that are open: all.
    /// `trail` says how far behind the market its trigger stays; none if that stands still, or was reached.
    Stop {
        order: OrderId,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        is_reached: bool,
        trail: Option<Trail>,
    },
    /// An open order that waits for its turn and for no price, among those that were reached. Its shares are those that
    /// are open, and its limit the worst price that it executes at. One that `is_under_way` is first in its symbol, and
    /// its executions follow.
    Delayed { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex>, is_under_way: bool },
    /// When an open order ends.
    Deadline { order: OrderId, until: Deadline },
    /// An open order shows `display` of its shares at a time. Of one that rests so many are shown now; of one that waits, none.
    Iceberg { order: OrderId, display: Shares, shown: Shares },
    /// An order that its account's client order id stands for, as it was placed. Nothing is open of it since `done`.
    ClientOrder {
        order: OrderId,
        id: ClientOrderId,
        account: AccountIndex,
        /// Without a trigger if that follows the market, or did.
        placed: NewOrder<SymbolIndex>,
        until: Option<Deadline>,
        /// How many shares it shows at a time, if not all.
        display: Option<Shares>,
        /// How far behind the market its trigger stays, or stayed.
        trail: Option<Trail>,
        done: Option<Time>,
    },
    /// What the accounts of a tier pay for executions in a symbol.
    Fees { symbol: SymbolIndex, tier: Tier, fees: Fees<AccountIndex> },
    /// An account of another tier than the first.
    Tier { account: AccountIndex, tier: Tier },
    /// An account that is of a group.
    Group { account: AccountIndex, group: Group },
    /// A scope that is killed.
    Kill { scope: KillScope<AccountIndex, SymbolIndex> },
    /// An account whose orders are canceled when nobody is there for them any more.
    Protection { account: AccountIndex, grace: Grace },
    /// An account with limits.
    Limits { account: AccountIndex, limits: AccountLimits },
    /// The time up to which the market's calendar was followed. Only of a market that has followed one.
    Calendar { through: Time },
    /// The last message of a node that was taken of the shared log.
    Message(LogMessage),
    /// When the phase of a symbol was changed last, or that change was due, where messages of a shared log are taken.
    PhaseChanged { symbol: SymbolIndex, at: Time },
    /// An order that is placed when its working order is executed, or, if that `is_due`, when its turn comes. It holds nothing.
    Pending { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex>, working: OrderId, is_due: bool },
}
