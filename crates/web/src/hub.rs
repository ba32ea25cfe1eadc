//! The hub: knows which connections are subscribed to which topics, and sends the messages. It writes a message once
//! for all subscribers. It lives in the feed's thread.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use engine::{AccountIndex, Price, Side, SymbolIndex};
use feed::{Candle, Interval, News, ReadModel, Report, ReportKey, SymbolFollowers, Trade, View, Watcher};

use crate::account_news::by_account;
use crate::messages::{self, REPORTS_AT_ONCE, whole};
use crate::outbox::{KeptBytes, Outbox};
use crate::outbox_budget::OutboxBudget;
use crate::publish_cost::{PublishCost, own_cpu};
use crate::server_stats::{Measured, ServerStats};
use crate::shared_text::SharedText;
use crate::subscriptions::{Change, Subscriptions};
use crate::ticker::Ticker;
use crate::topic::{Subject, Topic};
use crate::waiting_list::WaitingList;

/// The share of time that publishing leaves to others: it takes processor time in this thread and in the sockets'
/// thread, and this many times as much passes before the next one. So with many subscribers each gets fewer and larger
/// messages.
const SHARE: u32 = 9;
/// The longest pause between two publishings. After a longer one, more bytes would wait for a connection at once than
/// may.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// Reports that are held for one subscriber, at most.
const HELD_MAX: usize = 1 << 16;
const SYMBOLS_EVERY: Duration = Duration::from_millis(250);
const STATUS_EVERY: Duration = Duration::from_secs(1);

/// Reports that are held for one subscriber.
struct HeldReports {
    replay: u64,
    reports: VecDeque<Report>,
    /// The bytes that they take.
    kept: KeptBytes,
}

impl HeldReports {
    /// Counts the held reports anew.
    fn weigh(&mut self, outbox: &Outbox) {
        self.kept = outbox.keep(self.reports.len() * size_of::<Report>());
    }
}

/// The events of an interface with messages of its own.
pub(crate) trait Streams: Send {
    /// Begins a topic that had no followers. Everything that happened so far was sent.
    fn begin(&mut self, view: &View, topic: Topic);

    /// Ends a topic that has no followers any more.
    fn end(&mut self, topic: Topic);

    /// Takes in the last days of a followed symbol from a database: memory begins with the server's start.
    fn learn(&mut self, symbol: SymbolIndex, days: Vec<Candle>);

    /// Sends what was gathered for a topic, before it is due.
    fn tell_gathered(&mut self, scene: &ReadModel<Hub>, topic: Topic);

    /// Takes in what happened to a symbol, and sends the events that are due at once.
    fn follow_symbol(
        &mut self,
        scene: &ReadModel<Hub>,
        symbol: SymbolIndex,
        levels: &[(Side, Price)],
        trades: &[Trade],
    );

    /// Sends accounts the events of their news.
    fn follow_accounts(&mut self, scene: &ReadModel<Hub>, news: &[News]);

    /// Sends the events that are due, after everything that happened was taken in. Returns the time of the next ones.
    fn tell_due(&mut self, scene: &mut ReadModel<Hub>) -> Option<Instant>;
}

/// All subscriptions, and the state of their messages.
pub struct Hub {
    subscriptions: Subscriptions,
    /// Subscriptions that begin when their long snapshot is made.
    waiting: WaitingList,
    /// Reports held for subscribers, by number, that are still getting the past; they get these reports behind it.
    held: HashMap<(u64, AccountIndex), HeldReports>,
    /// The number of the last replay, which tells apart replays of the same subscriber.
    replays: u64,
    /// `None` until the gateways run.
    stats: Option<ServerStats>,
    /// The cost of writing to sockets.
    telling: PublishCost,
    /// Counts the clients that proved too slow. `None` before the first subscription.
    budget: Option<OutboxBudget>,
    /// The number of clients that had proved too slow when their subscriptions were ended last.
    left: u64,
    /// The changes for subscribers of all symbols.
    symbols: Ticker,
    /// The streams of another interface. `None` while they have the read model.
    streams: Option<Box<dyn Streams>>,
    next_publish: Instant,
    next_symbols: Instant,
    next_status: Instant,
}

