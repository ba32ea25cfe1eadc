//! Who is told what, and telling them: messages are written once and shared by all who get them. Lives in the feed's thread.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use axum::extract::ws::Utf8Bytes;
use engine::{AccountIndex, OrderId, SymbolIndex, Time};
use feed::{Ended, Interval, News, Scene, Trade, Watcher};

use crate::messages;
use crate::outbox::Outbox;
use crate::rest::now;
use crate::shapes::SymbolShape;
use crate::telling::{Telling, own_cpu};
use crate::vitals::Vitals;

/// For the processor time that telling takes, in this thread and in that of the sockets, so many times of it are left to
/// others: with many to tell, they are told less often and more at once.
const SHARE: u32 = 9;
/// Much more would wait for a connection at once than it may.
const PAUSE_MAX: Duration = Duration::from_millis(50);
const SYMBOLS_EVERY: Duration = Duration::from_millis(250);
const STATUS_EVERY: Duration = Duration::from_secs(1);

/// What can be subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Book(SymbolIndex),
    Trades(SymbolIndex),
    Candles(SymbolIndex, Interval),
    Orders(AccountIndex),
    Symbols,
    Status,
}

/// All subscriptions.
pub struct Hub {
    subscribers: HashMap<Topic, Vec<Outbox>>,
    /// None until the gateways run.
    vitals: Option<Vitals>,
    /// What writing to sockets costs.
    telling: Telling,
    /// Symbols as they were told last.
    symbols: Vec<SymbolShape>,
    next_publish: Instant,
    next_symbols: Instant,
    next_status: Instant,
}

impl Hub {
    /// Nobody yet.
    pub fn new() -> Hub {
        let now = Instant::now();
        Hub {
            subscribers: HashMap::new(),
            vitals: None,
            telling: Telling::default(),
            symbols: Vec::new(),
            next_publish: now,
            next_symbols: now,
            next_status: now,
        }
    }

    pub(crate) fn measure_with(&mut self, vitals: Vitals) {
        self.vitals = Some(vitals);
    }

    /// Takes what writing to sockets costs from there.
    pub(crate) fn count_with(&mut self, telling: Telling) {
        self.telling = telling;
    }

    /// Tells a subscriber how things stand, and from now on how they change. False if it is one already.
    pub(crate) fn subscribe(scene: &mut Scene<Hub>, topic: Topic, outbox: &Outbox) -> bool {
        // What happened so far is in the snapshot: nobody is told it twice.
        Hub::publish(scene);
        let subscribers = scene.watcher.subscribers.entry(topic).or_default();
        if subscribers.contains(outbox) {
            return false;
        }
        subscribers.push(outbox.clone());
        Hub::watch(scene, topic, true);
        if let Some(snapshot) = messages::snapshot(scene, topic) {
            outbox.send(snapshot);
        }
        true
    }

    /// False if it was not subscribed.
    pub(crate) fn unsubscribe(scene: &mut Scene<Hub>, topic: Topic, outbox: &Outbox) -> bool {
        let Entry::Occupied(mut subscribers) = scene.watcher.subscribers.entry(topic) else { return false };
        let before = subscribers.get().len();
        subscribers.get_mut().retain(|subscriber| subscriber != outbox);
        let left = subscribers.get().len();
        if left == 0 {
            subscribers.remove();
            Hub::unwatch(scene, topic);
        }
        left < before
    }

    /// A connection ended.
    pub(crate) fn leave(scene: &mut Scene<Hub>, outbox: &Outbox) {
        let topics: Vec<Topic> = scene.watcher.subscribers.keys().copied().collect();
        for topic in topics {
            Hub::unsubscribe(scene, topic, outbox);
        }
    }

    fn has(&self, topic: Topic) -> bool {
        self.subscribers.contains_key(&topic)
    }

    fn watch(scene: &mut Scene<Hub>, topic: Topic, watched: bool) {
        match topic {
            Topic::Book(symbol) | Topic::Trades(symbol) | Topic::Candles(symbol, _) => {
                scene.view.watch_symbol(symbol, watched);
            }
            Topic::Orders(account) => scene.view.watch_account(account, watched),
            Topic::Symbols | Topic::Status => {}
        }
    }

    /// Nobody has this topic any more; another of the same symbol may still be watched.
    fn unwatch(scene: &mut Scene<Hub>, topic: Topic) {
        let symbol_of = |topic: &Topic| match *topic {
            Topic::Book(symbol) | Topic::Trades(symbol) | Topic::Candles(symbol, _) => Some(symbol),
            Topic::Orders(_) | Topic::Symbols | Topic::Status => None,
        };
        let symbol = symbol_of(&topic);
        let still = symbol.is_some() && scene.watcher.subscribers.keys().any(|other| symbol_of(other) == symbol);
        if !still {
            Hub::watch(scene, topic, false);
        }
    }

    fn tell(&self, topic: Topic, message: impl FnOnce() -> Utf8Bytes) {
        let Some(subscribers) = self.subscribers.get(&topic) else { return };
        let message = message();
        subscribers.iter().for_each(|outbox| outbox.send(message.clone()));
    }

