//! Simulates a market in PostgreSQL without PostgreSQL: the real loop, queue and committer, stepped in an order that a
//! seed decides, before a simulated database with all kinds of faults. Everything that leaves a server is compared with
//! the naive model and with the content of the database at that moment.
//!
//! `PRICETIME_SEED=7 PRICETIME_ROUNDS=1` runs one life again; more rounds make a longer simulation.

mod database;
mod front;
mod oracle;
mod rows;
mod tally;
mod writer;

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use exchange::{Metrics, State};
use market::timekeeper::Clock;
use model::calendar::Calendar;
use model::workload::{Random, Workload};
use terms::{EXECUTIONS_MAX, Sequence, Time};

use self::database::Database;
use self::front::Front;
use self::tally::Tally;
use self::writer::{SimulatedConnection, Weather};
use crate::commits::Commits;
use crate::committer::Committer;
use crate::error::StoreError;
use crate::standing::Epoch;

/// Lives of the short form, which takes some seconds.
const ROUNDS: u64 = 1_300;
/// Steps of a life before it becomes calm.
const STEPS: usize = 100;
/// 2026 in microseconds.
const CLOCK_START: u64 = 1_790_000_000_000_000;
const HOUR_US: u64 = 3_600_000_000;
/// The lead of a wrong clock: ten years.
const LEAP_US: u64 = 10 * 365 * 24 * HOUR_US;

/// A server, which writes to the database until another one takes over.
struct Server {
    epoch: Epoch,
    front: Rc<RefCell<Front>>,
    committer: Committer<SimulatedConnection>,
}

/// A database and its servers. The one that took over last is behind the others, which do not know that yet.
struct World {
    database: Database,
    servers: Vec<Server>,
    weather: Rc<Cell<Weather>>,
    clock: Arc<MachineClock>,
    /// The calendar of whoever is in charge.
    calendar: Calendar,
    workload: Rc<RefCell<Workload>>,
    random: Random,
}

/// The clock of the servers' machine, which may be wrong.
struct MachineClock {
    right: AtomicU64,
    ahead: AtomicU64,
}

impl MachineClock {
    /// The clock as a server reads it: what it shows, and the time that has passed.
    fn of_a_server(self: &Arc<MachineClock>) -> Clock {
        let (shows, passed) = (self.clone(), self.clone());
        let shows = move || Time(shows.right.load(Ordering::Relaxed) + shows.ahead.load(Ordering::Relaxed));
        Clock::new(shows, move || Duration::from_micros(passed.right.load(Ordering::Relaxed)))
    }
}

impl Server {
    /// Takes the database over and begins with its content.
    fn start(world: &mut World) -> Server {
        let World { database, weather, clock, calendar, workload, random, .. } = world;
        // A standby that lacks what nobody was told of may have taken the place of the primary.
        if database.look().is_behind() && random.percent(50) {
            database.count("starts at a standby that lacked commits");
            database.look().fail_over();
        }
        let epoch = database.look().take_over();
        // At times the next server is started without the calendar.
        let none = Calendar::default();
        let calendar = if random.percent(80) { &*calendar } else { &none };
        let clock = (clock.of_a_server(), calendar);
        let (front, committed, follower) = Front::new(database, epoch, clock, workload, random);
        let queue = front.queue.clone();
        let front = Rc::new(RefCell::new(front));
        let connection = SimulatedConnection::new(database, &front, weather, random);
        let writer = Commits::new(connection, epoch, database.look().rows.head);
        let committer = Committer::new(writer, queue, committed, Some(follower), Metrics::new(&[]));
        Server { epoch, front, committer }
    }

    /// Steps the committer. Returns false when the queue has ended. Errors: the fault that ends the server.
    fn commit(&mut self, database: &Database) -> Result<bool, StoreError> {
        let stepped = self.committer.step();
        let mut front = self.front.borrow_mut();
        front.hear();
        assert!(!matches!(stepped, Err(StoreError::Displaced { .. })), "nobody else writes in this epoch");
        if let Err(StoreError::Fenced { .. }) = stepped {
            database.count("servers that found another in charge");
        }
        let goes_on = stepped?;
        let (epoch, head) = database.look().standing();
        if epoch == self.epoch {
            assert_eq!(database.look().safe(), head.sequence, "a commit counts that the standby lacks");
            front.oracle.check_told(head.sequence);
        }
        Ok(goes_on)
    }

