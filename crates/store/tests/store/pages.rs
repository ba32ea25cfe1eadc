//! The rows that questions about the past read of full tables, by the database's own count: the questions go along
//! indexes and read little more than they show, whether the database knows the sizes of the tables or not.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::common::postgres::{Database, database};
use store::{Of, Reader, Since, Stop, Stretch};
use terms::{AccountIndex, OrderId, Sequence, SymbolIndex, Time};

const EXECUTIONS: u64 = 100_000;
/// A multiple of a day.
const BEGINNING: u64 = 1_699_920_000_000_000;
const SECOND: u64 = 1_000_000;
/// The account that has half of everything; the others have little each.
const BUSY: AccountIndex = AccountIndex(0);
const QUIET: AccountIndex = AccountIndex(77);
/// An account without orders.
const NOBODY: AccountIndex = AccountIndex(5_000);
/// The common symbol: there is a trade a second in all, and every thousandth is of the rare symbol.
const COMMON: SymbolIndex = SymbolIndex(0);
const RARE: SymbolIndex = SymbolIndex(1);
const PAGE: usize = 100;

/// Fills the tables: execution `n` belongs to the orders `2n - 1` and `2n`; every fourth buy was canceled in part, and
/// every eighth one reduced.
fn fill(database: &Database) {
    database.store("filler").migrate().unwrap();
    // The database's own reads must not count.
    for table in ["orders_1", "executions_1", "cancellations_1", "resting", "client_orders", "reductions"] {
        database.sql(&format!("ALTER TABLE pricetime.{table} SET (autovacuum_enabled = off)"));
    }
    let pairs = format!(
        "(SELECT n, to_timestamp({} + n) AS time, (n % 1000 = 0)::int AS symbol, CASE WHEN n % 2 = 0 THEN 0 ELSE n % 997 END AS buyer,
            CASE WHEN n % 3 = 0 THEN 0 ELSE n % 991 END AS seller FROM generate_series(1, {EXECUTIONS}) AS n) AS p",
        BEGINNING / SECOND
    );
    database.sql(&format!(
        "SET pricetime.server = 'on';
         INSERT INTO pricetime.orders SELECT 2 * n - 1, buyer, symbol, time, 2 * n - 1, 'buy', 10, 2 FROM {pairs};
         INSERT INTO pricetime.orders SELECT 2 * n, seller, symbol, time, 2 * n, 'sell', 10, 1 FROM {pairs};
         INSERT INTO pricetime.executions (id, buy_order, sell_order, time, sequence, aggressor, price, shares, symbol, buyer, seller)
             SELECT n, 2 * n - 1, 2 * n, time, 2 * n, 'sell', 10, 1, symbol, buyer, seller FROM {pairs};
         INSERT INTO pricetime.cancellations SELECT 2 * n - 1, buyer, time, 2 * n, 1 FROM {pairs} WHERE n % 4 = 0;
         INSERT INTO pricetime.resting SELECT 2 * n - 1, 1 FROM {pairs} WHERE n % 4 <> 0;
         INSERT INTO pricetime.reductions SELECT 2 * n - 1, 1 FROM {pairs} WHERE n % 8 = 1;
         INSERT INTO pricetime.symbols VALUES (0, 'COMMON', 0), (1, 'RARE', 0);
         UPDATE pricetime.command_sequence SET sequence = 2 * {EXECUTIONS}, next_order = 2 * {EXECUTIONS} + 1,
             next_execution = {EXECUTIONS} + 1"
    ));
}

/// The rows read one after the other, and by index, since the database began to count.
fn read_so_far(database: &Database) -> [u64; 2] {
    // A process adds its reads to the counts once a second, and when it ends. This test's own reads would count as the
    // reader's if they were added in between, so they are added now.
    database.sql("SELECT pg_stat_force_next_flush()");
    while !database.sql("SELECT 1 FROM pg_stat_activity WHERE application_name = 'pricetime reader'").is_empty() {}
    let sums = "SELECT sum(seq_tup_read), sum(coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables WHERE schemaname = 'pricetime'
        AND relname ~ '^((orders|executions|cancellations)_|resting$|client_orders$|reductions$)'";
    let row = database.sql(sums).remove(0);
    let (one, other) = row.split_once('|').unwrap();
    [one.parse().unwrap(), other.parse().unwrap()]
}

