//! The port to past markets: markets that are built again beside the running one, as they were behind a command. The
//! program implements it.

use feed::View;
use terms::{Sequence, Time};

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastMoment {
    /// The moment behind this command.
    Command(Sequence),
    /// The moment behind the last command of this time or of an earlier one.
    Time(Time),
}

/// The reason why a moment cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotShown {
    /// The market takes longer than one answer may. The next question goes on from this command.
    OnItsWay { at: Sequence },
    /// The commands that are kept begin behind this one.
    TooEarly { first: Sequence },
    /// The market would take too much; in words, with the setting that bounds it.
    TooMuch(String),
    /// The kept commands cannot be read. The log has the cause.
    Unreadable,
    /// Other questions are being answered, and no more may wait.
    Busy,
    /// A fault of the server ended the question.
    Fault,
    /// The thread that showed the past has ended, and answers nothing any more.
    Ended,
}

/// A market as it was. It goes forwards.
pub trait PastMarket {
    /// Returns its view. Its trades count from 1 on behind `began`.
    fn view(&mut self) -> &mut View;
    /// Returns the command behind which its view began.
    fn began(&self) -> Sequence;
    /// Applies the next command. Returns false if there is none, or the time of one answer is over.
    fn step(&mut self) -> Result<bool, NotShown>;
}

/// The work on a past market, called once.
pub type PastLook = Box<dyn FnOnce(Result<&mut dyn PastMarket, NotShown>) + Send>;

/// A question about the past.
pub struct PastQuestion {
    /// The member that asks; empty where there is none. Members take turns.
    pub member: Box<str>,
    pub moment: PastMoment,
    /// The last command that is shown: other clients know nothing later either.
    pub newest: Sequence,
    pub look: PastLook,
}

/// Builds past markets on threads of its own, a few at a time.
pub trait PastMarkets: Send + Sync + 'static {
    /// Queues a question, and does not wait. If it cannot be queued, its `look` is called at once.
    fn ask(&self, question: PastQuestion);
}
