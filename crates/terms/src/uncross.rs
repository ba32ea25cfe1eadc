//! The price of an auction, computed from the open shares at each limit. This file knows neither orders nor accounts.

use crate::amount::{Position, Price};

/// The choice among the prices at which as many shares execute and as few are left over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuctionTies {
    /// The price nearest to the reference, and of two as near the lower one.
    #[default]
    Nearest,
    /// The highest price if buyers' shares are left over at each of them, and the lowest if sellers' are. Otherwise as
    /// [`AuctionTies::Nearest`].
    Pressure,
}

impl AuctionTies {
    /// All choices.
    pub const ALL: [AuctionTies; 2] = [AuctionTies::Nearest, AuctionTies::Pressure];

    /// The name of the choice wherever rules are shown.
    pub fn name(self) -> &'static str {
        match self {
            AuctionTies::Nearest => "nearest",
            AuctionTies::Pressure => "pressure",
        }
    }

    /// The choice with this name.
    pub fn named(name: &str) -> Option<AuctionTies> {
        AuctionTies::ALL.into_iter().find(|ties| ties.name() == name)
    }
}

/// The terms on which an auction finds its price, besides its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuctionTerms {
    /// The price of the last execution.
    pub last: Option<Price>,
    /// The tick size of the symbol.
    pub tick: Price,
    pub ties: AuctionTies,
}

/// The open shares of one side at one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuctionLevel {
    pub limit: Price,
    pub shares: Position,
    /// Whether the shares are those of market orders alone, whose clients named no limit.
    pub is_market: bool,
}

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

/// Computes the price at which the most shares execute; among several, one that leaves the fewest shares over; among
/// several of these, the one that `ties` chooses. It is a limit of an order, or the reference where that is a multiple
/// of the tick size between the best ask and the best bid. The reference is the last price, or without one the middle
/// of these two. Limits of market orders alone count only where there are no others: as the best ones, and as the price
/// unless fewer shares execute at each other one. None if the best bid is below the best ask.
///
/// `bids` and `asks` have each limit once, the best first. The time is proportional to the number of limits that cross.
pub fn auction_price(
    bids: impl Iterator<Item = AuctionLevel>,
    asks: impl Iterator<Item = AuctionLevel>,
    terms: AuctionTerms,
) -> Option<AuctionPrice> {
    let AuctionTerms { last, tick, ties } = terms;
    let (mut bids, mut asks) = (bids.peekable(), asks.peekable());
    let (best_bid, best_ask) = (bids.peek()?.limit, asks.peek()?.limit);
    if best_bid < best_ask {
        return None;
    }
    // Orders beyond these limits do not execute.
    let mut bids: Vec<AuctionLevel> = bids.take_while(|level| level.limit >= best_ask).collect();
    let asks: Vec<AuctionLevel> = asks.take_while(|level| level.limit <= best_bid).collect();
    let best_limit = |levels: &[AuctionLevel]| levels.iter().find(|level| !level.is_market).map(|level| level.limit);
    let (low, high) = match (best_limit(&asks), best_limit(&bids)) {
        (Some(ask), Some(bid)) => (ask, bid),
        (Some(one), None) | (None, Some(one)) => (one, one),
        (None, None) => (best_ask, best_bid),
    };
    bids.reverse();
    let reference = last.unwrap_or_else(|| halfway(low.min(high), high.max(low)));
    let is_between = (low..=high).contains(&reference) && reference.is_multiple_of(tick);
    let limits = bids.iter().chain(&asks).map(|level| Candidate { price: level.limit, is_market: level.is_market });
    let mut candidates: Vec<Candidate> = limits.collect();
    candidates.extend(is_between.then_some(Candidate { price: reference, is_market: false }));
    // These are two rising runs, which a stable sort merges. Of two at one price the first is no market order's.
    candidates.sort();
    candidates.dedup_by_key(|candidate| candidate.price);
    let best = best_of(&candidates, &bids, &asks);
    if ties == AuctionTies::Pressure {
        let is_left_over = |wanted: fn(&AuctionPrice) -> bool| best.iter().all(wanted);
        if is_left_over(|found| found.surplus > Position::ZERO) {
            return best.last().copied();
        }
        if is_left_over(|found| found.surplus.is_negative()) {
            return best.first().copied();
        }
    }
    // The first one of two as near is the lower one.
    best.into_iter().min_by_key(|found| found.price.units().abs_diff(reference.units()))
}

/// A price that an auction may come to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    price: Price,
    /// Whether it is the limit of market orders alone.
    is_market: bool,
}

/// The candidates at which the most shares execute; of these those that are more than limits of market orders; and of
/// these those that leave the fewest shares over; by rising price. `candidates`, `bids` and `asks` are sorted by rising
/// price.
fn best_of(candidates: &[Candidate], bids: &[AuctionLevel], asks: &[AuctionLevel]) -> Vec<AuctionPrice> {
    let mut demand = bids.iter().fold(Position::ZERO, |sum, level| sum.plus(level.shares));
    let mut supply = Position::ZERO;
    let (mut bids, mut asks) = (bids.iter().peekable(), asks.iter().peekable());
    let (mut best, mut best_rank) = (Vec::new(), None);
    for &Candidate { price, is_market } in candidates {
        while let Some(level) = bids.next_if(|level| level.limit < price) {
            demand = demand.minus(level.shares);
        }
        while let Some(level) = asks.next_if(|level| level.limit <= price) {
            supply = supply.plus(level.shares);
        }
        let (shares, surplus) = (demand.min(supply), demand.minus(supply));
        let left_over = demand.max(supply).minus(shares);
        let rank = Rank { unexecuted: Position::ZERO.minus(shares), is_market, left_over };
        if best_rank.is_none_or(|before| rank < before) {
            best_rank = Some(rank);
            best.clear();
        }
        if best_rank == Some(rank) {
            best.push(AuctionPrice { price, shares, surplus });
        }
    }
    best
}

