//! The distance of a trigger that follows the market. This file knows nothing of waiting orders.

use std::num::NonZeroI64;

use crate::amount::Price;
use crate::order::{Side, Trigger};

/// The most trailing stops in one symbol: one execution may reach all of them, and each has an event.
pub const TRAILING_MAX: usize = 1_000;

/// The most trailing stops of one account in one symbol, so that nobody takes all places there.
pub const TRAILING_OF_ACCOUNT_MAX: usize = 100;

/// The largest distance in hundredths of a per cent, so that a sell's trigger is above zero.
pub const TRAIL_BIPS_MAX: u16 = 9_999;

/// The whole, in hundredths of a per cent.
const WHOLE_BIPS: u64 = 10_000;
const WHOLE: i128 = WHOLE_BIPS as i128;

/// The distance between a trigger and the best price: an amount of money, or a part of that price.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trail(NonZeroI64);

impl Trail {
    /// A distance of this many dollars.
    pub fn by(distance: Price) -> Trail {
        Trail::from_code(distance.units()).expect("invariant: a price is above zero")
    }

    /// A distance of this many hundredths of a per cent; none unless they are 1 to [`TRAIL_BIPS_MAX`].
    pub fn by_bips(bips: u16) -> Option<Trail> {
        Trail::from_code(i64::from(bips).wrapping_neg())
    }

    /// The distance in dollars, if it is in dollars.
    pub fn distance(self) -> Option<Price> {
        Price::from_units(self.0.get())
    }

    /// The distance in hundredths of a per cent, if it is in these.
    pub fn bips(self) -> Option<u16> {
        u16::try_from(self.0.get().wrapping_neg()).ok()
    }

    /// The number of the distance wherever orders are stored: units of dollars, or negative bips; zero for none.
    pub fn code(trail: Option<Trail>) -> i64 {
        trail.map_or(0, |trail| trail.0.get())
    }

    /// The distance with this number; none for zero, and for more bips than there may be.
    pub fn from_code(code: i64) -> Option<Trail> {
        let is_sound = code >= i64::from(TRAIL_BIPS_MAX).wrapping_neg();
        NonZeroI64::new(code).filter(|_| is_sound).map(Trail)
    }

    /// The trigger of an order of this side while `best` is the highest price since it was placed, or for a buy the
    /// lowest. A fraction of a unit is rounded so that it triggers later. None if there is no such price.
    pub fn trigger(self, side: Side, best: Price) -> Option<Trigger> {
        let best = i128::from(best.units());
        let distance = match self.bips() {
            None => i128::from(self.0.get()),
            // The highest price does not overflow this. Rounding up makes the trigger later on both sides.
            Some(bips) => {
                let scaled = best.saturating_mul(i128::from(bips));
                scaled.saturating_add(WHOLE).saturating_sub(1).wrapping_div(WHOLE)
            }
        };
        let units = match side {
            Side::Buy => best.saturating_add(distance),
            Side::Sell => best.saturating_sub(distance),
        };
        let price = i64::try_from(units).ok().and_then(Price::from_units)?;
        Some(Trigger::stop_loss(side, price))
    }

    /// The trigger to which an execution at this price moves an order's trigger; none if that stays.
    pub fn moved(self, side: Side, now: Trigger, price: Price) -> Option<Trigger> {
        let to = self.trigger(side, price)?;
        let is_nearer = match side {
            Side::Buy => to.price() < now.price(),
            Side::Sell => to.price() > now.price(),
        };
        is_nearer.then_some(to)
    }

    /// Whether the trigger moves where the best price goes from one to another that is better for an order of this
    /// side. A part of a unit is rounded, so a sell's may stay at a part of the price; those of buys never do.
    pub fn moves_between(self, side: Side, from: Price, to: Price) -> bool {
        side == Side::Buy || to > self.stays_up_to(from)
    }

    /// The highest price at which the trigger of a sell stays that has this best price.
    pub fn stays_up_to(self, best: Price) -> Price {
        let Some(bips) = self.bips() else { return best };
        let kept = WHOLE_BIPS.saturating_sub(u64::from(bips));
        let part = best.units().unsigned_abs().wrapping_rem(WHOLE_BIPS).saturating_mul(kept).wrapping_rem(WHOLE_BIPS);
        let steps = WHOLE_BIPS.saturating_sub(part).saturating_sub(1).checked_div(kept).unwrap_or(0);
        Price::from_units(best.units().saturating_add_unsigned(steps)).unwrap_or(best)
    }

    /// A best price behind which an order of this side has this trigger, no farther from it than `last`. A part of a
    /// unit is rounded, so it may be another one than the order had: both have the same triggers from now on. None if
    /// there is no such price.
    pub fn best_behind(self, side: Side, trigger: Trigger, last: Price) -> Option<Price> {
        let at = i128::from(trigger.price().units());
        let best = match (self.bips(), side) {
            (None, Side::Sell) => at.saturating_add(i128::from(self.0.get())),
            (None, Side::Buy) => at.saturating_sub(i128::from(self.0.get())),
            // The least price that is rounded down to a sell's, and the greatest that is rounded up to a buy's.
            (Some(bips), Side::Sell) => {
                let kept = WHOLE.saturating_sub(i128::from(bips));
                at.saturating_mul(WHOLE).saturating_add(kept).saturating_sub(1).checked_div(kept)?
            }
            (Some(bips), Side::Buy) => at.saturating_mul(WHOLE).checked_div(WHOLE.saturating_add(i128::from(bips)))?,
        };
        let best = i64::try_from(best).ok().and_then(Price::from_units)?;
        let best = if side == Side::Sell { best.max(last) } else { best.min(last) };
        (self.trigger(side, best) == Some(trigger)).then_some(best)
    }
}

