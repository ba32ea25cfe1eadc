//! Gathers what happened to each watched account since its last message.

use std::collections::{HashMap, HashSet};

use feed::{Canceled, EndedOrder, News, Open, Report, Trade};
use terms::{AccountIndex, OrderId, Side};

/// The news of one account.
#[derive(Default)]
pub(crate) struct AccountNews {
    /// Orders that are open and changed, by id.
    pub(crate) open: Vec<OrderId>,
    pub(crate) ended: Vec<EndedOrder>,
    pub(crate) trades: Vec<(Trade, Side)>,
    /// All events, command by command: what was placed, executed, triggered and canceled.
    pub(crate) reports: Vec<Report>,
}

/// Groups news by account, in the order in which something first happened to each.
pub(crate) fn by_account(news: Vec<News>) -> Vec<(AccountIndex, AccountNews)> {
    let mut all: Vec<(AccountIndex, AccountNews)> = Vec::new();
    let mut places: HashMap<AccountIndex, usize> = HashMap::new();
    for news in news {
        let account = news.account();
        let at = *places.entry(account).or_insert_with(|| {
            all.push((account, AccountNews::default()));
            all.len() - 1
        });
        let its = &mut all[at].1;
        match news {
            News::Noted(_, note) => its.reports.push(Report::Noted(note)),
            News::Amended(_, amended, _) => its.reports.push(Report::Amended(amended)),
            News::Account(_) | News::Shares(..) | News::Transferred(..) => {}
            News::Placed(_, placed) => its.reports.push(Report::Placed(placed)),
            News::Order(_, order) => its.open.push(order),
            News::Ended(_, ended) => {
                if !ended.canceled.is_zero() {
                    let EndedOrder { canceled: shares, why, time, sequence, .. } = ended;
                    let Open { order, symbol, side, .. } = ended.order;
                    its.reports.push(Report::Canceled(Canceled { order, symbol, side, shares, why, time, sequence }));
                }
                its.ended.push(ended);
            }
            News::Traded(_, trade, side) => {
                its.reports.push(Report::Executed(trade, side));
                its.trades.push((trade, side));
            }
        }
    }
    for (_, its) in &mut all {
        // One command may cancel an order that it triggered, and then execute another: replays list cancels last.
        its.reports.sort_by_key(Report::key);
        its.open.sort_unstable();
        its.open.dedup();
        let ended: HashSet<OrderId> = its.ended.iter().map(|ended| ended.order.order).collect();
        its.open.retain(|order| !ended.contains(order));
    }
    all
}
