//! A market on a ledger in memory: the loop that serves, an engine, and a feed that follows it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::{Batch, Exchange, Lookup, Metrics, Unavailable};
use feed::{Feed, FeedHandle, InitialHistory};
use http_gateway::Hub;
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::memory_ledger::MemoryLedger;
use market::timekeeper::Clock;
use market::turn::{MarketLoop, TurnOptions};
use terms::{AccountId, Command, Money, Op, Position, Symbol};

/// The most executions in the answers to one request.
const EXECUTIONS_MAX: usize = 1_000;
/// The dollars, and the shares of each symbol, of each account.
const OF_EACH: i128 = 1_000_000;

/// The loop, behind the port of gateways. Done orders stay in the engine: there is no history.
pub(crate) struct MemoryExchange(Mutex<MarketLoop<MemoryLedger>>);

impl Exchange for MemoryExchange {
    fn submit(&self, batch: Box<Batch>) {
        let mut turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match turn.step(&mut vec![batch]) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    fn look_up(&self, lookup: Lookup) {
        lookup.refuse(Unavailable::StoreAway);
    }
}

/// A market and its feed.
pub(crate) struct MemoryMarket {
    pub(crate) exchange: Arc<MemoryExchange>,
    pub(crate) metrics: Metrics,
    feed: Option<Feed<Hub>>,
}

impl MemoryMarket {
    /// A market with the accounts 1 to 3, which have dollars and shares of the symbols S and T.
    pub(crate) fn new() -> MemoryMarket {
        let engine = Engine::new(1, DoneOrders::Keep);
        let known = InitialHistory { next_trade: 1, placed: Vec::new(), markets: Vec::new() };
        let feed = Feed::start_from(&engine, &known, binance::hub()).expect("a thread can be started");
        let metrics = Metrics::new(&["rest", "fix", "xml"]);
        let options = TurnOptions {
            limits: AnswerLimits { request_executions_max: EXECUTIONS_MAX },
            bounds: Bounds::NONE,
            metrics: metrics.clone(),
            clock: Clock::system(),
            clock_leap_max: Duration::from_secs(1 << 30),
            calendar: Calendar::default(),
            audit: false,
        };
        let ledger = MemoryLedger::followed_by(feed.follower());
        let exchange = Arc::new(MemoryExchange(Mutex::new(MarketLoop::new(engine, ledger, options))));
        let market = MemoryMarket { exchange, metrics, feed: Some(feed) };
        market.furnish();
        market
    }

    pub(crate) fn asker(&self) -> FeedHandle<Hub> {
        self.feed.as_ref().expect("invariant: the feed runs until the market is dropped").asker()
    }

    fn furnish(&self) {
        let account = |id: &[u8]| AccountId::parse(id).expect("a number");
        let dollars = Money::from_units(OF_EACH.saturating_mul(terms::DOLLAR));
        let shares = Position::from_units(OF_EACH.saturating_mul(100_000_000));
        let accounts = [b"1", b"2", b"3"].map(|id| account(id));
        let mut ops: Vec<Op> = accounts
            .iter()
            .map(|account| Op::Command(Command::CreateAccount { account: *account, balance: dollars }))
            .collect();
        for symbol in [b"S", b"T"].map(|name| Symbol::parse(name).expect("a letter")) {
            ops.push(Op::Command(Command::CreateSymbol { symbol }));
            ops.extend(accounts.map(|account| Op::Command(Command::IssueShares { symbol, account, shares })));
        }
        let mut batch = Batch::calling(drop);
        batch.requests.push(&ops);
        self.exchange.submit(batch);
    }
}

impl Drop for MemoryMarket {
    fn drop(&mut self) {
        if let Some(feed) = self.feed.take() {
            drop(feed.stop());
        }
    }
}
