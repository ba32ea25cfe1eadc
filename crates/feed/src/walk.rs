//! Walks through the open orders of an account, some at a time, because an account may have a million.

use terms::{AccountIndex, OrderId};

use crate::orders::Open;
use crate::view::View;

/// Orders that are read between two turns of the feed.
const STEPS: usize = 4096;

/// The progress of a walk. It visits once, in order, every order that was open when it began and is open when it gets
/// there.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    account: AccountIndex,
    direction: Direction,
    /// The order up to which none is visited again.
    past: Option<OrderId>,
    /// The last order that was read.
    at: Option<OrderId>,
}

/// The direction of a walk, by the numbers of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    NewestFirst,
    OldestFirst,
}

impl Walk {
    /// Begins at the start, or behind an order, which need not be open any more.
    pub fn new(account: AccountIndex, direction: Direction, past: Option<OrderId>) -> Walk {
        Walk { account, direction, past, at: past }
    }

    /// Visits orders until `visit` says that it has enough, or enough were read. Returns whether there may be more.
    pub fn go_on(&mut self, view: &View, mut visit: impl FnMut(&Open) -> bool) -> bool {
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

    /// Lists the orders behind the last one that was read; all, if that is not open any more.
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