/// Asks on a connection of its own, and checks that at most this many rows are read, none without an index.
fn check<T>(database: &Database, most: u64, what: &str, ask: impl FnOnce(&mut Reader, Instant) -> T) -> T {
    let before = read_so_far(database);
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let found = ask(&mut reader, Instant::now() + Duration::from_secs(60));
    drop(reader);
    let after = read_so_far(database);
    let [in_a_row, by_index] = [after[0] - before[0], after[1] - before[1]];
    assert!(
        in_a_row == 0 && by_index <= most,
        "{what}: {in_a_row} rows without an index, {by_index} by index, not {most}"
    );
    found
}

fn check_all(database: &Database) {
    let page = PAGE as u64;
    for (symbol, count) in [(COMMON, PAGE), (RARE, EXECUTIONS as usize / 1000)] {
        let (first, next) = check(database, page + 1, "the last trades of a symbol", |reader, until| {
            reader.trades_of_symbol(symbol, None, PAGE, until).unwrap().0.unwrap()
        });
        assert_eq!((first.len(), next.is_some()), (count, symbol == COMMON));
        let before = first[PAGE / 2].id;
        let (rest, _) = check(database, page + 2, "trades before one", |reader, until| {
            reader.trades_of_symbol(symbol, Some(before), PAGE, until).unwrap().0.unwrap()
        });
        assert_eq!(rest[0], first[PAGE / 2 + 1]);
        let since = Since { trade: Some(before), time: None };
        let since = check(database, page + 1, "trades since one", |reader, until| {
            reader.trades_since(symbol, since, PAGE, until).unwrap().0
        });
        assert!(since.iter().eq(first[..=PAGE / 2].iter().rev()));
        let day = Time(BEGINNING + 86_400 * SECOND);
        let since = check(database, page, "trades since a time", |reader, until| {
            reader.trades_since(symbol, Since { trade: None, time: Some(day) }, PAGE, until).unwrap().0
        });
        assert!(!since.is_empty() && since.iter().all(|trade| trade.time >= day));
        for from in [None, Some(day)] {
            let stretch = Stretch { from, before: None };
            // Each row of ten minutes is read once, the first and the last of each candle again, and once more to find
            // it.
            let candles = check(database, 10 * (600 + 3), "candles", |reader, until| {
                reader.candles(symbol, Duration::from_secs(600), stretch, 10, until).unwrap().0
            });
            assert_eq!(candles.len(), 10);
        }
    }
    for account in [BUSY, QUIET] {
        let of = Of { account, symbol: None, order: None };
        // A sale to itself is read and left out, because it is already its purchase.
        let (trades, next) = check(database, 2 * page, "trades of an account", |reader, until| {
            reader.trades_of_account(of, None, PAGE, until).unwrap().0.unwrap()
        });
        assert_eq!((trades.len(), next.is_some()), (PAGE, true), "{account:?}");
        let before = trades[PAGE / 2].id;
        let (rest, _) = check(database, 2 * page, "trades of an account before one", |reader, until| {
            reader.trades_of_account(of, Some(before), PAGE, until).unwrap().0.unwrap()
        });
        assert_eq!(rest[0], trades[PAGE / 2 + 1]);
        // An order has its row, its ending or its open shares, the shares taken off it, its name, and its executions
        // from both sides.
        let (orders, next) = check(database, 5 * page + 4, "orders of an account", |reader, until| {
            reader.orders_of(account, None, None, PAGE, until).unwrap().0.unwrap()
        });
        assert_eq!((orders.len(), next.is_some()), (PAGE, true));
        let before = orders[PAGE / 2].placed.order;
        let (rest, _) = check(database, 5 * page + 5, "orders of an account before one", |reader, until| {
            reader.orders_of(account, None, Some(before.0), PAGE, until).unwrap().0.unwrap()
        });
        assert_eq!(rest[0], orders[PAGE / 2 + 1]);
    }
    for account in [BUSY, QUIET] {
        let [last, middle] = [2 * EXECUTIONS, EXECUTIONS].map(Sequence);
        // Each table with ids reads one row for each bisection step; each placing reads a name, and each cancellation
        // an order.
        let (halvings, mut behind) = (2 * 18, middle);
        let piece = check(database, 6 * page + halvings, "reports of an account", |reader, until| {
            reader.reports(account, behind, last, PAGE, until).unwrap().0
        });
        assert!(piece.through > behind, "{account:?}");
        if account == BUSY {
            assert!(piece.through < last && piece.placed.len() + 2 >= PAGE, "{} placed", piece.placed.len());
            continue;
        }
        let (mut placed, mut bought, mut sold, mut canceled) = (0, 0, 0, 0);
        let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
        while behind < last {
            let until = Instant::now() + Duration::from_secs(60);
            let piece = reader.reports(account, behind, last, 7, until).unwrap().0;
            placed += piece.placed.len();
            bought += piece.bought.len();
            sold += piece.sold.len();
            canceled += piece.canceled.len();
            behind = piece.through;
        }
        drop(reader);
        let found = format!("{placed}|{bought}|{sold}|{canceled}");
        let of = |table: &str, whose: &str| {
            format!("(SELECT count(*) FROM pricetime.{table} WHERE {whose} = 77 AND sequence > {EXECUTIONS})")
        };
        let counts =
            [("orders", "account"), ("executions", "buyer"), ("executions", "seller"), ("cancellations", "account")];
        let counts = counts.map(|(table, whose)| of(table, whose)).join(", ");
        assert_eq!(database.sql(&format!("SELECT {counts}")), [found]);
    }
    // A day has 86,400 of them, and each of its 1,440 minutes is looked up, and one more minute, in which the day
    // began.
    let since = Time(BEGINNING + (EXECUTIONS - 86_400) * SECOND / 60 / SECOND * 60 * SECOND);
    let markets =
        check(database, 2 * page + 86_460 + 2 * 3 * 1_442, "markets", |reader, _| reader.markets(PAGE, since).unwrap());
    let found: u64 = markets.iter().flat_map(|market| &market.minutes).map(|minute| minute.trades).sum();
    let since = since.0 / SECOND;
    let expected = format!("SELECT count(*), 2 FROM pricetime.executions WHERE time >= to_timestamp({since})");
    assert_eq!(database.sql(&expected), [format!("{found}|{}", markets.len())]);
    let ids: Vec<OrderId> = (1..=PAGE as u64).map(|at| OrderId(at * 997)).collect();
    let named =
        check(database, 5 * page, "orders by their ids", |reader, until| reader.orders(None, &ids, until).unwrap().0);
    assert_eq!(named.len(), PAGE);
    // An account once had the executions of everybody's orders read by naming them.
    let strangers = check(database, page, "orders of others by their ids", |reader, until| {
        reader.orders(Some(NOBODY), &ids, until).unwrap().0
    });
    assert_eq!(strangers, []);
    let owner = named[0].account;
    let own: Vec<_> = named.iter().filter(|row| row.account == owner).copied().collect();
    let found = check(database, 5 * page, "own orders by their ids", |reader, until| {
        reader.orders(Some(owner), &ids, until).unwrap().0
    });
    assert_eq!(found, own);
}

#[test]
fn what_is_read_is_what_is_shown() {
    let database = database();
    fill(&database);
    check_all(&database);
    database.sql("VACUUM ANALYZE pricetime.orders, pricetime.executions, pricetime.cancellations, pricetime.resting");
    check_all(&database);
}

/// A page that selects few of many rows ends before it is full, and says where to go on.
#[test]
fn pages_of_a_rare_symbol_end_early_and_go_on() {
    let database = database();
    fill(&database);
    let of = Of { account: BUSY, symbol: Some(RARE), order: None };
    let (mut seen, mut before, mut pages) = (BTreeSet::new(), None, 0);
    loop {
        let (trades, next) = check(&database, 40_010, "rare trades of an account", |reader, until| {
            reader.trades_of_account(of, before, 20, until).unwrap().0.unwrap()
        });
        assert!(trades.iter().all(|trade| trade.symbol == RARE && seen.insert(trade.id)));
        pages += 1;
        match next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    let expected = database.sql("SELECT count(*) FROM pricetime.executions WHERE symbol = 1 AND 0 IN (buyer, seller)");
    assert_eq!((expected, pages > 5), (vec![seen.len().to_string()], true), "{pages} pages");
}
