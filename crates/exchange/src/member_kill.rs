//! The kill switch for a member: a command for each of its accounts, all in one request. The last one kills or releases
//! all of them at once, or none. The engine knows no members.

use terms::{AccountId, Among, Command, KillScope, Op, Reject, Reply};

use crate::answer::Answer;
use crate::principal::Rights;

/// The most accounts of a member that one request kills.
pub const KILLED_TOGETHER_MAX: usize = 4096;

/// Accounts of members that one request of a few bytes kills or releases, at most.
pub const KILLED_AT_ONCE_MAX: usize = 100;

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
/// the right to kill each of these accounts learns that the member exists; the exchange checks the right to release
/// them.
pub fn member_kill(asker: &Rights, member: Option<&Rights>, is_killed: bool) -> Result<Vec<Op>, NotKilled> {
    let kill = |account| Command::Kill { scope: KillScope::Account(account) };
    let member = member.ok_or(NotKilled::Unknown)?;
    let may = |account: AccountId| asker.check(&Op::Command(kill(account))).is_ok();
    if !asker.is_operator() && (member.accounts.is_empty() || !member.accounts.iter().all(may)) {
        return Err(NotKilled::Unknown);
    }
    let accounts: Vec<AccountId> = member.accounts.iter().collect();
    match accounts[..] {
        [] => Err(NotKilled::NoAccounts),
        [account] if is_killed => Ok(vec![Op::Command(kill(account))]),
        [account] => Ok(vec![Op::Command(Command::Release { scope: KillScope::Account(account) })]),
        _ if accounts.len() > KILLED_TOGETHER_MAX => Err(NotKilled::TooManyAccounts),
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

    #[test]
    fn a_member_is_killed_by_operators_and_by_itself_and_others_do_not_learn_of_it() {
        let (operator, alice) = (rights(Role::Operator, &[]), rights(Role::Trader, &["2", "1"]));
        let kills = member_kill(&operator, Some(&alice), true).expect("ops");
        let kill = |id: &str, among| {
            let account = AccountId::parse(id.as_bytes()).expect("digits");
            Op::Command(Command::KillTogether { account, among })
        };
        assert_eq!(kills, [kill("1", Among::First), kill("2", Among::Last)]);
        assert_eq!(member_kill(&alice, Some(&alice), true), Ok(kills));
        for other in [rights(Role::Trader, &["1"]), rights(Role::Viewer, &["1", "2"]), rights(Role::Auditor, &[])] {
            assert_eq!(member_kill(&other, Some(&alice), true), Err(NotKilled::Unknown));
            assert_eq!(member_kill(&other, Some(&operator), true), Err(NotKilled::Unknown));
        }
        assert_eq!(member_kill(&operator, None, true), Err(NotKilled::Unknown));
        assert_eq!(member_kill(&operator, Some(&operator), true), Err(NotKilled::NoAccounts));
        let names: Vec<String> = (0..=KILLED_TOGETHER_MAX).map(|number| number.to_string()).collect();
        let many = rights(Role::Trader, &names.iter().map(String::as_str).collect::<Vec<&str>>());
        assert_eq!(member_kill(&operator, Some(&many), true), Err(NotKilled::TooManyAccounts));
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
