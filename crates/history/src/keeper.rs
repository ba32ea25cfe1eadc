//! The keeper: the thread that writes the history. It follows the events with or without a feed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use exchange::EventFollower;
use terms::Sequence;

use crate::background_pace::BackgroundPace;
use crate::error::HistoryError;
use crate::event_queue::{EventQueue, Item};
use crate::history::History;
use crate::shared::SharedHistory;

/// The longest interval at which the thread looks for old parts to seal or remove.
const TICK_MAX: Duration = Duration::from_millis(100);
/// The number of events that may wait for it: as many as come while it waits for the disk. With as many it is behind,
/// so that all requests, heavy and light, wait for a disk that stands still.
const WAITING_MAX: usize = 1 << 20;

/// A question to the thread between two turns.
enum Question {
    /// An answer when the thread has reached this question.
    Reached(Sender<()>),
    /// A checkpoint, with an answer whether it is durable.
    Checkpoint(Sender<bool>),
}

/// The running thread.
pub struct Keeper {
    line: Arc<EventQueue<Question>>,
    history: SharedHistory,
    thread: JoinHandle<Result<(), HistoryError>>,
}

/// Requests checkpoints, from any thread.
#[derive(Clone)]
pub struct Checkpoints(Arc<EventQueue<Question>>);

impl Keeper {
    /// Starts to follow from the state of `history`. It calls `followed` with the last followed command, and `failed`
    /// with the reason when it cannot go on.
    pub fn start(
        history: History,
        followed: impl Fn(Sequence) + Send + 'static,
        failed: impl FnOnce(String) + Send + 'static,
    ) -> Result<Keeper, HistoryError> {
        let line = Arc::new(EventQueue::new(WAITING_MAX, WAITING_MAX));
        let asked = line.clone();
        let catch_up = move || {
            if asked.is_done() {
                return true;
            }
            let (told, reached) = channel();
            asked.ask(Question::Reached(told));
            // An ended thread sends no answer.
            reached.recv().is_ok()
        };
        let history = SharedHistory::with(history, Some(Box::new(catch_up)));
        let (its_line, kept) = (line.clone(), history.clone());
        let thread = std::thread::Builder::new().name("keeper".to_string()).spawn(move || {
            let ended = keep(&its_line, &kept, &followed);
            its_line.abandon();
            if let Err(error) = &ended {
                failed(error.to_string());
            }
            ended
        });
        let thread = thread.map_err(|source| HistoryError::Io { name: "thread".to_owned(), source })?;
        Ok(Keeper { line, history, thread })
    }

    /// The receiver of events. A reader of the history waits until everything handed over before is followed.
    pub fn follower(&self) -> Arc<dyn EventFollower> {
        self.line.clone()
    }

    /// The history, to be read.
    pub fn history(&self) -> SharedHistory {
        self.history.clone()
    }

    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints(self.line.clone())
    }

    /// Follows the waiting events, makes them durable, and ends.
    pub fn stop(self) -> Result<(), HistoryError> {
        self.line.close();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Checkpoints {
    /// Waits until everything so far is durable in the history. Returns false if that fails or takes longer than
    /// `patience`.
    pub fn make(&self, patience: Duration) -> bool {
        let (told, made) = channel();
        self.0.ask(Question::Checkpoint(told));
        made.recv_timeout(patience).unwrap_or(false)
    }
}

fn keep(line: &EventQueue<Question>, history: &SharedHistory, followed: &dyn Fn(Sequence)) -> Result<(), HistoryError> {
    followed(history.sequence());
    let mut items = VecDeque::new();
    let (mut worked, mut patience, mut pace) = (false, TICK_MAX, BackgroundPace::new());
    while line.take(&mut items, worked, patience) {
        worked = !items.is_empty();
        for item in items.drain(..) {
            match item {
                Item::Events(batch) => followed(history.follow(&batch)?),
                // A caller that no longer waits needs no answer.
                Item::Question(Question::Reached(told)) => drop(told.send(())),
                Item::Question(Question::Checkpoint(told)) => {
                    let made = history.checkpoint();
                    if let Err(error) = &made {
                        tracing::error!(%error, "the history cannot be synced");
                    }
                    let _ = told.send(made.is_ok());
                }
            }
        }
        patience = pace.tend(worked, || history.tend()).min(TICK_MAX);
    }
    history.checkpoint()
}
