//! Takes ops to the exchange and brings their answers: all that handlers ask for in one turn of the event loop go as one
//! batch.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use engine::Op;
use gateway::{Batch, Exchange, Pulse, Source};
use tokio::sync::{Semaphore, mpsc, oneshot};
use wire::{Answer, Requests};

/// Ops on their way to the exchange at most; the next ones wait. A part of what one gateway worker may have.
const IN_FLIGHT_MAX: usize = 4096;

/// Why there is no answer: nobody knows yet what becomes of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// Where handlers ask.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    exchange: Arc<dyn Exchange>,
    pulse: Pulse,
    room: Semaphore,
    waiting: Mutex<Waiting>,
    answered: mpsc::UnboundedSender<(Box<Batch>, Vec<Asked>)>,
}

/// What the next batch takes along.
#[derive(Default)]
struct Waiting {
    requests: Requests,
    asked: Vec<Asked>,
}

type Asked = oneshot::Sender<Vec<Answer>>;

impl Desk {
    /// Of the runtime that it is made in.
    pub fn new(exchange: Arc<dyn Exchange>, pulse: Pulse) -> Desk {
        let (answered, mut batches) = mpsc::unbounded_channel::<(Box<Batch>, Vec<Asked>)>();
        let watched = pulse.clone();
        tokio::spawn(async move {
            while let Some((batch, asked)) = batches.recv().await {
                watched.came_back(Source::Rest, &batch, Instant::now());
                hand_out(&batch, asked);
            }
        });
        let (room, waiting) = (Semaphore::new(IN_FLIGHT_MAX), Mutex::new(Waiting::default()));
        Desk(Arc::new(Inner { exchange, pulse, room, waiting, answered }))
    }

    /// Has consecutive ops done, and gives an answer for each.
    pub async fn ask(&self, ops: &[Op]) -> Result<Vec<Answer>, Unknown> {
        let permits = u32::try_from(ops.len().min(IN_FLIGHT_MAX)).map_err(|_| Unknown)?;
        let _room = self.0.room.acquire_many(permits).await.map_err(|_| Unknown)?;
        let (asked, answer) = oneshot::channel();
        if self.0.add(ops, asked) {
            let desk = self.clone();
            tokio::spawn(async move {
                // Handlers that are ready now come along.
                tokio::task::yield_now().await;
                desk.0.submit();
            });
        }
        answer.await.map_err(|_| Unknown)
    }
}

impl Inner {
    /// Returns whether it is the first of its batch.
    fn add(&self, ops: &[Op], asked: Asked) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.requests.push_ops(ops);
        waiting.asked.push(asked);
        waiting.asked.len() == 1
    }

    fn submit(&self) {
        let Waiting { requests, asked } =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let answered = self.answered.clone();
        // When the runtime has ended nobody waits.
        let mut batch = Batch::calling(move |batch| drop(answered.send((batch, asked))));
        batch.answers.reserve(requests.ops().len());
        batch.requests = requests;
        batch.hand_in(&*self.exchange, &self.pulse);
    }
}

/// Gives everybody the answers to its ops. Of an abandoned batch nobody gets any.
fn hand_out(batch: &Batch, asked: Vec<Asked>) {
    if batch.is_abandoned() {
        return;
    }
    for (request, asked) in asked.into_iter().enumerate() {
        // Whoever hung up does not want to know.
        let _ = asked.send(batch.answers[batch.requests.ops_of(request)].to_vec());
    }
}
