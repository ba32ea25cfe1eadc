//! The database as the history: bounds how many questions wait for it, and returns each answer with the sequence that
//! it is true for.

use std::sync::Arc;
use std::time::Duration;

use terms::Sequence;
use tokio::sync::{Semaphore, oneshot};

use crate::history_port::{HistoryAnswer, HistoryFault, HistoryPort, Question};

/// Questions of a kind without an answer, at most; others wait for room, for a bounded time.
const UNANSWERED_MAX: usize = 64;
const ROOM_PATIENCE: Duration = Duration::from_secs(1);
/// The database, with room for a number of questions.
#[derive(Clone)]
pub(crate) struct SqlHistory {
    records: Arc<dyn HistoryPort>,
    pages: Arc<Semaphore>,
    look_ups: Arc<Semaphore>,
}

impl SqlHistory {
    pub(crate) fn new(records: Arc<dyn HistoryPort>) -> SqlHistory {
        let room = || Arc::new(Semaphore::new(UNANSWERED_MAX));
        SqlHistory { records, pages: room(), look_ups: room() }
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
        room: &Arc<Semaphore>,
        question: impl FnOnce(HistoryAnswer<T>) -> Question,
    ) -> Result<(T, Sequence), HistoryFault> {
        let room = tokio::time::timeout(ROOM_PATIENCE, room.clone().acquire_owned()).await;
        let room = room.map_err(|_| HistoryFault::Away)?.map_err(|_| HistoryFault::NotReady)?;
        let (answer, answered) = oneshot::channel();
        self.records.ask(question(Box::new(move |found| {
            // Room is given back with the answer, also when its client has gone.
            drop(room);
            drop(answer.send(found));
        })));
        let answered = answered.await.map_err(|_| HistoryFault::NotReady)?;
        answered.map_err(HistoryFault::from)
    }
}
