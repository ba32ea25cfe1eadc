//! The state of following events, and what is needed to go on: the money paid for open orders, the candles that are not
//! complete, and the names of accounts. This file knows no file.

use std::collections::{BTreeMap, HashSet};

use exchange::TradeReader;
use foldhash::fast::RandomState;
use slots::SpreadMap;
use terms::{
    AccountId, AccountIndex, CancelReason, MarketState, Money, NewOrder, OrderId, Position, Sequence, Shares, Side,
    StateItem, SymbolIndex, Time, Trigger,
};

use crate::candle::{Candle, KEPT};
use crate::chain_heads::Heads;
use crate::note::PastTerms;

#[derive(Debug)]
pub(crate) struct Followed {
    /// The last command whose events were followed.
    pub(crate) sequence: Sequence,
    /// The time of that command.
    pub(crate) time: Time,
    /// The accounts by index.
    pub(crate) accounts: Vec<AccountId>,
    /// The money paid for the executed shares of open orders that have any.
    pub(crate) paid: SpreadMap<OrderId, Money, RandomState>,
    /// The candles that trades still change, by symbol.
    candles: Vec<[Option<Candle>; KEPT.len()]>,
    /// The order that is being placed, or was triggered last. It is written when all its executions are known.
    pub(crate) arriving: Option<Arriving>,
    /// The orders that this command has canceled.
    pub(crate) canceled: Vec<CanceledNow>,
    /// The number of notes that this command has made.
    pub(crate) notes: u32,
    /// The last trade of an auction, and its aggressor's order.
    pub(crate) uncrossed: Option<(u64, OrderId)>,
    /// The shares taken off open orders, less those that they got.
    pub(crate) reduced: SpreadMap<OrderId, Position, RandomState>,
    /// Orders that were open at the start, for which damage hides the shares taken off before it.
    pub(crate) reduced_unknown: HashSet<OrderId, RandomState>,
    /// The terms of open orders that have other ones than those of their placing.
    pub(crate) terms: SpreadMap<OrderId, StandingTerms, RandomState>,
    /// The shares of open orders, executed ones included, of which the notes that say so are no longer kept.
    pub(crate) shares_of: BTreeMap<OrderId, Shares>,
    /// Open orders for which damage hides their terms.
    pub(crate) terms_unknown: HashSet<OrderId, RandomState>,
    /// The order that left its place to be placed again with other terms, and what it trades.
    pub(crate) aside: Option<(OrderId, SymbolIndex, Side)>,
    pub(crate) trade_reader: TradeReader,
}

/// The terms that an open order has, and their note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StandingTerms {
    /// The number of their note; none where that is no longer kept.
    pub(crate) note: Option<u64>,
    /// The command that gave them.
    pub(crate) sequence: Sequence,
    pub(crate) terms: PastTerms,
}

/// An order whose open shares this command has all canceled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CanceledNow {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) shares: Shares,
    /// The money of its executions.
    pub(crate) paid: Money,
    pub(crate) why: Option<CancelReason>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) side: Side,
    pub(crate) open: Shares,
    pub(crate) paid: Money,
    /// Whether it was delayed and has not executed since its turn came.
    pub(crate) resumes: bool,
}

impl StandingTerms {
    /// The trigger for which the order waits or waited, where it was placed with this one. A state does not have those
    /// of orders that were triggered.
    pub(crate) fn trigger(&self, placed: Option<Trigger>) -> Option<Trigger> {
        if self.note.is_some() { self.terms.trigger } else { self.terms.trigger.or(placed) }
    }
}

