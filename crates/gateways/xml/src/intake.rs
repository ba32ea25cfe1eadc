//! The way in: gathers the light requests of many connections into one batch and the heavy ones of a connection into
//! batches of its own, and bounds how much is in flight. It knows no sockets.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use access::turn_away;
use exchange::containment::Panicked;
use exchange::{Batch, Exchange, GatewayMetrics, Lookup, ProtectorId, cost_of};
use terms::Op;

use crate::document::{Documents, DocumentsSize, Limits};
use crate::heavy_batches::HeavyBatches;
use crate::login::Asker;
use crate::mailbox::Mailbox;
use crate::mailbox::Origin;

/// Bytes of text from which a batch is handed in before the turn is over.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Requests from which a batch is handed in before the turn is over.
const REQUESTS_MAX: usize = 4096;
/// The cost from which a heavy batch is handed in before all of its connection's requests are parsed.
const HEAVY_COST_MAX: u64 = 1 << 10;
/// Batches that are kept for reuse, at most.
const SPARE_MAX: usize = 16;
/// Bytes of memory of a batch that is kept for reuse, at most, so that rare large ones do not take memory for ever.
const SPARE_BYTES_MAX: usize = 1 << 20;
/// Executions from which a batch is long.
const EXECUTIONS_LONG: usize = 1 << 16;

/// Bytes of a child's text that count for nothing in the bound on what is in flight; as many more count as a command.
const TEXT_BYTES_TAKE_ONE: usize = 64;
/// Commands that a query counts for in the bound on what is in flight: later requests wait for everything in flight,
/// and the answer to a query of a few bytes may show thousands of executions.
const QUERY_TAKES: usize = 16;

/// The function that returns a batch to the worker.
type Back = Arc<dyn Fn(Box<Batch>) + Send + Sync>;

/// Gathers requests, and hands them in.
pub(crate) struct Intake {
    exchange: Arc<dyn Exchange>,
    metrics: GatewayMetrics,
    /// Posts a batch that comes back to the worker.
    back: Back,
    limits: Limits,
    /// The light batch that is being made.
    current: Option<(Box<Batch>, BatchReplies)>,
    /// The heavy batch that is being made, of the connection that is being read.
    heavy: Option<(Box<Batch>, BatchReplies)>,
    /// The estimated cost of the requests of that connection, and of the heavy batch.
    read_cost: u64,
    heavy_cost: u64,
    /// The worker's part of each batch that is away or waits for its turn, in the order in which they were handed in.
    away: VecDeque<Option<BatchReplies>>,
    /// Tickets of the light ones among them.
    light_away: VecDeque<u64>,
    spare: Vec<(Box<Batch>, BatchReplies)>,
    next_ticket: u64,
    light_flight: Flight,
    heavy_flight: Flight,
    in_flight_max: usize,
    submitted: Submitted,
}

/// The amount in flight, of light requests or of heavy ones.
#[derive(Default)]
struct Flight {
    /// The room that batches take which were handed in and did not come back.
    taken: usize,
    /// Whether the last batch that came back was long. Then requests cost more than their ops show.
    long: bool,
}

impl Flight {
    /// Whether more may be read. While batches are long, only one is away at a time.
    fn has_room(&self, max: usize) -> bool {
        self.taken < if self.long { 1 } else { max }
    }
}

/// The worker's part of one batch: what its replies need.
#[derive(Default)]
pub(crate) struct BatchReplies {
    /// The documents. Their ops are in the batch while it is away.
    pub documents: Documents,
    /// The connection of each request.
    pub origins: Vec<Origin>,
    /// Bytes of the bodies that were parsed.
    pub body_bytes: usize,
    /// The room that its requests take in the bound on what is in flight.
    pub taken: usize,
    /// The connection of a heavy batch; `None` for a light one.
    pub heavy: Option<Origin>,
}

/// The requests that were handed in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Submitted {
    pub requests: usize,
    /// The time of the last of them.
    pub at: Option<Instant>,
}

