//! Candles of a second are made of what memory has, and of few of the trades in the files, however many are newer.

use crate::common::{EAGER, Market, Nobody, apply, batch, follow, scene};
use crate::damage::flip;
use crate::parts::{follow_keeping, open};
use engine::{DoneOrders, Engine};
use feed::{Candle, History, HistoryError, Interval, Listeners, ReadModel, Seconds, View};
use history::{Keep, Keeper, Sizes, verify};
use journal::simulated::SimulatedDisk;
use terms::{
    AccountId, Command, Entry, Money, NewOrder, Place, Position, Price, Shares, Side, Symbol, SymbolIndex, Time,
};

/// One share, or one dollar.
const UNITS: i64 = 100_000_000;
/// The busy symbol is traded once in each of these seconds, the other one once in a minute, 20 seconds into it.
const SECONDS: u64 = 12_000;
const BUSY: SymbolIndex = SymbolIndex(0);
const OTHER: SymbolIndex = SymbolIndex(1);

fn at(second: u64) -> Time {
    Time(1_700_000_000_000_000 + second * 1_000_000)
}

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn name(symbol: SymbolIndex) -> Symbol {
    Symbol::parse([b"SPY", b"QQQ"][symbol.0 as usize]).unwrap()
}

/// Applies the commands of a turn.
fn turn(market: &mut Market, time: Time, commands: &[Command]) {
    let mut events = Vec::new();
    for command in commands {
        let sequence = market.engine.sequence().next();
        let entry = Entry { sequence, time, command: *command };
        market.entries.push(entry);
        market.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push((sequence, event)));
    }
    market.batches.push((market.engine.sequence(), time, events));
}

/// Builds a market of one account with both symbols.
fn begun() -> Market {
    let mut market = Market::new(1);
    let issue = |symbol| Command::IssueShares { symbol, account: account(), shares: Position::from_units(1 << 60) };
    let balance = Money::from_units(1 << 80);
    turn(&mut market, at(0), &[Command::CreateAccount { account: account(), balance }]);
    for symbol in [BUSY, OTHER].map(name) {
        turn(&mut market, at(0), &[Command::CreateSymbol { symbol }, issue(symbol)]);
    }
    market
}

fn place(symbol: SymbolIndex, side: Side, dollars: i64, shares: i64) -> Command {
    let (price, shares) = (Price::from_units(dollars * UNITS).unwrap(), Shares::from_units(shares * UNITS).unwrap());
    Command::Place(Place::order(account(), NewOrder::limit(name(symbol), side, price, shares)))
}

/// Trades a share.
fn trade(market: &mut Market, time: Time, symbol: SymbolIndex, dollars: i64) {
    turn(market, time, &[Side::Sell, Side::Buy].map(|side| place(symbol, side, dollars, 1)));
}

/// Makes the read model of a market as it is after a restart: memory has the last 100 trades of each symbol.
fn restarted(market: &Market, sizes: Sizes) -> (SimulatedDisk, ReadModel<Nobody>) {
    let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
    let begun = market.engine_after(0);
    let mut history = History::open_sized(&disk, &begun, sizes).unwrap();
    apply(market, &mut View::new(&begun, Some(&history)), &mut history, 0..turns);
    history.checkpoint().unwrap();
    let mut view = View::new(&market.engine, Some(&history));
    view.recall(&history).unwrap();
    (disk, scene(view, history))
}

fn traded() -> (SimulatedDisk, ReadModel<Nobody>) {
    let mut market = begun();
    for second in 0..SECONDS {
        trade(&mut market, at(second), BUSY, 1);
        if second % 60 == 0 {
            trade(&mut market, at(second), OTHER, 1);
        }
    }
    restarted(&market, EAGER)
}

/// Returns the seconds in which candles begin. Each is made of one trade.
fn seconds(candles: &[Candle]) -> Vec<u64> {
    assert!(candles.iter().all(|candle| candle.trades == 1), "{candles:?}");
    candles.iter().map(|candle| (candle.start.0 - at(0).0) / 1_000_000).collect()
}

