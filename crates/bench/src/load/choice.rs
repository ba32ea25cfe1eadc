//! Which orders a load places: whose, of what, which way, how many and at which limit. It knows no bytes and no protocol, so
//! that loads of other servers make the same choices.

/// Buys and sells that execute cross around it; those that rest lie far below and above.
const CROSSING_CENTS: usize = 80_000;
/// Of the orders that rest before a load.
pub const STANDING_PER_ACCOUNT: u64 = 10;

/// An order to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub account: u64,
    /// Its number.
    pub symbol: usize,
    pub buys: bool,
    pub shares: u64,
    pub cents: usize,
}

/// Orders that rest: the buys' prices below the sells', each price once a round and symbol. `count` is a power of two.
pub fn resting(random: &mut Random, accounts: u64, symbols: u64, count: usize) -> Vec<Choice> {
    let symbols = symbols as usize;
    let choose = |number: usize| {
        let buys = (number / symbols).is_multiple_of(2);
        // An odd factor makes a permutation of the numbers below a power of two.
        let cents = number.wrapping_mul(40_503) % count + if buys { 1 } else { 100_001 };
        let shares = 1 + random.below(100);
        let account = 1 + random.below(accounts);
        Choice { account, symbol: number % symbols, buys, shares, cents }
    };
    (0..count).map(choose).collect()
}

/// A buy and a sell of the same shares in turn. All of these buys cross all of these sells, so that whatever order they
/// arrive in, no more stay open than are under way.
pub fn crossing(random: &mut Random, accounts: u64, symbols: u64, count: usize) -> Vec<Choice> {
    let mut choices = Vec::with_capacity(count);
    for pair in 0..count / 2 {
        let shares = 1 + random.below(100);
        let tick = random.below(10) as usize;
        let mut sides = [(true, CROSSING_CENTS + tick), (false, CROSSING_CENTS - tick)];
        if random.below(2) == 1 {
            sides.reverse();
        }
        for (buys, cents) in sides {
            let account = 1 + random.below(accounts);
            choices.push(Choice { account, symbol: pair % symbols as usize, buys, shares, cents });
        }
    }
    choices
}

/// The orders of one account that rest before a load: buys far below the price at which others execute.
pub fn standing(account: u64, symbols: u64) -> impl Iterator<Item = Choice> {
    (0..STANDING_PER_ACCOUNT).map(move |number| Choice {
        account,
        symbol: (number % symbols) as usize,
        buys: true,
        shares: 1,
        cents: 100 + number as usize,
    })
}

/// SplitMix64: the same choices for the same seed, everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resting_orders_never_meet_and_crossing_ones_always_do() {
        let mut random = Random(1);
        let all = [resting(&mut random, 100, 4, 1 << 12), crossing(&mut random, 100, 4, 1 << 12)];
        let [never, always] = all.each_ref().map(|choices| {
            let cents = |buys: bool| choices.iter().filter(move |order| order.buys == buys).map(|order| order.cents);
            [cents(true).min(), cents(true).max(), cents(false).min(), cents(false).max()]
        });
        assert!(never[1] < never[2], "{never:?}");
        assert!(always[0] >= always[3], "{always:?}");
        assert!(all.iter().flatten().all(|choice| (1..=100).contains(&choice.account) && choice.symbol < 4));
    }
}
