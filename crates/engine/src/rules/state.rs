//! Symbols that have rules or are not open. `rules/apply.rs` and `phases/apply.rs` apply both to orders.

use std::collections::BTreeSet;
use std::ops::Bound;

use terms::{AccountIndex, BandReferences, Phase, Price, Shares, SymbolIndex, SymbolPhase, SymbolRules, Time};

/// A symbol with rules, or in another phase than open.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Instrument {
    rules: SymbolRules,
    phase: SymbolPhase,
}

impl Instrument {
    /// A symbol without rules that is open.
    const PLAIN: Instrument = Instrument { rules: SymbolRules::NONE, phase: SymbolPhase::OPEN };
}

/// An execution, and its parties, as far as they decide whether it moves a reference.
pub(crate) struct Moving {
    pub(crate) parties: [AccountIndex; 2],
    pub(crate) shares: Shares,
    pub(crate) price: Price,
    pub(crate) is_of_auction: bool,
}

/// The rules of symbols that have any, the phases of those that are not open, and the references of bands.
pub(crate) struct Instruments {
    /// The instruments by symbol, up to the last one that is, or once was, not plain.
    by_symbol: Vec<Option<Box<Instrument>>>,
    /// The ends of auctions.
    ends: BTreeSet<(Time, SymbolIndex)>,
    /// The references by symbol, up to the last one that has, or once had, any.
    references: Vec<BandReferences>,
    /// The symbols whose references follow each execution.
    following: usize,
    /// The ends that were looked at.
    #[cfg(test)]
    pub(crate) looks: std::cell::Cell<usize>,
}

impl Instruments {
    pub(crate) fn new() -> Instruments {
        Instruments {
            by_symbol: Vec::new(),
            ends: BTreeSet::new(),
            references: Vec::new(),
            following: 0,
            #[cfg(test)]
            looks: std::cell::Cell::new(0),
        }
    }

    /// The rules of a symbol that has rules or is not open; empty rules if it is only not open.
    #[inline]
    pub(crate) fn get(&self, symbol: SymbolIndex) -> Option<&SymbolRules> {
        self.by_symbol.get(symbol.0 as usize)?.as_deref().map(|instrument| &instrument.rules)
    }

    pub(crate) fn phase(&self, symbol: SymbolIndex) -> SymbolPhase {
        self.instrument(symbol).phase
    }

    pub(crate) fn set(&mut self, symbol: SymbolIndex, rules: &SymbolRules) {
        let Instrument { rules: before, phase } = self.instrument(symbol);
        let follows = |rules: &SymbolRules| usize::from(rules.has_dynamic_band());
        self.following = self.following.saturating_add(follows(rules)).saturating_sub(follows(&before));
        self.put(symbol, Instrument { rules: *rules, phase });
    }

    pub(crate) fn set_phase(&mut self, symbol: SymbolIndex, phase: SymbolPhase) {
        let Instrument { rules, phase: before } = self.instrument(symbol);
        if let Some(until) = before.until {
            self.ends.remove(&(until, symbol));
        }
        if let Some(until) = phase.until {
            self.ends.insert((until, symbol));
        }
        self.put(symbol, Instrument { rules, phase });
    }

    pub(crate) fn references(&self, symbol: SymbolIndex) -> BandReferences {
        self.references.get(symbol.0 as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set_references(&mut self, symbol: SymbolIndex, references: BandReferences) {
        let at = symbol.0 as usize;
        if self.references.len() <= at && !references.is_none() {
            self.references.resize(at.saturating_add(1), BandReferences::NONE);
        }
        if let Some(of_symbol) = self.references.get_mut(at) {
            *of_symbol = references;
        }
    }

    /// Whether the references of no symbol follow each execution.
    #[inline]
    pub(crate) fn follow_none(&self) -> bool {
        self.following == 0
    }

    /// Moves the references of a symbol to the price of an execution, unless an account executed with itself, or too
    /// few shares did.
    pub(crate) fn move_references(&mut self, symbol: SymbolIndex, moving: &Moving) {
        let (has_band, size) = match self.get(symbol) {
            Some(rules) => (rules.has_dynamic_band(), rules.band_size),
            None => (false, Shares::MIN),
        };
        let [one, other] = moving.parties;
        if !(has_band || moving.is_of_auction) || one == other || moving.shares < size {
            return;
        }
        let BandReferences { dynamic, fixed } = self.references(symbol);
        let price = Some(moving.price);
        let references = BandReferences {
            dynamic: if has_band { price } else { dynamic },
            fixed: if moving.is_of_auction { price } else { fixed },
        };
        self.set_references(symbol, references);
    }

    /// The auctions that end by themselves, with their ends, the earliest first.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (Time, SymbolIndex)> {
        self.ends_behind(None)
    }

    /// The auctions that end by themselves behind this one, with their ends, the earliest first.
    pub(crate) fn ends_behind(&self, last: Option<(Time, SymbolIndex)>) -> impl Iterator<Item = (Time, SymbolIndex)> {
        let behind = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let ends = self.ends.range(behind).copied();
        #[cfg(test)]
        let ends = ends.inspect(|_| self.looks.set(self.looks.get().saturating_add(1)));
        ends
    }

    /// All rules, by symbol.
    pub(crate) fn all(&self) -> impl Iterator<Item = (SymbolIndex, &SymbolRules)> {
        let ruled = self.iter().map(|(symbol, instrument)| (symbol, &instrument.rules));
        ruled.filter(|(_, rules)| **rules != SymbolRules::NONE)
    }

    /// The phases of symbols that are not open, by symbol.
    pub(crate) fn phases(&self) -> impl Iterator<Item = (SymbolIndex, SymbolPhase)> {
        let phases = self.iter().map(|(symbol, instrument)| (symbol, instrument.phase));
        phases.filter(|(_, phase)| phase.phase != Phase::Open)
    }

    fn iter(&self) -> impl Iterator<Item = (SymbolIndex, &Instrument)> {
        let all = (0..).map(SymbolIndex).zip(&self.by_symbol);
        all.filter_map(|(symbol, instrument)| Some((symbol, instrument.as_deref()?)))
    }

    fn instrument(&self, symbol: SymbolIndex) -> Instrument {
        self.by_symbol.get(symbol.0 as usize).and_then(|found| found.as_deref().copied()).unwrap_or(Instrument::PLAIN)
    }

    fn put(&mut self, symbol: SymbolIndex, instrument: Instrument) {
        let at = symbol.0 as usize;
        if self.by_symbol.len() <= at {
            self.by_symbol.resize(at.saturating_add(1), None);
        }
        self.by_symbol[at] = (instrument != Instrument::PLAIN).then(|| Box::new(instrument));
    }
}
