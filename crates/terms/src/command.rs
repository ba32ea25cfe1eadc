//! Input of the engine: commands, which change the market and are journaled, and queries, which are not.

use crate::account_limits::AccountLimits;
use crate::amendment::Amendment;
use crate::amount::{Money, Position, Shares};
use crate::fees::{Fees, Tier};
use crate::groups::Group;
use crate::ids::{AccountId, ClientOrderId, OrderId, Sequence, Symbol, Time};
use crate::kills::{Among, KillScope};
use crate::log_message::LogMessage;
use crate::order::OrderName;
use crate::phase::Phase;
use crate::place::Place;
use crate::protections::Grace;
use crate::rules::SymbolRules;
use crate::transfers::{Assets, TransferNumber};

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
    /// Add new assets to an account. Where a number is given, the deposit is made only if it is the account's next
    /// transfer.
    Deposit { account: AccountId, assets: Assets, number: Option<TransferNumber> },
    /// Add assets of another account to an account, under the same condition. Gateways make it of a `Deposit` by a
    /// caller who may give away no more than that account has.
    DepositFrom { payer: AccountId, account: AccountId, assets: Assets, number: Option<TransferNumber> },
    /// Take assets out of an account and out of the market, under the same condition.
    Withdraw { account: AccountId, assets: Assets, number: Option<TransferNumber> },
    /// End an account for ever. One that is closed already stays closed.
    CloseAccount { account: AccountId },
    /// Place an order. Each form of order, each bond to the commands beside it and each term is a part of it.
    Place(Place),
    /// Cancel the open shares of an order.
    CancelOrder { account: AccountId, order: OrderName },
    /// Have the order that the next command of the request places replace this one, or leave it as it is. The next
    /// command decides; this one changes nothing, and its reply is the one to a cancel.
    ReplaceOrder { account: AccountId, order: OrderName },
    /// Take shares off an open order, which keeps its place in its level. `shares` is its new total, executed ones
    /// included.
    AmendOrder { account: AccountId, order: OrderName, shares: Shares },
    /// Give an open order other terms, in one step. It keeps its id, and its place unless the terms could better it.
    Amend(Amendment),
    /// Activate orders whose triggers were reached, and that were too many for the command that reached them. No client
    /// sends it: the market's loop makes it while there are such orders.
    ActivateReached,
    /// Cancel the remaining orders of kills that go on, and orders whose deadlines have come,
    /// [`CANCELS_MAX`](crate::CANCELS_MAX) of each. No client asks for this: the market's loop gives the command when
    /// there are such orders.
    ExpireOrders,
    /// Replace all rules of a symbol. The new ones hold for orders that are placed or triggered from now on.
    ChangeRules { symbol: Symbol, rules: SymbolRules },
    /// Free a client order id whose order is done, so that another order can be placed under it.
    FreeClientOrderId { account: AccountId, id: ClientOrderId },
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
    /// Cancel the open ones of the oldest [`CANCELS_MAX`](crate::CANCELS_MAX) orders of an account, in one symbol or in
    /// all, whatever their place. `through` is the newest order that is meant, if not all are.
    CancelAll { account: AccountId, symbol: Option<Symbol>, through: Option<OrderId> },
    /// Refuse new orders in a scope until it is released, and cancel its open orders: the first
    /// [`CANCELS_MAX`](crate::CANCELS_MAX). `ExpireOrders` cancels the others.
    Kill { scope: KillScope },
    /// Accept orders again in a scope that was killed.
    Release { scope: KillScope },
    /// Kill an account together with others, each named by such a command of its own, one behind the other. The last of
    /// them kills all, and cancels as many orders as one `Kill` does; the others change nothing. An account that does
    /// not exist is passed over.
    KillTogether { account: AccountId, among: Among },
    /// Release an account together with others, each named by such a command of its own, one behind the other. The last
    /// of them releases all, or none while one of their kills goes on; the others change nothing.
    ReleaseTogether { account: AccountId, among: Among },
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
