//! The rules of a symbol: tick size, lot size, bounds of shares and value, the price band, and whether it trades. This
//! file knows neither books nor accounts; `rules/apply.rs` applies the rules to orders.

use std::fmt;
use std::num::NonZeroU32;

use crate::amount::{AmountError, Decimal, DecimalText, Money, Price, Shares};
use crate::phase::Pause;

/// Decimals of a distance, which is a percentage.
const DISTANCE_DECIMALS: u32 = 2;
/// Units of 10^-8 in a hundredth of a per cent.
const UNITS_A_HUNDREDTH: u128 = 1_000_000;
/// The whole, in hundredths of a per cent.
const WHOLE: i128 = 10_000;

/// The rules of a symbol. A rule that is not set stands at the bound that every order obeys, so a symbol without rules
/// equals one whose rules bound nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolRules {
    /// Limits and triggers are multiples of it. [`Price::MIN`] is no rule.
    pub tick: Price,
    /// Shares are multiples of it. [`Shares::MIN`] is no rule.
    pub lot: Shares,
    /// The fewest shares of an order. [`Shares::MIN`] is no rule.
    pub shares_min: Shares,
    /// The most shares of an order. [`Shares::MAX`] is no rule.
    pub shares_max: Shares,
    /// The lowest value of an order, its limit × its shares. Zero is no rule.
    pub value_min: Money,
    /// The highest value of an order. [`SymbolRules::VALUE_MAX`] is no rule.
    pub value_max: Money,
    /// The distance by which a limit may be above the last execution's price.
    pub band_up: Option<Distance>,
    /// The distance by which a limit may be below the last execution's price.
    pub band_down: Option<Distance>,
    /// Whether the symbol is halted: no order is placed and none executes. Clients can cancel orders.
    pub is_halted: bool,
    /// The length of the auction that an order begins which would execute outside the band.
    pub interruption: Option<Pause>,
}

impl SymbolRules {
    /// The value of the most shares at the highest limit.
    pub const VALUE_MAX: Money = Money::from_units((i64::MAX as i128) * (i64::MAX as i128));

    /// The rules of a symbol that was never given any.
    pub const NONE: SymbolRules = SymbolRules {
        tick: Price::MIN,
        lot: Shares::MIN,
        shares_min: Shares::MIN,
        shares_max: Shares::MAX,
        value_min: Money::ZERO,
        value_max: SymbolRules::VALUE_MAX,
        band_up: None,
        band_down: None,
        is_halted: false,
        interruption: None,
    };

    /// Checks that an order could obey the rules. Readers of rules call it; the engine relies on them. Errors: the
    /// contradiction.
    pub fn check(&self) -> Result<(), RulesFault> {
        let SymbolRules { lot, shares_min, shares_max, value_min, value_max, band_down, .. } = *self;
        if lot.is_zero() || shares_min.is_zero() || value_min.is_negative() || value_max > SymbolRules::VALUE_MAX {
            return Err(RulesFault::Unreadable);
        }
        if band_down.is_some_and(|down| down > Distance::DOWN_MAX) {
            return Err(RulesFault::BandBelowZero);
        }
        if self.interruption.is_some() && !self.has_band() {
            return Err(RulesFault::InterruptsNothing);
        }
        if shares_min > shares_max {
            return Err(RulesFault::SharesCross { least: shares_min, most: shares_max });
        }
        if shares_max.rounded_down(lot) < shares_min.max(lot) {
            return Err(RulesFault::NoLotFits { lot, least: shares_min, most: shares_max });
        }
        if value_min > value_max {
            return Err(RulesFault::ValuesCross { least: value_min, most: value_max });
        }
        Ok(())
    }

