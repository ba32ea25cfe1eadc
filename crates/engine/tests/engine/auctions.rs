//! The price of an auction among several that are equally good, with examples as rule books of exchanges print them.
//! Engine and model play each one together.

use terms::{AuctionTies, Command, Phase, Reply, SymbolRules};

use super::rules::{Market, buy, sell, symbol};

/// The orders of a side: limit and shares.
type Orders = [(&'static str, &'static str)];

fn phase(market: &mut Market, phase: Phase) -> Reply {
    market.apply(Command::ChangePhase { symbol: symbol(), phase, due: None })
}

/// The price of the auction of these orders, and the shares that execute: by the nearest price, and by pressure.
fn uncrossed(bids: &Orders, asks: &Orders, last: &str) -> [String; 2] {
    AuctionTies::ALL.map(|auction_ties| {
        let mut market = Market::new(SymbolRules { auction_ties, ..SymbolRules::NONE });
        market.trade_at(last, "1");
        phase(&mut market, Phase::Auction);
        bids.iter().for_each(|(limit, shares)| {
            market.place_of(1, buy(limit, shares)).unwrap();
        });
        asks.iter().for_each(|(limit, shares)| {
            market.place_of(2, sell(limit, shares)).unwrap();
        });
        let found = market.engine.auction_price(terms::SymbolIndex(0)).unwrap();
        assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
        let executed = market.executed();
        assert!(executed.iter().all(|one| one.ends_with(&format!(" at {}", found.price))), "{executed:?}");
        format!("{} for {}", found.price, terms::Shares::from_units(found.shares.units() as i64).unwrap())
    })
}

#[test]
fn where_buyers_are_left_over_pressure_takes_the_highest_price() {
    let (bids, asks) = ([("202", "400"), ("201", "200")], [("199", "300"), ("198", "200")]);
    assert_eq!(uncrossed(&bids, &asks, "200"), ["200 for 500", "201 for 500"]);
    let (bids, asks) =
        ([("200", "600"), ("197", "200")], [("201", "400"), ("199", "100"), ("198", "100"), ("197", "300")]);
    assert_eq!(uncrossed(&bids, &asks, "199"), ["199 for 500", "200 for 500"]);
}

#[test]
fn where_sellers_are_left_over_pressure_takes_the_lowest_price() {
    let (bids, asks) = ([("202", "300"), ("201", "200")], [("199", "400"), ("198", "200")]);
    assert_eq!(uncrossed(&bids, &asks, "200"), ["200 for 500", "199 for 500"]);
}

/// Sizes are a tenth of those that are printed.
#[test]
fn a_last_price_between_two_limits_yields_to_the_pressure_of_buyers() {
    let bids = [("6.40", "50"), ("6.39", "50"), ("6.39", "50"), ("6.34", "100"), ("6.33", "50")];
    let asks = [("6.10", "100"), ("6.40", "50"), ("6.41", "52"), ("6.42", "55"), ("6.43", "51.9")];
    assert_eq!(uncrossed(&bids, &asks, "6.37"), ["6.37 for 100", "6.39 for 100"]);
}

#[test]
fn where_each_side_is_left_over_at_one_price_the_last_price_decides() {
    let (bids, asks) = ([("105", "10"), ("101", "5")], [("101", "10"), ("105", "5")]);
    for (last, price) in [("100", "101 for 10"), ("110", "105 for 10")] {
        assert_eq!(uncrossed(&bids, &asks, last), [price, price]);
    }
}
