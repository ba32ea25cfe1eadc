//! The line of working orders that have executed and whose pending orders are not placed yet. Each symbol has its part
//! of the line, because a symbol in which triggers are left keeps its orders back while those behind them go on. This
//! file knows nothing of pending orders.

use std::collections::BTreeMap;

use terms::{OrderId, SymbolIndex};

/// The most symbols at the front of the line that are asked whether their orders go on. Each of them has triggers left,
/// which take few commands.
const SYMBOLS_ASKED_MAX: usize = 100;

/// Working orders by place, and by symbol.
#[derive(Default)]
pub(crate) struct DueLine {
    of_symbol: BTreeMap<(SymbolIndex, u64), OrderId>,
    /// The symbols by the places of their first orders.
    symbols: BTreeMap<u64, SymbolIndex>,
    places: BTreeMap<OrderId, u64>,
    next_place: u64,
}

impl DueLine {
    /// Puts a working order at the end of the line, unless it stands there.
    pub(crate) fn join(&mut self, working: OrderId, symbol: SymbolIndex) {
        if self.places.contains_key(&working) {
            return;
        }
        let place = self.next_place;
        self.next_place = place.saturating_add(1);
        if self.first_of(symbol).is_none() {
            self.symbols.insert(place, symbol);
        }
        self.of_symbol.insert((symbol, place), working);
        self.places.insert(working, place);
    }

    /// Takes a working order out of the line, if it stands there.
    pub(crate) fn leave(&mut self, working: OrderId, symbol: SymbolIndex) {
        let Some(place) = self.places.remove(&working) else { return };
        self.of_symbol.remove(&(symbol, place));
        if self.symbols.remove(&place).is_some()
            && let Some(next) = self.first_of(symbol)
        {
            self.symbols.insert(next, symbol);
        }
    }

    fn first_of(&self, symbol: SymbolIndex) -> Option<u64> {
        let mut of_symbol = self.of_symbol.range((symbol, 0)..=(symbol, u64::MAX));
        of_symbol.next().map(|(&(_, place), _)| place)
    }

    /// The first working order whose symbol does not keep it back.
    pub(crate) fn first(&self, keeps_back: impl Fn(SymbolIndex) -> bool) -> Option<OrderId> {
        let mut asked = self.symbols.iter().take(SYMBOLS_ASKED_MAX);
        let (&place, &symbol) = asked.find(|&(_, &symbol)| !keeps_back(symbol))?;
        self.of_symbol.get(&(symbol, place)).copied()
    }

    /// All working orders in their order.
    pub(crate) fn in_order(&self) -> Vec<OrderId> {
        let mut all: Vec<(u64, OrderId)> = self.places.iter().map(|(&working, &place)| (place, working)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, working)| working).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another number would make another market of the same commands.
    #[test]
    fn behind_a_hundred_symbols_none_is_asked() {
        let mut line = DueLine::default();
        for number in 0..=SYMBOLS_ASKED_MAX as u32 {
            line.join(OrderId(u64::from(number)), SymbolIndex(number));
        }
        let first = |line: &DueLine, last: u32| line.first(|symbol| symbol < SymbolIndex(last));
        assert_eq!((first(&line, 99), first(&line, 100)), (Some(OrderId(99)), None));
        line.leave(OrderId(5), SymbolIndex(5));
        assert_eq!(first(&line, 100), Some(OrderId(100)));
    }

    #[test]
    fn the_orders_of_a_symbol_keep_their_order() {
        let mut line = DueLine::default();
        for (order, symbol) in [(7, 0), (3, 1), (5, 0), (7, 0)] {
            line.join(OrderId(order), SymbolIndex(symbol));
        }
        assert_eq!(line.in_order(), [7, 3, 5].map(OrderId));
        let first = |line: &DueLine, kept_back: u32| line.first(|symbol| symbol == SymbolIndex(kept_back));
        assert_eq!((first(&line, 2), first(&line, 0)), (Some(OrderId(7)), Some(OrderId(3))));
        line.leave(OrderId(7), SymbolIndex(0));
        assert_eq!((first(&line, 2), first(&line, 1)), (Some(OrderId(3)), Some(OrderId(5))));
        line.leave(OrderId(3), SymbolIndex(1));
        line.leave(OrderId(5), SymbolIndex(0));
        assert_eq!((first(&line, 2), line.in_order()), (None, Vec::new()));
    }
}
