//! The way out: batches that came back become replies in the order of their requests, and leave through the sockets.
//!
//! A reply that cannot be made yet (it waits for the archive, stands behind one that does, or its client has too much
//! unsent) stays in its batch, and the batch is kept until the last such reply is made. Only that connection waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{OrderId, Reply};
use exchange::{Answer, Batch, GatewayMetrics, Lookup};
use slab::Slab;

use crate::connection::{Archived, Flushed, Later, Origin};
use crate::document::{self, ReplyLimits};
use crate::intake::{Gathered, Intake};
use crate::mailbox::Mailbox;
use crate::settings::Settings;
use crate::worker::Worker;

/// Batches that came back and are not done with.
pub(crate) struct Waiting {
    /// The ticket of the next batch whose replies are made.
    next_ticket: u64,
    /// Batches that came back before an earlier one did.
    early: BTreeMap<u64, Box<Batch>>,
    kept: Slab<Kept>,
    /// What the kept batches take.
    kept_bytes: usize,
    reply_limits: ReplyLimits,
}

/// A batch with replies that could not be made yet.
struct Kept {
    batch: Box<Batch>,
    gathered: Gathered,
    /// Requests whose replies are to be made.
    requests: usize,
    /// Executions that it came back with.
    executions: usize,
    /// What it took then.
    bytes: usize,
}

impl Waiting {
    pub fn new(settings: &Settings) -> Waiting {
        let reply_limits =
            ReplyLimits { reply_bytes_max: settings.reply_bytes_max, length_line: settings.reply_length };
        Waiting { next_ticket: 0, early: BTreeMap::new(), kept: Slab::new(), kept_bytes: 0, reply_limits }
    }

    /// What the kept batches take.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// What a kept batch takes.
    pub fn bytes_of(&self, slot: usize) -> usize {
        self.kept[slot].bytes
    }

    /// One of a kept batch's requests needs it no longer.
    pub fn request_done(&mut self, slot: usize, intake: &mut Intake) {
        let kept = &mut self.kept[slot];
        kept.requests -= 1;
        if kept.requests == 0 {
            self.kept_bytes -= kept.bytes;
            let Kept { batch, gathered, .. } = self.kept.remove(slot);
            intake.recycle(batch, gathered);
        }
    }

    /// A look-up of what a kept batch's request needs.
    pub fn lookup_of(&self, slot: usize, request: usize, origin: Origin, long: bool, home: &Arc<Mailbox>) -> Lookup {
        let Kept { batch, gathered, .. } = &self.kept[slot];
        let requests = &gathered.documents.requests;
        let ops = requests.ops_of(request);
        let asked = ops.filter_map(|op| Some((&requests.ops()[op], archived(&batch.answers[op])?)));
        let executions_max = long.then(|| document::executions_max(self.reply_limits.reply_bytes_max));
        let home = Arc::clone(home);
        Lookup::new(asked, executions_max, move |found| home.post(|letters| letters.found.push((origin, found))))
    }

    /// Puts what a look-up found into the answers of a kept batch's request.
    pub fn fill(&mut self, slot: usize, request: usize, found: Lookup, metrics: &GatewayMetrics) {
        let Kept { batch, gathered, .. } = &mut self.kept[slot];
        let requests = &gathered.documents.requests;
        let found = found.answers(&mut batch.executions);
        for op in requests.ops_of(request) {
            if let Some(order) = archived(&batch.answers[op]) {
                let asked = &requests.ops()[op];
                batch.answers[op] = found.of(asked, order);
                metrics.looked_up(asked, &batch.answers[op]);
            }
        }
    }

    /// Drops the executions that were found for a kept batch: the reply is written.
    pub fn empty(&mut self, slot: usize) {
        let Some(Kept { batch, executions, .. }) = self.kept.get_mut(slot) else { return };
        batch.executions.truncate(*executions);
        batch.executions.shrink_to(*executions);
    }
}

impl Worker {
    /// Makes the replies of a batch, and of those that came back before it and had to wait for it.
    /// Returns how many were made.
    pub(crate) fn batch_came_back(&mut self, batch: Box<Batch>) -> u64 {
        self.intake.came_back(&batch);
        // What becomes of an order that is archived is written down when the archive has answered.
        self.settings.metrics.came_back(&batch, self.now, |_| None);
        if batch.ticket != self.waiting.next_ticket {
            self.waiting.early.insert(batch.ticket, batch);
            return 0;
        }
        let mut made = 0;
        let mut next = Some(batch);
        while let Some(batch) = next {
            made += self.make_replies(batch);
            self.waiting.next_ticket += 1;
            next = self.waiting.early.remove(&self.waiting.next_ticket);
        }
        made
    }

    /// Writes to every connection that got replies or whose socket takes more. Returns how many replies were made on
    /// the way, for there was room for them again.
    pub(crate) fn flush_dirty(&mut self) -> u64 {
        let mut made = 0;
        let mut dirty = std::mem::take(&mut self.dirty);
        for slot in dirty.drain(..) {
            if self.connections.get(slot).is_some_and(|connection| connection.dirty) {
                made += self.flush(slot);
                self.settle(slot);
            }
        }
        // Whoever was put on the list meanwhile was flushed meanwhile.
        self.dirty = dirty;
        let sent = std::mem::take(&mut self.sent_bytes);
        if sent > 0 {
            self.shared.reply_bytes.fetch_add(sent, Ordering::Relaxed);
        }
        made
    }