impl Hub {
    /// Returns a hub without subscribers. `streams` learns which topics have followers.
    pub(crate) fn with(streams: Box<dyn Streams>) -> Hub {
        let now = Instant::now();
        Hub {
            subscriptions: Subscriptions::default(),
            waiting: WaitingList::new(),
            held: HashMap::new(),
            replays: 0,
            stats: None,
            telling: PublishCost::default(),
            budget: None,
            left: 0,
            symbols: Ticker::default(),
            streams: Some(streams),
            next_publish: now,
            next_symbols: now,
            next_status: now,
        }
    }

    pub(crate) fn measure_with(&mut self, stats: ServerStats) {
        self.stats = Some(stats);
    }

    /// Returns the measurements of the last minutes, oldest first.
    pub(crate) fn measured(&self) -> Vec<Measured> {
        self.stats.as_ref().map(ServerStats::last).unwrap_or_default()
    }

    /// Takes the counter of the cost of writing to sockets.
    pub(crate) fn count_with(&mut self, telling: PublishCost) {
        self.telling = telling;
    }

    /// Sends a subscriber the state of a topic, and its changes from now on. Returns false if it is subscribed already,
    /// or its connection is to end.
    pub(crate) fn subscribe(scene: &mut ReadModel<Hub>, topic: Topic, outbox: &Outbox) -> bool {
        if !outbox.is_open() {
            return false;
        }
        // Everything so far is in the snapshot: no subscriber gets it twice.
        Hub::publish(scene);
        scene.watcher.budget.get_or_insert_with(|| outbox.budget().clone());
        match scene.watcher.subscriptions.add(topic, outbox) {
            Change::None => return false,
            Change::OneOfMany => {}
            Change::OnlyOne => {
                Hub::watch(scene, topic, true);
                Hub::with_streams(scene, |streams, scene| streams.begin(&scene.view, topic));
            }
        }
        if let Some(snapshot) = Hub::snapshot(scene, topic) {
            outbox.send(snapshot);
        }
        true
    }

    /// Answers that a client is subscribed, and subscribes it; later, if a long snapshot has to be made first. Returns
    /// false if it is or will be subscribed already.
    pub(crate) fn subscribe_in_turn(
        scene: &mut ReadModel<Hub>,
        topic: Topic,
        outbox: &Outbox,
        answer: SharedText,
    ) -> bool {
        let is_there = || scene.watcher.subscriptions.is(topic, outbox);
        let is_made = || scene.watcher.subscriptions.snapshot(topic, scene.view.sequence()).is_some();
        if messages::is_long(&scene.view, topic) && !is_there() && !is_made() {
            return scene.watcher.waiting.add(topic, outbox, answer);
        }
        outbox.send(answer);
        Hub::subscribe(scene, topic, outbox)
    }

    /// Subscribes the clients whose turn for a long snapshot has come.
    fn subscribe_waiting(scene: &mut ReadModel<Hub>) {
        while let Some((topic, waiting)) = scene.watcher.waiting.take_due() {
            let began = Instant::now();
            for (outbox, answer) in waiting {
                outbox.send(answer);
                Hub::subscribe(scene, topic, &outbox);
            }
            scene.watcher.waiting.rest(began.elapsed());
        }
    }

    /// Ends a subscription. Returns false if there was none.
    pub(crate) fn unsubscribe(scene: &mut ReadModel<Hub>, topic: Topic, outbox: &Outbox) -> bool {
        match scene.watcher.subscriptions.remove(topic, outbox) {
            Change::None => return scene.watcher.waiting.remove(topic, outbox),
            Change::OneOfMany => {}
            Change::OnlyOne => Hub::unwatch(scene, topic),
        }
        if let Topic::Reports(account) = topic {
            scene.watcher.release(account, outbox);
        }
        true
    }