/// Every second of a page counted the newer trades against its 5,000: an end before the last 5,000 trades had no
/// candles, and each window of a page read 5,000 trades in vain.
#[test]
fn candles_of_seconds_long_ago_are_found_without_the_newer_trades() {
    let (disk, model) = traded();
    let ask = |symbol, before: Option<u64>, limit, reads_max| {
        let reads = disk.operations();
        let candles = model.candles(symbol, Interval::Second, before.map(at), limit).unwrap();
        let reads = disk.operations() - reads;
        assert!(reads <= reads_max, "{symbol:?} before {before:?}: {reads} reads");
        seconds(&candles)
    };
    assert_eq!(ask(BUSY, None, 2, 0), [SECONDS - 2, SECONDS - 1], "memory has them");
    assert_eq!(ask(BUSY, Some(SECONDS - 50), 20, 0), (SECONDS - 70..SECONDS - 50).collect::<Vec<u64>>());
    for end in [7, 50, 3_000, 7_777, SECONDS - 101] {
        assert_eq!(ask(BUSY, Some(end), 20, 200), (end.saturating_sub(20)..end).collect::<Vec<u64>>());
    }
    let whole: Vec<u64> = (SECONDS - 5_000..SECONDS).collect();
    assert_eq!(ask(BUSY, None, 5_000, 1_000), whole);
    // The trades of the other symbol lie behind those of the busy one; of one minute both ends are cut.
    for (end, expected) in [(3_601, [3_540, 3_600]), (3_600, [3_480, 3_540]), (3_595, [3_480, 3_540])] {
        assert_eq!(ask(OTHER, Some(end), 2, 300), expected, "before {end}");
    }
    assert_eq!(ask(OTHER, Some(0), 2, 300), [0; 0]);
}

#[test]
fn the_candles_of_a_stretch_are_read_some_trades_at_a_time() {
    let (disk, model) = traded();
    let read = |mut seconds: Seconds| {
        let (history, mut pieces, mut goes_on) = (model.history().unwrap(), 0, true);
        while goes_on {
            let reads = disk.operations();
            goes_on = seconds.go_on(&model.view, history.as_ref(), 512).unwrap();
            assert!(disk.operations() - reads < 150, "{} reads", disk.operations() - reads);
            pieces += 1;
        }
        (pieces, seconds)
    };
    let stretch = (Some(at(2_000)), Some(at(9_000)));
    let (pieces, all) = read(Seconds::new(BUSY, stretch, usize::MAX).without_bound());
    assert_eq!((all.trades(), seconds(&all.finish())), (7_000, (2_000..9_000).collect()));
    assert!(pieces > 13, "{pieces}");
    // The oldest one may lack trades: it is not told.
    let (_, last) = read(Seconds::new(BUSY, stretch, usize::MAX));
    assert_eq!(seconds(&last.finish()), (4_000..9_000).collect::<Vec<u64>>());
    let (_, none) = read(Seconds::new(BUSY, stretch, 0));
    assert_eq!(none.finish(), []);
}

/// A damaged trade of another symbol, which the search for an old trade reads, made candles unreadable.
#[test]
fn damaged_trades_of_others_keep_no_candles_away() {
    const TRADES: &str = "trades-000000.tab";
    const TRADE_BYTES: usize = 105;
    let (disk, model) = traded();
    let ask = || model.candles(OTHER, Interval::Second, Some(at(3_595)), 2);
    // The trades in seconds 3,590 and 6,000 of the busy symbol: one behind the wanted ones, and the first that is read.
    for record in [3_590 + 60, 6_000 + 100] {
        let bit = record * TRADE_BYTES * 8 + 5;
        flip(&disk, TRADES, bit);
        assert_eq!(seconds(&ask().unwrap()), [3_480, 3_540], "record {record} is damaged");
        flip(&disk, TRADES, bit);
    }
    // The wanted one.
    flip(&disk, TRADES, (3_541 + 59) * TRADE_BYTES * 8 + 5);
    assert!(ask().unwrap_err().is_damage());
}