    /// Makes the replies of the batch that is next.
    fn make_replies(&mut self, mut batch: Box<Batch>) -> u64 {
        let gathered = self.intake.take_next(&mut batch);
        let documents = &gathered.documents;
        self.settings.metrics.malformed(documents.refused());
        if batch.is_abandoned() {
            return self.close_abandoned(batch, gathered);
        }
        let mut made = 0;
        let mut requests = 0;
        let kept = self.waiting.kept.vacant_key();
        for (request, origin) in gathered.origins.iter().enumerate() {
            let slot = origin.slot as usize;
            let connection = self.connections.get_mut(slot);
            let Some(connection) = connection.filter(|connection| connection.generation == origin.generation) else {
                // The client left without its reply.
                made += 1;
                continue;
            };
            let ops = documents.requests.ops_of(request);
            let mut archived = match batch.answers[ops].iter().any(|answer| archived(answer).is_some()) {
                true => Archived::ToAsk,
                false => Archived::No,
            };
            let is_next = connection.later.is_empty() && connection.unsent_bytes() <= self.settings.unsent_bytes_max;
            if is_next && archived == Archived::No {
                connection.in_flight -= 1;
                write_reply(&batch, &gathered, request, connection.output(&mut self.spare), &self.waiting.reply_limits);
                connection.mark_dirty(slot, &mut self.dirty);
                made += 1;
                continue;
            }
            if is_next {
                archived = Archived::Asked;
                self.asking.wait(*origin);
            }
            connection.later.push_back(Later { kept, request, archived });
            requests += 1;
        }
        if requests == 0 {
            self.intake.recycle(batch, gathered);
        } else {
            let bytes = batch.memory_bytes() + gathered.body_bytes;
            self.waiting.kept_bytes += bytes;
            let executions = batch.executions.len();
            let slot = self.waiting.kept.insert(Kept { batch, gathered, requests, executions, bytes });
            assert_eq!(slot, kept, "invariant: replies that wait name the slot that the batch is kept in");
            // Looking at all connections has its price: between two ticks only when much came at once.
            if self.waiting.kept_bytes > self.settings.unread_bytes_max / self.settings.workers / 2 {
                self.shed_slow_readers();
            }
        }
        made
    }

    /// Closes the connections of a batch that came back without answers, once they have what was answered before.
    /// Returns how many requests will have no reply.
    fn close_abandoned(&mut self, batch: Box<Batch>, gathered: Gathered) -> u64 {
        let mut unanswered = 0;
        for origin in &gathered.origins {
            unanswered += 1;
            let slot = origin.slot as usize;
            if self.connections.get(slot).is_some_and(|connection| connection.generation == origin.generation) {
                unanswered += self.flush(slot);
                self.close(slot);
            }
        }
        self.intake.recycle(batch, gathered);
        unanswered
    }

    /// Makes the replies of a connection that no longer wait for anything. Returns how many.
    pub(crate) fn make_waiting(&mut self, slot: usize) -> u64 {
        let mut made = 0;
        let Some(connection) = self.connections.get_mut(slot) else { return 0 };
        while let Some(&Later { kept, request, archived }) = connection.later.front() {
            if archived == Archived::Asked || connection.unsent_bytes() > self.settings.unsent_bytes_max {
                break;
            }
            if archived == Archived::ToAsk {
                connection.later[0].archived = Archived::Asked;
                self.asking.wait(Origin { slot: slot as u32, generation: connection.generation });
                break;
            }
            connection.later.pop_front();
            connection.in_flight -= 1;
            let Kept { batch, gathered, .. } = &self.waiting.kept[kept];
            write_reply(batch, gathered, request, connection.output(&mut self.spare), &self.waiting.reply_limits);
            self.waiting.request_done(kept, &mut self.intake);
            made += 1;
        }
        if made > 0 {
            connection.mark_dirty(slot, &mut self.dirty);
            if connection.later.is_empty() {
                connection.later = VecDeque::new();
            }
        }
        made
    }

    /// Writes to a connection until its socket takes no more or nothing is left. Returns how many replies were made
    /// because there was room for them again.
    fn flush(&mut self, slot: usize) -> u64 {
        let mut made = 0;
        loop {
            let connection = &mut self.connections[slot];
            connection.dirty = false;
            if !connection.write_blocked {
                let (flushed, sent) = connection.flush(&mut self.spare);
                if sent > 0 {
                    self.sent_bytes += sent as u64;
                    connection.progress_ms = self.now_ms;
                }
                let watched = match flushed {
                    Flushed::All => {
                        if connection.long_since_ms.is_some() {
                            connection.leave_long(&self.shared, &self.mailboxes);
                        }
                        true
                    }
                    Flushed::Blocked => connection.watch_writes(slot, self.poll.registry()),
                    Flushed::Broken => false,
                };
                if !watched {
                    self.close(slot);
                    return made;
                }
            }
            match self.make_waiting(slot) {
                0 => return made,
                count => made += count,
            }
        }
    }
}

fn write_reply(batch: &Batch, gathered: &Gathered, request: usize, out: &mut Vec<u8>, limits: &ReplyLimits) {
    document::write_reply(out, &gathered.documents, request, &batch.answers, &batch.executions, limits);
}

/// The order that the archive is to be asked about.
fn archived(answer: &Answer) -> Option<OrderId> {
    match answer {
        Answer::Reply(Reply::Archived(order)) => Some(*order),
        Answer::Reply(_) | Answer::Unavailable(_) => None,
    }
}
