//! What an account has of each symbol. An account may have some of every symbol there is, and get them in any order: what a new one
//! costs does not grow with those that are there.

use engine::{Position, SymbolIndex};

/// Shares of one symbol that an account has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    pub symbol: SymbolIndex,
    /// What it may sell.
    pub shares: Position,
    /// What its open sells hold.
    pub held: Position,
}

/// Holdings that lie together at most.
const TOGETHER: usize = 256;

/// By symbol, in order of their creation. No piece is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings(Vec<Vec<Holding>>);

impl Holdings {
    pub fn iter(&self) -> impl Iterator<Item = &Holding> {
        self.0.iter().flatten()
    }

    /// Those behind a symbol; all without one.
    pub fn behind(&self, after: Option<SymbolIndex>) -> impl Iterator<Item = &Holding> {
        let is_before = move |holding: &Holding| after.is_some_and(|after| holding.symbol <= after);
        let first = self.0.partition_point(|piece| piece.last().is_some_and(is_before));
        self.0[first..].iter().flatten().skip_while(move |holding| is_before(holding))
    }

    /// None of a symbol that it never had.
    pub fn of(&self, symbol: SymbolIndex) -> Option<&Holding> {
        let piece = &self.0[self.piece_of(symbol)?];
        piece.binary_search_by_key(&symbol, |holding| holding.symbol).ok().map(|at| &piece[at])
    }

    /// Adds the symbol when it had none.
    pub(crate) fn entry(&mut self, symbol: SymbolIndex) -> &mut Holding {
        let none = Holding { symbol, shares: Position::ZERO, held: Position::ZERO };
        let Some(mut at) = self.piece_of(symbol) else {
            self.0.push(vec![none]);
            return &mut self.0[0][0];
        };
        if self.0[at].len() >= TOGETHER {
            // What comes last, as symbols mostly do, leaves full pieces behind.
            let is_last = at + 1 == self.0.len() && self.0[at].last().is_some_and(|last| last.symbol < symbol);
            let split = if is_last { TOGETHER } else { TOGETHER / 2 };
            let second = self.0[at].split_off(split);
            self.0.insert(at + 1, second);
            if is_last || self.0[at + 1].first().is_some_and(|first| first.symbol <= symbol) {
                at += 1;
            }
        }
        let piece = &mut self.0[at];
        let place = piece.binary_search_by_key(&symbol, |holding| holding.symbol).unwrap_or_else(|place| {
            piece.insert(place, none);
            place
        });
        &mut self.0[at][place]
    }

    /// The piece that has a symbol, or would have it; none when there is no piece.
    fn piece_of(&self, symbol: SymbolIndex) -> Option<usize> {
        let behind = self.0.partition_point(|piece| piece.first().is_some_and(|first| first.symbol <= symbol));
        (!self.0.is_empty()).then(|| behind.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn in_whatever_order_they_come_they_are_in_order() {
        const COUNT: u32 = 3 * TOGETHER as u32 + 7;
        // Forwards, backwards, and by a step that meets each once.
        for step in [1, COUNT - 1, 331] {
            let (mut holdings, mut expected) = (Holdings::default(), BTreeMap::new());
            for number in 0..2 * COUNT {
                let symbol = SymbolIndex((number * step) % COUNT);
                let shares = Position::from_units(number.into());
                holdings.entry(symbol).shares = shares;
                expected.insert(symbol, shares);
                assert_eq!(holdings.of(symbol).map(|holding| holding.shares), Some(shares));
            }
            let told: Vec<_> = holdings.iter().map(|holding| (holding.symbol, holding.shares)).collect();
            assert_eq!(told, expected.into_iter().collect::<Vec<_>>());
            for after in [0, 1, TOGETHER as u32, COUNT - 2, COUNT - 1, COUNT] {
                let behind = holdings.behind(Some(SymbolIndex(after)));
                assert_eq!(behind.count() as u32, COUNT.saturating_sub(after + 1), "step {step}, behind {after}");
            }
            assert_eq!(holdings.behind(None).count() as u32, COUNT);
            assert_eq!(holdings.of(SymbolIndex(COUNT)), None);
            assert!(holdings.0.iter().all(|piece| !piece.is_empty() && piece.len() <= TOGETHER));
        }
    }
}
