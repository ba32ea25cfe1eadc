//! Orders for the auctions in which their symbols are, and how many shares of market orders stand at each limit.
//! `auction_orders.rs` keeps both. This file knows neither books nor accounts.

use std::collections::{BTreeMap, BTreeSet};

use terms::{OrderId, Position, Price, Side, SymbolIndex};

/// The orders that end with the auction of their symbol.
pub(crate) struct AuctionOrders {
    by_symbol: BTreeSet<(SymbolIndex, OrderId)>,
    symbols: BTreeMap<OrderId, SymbolIndex>,
    /// The open shares of market orders at each limit that has any.
    market: BTreeMap<(SymbolIndex, Side, Price), Position>,
}

impl AuctionOrders {
    pub(crate) fn new() -> AuctionOrders {
        AuctionOrders { by_symbol: BTreeSet::new(), symbols: BTreeMap::new(), market: BTreeMap::new() }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_symbol.is_empty()
    }

    pub(crate) fn insert(&mut self, symbol: SymbolIndex, order: OrderId) {
        self.by_symbol.insert((symbol, order));
        self.symbols.insert(order, symbol);
    }

    /// Removes an order, if it is one of these.
    #[cold]
    pub(crate) fn remove(&mut self, order: OrderId) {
        if let Some(symbol) = self.symbols.remove(&order) {
            self.by_symbol.remove(&(symbol, order));
        }
    }

    /// All orders, by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OrderId, SymbolIndex)> {
        self.symbols.iter().map(|(order, symbol)| (*order, *symbol))
    }

    /// The shares of market orders at all limits that have any.
    pub(crate) fn market(&self) -> &BTreeMap<(SymbolIndex, Side, Price), Position> {
        &self.market
    }

    /// The oldest order of a symbol.
    pub(crate) fn first(&self, symbol: SymbolIndex) -> Option<OrderId> {
        let its = (symbol, OrderId(0))..=(symbol, OrderId(u64::MAX));
        self.by_symbol.range(its).next().map(|(_, order)| *order)
    }

    /// The shares of market orders at a limit.
    pub(crate) fn market_shares(&self, place: (SymbolIndex, Side, Price)) -> Position {
        self.market.get(&place).copied().unwrap_or(Position::ZERO)
    }

    /// Counts more shares of market orders at a limit, or fewer if `shares` is below zero.
    pub(crate) fn count_market(&mut self, place: (SymbolIndex, Side, Price), shares: Position) {
        let all = self.market_shares(place).plus(shares);
        match all == Position::ZERO {
            true => self.market.remove(&place),
            false => self.market.insert(place, all),
        };
    }
}
