//! Turns at comparing passwords. Each comparison takes a core and megabytes for tens of milliseconds, so few run at
//! once. A member that has logged in from an address before comes first there; of all others the address that tries the
//! most, and the member that is tried the most, give way.

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
    comparing: usize,
    waiting: Vec<WaitingTry>,
}

/// The hash of a member's name, and a source address.
type NameAndAddress = (u64, IpAddr);

struct WaitingTry {
    who: NameAndAddress,
    is_familiar: bool,
    begins: oneshot::Sender<HashTurn>,
}

/// A turn, until it is dropped.
pub(crate) struct HashTurn(Arc<Shared>);

impl Passwords {
    /// Waits for a turn to compare a password of this member from this address. Returns `None` if too many wait and
    /// this one gives way. `is_familiar`: the member has logged in from there before.
    pub(crate) async fn turn(&self, member: &str, address: IpAddr, is_familiar: bool) -> Option<HashTurn> {
        let begun = {
            let mut state = self.0.lock();
            if state.comparing < AT_ONCE {
                state.comparing += 1;
                return Some(HashTurn(Arc::clone(&self.0)));
            }
            let who = (self.0.hasher.hash_one(member), source_of(address));
            state.waiting.retain(|waiting| !waiting.begins.is_closed());
            let (begins, begun) = oneshot::channel();
            state.waiting.push(WaitingTry { who, is_familiar, begins });
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
    /// Sends away the newest try of the address with the most waiting ones, and among these of the member that is tried
    /// the most.
    fn one_gives_way(&mut self) {
        let of_address = |who: NameAndAddress| self.waiting.iter().filter(|other| other.who.1 == who.1).count();
        let of_member = |who: NameAndAddress| self.waiting.iter().filter(|other| other.who.0 == who.0).count();
        let strange = self.waiting.iter().enumerate().filter(|(_, waiting)| !waiting.is_familiar);
        let worst = strange.max_by_key(|(at, waiting)| (of_address(waiting.who), of_member(waiting.who), *at));
        let worst = worst.map_or(self.waiting.len().saturating_sub(1), |(at, _)| at);
        self.waiting.remove(worst);
    }

    /// Takes the next waiting try.
    fn next(&mut self) -> Option<WaitingTry> {
        self.waiting.retain(|waiting| !waiting.begins.is_closed());
        let familiar = self.waiting.iter().position(|waiting| waiting.is_familiar);
        (!self.waiting.is_empty()).then(|| self.waiting.remove(familiar.unwrap_or(0)))
    }
}

impl Drop for HashTurn {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        while let Some(waiting) = state.next() {
            match waiting.begins.send(HashTurn(Arc::clone(&self.0))) {
                Ok(()) => return,
                // The client hung up just now. Its turn goes to the next one here, and not once more when it is
                // dropped.
                Err(turn) => std::mem::forget(turn),
            }
        }
        state.comparing -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;
    use std::task::Poll;

    use super::*;

    type Asked = Pin<Box<dyn Future<Output = Option<HashTurn>>>>;

    /// Asks for a turn. Alice has logged in from 10.0.0.1 before.
    fn ask(passwords: &Passwords, member: &str, address: [u8; 4]) -> Asked {
        let (passwords, member) = (passwords.clone(), member.to_owned());
        let is_familiar = (member.as_str(), address) == ("alice", [10, 0, 0, 1]);
        Box::pin(async move { passwords.turn(&member, address.into(), is_familiar).await })
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
            assert_eq!(passwords.0.lock().comparing, 0);
        });
    }
}
