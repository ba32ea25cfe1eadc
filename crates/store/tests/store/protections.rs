//! Cancel on disconnect in rows: SQL shows the protected accounts and the lost orders, a server continues with them,
//! and an import and an export carry them.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, limit, place, rich};
use terms::{Command, Grace, Side, StateItem};

const SHOWN: &str = "SELECT account, grace_ms FROM pricetime.protections ORDER BY account";

fn protect(number: u8, millis: u32) -> Command {
    Command::Protect { account: account(number), grace: Grace::from_millis(millis).unwrap() }
}

/// Makes a market in which accounts 1 and 3 are protected.
fn protected() -> Market {
    let mut market = rich(&[1, 2, 3]);
    // They change twice in one batch: the last change counts.
    for (number, millis) in [(1, 5_000), (2, 0), (3, 60_000), (1, 250)] {
        market.apply(protect(number, millis));
    }
    market.apply(Command::Unprotect { account: account(2), is_lost: false, through: None });
    market
}

#[test]
fn sql_shows_who_is_protected_and_a_server_goes_on_with_it() {
    let (database, mut market) = (database(), protected());
    market.restart(&database, "one");
    assert_eq!(database.sql(SHOWN), ["0|250", "2|60000"]);
    place(&mut market, 1, limit(Side::Buy, 10, 5));
    place(&mut market, 2, limit(Side::Buy, 10, 5));
    market.restart(&database, "two");
    market.apply(Command::Unprotect { account: account(1), is_lost: true, through: None });
    market.restart(&database, "three");
    assert_eq!(database.sql(SHOWN), ["2|60000"]);
    let told = database.sql("SELECT account, status, canceled_why FROM pricetime.order_history ORDER BY order_id");
    assert_eq!(told, ["1|canceled|disconnected", "2|open|"]);
    let changed = std::panic::catch_unwind(|| database.sql("DELETE FROM pricetime.protections"));
    assert!(changed.is_err(), "only the server changes protections");
}

#[test]
fn protections_go_in_and_come_out_the_same() {
    let market = protected();
    let database = database();
    let is_one = |item: &StateItem| matches!(item, StateItem::Protection { .. });
    let mut store = goes_in_and_comes_out(&market, &database, (2, is_one));
    store.verify().unwrap();
}

#[test]
fn random_markets_with_protections_are_kept_over_restarts() {
    for seed in 0..4 {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_links().with_pendings().with_protections();
        for life in 0..3 {
            market.play(600);
            market.restart(&database, &format!("life {life}"));
            market.check(&database);
        }
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
    }
}