impl Intake {
    pub fn new(
        exchange: Arc<dyn Exchange>,
        metrics: GatewayMetrics,
        mailbox: Arc<Mailbox>,
        children_max: usize,
        in_flight_max: usize,
    ) -> Intake {
        Intake {
            exchange,
            metrics,
            back: Arc::new(move |batch| mailbox.post(|letters| letters.batches.push(batch))),
            limits: Limits { children_max },
            current: None,
            heavy: None,
            read_cost: 0,
            heavy_cost: 0,
            away: VecDeque::new(),
            light_away: VecDeque::new(),
            spare: Vec::new(),
            next_ticket: 0,
            light_flight: Flight::default(),
            heavy_flight: Flight::default(),
            in_flight_max,
            submitted: Submitted::default(),
        }
    }

    /// Whether more may be read from light connections. One read may go past the bound, but no read after it. While
    /// batches are long, only one is away at a time, so that a small request waits for one long batch at most.
    pub fn has_room(&self) -> bool {
        self.light_flight.has_room(self.in_flight_max)
    }

    /// Whether more may be read from heavy connections. They have a bound of their own.
    pub fn has_heavy_room(&self) -> bool {
        self.heavy_flight.has_room(self.in_flight_max)
    }

    /// Adds a request, whatever its bytes are. `asker` is known where there are members. A connection that protects
    /// accounts has a protector from then on. Errors: reading it panicked, and its reply says so.
    pub fn request(
        &mut self,
        origin: Origin,
        body: &[u8],
        mut asker: Option<&mut Asker>,
        protector: &mut Option<ProtectorId>,
        heavy: Option<&mut HeavyBatches>,
    ) -> Result<(), Panicked> {
        let limits = self.limits;
        let mut panicked = Ok(());
        self.add(origin, body.len(), heavy, |documents| {
            panicked = documents.contained(|documents| match asker.as_deref_mut() {
                None => documents.parse(body, &limits),
                Some(asker) => asker.ask(documents, body, &limits),
            });
            if documents.take_protects() {
                documents.requests.protected_by(*protector.get_or_insert_with(ProtectorId::new));
            }
        });
        if let Some(asker) = asker
            && let Some(why) = asker.take_turned_away()
        {
            turn_away(&self.metrics, why, asker.address());
        }
        panicked
    }

    /// Tells the exchange that a connection which protected accounts asks nothing more.
    pub fn depart(&mut self, origin: Origin, protector: ProtectorId, heavy: Option<&mut HeavyBatches>) {
        match heavy {
            None => self.gather_light().documents.requests.depart(protector),
            Some(heavy) => {
                self.gather_heavy(origin).documents.requests.depart(protector);
                self.submit_heavy(heavy);
            }
        }
    }

    /// Adds a request that is answered with an error, in its place among the others. Its cost is not that of a read: it
    /// may come between two reads, and would count as the next connection's.
    pub fn refusal(&mut self, origin: Origin, why: &str, mut heavy: Option<&mut HeavyBatches>) {
        let read_cost = self.read_cost;
        self.add(origin, why.len(), heavy.as_deref_mut(), |documents| documents.refuse(why));
        self.read_cost = read_cost;
        if let Some(heavy) = heavy {
            self.submit_heavy(heavy);
        }
    }

    /// Hands in the light requests that were gathered.
    pub fn submit(&mut self) {
        if let Some((batch, gathered)) = self.current.take() {
            self.light_away.push_back(self.next_ticket);
            self.hand_in(batch, gathered);
        }
    }

    /// Ends a read, whose requests were added. Returns their cost.
    pub fn end_read(&mut self, heavy: Option<&mut HeavyBatches>) -> u64 {
        if let Some(heavy) = heavy {
            self.submit_heavy(heavy);
        }
        std::mem::take(&mut self.read_cost)
    }

    fn submit_heavy(&mut self, heavy: &mut HeavyBatches) {
        self.heavy_cost = 0;
        if let Some((mut batch, gathered)) = self.heavy.take() {
            batch.source = Some(heavy.source);
            heavy.left(self.next_ticket);
            self.hand_in(batch, gathered);
        }
    }

