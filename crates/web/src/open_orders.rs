//! Walks through the open orders of an account, some at a time, because an account may have a million.

use std::collections::VecDeque;

use engine::{AccountId, AccountIndex, Command, Op, OrderId, Reply, SymbolIndex};
use exchange::{Answer, Unavailable};
use feed::{Open, View};

use crate::pieces;
use crate::problem::Problem;
use crate::site::Site;

/// Orders that are looked at between two turns of the feed.
const STEPS: usize = 4096;
/// Commands of one request that stand in one line without others between.
pub(crate) const CANCELED_AT_ONCE: usize = 500;

/// How far a walk has come. All that was open when it began and is open when it gets there is visited once, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    account: AccountIndex,
    direction: Direction,
    /// Those up to here are not visited again.
    past: Option<OrderId>,
    /// The last one that was looked at.
    at: Option<OrderId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    NewestFirst,
    OldestFirst,
}

impl Walk {
    /// From the beginning, or behind an order, which may be open no more.
    pub(crate) fn new(account: AccountIndex, direction: Direction, past: Option<OrderId>) -> Walk {
        Walk { account, direction, past, at: past }
    }

    /// Visits orders until `visit` says that it has enough, or enough were looked at. Returns whether there may be more.
    pub(crate) fn go_on(&mut self, view: &View, mut visit: impl FnMut(&Open) -> bool) -> bool {
        let mut orders = self.rest(view);
        for _ in 0..STEPS {
            let Some(open) = orders.next() else { return false };
            self.at = Some(open.order);
            if self.is_past(open.order) {
                continue;
            }
            self.past = Some(open.order);
            if !visit(&open) {
                return true;
            }
        }
        true
    }

    /// What lies behind the last one that was looked at; all, when that is open no more.
    fn rest<'a>(&self, view: &'a View) -> Box<dyn Iterator<Item = Open> + 'a> {
        let at = self.at.filter(|at| view.open_order(*at).is_some_and(|open| open.account == self.account));
        match self.direction {
            Direction::NewestFirst => match at.and_then(|at| view.orders_before(at)) {
                Some(rest) => Box::new(rest),
                None => Box::new(view.orders_of(self.account)),
            },
            Direction::OldestFirst => match at.and_then(|at| view.orders_after(at)) {
                Some(rest) => Box::new(rest),
                None => Box::new(view.orders_since(self.account)),
            },
        }
    }

    fn is_past(&self, order: OrderId) -> bool {
        self.past.is_some_and(|past| match self.direction {
            Direction::NewestFirst => order >= past,
            Direction::OldestFirst => order <= past,
        })
    }
}

/// Why orders are not canceled, or it is not known whether they are.
pub(crate) enum Stopped {
    /// The outcome of some is not known yet.
    Unknown,
    /// None is canceled.
    Unavailable(Unavailable),
    /// None is canceled: the server serves nobody at the moment.
    NotReady(Problem),
}

impl From<Problem> for Stopped {
    fn from(problem: Problem) -> Stopped {
        Stopped::NotReady(problem)
    }
}

/// Cancels what is open of an account when it is asked, of one symbol or of all; gives what was canceled. What is executed
/// meanwhile is not among it.
pub(crate) async fn cancel(
    site: &Site,
    account: AccountId,
    mut walk: Walk,
    symbol: Option<SymbolIndex>,
) -> Result<VecDeque<OrderId>, Stopped> {
    let (mut open, mut more) = (Vec::new(), true);
    while more {
        let looked = site.look(move |scene| {
            let mut found = Vec::new();
            let more = walk.go_on(&scene.view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    found.push(open.order);
                }
                true
            });
            (found, walk, more)
        });
        let (found, gone, others) = pieces::in_turn(site, looked).await?;
        open.extend(found);
        (walk, more) = (gone, others);
    }
    let mut canceled = VecDeque::new();
    for some in open.chunks(CANCELED_AT_ONCE) {
        let ops: Vec<Op> =
            some.iter().map(|order| Op::Command(Command::CancelOrder { account, order: (*order).into() })).collect();
        let answers = site.submitter()?.ask(&ops).await.map_err(|_| Stopped::Unknown)?;
        for (order, answer) in some.iter().zip(answers) {
            match answer {
                Answer::Reply(Reply::Canceled(_)) => canceled.push_back(*order),
                Answer::Unavailable(why) if canceled.is_empty() => return Err(Stopped::Unavailable(why)),
                Answer::Reply(_) | Answer::Unavailable(_) => {}
            }
        }
    }
    Ok(canceled)
}

/// The next of what was canceled, to be shown together.
pub(crate) fn take_some(canceled: &mut VecDeque<OrderId>) -> Vec<OrderId> {
    canceled.drain(..canceled.len().min(CANCELED_AT_ONCE)).collect()
}
