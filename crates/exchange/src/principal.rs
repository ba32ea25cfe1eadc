//! Who asks, and what they may do. How somebody proves who they are is the gateways' business, and which members there are is
//! kept elsewhere: here stands what each role may do, for commands and for what is read.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use engine::{AccountId, Command, KillScope, Op};

use crate::account_set::AccountSet;
use crate::budget::Budget;
use crate::limits::{Limit, Limits};
use crate::mode::Mode;
use crate::role::{Role, Roles};

/// The roles of a member, and the accounts that they are about. Without a role nothing is allowed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rights {
    pub roles: Roles,
    /// What traders and viewers may do they may do to these.
    pub accounts: AccountSet,
    /// How much of it.
    pub limits: Limits,
    /// What an issuer may give.
    pub budget: Budget,
}

/// What somebody wants to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// What tells nothing of the market: that the server is there, its page, its descriptions.
    Anyone,
    /// Symbols, books, trades and candles, and how the server does.
    Market,
    /// What one account has, had and did.
    Account(AccountId),
    /// What all accounts have.
    AllAccounts,
    /// Who is a member, and what the server measures of itself.
    Venue,
}

/// Why an op goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// It is about an account of others. It is answered as if there were none: nobody learns which accounts there are.
    NotTheirs,
    /// It is for other roles.
    NotPermitted,
    /// It is past a limit of the member.
    Past(Limit),
    /// It is for operators alone, as long as the venue is in this mode.
    Closed(Mode),
}

impl Rights {
    fn has(&self, role: Role) -> bool {
        self.roles.contains(role)
    }

    /// The accounts named that somebody with these rights trades for, in order.
    pub fn traded(&self) -> Vec<AccountId> {
        if self.has(Role::Trader) { self.accounts.iter().collect() } else { Vec::new() }
    }

    /// Whether nothing is refused to it.
    pub fn is_operator(&self) -> bool {
        self.has(Role::Operator)
    }

    /// Whether an op goes on.
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

    /// Whether it makes accounts, symbols or shares, whichever these are.
    pub fn may_issue(&self) -> bool {
        self.is_operator() || self.has(Role::Issuer)
    }

    /// What is asked for, as it is done: an issuer with a budget pays for what it gives.
    pub(crate) fn pay(&self, op: &mut Op) {
        if !self.is_operator() {
            self.budget.pay(op);
        }
    }

    /// Whether somebody may act for this account.
    pub fn may_trade(&self, account: AccountId) -> bool {
        self.is_operator() || self.has(Role::Trader) && self.accounts.contains(account)
    }

    /// Whether the venue is open, in this mode, to a look at what the roles allow.
    pub fn may_look_in(&self, mode: Mode) -> bool {
        mode != Mode::Maintenance || self.is_operator()
    }

    /// Whether an op goes no further in this mode.
    pub(crate) fn is_stopped(&self, mode: Mode, op: &Op) -> bool {
        match mode {
            Mode::Normal => false,
            Mode::ReadOnly => matches!(op, Op::Command(_)) && !self.is_operator(),
            Mode::Maintenance => !self.is_operator(),
        }
    }

