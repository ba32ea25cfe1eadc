//! The market as it was at a moment of its past, made again beside the running one: of the last snapshot before that moment and of
//! the journal behind it. It writes nothing, and goes forwards alone.

use std::collections::VecDeque;
use std::time::Instant;

use engine::{DoneOrders, Engine, Entry, Event, Execution, Sequence, StateItem, Time};
use journal::{JournalError, JournalPoint, SnapshotError, SnapshotInfo, Storage, snapshot};

use crate::background_yield::BackgroundYield;
use crate::recovery::{self, LoadError};

/// Commands that are read from the journal ahead of their being applied, about so many: to read some more begins with the journal
/// file in which they stand.
const READ_AHEAD: usize = 16_384;
/// Commands between two looks at the clock and at the size of what is made.
const LOOK_EVERY: u64 = 4_096;

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Behind this command.
    Command(Sequence),
    /// Behind the last command of this time or of an earlier one.
    Time(Time),
}

/// How much may be made again.
#[derive(Clone, Copy, Debug)]
pub struct RewindBounds {
    /// Commands between the snapshot and the moment.
    pub commands: u64,
    /// Items of the snapshot; accounts and open orders afterwards.
    pub items: u64,
}

/// Why a moment cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// What the data folder keeps begins behind command `first`.
    #[error("what is kept of the journal begins behind command {first}")]
    TooEarly { first: Sequence },
    /// No snapshot is near enough.
    #[error("more than {most} commands lie between the snapshot at command {snapshot} and that moment")]
    TooFar { snapshot: Sequence, most: u64 },
    /// The market of that moment is too large to be made a second time.
    #[error("the market of that moment has more than {most} accounts and open orders")]
    TooLarge { most: u64 },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Load(LoadError),
}

/// The market as it was.
pub struct Rewound<S: Storage> {
    storage: S,
    engine: Engine,
    /// From here on commands count for the bound: the snapshot's, or the last that was taken as a step.
    counted_from: Sequence,
    bounds: RewindBounds,
    /// Commands that were read, and are not applied yet.
    waiting: VecDeque<Entry>,
    /// Where the journal goes on behind them.
    point: JournalPoint,
    scratch: Vec<Execution>,
}

/// Ends a reading of the journal that has enough.
#[derive(Debug, thiserror::Error)]
#[error("enough was read")]
struct Enough;

impl Moment {
    /// Whether what a command did is part of the moment.
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

    /// The command behind which it would begin. Errors: as `begin`.
    pub fn beginning(storage: &S, moment: Moment) -> Result<Sequence, RewindError> {
        Ok(last_before(storage, moment)?.map_or(Sequence::ZERO, |info| info.sequence))
    }

    /// As it is by now.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Accounts and open orders.
    pub fn items(&self) -> u64 {
        (self.engine.account_count() + self.engine.open_order_count()) as u64
    }

    /// Whether it can go on to the moment: whether it is not behind it.
    pub fn is_before(&self, moment: Moment) -> bool {
        match moment {
            Moment::Command(sequence) => self.engine.sequence() <= sequence,
            Moment::Time(time) => self.engine.time() <= time,
        }
    }

    /// Goes on to the moment, but behind no command later than `newest`, which must be durable. False if it is not there at the
    /// deadline: called again it goes on from where it is.
    pub fn go_to(&mut self, moment: Moment, newest: Sequence, deadline: Instant) -> Result<bool, RewindError> {
        loop {
            // They are no more than one reading.
            while let Some(entry) = self.take(|next| moment.has(next) && next.sequence <= newest) {
                self.apply(&entry, &mut |_, _| {});
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

    /// Applies the next command and hands what it did to `visit`. False, and nothing is done, if there is none up to `newest`.
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

    /// The next command that waits, if it is one of these.
    fn take(&mut self, is_wanted: impl FnOnce(&Entry) -> bool) -> Option<Entry> {
        let wanted = self.waiting.front().is_some_and(is_wanted);
        if wanted { self.waiting.pop_front() } else { None }
    }

    fn apply(&mut self, entry: &Entry, visit: &mut dyn FnMut(&Entry, Event)) {
        self.engine.apply_told(entry, &mut self.scratch, &mut |event| visit(entry, event));
        self.scratch.clear();
    }

    /// Reads on in the journal, up to `newest`. Commands before the goal are applied at once, until its deadline; others wait. False if there
    /// is nothing more.
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
            let has_looked = point.sequence.0 / LOOK_EVERY != (batch.first.0 - 1) / LOOK_EVERY;
            let is_late = has_looked && goal.is_some_and(|(_, deadline)| Instant::now() >= deadline);
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
    // Newest first.
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

/// When the last command of a snapshot was.
fn time_of<S: Storage>(storage: &S, info: &SnapshotInfo) -> Result<Time, RewindError> {
    match snapshot::open(storage, info)?.next().transpose()? {
        Some(StateItem::Head { time, .. }) => Ok(time),
        _ => Ok(Time::ZERO),
    }
}