    /// Stops the server: it takes nothing more, and commits and answers what it has. Errors: it ended before.
    fn stop(mut self, database: &Database) -> Result<(), StoreError> {
        self.front.borrow_mut().close();
        while self.commit(database)? {}
        self.front.borrow().oracle.check_nothing_waits();
        Ok(())
    }
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let weather = Rc::new(Cell::new(Weather::new(&mut random)));
        let clock = Arc::new(MachineClock { right: AtomicU64::new(CLOCK_START), ahead: AtomicU64::new(0) });
        let workload = Workload::with_client_orders(random.any()).with_all_kinds().with_terms().with_rules();
        // A workload with all of these would trade little, so each has some seeds of its own.
        let workload = if seed.is_multiple_of(4) { workload.with_fees() } else { workload };
        let workload = if seed % 8 == 1 { workload.with_links() } else { workload };
        let workload = if seed % 16 == 3 { workload.with_groups() } else { workload };
        let workload = if seed % 16 == 5 {
            workload.with_mass_cancels().with_kills().with_limits().with_funding().with_closings()
        } else {
            workload
        };
        let workload = if matches!(seed % 16, 6 | 7 | 13 | 15) { workload.with_amendments() } else { workload };
        let has_phases = seed.is_multiple_of(32) || seed % 16 == 9;
        let workload = if has_phases { workload.with_phases() } else { workload };
        let lines = if has_phases { random.pick(&[0, 10, 300]) } else { 0 };
        let calendar = Calendar::draw(&mut random, lines, Time(CLOCK_START), 86_400);
        let workload = match seed % 16 {
            5 => workload.with_icebergs(),
            7 => workload.with_trails(),
            11 => workload.with_pendings(),
            13 => workload.with_links().with_icebergs().with_trails().with_pendings(),
            _ => workload,
        };
        let workload = Rc::new(RefCell::new(workload));
        // With one execution a command, orders get under way, or wait behind one that is.
        let database = Database::new(if seed % 4 == 2 { 1 } else { EXECUTIONS_MAX }, seed.is_multiple_of(3));
        World { database, servers: Vec::new(), weather, clock, calendar, workload, random }
    }

    /// Lives through everything that the seed decides, and then checks that a database that is back serves again.
    fn live(&mut self) {
        for _ in 0..STEPS {
            self.step();
            let (market, right) = (self.database.look().model.time(), self.clock.right.load(Ordering::Relaxed));
            assert!(market.0 < right + HOUR_US, "a wrong clock has moved the market to {market:?}");
        }
        self.weather.set(Weather::CALM);
        self.recover();
    }

    fn step(&mut self) {
        self.start_if_none_is_in_charge();
        // Hours pass, so that client order ids become free again.
        let hours = if self.random.percent(2) { self.random.below(30) as u64 } else { 0 };
        let passes = hours * HOUR_US + self.random.below(5_000) as u64;
        let now = self.clock.right.fetch_add(passes, Ordering::Relaxed) + passes;
        if self.random.percent(4)
            && let Some(next) = self.calendar.next(Time(now))
        {
            self.clock.right.store(next.0 + 1, Ordering::Relaxed);
        }
        // The clock goes wrong by ten years, and is set right again. Before the first command any clock is believed.
        if self.random.percent(1) && self.database.look().rows.sequence() > Sequence::ZERO {
            self.database.count("clocks that leapt");
            let ahead = LEAP_US - self.clock.ahead.load(Ordering::Relaxed);
            self.clock.ahead.store(ahead, Ordering::Relaxed);
        }
        // The server in charge, or one that does not know yet that it has been replaced.
        let last = self.servers.len() - 1;
        let chosen = if self.random.percent(70) { last } else { self.random.below(last + 1) };
        let server = &mut self.servers[chosen];
        match self.random.below(1000) {
            0..450 => server.front.borrow_mut().turn(),
            450..550 => drop(server.front.borrow_mut().idle()),
            550..980 => {
                if server.commit(&self.database).is_err() {
                    drop(self.servers.remove(chosen));
                }
            }
            980..985 => drop(self.servers.remove(chosen)),
            985..992 => match self.servers.remove(chosen).stop(&self.database) {
                Ok(()) => self.database.count("orderly stops"),
                Err(_) => self.database.count("stops that were cut off"),
            },
            _ => {
                self.database.count("take-overs");
                self.database.look().take_over();
            }
        }
    }

    fn start_if_none_is_in_charge(&mut self) {
        let epoch = self.database.look().epoch;
        if self.servers.last().is_none_or(|server| server.epoch != epoch) {
            self.database.count("starts");
            let server = Server::start(self);
            self.servers.push(server);
        }
    }

    /// Ends all faults: one step of the committer must answer everything that waits, and then new requests, too. A
    /// server that is not in charge notices, and ends.
    fn recover(&mut self) {
        self.start_if_none_is_in_charge();
        let mut server = self.servers.pop().expect("one is in charge");
        for mut replaced in self.servers.drain(..) {
            replaced.front.borrow_mut().turn();
            assert!(replaced.commit(&self.database).is_err(), "a server goes on though another has taken over");
        }
        for _ in 0..2 {
            server.commit(&self.database).expect("the database is there");
            let mut front = server.front.borrow_mut();
            front.oracle.check_nothing_waits();
            assert_eq!(front.status.get(), State::Ready);
            // Orders end at their deadlines, an order under way goes on until it is done, and all of it is committed.
            front.idle();
            while front.engine().is_some_and(|engine| engine.reached_orders() > 0) {
                drop(front);
                server.commit(&self.database).expect("the database is there");
                front = server.front.borrow_mut();
                front.idle();
            }
            drop(front);
            server.commit(&self.database).expect("the database is there");
            let mut front = server.front.borrow_mut();
            front.idle();
            let engine = front.engine().expect("it is not stopped");
            assert_eq!(engine.done_order_count(), 0, "the engine keeps orders that are done and committed");
            let mut items = Vec::new();
            engine.export(&mut |item| items.push(item));
            assert!(items == self.database.look().rows.state_items(), "the engine is not where the rows are");
            front.turn();
        }
        server.stop(&self.database).expect("the database is there");
    }
}