    /// The lowest and the highest price of the band around a price. Both are rounded towards the inside.
    pub fn band(&self, around: Price) -> (Price, Price) {
        let around = i128::from(around.units());
        let low = self.band_down.map_or(Price::MIN, |down| {
            let scaled = around.saturating_mul(WHOLE.saturating_sub(down.hundredths().into()));
            price(scaled.saturating_add(WHOLE).saturating_sub(1).wrapping_div(WHOLE))
        });
        let high = self.band_up.map_or(Price::MAX, |up| {
            price(around.saturating_mul(WHOLE.saturating_add(up.hundredths().into())).wrapping_div(WHOLE))
        });
        (low, high)
    }

    /// Whether the last price bounds limits.
    pub fn has_band(&self) -> bool {
        self.band_up.is_some() || self.band_down.is_some()
    }

    /// The parts in which events carry the rules, in their order.
    pub fn parts(&self) -> [RulesPart; 4] {
        let SymbolRules { tick, lot, shares_min, shares_max, value_min, value_max, band_up, band_down, .. } = *self;
        let SymbolRules { is_halted, interruption, .. } = *self;
        [
            RulesPart::Prices { tick, band_up, band_down, is_halted, interruption },
            RulesPart::Shares { lot, least: shares_min, most: shares_max },
            RulesPart::ValueMin(value_min),
            RulesPart::ValueMax(value_max),
        ]
    }

    /// Replaces one part of the rules.
    pub fn set(&mut self, part: RulesPart) {
        match part {
            RulesPart::Prices { tick, band_up, band_down, is_halted, interruption } => {
                *self = SymbolRules { tick, band_up, band_down, is_halted, interruption, ..*self };
            }
            RulesPart::Shares { lot, least, most } => {
                *self = SymbolRules { lot, shares_min: least, shares_max: most, ..*self };
            }
            RulesPart::ValueMin(value_min) => self.value_min = value_min,
            RulesPart::ValueMax(value_max) => self.value_max = value_max,
        }
    }

    /// The amount of a rule; none if it is not set.
    pub fn amount(&self, rule: Rule) -> Option<DecimalText> {
        let none = SymbolRules::NONE;
        match rule {
            Rule::Tick => (self.tick != none.tick).then(|| self.tick.text()),
            Rule::Lot => (self.lot != none.lot).then(|| self.lot.text()),
            Rule::SharesMin => (self.shares_min != none.shares_min).then(|| self.shares_min.text()),
            Rule::SharesMax => (self.shares_max != none.shares_max).then(|| self.shares_max.text()),
            Rule::ValueMin => (self.value_min != none.value_min).then(|| self.value_min.text()),
            Rule::ValueMax => (self.value_max != none.value_max).then(|| self.value_max.text()),
            Rule::BandUp => self.band_up.map(Distance::text),
            Rule::BandDown => self.band_down.map(Distance::text),
            Rule::Interruption => self.interruption.map(Pause::text),
        }
    }

    /// Sets a rule from a client's text. Errors: those of the amounts; negative amounts, and zero for rules that must
    /// be above zero.
    pub fn set_amount(&mut self, rule: Rule, amount: Decimal) -> Result<(), AmountError> {
        let above_zero = |amount: Decimal| match amount.negative || amount.units == 0 {
            true => Err(AmountError::NotAboveZero),
            false => amount.order_shares(),
        };
        match rule {
            Rule::Tick => self.tick = amount.price()?,
            Rule::Lot => self.lot = above_zero(amount)?,
            Rule::SharesMin => self.shares_min = above_zero(amount)?,
            Rule::SharesMax => self.shares_max = above_zero(amount)?,
            Rule::ValueMin => self.value_min = amount.money()?,
            Rule::ValueMax => self.value_max = amount.money()?,
            Rule::BandUp => self.band_up = Some(Distance::of(amount)?),
            Rule::BandDown => self.band_down = Some(Distance::of(amount)?),
            Rule::Interruption => self.interruption = Some(Pause::of(amount)?),
        }
        Ok(())
    }
}

/// A rule with an amount: all but the halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    Tick,
    Lot,
    SharesMin,
    SharesMax,
    ValueMin,
    ValueMax,
    BandUp,
    BandDown,
    Interruption,
}

