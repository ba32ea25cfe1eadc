//! The documents of the site, in their order.

use crate::page_files::Packed;

/// A document.
pub(super) struct Chapter {
    /// The group that it belongs to.
    pub group: &'static str,
    /// Its path in the repository.
    pub source: &'static str,
}

impl Chapter {
    /// Returns its file in the site.
    pub fn file(&self) -> String {
        let name = self.source.trim_start_matches("docs/").trim_end_matches(".md");
        // A folder's README is named after the folder.
        let name = name.trim_end_matches("/README");
        // All pages of the site are in one folder.
        if name == "README" { "index.html".to_owned() } else { format!("{}.html", name.replace('/', "-")) }
    }

    pub fn text(&self) -> String {
        text(self.source).expect("invariant: the build packs every document")
    }
}

/// Returns the text of a document, or of a picture that is a drawing.
pub(super) fn text(source: &str) -> Option<String> {
    String::from_utf8(Packed::find(source)?.plain()).ok()
}

macro_rules! chapters {
    ($($group:literal: $($source:literal)*;)*) => {
        pub(super) const CHAPTERS: &[Chapter] = &[$($(
            Chapter { group: $group, source: $source },
        )*)*];
    };
}

chapters! {
    "First steps": "README.md" "docs/FIRST_SESSION.md" "docs/FIRST_BOT.md" "docs/RUNNING_A_CLASS.md" "docs/RUNNING_A_VENUE.md";
    "Protocols": "docs/PROTOCOL.md" "docs/API.md" "docs/BINANCE.md" "docs/FIX.md";
    "Rules": "docs/rules/ORDERS.md" "docs/rules/STOPS.md" "docs/rules/COMMAND_BOUNDS.md" "docs/rules/REPLACEMENTS.md" "docs/rules/SELF_TRADE.md" "docs/rules/DEADLINES.md" "docs/rules/AMENDMENTS.md" "docs/rules/SYMBOL_RULES.md" "docs/rules/LINKED_ORDERS.md" "docs/rules/ICEBERGS.md" "docs/rules/FEES.md" "docs/rules/PHASES.md" "docs/rules/MOVING_ORDERS.md" "docs/rules/GROUPS.md" "docs/rules/TRAILING_STOPS.md" "docs/rules/PENDING_ORDERS.md" "docs/rules/CANCEL_ALL.md" "docs/rules/KILL_SWITCH.md" "docs/rules/CANCEL_ON_DISCONNECT.md" "docs/rules/ACCOUNT_LIMITS.md" "docs/rules/TWO_RULES.md" "docs/rules/DEPOSITS.md";
    "Running it": "deploy/README.md" "docs/COMMANDS.md" "docs/SETTINGS.md" "docs/SECURITY.md" "docs/METRICS.md" "docs/POSTGRES.md" "docs/CLUSTER.md";
    "How it works": "docs/ARCHITECTURE.md" "docs/JOURNAL.md" "docs/HISTORY.md" "docs/PROOF.md" "docs/BENCHMARKS.md";
    "The project": "docs/GLOSSARY.md" "docs/DEPENDENCIES.md" "CONTRIBUTING.md" "CHANGELOG.md";
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_document_is_a_chapter() {
        for folder in ["docs", "docs/rules"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(folder);
            let names =
                std::fs::read_dir(path).expect("it is there").map(|entry| entry.expect("it can be read").file_name());
            let names = names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.ends_with(".md"));
            for name in names {
                assert!(CHAPTERS.iter().any(|chapter| chapter.source == format!("{folder}/{name}")), "{name}");
            }
        }
        assert!(CHAPTERS.iter().all(|chapter| !chapter.text().is_empty()));
    }
}
