//! Orders that got other terms: the view, its news and the history tell them, as they are now and as they were then.

use crate::common::{EAGER, Market, SMALL, apply, follow, follow_sized};
use feed::{AmendedTerms, News, PastOrder, SharedHistory, View};
use history::{HISTORY_FOLDER, History, Keep};
use journal::simulated::SimulatedDisk;
use terms::{
    AccountId, AccountIndex, Amendment, Command, Money, NewOrder, OrderId, OrderKind, Place, Position, Price, Sequence,
    Shares, Side, Symbol, SymbolIndex, Time, TimeInForce, Trigger, WaitsFor,
};

const UNITS: i64 = 100_000_000;

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn price(dollars: i64) -> Price {
    Price::from_units(dollars * UNITS).unwrap()
}

fn shares(shares: i64) -> Shares {
    Shares::from_units(shares * UNITS).unwrap()
}

fn order(side: Side, dollars: i64, number: i64) -> NewOrder {
    NewOrder::limit(Symbol::parse(b"SPY").unwrap(), side, price(dollars), shares(number))
}

fn place(order: NewOrder) -> Command {
    Command::Place(Place::order(account(), order))
}

fn amend(order: u64) -> Amendment {
    Amendment::of(account(), OrderId(order).into())
}

fn cancel(order: u64) -> Command {
    Command::CancelOrder { account: account(), order: OrderId(order).into() }
}

/// Applies commands at this second.
fn play(market: &mut Market, seconds: u64, commands: &[Command]) {
    let (mut events, time) = (Vec::new(), Time(1_700_000_000_000_000 + seconds * 1_000_000));
    commands.iter().for_each(|command| market.apply(*command, time, &mut events));
    market.batches.push((market.engine.sequence(), time, events));
}

/// A market with an account that has dollars and shares.
fn begun() -> Market {
    let (account, symbol, mut market) = (account(), Symbol::parse(b"SPY").unwrap(), Market::new(1));
    let (balance, issued) = (Money::from_units(10_i128.pow(23)), Position::from_units(10_i128.pow(13)));
    let shares = Command::IssueShares { symbol, account, shares: issued };
    play(&mut market, 0, &[Command::CreateAccount { account, balance }, Command::CreateSymbol { symbol }, shares]);
    market
}

fn open(disk: &SimulatedDisk, market: &Market, turns: usize, sizes: history::Sizes) -> (View, History) {
    let engine = market.engine_after(turns);
    let history = History::open_sized(disk, &engine, sizes).unwrap();
    let mut view = View::new(&engine, Some(&history));
    view.recall(&history).unwrap();
    (view, history)
}

/// A question about the past is answered with the terms of that time, from a history that followed on and from one that
/// was opened again.
#[test]
fn an_order_of_the_past_has_the_terms_that_it_had_then() {
    let (mut amended, mut more, mut waited) = (0, 0, 0);
    for seed in [0, 2, 3, 4, 6, 8, 9, 10, 14, 15] {
        let mut market = Market::of_all_kinds(seed);
        (0..250).for_each(|_| market.turn());
        let disk = SimulatedDisk::new();
        let (_, mut history) = follow(&market, &disk, 250);
        history.checkpoint().unwrap();
        let again = open(&disk.copy(), &market, 250, EAGER).1;
        for history in [history, again].map(SharedHistory::new) {
            for (_, it) in &market.amended {
                for then in [Sequence(it.sequence.0 - 1), it.sequence, it.sequence.next(), market.engine.sequence()] {
                    if let Some(order) = history.at(then).unwrap().order(it.order).unwrap() {
                        market.check_terms(&order, then);
                    }
                }
                more += usize::from(it.after > it.before);
                waited += usize::from(it.terms.is_some_and(|terms| terms.trigger.is_some()));
            }
        }
        amended += market.amended_terms;
    }
    assert!(amended > 200 && more > 50 && waited > 20, "{amended} amended, {more} with more shares, {waited} waited");
}

