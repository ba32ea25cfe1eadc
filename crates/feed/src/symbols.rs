//! Symbols by their names, and the symbols that changed since the watchers of all symbols got the last changes. It
//! knows nothing of their markets.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use slots::SpreadMap;
use terms::{Symbol, SymbolIndex};

/// Symbols by name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Clients choose names: a seed that they do not know keeps them from choosing names that collide.
    exact: SpreadMap<Symbol, SymbolIndex, RandomState>,
    /// The first symbol with a small letter, by its name in capitals.
    in_capitals: SpreadMap<Symbol, SymbolIndex, RandomState>,
}

impl Names {
    /// Adds a symbol that is new.
    pub(crate) fn add(&mut self, name: Symbol, symbol: SymbolIndex) {
        self.exact.insert(name, symbol);
        let capitals = capitals(name);
        if capitals != name {
            let first = self.in_capitals.get(capitals).unwrap_or(symbol);
            self.in_capitals.insert(capitals, first);
        }
    }

    pub(crate) fn find(&self, name: Symbol) -> Option<SymbolIndex> {
        self.exact.get(name)
    }

    /// Finds a symbol in any case. Of several that differ only in case it takes the one in capitals, else the first.
    pub(crate) fn find_in_any_case(&self, name: Symbol) -> Option<SymbolIndex> {
        let capitals = capitals(name);
        self.find(capitals).or_else(|| self.find_with_small_letters(name))
    }

    /// Finds the first symbol that equals the name in any case and is not all capitals.
    pub(crate) fn find_with_small_letters(&self, name: Symbol) -> Option<SymbolIndex> {
        self.in_capitals.get(capitals(name))
    }
}

fn capitals(name: Symbol) -> Symbol {
    Symbol::parse(&name.as_bytes().to_ascii_uppercase()).unwrap_or(name)
}

/// The watchers of all symbols, of one interface each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolFollowers {
    /// Subscribers over our own interface.
    Native,
    /// Subscribers over the compatible interface.
    Compatible,
}

/// The symbols that changed since each kind of watchers got them.
#[derive(Debug, Default)]
pub(crate) struct Changed([ChangedFor; 2]);

impl Changed {
    /// Sets whether these watchers follow changes.
    pub(crate) fn follow(&mut self, who: SymbolFollowers, followed: bool) {
        self.0[who as usize].follow(followed);
    }

    #[inline]
    pub(crate) fn add(&mut self, symbol: SymbolIndex) {
        self.0.iter_mut().for_each(|changed| changed.add(symbol));
    }

    /// Takes the first `most` of them.
    pub(crate) fn take(&mut self, who: SymbolFollowers, most: usize) -> Vec<SymbolIndex> {
        self.0[who as usize].take(most)
    }
}

/// Symbols that changed, each once, in the order in which they first did.
#[derive(Debug, Default)]
struct ChangedFor {
    followed: bool,
    queue: VecDeque<SymbolIndex>,
    /// Whether a symbol is in the queue, by symbol.
    queued: Vec<bool>,
}

impl ChangedFor {
    /// Sets whether changes are followed.
    fn follow(&mut self, followed: bool) {
        if self.followed != followed {
            *self = ChangedFor { followed, ..ChangedFor::default() };
        }
    }

    #[inline]
    fn add(&mut self, symbol: SymbolIndex) {
        if self.followed {
            self.queue(symbol);
        }
    }

    fn queue(&mut self, symbol: SymbolIndex) {
        let at = symbol.0 as usize;
        if self.queued.len() <= at {
            self.queued.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.queued[at], true) {
            self.queue.push_back(symbol);
        }
    }

    /// Takes the first `most` of them.
    fn take(&mut self, most: usize) -> Vec<SymbolIndex> {
        let taken: Vec<SymbolIndex> = self.queue.drain(..self.queue.len().min(most)).collect();
        taken.iter().for_each(|symbol| self.queued[symbol.0 as usize] = false);
        taken
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn symbol(name: &str) -> Symbol {
        Symbol::parse(name.as_bytes()).unwrap()
    }

    #[test]
    fn the_one_in_capitals_is_meant_else_the_first() {
        let mut names = Names::default();
        for (at, name) in (0..).zip(["aB", "Ab", "SPY", "spy", "7"]) {
            names.add(symbol(name), SymbolIndex(at));
        }
        for (name, any, exact) in [
            ("ab", Some(0), None),
            ("Ab", Some(0), Some(1)),
            ("spy", Some(2), Some(3)),
            ("7", Some(4), Some(4)),
            ("X", None, None),
        ] {
            assert_eq!(names.find_in_any_case(symbol(name)), any.map(SymbolIndex), "{name}");
            assert_eq!(names.find(symbol(name)), exact.map(SymbolIndex), "{name}");
        }
        assert_eq!(names.find_with_small_letters(symbol("SPY")), Some(SymbolIndex(3)));
    }

    #[test]
    fn what_changed_is_told_once_and_some_at_a_time() {
        let mut changed = ChangedFor::default();
        changed.add(SymbolIndex(1));
        assert_eq!(changed.take(9), [], "nobody wanted to know");
        changed.follow(true);
        [5, 2, 5, 9, 2].into_iter().for_each(|symbol| changed.add(SymbolIndex(symbol)));
        assert_eq!(changed.take(2), [SymbolIndex(5), SymbolIndex(2)]);
        changed.add(SymbolIndex(5));
        assert_eq!(changed.take(9), [SymbolIndex(9), SymbolIndex(5)]);
        changed.add(SymbolIndex(1));
        changed.follow(false);
        changed.follow(true);
        assert_eq!(changed.take(9), []);
    }
}
