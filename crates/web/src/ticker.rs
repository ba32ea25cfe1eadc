//! What those who follow all symbols are told: the symbols that look different than they did, some at a time. Lives in the feed's
//! thread, in the hub.

use std::hash::{BuildHasher, RandomState};

use engine::{SymbolIndex, Time};
use feed::View;

use crate::rest::now;
use crate::shapes::SymbolShape;

/// Symbols that are looked at between two turns of the feed. A market of no more of them is told whole.
pub(crate) const AT_ONCE: usize = 500;

/// What was told of symbols.
#[derive(Default)]
pub(crate) struct Ticker {
    /// By symbol, a hash of how it was told last; none before.
    told: Vec<Option<u64>>,
    hasher: RandomState,
    /// The next one that is looked at because time passes, which changes its last day.
    next: usize,
}

impl Ticker {
    /// Symbols that look different than they were told: of those where something happened, first come first, and of the others in
    /// turn.
    pub(crate) fn look(&mut self, view: &mut View) -> Vec<SymbolShape> {
        let (time, there) = (Time(now()), view.listings().len());
        self.told.resize(there, None);
        let mut looked_at = view.take_changed_symbols(AT_ONCE);
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