/// An order that was the maker in one trade is the aggressor in the next one, in a later command. The trades before
/// were lost without a link to them.
#[test]
fn the_executions_of_an_order_go_on_when_it_is_placed_again() {
    let mut market = begun();
    play(
        &mut market,
        1,
        &[place(order(Side::Buy, 10, 5)), place(order(Side::Sell, 12, 2)), place(order(Side::Sell, 10, 1))],
    );
    // The order was the maker in the trade before. It becomes the aggressor, rests, and is the maker once more.
    play(&mut market, 2, &[Command::Amend(amend(1).with_limit(price(12))), place(order(Side::Sell, 12, 1))]);
    // It gets more shares, is the aggressor again behind a trade of others, and is done.
    let others = [place(order(Side::Sell, 20, 1)), place(order(Side::Buy, 20, 1)), place(order(Side::Sell, 13, 4))];
    play(&mut market, 3, &others);
    play(&mut market, 4, &[Command::Amend(amend(1).with_limit(price(13)).with_shares(shares(8)))]);
    assert_eq!(market.trades.len(), 5);
    for checkpoint in 0..=market.batches.len() {
        let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
        let (mut view, mut history) = follow(&market, &disk, checkpoint);
        if checkpoint > 0 {
            history.checkpoint().unwrap();
            (view, history) = open(&disk, &market, checkpoint, EAGER);
        }
        apply(&market, &mut view, &mut history, checkpoint..turns);
        market.check(&view);
        market.check_history(&history, 3);
        let done = history.order(OrderId(1)).unwrap().unwrap();
        assert_eq!((done.shares, done.shares_now(), done.limit), (shares(5), shares(8), price(13)));
        assert_eq!(history.executions_of(OrderId(1), 9).unwrap().unwrap().len(), 4);
    }
}

/// The news of an amendment tell the terms; the shares before and the money paid are found for the report of each.
#[test]
fn watchers_hear_of_other_terms_before_the_executions_that_they_bring() {
    let mut market = begun();
    play(
        &mut market,
        1,
        &[place(order(Side::Buy, 10, 5)), place(order(Side::Sell, 10, 2)), place(order(Side::Sell, 12, 3))],
    );
    let turns = market.batches.len();
    let until = terms::Deadline::from_code(u64::MAX >> 8).unwrap();
    let amendments = [amend(1).with_limit(price(12)).with_shares(shares(9)), amend(1).with_deadline(Some(until))];
    play(&mut market, 2, &amendments.map(Command::Amend));
    let (mut view, mut history) = follow(&market, &SimulatedDisk::new(), turns);
    view.watch_account(AccountIndex(0), true);
    apply(&market, &mut view, &mut history, turns..turns + 1);
    let news = view.take_news();
    let mut progress = feed::progress_before(&view, &news).remove(&OrderId(1)).unwrap();
    assert_eq!((progress.shares, progress.executed), (shares(5), shares(2)));
    assert_eq!((progress.order.limit, progress.order.until), (price(10), None), "as it was before all of them");
    let mut told = Vec::new();
    for news in news {
        match news {
            News::Amended(_, amended, terms) => {
                progress.amend(&amended, terms.as_ref());
                let AmendedTerms { limit, keeps_place, .. } = amended.terms.unwrap();
                assert_eq!((limit, progress.shares, amended.after), (price(12), shares(9), shares(9)));
                assert_eq!(progress.order.limit, price(12));
                assert_eq!(progress.order.until, keeps_place.then_some(until), "the second one brought the deadline");
                told.push(if keeps_place { "in place" } else { "placed again" });
            }
            News::Traded(_, trade, Side::Buy) => {
                progress.execute(&trade);
                told.push("traded");
            }
            News::Order(_, OrderId(1)) => told.push("order"),
            News::Order(..)
            | News::Traded(..)
            | News::Account(_)
            | News::Shares(..)
            | News::Transferred(..)
            | News::Ended(..) => {}
            News::Placed(..) | News::Noted(..) => panic!("{news:?}"),
        }
    }
    assert_eq!(told, ["placed again", "traded", "order", "in place", "order"]);
    let order = view.open_order(OrderId(1)).unwrap();
    assert_eq!((progress.executed, progress.money), (shares(5), order.money));
    assert_eq!((order.shares, order.open, order.limit, order.until), (shares(9), shares(4), price(12), Some(until)));
    market.check(&view);
}