/// Lives a life and returns what happened. Panics, and names the seed, when a check fails.
fn live(seed: u64) -> Tally {
    let mut world = World::new(seed);
    let lived = std::panic::catch_unwind(AssertUnwindSafe(|| world.live()));
    assert!(lived.is_ok(), "the life of seed {seed}: PRICETIME_SEED={seed} PRICETIME_ROUNDS=1 runs it again");
    std::mem::take(&mut world.database.look().tally)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

#[test]
fn whatever_happens_to_the_database_nobody_is_told_what_it_does_not_hold() {
    let (seed, rounds) = (number("PRICETIME_SEED", 1), number("PRICETIME_ROUNDS", ROUNDS));
    let mut tally = Tally::default();
    (0..rounds).for_each(|round| tally.add(&live(seed.wrapping_add(round))));
    println!("{tally}");
    if rounds < ROUNDS {
        return;
    }
    for (what, enough) in [
        ("batches with commands answered", 20_000),
        ("batches of queries answered", 20_000),
        ("batches refused", 20_000),
        ("batches abandoned that it did not hold yet", 10_000),
        ("batches abandoned that the database held", 3_000),
        ("orders looked up", 20_000),
        ("executions looked up", 0),
        ("transactions with trades", 3_000),
        ("transactions with activated orders", 700),
        ("transactions with orders that shares were taken off", 2_000),
        ("transactions with orders that ended by themselves", 250),
        ("transactions with amended orders", 100),
        ("transactions with orders that were amended and placed again", 100),
        ("transactions that follow a calendar", 300),
        ("clocks that leapt", 300),
        ("transactions with orders that were linked", 50),
        ("transactions with parts of orders that came on show", 50),
        ("transactions with triggers that were moved", 35),
        ("transactions with triggers that were moved and reached", 50),
        ("transactions with orders that wait for others", 500),
        ("transactions with orders that wait for their turn", 15),
        ("transactions with orders that waited for others and were placed", 50),
        ("transactions sent again", 3_000),
        ("crashes on the way", 500),
        ("commits for which the standby was slow", 1_000),
        ("commits that nobody waited for to the end", 300),
        ("standbys that took the place of their primary", 300),
        ("commits at a primary whose place was taken", 300),
        ("take-overs at a standby that took the place of its primary", 50),
        ("starts at a standby that lacked commits", 10),
        ("servers that found another in charge", 500),
        ("orderly stops", 300),
        ("stops that were cut off", 50),
    ] {
        assert!(tally.get(what) > enough, "too few {what}:\n{tally}");
    }
}

#[test]
fn a_life_comes_out_the_same_every_time() {
    for seed in 0..50 {
        assert_eq!(live(seed).to_string(), live(seed).to_string(), "seed {seed}");
    }
}
