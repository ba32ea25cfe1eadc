//! Rules of symbols as a workload draws them: from the prices and sizes of its orders, so that these just meet the
//! rules, and just miss them. This module does not know how orders obey rules.

use terms::{AuctionTies, Distance, Money, Price, Shares, SymbolRules};

use crate::random::Random;

/// Draws rules that an order can obey: a band or a lot size alone, so that most orders get far enough to meet it, or
/// each rule in a part of the cases.
pub(crate) fn draw(random: &mut Random, prices: &[Price], sizes: &[Shares]) -> SymbolRules {
    if random.percent(25) {
        return SymbolRules::NONE;
    }
    let mut rules = SymbolRules::NONE;
    match random.below(100) {
        0..35 => {
            (rules.band_up, rules.band_down) = band(random);
            return with_references(random, prices, sizes, rules);
        }
        35..50 => return SymbolRules { lot: lot(random, sizes), ..rules },
        _ => {}
    }
    if random.percent(30) {
        rules.tick = tick(random, prices);
    }
    if random.percent(30) {
        rules.lot = lot(random, sizes);
    }
    if random.percent(20) {
        rules.shares_min = random.pick(sizes);
    }
    if random.percent(20) {
        rules.shares_max = random.pick(sizes);
    }
    if random.percent(20) {
        rules.value_min = value(random, prices, sizes);
    }
    if random.percent(20) {
        rules.value_max = value(random, prices, sizes);
    }
    if random.percent(35) {
        (rules.band_up, rules.band_down) = band(random);
        rules = with_references(random, prices, sizes, rules);
    }
    rules.is_halted = random.percent(8);
    rules.auction_ties = random.pick(&AuctionTies::ALL);
    if rules.check().is_ok() { rules } else { SymbolRules::NONE }
}

/// Draws a tick that divides most prices, or some.
fn tick(random: &mut Random, prices: &[Price]) -> Price {
    let step = prices[1].units() - prices[0].units();
    let units = random.pick(&[1, 2, step, step * 2, prices[0].units()]);
    Price::from_units(units).expect("prices rise")
}

fn lot(random: &mut Random, sizes: &[Shares]) -> Shares {
    let size = random.pick(&sizes[..3]).units();
    Shares::from_units(random.pick(&[size, (size / 2).max(1)])).expect("above zero")
}

fn value(random: &mut Random, prices: &[Price], sizes: &[Shares]) -> Money {
    random.pick(prices).times(random.pick(sizes))
}

/// Draws a band: narrow for expensive shares, wide for crumbs; at times on one side alone.
fn band(random: &mut Random) -> (Option<Distance>, Option<Distance>) {
    let hundredths = random.pick(&[25, 50, 100, 300, 3_000, 5_000, 9_999, 10_000, 50_000, 1_000_000]);
    let up = Distance::from_hundredths(hundredths).filter(|_| random.percent(80));
    let down = Distance::from_hundredths(hundredths.min(9_999)).filter(|_| random.percent(80));
    (up, down)
}

/// Adds, in a part of the cases, a static band, its reference, and the size of an execution that moves references.
fn with_references(random: &mut Random, prices: &[Price], sizes: &[Shares], rules: SymbolRules) -> SymbolRules {
    let mut rules = rules;
    if random.percent(40) {
        (rules.static_up, rules.static_down) = band(random);
        rules.reference = Some(random.pick(prices)).filter(|_| rules.has_static_band() && random.percent(50));
    }
    if rules.has_band() && random.percent(30) {
        rules.band_size = random.pick(&sizes[..3]);
    }
    rules
}
