//! The shares that an account has of each symbol. An account may hold every symbol, and get them in any order, so
//! adding a symbol costs the same however many there are.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound::{Excluded, Unbounded};

use terms::{Position, SymbolIndex};

/// Shares of one symbol that an account has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    pub symbol: SymbolIndex,
    /// Shares that it may sell.
    pub shares: Position,
    /// Shares that its open sells hold.
    pub held: Position,
}

/// The holdings of an account by symbol, in the order in which the symbols were created. None of them is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings(BTreeMap<SymbolIndex, Amounts>);

/// A holding without its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub shares: Position,
    pub held: Position,
}

impl Holdings {
    pub fn iter(&self) -> impl Iterator<Item = Holding> {
        self.behind(None)
    }

    /// Lists the holdings behind a symbol, or all of them.
    pub fn behind(&self, after: Option<SymbolIndex>) -> impl Iterator<Item = Holding> {
        let first = after.map_or(Unbounded, Excluded);
        self.0.range((first, Unbounded)).map(|(symbol, amounts)| amounts.of(*symbol))
    }

    /// Returns the holding of a symbol; `None` if the account has nothing of it.
    pub fn of(&self, symbol: SymbolIndex) -> Option<Holding> {
        self.0.get(&symbol).map(|amounts| amounts.of(symbol))
    }

    /// Changes the holding of a symbol. It forgets one that becomes nothing.
    pub(crate) fn change(&mut self, symbol: SymbolIndex, change: impl FnOnce(&mut Amounts)) {
        match self.0.entry(symbol) {
            Entry::Occupied(mut holding) => {
                change(holding.get_mut());
                if *holding.get() == Amounts::NONE {
                    holding.remove();
                }
            }
            Entry::Vacant(place) => {
                let mut amounts = Amounts::NONE;
                change(&mut amounts);
                if amounts != Amounts::NONE {
                    place.insert(amounts);
                }
            }
        }
    }
}

impl Amounts {
    const NONE: Amounts = Amounts { shares: Position::ZERO, held: Position::ZERO };

    fn of(self, symbol: SymbolIndex) -> Holding {
        let Amounts { shares, held } = self;
        Holding { symbol, shares, held }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_whatever_order_they_come_they_are_in_order() {
        const COUNT: u32 = 775;
        // Forwards, backwards, and by a step that meets each symbol once.
        for step in [1, COUNT - 1, 331] {
            let (mut holdings, mut expected) = (Holdings::default(), BTreeMap::new());
            for number in 0..2 * COUNT {
                let symbol = SymbolIndex((number * step) % COUNT);
                let shares = Position::from_units(number.into());
                holdings.change(symbol, |holding| holding.shares = shares);
                expected.insert(symbol, shares);
                assert_eq!(holdings.of(symbol).map_or(Position::ZERO, |holding| holding.shares), shares);
            }
            let told: Vec<_> = holdings.iter().map(|holding| (holding.symbol, holding.shares)).collect();
            assert_eq!(told, expected.into_iter().collect::<Vec<_>>());
            for after in [0, 1, 256, COUNT - 2, COUNT - 1, COUNT] {
                let behind = holdings.behind(Some(SymbolIndex(after)));
                assert_eq!(behind.count() as u32, COUNT.saturating_sub(after + 1), "step {step}, behind {after}");
            }
            assert_eq!(holdings.behind(None).count() as u32, COUNT);
            assert_eq!(holdings.of(SymbolIndex(COUNT)), None);
        }
    }

    #[test]
    fn a_holding_that_becomes_nothing_is_forgotten() {
        let (mut holdings, shares) = (Holdings::default(), Position::from_units(5));
        for symbol in (0..1_000).map(SymbolIndex) {
            holdings.change(symbol, |holding| holding.shares = shares);
            holdings.change(symbol, |holding| (holding.shares, holding.held) = (Position::ZERO, shares));
            assert_eq!(holdings.of(symbol), Some(Holding { symbol, shares: Position::ZERO, held: shares }));
            holdings.change(symbol, |holding| holding.held = Position::ZERO);
            assert_eq!(holdings, Holdings::default());
        }
    }
}
