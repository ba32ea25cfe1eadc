//! The database that keeps the history: how much is asked of it at once, and when an answer of it may be told.

use std::sync::Arc;
use std::time::Duration;

use engine::Sequence;
use tokio::sync::{Semaphore, oneshot};

use super::{Away, Question, Records, Told, Trouble, look};
use crate::site::Site;

/// Questions of a kind that are not answered yet, at most; others wait for room, so long at most.
const UNANSWERED_MAX: usize = 64;
const ROOM_PATIENCE: Duration = Duration::from_secs(1);
/// How often, and how many times, it is looked whether the view has come as far as the rows: it is told of a commit right
/// after that.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const LOOKS_MAX: usize = 2_000;

/// The database, with room for so many questions.
#[derive(Clone)]
pub(crate) struct Library {
    records: Arc<dyn Records>,
    pages: Arc<Semaphore>,
    look_ups: Arc<Semaphore>,
}

impl Library {
    pub(crate) fn new(records: Arc<dyn Records>) -> Library {
        let room = || Arc::new(Semaphore::new(UNANSWERED_MAX));
        Library { records, pages: room(), look_ups: room() }
    }

    /// Whether it knows of every order that there ever was.
    pub(crate) fn is_whole(&self) -> bool {
        self.records.is_whole()
    }

    /// Asks for what may take long.
    pub(super) async fn page<T: Send + 'static>(
        &self,
        site: &Site,
        question: impl FnOnce(Told<T>) -> Question,
    ) -> Result<T, Trouble> {
        self.ask(site, &self.pages, question).await
    }

    /// Asks for a few rows, which pages do not hold up: a cancel is answered with such.
    pub(super) async fn look_up<T: Send + 'static>(
        &self,
        site: &Site,
        question: impl FnOnce(Told<T>) -> Question,
    ) -> Result<T, Trouble> {
        self.ask(site, &self.look_ups, question).await
    }

    async fn ask<T: Send + 'static>(
        &self,
        site: &Site,
        room: &Arc<Semaphore>,
        question: impl FnOnce(Told<T>) -> Question,
    ) -> Result<T, Trouble> {
        let room = tokio::time::timeout(ROOM_PATIENCE, room.clone().acquire_owned()).await;
        let room = room.map_err(|_| Trouble::Away)?.map_err(|_| Trouble::NotReady)?;
        let (answer, answered) = oneshot::channel();
        self.records.ask(question(Box::new(move |found| {
            // Room is given back with the answer, also where nobody waits for it any more.
            drop(room);
            drop(answer.send(found));
        })));
        let answered = answered.await.map_err(|_| Trouble::NotReady)?;
        let (found, through) = answered.map_err(|Away| Trouble::Away)?;
        come_as_far(site, through).await?;
        Ok(found)
    }
}

/// Waits until the view is as new as rows that were read: it knows the accounts and symbols that they name, and nothing that
/// is asked of it afterwards is older than what they said.
async fn come_as_far(site: &Site, through: Sequence) -> Result<(), Trouble> {
    for _ in 0..LOOKS_MAX {
        if look(site, |scene| scene.view.sequence()).await? >= through {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    // The writer has not heard yet of a commit, or another server writes.
    Err(Trouble::Away)
}