    fn hand_in(&mut self, mut batch: Box<Batch>, mut gathered: BatchReplies) {
        std::mem::swap(&mut batch.requests, &mut gathered.documents.requests);
        self.away.push_back(Some(gathered));
        batch.ticket = self.next_ticket;
        self.next_ticket += 1;
        self.submitted.requests += batch.requests.len();
        self.submitted.at = Some(self.metrics.hand_in(batch, &*self.exchange));
    }

    /// Returns what was handed in since the last call.
    pub fn take_submitted(&mut self) -> Submitted {
        std::mem::take(&mut self.submitted)
    }

    /// Frees the room of a batch whose replies are made, or wait for their connections alone. One that came back before
    /// an older batch keeps its room: what is read meanwhile would have no bound.
    pub fn answered(&mut self, batch: &Batch, gathered: &BatchReplies) {
        let flight = if gathered.heavy.is_some() { &mut self.heavy_flight } else { &mut self.light_flight };
        flight.taken -= gathered.taken;
        flight.long = batch.executions.len() > EXECUTIONS_LONG;
    }

    /// Returns the connection of a heavy batch; `None` for a light one.
    pub fn heavy_origin(&self, ticket: u64) -> Option<Origin> {
        let index = (ticket - self.oldest_ticket()) as usize;
        self.away[index].as_ref().and_then(|gathered| gathered.heavy)
    }

    /// Returns the ticket of the oldest light batch that was not taken since it was handed in.
    pub fn oldest_light(&self) -> Option<u64> {
        self.light_away.front().copied()
    }

    /// Returns the ticket of the oldest batch that was not taken since it was handed in.
    pub fn oldest_ticket(&self) -> u64 {
        self.next_ticket - self.away.len() as u64
    }

    /// Takes the worker's part of a batch that came back.
    pub fn take(&mut self, batch: &mut Batch) -> BatchReplies {
        let index = (batch.ticket - self.oldest_ticket()) as usize;
        let mut gathered = self.away[index].take().expect("invariant: something is kept of each batch that is away");
        while self.away.front().is_some_and(Option::is_none) {
            self.away.pop_front();
        }
        if let Ok(place) = self.light_away.binary_search(&batch.ticket) {
            self.light_away.remove(place);
        }
        std::mem::swap(&mut batch.requests, &mut gathered.documents.requests);
        gathered
    }

    /// Keeps a batch and its part for reuse, or drops them when there are enough.
    pub fn recycle(&mut self, mut batch: Box<Batch>, mut gathered: BatchReplies) {
        if self.spare.len() < SPARE_MAX && batch.memory_bytes() <= SPARE_BYTES_MAX {
            batch.clear();
            gathered.clear();
            self.spare.push((batch, gathered));
        }
    }

    /// Hands in a look-up for the history.
    pub fn look_up(&self, lookup: Lookup) {
        self.exchange.look_up(lookup);
    }

    fn add(
        &mut self,
        origin: Origin,
        body_bytes: usize,
        heavy: Option<&mut HeavyBatches>,
        parse: impl FnOnce(&mut Documents),
    ) {
        let gathered = match &heavy {
            None => self.gather_light(),
            Some(_) => self.gather_heavy(origin),
        };
        let (ops_before, before) = (gathered.documents.requests.ops().len(), gathered.documents.size());
        parse(&mut gathered.documents);
        gathered.origins.push(origin);
        gathered.body_bytes += body_bytes;
        let requests = &gathered.documents.requests;
        assert_eq!(requests.len(), gathered.origins.len(), "invariant: a request for each body parsed");
        let ops = &requests.ops()[ops_before..];
        let (taken, cost) = (taken_by(ops, before, gathered.documents.size()), cost_of(ops).max(1));
        gathered.taken += taken;
        let is_large = gathered.body_bytes >= BODY_BYTES_MAX || requests.len() >= REQUESTS_MAX;
        self.read_cost += cost;
        match heavy {
            None => {
                self.light_flight.taken += taken;
                if is_large {
                    self.submit();
                }
            }
            Some(heavy) => {
                self.heavy_flight.taken += taken;
                self.heavy_cost += cost;
                if is_large || self.heavy_cost >= HEAVY_COST_MAX {
                    self.submit_heavy(heavy);
                }
            }
        }
    }

    fn gather_light(&mut self) -> &mut BatchReplies {
        gathering(&mut self.current, &mut self.spare, &self.back)
    }

