//! What was reported of an account's orders, found again: every placing, execution and cancel after some command, in
//! order. An account's orders are chained in the order in which they were placed, and one that was placed long ago may have
//! been canceled just now: so all of them are looked at, a few records at a time.

use std::collections::BinaryHeap;

use engine::{AccountIndex, OrderId, Sequence, Side};

use super::{Ending, History, HistoryError, PastOrder};
use crate::trade::Trade;

/// Reports that a sweep holds at most. When there are more it keeps the earliest, and another goes on behind them.
const HELD_MAX: usize = 1 << 16;

/// Something that happened to an order of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Placed(PastOrder),
    /// With the side that the account took.
    Executed(Trade, Side),
    Canceled(PastOrder, Ending),
}

/// Where a report stands among those of its account, and where it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReportKey {
    /// The command that did it.
    pub sequence: Sequence,
    what: What,
}

/// In the order in which one command does them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Placed(OrderId),
    /// Of an account that trades with itself the order that was there first comes first.
    Executed(u64, Role),
    Canceled(OrderId),
    /// Behind all that a command does.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Maker,
    Aggressor,
}

impl ReportKey {
    /// Behind all reports up to this command.
    pub fn after(sequence: Sequence) -> ReportKey {
        ReportKey { sequence, what: What::End }
    }

    pub(crate) fn placed(sequence: Sequence, order: OrderId) -> ReportKey {
        ReportKey { sequence, what: What::Placed(order) }
    }

    pub fn executed(trade: &Trade, side: Side) -> ReportKey {
        let role = if side == trade.aggressor { Role::Aggressor } else { Role::Maker };
        ReportKey { sequence: trade.sequence, what: What::Executed(trade.id, role) }
    }

    pub fn canceled(sequence: Sequence, order: OrderId) -> ReportKey {
        ReportKey { sequence, what: What::Canceled(order) }
    }
}

/// A search for the reports of an account behind one and up to a command.
#[derive(Debug)]
pub struct Sweep {
    account: AccountIndex,
    behind: ReportKey,
    through: Sequence,
    /// Where the chains go on.
    order: Option<OrderId>,
    trade: Option<u64>,
    found: BinaryHeap<ReportKey>,
    /// Later ones were found and let go.
    more: bool,
}

impl Sweep {
    /// What was found, in order, and whether there is more behind the last of it.
    pub fn finish(self) -> (Vec<ReportKey>, bool) {
        (self.found.into_sorted_vec(), self.more)
    }

    fn add(&mut self, key: ReportKey) {
        if key <= self.behind || key.sequence > self.through {
            return;
        }
        self.found.push(key);
        if self.found.len() > HELD_MAX {
            self.found.pop();
            self.more = true;
        }
    }
}

impl History {
    /// Whether it knows of every order that there ever was.
    pub fn is_whole(&self) -> bool {
        self.heads.first_order == OrderId(1)
    }

    /// Begins to look for the reports of an account behind `behind` and up to `through`, which events reached.
    pub fn sweep(&self, account: AccountIndex, behind: ReportKey, through: Sequence) -> Sweep {
        let chain = self.heads.get_account(account).copied().unwrap_or_default();
        let (order, trade) = (chain.order, chain.trade);
        Sweep { account, behind, through, order, trade, found: BinaryHeap::new(), more: false }
    }

    /// Looks at so many records more. False when all were looked at.
    pub fn sweep_on(&self, sweep: &mut Sweep, records: usize) -> Result<bool, HistoryError> {
        for _ in 0..records {
            if let Some(order) = sweep.order {
                let past = self.read_order(self.place(order)?)?;
                sweep.add(ReportKey::placed(past.sequence, order));
                if let Some(ended) = past.ended.filter(|ended| !ended.canceled.is_zero()) {
                    sweep.add(ReportKey::canceled(ended.sequence, order));
                }
                sweep.order = past.before;
            } else if let Some(number) = sweep.trade {
                let record = self.read_trade(number)?;
                let trade = record.trade;
                if trade.maker_account == sweep.account {
                    sweep.add(ReportKey::executed(&trade, trade.aggressor.opposite()));
                }
                if trade.aggressor_account == sweep.account {
                    sweep.add(ReportKey::executed(&trade, trade.aggressor));
                }
                let next = if trade.maker_account == sweep.account { record.of_maker } else { record.of_aggressor };
                // Trades are chained in the order in which they happened.
                sweep.trade = next.filter(|_| trade.sequence >= sweep.behind.sequence);
            } else {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The report that stands there.
    pub fn report(&self, key: ReportKey) -> Result<Report, HistoryError> {
        let order = |order: OrderId| -> Result<PastOrder, HistoryError> {
            self.order(order)?.ok_or_else(|| self.unreadable("orders"))
        };
        Ok(match key.what {
            What::Placed(id) => Report::Placed(order(id)?),
            What::Canceled(id) => {
                let past = order(id)?;
                Report::Canceled(past, past.ended.ok_or_else(|| self.unreadable("orders"))?)
            }
            What::Executed(number, role) => {
                let trade = self.read_trade(number)?.trade;
                let side = if role == Role::Aggressor { trade.aggressor } else { trade.aggressor.opposite() };
                Report::Executed(trade, side)
            }
            What::End => return Err(HistoryError::Ended),
        })
    }
}
