//! The state of following events, and what is needed to go on: the money paid for open orders, the candles that are not
//! complete, and the names of accounts. This file knows no file.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use slots::SpreadMap;
use terms::{
    AccountId, AccountIndex, CancelReason, Fee, MarketState, Money, NewOrder, OrderId, Sequence, Shares, Side,
    StateItem, SymbolIndex, Time,
};

use crate::candle::{Candle, KEPT};
use crate::chain_heads::Heads;

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
    /// The shares taken off open orders.
    pub(crate) reduced: SpreadMap<OrderId, Shares, RandomState>,
    /// Orders that were open at the start, for which damage hides the shares taken off before it.
    pub(crate) reduced_unknown: HashSet<OrderId, RandomState>,
    /// The fees of maker and aggressor for the next execution.
    pub(crate) fees: [Fee; 2],
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
            fees: [Fee::NONE; 2],
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

    /// Counts shares that are taken off an open order. Returns all that were; none if damage hides some of them.
    pub(crate) fn reduce(&mut self, order: OrderId, shares: Shares) -> Option<Shares> {
        if self.reduced_unknown.contains(&order) {
            return None;
        }
        let all = self.reduced.value_or(order, Shares::ZERO);
        *all = all.plus(shares);
        Some(*all)
    }

    /// Forgets an order that ends. Returns all shares that were taken off it; none if damage hides some of them.
    pub(crate) fn take_reduced(&mut self, order: OrderId) -> Option<Shares> {
        let reduced = self.reduced.remove(order).unwrap_or(Shares::ZERO);
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
