//! Histories of very small parts, sealed and removed while the market goes on: each answer equals the naive model's, or
//! says that the records are no longer kept, wherever the power fails on the way.

use std::ops::Range;
use std::time::Duration;

use crate::common::{Market, Nobody, SMALL, apply, batch, follow_sized, scene};
use exchange::EventBatch;
use feed::{History, HistoryError, PastOrder, ReadModel, ReportKey, Trade, View};
use history::{HISTORY_FOLDER, Keep, LEAPS_NAME, Sizes, verify};
use journal::simulated::{Fault, PowerCut, SimulatedDisk};
use journal::{Damages, Storage};
use model::workload::Workload;
use terms::{AccountId, AccountIndex, Command, Entry, Event, Money, OrderId, Sequence, Time};

const DAY_US: u64 = 86_400_000_000;

fn market(seed: u64, turns: usize) -> Market {
    market_of(Workload::with_client_orders(seed), seed, turns)
}

fn market_of(workload: Workload, seed: u64, turns: usize) -> Market {
    let mut market = Market { workload, ..Market::new(seed) };
    (0..turns).for_each(|_| market.turn());
    market
}

pub fn tend(history: &mut History, view: &View, steps: usize) {
    (0..steps).take_while(|_| history.tend(view.time())).for_each(drop);
}

/// Searches a market in which much happens, and some orders stay open.
fn busy_market(seed: u64, turns: usize) -> Market {
    let markets = (seed..).map(|seed| market(seed, turns));
    let is_busy = |market: &Market| {
        market.trades.len() * 3 > turns && market.placed.len() > turns && market.model.open_orders().len() > 3
    };
    markets.take(1000).find(is_busy).unwrap()
}

/// Follows the first turns of a market with a history that keeps this much, while the keeper works between the turns
/// and then to the end.
pub fn follow_keeping(market: &Market, disk: &SimulatedDisk, keep: Keep, turns: usize) -> (View, History) {
    let (mut view, history) = follow_sized(market, disk, 0, SMALL);
    let mut history = history.keeping(keep);
    for turn in 0..turns {
        apply(market, &mut view, &mut history, turn..turn + 1);
        if turn % 20 == 3 {
            history.checkpoint().unwrap();
        }
        tend(&mut history, &view, 9);
    }
    history.checkpoint().unwrap();
    tend_to_all(&mut history, &view);
    (view, history)
}

/// Works on old parts until nothing is left to do.
pub fn tend_to_all(history: &mut History, view: &View) {
    let steps = (0..100_000).take_while(|_| history.tend(view.time())).count();
    assert!(steps < 100_000, "there is no end to it");
}

pub fn open(disk: &SimulatedDisk, market: &Market, turns: usize) -> Result<(View, History), HistoryError> {
    let engine = market.engine_after(turns);
    let history = History::open_sized(disk, &engine, SMALL)?;
    let mut view = View::new(&engine, Some(&history));
    view.recall(&history)?;
    Ok((view, history))
}

fn files(disk: &SimulatedDisk, ending: &str) -> usize {
    files_of(disk, "", ending)
}

fn files_of(disk: &SimulatedDisk, beginning: &str, ending: &str) -> usize {
    let folder = disk.folder(HISTORY_FOLDER).unwrap();
    folder.list().unwrap().iter().filter(|name| name.starts_with(beginning) && name.ends_with(ending)).count()
}

fn is_sound(disk: &SimulatedDisk) {
    verify(disk, &mut |fault| panic!("{fault}")).unwrap();
}

