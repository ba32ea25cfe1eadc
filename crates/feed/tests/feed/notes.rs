//! Notes: what befalls orders beside their executions is the same wherever a crash or a restart comes between. A
//! market without notes pays nothing for them.

use crate::common::{Market, apply, follow, scene};
use feed::{History, HistoryError, NotesLeft, PageBounds, ReportKey, View};
use history::{HISTORY_FOLDER, Keep, PastOrder, Report};
use journal::Storage;
use journal::simulated::{PowerCut, SimulatedDisk};
use terms::{
    AccountId, AccountIndex, Command, Entry, Money, NewOrder, OrderId, Place, Position, Price, Sequence, Shares, Side,
    Symbol, Time, Trigger,
};

/// Returns the files that a checkpoint counts, with their contents.
fn contents(disk: &SimulatedDisk) -> Vec<(String, Vec<u8>)> {
    let mut names = disk.folder(HISTORY_FOLDER).unwrap().list().unwrap();
    names.sort();
    let read = |name: String| {
        let contents = disk.contents(&path(&name));
        (name, contents)
    };
    names.into_iter().map(read).collect()
}

fn path(name: &str) -> String {
    format!("{HISTORY_FOLDER}/{name}")
}

fn open(disk: &SimulatedDisk, market: &Market, turns: usize) -> (View, History) {
    let engine = market.engine_after(turns);
    let history = History::open_sized(disk, &engine, crate::common::EAGER).unwrap();
    let mut view = View::new(&engine, Some(&history));
    view.recall(&history).unwrap();
    (view, history)
}

#[test]
fn notes_behind_a_checkpoint_are_written_again_the_same() {
    let (mut again, mut torn) = (0, 0);
    for seed in 0..12 {
        let (turns, covered) = (40, 10 + seed as usize);
        let market = Market::of_stops(seed, turns);
        let whole = SimulatedDisk::new();
        let (_, mut history) = follow(&market, &whole, turns);
        history.checkpoint().unwrap();
        let expected = contents(&whole);
        for cut in [PowerCut::LosesAll, PowerCut::Tears, PowerCut::Reorders, PowerCut::LosesNothing] {
            let disk = SimulatedDisk::new();
            let (mut view, mut history) = follow(&market, &disk, covered);
            history.checkpoint().unwrap();
            apply(&market, &mut view, &mut history, covered..turns - 3);
            drop(history);
            let found = disk.after_crash(seed, cut);
            torn += usize::from(contents(&found) != contents(&disk));
            let (mut view, mut history) = open(&found, &market, covered);
            apply(&market, &mut view, &mut history, covered..turns);
            assert!(history.fit(&market.engine).unwrap());
            history.checkpoint().unwrap();
            for ((name, found), (as_name, expected)) in contents(&found).into_iter().zip(&expected) {
                assert!(name == *as_name && found == *expected, "seed {seed}, {cut:?}: {name} is another one");
            }
            again += market.notes.iter().filter(|note| note.sequence > market.batches[covered].0).count();
            market.check_all(&scene(view, history), 9);
        }
    }
    assert!(again > 100 && torn > 10, "{again} notes were written again, {torn} folders had lost something");
}

#[test]
fn a_market_without_notes_has_no_file_of_them_until_the_first() {
    let market = Market::of_stops(4, 40);
    let first = market.notes[0].sequence;
    let before = market.batches.iter().position(|(through, ..)| *through >= first).unwrap();
    let disk = SimulatedDisk::new();
    let (view, mut history) = follow(&market, &disk, before);
    history.checkpoint().unwrap();
    let is_there = |disk: &SimulatedDisk| contents(disk).iter().any(|(name, _)| name.starts_with("notes"));
    assert!(!is_there(&disk));
    drop((view, history));
    let (mut view, mut history) = open(&disk, &market, before);
    apply(&market, &mut view, &mut history, before..40);
    history.checkpoint().unwrap();
    assert!(is_there(&disk));
    market.check_all(&scene(view, history), 9);
    let (view, history) = open(&disk, &market, 40);
    market.check_all(&scene(view, history), 9);
}

/// A reader gets the state after its command, also when the history knows more by then.
#[test]
fn an_order_that_is_triggered_later_waits_still() {
    let market = Market::of_stops(6, 40);
    let disk = SimulatedDisk::new();
    let (_, history) = follow(&market, &disk, 40);
    let shared = feed::SharedHistory::new(history);
    let mut waited = 0;
    for note in &market.notes {
        let before = Sequence(note.sequence.0 - 1);
        let (then, now) = (shared.at(before).unwrap().order(note.order).unwrap(), shared.at(note.sequence).unwrap());
        if let Some(then) = then {
            assert_eq!(shared.at(before).unwrap().triggered_at(&then).unwrap(), None, "{note:?}");
            waited += 1;
        }
        let order = now.order(note.order).unwrap().unwrap();
        assert_eq!(now.triggered_at(&order).unwrap(), Some(note.time), "{note:?}");
    }
    assert!(waited > 5);
}

