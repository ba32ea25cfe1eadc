//! Retention in a database: the oldest parts go, questions about removed rows are refused, and everything else stays.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::common::market::Market;
use crate::common::postgres::{Database, database};
use engine::DoneOrders;
use exchange::Unavailable;
use store::{AskedOrder, Epoch, History, Keep, Of, Reader, Retention, Seen, Since, Stop, StoreError, Stretch, Writer};
use terms::{AccountId, AccountIndex, Command, DoneOrder, OrderId, Sequence, SymbolIndex, Time};

const DAY_US: u64 = 24 * 3600 * 1_000_000;
const ALL_THAT_MAY_GO: Keep = Keep { age_us: None, bytes: Some(1) };

/// Makes a market in parts of 60 ids.
fn market_in(database: &Database, seed: u64) -> (Market, Writer) {
    database.with_small_parts(60);
    (Market::of_all_kinds(seed), database.writer("one"))
}

fn remove(database: &Database, keep: Keep, epoch: Epoch) -> Result<u64, StoreError> {
    Retention::new(&database.url(), "retention", keep, epoch).unwrap().remove_now()
}

fn until() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn numbers(database: &Database, sql: &str) -> BTreeSet<u64> {
    database.sql(sql).iter().map(|number| number.parse().unwrap()).collect()
}

fn is_gone<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::NoLongerKept { .. }))
}

/// All pages of a list, and whether the rows behind them are gone.
fn all_pages<T>(
    mut page: impl FnMut(Option<u64>) -> Result<Seen<Option<(Vec<T>, Option<u64>)>>, StoreError>,
) -> (Vec<T>, bool) {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        match page(before) {
            Err(StoreError::NoLongerKept { .. }) => return (all, true),
            other => {
                let (rows, next) = other.unwrap().0.unwrap();
                all.extend(rows);
                match next {
                    Some(next) => before = Some(next),
                    None => return (all, false),
                }
            }
        }
    }
}

