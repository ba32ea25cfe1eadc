//! All cases, in groups.

use super::case::Case;
use super::cases;

/// Cases that belong together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The heading.
    pub name: &'static str,
    /// The cases, in the order in which they run.
    pub cases: &'static [&'static [Case]],
}

/// All groups, in the order in which they run.
pub const GROUPS: [Group; 10] = [
    Group { name: "framing", cases: &[cases::framing::CASES, cases::refused_frames::CASES] },
    Group { name: "create", cases: &[cases::create::CASES] },
    Group { name: "orders", cases: &[cases::orders::CASES] },
    Group { name: "matching", cases: &[cases::matching::CASES] },
    Group { name: "query & cancel", cases: &[cases::query::CASES] },
    Group { name: "balances", cases: &[cases::balances::CASES] },
    Group { name: "errors", cases: &[cases::errors::CASES] },
    Group { name: "bad XML", cases: &[cases::xml::CASES] },
    Group { name: "limits", cases: &[cases::limits::CASES] },
    Group { name: "extensions", cases: &[cases::extensions::CASES] },
];
