//! A worker queries the history. A connection has one request looked up at a time, the one whose reply is next, so that
//! the worker writes at once what it gets and keeps none of it. Short look-ups go before long ones. The number of long
//! replies that are being made, or that clients have not taken, is bounded, so that they never fill the memory. A
//! client has one at a time, over all its connections.

use std::sync::Arc;

use exchange::{Lookup, Source};

use crate::connection::{Connection, Later, LongPlace, LookUpState};
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
pub(crate) fn long_replies_max(settings: &Settings) -> usize {
    (settings.unread_bytes_max / LONG_PART / settings.reply_bytes_max.max(1)).max(1)
}

impl Connection {
    /// Gives back the connection's place for a long reply, once no such reply is being made and the client has taken
    /// the last.
    pub(crate) fn leave_long(&mut self, shared: &Shared, workers: &[Arc<Mailbox>]) {
        if self.long.is_none() || self.look_up() == Some(LookUpState::AskedLong) {
            return;
        }
        let Some(place) = self.long.take() else { return };
        shared.long_places.give_back(place.client);
        if shared.long_places.next().is_some() {
            workers.iter().for_each(|mailbox| mailbox.nudge());
        }
    }

    /// Returns the need of its next reply for the history.
    fn look_up(&self) -> Option<LookUpState> {
        self.later.front().map(|later| later.look_up)
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
        let mut changed = false;
        while let Some((client, origin)) = self.next_long() {
            changed = true;
            let Some(lookup) = self.lookup_of(origin, true) else {
                self.lookups.leave_first_long(client);
                self.shared.long_places.leave(client);
                continue;
            };
            // Another worker may have been faster.
            if self.enter_long(client, origin) {
                self.lookups.leave_first_long(client);
                self.lookups.asked(&lookup);
                self.intake.look_up(lookup);
            }
        }
        // The next client may wait at another worker.
        if changed && self.shared.long_places.next().is_some() {
            self.mailboxes.iter().for_each(|mailbox| mailbox.nudge());
        }
    }

    /// Returns the client whose turn it is for a long reply, and its connection that waits here.
    fn next_long(&self) -> Option<(Source, Origin)> {
        if !self.lookups.may_ask_long() {
            return None;
        }
        let client = self.shared.long_places.next()?;
        Some((client, self.lookups.first_long(client)?))
    }

    /// Writes the reply that waited for a look-up, and those that waited behind it. Returns how many.
    pub(crate) fn looked_up(&mut self, origin: Origin, lookup: Lookup) -> u64 {
        self.lookups.answered(&lookup);
        let Some(connection) = self.connections.get_mut(origin.slot as usize) else { return 0 };
        if connection.generation != origin.generation {
            return 0;
        }
        let client = connection.client();
        let later = connection.later.front_mut().expect("invariant: a reply waits until its look-up is answered");
        if lookup.is_too_short() {
            later.look_up = LookUpState::WaitsForLong;
            self.lookups.wait_for_long(client, origin);
            self.shared.long_places.wait(client);
            if connection.unsent_bytes() == 0 {
                connection.leave_long(&self.shared, &self.mailboxes);
            }
            return 0;
        }
        later.look_up = LookUpState::NotNeeded;
        let Later { kept, request, .. } = *later;
        self.waiting.fill(kept, request, lookup, &self.settings.metrics);
        let made = self.make_waiting(origin.slot as usize);
        self.waiting.empty(kept);
        made
    }

    /// Disconnects clients that do not take their long replies while others wait for one.
    pub(crate) fn close_stalled(&mut self) {
        let waiting = self.shared.long_places.waiting();
        if waiting == 0 {
            return;
        }
        let now_ms = self.now_ms;
        let is_stalled = |connection: &Connection| {
            let Some(place) = connection.long.as_ref().filter(|_| connection.unsent_bytes() > 0) else { return false };
            let others = waiting.saturating_sub(usize::from(connection.look_up() == Some(LookUpState::WaitsForLong)));
            let stalled = now_ms.saturating_sub(connection.progress_ms) >= STALLED_MS;
            others > 0 && (stalled || now_ms.saturating_sub(place.since_ms) >= HELD_MS)
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

    /// Gives a client's connection a place for a long reply. Returns false if it is another client's turn.
    fn enter_long(&mut self, client: Source, origin: Origin) -> bool {
        if !self.shared.long_places.enter(client) {
            return false;
        }
        let connection = &mut self.connections[origin.slot as usize];
        if let Some(later) = connection.later.front_mut() {
            later.look_up = LookUpState::AskedLong;
        }
        // Its earlier one, if any, was another member's that asked over this connection.
        if let Some(earlier) = connection.long.replace(Box::new(LongPlace { client, since_ms: self.now_ms })) {
            self.shared.long_places.give_back(earlier.client);
        }
        true
    }
}
