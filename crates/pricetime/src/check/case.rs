//! What a case is.

use super::fault::Fault;
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

impl Body {
    /// Finds out.
    pub fn run(self, probe: &mut Probe<'_>) -> Result<(), Fault> {
        match self {
            Body::Script(script) => probe.script(script),
            Body::Refused(document) => probe.refused(document),
            Body::Code(code) => code(probe),
        }
    }
}

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
