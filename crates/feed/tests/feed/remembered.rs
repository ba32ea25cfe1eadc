//! Memory keeps trades and candles within a bound, however many symbols are traded.

use engine::{DoneOrders, Engine};
use exchange::EventBatch;
use feed::{CANDLES_BYTES_MAX, Candle, RECENT_MAX, TRADES_BYTES_MAX, Trade, View};
use terms::{
    AccountId, AccountIndex, Event, NewOrder, OrderId, Price, Sequence, Shares, Side, Symbol, SymbolIndex, Time,
};

const HOUR_US: u64 = 3_600_000_000;
/// Shares of each resting order: more than are traded.
const MANY: u64 = 1 << 40;

/// A view with one account, which trades with itself.
struct Market {
    view: View,
    sequence: u64,
    orders: u64,
}

impl Market {
    fn new() -> Market {
        let mut market = Market { view: View::new(&Engine::new(1, DoneOrders::Keep), None), sequence: 0, orders: 0 };
        let id = AccountId::parse(b"1").unwrap();
        market.apply([Event::AccountCreated { account: AccountIndex(0), id }]);
        market
    }

    /// Applies the events of the next command, an hour after the last one.
    fn apply(&mut self, events: impl IntoIterator<Item = Event>) {
        self.sequence += 1;
        let mut batch = EventBatch::default();
        events.into_iter().for_each(|event| batch.add(Sequence(self.sequence), event));
        batch.seal(Sequence(self.sequence), Time(self.sequence * HOUR_US));
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
    let mut market = Market::new();
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
    // All minutes of each symbol are kept.
    let minutes = (1_500 + SYMBOLS as usize * TRADES) * size_of::<Candle>();
    let bytes = market.view.remembered_bytes();
    assert!(bytes > alone && bytes <= trades + CANDLES_BYTES_MAX + minutes, "{bytes} bytes");
    for number in 0..=SYMBOLS {
        let listing = market.view.listing(SymbolIndex(number));
        assert!(listing.has_older && listing.recent().next() == listing.last.as_ref(), "symbol {number}");
    }
}
