//! The newest record of each chain through the history, and the command that the history goes up to.

use foldhash::fast::RandomState;
use slots::SpreadMap;
use terms::{AccountIndex, OrderId, Sequence, SymbolIndex};

use crate::candle::{Candle, Interval, KEPT};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heads {
    /// The command up to which all events are in the files, for certain.
    pub(crate) through: Sequence,
    /// The order of the first record.
    pub(crate) first_order: OrderId,
    pub(crate) accounts: Vec<AccountChain>,
    pub(crate) symbols: Vec<SymbolChain>,
    /// The last trade of each open order that has any.
    pub(crate) executed: SpreadMap<OrderId, u64, RandomState>,
    /// The last note of each open order that has any.
    pub(crate) noted: SpreadMap<OrderId, u64, RandomState>,
}

/// The last records of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccountChain {
    pub(crate) order: Option<OrderId>,
    /// The order that was canceled last.
    pub(crate) canceled: Option<OrderId>,
    pub(crate) trade: Option<u64>,
    pub(crate) note: Option<u64>,
}

/// The last records of a symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SymbolChain {
    pub(crate) trade: Option<u64>,
    pub(crate) candles: [CandleChain; KEPT.len()],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CandleChain {
    /// The number of the last complete candle, from 1.
    pub(crate) last: Option<u64>,
    /// The candle that was not complete at the checkpoint.
    pub(crate) current: Option<Candle>,
}

impl Heads {
    pub(crate) fn account(&mut self, account: AccountIndex) -> &mut AccountChain {
        let at = account.0 as usize;
        if at >= self.accounts.len() {
            self.accounts.resize(at + 1, AccountChain::default());
        }
        &mut self.accounts[at]
    }

    pub(crate) fn get_account(&self, account: AccountIndex) -> Option<&AccountChain> {
        self.accounts.get(account.0 as usize)
    }

    pub(crate) fn symbol_mut(&mut self, symbol: SymbolIndex) -> &mut SymbolChain {
        let at = symbol.0 as usize;
        if at >= self.symbols.len() {
            self.symbols.resize(at + 1, SymbolChain::default());
        }
        &mut self.symbols[at]
    }

    pub(crate) fn symbol(&self, symbol: SymbolIndex) -> Option<&SymbolChain> {
        self.symbols.get(symbol.0 as usize)
    }
}

impl SymbolChain {
    pub(crate) fn candles(&self, interval: Interval) -> &CandleChain {
        &self.candles[place(interval)]
    }

    pub(crate) fn candles_mut(&mut self, interval: Interval) -> &mut CandleChain {
        &mut self.candles[place(interval)]
    }
}

fn place(interval: Interval) -> usize {
    KEPT.iter().position(|kept| *kept == interval).expect("invariant: only candles of these intervals are kept")
}