/// The rank of a price: the less, the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// The shares that execute, negated.
    unexecuted: Position,
    is_market: bool,
    left_over: Position,
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

    /// Limits of a side, with the shares at each.
    type Limits = [(i64, i128)];

    /// The price, the executed shares and the surplus of these bids and asks.
    fn found_by(
        ties: AuctionTies,
        (bids, asks): (&Limits, &Limits),
        last: Option<i64>,
        tick: i64,
    ) -> Option<(i64, i128, i128)> {
        let price = |units: i64| Price::from_units(units).unwrap();
        // Shares below zero are those of market orders.
        let side = |limits: &Limits| -> Vec<AuctionLevel> {
            let level = |&(limit, shares): &(i64, i128)| AuctionLevel {
                limit: price(limit),
                shares: Position::from_units(shares.abs()),
                is_market: shares < 0,
            };
            limits.iter().map(level).collect()
        };
        let terms = AuctionTerms { last: last.map(price), tick: price(tick), ties };
        let found = auction_price(side(bids).into_iter(), side(asks).into_iter(), terms)?;
        Some((found.price.units(), found.shares.units(), found.surplus.units()))
    }

    fn found(bids: &Limits, asks: &Limits, last: Option<i64>, tick: i64) -> Option<(i64, i128, i128)> {
        found_by(AuctionTies::Nearest, (bids, asks), last, tick)
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
    #[test]
    fn pressure_chooses_the_end_at_which_the_larger_side_stands() {
        let by_pressure = |bids, asks, last| found_by(AuctionTies::Pressure, (bids, asks), last, 1);
        // 500 execute at 199 and at 200, and buyers want 100 more.
        let (bids, asks) = ([(200, 600), (197, 200)], [(197, 300), (198, 100), (199, 100), (201, 400)]);
        assert_eq!(by_pressure(&bids, &asks, Some(190)), Some((200, 500, 100)));
        assert_eq!(found(&bids, &asks, Some(190), 1), Some((199, 500, 100)));
        // 500 execute from 199 to 201, and sellers offer 100 more.
        let (bids, asks) = ([(202, 300), (201, 200)], [(198, 200), (199, 400)]);
        assert_eq!(by_pressure(&bids, &asks, Some(200)), Some((199, 500, -100)));
        assert_eq!(found(&bids, &asks, Some(200), 1), Some((200, 500, -100)));
        // Buyers are left over at 101 and sellers at 105: nobody presses, and the reference decides.
        let (bids, asks) = ([(105, 10), (101, 5)], [(101, 10), (105, 5)]);
        assert_eq!(by_pressure(&bids, &asks, Some(90)), Some((101, 10, 5)));
        assert_eq!(by_pressure(&bids, &asks, Some(200)), Some((105, 10, -5)));
        // Nobody is left over.
        let (bids, asks) = ([(105, 10)], [(101, 10)]);
        assert_eq!(by_pressure(&bids, &asks, Some(104)), Some((104, 10, 0)));
        assert_eq!(by_pressure(&bids, &asks, Some(200)), Some((105, 10, 0)));
        assert_eq!(by_pressure(&[(89, 7)], &[(90, 5)], None), None);
    }

    /// Market orders gather at the ends of a band from 150 to 250.
    #[test]
    fn the_limit_of_market_orders_is_the_price_only_if_no_other_executes_as_many_shares() {
        let by_pressure = |bids, asks, last| found_by(AuctionTies::Pressure, (bids, asks), last, 1);
        // The published example: bids market 250, 150 at 199, market 50; asks market 300, 200 at 198.
        let (bids, asks) = ([(250, -300), (199, 150)], [(150, -300), (198, 200)]);
        assert_eq!(by_pressure(&bids, &asks, Some(200)), Some((198, 450, -50)));
        // Buyers are left over at 200 and, fewer of them, at 250.
        let (bids, asks) = ([(250, -900), (200, 100)], [(200, 500)]);
        for last in [150, 200, 300] {
            assert_eq!(by_pressure(&bids, &asks, Some(last)), Some((200, 500, 500)));
            assert_eq!(found(&bids, &asks, Some(last), 1), Some((200, 500, 500)));
        }
        // A limit order at the end of the band makes it a price as any other.
        assert_eq!(by_pressure(&[(250, 900), (200, 100)], &[(200, 500)], Some(200)), Some((250, 500, 400)));
        // Market orders alone execute at the reference, and at their limits where that is off the tick.
        assert_eq!(found(&[(250, -5)], &[(150, -5)], Some(200), 1), Some((200, 5, 0)));
        assert_eq!(found(&[(250, -5)], &[(150, -5)], Some(200), 3), Some((150, 5, 0)));
        // At 148 fewer shares execute than at the ends of the band.
        assert_eq!(found(&[(250, -5)], &[(148, 1), (150, -3)], Some(200), 3), Some((150, 4, 1)));
    }
}
