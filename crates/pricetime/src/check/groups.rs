//! All cases, in groups.

use scenarios::FILES;

use super::case::{Body, Case, Kind};
use super::cases;

/// Cases that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The heading.
    pub name: &'static str,
    /// The files of scenarios whose cases come first.
    files: &'static [&'static str],
    /// The other cases, in the order in which they run.
    cases: &'static [&'static [Case]],
}

impl Group {
    const fn of(name: &'static str, files: &'static [&'static str], cases: &'static [&'static [Case]]) -> Group {
        Group { name, files, cases }
    }

    /// The cases, in the order in which they run.
    pub fn all(&self) -> impl Iterator<Item = Case> {
        let files = self.files.iter().filter_map(|name| FILES.iter().find(|file| file.name == *name));
        let scenarios = files.flat_map(scenarios::File::scenarios).map(|scenario| Case {
            name: scenario.name,
            kind: if scenario.is_specified { Kind::Spec } else { Kind::Decided },
            rule: scenario.rule,
            body: Body::Script(scenario.text),
        });
        scenarios.chain(self.cases.iter().copied().flatten().copied())
    }
}

/// All groups, in the order in which they run.
pub const GROUPS: [Group; 10] = [
    Group::of("framing", &[], &[cases::framing::CASES, cases::refused_frames::CASES]),
    Group::of("create", &[], &[cases::create::CASES]),
    Group::of("orders", &["orders"], &[cases::orders::CASES]),
    Group::of("matching", &["matching"], &[cases::matching::CASES]),
    Group::of("query & cancel", &["query"], &[cases::query::CASES]),
    Group::of("balances", &["balances"], &[]),
    Group::of("errors", &[], &[cases::errors::CASES]),
    Group::of("bad XML", &[], &[cases::xml::CASES]),
    Group::of("limits", &[], &[cases::limits::CASES]),
    Group::of(
        "extensions",
        &["kinds", "self_trade", "icebergs", "stops", "linked", "phases", "bands"],
        &[cases::extensions::CASES],
    ),
];
