//! Two orders that cancel each other. They are two ops of one request, and the second follows the first at once. This
//! module does not know the words of the protocols.

use std::fmt;

use terms::{Bond, Command, NewOrder, Op, OrderDifference, OrderForm, OrderId, OrderKind, Place, Reject, Reply};

use crate::answer::{Answer, Unavailable};
use crate::limits::Limit;

/// The reason why two orders cannot be linked, whatever the market is. Its `Display` is the text for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairFault {
    /// An order of the pair is for money.
    Funds,
    /// An order of the pair shows a part of its shares.
    Display,
    /// The second one follows the market.
    TrailsSecond,
    Symbol,
    Side,
    Shares,
    /// Both are placed at once.
    NeitherWaits,
    /// The order named, the first or the second, might execute when it is placed.
    TakesAtOnce(Which),
}

/// An order of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    First,
    Second,
}

/// Two orders that are linked, or were when they were placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedPair {
    /// The orders, as the client listed them.
    pub orders: [OrderId; 2],
    /// Whether an earlier request placed them, under the same client order ids.
    pub repeated: bool,
}

impl fmt::Display for PairFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PairFault::Funds => "an order for funds executes at once, so it cannot be linked",
            PairFault::Display => "an order with display cannot be linked",
            PairFault::TrailsSecond => "of two orders that are linked the first one may have a trail, not the second",
            PairFault::Symbol => "two orders that are linked have one symbol",
            PairFault::Side => "two orders that are linked both buy or both sell",
            PairFault::Shares => "two orders that are linked have one number of shares",
            PairFault::NeitherWaits => "of two orders that are linked at least one waits for a price",
            PairFault::TakesAtOnce(_) => "each of two orders that are linked waits for a price or is post-only",
        })
    }
}

/// The ops that place two orders of one account and link them.
pub fn linked(first: Place, second: Place) -> Result<[Op; 2], PairFault> {
    let (one, trails, order) = match (first.form(), second.form()) {
        (OrderForm::Iceberg { .. }, _) | (_, OrderForm::Iceberg { .. }) => return Err(PairFault::Display),
        (_, OrderForm::Trailing { .. }) => return Err(PairFault::TrailsSecond),
        (OrderForm::Funds(_), _) | (_, OrderForm::Funds(_)) => return Err(PairFault::Funds),
        (OrderForm::Trailing { order: one, .. }, OrderForm::Plain(other)) => (one, true, other),
        (OrderForm::Plain(one), OrderForm::Plain(other)) => (one, false, other),
    };
    let takes_at_once = |order: &NewOrder| order.trigger.is_none() && order.kind != OrderKind::PostOnly;
    if one.symbol != order.symbol {
        return Err(PairFault::Symbol);
    }
    if one.side != order.side {
        return Err(PairFault::Side);
    }
    if one.shares != order.shares {
        return Err(PairFault::Shares);
    }
    if one.trigger.is_none() && !trails && order.trigger.is_none() {
        return Err(PairFault::NeitherWaits);
    }
    if takes_at_once(&one) && !trails {
        return Err(PairFault::TakesAtOnce(Which::First));
    }
    if takes_at_once(&order) {
        return Err(PairFault::TakesAtOnce(Which::Second));
    }
    Ok([first, second.bound(Bond::Linked)].map(|place| Op::Command(Command::Place(place))))
}

/// The outcome of a request to link two orders. Errors: the refused order and its answer; then neither order is open.
pub fn placed_pair(first: &Answer, second: &Answer) -> Result<PlacedPair, (Which, Box<Answer>)> {
    let another_partner = |order| {
        let differs = OrderDifference { partner: true, ..OrderDifference::default() };
        Box::new(Answer::Reply(Reply::Rejected(Reject::ClientOrderIdTaken { order, differs })))
    };
    match (first, second) {
        (Answer::Unavailable(Unavailable::Past(Limit::OfAnotherOrder)), fault) => {
            Err((Which::Second, Box::new(fault.clone())))
        }
        (Answer::Reply(Reply::Opened(one)), Answer::Reply(Reply::Opened(other))) => {
            Ok(PlacedPair { orders: [*one, *other], repeated: false })
        }
        // Orders are numbered as they are placed, and the market placed nothing between the two.
        (Answer::Reply(Reply::Repeated(one)), Answer::Reply(Reply::Repeated(other)))
            if one.0.checked_add(1) == Some(other.0) =>
        {
            Ok(PlacedPair { orders: [*one, *other], repeated: true })
        }
        (
            Answer::Reply(Reply::Opened(_) | Reply::Repeated(_)),
            Answer::Reply(Reply::Opened(other) | Reply::Repeated(other)),
        ) => Err((Which::Second, another_partner(*other))),
        (Answer::Reply(Reply::Repeated(one)), Answer::Reply(Reply::Rejected(Reject::NotLinked))) => {
            Err((Which::First, another_partner(*one)))
        }
        (Answer::Reply(Reply::Opened(_) | Reply::Repeated(_)), refused) => {
            Err((Which::Second, Box::new(refused.clone())))
        }
        (refused, _) => Err((Which::First, Box::new(refused.clone()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_answers::{opened, rejected, repeated};

    #[test]
    fn two_orders_were_placed_together_before_if_both_were_and_nothing_between_them() {
        let pair = |one, other, repeated| Ok(PlacedPair { orders: [OrderId(one), OrderId(other)], repeated });
        assert_eq!(placed_pair(&opened(7), &opened(8)), pair(7, 8, false));
        assert_eq!(placed_pair(&repeated(7), &repeated(8)), pair(7, 8, true));
        let another = |order| {
            let differs = OrderDifference { partner: true, ..OrderDifference::default() };
            Box::new(rejected(Reject::ClientOrderIdTaken { order: OrderId(order), differs }))
        };
        for (first, second) in [(repeated(7), repeated(9)), (repeated(10), repeated(9)), (repeated(7), opened(9))] {
            assert_eq!(placed_pair(&first, &second), Err((Which::Second, another(9))));
        }
        let not_linked = placed_pair(&repeated(7), &rejected(Reject::NotLinked));
        assert_eq!(not_linked, Err((Which::First, another(7))));
    }

    #[test]
    fn the_order_at_fault_is_named_and_not_the_one_that_goes_with_it() {
        let full = rejected(Reject::Full);
        let with_it = Answer::Unavailable(Unavailable::Past(Limit::OfAnotherOrder));
        let named = |first: &Answer, second: &Answer| placed_pair(first, second).map_err(|(which, _)| which);
        assert_eq!(named(&full, &rejected(Reject::NotLinked)), Err(Which::First));
        assert_eq!(named(&opened(7), &full), Err(Which::Second));
        assert_eq!(named(&with_it, &full), Err(Which::Second));
    }
}
