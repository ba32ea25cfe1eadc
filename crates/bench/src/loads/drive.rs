//! The loop of one thread: sends what is due and takes replies, until the run ends and nothing is outstanding.
//!
//! In a closed loop a connection sends again when it is answered. In an open one requests leave on a schedule, whatever
//! the server does, and their latency counts from the scheduled time.

use std::io;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Interest, Poll, Token};

use super::clock::{self, Schedule};
use super::connection::{Connection, Received, SentRequest};
use super::observer::{Observer, OpenedOrder};
use super::replies::{self, Framing, Kind};
use super::result::LoadResult;
use super::workload::{Verdict, Workload};
use super::{GRACE, Plan, Share};
use crate::machine::interrupt;

/// Failed connections after which a run ends.
const BROKEN_MAX: u64 = 100;
const SCRATCH_BYTES: usize = 64 << 10;
/// Source ports that are tried for a connection when one after the other is taken.
const PORTS_TRIED_MAX: u32 = 1_000;
/// New connections that are made before replies are read again.
const OPENED_AT_ONCE: usize = 64;
/// The time before a request from which the loop polls without sleeping: the system's sleep is coarser.
const SPIN: Duration = Duration::from_micros(1_500);
/// Time between two looks of a waiting thread whether it waits too long.
const GLANCE: Duration = Duration::from_millis(100);

/// One thread's loop, ready to start.
pub struct Driver<'a> {
    plan: &'a Plan,
    share: &'a Share,
    workload: &'a mut Workload,
    /// The observers, whose tokens follow those of the slots.
    observers: Vec<Box<dyn Observer>>,
    result: LoadResult,
    poll: Poll,
    slots: Vec<Option<Connection>>,
    framing: Framing,
    in_flight: u64,
    /// Connections open now.
    connected: u64,
    /// Connections made so far, for the turn of source addresses.
    made: u32,
    measured_from: Instant,
    deadline: Option<Instant>,
    /// The time at which the loop first saw the measured part, and the processor time used until then.
    measuring: Option<(Instant, Duration)>,
    /// The schedule of an open loop.
    schedule: Option<Schedule>,
    /// The next connection to send on in an open loop.
    turn: usize,
    /// Slots without a connection, where an open loop makes one for each request.
    free: Vec<usize>,
    /// Whether a request of the schedule found none of them.
    waited_for_slot: bool,
}

