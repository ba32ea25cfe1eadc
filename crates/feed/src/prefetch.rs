//! Prefetch: reads from memory what the next events are about before the view follows them, so that the waits for
//! memory overlap. It decides nothing: without it the view would be the same.

use std::hint::black_box;

use terms::{AccountIndex, Event, NewOrder, Sequence, Side, SymbolIndex};

use crate::accounts::Accounts;
use crate::market::Listing;
use crate::orders::Orders;

/// Events that are looked at together: enough to overlap their waits, few enough that what they need stays in the
/// nearest cache.
pub(crate) const AHEAD: usize = 32;

/// The number of orders from which prefetching pays: the data of fewer orders is in the caches anyway. With assertions
/// the view always prefetches.
pub(crate) const FAR: usize = if cfg!(debug_assertions) { 1 } else { 1 << 16 };

/// The data that events refer to.
#[derive(Clone, Copy)]
pub(crate) struct Prefetch<'a> {
    pub accounts: &'a Accounts,
    pub listings: &'a [Listing],
    pub orders: &'a Orders,
}

impl Prefetch<'_> {
    /// Reads what these events will need, in two passes over them, so that the second step of an event does not wait
    /// for its first.
    pub(crate) fn look(self, events: &[(Sequence, Event)]) {
        // The bits that were read: the compiler cannot leave the reads out.
        let seen = events.iter().fold(0, |seen, (_, event)| seen ^ self.first(event));
        black_box(events.iter().fold(seen, |seen, (_, event)| seen ^ self.second(event)));
    }

    /// Reads the entries that an event names.
    fn first(self, event: &Event) -> u64 {
        match *event {
            Event::BalanceChanged { account, .. } | Event::PositionChanged { account, .. } => self.account(account),
            Event::OrderOpened { order, account, placed: NewOrder { symbol, side, limit, .. } } => {
                let level = self.listing(symbol).and_then(|listing| listing.book.newest(side, limit));
                self.account(account) ^ self.orders.touch_index(order) ^ u64::from(level.unwrap_or(0))
            }
            Event::Executed { maker, .. } | Event::Uncrossed { maker, .. } => self.orders.touch_index(maker),
            Event::OrderTriggered { order, .. }
            | Event::OrderDelayed { order, .. }
            | Event::OrderResumed { order, .. }
            | Event::OrderCanceled { order, .. }
            | Event::OrderAmended { order, .. }
            | Event::OrderReduced { order, .. } => self.orders.touch_index(order),
            Event::AccountCreated { .. }
            | Event::SymbolCreated { .. }
            | Event::RulesChanged { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::GroupChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::KillChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::LimitsChanged { .. }
            | Event::FeesTaken { .. }
            | Event::PhaseChanged { .. }
            | Event::TriggerReached { .. }
            | Event::OrderSetAside { .. }
            | Event::DeadlineGiven { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::OrdersLinked { .. }
            | Event::OrderPends { .. }
            | Event::OrderReleased { .. }
            | Event::ClientOrderIdGiven { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. } => 0,
        }
    }

    /// Reads what those entries lead to.
    fn second(self, event: &Event) -> u64 {
        match *event {
            Event::PositionChanged { account, symbol, .. } => self.holding(account, symbol),
            Event::OrderOpened { account, placed: NewOrder { symbol, side, limit, .. }, .. } => {
                let before = self.accounts.find_index(account).and_then(|account| account.orders.newest());
                let level = self.listing(symbol).and_then(|listing| listing.book.newest(side, limit));
                [before, level].into_iter().flatten().fold(0, |seen, slot| seen ^ self.orders.terms(slot).order.0)
            }
            Event::Executed { maker: order, .. }
            | Event::Uncrossed { maker: order, .. }
            | Event::OrderCanceled { order, .. } => {
                let Some(slot) = self.orders.find(order) else { return 0 };
                let open = self.orders.terms(slot);
                match open.side {
                    Side::Buy => self.account(open.account),
                    Side::Sell => self.holding(open.account, open.symbol),
                }
            }
            Event::AccountCreated { .. }
            | Event::SymbolCreated { .. }
            | Event::RulesChanged { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::GroupChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::KillChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::LimitsChanged { .. }
            | Event::FeesTaken { .. }
            | Event::PhaseChanged { .. }
            | Event::BalanceChanged { .. }
            | Event::OrderTriggered { .. }
            | Event::OrderDelayed { .. }
            | Event::OrderResumed { .. }
            | Event::OrderAmended { .. }
            | Event::OrderReduced { .. }
            | Event::TriggerReached { .. }
            | Event::OrderSetAside { .. }
            | Event::DeadlineGiven { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::OrdersLinked { .. }
            | Event::OrderPends { .. }
            | Event::OrderReleased { .. }
            | Event::ClientOrderIdGiven { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. } => 0,
        }
    }

    // An account or a symbol may be one that an earlier event of the batch creates.

    fn account(self, account: AccountIndex) -> u64 {
        self.accounts.find_index(account).map_or(0, |account| u64::from(account.open_orders))
    }

    fn holding(self, account: AccountIndex, symbol: SymbolIndex) -> u64 {
        let holding = self.accounts.find_index(account).and_then(|account| account.holdings.of(symbol));
        holding.map_or(0, |holding| u64::from(holding.symbol.0))
    }

    fn listing(&self, symbol: SymbolIndex) -> Option<&Listing> {
        self.listings.get(symbol.0 as usize)
    }
}
