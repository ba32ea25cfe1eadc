//! A worker: its event loop, and the order of the work in one turn. `accept` accepts connections, `sessions` reads and
//! closes them, `handshakes` begins TLS, `asking` queries the history, and `replies` writes replies.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use exchange::Exchange;
use mio::event::Event;
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use crate::acceptor::Acceptor;
use crate::connection::{Connection, Framing, Phase, SpareBuffers};
use crate::counters::Shared;
use crate::frame::next_frame;
use crate::handshaking::Handshaking;
use crate::intake::{Intake, Submitted};
use crate::lookup_queue::LookupQueue;
use crate::mailbox::{Letters, Mailbox};
use crate::settings::Settings;
use crate::waiting_replies::WaitingReplies;

pub(crate) const WAKER: Token = Token(usize::MAX - 1);
const LISTENER: Token = Token(usize::MAX - 2);

/// Time between two checks of connections for timeouts.
const TICK_MS: u64 = 200;
/// Events that are taken from the kernel at once.
const EVENTS_A_TURN: usize = 1024;
/// Bytes that a turn reads from a connection, at most.
const READ_BYTES: usize = 64 << 10;

/// One thread's share of the gateway.
pub(crate) struct Worker {
    pub index: usize,
    pub poll: Poll,
    pub settings: Settings,
    pub shared: Arc<Shared>,
    /// The mailboxes of all workers, this one's included.
    pub mailboxes: Vec<Arc<Mailbox>>,
    pub acceptor: Acceptor,
    pub connections: Slab<Connection>,
    pub handshakes: Handshaking,
    pub framing: Framing,
    pub intake: Intake,
    /// The buffer that every read goes into first.
    pub read_buffer: Vec<u8>,
    /// Connections to read from.
    pub ready: VecDeque<usize>,
    /// Heavy connections to read from, once they were looked at.
    pub heavy_ready: VecDeque<usize>,
    /// Bytes that were read and parsed since this was set to 0.
    pub taken_bytes: usize,
    /// Connections to write to.
    pub dirty: Vec<usize>,
    pub spare: SpareBuffers,
    pub waiting: WaitingReplies,
    pub lookups: LookupQueue,
    /// The time at which this turn began.
    pub now: Instant,
    /// Milliseconds from the start of the worker to that time.
    pub now_ms: u64,
    /// Bytes of replies that the kernel took and that are not counted yet.
    pub sent_bytes: u64,
    /// Bytes of unfinished requests that connections hold.
    pub partial_bytes: usize,
    /// Bytes of answered requests whose replies are still to be made, as they were counted last.
    held_bytes: usize,
    generation: u32,
    started: Instant,
    next_tick_ms: u64,
    letters: Letters,
    draining: bool,
}

impl Worker {
    /// Returns a worker that listens and does not run yet.
    pub fn new(
        index: usize,
        poll: Poll,
        mut listener: TcpListener,
        mailboxes: Vec<Arc<Mailbox>>,
        settings: Settings,
        shared: Arc<Shared>,
        exchange: Arc<dyn Exchange>,
    ) -> io::Result<Worker> {
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let mailbox = Arc::clone(&mailboxes[index]);
        let now = Instant::now();
        Ok(Worker {
            index,
            poll,
            acceptor: Acceptor::new(listener),
            connections: Slab::new(),
            handshakes: Handshaking::new(settings.tls.clone()),
            framing: Framing {
                next: next_frame,
                request_bytes_max: settings.request_bytes_max,
                close_after_reply: settings.close_after_reply,
            },
            intake: Intake::new(
                exchange,
                settings.metrics.clone(),
                mailbox,
                settings.children_max,
                settings.ops_in_flight_max,
            ),
            read_buffer: vec![0; READ_BYTES],
            ready: VecDeque::new(),
            heavy_ready: VecDeque::new(),
            taken_bytes: 0,
            dirty: Vec::new(),
            spare: SpareBuffers::new(),
            waiting: WaitingReplies::new(&settings),
            lookups: LookupQueue::default(),
            settings,
            shared,
            mailboxes,
            now,
            now_ms: 0,
            sent_bytes: 0,
            partial_bytes: 0,
            held_bytes: 0,
            generation: 0,
            started: now,
            next_tick_ms: 0,
            letters: Letters::default(),
            draining: false,
        })
    }