/// An order that is placed again stands behind the others of its price; one that shows fewer shares keeps its place.
#[test]
fn an_order_with_another_limit_is_last_at_its_price() {
    let mut market = begun();
    play(&mut market, 1, &[10, 11, 11].map(|dollars| place(order(Side::Buy, dollars, 5))));
    let ahead = |view: &View, order: u64| view.place(OrderId(order)).unwrap().ahead.orders;
    let (mut view, mut history) = follow(&market, &SimulatedDisk::new(), 2);
    assert_eq!([1, 2, 3].map(|order| ahead(&view, order)), [0, 0, 1]);
    play(&mut market, 2, &[Command::Amend(amend(2).with_display(Some(shares(2))))]);
    play(&mut market, 3, &[Command::Amend(amend(1).with_limit(price(11)))]);
    apply(&market, &mut view, &mut history, 2..3);
    assert_eq!([1, 2, 3].map(|order| ahead(&view, order)), [0, 0, 1]);
    assert_eq!(view.listing(SymbolIndex(0)).book.level(Side::Buy, price(11)).shares, shares(7).position());
    apply(&market, &mut view, &mut history, 3..4);
    assert_eq!([2, 3, 1].map(|order| ahead(&view, order)), [0, 1, 2]);
    assert_eq!(view.listing(SymbolIndex(0)).book.level(Side::Buy, price(11)).orders, 3);
    market.check(&view);
    // Without a display it shows all its shares, and stands last.
    play(&mut market, 4, &[Command::Amend(amend(2).with_display(None))]);
    apply(&market, &mut view, &mut history, 4..5);
    assert_eq!([3, 1, 2].map(|order| ahead(&view, order)), [0, 1, 2]);
    market.check(&view);
}

/// A stop that moves waits on; one that was triggered has no stop any more once it is placed again, also behind a
/// start.
#[test]
fn a_stop_goes_on_waiting_for_another_price() {
    let mut market = begun();
    let stop = |dollars| Trigger::from_below(price(dollars));
    play(&mut market, 1, &[place(order(Side::Buy, 50, 3).triggered_by(stop(90)))]);
    play(&mut market, 2, &[Command::Amend(amend(1).with_wait(WaitsFor::StopLoss(price(80))))]);
    play(&mut market, 3, &[place(order(Side::Sell, 85, 1)), place(order(Side::Buy, 85, 1))]);
    let triggered = market.engine.sequence();
    play(&mut market, 4, &[Command::Amend(amend(1).with_deadline(None).with_shares(shares(2)))]);
    let in_place = market.engine.sequence();
    play(&mut market, 5, &[Command::Amend(amend(1).with_limit(price(40)))]);
    let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
    let (mut view, mut history) = follow(&market, &disk, 0);
    for turn in 0..turns {
        apply(&market, &mut view, &mut history, turn..turn + 1);
        market.batches.get(turn).into_iter().for_each(|(through, ..)| {
            if let Some(open) = view.open_order(OrderId(1)) {
                let expected = market.terms_then(OrderId(1), *through);
                assert_eq!(
                    (open.trigger, open.limit, open.shares),
                    (expected.trigger, expected.limit, expected.shares)
                );
                assert_eq!(open.waits, *through < triggered);
            }
        });
        history.checkpoint().unwrap();
        let (again, _) = open(&disk.copy(), &market, turn + 1, EAGER);
        let [now, then] = [&view, &again].map(|view| {
            let open = view.open_order(OrderId(1));
            open.map(|open| (open.trigger, open.waits, open.triggered, open.limit, open.open))
        });
        assert_eq!(now, then, "behind turn {turn}");
    }
    let shared = SharedHistory::new(history);
    let trigger = |then| shared.at(then).unwrap().order(OrderId(1)).unwrap().unwrap().trigger;
    assert_eq!(trigger(Sequence(triggered.0 - 1)), Some(stop(80)));
    assert_eq!((trigger(in_place), trigger(in_place.next())), (Some(stop(80)), None));
}