impl<'a> Driver<'a> {
    /// Makes the connections that stay. Errors: those that cannot be made.
    pub fn connect(
        plan: &'a Plan,
        share: &'a Share,
        workload: &'a mut Workload,
        observers: Vec<Box<dyn Observer>>,
    ) -> io::Result<Driver<'a>> {
        let mut driver = Driver {
            plan,
            share,
            workload,
            observers,
            result: LoadResult::default(),
            poll: Poll::new()?,
            slots: (0..share.connections).map(|_| None).collect(),
            framing: plan.framing,
            in_flight: 0,
            connected: 0,
            made: share.first_source,
            measured_from: Instant::now(),
            deadline: None,
            measuring: None,
            schedule: None,
            turn: 0,
            free: Vec::new(),
            waited_for_slot: false,
        };
        driver.result.source_addresses = u64::from(plan.sources.addresses);
        if !plan.per_request {
            driver.connect_all()?;
        }
        let (registry, first) = (driver.poll.registry(), share.connections);
        for (number, observer) in driver.observers.iter_mut().enumerate() {
            observer.register(registry, Token(first + number))?;
        }
        Ok(driver)
    }

    /// Runs the load, to its end or until a signal asks to stop. Errors: the system's, about waiting for events.
    pub fn run(mut self) -> io::Result<LoadResult> {
        self.start_clock();
        self.go()?;
        self.result.counts.lost += self.in_flight;
        if let Some((at, cpu)) = self.measuring {
            let used = clock::own_cpu().saturating_sub(cpu);
            self.result.cpu_share = used.as_secs_f64() / at.elapsed().as_secs_f64().max(1e-9);
        }
        // The observers finish in this thread: another one would read them late.
        self.observers.iter_mut().for_each(|observer| observer.finish());
        Ok(self.result)
    }

    fn start_clock(&mut self) {
        let started = Instant::now();
        self.measured_from = started + self.plan.warmup;
        self.deadline = self.plan.duration.map(|duration| self.measured_from + duration);
        self.schedule = self.share.rate.map(|rate| Schedule { start: started + self.share.offset, rate, number: 0 });
        if self.plan.per_request && self.schedule.is_some() {
            self.free = (0..self.slots.len()).rev().collect();
        }
    }

    fn go(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut scratch = vec![0; SCRATCH_BYTES];
        if self.schedule.is_none() {
            self.begin(&mut events, &mut scratch)?;
        }
        let mut last_life = Instant::now();
        while self.result.counts.broken < BROKEN_MAX && !interrupt::is_asked() {
            let now = Instant::now();
            self.note_measuring(now);
            self.send_due(now);
            let coming = self.until_next_due(now);
            if self.in_flight == 0 && coming.is_none() {
                break;
            }
            let replies = self.turn_once(&mut events, &mut scratch, coming.map_or(GLANCE, clock::coarse(SPIN)))?;
            if replies || self.in_flight == 0 {
                last_life = now;
            } else if last_life.elapsed() >= self.plan.server.patience {
                self.result.broken(&format_args!("no reply for {} s", self.plan.server.patience.as_secs_f64()));
                break;
            }
        }
        Ok(())
    }

    fn note_measuring(&mut self, now: Instant) {
        if self.measuring.is_none() && now >= self.measured_from {
            self.measuring = Some((now, clock::own_cpu()));
        }
    }

    /// Waits for events and serves them. Returns whether a reply came.
    fn turn_once(&mut self, events: &mut Events, scratch: &mut [u8], wait: Duration) -> io::Result<bool> {
        match self.poll.poll(events, Some(wait)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            other => other?,
        }
        let mut replies = false;
        for event in events.iter() {
            replies |= self.serve(event, scratch);
        }
        if wait.is_zero() && events.is_empty() {
            // The server may run on this core, too.
            std::thread::yield_now();
        }
        Ok(replies)
    }

    fn connect_all(&mut self) -> io::Result<()> {
        for number in 0..self.slots.len() {
            let connection = Connection::start(&self.plan.server, None)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            connection.register(self.poll.registry(), Token(number), interest)?;
            self.put(number, connection);
        }
        Ok(())
    }

    /// Takes the next source address and port, and skips those that are taken.
    fn new_connection(&mut self) -> io::Result<Connection> {
        let mut tries = 0;
        loop {
            let source = self.plan.sources.address(self.made);
            self.made = self.made.wrapping_add(1);
            tries += 1;
            match Connection::start(&self.plan.server, source) {
                Err(error) if source.is_some() && is_taken(&error) && tries < PORTS_TRIED_MAX => {}
                other => return other,
            }
        }
    }

    fn put(&mut self, number: usize, connection: Connection) {
        self.slots[number] = Some(connection);
        self.connected += 1;
        self.result.connections_max = self.result.connections_max.max(self.connected);
    }

    fn take(&mut self, number: usize) -> Option<Connection> {
        let taken = self.slots[number].take();
        self.connected -= u64::from(taken.is_some());
        taken
    }

    /// Fills every connection of a closed loop.
    fn begin(&mut self, events: &mut Events, scratch: &mut [u8]) -> io::Result<()> {
        for number in 0..self.slots.len() {
            if interrupt::is_asked() {
                return Ok(());
            }
            let depth = if self.plan.per_request { 1 } else { self.plan.load.depth };
            self.send(number, depth, Instant::now());
            if self.plan.per_request && number % OPENED_AT_ONCE == OPENED_AT_ONCE - 1 {
                self.turn_once(events, scratch, Duration::ZERO)?;
            }
        }
        Ok(())
    }

    /// Returns how many of `count` requests may still be sent.
    fn budget(&self, count: u64, at: Instant) -> u64 {
        let sent = self.result.counts.sent;
        let grace = if sent == 0 { GRACE } else { Duration::ZERO };
        if let Some(deadline) = self.deadline.filter(|deadline| at >= *deadline) {
            // Everything came too late: one request is enough for a figure.
            u64::from(at < deadline + grace).min(count)
        } else if at < self.measured_from {
            count
        } else {
            self.share.requests.saturating_sub(sent).min(count)
        }
    }

    /// Sends what the schedule of an open loop has by now.
    fn send_due(&mut self, now: Instant) {
        while let Some(at) = self.schedule.as_ref().map(Schedule::next).filter(|at| *at <= now) {
            if self.budget(1, at) == 0 {
                return;
            }
            let number = if self.plan.per_request { self.free.pop() } else { self.next_connection() };
            let Some(number) = number else {
                self.waited_for_slot = self.plan.per_request;
                return;
            };
            self.send_now(number, 1, at);
            let lag = now.saturating_duration_since(at);
            if let Some(schedule) = &mut self.schedule {
                schedule.number += 1;
            }
            // Time that a request waited for the server is not the generator's lag.
            if at >= self.measured_from && !std::mem::take(&mut self.waited_for_slot) {
                self.result.lag_ns.saturating_record((lag.as_nanos() as u64).max(1));
            }
        }
    }

    /// Returns the time until something must be sent; `None` when nothing more is to be.
    fn until_next_due(&self, now: Instant) -> Option<Duration> {
        let at = self.schedule.as_ref()?.next();
        let nobody = !self.plan.per_request && self.connected == 0;
        if nobody || self.budget(1, at) == 0 {
            return None;
        }
        // Where all slots are busy the schedule waits for a reply, and polling gains nothing.
        let full = self.plan.per_request && self.free.is_empty();
        Some(if full { GLANCE } else { at.saturating_duration_since(now) })
    }

    fn next_connection(&mut self) -> Option<usize> {
        for _ in 0..self.slots.len() {
            let number = self.turn;
            self.turn = (number + 1) % self.slots.len();
            if self.slots[number].is_some() {
                return Some(number);
            }
        }
        None
    }

    /// Serves an event. Returns whether a reply came.
    fn serve(&mut self, event: &Event, scratch: &mut [u8]) -> bool {
        let number = event.token().0;
        if let Some(observer) = number.checked_sub(self.slots.len()) {
            self.observers[observer].ready();
            return false;
        }
        if event.is_writable() {
            self.flush(number);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            return self.receive(number, event.is_read_closed(), scratch);
        }
        false
    }

    fn receive(&mut self, number: usize, until_closed: bool, scratch: &mut [u8]) -> bool {
        let Some(connection) = self.slots[number].as_mut() else { return false };
        let now = Instant::now();
        let mut answered = 0;
        let note_orders = self.plan.note_orders;
        let (result, workload) = (&mut self.result, &mut *self.workload);
        let received = connection.receive(scratch, &mut self.framing, until_closed, |reply, sent| match sent {
            Some(sent) => {
                answered += 1;
                let right = count(result, workload, &sent, reply, now);
                if note_orders && right {
                    note_order(result, &sent, reply);
                }
            }
            None => {
                result.wrong("a reply that nobody asked for", reply);
            }
        });
        self.in_flight -= answered;
        if self.plan.per_request && answered > 0 {
            self.next_after(number, now);
            return true;
        }
        match received {
            Ok(Received::Open) if self.schedule.is_none() => self.send(number, answered, now),
            Ok(Received::Open) => {}
            Ok(Received::Closed) => self.give_up(number, &"closed by the server before its reply"),
            Err(error) => self.give_up(number, &error),
        }
        answered > 0
    }

    /// Sends up to `count` requests, as long as the run goes on. Where each has its own connection, closes the previous
    /// one.
    fn send(&mut self, number: usize, count: u64, now: Instant) {
        if self.plan.per_request {
            self.take(number);
        }
        let count = self.budget(count, now);
        if count > 0 {
            self.send_now(number, count, now);
        }
    }

    fn send_now(&mut self, number: usize, count: u64, at: Instant) {
        if !self.plan.per_request {
            self.push(number, count, at);
            self.flush(number);
            return;
        }
        match self.new_connection() {
            Ok(connection) => self.put(number, connection),
            Err(error) => return self.give_up(number, &error),
        }
        // Over loopback a connection is made when connect returns, so the request is written before anything is
        // awaited.
        self.push(number, count, at);
        if !self.flush(number) {
            return;
        }
        let Some(connection) = self.slots[number].as_mut() else { return };
        let interest = match connection.out.is_empty() {
            true => Interest::READABLE,
            false => Interest::READABLE | Interest::WRITABLE,
        };
        if let Err(error) = connection.register(self.poll.registry(), Token(number), interest) {
            self.give_up(number, &error);
        }
    }

    fn push(&mut self, number: usize, count: u64, at: Instant) {
        let Some(connection) = self.slots[number].as_mut() else { return };
        let measured = at >= self.measured_from;
        for _ in 0..count {
            let ask = self.workload.append_next(&mut connection.out);
            connection.sent.push_back(SentRequest { at, measured, ask });
        }
        self.in_flight += count;
        self.result.in_flight_max = self.result.in_flight_max.max(self.in_flight);
        if measured {
            self.result.counts.sent += count;
            self.result.first_sent.get_or_insert(at);
        }
    }

    /// Writes what waits. Returns whether the connection goes on.
    fn flush(&mut self, number: usize) -> bool {
        let flushed = self.slots[number].as_mut().map_or(Ok(()), Connection::flush);
        flushed.map_err(|error| self.give_up(number, &error)).is_ok()
    }

    /// Closes the connection, if there is one; a closed loop sends its next request on a new one.
    fn next_after(&mut self, number: usize, now: Instant) {
        match self.schedule {
            None => self.send(number, 1, now),
            Some(_) => {
                self.take(number);
                self.free.push(number);
            }
        }
    }

    /// Counts a connection as broken and its requests as lost; where each request has its own, goes on with the next.
    fn give_up(&mut self, number: usize, why: &dyn std::fmt::Display) {
        self.result.broken(why);
        if let Some(connection) = self.take(number) {
            self.in_flight -= connection.sent.len() as u64;
            self.result.counts.lost += connection.sent.len() as u64;
        }
        if self.plan.per_request && self.result.counts.broken < BROKEN_MAX {
            self.next_after(number, Instant::now());
        }
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable)
}

