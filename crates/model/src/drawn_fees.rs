//! Fees as a workload draws them: usual ones, and fees so high or so odd that little or nothing remains of an
//! execution. This module does not know how the market takes fees.

use terms::{AccountId, FeeRate, Fees, Tier};

use crate::random::Random;

/// Draws fees that go to one of these accounts, or none.
pub(crate) fn draw(random: &mut Random, accounts: &[AccountId]) -> Option<Fees> {
    let millionths = [0, 1, 333, 1_000, 1_000, 250_000, 999_999, 1_000_000];
    let mut rate = || FeeRate::from_millionths(random.pick(&millionths)).expect("at most all of it");
    let (maker, taker) = (rate(), rate());
    // Few accounts get fees, so that these accounts trade, too.
    let few = &accounts[..3];
    Some(Fees { maker, taker, account: random.pick(few) }).filter(|fees| fees.is_any() && random.percent(85))
}

/// Draws a tier, mostly one of two.
pub(crate) fn tier(random: &mut Random) -> Tier {
    Tier::new(random.pick(&[0, 0, 0, 1, 1, 15])).expect("there are sixteen")
}
