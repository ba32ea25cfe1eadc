//! The kill switch for a member: a command for each of its accounts, all in one request. The last one kills or releases
//! all of them at once, or none. The engine knows no members.

use terms::{AccountId, Among, Command, KillScope, Op, Reject, Reply};

use crate::answer::Answer;
use crate::principal::Rights;

/// The most accounts of a member that one request kills.
pub const KILLED_TOGETHER_MAX: usize = 4096;

/// Accounts of members that one request of a few bytes kills or releases, at most.
pub const KILLED_AT_ONCE_MAX: usize = 100;

/// Room for the accounts of members that one request kills or releases. Whatever a request says, a bounded number of
/// accounts is looked at for it.
#[derive(Clone, Copy, Debug)]
pub struct KillRoom {
    /// The most accounts of one request.
    at_most: usize,
    /// Accounts that may still be looked at.
    left: usize,
}

impl KillRoom {
    /// Returns the room of a request that kills `at_most` accounts.
    pub fn new(at_most: usize) -> KillRoom {
        KillRoom { at_most, left: at_most }
    }

    /// Takes the room for accounts that were looked at. Errors: there is less room, and none is left.
    fn take(&mut self, accounts: usize) -> Result<(), NotKilled> {
        let left = self.left.checked_sub(accounts);
        self.left = left.unwrap_or_default();
        left.map(drop).ok_or(NotKilled::TooManyAccounts)
    }
}

/// The outcome of a kill of several accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KilledTogether {
    /// The orders that were canceled.
    pub orders: usize,
    /// Whether others are left to be canceled.
    pub goes_on: bool,
}

/// The reason why a member is not killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKilled {
    /// No member has this name, or the asker may not know of it.
    Unknown,
    /// The member has no accounts.
    NoAccounts,
    /// The member has more accounts than one request kills.
    TooManyAccounts,
}

impl std::fmt::Display for NotKilled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotKilled::Unknown => f.write_str("Unknown member"),
            NotKilled::NoAccounts => f.write_str("the member has no accounts: its roles need none"),
            NotKilled::TooManyAccounts => {
                write!(f, "the member has too many accounts to be killed together; at most {KILLED_TOGETHER_MAX}")
            }
        }
    }
}

/// The ops of one request that kill a member, or release it: one for each account that it has now. Only an asker with
/// the right to kill these accounts learns that the member exists; the exchange checks the right to release them.
/// Errors: among others, the request has no room for these accounts. Then nobody is looked for any more.
pub fn member_kill(
    asker: &Rights,
    member: Option<&Rights>,
    is_killed: bool,
    room: &mut KillRoom,
) -> Result<Vec<Op>, NotKilled> {
    if room.left == 0 {
        return Err(NotKilled::TooManyAccounts);
    }
    let kill = |account| Command::Kill { scope: KillScope::Account(account) };
    let accounts = &member.ok_or(NotKilled::Unknown)?.accounts;
    if !asker.is_operator() {
        // An asker with fewer accounts than the member cannot have them all.
        if accounts.is_empty() || asker.accounts.len() < accounts.len() {
            return Err(NotKilled::Unknown);
        }
        let may = |account: AccountId| asker.check(&Op::Command(kill(account))).is_ok();
        let looked_at = accounts.len().min(room.at_most + 1);
        let theirs = accounts.iter().take(looked_at).take_while(|account| may(*account)).count();
        if theirs < looked_at {
            let _ = room.take(theirs);
            return Err(NotKilled::Unknown);
        }
    }
    room.take(accounts.len())?;
    let accounts: Vec<AccountId> = accounts.iter().collect();
    match accounts[..] {
        [] => Err(NotKilled::NoAccounts),
        [account] if is_killed => Ok(vec![Op::Command(kill(account))]),
        [account] => Ok(vec![Op::Command(Command::Release { scope: KillScope::Account(account) })]),
        _ => {
            let command = |(index, &account)| match (is_killed, Among::of(index, accounts.len())) {
                (true, among) => Command::KillTogether { account, among },
                (false, among) => Command::ReleaseTogether { account, among },
            };
            Ok(accounts.iter().enumerate().map(command).map(Op::Command).collect())
        }
    }
}

/// The outcome that the answers to a kill or release of a member's accounts give together. An account that does not
/// exist yet has no orders. Errors: the first refusal.
pub fn killed_together<'a>(answers: impl IntoIterator<Item = &'a Answer>) -> Result<KilledTogether, &'a Answer> {
    answers.into_iter().try_fold(KilledTogether::default(), |killed, answer| match answer {
        Answer::Reply(Reply::CanceledAll { orders, left, .. }) => {
            Ok(KilledTogether { orders: killed.orders + orders, goes_on: killed.goes_on || left.is_some() })
        }
        Answer::Reply(Reply::Created | Reply::Rejected(Reject::UnknownAccount)) => Ok(killed),
        Answer::Reply(_) | Answer::Unavailable(_) => Err(answer),
    })
}

#[cfg(test)]
mod tests {
    use terms::{OrderId, Sequence};

    use super::*;
    use crate::answer::Unavailable;
    use crate::role::Role;

