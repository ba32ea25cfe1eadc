//! Random markets, followed by events alone: view and history equal the naive model at every turn, with crashes
//! between.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Market, Nobody, apply, batch, follow, follow_sized, look, scene, start};
use feed::{History, Interval, Listeners, ReadModel, View};
use history::{HISTORY_FOLDER, HistoryError, Keeper, Sizes};
use journal::Disk;
use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use terms::{CancelReason, OrderKind, SymbolIndex};

/// Copies the files as they are, complete or not, as a crash leaves them.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn a_view_is_what_the_model_says_at_every_turn() {
    let (mut trades, mut resumed, mut begun_inside) = (0, 0, 0);
    // The last three have symbols with price bands, and auctions.
    for seed in (0..32).chain([41, 53]) {
        let mut market = Market::of_all_kinds(seed);
        let mut view = View::new(&market.engine, None);
        // A view that began while market orders stood in an auction, if there was one.
        let mut later: Option<View> = None;
        for turn in 0..300 {
            market.turn();
            for view in std::iter::once(&mut view).chain(&mut later) {
                view.apply(&batch(&market, turn));
                market.check(view);
            }
            market.check_triggered(&view);
            let gathers = market.model.open_orders().any(|order| order.kind == OrderKind::AuctionMarket);
            if gathers {
                begun_inside += 1;
                later = Some(View::new(&market.engine, None));
            }
            if turn % 50 == 0 {
                market.check(&View::new(&market.engine, None));
            }
        }
        trades += market.trades.len();
        resumed += market.resumed();
    }
    assert!(trades > 400, "the markets must trade: {trades}");
    assert!(resumed > 5, "orders must go on: {resumed}");
    assert!(begun_inside > 20, "views must begin while market orders gather: {begun_inside}");
}

#[test]
fn a_history_survives_crashes_and_stops() {
    let (mut asked, mut prevented) = (0, 0);
    for seed in 0..6 {
        let mut market = Market::of_all_kinds(seed);
        let folder = tempfile::tempdir().unwrap();
        let mut at = folder.path().to_owned();
        let mut feed = start(&market.engine, &at);
        // The turn of the last snapshot: the history covers it.
        let mut snapshot = 0;
        for round in 0..8 {
            let begun = market.batches.len();
            for _ in 0..60 {
                market.turn();
            }
            let half = begun + 20 + market.random.below(30);
            market.push(&feed, begun..half);
            if round % 3 != 2 {
                assert!(feed.checkpoint());
                snapshot = snapshot.max(half - market.random.below(20));
            }
            market.push(&feed, half..market.batches.len());
            if round % 2 == 0 {
                let scene = feed.stop();
                market.check_all(&scene, 1 + round);
                snapshot = market.batches.len() - market.random.below(30);
            } else {
                look(&feed, |_| ());
                let crashed = folder.path().join(format!("crashed-{round}"));
                copy(&at.join(HISTORY_FOLDER), &crashed.join(HISTORY_FOLDER));
                drop(feed.stop());
                at = crashed;
            }
            let engine = market.engine_after(snapshot);
            feed = start(&engine, &at);
            market.push(&feed, snapshot..market.batches.len());
        }
        let scene = feed.stop();
        market.check_all(&scene, 7);
        let own = market.amended.iter().filter(|(_, amended)| amended.why == CancelReason::SelfTrade).count();
        (asked, prevented) = (asked + market.amended.len() - own, prevented + own);
    }
    assert!(
        asked > 100 && prevented > 3,
        "{asked} amended because they were asked for, {prevented} to prevent a trade"
    );
}

#[test]
fn a_history_that_lacks_commands_is_set_aside() {
    let mut market = Market::new(3);
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..50 {
        market.turn();
    }
    let feed = start(&market.engine_after(0), folder.path());
    market.push(&feed, 0..20);
    drop(feed.stop());
    let feed = start(&market.engine_after(30), folder.path());
    market.push(&feed, 30..50);
    let scene = feed.stop();
    market.check(&scene.view);
    let history = scene.history.as_ref().unwrap().read();
    assert!(history.through() == market.engine.sequence() && history.first_order().0 > 1);
    assert!(folder.path().join(format!("history-through-{}", market.batches[19].0)).exists());
}

