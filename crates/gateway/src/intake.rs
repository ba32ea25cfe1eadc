//! The way inward: requests of many connections gathered into one batch, and the bound on what is in flight.
//! It knows no sockets.

use std::sync::Arc;
use std::time::Instant;

use crate::batch::{Batch, Exchange, Origin};
use crate::lookup::Lookup;
use crate::mailbox::Mailbox;
use crate::pulse::Pulse;

/// A batch with more text than this is handed inward before the turn is over.
const BODY_BYTES_MAX: usize = 1 << 20;
/// A batch with more requests than this is handed inward before the turn is over.
const REQUESTS_MAX: usize = 4096;
/// Batches kept for reuse.
const SPARE_MAX: usize = 16;
/// With more executions a batch is long; it is not reused with room for more: a rare large answer must not be paid for ever.
const EXECUTIONS_KEPT_MAX: usize = 1 << 16;

/// Gathers requests, and hands them inward.
pub(crate) struct Intake {
    exchange: Arc<dyn Exchange>,
    pulse: Pulse,
    mailbox: Arc<Mailbox>,
    limits: wire::Limits,
    current: Option<Box<Batch>>,
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    spare: Vec<Box<Batch>>,
    next_number: u64,
    /// Requests and ops that entered and did not come back.
    in_flight: usize,
    in_flight_max: usize,
    /// The last batch that came back was long: what is asked for costs more than its ops show.
    long: bool,
    submitted: Submitted,
}

/// What was handed inward.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Submitted {
    pub requests: usize,
    /// When the last of it was.
    pub at: Option<Instant>,
}

impl Intake {
    pub fn new(
        exchange: Arc<dyn Exchange>,
        pulse: Pulse,
        mailbox: Arc<Mailbox>,
        children_max: usize,
        in_flight_max: usize,
    ) -> Intake {
        Intake {
            exchange,
            pulse,
            mailbox,
            limits: wire::Limits { children_max },
            current: None,
            spare: Vec::new(),
            next_number: 0,
            in_flight: 0,
            in_flight_max,
            long: false,
            submitted: Submitted::default(),
        }
    }

    /// Whether more may be read from sockets. What one read holds may go past the bound, but no further read. While batches
    /// are long one is on its way at a time: whoever asks for little waits for that one, and not for a line of them.
    pub fn has_room(&self) -> bool {
        self.in_flight < if self.long { 1 } else { self.in_flight_max }
    }

    /// Adds a request, whatever its bytes are.
    pub fn request(&mut self, origin: Origin, body: &[u8]) {
        let limits = self.limits;
        self.add(origin, body.len(), |batch| batch.requests.parse(body, &limits));
    }

    /// Adds a request that is answered with an error, in its place among the others.
    pub fn refusal(&mut self, origin: Origin, why: &str) {
        self.add(origin, why.len(), |batch| batch.requests.refuse(why));
    }

    /// Hands inward what was gathered.
    pub fn submit(&mut self) {
        if let Some(mut batch) = self.current.take() {
            batch.answers.reserve(batch.requests.ops().len());
            self.submitted.requests += batch.requests.len();
            self.submitted.at = Some(batch.hand_in(&*self.exchange, &self.pulse));
        }
    }

    /// What was handed inward since this was last asked.
    pub fn take_submitted(&mut self) -> Submitted {
        std::mem::take(&mut self.submitted)
    }

    /// Frees the room of a batch that came back.
    pub fn came_back(&mut self, batch: &Batch) {
        self.in_flight -= batch.reserved;
        self.long = batch.executions.len() > EXECUTIONS_KEPT_MAX;
    }

    /// Keeps a batch for reuse, or drops it when there are enough.
    pub fn recycle(&mut self, mut batch: Box<Batch>) {
        if self.spare.len() < SPARE_MAX && batch.executions.capacity() <= EXECUTIONS_KEPT_MAX {
            batch.clear();
            self.spare.push(batch);
        }
    }

    /// Asks the archive.
    pub fn look_up(&self, lookup: Lookup) {
        self.exchange.look_up(lookup);
    }

    fn add(&mut self, origin: Origin, body_bytes: usize, parse: impl FnOnce(&mut Batch)) {
        let batch = match &mut self.current {
            Some(batch) => batch,
            None => {
                let mut batch = self.spare.pop().unwrap_or_else(|| Batch::of_worker(Arc::clone(&self.mailbox)));
                batch.number = self.next_number;
                self.next_number += 1;
                self.current.insert(batch)
            }
        };
        parse(batch);
        batch.origins.push(origin);
        assert_eq!(batch.requests.len(), batch.origins.len(), "invariant: a request for each body parsed");
        batch.body_bytes += body_bytes;
        let entered = batch.requests.len() + batch.requests.ops().len() - batch.reserved;
        batch.reserved += entered;
        self.in_flight += entered;
        if batch.body_bytes >= BODY_BYTES_MAX || batch.requests.len() >= REQUESTS_MAX {
            self.submit();
        }
    }
}
