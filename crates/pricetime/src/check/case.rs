//! What a case is, and the list of all of them.

use super::cases;
use super::probe::Probe;

/// Who demands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The public specification of this protocol.
    Spec,
    /// Pricetime, where that specification is silent.
    Decided,
}

impl Kind {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Spec => "spec",
            Kind::Decided => "decided",
        }
    }
}

/// One rule of the protocol, and how to find out whether a server keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Short, unique, without blanks.
    pub name: &'static str,
    /// Who demands it.
    pub kind: Kind,
    /// The rule in one short sentence.
    pub rule: &'static str,
    /// How to find out.
    pub body: Body,
}

/// How to find out.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// The steps of a [`super::script`].
    Script(&'static str),
    /// A document that is refused as a whole, with one error, and changes nothing. Its first child funds account `{A}`.
    Refused(&'static [u8]),
    /// What no script can say.
    Code(fn(&mut Probe<'_>) -> Result<(), Fault>),
}

/// Why a case does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server answered something else.
    Differs(String),
    /// There was no reply to compare.
    NoAnswer(String),
}

/// Cases that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Their heading.
    pub name: &'static str,
    /// The cases, in the order in which they run.
    pub cases: &'static [&'static [Case]],
}

/// All groups, in the order in which they run.
pub const GROUPS: [Group; 9] = [
    Group { name: "framing", cases: &[cases::framing::CASES, cases::refused_frames::CASES] },
    Group { name: "create", cases: &[cases::create::CASES] },
    Group { name: "orders", cases: &[cases::orders::CASES] },
    Group { name: "matching", cases: &[cases::matching::CASES] },
    Group { name: "query & cancel", cases: &[cases::query::CASES] },
    Group { name: "balances", cases: &[cases::balances::CASES] },
    Group { name: "errors", cases: &[cases::errors::CASES] },
    Group { name: "bad XML", cases: &[cases::xml::CASES] },
    Group { name: "limits", cases: &[cases::limits::CASES] },
];

/// A demand of the public specification, as a script.
pub const fn spec(name: &'static str, rule: &'static str, script: &'static str) -> Case {
    Case { name, kind: Kind::Spec, rule, body: Body::Script(script) }
}

/// A decision of Pricetime, as a script.
pub const fn decided(name: &'static str, rule: &'static str, script: &'static str) -> Case {
    Case { name, kind: Kind::Decided, rule, body: Body::Script(script) }
}

/// A document that is refused as a whole.
pub const fn refused(name: &'static str, rule: &'static str, document: &'static [u8]) -> Case {
    Case { name, kind: Kind::Decided, rule, body: Body::Refused(document) }
}

/// What no script can say.
pub const fn code(
    kind: Kind,
    name: &'static str,
    rule: &'static str,
    body: fn(&mut Probe<'_>) -> Result<(), Fault>,
) -> Case {
    Case { name, kind, rule, body: Body::Code(body) }
}
