//! The rules of a symbol: tick size, lot size, bounds of shares and value, the price band, and whether it trades. This
//! file knows neither books nor accounts; `rules/apply.rs` applies the rules to orders.

use std::fmt;

use crate::amount::{AmountError, Decimal, DecimalText, Money, Price, Shares};
use crate::distance::Distance;
use crate::phase::Pause;
use crate::uncross::AuctionTies;

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
    /// The distance by which prices may be above the dynamic reference.
    pub band_up: Option<Distance>,
    /// The distance by which prices may be below the dynamic reference.
    pub band_down: Option<Distance>,
    /// The fewest shares of an execution that moves a reference. [`Shares::MIN`] is no rule.
    pub band_size: Shares,
    /// The distance by which prices may be above the static reference.
    pub static_up: Option<Distance>,
    /// The distance by which prices may be below the static reference.
    pub static_down: Option<Distance>,
    /// The static reference that an operator gives with the rules. It is no part of the rules that a symbol has: an
    /// auction may replace it.
    pub reference: Option<Price>,
    /// Whether the symbol is halted: no order is placed and none executes. Clients can cancel orders.
    pub is_halted: bool,
    /// The length of the auction that an order begins which would execute outside the band.
    pub interruption: Option<Pause>,
    /// The choice of an auction among prices that are equally good.
    pub auction_ties: AuctionTies,
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
        band_size: Shares::MIN,
        static_up: None,
        static_down: None,
        reference: None,
        is_halted: false,
        interruption: None,
        auction_ties: AuctionTies::Nearest,
    };

    /// Checks that an order could obey the rules. Readers of rules call it; the engine relies on them. Errors: the
    /// contradiction.
    pub fn check(&self) -> Result<(), RulesFault> {
        let SymbolRules { lot, shares_min, shares_max, value_min, value_max, .. } = *self;
        if [lot, shares_min, self.band_size].contains(&Shares::ZERO)
            || value_min.is_negative()
            || value_max > SymbolRules::VALUE_MAX
        {
            return Err(RulesFault::Unreadable);
        }
        if [self.band_down, self.static_down].into_iter().flatten().any(|down| down > Distance::DOWN_MAX) {
            return Err(RulesFault::BandBelowZero);
        }
        if self.interruption.is_some() && !self.has_band() {
            return Err(RulesFault::InterruptsNothing);
        }
        if self.band_size != Shares::MIN && !self.has_band() {
            return Err(RulesFault::SizeOfNoBand);
        }
        if self.reference.is_some() && !self.has_static_band() {
            return Err(RulesFault::ReferenceOfNoBand);
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

    /// The parts in which events carry the rules, in their order.
    pub fn parts(&self) -> [RulesPart; 5] {
        let SymbolRules { tick, lot, shares_min, shares_max, value_min, value_max, band_up, band_down, .. } = *self;
        let SymbolRules { band_size, static_up, static_down, is_halted, interruption, auction_ties, .. } = *self;
        [
            RulesPart::Prices { tick, band_up, band_down, is_halted, interruption },
            RulesPart::References { band_size, static_up, static_down, auction_ties },
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
            RulesPart::References { band_size, static_up, static_down, auction_ties } => {
                *self = SymbolRules { band_size, static_up, static_down, auction_ties, ..*self };
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
            Rule::BandSize => (self.band_size != none.band_size).then(|| self.band_size.text()),
            Rule::StaticUp => self.static_up.map(Distance::text),
            Rule::StaticDown => self.static_down.map(Distance::text),
            Rule::Reference => self.reference.map(|reference| reference.text()),
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
            Rule::BandSize => self.band_size = above_zero(amount)?,
            Rule::StaticUp => self.static_up = Some(Distance::of(amount)?),
            Rule::StaticDown => self.static_down = Some(Distance::of(amount)?),
            Rule::Reference => self.reference = Some(amount.price()?),
            Rule::Interruption => self.interruption = Some(Pause::of(amount)?),
        }
        Ok(())
    }
}

/// A rule with an amount: all but the halt and the choice among equally good prices.
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
    BandSize,
    StaticUp,
    StaticDown,
    Reference,
    Interruption,
}

impl Rule {
    /// All rules, in the order in which they are shown.
    pub const ALL: [Rule; 13] = [
        Rule::Tick,
        Rule::Lot,
        Rule::SharesMin,
        Rule::SharesMax,
        Rule::ValueMin,
        Rule::ValueMax,
        Rule::BandUp,
        Rule::BandDown,
        Rule::BandSize,
        Rule::StaticUp,
        Rule::StaticDown,
        Rule::Reference,
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
            Rule::BandSize => "band-size",
            Rule::StaticUp => "static-up",
            Rule::StaticDown => "static-down",
            Rule::Reference => "reference",
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
        if self.auction_ties != AuctionTies::Nearest {
            write!(f, "{between}auction-ties {}", self.auction_ties.name())?;
            between = ", ";
        }
        if self.is_halted { write!(f, "{between}halted") } else { Ok(()) }
    }
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
    References {
        band_size: Shares,
        static_up: Option<Distance>,
        static_down: Option<Distance>,
        auction_ties: AuctionTies,
    },
    Shares {
        lot: Shares,
        least: Shares,
        most: Shares,
    },
    ValueMin(Money),
    ValueMax(Money),
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
    /// The size of executions has no band whose references they would move.
    SizeOfNoBand,
    /// The static reference has no band.
    ReferenceOfNoBand,
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
            RulesFault::SizeOfNoBand => f.write_str("a band-size needs a band: set how far prices may be apart, too"),
            RulesFault::ReferenceOfNoBand => {
                f.write_str("a reference needs a static band: set static-up or static-down, too")
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
    /// The order is for an auction, and the one of its symbol is over, or the order waits for something else.
    NotInAuction,
    /// The order names no limit, and no price band bounds the prices of the auction.
    AuctionWithoutBand,
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
}

impl fmt::Display for BrokenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BrokenRule::Halted => f.write_str("Trading is halted: orders can be canceled, and only those for the next auction are placed"),
            BrokenRule::Auction => f.write_str(
                "Trading is in an auction: only limit orders, orders for the auction, and orders with a stop, are placed",
            ),
            BrokenRule::NotInAuction => f.write_str(
                "An order for an auction waits for nothing else, and is not placed while an auction ends",
            ),
            BrokenRule::AuctionWithoutBand => f.write_str(
                "No price band bounds this auction: a market order for it needs one, and a price around which it lies",
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
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
        let size = SymbolRules { band_size: shares(2), ..SymbolRules::NONE };
        assert!(told(size).unwrap_err().starts_with("a band-size needs a band"));
        let static_up = Distance::from_hundredths(1);
        assert_eq!(told(SymbolRules { static_up, ..size }), Ok(()));
        let reference = SymbolRules { reference: Some(Price::MIN), band_up: static_up, ..SymbolRules::NONE };
        assert!(told(reference).unwrap_err().starts_with("a reference needs a static band"));
        assert_eq!(told(SymbolRules { static_up, ..reference }), Ok(()));
        assert_eq!(told(band), Err("the band reaches down to zero; at most 99.99 per cent".to_owned()));
    }

    #[test]
    fn the_parts_of_rules_make_the_rules() {
        let rules = SymbolRules {
            tick: Price::from_units(5).unwrap(),
            lot: Shares::from_units(10).unwrap(),
            value_min: Money::from_units(7),
            band_up: Distance::from_hundredths(250),
            band_size: Shares::from_units(3).unwrap(),
            static_down: Distance::from_hundredths(2_000),
            is_halted: true,
            interruption: Pause::from_seconds(30),
            auction_ties: AuctionTies::Pressure,
            ..SymbolRules::NONE
        };
        let mut made = SymbolRules::NONE;
        rules.parts().into_iter().for_each(|part| made.set(part));
        assert_eq!(made, rules);
        let words = "tick 0.00000005, lot 0.0000001, min-value 0.0000000000000007, band-up 2.5, band-size 0.00000003, static-down 20, interruption 30, auction-ties pressure, halted";
        assert_eq!(rules.to_string(), words);
        assert_eq!(SymbolRules::NONE.to_string(), "no rules");
    }
}
