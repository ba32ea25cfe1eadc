//! Facts about a command that follow from the command alone: its kind, its account, the order that it names, and
//! whether a client or the market's loop makes it. `place.rs` has those about the order that it places.

use crate::amendment::Amendment;
use crate::command::{Command, Op, Query};
use crate::ids::{AccountId, Deadline};
use crate::kills::{Among, KillScope};
use crate::order::{NewOrder, OrderName};
use crate::place::{Bond, Place};

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandKind {
    CreateAccount,
    CreateSymbol,
    IssueShares,
    FundAccount,
    GiveShares,
    Deposit,
    DepositFrom,
    Withdraw,
    CloseAccount,
    Place,
    CancelOrder,
    CancelAll,
    AmendOrder,
    FreeClientOrderId,
    ChangeRules,
    ChangeFees,
    ChangeTier,
    ChangeGroup,
    ChangeLimits,
    ChangePhase,
    Kill,
    Release,
    Protect,
    Unprotect,
    ActivateReached,
    ExpireOrders,
    EndAuction,
    FollowCalendar,
    TakeMessage,
}

impl Command {
    /// The command's kind.
    #[inline]
    pub fn kind(&self) -> CommandKind {
        match self {
            Command::CreateAccount { .. } => CommandKind::CreateAccount,
            Command::CreateSymbol { .. } => CommandKind::CreateSymbol,
            Command::IssueShares { .. } => CommandKind::IssueShares,
            Command::FundAccount { .. } => CommandKind::FundAccount,
            Command::GiveShares { .. } => CommandKind::GiveShares,
            Command::Deposit { .. } => CommandKind::Deposit,
            Command::DepositFrom { .. } => CommandKind::DepositFrom,
            Command::Withdraw { .. } => CommandKind::Withdraw,
            Command::CloseAccount { .. } => CommandKind::CloseAccount,
            Command::Place(_) => CommandKind::Place,
            Command::CancelOrder { .. } | Command::ReplaceOrder { .. } => CommandKind::CancelOrder,
            Command::CancelAll { .. } => CommandKind::CancelAll,
            Command::AmendOrder { .. } | Command::Amend(_) => CommandKind::AmendOrder,
            Command::FreeClientOrderId { .. } => CommandKind::FreeClientOrderId,
            Command::ChangeRules { .. } => CommandKind::ChangeRules,
            Command::ChangeFees { .. } => CommandKind::ChangeFees,
            Command::ChangeTier { .. } => CommandKind::ChangeTier,
            Command::ChangeGroup { .. } => CommandKind::ChangeGroup,
            Command::ChangeLimits { .. } => CommandKind::ChangeLimits,
            Command::ChangePhase { .. } => CommandKind::ChangePhase,
            Command::Kill { .. } | Command::KillTogether { .. } => CommandKind::Kill,
            Command::Release { .. } | Command::ReleaseTogether { .. } => CommandKind::Release,
            Command::Protect { .. } => CommandKind::Protect,
            Command::Unprotect { .. } => CommandKind::Unprotect,
            Command::ActivateReached => CommandKind::ActivateReached,
            Command::ExpireOrders => CommandKind::ExpireOrders,
            Command::EndAuction => CommandKind::EndAuction,
            Command::FollowCalendar { .. } => CommandKind::FollowCalendar,
            Command::TakeMessage(_) => CommandKind::TakeMessage,
        }
    }

    /// The order that the command places, with its terms. None if it places none.
    #[inline]
    pub fn place(&self) -> Option<&Place> {
        if let Command::Place(place) = self { Some(place) } else { None }
    }

    /// The bond between the order that the command places and the commands beside it. None if it places none.
    #[inline]
    pub fn bond(&self) -> Option<Bond> {
        self.place().map(Place::bond)
    }

    /// The plain order that the command places and that stands alone. None for any other command.
    #[inline]
    pub fn alone(&self) -> Option<NewOrder> {
        self.place()?.alone()
    }

    /// The account that the command acts for or is about. The account that gets something, if another one gives it.
    pub fn account(&self) -> Option<AccountId> {
        match *self {
            Command::CreateAccount { account, .. }
            | Command::IssueShares { account, .. }
            | Command::FundAccount { account, .. }
            | Command::GiveShares { account, .. }
            | Command::Deposit { account, .. }
            | Command::DepositFrom { account, .. }
            | Command::Withdraw { account, .. }
            | Command::CloseAccount { account }
            | Command::Place(Place { account, .. })
            | Command::CancelOrder { account, .. }
            | Command::ReplaceOrder { account, .. }
            | Command::CancelAll { account, .. }
            | Command::AmendOrder { account, .. }
            | Command::Amend(Amendment { account, .. })
            | Command::FreeClientOrderId { account, .. }
            | Command::ChangeTier { account, .. }
            | Command::ChangeGroup { account, .. }
            | Command::ChangeLimits { account, .. }
            | Command::Kill { scope: KillScope::Account(account) }
            | Command::Release { scope: KillScope::Account(account) }
            | Command::KillTogether { account, .. }
            | Command::ReleaseTogether { account, .. }
            | Command::Protect { account, .. }
            | Command::Unprotect { account, .. } => Some(account),
            Command::ChangeFees { fees, .. } => fees.map(|fees| fees.account),
            Command::CreateSymbol { .. }
            | Command::ChangeRules { .. }
            | Command::ChangePhase { .. }
            | Command::Kill { scope: KillScope::Symbol(_) | KillScope::Everything }
            | Command::Release { scope: KillScope::Symbol(_) | KillScope::Everything }
            | Command::ActivateReached
            | Command::ExpireOrders
            | Command::EndAuction
            | Command::FollowCalendar { .. }
            | Command::TakeMessage(_) => None,
        }
    }