    /// Runs until it is drained. Returns whether every reply was made and sent.
    pub fn run(mut self) -> bool {
        let mut events = Events::with_capacity(EVENTS_A_TURN);
        loop {
            let timeout = self.sleep_at_most();
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => panic!("a worker cannot wait for its sockets: {error}; this is a bug"),
            }
            self.turn(&events);
            if self.draining && self.is_drained() {
                return self.connections.iter().all(|(_, connection)| !connection.is_outstanding());
            }
        }
    }

    /// Returns a number that no other connection of this slot has had for the last 2^32 connections.
    pub fn next_generation(&mut self) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// Runs one turn. Replies come first, for they let clients go on; then new requests, of which the light ones are
    /// gathered into one batch.
    fn turn(&mut self, events: &Events) {
        self.now = Instant::now();
        self.now_ms = u64::try_from((self.now - self.started).as_millis()).unwrap_or(u64::MAX);
        for event in events {
            self.note(event);
        }
        let written = self.read_letters();
        self.ask_history();
        self.heed_orders();
        self.accept();
        self.handshakes.turn_begins();
        self.read_ready();
        if self.now_ms >= self.next_tick_ms {
            self.next_tick_ms = self.now_ms + TICK_MS;
            self.close_overdue();
            self.close_stalled();
            self.shed_slow_readers();
        }
        self.intake.submit();
        if let Submitted { requests, at: Some(at) } = self.intake.take_submitted() {
            self.settings.metrics.parsed(requests, at - written);
            self.shared.add_requests(requests as u64, self.now);
        }
        let held = self.waiting.held_bytes();
        let before = std::mem::replace(&mut self.held_bytes, held);
        if held != before {
            // Of all workers together: a difference below zero wraps, and so does the sum.
            self.shared.held_bytes.fetch_add(held.wrapping_sub(before), Ordering::Relaxed);
        }
    }

    /// Returns how long to wait for events: not at all when some work is left.
    fn sleep_at_most(&self) -> Option<Duration> {
        let to_read = (!self.ready.is_empty() && self.intake.has_room())
            || (!self.heavy_ready.is_empty() && self.intake.has_heavy_room());
        if to_read || self.acceptor.may_accept() || !self.mailboxes[self.index].may_sleep() {
            return Some(Duration::ZERO);
        }
        let idle = self.connections.is_empty() && !self.acceptor.is_paused() && !self.draining;
        (!idle).then(|| Duration::from_millis(self.next_tick_ms.saturating_sub(self.now_ms).max(1)))
    }

    /// Remembers what an event says; the turn acts on it later.
    fn note(&mut self, event: &Event) {
        match event.token() {
            WAKER => {}
            LISTENER => self.acceptor.ready = true,
            Token(slot) => {
                let Some(connection) = self.connections.get_mut(slot) else { return };
                connection.broken |= event.is_error() || event.is_write_closed();
                connection.read_closed |= event.is_read_closed() || connection.broken;
                if event.is_readable() || connection.read_closed {
                    connection.readable = true;
                    connection.queue(slot, &mut self.ready);
                }
                if connection.write_blocked && (event.is_writable() || connection.broken) {
                    connection.write_blocked = false;
                    connection.mark_dirty(slot, &mut self.dirty);
                }
            }
        }
    }

    /// Takes the batches and look-ups that came back, and writes all replies that they complete. Returns the time after
    /// that.
    fn read_letters(&mut self) -> Instant {
        let mut letters = std::mem::take(&mut self.letters);
        letters.nudged = false;
        self.mailboxes[self.index].take(&mut letters);
        let mut answered = 0;
        for batch in letters.batches.drain(..) {
            answered += self.batch_came_back(batch);
        }
        for (origin, found) in letters.found.drain(..) {
            answered += self.looked_up(origin, found);
        }
        for origin in letters.give_way.drain(..) {
            self.give_way(origin);
        }
        for origin in letters.handshakes_give_way.drain(..) {
            self.handshake_gives_way(origin);
        }
        self.letters = letters;
        answered += self.flush_dirty();
        if answered == 0 {
            return self.now;
        }
        let written = Instant::now();
        self.settings.metrics.replied(answered as usize, written - self.now);
        self.shared.add_answered(answered, written);
        written
    }

    /// Follows the orders of the gateway's owner: to stop accepting, or to drain.
    fn heed_orders(&mut self) {
        if self.shared.stop_accepting.load(Ordering::Relaxed) {
            self.acceptor.stop(&self.shared);
        }
        if self.draining || self.shared.drain_until.get().is_none() {
            return;
        }
        self.draining = true;
        self.acceptor.stop(&self.shared);
        let slots: Vec<usize> = self.connections.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if self.connections[slot].stream.is_before_tls() {
                self.close(slot);
                continue;
            }
            if self.connections[slot].phase == Phase::Open {
                self.finish(slot, false);
            }
            self.settle(slot);
        }
    }

    fn is_drained(&self) -> bool {
        let overdue = self.shared.drain_until.get().is_some_and(|until| Instant::now() >= *until);
        self.connections.is_empty() || overdue
    }
}