    /// Tells what happened since the last time.
    fn publish(scene: &mut Scene<Hub>) {
        let mut symbols = scene.view.take_symbols();
        symbols.sort_unstable();
        symbols.dedup();
        for symbol in symbols {
            Hub::publish_symbol(scene, symbol);
        }
        let news = scene.view.take_news();
        for (account, news) in by_account(news) {
            let hub = &scene.watcher;
            hub.tell(Topic::Orders(account), || messages::orders_update(scene, account, &news));
        }
    }

    fn publish_symbol(scene: &mut Scene<Hub>, symbol: SymbolIndex) {
        let (levels, trades) = scene.view.take_symbol_news(symbol);
        let (hub, view) = (&scene.watcher, &scene.view);
        if !levels.is_empty() {
            hub.tell(Topic::Book(symbol), || messages::book_update(view, symbol, &levels));
        }
        if trades.is_empty() {
            return;
        }
        hub.tell(Topic::Trades(symbol), || messages::trades("update", view, symbol, &trades));
        for interval in Interval::ALL {
            let topic = Topic::Candles(symbol, interval);
            if !hub.has(topic) {
                continue;
            }
            match scene.candles(symbol, interval, None, 1) {
                Ok(candles) => {
                    for candle in &candles {
                        hub.tell(topic, || messages::candle_update(view, symbol, interval, candle));
                    }
                }
                Err(error) => tracing::error!(%error, "candles cannot be told"),
            }
        }
    }

    /// Tells which symbols look different than before.
    fn publish_symbols(scene: &mut Scene<Hub>) {
        let time = Time(now());
        let indices = (0..scene.view.listings().len() as u32).map(SymbolIndex);
        let shapes: Vec<SymbolShape> = indices.map(|symbol| SymbolShape::of(&scene.view, symbol, time)).collect();
        let before = std::mem::replace(&mut scene.watcher.symbols, shapes);
        let hub = &scene.watcher;
        let changed: Vec<&SymbolShape> = hub
            .symbols
            .iter()
            .enumerate()
            .filter(|(at, shape)| before.get(*at) != Some(*shape))
            .map(|(_, shape)| shape)
            .collect();
        if !changed.is_empty() {
            hub.tell(Topic::Symbols, || messages::symbols("update", &changed));
        }
    }

    fn publish_status(scene: &mut Scene<Hub>) {
        let connections = scene.watcher.connections();
        let Some(vitals) = &mut scene.watcher.vitals else { return };
        let measured = vitals.measure(&scene.view, connections);
        scene.watcher.tell(Topic::Status, || messages::status(&measured));
    }

    /// Connections that are subscribed to anything.
    fn connections(&self) -> usize {
        let mut all: Vec<u64> = self.subscribers.values().flatten().map(Outbox::number).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }
}

impl Default for Hub {
    fn default() -> Hub {
        Hub::new()
    }
}

impl Watcher for Hub {
    fn look(scene: &mut Scene<Hub>) -> Duration {
        let begun = Instant::now();
        if begun < scene.watcher.next_publish {
            return scene.watcher.next_publish - begun;
        }
        let cpu_before = own_cpu();
        Hub::publish(scene);
        if begun >= scene.watcher.next_symbols && scene.watcher.has(Topic::Symbols) {
            Hub::publish_symbols(scene);
            scene.watcher.next_symbols = begun + SYMBOLS_EVERY;
        }
        if begun >= scene.watcher.next_status {
            Hub::publish_status(scene);
            scene.watcher.next_status = begun + STATUS_EVERY;
        }
        let ended = Instant::now();
        let spent = own_cpu().saturating_sub(cpu_before) + scene.watcher.telling.take();
        let pause = spent.saturating_mul(SHARE).min(PAUSE_MAX);
        scene.watcher.next_publish = ended + pause;
        scene.watcher.next_status.min(ended + SYMBOLS_EVERY).saturating_duration_since(ended).max(pause)
    }
}

/// What one account is told.
#[derive(Default)]
pub(crate) struct AccountNews {
    /// Orders that are open and changed, in order.
    pub(crate) open: Vec<OrderId>,
    pub(crate) ended: Vec<Ended>,
    pub(crate) trades: Vec<(Trade, engine::Side)>,
}

/// In the order in which accounts are first told of.
fn by_account(news: Vec<News>) -> Vec<(AccountIndex, AccountNews)> {
    let mut all: Vec<(AccountIndex, AccountNews)> = Vec::new();
    let mut places: HashMap<AccountIndex, usize> = HashMap::new();
    for news in news {
        let account = match news {
            News::Account(account) | News::Order(account, _) | News::Ended(account, _) => account,
            News::Traded(account, ..) => account,
        };
        let at = *places.entry(account).or_insert_with(|| {
            all.push((account, AccountNews::default()));
            all.len() - 1
        });
        let its = &mut all[at].1;
        match news {
            News::Account(_) => {}
            News::Order(_, order) => its.open.push(order),
            News::Ended(_, ended) => its.ended.push(ended),
            News::Traded(_, trade, side) => its.trades.push((trade, side)),
        }
    }
    for (_, its) in &mut all {
        its.open.sort_unstable();
        its.open.dedup();
        let ended: Vec<OrderId> = its.ended.iter().map(|ended| ended.order.order).collect();
        its.open.retain(|order| !ended.contains(order));
    }
    all
}