/// Applies commands at this second.
fn play(market: &mut Market, seconds: u64, commands: &[Command]) {
    let (mut events, time) = (Vec::new(), Time(1_700_000_000_000_000 + seconds * 1_000_000));
    commands.iter().for_each(|command| market.apply(*command, time, &mut events));
    market.batches.push((market.engine.sequence(), time, events));
}

/// A unit of prices and shares.
const UNITS: i64 = 100_000_000;

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn order(side: Side, dollars: i64, shares: i64) -> NewOrder {
    let (symbol, limit) = (Symbol::parse(b"SPY").unwrap(), Price::from_units(dollars * UNITS).unwrap());
    NewOrder::limit(symbol, side, limit, Shares::from_units(shares * UNITS).unwrap())
}

fn place(order: NewOrder) -> Command {
    Command::Place(Place::order(account(), order))
}

/// A buy that waits for a trade at 100 dollars.
fn waits() -> Command {
    place(order(Side::Buy, 50, 1).triggered_by(Trigger::from_below(Price::from_units(100 * UNITS).unwrap())))
}

/// A market with an account that has dollars and shares.
fn begun() -> Market {
    let (account, symbol, mut market) = (account(), Symbol::parse(b"SPY").unwrap(), Market::new(1));
    let (balance, issued) = (Money::from_units(10_i128.pow(23)), Position::from_units(10_i128.pow(13)));
    let shares = Command::IssueShares { symbol, account, shares: issued };
    let begin = [Command::CreateAccount { account, balance }, Command::CreateSymbol { symbol }, shares];
    play(&mut market, 0, &begin);
    market
}

/// Takes one unit after the other off an order that has these shares.
fn amend(market: &mut Market, seconds: u64, order: u64, shares: i64) {
    let (mut events, time) = (Vec::new(), Time(1_700_000_000_000_000 + seconds * 1_000_000));
    for taken in 1..=ENDLESS {
        let shares = Shares::from_units(shares * UNITS - taken).unwrap();
        let command = Command::AmendOrder { account: account(), order: OrderId(order).into(), shares };
        let sequence = market.engine.sequence().next();
        let entry = Entry { sequence, time, command };
        market.entries.push(entry);
        market.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push((sequence, event)));
    }
    market.batches.push((market.engine.sequence(), time, events));
}

/// The amendments of an order. Each makes two notes, and a question reads fewer.
const ENDLESS: i64 = 12_000;

/// Each question about an order read all of its notes, while the feed answered nobody else and the keeper waited.
#[test]
fn orders_with_endless_amendments_delay_nobody() {
    let mut market = begun();
    play(&mut market, 1, &[waits(); 4]);
    play(&mut market, 2, &[place(order(Side::Sell, 100, 2)), place(order(Side::Buy, 100, 1))]);
    // The order executes as it arrives, and rests.
    play(&mut market, 3, &[place(order(Side::Buy, 100, 3))]);
    let endless = [(2, 1), (3, 1), (4, 1), (7, 3)];
    (4..).zip(endless).for_each(|(seconds, (id, shares))| amend(&mut market, seconds, id, shares));
    let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
    let (_, mut history) = follow(&market, &disk, turns);
    let executions = &mut history.executions_so_far(OrderId(7)).unwrap().unwrap();
    let mut goes_on = true;
    while std::mem::take(&mut goes_on) {
        let before = disk.operations();
        goes_on = history.read_executions(executions, 512).unwrap();
        assert!(disk.operations() - before < 150, "{} reads", disk.operations() - before);
    }
    assert_eq!(executions.len(), 1);
    // Whoever reads them gives up on an order that goes on like that: it is 20,000 notes.
    assert!(executions.notes_in_vain() >= usize::try_from(ENDLESS).unwrap(), "{}", executions.notes_in_vain());
    history.checkpoint().unwrap();
    let before = disk.operations();
    let (_, history) = open(&disk, &market, turns);
    assert!(disk.operations() - before < 2_500, "a start reads {} times", disk.operations() - before);
    let shared = feed::SharedHistory::new(history);
    let at = shared.at(market.engine.sequence()).unwrap();
    let before = disk.operations();
    assert_eq!(at.order(OrderId(7)).unwrap().unwrap().shares_now().units(), 3 * UNITS - ENDLESS);
    assert!(disk.operations() - before < 10, "an order reads {} times", disk.operations() - before);
    let (orders, _) = at.orders_of(AccountIndex(0), None, PageBounds::of_page(9), &mut |_| true).unwrap().unwrap();
    let mut left = NotesLeft::default();
    let before = disk.operations();
    let triggered: Vec<bool> = orders.iter().map(|order| at.befell(order, &mut left).unwrap().0.is_some()).collect();
    assert!(disk.operations() - before < 800, "a page reads {} times", disk.operations() - before);
    // In pieces of 512 notes the same is found, and other questions come between.
    let (mut left, mut pieces) = (NotesLeft::default(), 0);
    for (order, triggered) in orders.iter().zip(&triggered) {
        let mut notes = at.notes_of(order).unwrap();
        while !notes.are_read() {
            let (before, mut most) = (disk.operations(), 512);
            at.read_notes(&mut notes, &mut left, &mut most).unwrap();
            assert!(disk.operations() - before < 60, "{} reads", disk.operations() - before);
            pieces += 1;
        }
        assert_eq!(notes.befell().0.is_some(), *triggered, "{:?}", order.order);
    }
    assert!(pieces > 39, "{pieces}");
    let (mut amendments, mut pieces) = (at.amendments(OrderId(7), Sequence(0), usize::MAX).unwrap(), 1);
    let mut reads = disk.operations();
    while at.read_amendments(&mut amendments, 512).unwrap() {
        assert!(disk.operations() - reads < 60, "{} reads", disk.operations() - reads);
        (pieces, reads) = (pieces + 1, disk.operations());
    }
    assert!(pieces > 58, "{pieces}");
    let amendments = amendments.finish();
    assert_eq!((amendments.len(), amendments.last().unwrap().after), (10_000, orders[0].shares_now()));
    assert_eq!(amendments, shared.read().amendments(OrderId(7), Sequence(0), usize::MAX).unwrap());
    // The newest order comes first. Of the oldest one all is known, of the others not what was before the amendments.
    assert_eq!(triggered, [false, false, false, false, false, false, true]);
    for (id, shares) in endless {
        let order = orders.iter().find(|order| order.order == OrderId(id)).unwrap();
        assert_eq!(order.shares_now().units(), shares * UNITS - ENDLESS);
    }
}

