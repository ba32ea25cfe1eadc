//! Candles of a second are made of what memory has, and of few of the trades in the files, however many are newer.

use crate::common::{EAGER, Market, Nobody, apply, scene};
use feed::{Candle, History, Interval, ReadModel, Seconds, View};
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

/// Makes the market, and its read model as it is after a restart: memory has the last 100 trades of each symbol.
fn traded() -> (SimulatedDisk, ReadModel<Nobody>) {
    let mut market = Market::new(1);
    let mut turn = |time: Time, commands: &[Command]| {
        let mut events = Vec::new();
        for command in commands {
            let sequence = market.engine.sequence().next();
            let entry = Entry { sequence, time, command: *command };
            market.entries.push(entry);
            market.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push((sequence, event)));
        }
        market.batches.push((market.engine.sequence(), time, events));
    };
    let symbols = [b"SPY", b"QQQ"].map(|name| Symbol::parse(name).unwrap());
    let issue = |symbol| Command::IssueShares { symbol, account: account(), shares: Position::from_units(1 << 50) };
    let balance = Money::from_units(1 << 80);
    turn(at(0), &[Command::CreateAccount { account: account(), balance }]);
    symbols.into_iter().for_each(|symbol| turn(at(0), &[Command::CreateSymbol { symbol }, issue(symbol)]));
    let trade = |symbol| {
        let (price, shares) = (Price::from_units(UNITS).unwrap(), Shares::from_units(UNITS).unwrap());
        [Side::Sell, Side::Buy]
            .map(|side| Command::Place(Place::order(account(), NewOrder::limit(symbol, side, price, shares))))
    };
    for second in 0..SECONDS {
        turn(at(second), &trade(symbols[0]));
        if second % 60 == 0 {
            turn(at(second), &trade(symbols[1]));
        }
    }
    let (disk, turns) = (SimulatedDisk::new(), market.batches.len());
    let begun = market.engine_after(0);
    let mut history = History::open_sized(&disk, &begun, EAGER).unwrap();
    apply(&market, &mut View::new(&begun, Some(&history)), &mut history, 0..turns);
    history.checkpoint().unwrap();
    let mut view = View::new(&market.engine, Some(&history));
    view.recall(&history).unwrap();
    (disk, scene(view, history))
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
