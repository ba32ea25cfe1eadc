//! A writer of the simulated database, to which happens what a seed says while its server waits for it: turns of the loop, a
//! database that is away for longer than anybody waits, answers that are lost, another server that takes over, a crash.
//! What it does about them is what [`crate::Writer`] does.

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

/// How often what happens, in so many of a hundred cases.
#[derive(Clone, Copy)]
pub(super) struct Weather {
    /// Something happens while the database is waited for.
    pub slow: usize,
    /// Of that: nobody waits any longer.
    pub away: usize,
    /// What is sent does not arrive, or the answer to it.
    pub lost: usize,
    /// Of what happens: another server takes over, or this one crashes.
    pub deadly: usize,
}

impl Weather {
    /// Nothing happens any more.
    pub const CALM: Weather = Weather { slow: 0, away: 0, lost: 0, deadly: 0 };

    /// That of a life.
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
    /// The server was told to stop while nobody could reach the database.
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

    /// What happens while the database is waited for. Errors: the end of the server.
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
                // A server that is to end does not wait for a database that is away.
                self.stopped |= front.engine().is_none();
            }
            match self.random.percent(70) {
                true => front.turn(),
                false => front.idle(),
            }
        }
        if self.stopped { Err(StoreError::Stopped) } else { Ok(()) }
    }

    /// The transaction arrives. Whether it is committed.
    fn send(&self, effects: &Effects) -> bool {
        let front = self.front.borrow();
        let entries = front.oracle.entries(effects.before.sequence, effects.after.sequence);
        self.database.look().commit(effects, self.epoch, entries)
    }

    fn is_lost(&mut self) -> bool {
        self.random.percent(self.weather.get().lost)
    }

    /// Sees that the database stands at `head` and is still ours.
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
            // Without an answer the row says what became of it.
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