    /// Moves a subscriber from one topic to another with the same events. Everything gathered for either is sent first,
    /// so that it misses nothing and gets nothing twice.
    pub(crate) fn exchange(scene: &mut ReadModel<Hub>, from: Topic, to: Topic, outbox: &Outbox) {
        Hub::publish(scene);
        Hub::with_streams(scene, |streams, scene| {
            [from, to].into_iter().for_each(|topic| streams.tell_gathered(scene, topic));
        });
        Hub::subscribe(scene, to, outbox);
        Hub::unsubscribe(scene, from, outbox);
    }

    /// Takes in the last days of a symbol that has followers.
    pub(crate) fn learn(scene: &mut ReadModel<Hub>, symbol: SymbolIndex, days: Vec<Candle>) {
        Hub::with_streams(scene, |streams, _| streams.learn(symbol, days));
    }

    /// Returns the snapshot of a topic; `None` for those that have only updates. Long snapshots follow from the last
    /// command alone: all subscribers get the same message until the next command.
    fn snapshot(scene: &mut ReadModel<Hub>, topic: Topic) -> Option<SharedText> {
        let sequence = scene.view.sequence();
        if let (Topic::Book(_) | Topic::Orders(_), Some(told)) =
            (topic, scene.watcher.subscriptions.snapshot(topic, sequence))
        {
            return Some(told);
        }
        let snapshot = messages::snapshot(scene, topic)?;
        scene.watcher.subscriptions.remember(topic, sequence, &snapshot);
        Some(snapshot)
    }

    /// Ends the connections of all subscribers: the feed has failed, and no more messages come.
    fn end(&self) {
        self.subscriptions.all().for_each(Outbox::overflow);
    }

    /// Removes the subscriptions of a connection that ended.
    pub(crate) fn leave(scene: &mut ReadModel<Hub>, outbox: &Outbox) {
        for topic in scene.watcher.subscriptions.topics(outbox) {
            Hub::unsubscribe(scene, topic, outbox);
        }
    }

    fn has(&self, topic: Topic) -> bool {
        self.subscriptions.has(topic)
    }

    fn watch(scene: &mut ReadModel<Hub>, topic: Topic, watched: bool) {
        if topic == Topic::Symbols {
            scene.view.follow_symbols(SymbolFollowers::Native, watched);
        }
        match topic.subject() {
            Some(Subject::AllSymbols) => scene.view.follow_symbols(SymbolFollowers::Compatible, watched),
            Some(Subject::Symbol(symbol)) => scene.view.watch_symbol(symbol, watched),
            Some(Subject::Account(account)) => scene.view.watch_account(account, watched),
            None => {}
        }
    }

    /// Ends watching for a topic without subscribers; another topic of the same symbol or account may still be watched.
    fn unwatch(scene: &mut ReadModel<Hub>, topic: Topic) {
        Hub::with_streams(scene, |streams, _| streams.end(topic));
        if !topic.subject().is_some_and(|subject| scene.watcher.subscriptions.has_about(subject)) {
            Hub::watch(scene, topic, false);
        }
    }

    /// Sends a message to all subscribers of a topic. It is not made where none of them takes it.
    pub(crate) fn tell(&self, topic: Topic, message: impl FnOnce() -> SharedText) {
        let mut open = self.subscriptions.of(topic).filter(|outbox| outbox.is_open()).peekable();
        if open.peek().is_some() {
            let message = message();
            open.for_each(|outbox| outbox.send(message.clone()));
        }
    }

    /// Ends the subscriptions of clients that proved too slow. Their connections end when they can; until then nothing
    /// is gathered or made for them.
    fn leave_too_slow(scene: &mut ReadModel<Hub>) {
        let too_slow = scene.watcher.budget.as_ref().map_or(0, OutboxBudget::too_slow);
        if std::mem::replace(&mut scene.watcher.left, too_slow) != too_slow {
            scene.watcher.subscriptions.ended().iter().for_each(|outbox| Hub::leave(scene, outbox));
        }
    }

