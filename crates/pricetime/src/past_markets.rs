//! Makes markets of the past on request: one thread of low priority works, a few questions wait for it, and it keeps
//! the last markets for a while, so that a viewer who steps on continues from there.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use exchange::EventBatch;
use exchange::containment::{Panicked, Part, contain};
use feed::View;
use http_gateway::{NotShown, PastMarket, PastMarkets, PastMoment, PastQuestion};
use journal::Disk;
use market::rewind::{Moment, RewindBounds, RewindError, Rewound};
use terms::Sequence;

/// The most waiting questions of one member, besides the one that is being answered, and of all. Further ones are told
/// to ask again.
const WAITING_OF_MEMBER_MAX: usize = 2;
const WAITING_MAX: usize = 32;
/// The most time for a question: others wait for it.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// The number of markets that are kept, and the time since their last question.
const KEPT_MAX: usize = 2;
const KEPT_FOR: Duration = Duration::from_secs(60);

/// The maker's handle. The thread ends when it is dropped.
pub struct Rewinder(Arc<WaitingQuestions>);

/// The waiting questions: members take turns.
#[derive(Default)]
struct WaitingQuestions {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    questions: VecDeque<PastQuestion>,
    /// The member whose question was taken last.
    last: Box<str>,
    /// Set when nobody asks any more, or nobody answers.
    has_ended: bool,
}

impl Queue {
    /// Adds a question. Errors: the reason why it cannot wait, and the question.
    fn leave(&mut self, question: PastQuestion) -> Result<(), (PastQuestion, NotShown)> {
        let its = self.questions.iter().filter(|waiting| waiting.member == question.member).count();
        if self.has_ended {
            return Err((question, NotShown::Ended));
        }
        if its >= WAITING_OF_MEMBER_MAX || self.questions.len() >= WAITING_MAX {
            return Err((question, NotShown::Busy));
        }
        self.questions.push_back(question);
        Ok(())
    }

    /// Takes the oldest question of another member than the last one; if there is none, the oldest.
    fn take(&mut self) -> Option<PastQuestion> {
        let place = self.questions.iter().position(|waiting| waiting.member != self.last).unwrap_or_default();
        let question = self.questions.remove(place)?;
        // This member's next question comes behind those of others who wait.
        self.last.clone_from(&question.member);
        Some(question)
    }
}

/// The next thing to do.
enum Next {
    Answer(PastQuestion),
    /// Drops the engines, because nobody asked for a while.
    Forget,
    End,
}

impl WaitingQuestions {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Next {
        let nothing = |queue: &mut Queue| queue.questions.is_empty() && !queue.has_ended;
        let waited = self.changed.wait_timeout_while(self.lock(), KEPT_FOR, nothing);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match queue.take() {
            Some(question) => Next::Answer(question),
            None if queue.has_ended => Next::End,
            None => Next::Forget,
        }
    }

    fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }
}

/// Ends all waits when it is dropped, also if the answering thread panics.
struct EndsWaits(Arc<WaitingQuestions>);

impl Drop for EndsWaits {
    fn drop(&mut self) {
        self.0.end();
        let left = std::mem::take(&mut self.0.lock().questions);
        left.into_iter().for_each(|question| (question.look)(Err(NotShown::Ended)));
    }
}

impl Rewinder {
    /// Starts to make them from a data folder, beside the market that runs on it. Errors: the system gives no thread.
    pub fn start(storage: Disk, bounds: RewindBounds) -> io::Result<Rewinder> {
        let waiting = Arc::new(WaitingQuestions::default());
        let ends = EndsWaits(Arc::clone(&waiting));
        let serve = move || {
            // The lowest priority, so that the thread gives way to the market.
            let _ = rustix::process::setpriority_process(None, 19);
            Maker { storage, bounds, kept: Vec::new() }.serve(&ends.0);
        };
        std::thread::Builder::new().name("rewinds".to_string()).spawn(serve)?;
        Ok(Rewinder(waiting))
    }
}

impl Drop for Rewinder {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl PastMarkets for Rewinder {
    fn ask(&self, question: PastQuestion) {
        let left = self.0.lock().leave(question);
        match left {
            Ok(()) => self.0.changed.notify_all(),
            Err((question, why)) => (question.look)(Err(why)),
        }
    }
}

struct Maker {
    storage: Disk,
    bounds: RewindBounds,
    /// The markets, the last one used at the end.
    kept: Vec<MadeMarket>,
}

/// A market of the past.
struct MadeMarket {
    /// The member for whom it was made.
    member: Box<str>,
    rewound: Rewound<Disk>,
    /// The view, and the command behind which it began. None while the market is on its way to a moment.
    shown: Option<(View, Sequence)>,
}

impl Maker {
    fn serve(mut self, waiting: &WaitingQuestions) {
        loop {
            match waiting.next() {
                Next::Answer(question) => self.answer(question),
                Next::Forget => self.kept.clear(),
                Next::End => return,
            }
        }
    }