impl Rule {
    /// All rules, in the order in which they are shown.
    pub const ALL: [Rule; 9] = [
        Rule::Tick,
        Rule::Lot,
        Rule::SharesMin,
        Rule::SharesMax,
        Rule::ValueMin,
        Rule::ValueMax,
        Rule::BandUp,
        Rule::BandDown,
        Rule::Interruption,
    ];

    /// The name of the rule wherever rules are shown.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Tick => "tick",
            Rule::Lot => "lot",
            Rule::SharesMin => "min-shares",
            Rule::SharesMax => "max-shares",
            Rule::ValueMin => "min-value",
            Rule::ValueMax => "max-value",
            Rule::BandUp => "band-up",
            Rule::BandDown => "band-down",
            Rule::Interruption => "interruption",
        }
    }
}

impl Default for SymbolRules {
    fn default() -> SymbolRules {
        SymbolRules::NONE
    }
}

impl fmt::Display for SymbolRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == SymbolRules::NONE {
            return f.write_str("no rules");
        }
        let mut between = "";
        for rule in Rule::ALL {
            if let Some(amount) = self.amount(rule) {
                write!(f, "{between}{} {}", rule.name(), amount.as_str())?;
                between = ", ";
            }
        }
        if self.is_halted { write!(f, "{between}halted") } else { Ok(()) }
    }
}

/// The price with these units, or the nearest one.
fn price(units: i128) -> Price {
    let units = units.clamp(1, i64::MAX.into());
    i64::try_from(units).ok().and_then(Price::from_units).expect("invariant: it was clamped")
}

/// A part of a symbol's rules, as much as fits an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesPart {
    Prices {
        tick: Price,
        band_up: Option<Distance>,
        band_down: Option<Distance>,
        is_halted: bool,
        interruption: Option<Pause>,
    },
    Shares {
        lot: Shares,
        least: Shares,
        most: Shares,
    },
    ValueMin(Money),
    ValueMax(Money),
}

/// The distance between two prices: hundredths of a per cent of one of them, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Distance(NonZeroU32);

impl Distance {
    /// The largest distance, 10,000 per cent.
    pub const MAX: Distance = Distance(NonZeroU32::new(1_000_000).expect("above zero"));
    /// The largest distance below a price, 99.99 per cent: the whole would be no bound.
    pub const DOWN_MAX: Distance = Distance(NonZeroU32::new(9_999).expect("above zero"));

    /// A distance of this many hundredths of a per cent; none for zero and beyond the largest.
    pub fn from_hundredths(hundredths: u32) -> Option<Distance> {
        NonZeroU32::new(hundredths).map(Distance).filter(|distance| *distance <= Distance::MAX)
    }

    /// Hundredths of a per cent.
    pub fn hundredths(self) -> u32 {
        self.0.get()
    }

    /// Reads a percentage. Errors: `NotAboveZero`, `AboveMaximum`, and `TooManyDecimals` beyond two.
    pub fn of(percent: Decimal) -> Result<Distance, AmountError> {
        if percent.negative || percent.units == 0 {
            return Err(AmountError::NotAboveZero);
        }
        if !percent.units.is_multiple_of(UNITS_A_HUNDREDTH) {
            return Err(AmountError::MoreDecimalsThan { most: DISTANCE_DECIMALS });
        }
        let hundredths = u32::try_from(percent.units.wrapping_div(UNITS_A_HUNDREDTH)).ok();
        let too_far = AmountError::AboveMaximum { maximum: Distance::MAX.text() };
        hundredths.and_then(Distance::from_hundredths).ok_or(too_far)
    }

