//! What a worker hands inward and gets back: batches of requests.
//! It does not know who answers them or how.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use engine::{Execution, Op};
use wire::{Answer, Requests, Unavailable};

use crate::lookup::Lookup;
use crate::mailbox::Mailbox;
use crate::pulse::Pulse;

/// What a gateway hands requests inward to.
///
/// Batches may come back in any order and from any thread: a worker writes replies in the order in which it submitted.
/// A batch that never comes back keeps its room in the worker's bound for ever.
pub trait Exchange: Send + Sync + 'static {
    /// Takes a batch and never blocks. It comes back, answered, through [`Batch::give_back`].
    fn submit(&self, batch: Box<Batch>);
    /// Takes a look-up of archived orders and never blocks. It comes back through [`Lookup::give_back`].
    fn look_up(&self, lookup: Lookup);
}

/// The requests that one worker read in one turn of its loop, of many connections, and room for the answers. Recycled.
pub struct Batch {
    /// The parsed requests.
    pub requests: Requests,
    /// To be filled with one answer an op, in order. Empty when submitted; capacity for all is reserved.
    pub answers: Vec<Answer>,
    /// To be filled with the executions that the answers refer to.
    pub executions: Vec<Execution>,
    /// Whose each request is.
    pub(crate) origins: Vec<Origin>,
    /// Its place among its worker's batches.
    pub(crate) number: u64,
    /// When it was handed inward.
    pub(crate) submitted: Option<Instant>,
    /// Bytes of the bodies parsed into it.
    pub(crate) body_bytes: usize,
    /// What it holds of its worker's inward bound.
    pub(crate) reserved: usize,
    /// Nobody knows yet what becomes of its requests: there are no answers.
    pub(crate) abandoned: bool,
    /// Nothing was done of it: all its answers say why.
    pub(crate) refused: bool,
    home: Home,
}

/// A connection of a worker, as a request remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The connection's slot.
    pub slot: u32,
    /// Which of the connections that had this slot.
    pub generation: u32,
}

enum Home {
    Worker(Arc<Mailbox>),
    /// Called once.
    Caller(Option<Box<dyn FnOnce(Box<Batch>) + Send>>),
}

impl Batch {
    /// An empty batch that comes back through a channel rather than to a worker: for requests that did not come over a
    /// gateway's sockets, as in tests and measurements of an exchange.
    pub fn detached(back: Sender<Box<Batch>>) -> Box<Batch> {
        // Whoever no longer listens does not want it.
        Batch::calling(move |batch| drop(back.send(batch)))
    }

    /// An empty batch that comes back by a call, on whatever thread gives it back: for gateways of other protocols.
    pub fn calling(back: impl FnOnce(Box<Batch>) + Send + 'static) -> Box<Batch> {
        Batch::with_home(Home::Caller(Some(Box::new(back))))
    }

    /// Hands it inward, and says when.
    pub fn hand_in(mut self: Box<Self>, exchange: &dyn Exchange, pulse: &Pulse) -> Instant {
        let now = Instant::now();
        self.submitted = Some(now);
        pulse.handed_in(&self);
        exchange.submit(self);
        now
    }

    /// Posts the answered batch to its worker and wakes it if it sleeps. Panics unless there is one answer an op, which
    /// would be a bug of the exchange.
    pub fn give_back(self: Box<Self>) {
        assert_eq!(self.answers.len(), self.requests.ops().len(), "invariant: one answer an op");
        self.post();
    }

    /// Gives the batch back without answers, because what its requests did is not known to be kept: the worker closes
    /// their connections, and their clients find the outcome by queries.
    pub fn abandon(mut self: Box<Self>) {
        self.abandoned = true;
        self.post();
    }

    /// Gives the batch back with the same refusal for each op: nothing was changed, and nothing is told.
    pub fn refuse(mut self: Box<Self>, why: Unavailable) {
        let ops = self.requests.ops().len();
        self.answers.clear();
        self.answers.resize(ops, Answer::Unavailable(why));
        self.refused = true;
        self.give_back();
    }

    /// Whether it came back with nothing but a refusal, which a request without ops has no answer to tell from.
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    /// Whether it came back without answers.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    fn post(mut self: Box<Self>) {
        match &mut self.home {
            Home::Worker(mailbox) => Arc::clone(mailbox).post(|letters| letters.batches.push(self)),
            Home::Caller(back) => {
                if let Some(back) = back.take() {
                    back(self);
                }
            }
        }
    }

    pub(crate) fn of_worker(mailbox: Arc<Mailbox>) -> Box<Batch> {
        Batch::with_home(Home::Worker(mailbox))
    }

    /// About what it takes: the executions it has room for, the ops with their answers, and the text they were made of.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.executions.capacity() * size_of::<Execution>()
            + self.answers.capacity() * (size_of::<Op>() + size_of::<Answer>())
            + self.body_bytes
    }

    /// Empties it and keeps what it allocated.
    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.answers.clear();
        self.executions.clear();
        self.origins.clear();
        self.body_bytes = 0;
        self.reserved = 0;
        self.abandoned = false;
        self.refused = false;
    }

    fn with_home(home: Home) -> Box<Batch> {
        Box::new(Batch {
            requests: Requests::new(),
            answers: Vec::new(),
            executions: Vec::new(),
            origins: Vec::new(),
            number: 0,
            submitted: None,
            body_bytes: 0,
            reserved: 0,
            abandoned: false,
            refused: false,
            home,
        })
    }
}
