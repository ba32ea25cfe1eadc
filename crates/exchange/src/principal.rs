//! Principals and their rights: what each role may do and read. The gateways check proofs of identity, and the members
//! are kept elsewhere.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use terms::{AccountId, Command, CommandKind, Op};

use crate::account_set::AccountSet;
use crate::budget::Budget;
use crate::limits::{Limit, Limits};
use crate::mode::Mode;
use crate::role::{Role, Roles};

/// The roles of a member, and the accounts that they cover. Without a role nothing is allowed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rights {
    pub roles: Roles,
    /// The accounts that a trader or a viewer may act for or read.
    pub accounts: AccountSet,
    /// The limits on the member's requests.
    pub limits: Limits,
    /// The bounds on what an issuer may give.
    pub budget: Budget,
}

/// The thing that a principal wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Things that show nothing of the market: that the server runs, its page, its descriptions.
    Anyone,
    /// Symbols, books, trades and candles, and the server's vitals.
    Market,
    /// The present and past of one account.
    Account(AccountId),
    /// The holdings of all accounts.
    AllAccounts,
    /// The members, and the server's measurements of itself.
    Venue,
}

/// The reason why an op goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The op is about another's account. The answer is as if there were none: nobody learns which accounts exist.
    NotTheirs,
    /// The op is for other roles.
    NotPermitted,
    /// The op exceeds a limit of the member.
    Past(Limit),
    /// The op is for operators alone, as long as the venue is in this mode.
    Closed(Mode),
}

impl Rights {
    fn has(&self, role: Role) -> bool {
        self.roles.contains(role)
    }

    /// The accounts that a principal with these rights trades for, in order.
    pub fn traded(&self) -> Vec<AccountId> {
        if self.has(Role::Trader) { self.accounts.iter().collect() } else { Vec::new() }
    }

    /// Whether the principal is an operator, who may do everything.
    pub fn is_operator(&self) -> bool {
        self.has(Role::Operator)
    }

    /// Checks whether an op may go on. Errors: the reason why it may not.
    pub fn check(&self, op: &Op) -> Result<(), Denial> {
        if self.has(Role::Operator) {
            return Ok(());
        }
        let (account, reads) = match op {
            Op::Query(query) => (query.account, true),
            Op::Command(command) => match about(command) {
                About::Account(account) => (account, false),
                About::Issue if self.has(Role::Issuer) => {
                    return self.budget.check(command).map_err(|range| Denial::Past(Limit::Accounts(range)));
                }
                About::Issue | About::Venue => return Err(Denial::NotPermitted),
            },
        };
        let may = match reads {
            true => self.may_read(Read::Account(account)),
            false => self.may_trade(account),
        };
        if may { Ok(()) } else { Err(Denial::NotTheirs) }
    }

    /// Whether the principal may create accounts, symbols or shares at all.
    pub fn may_issue(&self) -> bool {
        self.is_operator() || self.has(Role::Issuer)
    }

    /// Changes an op to what is done: an issuer with a budget pays for what it gives.
    pub(crate) fn pay(&self, op: &mut Op) {
        if !self.is_operator() {
            self.budget.pay(op);
        }
    }

    /// Whether the principal may act for this account.
    pub fn may_trade(&self, account: AccountId) -> bool {
        self.is_operator() || self.has(Role::Trader) && self.accounts.contains(account)
    }

    /// Whether the principal may read, in this mode, what its roles allow.
    pub fn may_look_in(&self, mode: Mode) -> bool {
        mode != Mode::Maintenance || self.is_operator()
    }

    /// Whether this mode stops an op.
    pub(crate) fn is_stopped(&self, mode: Mode, op: &Op) -> bool {
        match mode {
            Mode::Normal => false,
            Mode::ReadOnly => matches!(op, Op::Command(_)) && !self.is_operator(),
            Mode::Maintenance => !self.is_operator(),
        }
    }