    /// The distance as a percentage, in the shortest decimal.
    pub fn text(self) -> DecimalText {
        DecimalText::new::<DISTANCE_DECIMALS>(self.0.get().into())
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

/// The reason why no order could obey the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesFault {
    /// The fewest shares are above the most.
    SharesCross { least: Shares, most: Shares },
    /// No multiple of the lot size has as many shares as an order may have.
    NoLotFits { lot: Shares, least: Shares, most: Shares },
    /// The lowest value is above the highest.
    ValuesCross { least: Money, most: Money },
    /// The band reaches down to zero.
    BandBelowZero,
    /// The interruption has no band.
    InterruptsNothing,
    /// A lot size or fewest shares of zero, or a value that no order can have: amounts that no text can set.
    Unreadable,
}

impl fmt::Display for RulesFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesFault::SharesCross { least, most } => {
                write!(f, "the fewest shares, {least}, are above the most, {most}")
            }
            RulesFault::NoLotFits { lot, least, most } => {
                write!(f, "no multiple of the lot size {lot} is from {least} to {most} shares")
            }
            RulesFault::ValuesCross { least, most } => {
                write!(f, "the least value, {least}, is above the greatest, {most}")
            }
            RulesFault::Unreadable => f.write_str("an amount is out of range"),
            RulesFault::InterruptsNothing => {
                f.write_str("an interruption needs a band: set how far prices may be apart, too")
            }
            RulesFault::BandBelowZero => {
                write!(f, "the band reaches down to zero; at most {} per cent", Distance::DOWN_MAX)
            }
        }
    }
}

impl std::error::Error for RulesFault {}