/// Terms of long ago are found at once, however often shares were taken off the order since.
#[test]
fn other_terms_behind_endless_reductions_delay_nobody() {
    let mut market = begun();
    play(&mut market, 1, &[place(order(Side::Buy, 10, 1))]);
    play(&mut market, 2, &[Command::Amend(amend(1).with_limit(price(9)))]);
    let before = market.engine.sequence();
    let (mut events, time) = (Vec::new(), Time(1_700_000_003_000_000));
    for taken in 1..=5_000 {
        let shares = Shares::from_units(UNITS - taken).unwrap();
        let command = Command::AmendOrder { account: account(), order: OrderId(1).into(), shares };
        let sequence = market.engine.sequence().next();
        let entry = terms::Entry { sequence, time, command };
        market.entries.push(entry);
        market.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push((sequence, event)));
    }
    market.batches.push((market.engine.sequence(), time, events));
    play(&mut market, 4, &[Command::Amend(amend(1).with_limit(price(8)))]);
    let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
    let (_, mut history) = follow(&market, &disk, turns);
    history.checkpoint().unwrap();
    let reads = disk.operations();
    let (_, history) = open(&disk, &market, turns, EAGER);
    assert!(disk.operations() - reads < 300, "a start reads {} times", disk.operations() - reads);
    let shared = SharedHistory::new(history);
    for (then, dollars, most) in [(market.engine.sequence(), 8, 10), (Sequence(market.engine.sequence().0 - 1), 9, 10)]
    {
        let reads = disk.operations();
        let order = shared.at(then).unwrap().order(OrderId(1)).unwrap().unwrap();
        assert_eq!((order.limit, order.shares_now().units()), (price(dollars), UNITS - 5_000));
        assert!(disk.operations() - reads < most, "{} reads", disk.operations() - reads);
    }
    let order = shared.at(before).unwrap().order(OrderId(1)).unwrap().unwrap();
    assert_eq!((order.limit, order.shares_now()), (price(9), shares(1)));
}

/// An order may be open for longer than its notes are kept. Its record has the limit and the shares of its placing, and
/// a start found no others, so that a done order had fewer shares than were executed.
#[test]
fn terms_outlive_their_notes_and_a_start() {
    let mut market = begun();
    let stop = place(order(Side::Buy, 50, 1).triggered_by(Trigger::from_below(price(60))));
    play(&mut market, 1, &[place(order(Side::Buy, 10, 1)), stop]);
    let amendments =
        [amend(1).with_limit(price(11)).with_shares(shares(6)), amend(2).with_wait(WaitsFor::StopLoss(price(70)))];
    play(&mut market, 2, &amendments.map(Command::Amend));
    // Other orders of that time have notes, too: their parts are full.
    play(&mut market, 3, &[place(order(Side::Buy, 5, 2)); 9]);
    for seconds in 4..8 {
        let reduced: Vec<Command> = (3..12)
            .map(|id| Command::AmendOrder {
                account: account(),
                order: OrderId(id).into(),
                shares: Shares::from_units(2 * UNITS - seconds as i64).unwrap(),
            })
            .collect();
        play(&mut market, seconds, &reduced);
    }
    play(&mut market, 1_000, &(3..12).map(cancel).collect::<Vec<Command>>());
    let kept = market.batches.len();
    play(&mut market, 1_001, &[place(order(Side::Sell, 11, 5)), Command::Amend(amend(2).with_limit(price(51)))]);
    play(
        &mut market,
        1_002,
        &[Command::AmendOrder { account: account(), order: OrderId(2).into(), shares: shares(1) }],
    );
    play(&mut market, 1_003, &[place(order(Side::Sell, 5, 1)), cancel(2)]);
    let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
    let (view, history) = follow_sized(&market, &disk, kept, SMALL);
    let mut history = history.keeping(Keep { age_us: Some(500_000_000), bytes: None });
    history.checkpoint().unwrap();
    assert!((0..1_000).any(|_| !history.tend(view.time())), "there is no end to it");
    let found = history::verify(&disk, &mut |fault| panic!("{fault}")).unwrap().unwrap();
    assert!(found.gone[2] >= 8, "the notes are gone: {:?}", found.gone);
    drop(history);
    for last in [kept, turns - 1, turns] {
        let disk = disk.copy();
        let (mut view, mut history) = open(&disk, &market, kept, SMALL);
        apply(&market, &mut view, &mut history, kept..last);
        history.checkpoint().unwrap();
        for (_, history) in [(view, history), open(&disk, &market, last, SMALL)] {
            for id in [1, 2] {
                let order: PastOrder = history.order(OrderId(id)).unwrap().unwrap();
                market.check_terms(&order, market.batches[last - 1].0);
                assert_eq!(
                    history.executions_of(order.order, 9).unwrap().unwrap().len(),
                    usize::from(id == 1) * (1 + usize::from(last == turns)) * usize::from(last > kept)
                );
            }
        }
    }
}