/// Compares all answers with the model. Orders that ended since `since` must be here, like all open ones.
fn check(database: &Database, market: &Market, since: Time) {
    let model = &market.model;
    let here = numbers(database, "SELECT id FROM pricetime.orders");
    let trades_here = numbers(database, "SELECT id FROM pricetime.executions");
    let first: Vec<u64> = database.sql("SELECT first_order, first_execution FROM pricetime.kept")[0]
        .split('|')
        .map(|number| number.parse().unwrap())
        .collect();
    let (first_order, first_trade) = (first[0], first[1]);
    let ended = |done: &DoneOrder| {
        let last = done.executions.last().map(|execution| execution.time);
        done.canceled.map(|canceled| canceled.time).max(last).unwrap()
    };
    let done: BTreeMap<u64, DoneOrder> = market.done_orders().into_iter().map(|done| (done.order.0, done)).collect();
    for id in 1..=model.orders_placed() {
        let must = id >= first_order || done.get(&id).is_none_or(|done| ended(done) >= since);
        assert!(!must || here.contains(&id), "order {id} is gone, first is {first_order}");
    }
    let (verified, _) = database.store("auditor").verify().unwrap();
    assert_eq!(verified.state_hash, market.engine.state_hash());
    assert_eq!((verified.orders, verified.executions), (here.len() as u64, trades_here.len() as u64));

    // A look-up by id finds an order completely or not at all.
    let mut history = History::connect(&database.url(), "history", Duration::from_secs(5), Stop::new()).unwrap();
    let asked: Vec<AskedOrder> =
        done.values().map(|done| AskedOrder { order: done.order, executions_for: Some(done.account) }).collect();
    let found = history.done_within(&asked, usize::MAX >> 1).unwrap().done;
    for (found, done) in found.into_iter().zip(done.values()) {
        match here.contains(&done.order.0) {
            true => assert_eq!(found, Ok(Some(done.clone()))),
            false => assert_eq!(found, Err(Unavailable::NoLongerKept), "{}", done.order),
        }
    }
    let mut exported = Vec::new();
    let kept: Vec<DoneOrder> = done.values().filter(|done| here.contains(&done.order.0)).cloned().collect();
    database
        .store("export")
        .export_done(&mut |done| {
            exported.push(done);
            Ok(())
        })
        .unwrap();
    assert!(exported == kept);

    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let named: Vec<OrderId> = here.iter().rev().copied().map(OrderId).collect();
    let found = reader.orders(None, &named, until()).unwrap().0;
    assert!(found.iter().map(|row| row.placed.order).eq(named));
    for gone in (1..first_order).filter(|id| !here.contains(id)).step_by(100) {
        assert!(is_gone(&reader.orders(None, &[OrderId(first_order), OrderId(gone)], until())), "{gone}");
    }
    assert_eq!(reader.orders(None, &[OrderId(0), OrderId(1 << 40)], until()).unwrap().0, []);
    for at in 0..model.accounts().count() as u32 {
        let account = AccountIndex(at);
        let mut its = (1..=model.orders_placed()).filter(|id| model.order(OrderId(*id)).account == account);
        let gone = its.clone().rfind(|id| !here.contains(id));
        let expected: Vec<u64> = its.by_ref().rev().take_while(|id| Some(*id) > gone).collect();
        let (rows, ended) = all_pages(|before| reader.orders_of(account, None, before, 40, until()));
        let rows: Vec<u64> = rows.iter().map(|row| row.placed.order.0).collect();
        assert_eq!((rows, ended), (expected, gone.is_some()), "orders of {account:?}");
        if let Some(gone) = gone {
            assert!(is_gone(&reader.orders_of(account, None, Some(gone), 7, until())));
        }
        let trades: Vec<u64> = (1..=market.executed.len() as u64)
            .filter(|id| {
                let (buy, sell, ..) = market.executed[*id as usize - 1];
                [buy, sell].iter().any(|order| model.order(*order).account == account)
            })
            .collect();
        let of = Of { account, symbol: None, order: None };
        let (rows, ended) = all_pages(|before| reader.trades_of_account(of, before, 40, until()));
        let rows: Vec<u64> = rows.iter().map(|row| row.id).collect();
        let gone_trade = trades.iter().copied().rfind(|id| *id < first_trade);
        let expected: Vec<u64> = trades.iter().copied().rev().filter(|id| *id >= first_trade).collect();
        assert_eq!((rows, ended), (expected, gone_trade.is_some()), "trades of {account:?}");

        // A client that knows everything removed misses nothing.
        let through = market.engine.sequence();
        let sequence_of = |id: u64| market.placed[&OrderId(id)].0;
        let whole = reader.reports(account, Sequence::ZERO, through, 10_000, until());
        assert_eq!(is_gone(&whole), gone.is_some() || gone_trade.is_some());
        let behind = sequence_of(first_order.min(model.orders_placed()));
        if let Ok((rows, _)) = reader.reports(account, behind, through, 10_000, until()) {
            let placed: Vec<u64> = rows.placed.iter().map(|row| row.order.0).collect();
            let expected: Vec<u64> = (1..=model.orders_placed())
                .filter(|id| model.order(OrderId(*id)).account == account && sequence_of(*id) > behind)
                .collect();
            assert_eq!(placed, expected);
        }
        let late = market.executed.last().map_or(through, |last| last.3);
        assert!(reader.reports(account, late, through, 10_000, until()).is_ok());
    }
    for at in 0..model.symbols().count() as u32 {
        let symbol = SymbolIndex(at);
        let trades: Vec<u64> = (1..=market.executed.len() as u64)
            .filter(|id| model.order(market.executed[*id as usize - 1].0).symbol == symbol)
            .collect();
        let gone = trades.iter().copied().rfind(|id| *id < first_trade);
        let expected: Vec<u64> = trades.iter().copied().rev().filter(|id| *id >= first_trade).collect();
        let (rows, ended) = all_pages(|before| reader.trades_of_symbol(symbol, before, 40, until()));
        let rows: Vec<u64> = rows.iter().map(|row| row.id).collect();
        assert_eq!((&rows, ended), (&expected, gone.is_some()), "trades of {symbol:?}");
        let stretch = Stretch { from: Some(Time::ZERO), before: None };
        let length = Duration::from_secs(3600);
        assert_eq!(is_gone(&reader.candles(symbol, length, stretch, 10_000, until())), gone.is_some());
        if let Some(gone) = gone {
            let from_gone = Since { trade: Some(gone), time: None };
            assert!(is_gone(&reader.trades_since(symbol, from_gone, 7, until())));
            assert!(is_gone(&reader.trades_of_symbol(symbol, Some(gone), 7, until())));
            let since = Since { trade: Some(gone + 1), time: None };
            let since = reader.trades_since(symbol, since, 10_000, until()).unwrap().0;
            assert!(since.iter().map(|row| row.id).eq(expected.iter().rev().copied()));
        }
    }
}