/// The rule that an order breaks, with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenRule {
    /// The symbol does not trade.
    Halted,
    /// The symbol's orders gather, and this order cannot wait for the auction's end.
    Auction,
    /// The limit is no multiple of the tick size.
    LimitOffTick {
        limit: Price,
        tick: Price,
    },
    /// The trigger is no multiple of the tick size.
    TriggerOffTick {
        trigger: Price,
        tick: Price,
    },
    /// The shares are no multiple of the lot size.
    OffLot {
        shares: Shares,
        lot: Shares,
    },
    TooFewShares {
        shares: Shares,
        least: Shares,
    },
    TooManyShares {
        shares: Shares,
        most: Shares,
    },
    TooLittleValue {
        value: Money,
        least: Money,
    },
    TooMuchValue {
        value: Money,
        most: Money,
    },
    /// The limit is outside the band.
    OutsideBand {
        limit: Price,
        low: Price,
        high: Price,
    },
    /// The limit is inside the band, but the best order that it would execute with is outside.
    ExecutesOutsideBand {
        price: Price,
        low: Price,
        high: Price,
    },
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BrokenRule::Halted => f.write_str("Trading is halted: orders can be canceled, and none is placed"),
            BrokenRule::Auction => f.write_str(
                "Trading is in an auction: only limit orders without self-trade prevention, and orders with a stop, are placed",
            ),
            BrokenRule::LimitOffTick { limit, tick } => {
                write!(f, "Limit {limit} is not a multiple of the tick size {tick}")
            }
            BrokenRule::TriggerOffTick { trigger, tick } => {
                write!(f, "Stop {trigger} is not a multiple of the tick size {tick}")
            }
            BrokenRule::OffLot { shares, lot } => write!(f, "{shares} shares are not a multiple of the lot size {lot}"),
            BrokenRule::TooFewShares { shares, least } => {
                write!(f, "Too few shares: {shares}; an order has at least {least}")
            }
            BrokenRule::TooManyShares { shares, most } => {
                write!(f, "Too many shares: {shares}; an order has at most {most}")
            }
            BrokenRule::TooLittleValue { value, least } => {
                write!(f, "Too little value: {value}; an order is worth at least {least}")
            }
            BrokenRule::TooMuchValue { value, most } => {
                write!(f, "Too much value: {value}; an order is worth at most {most}")
            }
            BrokenRule::OutsideBand { limit, low, high } => {
                write!(f, "Limit {limit} is outside the price band, which is from {low} to {high} now")
            }
            BrokenRule::ExecutesOutsideBand { price, low, high } => {
                write!(f, "Would execute at {price}, outside the price band, which is from {low} to {high} now")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn percent(text: &str) -> Result<Distance, String> {
        Distance::of(Decimal::parse(text.as_bytes()).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_distance_is_a_percentage_of_two_decimals() {
        assert_eq!(percent("5").unwrap().hundredths(), 500);
        assert_eq!(percent("0.25").unwrap().to_string(), "0.25");
        assert_eq!(percent("10000").unwrap(), Distance::MAX);
        assert_eq!(percent("10000.01").unwrap_err(), "is out of range; at most 10000");
        assert_eq!(percent("0.001").unwrap_err(), "has more than 2 decimal places");
        assert_eq!(percent("0").unwrap_err(), "is not above zero");
    }

    #[test]
    fn a_band_is_rounded_to_its_inside() {
        let distance = |hundredths| Distance::from_hundredths(hundredths);
        let band = |up, down, around| {
            let rules = SymbolRules { band_up: distance(up), band_down: distance(down), ..SymbolRules::NONE };
            let (low, high) = rules.band(Price::from_units(around).unwrap());
            (low.units(), high.units())
        };
        assert_eq!(band(1_000, 1_000, 100), (90, 110));
        assert_eq!(band(1_000, 1_000, 101), (91, 111));
        assert_eq!(band(0, 0, 101), (1, i64::MAX));
        assert_eq!(band(1, 9_999, 1), (1, 1));
        assert_eq!(band(1_000_000, 9_999, i64::MAX).1, i64::MAX);
    }

    #[test]
    fn rules_that_no_order_could_obey_are_none() {
        let shares = |units| Shares::from_units(units).unwrap();
        let told = |rules: SymbolRules| rules.check().map_err(|fault| fault.to_string());
        assert_eq!(told(SymbolRules::NONE), Ok(()));
        let crossed = SymbolRules { shares_min: shares(200_000_000), shares_max: shares(1), ..SymbolRules::NONE };
        assert_eq!(told(crossed), Err("the fewest shares, 2, are above the most, 0.00000001".to_owned()));
        let lot = SymbolRules { lot: shares(5), shares_min: shares(6), shares_max: shares(9), ..SymbolRules::NONE };
        let words = "no multiple of the lot size 0.00000005 is from 0.00000006 to 0.00000009 shares";
        assert_eq!(told(lot), Err(words.to_owned()));
        assert_eq!(told(SymbolRules { shares_max: shares(10), ..lot }), Ok(()));
        let values =
            SymbolRules { value_min: Money::from_units(2), value_max: Money::from_units(1), ..SymbolRules::NONE };
        assert!(told(values).unwrap_err().starts_with("the least value, 0.0000000000000002, is above"));
        let band = SymbolRules { band_down: Some(Distance::MAX), ..SymbolRules::NONE };
        let interruption = SymbolRules { interruption: Pause::from_seconds(1), ..SymbolRules::NONE };
        assert!(told(interruption).unwrap_err().starts_with("an interruption needs a band"));
        assert_eq!(told(band), Err("the band reaches down to zero; at most 99.99 per cent".to_owned()));
    }

    #[test]
    fn the_parts_of_rules_make_the_rules() {
        let rules = SymbolRules {
            tick: Price::from_units(5).unwrap(),
            lot: Shares::from_units(10).unwrap(),
            value_min: Money::from_units(7),
            band_up: Distance::from_hundredths(250),
            is_halted: true,
            interruption: Pause::from_seconds(30),
            ..SymbolRules::NONE
        };
        let mut made = SymbolRules::NONE;
        rules.parts().into_iter().for_each(|part| made.set(part));
        assert_eq!(made, rules);
        let words =
            "tick 0.00000005, lot 0.0000001, min-value 0.0000000000000007, band-up 2.5, interruption 30, halted";
        assert_eq!(rules.to_string(), words);
        assert_eq!(SymbolRules::NONE.to_string(), "no rules");
    }
}
