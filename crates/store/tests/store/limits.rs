//! Limits of accounts in rows: SQL shows them, a server continues with them, and an import and an export carry them.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, limit, place, rich};
use terms::{AccountLimit, AccountLimits, Command, Decimal, Side, StateItem};

const SHOWN: &str =
    "SELECT account, open_orders, order_shares, order_value, position, collar FROM pricetime.account_limits ORDER BY 1";

fn give(market: &mut Market, number: u8, said: &[(AccountLimit, &str)]) {
    let mut limits = AccountLimits::NONE;
    for (limit, amount) in said {
        limits.set_amount(*limit, Decimal::parse(amount.as_bytes()).unwrap()).unwrap();
    }
    market.apply(Command::ChangeLimits { account: account(number), limits });
}

/// Makes a market in which the first account has all limits, and the second one none any more.
fn limited() -> Market {
    let mut market = rich(&[1, 2, 3]);
    place(&mut market, 1, limit(Side::Buy, 10, 5));
    give(&mut market, 2, &[(AccountLimit::OpenOrders, "7")]);
    give(&mut market, 1, &[(AccountLimit::OpenOrders, "4294967295")]);
    let all = [
        (AccountLimit::OpenOrders, "2"),
        (AccountLimit::OrderShares, "0.5"),
        (AccountLimit::OrderValue, "250.25"),
        (AccountLimit::Position, "2000000000"),
        (AccountLimit::Collar, "2.5"),
    ];
    give(&mut market, 1, &all);
    give(&mut market, 3, &[(AccountLimit::Position, "0")]);
    give(&mut market, 2, &[]);
    market
}

#[test]
fn sql_shows_limits_and_a_server_goes_on_with_them() {
    let (database, mut market) = (database(), limited());
    market.restart(&database, "one");
    let all = "0|2|0.50000000|250.2500000000000000|2000000000.00000000|2.50";
    assert_eq!(database.sql(SHOWN), [all, "2||||0.00000000|"]);
    give(&mut market, 3, &[]);
    give(&mut market, 1, &[(AccountLimit::OpenOrders, "1")]);
    market.restart(&database, "two");
    assert_eq!(database.sql(SHOWN), ["0|1||||"]);
    // The market refuses it, so the database has no more than before.
    place(&mut market, 1, limit(Side::Buy, 10, 5));
    market.restart(&database, "three");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.orders"), ["1"]);
    let changed = std::panic::catch_unwind(|| database.sql("DELETE FROM pricetime.account_limits"));
    assert!(changed.is_err(), "only the server takes limits away");
}

#[test]
fn limits_go_in_and_come_out_the_same() {
    let (market, database) = (limited(), database());
    let mut store = goes_in_and_comes_out(&market, &database, (2, |item| matches!(item, StateItem::Limits { .. })));
    store.verify().unwrap();
}

#[test]
fn random_markets_with_limits_are_kept_over_restarts() {
    for seed in 0..3 {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_links().with_pendings().with_limits();
        for life in 0..3 {
            market.play(600);
            market.restart(&database, &format!("life {life}"));
            market.check(&database);
        }
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
    }
}