/// Candles of a symbol that is traded seldom were not found behind very many trades of another one, and the answer was
/// that there are none.
#[test]
fn candles_behind_very_many_trades_of_others_are_found_along_the_symbol_itself() {
    const OTHERS: u64 = 164_000;
    let mut market = begun();
    trade(&mut market, at(10), OTHER, 1);
    // All of this is in one minute, which ends with second 40.
    turn(&mut market, at(11), &[place(BUSY, Side::Sell, 1, OTHERS as i64)]);
    for second in 11..11 + 20 {
        let buys: Vec<Command> = (0..OTHERS / 20).map(|_| place(BUSY, Side::Buy, 1, 1)).collect();
        turn(&mut market, at(second), &buys);
    }
    (0..150).for_each(|_| trade(&mut market, at(300), OTHER, 1));
    let ask = |model: &ReadModel<Nobody>| model.candles(OTHER, Interval::Second, Some(at(38)), 2);
    let (_, model) = restarted(&market, Sizes::USUAL);
    assert_eq!(seconds(&ask(&model).unwrap()), [10]);
    (0..5_200).for_each(|_| trade(&mut market, at(400), OTHER, 1));
    let (_, model) = restarted(&market, Sizes::USUAL);
    let error = ask(&model).unwrap_err();
    // The error names the minute behind whose trades the candle lies, so that who asks can go on before it.
    let HistoryError::Buried { since } = error else { panic!("{error}") };
    assert_eq!(since, Time(at(0).0 - 20_000_000));
    assert!(error.to_string().contains(&format!("before {} may be", since.0)), "{error}");
}

/// Puts a view together with a history that has ended: a question that needs it gets an error.
fn without_history(view: View) -> ReadModel<Nobody> {
    let history = History::open(&SimulatedDisk::new(), &Engine::new(1, DoneOrders::Keep)).unwrap();
    let keeper = Keeper::start(history, |_| {}, |_| {}).unwrap();
    let history = Some(keeper.history());
    keeper.stop().unwrap();
    ReadModel { view, history, watcher: Nobody, listeners: Listeners::default() }
}

/// The second in which a candle begins, its prices, and its shares and trades, which are as many.
fn numbers(candle: &Candle) -> (u64, [i64; 4], i128, u64) {
    let prices = [candle.open, candle.high, candle.low, candle.close].map(|price| price.units() / UNITS);
    ((candle.start.0 - at(0).0) / 1_000_000, prices, candle.volume.units() / i128::from(UNITS), candle.trades)
}