/// Everything that a history says of these orders, in words; damage is an error's text.
fn told_of(history: History, orders: u64, through: Sequence) -> Vec<String> {
    let history = SharedHistory::new(history);
    let say = |answer: Result<String, feed::HistoryError>| answer.unwrap_or_else(|error| error.to_string());
    let mut told = Vec::new();
    for order in (1..=orders).map(OrderId) {
        for then in (1..=through.0).map(Sequence) {
            let past = history.at(then).unwrap().order(order);
            told.push(say(past.map(|past| format!("{:?}", past.map(|past| (past.as_placed(), past.shares_now()))))));
        }
        let amendments = history.read().amendments(order, Sequence(0), usize::MAX);
        told.push(say(amendments.map(|amendments| format!("{amendments:?}"))));
        let executions = history.read().executions_of(order, 99);
        told.push(say(executions.map(|executions| format!("{executions:?}"))));
    }
    told
}

/// A damaged note is named wherever it is needed, and nothing that is told is wrong; once it is repaired, all is known.
#[test]
fn a_damaged_note_of_terms_is_named_and_hides_nothing_else() {
    let mut market = begun();
    play(
        &mut market,
        1,
        &[place(order(Side::Buy, 10, 5)), place(order(Side::Buy, 9, 5)), place(order(Side::Sell, 20, 9))],
    );
    let reduce = |order, number| Command::AmendOrder {
        account: account(),
        order: OrderId(order).into(),
        shares: shares(number),
    };
    play(&mut market, 2, &[Command::Amend(amend(1).with_shares(shares(7))), reduce(1, 6), reduce(2, 4)]);
    play(
        &mut market,
        3,
        &[Command::Amend(amend(2).with_limit(price(8))), Command::Amend(amend(1).with_display(Some(shares(1))))],
    );
    let covered = market.batches.len();
    play(&mut market, 4, &[reduce(1, 5), Command::Amend(amend(2).with_deadline(None).with_shares(shares(3)))]);
    let amended = market.batches.len();
    play(
        &mut market,
        5,
        &[
            Command::Amend(amend(1).with_limit(price(20))),
            Command::Amend(amend(2).with_tif(TimeInForce::Rests).with_shares(shares(8))),
        ],
    );
    play(&mut market, 6, &[place(order(Side::Sell, 8, 2)), cancel(2)]);
    let (before, turns) = (SimulatedDisk::new(), market.batches.len());
    let (_, mut history) = follow(&market, &before, covered);
    history.checkpoint().unwrap();
    let noted = history::verify(&before, &mut |fault| panic!("{fault}")).unwrap().unwrap().records[3];
    assert!(noted > 10, "{noted}");
    let name = format!("{HISTORY_FOLDER}/notes-000000.tab");
    for at in 0..noted {
        let named = format!("record {at} of history/notes-000000.tab");
        let (disk, sound) = (before.copy(), before.copy());
        let bit = (at as usize * 76 + 33) * 8;
        disk.flip_bit(&name, bit);
        let (mut first, mut errors) = (covered, 0);
        for last in [covered, amended, turns, turns] {
            let [told, truth] = [&disk, &sound].map(|disk| {
                let (mut view, mut history) = open(disk, &market, first, EAGER);
                apply(&market, &mut view, &mut history, first..last);
                history.checkpoint().unwrap();
                told_of(history, 3, market.batches[last - 1].0)
            });
            first = last;
            for (told, truth) in told.iter().zip(&truth).filter(|(told, truth)| told != truth) {
                assert!(told.contains(&named), "{named}, behind turn {last}: {told} instead of {truth}");
                errors += 1;
            }
        }
        assert!(errors > 0, "{named}");
        disk.flip_bit(&name, bit);
        let [told, truth] =
            [&disk, &sound].map(|disk| told_of(open(disk, &market, turns, EAGER).1, 3, market.engine.sequence()));
        for (told, truth) in told.iter().zip(&truth) {
            assert_eq!(told, truth, "{named} was repaired");
        }
    }
}

