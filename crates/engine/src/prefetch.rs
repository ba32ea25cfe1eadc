//! Looks ahead: finds the orders, levels and accounts that the next commands and queries name before they are applied,
//! so that the waits for memory overlap instead of following one another. It decides nothing: without it every reply,
//! event and state would be the same.

use std::hint::black_box;

use slots::NONE;
use terms::{Command, NewOrder, Op, OrderId, OrderName};

use crate::engine::{AHEAD, Engine};

/// The number of orders off the waiting queues below which all memory is near, and looking ahead only takes time.
const FAR: usize = 1 << 16;

impl Engine {
    /// Whether the state is so large that looking ahead is worth its time.
    pub fn is_far(&self) -> bool {
        self.orders.len().saturating_sub(self.orders.waiting_count()) >= FAR
    }

    /// Reads the memory that the next ops will need, up to [`AHEAD`] of them. It goes through them again and again,
    /// each time one step further, so that no step waits for the step before it of the same op.
    pub fn look_ahead(&self, ops: &[Op]) {
        // A sum of the values read, so that the compiler does not leave the reads out.
        let mut seen = 0u64;
        let mut steps = [Step::Nothing; AHEAD];
        let mut next_order = self.next_order;
        for (op, step) in ops.iter().zip(&mut steps) {
            let order = if let Op::Command(Command::Place(place)) = op
                && let Some(NewOrder { symbol, side, limit, .. }) = place.alone()
            {
                let account = place.account;
                if let (Some(account), Some(symbol)) = (self.accounts.find(account), self.symbols.find(symbol)) {
                    seen ^= self.positions.touch(account, symbol);
                    let best = self.books.best(symbol, side.opposite());
                    let level = self.books.guess(symbol, side, limit);
                    *step = Step::Place { level, best: best.unwrap_or(NONE) };
                }
                next_order = OrderId(next_order.0.wrapping_add(1));
                next_order
            } else if let Some((_, OrderName::Id(order))) = op.named_order() {
                *step = Step::Find(order);
                order
            } else {
                // Finding the order of a client order id would take the very wait.
                continue;
            };
            seen ^= self.orders.touch_index(order);
        }
        for step in &mut steps {
            *step = match *step {
                Step::Place { level, best } => {
                    if best != NONE {
                        seen ^= self.orders.touch(self.books.level(best).oldest);
                    }
                    let newest = if level == NONE { NONE } else { self.books.level(level).newest };
                    if newest == NONE { Step::Nothing } else { Step::Newest(newest) }
                }
                Step::Find(order) => match self.orders.guess(order) {
                    NONE => Step::Nothing,
                    slot => {
                        seen ^= self.orders.touch(slot);
                        Step::Order(slot)
                    }
                },
                next @ (Step::Nothing | Step::Newest(_) | Step::Order(_)) => next,
            }
        }
        for step in steps {
            match step {
                Step::Newest(slot) => seen ^= self.orders.get(slot).id.0,
                Step::Order(slot) => {
                    let order = self.orders.get(slot);
                    for neighbour in [order.older, order.newer].into_iter().filter(|&slot| slot != NONE) {
                        seen ^= self.orders.get(neighbour).id.0;
                    }
                    if order.level != NONE && !self.stops.is_waiting(slot, order.level) {
                        seen ^= self.positions.touch(order.account, self.books.level(order.level).symbol);
                    }
                }
                Step::Nothing | Step::Find(_) | Step::Place { .. } => {}
            }
        }
        black_box(seen);
    }

    /// Reads the memory that forgetting these orders will need.
    pub(crate) fn look_ahead_forgotten(&self, orders: &[OrderId]) {
        let mut seen = 0u64;
        for &order in orders {
            seen ^= self.orders.touch_index(order);
        }
        for &order in orders {
            let slot = self.orders.guess(order);
            if slot != NONE {
                seen ^= self.orders.touch(slot);
            }
        }
        black_box(seen);
    }
}

/// The next thing to read for an op.
#[derive(Clone, Copy)]
enum Step {
    Nothing,
    /// The slot of an order.
    Find(OrderId),
    /// The lines of an order to be placed: the level where it may rest, and the one it may execute against.
    Place {
        level: u32,
        best: u32,
    },
    /// The order behind which the new one may rest.
    Newest(u32),
    /// An order, and its neighbours.
    Order(u32),
}