/// A second with more trades than memory keeps was asked of the history, and its disk, at each publishing. Of one with
/// more than 6,000 the candle lacked the first ones.
#[test]
fn a_second_with_any_number_of_trades_has_a_whole_candle_or_none() {
    const TRADES: [i64; 5] = [1, 1, 1, 6_500, 2_500];
    let mut market = begun();
    for (second, trades) in (0..).zip(TRADES) {
        // The first price is the lowest, and none is there twice.
        (0..trades).for_each(|nth| trade(&mut market, at(second), BUSY, 1 + nth));
    }
    let whole = |second: usize| {
        let trades = TRADES[second];
        (second as u64, [1, trades, 1, trades], i128::from(trades), trades as u64)
    };
    let some = |seconds: std::ops::Range<usize>| seconds.map(whole).collect::<Vec<_>>();
    let told = |model: &ReadModel<Nobody>, before: Option<u64>, limit: usize| {
        let candles = model.candles(BUSY, Interval::Second, before.map(at), limit);
        candles.map(|candles| candles.iter().map(numbers).collect::<Vec<_>>())
    };
    let (view, history) = follow(&market, &SimulatedDisk::new(), market.batches.len());
    let followed = scene(view, history);
    assert_eq!(told(&followed, None, 1).unwrap(), some(4..5));
    assert_eq!(told(&followed, None, 500).unwrap(), some(3..5), "the ones before are too far behind");
    assert_eq!(told(&followed, Some(4), 2).unwrap(), some(2..4));
    assert_eq!(told(&followed, Some(3), 500).unwrap(), some(0..3));
    // Followers need no history, at any moment.
    let mut model = without_history(View::new(&Engine::new(1, DoneOrders::Keep), None));
    for turn in 0..market.batches.len() {
        model.view.apply(&batch(&market, turn));
        // The first three turns make the market.
        let traded = (turn + 1).saturating_sub(3) as u64;
        if traded > 0 && traded.is_multiple_of(500) {
            let counts: Vec<u64> = told(&model, None, 2).unwrap().iter().map(|candle| candle.3).collect();
            assert_eq!(counts, if traded > 6_503 { [6_500, traded - 6_503] } else { [1, traded - 3] });
        }
    }
    assert_eq!(told(&model, None, 2).unwrap(), some(3..5));
    assert!(matches!(model.candles(BUSY, Interval::Second, None, 3), Err(HistoryError::Ended)));
    // After a start memory has the last trades of a second alone. What is published waits for no disk: nothing is told.
    let (_, model) = restarted(&market, EAGER);
    assert_eq!(model.candles_to_tell(BUSY, Interval::Second, 1).unwrap(), []);
    assert_eq!(told(&model, None, 1).unwrap(), some(4..5));
    assert_eq!(told(&model, None, 2).unwrap(), some(4..5), "the one before has too many trades for one look");
    assert_eq!(told(&model, Some(4), 1).unwrap(), []);
    for (limit, expected) in [(1, some(3..4)), (5, some(0..4))] {
        let (mut seconds, history) = (Seconds::new(BUSY, (None, Some(at(4))), limit), model.history().unwrap());
        while seconds.go_on(&model.view, history.as_ref(), 512).unwrap() {}
        assert_eq!(seconds.finish().iter().map(numbers).collect::<Vec<_>>(), expected, "with some looks it is made");
    }
}

/// The oldest candle at the edge of what is kept lacked the trades that are gone.
#[test]
fn a_candle_whose_first_trades_are_no_longer_kept_is_not_told() {
    for (seconds, each) in [(60, 3), (3, 100)] {
        let mut market = begun();
        for second in 0..seconds {
            (0..each).for_each(|_| trade(&mut market, at(second), BUSY, 1));
        }
        let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
        drop(follow_keeping(&market, &disk, Keep { age_us: None, bytes: Some(1) }, turns));
        let [_, gone, _] = verify(&disk, &mut |_| {}).unwrap().unwrap().gone;
        let whole: Vec<u64> = (gone.div_ceil(each)..seconds).collect();
        assert!(gone > 0 && whole.is_empty() == (each == 100), "{gone} of {seconds} times {each} are gone");
        let (view, history) = open(&disk, &market, turns).unwrap();
        match scene(view, history).candles(BUSY, Interval::Second, None, 500) {
            Ok(candles) => {
                let told = candles.iter().map(|candle| (candle.start, candle.trades));
                assert!(told.eq(whole.iter().map(|second| (at(*second), each))), "{gone} are gone: {candles:?}");
                assert!(!whole.is_empty());
            }
            Err(error) => {
                assert!(matches!(error, HistoryError::NoLongerKept { .. }) && whole.is_empty(), "{error}");
            }
        }
    }
}

/// Memory once said of a symbol whose trades are all gone that there are no candles.
#[test]
fn where_all_trades_of_a_symbol_are_no_longer_kept_the_answer_says_so() {
    let mut market = begun();
    trade(&mut market, at(0), BUSY, 1);
    (1..600).for_each(|second| trade(&mut market, at(second), OTHER, 1));
    let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
    drop(follow_keeping(&market, &disk, Keep { age_us: None, bytes: Some(1) }, turns));
    let (view, history) = open(&disk, &market, turns).unwrap();
    let model = scene(view, history);
    let error = model.candles(BUSY, Interval::Second, None, 500).unwrap_err();
    assert!(matches!(error, HistoryError::NoLongerKept { .. }), "{error}");
    assert_eq!(model.candles_to_tell(BUSY, Interval::Second, 1).unwrap(), []);
    assert_eq!(seconds(&model.candles_to_tell(OTHER, Interval::Second, 2).unwrap()), [598, 599]);
}