#[test]
fn sealed_parts_tell_what_plain_ones_told() {
    let (mut sealed, mut carried, mut open) = (0, 0, 0);
    for seed in 0..10 {
        let market = match seed {
            0..6 => busy_market(100 * seed, 240),
            6..8 => market_of(Workload::with_client_orders(seed).with_all_kinds(), seed, 240),
            _ => Market::of_stops(seed, 240),
        };
        let disk = SimulatedDisk::new();
        let (mut view, mut history) = follow_sized(&market, &disk, 0, SMALL);
        for turn in 0..240 {
            apply(&market, &mut view, &mut history, turn..turn + 1);
            if turn % 17 == 3 {
                history.checkpoint().unwrap();
            }
            // Endings come at every step of the work.
            tend(&mut history, &view, turn % 5);
        }
        history.checkpoint().unwrap();
        tend_to_all(&mut history, &view);
        sealed += files(&disk, ".sealed");
        assert!(
            files(&disk, ".tab") <= 2 + 2 + 2 + 2,
            "plain parts of orders, trades and notes, candles and the carried ones"
        );
        open += view.open_orders();
        carried += files(&disk, "carried.tab");
        market.check_all(&scene(view, history), 7);
        is_sound(&disk);
        let (view, history) = self::open(&disk, &market, 240).unwrap();
        market.check_all(&scene(view, history), 5);
    }
    assert!(sealed > 100 && carried > 5 && open > 20, "{sealed} sealed, {carried} carried, {open} open");
}

/// Each operation of the disk while parts are sealed fails once, and once is the last before the power fails.
#[test]
fn wherever_the_power_fails_while_parts_are_sealed_nothing_is_lost() {
    lose_power_while_sealing(&busy_market(31, 100), 70..100);
}

/// Each operation of the disk fails once while parts of notes are sealed, too.
#[test]
fn wherever_the_power_fails_while_parts_of_notes_are_sealed_nothing_is_lost() {
    lose_power_while_sealing(&Market::of_stops(5, 32), 26..32);
}

fn lose_power_while_sealing(market: &Market, Range { start: turns, end: later }: Range<usize>) {
    let (mut operations, mut sealed_notes) = (0, 0);
    for at in 0.. {
        let mut struck = false;
        for (fault, how) in [
            (Fault::Crash, PowerCut::LosesAll),
            (Fault::Crash, PowerCut::Tears),
            (Fault::Crash, PowerCut::Reorders),
            (Fault::Crash, PowerCut::LosesNothing),
            (Fault::NoSpace, PowerCut::LosesAll),
            (Fault::ShortWrite, PowerCut::Reorders),
            (Fault::FailedSync, PowerCut::LosesAll),
            (Fault::LostNames, PowerCut::LosesAll),
        ] {
            let disk = SimulatedDisk::new();
            let (mut view, mut history) = follow_sized(market, &disk, turns, SMALL);
            history.checkpoint().unwrap();
            let begun = disk.operations();
            disk.fail_at(begun + at, fault);
            for turn in turns..later {
                if turn % 4 == 0 {
                    tend(&mut history, &view, 2 * turn);
                }
                tend(&mut history, &view, 9);
                if !try_apply(market, &mut view, &mut history, turn) {
                    break;
                }
                if turn % 5 == 0 && history.checkpoint().is_err() {
                    break;
                }
            }
            struck |= disk.operations() > begun + at;
            let found = disk.after_crash(at, how);
            let (mut view, mut history) =
                self::open(&found, market, turns).unwrap_or_else(|error| panic!("{fault:?} at {at}: {error}"));
            apply(market, &mut view, &mut history, turns..later);
            assert!(history.fit(&market.engine).unwrap());
            if at % 3 == 0 {
                history.checkpoint().unwrap();
            }
            tend_to_all(&mut history, &view);
            let scene = self::scene(view, history);
            market.check_all(&scene, 9);
            scene.history.unwrap().checkpoint().unwrap();
            is_sound(&found);
            sealed_notes = files_of(&found, "notes-", ".sealed");
        }
        if !struck {
            break;
        }
        operations += 1;
    }
    assert!(operations > 100, "only {operations} operations");
    assert_eq!(sealed_notes > 0, !market.notes.is_empty());
}

/// A checkpoint may come when some orders of a part are carried and others are not: they are carried anew then.
#[test]
fn a_checkpoint_while_orders_are_carried_counts_whole_parts_alone() {
    let sizes = Sizes { block_records: 1, ..SMALL };
    let (turns, later) = (70, 160);
    let market = busy_market(31, later);
    let disk = SimulatedDisk::new();
    let (mut view, mut history) = follow_sized(&market, &disk, turns, sizes);
    history.checkpoint().unwrap();
    for turn in turns..later {
        tend(&mut history, &view, 3);
        apply(&market, &mut view, &mut history, turn..turn + 1);
        history.checkpoint().unwrap();
        let found = disk.after_crash(0, PowerCut::LosesAll);
        let engine = market.engine_after(turn);
        let mut again = History::open_sized(&found, &engine, sizes).unwrap();
        let mut known = View::new(&engine, Some(&again));
        tend_to_all(&mut again, &known);
        apply(&market, &mut known, &mut again, turn..later);
        market.check_history(&again, 9);
    }
    assert!(files(&disk, ".sealed") > 5);
}

