//! The sums of amounts outside of the engine: `plus`, `minus` and `less` panic when they overflow, so each file that
//! uses one is listed here with its bound. Sums of things that clients can repeat without end, such as trading, have no
//! bound: `Turnover` is for those.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The shares and the money of one order are at most 2^63 units of shares, and the highest price for each of them,
/// 2^126 units of money.
const OF_ONE_ORDER: &str = "the shares, or the money, of one order";
/// A level, a book or a position: the number of orders fits into 64 bits, and 2^63 units for each of them fit into 128
/// bits.
const OF_OPEN_ORDERS: &str = "the shares of orders that are open at once";
/// All accounts together have at most 10^20 dollars, and as many shares of a symbol.
const OF_WHAT_THERE_IS: &str = "dollars and shares that accounts have, or hold, at once: capped when they are created";

/// Files with such sums, and their bounds.
const REVIEWED: [(&str, &str); 27] = [
    ("crates/feed/src/book.rs", OF_OPEN_ORDERS),
    ("crates/feed/src/orders.rs", OF_ONE_ORDER),
    ("crates/feed/src/queue_position.rs", OF_OPEN_ORDERS),
    ("crates/feed/src/order_progress.rs", OF_ONE_ORDER),
    ("crates/feed/src/view.rs", OF_WHAT_THERE_IS),
    ("crates/feed/src/view/amendments.rs", OF_ONE_ORDER),
    ("crates/feed/src/view/beginning.rs", OF_ONE_ORDER),
    ("crates/feed/src/view/icebergs.rs", OF_ONE_ORDER),
    ("crates/feed/src/view/links.rs", OF_WHAT_THERE_IS),
    ("crates/gateways/fix/src/past_reports.rs", OF_ONE_ORDER),
    ("crates/gateways/fix/src/reports.rs", OF_ONE_ORDER),
    ("crates/history/src/prehistory.rs", OF_ONE_ORDER),
    ("crates/history/src/candle.rs", "traded money is a Turnover; it takes 2^64 executions to overflow their shares"),
    ("crates/history/src/followed.rs", OF_ONE_ORDER),
    ("crates/history/src/following.rs", OF_ONE_ORDER),
    ("crates/history/src/notes.rs", OF_ONE_ORDER),
    ("crates/history/src/past_terms.rs", OF_ONE_ORDER),
    ("crates/history/src/reports.rs", OF_ONE_ORDER),
    ("crates/pricetime/src/state.rs", OF_WHAT_THERE_IS),
    ("crates/store/src/effects.rs", OF_ONE_ORDER),
    ("crates/store/src/import.rs", OF_ONE_ORDER),
    ("crates/store/src/term_rows.rs", OF_ONE_ORDER),
    ("crates/gateways/binance/src/amend.rs", OF_ONE_ORDER),
    ("crates/gateways/binance/src/order.rs", OF_ONE_ORDER),
    ("crates/gateways/binance/src/place.rs", OF_ONE_ORDER),
    ("crates/gateways/binance/src/rolling.rs", "as of candles, which it joins"),
    ("crates/gateways/http/src/shapes/order.rs", OF_ONE_ORDER),
];
/// The engine has its own invariants, tested after each command; the others are tests, benches and models.
const NOT_LOOKED_AT: [&str; 5] =
    ["crates/engine/", "crates/terms/", "crates/model/", "crates/bench/", "crates/store/src/simulation"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The names and texts of the crates' sources, without their tests and benches.
pub fn rust_sources(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in ["crates", "crates/gateways"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap().map(Result::unwrap) {
            let source = entry.path().join("src");
            if source.is_dir() {
                sources(&source, &mut files);
            }
        }
    }
    let name = |file: &PathBuf| file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    files.iter().map(|file| (name(file), std::fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn every_sum_of_amounts_outside_of_the_engine_has_a_bound_that_somebody_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut with_sums = BTreeSet::new();
    for (name, text) in rust_sources(&root) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let has_sums = [".plus(", ".minus(", ".less("].iter().any(|sum| code.contains(sum));
        if has_sums && !NOT_LOOKED_AT.iter().any(|start| name.starts_with(start)) {
            with_sums.insert(name);
        }
    }
    let reviewed: BTreeSet<String> = REVIEWED.iter().map(|(file, _)| (*file).to_owned()).collect();
    let unknown: Vec<_> = with_sums.difference(&reviewed).collect();
    assert!(unknown.is_empty(), "say what bounds the sums of {unknown:?}, or use one that saturates");
    let gone: Vec<_> = reviewed.difference(&with_sums).collect();
    assert!(gone.is_empty(), "there are no sums in {gone:?} any more");
}
