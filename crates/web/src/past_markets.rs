//! The port to the market's past: markets that are made again beside the running one, as they were behind a command. Who makes them, and of
//! what, the program says.

use engine::{Sequence, Time};
use feed::View;

/// A moment of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastMoment {
    /// Behind this command.
    Command(Sequence),
    /// Behind the last command of this time or of an earlier one.
    Time(Time),
}

/// Why a moment cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotShown {
    /// It takes longer than one answer may. The next question goes on from this command.
    OnItsWay { at: Sequence },
    /// What is kept begins behind this command.
    TooEarly { first: Sequence },
    /// It would take too much; in words, with the setting that is the bound.
    TooMuch(String),
    /// What is kept cannot be read. The log says why.
    Unreadable,
    /// Others are shown the past, and no more may wait.
    Busy,
    /// Whoever showed the past has ended, and shows nothing any more.
    Ended,
}

/// A market as it was. It goes forwards.
pub trait PastMarket {
    /// As it is looked at. Its trades count from 1 on behind `began`.
    fn view(&mut self) -> &mut View;
    /// The command behind which its view began.
    fn began(&self) -> Sequence;
    /// Applies the next command. False if there is none, or the time of one answer is over.
    fn step(&mut self) -> Result<bool, NotShown>;
}

/// What is done with a past market, once.
pub type PastLook = Box<dyn FnOnce(Result<&mut dyn PastMarket, NotShown>) + Send>;

/// A question about the past.
pub struct PastQuestion {
    /// The member who asks; empty where none is known. Members take turns.
    pub member: Box<str>,
    pub moment: PastMoment,
    /// Nothing behind this command is shown: it is the last one of which others have been told.
    pub newest: Sequence,
    pub look: PastLook,
}

/// Who makes past markets. It does so aside, a few at a time.
pub trait PastMarkets: Send + Sync + 'static {
    /// Leaves a question, and waits for nothing. Where it cannot be left it is told so at once.
    fn ask(&self, question: PastQuestion);
}
