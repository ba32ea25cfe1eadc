//! A writer of the simulated database. While its server waits for it, the seed decides what happens: turns of the loop,
//! a database that is away for longer than requests wait, lost answers, another server that takes over, a crash. The
//! writer handles them like [`crate::Writer`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use model::workload::Random;

use super::database::Database;
use super::front::Front;
use crate::committer::CommitWriter;
use crate::effects::{Effects, Head};
use crate::error::StoreError;
use crate::standing::Epoch;
use crate::writer::Probe;

/// The probabilities of faults, in per cent.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    /// An event while the server waits for the database.
    pub slow: usize,
    /// An event of these after which requests no longer wait.
    pub away: usize,
    /// A message to the database, or its answer, is lost.
    pub lost: usize,
    /// An event of these at which another server takes over, or this one crashes.
    pub deadly: usize,
}

impl Weather {
    /// No faults.
    pub const CALM: Weather = Weather { slow: 0, away: 0, lost: 0, deadly: 0 };

    /// Draws the weather of a life.
    pub fn new(random: &mut Random) -> Weather {
        Weather {
            slow: random.pick(&[10, 40, 80]),
            away: random.pick(&[0, 10, 40]),
            lost: random.pick(&[0, 10, 30]),
            deadly: random.pick(&[0, 1, 4]),
        }
    }
}

pub(super) struct SimulatedWriter {
    database: Database,
    front: Rc<RefCell<Front>>,
    epoch: Epoch,
    head: Head,
    weather: Rc<Cell<Weather>>,
    random: Random,
    /// Whether the server was told to stop while the database was away.
    stopped: bool,
}

impl SimulatedWriter {
    pub fn new(
        database: &Database,
        front: &Rc<RefCell<Front>>,
        epoch: Epoch,
        weather: &Rc<Cell<Weather>>,
        random: &mut Random,
    ) -> SimulatedWriter {
        let head = database.look().rows.head;
        let (database, front, weather) = (database.clone(), front.clone(), weather.clone());
        SimulatedWriter { database, front, epoch, head, weather, random: Random::new(random.any()), stopped: false }
    }

    /// Lets events happen while the server waits for the database. Errors: the end of the server.
    fn wait(&mut self) -> Result<(), StoreError> {
        let weather = self.weather.get();
        while self.random.percent(weather.slow) {
            if self.random.percent(weather.deadly) {
                if self.random.percent(50) {
                    self.database.count("crashes on the way");
                    return Err(crash());
                }
                self.database.count("take-overs on the way");
                self.database.look().take_over();
            }
            let mut front = self.front.borrow_mut();
            if self.random.percent(weather.away) {
                self.database.count("times without patience");
                front.lose_patience();
                // A server that is about to end does not wait for a database that is away.
                self.stopped |= front.engine().is_none();
            }
            match self.random.percent(70) {
                true => front.turn(),
                false => drop(front.idle()),
            }
        }
        if self.stopped { Err(StoreError::Stopped) } else { Ok(()) }
    }

    /// Delivers the transaction. Returns whether it was committed.
    fn send(&self, effects: &Effects) -> bool {
        let front = self.front.borrow();
        let entries = front.oracle.entries(effects.before.sequence, effects.after.sequence);
        self.database.look().commit(effects, self.epoch, entries)
    }

    fn is_lost(&mut self) -> bool {
        self.random.percent(self.weather.get().lost)
    }

    /// Whether the database is at `head` and still this server's.
    fn look(&self, head: Head) -> Result<bool, StoreError> {
        let committed = self.database.look();
        match committed.epoch == self.epoch {
            true => Ok(committed.rows.head == head),
            false => {
                drop(committed);
                self.database.count("servers that found another in charge");
                Err(StoreError::Fenced { name: "another".to_owned(), since: "now".to_owned() })
            }
        }
    }
}

impl CommitWriter for SimulatedWriter {
    fn head(&self) -> Head {
        self.head
    }

    fn commit(&mut self, effects: &Effects) -> Result<(), StoreError> {
        assert!(effects.before == self.head, "effects begin where the last ones ended");
        loop {
            self.wait()?;
            let committed = !self.is_lost() && self.send(effects);
            let answered = committed && !self.is_lost();
            self.wait()?;
            // Without an answer the sequence row says whether it was committed.
            if answered || self.look(effects.after)? {
                break;
            }
            self.database.count("transactions sent again");
        }
        self.head = effects.after;
        Ok(())
    }

    fn confirm(&mut self) -> Result<(), StoreError> {
        loop {
            self.wait()?;
            let standing = self.look(self.head)?;
            assert!(standing, "nobody else writes in this epoch");
            let answered = !self.is_lost();
            self.wait()?;
            if answered {
                return Ok(());
            }
        }
    }

    fn probe(&mut self) -> Result<Probe, StoreError> {
        self.wait()?;
        if self.is_lost() {
            return Ok(Probe::Missed { fault: "it is away".to_owned() });
        }
        assert!(self.look(self.head)?, "nobody else writes in this epoch");
        Ok(Probe::Answered)
    }
}

fn crash() -> StoreError {
    StoreError::Unreachable { place: "the database".to_owned(), fault: "the server crashed".to_owned() }
}