    fn answer(&mut self, PastQuestion { member, moment, newest, look }: PastQuestion) {
        let deadline = Instant::now() + ANSWER_MAX;
        let moment = match moment {
            PastMoment::Command(sequence) => Moment::Command(sequence),
            PastMoment::Time(time) => Moment::Time(time),
        };
        // A panic ends this question alone. The market that it had in hand is dropped.
        let fault = |panicked: &Panicked| {
            tracing::error!(?member, ?moment, %panicked, "a look at the past ended by a fault of the server; please report it");
        };
        let found = contain(Part::Question, || {
            let (mut made, is_there) = self.at(&member, moment, newest, deadline)?;
            let engine = made.rewound.engine();
            let view = || made.shown.take().unwrap_or_else(|| (View::new(engine, None), engine.sequence()));
            let shown = is_there.then(view);
            Ok((made, shown))
        });
        let found = found.inspect_err(fault).map_err(|_| NotShown::Fault);
        let looked = contain(Part::Question, || match found.and_then(|found| found.map_err(told)) {
            Ok((mut made, Some((mut view, began)))) => {
                // The look may take as long again.
                let deadline = Instant::now() + ANSWER_MAX;
                let (rewound, shown, batch) = (&mut made.rewound, &mut view, EventBatch::default());
                look(Ok(&mut Showing { rewound, view: shown, began, newest, deadline, batch }));
                made.shown = Some((view, began));
                Some(made)
            }
            Ok((made, None)) => {
                look(Err(NotShown::OnItsWay { at: made.rewound.engine().sequence() }));
                Some(made)
            }
            Err(why) => {
                look(Err(why));
                None
            }
        });
        if let Some(made) = looked.inspect_err(fault).ok().flatten() {
            self.keep(made);
        }
    }

    /// Returns a market at that moment; or, with false, on its way there.
    fn at(
        &mut self,
        member: &str,
        moment: Moment,
        newest: Sequence,
        deadline: Instant,
    ) -> Result<(MadeMarket, bool), RewindError> {
        if let Some(mut made) = self.take(member, moment) {
            match made.go_to(moment, newest, deadline) {
                Ok(is_there) => return Ok((made, is_there)),
                // The journal files that it needs may be retired by now.
                Err(error) => tracing::debug!(%error, "a market of the past is made anew"),
            }
        }
        self.make_room(member);
        match self.make(member, moment, newest, deadline) {
            // A file may have been retired between two looks at the folder.
            Err(RewindError::Journal(_) | RewindError::Snapshot(_) | RewindError::Load(_)) => {
                self.make(member, moment, newest, deadline)
            }
            made => made,
        }
    }

    fn make(
        &self,
        member: &str,
        moment: Moment,
        newest: Sequence,
        deadline: Instant,
    ) -> Result<(MadeMarket, bool), RewindError> {
        let rewound = Rewound::begin(&self.storage, moment, self.bounds)?;
        let mut made = MadeMarket { member: member.into(), rewound, shown: None };
        let is_there = made.go_to(moment, newest, deadline)?;
        Ok((made, is_there))
    }

    /// Takes the member's kept market that is nearest before the moment, unless a snapshot is nearer. Markets of others
    /// stay for their own questions.
    fn take(&mut self, member: &str, moment: Moment) -> Option<MadeMarket> {
        let its = |made: &MadeMarket| *made.member == *member && made.rewound.is_before(moment);
        let before = self.kept.iter().enumerate().filter(|(_, made)| its(made));
        let at = before.map(|(place, made)| (made.rewound.engine().sequence(), place));
        let (sequence, place) = at.max()?;
        let is_nearest = Rewound::beginning(&self.storage, moment).is_ok_and(|beginning| beginning <= sequence);
        is_nearest.then(|| self.kept.remove(place))
    }

    fn keep(&mut self, made: MadeMarket) {
        self.make_room(&made.member);
        self.kept.push(made);
    }