    /// The account and the single order that the command cancels, replaces or amends. None for any other command.
    #[inline]
    pub fn named_order(&self) -> Option<(AccountId, OrderName)> {
        if let Command::CancelOrder { account, order }
        | Command::ReplaceOrder { account, order }
        | Command::AmendOrder { account, order, .. }
        | Command::Amend(Amendment { account, order, .. }) = *self
        {
            return Some((account, order));
        }
        None
    }

    /// Whether the market's loop makes the command, and no client. The loop makes changes of phase, too, but a client
    /// may ask for them.
    pub fn is_made_by_loop(&self) -> bool {
        match self.kind() {
            CommandKind::ActivateReached
            | CommandKind::ExpireOrders
            | CommandKind::EndAuction
            | CommandKind::FollowCalendar
            | CommandKind::TakeMessage => true,
            CommandKind::Unprotect => matches!(self, Command::Unprotect { is_lost: true, .. }),
            CommandKind::CreateAccount
            | CommandKind::CreateSymbol
            | CommandKind::IssueShares
            | CommandKind::FundAccount
            | CommandKind::GiveShares
            | CommandKind::Deposit
            | CommandKind::DepositFrom
            | CommandKind::Withdraw
            | CommandKind::CloseAccount
            | CommandKind::Place
            | CommandKind::CancelOrder
            | CommandKind::CancelAll
            | CommandKind::AmendOrder
            | CommandKind::FreeClientOrderId
            | CommandKind::ChangeRules
            | CommandKind::ChangeFees
            | CommandKind::ChangeTier
            | CommandKind::ChangeGroup
            | CommandKind::ChangeLimits
            | CommandKind::ChangePhase
            | CommandKind::Kill
            | CommandKind::Release
            | CommandKind::Protect => false,
        }
    }
}

impl Command {
    /// Adds the condition that the command just before it canceled an order. None for a command that places no order or
    /// already has a bond.
    pub fn if_canceled(self) -> Option<Command> {
        self.with_bond(Bond::Alone, Bond::IfCanceled)
    }

    /// Removes that condition, or the bond to the order that it replaces. None for a command without either.
    pub fn unconditional(self) -> Option<Command> {
        let from = self.bond().filter(|bond| matches!(bond, Bond::IfCanceled | Bond::Replacing))?;
        self.with_bond(from, Bond::Alone)
    }

    fn with_bond(self, from: Bond, to: Bond) -> Option<Command> {
        let Command::Place(place) = self else { return None };
        if place.bond() == from { place.with_bond(to).map(Command::Place) } else { None }
    }

    /// Replaces the deadline of the order that it places. None for a command that places no order that may have one.
    pub fn with_deadline(self, until: Option<Deadline>) -> Option<Command> {
        let Command::Place(place) = self else { return None };
        place.with_deadline(until).map(Command::Place)
    }
}

impl Op {
    /// The account that asks about or names a single order, and the order. None for an op that names none.
    #[inline]
    pub fn named_order(&self) -> Option<(AccountId, OrderName)> {
        match *self {
            Op::Query(Query { account, order }) => Some((account, order)),
            Op::Command(command) => command.named_order(),
        }
    }

    /// The deadline of the order that the op places; none if it places none, or one without a deadline.
    #[inline]
    pub fn deadline(&self) -> Option<Deadline> {
        let Op::Command(command) = self else { return None };
        command.place()?.deadline()
    }

    /// Whether the op places an order together with the op before it, or not at all.
    pub fn is_placed_with_previous(&self) -> bool {
        matches!(self.bond(), Some(Bond::Linked | Bond::Pending | Bond::Replacing))
    }

    /// Whether the op kills or releases an account together with that of the op before it, or not at all.
    pub fn is_killed_with_previous(&self) -> bool {
        match self {
            Op::Command(Command::KillTogether { among, .. } | Command::ReleaseTogether { among, .. }) => {
                *among != Among::First
            }
            Op::Command(_) | Op::Query(_) => false,
        }
    }

    /// Whether the fate of the op depends on the op before it in its request.
    pub fn depends_on_previous(&self) -> bool {
        matches!(self.bond(), Some(Bond::Linked | Bond::Pending | Bond::IfCanceled | Bond::Replacing))
    }

    fn bond(&self) -> Option<Bond> {
        let Op::Command(command) = self else { return None };
        command.bond()
    }
}