/// Follows a turn. Returns false if the disk failed.
fn try_apply(market: &Market, view: &mut View, history: &mut History, turn: usize) -> bool {
    let batch = batch(market, turn);
    view.apply(&batch);
    history.follow(&batch).is_ok()
}

/// The machine may lose commands that were written and not synced, and such a command may have ended a carried order.
#[test]
fn endings_of_carried_orders_are_taken_back_as_those_of_others() {
    let mut taken_back = 0;
    for seed in 0..40 {
        let (kept, longer) = (market(seed, 60), market(seed, 100));
        let disk = SimulatedDisk::new();
        let (mut view, mut history) = follow_sized(&longer, &disk, 60, SMALL);
        history.checkpoint().unwrap();
        // The work happens before some of the lost commands, or behind all of them.
        apply(&longer, &mut view, &mut history, 60..60 + seed as usize);
        tend_to_all(&mut history, &view);
        apply(&longer, &mut view, &mut history, 60 + seed as usize..100);
        drop(history);
        let found =
            disk.after_crash(seed, [PowerCut::LosesNothing, PowerCut::Tears, PowerCut::Reorders][seed as usize % 3]);
        let (_, mut history) = self::open(&found, &kept, 60).unwrap();
        taken_back += history.settle(kept.model.open_orders().map(|order| order.id)).unwrap();
        kept.check_history(&history, 9);
    }
    assert!(taken_back > 20, "only {taken_back} endings were lost");
}

#[test]
fn whoever_asks_for_what_is_gone_is_told_so_and_all_else_is_as_it_was() {
    let (mut gone, mut kept, mut replays, mut notes_gone) = (0, 0, 0, 0);
    for (seed, keep) in (40..).zip([
        Keep { age_us: None, bytes: Some(50_000) },
        Keep { age_us: Some(3_000_000_000), bytes: None },
        Keep { age_us: Some(600_000_000), bytes: None },
        Keep { age_us: None, bytes: Some(20_000) },
        Keep { age_us: Some(2_000_000_000), bytes: Some(30_000) },
        Keep { age_us: None, bytes: Some(1) },
    ]) {
        let workload = Workload::with_client_orders(seed - 3);
        let workload = if seed > 43 { workload.with_all_kinds().with_amendments() } else { workload };
        let market = if seed < 42 { Market::of_stops(seed, 240) } else { market_of(workload, seed - 3, 240) };
        let disk = SimulatedDisk::new();
        let (view, history) = follow_keeping(&market, &disk, keep, 240);
        is_sound(&disk);
        let gone_of_each = verify(&disk, &mut |_| {}).unwrap().unwrap().gone;
        notes_gone += gone_of_each[2];
        older_went_first(&market, gone_of_each);
        let scene = self::scene(view, history);
        market.check(&scene.view);
        let first = check_kept(&market, &scene, keep);
        (gone, kept, replays) = (gone + first[0], kept + first[1], replays + first[2]);
        let (view, history) = self::open(&disk, &market, 240).unwrap();
        let again = self::scene(view, history);
        market.check(&again.view);
        assert_eq!(check_kept(&market, &again, keep), first);
    }
    assert!(notes_gone > 30, "{notes_gone} notes are gone");
    assert!(gone > 300 && kept > 100 && replays > 10, "{gone} gone, {kept} kept, {replays} replays");
}

