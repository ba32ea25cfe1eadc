//! The phases of a symbol: what its orders do when they are placed. This file knows neither books nor accounts;
//! `phases/apply.rs` applies phases to orders.

use std::fmt;
use std::num::NonZeroU32;

use crate::amount::{AmountError, Decimal, DecimalText};
use crate::ids::Time;

/// The phase of a symbol, which decides what its orders do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Orders execute as they come.
    #[default]
    Open,
    /// No order is placed and none executes. Clients can cancel orders.
    Halted,
    /// Orders gather without executing, so the best bid may be above the best ask. When the symbol opens, they execute
    /// at one price.
    Auction,
}

impl Phase {
    /// All phases.
    pub const ALL: [Phase; 3] = [Phase::Open, Phase::Halted, Phase::Auction];

    /// The name of the phase wherever it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Halted => "halted",
            Phase::Auction => "auction",
        }
    }

    /// The phase with this name.
    pub fn named(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// The number of the phase wherever it is stored.
    pub fn code(self) -> u8 {
        match self {
            Phase::Open => 0,
            Phase::Halted => 1,
            Phase::Auction => 2,
        }
    }

    /// The phase with this number.
    pub fn from_code(code: u8) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.code() == code)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The phase of a symbol, and the time at which it ends by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SymbolPhase {
    pub phase: Phase,
    /// The end of an auction that an order caused, or that takes more than one command to end; none for other phases.
    pub until: Option<Time>,
}

impl SymbolPhase {
    /// The phase of a symbol that was never given another one.
    pub const OPEN: SymbolPhase = SymbolPhase { phase: Phase::Open, until: None };

    /// Whether the phase ends by itself by this time.
    pub fn ends_by(self, now: Time) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// Whether such a phase can exist.
    pub fn is_sound(self) -> bool {
        self.until.is_none() || self.phase == Phase::Auction
    }
}

/// The length of an interruption: seconds, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pause(NonZeroU32);

impl Pause {
    /// The longest pause, a day.
    pub const MAX: Pause = Pause(NonZeroU32::new(86_400).expect("above zero"));
    const MICROS_A_SECOND: u64 = 1_000_000;

    /// A pause of this many seconds; none for zero and for more than a day.
    pub fn from_seconds(seconds: u32) -> Option<Pause> {
        NonZeroU32::new(seconds).map(Pause).filter(|pause| *pause <= Pause::MAX)
    }

    pub fn seconds(self) -> u32 {
        self.0.get()
    }

    /// The time at which a pause ends that begins at `begun`.
    pub fn after(self, begun: Time) -> Time {
        begun.later_by_us(u64::from(self.0.get()).saturating_mul(Pause::MICROS_A_SECOND))
    }

    /// Reads seconds. Errors: `NotAboveZero`, `AboveMaximum`, and `MoreDecimalsThan` for a fraction of a second.
    pub fn of(seconds: Decimal) -> Result<Pause, AmountError> {
        /// Units of 10^-8 in a second.
        const UNITS_A_SECOND: u128 = 100_000_000;
        if seconds.negative || seconds.units == 0 {
            return Err(AmountError::NotAboveZero);
        }
        if !seconds.units.is_multiple_of(UNITS_A_SECOND) {
            return Err(AmountError::MoreDecimalsThan { most: 0 });
        }
        let whole = u32::try_from(seconds.units.wrapping_div(UNITS_A_SECOND)).ok();
        whole.and_then(Pause::from_seconds).ok_or(AmountError::AboveMaximum { maximum: Pause::MAX.text() })
    }

    /// The seconds as text.
    pub fn text(self) -> DecimalText {
        DecimalText::new::<0>(self.0.get().into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_pause_is_whole_seconds_of_a_day_at_most() {
        let pause = |text: &str| {
            let decimal = Decimal::parse(text.as_bytes()).unwrap();
            Pause::of(decimal).map(|pause| pause.text().as_str().to_owned()).map_err(|error| error.to_string())
        };
        assert_eq!(pause("300").unwrap(), "300");
        assert_eq!(pause("86400").unwrap(), "86400");
        assert_eq!(pause("86401").unwrap_err(), "is out of range; at most 86400");
        assert_eq!(pause("0.5").unwrap_err(), "has more than 0 decimal places");
        assert_eq!(pause("0").unwrap_err(), "is not above zero");
        assert_eq!(Pause::from_seconds(2).unwrap().after(Time(5)), Time(2_000_005));
    }

    #[test]
    fn a_phase_is_known_by_its_name_and_its_number() {
        for phase in Phase::ALL {
            assert_eq!(Phase::named(phase.name()), Some(phase));
            assert_eq!(Phase::from_code(phase.code()), Some(phase));
        }
        assert_eq!((Phase::named("closed"), Phase::from_code(3)), (None, None));
    }
}