impl std::fmt::Debug for Trail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.distance(), self.bips()) {
            (Some(distance), _) => write!(f, "{distance} behind"),
            (None, bips) => write!(f, "{} bips behind", bips.unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn price(units: i64) -> Price {
        Price::from_units(units).unwrap()
    }

    #[test]
    fn a_trigger_is_the_distance_behind_and_a_part_of_a_unit_is_rounded_to_trigger_later() {
        let at = |trail: Trail, side, best| trail.trigger(side, price(best)).map(|trigger| trigger.price().units());
        let dollars = Trail::by(price(150));
        assert_eq!(at(dollars, Side::Sell, 1_000), Some(850));
        assert_eq!(at(dollars, Side::Buy, 1_000), Some(1_150));
        assert_eq!(at(dollars, Side::Sell, 150), None, "no price is zero");
        assert_eq!(at(dollars, Side::Buy, i64::MAX - 149), None, "nor higher than the highest");
        let per_cent = Trail::by_bips(100).unwrap();
        assert_eq!(at(per_cent, Side::Sell, 1_000), Some(990));
        assert_eq!(at(per_cent, Side::Sell, 1_001), Some(990), "990.99");
        assert_eq!(at(per_cent, Side::Buy, 1_001), Some(1_012), "1011.01");
        assert_eq!(at(per_cent, Side::Sell, 1), None);
        assert_eq!(at(Trail::by_bips(TRAIL_BIPS_MAX).unwrap(), Side::Sell, 10_000), Some(1));
        assert_eq!(at(Trail::by_bips(TRAIL_BIPS_MAX).unwrap(), Side::Buy, i64::MAX), None);
    }

    #[test]
    fn a_trigger_moves_towards_the_market_and_never_away() {
        let trail = Trail::by(price(10));
        let sell = Trigger::from_above(price(90));
        assert_eq!(trail.moved(Side::Sell, sell, price(101)), Some(Trigger::from_above(price(91))));
        assert_eq!(trail.moved(Side::Sell, sell, price(100)), None);
        assert_eq!(trail.moved(Side::Sell, sell, price(5)), None);
        let buy = Trigger::from_below(price(110));
        assert_eq!(trail.moved(Side::Buy, buy, price(99)), Some(Trigger::from_below(price(109))));
        assert_eq!(trail.moved(Side::Buy, buy, price(101)), None);
    }

    /// Engines that read a market back do not know the best price of an order.
    #[test]
    fn a_trigger_moves_with_a_best_price_that_is_made_of_it_as_with_the_one_that_it_had() {
        let trails = [1, 7, 4_999, 5_000, 9_998, 9_999].into_iter().filter_map(Trail::by_bips);
        for trail in trails.chain([1, 40].map(|units| Trail::by(price(units)))) {
            for (side, best) in (60..140).flat_map(|best| [(Side::Sell, best), (Side::Buy, best)]) {
                let Some(trigger) = trail.trigger(side, price(best)) else { continue };
                let last = if side == Side::Sell { 50 } else { 150 };
                let made = trail.best_behind(side, trigger, price(last)).unwrap();
                assert_eq!(trail.trigger(side, made), Some(trigger), "{trail:?} {side:?} {best}");
                for step in 1..300 {
                    let to = if side == Side::Sell { best + step } else { best - step };
                    let Some(to) = Price::from_units(to).filter(|&to| trail.trigger(side, to).is_some()) else { break };
                    let moves = trail.moved(side, trigger, to).is_some();
                    assert_eq!(trail.moves_between(side, price(best), to), moves, "{trail:?} {side:?} {best} {to:?}");
                    assert_eq!(moves, trail.trigger(side, to) != Some(trigger));
                }
            }
        }
        let bips = Trail::by_bips(TRAIL_BIPS_MAX).unwrap();
        assert_eq!(bips.best_behind(Side::Buy, Trigger::from_below(price(4)), price(9)), Some(price(2)));
        assert_eq!(bips.best_behind(Side::Buy, Trigger::from_below(price(3)), price(9)), None, "1 is at 2, and 2 at 4");
        assert_eq!(bips.best_behind(Side::Sell, Trigger::from_above(Price::MAX), price(9)), None);
        assert_eq!(Trail::by(price(5)).best_behind(Side::Sell, Trigger::from_above(price(3)), price(9)), None);
    }

    #[test]
    fn a_distance_is_what_it_was_made_of() {
        assert_eq!(Trail::by(price(7)).distance(), Some(price(7)));
        assert_eq!(Trail::by(price(7)).bips(), None);
        assert_eq!(Trail::by_bips(7).unwrap().bips(), Some(7));
        assert_eq!(Trail::by_bips(7).unwrap().distance(), None);
        assert_eq!((Trail::by_bips(0), Trail::by_bips(TRAIL_BIPS_MAX + 1)), (None, None));
        for code in [1, -1, i64::MAX, -9_999] {
            assert_eq!(Trail::code(Trail::from_code(code)), code);
        }
        assert_eq!((Trail::from_code(0), Trail::from_code(-10_000), Trail::from_code(i64::MIN)), (None, None, None));
    }
}