/// Checks that no orders were removed before older trades, and no trades before completely older orders. Parts that
/// were not sealed by then could not be removed: the newest ones, and those of which not everything was durable.
fn older_went_first(market: &Market, [orders_gone, trades_gone, _]: [u64; 3]) {
    let unsealed = 5 * SMALL.part_records as usize;
    let (orders_gone, trades_gone) = (orders_gone as usize, trades_gone as usize);
    let last_of_order = |order: &OrderId| {
        let ended = market.ended.get(order).map(|(ended, _)| *ended);
        ended.into_iter().chain([market.placed[order]]).max()
    };
    let orders: Vec<&OrderId> = market.placed.keys().collect();
    if let Some(last) = orders_gone.checked_sub(1) {
        let left = market.trades.get(trades_gone + unsealed);
        let is_older = |trade: &Trade| trade.time < market.placed[orders[last]];
        assert!(!left.is_some_and(is_older), "{orders_gone} orders went before {trades_gone} trades");
    }
    if let Some(last) = trades_gone.checked_sub(1) {
        let left = orders.get(orders_gone..orders_gone + unsealed).unwrap_or_default();
        let newest = left.iter().filter_map(|order| last_of_order(order)).max();
        let is_older = |newest| newest < market.trades[last].time;
        assert!(!newest.is_some_and(is_older), "{trades_gone} trades went before {orders_gone} orders");
    }
}

/// Returns the number of the file of carried orders, and how many orders it has.
fn carried(disk: &SimulatedDisk) -> (u64, usize) {
    let names = disk.folder(HISTORY_FOLDER).unwrap().list().unwrap();
    let name = names.iter().find(|name| name.starts_with("carried")).expect("a file of carried orders");
    let number = name["carried".len()..].trim_end_matches(".tab").trim_start_matches('-');
    (number.parse().unwrap_or(0), disk.contents(&format!("{HISTORY_FOLDER}/{name}")).len() / 171)
}

/// Follows turns, with checkpoints and work on old parts on the way. Returns false if the disk failed.
fn run_on(
    market: &Market,
    (view, history): (&mut View, &mut History),
    turns: std::ops::Range<usize>,
    steps: usize,
) -> bool {
    for turn in turns {
        tend(history, view, steps);
        if !try_apply(market, view, history, turn) || turn % 5 == 0 && history.checkpoint().is_err() {
            return false;
        }
    }
    true
}

/// Carried orders of parts that were gone stayed for ever: 171 bytes for each order that was open when its part was
/// sealed.
#[test]
fn carried_orders_go_when_nobody_will_ask_for_them_again() {
    let [mut all, mut left] = [0; 2];
    for seed in 60..64 {
        let market = busy_market(seed, 400);
        for keep in [Keep::default(), Keep { age_us: None, bytes: Some(1) }] {
            let disk = SimulatedDisk::new();
            let (mut view, history) = follow_sized(&market, &disk, 0, SMALL);
            let mut history = history.keeping(keep);
            assert!(run_on(&market, (&mut view, &mut history), 0..400, 100));
            history.checkpoint().unwrap();
            tend_to_all(&mut history, &view);
            is_sound(&disk);
            let (number, records) = carried(&disk);
            let scene = self::scene(view, history);
            if keep == Keep::default() {
                all += records;
                assert_eq!(number, 0);
                market.check_all(&scene, 7);
                continue;
            }
            left += records;
            assert!(number > 0);
            let kept = check_kept(&market, &scene, keep);
            let (view, history) = self::open(&disk, &market, 400).unwrap();
            assert_eq!(check_kept(&market, &self::scene(view, history), keep), kept);
        }
    }
    assert!(left * 2 < all && left > 10, "{left} of {all} carried orders are left");
}