impl Arriving {
    pub(crate) fn of(order: OrderId, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Arriving {
        Arriving { order, account, side: placed.side, open: placed.shares, paid: Money::ZERO, resumes: false }
    }
}

impl Followed {
    /// Makes the state of a market, for a history that goes at least as far.
    pub(crate) fn from(market: &dyn MarketState, heads: &Heads) -> Followed {
        let mut followed = Followed {
            sequence: market.sequence(),
            time: market.time(),
            accounts: Vec::new(),
            paid: SpreadMap::default(),
            candles: heads.symbols.iter().map(|chain| chain.candles.map(|candles| candles.current)).collect(),
            arriving: None,
            canceled: Vec::new(),
            notes: 0,
            uncrossed: None,
            reduced: SpreadMap::default(),
            reduced_unknown: HashSet::default(),
            terms: SpreadMap::default(),
            shares_of: BTreeMap::new(),
            terms_unknown: HashSet::default(),
            aside: None,
            trade_reader: TradeReader::default(),
        };
        let mut last = None;
        market.export(&mut |item| match item {
            StateItem::Account { id, .. } => followed.accounts.push(id),
            StateItem::Order { order, .. } | StateItem::Delayed { order, .. } => last = Some(order),
            StateItem::Execution(execution) => {
                let order = last.expect("invariant: an execution follows its order");
                let paid = followed.paid.value_or(order, Money::ZERO);
                *paid = paid.plus(execution.price.times(execution.shares));
            }
            StateItem::Executed(executed) => {
                let order = last.expect("invariant: what its executions come to follows its order");
                followed.paid.insert(order, executed.money);
            }
            StateItem::Head { .. }
            | StateItem::Symbol { .. }
            | StateItem::Kind { .. }
            | StateItem::Position { .. }
            | StateItem::Watch { .. }
            | StateItem::Deadline { .. }
            | StateItem::Link { .. }
            | StateItem::Rules { .. }
            | StateItem::Fees { .. }
            | StateItem::Tier { .. }
            | StateItem::Group { .. }
            | StateItem::AccountStatus { .. }
            | StateItem::Kill { .. }
            | StateItem::Protection { .. }
            | StateItem::Calendar { .. }
            | StateItem::Limits { .. }
            | StateItem::Message(_)
            | StateItem::PhaseChanged { .. }
            | StateItem::Phase { .. }
            | StateItem::Stop { .. }
            | StateItem::Pending { .. }
            | StateItem::Iceberg { .. }
            | StateItem::ClientOrder { .. } => {}
        });
        followed
    }

    /// The shares taken off an open order, less those that it got; none if damage hides some of them.
    pub(crate) fn reduced_of(&self, order: OrderId) -> Option<Position> {
        match self.reduced_unknown.contains(&order) {
            true => None,
            false => Some(self.reduced.get(order).unwrap_or(Position::ZERO)),
        }
    }

    /// Counts shares that are taken off an open order. Returns all that were; none if damage hides some of them.
    pub(crate) fn reduce(&mut self, order: OrderId, shares: Shares) -> Option<Position> {
        let all = self.reduced_of(order)?.plus(shares.position());
        self.set_reduced(order, Some(all));
        Some(all)
    }

    /// Sets the shares taken off an open order; none if nobody knows them.
    pub(crate) fn set_reduced(&mut self, order: OrderId, all: Option<Position>) {
        self.shares_of.remove(&order);
        match all {
            None => {
                self.reduced.remove(order);
                self.reduced_unknown.insert(order);
            }
            Some(all) => {
                self.reduced_unknown.remove(&order);
                match all == Position::ZERO {
                    true => self.reduced.remove(order),
                    false => self.reduced.insert(order, all),
                };
            }
        }
    }

    /// Forgets an order that ends. Returns all shares that were taken off it; none if damage hides some of them.
    pub(crate) fn take_reduced(&mut self, order: OrderId) -> Option<Position> {
        self.shares_of.remove(&order);
        let reduced = self.reduced.remove(order).unwrap_or(Position::ZERO);
        (!self.reduced_unknown.remove(&order)).then_some(reduced)
    }

    /// The candles of a symbol that are not complete.
    pub(crate) fn candles(&self, symbol: usize) -> [Option<Candle>; KEPT.len()] {
        self.candles.get(symbol).copied().unwrap_or_default()
    }

    pub(crate) fn symbols(&self) -> usize {
        self.candles.len()
    }

    pub(crate) fn candles_mut(&mut self, symbol: SymbolIndex) -> &mut [Option<Candle>; KEPT.len()] {
        let at = symbol.0 as usize;
        if at >= self.candles.len() {
            self.candles.resize(at + 1, Default::default());
        }
        &mut self.candles[at]
    }
}
