//! Fees in rows: SQL shows them, a server continues with them, and an import and an export carry them.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::goes_in_and_comes_out;
use store::StoreError;
use terms::{
    AccountId, Command, DOLLAR, FeeRate, Fees, Money, NewOrder, Place, Position, Price, Shares, Side, StateItem,
    Symbol, Tier,
};

fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn fees(maker: u32, taker: u32) -> Option<Fees> {
    let rate = |millionths| FeeRate::from_millionths(millionths).unwrap();
    Some(Fees { maker: rate(maker), taker: rate(taker), account: account(3) })
}

/// Makes a market in which account 1 has sold a little more than a share to account 2, which is in tier 1, and a part
/// of its order rests.
fn market() -> Market {
    let mut market = Market::of_all_kinds(1);
    let symbol = Symbol::parse(b"SPY").unwrap();
    market.apply(Command::CreateSymbol { symbol });
    for number in 1..4 {
        let balance = Money::from_units(100 * DOLLAR);
        market.apply(Command::CreateAccount { account: account(number), balance });
    }
    let shares = Position::from_units(1_000_000_000);
    market.apply(Command::IssueShares { symbol, account: account(1), shares });
    let (first, second) = (Tier::FIRST, Tier::new(1).unwrap());
    // They change twice in one batch: the last ones count.
    for (tier, fees) in [(first, fees(5, 5)), (first, fees(1_000, 0)), (second, fees(0, 333))] {
        market.apply(Command::ChangeFees { symbol, tier, fees });
    }
    market.apply(Command::ChangeTier { account: account(2), tier: second });
    market.apply(Command::ChangeTier { account: account(3), tier: second });
    market.apply(Command::ChangeTier { account: account(3), tier: first });
    for (number, side, units) in [(1, Side::Sell, 1_000_000_000), (2, Side::Buy, 100_000_001)] {
        let (limit, shares) = (Price::from_units(999_000_000).unwrap(), Shares::from_units(units).unwrap());
        let order = NewOrder::limit(symbol, side, limit, shares);
        market.apply(Command::Place(Place::order(account(number), order)));
    }
    market
}

#[test]
fn sql_shows_the_fees_that_a_server_goes_on_with() {
    let (database, mut market) = (database(), market());
    market.restart(&database, "one");
    let shown = "SELECT * FROM pricetime.fee_schedule ORDER BY tier";
    assert_eq!(database.sql(shown), ["SPY|0|0.1000|0.0000|3", "SPY|1|0.0000|0.0333|3"]);
    assert_eq!(database.sql("SELECT * FROM pricetime.account_tiers"), ["1|1"]);
    // The fees are 0.0333 per cent of 1.00000001 shares, rounded up, and 0.1 per cent of 9.9900000999 dollars.
    let trades = "SELECT buyer_fee, seller_fee FROM pricetime.trades";
    assert_eq!(database.sql(trades), ["0.00033301|0.0099900000999000"]);
    let symbol = Symbol::parse(b"SPY").unwrap();
    for tier in [0, 1] {
        market.apply(Command::ChangeFees { symbol, tier: Tier::new(tier).unwrap(), fees: None });
    }
    market.apply(Command::ChangeTier { account: account(2), tier: Tier::FIRST });
    market.restart(&database, "two");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.fees"), ["0"]);
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.account_tiers"), ["0"]);
}

#[test]
fn fees_go_in_and_come_out_the_same() {
    let market = market();
    let database = database();
    let mut store = goes_in_and_comes_out(
        &market,
        &database,
        (3, |item| matches!(item, StateItem::Fees { .. } | StateItem::Tier { .. })),
    );
    let mut done = Vec::new();
    store
        .export_done(&mut |order| {
            done.push(order);
            Ok(())
        })
        .unwrap();
    assert_eq!(done, market.done_orders(), "and so do the orders that are done, with what they paid");
    store.verify().unwrap();
}

#[test]
fn fees_that_somebody_else_wrote_are_refused_or_named() {
    let (database, mut market) = (database(), market());
    market.restart(&database, "one");
    let changed = std::panic::catch_unwind(|| database.sql("UPDATE pricetime.fees SET maker = 1"));
    assert!(changed.is_err(), "only the server changes fees");
    // No account was created with this money.
    database.sql("SET pricetime.server = 'on'; UPDATE pricetime.positions SET shares = shares + 1 WHERE account = 2");
    let error = database.store("auditor").verify().map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Unsound { .. } | StoreError::Inconsistent(_)), "{error}");
}
