//! Faults of cases.

/// The reason why a case does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server answered something else.
    Differs(String),
    /// The server sent no reply to compare.
    NoAnswer(String),
}

impl Fault {
    /// Adds what the fault is about.
    pub fn because(self, what: &str) -> Fault {
        match self {
            Fault::Differs(why) => Fault::Differs(format!("{what}: {why}")),
            Fault::NoAnswer(why) => Fault::NoAnswer(why),
        }
    }
}
