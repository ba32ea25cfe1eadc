//! A working order and one or two orders that wait until it is executed wholly. They are the ops of one request, each
//! behind the one before. This module does not know the words of the protocols.

use std::fmt;

use terms::{Bond, Command, Op, OrderDifference, OrderId, OrderKind, Place, Reject, Reply};

use crate::answer::{Answer, Unavailable};
use crate::limits::Limit;
use crate::linked::{PairFault, Which, linked};

/// The reason why orders cannot wait for another one, whatever the market is. Its `Display` is the text for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingFault {
    /// The request has this number of them.
    Count(usize),
    /// The working order does not rest, or waits itself.
    CannotWork,
    /// The waiting order named is for money, or shows a part of its shares.
    CannotPend(Which),
    /// The waiting order named is of another symbol.
    Symbol(Which),
    /// Two orders that wait for one order cannot be linked.
    Pair(PairFault),
}

/// A working order and the orders that wait for it, or waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedTree {
    /// The orders, as the client listed them, the working order first.
    pub orders: Vec<OrderId>,
    /// Whether an earlier request placed them, under the same client order ids.
    pub repeated: bool,
}

impl fmt::Display for PendingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PendingFault::Count(count) => write!(f, "{count} orders wait for another one; one or two can"),
            PendingFault::CannotWork => f.write_str(
                "the order that others wait for is a limit or post-only order without stop, trail, funds and display",
            ),
            PendingFault::CannotPend(_) => {
                f.write_str("an order that waits for another one has no funds, display or trail, and does not move")
            }
            PendingFault::Symbol(_) => f.write_str("orders that wait for another one have its symbol"),
            PendingFault::Pair(fault) => fault.fmt(f),
        }
    }
}

impl PendingFault {
    /// The index of the order that the fault is about; the working order is the first.
    pub fn place(&self) -> usize {
        let behind = |which| if which == Which::First { 1 } else { 2 };
        match *self {
            PendingFault::Count(_) | PendingFault::CannotWork => 0,
            PendingFault::CannotPend(which)
            | PendingFault::Symbol(which)
            | PendingFault::Pair(PairFault::TakesAtOnce(which)) => behind(which),
            PendingFault::Pair(
                PairFault::Funds
                | PairFault::Display
                | PairFault::TrailsSecond
                | PairFault::Symbol
                | PairFault::Side
                | PairFault::Shares
                | PairFault::NeitherWaits,
            ) => 2,
        }
    }
}

/// The ops that place a working order of an account and make others wait for it.
pub fn pending(working: Place, waiting: &[Place]) -> Result<Vec<Op>, PendingFault> {
    let (first, second) = match *waiting {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => return Err(PendingFault::Count(waiting.len())),
    };
    let order = working.alone().ok_or(PendingFault::CannotWork)?;
    let rests = matches!(order.kind, OrderKind::Limit | OrderKind::PostOnly);
    if !rests || order.trigger.is_some() {
        return Err(PendingFault::CannotWork);
    }
    let two_wait = second.is_some();
    let mut ops = vec![Op::Command(Command::Place(working.bound(Bond::Working { two_wait })))];
    for (which, pending) in [(Which::First, Some(first)), (Which::Second, second)] {
        let Some(pending) = pending else { continue };
        let waiting = pending.alone().ok_or(PendingFault::CannotPend(which))?;
        if waiting.kind == OrderKind::PostOnlyMove {
            return Err(PendingFault::CannotPend(which));
        }
        if waiting.symbol != order.symbol {
            return Err(PendingFault::Symbol(which));
        }
        ops.push(Op::Command(Command::Place(pending.bound(Bond::Pending))));
    }
    if let Some(second) = second {
        linked(first, second).map_err(PendingFault::Pair)?;
    }
    Ok(ops)
}

