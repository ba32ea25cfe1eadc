//! The way out: makes replies of the batches that came back, in the order of their requests, and writes them to the
//! sockets.
//!
//! Some replies cannot be made at once: they wait for the history, or behind such a reply, or their client has too much
//! unsent. They stay in their batch, and the batch is kept until the last of them is made. Only their connections wait.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use exchange::Batch;

use crate::connection::{Flushed, Later, LookUpState};
use crate::intake::BatchReplies;
use crate::mailbox::Origin;
use crate::waiting_replies::needs_look_up;
use crate::worker::Worker;

impl Worker {
    /// Makes the replies of a batch, and of those that came back before it and had to wait for it. Returns how many
    /// were made.
    pub(crate) fn batch_came_back(&mut self, batch: Box<Batch>) -> u64 {
        // Outcomes of ops about done orders are counted when the history has answered.
        self.settings.metrics.came_back(&batch, self.now, |_| None);
        if !self.is_next(batch.ticket) {
            self.waiting.early.insert(batch.ticket, batch);
            return 0;
        }
        let mut made = 0;
        let mut next = Some(batch);
        while let Some(batch) = next {
            made += self.make_replies(batch);
            let ticket = self.waiting.early.keys().copied().find(|ticket| self.is_next(*ticket));
            next = ticket.and_then(|ticket| self.waiting.early.remove(&ticket));
        }
        made
    }

    /// Whether no request in this batch waits for the answers of another batch. Light batches are answered in their
    /// order. A heavy one waits for the light ones that were handed in before it, and for those of its connection.
    fn is_next(&self, ticket: u64) -> bool {
        let oldest_light = self.intake.oldest_light().unwrap_or(u64::MAX);
        let Some(origin) = self.intake.heavy_origin(ticket) else { return ticket == oldest_light };
        let connection = self.connections.get(origin.slot as usize);
        let connection = connection.filter(|connection| connection.generation == origin.generation);
        ticket < oldest_light && connection.is_none_or(|connection| connection.is_next(ticket))
    }

    /// Notes that a batch is answered, so that the next one of its connection may be.
    fn note_answered(&mut self, ticket: u64, heavy: Option<Origin>) {
        let Some(origin) = heavy else { return };
        let connection = self.connections.get_mut(origin.slot as usize);
        if let Some(connection) = connection.filter(|connection| connection.generation == origin.generation) {
            connection.heavy_answered(ticket);
        }
    }

    /// Writes to every connection that got replies or whose socket takes more. Returns how many replies were made on
    /// the way, because there was room for them again.
    pub(crate) fn flush_dirty(&mut self) -> u64 {
        let mut made = 0;
        let mut dirty = std::mem::take(&mut self.dirty);
        for slot in dirty.drain(..) {
            if self.connections.get(slot).is_some_and(|connection| connection.dirty) {
                made += self.flush(slot);
                self.settle(slot);
            }
        }
        // Connections that were added meanwhile were flushed in the same pass.
        self.dirty = dirty;
        let sent = std::mem::take(&mut self.sent_bytes);
        if sent > 0 {
            self.shared.reply_bytes.fetch_add(sent, Ordering::Relaxed);
        }
        made
    }

    /// Makes the replies of a batch.
    fn make_replies(&mut self, mut batch: Box<Batch>) -> u64 {
        let gathered = self.intake.take(&mut batch);
        self.intake.answered(&batch, &gathered);
        self.note_answered(batch.ticket, gathered.heavy);
        let documents = &gathered.documents;
        self.settings.metrics.malformed(documents.refused());
        if batch.is_abandoned() {
            return self.close_abandoned(batch, gathered);
        }
        let mut made = 0;
        let mut requests = 0;
        let kept = self.waiting.next_slot();
        for (request, origin) in gathered.origins.iter().enumerate() {
            let slot = origin.slot as usize;
            let connection = self.connections.get_mut(slot);
            let Some(connection) = connection.filter(|connection| connection.generation == origin.generation) else {
                // The client left without its reply.
                made += 1;
                continue;
            };
            let ops = documents.requests.ops_of(request);
            let mut look_up = match batch.answers[ops].iter().any(needs_look_up) {
                true => LookUpState::ToAsk,
                false => LookUpState::NotNeeded,
            };
            let is_next = connection.later.is_empty() && connection.unsent_bytes() <= self.settings.unsent_bytes_max;
            if is_next && look_up == LookUpState::NotNeeded {
                connection.in_flight -= 1;
                let written = self.waiting.write(&batch, &gathered, request, connection.output(&mut self.spare));
                connection.mark_dirty(slot, &mut self.dirty);
                if written.is_err() {
                    self.close(slot);
                }
                made += 1;
                continue;
            }
            if is_next {
                look_up = LookUpState::Asked;
                self.lookups.wait(*origin);
            }
            connection.later.push_back(Later { kept, request, look_up });
            requests += 1;
        }
        if requests == 0 {
            self.intake.recycle(batch, gathered);
        } else {
            let slot = self.waiting.keep(batch, gathered, requests);
            assert_eq!(slot, kept, "invariant: replies that wait name the slot that the batch is kept in");
            // A look at all connections has its price: between two ticks only when much came at once.
            if self.waiting.kept_bytes() > self.settings.unread_bytes_max / self.settings.workers / 2 {
                self.shed_slow_readers();
            }
        }
        made
    }

    /// Closes the connections of a batch that came back without answers, once they have the answers to earlier
    /// requests. Returns how many requests will have no reply.
    fn close_abandoned(&mut self, batch: Box<Batch>, gathered: BatchReplies) -> u64 {
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
        while let Some(&Later { kept, request, look_up }) = connection.later.front() {
            if look_up.is_awaited() || connection.unsent_bytes() > self.settings.unsent_bytes_max {
                break;
            }
            if look_up == LookUpState::ToAsk {
                connection.later[0].look_up = LookUpState::Asked;
                self.lookups.wait(Origin { slot: slot as u32, generation: connection.generation });
                break;
            }
            connection.later.pop_front();
            connection.in_flight -= 1;
            let written = self.waiting.write_kept(kept, request, connection.output(&mut self.spare));
            self.waiting.request_done(kept, &mut self.intake);
            made += 1;
            if written.is_err() {
                self.shared.add_answered(made, self.now);
                self.close(slot);
                return 0;
            }
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
                        connection.leave_long(&self.shared, &self.mailboxes);
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
