//! The reports of an account behind a command, made of the history: a session that did not hear of them gets them when
//! it goes on. They are the same as the feed would have told, with the same ExecIDs; only of done orders the history
//! knows neither deadline nor display.

use std::collections::{HashMap, HashSet};
use std::fmt;

use feed::{HistoryError, Noted, Open, OrderProgress, Report, ReportKey, SharedHistory, View};
use terms::{AccountIndex, CancelReason, Money, OrderId, Sequence, Shares};

use crate::reports::{Happening, HappeningKind};

/// Reports of an account that are made at once, at most: the feed does nothing else meanwhile.
const REPORTS_MAX: usize = 4_096;

/// The reason why the reports of an account cannot be told.
#[derive(Debug)]
pub(crate) enum Untold {
    TooMany,
    /// The history is not in files of ours.
    NoHistory,
    Unreadable(HistoryError),
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untold::TooMany => f.write_str("there are too many"),
            Untold::NoHistory => f.write_str("the history is in a database"),
            Untold::Unreadable(error) => error.fmt(f),
        }
    }
}

impl From<HistoryError> for Untold {
    fn from(error: HistoryError) -> Untold {
        Untold::Unreadable(error)
    }
}

/// Lists what happened to the orders of an account behind a command, oldest first.
pub(crate) fn past_happenings(
    view: &View,
    history: &SharedHistory,
    account: AccountIndex,
    behind: Sequence,
) -> Result<Vec<Happening>, Untold> {
    if behind >= view.sequence() {
        return Ok(Vec::new());
    }
    let (reports, mut orders) = {
        let at = history.at(view.sequence())?;
        let mut sweep = at.sweep(account, ReportKey::after(behind)).in_pieces_of(REPORTS_MAX + 1);
        if at.sweep_on(&mut sweep, REPORTS_MAX + 1)? {
            return Err(Untold::TooMany);
        }
        let (keys, _) = sweep.finish();
        let reports = keys.into_iter().map(|key| at.report(key)).collect::<Result<Vec<_>, _>>()?;
        let mut orders = HashMap::new();
        for order in reports.iter().map(order_of).collect::<HashSet<_>>() {
            let last = match view.open_order(order) {
                Some(open) => Some((open, view.client_id(order), open.shares.less(open.open))),
                None => at.order(order)?.and_then(|past| {
                    let ended = past.ended?;
                    let executed = past.shares_now().less(ended.canceled);
                    Some((Open::of_past(&past, Shares::ZERO, ended.money), past.client_id, executed))
                }),
            };
            if let Some((last, client_id, executed)) = last {
                let (shares, money) = (last.shares, last.money);
                orders.insert(order, OrderProgress { order: last, client_id, shares, executed, money });
            }
        }
        (reports, orders)
    };
    // Each order as it was before these reports.
    for report in &reports {
        if let (Report::Executed(trade, _), Some(progress)) = (report, orders.get_mut(&order_of(report))) {
            progress.executed = progress.executed.less(trade.shares);
            progress.money = progress.money.minus(trade.money());
        }
    }
    let placed = reports.iter().filter_map(|report| match report {
        Report::Placed(past) => Some(past.order),
        Report::Executed(..) | Report::Noted(_) | Report::Amended(_) | Report::Canceled(_) => None,
    });
    let placed: HashSet<OrderId> = placed.collect();
    let before = history.at(behind)?;
    for (order, progress) in orders.iter_mut().filter(|(order, _)| !placed.contains(order)) {
        if let Some(past) = before.order(*order)? {
            give_terms(progress, &Open::of_past(&past, Shares::ZERO, Money::ZERO));
        }
    }
    drop(before);
    Ok(happenings(view, account, &reports, orders))
}

/// Gives an order the terms that it had.
fn give_terms(progress: &mut OrderProgress, terms: &Open) {
    progress.shares = terms.shares;
    let order = &mut progress.order;
    (order.kind, order.limit, order.trigger) = (terms.kind, terms.limit, terms.trigger);
}

fn happenings(
    view: &View,
    account: AccountIndex,
    reports: &[Report],
    mut orders: HashMap<OrderId, OrderProgress>,
) -> Vec<Happening> {
    let id = view.account(account).id;
    let with_terms: HashSet<(OrderId, Sequence)> = reports
        .iter()
        .filter_map(|report| match report {
            Report::Amended(amended) => amended.terms.map(|_| (amended.order, amended.sequence)),
            Report::Placed(_) | Report::Executed(..) | Report::Noted(_) | Report::Canceled(_) => None,
        })
        .collect();
    let mut all = Vec::new();
    for report in reports {
        let Some(progress) = orders.get_mut(&order_of(report)) else { continue };
        let (what, time) = match report {
            Report::Placed(past) => {
                give_terms(progress, &Open::of_past(past, past.shares, Money::ZERO));
                progress.shares = past.shares;
                (HappeningKind::Placed, past.time)
            }
            Report::Executed(trade, side) => {
                progress.execute(trade);
                (HappeningKind::Executed(*trade, *side), trade.time)
            }
            Report::Noted(note) => match note.what {
                Noted::Triggered(_) => (HappeningKind::Triggered, note.time),
                Noted::Released => (HappeningKind::Released, note.time),
                Noted::Linked(_) | Noted::Pends(_) => continue,
            },
            Report::Amended(amended) => {
                progress.shares = amended.after;
                if let Some(terms) = amended.terms {
                    let order = &mut progress.order;
                    let kept = order.trigger.filter(|_| terms.keeps_place);
                    (order.kind, order.limit, order.trigger) = (terms.kind, terms.limit, terms.trigger.or(kept));
                }
                // One report tells all that an amendment changed.
                let is_part = amended.terms.is_none() && amended.why == CancelReason::Asked;
                if is_part && with_terms.contains(&(amended.order, amended.sequence)) {
                    continue;
                }
                (HappeningKind::Amended(*amended), amended.time)
            }
            Report::Canceled(canceled) => (HappeningKind::Canceled(canceled.why), canceled.time),
        };
        all.push(Happening::new(id, view.listing(progress.order.symbol).name, *progress, what, time));
    }
    all
}

fn order_of(report: &Report) -> OrderId {
    match report {
        Report::Placed(past) => past.order,
        Report::Executed(trade, side) => trade.order(*side),
        Report::Noted(note) => note.order,
        Report::Amended(amended) => amended.order,
        Report::Canceled(canceled) => canceled.order,
    }
}