#[test]
fn whoever_asks_for_what_is_gone_is_told_so_and_all_else_is_as_before() {
    // These seeds make markets with much trade.
    for seed in [0, 5, 6, 10] {
        let database = database();
        let (mut market, mut writer) = market_in(&database, seed);
        let mut removed = 0;
        for round in 0..4 {
            market.run(&mut writer, 700);
            removed += remove(&database, ALL_THAT_MAY_GO, writer.epoch()).unwrap();
            check(&database, &market, Time(market.engine.time().0 - DAY_US));
            if round == 2 {
                // A recovery finds the same market, whatever was removed.
                writer.close();
                writer = database.writer("two");
                let loaded = writer.load(seed, DoneOrders::Keep).unwrap();
                assert_eq!(loaded.engine.state_hash(), market.engine.state_hash());
                market.engine = loaded.engine;
            }
        }
        assert!(removed >= 6, "{removed}");
        assert!(!database.sql("SELECT 1 FROM pricetime.gone WHERE rows_of = 'trades of symbol'").is_empty());
        let parts = database.sql("SELECT relname FROM pg_class WHERE relname ~ '^(orders|executions)_[0-9]+$'");
        let known = database.sql("SELECT rows_of || '_' || begins FROM pricetime.parts");
        assert_eq!(BTreeSet::from_iter(parts), BTreeSet::from_iter(known), "no table is left over");
    }
}

#[test]
fn what_is_younger_than_the_setting_stays() {
    let database = database();
    let (mut market, mut writer) = market_in(&database, 9);
    market.run(&mut writer, 3500);
    let keep = Keep { age_us: Some(12 * DAY_US), bytes: None };
    assert!(remove(&database, keep, writer.epoch()).unwrap() >= 2);
    let since = Time(market.engine.time().0 - 12 * DAY_US);
    check(&database, &market, since);
    let oldest = "SELECT min(time) FROM pricetime.orders WHERE id >= (SELECT first_order FROM pricetime.kept)";
    let young =
        format!("SELECT ({oldest}) < to_timestamp({}) - interval '12 days'", market.engine.time().0 / 1_000_000);
    assert_eq!(database.sql(&young), ["t"], "the part that is not all old stays as a whole");
    assert_eq!(remove(&database, keep, writer.epoch()).unwrap(), 0);
    assert_eq!(remove(&database, Keep { age_us: Some(99 * DAY_US), bytes: Some(1 << 40) }, writer.epoch()).unwrap(), 0);
}

/// A question while parts go gets the rows or the refusal, and never the answer that an order never was.
#[test]
fn who_asks_meanwhile_is_told_of_one_moment() {
    let database = database();
    let (mut market, mut writer) = market_in(&database, 7);
    market.run(&mut writer, 3000);
    let done = market.done_orders();
    let asked: Vec<AskedOrder> =
        done.iter().map(|done| AskedOrder { order: done.order, executions_for: Some(done.account) }).collect();
    let mut history = History::connect(&database.url(), "history", Duration::from_secs(20), Stop::new()).unwrap();
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let mut list = || all_pages(|before| reader.orders_of(AccountIndex(0), None, before, 1000, until()));
    let (all, is_cut) = list();
    let first = all.last().unwrap().placed.order;
    assert!(!is_cut, "nothing is gone yet");
    std::thread::scope(|scope| {
        let removal = scope.spawn(|| remove(&database, ALL_THAT_MAY_GO, writer.epoch()));
        let mut answers = 0;
        while !removal.is_finished() {
            let found = history.done_within(&asked, usize::MAX >> 1).unwrap().done;
            for (found, done) in found.into_iter().zip(&done) {
                assert!(
                    found == Ok(Some(done.clone())) || found == Err(Unavailable::NoLongerKept),
                    "{found:?}, {done:?}"
                );
            }
            let (rows, gone) = list();
            assert!(gone || rows.last().unwrap().placed.order == first, "the list ends in silence");
            answers += 1;
        }
        assert!(removal.join().unwrap().unwrap() > 3 && answers > 3, "{answers}");
    });
}

