//! A connection to the simulated database. While its server waits for it, the seed decides what happens: turns of the
//! loop, a database that is away for longer than requests wait, lost answers, a slow standby and one that takes the
//! place of its primary, another server that takes over, a crash. The rules of commits are those of every server.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use model::workload::Random;
use terms::Sequence;

use super::database::{self, Database};
use super::front::Front;
use crate::commits::{Attempt, Connection, Patience};
use crate::effects::{Effects, Head};
use crate::error::StoreError;
use crate::standing::{Epoch, Settling, Standing, StandingStatement};

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
    /// A commit for which the standby is too slow, where there is one.
    pub behind: usize,
    /// A server stays with a primary whose place was taken.
    pub stays: usize,
}

impl Weather {
    /// No faults.
    pub const CALM: Weather = Weather { slow: 0, away: 0, lost: 0, deadly: 0, behind: 0, stays: 0 };

    /// Draws the weather of a life.
    pub fn new(random: &mut Random) -> Weather {
        Weather {
            slow: random.pick(&[10, 40, 80]),
            away: random.pick(&[0, 10, 40]),
            lost: random.pick(&[0, 10, 30]),
            deadly: random.pick(&[0, 1, 4]),
            behind: random.pick(&[0, 10, 50]),
            stays: random.pick(&[0, 50, 80]),
        }
    }
}

pub(super) struct SimulatedConnection {
    database: Database,
    front: Rc<RefCell<Front>>,
    weather: Rc<Cell<Weather>>,
    random: Random,
    settling: Settling,
    /// The standing of the primary with which this connection is still, though a standby took its place.
    old: Option<(Epoch, Head)>,
    /// The last command of the transaction that was sent last.
    sent: Sequence,
    /// Whether the server was told to stop while the database was away.
    stopped: bool,
}

impl SimulatedConnection {
    pub fn new(
        database: &Database,
        front: &Rc<RefCell<Front>>,
        weather: &Rc<Cell<Weather>>,
        random: &mut Random,
    ) -> SimulatedConnection {
        SimulatedConnection {
            database: database.clone(),
            front: front.clone(),
            weather: weather.clone(),
            random: Random::new(random.any()),
            settling: Settling::default(),
            old: None,
            sent: Sequence::ZERO,
            stopped: false,
        }
    }

    /// Lets events happen while the server waits for the database. Errors: the end of the server.
    fn wait(&mut self) -> Result<(), Attempt> {
        let weather = self.weather.get();
        while self.random.percent(weather.slow) {
            if self.random.percent(weather.deadly) {
                if self.random.percent(50) {
                    self.database.count("crashes on the way");
                    return Err(Attempt::Over(crash()));
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
        if self.stopped { Err(Attempt::Over(StoreError::Stopped)) } else { Ok(()) }
    }

    /// Connects with the primary in charge, unless the connection stays with the one before it.
    fn connect(&mut self) {
        if self.old.is_some() && !self.random.percent(self.weather.get().stays) {
            (self.old, self.settling) = (None, Settling::default());
        }
    }

    /// Delivers the transaction. Returns whether the primary committed it. If its place was taken, only its own disk
    /// has it then.
    fn send(&mut self, effects: &Effects, epoch: Epoch, is_slow: bool) -> bool {
        if let Some(old) = &mut self.old {
            let takes = *old == (epoch, effects.before);
            *old = if takes { (epoch, effects.after) } else { *old };
            return takes;
        }
        let front = self.front.borrow();
        let entries = front.oracle.entries(effects.before.sequence, effects.after.sequence);
        self.database.look().commit(effects, epoch, entries, is_slow)
    }

    fn is_lost(&mut self) -> bool {
        self.random.percent(self.weather.get().lost)
    }

    /// Loses a message, and at times the connection with it.
    fn lose<T>(&mut self, what: &str) -> Result<T, Attempt> {
        if self.random.percent(50) {
            self.settling = Settling::default();
        }
        Err(Attempt::Again(what.to_owned()))
    }

    /// Waits until the standby has every commit. Errors: the connection breaks before; the standby takes the place of
    /// the primary as it is, or took it.
    fn wait_for_the_standby(&mut self) -> Result<(), Attempt> {
        if self.old.is_some() {
            self.wait()?;
            self.database.count("commits at a primary whose place was taken");
            return Err(Attempt::Again("no standby follows".to_owned()));
        }
        while self.database.look().is_behind() {
            self.wait()?;
            match self.random.below(100) {
                0..40 => self.database.look().catch_up(),
                40..60 => {
                    self.database.count("commits that nobody waited for to the end");
                    return self.lose("the standby is slow");
                }
                60..80 => {
                    self.database.count("standbys that took the place of their primary");
                    self.old = Some(self.database.look().standing());
                    self.database.look().fail_over();
                    if self.random.percent(30) {
                        self.database.count("take-overs at a standby that took the place of its primary");
                        self.database.look().take_over();
                    }
                    return Err(Attempt::Again("the primary is gone".to_owned()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Connection for SimulatedConnection {
    fn write(&mut self, effects: &Effects, epoch: Epoch) -> Result<(), Attempt> {
        if std::mem::replace(&mut self.sent, effects.after.sequence) == effects.after.sequence {
            self.database.count("transactions sent again");
        }
        self.connect();
        self.wait()?;
        if self.is_lost() {
            return self.lose("the transaction is lost");
        }
        let is_slow = self.random.percent(self.weather.get().behind);
        if !self.send(effects, epoch, is_slow) {
            return Err(Attempt::Again("the sequence is elsewhere".to_owned()));
        }
        self.wait_for_the_standby()?;
        let is_lost = self.is_lost();
        self.wait()?;
        if is_lost { self.lose("the answer is lost") } else { Ok(()) }
    }

    fn ask(&mut self, _: Patience) -> Result<Standing, Attempt> {
        self.connect();
        self.wait()?;
        let mut asked = self.settling.first();
        loop {
            if self.is_lost() {
                return self.lose("the question is lost");
            }
            let (standing, commits_wait) = match self.old {
                Some((epoch, head)) => (database::standing(epoch, head), true),
                None => self.database.look().stands(),
            };
            if asked == StandingStatement::Settled {
                self.wait_for_the_standby()?;
            }
            match self.settling.next(asked, commits_wait) {
                Some(next) => asked = next,
                None => {
                    let is_lost = self.is_lost();
                    self.wait()?;
                    return if is_lost { self.lose("the answer is lost") } else { Ok(standing) };
                }
            }
        }
    }

    fn rest(&mut self, _: Duration) -> Result<(), StoreError> {
        Ok(())
    }
}

fn crash() -> StoreError {
    StoreError::Unreachable { place: "the database".to_owned(), fault: "the server crashed".to_owned() }
}