/// An order whose own record is damaged gets other terms: its note says how many shares it has, and once the record is
/// repaired, everything is known.
#[test]
fn terms_of_an_order_whose_record_is_damaged_are_known_once_it_is_repaired() {
    let mut market = begun();
    play(&mut market, 1, &[place(order(Side::Buy, 10, 5))]);
    let covered = market.batches.len();
    play(&mut market, 2, &[Command::Amend(amend(1).with_shares(shares(7)).with_limit(price(9)))]);
    play(&mut market, 3, &[Command::AmendOrder { account: account(), order: OrderId(1).into(), shares: shares(6) }]);
    play(&mut market, 4, &[place(order(Side::Sell, 9, 2)), cancel(1)]);
    let turns = market.batches.len();
    for last in covered + 1..=turns {
        let (disk, sound) = (SimulatedDisk::new(), SimulatedDisk::new());
        for disk in [&disk, &sound] {
            let (_, mut history) = follow(&market, disk, covered);
            history.checkpoint().unwrap();
        }
        let name = format!("{HISTORY_FOLDER}/orders-000000.tab");
        disk.flip_bit(&name, 20 * 8);
        for disk in [&disk, &sound] {
            let (mut view, mut history) = open(disk, &market, covered, EAGER);
            apply(&market, &mut view, &mut history, covered..last);
            history.checkpoint().unwrap();
        }
        let through = market.batches[last - 1].0;
        let told = told_of(open(&disk, &market, last, EAGER).1, 1, through);
        assert!(told.iter().any(|told| told.contains("record 0 of history/orders-000000.tab")), "{told:?}");
        disk.flip_bit(&name, 20 * 8);
        let [told, truth] = [&disk, &sound].map(|disk| told_of(open(disk, &market, last, EAGER).1, 1, through));
        assert_eq!(told, truth, "behind turn {last}");
    }
}

/// A limit order that is to be done at once executes what it can, and the rest of it is canceled.
#[test]
fn an_order_that_is_to_be_done_at_once_ends() {
    let mut market = begun();
    play(&mut market, 1, &[place(order(Side::Buy, 10, 5)), place(order(Side::Sell, 12, 2))]);
    let done = amend(1).with_tif(TimeInForce::ImmediateOrCancel).with_limit(price(12));
    play(&mut market, 2, &[Command::Amend(done)]);
    let (view, history) = follow(&market, &SimulatedDisk::new(), market.batches.len());
    assert_eq!(view.open_orders(), 0);
    market.check(&view);
    market.check_history(&history, 2);
    let order = history.order(OrderId(1)).unwrap().unwrap();
    assert_eq!((order.kind, order.ended.unwrap().canceled), (OrderKind::ImmediateOrCancel, shares(3)));
}
