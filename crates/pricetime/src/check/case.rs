//! Cases of the check.

use super::fault::Fault;
use super::probe::Probe;

/// The source of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The public specification of this protocol.
    Spec,
    /// Pricetime, where that specification is silent.
    Decided,
}

impl Kind {
    /// The printed name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Spec => "spec",
            Kind::Decided => "decided",
        }
    }
}

/// One rule of the protocol, and the way to find out whether a server keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name: short, unique, without blanks.
    pub name: &'static str,
    /// The source of the rule.
    pub kind: Kind,
    /// The rule in one short sentence.
    pub rule: &'static str,
    /// The way to find out.
    pub body: Body,
}

/// The way to find out whether a rule holds.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// The steps of a [`super::script`].
    Script(&'static str),
    /// A document that is refused as a whole, with one error, and changes nothing. Its first child funds account `{A}`.
    Refused(&'static [u8]),
    /// Code, for cases beyond scripts.
    Code(fn(&mut Probe<'_>) -> Result<(), Fault>),
}

impl Body {
    /// Runs the case.
    pub fn run(self, probe: &mut Probe<'_>) -> Result<(), Fault> {
        match self {
            Body::Script(script) => probe.script(script),
            Body::Refused(document) => probe.refused(document),
            Body::Code(code) => code(probe),
        }
    }
}

/// Makes a case of the public specification, as a script.
pub const fn spec(name: &'static str, rule: &'static str, script: &'static str) -> Case {
    Case { name, kind: Kind::Spec, rule, body: Body::Script(script) }
}

/// Makes a case of Pricetime's decision, as a script.
pub const fn decided(name: &'static str, rule: &'static str, script: &'static str) -> Case {
    Case { name, kind: Kind::Decided, rule, body: Body::Script(script) }
}

/// Makes a case of a document that is refused as a whole.
pub const fn refused(name: &'static str, rule: &'static str, document: &'static [u8]) -> Case {
    Case { name, kind: Kind::Decided, rule, body: Body::Refused(document) }
}

/// Makes a case in code.
pub const fn code(
    kind: Kind,
    name: &'static str,
    rule: &'static str,
    body: fn(&mut Probe<'_>) -> Result<(), Fault>,
) -> Case {
    Case { name, kind, rule, body: Body::Code(body) }
}