    fn rights(role: Role, accounts: &[&str]) -> Rights {
        let accounts = accounts.iter().map(|id| AccountId::parse(id.as_bytes()).expect("digits"));
        Rights { roles: [role].into(), accounts: accounts.collect(), ..Rights::default() }
    }

    /// Asks for a kill in a request that does nothing else.
    fn killed(asker: &Rights, member: Option<&Rights>) -> Result<Vec<Op>, NotKilled> {
        member_kill(asker, member, true, &mut KillRoom::new(KILLED_TOGETHER_MAX))
    }

    fn many(role: Role, accounts: usize) -> Rights {
        let names: Vec<String> = (0..accounts).map(|number| number.to_string()).collect();
        rights(role, &names.iter().map(String::as_str).collect::<Vec<&str>>())
    }

    #[test]
    fn a_member_is_killed_by_operators_and_by_itself_and_others_do_not_learn_of_it() {
        let (operator, alice) = (rights(Role::Operator, &[]), rights(Role::Trader, &["2", "1"]));
        let kills = killed(&operator, Some(&alice)).expect("ops");
        let kill = |id: &str, among| {
            let account = AccountId::parse(id.as_bytes()).expect("digits");
            Op::Command(Command::KillTogether { account, among })
        };
        assert_eq!(kills, [kill("1", Among::First), kill("2", Among::Last)]);
        assert_eq!(killed(&alice, Some(&alice)), Ok(kills));
        for other in [rights(Role::Trader, &["1"]), rights(Role::Viewer, &["1", "2"]), rights(Role::Auditor, &[])] {
            assert_eq!(killed(&other, Some(&alice)), Err(NotKilled::Unknown));
            assert_eq!(killed(&other, Some(&operator)), Err(NotKilled::Unknown));
        }
        assert_eq!(killed(&operator, None), Err(NotKilled::Unknown));
        assert_eq!(killed(&operator, Some(&operator)), Err(NotKilled::NoAccounts));
        let most = many(Role::Trader, KILLED_TOGETHER_MAX);
        assert_eq!(killed(&most, Some(&most)).map(|ops| ops.len()), Ok(KILLED_TOGETHER_MAX));
        let more = many(Role::Trader, KILLED_TOGETHER_MAX + 1);
        assert_eq!(killed(&operator, Some(&more)), Err(NotKilled::TooManyAccounts));
        assert_eq!(killed(&more, Some(&more)), Err(NotKilled::TooManyAccounts));
        assert_eq!(killed(&most, Some(&more)), Err(NotKilled::Unknown));
    }

    /// Each `<kill member="…"/>` of a request looked at all accounts of the member, also those behind the one that was
    /// refused for having too many: a few kilobytes held a worker of the XML gateway for seconds.
    #[test]
    fn a_request_looks_at_a_bounded_number_of_accounts() {
        let (operator, alice) = (rights(Role::Operator, &[]), many(Role::Trader, 60));
        let mut room = KillRoom::new(KILLED_AT_ONCE_MAX);
        let mut ask = |asker: &Rights, member: &Rights| {
            let asked = member_kill(asker, Some(member), true, &mut room).map(|ops| ops.len());
            (asked, room.left)
        };
        assert_eq!(ask(&operator, &alice), (Ok(60), 40));
        // An asker that lacks the last account alone.
        let almost = rights(Role::Trader, &["0", "1", "2", "3", "9"]);
        assert_eq!(ask(&almost, &many(Role::Trader, 5)), (Err(NotKilled::Unknown), 36));
        assert_eq!(ask(&alice, &alice), (Err(NotKilled::TooManyAccounts), 0));
        // From here on nobody is looked at.
        assert_eq!(ask(&operator, &almost), (Err(NotKilled::TooManyAccounts), 0));
        assert_eq!(ask(&almost, &operator), (Err(NotKilled::TooManyAccounts), 0));
        let mut room = KillRoom::new(KILLED_AT_ONCE_MAX);
        let most = many(Role::Trader, KILLED_TOGETHER_MAX + 1);
        assert_eq!(member_kill(&operator, Some(&most), true, &mut room), Err(NotKilled::TooManyAccounts));
        assert_eq!(room.left, 0, "a member with more accounts than any request kills counts, too");
    }

    #[test]
    fn answers_are_told_together() {
        let canceled = |orders| Answer::Reply(Reply::CanceledAll { orders, left: None, sequence: Sequence(1) });
        let left = Answer::Reply(Reply::CanceledAll { orders: 1, left: Some(OrderId(9)), sequence: Sequence(2) });
        let unknown = Answer::Reply(Reply::Rejected(Reject::UnknownAccount));
        let killed = |orders, goes_on| Ok(KilledTogether { orders, goes_on });
        assert_eq!(killed_together(&[canceled(2), unknown, canceled(3)]), killed(5, false));
        assert_eq!(killed_together(&[left, canceled(3)]), killed(4, true));
        let away = Answer::Unavailable(Unavailable::StoreAway);
        assert_eq!(killed_together(&[canceled(2), away.clone()]), Err(&away));
    }
}