#[test]
fn damage_is_named() {
    let mut market = Market::new(4);
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("history");
    for _ in 0..50 {
        market.turn();
    }
    let feed = start(&market.engine_after(0), folder.path());
    market.push(&feed, 0..50);
    drop(feed.stop());
    let checkpoint = std::fs::read(at.join("checkpoint")).unwrap();
    for byte in 0..checkpoint.len() {
        let mut damaged = checkpoint.clone();
        damaged[byte] ^= 0x20;
        std::fs::write(at.join("checkpoint"), damaged).unwrap();
        let error = History::open(&Disk::open(folder.path()).unwrap(), &market.engine).unwrap_err().to_string();
        assert!(error.contains("checkpoint is damaged"), "{error}");
    }
    std::fs::write(at.join("checkpoint"), checkpoint).unwrap();
    let orders = std::fs::OpenOptions::new().write(true).open(at.join("orders-000000.tab")).unwrap();
    orders.set_len(100).unwrap();
    let error = History::open(&Disk::open(folder.path()).unwrap(), &market.engine).unwrap_err().to_string();
    assert!(error.contains("orders-000000.tab is damaged: it holds 100 bytes"), "{error}");
}

/// A checkpoint counted itself as done before it was written. When its sync failed and was tried again, the second
/// answer was that everything is durable: a snapshot was taken, and the journal dropped what the history did not have.
#[test]
fn a_checkpoint_after_one_that_failed_is_as_good_as_its_word() {
    let mut market = Market::new(5);
    for _ in 0..80 {
        market.turn();
    }
    let (mut refused, mut done_again) = (0, 0);
    for at in 0.. {
        let mut struck = false;
        for fault in [Fault::Error, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync, Fault::LostNames] {
            let disk = SimulatedDisk::new();
            let (mut view, mut history) = follow(&market, &disk, 40);
            history.checkpoint().unwrap();
            apply(&market, &mut view, &mut history, 40..80);
            let begun = disk.operations();
            disk.fail_at(begun + at, fault);
            let first = history.checkpoint().is_ok();
            struck |= disk.operations() > begun + at;
            let second = history.checkpoint().is_ok();
            refused += u64::from(!first);
            done_again += u64::from(!first && second);
            let found = disk.after_crash(at, PowerCut::LosesAll);
            let kept = History::open(&found, &market.engine_after(0)).unwrap();
            if first || second {
                assert_eq!(kept.through(), market.engine.sequence(), "{fault:?} at operation {at}");
                market.check_history(&kept, 9);
            }
        }
        if !struck {
            break;
        }
    }
    assert!(refused > 15 && done_again > 5, "{refused} refused, {done_again} of them done again");
}

/// A second sync of the journal once let a checkpoint count commands that the first one had lost.
#[test]
fn behind_a_failed_sync_of_the_journal_no_checkpoint_is_made() {
    let mut market = Market::new(5);
    for _ in 0..80 {
        market.turn();
    }
    let (mut view, history) = follow(&market, &SimulatedDisk::new(), 40);
    let fails = AtomicBool::new(true);
    let sync =
        move || if fails.swap(false, Ordering::Relaxed) { Err(std::io::Error::other("it failed")) } else { Ok(()) };
    let mut history = history.syncing_journal(sync);
    apply(&market, &mut view, &mut history, 40..80);
    for _ in 0..2 {
        assert!(history.checkpoint().is_err());
    }
}

/// Queries of orders that were done after a write had failed got the error that their record is damaged: the history
/// had ended, and was read as it stood while the server ended.
#[test]
fn what_a_history_will_never_follow_is_not_answered_from_before() {
    let mut market = Market::new(6);
    for _ in 0..80 {
        market.turn();
    }
    let (mut refused, mut answered) = (0, 0);
    for at in 0.. {
        let disk = SimulatedDisk::new();
        let (_, history) = follow(&market, &disk, 40);
        let begun = disk.operations();
        disk.fail_at(begun + at, Fault::NoSpace);
        let keeper = Keeper::start(history, |_| {}, |_| {}).unwrap();
        for turn in 40..80 {
            keeper.follower().push(Arc::new(batch(&market, turn)));
        }
        let through = market.engine.sequence();
        let history = keeper.history();
        for asked in [history.at(through).map(drop), history.latest().map(drop)] {
            match asked {
                Err(HistoryError::Ended) => refused += 1,
                Ok(()) if history.read().sequence() == through => answered += 1,
                found => panic!("the fault is at operation {at}: {found:?}"),
            }
        }
        let ended = keeper.stop();
        if disk.operations() <= begun + at {
            ended.unwrap();
            break;
        }
    }
    assert!(refused > 15 && answered > 0, "{refused} refused, {answered} answered");
}

