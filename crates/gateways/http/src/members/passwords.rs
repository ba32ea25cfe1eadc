//! Turns at comparing passwords. Each comparison takes a core and megabytes for tens of milliseconds, so few run at
//! once. A member that has logged in from an address before comes first there, with one try at a time, and each second
//! turn is for the others. Of these give way: the address with the most tries that wait, then the one with the most
//! wrong passwords before, then the member that is tried the most.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use exchange::source_of;
use tokio::sync::oneshot;

/// Passwords that are compared at once.
const AT_ONCE: usize = 2;
/// Passwords that wait for their turn.
const WAITING_MAX: usize = 64;

/// The passwords that are compared, or wait. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Passwords(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<QueueState>,
    /// Names may have any length, so their hashes are kept.
    hasher: RandomState,
}

#[derive(Default)]
struct QueueState {
    /// The passwords that are compared: the hashes of the members' names of those that came first.
    comparing: Vec<Option<u64>>,
    waiting: Vec<WaitingTry>,
    /// Whether the last try that waited came before others: the next one does not.
    is_strangers_turn: bool,
}

/// The hash of a member's name, and a source address.
type NameAndAddress = (u64, IpAddr);

struct WaitingTry {
    who: NameAndAddress,
    is_familiar: bool,
    /// The wrong passwords of its address before it.
    earlier: u32,
    begins: oneshot::Sender<HashTurn>,
}

/// A turn, until it is dropped.
pub(crate) struct HashTurn {
    shared: Arc<Shared>,
    /// Its mark among those that are compared.
    mark: Option<u64>,
}

impl Passwords {
    /// Waits for a turn to compare a password of this member from this address. Returns `None` if too many wait and
    /// this one gives way. `is_familiar`: the member has logged in from there before. That counts for one try of a
    /// member at a time. `earlier` is the number of wrong passwords of the address before.
    pub(crate) async fn turn(
        &self,
        member: &str,
        address: IpAddr,
        (is_familiar, earlier): (bool, u32),
    ) -> Option<HashTurn> {
        let begun = {
            let mut state = self.0.lock();
            let who = (self.0.hasher.hash_one(member), source_of(address));
            state.waiting.retain(|waiting| !waiting.begins.is_closed());
            let is_familiar = is_familiar && !state.has_familiar(who.0);
            if state.comparing.len() < AT_ONCE {
                let mark = is_familiar.then_some(who.0);
                state.comparing.push(mark);
                return Some(HashTurn { shared: Arc::clone(&self.0), mark });
            }
            let (begins, begun) = oneshot::channel();
            state.waiting.push(WaitingTry { who, is_familiar, earlier, begins });
            if state.waiting.len() > WAITING_MAX {
                state.one_gives_way();
            }
            begun
        };
        begun.await.ok()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Whether a try of this member is compared, or waits, that came before others.
    fn has_familiar(&self, name: u64) -> bool {
        let waits = self.waiting.iter().any(|waiting| waiting.is_familiar && waiting.who.0 == name);
        waits || self.comparing.contains(&Some(name))
    }

    /// Sends away the newest try of the address with the most waiting ones, among these of one with the most wrong
    /// passwords before, and among these of the member that is tried the most.
    fn one_gives_way(&mut self) {
        let of_address = |who: NameAndAddress| self.waiting.iter().filter(|other| other.who.1 == who.1).count();
        let of_member = |who: NameAndAddress| self.waiting.iter().filter(|other| other.who.0 == who.0).count();
        let strange = self.waiting.iter().enumerate().filter(|(_, waiting)| !waiting.is_familiar);
        let worst =
            strange.max_by_key(|(at, waiting)| (of_address(waiting.who), waiting.earlier, of_member(waiting.who), *at));
        let worst = worst.map_or(self.waiting.len().saturating_sub(1), |(at, _)| at);
        self.waiting.remove(worst);
    }

    /// Takes the next waiting try: a familiar one, and after it another one.
    fn next(&mut self) -> Option<WaitingTry> {
        self.waiting.retain(|waiting| !waiting.begins.is_closed());
        let preferred = self.waiting.iter().position(|waiting| waiting.is_familiar != self.is_strangers_turn);
        let next = (!self.waiting.is_empty()).then(|| self.waiting.remove(preferred.unwrap_or(0)))?;
        self.is_strangers_turn = next.is_familiar;
        Some(next)
    }
}

impl Drop for HashTurn {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let its = state.comparing.iter().position(|mark| *mark == self.mark);
        its.map(|at| state.comparing.swap_remove(at));
        while let Some(waiting) = state.next() {
            let mark = waiting.is_familiar.then_some(waiting.who.0);
            match waiting.begins.send(HashTurn { shared: Arc::clone(&self.shared), mark }) {
                Ok(()) => {
                    state.comparing.push(mark);
                    return;
                }
                // The client hung up just now. Its turn goes to the next one here, and not once more when it is
                // dropped.
                Err(turn) => std::mem::forget(turn),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::Poll;

    use super::*;

    type Asked = Pin<Box<dyn Future<Output = Option<HashTurn>>>>;

    /// Asks for a turn. All but Bob have logged in from 10.0.0.1 before. From 203.0.113.x one password was wrong.
    fn ask(passwords: &Passwords, member: &str, address: [u8; 4]) -> Asked {
        let (passwords, member) = (passwords.clone(), member.to_owned());
        let is_familiar = member != "bob" && address == [10, 0, 0, 1];
        let earlier = u32::from(address.starts_with(&[203, 0, 113]));
        Box::pin(async move { passwords.turn(&member, address.into(), (is_familiar, earlier)).await })
    }

    async fn is_ready(asked: &mut Asked) -> Option<bool> {
        match poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx))).await {
            Poll::Pending => None,
            Poll::Ready(turn) => Some(turn.is_some()),
        }
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(test);
    }