    /// Sends what happened since the last time.
    pub(crate) fn publish(scene: &mut ReadModel<Hub>) {
        Hub::leave_too_slow(scene);
        let mut symbols = scene.view.take_symbols();
        symbols.sort_unstable();
        symbols.dedup();
        for symbol in symbols {
            Hub::publish_symbol(scene, symbol);
        }
        let news = scene.take_news();
        Hub::with_streams(scene, |streams, scene| streams.follow_accounts(scene, &news));
        for (account, news) in by_account(news) {
            let hub = &scene.watcher;
            hub.tell(Topic::Orders(account), || messages::orders_update(scene, account, &news));
            if hub.has(Topic::Reports(account)) {
                Hub::report(scene, account, &news.reports);
            }
        }
    }

    /// Lends `streams` the read model. The hub, which is part of the read model, has no streams meanwhile.
    fn with_streams<T>(scene: &mut ReadModel<Hub>, of: impl FnOnce(&mut dyn Streams, &mut ReadModel<Hub>) -> T) -> T {
        let mut streams = scene.watcher.streams.take().expect("invariant: they look at it one at a time");
        let result = of(&mut *streams, scene);
        scene.watcher.streams = Some(streams);
        result
    }

    /// Sends reports of an account's orders to its live subscribers, and holds them for the others.
    fn report(scene: &mut ReadModel<Hub>, account: AccountIndex, reports: &[Report]) {
        let mut pieces: Vec<SharedText> = Vec::new();
        let mut rest = reports;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.len().min(REPORTS_AT_ONCE));
            let through = match (piece.last(), behind.first()) {
                (Some(last), Some(next)) => whole(last.key(), Some(next.key())),
                _ => scene.view.sequence(),
            };
            pieces.push(messages::reports(&scene.view, account, piece, through, true));
            rest = behind;
        }
        let Hub { subscriptions, held, .. } = &mut scene.watcher;
        for outbox in subscriptions.of(Topic::Reports(account)) {
            match held.get_mut(&(outbox.number(), account)) {
                Some(held) if held.reports.len() + reports.len() > HELD_MAX => outbox.overflow(),
                Some(held) => {
                    held.reports.extend(reports);
                    held.weigh(outbox);
                }
                None => pieces.iter().for_each(|piece| outbox.send(piece.clone())),
            }
        }
    }

    /// Holds the reports of an account's orders for a subscriber from now on. Returns the number of its replay.
    pub(crate) fn hold(&mut self, account: AccountIndex, outbox: &Outbox) -> u64 {
        self.replays += 1;
        let held = HeldReports { replay: self.replays, reports: VecDeque::new(), kept: outbox.keep(0) };
        self.held.insert((outbox.number(), account), held);
        self.replays
    }

    /// Whether this replay goes on; false once it was unsubscribed.
    pub(crate) fn holds(&self, account: AccountIndex, outbox: &Outbox, replay: u64) -> bool {
        self.held.get(&(outbox.number(), account)).is_some_and(|held| held.replay == replay)
    }

    /// Takes some of the held reports, and says what comes next.
    pub(crate) fn take_held(
        &mut self,
        account: AccountIndex,
        outbox: &Outbox,
        most: usize,
    ) -> (Vec<Report>, Option<ReportKey>) {
        let Some(held) = self.held.get_mut(&(outbox.number(), account)) else { return (Vec::new(), None) };
        let taken = held.reports.drain(..held.reports.len().min(most)).collect();
        held.weigh(outbox);
        (taken, held.reports.front().map(Report::key))
    }

    /// Ends holding reports.
    pub(crate) fn release(&mut self, account: AccountIndex, outbox: &Outbox) {
        self.held.remove(&(outbox.number(), account));
    }

    fn publish_symbol(scene: &mut ReadModel<Hub>, symbol: SymbolIndex) {
        let (levels, trades) = scene.view.take_symbol_news(symbol);
        Hub::with_streams(scene, |streams, scene| streams.follow_symbol(scene, symbol, &levels, &trades));
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

    /// Sends the symbols that changed.
    fn publish_symbols(scene: &mut ReadModel<Hub>) {
        let changed = scene.watcher.symbols.look(&mut scene.view);
        if !changed.is_empty() {
            scene.watcher.tell(Topic::Symbols, || messages::symbols("update", changed, None));
        }
    }

    fn publish_status(scene: &mut ReadModel<Hub>) {
        let connections = scene.watcher.subscriptions.connections();
        let Some(stats) = &mut scene.watcher.stats else { return };
        let measured = stats.measure(&scene.view, connections);
        scene.watcher.tell(Topic::Status, || messages::status(&measured));
    }
}

