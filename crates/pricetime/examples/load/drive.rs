//! The loop: keeps every connection's requests in flight until the run ends, then waits for what is outstanding.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Interest, Poll, Token};

use crate::connection::{Connection, Received};
use crate::tally::Tally;
use crate::workload::Workload;

/// How long no reply may come before the outstanding ones are given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// Failed connections after which a run ends.
const BROKEN_MAX: u64 = 100;
const SCRATCH_BYTES: usize = 64 << 10;

/// What to do.
pub struct Plan {
    pub to: SocketAddr,
    pub connections: usize,
    /// Requests in flight on each connection.
    pub depth: usize,
    pub connection_per_request: bool,
    pub requests_max: u64,
    pub time: Option<Duration>,
    /// Take turns with loopback source addresses.
    pub rotate_sources: bool,
}

/// Runs the load. Errors: the first connections cannot be made.
pub fn run(plan: &Plan, workload: &mut Workload) -> io::Result<Tally> {
    let mut driver = Driver {
        plan,
        workload,
        tally: Tally::new(),
        poll: Poll::new()?,
        slots: (0..plan.connections).map(|_| None).collect(),
        in_flight: 0,
        deadline: None,
        sources: 0,
    };
    if !plan.connection_per_request {
        driver.connect_all()?;
    }
    let started = Instant::now();
    driver.deadline = plan.time.map(|time| started + time);
    driver.begin();
    let last_reply = driver.turn_until_done(started)?;
    driver.tally.elapsed = last_reply.saturating_duration_since(started);
    Ok(driver.tally)
}

struct Driver<'a> {
    plan: &'a Plan,
    workload: &'a mut Workload,
    tally: Tally,
    poll: Poll,
    slots: Vec<Option<Connection>>,
    in_flight: u64,
    deadline: Option<Instant>,
    /// Connections made, for the turn of source addresses.
    sources: u32,
}

impl Driver<'_> {
    fn connect_all(&mut self) -> io::Result<()> {
        for number in 0..self.slots.len() {
            let mut connection = Connection::start(self.plan.to, None)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut connection.stream, Token(number), interest)?;
            self.slots[number] = Some(connection);
        }
        Ok(())
    }

    fn begin(&mut self) {
        for number in 0..self.slots.len() {
            let now = Instant::now();
            if self.plan.connection_per_request {
                self.reopen(number, now);
            } else {
                self.send(number, self.plan.depth, now);
            }
        }
    }

    /// Returns when the last reply came.
    fn turn_until_done(&mut self, started: Instant) -> io::Result<Instant> {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; SCRATCH_BYTES];
        let mut last_reply = started;
        while self.in_flight > 0 && self.tally.broken < BROKEN_MAX {
            let before = self.tally.answered;
            match self.poll.poll(&mut events, Some(PATIENCE)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                self.serve(event, &mut scratch);
            }
            let now = Instant::now();
            if self.tally.answered > before {
                last_reply = now;
            } else if now.saturating_duration_since(last_reply) >= PATIENCE {
                self.tally.broken(format_args!("no reply for {} s", PATIENCE.as_secs()));
                break;
            }
        }
        Ok(last_reply)
    }

    fn serve(&mut self, event: &Event, scratch: &mut [u8]) {
        let number = event.token().0;
        if event.is_writable() {
            let flushed = self.slots[number].as_mut().map_or(Ok(true), |connection| connection.flush());
            if let Err(error) = flushed {
                return self.give_up(number, &error.to_string());
            }
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.receive(number, event.is_read_closed(), scratch);
        }
    }

    fn receive(&mut self, number: usize, until_closed: bool, scratch: &mut [u8]) {
        let Some(connection) = self.slots[number].as_mut() else { return };
        let (tally, workload) = (&mut self.tally, &*self.workload);
        let now = Instant::now();
        let mut answered = 0;
        let received = connection.receive(scratch, until_closed, |reply, sent_at| {
            match sent_at.pop_front() {
                Some(sent) => {
                    answered += 1;
                    tally.answered(now.saturating_duration_since(sent));
                    if !workload.accepts(reply) {
                        tally.wrong(reply);
                    }
                }
                None => tally.wrong(reply),
            };
        });
        self.in_flight -= answered as u64;
        if self.plan.connection_per_request && answered > 0 {
            return self.reopen(number, now);
        }
        match received {
            Ok(Received::Open) => self.send(number, answered, now),
            Ok(Received::Closed) => self.give_up(number, "closed by the server"),
            Err(error) => self.give_up(number, &error.to_string()),
        }
    }

    /// Sends up to `count` requests, as long as the run goes on.
    fn send(&mut self, number: usize, count: usize, now: Instant) {
        let Some(connection) = self.slots[number].as_mut() else { return };
        let left = if self.deadline.is_some_and(|deadline| now >= deadline) {
            0
        } else {
            self.plan.requests_max.saturating_sub(self.tally.sent).min(count as u64)
        };
        if left == 0 {
            return;
        }
        for _ in 0..left {
            self.workload.append_next(&mut connection.out);
            connection.sent_at.push_back(now);
        }
        self.in_flight += left;
        self.tally.sent += left;
        if let Err(error) = connection.flush() {
            self.give_up(number, &error.to_string());
        }
    }

    /// Closes what is there, and sends one request on a new connection.
    fn reopen(&mut self, number: usize, now: Instant) {
        self.slots[number] = None;
        if self.deadline.is_some_and(|deadline| now >= deadline) || self.tally.sent >= self.plan.requests_max {
            return;
        }
        let source = self.plan.rotate_sources.then_some(self.sources);
        self.sources = self.sources.wrapping_add(1);
        // Over loopback a connection stands when connect returns, so the request is written before anything is awaited.
        let opened = Connection::start(self.plan.to, source).map(|connection| self.slots[number] = Some(connection));
        if let Err(error) = opened {
            return self.give_up(number, &error.to_string());
        }
        self.send(number, 1, now);
        let Some(connection) = self.slots[number].as_mut() else { return };
        let interest = match connection.out.is_empty() {
            true => Interest::READABLE,
            false => Interest::READABLE | Interest::WRITABLE,
        };
        if let Err(error) = self.poll.registry().register(&mut connection.stream, Token(number), interest) {
            self.give_up(number, &error.to_string());
        }
    }

    /// Counts a connection as broken and its requests as lost; where each request has its own, goes on with the next.
    fn give_up(&mut self, number: usize, why: &str) {
        self.tally.broken(why);
        if let Some(connection) = self.slots[number].take() {
            self.in_flight -= connection.sent_at.len() as u64;
        }
        if self.plan.connection_per_request && self.tally.broken < BROKEN_MAX {
            self.reopen(number, Instant::now());
        }
    }
}
