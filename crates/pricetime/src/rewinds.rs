//! Makes the markets of the past that somebody asks for: one thread of low priority does, a few questions wait for it, and the last
//! markets are kept for a while, so that whoever plays on goes on where they were.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use engine::Sequence;
use exchange::EventBatch;
use feed::View;
use journal::Disk;
use market::rewind::{Moment, RewindBounds, RewindError, Rewound};
use web::{NotShown, PastMarket, PastMarkets, PastMoment, PastQuestion};

/// Questions that wait, beside the one that is being answered. What comes then is told to ask again.
const WAITING_MAX: usize = 2;
/// How long a question may take: others wait for it.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Commands between two looks at the clock.
const LOOK_EVERY: u64 = 256;
/// Markets that are kept, and for how long after the last question.
const KEPT_MAX: usize = 2;
const KEPT_FOR: Duration = Duration::from_secs(60);

/// Who makes them. It ends when this is dropped.
pub struct Rewinds(SyncSender<PastQuestion>);

impl Rewinds {
    /// Makes them of what a data folder keeps, beside the market that runs on it. Errors: the system gives no thread.
    pub fn start(storage: Disk, bounds: RewindBounds) -> io::Result<Rewinds> {
        let (ask, asked) = sync_channel(WAITING_MAX);
        let serve = move || {
            // It gives way to those who trade.
            let _ = rustix::process::setpriority_process(None, 19);
            Maker { storage, bounds, kept: Vec::new() }.serve(&asked);
        };
        std::thread::Builder::new().name("rewinds".to_string()).spawn(serve)?;
        Ok(Rewinds(ask))
    }
}

impl PastMarkets for Rewinds {
    fn ask(&self, question: PastQuestion) {
        let (question, why) = match self.0.try_send(question) {
            Ok(()) => return,
            Err(TrySendError::Full(question)) => (question, NotShown::Busy),
            Err(TrySendError::Disconnected(question)) => (question, NotShown::Ended),
        };
        (question.look)(Err(why));
    }
}

struct Maker {
    storage: Disk,
    bounds: RewindBounds,
    /// The one that was used last stands last.
    kept: Vec<Made>,
}

/// A market of the past.
struct Made {
    rewound: Rewound<Disk>,
    /// As it is looked at, and the command behind which that began. None while it is on its way to a moment.
    shown: Option<(View, Sequence)>,
}

