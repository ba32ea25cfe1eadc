//! Sends the subscribers of all symbols which symbols changed, some at a time. It lives in the feed's thread, in the
//! hub.

use std::hash::{BuildHasher, RandomState};

use feed::{SymbolFollowers, View};
use terms::SymbolIndex;

use crate::clock::market_now;
use crate::shapes::SymbolShape;

/// Symbols that are checked between two turns of the feed. A market with no more symbols is sent as a whole.
pub(crate) const AT_ONCE: usize = 500;

/// The last messages about symbols.
#[derive(Default)]
pub(crate) struct Ticker {
    /// A hash of each symbol's last message; `None` before the first.
    told: Vec<Option<u64>>,
    hasher: RandomState,
    /// The next symbol to check only because time passes, which changes its last 24 hours.
    next: usize,
}

impl Ticker {
    /// Returns symbols whose message would differ from the last one. Those with events come first, in that order; the
    /// others are checked in turn.
    pub(crate) fn look(&mut self, view: &mut View) -> Vec<SymbolShape> {
        let (time, there) = (market_now(view), view.listings().len());
        self.told.resize(there, None);
        let mut looked_at = view.take_changed_symbols(SymbolFollowers::Native, AT_ONCE);
        for _ in looked_at.len()..AT_ONCE.min(there) {
            self.next = if self.next + 1 < there { self.next + 1 } else { 0 };
            looked_at.extend(u32::try_from(self.next).ok().map(SymbolIndex));
        }
        looked_at.sort_unstable();
        looked_at.dedup();
        let shapes = looked_at.into_iter().map(|symbol| (symbol, SymbolShape::of(view, symbol, time)));
        shapes.filter(|(symbol, shape)| self.is_news(*symbol, shape)).map(|(_, shape)| shape).collect()
    }

    fn is_news(&mut self, symbol: SymbolIndex, shape: &SymbolShape) -> bool {
        let hash = Some(self.hasher.hash_one(shape));
        self.told.get_mut(symbol.0 as usize).is_some_and(|told| std::mem::replace(told, hash) != hash)
    }
}
