//! The published experiments, which are data (`presets.toml`): what each does, how this program maps it, and the
//! reported results. The presets turn parameters into runs.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::records::number::list;
use crate::records::{Axis, Mode, Published, Recipe, Shows, word};
use crate::reports::table::Table;

/// All of them, in the order of the table in which they were collected.
pub static ALL: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        preset: Vec<Preset>,
    }
    let file: File = toml::from_str(include_str!("presets.toml")).expect("invariant: a test reads the presets");
    file.preset
});

/// A published experiment.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Preset {
    pub name: String,
    pub title: String,
    /// The description, the decisions where the published text is silent, and the right reply.
    pub text: String,
    /// The reported result, in a line.
    pub reported: String,
    pub axis: Axis,
    pub values: Vec<u64>,
    #[serde(default)]
    pub shows: Shows,
    #[serde(default)]
    pub log_axis: bool,
    #[serde(default)]
    pub published: Vec<Published>,
    pub workload: Recipe,
    pub mode: Mode,
    /// Connections at once; fewer where the limit of open files is lower, which the description says. The axis of
    /// clients sets it itself.
    pub connections: u64,
    /// Requests in flight on each connection; 1 by default.
    pub depth: Option<u64>,
    /// Requests of a run, a line each; empty where the axis says how many.
    #[serde(default)]
    pub sizes: Vec<u64>,
    /// Workers, where the published server had a fixed number; else one a core.
    pub workers: Option<u64>,
    #[serde(default)]
    pub server_arguments: Vec<String>,
    /// The value from which a point is a single run, because it lasts long.
    pub single_run_from: Option<u64>,
}

/// Lists the names on the command line.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|preset| preset.name.as_str())
}

/// Makes the table of presets: what each does and what was published.
pub fn table() -> Table {
    let heads = ["preset", "what it does", "published, other hardware"];
    let mut table = Table::new("published experiments, repeated by --preset", heads);
    for Preset { name, title, text, reported, axis, values, .. } in ALL.iter() {
        table.row([name.clone(), format!("{title}; {} {}. {text}", word(*axis), list(values)), reported.clone()]);
    }
    table
}
