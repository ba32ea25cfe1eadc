//! The choice of a load's orders: account, symbol, side, shares and limit. It knows no bytes and no protocol, so that
//! loads of other servers make the same choices.
//!
//! Throughput is counted in requests. An `order` load has two orders in three requests: of six requests two are a buy
//! and a sell that execute against each other, two are orders that rest, and two cancel orders that rested before; so
//! half of the orders execute and the number of open ones stays the same.

use std::collections::VecDeque;

use crate::records::{LoadSettings, Recipe};

/// The price around which buys and sells execute; those that rest lie far below and above.
const CROSSING_CENTS: usize = 80_000;
/// Orders that are prepared, and sent round and round.
const PREPARED: usize = 1 << 16;
/// The least number of orders that rest before a load, and the number that each account has.
const OPEN_ORDERS_MIN: u64 = 2_000;
const STANDING_PER_ACCOUNT: usize = 10;

/// An order to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub account: u64,
    /// The symbol's number.
    pub symbol: usize,
    pub buys: bool,
    pub shares: u64,
    pub cents: usize,
    pub kind: OrderKind,
}

/// The kind of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    Limit,
    ImmediateOrCancel,
    Market,
}

/// Returns orders that rest: the buys' prices lie below the sells', each price comes once a round and symbol. `count`
/// is a power of two.
pub fn resting(random: &mut Random, accounts: u64, symbols: u64, count: usize) -> Vec<Choice> {
    let symbols = symbols as usize;
    let choose = |number: usize| {
        let buys = (number / symbols).is_multiple_of(2);
        // An odd factor makes a permutation of the numbers below a power of two.
        let cents = number.wrapping_mul(40_503) % count + if buys { 1 } else { 100_001 };
        let shares = 1 + random.below(100);
        let account = 1 + random.below(accounts);
        Choice { account, symbol: number % symbols, buys, shares, cents, kind: OrderKind::Limit }
    };
    (0..count).map(choose).collect()
}

/// Returns a buy and a sell of the same shares in turn. All these buys cross all these sells, so that in any order of
/// arrival no more stay open than are under way.
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
            let symbol = pair % symbols as usize;
            choices.push(Choice { account, symbol, buys, shares, cents, kind: OrderKind::Limit });
        }
    }
    choices
}

/// Returns such pairs whose second order never rests: in each symbol it is in turn a market order, and immediate or
/// cancel.
fn taking(random: &mut Random, accounts: u64, symbols: u64, count: usize) -> Vec<Choice> {
    let mut choices = crossing(random, accounts, symbols, count);
    for (pair, taker) in choices.iter_mut().skip(1).step_by(2).enumerate() {
        let is_market = (pair / symbols as usize).is_multiple_of(2);
        taker.kind = if is_market { OrderKind::Market } else { OrderKind::ImmediateOrCancel };
    }
    choices
}

/// Returns the orders that rest before a load, those of an account after each other: buys far below the price at which
/// others execute, and more than are ever in flight.
pub fn standing(load: &LoadSettings) -> impl Iterator<Item = [Choice; STANDING_PER_ACCOUNT]> {
    let (accounts, symbols) = (load.accounts, load.symbols as usize);
    let count = OPEN_ORDERS_MIN.max(load.connections.saturating_mul(load.depth).saturating_mul(2));
    (0..count.div_ceil(STANDING_PER_ACCOUNT as u64)).map(move |turn| {
        let account = 1 + turn % accounts;
        std::array::from_fn(|number| Choice {
            account,
            symbol: number % symbols,
            buys: true,
            shares: 1,
            cents: 100 + number,
            kind: OrderKind::Limit,
        })
    })
}

/// An order that rests, and its account.
#[derive(Clone, Copy, Debug)]
pub struct OpenOrder {
    pub account: u64,
    pub id: u64,
}

/// The next request.
pub enum Next<T> {
    Create,
    /// The next request of a life that goes on, or the first of a new one.
    Live,
    Example,
    Place {
        order: T,
        rests: bool,
    },
    Cancel(OpenOrder),
    Query(OpenOrder),
}

/// The requests of a load in their order, with prepared orders that are taken round and round.
pub struct Mix<T> {
    round: Ring<Step>,
    resting: Ring<T>,
    crossing: Ring<T>,
    /// Orders that rest, oldest first.
    pub open: VecDeque<OpenOrder>,
}