impl Watcher for Hub {
    fn tell_now(scene: &mut ReadModel<Hub>) {
        Hub::publish(scene);
    }

    fn failed(scene: &mut ReadModel<Hub>) {
        scene.watcher.end();
    }

    fn look(scene: &mut ReadModel<Hub>) -> Duration {
        let begun = Instant::now();
        if begun < scene.watcher.next_publish {
            return scene.watcher.next_publish - begun;
        }
        let cpu_before = own_cpu();
        Hub::publish(scene);
        Hub::subscribe_waiting(scene);
        let due = Hub::with_streams(scene, |streams, scene| streams.tell_due(scene));
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
        let next = scene.watcher.next_status.min(ended + SYMBOLS_EVERY);
        let next = [due, scene.watcher.waiting.due()].into_iter().flatten().fold(next, Instant::min);
        next.saturating_duration_since(ended).max(pause)
    }
}

#[cfg(test)]
mod tests {
    use engine::{AccountId, DoneOrders, Engine, Event, Money, Sequence, Time};
    use exchange::EventBatch;
    use feed::Listeners;

    use super::*;
    use crate::binance;

    const ACCOUNT: AccountIndex = AccountIndex(0);

    fn apply(scene: &mut ReadModel<Hub>, sequence: u64, event: Event) {
        let mut batch = EventBatch::default();
        batch.add(Sequence(sequence), event);
        batch.seal(Sequence(sequence), Time(sequence));
        scene.view.apply(&batch);
    }

    /// News went on being gathered and written for a client that was to be disconnected, until it was.
    #[test]
    fn a_follower_that_is_full_costs_nothing_more() {
        let view = View::new(&Engine::new(1, DoneOrders::Keep), None);
        let watcher = Hub::with(Box::new(binance::Streams::default()));
        let mut scene = ReadModel { view, history: None, watcher, listeners: Listeners::default() };
        let id = AccountId::parse(b"1").expect("it is one");
        apply(&mut scene, 1, Event::AccountCreated { account: ACCOUNT, id });
        let budget = OutboxBudget::default();
        let (full, other) = (Outbox::new(&budget), Outbox::new(&budget));
        for outbox in [&full, &other] {
            assert!(Hub::subscribe(&mut scene, Topic::Orders(ACCOUNT), outbox));
        }
        let mut sequence = 1;
        let mut change = |scene: &mut ReadModel<Hub>| {
            sequence += 1;
            let balance = Money::from_units(sequence.into());
            apply(scene, sequence, Event::BalanceChanged { account: ACCOUNT, balance });
            let gathered = scene.view.gathered();
            Hub::publish(scene);
            gathered
        };
        full.overflow();
        assert!(change(&mut scene) > 0, "the other one follows still");
        let made = budget.made();
        assert!(change(&mut scene) > 0 && budget.made() > made, "it is told");
        assert!(!scene.watcher.subscriptions.is(Topic::Orders(ACCOUNT), &full));
        other.overflow();
        let made = budget.made();
        // News that were gathered before the hub noticed are dropped.
        change(&mut scene);
        assert_eq!((change(&mut scene), budget.made()), (0, made), "nothing is gathered and nothing is made");
        assert!(!Hub::subscribe(&mut scene, Topic::Orders(ACCOUNT), &full));
        assert_eq!(budget.too_slow(), 2);
    }
}