/// Orders that were triggered long ago and end later are kept longer than their notes.
#[test]
fn who_would_miss_a_note_that_is_gone_is_told_so_and_all_else_is_there() {
    let (account, waits, mut market) = (account(), waits(), begun());
    play(&mut market, 1, &[waits; 16]);
    play(&mut market, 2, &[place(order(Side::Sell, 100, 1)), place(order(Side::Buy, 100, 1))]);
    let triggered = market.engine.sequence();
    assert_eq!(market.notes.len(), 16);
    // The first order executes, the second one is canceled, so their part of orders is as new as this turn.
    let cancel = Command::CancelOrder { account, order: OrderId(2).into() };
    play(&mut market, 1_000, &[place(order(Side::Sell, 50, 1)), cancel]);
    let disk = SimulatedDisk::new();
    let (view, history) = crate::common::follow_sized(&market, &disk, 4, crate::common::SMALL);
    let mut history = history.keeping(Keep { age_us: Some(500_000_000), bytes: None });
    history.checkpoint().unwrap();
    assert!((0..1_000).any(|_| !history.tend(view.time())), "there is no end to it");
    let found = history::verify(&disk, &mut |fault| panic!("{fault}")).unwrap().unwrap();
    assert_eq!((found.records[3], found.gone), (17, [0, 0, 8]), "and one that says where trades are");
    for (id, known) in [(1, false), (2, false), (3, false), (9, true)] {
        let order = history.order(OrderId(id)).unwrap().unwrap();
        assert_eq!(history.triggered_at(&order).unwrap().is_some(), known, "order {id}");
        let executions = history.executions_of(OrderId(id), 9).unwrap().unwrap().len();
        assert_eq!((executions, history.done(OrderId(id)).unwrap().is_some()), (usize::from(id == 1), id < 3));
    }
    let through = market.engine.sequence();
    let behind = |sequence| {
        let mut sweep = history.sweep(AccountIndex(0), ReportKey::after(sequence), through);
        while history.sweep_on(&mut sweep, 5)? {}
        Ok::<usize, HistoryError>(sweep.finish().0.len())
    };
    assert!(matches!(behind(Sequence(triggered.0 - 1)), Err(HistoryError::NoLongerKept { .. })));
    assert_eq!(behind(triggered).unwrap(), 4, "placed, two sides of a trade, and canceled");
}

