//! A node's connection to the simulated log: while its node waits, it lets other nodes go on, and it may end the
//! process.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use market::inbox::Inbox;
use model::workload::Random;
use terms::Time;

use super::surroundings::Surroundings;
use crate::client::{Delivered, LogClient, LogError};
use crate::message::checksum;

/// The number of glances after which a wait is a fault of the test: the log answers before.
const GLANCES_MAX: u32 = 20_000;

/// The fate of a process, and what is known of it.
#[derive(Default)]
pub(super) struct Fate {
    /// Whether the log's client has ended it.
    pub is_killed: Cell<bool>,
    /// Whether it is to stop.
    pub is_closed: Cell<bool>,
    /// The lead of its machine's clock since that went wrong, in microseconds.
    pub leap: Arc<AtomicU64>,
    /// The operation at which its disk fails.
    pub crashes_at: Cell<Option<u64>>,
    /// The first message that it sent.
    pub begin: OnceCell<Bytes>,
}

/// A connection to the log.
pub(super) struct Connection {
    pub world: Rc<Surroundings>,
    pub fate: Rc<Fate>,
    pub inbox: Arc<Inbox>,
    pub seen: u64,
    pub end: u64,
    pub message_bytes_max: usize,
    /// The number of glances without a message since the last one.
    pub glances: u32,
    /// The last message that it gave, its checksum and its time.
    pub last: Option<(u64, u32, Time)>,
}

impl Connection {
    /// Lets events happen while a node waits.
    fn wait(&mut self) -> Result<(), LogError> {
        let world = &self.world;
        let weather = world.weather.get();
        self.glances += 1;
        assert!(self.glances < GLANCES_MAX, "a node waits for ever");
        let (came, others, killed, closed) = {
            let (mut random, mut log) = (world.random.borrow_mut(), world.log.borrow_mut());
            let mut came = Vec::new();
            let is_silent = log.is_silent(world.now());
            if !is_silent && random.percent(weather.leader) {
                world.count("changes of the leader");
                came = log.change_leader(world.now(), &mut random);
            } else if !is_silent && random.percent(70) {
                came = log.some_arrive(weather, &mut random);
            }
            let may_end = |of: &mut Random, often| of.below(1_000) < weather.killed * often;
            let (killed, closed) = (may_end(&mut random, 5), may_end(&mut random, 2));
            (came, random.percent(weather.others), killed, closed)
        };
        came.into_iter().for_each(|message| world.arrives(message));
        if killed {
            self.fate.is_killed.set(true);
            return Err(LogError("the process is killed".to_owned()));
        }
        if closed {
            self.fate.is_closed.set(true);
            self.inbox.close();
        }
        if others {
            world.others_go_on();
        }
        if world.draw(1_000) < weather.sleepy {
            self.sleep();
        }
        Ok(())
    }

    /// The node's machine stands still, in the middle of whatever it does, and the others go on.
    fn sleep(&self) {
        let world = &self.world;
        world.count("sleeps in the middle of something");
        for _ in 0..world.draw(30) {
            if !world.others_go_on() {
                return;
            }
            world.pass(Duration::from_micros(world.draw(200_000)));
        }
    }

    /// Gives the next message, mostly; or one that it gave before.
    fn give(&mut self) -> Option<Delivered> {
        let world = &self.world;
        let (log, mut random) = (world.log.borrow(), world.random.borrow_mut());
        let is_calm = world.is_calm();
        if !is_calm && (log.is_silent(world.now()) || random.percent(15)) {
            return None;
        }
        let again = !is_calm && self.seen > 0 && random.percent(3);
        let position = if again { self.seen - random.below(4.min(self.seen as usize)) as u64 } else { self.seen + 1 };
        let behind = log.messages.iter().enumerate().skip(position as usize - 1);
        let (at, (time, bytes)) = behind.filter_map(|(at, message)| Some((at, message.as_ref()?))).next()?;
        let position = at as u64 + 1;
        if again {
            world.count("messages given again");
        }
        if position > self.seen {
            (self.seen, self.last) = (position, Some((position, checksum(bytes), *time)));
        }
        Some(Delivered { position, time: *time, bytes: bytes.clone() })
    }
}

impl LogClient for Connection {
    fn publish(&mut self, message: Bytes) -> Result<(), LogError> {
        let _ = self.fate.begin.set(message.clone());
        let world = &self.world;
        let is_lost = world.random.borrow_mut().percent(world.weather.get().lost);
        if is_lost || world.log.borrow().is_silent(world.now()) {
            world.count("messages lost");
            return Ok(());
        }
        world.log.borrow_mut().send(message, &mut world.random.borrow_mut());
        Ok(())
    }

    fn next(&mut self, patience: Duration) -> Result<Option<Delivered>, LogError> {
        if !patience.is_zero() {
            match self.world.is_calm() {
                true => self.world.all_arrive(),
                false => self.wait()?,
            }
        }
        let given = self.give();
        // A client of the real log makes the same check from time to time.
        if given.is_none() && self.last.is_some_and(|last| !self.world.log.borrow().has(last)) {
            return Err(LogError("the log has lost what this node took of it".to_owned()));
        }
        match given {
            Some(_) => self.glances = 0,
            None => self.world.pass(patience),
        }
        Ok(given)
    }

    fn end(&self) -> u64 {
        self.end
    }

    fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }

    fn passed(&self) -> Duration {
        Duration::from_micros(self.world.now())
    }
}
