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

#[test]
fn examples_of_exchanges_come_out_as_printed_whichever_price_ties_take() {
    let both = |bids: &Orders, asks: &Orders, last: &str, printed: &str| {
        assert_eq!(uncrossed(bids, asks, last), [printed, printed], "{bids:?} and {asks:?} behind {last}");
    };
    // Xetra: one limit at which the most shares execute; and several where no shares are left over.
    both(
        &[("202", "200"), ("201", "200"), ("200", "300")],
        &[("200", "100"), ("198", "200"), ("197", "400")],
        "199",
        "200 for 700",
    );
    let (bids, asks) = ([("202", "300"), ("201", "200")], [("199", "300"), ("198", "200")]);
    both(&bids, &asks, "202", "201 for 500");
    both(&bids, &asks, "198", "199 for 500");
    // NSE, a hundredth of the sizes.
    both(
        &[("108", "40"), ("107", "50"), ("106", "65"), ("105", "120"), ("104", "95"), ("103", "135")],
        &[("103", "115"), ("104", "98"), ("105", "150"), ("106", "120"), ("107", "125")],
        "104",
        "105 for 275",
    );
    // BNB Chain: the most shares, the fewest left over, pressure, the last price. Of the third a tenth of the sizes.
    both(&[("100", "150"), ("98", "150")], &[("98", "250"), ("97", "50")], "100", "98 for 300");
    both(&[("100", "150"), ("99", "50"), ("97", "300")], &[("97", "200"), ("96", "100")], "99", "97 for 300");
    both(
        &[("102", "30"), ("100", "10"), ("99", "20"), ("98", "30")],
        &[("98", "25"), ("97", "25"), ("96", "100")],
        "100",
        "96 for 90",
    );
    both(
        &[("102", "30"), ("101", "10"), ("99", "50"), ("96", "15")],
        &[("98", "10"), ("97", "50"), ("95", "50")],
        "100",
        "97 for 90",
    );
    both(&[("102", "10"), ("97", "10")], &[("95", "50")], "80", "95 for 20");
    let (bids, asks) = ([("100", "25"), ("97", "25")], [("98", "25"), ("95", "25")]);
    both(&bids, &asks, "99", "99 for 25");
    both(&bids, &asks, "97", "97 for 25");
}