/// Everything that a history says of these orders and of their account, in words; damage is an error's text.
fn told_of(history: &History, orders: u64, through: Sequence) -> Vec<String> {
    let say = |answer: Result<String, HistoryError>| answer.unwrap_or_else(|error| error.to_string());
    let mut told = Vec::new();
    let shown = |order: &PastOrder| format!("{:?} of {:?}, {:?}", order.shares_now(), order.shares, order.ended);
    for order in (1..=orders).map(OrderId) {
        told.push(say(history.order(order).map(|order| shown(&order.unwrap()))));
        told.push(say(history.done(order).map(|done| format!("{:?}", done.map(|done| done.canceled)))));
        for from in 1..=through.0 {
            let amendments = history.amendments(order, Sequence(from), usize::MAX);
            told.push(say(amendments.map(|amendments| format!("{amendments:?}"))));
        }
    }
    let orders = history.orders_of(AccountIndex(0), None, 9, &mut |_| true);
    let mut sweep = history.sweep(AccountIndex(0), ReportKey::after(Sequence::ZERO), through);
    let page = |(page, _): (Vec<PastOrder>, _)| page.iter().map(shown).collect::<Vec<String>>();
    told.push(say(orders.map(|orders| format!("{:?}", orders.map(page)))));
    loop {
        match history.sweep_on(&mut sweep, 5) {
            Ok(goes_on) if goes_on => {}
            Ok(_) => break,
            Err(error) => return [told, vec![error.to_string()]].concat(),
        }
    }
    let (keys, _) = sweep.finish();
    let reported = |report| match report {
        Report::Placed(order) => shown(&order),
        Report::Executed(..) | Report::Noted(_) | Report::Amended(_) | Report::Canceled(_) => format!("{report:?}"),
    };
    told.extend(keys.into_iter().map(|key| say(history.report(key).map(reported))));
    told
}

/// An amendment says how many shares were taken off its order until then. Where a note before it was damaged at the
/// start, it counted only what came later: the order had too many shares, and the damage was named no more.
#[test]
fn a_damaged_note_is_named_also_behind_an_amendment_and_an_ending() {
    let mut market = begun();
    let amend = |order, shares| Command::AmendOrder {
        account: account(),
        order: OrderId(order).into(),
        shares: Shares::from_units(shares * UNITS).unwrap(),
    };
    let cancel = |order| Command::CancelOrder { account: account(), order: OrderId(order).into() };
    play(&mut market, 1, &[waits(), place(order(Side::Buy, 90, 20)), place(order(Side::Buy, 80, 20))]);
    // The first order is triggered, the second one executes, and both stay open.
    play(&mut market, 2, &[place(order(Side::Sell, 100, 1)), place(order(Side::Buy, 100, 1))]);
    play(&mut market, 3, &[amend(2, 18), amend(3, 18), place(order(Side::Sell, 90, 1)), amend(2, 17)]);
    let covered = market.batches.len();
    let noted = 7;
    play(&mut market, 4, &[amend(2, 15), amend(3, 16)]);
    let amended = market.batches.len();
    play(&mut market, 5, &[amend(2, 14), cancel(1), cancel(2), cancel(3)]);
    let (before, turns) = (SimulatedDisk::new(), market.batches.len());
    let (_, mut history) = follow(&market, &before, covered);
    history.checkpoint().unwrap();
    assert_eq!(history::verify(&before, &mut |fault| panic!("{fault}")).unwrap().unwrap().records[3], noted);
    for at in 0..noted {
        let named = format!("record {at} of history/notes-000000.tab");
        let (disk, sound) = (before.copy(), before.copy());
        let bit = (at as usize * 76 + 33) * 8;
        disk.flip_bit(&path("notes-000000.tab"), bit);
        let mut first = covered;
        // The server starts, follows and stops, again and again.
        for last in [covered, amended, amended, turns, turns] {
            let [told, truth] = [&disk, &sound].map(|disk| {
                let (mut view, mut history) = open(disk, &market, first);
                apply(&market, &mut view, &mut history, first..last);
                history.checkpoint().unwrap();
                let through = market.batches[last - 1].0;
                told_of(&history, 3, through)
            });
            first = last;
            assert!(told.iter().any(|told| told.contains(&named)), "{named}, {last}: {told:?}");
            for (told, truth) in told.iter().zip(&truth).filter(|(told, truth)| told != truth) {
                assert!(told.contains(&named), "{named}, behind turn {last}: {told} instead of {truth}");
            }
            let mut faults = Vec::new();
            history::verify(&disk, &mut |fault| faults.push(fault.to_string())).unwrap();
            assert!(faults.len() == 1 && faults[0].contains(&named), "{named}: {faults:?}");
        }
        // Once it is repaired, everything is known again.
        disk.flip_bit(&path("notes-000000.tab"), bit);
        let [told, truth] =
            [&disk, &sound].map(|disk| told_of(&open(disk, &market, turns).1, 3, market.engine.sequence()));
        assert_eq!(told.len(), truth.len());
        for (told, truth) in told.iter().zip(&truth) {
            assert_eq!(told, truth, "{named} was repaired");
        }
    }
}
