//! A closed loop of orders over REST: connections that stay open, one request in flight on each.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::http::{self, Prepared};
use crate::interrupt;
use crate::load::{Random, Tally, crossing, own_cpu, resting};

/// Orders are sent round and round.
const PREPARED: usize = 1 << 14;
const SCRATCH_BYTES: usize = 16 << 10;
const GLANCE: Duration = Duration::from_millis(100);

/// What is sent to whom.
pub struct RestPlan {
    pub to: SocketAddr,
    pub connections: usize,
    pub accounts: u64,
    pub symbols: u64,
    pub warmup: Duration,
    pub duration: Duration,
    /// How long no reply may come.
    pub patience: Duration,
}

struct Connection {
    stream: TcpStream,
    partial: Vec<u8>,
    /// The order that is under way, and since when.
    asked: Option<(usize, Instant)>,
}

/// Sends orders, of which half execute. Calls `measuring` when the measured part begins. Errors: connections that cannot be
/// made.
pub fn drive(plan: &RestPlan, measuring: impl FnOnce()) -> Result<Tally, String> {
    let failed = |error: io::Error| format!("{}: {error}", plan.to);
    Driver::connect(plan).map_err(failed)?.run(measuring).map_err(failed)
}

struct Driver<'a> {
    plan: &'a RestPlan,
    orders: Vec<Prepared>,
    next: usize,
    poll: Poll,
    connections: Vec<Connection>,
    in_flight: u64,
    measured_from: Instant,
    until: Instant,
    tally: Tally,
}

impl<'a> Driver<'a> {
    fn connect(plan: &'a RestPlan) -> io::Result<Driver<'a>> {
        let poll = Poll::new()?;
        let mut connections = Vec::new();
        for number in 0..plan.connections {
            let stream = std::net::TcpStream::connect_timeout(&plan.to, plan.patience)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(number), Interest::READABLE)?;
            connections.push(Connection { stream, partial: Vec::new(), asked: None });
        }
        let tally = Tally { connections_max: connections.len() as u64, ..Tally::default() };
        let (orders, now) = (orders(plan), Instant::now());
        Ok(Driver { plan, orders, next: 0, poll, connections, in_flight: 0, measured_from: now, until: now, tally })
    }

    fn run(mut self, measuring: impl FnOnce()) -> io::Result<Tally> {
        let started = Instant::now();
        self.measured_from = started + self.plan.warmup;
        self.until = self.measured_from + self.plan.duration;
        let (mut events, mut scratch) = (Events::with_capacity(1024), vec![0; SCRATCH_BYTES]);
        let (mut measuring, mut cpu_from) = (Some(measuring), (started, Duration::ZERO));
        let mut last_life = started;
        (0..self.connections.len()).for_each(|number| self.ask(number, started));
        while self.in_flight > 0 && !interrupt::is_asked() {
            match self.poll.poll(&mut events, Some(GLANCE)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            let now = Instant::now();
            if now >= self.measured_from
                && let Some(measuring) = measuring.take()
            {
                measuring();
                cpu_from = (now, own_cpu());
            }
            for event in &events {
                self.receive(event.token().0, &mut scratch);
            }
            if !events.is_empty() {
                last_life = now;
            } else if last_life.elapsed() >= self.plan.patience {
                self.tally.broken(&format_args!("no reply for {} s", self.plan.patience.as_secs_f64()));
                break;
            }
        }
        self.tally.lost += self.in_flight;
        let used = own_cpu().saturating_sub(cpu_from.1).as_secs_f64();
        self.tally.cpu_share = used / cpu_from.0.elapsed().as_secs_f64().max(1e-9);
        Ok(self.tally)
    }

    /// Sends the next order on this connection, while the run goes on.
    fn ask(&mut self, number: usize, now: Instant) {
        if now >= self.until {
            return;
        }
        let order = self.next;
        self.next = (order + 1) % self.orders.len();
        let connection = &mut self.connections[number];
        // With one request in flight, a socket has room for it.
        if let Err(error) = connection.stream.write_all(&self.orders[order].request) {
            return self.tally.broken(&error);
        }
        connection.asked = Some((order, now));
        self.in_flight += 1;
        self.tally.in_flight_max = self.tally.in_flight_max.max(self.in_flight);
        if now >= self.measured_from {
            self.tally.sent += 1;
            self.tally.first_sent.get_or_insert(now);
        }
    }

    fn receive(&mut self, number: usize, scratch: &mut [u8]) {
        let connection = &mut self.connections[number];
        loop {
            match connection.stream.read(scratch) {
                Ok(0) => return self.give_up(number, &"closed by the server"),
                Ok(bytes) => {
                    connection.partial.extend_from_slice(&scratch[..bytes]);
                    if bytes < scratch.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.give_up(number, &error),
            }
        }
        let now = Instant::now();
        let (length, right) = match http::read(&connection.partial) {
            Ok(None) => return,
            Ok(Some((length, reply))) => {
                (length, connection.asked.is_some_and(|(order, _)| self.orders[order].is_right(&reply)))
            }
            Err(fault) => return self.give_up(number, &fault),
        };
        if !right || length < connection.partial.len() {
            self.tally.wrong += 1;
            self.tally.wrong("a wrong reply", &connection.partial);
        }
        connection.partial.clear();
        let Some((_, sent)) = connection.asked.take() else { return };
        self.in_flight -= 1;
        if sent >= self.measured_from {
            self.tally.answered(now, now.saturating_duration_since(sent));
        }
        self.ask(number, now);
    }

    /// Counts the connection as broken, and its request as lost.
    fn give_up(&mut self, number: usize, why: &dyn std::fmt::Display) {
        self.tally.broken(why);
        let connection = &mut self.connections[number];
        // Already closed, or of no more use: fails only where nothing is to be done.
        let _ = self.poll.registry().deregister(&mut connection.stream);
        if connection.asked.take().is_some() {
            self.in_flight -= 1;
            self.tally.lost += 1;
        }
    }
}

/// In turn two that execute against each other and two that rest.
fn orders(plan: &RestPlan) -> Vec<Prepared> {
    let (mut random, host) = (Random(1), plan.to.to_string());
    let crossing = crossing(&mut random, plan.accounts, plan.symbols, PREPARED / 2);
    let resting = resting(&mut random, plan.accounts, plan.symbols, PREPARED / 2);
    let pairs = crossing.chunks(2).zip(resting.chunks(2));
    pairs
        .flat_map(|(crossing, resting)| crossing.iter().chain(resting))
        .map(|order| Prepared::new(order, &host))
        .collect()
}