/// Each operation of the disk while carried orders are copied fails once, and once is the last before the power fails.
#[test]
fn wherever_the_power_fails_while_carried_orders_go_nothing_that_is_kept_is_lost() {
    let (turns, later, keep) = (150, 166, Keep { age_us: None, bytes: Some(1) });
    let market = busy_market(31, later);
    let before = SimulatedDisk::new();
    let (mut view, mut history) = follow_sized(&market, &before, 0, SMALL);
    assert!(run_on(&market, (&mut view, &mut history), 0..turns, 100));
    history.checkpoint().unwrap();
    drop(history);
    let (mut operations, mut copies) = (0, 0);
    for at in 0.. {
        let mut struck = false;
        for (fault, how) in [
            (Fault::Crash, PowerCut::LosesAll),
            (Fault::Crash, PowerCut::Reorders),
            (Fault::Crash, PowerCut::LosesNothing),
            (Fault::NoSpace, PowerCut::LosesAll),
            (Fault::ShortWrite, PowerCut::Tears),
            (Fault::FailedSync, PowerCut::LosesAll),
            (Fault::LostNames, PowerCut::LosesAll),
        ] {
            let disk = before.copy();
            let (mut view, history) = self::open(&disk, &market, turns).unwrap();
            let mut history = history.keeping(keep);
            let (begun, first) = (disk.operations(), carried(&disk));
            disk.fail_at(begun + at, fault);
            run_on(&market, (&mut view, &mut history), turns..later, 12);
            match disk.operations() > begun + at {
                true => struck = true,
                false => copies = carried(&disk.copy()).0 - first.0,
            }
            let found = disk.after_crash(at, how);
            let (mut view, history) =
                self::open(&found, &market, turns).unwrap_or_else(|error| panic!("{fault:?} at {at}: {error}"));
            let mut history = history.keeping(keep);
            apply(&market, &mut view, &mut history, turns..later);
            assert!(history.fit(&market.engine).unwrap());
            if at % 3 == 0 {
                history.checkpoint().unwrap();
            }
            tend_to_all(&mut history, &view);
            let scene = self::scene(view, history);
            check_kept(&market, &scene, keep);
            scene.history.unwrap().checkpoint().unwrap();
            is_sound(&found);
        }
        if !struck {
            break;
        }
        operations += 1;
    }
    println!("{operations} operations, {copies} copies");
    assert!(operations > 100 && copies > 0, "only {operations} operations, {copies} copies");
}

/// Checks that answers are true, that missing records are no longer kept, and that records which are to be kept are
/// there. Returns how many orders are gone and kept, and how many replays were complete although others were not.
fn check_kept(market: &Market, scene: &ReadModel<Nobody>, keep: Keep) -> [usize; 3] {
    let history = &*scene.history.as_ref().unwrap().read();
    let now = scene.view.time().0;
    let is_old = |time: u64| keep.age_us.is_none_or(|age| now - time > age) || keep.bytes.is_some();
    let mut counts = [0; 3];
    for (order, placed) in &market.placed {
        match history.order(*order) {
            Ok(found) => {
                check_order(market, &found.unwrap());
                counts[1] += 1;
            }
            Err(HistoryError::NoLongerKept { .. }) => {
                let (ended, _) = market.ended.get(order).expect("an open order is kept, however old");
                assert!(is_old(placed.0) && is_old(ended.0), "order {order} was to be kept");
                counts[0] += 1;
            }
            Err(error) => panic!("{error}"),
        }
        let its = |trade: &&Trade| [trade.maker_order, trade.aggressor_order].contains(order);
        let executions: Vec<Trade> = market.trades.iter().filter(its).copied().collect();
        match history.executions_of(*order, usize::MAX) {
            Ok(found) => assert_eq!(found, Some(executions)),
            Err(error) => assert!(matches!(error, HistoryError::NoLongerKept { .. }), "{error}"),
        }
    }
    for account in (0..).map(AccountIndex).take(market.model.accounts().count()) {
        let ids: Vec<OrderId> =
            market.placed.keys().rev().copied().filter(|order| market.model.order(*order).account == account).collect();
        let found = until_gone(|before| history.orders_of(account, before, 5, &mut |_| true));
        check_beginning(&found, &ids, |order: &PastOrder| order.order);
        let its = |trade: &&Trade| trade.maker_account == account || trade.aggressor_account == account;
        let trades: Vec<Trade> = market.trades.iter().rev().filter(its).copied().collect();
        let found = until_gone(|before| history.trades_of_account(account, before, 5, |_| true));
        check_beginning(&found, &trades, |trade| *trade);
        counts[2] += check_reports(market, scene, account);
    }
    counts
}

