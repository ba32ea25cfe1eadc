//! The market at a past moment, made again beside the running one from the last snapshot before that moment and the
//! journal behind it. It writes nothing, and only goes forwards.

use std::collections::VecDeque;
use std::time::Instant;

use engine::{DoneOrders, Engine};
use journal::{JournalError, JournalPoint, SnapshotError, SnapshotInfo, Storage, snapshot};
use terms::{Entry, Event, Execution, Sequence, StateItem, Time};

use crate::background_yield::BackgroundYield;
use crate::recovery::{self, LoadError};

/// The number of commands read from the journal ahead of their application, roughly: each further reading begins with
/// the journal file of its first command.
const READ_AHEAD: usize = 16_384;
/// The number of commands between two looks at the size of the market.
const LOOK_EVERY: u64 = 4_096;

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The moment behind this command.
    Command(Sequence),
    /// The moment behind the last command of this time or of an earlier one.
    Time(Time),
}

/// Bounds of a rewind.
#[derive(Clone, Copy, Debug)]
pub struct RewindBounds {
    /// The most commands between the snapshot and the moment.
    pub commands: u64,
    /// The most items of the snapshot, and afterwards accounts and open orders.
    pub items: u64,
}

/// The reason why a moment cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// The data folder begins behind command `first`.
    #[error("what is kept of the journal begins behind command {first}")]
    TooEarly { first: Sequence },
    /// No snapshot is near enough.
    #[error("more than {most} commands lie between the snapshot at command {snapshot} and that moment")]
    TooFar { snapshot: Sequence, most: u64 },
    /// The market of that moment is too large to make a second time.
    #[error("the market of that moment has more than {most} accounts and open orders")]
    TooLarge { most: u64 },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Load(LoadError),
}

/// The past market.
pub struct Rewound<S: Storage> {
    storage: S,
    engine: Engine,
    /// The command from which the bound counts: the snapshot's, or the last one that was a step.
    counted_from: Sequence,
    bounds: RewindBounds,
    /// The commands that were read and not applied yet.
    waiting: VecDeque<Entry>,
    /// The point of the journal behind them.
    point: JournalPoint,
    scratch: Vec<Execution>,
}

/// Ends a reading of the journal that has enough.
#[derive(Debug, thiserror::Error)]
#[error("enough was read")]
struct Enough;

impl Moment {
    /// Whether the moment includes the effects of a command.
    fn has(self, entry: &Entry) -> bool {
        match self {
            Moment::Command(sequence) => entry.sequence <= sequence,
            Moment::Time(time) => entry.time <= time,
        }
    }
}

impl<S: Storage> Rewound<S> {
    /// Begins at the last snapshot before the moment, or at the journal's beginning.
    pub fn begin(storage: &S, moment: Moment, bounds: RewindBounds) -> Result<Rewound<S>, RewindError> {
        let (engine, point) = match last_before(storage, moment)? {
            Some(info) => recovery::load_some(storage, &info, bounds.items).map_err(|error| match error {
                LoadError::TooLarge { most, .. } => RewindError::TooLarge { most },
                error @ (LoadError::Snapshot(_) | LoadError::Import { .. } | LoadError::Hash { .. }) => {
                    RewindError::Load(error)
                }
            })?,
            None => (Engine::new(recovery::random_seed(), DoneOrders::Drop), JournalPoint::ZERO),
        };
        let counted_from = engine.sequence();
        let (storage, waiting, scratch) = (storage.clone(), VecDeque::new(), Vec::new());
        let rewound = Rewound { storage, engine, counted_from, bounds, waiting, point, scratch };
        match moment {
            Moment::Command(sequence) => rewound.check_distance(sequence).map(|()| rewound),
            Moment::Time(_) => Ok(rewound),
        }
    }

    /// The command behind which a rewind would begin. Errors: those of `begin`.
    pub fn beginning(storage: &S, moment: Moment) -> Result<Sequence, RewindError> {
        Ok(last_before(storage, moment)?.map_or(Sequence::ZERO, |info| info.sequence))
    }

    /// The market as it is by now.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The number of accounts and open orders.
    pub fn items(&self) -> u64 {
        (self.engine.account_count() + self.engine.open_order_count()) as u64
    }

    /// Whether it has not passed the moment, so that it can go on to it.
    pub fn is_before(&self, moment: Moment) -> bool {
        match moment {
            Moment::Command(sequence) => self.engine.sequence() <= sequence,
            Moment::Time(time) => self.engine.time() <= time,
        }
    }