impl<T: Copy> Mix<T> {
    /// Makes the requests of a load: its orders, made ready by `prepare`, and those that rest.
    pub fn new(
        load: &LoadSettings,
        seed: u64,
        open: VecDeque<OpenOrder>,
        mut prepare: impl FnMut(&Choice) -> T,
    ) -> Mix<T> {
        let (recipe, mut random) = (load.workload, Random(seed));
        let mut ring = |wanted: bool, choose: fn(&mut Random, u64, u64, usize) -> Vec<Choice>| {
            let count = if wanted { PREPARED } else { 0 };
            let choices = choose(&mut random, load.accounts, load.symbols, count);
            Ring { items: choices.iter().map(&mut prepare).collect(), next: 0 }
        };
        let mixes = matches!(recipe, Recipe::Order | Recipe::OrderTaking | Recipe::Mix);
        let resting = ring(mixes || matches!(recipe, Recipe::OrderResting | Recipe::Raw), resting);
        let crosses = if recipe == Recipe::OrderTaking { taking } else { crossing };
        let crossing = ring(mixes || recipe == Recipe::OrderCrossing, crosses);
        Mix { round: Ring { items: recipe.round().to_vec(), next: 0 }, resting, crossing, open }
    }

    /// Returns the next request.
    pub fn next_request(&mut self) -> Next<T> {
        let step = self.round.turn();
        let order = if matches!(step, Step::Cancel | Step::Query) { self.open.pop_front() } else { None };
        match (step, order) {
            (Step::Create, _) => Next::Create,
            (Step::Live, _) => Next::Live,
            (Step::Example, _) => Next::Example,
            (Step::Cross, _) => Next::Place { order: self.crossing.turn(), rests: false },
            (Step::Cancel, Some(order)) => Next::Cancel(order),
            (Step::Query, Some(order)) => {
                self.open.push_back(order);
                Next::Query(order)
            }
            // An order is opened instead, also where more requests are under way than orders were open.
            (Step::Rest, _) | (Step::Cancel | Step::Query, None) => {
                Next::Place { order: self.resting.turn(), rests: true }
            }
        }
    }
}

struct Ring<T> {
    items: Vec<T>,
    next: usize,
}

impl<T: Copy> Ring<T> {
    /// Returns the next item; there is one.
    fn turn(&mut self) -> T {
        let at = self.next;
        self.next = if at + 1 == self.items.len() { 0 } else { at + 1 };
        self.items[at]
    }
}

impl Recipe {
    /// Whether it queries or cancels orders that rested before.
    pub fn needs_open_orders(self) -> bool {
        matches!(self, Recipe::Order | Recipe::OrderTaking | Recipe::Mix | Recipe::Query)
    }

    /// Returns the kinds of requests of a round, in their order.
    fn round(self) -> &'static [Step] {
        use Step::{Cancel, Create, Cross, Example, Live, Query, Rest};
        match self {
            Recipe::Create => &[Create],
            Recipe::Order | Recipe::OrderTaking => &[Cross, Rest, Cancel],
            Recipe::OrderResting | Recipe::Raw => &[Rest],
            Recipe::OrderCrossing => &[Cross],
            Recipe::Lifecycle => &[Live],
            Recipe::Mix => &[Cross, Rest, Cancel, Cross, Rest, Cancel, Cross, Rest, Cancel, Query],
            Recipe::Query => &[Query],
            Recipe::EchoExample => &[Example],
        }
    }
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create,
    Live,
    Cross,
    Rest,
    Cancel,
    Query,
    Example,
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

    #[test]
    fn every_other_order_takes_in_each_symbol_by_both_kinds() {
        let choices = taking(&mut Random(1), 100, 4, 1 << 6);
        for symbol in 0..4 {
            let kinds: Vec<_> = choices.iter().filter(|choice| choice.symbol == symbol).map(|it| it.kind).collect();
            let round = [OrderKind::Limit, OrderKind::Market, OrderKind::Limit, OrderKind::ImmediateOrCancel];
            assert_eq!(kinds, round.repeat(4), "{symbol}");
        }
    }
}
