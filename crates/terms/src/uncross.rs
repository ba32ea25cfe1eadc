//! The price of an auction, computed from the open shares at each limit. This file knows neither orders nor accounts.

use crate::amount::{Position, Price};

/// The result of an auction if it ended now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuctionPrice {
    /// The price of all executions.
    pub price: Price,
    /// The shares that execute.
    pub shares: Position,
    /// Shares that buyers would take at this price beyond those that sellers would give; below zero if they would take
    /// fewer.
    pub surplus: Position,
}

/// Computes the price at which the most shares execute; among several, the one that leaves the fewest shares over, then
/// the one nearest to the reference, then the lowest. It is a limit of an order, or the reference where that is a
/// multiple of the tick size between the best ask and the best bid. Without a last price the reference is halfway
/// between these two. None if the best bid is below the best ask.
///
/// `bids` and `asks` are the open shares at each limit, the best first, each limit once. The time is proportional to
/// the number of limits that cross.
pub fn auction_price(
    bids: impl Iterator<Item = (Price, Position)>,
    asks: impl Iterator<Item = (Price, Position)>,
    last: Option<Price>,
    tick: Price,
) -> Option<AuctionPrice> {
    let (mut bids, mut asks) = (bids.peekable(), asks.peekable());
    let (best_bid, best_ask) = (bids.peek()?.0, asks.peek()?.0);
    if best_bid < best_ask {
        return None;
    }
    // Orders beyond these limits do not execute.
    let mut bids: Vec<(Price, Position)> = bids.take_while(|(limit, _)| *limit >= best_ask).collect();
    let asks: Vec<(Price, Position)> = asks.take_while(|(limit, _)| *limit <= best_bid).collect();
    bids.reverse();
    let reference = last.unwrap_or_else(|| halfway(best_ask, best_bid));
    let is_candidate = (best_ask..=best_bid).contains(&reference) && reference.is_multiple_of(tick);
    let mut candidates: Vec<Price> = bids.iter().chain(&asks).map(|(limit, _)| *limit).collect();
    candidates.extend(is_candidate.then_some(reference));
    // These are two rising runs, which a stable sort merges.
    candidates.sort();
    candidates.dedup();
    best_of(&candidates, &bids, &asks, reference)
}

/// The best candidate. `candidates`, `bids` and `asks` are sorted by rising price.
fn best_of(
    candidates: &[Price],
    bids: &[(Price, Position)],
    asks: &[(Price, Position)],
    reference: Price,
) -> Option<AuctionPrice> {
    let mut demand = bids.iter().fold(Position::ZERO, |sum, (_, shares)| sum.plus(*shares));
    let mut supply = Position::ZERO;
    let (mut bids, mut asks) = (bids.iter().peekable(), asks.iter().peekable());
    let mut best: Option<(AuctionPrice, Rank)> = None;
    for &price in candidates {
        while let Some((_, shares)) = bids.next_if(|(limit, _)| *limit < price) {
            demand = demand.minus(*shares);
        }
        while let Some((_, shares)) = asks.next_if(|(limit, _)| *limit <= price) {
            supply = supply.plus(*shares);
        }
        let (shares, surplus) = (demand.min(supply), demand.minus(supply));
        let rank = Rank {
            unexecuted: Position::ZERO.minus(shares),
            left_over: demand.max(supply).minus(shares),
            distance: price.units().abs_diff(reference.units()),
        };
        if best.as_ref().is_none_or(|(_, before)| rank < *before) {
            best = Some((AuctionPrice { price, shares, surplus }, rank));
        }
    }
    best.map(|(price, _)| price)
}

/// The rank of a price: the less, the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// The shares that execute, negated.
    unexecuted: Position,
    left_over: Position,
    distance: u64,
}

/// The middle of two prices, the lower one first, rounded down.
fn halfway(low: Price, high: Price) -> Price {
    let half = high.units().saturating_sub(low.units()).wrapping_div(2);
    Price::from_units(low.units().saturating_add(half)).expect("invariant: it is no less than a price")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The price, the executed shares and the surplus of these bids and asks.
    fn found(bids: &[(i64, i128)], asks: &[(i64, i128)], last: Option<i64>, tick: i64) -> Option<(i64, i128, i128)> {
        let price = |units: i64| Price::from_units(units).unwrap();
        let side = |limits: &[(i64, i128)]| -> Vec<(Price, Position)> {
            limits.iter().map(|&(limit, shares)| (price(limit), Position::from_units(shares))).collect()
        };
        let found = auction_price(side(bids).into_iter(), side(asks).into_iter(), last.map(price), price(tick))?;
        Some((found.price.units(), found.shares.units(), found.surplus.units()))
    }

    #[test]
    fn the_price_is_that_of_the_most_shares_then_of_the_least_left_over_then_the_nearest() {
        // 30 shares execute at 101, and fewer at each other price.
        let (bids, asks) = ([(102, 10), (101, 20), (100, 50)], [(99, 10), (101, 20), (102, 40)]);
        assert_eq!(found(&bids, &asks, Some(50), 1), Some((101, 30, 0)));
        // 10 execute at each price; at 103 alone none is left over.
        let (bids, asks) = ([(105, 10), (101, 5)], [(101, 10), (105, 5)]);
        assert_eq!(found(&bids, &asks, Some(103), 1), Some((103, 10, 0)));
        assert_eq!(
            found(&bids, &asks, Some(90), 1),
            Some((101, 10, 5)),
            "the reference is too far away to be the price"
        );
        // 10 execute at each price, and at 103 the fewest are left over, though 101 is the reference.
        let (bids, asks) = ([(105, 10), (103, 2), (101, 5)], [(101, 10), (105, 5)]);
        assert_eq!(found(&bids, &asks, Some(101), 1), Some((103, 10, 2)));
        let (bids, asks) = ([(105, 10), (101, 5)], [(101, 10), (105, 5)]);
        assert_eq!(found(&bids, &asks, Some(200), 1), Some((105, 10, -5)));
        assert_eq!(
            found(&bids, &asks, Some(103), 5),
            Some((101, 10, 5)),
            "it is off the tick; the lower of two as near"
        );
    }

    #[test]
    fn without_a_last_price_it_is_near_the_middle_and_without_a_cross_there_is_none() {
        assert_eq!(found(&[(110, 7)], &[(90, 5)], None, 1), Some((100, 5, 2)));
        assert_eq!(found(&[(110, 7)], &[(90, 5)], None, 30), Some((90, 5, 2)));
        assert_eq!(found(&[(89, 7)], &[(90, 5)], Some(90), 1), None);
        assert_eq!(found(&[(90, 7)], &[(90, 5)], Some(1), 1), Some((90, 5, 2)));
        assert_eq!(found(&[], &[(90, 5)], None, 1), None);
        assert_eq!(found(&[(i64::MAX, 1)], &[(1, 1)], None, 1), Some((1 + (i64::MAX - 1) / 2, 1, 0)));
    }
}