/// A candle that somebody follows is asked for with each publishing: the feed waited for the keeper and its disk each
/// time.
#[test]
fn candles_that_memory_has_wait_for_no_history() {
    let mut market = Market::new(6);
    for _ in 0..80 {
        market.turn();
    }
    let (mut view, history) = follow(&market, &SimulatedDisk::new(), 40);
    let keeper = Keeper::start(history, |_| {}, |_| {}).unwrap();
    let history = keeper.history();
    keeper.stop().unwrap();
    for turn in 40..80 {
        view.apply(&batch(&market, turn));
    }
    let model = ReadModel { view, history: Some(history), watcher: Nobody, listeners: Listeners::default() };
    assert!(matches!(model.history(), Err(HistoryError::Ended)));
    let (symbol, minute) = (SymbolIndex(0), Interval::Minute);
    assert_eq!(model.candles(symbol, minute, None, 1).unwrap().len(), 1);
    // Months of a young symbol are asked for as 62 days: memory has all that there are.
    for (interval, limit) in Interval::ALL.into_iter().flat_map(|interval| [(interval, 62), (interval, usize::MAX)]) {
        let all = market.candles(symbol, interval);
        let last = &all[all.len().saturating_sub(limit)..];
        assert_eq!(model.candles(symbol, interval, None, limit).unwrap(), last, "{}", interval.name());
    }
}

/// A view that has not put back yet what the history knew has no candles, and they are not all that there are.
#[test]
fn a_view_that_is_behind_its_history_asks_it_for_candles() {
    let mut market = Market::new(6);
    for _ in 0..80 {
        market.turn();
    }
    let disk = SimulatedDisk::new();
    let (_, mut history) = follow(&market, &disk, 80);
    history.checkpoint().unwrap();
    let mut view = View::new(&market.engine_after(40), Some(&history));
    view.recall(&history).unwrap();
    let mut model = scene(view, history);
    let symbol = SymbolIndex(0);
    let closed = market.candles(symbol, Interval::Minute).len() - 1;
    assert!(closed > 3 && model.view.listing(symbol).last.is_none());
    assert_eq!(model.candles(symbol, Interval::Minute, None, usize::MAX).unwrap().len(), closed);
    (40..80).for_each(|turn| model.view.apply(&batch(&market, turn)));
    market.check_candles(&model);
}

/// The machine may lose commands that were written and not synced, and the history may lose fewer: an order that a lost
/// command had ended is open again, and the history showed it as ended.
#[test]
fn what_commands_did_that_the_machine_lost_is_forgotten() {
    let mut taken_back = 0;
    for seed in 0..30 {
        let (mut market, mut longer) = (Market::new(seed), Market::new(seed));
        for turn in 0..80 {
            if turn < 40 {
                market.turn();
            }
            longer.turn();
        }
        let disk = SimulatedDisk::new();
        // So few endings wait in memory that most of them are written.
        let sizes = Sizes { waiting_max: [200; 3], ..Sizes::USUAL };
        let (mut view, mut history) = follow_sized(&longer, &disk, 40, sizes);
        history.checkpoint().unwrap();
        apply(&longer, &mut view, &mut history, 40..80);
        drop(history);
        let found =
            disk.after_crash(seed, [PowerCut::LosesNothing, PowerCut::Tears, PowerCut::Reorders][seed as usize % 3]);
        let mut history = History::open(&found, &market.engine).unwrap();
        taken_back += history.settle(market.model.open_orders().map(|order| order.id)).unwrap();
        market.check_history(&history, 9);
    }
    assert!(taken_back > 20, "only {taken_back} endings were lost");
}
