//! Batches of requests, which a gateway hands inward and gets back answered. This module does not know who answers them
//! or how.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use terms::{Execution, Op};

use crate::answer::{Answer, Unavailable};
use crate::cost::cost_of;
use crate::lookup::Lookup;
use crate::requests::Requests;
use crate::source::Source;

/// The entrance to the market, which gateways hand requests to.
///
/// Batches may come back in any order and from any thread. A batch that never comes back keeps its room in its
/// submitter's bound for ever.
pub trait Exchange: Send + Sync + 'static {
    /// Takes a batch and never blocks. [`Batch::give_back`] returns it to its submitter, answered.
    fn submit(&self, batch: Box<Batch>);
    /// Takes a look-up of done orders and never blocks. [`Lookup::give_back`] returns it to its submitter.
    fn look_up(&self, lookup: Lookup);
}

/// Requests that a gateway hands in at once, and room for their answers. The submitter may use the batch again.
pub struct Batch {
    /// The requests.
    pub requests: Requests,
    /// One answer for each op, in order. Empty when submitted.
    pub answers: Vec<Answer>,
    /// The executions that the answers refer to.
    pub executions: Vec<Execution>,
    /// A number by which the submitter tells this batch from its others.
    pub ticket: u64,
    /// The source of a heavy batch, which takes turns with the batches of other sources and follows its source's older
    /// ones. A batch of light requests has none.
    pub source: Option<Source>,
    /// The time when the batch was handed inward.
    pub(crate) submitted: Option<Instant>,
    /// Whether the submitter wants the times of the batch.
    pub timed: bool,
    /// The times of the batch, if the submitter wants them and a turn took the batch.
    pub times: Option<Times>,
    fate: Fate,
    back: Back,
}

/// The times of a batch behind the port.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub submitted: Instant,
    /// The start of the turn that took the batch.
    pub begun: Instant,
    /// The time when the order of its commands was known: with a journal, the commands were durable.
    pub ordered: Instant,
    /// The part of the time until `ordered` that the disk took to sync; `None` if nothing was synced.
    pub sync: Option<Duration>,
    /// The time when the whole turn was applied.
    pub applied: Instant,
}

/// The outcome of a batch as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Each op has an answer.
    Answered,
    /// No op was done, and each answer gives the reason.
    Refused,
    /// The outcome of the requests is not known yet: there are no answers.
    Abandoned,
}

/// The way in which a batch gets back to its submitter.
enum Back {
    /// A call each time that the batch is handed in.
    Always(Arc<dyn Fn(Box<Batch>) + Send + Sync>),
    /// A single call.
    Once(Option<Box<dyn FnOnce(Box<Batch>) + Send>>),
}

impl Batch {
    /// Makes an empty batch that comes back by a call on any thread, as often as it is handed in.
    pub fn returning(back: Arc<dyn Fn(Box<Batch>) + Send + Sync>) -> Box<Batch> {
        Batch::with(Back::Always(back))
    }

    /// Makes an empty batch that comes back by a call, once.
    pub fn calling(back: impl FnOnce(Box<Batch>) + Send + 'static) -> Box<Batch> {
        Batch::with(Back::Once(Some(Box::new(back))))
    }

    /// Makes an empty batch that comes back through a channel, once.
    pub fn detached(back: Sender<Box<Batch>>) -> Box<Batch> {
        // A submitter that no longer listens does not want the batch.
        Batch::calling(move |batch| drop(back.send(batch)))
    }

    /// Hands the batch inward with room for its answers, and returns the time.
    pub(crate) fn hand_in(mut self: Box<Self>, exchange: &dyn Exchange) -> Instant {
        let now = Instant::now();
        self.answers.reserve(self.requests.ops().len());
        self.submitted = Some(now);
        exchange.submit(self);
        now
    }

    /// Notes the times of the batch in a turn, if the submitter wants them.
    pub fn note_times(&mut self, [begun, ordered, applied]: [Instant; 3], sync: Option<Duration>) {
        if self.timed {
            self.times = self.submitted.map(|submitted| Times { submitted, begun, ordered, sync, applied });
        }
    }

    /// Gives the answered batch back. Panics unless there is one answer for each op: everything else is a bug of the
    /// exchange.
    pub fn give_back(self: Box<Self>) {
        assert_eq!(self.answers.len(), self.requests.ops().len(), "invariant: one answer an op");
        self.post();
    }

    /// Gives the batch back without answers, because the effects of its requests may not be stored. Clients find out
    /// the outcome by queries.
    pub fn abandon(mut self: Box<Self>) {
        self.fate = Fate::Abandoned;
        self.post();
    }

    /// Gives the batch back before its outcome is known, and leaves one with the same requests, which nobody waits for.
    /// Commands have no answers then; queries alone are refused.
    pub fn abandon_early(self: &mut Box<Self>, why: Unavailable) {
        let mut left = Batch::with(Back::Once(None));
        left.requests = self.requests.clone();
        let batch = std::mem::replace(self, left);
        match batch.requests.ops().iter().all(|op| matches!(op, Op::Query(_))) {
            true => batch.refuse(why),
            false => batch.abandon(),
        }
    }

    /// Gives the batch back with the same refusal for each op: nothing was changed.
    pub fn refuse(mut self: Box<Self>, why: Unavailable) {
        let ops = self.requests.ops().len();
        self.answers.clear();
        self.answers.resize(ops, Answer::Unavailable(why));
        self.fate = Fate::Refused;
        self.give_back();
    }

    /// Gives the batch back with a denial for each op: none of them goes further.
    pub(crate) fn deny(mut self: Box<Self>) {
        let Batch { requests, answers, .. } = &mut *self;
        answers.extend((0..requests.ops().len()).filter_map(|op| requests.denial(op)).map(Answer::from));
        self.give_back();
    }

    /// Whether the exchange refused the whole batch. A request without ops has no answer that could show it.
    pub fn is_refused(&self) -> bool {
        self.fate == Fate::Refused
    }

    /// Whether the batch came back without answers.
    pub fn is_abandoned(&self) -> bool {
        self.fate == Fate::Abandoned
    }

    /// The estimated cost of the whole batch: a request costs something even without ops.
    pub fn cost(&self) -> u64 {
        cost_of(self.requests.ops()).max(self.requests.len() as u64)
    }

    /// Empties the batch and keeps the memory that it allocated.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.answers.clear();
        self.executions.clear();
        self.source = None;
        (self.timed, self.times) = (false, None);
        self.fate = Fate::Answered;
    }

    /// The approximate memory of the batch: the executions it has room for, and the ops with their answers.
    pub fn memory_bytes(&self) -> usize {
        self.executions.capacity() * size_of::<Execution>()
            + self.answers.capacity() * (size_of::<Op>() + size_of::<Answer>())
    }

    fn with(back: Back) -> Box<Batch> {
        Box::new(Batch {
            requests: Requests::new(),
            answers: Vec::new(),
            executions: Vec::new(),
            ticket: 0,
            source: None,
            submitted: None,
            timed: false,
            times: None,
            fate: Fate::Answered,
            back,
        })
    }

    fn post(mut self: Box<Self>) {
        match &mut self.back {
            Back::Always(back) => Arc::clone(back)(self),
            Back::Once(back) => {
                if let Some(back) = back.take() {
                    back(self);
                }
            }
        }
    }
}
