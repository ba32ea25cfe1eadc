use exchange::{Requests, Role};
use terms::{Command, Op};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn account(id: &str) -> AccountId {
    AccountId::parse(id.as_bytes()).expect("digits")
}

fn grace(seconds: u32) -> Grace {
    Grace::from_millis(seconds * 1_000).expect("it is in bounds")
}

#[test]
fn orders_are_lost_when_the_grace_is_over_after_the_last_one_left() {
    let (one, mine) = (account("1"), grace(5));
    let (here, there) = (ProtectorId::new(), ProtectorId::new());
    let mut presence = Presence::default();
    assert!(presence.begin_turn(SECOND).is_empty() && presence.next().is_none());
    presence.join(one, mine, Some(here), None);
    presence.join(one, mine, Some(there), None);
    presence.depart(here);
    assert!(presence.begin_turn(SECOND * 100).is_empty(), "the other one is there");
    presence.depart(there);
    assert_eq!(presence.next(), Some(SECOND * 105));
    assert!(presence.begin_turn(SECOND * 105 - Duration::from_micros(1)).is_empty());
    assert_eq!(presence.begin_turn(SECOND * 105), [(one, None)]);
    assert!(presence.begin_turn(SECOND * 200).is_empty() && presence.next().is_none(), "once");
}

#[test]
fn whoever_comes_back_in_time_loses_nothing() {
    let (one, mine) = (account("1"), grace(5));
    let (before, after) = (ProtectorId::new(), ProtectorId::new());
    let mut presence = Presence::default();
    presence.join(one, mine, Some(before), None);
    presence.depart(before);
    presence.begin_turn(SECOND * 4);
    presence.join(one, grace(7), Some(after), None);
    assert!(presence.begin_turn(SECOND * 100).is_empty());
    presence.depart(before);
    assert!(presence.begin_turn(SECOND * 200).is_empty(), "it left before");
    presence.depart(after);
    assert_eq!(presence.begin_turn(SECOND * 206), []);
    assert_eq!(presence.begin_turn(SECOND * 207), [(one, None)], "the last grace counts");
}

#[test]
fn the_last_who_wants_no_protection_any_more_ends_it() {
    let (one, mine) = (account("1"), grace(0));
    let (here, there) = (ProtectorId::new(), ProtectorId::new());
    let mut presence = Presence::default();
    presence.join(one, mine, Some(here), None);
    presence.join(one, mine, Some(there), None);
    assert_eq!(presence.part(one, Some(here)), Left::Others);
    assert_eq!(presence.part(one, Some(here)), Left::Others, "it has gone already");
    assert_eq!(presence.part(one, Some(there)), Left::Nobody);
    presence.depart(there);
    assert!(presence.begin_turn(SECOND).is_empty());
    assert_eq!(presence.part(one, Some(there)), Left::Nobody, "whoever is protected by nobody");
    // Any connection may end the protection in time after a start.
    presence.join(one, grace(5), None, None);
    assert_eq!(presence.part(one, Some(here)), Left::Nobody);
    assert!(presence.begin_turn(SECOND * 10).is_empty() && presence.next().is_none());
}

#[test]
fn whoever_may_not_any_more_is_not_there() {
    let rights = |roles: &[Role]| {
        let accounts = [account("1")].into_iter().collect();
        Rights { roles: roles.iter().copied().collect(), accounts, ..Rights::default() }
    };
    let alice = Principal::new("alice", rights(&[Role::Trader]));
    let mut presence = Presence::default();
    presence.join(account("1"), grace(1), Some(ProtectorId::new()), Some(&alice));
    presence.join(account("2"), grace(1), Some(ProtectorId::new()), None);
    assert!(presence.begin_turn(SECOND * 10).is_empty());
    alice.set_rights(rights(&[Role::Viewer]));
    assert_eq!(presence.next(), Some(SECOND * 10 + REVIEWED_EVERY));
    assert!(presence.begin_turn(SECOND * 20).is_empty());
    assert_eq!(presence.begin_turn(SECOND * 21), [(account("1"), None)]);
}

