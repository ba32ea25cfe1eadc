//! Events: everything that commands did, in order. They are enough to rebuild rows of a database, market data and
//! execution reports. Events name accounts and symbols by index; the event of their creation says which name an index
//! has.

use std::num::NonZeroU32;

use crate::amount::{Money, Position, Price, Shares};
use crate::command::{CancelReason, NewOrder, Side, Trigger};
use crate::fee::Fee;
use crate::fees::{Fees, Tier};
use crate::groups::Group;
use crate::ids::{AccountId, AccountIndex, ClientOrderId, Deadline, OrderId, Symbol, SymbolIndex, Time};
use crate::kills::KillScope;
use crate::phase::SymbolPhase;
use crate::protections::Grace;
use crate::rules::{Distance, RulesPart};
use crate::trail::Trail;

/// One thing that happened while a command was applied. Its sequence and time are the command's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A new account; its first balance follows as `BalanceChanged`.
    AccountCreated { account: AccountIndex, id: AccountId },
    /// A new symbol.
    SymbolCreated { symbol: SymbolIndex, name: Symbol },
    /// An order was accepted; executions follow. What is left of it rests, is canceled by the same command, or is
    /// delayed. One with a trigger waits instead.
    OrderOpened { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
    /// The executions of the order before reached a trigger. The orders that wait for it are activated by this command or by a
    /// later one, the oldest first, behind those that were reached before.
    TriggerReached { symbol: SymbolIndex, trigger: Trigger },
    /// An order that waited is active from now on; executions follow. What is left of it rests, is canceled by the same
    /// command, or is delayed. `placed` is as at its opening.
    OrderTriggered { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
    /// An order waits for its turn from now on, and stands in no book: another one is under way in its symbol, or, if
    /// it `is_under_way` itself, this command executed as often as one may, and this order not as far as it goes.
    /// `placed` has what is open of it, and the worst price that it executes at.
    OrderDelayed { order: OrderId, is_under_way: bool, placed: NewOrder<SymbolIndex> },
    /// It is the turn of an order that was delayed; executions follow. What is left of it rests, is canceled by the
    /// same command, or is delayed again.
    OrderResumed { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
    /// The order that was just accepted was placed under a client order id, which stands for it from now on.
    ClientOrderIdGiven { order: OrderId, id: ClientOrderId },
    /// An order with a client order id has nothing open any more: a day from now the id is free again.
    ClientOrderDone { order: OrderId },
    /// The client order id of an order that is done is free from now on.
    ClientOrderIdFreed { order: OrderId },
    /// The order that was just accepted shows so many shares at a time when it rests.
    DisplayGiven { order: OrderId, display: Shares },
    /// Of an order that shows a part of its shares so many are on show from now on. They stand behind all other orders of its price, if
    /// the order has come to its book or this is its next part; or they are what is left of those that were shown, which keep their
    /// place. Executions take from them, untold.
    TipShown { order: OrderId, symbol: SymbolIndex, shares: Shares, stands_last: bool },
    /// Two orders executed. `maker` rested and set the price; `aggressor` is the order being placed, or the one that was triggered
    /// last. `maker_done` says that nothing of the maker is open any more.
    Executed {
        symbol: SymbolIndex,
        maker: OrderId,
        maker_account: AccountIndex,
        aggressor: OrderId,
        price: Price,
        shares: Shares,
        maker_done: bool,
    },
    /// The order that was just accepted ends at this time, if it is open then.
    DeadlineGiven { order: OrderId, until: Deadline },
    /// The order that was just accepted, the partner, and this one are a pair: one of them is canceled when something happens to the
    /// other.
    OrdersLinked { order: OrderId, partner: OrderId, account: AccountIndex, symbol: SymbolIndex, side: Side },
    /// Some of what is open of an order was canceled: it has so many shares fewer than it was placed with. It keeps its place.
    OrderReduced { order: OrderId, account: AccountIndex, symbol: SymbolIndex, shares: Shares, why: CancelReason },
    /// What was open of an order was canceled.
    OrderCanceled { order: OrderId, account: AccountIndex, symbol: SymbolIndex, shares: Shares, why: CancelReason },
    /// What an account may now spend: its money less what its open buys hold.
    BalanceChanged { account: AccountIndex, balance: Money },
    /// What an account may now sell: its shares less what its open sells hold.
    PositionChanged { account: AccountIndex, symbol: SymbolIndex, shares: Position },
    /// A symbol has other rules from now on. One of these comes for each part of them, in the order of [`SymbolRules::parts`].
    ///
    /// [`SymbolRules::parts`]: crate::SymbolRules::parts
    RulesChanged { symbol: SymbolIndex, part: RulesPart },
    /// The parties to the execution that is told next pay this; one of them pays something.
    FeesTaken { maker: Fee, aggressor: Fee },
    /// The accounts of a tier pay these fees from now on for executions in a symbol.
    FeesChanged { symbol: SymbolIndex, tier: Tier, fees: Option<Fees<AccountIndex>> },
    /// An account is of another tier from now on.
    TierChanged { account: AccountIndex, tier: Tier },
    /// An account is of another group from now on, or of none.
    GroupChanged { account: AccountIndex, group: Group },
    /// Orders of a scope are not placed from now on, or they are again. If they are not, what is open there is canceled next.
    KillChanged { scope: KillScope<AccountIndex, SymbolIndex>, is_killed: bool },
    /// An account is protected with this grace from now on, or not any more. If it is not, what is open of its orders may be canceled next.
    ProtectionChanged { account: AccountIndex, grace: Option<Grace> },
    /// All that the market's calendar has up to a time was done.
    CalendarFollowed { through: Time },
    /// An account has other limits from now on: the parts of [`AccountLimits`], one by one so that they take no more room.
    ///
    /// [`AccountLimits`]: crate::AccountLimits
    LimitsChanged {
        account: AccountIndex,
        open_orders: Option<NonZeroU32>,
        order_shares: Shares,
        order_value: Money,
        position: Shares,
        collar: Option<Distance>,
    },
    /// A symbol is in another phase from now on. If it is open the orders that gathered execute next, at a price near that of its last
    /// execution that was noted.
    PhaseChanged { symbol: SymbolIndex, phase: SymbolPhase, last: Option<Price> },
    /// Two orders that gathered executed, at the price of all. Both rested. The maker is the older one, by its id, and `aggressor_side` the
    /// side of the other one.
    Uncrossed {
        symbol: SymbolIndex,
        maker: OrderId,
        maker_account: AccountIndex,
        aggressor: OrderId,
        aggressor_account: AccountIndex,
        aggressor_side: Side,
        price: Price,
        shares: Shares,
        maker_done: bool,
        aggressor_done: bool,
    },
    /// The trigger of the order that was just accepted follows the market at this distance, until it is reached.
    TrailGiven { order: OrderId, trail: Trail },
    /// The executions of the order before came to this price: the triggers of all orders of this side that follow the symbol's price, and
    /// were not reached, are now where [`Trail::moved`] says, and one of them was not there before.
    TrailsMoved { symbol: SymbolIndex, side: Side, price: Price },
    /// The executions of the order before reached the trigger of an order that follows the market. It is activated as one whose trigger
    /// stood still, behind all that were reached before, and follows no more.
    TrailReached { order: OrderId, trigger: Trigger },
    /// An order was accepted that waits until another one, its working order, is executed wholly: see [`Event::working`]. It holds nothing
    /// and stands in no book.
    OrderPends { order: OrderId, account: AccountIndex, is_second: bool, placed: NewOrder<SymbolIndex> },
    /// The working order of one that waited was executed wholly, and so it is placed: what follows is as behind `OrderOpened`.
    OrderReleased { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
}

impl Event {
    /// The order that one waits for, which is the second of two or not. Ids are given as orders are asked for, and those that wait stand
    /// right behind that order.
    pub fn working(order: OrderId, is_second: bool) -> OrderId {
        OrderId(order.0.saturating_sub(if is_second { 2 } else { 1 }))
    }
}