    /// Goes on to the moment, but behind no command later than `newest`, which must be durable. Returns false if it is
    /// not there at the deadline: another call continues.
    pub fn go_to(&mut self, moment: Moment, newest: Sequence, deadline: Instant) -> Result<bool, RewindError> {
        loop {
            // These are no more than one reading.
            while let Some(entry) = self.take(|next| moment.has(next) && next.sequence <= newest) {
                self.apply(&entry, &mut |_, _| {});
                // One command may execute 10,000 times.
                if Instant::now() >= deadline {
                    return Ok(false);
                }
            }
            if !self.waiting.is_empty() || !self.read(newest, Some((moment, deadline)))? {
                return Ok(true);
            }
            self.check_distance(self.engine.sequence())?;
            if self.waiting.is_empty() && Instant::now() >= deadline {
                return Ok(false);
            }
        }
    }

    /// Applies the next command and passes its events to `visit`. Returns false, without effect, if there is none up to
    /// `newest`.
    pub fn step(&mut self, newest: Sequence, visit: &mut dyn FnMut(&Entry, Event)) -> Result<bool, RewindError> {
        if self.waiting.is_empty() {
            self.read(newest, None)?;
        }
        let Some(entry) = self.take(|next| next.sequence <= newest) else { return Ok(false) };
        self.apply(&entry, visit);
        self.counted_from = entry.sequence;
        match entry.sequence.0.is_multiple_of(LOOK_EVERY) {
            true => self.check_size().map(|()| true),
            false => Ok(true),
        }
    }

    /// The next waiting command, if it is wanted.
    fn take(&mut self, is_wanted: impl FnOnce(&Entry) -> bool) -> Option<Entry> {
        let wanted = self.waiting.front().is_some_and(is_wanted);
        if wanted { self.waiting.pop_front() } else { None }
    }

    fn apply(&mut self, entry: &Entry, visit: &mut dyn FnMut(&Entry, Event)) {
        self.engine.apply_told(entry, &mut self.scratch, &mut |event| visit(entry, event));
        self.scratch.clear();
    }

    /// Reads on in the journal, up to `newest`. Commands before the goal are applied at once, until its deadline;
    /// others wait. Returns false if there are no more.
    fn read(&mut self, newest: Sequence, goal: Option<(Moment, Instant)>) -> Result<bool, RewindError> {
        if self.point.sequence >= newest {
            return Ok(false);
        }
        let Rewound { storage, engine, waiting, point, scratch, .. } = self;
        let (before, mut others) = (*point, BackgroundYield::default());
        let read = journal::visit_batches(storage, *point, None, &mut |batch| {
            if batch.first > newest {
                return Err(Box::new(Enough));
            }
            batch.entries(&mut |entry| {
                match goal.filter(|(moment, _)| waiting.is_empty() && moment.has(&entry) && entry.sequence <= newest) {
                    Some(_) => {
                        engine.apply_untold(&entry, scratch);
                        scratch.clear();
                        others.tick();
                    }
                    None => waiting.push_back(entry),
                }
                Ok(())
            })?;
            *point = batch.point;
            let is_late = goal.is_some_and(|(_, deadline)| Instant::now() >= deadline);
            match is_late || waiting.len() >= READ_AHEAD || point.sequence >= newest {
                true => Err(Box::new(Enough)),
                false => Ok(()),
            }
        });
        match read {
            Ok(_) => {}
            Err(JournalError::Visit(why)) if why.is::<Enough>() => {}
            Err(error) => return Err(error.into()),
        }
        self.check_size()?;
        Ok(self.point != before)
    }

    fn check_size(&self) -> Result<(), RewindError> {
        match self.items() > self.bounds.items {
            true => Err(RewindError::TooLarge { most: self.bounds.items }),
            false => Ok(()),
        }
    }

    fn check_distance(&self, sequence: Sequence) -> Result<(), RewindError> {
        match sequence.0.saturating_sub(self.counted_from.0) > self.bounds.commands {
            true => Err(RewindError::TooFar { snapshot: self.counted_from, most: self.bounds.commands }),
            false => Ok(()),
        }
    }
}

/// The last snapshot before a moment; none where the journal is read from its beginning. Errors: `TooEarly`.
fn last_before<S: Storage>(storage: &S, moment: Moment) -> Result<Option<SnapshotInfo>, RewindError> {
    // The list has the newest first.
    let all = snapshot::list(storage)?;
    let mut first = None;
    for info in all {
        let is_before = match moment {
            Moment::Command(sequence) => info.sequence <= sequence,
            Moment::Time(time) => time_of(storage, &info)? <= time,
        };
        if is_before {
            return Ok(Some(info));
        }
        first = Some(info.sequence);
    }
    match (journal::oldest_point(storage)?, first) {
        (None | Some(JournalPoint::ZERO), _) => Ok(None),
        (Some(point), first) => Err(RewindError::TooEarly { first: first.unwrap_or(point.sequence) }),
    }
}

/// The time of a snapshot's last command.
fn time_of<S: Storage>(storage: &S, info: &SnapshotInfo) -> Result<Time, RewindError> {
    match snapshot::open(storage, info)?.next().transpose()? {
        Some(StateItem::Head { time, .. }) => Ok(time),
        _ => Ok(Time::ZERO),
    }
}
