//! Groups of accounts in rows: SQL shows them, a server continues with them, and an import and an export carry them.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::goes_in_and_comes_out;
use terms::{AccountId, Command, DOLLAR, Group, Money, StateItem};

fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

/// Makes a market in which accounts 1 and 3 are in group 7.
fn market() -> Market {
    let mut market = Market::of_all_kinds(1);
    for number in 1..4 {
        let balance = Money::from_units(100 * DOLLAR);
        market.apply(Command::CreateAccount { account: account(number), balance });
    }
    // They change twice in one batch: the last ones count.
    for (number, group) in [(1, 5), (2, 7), (3, 7), (1, 7), (2, 0)] {
        market.apply(Command::ChangeGroup { account: account(number), group: Group::new(group).unwrap() });
    }
    market
}

#[test]
fn sql_shows_the_groups_that_a_server_goes_on_with() {
    let (database, mut market) = (database(), market());
    market.restart(&database, "one");
    let shown = "SELECT * FROM pricetime.account_groups ORDER BY account";
    assert_eq!(database.sql(shown), ["0|7", "2|7"]);
    market.apply(Command::ChangeGroup { account: account(1), group: Group::NONE });
    market.restart(&database, "two");
    assert_eq!(database.sql(shown), ["2|7"]);
    let changed = std::panic::catch_unwind(|| database.sql("UPDATE pricetime.account_groups SET group_number = 1"));
    assert!(changed.is_err(), "only the server changes groups");
}

#[test]
fn groups_go_in_and_come_out_the_same() {
    let market = market();
    let database = database();
    let mut store = goes_in_and_comes_out(&market, &database, (2, |item| matches!(item, StateItem::Group { .. })));
    store.verify().unwrap();
}