/// The outcome of a request for a working order and orders that wait for it. Errors: the index of the refused order,
/// the working order being the first, and its answer; then none of them is open, but the working order may have
/// executed at once.
pub fn placed_tree(answers: &[Answer]) -> Result<PlacedTree, (usize, Box<Answer>)> {
    let other_orders = |order| {
        let differs = OrderDifference { partner: true, ..OrderDifference::default() };
        Box::new(Answer::Reply(Reply::Rejected(Reject::ClientOrderIdTaken { order, differs })))
    };
    let mut orders = Vec::new();
    let mut repeated = 0;
    for (place, answer) in answers.iter().enumerate() {
        match answer {
            Answer::Reply(Reply::Opened(order)) => orders.push(*order),
            Answer::Reply(Reply::Repeated(order)) => {
                repeated += 1;
                orders.push(*order);
            }
            Answer::Reply(Reply::Rejected(Reject::NotWorking)) if place > 0 && repeated == place => {
                // An earlier request placed the working order, but not with this one.
                return Err((0, other_orders(orders[0])));
            }
            // The order at fault stands behind it.
            Answer::Unavailable(Unavailable::Past(Limit::OfAnotherOrder)) if answers.last() != Some(answer) => {}
            Answer::Reply(_) | Answer::Unavailable(_) => return Err((place, Box::new(answer.clone()))),
        }
    }
    // Orders are numbered as they are placed, and the market placed nothing between them.
    let are_together = orders.windows(2).all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
    match repeated {
        0 => Ok(PlacedTree { orders, repeated: false }),
        _ if repeated == orders.len() && are_together => Ok(PlacedTree { orders, repeated: true }),
        _ => Err((orders.len() - 1, other_orders(orders[orders.len() - 1]))),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::test_answers::{opened, rejected, repeated};

    fn tree(orders: &[u64], repeated: bool) -> Result<PlacedTree, (usize, Box<Answer>)> {
        Ok(PlacedTree { orders: orders.iter().copied().map(OrderId).collect(), repeated })
    }

    /// Orders of two lists, or with others in between, were once told as a list that was placed before.
    #[test]
    fn orders_were_placed_together_before_if_all_were_and_nothing_between_them() {
        assert_eq!(placed_tree(&[opened(7), opened(8), opened(9)]), tree(&[7, 8, 9], false));
        assert_eq!(placed_tree(&[repeated(7), repeated(8), repeated(9)]), tree(&[7, 8, 9], true));
        let another = |order| {
            let differs = OrderDifference { partner: true, ..OrderDifference::default() };
            Box::new(rejected(Reject::ClientOrderIdTaken { order: OrderId(order), differs }))
        };
        assert_eq!(placed_tree(&[repeated(7), repeated(9)]), Err((1, another(9))));
        assert_eq!(placed_tree(&[repeated(9), repeated(8)]), Err((1, another(8))));
        assert_eq!(placed_tree(&[repeated(7), opened(8)]), Err((1, another(8))));
        assert_eq!(placed_tree(&[repeated(7), rejected(Reject::NotWorking)]), Err((0, another(7))));
    }

    #[test]
    fn the_order_at_fault_is_named_and_not_one_that_goes_with_it() {
        let past = Answer::Unavailable(Unavailable::Past(Limit::OrdersPerSecond(NonZeroU32::MIN.get())));
        let with_it = Answer::Unavailable(Unavailable::Past(Limit::OfAnotherOrder));
        assert_eq!(placed_tree(&[past.clone(), past.clone()]), Err((0, Box::new(past.clone()))));
        assert_eq!(placed_tree(&[with_it.clone(), past.clone()]), Err((1, Box::new(past.clone()))));
        let last = placed_tree(&[with_it.clone(), with_it.clone(), past.clone()]);
        assert_eq!(last, Err((2, Box::new(past))));
        assert_eq!(placed_tree(&[opened(7), rejected(Reject::Full)]), Err((1, Box::new(rejected(Reject::Full)))));
        assert_eq!(placed_tree(&[with_it.clone(), with_it.clone()]), Err((0, Box::new(with_it))));
    }
}