/// Counts one reply. Returns whether it is right.
fn count(result: &mut LoadResult, workload: &mut Workload, sent: &SentRequest, reply: &[u8], now: Instant) -> bool {
    if sent.measured {
        result.answered(now, now.saturating_duration_since(sent.at), 1);
    }
    let outcome = workload.check(&sent.ask, reply);
    match outcome {
        Verdict::Right(kind) => {
            result.created_in_all += u64::from(kind == Kind::Created);
            result.kinds[kind as usize] += u64::from(sent.measured);
        }
        Verdict::RightRefusal => {
            result.refused_in_all += 1;
            result.kinds[Kind::Error as usize] += u64::from(sent.measured);
            result.counts.errors_expected += u64::from(sent.measured);
        }
        Verdict::Error => {
            result.kinds[Kind::Error as usize] += u64::from(sent.measured);
            result.error(reply);
        }
        Verdict::Wrong => {
            result.wrong("a wrong reply", reply);
        }
    }
    matches!(outcome, Verdict::Right(_))
}

/// Remembers the order that a right reply opened, if it did.
fn note_order(result: &mut LoadResult, sent: &SentRequest, reply: &[u8]) {
    if let Some((Kind::Opened, rest)) = replies::read(reply)
        && let Some(order) = replies::id(rest)
    {
        result.opened.push(OpenedOrder { order, sent: sent.at, measured: sent.measured });
    }
}