impl Maker {
    fn serve(mut self, asked: &Receiver<PastQuestion>) {
        loop {
            match asked.recv_timeout(KEPT_FOR) {
                Ok(question) => self.answer(question),
                Err(RecvTimeoutError::Timeout) => self.kept.clear(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn answer(&mut self, PastQuestion { moment, newest, look }: PastQuestion) {
        let deadline = Instant::now() + ANSWER_MAX;
        let moment = match moment {
            PastMoment::Command(sequence) => Moment::Command(sequence),
            PastMoment::Time(time) => Moment::Time(time),
        };
        match self.at(moment, newest, deadline) {
            Ok((mut made, true)) => {
                let Made { rewound, shown } = &mut made;
                let began = rewound.engine().sequence();
                let (view, began) = shown.get_or_insert_with(|| (View::new(rewound.engine(), None), began));
                // What is looked at may take as long again.
                let deadline = Instant::now() + ANSWER_MAX;
                look(Ok(&mut Showing { rewound, view, began: *began, newest, deadline, batch: EventBatch::default() }));
                self.keep(made);
            }
            Ok((made, false)) => {
                let at = made.rewound.engine().sequence();
                self.keep(made);
                look(Err(NotShown::OnItsWay { at }));
            }
            Err(error) => look(Err(told(error))),
        }
    }

    /// A market at that moment; or, with false, on its way there.
    fn at(&mut self, moment: Moment, newest: Sequence, deadline: Instant) -> Result<(Made, bool), RewindError> {
        if let Some(mut made) = self.take(moment) {
            match made.go_to(moment, newest, deadline) {
                Ok(is_there) => return Ok((made, is_there)),
                // What it goes on with may be retired by now.
                Err(error) => tracing::debug!(%error, "a market of the past is made anew"),
            }
        }
        self.kept.drain(..self.kept.len().saturating_sub(KEPT_MAX - 1));
        match self.make(moment, newest, deadline) {
            // A file may have been retired between two looks at the folder.
            Err(RewindError::Journal(_) | RewindError::Snapshot(_) | RewindError::Load(_)) => {
                self.make(moment, newest, deadline)
            }
            made => made,
        }
    }

    fn make(&self, moment: Moment, newest: Sequence, deadline: Instant) -> Result<(Made, bool), RewindError> {
        let mut made = Made { rewound: Rewound::begin(&self.storage, moment, self.bounds)?, shown: None };
        let is_there = made.go_to(moment, newest, deadline)?;
        Ok((made, is_there))
    }

    /// The kept market that is nearest before the moment, unless a snapshot is nearer.
    fn take(&mut self, moment: Moment) -> Option<Made> {
        let before = self.kept.iter().enumerate().filter(|(_, made)| made.rewound.is_before(moment));
        let at = before.map(|(place, made)| (made.rewound.engine().sequence(), place));
        let (sequence, place) = at.max()?;
        let is_nearest = Rewound::beginning(&self.storage, moment).is_ok_and(|beginning| beginning <= sequence);
        is_nearest.then(|| self.kept.remove(place))
    }

    fn keep(&mut self, made: Made) {
        self.kept.push(made);
        self.kept.drain(..self.kept.len().saturating_sub(KEPT_MAX));
    }
}

impl Made {
    fn go_to(&mut self, moment: Moment, newest: Sequence, deadline: Instant) -> Result<bool, RewindError> {
        let before = self.rewound.engine().sequence();
        let is_there = self.rewound.go_to(moment, newest, deadline)?;
        // What is looked at has not followed.
        self.shown.take_if(|_| before != self.rewound.engine().sequence());
        Ok(is_there)
    }
}

/// A market of the past while somebody looks at it.
struct Showing<'a> {
    rewound: &'a mut Rewound<Disk>,
    view: &'a mut View,
    began: Sequence,
    newest: Sequence,
    deadline: Instant,
    batch: EventBatch,
}

impl PastMarket for Showing<'_> {
    fn view(&mut self) -> &mut View {
        self.view
    }

    fn began(&self) -> Sequence {
        self.began
    }

    fn step(&mut self) -> Result<bool, NotShown> {
        let at = self.rewound.engine().sequence();
        if at.0.is_multiple_of(LOOK_EVERY) && Instant::now() >= self.deadline {
            return Ok(false);
        }
        let Showing { rewound, batch, .. } = self;
        batch.clear();
        if !rewound.step(self.newest, &mut |entry, event| batch.add(entry.sequence, event)).map_err(told)? {
            return Ok(false);
        }
        batch.seal(rewound.engine().sequence(), rewound.engine().time());
        self.view.apply(&self.batch);
        Ok(true)
    }
}

/// Why a moment is not shown, for whoever asked; the cause of what should not be is for the log.
fn told(error: RewindError) -> NotShown {
    match error {
        RewindError::TooEarly { first } => NotShown::TooEarly { first },
        RewindError::TooFar { snapshot, most } => NotShown::TooMuch(format!(
            "more than {most} commands lie between that moment and the snapshot at command {snapshot} (--replay-commands)"
        )),
        RewindError::TooLarge { most } => NotShown::TooMuch(format!(
            "the market of that moment has more than {most} accounts, positions and open orders (--replay-items)"
        )),
        RewindError::Journal(_) | RewindError::Snapshot(_) | RewindError::Load(_) => {
            tracing::error!(%error, "a market of the past cannot be made");
            NotShown::Unreadable
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_question_that_cannot_be_left_is_told_why() {
        let (ask, asked) = sync_channel(1);
        let (rewinds, (told, why)) = (Rewinds(ask), channel());
        let leave = || {
            let told = told.clone();
            let look = Box::new(move |found: Result<&mut dyn PastMarket, NotShown>| {
                told.send(found.err()).expect("it is listened to");
            });
            rewinds.ask(PastQuestion { moment: PastMoment::Command(Sequence(1)), newest: Sequence(1), look });
        };
        leave();
        assert!(why.try_recv().is_err(), "it waits");
        leave();
        assert_eq!(why.try_recv(), Ok(Some(NotShown::Busy)));
        drop(asked);
        leave();
        assert_eq!(why.try_recv(), Ok(Some(NotShown::Ended)));
    }
}