    /// Drops markets until there is room for one more: the member's own first, so that no member loses a market on
    /// which it waits to another.
    fn make_room(&mut self, member: &str) {
        while self.kept.len() >= KEPT_MAX {
            let place = self.kept.iter().position(|made| *made.member == *member).unwrap_or_default();
            self.kept.remove(place);
        }
    }
}

impl MadeMarket {
    fn go_to(&mut self, moment: Moment, newest: Sequence, deadline: Instant) -> Result<bool, RewindError> {
        let before = self.rewound.engine().sequence();
        let is_there = self.rewound.go_to(moment, newest, deadline)?;
        // The view has not followed.
        self.shown.take_if(|_| before != self.rewound.engine().sequence());
        Ok(is_there)
    }
}

/// A market of the past while a viewer looks at it.
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
        // One command may execute 10,000 times.
        if Instant::now() >= self.deadline {
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

/// The refusal for the viewer; the cause of an unexpected one goes to the log.
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
    use std::sync::mpsc::{Receiver, channel};

    use journal::{Durability, Journal, JournalPoint, Options};
    use terms::{AccountId, Command, Money, Time};

    use super::*;
    use crate::tests::runs_here;

    fn question(member: &str, command: u64) -> (PastQuestion, Receiver<Option<NotShown>>) {
        let (told, why) = channel();
        let look = Box::new(move |found: Result<&mut dyn PastMarket, NotShown>| {
            let _ = told.send(found.err());
        });
        let moment = PastMoment::Command(Sequence(command));
        (PastQuestion { member: member.into(), moment, newest: Sequence(9), look }, why)
    }

    /// A panic in a look once ended the server, and a thread that ended alone would show the past to nobody any more.
    #[test]
    fn a_look_that_panics_ends_alone() {
        if !runs_here("past_markets::tests::a_look_that_panics_ends_alone") {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let bounds = RewindBounds { commands: 10, items: 10 };
        let rewinder = Rewinder::start(Disk::open(folder.path()).expect("a disk"), bounds).expect("a thread");
        let (asked, _) = question("alice", 0);
        rewinder.ask(PastQuestion { look: Box::new(|_| panic!("planted in a look")), ..asked });
        let (asked, why) = question("alice", 0);
        rewinder.ask(asked);
        assert_eq!(why.recv(), Ok(None), "the next question is answered");
        assert_eq!(Part::Question.panics(), 1, "it is counted");
    }

    /// The clock was looked at behind each 256th command, and one command may execute 10,000 times.
    #[test]
    fn a_look_whose_time_is_over_takes_no_further_command() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(folder.path()).expect("a disk");
        let options = Options { durability: Durability::Written, ..Options::default() };
        let (mut journal, _) = Journal::recover(disk.clone(), options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(()))
            .expect("a journal");
        for sequence in 1..=3_u64 {
            let account = AccountId::parse(sequence.to_string().as_bytes()).expect("an account");
            let mut payload = Vec::new();
            journal::encode(&Command::CreateAccount { account, balance: Money::ZERO }, &mut payload);
            journal.append(Sequence(sequence), Time(1), 1, &payload).expect("a journal");
        }
        drop(journal);
        let (bounds, newest) = (RewindBounds { commands: 10, items: 10 }, Sequence(3));
        let (then, later) = (Moment::Command(Sequence(1)), Instant::now() + Duration::from_secs(600));
        let mut rewound = Rewound::begin(&disk, then, bounds).expect("a beginning");
        assert!(rewound.go_to(then, newest, later).expect("the moment"));
        let (mut view, batch) = (View::new(rewound.engine(), None), EventBatch::default());
        let began = Sequence(1);
        let deadline = Instant::now();
        let mut showing = Showing { rewound: &mut rewound, view: &mut view, began, newest, deadline, batch };
        assert_eq!(showing.step(), Ok(false));
        showing.deadline = later;
        assert_eq!([showing.step(), showing.step(), showing.step()], [Ok(true), Ok(true), Ok(false)]);
        assert_eq!(showing.view().accounts().len(), 3);
    }

    #[test]
    fn a_question_that_cannot_be_left_is_told_why() {
        let rewinder = Rewinder(Arc::default());
        let leave = |member| {
            let (question, why) = question(member, 1);
            rewinder.ask(question);
            why.try_recv().ok().flatten()
        };
        assert_eq!([(); 3].map(|()| leave("")), [None, None, Some(NotShown::Busy)], "they wait");
        let waiting = Arc::clone(&rewinder.0);
        drop(EndsWaits(waiting));
        assert_eq!(leave("alice"), Some(NotShown::Ended));
    }

    #[test]
    fn members_take_turns_and_none_takes_the_places_of_others() {
        let mut queue = Queue::default();
        let leave = |queue: &mut Queue, member: &str, command| queue.leave(question(member, command).0).is_ok();
        assert!(leave(&mut queue, "alice", 1));
        assert!(queue.take().is_some_and(|taken| &*taken.member == "alice"), "it is being answered");
        let left = [2, 3, 4, 5].map(|command| leave(&mut queue, "alice", command));
        assert_eq!(left, [true, true, false, false]);
        assert!(leave(&mut queue, "bob", 6) && leave(&mut queue, "bob", 7));
        let turns: Vec<Box<str>> = std::iter::from_fn(|| queue.take()).map(|taken| taken.member).collect();
        assert_eq!(turns.iter().map(|member| &**member).collect::<Vec<_>>(), ["bob", "alice", "bob", "alice"]);
        for number in 0..WAITING_MAX {
            assert!(leave(&mut queue, &number.to_string(), 1));
        }
        assert!(!leave(&mut queue, "zoe", 1));
    }
}
