//! Memory keeps trades and candles within a bound, however many symbols are traded.

use crate::auctions;
use crate::common::{self, EAGER, Nobody, follow};
use engine::{DoneOrders, Engine};
use exchange::EventBatch;
use feed::{
    CANDLES_BYTES_MAX, Candle, History, Interval, Listeners, MINUTES_BYTES_MAX, RECENT_MAX, ReadModel,
    TRADES_BYTES_MAX, Trade, Traded, View,
};
use journal::simulated::SimulatedDisk;
use terms::{
    AccountId, AccountIndex, Command, Event, Money, NewOrder, OrderId, Position, Price, Sequence, Shares, Side, Symbol,
    SymbolIndex, Time,
};

const MINUTE_US: u64 = 60_000_000;
const HOUR_US: u64 = 3_600_000_000;
/// Shares of each resting order: more than are traded.
const MANY: u64 = 1 << 40;

/// A view with one account, which trades with itself.
struct Market {
    view: View,
    /// The time between two commands.
    step_us: u64,
    sequence: u64,
    orders: u64,
}

impl Market {
    fn new(step_us: u64) -> Market {
        let view = View::new(&Engine::new(1, DoneOrders::Keep), None);
        let mut market = Market { view, step_us, sequence: 0, orders: 0 };
        let id = AccountId::parse(b"1").unwrap();
        market.apply([Event::AccountCreated { account: AccountIndex(0), id }]);
        market
    }

    /// Applies the events of the next command.
    fn apply(&mut self, events: impl IntoIterator<Item = Event>) {
        self.sequence += 1;
        let mut batch = EventBatch::default();
        events.into_iter().for_each(|event| batch.add(Sequence(self.sequence), event));
        batch.seal(Sequence(self.sequence), Time(self.sequence * self.step_us));
        self.view.apply(&batch);
    }

    fn open(&mut self, symbol: SymbolIndex, side: Side, shares: u64) -> (OrderId, Event) {
        self.orders += 1;
        let shares = Shares::from_units(i64::try_from(shares).unwrap()).unwrap();
        let placed = NewOrder::limit(symbol, side, Price::from_units(1).unwrap(), shares);
        let order = OrderId(self.orders);
        (order, Event::OrderOpened { order, account: AccountIndex(0), placed })
    }

    /// Adds a symbol with this many trades.
    fn add_traded(&mut self, number: u32, trades: usize) {
        let symbol = SymbolIndex(number);
        let name = Symbol::parse(format!("S{number}").as_bytes()).unwrap();
        let (maker, opened) = self.open(symbol, Side::Sell, MANY);
        self.apply([Event::SymbolCreated { symbol, name }, opened]);
        for _ in 0..trades {
            let (aggressor, opened) = self.open(symbol, Side::Buy, 1);
            let (price, shares) = (Price::from_units(1).unwrap(), Shares::from_units(1).unwrap());
            let (maker_account, maker_done) = (AccountIndex(0), false);
            let executed = Event::Executed { symbol, maker, maker_account, aggressor, price, shares, maker_done };
            self.apply([opened, executed]);
        }
    }

    fn recent(&self, number: u32) -> usize {
        self.view.listing(SymbolIndex(number)).recent().count()
    }
}

/// A thousand trades of each symbol once were kept, 80 KB for each, and 1,500 hours and days.
#[test]
fn symbols_share_what_memory_keeps_of_trades_and_candles() {
    const SYMBOLS: u32 = 2_000;
    const TRADES: usize = 300;
    let mut market = Market::new(HOUR_US);
    market.add_traded(0, 1_500);
    assert_eq!(market.recent(0), RECENT_MAX);
    let alone = market.view.remembered_bytes();
    for number in 1..=SYMBOLS {
        market.add_traded(number, TRADES);
    }
    let kept: Vec<usize> = (0..=SYMBOLS).map(|number| market.recent(number)).collect();
    assert!(kept.iter().all(|count| *count == kept[0] && *count > 50), "{kept:?}");
    let trades = kept.iter().sum::<usize>() * size_of::<Trade>();
    assert!(trades <= TRADES_BYTES_MAX && trades > TRADES_BYTES_MAX / 4, "{trades} bytes");
    // Fewer minutes than a symbol's share are all kept.
    let minutes = (1_500 + SYMBOLS as usize * TRADES) * size_of::<Candle>();
    assert!(minutes < MINUTES_BYTES_MAX);
    let bytes = market.view.remembered_bytes();
    assert!(bytes > alone && bytes <= trades + CANDLES_BYTES_MAX + minutes, "{bytes} bytes");
    for number in 0..=SYMBOLS {
        let listing = market.view.listing(SymbolIndex(number));
        assert!(listing.has_older && listing.recent().next() == listing.last.as_ref(), "symbol {number}");
    }
}

/// The oldest candle of 5 minutes lacked the minutes that memory no longer had.
#[test]
fn a_candle_that_memory_has_in_part_is_not_told() {
    let mut market = Market::new(MINUTE_US);
    market.add_traded(0, 1_600);
    let model = ReadModel { view: market.view, history: None, watcher: Nobody, listeners: Listeners::default() };
    for (interval, minutes) in [(Interval::FiveMinutes, 5), (Interval::FifteenMinutes, 15)] {
        let candles = model.candles(SymbolIndex(0), interval, None, usize::MAX).unwrap();
        let (_, whole) = candles.split_last().unwrap();
        assert!(whole.len() >= 1_500 / minutes - 2 && whole.iter().all(|candle| candle.trades == minutes as u64));
    }
}

/// A start counted all symbols, and so put back fewer minutes than memory had before.
#[test]
fn a_start_puts_back_as_many_minutes_where_most_symbols_were_never_traded() {
    const OTHERS: usize = 5_000;
    const TRADES: usize = 600;
    let mut market = common::Market::new(1);
    let (symbol, [buyer, seller]) = (auctions::symbol(), ["1", "2"].map(auctions::account));
    let name = |other: usize| Symbol::parse(format!("N{other}").as_bytes()).unwrap();
    let mut commands: Vec<Command> = (0..OTHERS).map(|other| Command::CreateSymbol { symbol: name(other) }).collect();
    commands.extend([
        Command::CreateSymbol { symbol },
        Command::CreateAccount { account: buyer, balance: Money::from_units(10_i128.pow(24)) },
        Command::CreateAccount { account: seller, balance: Money::ZERO },
        Command::IssueShares { symbol, account: seller, shares: Position::from_units(10_i128.pow(12)) },
        auctions::place("2", Side::Sell, 1, 1_000),
    ]);
    commands.extend((0..TRADES).map(|_| auctions::place("1", Side::Buy, 1, 1)));
    for (minute, command) in commands.into_iter().enumerate() {
        let (mut events, time) = (Vec::new(), Time(minute as u64 * MINUTE_US));
        market.apply(command, time, &mut events);
        market.batches.push((market.engine.sequence(), time, events));
    }
    let disk = SimulatedDisk::new();
    let (view, mut history) = follow(&market, &disk, market.batches.len());
    history.checkpoint().unwrap();
    drop(history);
    let history = History::open_sized(&disk, &market.engine, EAGER).unwrap();
    let mut again = View::new(&market.engine, Some(&history));
    again.recall(&history).unwrap();
    let [before, after] = [&view, &again].map(|view| {
        let day = view.listing(SymbolIndex(OTHERS as u32)).day(view.time()).unwrap();
        Traded { first_trade: None, ..day }
    });
    assert_eq!(before.trades, TRADES as u64);
    assert_eq!(after, before);
}
