//! What a gateway hands inward and gets back: batches of requests. It does not know who answers them or how.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use engine::{Execution, Op};

use crate::answer::{Answer, Unavailable};
use crate::cost::cost_of;
use crate::lookup::Lookup;
use crate::requests::Requests;
use crate::source::Source;

/// What a gateway hands requests inward to.
///
/// Batches may come back in any order and from any thread. A batch that never comes back keeps its room in its submitter's
/// bound for ever.
pub trait Exchange: Send + Sync + 'static {
    /// Takes a batch and never blocks. It comes back, answered, through [`Batch::give_back`].
    fn submit(&self, batch: Box<Batch>);
    /// Takes a look-up of done orders and never blocks. It comes back through [`Lookup::give_back`].
    fn look_up(&self, lookup: Lookup);
}

/// Requests that are handed in at once, and room for their answers. Whoever submits it may use it again.
pub struct Batch {
    /// What is asked.
    pub requests: Requests,
    /// To be filled with one answer an op, in order. Empty when submitted.
    pub answers: Vec<Answer>,
    /// To be filled with the executions that the answers refer to.
    pub executions: Vec<Execution>,
    /// A number by which its submitter tells it from its other batches.
    pub ticket: u64,
    /// The source of a heavy batch, which takes turns with those of other sources, behind its source's older ones. A
    /// batch of light requests has none.
    pub source: Option<Source>,
    /// When it was handed inward.
    pub(crate) submitted: Option<Instant>,
    /// Whether its submitter wants to be told when it was where.
    pub timed: bool,
    /// When it was where, if that is wanted and a turn took it.
    pub times: Option<Times>,
    fate: Fate,
    back: Back,
}

/// When a batch was where, behind the port.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub submitted: Instant,
    /// The turn that took it began.
    pub begun: Instant,
    /// The order of its commands was known: with a journal, they were durable.
    pub ordered: Instant,
    /// How much of the time before the disk took to sync; none if nothing was synced.
    pub sync: Option<Duration>,
    /// All of the turn was applied.
    pub applied: Instant,
}

/// What became of a batch as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// There is an answer for each op.
    Answered,
    /// Nothing in it was done, and each of its answers says why.
    Refused,
    /// Nobody knows yet what becomes of its requests: there are no answers.
    Abandoned,
}

/// How a batch gets back to its submitter.
enum Back {
    /// Each time that it is handed in.
    Always(Arc<dyn Fn(Box<Batch>) + Send + Sync>),
    /// Called once.
    Once(Option<Box<dyn FnOnce(Box<Batch>) + Send>>),
}

impl Batch {
    /// An empty batch that comes back by a call, on whatever thread gives it back, as often as it is handed in.
    pub fn returning(back: Arc<dyn Fn(Box<Batch>) + Send + Sync>) -> Box<Batch> {
        Batch::with(Back::Always(back))
    }

    /// An empty batch that comes back by a call, once.
    pub fn calling(back: impl FnOnce(Box<Batch>) + Send + 'static) -> Box<Batch> {
        Batch::with(Back::Once(Some(Box::new(back))))
    }

    /// An empty batch that comes back through a channel, once.
    pub fn detached(back: Sender<Box<Batch>>) -> Box<Batch> {
        // Whoever no longer listens does not want it.
        Batch::calling(move |batch| drop(back.send(batch)))
    }

    /// Hands it inward with room for its answers, and says when.
    pub(crate) fn hand_in(mut self: Box<Self>, exchange: &dyn Exchange) -> Instant {
        let now = Instant::now();
        self.answers.reserve(self.requests.ops().len());
        self.submitted = Some(now);
        exchange.submit(self);
        now
    }

    /// Notes when it was where in a turn, if somebody wants to know.
    pub fn note_times(&mut self, [begun, ordered, applied]: [Instant; 3], sync: Option<Duration>) {
        if self.timed {
            self.times = self.submitted.map(|submitted| Times { submitted, begun, ordered, sync, applied });
        }
    }

    /// Gives the answered batch back. Panics unless there is one answer an op, which would be a bug of the exchange.
    pub fn give_back(self: Box<Self>) {
        assert_eq!(self.answers.len(), self.requests.ops().len(), "invariant: one answer an op");
        self.post();
    }

    /// Gives the batch back without answers, because what its requests did is not known to be kept. Its clients find the
    /// outcome by queries.
    pub fn abandon(mut self: Box<Self>) {
        self.fate = Fate::Abandoned;
        self.post();
    }

    /// Gives the batch back with the same refusal for each op: nothing was changed, and nothing is told.
    pub fn refuse(mut self: Box<Self>, why: Unavailable) {
        let ops = self.requests.ops().len();
        self.answers.clear();
        self.answers.resize(ops, Answer::Unavailable(why));
        self.fate = Fate::Refused;
        self.give_back();
    }

    /// Gives the batch back with what is told of each op: none of them goes further.
    pub(crate) fn deny(mut self: Box<Self>) {
        let Batch { requests, answers, .. } = &mut *self;
        answers.extend((0..requests.ops().len()).filter_map(|op| requests.denial(op)).map(Answer::from));
        self.give_back();
    }

    /// Whether the whole batch was refused. A request without ops has no answer that could tell.
    pub fn is_refused(&self) -> bool {
        self.fate == Fate::Refused
    }

    /// Whether it came back without answers.
    pub fn is_abandoned(&self) -> bool {
        self.fate == Fate::Abandoned
    }

    /// The estimated cost of all of it: a request costs something, though it have no ops.
    pub fn cost(&self) -> u64 {
        cost_of(self.requests.ops()).max(self.requests.len() as u64)
    }

    /// Empties it and keeps what it allocated.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.answers.clear();
        self.executions.clear();
        self.source = None;
        (self.timed, self.times) = (false, None);
        self.fate = Fate::Answered;
    }

    /// About what it takes: the executions it has room for, and the ops with their answers.
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