    /// Whether the principal may read this.
    pub fn may_read(&self, read: Read) -> bool {
        let reads_all = self.has(Role::Operator) || self.has(Role::Auditor);
        match read {
            Read::Anyone => true,
            Read::Market => !self.roles.is_empty(),
            Read::Account(account) => {
                let reads_named = self.has(Role::Trader) || self.has(Role::Viewer);
                reads_all || reads_named && self.accounts.contains(account)
            }
            Read::AllAccounts | Read::Venue => reads_all,
        }
    }
}

/// The subject of a command.
enum About {
    /// The command acts for one account.
    Account(AccountId),
    /// The command creates accounts, symbols or shares.
    Issue,
    /// The command changes how the venue works.
    Venue,
}

fn about(command: &Command) -> About {
    match command.kind() {
        CommandKind::Place
        | CommandKind::CancelOrder
        | CommandKind::CancelAll
        | CommandKind::AmendOrder
        | CommandKind::FreeClientOrderId
        | CommandKind::Protect
        | CommandKind::Unprotect
        // A member may stop itself. The venue decides when it goes on again, because the venue may have stopped it,
        // too.
        | CommandKind::Kill => match command.account() {
            Some(account) if !command.is_made_by_loop() => About::Account(account),
            Some(_) | None => About::Venue,
        },
        CommandKind::CreateAccount | CommandKind::CreateSymbol | CommandKind::IssueShares | CommandKind::Deposit => {
            About::Issue
        }
        // The exchange makes these from the requests of an issuer with a budget; no client asks for them.
        CommandKind::FundAccount | CommandKind::GiveShares | CommandKind::DepositFrom => About::Venue,
        CommandKind::Withdraw
        | CommandKind::CloseAccount
        | CommandKind::ChangeRules
        | CommandKind::ChangeFees
        | CommandKind::ChangeTier
        | CommandKind::ChangeGroup
        | CommandKind::ChangeLimits
        | CommandKind::ChangePhase
        | CommandKind::Release => About::Venue,
        // The server itself gives these; no client asks for them.
        CommandKind::ActivateReached
        | CommandKind::ExpireOrders
        | CommandKind::EndAuction
        | CommandKind::FollowCalendar
        | CommandKind::TakeMessage => About::Venue,
    }
}

/// A principal on a connection. Clones share their rights: a change holds for all of them at once, also on connections
/// that are open.
#[derive(Clone)]
pub struct Principal(Arc<PrincipalState>);

struct PrincipalState {
    member: String,
    key: Box<str>,
    rights: RwLock<Arc<Rights>>,
}

impl Principal {
    /// Makes the principal of a member.
    pub fn new(member: &str, rights: impl Into<Arc<Rights>>) -> Principal {
        Principal::of_key(member, "", rights)
    }

    /// Makes the principal of a member that proves itself with this key.
    pub fn of_key(member: &str, key: &str, rights: impl Into<Arc<Rights>>) -> Principal {
        Principal(Arc::new(PrincipalState {
            member: member.to_owned(),
            key: key.into(),
            rights: RwLock::new(rights.into()),
        }))
    }

    /// Makes the principal of a connection that has proven nothing.
    pub fn anonymous() -> Principal {
        Principal::new("", Rights::default())
    }

    /// The member's name; empty for a principal that has proven nothing.
    pub fn member(&self) -> &str {
        &self.0.member
    }

    /// The key that the member proves itself with; empty if it is not known.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The current rights.
    pub fn rights(&self) -> Arc<Rights> {
        Arc::clone(&self.0.rights.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the rights from now on. Rights without a role revoke the principal.
    pub fn set_rights(&self, rights: impl Into<Arc<Rights>>) {
        *self.0.rights.write().unwrap_or_else(PoisonError::into_inner) = rights.into();
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Principal) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Principal {}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.0.member).finish()
    }
}

