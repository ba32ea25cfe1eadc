//! Orders for an auction: the limit with which they gather, their waiting for it, and their end. The book of an open
//! symbol has none of them.

use terms::{
    AccountIndex, AuctionLevel, BrokenRule, CancelReason, Event, NewOrder, OrderKind, Phase, Position, Price, Reject,
    Reply, Shares, Side, SymbolIndex,
};

use crate::engine::Engine;
use crate::matching::aggressor::{FundsBefore, Remainder};
use crate::matching::book::Level;
use crate::orders::order_terms::OrderTerms;
use crate::stops::state::Turn;
use crate::under_way::apply::WAITING_PER_EXECUTION;

impl Engine {
    /// Cancels the rest of the orders for the auction of a symbol, the oldest first, as far as the command goes.
    /// Returns whether these were all.
    pub(super) fn end_auction_orders(&mut self, symbol: SymbolIndex, events: &mut impl FnMut(Event)) -> bool {
        if self.auction_orders.is_empty() {
            return true;
        }
        let before = self.open_order_count();
        for _ in 0..self.cancels_left {
            let Some(order) = self.auction_orders.first(symbol) else { break };
            let slot = self.orders.find(order).expect("invariant: an order for an auction is open");
            self.end_order(slot, CancelReason::NotResting, events);
        }
        self.count_ended(before);
        self.auction_orders.first(symbol).is_none()
    }

    /// The limit with which an order for an auction gathers: its own, or for a market order the worst price that the
    /// band and the collar of its account allow now. It keeps this limit until its auction, because it holds money for
    /// it. Errors: it cannot gather.
    #[cold]
    pub(crate) fn limit_at_auction(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
    ) -> Result<Price, Reject> {
        let broken = |rule| Err(Reject::BreaksRule(rule));
        if placed.trigger.is_some() {
            return broken(BrokenRule::NotInAuction);
        }
        // An auction that is over ends its orders, and nobody keeps it going with more of them.
        if self.phase(placed.symbol).ends_by(self.time) {
            return broken(BrokenRule::NotInAuction);
        }
        if placed.kind != OrderKind::AuctionMarket {
            return Ok(placed.limit);
        }
        let (low, high) = self.band(placed.symbol).unwrap_or((Price::MIN, Price::MAX));
        let end = if placed.side == Side::Buy { high } else { low };
        if end == placed.side.any_price() {
            return broken(BrokenRule::AuctionWithoutBand);
        }
        let end = self.nearest_limit(account, placed.symbol, placed.side, end);
        let tick = self.rules(placed.symbol).map_or(Price::MIN, |rules| rules.tick);
        // A band without a price on the tick bounds nothing either.
        let on_tick = if placed.side == Side::Buy { end.rounded_down(tick) } else { end.rounded_up(tick) };
        on_tick.ok_or(Reject::BreaksRule(BrokenRule::AuctionWithoutBand))
    }

    /// Places an order for an auction: it gathers if its symbol is in one. Otherwise, and while others that waited have
    /// still to gather, it waits for its turn in no book. Errors: `TooManyWaiting`; a rule is broken; there is not
    /// enough to hold.
    #[cold]
    pub(crate) fn place_for_auction(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let symbol = placed.symbol;
        let phase = self.phase(symbol).phase;
        // One that has gathered keeps its place in a halt.
        if phase == Phase::Halted && terms.amended.is_some() {
            return Err(Reject::BreaksRule(BrokenRule::Halted));
        }
        if let Some(rules) = self.rules(symbol) {
            let last = self.stops.last_price(symbol);
            rules.check_order(&terms.whole(*placed), last).map_err(Reject::BreaksRule)?;
        }
        let gathers = phase == Phase::Auction && !self.stops.gathers_further(symbol);
        let most = self.execution_bounds.command.saturating_mul(WAITING_PER_EXECUTION);
        if !gathers && terms.amended.is_none() && self.stops.waiting_for_auction(symbol) >= most as usize {
            return Err(Reject::TooManyWaiting { most });
        }
        let before = self.hold(account, placed)?;
        // From here the order cannot be rejected.
        let (order, slot) = self.open_order(account, placed, terms, events);
        if gathers {
            self.gather(slot, placed, before, events);
        } else {
            // One that had gathered before it was amended stands on no book any more.
            self.auction_orders.remove(order);
            self.delay(slot, placed, Turn::Auction, events);
            self.tell_held(account, symbol, before, events);
        }
        Ok(Reply::Opened(order))
    }

    /// Brings an order for an auction to its book, where it executes nothing before its symbol opens.
    #[cold]
    pub(crate) fn gather(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        before: FundsBefore,
        events: &mut impl FnMut(Event),
    ) {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        self.execute_all((slot, order, account), placed, Shares::ZERO, before, Remainder::Stays, events);
        self.note_auction_order(slot, placed.symbol, placed.shares);
    }

    /// Notes an order for an auction that has come to its book.
    #[cold]
    pub(crate) fn note_auction_order(&mut self, slot: u32, symbol: SymbolIndex, shares: Shares) {
        self.auction_orders.insert(symbol, self.orders.get(slot).id);
        self.count_if_market(slot, shares.position());
    }

    /// Counts more shares at the limit of an order on a book, or fewer if `shares` is below zero. It counts those of
    /// market orders for an auction alone.
    #[inline]
    pub(crate) fn count_if_market(&mut self, slot: u32, shares: Position) {
        if !self.auction_orders.is_empty() && self.orders.kind(slot).0 == OrderKind::AuctionMarket {
            let Level { symbol, side, price, .. } = *self.books.level(self.orders.get(slot).level);
            self.auction_orders.count_market((symbol, side, price), shares);
        }
    }

    /// The shares of a level, as the price of an auction counts them.
    pub(super) fn auction_level(&self, level: &Level) -> AuctionLevel {
        let Level { price: limit, symbol, side, open: shares, .. } = *level;
        let are_some = !self.auction_orders.is_empty();
        let is_market = are_some && self.auction_orders.market_shares((symbol, side, limit)) == shares;
        AuctionLevel { limit, shares, is_market }
    }
}
