//! The life of a connection: the worker reads from it in its turn, and closes it so that the client gets every reply
//! and then the end of the stream.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use exchange::GAVE_WAY;

use crate::connection::{Connection, LIGHT_BYTES, Phase, Received};
use crate::mailbox::Origin;
use crate::settings::Settings;
use crate::worker::Worker;

/// Time for which input is discarded after the end of the stream was sent.
const LINGER_MS: u64 = 1000;
/// Bytes of input that are discarded then, at most.
const LINGER_BYTES: usize = 1 << 20;

/// Bytes of heavy connections that a turn reads and parses before light ones have their turn again.
const HEAVY_BYTES_A_TURN: usize = 256 << 10;

impl Connection {
    /// Puts it on the list of connections to read from, once.
    pub(crate) fn queue(&mut self, slot: usize, ready: &mut VecDeque<usize>) {
        if !self.queued {
            self.queued = true;
            ready.push_back(slot);
        }
    }

    /// Puts it on the list of connections to write to, once.
    pub(crate) fn mark_dirty(&mut self, slot: usize, dirty: &mut Vec<usize>) {
        if !self.dirty {
            self.dirty = true;
            dirty.push(slot);
        }
    }

    /// Whether further requests may be read now: not while the connection waits for the history, or for its client to
    /// read.
    fn may_read(&self, settings: &Settings) -> bool {
        self.phase == Phase::Open
            && self.later.is_empty()
            && (self.in_flight as usize) < settings.requests_in_flight_max
            && self.unsent_bytes() <= settings.unsent_bytes_max
    }
}

impl Worker {
    /// Reads once from each connection that was on the list at the start; the rest waits for the next turn. Heavy
    /// connections come last, as many as a turn has time for.
    pub(crate) fn read_ready(&mut self) {
        for _ in 0..self.ready.len() {
            let Some(slot) = self.ready.pop_front() else { break };
            let Some(connection) = self.connections.get_mut(slot) else { continue };
            if !connection.queued {
                continue;
            }
            if connection.is_heavy() {
                self.heavy_ready.push_back(slot);
                continue;
            }
            if connection.phase == Phase::Open && !self.intake.has_room() {
                self.ready.push_back(slot);
                continue;
            }
            connection.queued = false;
            self.read(slot);
        }
        self.read_heavy();
    }

    /// Reads once from each heavy connection, in turn, until this turn of the worker has parsed enough of them.
    fn read_heavy(&mut self) {
        self.taken_bytes = 0;
        for _ in 0..self.heavy_ready.len() {
            if self.taken_bytes >= HEAVY_BYTES_A_TURN || !self.intake.has_heavy_room() {
                return;
            }
            let Some(slot) = self.heavy_ready.pop_front() else { return };
            let Some(connection) = self.connections.get_mut(slot).filter(|connection| connection.queued) else {
                continue;
            };
            connection.queued = false;
            self.read(slot);
        }
    }

    /// Reads from a connection, once.
    pub(crate) fn read(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        if connection.stream.is_before_tls() {
            return self.shake(slot);
        }
        let bytes_max = if connection.is_heavy() { self.read_buffer.len() } else { LIGHT_BYTES };
        let buffer = &mut self.read_buffer[..bytes_max];
        let received = match connection.phase {
            Phase::Open if connection.may_read(&self.settings) => connection.receive(buffer),
            Phase::Open | Phase::Finishing { .. } if connection.broken => return self.close(slot),
            // The connection stays readable, and is read when its replies have been sent.
            Phase::Open | Phase::Finishing { .. } => return,
            Phase::Lingering { .. } => return self.discard(slot),
        };
        match received {
            Received::Nothing => {}
            Received::Broken => self.close(slot),
            Received::End => {
                self.cut(slot);
                self.finish(slot, true);
                self.settle(slot);
            }
            Received::Bytes(count) => {
                let bytes = &self.read_buffer[..count];
                let partial_before = connection.partial_bytes();
                let requests = connection.take_in(bytes, slot, &mut self.intake, self.framing);
                self.taken_bytes += count + if requests > 0 { partial_before } else { 0 };
                self.partial_bytes = self.partial_bytes - partial_before + connection.partial_bytes();
                self.refuse_largest_partial();
                let connection = &mut self.connections[slot];
                if requests > 0 && connection.unsent_bytes() == 0 {
                    connection.progress_ms = self.now_ms;
                }
                if !connection.readable {
                    return;
                }
                if count < bytes_max {
                    // All bytes were read, and the end of the stream is next.
                    return self.read(slot);
                }
                connection.queue(slot, &mut self.ready);
            }
        }
    }

    /// Answers an unfinished request, whose end will not arrive.
    fn cut(&mut self, slot: usize) {
        self.connections[slot].cut(slot, &mut self.intake);
    }

