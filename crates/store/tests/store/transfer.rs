//! A market moved into an empty database and out again.

use std::convert::Infallible;

use crate::common::market::Market;
use crate::common::postgres::database;
use engine::{DoneOrders, Engine};
use store::StoreError;
use terms::{DoneOrder, StateItem};

fn state(engine: &Engine) -> Vec<StateItem> {
    let mut items = Vec::new();
    engine.export(&mut |item| items.push(item));
    items
}

fn given<T>(items: Vec<T>) -> impl Iterator<Item = Result<T, Infallible>> {
    items.into_iter().map(Ok)
}

#[test]
fn a_market_goes_in_and_comes_out_the_same() {
    for seed in 0..6 {
        let market = Market::of_all_kinds(seed);
        let mut market = if seed % 2 == 0 { market } else { market.with_amendments() };
        market.play(1500);
        let (state, done) = (state(&market.engine), market.done_orders());
        let database = database();
        let mut store = database.store("one");
        store.migrate().unwrap();
        let imported = store.import(given(market.whole_state()), given(done.clone())).unwrap();
        assert_eq!(imported.state_hash, market.engine.state_hash());
        assert_eq!(imported.done_orders, done.len() as u64);
        let (verified, _) = store.verify().unwrap();
        assert_eq!(verified.state_hash, market.engine.state_hash(), "seed {seed}");
        let mut items = Vec::new();
        store
            .export_state(&mut |item| {
                items.push(item);
                Ok(())
            })
            .unwrap();
        assert!(items == state, "the state comes out as it went in");
        let mut orders: Vec<DoneOrder> = Vec::new();
        let count = store
            .export_done(&mut |done| {
                orders.push(done);
                Ok(())
            })
            .unwrap();
        assert_eq!((orders.len() as u64, &orders), (count, &done));
        // The market continues there.
        let mut writer = store.take_over().unwrap();
        market.engine = writer.load(seed, DoneOrders::Keep).unwrap().engine;
        market.effects.restart(writer.head());
        market.run(&mut writer, 500);
        let mut reader = database.store("two");
        let (verified, _) = reader.verify().unwrap();
        assert_eq!(verified.state_hash, market.engine.state_hash());
        let mut orders = Vec::new();
        reader
            .export_done(&mut |done| {
                orders.push(done);
                Ok(())
            })
            .unwrap();
        assert!(orders == market.done_orders(), "executions of before and after are joined");
    }
}

#[test]
fn an_import_that_fails_leaves_the_database_empty() {
    let mut market = Market::of_all_kinds(7);
    market.play(1000);
    let (state, mut done) = (market.whole_state(), market.done_orders());
    let database = database();
    let mut store = database.store("one");
    store.migrate().unwrap();
    let complete = done.clone();
    done.pop();
    let error = store.import(given(state.clone()), given(done)).unwrap_err();
    assert!(matches!(&error, StoreError::Import(why) if why.contains("orders were placed")), "{error}");
    let error = store.import(given(state[1..].to_vec()), given(Vec::new())).unwrap_err();
    assert!(matches!(error, StoreError::Unsound(_)), "{error}");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.orders"), ["0"]);
    store.import(given(state.clone()), given(complete)).unwrap();
    let error = store.import(given(state), given(Vec::new())).unwrap_err();
    assert!(matches!(error, StoreError::NotEmpty { .. }), "{error}");
}

/// A server once served the part of a market that an import by commands had written before it was stopped.
#[test]
fn an_import_that_was_stopped_is_no_market() {
    let (mut market, database) = (Market::of_all_kinds(3), database());
    let mut store = database.store("one");
    store.migrate().unwrap();
    let mut writer = store.begin_import().unwrap();
    market.run(&mut writer, 500);
    writer.close();
    let mut store = database.store("two");
    assert!(matches!(store.expect_whole(), Err(StoreError::HalfImported)));
    let error = store.take_over().map(drop).unwrap_err();
    assert!(matches!(error, StoreError::HalfImported), "{error}");
    let mut store = database.store("three");
    // The database may not have noticed the end of the writer.
    while let Err(error) = store.end_import() {
        assert!(matches!(error, StoreError::AnotherServer { .. }), "{error}");
    }
    let mut writer = store.take_over().unwrap();
    assert_eq!(writer.load(3, DoneOrders::Keep).unwrap().engine.state_hash(), market.engine.state_hash());
}
