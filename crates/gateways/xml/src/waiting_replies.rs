//! Batches that came back and have replies that are still to be made. It does not know the connections that wait for
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

use exchange::containment::{Part, contain, shown};
use exchange::{Answer, Batch, GatewayMetrics, LookedUpOrder, Lookup};
use slab::Slab;
use terms::Reply;

use crate::document::{self, ReplyLimits};
use crate::intake::{BatchReplies, Intake};
use crate::mailbox::{Mailbox, Origin};
use crate::settings::Settings;

/// Batches that came back and are not done with.
pub(crate) struct WaitingReplies {
    /// Batches that came back before an earlier one did.
    pub early: BTreeMap<u64, Box<Batch>>,
    kept: Slab<KeptBatch>,
    /// Bytes of memory that the kept batches take.
    kept_bytes: usize,
    reply_limits: ReplyLimits,
}

/// A batch with replies that could not be made yet.
struct KeptBatch {
    batch: Box<Batch>,
    gathered: BatchReplies,
    /// Requests whose replies are to be made.
    requests: usize,
    /// The number of executions with which it came back; those of look-ups are appended behind them.
    executions: usize,
    /// Bytes of memory that it took then.
    bytes: usize,
}

impl WaitingReplies {
    pub fn new(settings: &Settings) -> WaitingReplies {
        let reply_limits =
            ReplyLimits { reply_bytes_max: settings.reply_bytes_max, length_line: settings.reply_length };
        WaitingReplies { early: BTreeMap::new(), kept: Slab::new(), kept_bytes: 0, reply_limits }
    }

    /// Returns the bytes of memory that the kept batches take.
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Returns the bytes of memory of all batches that came back and are not done with.
    pub fn held_bytes(&self) -> usize {
        self.kept_bytes + self.early.values().map(|batch| batch.memory_bytes()).sum::<usize>()
    }

    /// Returns the bytes of memory that a kept batch takes.
    pub fn bytes_of(&self, slot: usize) -> usize {
        self.kept[slot].bytes
    }

    /// Notes that one of a kept batch's requests needs it no longer.
    pub fn request_done(&mut self, slot: usize, intake: &mut Intake) {
        let kept = &mut self.kept[slot];
        kept.requests -= 1;
        if kept.requests == 0 {
            self.kept_bytes -= kept.bytes;
            let KeptBatch { batch, gathered, .. } = self.kept.remove(slot);
            intake.recycle(batch, gathered);
        }
    }

    /// Makes a look-up of what a kept batch's request needs.
    pub fn lookup_of(&self, slot: usize, request: usize, origin: Origin, long: bool, home: &Arc<Mailbox>) -> Lookup {
        let KeptBatch { batch, gathered, .. } = &self.kept[slot];
        let requests = &gathered.documents.requests;
        let ops = requests.ops_of(request);
        let asked = ops.filter_map(|op| LookedUpOrder::of(&requests.ops()[op], &batch.answers[op]));
        let executions_max = long.then(|| document::executions_max(self.reply_limits.reply_bytes_max));
        let home = Arc::clone(home);
        Lookup::new(asked, executions_max, move |found| home.post(|letters| letters.found.push((origin, found))))
    }

    /// Puts what a look-up found into the answers of a kept batch's request.
    pub fn fill(&mut self, slot: usize, request: usize, found: Lookup, metrics: &GatewayMetrics) {
        let KeptBatch { batch, gathered, .. } = &mut self.kept[slot];
        let requests = &gathered.documents.requests;
        let found = found.answers(&mut batch.executions);
        for op in requests.ops_of(request) {
            if needs_look_up(&batch.answers[op]) {
                let (asked, told) = (&requests.ops()[op], batch.answers[op].clone());
                // Answers of the engine itself were counted when they came back.
                let is_done = matches!(told, Answer::Reply(Reply::Done(_)));
                batch.answers[op] = found.answer(asked, told);
                if is_done {
                    metrics.looked_up(asked, &batch.answers[op]);
                }
            }
        }
    }

    /// Drops the executions that were found for a kept batch: the reply is written.
    pub fn empty(&mut self, slot: usize) {
        let Some(KeptBatch { batch, executions, .. }) = self.kept.get_mut(slot) else { return };
        batch.executions.truncate(*executions);
        batch.executions.shrink_to(*executions);
    }

    /// Returns the slot that the next kept batch gets.
    pub fn next_slot(&self) -> usize {
        self.kept.vacant_key()
    }

    /// Keeps a batch of which `requests` have no reply yet. Returns its slot.
    pub fn keep(&mut self, batch: Box<Batch>, gathered: BatchReplies, requests: usize) -> usize {
        let bytes = batch.memory_bytes() + gathered.body_bytes;
        self.kept_bytes += bytes;
        let executions = batch.executions.len();
        self.kept.insert(KeptBatch { batch, gathered, requests, executions, bytes })
    }

    /// Writes the reply to a kept batch's request. Errors: as for `write`.
    pub fn write_kept(&self, slot: usize, request: usize, out: &mut Vec<u8>) -> Result<(), Unwritten> {
        let KeptBatch { batch, gathered, .. } = &self.kept[slot];
        self.write(batch, gathered, request, out)
    }

    /// Writes the reply to a batch's request. Errors: that panicked, and nothing of it is written.
    pub fn write(
        &self,
        batch: &Batch,
        gathered: &BatchReplies,
        request: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Unwritten> {
        let (documents, before) = (&gathered.documents, out.len());
        let write = |out: &mut _| {
            document::write_reply(out, documents, request, &batch.answers, &batch.executions, &self.reply_limits)
        };
        contain(Part::Xml, || write(out)).map_err(|panicked| {
            let asked =
                shown(format!("{:?}", &documents.requests.ops()[documents.requests.ops_of(request)]).as_bytes());
            tracing::error!(%panicked, asked, "an XML connection ended by a fault of the server; please report it");
            out.truncate(before);
            Unwritten
        })
    }
}

/// The error of a reply that could not be written: its connection has to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unwritten;

/// Whether this answer needs the history before it can be written.
pub(crate) fn needs_look_up(answer: &Answer) -> bool {
    match answer {
        Answer::Reply(Reply::Done(_)) => true,
        Answer::Reply(reply) => reply.elsewhere().is_some(),
        Answer::Unavailable(_) => false,
    }
}
