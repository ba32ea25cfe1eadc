//! Events: all changes that commands made, in order. They are enough to rebuild rows of a database, market data and
//! execution reports. Events name accounts and symbols by index; the event of their creation gives the name of an
//! index.

use std::num::NonZeroU32;

use crate::amount::{Money, Position, Price, Shares};
use crate::distance::Distance;
use crate::fee::Fee;
use crate::fees::{Fees, Tier};
use crate::groups::Group;
use crate::ids::{AccountId, AccountIndex, ClientOrderId, Deadline, OrderId, Symbol, SymbolIndex, Time};
use crate::kills::KillScope;
use crate::order::{CancelReason, NewOrder, OrderKind, Side, Trigger};
use crate::phase::SymbolPhase;
use crate::protections::Grace;
use crate::rules::RulesPart;
use crate::trail::Trail;
use crate::transfers::AccountStatus;

/// One thing that happened while a command was applied. Its sequence and time are the command's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A new account; its first balance follows as `BalanceChanged`.
    AccountCreated { account: AccountIndex, id: AccountId },
    /// A new symbol.
    SymbolCreated { symbol: SymbolIndex, name: Symbol },
    /// An order was accepted; its executions follow. Its remaining shares rest, are canceled by the same command, or
    /// are delayed. An order with a trigger waits instead.
    OrderOpened { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
    /// The executions of the order before reached a trigger. This command or a later one activates the orders that wait
    /// for it, oldest first, behind those that were reached before.
    TriggerReached { symbol: SymbolIndex, trigger: Trigger },
    /// A waiting order is active from now on; its executions follow. Its remaining shares rest, are canceled by the
    /// same command, or are delayed. `placed` is the same as at its opening.
    OrderTriggered { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
    /// An order waits for its turn from now on, and stands in no book: another order is under way in its symbol, or, if
    /// `is_under_way`, this command made its most executions before this order was done. `placed` has its open shares,
    /// and the worst price at which it executes.
    OrderDelayed { order: OrderId, is_under_way: bool, placed: NewOrder<SymbolIndex> },
    /// A delayed order goes on; its executions follow. Its remaining shares rest, are canceled by the same command, or
    /// are delayed again.
    OrderResumed { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
    /// The order that was just accepted has this client order id, which stands for it from now on.
    ClientOrderIdGiven { order: OrderId, id: ClientOrderId },
    /// An order with a client order id has no open shares any more: a day from now the id is free again.
    ClientOrderDone { order: OrderId },
    /// The client order id of a done order is free from now on.
    ClientOrderIdFreed { order: OrderId },
    /// The order that was just accepted or amended shows this many shares at a time when it rests.
    DisplayGiven { order: OrderId, display: Shares },
    /// An iceberg shows this many shares from now on. With `stands_last` the order has come to its book or shows its
    /// next part, behind all other orders of its price; otherwise these are the remaining shares of its tip, which
    /// keeps its place. Executions take from the tip without this event.
    TipShown { order: OrderId, symbol: SymbolIndex, shares: Shares, stands_last: bool },
    /// Two orders executed. `maker` rested and set the price; `aggressor` is the order being placed, or the one that
    /// was triggered last. `maker_done` says that the maker has no open shares any more.
    Executed {
        symbol: SymbolIndex,
        maker: OrderId,
        maker_account: AccountIndex,
        aggressor: OrderId,
        price: Price,
        shares: Shares,
        maker_done: bool,
    },
    /// The order that was just accepted or amended ends at this time if it is still open.
    DeadlineGiven { order: OrderId, until: Deadline },
    /// The order that was just accepted is the partner of this one: the first event of either cancels the other.
    OrdersLinked { order: OrderId, partner: OrderId, account: AccountIndex, symbol: SymbolIndex, side: Side },
    /// An open order has left its place, and follows the market no more: the next event gives it other terms.
    OrderSetAside { order: OrderId, symbol: SymbolIndex, side: Side },
    /// The terms of an open order are these from now on. `executed` shares of it were executed before. It has a
    /// deadline and a display if the next events give them. If it `keeps_place`, nothing else has changed. Otherwise it
    /// has left its place, follows the market no more, and the same events follow as after `OrderOpened`.
    OrderAmended {
        order: OrderId,
        account: AccountIndex,
        keeps_place: bool,
        kind: OrderKind,
        limit: Price,
        trigger: Option<Trigger>,
        open: Shares,
        executed: Shares,
    },
    /// Some open shares of an order were canceled, and its number of shares is smaller by as many. It keeps its place.
    OrderReduced { order: OrderId, account: AccountIndex, symbol: SymbolIndex, shares: Shares, why: CancelReason },
    /// The open shares of an order were canceled.
    OrderCanceled { order: OrderId, account: AccountIndex, symbol: SymbolIndex, shares: Shares, why: CancelReason },
    /// The new balance of an account: its money less the money that its open buys hold.
    BalanceChanged { account: AccountIndex, balance: Money },
    /// The new position of an account: its shares less those that its open sells hold.
    PositionChanged { account: AccountIndex, symbol: SymbolIndex, shares: Position },
    /// A symbol has other rules from now on. One such event comes for each part of them, in the order of
    /// [`SymbolRules::parts`].
    ///
    /// [`SymbolRules::parts`]: crate::SymbolRules::parts
    RulesChanged { symbol: SymbolIndex, part: RulesPart },
    /// The fees of the execution in the next event; one of them is above zero.
    FeesTaken { maker: Fee, aggressor: Fee },
    /// The accounts of a tier pay these fees for executions in a symbol from now on.
    FeesChanged { symbol: SymbolIndex, tier: Tier, fees: Option<Fees<AccountIndex>> },
    /// An account is in another tier from now on.
    TierChanged { account: AccountIndex, tier: Tier },
    /// An account is in another group from now on, or in none.
    GroupChanged { account: AccountIndex, group: Group },
    /// An account has made one more transfer, whose effect on its balance or a position is the next event.
    AccountStatusChanged { account: AccountIndex, status: AccountStatus },
    /// A kill switch was thrown or released. If it was thrown, the cancels of the scope's open orders follow.
    KillChanged { scope: KillScope<AccountIndex, SymbolIndex>, is_killed: bool },
    /// An account is protected with this grace from now on, or no longer. If no longer, cancels of its open orders may
    /// follow.
    ProtectionChanged { account: AccountIndex, grace: Option<Grace> },
    /// Everything in the market's calendar up to a time was done.
    CalendarFollowed { through: Time },
    /// An account has other limits from now on: the fields of [`AccountLimits`] one by one, so that they take no more
    /// room.
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
    /// A symbol is in another phase from now on. If it is open, the gathered orders execute next, at a price near that
    /// of its last noted execution.
    PhaseChanged { symbol: SymbolIndex, phase: SymbolPhase, last: Option<Price> },
    /// Two gathered orders executed at the auction price. Both rested. The maker is the older one, by its id, and
    /// `aggressor_side` is the other one's side.
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
    /// The order that was just accepted or amended has a trigger that follows the market at this distance until it is
    /// reached.
    TrailGiven { order: OrderId, trail: Trail },
    /// The executions of the order before came to this price. The triggers of all trailing stops of this symbol and
    /// side that were not reached are now where [`Trail::moved`] says; at least one of them moved.
    TrailsMoved { symbol: SymbolIndex, side: Side, price: Price },
    /// The executions of the order before came to the trigger of a trailing stop. It follows the market no more, and
    /// waits from now on as one with this fixed trigger, behind all that wait for the same one.
    TrailReached { order: OrderId, symbol: SymbolIndex, trigger: Trigger },
    /// An order was accepted that waits until its working order has executed completely: see [`Event::working`]. It
    /// holds nothing and stands in no book.
    OrderPends { order: OrderId, account: AccountIndex, is_second: bool, placed: NewOrder<SymbolIndex> },
    /// The working order of a pending order has executed completely, so the pending one is placed: the same events
    /// follow as after `OrderOpened`.
    OrderReleased { order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex> },
}

impl Event {
    /// The working order of a pending one, which may be the second of two. Ids follow the order of requests, and
    /// pending orders stand right behind their working order.
    pub fn working(order: OrderId, is_second: bool) -> OrderId {
        OrderId(order.0.saturating_sub(if is_second { 2 } else { 1 }))
    }

    /// The event of an order that has these terms from now on; `placed` has its open shares.
    pub fn amended(
        (order, account): (OrderId, AccountIndex),
        placed: &NewOrder<SymbolIndex>,
        executed: Shares,
        keeps_place: bool,
    ) -> Event {
        let NewOrder { kind, limit, trigger, shares: open, .. } = *placed;
        Event::OrderAmended { order, account, keeps_place, kind, limit, trigger, open, executed }
    }
}
