//! A refusal before a request reaches its handler, with the reason by which it is counted.

use exchange::TurnedAway;

use crate::problem::Problem;

/// A refusal by the check of rights.
#[derive(Debug)]
pub(crate) struct Denied {
    /// The reason; `None` where the client is not at fault: a body that is too long, a server that is not ready.
    pub(crate) why: Option<TurnedAway>,
    pub(crate) problem: Problem,
}

impl Denied {
    pub(crate) fn new(why: TurnedAway, problem: Problem) -> Denied {
        Denied { why: Some(why), problem }
    }
}

impl From<Problem> for Denied {
    fn from(problem: Problem) -> Denied {
        Denied { why: None, problem }
    }
}