/// An order is here with all of its trades, or not at all.
#[test]
fn trades_stay_as_long_as_their_orders() {
    let database = database();
    database.with_parts(100_000, 20);
    let trades_much = |seed: &u64| {
        let mut market = Market::of_all_kinds(*seed);
        market.play(1500);
        market.executed.len() > 150
    };
    let seed = (0..).find(trades_much).unwrap();
    let (mut market, mut writer) = (Market::of_all_kinds(seed), database.writer("one"));
    market.run(&mut writer, 1500);
    assert_eq!(remove(&database, ALL_THAT_MAY_GO, writer.epoch()).unwrap(), 0);
    assert!(market.executed.len() > 100);
    market.check(&database);
}

/// Every row finds its part already made, however many rows come at once.
#[test]
fn parts_are_made_before_they_are_needed() {
    let database = database();
    let (mut market, mut writer) = market_in(&database, 3);
    market.run(&mut writer, 1500);
    market.play(1500);
    market.commit(&mut writer).unwrap();
    market.check(&database);
    let parts = database.sql("SELECT count(*) FROM pricetime.parts WHERE rows_of = 'orders'").remove(0);
    assert!((4..12).contains(&parts.parse::<u32>().unwrap()), "{parts}");
    // Another process of the same server knows nothing of the parts that were made.
    database.end_connections("one");
    market.run(&mut writer, 1500);
    market.check(&database);
}

#[test]
fn a_server_that_was_taken_over_removes_nothing() {
    let database = database();
    let (mut market, mut writer) = market_in(&database, 3);
    market.run(&mut writer, 1500);
    let epoch = writer.epoch();
    writer.close();
    let writer = database.writer("two");
    let refused = remove(&database, ALL_THAT_MAY_GO, epoch);
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    assert_eq!(database.sql("SELECT first_order FROM pricetime.kept"), ["1"]);
    market.check(&database);
    assert!(remove(&database, ALL_THAT_MAY_GO, writer.epoch()).unwrap() > 0);
}

/// A reader that reads for long keeps the part, and delays nobody; its rows stay the same.
#[test]
fn a_reader_that_stands_still_keeps_the_part_and_no_writer() {
    let has_an_old_order = |seed: &u64| {
        let mut market = Market::of_all_kinds(*seed);
        market.play(800);
        market.model.orders_placed() > 150 && market.model.open_orders().any(|order| order.id.0 <= 60)
    };
    let seed = (0..).find(has_an_old_order).unwrap();
    for reader in ["LOCK TABLE pricetime.kept IN ACCESS SHARE MODE", "SELECT count(*) FROM pricetime.order_history"] {
        let database = database();
        let (mut market, mut writer) = market_in(&database, seed);
        market.run(&mut writer, 800);
        let epoch = writer.epoch();
        let count = "SELECT count(*) FROM pricetime.orders";
        database.sql(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {reader}"));
        let before = database.sql(count);
        std::thread::scope(|scope| {
            let removal = scope.spawn(|| remove(&database, ALL_THAT_MAY_GO, epoch));
            let begun = Instant::now();
            let mut longest = Duration::ZERO;
            let symbol = market.model.symbols().next().unwrap();
            while begun.elapsed() < Duration::from_secs(4) {
                // The row is there already. A move of the sequence is enough to need the writer.
                std::thread::sleep(Duration::from_millis(200));
                market.apply(Command::CreateSymbol { symbol });
                let committing = Instant::now();
                market.commit(&mut writer).unwrap();
                longest = longest.max(committing.elapsed());
            }
            assert!(!removal.is_finished());
            // Orders that were open when the part was prepared are done when it goes.
            let accounts: Vec<AccountId> = market.model.accounts().collect();
            let open = market.model.open_orders().map(|order| (accounts[order.account.0 as usize], order.id));
            let open: Vec<(AccountId, OrderId)> = open.collect();
            for (account, order) in open {
                market.apply(Command::CancelOrder { account, order: order.into() });
            }
            market.commit(&mut writer).unwrap();
            // A commit that waited for the reader would have taken all that time.
            assert!(longest < Duration::from_secs(3), "{longest:?}");
            assert_eq!(database.sql(count), before);
            database.sql("COMMIT");
            assert!(removal.join().unwrap().unwrap() > 0);
        });
        check(&database, &market, Time(market.engine.time().0 - DAY_US));
    }
}
