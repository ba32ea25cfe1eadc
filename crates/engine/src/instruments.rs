//! Which symbols have rules. What these mean for an order stands in `obeying.rs`.

use crate::ids::SymbolIndex;
use crate::rules::SymbolRules;

/// The rules of the symbols that have any.
pub(crate) struct Instruments {
    /// By symbol. Reaches no further than the last one that has, or had, rules.
    rules: Vec<Option<Box<SymbolRules>>>,
}

impl Instruments {
    pub(crate) fn new() -> Instruments {
        Instruments { rules: Vec::new() }
    }

    #[inline]
    pub(crate) fn get(&self, symbol: SymbolIndex) -> Option<&SymbolRules> {
        self.rules.get(symbol.0 as usize)?.as_deref()
    }

    pub(crate) fn set(&mut self, symbol: SymbolIndex, rules: &SymbolRules) {
        let at = symbol.0 as usize;
        if self.rules.len() <= at {
            self.rules.resize(at.saturating_add(1), None);
        }
        self.rules[at] = (*rules != SymbolRules::NONE).then(|| Box::new(*rules));
    }

    /// By symbol.
    pub(crate) fn all(&self) -> impl Iterator<Item = (SymbolIndex, &SymbolRules)> {
        let all = (0..).map(SymbolIndex).zip(&self.rules);
        all.filter_map(|(symbol, rules)| Some((symbol, rules.as_deref()?)))
    }
}