    /// Whether somebody may look at this.
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

/// What a command is about.
enum About {
    /// It acts for one account.
    Account(AccountId),
    /// It makes accounts, symbols or shares.
    Issue,
    /// It changes how the venue works.
    Venue,
}

fn about(command: &Command) -> About {
    match *command {
        Command::PlaceOrder { account, .. }
        | Command::PlaceByFunds { account, .. }
        | Command::CancelOrder { account, .. }
        | Command::AmendOrder { account, .. }
        | Command::CancelAll { account, .. }
        // A member stops itself. That it goes on again is for the venue to say, which may have stopped it, too.
        | Command::Kill { scope: KillScope::Account(account) }
        | Command::Protect { account, .. }
        | Command::Unprotect { account, is_lost: false }
        | Command::PlaceIfCanceled { account, .. }
        | Command::PlaceByFundsIfCanceled { account, .. }
        | Command::PlaceLinked { account, .. }
        | Command::FreeClientOrderId { account, .. }
        | Command::PlaceIceberg { account, .. }
        | Command::PlaceTrailing { account, .. }
        | Command::PlaceWorking { account, .. }
        | Command::PlacePending { account, .. } => About::Account(account),
        Command::CreateAccount { .. }
        | Command::CreateSymbol { .. }
        | Command::CreateOldSymbol { .. }
        | Command::IssueShares { .. } => About::Issue,
        // The exchange makes those of what an issuer with a budget asks for; nobody asks for them.
        Command::FundAccount { .. } | Command::GiveShares { .. } => About::Venue,
        // The loop alone gives those four; nobody may ask for them.
        Command::ActivateReached
        | Command::TakeMessage(_)
        | Command::Unprotect { is_lost: true, .. }
        | Command::ExpireOrders
        | Command::EndAuction
        | Command::ChangeRules { .. }
        | Command::ChangeFees { .. }
        | Command::ChangeTier { .. }
        | Command::ChangeGroup { .. }
        | Command::ChangePhase { .. }
        | Command::Release { .. }
        | Command::ChangeLimits { .. }
        | Command::Kill { scope: KillScope::Symbol(_) | KillScope::Everything } => About::Venue,
    }
}

/// Somebody on a connection. Clones are the same one: what it may do from now on changes for all of them at once, also on
/// connections that are open.
#[derive(Clone)]
pub struct Principal(Arc<State>);

struct State {
    member: String,
    key: Box<str>,
    rights: RwLock<Arc<Rights>>,
}

impl Principal {
    /// A member, by its name.
    pub fn new(member: &str, rights: impl Into<Arc<Rights>>) -> Principal {
        Principal::of_key(member, "", rights)
    }

    /// A member that proves itself with this key.
    pub fn of_key(member: &str, key: &str, rights: impl Into<Arc<Rights>>) -> Principal {
        Principal(Arc::new(State { member: member.to_owned(), key: key.into(), rights: RwLock::new(rights.into()) }))
    }

    /// Somebody who has proven nothing.
    pub fn anonymous() -> Principal {
        Principal::new("", Rights::default())
    }

    /// Its name; empty for somebody who has proven nothing.
    pub fn member(&self) -> &str {
        &self.0.member
    }

    /// The key that it proves itself with; empty if that is not known.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// What it may do at the moment.
    pub fn rights(&self) -> Arc<Rights> {
        Arc::clone(&self.0.rights.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on it may do this and nothing else. Revoked is who has no role.
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
    use engine::{Money, OrderId, Position, Query, Symbol};

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::parse(id.as_bytes()).expect("digits")
    }

    #[test]
    fn each_role_may_do_its_part_to_its_accounts() {
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let (own, other) = (account("1"), account("2"));
        let cancel = |account| Op::Command(Command::CancelOrder { account, order: OrderId(1).into() });
        let query = |account| Op::Query(Query { account, order: OrderId(1).into() });
        let ops = [
            cancel(own),
            cancel(other),
            query(own),
            query(other),
            Op::Command(Command::CreateAccount { account: own, balance: Money::ZERO }),
            Op::Command(Command::IssueShares { symbol, account: own, shares: Position::ZERO }),
            Op::Command(Command::ChangeRules { symbol, rules: engine::SymbolRules::default() }),
            Op::Command(Command::ExpireOrders),
        ];
        let reads =
            [Read::Anyone, Read::Market, Read::Account(own), Read::Account(other), Read::AllAccounts, Read::Venue];
        let expected = [
            (vec![], "........", "x....."),
            (vec![Role::Operator], "xxxxxxxx", "xxxxxx"),
            (vec![Role::Issuer], "....xx..", "xx...."),
            (vec![Role::Trader], "x.x.....", "xxx..."),
            (vec![Role::Viewer], "..x.....", "xxx..."),
            (vec![Role::Auditor], "..xx....", "xxxxxx"),
            (vec![Role::Issuer, Role::Viewer], "..x.xx..", "xxx..."),
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
        let [operator, trader] =
            [Role::Operator, Role::Trader].map(|role| Rights { roles: [role].into(), ..Rights::default() });
        for (mode, stops_query, stops_cancel) in
            [(Mode::Normal, false, false), (Mode::ReadOnly, false, true), (Mode::Maintenance, true, true)]
        {
            assert_eq!(
                (trader.is_stopped(mode, &query), trader.is_stopped(mode, &cancel)),
                (stops_query, stops_cancel)
            );
            assert_eq!(trader.may_look_in(mode), !stops_query);
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