    /// Takes all turns, and lets others wait.
    async fn busy(
        passwords: &Passwords,
        members: impl Iterator<Item = (String, [u8; 4])>,
    ) -> (Vec<HashTurn>, Vec<Asked>) {
        let mut held = Vec::new();
        for _ in 0..AT_ONCE {
            held.extend(ask(passwords, "x", [192, 0, 2, 9]).await);
        }
        let mut waiting: Vec<Asked> = members.map(|(member, address)| ask(passwords, &member, address)).collect();
        for asked in &mut waiting {
            assert_eq!(is_ready(asked).await, None);
        }
        (held, waiting)
    }

    #[test]
    fn whoever_logged_in_from_an_address_before_comes_first_there_however_many_others_wait() {
        run(async {
            let passwords = Passwords::default();
            let many = (0..64).map(|at| (format!("guessed-{at}"), [192, 0, 2, at]));
            let (mut held, mut others) = busy(&passwords, many).await;
            let mut alice = ask(&passwords, "alice", [10, 0, 0, 1]);
            assert_eq!(is_ready(&mut alice).await, None);
            let mut elsewhere = ask(&passwords, "alice", [10, 0, 0, 2]);
            assert_eq!(is_ready(&mut elsewhere).await, Some(false), "all have one, and this one comes last");
            held.pop();
            assert_eq!(is_ready(&mut alice).await, Some(true));
            assert_eq!(is_ready(&mut others[0]).await, Some(true), "alice's turn is over");
        });
    }

