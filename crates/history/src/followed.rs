//! How far events were followed, and what has to be remembered to follow on: what was paid for open orders, the candles
//! that are not complete, and the names of accounts. It knows no file.

use std::collections::HashMap;

use engine::{
    AccountId, AccountIndex, CancelReason, Engine, Fee, Money, NewOrder, OrderId, Sequence, Shares, Side, StateItem,
    SymbolIndex, Time,
};
use foldhash::fast::RandomState;

use crate::candle::{Candle, KEPT};
use crate::heads::Heads;

#[derive(Debug)]
pub(crate) struct Followed {
    /// The last command whose events were followed.
    pub(crate) sequence: Sequence,
    /// Its time.
    pub(crate) time: Time,
    /// By index.
    pub(crate) accounts: Vec<AccountId>,
    /// What was paid for the executed shares of open orders that have any.
    pub(crate) paid: HashMap<OrderId, Money, RandomState>,
    /// By symbol: the candles that trades still change.
    candles: Vec<[Option<Candle>; KEPT.len()]>,
    /// The order that is being placed, or that was triggered last. How it stands is known when all that it executed with is.
    pub(crate) arriving: Option<Arriving>,
    /// Orders that this command has canceled.
    pub(crate) canceled: Vec<CanceledNow>,
    /// How many notes this command has made.
    pub(crate) notes: u32,
    /// The last trade of an auction, and its aggressor's order.
    pub(crate) uncrossed: Option<(u64, OrderId)>,
    /// What was taken off open orders.
    pub(crate) reduced: HashMap<OrderId, Shares, RandomState>,
    /// What the maker and the aggressor of the next execution pay.
    pub(crate) fees: [Fee; 2],
}

/// An order of which this command has canceled all that was open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CanceledNow {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) shares: Shares,
    /// What was paid for the rest.
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
    /// It was delayed, and nothing of it was executed since its turn came.
    pub(crate) resumes: bool,
}

impl Arriving {
    pub(crate) fn of(order: OrderId, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Arriving {
        Arriving { order, account, side: placed.side, open: placed.shares, paid: Money::ZERO, resumes: false }
    }
}

impl Followed {
    /// From an engine's state on, of a history that goes at least as far.
    pub(crate) fn from(engine: &Engine, heads: &Heads) -> Followed {
        let mut followed = Followed {
            sequence: engine.sequence(),
            time: engine.time(),
            accounts: Vec::new(),
            paid: HashMap::default(),
            candles: heads.symbols.iter().map(|chain| chain.candles.map(|candles| candles.current)).collect(),
            arriving: None,
            canceled: Vec::new(),
            notes: 0,
            uncrossed: None,
            reduced: HashMap::default(),
            fees: [Fee::NONE; 2],
        };
        let mut last = None;
        engine.export(&mut |item| match item {
            StateItem::Account { id, .. } => followed.accounts.push(id),
            StateItem::Order { order, .. } | StateItem::Delayed { order, .. } => last = Some(order),
            StateItem::Execution(execution) => {
                let order = last.expect("invariant: an execution follows its order");
                let paid = followed.paid.entry(order).or_insert(Money::ZERO);
                *paid = paid.plus(execution.price.times(execution.shares));
            }
            StateItem::Executed(executed) => {
                let order = last.expect("invariant: what its executions come to follows its order");
                followed.paid.insert(order, executed.money);
            }
            StateItem::Head { .. }
            | StateItem::Symbol { .. }
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

    /// The candles that are not complete.
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
