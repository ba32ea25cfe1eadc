//! Kill switches and mass cancels in rows: SQL shows the killed scopes, a server continues with them, and an import and
//! an export carry them.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, limit, place, rich, spy};
use terms::{Command, KillScope, Side, StateItem};

const SHOWN: &str = "SELECT scope, account, symbol FROM pricetime.kills ORDER BY scope <> 'everything', scope";

/// Makes a market in which account 2 and the symbol are killed.
fn killed() -> Market {
    let mut market = rich(&[1, 2]);
    for (number, side) in [(1, Side::Buy), (2, Side::Buy), (2, Side::Buy), (1, Side::Buy)] {
        place(&mut market, number, limit(side, 10, 5));
    }
    // They change twice in one batch: the last change counts.
    market.apply(Command::Kill { scope: KillScope::Everything });
    market.apply(Command::Release { scope: KillScope::Everything });
    market.apply(Command::Kill { scope: KillScope::Account(account(2)) });
    market.apply(Command::Kill { scope: KillScope::Symbol(spy()) });
    market
}

#[test]
fn sql_shows_what_is_killed_and_a_server_goes_on_with_it() {
    let (database, mut market) = (database(), killed());
    market.restart(&database, "one");
    assert_eq!(database.sql(SHOWN), ["account|1|", "symbol||0"]);
    market.apply(Command::Release { scope: KillScope::Symbol(spy()) });
    market.apply(Command::Kill { scope: KillScope::Everything });
    market.restart(&database, "two");
    assert_eq!(database.sql(SHOWN), ["everything||", "account|1|"]);
    market.apply(Command::Release { scope: KillScope::Everything });
    place(&mut market, 1, limit(Side::Buy, 10, 5));
    place(&mut market, 2, limit(Side::Buy, 10, 5));
    market.restart(&database, "three");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.resting"), ["1"], "account 2 is killed still");
    let changed = std::panic::catch_unwind(|| database.sql("DELETE FROM pricetime.kills"));
    assert!(changed.is_err(), "only the server releases");
}

#[test]
fn what_is_killed_goes_in_and_comes_out_the_same() {
    let market = killed();
    let database = database();
    let mut store = goes_in_and_comes_out(&market, &database, (2, |item| matches!(item, StateItem::Kill { .. })));
    store.verify().unwrap();
}

#[test]
fn random_markets_whose_orders_are_canceled_together_are_kept_over_restarts() {
    for seed in 0..4 {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_links().with_pendings().with_mass_cancels();
        for life in 0..3 {
            market.play(600);
            market.restart(&database, &format!("life {life}"));
            market.check(&database);
        }
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
    }
}