    /// Stops reading requests of a connection, and drops a partial one.
    pub(crate) fn finish(&mut self, slot: usize, ended: bool) {
        let connection = &mut self.connections[slot];
        self.partial_bytes -= connection.partial_bytes();
        connection.finish(ended);
        connection.depart(slot, &mut self.intake);
    }

    /// Goes on reading, or closes the connection, after replies were sent or reading ended.
    pub(crate) fn settle(&mut self, slot: usize) {
        let Some(connection) = self.connections.get_mut(slot) else { return };
        match connection.phase {
            Phase::Open => {
                if connection.readable && connection.may_read(&self.settings) {
                    connection.queue(slot, &mut self.ready);
                }
            }
            Phase::Finishing { .. } if connection.is_outstanding() => {}
            // A client that has ended its stream may get an end too, and does not need it.
            Phase::Finishing { ended: true } => {
                let _ = connection.stream.say_end();
                self.close(slot);
            }
            Phase::Finishing { ended: false } => match connection.linger(self.now_ms) {
                Ok(()) if connection.readable => connection.queue(slot, &mut self.ready),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.progress_ms = self.now_ms;
                    self.wait_to_write(slot);
                }
                Err(_) => self.close(slot),
            },
            Phase::Lingering { .. } => {}
        }
    }

    /// Closes the socket and forgets the connection. Replies that are still to come find it gone.
    pub(crate) fn close(&mut self, slot: usize) {
        let Some(mut connection) = self.connections.try_remove(slot) else { return };
        connection.release(&mut self.spare);
        connection.depart(slot, &mut self.intake);
        self.partial_bytes -= connection.partial_bytes();
        if !connection.later.is_empty() {
            self.shared.add_answered(connection.later.len() as u64, self.now);
        }
        for later in connection.later.drain(..) {
            self.waiting.request_done(later.kept, &mut self.intake);
        }
        connection.leave_long(&self.shared, &self.mailboxes);
        let had_place = connection.stream.has_place();
        drop(connection);
        if had_place {
            self.leave_place();
        }
        self.shared.connections_open.fetch_sub(1, Ordering::SeqCst);
        self.shared.connections_closed.fetch_add(1, Ordering::SeqCst);
        if self.shared.workers_paused.load(Ordering::SeqCst) > 0 {
            self.mailboxes.iter().for_each(|mailbox| mailbox.nudge());
        }
    }

    /// Closes a connection whose place goes to another. The client gets the reason, unless that could be taken for the
    /// reply to a request.
    pub(crate) fn give_way(&mut self, origin: Origin) {
        let slot = origin.slot as usize;
        let is_it = |connection: &&mut Connection| connection.generation == origin.generation;
        let Some(connection) = self.connections.get_mut(slot).filter(is_it) else { return };
        if connection.phase == Phase::Open && !connection.stream.is_before_tls() && !connection.is_outstanding() {
            // Bytes that arrived are read, or the system would answer them with a reset that may overtake the message.
            let _ = connection.stream.read(&mut self.read_buffer);
            let _ = connection.stream.write(format!("<results><error>{GAVE_WAY}</error></results>\n").as_bytes());
            let _ = connection.stream.end();
        }
        self.close(slot);
    }

    /// Closes connections that were idle, blocked or lingering for too long.
    pub(crate) fn close_overdue(&mut self) {
        let idle_ms = match self.settings.idle_timeout {
            Duration::ZERO => u64::MAX,
            timeout => u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        };
        let overdue: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| {
                let limit_ms = match connection.phase {
                    Phase::Open if connection.stream.is_before_tls() => self.handshakes.patience_ms(&connection.stream),
                    Phase::Lingering { .. } => LINGER_MS,
                    Phase::Open | Phase::Finishing { .. } if connection.unsent_bytes() > 0 => idle_ms,
                    Phase::Open if connection.in_flight == 0 => idle_ms,
                    // The end of the stream waits for room in the socket.
                    Phase::Finishing { .. } if !connection.is_outstanding() => LINGER_MS,
                    Phase::Open | Phase::Finishing { .. } => u64::MAX,
                };
                self.now_ms.saturating_sub(connection.progress_ms) >= limit_ms
            })
            .map(|(slot, _)| slot)
            .collect();
        for slot in overdue {
            let connection = &mut self.connections[slot];
            if connection.stream.is_before_tls() {
                self.give_up_handshake(slot);
            } else if connection.phase == Phase::Open && !connection.is_outstanding() {
                self.cut(slot);
                self.finish(slot, false);
                self.settle(slot);
            } else {
                self.close(slot);
            }
        }
    }

    fn discard(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        match connection.receive(&mut self.read_buffer) {
            Received::Nothing => {}
            Received::End | Received::Broken => self.close(slot),
            Received::Bytes(count) => {
                let Phase::Lingering { discarded } = &mut connection.phase else { return };
                *discarded += count;
                if *discarded > LINGER_BYTES {
                    self.close(slot);
                } else if connection.readable {
                    connection.queue(slot, &mut self.ready);
                }
            }
        }
    }
}