    /// Returns the batch of a connection's heavy requests. Light requests that were gathered go first: some may be of
    /// this connection.
    fn gather_heavy(&mut self, origin: Origin) -> &mut BatchReplies {
        self.submit();
        let gathered = gathering(&mut self.heavy, &mut self.spare, &self.back);
        gathered.heavy = Some(origin);
        gathered
    }
}

/// Returns the batch that is being gathered.
fn gathering<'a>(
    current: &'a mut Option<(Box<Batch>, BatchReplies)>,
    spare: &mut Vec<(Box<Batch>, BatchReplies)>,
    back: &Back,
) -> &'a mut BatchReplies {
    let new = || (Batch::returning(Arc::clone(back)), BatchReplies::default());
    let (_, gathered) = current.get_or_insert_with(|| spare.pop().unwrap_or_else(new));
    gathered
}

impl BatchReplies {
    /// Empties it and keeps what it allocated.
    fn clear(&mut self) {
        self.documents.clear();
        self.origins.clear();
        self.body_bytes = 0;
        self.taken = 0;
        self.heavy = None;
    }
}

/// Returns the room that a request takes in the bound on what is in flight. A child that was refused while it was
/// parsed has no op, but a reply.
fn taken_by(ops: &[Op], before: DocumentsSize, after: DocumentsSize) -> usize {
    let parts = after.parts.saturating_sub(before.parts);
    let text_bytes = after.text_bytes.saturating_sub(before.text_bytes);
    let long_text = (text_bytes / TEXT_BYTES_TAKE_ONE).saturating_sub(parts);
    let asked: usize = ops.iter().map(|op| if matches!(op, Op::Query(_)) { QUERY_TAKES } else { 1 }).sum();
    1 + asked + parts.saturating_sub(ops.len()) + long_text
}

#[cfg(test)]
mod tests {
    use mio::{Poll, Token, Waker};

    use super::*;

    struct Nobody;

    impl Exchange for Nobody {
        fn submit(&self, _: Box<Batch>) {}

        fn look_up(&self, _: Lookup) {}
    }

    /// Refused connections once made the next read connection heavy.
    #[test]
    fn refusals_do_not_count_as_what_the_next_connection_asks() {
        let poll = Poll::new().expect("a poll");
        let mailbox = Mailbox::new(Waker::new(poll.registry(), Token(0)).expect("a waker"));
        let mut intake = Intake::new(Arc::new(Nobody), GatewayMetrics::new("xml"), Arc::new(mailbox), 10, 100);
        let origin = Origin { slot: 0, generation: 0 };
        for _ in 0..1000 {
            intake.refusal(origin, "too many connections", None);
        }
        let asked = intake.request(origin, b"<create><symbol sym=\"SPY\"/></create>", None, &mut None, None);
        assert!(asked.is_ok());
        assert_eq!(intake.end_read(None), 1);
    }

    /// Refused children took none, so that while an order waited for a slow disk a flood of them was read without a
    /// bound.
    #[test]
    fn children_that_are_refused_take_room_until_their_request_is_answered() {
        let poll = Poll::new().expect("a poll");
        let mailbox = Mailbox::new(Waker::new(poll.registry(), Token(0)).expect("a waker"));
        let mut intake = Intake::new(Arc::new(Nobody), GatewayMetrics::new("xml"), Arc::new(mailbox), 1_000, 100);
        let origin = Origin { slot: 0, generation: 0 };
        let refused = format!("<transactions id=\"1\">{}</transactions>", "<query id=\"0\"/>".repeat(100));
        let long = format!("<transactions id=\"1\"><query id=\"{}\"/></transactions>", "9".repeat(10_000));
        for body in [refused, long] {
            assert!(intake.has_room());
            intake.request(origin, body.as_bytes(), None, &mut None, None).expect("it is read");
            assert!(!intake.has_room(), "{} bytes", body.len());
            let (mut batch, gathered) = intake.current.take().expect("it is gathered");
            batch.requests = gathered.documents.requests.clone();
            intake.answered(&batch, &gathered);
        }
        assert!(intake.has_room());
    }
}