#[cfg(test)]
mod tests {
    use terms::{Money, OrderId, Position, Query, Symbol};

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::parse(id.as_bytes()).expect("digits")
    }

    #[test]
    fn each_role_may_do_its_part_to_its_accounts() {
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let (own, other) = (account("1"), account("2"));
        let assets = terms::Assets::Dollars(Money::from_units(1));
        let cancel = |account| Op::Command(Command::CancelOrder { account, order: OrderId(1).into() });
        let query = |account| Op::Query(Query { account, order: OrderId(1).into() });
        let ops = [
            cancel(own),
            cancel(other),
            query(own),
            query(other),
            Op::Command(Command::CreateAccount { account: own, balance: Money::ZERO }),
            Op::Command(Command::IssueShares { symbol, account: own, shares: Position::ZERO }),
            Op::Command(Command::ChangeRules { symbol, rules: terms::SymbolRules::default() }),
            Op::Command(Command::ExpireOrders),
            Op::Command(Command::Deposit { account: own, assets, number: None }),
            Op::Command(Command::Withdraw { account: own, assets, number: None }),
            Op::Command(Command::CloseAccount { account: own }),
        ];
        let reads =
            [Read::Anyone, Read::Market, Read::Account(own), Read::Account(other), Read::AllAccounts, Read::Venue];
        let expected = [
            (vec![], "...........", "x....."),
            (vec![Role::Operator], "xxxxxxxxxxx", "xxxxxx"),
            (vec![Role::Issuer], "....xx..x..", "xx...."),
            (vec![Role::Trader], "x.x........", "xxx..."),
            (vec![Role::Viewer], "..x........", "xxx..."),
            (vec![Role::Auditor], "..xx.......", "xxxxxx"),
            (vec![Role::Issuer, Role::Viewer], "..x.xx..x..", "xxx..."),
        ];
        for (roles, may_do, may_read) in expected {
            let rights = Rights {
                roles: roles.iter().copied().collect(),
                accounts: AccountSet::from([own]),
                ..Rights::default()
            };
            let told = |allowed: bool| if allowed { 'x' } else { '.' };
            assert_eq!(ops.iter().map(|op| told(rights.check(op).is_ok())).collect::<String>(), may_do, "{roles:?}");
            assert_eq!(
                reads.iter().map(|&read| told(rights.may_read(read))).collect::<String>(),
                may_read,
                "{roles:?}"
            );
        }
    }

    #[test]
    fn of_others_accounts_nothing_is_learned_and_what_is_for_other_roles_is_said() {
        let accounts = AccountSet::from([account("1")]);
        let trader = Rights { roles: [Role::Trader].into(), accounts, ..Rights::default() };
        let query = Op::Query(Query { account: account("2"), order: OrderId(1).into() });
        assert_eq!(trader.check(&query), Err(Denial::NotTheirs));
        let create = Command::CreateAccount { account: account("1"), balance: Money::ZERO };
        assert_eq!(trader.check(&Op::Command(create)), Err(Denial::NotPermitted));
    }

    #[test]
    fn a_mode_stops_all_but_operators() {
        let query = Op::Query(Query { account: account("1"), order: OrderId(1).into() });
        let cancel = Op::Command(Command::CancelOrder { account: account("1"), order: OrderId(1).into() });
        let create = Op::Command(Command::CreateAccount { account: account("1"), balance: Money::ZERO });
        let of_role = |role| Rights { roles: [role].into(), ..Rights::default() };
        let operator = of_role(Role::Operator);
        for (mode, stops_query, stops_command) in
            [(Mode::Normal, false, false), (Mode::ReadOnly, false, true), (Mode::Maintenance, true, true)]
        {
            for role in Role::ALL.into_iter().filter(|role| *role != Role::Operator) {
                let member = of_role(role);
                let stopped = [&query, &cancel, &create].map(|op| member.is_stopped(mode, op));
                assert_eq!(stopped, [stops_query, stops_command, stops_command], "{role:?} in {mode:?}");
                assert_eq!(member.may_look_in(mode), !stops_query, "{role:?} in {mode:?}");
            }
            assert!(!operator.is_stopped(mode, &cancel) && operator.may_look_in(mode));
        }
    }

    #[test]
    fn rights_change_for_all_who_hold_the_principal() {
        let here = Principal::new("alice", Rights { roles: [Role::Auditor].into(), ..Rights::default() });
        let there = here.clone();
        assert!(there.rights().may_read(Read::AllAccounts));
        here.set_rights(Rights::default());
        assert!(!there.rights().may_read(Read::Market));
        assert_eq!((there.member(), Principal::anonymous().member()), ("alice", ""));
    }
}