/// Checks that the reports behind any command are complete, or no longer kept: never some of them.
fn check_reports(market: &Market, scene: &ReadModel<Nobody>, account: AccountIndex) -> usize {
    let (history, through) = (scene.history.as_ref().unwrap().read(), market.engine.sequence());
    let (mut whole, mut gone) = (0, 0);
    for from in (0..=through.0).step_by(1 + through.0 as usize / 23).map(Sequence) {
        let mut sweep = history.sweep(account, ReportKey::after(from), through);
        let swept = loop {
            match history.sweep_on(&mut sweep, 3) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        match swept {
            Ok(()) => {
                let (keys, more) = sweep.finish();
                assert!(more.is_none());
                assert!(keys.iter().all(|key| history.report(*key).is_ok()));
                assert_eq!(keys.len(), expected_reports(market, account, from), "{account:?} from {from}");
                whole += 1;
            }
            Err(error) => {
                assert!(matches!(error, HistoryError::NoLongerKept { .. }), "{error}");
                assert!(whole == 0, "what is newer is kept if what is older is");
                gone += 1;
            }
        }
    }
    if gone > 0 { whole } else { 0 }
}

fn expected_reports(market: &Market, account: AccountIndex, from: Sequence) -> usize {
    let events = market.batches.iter().flat_map(|(_, _, events)| events);
    let later = events.filter(|(sequence, _)| *sequence > from);
    let its = |order: OrderId| usize::from(market.model.order(order).account == account);
    later
        .map(|(_, event)| match event {
            Event::OrderOpened { order, .. }
            | Event::OrderTriggered { order, .. }
            | Event::OrderReleased { order, .. }
            | Event::OrderAmended { order, .. }
            | Event::OrderReduced { order, .. }
            | Event::OrderCanceled { order, .. } => its(*order),
            // Such an order makes two reports: that it was accepted, and what it waits for.
            Event::OrderPends { order, .. } => 2 * its(*order),
            Event::Executed { maker, aggressor, .. } | Event::Uncrossed { maker, aggressor, .. } => {
                its(*maker) + its(*aggressor)
            }
            Event::OrdersLinked { order, partner, .. } => its(*order) + its(*partner),
            Event::AccountCreated { .. }
            | Event::ClientOrderIdGiven { .. }
            | Event::TriggerReached { .. }
            | Event::OrderDelayed { .. }
            | Event::OrderResumed { .. }
            | Event::DeadlineGiven { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::OrderSetAside { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. }
            | Event::SymbolCreated { .. }
            | Event::RulesChanged { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::GroupChanged { .. }
            | Event::KillChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::LimitsChanged { .. }
            | Event::FeesTaken { .. }
            | Event::PhaseChanged { .. }
            | Event::BalanceChanged { .. }
            | Event::PositionChanged { .. } => 0,
        })
        .sum()
}

fn check_order(market: &Market, found: &PastOrder) {
    assert_eq!(found.time, market.placed[&found.order]);
    assert_eq!(found.shares, market.terms[&found.order].shares);
    assert_eq!(found.client_id, market.named.get(&found.order).copied());
    market.check_terms(found, market.engine.sequence());
    let ended = found.ended.map(|ended| (ended.time, ended.canceled));
    assert_eq!(ended, market.ended.get(&found.order).copied(), "order {}", found.order);
}

/// Collects all pages, and says whether what follows them is no longer kept.
fn until_gone<T, C: Copy>(
    mut page: impl FnMut(Option<C>) -> Result<Option<(Vec<T>, Option<C>)>, HistoryError>,
) -> (Vec<T>, bool) {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        match page(before) {
            Ok(found) => {
                let (found, next) = found.unwrap();
                assert!(!found.is_empty() || (before.is_none() && next.is_none()), "an empty page");
                all.extend(found);
                match next {
                    Some(next) => before = Some(next),
                    None => return (all, false),
                }
            }
            Err(HistoryError::NoLongerKept { .. }) => return (all, true),
            Err(error) => panic!("{error}"),
        }
    }
}

fn check_beginning<T, K: PartialEq + std::fmt::Debug>(
    (found, gone): &(Vec<T>, bool),
    all: &[K],
    key: impl Fn(&T) -> K,
) {
    let keys: Vec<K> = found.iter().map(key).collect();
    assert_eq!(keys, all[..keys.len()]);
    assert_eq!(*gone, keys.len() < all.len(), "what is missing is said to be gone");
}

/// A history that has followed a market to its end, and notes leaps while no time passes.
fn noting_leaps(market: &Market, disk: &SimulatedDisk) -> (View, History) {
    let (mut view, mut history) = follow_sized(market, disk, 0, SMALL);
    apply(market, &mut view, &mut history, 0..240);
    let mut history = history.noting_leaps(|| Duration::ZERO);
    assert!(history.fit(&market.engine).unwrap());
    history.checkpoint().unwrap();
    (view, history)
}

/// A clock that was wrong for ten minutes moves market time, and once had everything removed.
#[test]
fn a_leap_of_market_time_makes_nothing_old() {
    let market = busy_market(77, 240);
    let disk = SimulatedDisk::new();
    let keep = Keep { age_us: Some(30 * DAY_US), bytes: None };
    let (view, history) = noting_leaps(&market, &disk);
    let mut history = history.keeping(keep);
    tend_to_all(&mut history, &view);
    let sealed = files(&disk, ".sealed");
    assert!(sealed > 5, "{sealed}");
    let tend_at = |history: &mut History, days: u64| {
        let now = Time(view.time().0 + days * DAY_US);
        assert!((0..100_000).any(|_| !history.tend(now)));
        files(&disk, ".sealed")
    };
    assert_eq!(tend_at(&mut history, 40), sealed, "a leap");
    drop(history);
    let history = History::open_sized(&disk, &market.engine, SMALL).unwrap();
    is_sound(&disk);
    let mut history = history.keeping(keep);
    assert_eq!(tend_at(&mut history, 69), sealed, "a start knows of it");
    assert!(tend_at(&mut history, 80) < sealed, "what is old goes");
}

/// A kill finds the keeper while it seals parts, and once had everything removed that was older than the leap.
#[test]
fn a_leap_is_on_the_disk_before_the_next_work() {
    let market = busy_market(77, 240);
    let disk = SimulatedDisk::new();
    let (view, mut history) = noting_leaps(&market, &disk);
    let leapt = Time(view.time().0 + 40 * DAY_US);
    assert!(history.tend(leapt), "there is more work than the leap");
    let killed = disk.after_crash(1, PowerCut::LosesAll);
    is_sound(&killed);
    let history = History::open_sized(&killed, &market.engine, SMALL).unwrap();
    let mut history = history.keeping(Keep { age_us: Some(30 * DAY_US), bytes: None });
    assert!((0..100_000).any(|_| !history.tend(leapt)), "there is no end to it");
    assert!(files(&killed, ".sealed") > 5);
    let after_a_month = Time(leapt.0 + 31 * DAY_US);
    let sealed = files(&killed, ".sealed");
    assert!((0..100_000).any(|_| !history.tend(after_a_month)), "there is no end to it");
    assert!(files(&killed, ".sealed") < sealed, "what is old goes");
}

/// An orderly stop may come before the keeper has looked at the time, or while a failure has it rest.
#[test]
fn a_stop_keeps_a_leap() {
    let market = busy_market(77, 240);
    let disk = SimulatedDisk::new();
    let (view, mut history) = noting_leaps(&market, &disk);
    disk.fail_at(disk.operations(), Fault::NoSpace);
    history.tend(Time(view.time().0 + 40 * DAY_US));
    assert_eq!(files_of(&disk, LEAPS_NAME, "s"), 0, "it failed");
    let mut batch = EventBatch::default();
    batch.seal(Sequence(history.sequence().0 + 1), Time(view.time().0 + 80 * DAY_US));
    history.follow(&batch).unwrap();
    history.checkpoint().unwrap();
    let killed = disk.after_crash(1, PowerCut::LosesAll);
    let leaps = killed.contents(&format!("{HISTORY_FOLDER}/{LEAPS_NAME}"));
    assert_eq!(String::from_utf8(leaps).unwrap().lines().count(), 4, "two leaps, a time and a checksum");
}

/// A kill between a leap and the keeper's next look once had everything removed that was older than the leap.
#[test]
fn a_kill_before_the_next_look_hides_no_leap() {
    let market = busy_market(77, 240);
    let disk = SimulatedDisk::new();
    let (view, mut history) = noting_leaps(&market, &disk);
    tend_to_all(&mut history, &view);
    history.tend(Time(view.time().0 + 1));
    let mut batch = EventBatch::default();
    let leapt = Time(view.time().0 + 40 * DAY_US);
    batch.seal(Sequence(history.sequence().0 + 1), leapt);
    history.follow(&batch).unwrap();
    let killed = disk.after_crash(1, PowerCut::LosesAll);
    let sealed = files(&killed, ".sealed");
    let history = History::open_sized(&killed, &market.engine, SMALL).unwrap();
    let mut history = history.keeping(Keep { age_us: Some(30 * DAY_US), bytes: None }).noting_leaps(|| Duration::ZERO);
    // The replay, and the market at its end.
    history.follow(&batch).unwrap();
    assert!((0..100_000).any(|_| !history.tend(leapt)), "there is no end to it");
    assert_eq!(files(&killed, ".sealed"), sealed, "nothing is removed by age during the replay");
    let mut engine = market.engine_after(240);
    let command = Command::CreateAccount { account: AccountId::parse(b"7777777").unwrap(), balance: Money::ZERO };
    engine.apply(&Entry { sequence: history.sequence(), time: leapt, command }, &mut Vec::new(), &mut |_| {});
    assert!(history.fit(&engine).unwrap());
    assert!((0..100_000).any(|_| !history.tend(leapt)), "there is no end to it");
    assert_eq!(files(&killed, ".sealed"), sealed);
}

/// Only retention needs the leaps, and a damaged file of them once kept the whole market from starting.
#[test]
fn without_sound_leaps_nothing_is_removed_by_age() {
    let market = busy_market(77, 240);
    let disk = SimulatedDisk::new();
    let (view, mut history) = noting_leaps(&market, &disk);
    tend_to_all(&mut history, &view);
    let leapt = Time(view.time().0 + 40 * DAY_US);
    assert!((0..100_000).any(|_| !history.tend(leapt)), "there is no end to it");
    drop(history);
    let leaps = format!("{HISTORY_FOLDER}/{LEAPS_NAME}");
    let damaged = disk.copy();
    damaged.flip_bit(&leaps, 7);
    let (written, sealed, by_age) = (damaged.contents(&leaps), files(&damaged, ".sealed"), Some(30 * DAY_US));
    let open = |disk: &SimulatedDisk, keep: Keep| {
        let damages = Damages::default();
        let history = History::open_sized(disk, &market.engine, SMALL).unwrap();
        let mut history = history.keeping(keep).listing(damages.clone());
        let later = Time(leapt.0 + 400 * DAY_US);
        assert!((0..100_000).any(|_| !history.tend(later)), "there is no end to it");
        // It leaps once more.
        history = history.noting_leaps(|| Duration::ZERO);
        assert!(history.fit(&market.engine).unwrap());
        assert!((0..100_000).any(|_| !history.tend(later)), "there is no end to it");
        history.checkpoint().unwrap();
        (damages.count(), history.damaged_leaps().map(|error| error.to_string()))
    };
    let (count, fault) = open(&damaged, Keep { age_us: by_age, bytes: None });
    assert_eq!(files(&damaged, ".sealed"), sealed, "nothing is removed by age");
    assert_eq!((count, damaged.contents(&leaps)), (1, written), "it is listed, and stays as it is");
    let mut named = Vec::new();
    verify(&damaged, &mut |error| named.push(error.to_string())).unwrap();
    assert_eq!(Some(named), fault.map(|fault| vec![fault]));
    open(&damaged, Keep { age_us: by_age, bytes: Some(1) });
    assert!(files(&damaged, ".sealed") < sealed, "what is too much goes");
    // The operator removes the file. What was before counts as no older than the start that notes leaps again.
    disk.folder(HISTORY_FOLDER).unwrap().remove(LEAPS_NAME).unwrap();
    assert_eq!(open(&disk, Keep { age_us: by_age, bytes: None }), (0, None));
    assert!(files(&disk, ".sealed") < sealed, "what is old goes where nobody notes leaps");
    let anew = String::from_utf8(disk.contents(&leaps)).unwrap();
    assert!(anew.contains(&format!(" {}\n", u64::MAX)), "{anew}");
}