#[test]
fn accounts_that_come_later_are_judged_by_the_rights_that_there_are_then() {
    let of = |accounts: &[&str]| {
        let accounts = accounts.iter().map(|id| account(id)).collect();
        Rights { roles: [Role::Trader].into(), accounts, ..Rights::default() }
    };
    let (alice, bob) = (Principal::new("alice", of(&["1", "2"])), Principal::new("bob", of(&["2"])));
    let (mut presence, here) = (Presence::default(), ProtectorId::new());
    presence.join(account("1"), grace(1), Some(here), Some(&alice));
    assert!(presence.begin_turn(SECOND).is_empty());
    // The rights that allowed this are gone when the command comes.
    presence.join(account("3"), grace(1), Some(here), Some(&alice));
    assert!(presence.begin_turn(SECOND * 2).is_empty());
    assert_eq!(presence.begin_turn(SECOND * 3), [(account("3"), None)]);
    assert!(presence.begin_turn(SECOND * 10).is_empty(), "the other one is alice's still");
    // Another caller continues on the same connection, and does not protect alice's accounts.
    presence.join(account("2"), grace(1), Some(here), Some(&bob));
    assert!(presence.begin_turn(SECOND * 11).is_empty());
    assert_eq!(presence.begin_turn(SECOND * 12), [(account("1"), None)]);
    assert!(presence.begin_turn(SECOND * 20).is_empty());
}

#[test]
fn a_turn_loses_some_accounts_and_the_next_the_others() {
    let mut presence = Presence::default();
    let protector = ProtectorId::new();
    for number in 0..LOST_AT_ONCE + 1 {
        presence.join(account(&number.to_string()), grace(0), Some(protector), None);
    }
    presence.depart(protector);
    assert_eq!(presence.begin_turn(Duration::ZERO).len(), LOST_AT_ONCE);
    assert_eq!(presence.next(), Some(Duration::ZERO));
    assert_eq!(presence.begin_turn(Duration::ZERO).len(), 1);
}

#[test]
fn a_protector_protects_so_many_accounts() {
    let (mut presence, protector) = (Presence::default(), ProtectorId::new());
    for number in 0..PROTECTED_ACCOUNTS_MAX {
        assert!(presence.has_room(protector, account(&number.to_string())));
        presence.join(account(&number.to_string()), grace(1), Some(protector), None);
    }
    assert!(presence.has_room(protector, account("0")) && !presence.has_room(protector, account("5000")));
    assert!(presence.has_room(ProtectorId::new(), account("5000")));
}

/// Judges the requests of one turn in their order, and gives a number only to those that change something.
#[test]
fn only_what_changes_a_protection_gets_a_number() {
    let mut engine = Engine::new(1, engine::DoneOrders::Drop);
    let apply = |engine: &mut Engine, command| {
        let sequence = engine.sequence().next();
        engine.apply_command(sequence, terms::Time(1), &command, &mut Vec::new(), &mut |_| {});
    };
    let one = account("1");
    apply(&mut engine, Command::CreateAccount { account: one, balance: terms::Money::ZERO });
    let mut presence = Presence::default();
    let (here, there) = (ProtectorId::new(), ProtectorId::new());
    let decide = |presence: &mut Presence, engine: &Engine, protector, command| {
        let mut requests = Requests::new();
        requests.push(&[Op::Command(command)]);
        requests.protected_by(protector);
        presence.decide(engine, (false, true), (&requests, 0), &command)
    };
    let protect = |seconds| Command::Protect { account: one, grace: grace(seconds) };
    let unprotect = Command::Unprotect { account: one, is_lost: false, through: None };
    assert_eq!(decide(&mut presence, &engine, here, unprotect), Ok(false));
    assert_eq!(decide(&mut presence, &engine, here, protect(5)), Ok(true));
    assert_eq!(decide(&mut presence, &engine, there, protect(5)), Ok(false));
    assert_eq!(decide(&mut presence, &engine, there, protect(6)), Ok(true));
    assert_eq!(decide(&mut presence, &engine, here, unprotect), Ok(false), "the other one is there");
    assert_eq!(decide(&mut presence, &engine, there, unprotect), Ok(true));
    assert_eq!(decide(&mut presence, &engine, there, protect(6)), Ok(true));
    apply(&mut engine, protect(6));
    presence.depart(there);
    assert!(presence.lost(&engine, SECOND).is_empty());
    assert_eq!(decide(&mut presence, &engine, here, protect(6)), Ok(false), "it came back in time");
    presence.depart(here);
    assert_eq!(presence.lost(&engine, SECOND * 7), [Command::Unprotect { account: one, is_lost: true, through: None }]);
    assert_eq!(decide(&mut presence, &engine, here, protect(6)), Ok(true), "too late");
    let low = |presence: &mut Presence, command| {
        let mut requests = Requests::new();
        requests.push(&[Op::Command(command)]);
        presence.decide(&engine, (true, true), (&requests, 0), &command)
    };
    assert_eq!(low(&mut presence, protect(9)), Err(exchange::Unavailable::DiskLow));
    assert_eq!(low(&mut presence, unprotect), Ok(true), "that writes no more than was let in");
}