    /// Counts the turns after which Bob has one, while these members log in again and again without a pause.
    fn turns_until_bobs(members: [&str; 4]) -> usize {
        let turns = Cell::new(0);
        run(async {
            let passwords = Passwords::default();
            let from = |member: &str| (member.to_owned(), [10, 0, 0, 1]);
            let (held, mut waiting) = busy(&passwords, members.into_iter().map(from)).await;
            let mut held = VecDeque::from(held);
            let mut bob = ask(&passwords, "bob", [10, 0, 0, 2]);
            while is_ready(&mut bob).await.is_none() && turns.get() < 100 {
                turns.update(|turns| turns + 1);
                held.pop_front();
                for (asked, member) in waiting.iter_mut().zip(members) {
                    if let Poll::Ready(turn) = poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx))).await {
                        held.push_back(turn.expect("few wait"));
                        *asked = ask(&passwords, member, [10, 0, 0, 1]);
                        assert_eq!(is_ready(asked).await, None);
                    }
                }
            }
        });
        turns.get()
    }

    /// A member that logged in again and again from an address that it has used kept everybody else waiting for ever.
    #[test]
    fn whoever_logs_in_without_a_pause_keeps_nobody_else_from_a_turn() {
        assert_eq!(turns_until_bobs(["alice", "carol", "dave", "erin"]), 2, "one of theirs comes before his");
        let turns = turns_until_bobs(["alice"; 4]);
        assert!(turns <= 8, "each of alice's four, and another one of hers before each: {turns}");
    }

    #[test]
    fn one_try_of_a_member_at_a_time_comes_before_others() {
        run(async {
            let passwords = Passwords::default();
            let (mut held, mut waiting) = busy(&passwords, [("bob".to_owned(), [10, 0, 0, 2])].into_iter()).await;
            let mut alices = [(); 2].map(|()| ask(&passwords, "alice", [10, 0, 0, 1]));
            for asked in &mut alices {
                assert_eq!(is_ready(asked).await, None);
            }
            let marked = || passwords.0.lock().waiting.iter().map(|waiting| waiting.is_familiar).collect::<Vec<_>>();
            assert_eq!(marked(), [false, true, false], "bob's, and alice's two");
            held.pop();
            let turn = alices[0].as_mut().await;
            let mut third = ask(&passwords, "alice", [10, 0, 0, 1]);
            assert_eq!(is_ready(&mut third).await, None);
            assert_eq!(marked(), [false, false, false], "one of alice's is compared");
            drop(turn);
            assert_eq!(is_ready(&mut waiting[0]).await, Some(true));
            let mut fourth = ask(&passwords, "alice", [10, 0, 0, 1]);
            assert_eq!(is_ready(&mut fourth).await, None);
            assert!(marked().ends_with(&[true]), "none of alice's is compared");
        });
    }

    #[test]
    fn the_address_with_the_most_gives_way_and_then_the_member_that_is_tried_the_most() {
        run(async {
            let passwords = Passwords::default();
            let one = (0..64).map(|at| (format!("guessed-{at}"), [192, 0, 2, 1]));
            let (_held, mut others) = busy(&passwords, one).await;
            let mut bob = ask(&passwords, "bob", [10, 0, 0, 1]);
            assert_eq!((is_ready(&mut bob).await, is_ready(&mut others[63]).await), (None, Some(false)));
        });
        run(async {
            let passwords = Passwords::default();
            let many = (0..64).map(|at| ("alice".to_owned(), [192, 0, 2, at]));
            let (_held, mut others) = busy(&passwords, many).await;
            let mut bob = ask(&passwords, "bob", [10, 0, 0, 1]);
            assert_eq!((is_ready(&mut bob).await, is_ready(&mut others[63]).await), (None, Some(false)));
        });
    }

    /// A hundred addresses that guessed kept out everybody who had not logged in from there before.
    #[test]
    fn whoever_comes_anew_does_not_give_way_to_addresses_that_guess() {
        run(async {
            let passwords = Passwords::default();
            let many = (0..64).map(|at| (format!("guessed-{at}"), [203, 0, 113, at]));
            let (_held, mut others) = busy(&passwords, many).await;
            let mut bob = ask(&passwords, "bob", [10, 0, 0, 1]);
            assert_eq!((is_ready(&mut bob).await, is_ready(&mut others[63]).await), (None, Some(false)));
        });
    }

    #[test]
    fn whoever_hangs_up_has_no_turn_and_takes_none_from_others() {
        run(async {
            let passwords = Passwords::default();
            let two = [("a", 1), ("b", 2)].map(|(member, at)| (member.to_owned(), [192, 0, 2, at]));
            let (held, mut others) = busy(&passwords, two.into_iter()).await;
            drop(others.remove(0));
            drop(held);
            assert_eq!(is_ready(&mut others[0]).await, Some(true));
            drop(others);
            assert!(passwords.0.lock().comparing.is_empty());
        });
    }
}
