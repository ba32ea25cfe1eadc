//! The start of TLS on a connection. Handshakes are bounded: in number, in time, and in what a turn of the worker's
//! loop spends on them, for each takes as long as many orders. A connection that waits for its handshake is not read.

use std::time::{Duration, Instant};

use exchange::NoPlace;
use tls::Protocol;

use crate::connection::{Connection, Phase};
use crate::mailbox::Origin;
use crate::stream::Step;
use crate::worker::Worker;

/// Time that a turn spends on handshakes before it does something else.
const TURN: Duration = Duration::from_millis(1);

/// The answer to a client that speaks no TLS where it is required.
const SPEAK_TLS: &[u8] =
    b"<results><error>this port speaks TLS: connect with it (pricetime send --tls-ca FILE)</error></results>\n";

impl Worker {
    /// Goes on with a connection's handshake, or begins it, if it is its turn.
    pub(crate) fn shake(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let Some(tls) = self.handshakes.tls.clone() else { return };
        if connection.broken {
            return self.handshake_failed(slot, "the connection broke");
        }
        if connection.stream.is_waiting() {
            return;
        }
        let counts = tls.handshakes(Protocol::Xml);
        if !connection.stream.is_shaking() && !connection.stream.speaks_tls() {
            counts.spoke_plain();
            return self.refuse_plain(slot);
        }
        if !connection.stream.has_place() {
            let origin = Origin { slot: slot as u32, generation: connection.generation };
            let (mailbox, source) = (&self.mailboxes[self.index], connection.place.source());
            match self.handshakes.enter_or_wait(mailbox, origin, source) {
                Ok(place) => connection.stream.give_place(place),
                // The next turn begins with the handshakes that give way.
                Err(NoPlace::Soon) => return connection.queue(slot, &mut self.ready),
                Err(NoPlace::Taken | NoPlace::OfAddress(_)) => return connection.stream.wait(counts.wait()),
            }
        }
        if self.handshakes.spent >= TURN {
            return connection.queue(slot, &mut self.ready);
        }
        let began = Instant::now();
        if !connection.stream.is_shaking() {
            if let Err(error) = connection.stream.begin(tls.config(Protocol::Xml), counts.begin()) {
                tracing::error!(%error, "TLS cannot begin on a connection");
                return self.close(slot);
            }
            connection.progress_ms = self.now_ms;
        }
        let step = connection.stream.shake();
        self.handshakes.spent += began.elapsed();
        match step {
            Step::Unfinished => connection.readable = false,
            Step::Blocked => {
                connection.readable = true;
                self.wait_to_write(slot);
            }
            Step::Failed(why) => self.handshake_failed(slot, &why),
            Step::Done => {
                counts.done();
                connection.encrypted();
                connection.progress_ms = self.now_ms;
                // The first request may have come with the end of the handshake; the kernel will not say so again.
                connection.readable = true;
                connection.queue(slot, &mut self.ready);
                self.leave_place();
            }
        }
    }

    /// Gives the place of a handshake that has ended to the next connection that waits for one.
    pub(crate) fn leave_place(&mut self) {
        while let Some(origin) = self.handshakes.waiting.front().copied() {
            let slot = origin.slot as usize;
            let is_it = |connection: &&mut Connection| connection.generation == origin.generation;
            if let Some(connection) = self.connections.get_mut(slot).filter(is_it) {
                let mailbox = &self.mailboxes[self.index];
                let Ok(place) = self.handshakes.enter(mailbox, origin, connection.place.source()) else { return };
                connection.stream.give_place(place);
                connection.progress_ms = self.now_ms;
                connection.queue(slot, &mut self.ready);
            }
            self.handshakes.waiting.pop_front();
        }
    }

    /// Closes a connection whose handshake gives way to one of another address.
    pub(crate) fn handshake_gives_way(&mut self, origin: Origin) {
        let slot = origin.slot as usize;
        let is_it = |connection: &&Connection| connection.generation == origin.generation;
        if self.connections.get(slot).filter(is_it).is_some_and(|connection| connection.stream.is_before_tls()) {
            if let Some(tls) = &self.handshakes.tls {
                tls.handshakes(Protocol::Xml).gave_way();
            }
            self.close(slot);
        }
    }

    /// Closes a connection whose handshake took too long.
    pub(crate) fn give_up_handshake(&mut self, slot: usize) {
        if let Some(tls) = &self.handshakes.tls {
            tls.handshakes(Protocol::Xml).timed_out();
        }
        self.close(slot);
    }

    /// Ends a connection on which TLS cannot begin. It lingers, so that no reset overtakes the alert.
    fn handshake_failed(&mut self, slot: usize, why: &str) {
        if let Some(tls) = &self.handshakes.tls {
            tls.handshakes(Protocol::Xml).failed();
        }
        if self.handshakes.may_log(self.now_ms) {
            tracing::info!(why, "a TLS handshake failed; others are not told of for a while");
        }
        let had_place = self.connections[slot].stream.has_place();
        self.discard_plain(slot, had_place);
    }

    fn refuse_plain(&mut self, slot: usize) {
        if self.handshakes.may_log(self.now_ms) {
            tracing::info!("a client spoke no TLS where TLS is spoken; others are not told of for a while");
        }
        let connection = &mut self.connections[slot];
        let had_place = connection.stream.has_place();
        connection.stream.abandon();
        let _ = connection.stream.write(SPEAK_TLS);
        self.discard_plain(slot, had_place);
    }

    fn discard_plain(&mut self, slot: usize, had_place: bool) {
        let connection = &mut self.connections[slot];
        connection.stream.abandon();
        connection.phase = Phase::Finishing { ended: connection.broken };
        connection.readable = true;
        self.settle(slot);
        if had_place {
            self.leave_place();
        }
    }

    /// Writes again when the socket takes more.
    pub(crate) fn wait_to_write(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        connection.write_blocked = true;
        if !connection.watch_writes(slot, self.poll.registry()) {
            self.close(slot);
        }
    }
}
