//! A worker queries the history. A connection has one request looked up at a time, the one whose reply is next, so that
//! the worker writes at once what it gets and keeps none of it. Short look-ups go before long ones. The number of long
//! replies that are being made, or that clients have not taken, is bounded, so that they never fill the memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use exchange::Lookup;

use crate::connection::{Connection, Later, LookUpState};
use crate::counters::Shared;
use crate::mailbox::{Mailbox, Origin};
use crate::settings::Settings;
use crate::worker::Worker;

/// The part of the bound of unread replies that long replies may take: one in this many.
const LONG_PART: usize = 8;
/// Time without progress after which a client with a long reply is disconnected while others wait for theirs.
const STALLED_MS: u64 = 500;
/// Time after which such a client must have taken all of its long reply.
const HELD_MS: u64 = 5_000;

/// Returns the number of long replies at once, over all workers.
fn long_replies_max(settings: &Settings) -> usize {
    (settings.unread_bytes_max / LONG_PART / settings.reply_bytes_max.max(1)).max(1)
}

impl Connection {
    /// Gives back the connection's place for a long reply, once no such reply is to be made and the client has taken
    /// the last.
    pub(crate) fn leave_long(&mut self, shared: &Shared, workers: &[Arc<Mailbox>]) {
        let asked = self.later.front().is_some_and(|later| later.look_up == LookUpState::Asked);
        if asked || self.long_since_ms.take().is_none() {
            return;
        }
        shared.long_replies.fetch_sub(1, Ordering::SeqCst);
        if shared.long_replies_wanted.load(Ordering::SeqCst) > 0 {
            workers.iter().for_each(|mailbox| mailbox.nudge());
        }
    }
}

impl Worker {
    /// Queries the history as far as there is room for its answers.
    pub(crate) fn ask_history(&mut self) {
        while let Some(origin) = self.lookups.next_short() {
            if let Some(lookup) = self.lookup_of(origin, false) {
                self.lookups.asked(&lookup);
                self.intake.look_up(lookup);
            }
        }
        while let Some(origin) = self.lookups.first_long() {
            let lookup = self.lookup_of(origin, true);
            if lookup.is_some() && !self.enter_long(origin) {
                break;
            }
            self.lookups.leave_first_long();
            self.shared.long_replies_wanted.fetch_sub(1, Ordering::SeqCst);
            if let Some(lookup) = lookup {
                self.lookups.asked(&lookup);
                self.intake.look_up(lookup);
            }
        }
    }

    /// Writes the reply that waited for a look-up, and those that waited behind it. Returns how many.
    pub(crate) fn looked_up(&mut self, origin: Origin, lookup: Lookup) -> u64 {
        self.lookups.answered(&lookup);
        let Some(connection) = self.connections.get_mut(origin.slot as usize) else { return 0 };
        if connection.generation != origin.generation {
            return 0;
        }
        if lookup.is_too_short() {
            self.lookups.wait_for_long(origin);
            self.shared.long_replies_wanted.fetch_add(1, Ordering::SeqCst);
            return 0;
        }
        let later = connection.later.front_mut().expect("invariant: a reply waits until its look-up is answered");
        later.look_up = LookUpState::NotNeeded;
        let Later { kept, request, .. } = *later;
        self.waiting.fill(kept, request, lookup, &self.settings.metrics);
        let made = self.make_waiting(origin.slot as usize);
        self.waiting.empty(kept);
        made
    }

    /// Disconnects clients that do not take their long replies while others wait for one.
    pub(crate) fn close_stalled(&mut self) {
        if self.shared.long_replies_wanted.load(Ordering::SeqCst) == 0 {
            return;
        }
        let now_ms = self.now_ms;
        let is_stalled = |connection: &Connection| {
            let stalled = now_ms.saturating_sub(connection.progress_ms) >= STALLED_MS;
            let held = connection.long_since_ms.is_some_and(|since_ms| now_ms.saturating_sub(since_ms) >= HELD_MS);
            connection.long_since_ms.is_some() && connection.unsent_bytes() > 0 && (stalled || held)
        };
        let stalled = self.connections.iter().filter(|(_, connection)| is_stalled(connection));
        let stalled: Vec<usize> = stalled.map(|(slot, _)| slot).collect();
        stalled.iter().for_each(|&slot| self.close(slot));
        self.note_shed(stalled.len() as u64);
    }

    /// Returns a look-up for a connection's next reply; `None` when the connection is gone.
    fn lookup_of(&self, origin: Origin, long: bool) -> Option<Lookup> {
        let connection = self.connections.get(origin.slot as usize)?;
        let Later { kept, request, .. } =
            *connection.later.front().filter(|_| connection.generation == origin.generation)?;
        Some(self.waiting.lookup_of(kept, request, origin, long, &self.mailboxes[self.index]))
    }

    /// Takes a place for a long reply, unless all are taken or the connection has one.
    fn enter_long(&mut self, origin: Origin) -> bool {
        let connection = &mut self.connections[origin.slot as usize];
        if connection.long_since_ms.is_some() {
            return true;
        }
        let max = long_replies_max(&self.settings);
        let free = |taken: usize| (taken < max).then(|| taken + 1);
        let entered = self.shared.long_replies.fetch_update(Ordering::SeqCst, Ordering::SeqCst, free).is_ok();
        connection.long_since_ms = entered.then_some(self.now_ms);
        entered
    }
}
