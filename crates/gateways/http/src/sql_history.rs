//! The database as the history: bounds how many questions wait for it, and returns each answer with the sequence that
//! it is true for.

use std::sync::Arc;
use std::time::Duration;

use terms::Sequence;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::current_principal;
use crate::history_port::{HistoryAnswer, HistoryFault, HistoryPort, Place, Question, UNANSWERED_OF_MEMBER_MAX};
use crate::member_shares::MemberShares;

/// Questions of a kind without an answer, at most; others wait for room, for a bounded time.
const UNANSWERED_MAX: usize = 64;
const ROOM_PATIENCE: Duration = Duration::from_secs(1);

/// The database, with room for a number of questions.
#[derive(Clone)]
pub(crate) struct SqlHistory {
    records: Arc<dyn HistoryPort>,
    pages: Room,
    look_ups: Room,
}

/// The room for questions of a kind, of which each member takes its share at most.
#[derive(Clone)]
struct Room {
    all: Arc<Semaphore>,
    shares: Arc<MemberShares>,
}

impl Room {
    fn new() -> Room {
        let shares = Arc::new(MemberShares::new(UNANSWERED_OF_MEMBER_MAX));
        Room { all: Arc::new(Semaphore::new(UNANSWERED_MAX)), shares }
    }

    /// Waits for a place, for a bounded time. Errors: the member has its share, or the room is full.
    async fn enter(&self, member: Option<String>) -> Result<Place, HistoryFault> {
        let until = Instant::now() + ROOM_PATIENCE;
        let share = match member.map(|member| self.shares.of(member)) {
            Some(share) => {
                let taken = timeout_at(until, share.acquire_owned()).await.map_err(|_| HistoryFault::Crowded)?;
                Some(taken.map_err(|_| HistoryFault::NotReady)?)
            }
            None => None,
        };
        let place = timeout_at(until, Arc::clone(&self.all).acquire_owned()).await;
        let place = place.map_err(|_| HistoryFault::Away)?.map_err(|_| HistoryFault::NotReady)?;
        Ok(Place { _share: share, _place: place })
    }
}

impl SqlHistory {
    pub(crate) fn new(records: Arc<dyn HistoryPort>) -> SqlHistory {
        SqlHistory { records, pages: Room::new(), look_ups: Room::new() }
    }

    /// Whether it knows every order that ever existed.
    pub(crate) fn is_whole(&self) -> bool {
        self.records.is_whole()
    }

    /// Asks a question that may take long.
    pub(super) async fn page<T: Send + 'static>(
        &self,
        question: impl FnOnce(HistoryAnswer<T>) -> Question,
    ) -> Result<(T, Sequence), HistoryFault> {
        self.ask(&self.pages, question).await
    }

    /// Asks for a few rows, without waiting for pages: answers to cancels need them.
    pub(super) async fn look_up<T: Send + 'static>(
        &self,
        question: impl FnOnce(HistoryAnswer<T>) -> Question,
    ) -> Result<(T, Sequence), HistoryFault> {
        self.ask(&self.look_ups, question).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        room: &Room,
        question: impl FnOnce(HistoryAnswer<T>) -> Question,
    ) -> Result<(T, Sequence), HistoryFault> {
        // Without an access file all clients are the same one, and may take all of the room.
        let member = current_principal::asker().map(|asker| asker.principal.member().to_owned());
        let place = room.enter(member).await?;
        let (answer, answered) = HistoryAnswer::new(place);
        self.records.ask(question(answer));
        let answered = answered.await.map_err(|_| HistoryFault::NotReady)?;
        answered.map_err(HistoryFault::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One member's questions about heavy orders once took all of the room, and everybody else was refused.
    #[tokio::test]
    async fn a_member_takes_its_share_of_the_room_and_leaves_the_rest() {
        let room = Room::new();
        let alice = || room.enter(Some("alice".to_owned()));
        let mut places = Vec::new();
        for _ in 0..UNANSWERED_OF_MEMBER_MAX {
            places.push(alice().await.ok().expect("it is in her share"));
        }
        assert!(matches!(alice().await, Err(HistoryFault::Crowded)));
        // Clients without a name have the rest, if nobody else takes it.
        for _ in UNANSWERED_OF_MEMBER_MAX..UNANSWERED_MAX {
            places.push(room.enter(None).await.ok().expect("there is room"));
        }
        assert!(matches!(room.enter(Some("bob".to_owned())).await, Err(HistoryFault::Away)));
        drop(places.swap_remove(0));
        drop(alice().await.ok().expect("one of hers is answered"));
        assert!(room.enter(Some("bob".to_owned())).await.is_ok());
    }
}
