//! The hub: knows which connections are subscribed to which topics, and sends the messages. It writes a message once
//! for all subscribers. It lives in the feed's thread.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use exchange::Source;
use exchange::containment::{Part, contain};
use feed::{Candle, Interval, News, ReadModel, Report, ReportKey, SymbolFollowers, Trade, View, Watcher};
use terms::{AccountIndex, Price, Side, SymbolIndex};

use crate::account_news::by_account;
use crate::member_rounds::MemberRounds;
use crate::messages::{self, REPORTS_AT_ONCE, whole};
use crate::outbox::{KeptBytes, Outbox};
use crate::outbox_budget::OutboxBudget;
use crate::publish_cost::{PublishCost, own_cpu};
use crate::server_stats::{Measured, ServerStats};
use crate::shared_text::SharedText;
use crate::subscriptions::{Change, Subscriptions};
use crate::ticker::Ticker;
use crate::topic::{Subject, Topic};
use crate::waiting_list::{WaitingClient, WaitingList};

/// The share of time that publishing leaves to others: it takes processor time in this thread and in the sockets'
/// thread, and this many times as much passes before the next one. So with many subscribers each gets fewer and larger
/// messages.
const SHARE: u32 = 9;
/// The longest pause between two publishings. After a longer one, more bytes would wait for a connection at once than
/// may.
const PAUSE_MAX: Duration = Duration::from_millis(50);
/// Reports that are held for one subscriber, at most.
const HELD_MAX: usize = 1 << 16;
/// The time in which subscriptions begin behind one publishing; further ones begin behind the next.
const BEGIN_MAX: Duration = Duration::from_millis(5);
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

/// A question that subscribes, and the outbox that it subscribes.
type Beginning = (Outbox, Box<dyn FnOnce(&mut ReadModel<Hub>) + Send>);

/// The events of an interface with messages of its own.
pub trait Streams: Send {
    /// Begins a topic that had no followers. Everything that happened so far was sent.
    fn begin(&mut self, view: &View, topic: Topic);

    /// Ends a topic that has no followers any more.
    fn end(&mut self, topic: Topic);

    /// Takes in the last days of a followed symbol from a database: memory begins with the server's start.
    fn learn(&mut self, symbol: SymbolIndex, days: Vec<Candle>);

    /// Sends what was gathered for a topic, before it is due.
    fn tell_gathered(&mut self, model: &ReadModel<Hub>, topic: Topic);

    /// Takes in what happened to a symbol, and sends the events that are due at once.
    fn follow_symbol(
        &mut self,
        model: &ReadModel<Hub>,
        symbol: SymbolIndex,
        levels: &[(Side, Price)],
        trades: &[Trade],
    );

    /// Sends accounts the events of their news.
    fn follow_accounts(&mut self, model: &ReadModel<Hub>, news: &[News]);

    /// Sends the events that are due, after everything that happened was taken in. Returns the time of the next ones.
    fn tell_due(&mut self, model: &mut ReadModel<Hub>) -> Option<Instant>;
}

/// The streams of a server without such an interface.
impl Streams for () {
    fn begin(&mut self, _: &View, _: Topic) {}

    fn end(&mut self, _: Topic) {}

    fn learn(&mut self, _: SymbolIndex, _: Vec<Candle>) {}

    fn tell_gathered(&mut self, _: &ReadModel<Hub>, _: Topic) {}

    fn follow_symbol(&mut self, _: &ReadModel<Hub>, _: SymbolIndex, _: &[(Side, Price)], _: &[Trade]) {}

    fn follow_accounts(&mut self, _: &ReadModel<Hub>, _: &[News]) {}

    fn tell_due(&mut self, _: &mut ReadModel<Hub>) -> Option<Instant> {
        None
    }
}

/// Streams that have the read model, to which they return when this is dropped, also by a panic.
struct LentStreams<'a> {
    model: &'a mut ReadModel<Hub>,
    streams: Option<Box<dyn Streams>>,
}

impl Drop for LentStreams<'_> {
    fn drop(&mut self) {
        self.model.watcher.streams = self.streams.take();
    }
}

/// All subscriptions, and the state of their messages.
pub struct Hub {
    subscriptions: Subscriptions,
    /// Subscriptions that begin behind the next publishing.
    beginning: MemberRounds<Beginning>,
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
    /// Returns a hub without subscribers. `streams`, those of a dialect or `()`, learns which topics have followers.
    pub fn with(streams: Box<dyn Streams>) -> Hub {
        let now = Instant::now();
        Hub {
            subscriptions: Subscriptions::default(),
            beginning: MemberRounds::new(),
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
    pub fn subscribe(model: &mut ReadModel<Hub>, topic: Topic, outbox: &Outbox) -> bool {
        if !outbox.is_open() || model.watcher.subscriptions.is(topic, outbox) {
            return false;
        }
        // Everything so far is in the snapshot: no subscriber gets it twice.
        Hub::publish(model);
        model.watcher.budget.get_or_insert_with(|| outbox.budget().clone());
        match model.watcher.subscriptions.add(topic, outbox) {
            Change::None => return false,
            Change::OneOfMany => {}
            Change::OnlyOne => {
                Hub::watch(model, topic, true);
                Hub::with_streams(model, |streams, model| streams.begin(&model.view, topic));
            }
        }
        if let Some(snapshot) = Hub::snapshot(model, topic) {
            outbox.send(snapshot);
        }
        true
    }

    /// Does `begin`, which subscribes for a client, behind the next publishing. By itself a subscription publishes what
    /// was gathered so far, so that a client which subscribes again and again would set the pace for all.
    pub(crate) fn begin_next(
        &mut self,
        client: Source,
        outbox: Outbox,
        begin: impl FnOnce(&mut ReadModel<Hub>) + Send + 'static,
    ) {
        self.beginning.push(client, (outbox, Box::new(begin)));
    }

    /// Begins subscriptions that waited, for a moment. A panic of one ends that one alone.
    fn begin_waiting(model: &mut ReadModel<Hub>) {
        let began = Instant::now();
        while began.elapsed() < BEGIN_MAX {
            let Some((outbox, begin)) = model.watcher.beginning.pop() else { return };
            if !outbox.is_open() {
                continue;
            }
            if let Err(panicked) = contain(Part::Question, || begin(model)) {
                tracing::error!(%panicked, "a fault of the server ended a subscription; please report it");
            }
        }
    }

    /// Answers that a client is subscribed, and subscribes it; later, if a long snapshot has to be made first. Returns
    /// false if it is or will be subscribed already.
    pub(crate) fn subscribe_in_turn(
        model: &mut ReadModel<Hub>,
        topic: Topic,
        outbox: &Outbox,
        answer: SharedText,
    ) -> bool {
        let is_there = || model.watcher.subscriptions.is(topic, outbox);
        let is_made = || model.watcher.subscriptions.snapshot(topic, model.view.sequence()).is_some();
        if messages::is_long(&model.view, topic) && !is_there() && !is_made() {
            return model.watcher.waiting.add(topic, outbox, answer);
        }
        // A client that asked before while the snapshot was long gets that answer, too, and waits no more.
        let earlier = model.watcher.waiting.remove(topic, outbox);
        let is_new = earlier.map(WaitingClient::answer).is_none();
        outbox.send(answer);
        Hub::subscribe(model, topic, outbox) && is_new
    }

    /// Subscribes the clients whose turn for a long snapshot has come.
    fn subscribe_waiting(model: &mut ReadModel<Hub>) {
        while let Some((topic, waiting)) = model.watcher.waiting.take_due() {
            let began = Instant::now();
            for client in waiting {
                Hub::subscribe(model, topic, &client.answer());
            }
            model.watcher.waiting.rest(began.elapsed());
        }
    }

    /// Ends a subscription. A client that still waits for its snapshot gets the answer to its request, and no snapshot.
    /// Returns false if there was none.
    pub fn unsubscribe(model: &mut ReadModel<Hub>, topic: Topic, outbox: &Outbox) -> bool {
        let waited = model.watcher.waiting.remove(topic, outbox).map(WaitingClient::answer).is_some();
        match model.watcher.subscriptions.remove(topic, outbox) {
            Change::None => return waited,
            Change::OneOfMany => {}
            Change::OnlyOne => Hub::unwatch(model, topic),
        }
        if let Topic::Reports(account) = topic {
            model.watcher.release(account, outbox);
        }
        true
    }

    /// Moves a subscriber from one topic to another with the same events. Everything gathered for either is sent first,
    /// so that it misses nothing and gets nothing twice.
    pub fn exchange(model: &mut ReadModel<Hub>, from: Topic, to: Topic, outbox: &Outbox) {
        Hub::publish(model);
        Hub::with_streams(model, |streams, model| {
            [from, to].into_iter().for_each(|topic| streams.tell_gathered(model, topic));
        });
        Hub::subscribe(model, to, outbox);
        Hub::unsubscribe(model, from, outbox);
    }

    /// Takes in the last days of a symbol that has followers.
    pub fn learn(model: &mut ReadModel<Hub>, symbol: SymbolIndex, days: Vec<Candle>) {
        Hub::with_streams(model, |streams, _| streams.learn(symbol, days));
    }

    /// Returns the snapshot of a topic; `None` for those that have only updates. Long snapshots follow from the last
    /// command alone: all subscribers get the same message until the next command.
    fn snapshot(model: &mut ReadModel<Hub>, topic: Topic) -> Option<SharedText> {
        let sequence = model.view.sequence();
        if let (Topic::Book(_) | Topic::Orders(_), Some(told)) =
            (topic, model.watcher.subscriptions.snapshot(topic, sequence))
        {
            return Some(told);
        }
        let snapshot = messages::snapshot(model, topic)?;
        model.watcher.subscriptions.remember(topic, sequence, &snapshot);
        Some(snapshot)
    }

    /// Ends the connections of all subscribers, and of those that wait to be some: the feed has failed, and no more
    /// messages come.
    fn end(&mut self) {
        self.beginning.clear();
        self.waiting.end();
        self.subscriptions.all().for_each(Outbox::overflow);
    }

    /// Removes the subscriptions of a connection that ended, and those for which it waits.
    pub(crate) fn leave(model: &mut ReadModel<Hub>, outbox: &Outbox) {
        model.watcher.waiting.leave(outbox);
        for topic in model.watcher.subscriptions.topics(outbox) {
            Hub::unsubscribe(model, topic, outbox);
        }
    }

    fn has(&self, topic: Topic) -> bool {
        self.subscriptions.has(topic)
    }

    fn watch(model: &mut ReadModel<Hub>, topic: Topic, watched: bool) {
        if topic == Topic::Symbols {
            model.view.follow_symbols(SymbolFollowers::Native, watched);
        }
        match topic.subject() {
            Some(Subject::AllSymbols) => model.view.follow_symbols(SymbolFollowers::Compatible, watched),
            Some(Subject::Symbol(symbol)) => model.view.watch_symbol(symbol, watched),
            Some(Subject::Account(account)) => model.view.watch_account(account, watched),
            None => {}
        }
    }

    /// Ends watching for a topic without subscribers; another topic of the same symbol or account may still be watched.
    fn unwatch(model: &mut ReadModel<Hub>, topic: Topic) {
        Hub::with_streams(model, |streams, _| streams.end(topic));
        if !topic.subject().is_some_and(|subject| model.watcher.subscriptions.has_about(subject)) {
            Hub::watch(model, topic, false);
        }
    }

    /// Sends a message to all subscribers of a topic. It is not made where none of them takes it.
    pub fn tell(&self, topic: Topic, message: impl FnOnce() -> SharedText) {
        let mut open = self.subscriptions.of(topic).filter(|outbox| outbox.is_open()).peekable();
        if open.peek().is_some() {
            let message = message();
            open.for_each(|outbox| outbox.send(message.clone()));
        }
    }

    /// Ends the subscriptions of clients that proved too slow. Their connections end when they can; until then nothing
    /// is gathered or made for them.
    fn leave_too_slow(model: &mut ReadModel<Hub>) {
        let too_slow = model.watcher.budget.as_ref().map_or(0, OutboxBudget::too_slow);
        if std::mem::replace(&mut model.watcher.left, too_slow) != too_slow {
            model.watcher.subscriptions.ended().iter().for_each(|outbox| Hub::leave(model, outbox));
        }
    }

    /// Sends what happened since the last time.
    pub(crate) fn publish(model: &mut ReadModel<Hub>) {
        Hub::leave_too_slow(model);
        let mut symbols = model.view.take_symbols();
        symbols.sort_unstable();
        symbols.dedup();
        for symbol in symbols {
            Hub::publish_symbol(model, symbol);
        }
        let news = model.take_news();
        Hub::with_streams(model, |streams, model| streams.follow_accounts(model, &news));
        for (account, news) in by_account(news) {
            let hub = &model.watcher;
            hub.tell(Topic::Orders(account), || messages::orders_update(model, account, &news));
            if hub.has(Topic::Reports(account)) {
                Hub::report(model, account, &news.reports);
            }
        }
    }

    /// Lends `streams` the read model. The hub, which is part of the read model, has no streams meanwhile.
    fn with_streams<T>(model: &mut ReadModel<Hub>, of: impl FnOnce(&mut dyn Streams, &mut ReadModel<Hub>) -> T) -> T {
        let streams = model.watcher.streams.take();
        let mut lent = LentStreams { model, streams };
        let streams = lent.streams.as_mut().expect("invariant: they look at it one at a time");
        of(&mut **streams, lent.model)
    }

    /// Sends reports of an account's orders to its live subscribers, and holds them for the others.
    fn report(model: &mut ReadModel<Hub>, account: AccountIndex, reports: &[Report]) {
        let mut pieces: Vec<SharedText> = Vec::new();
        let mut rest = reports;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.len().min(REPORTS_AT_ONCE));
            let through = match (piece.last(), behind.first()) {
                (Some(last), Some(next)) => whole(last.key(), Some(next.key())),
                _ => model.view.sequence(),
            };
            pieces.push(messages::reports(&model.view, account, piece, through, true));
            rest = behind;
        }
        let Hub { subscriptions, held, .. } = &mut model.watcher;
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

    fn publish_symbol(model: &mut ReadModel<Hub>, symbol: SymbolIndex) {
        let (levels, trades) = model.view.take_symbol_news(symbol);
        Hub::with_streams(model, |streams, model| streams.follow_symbol(model, symbol, &levels, &trades));
        let (hub, view) = (&model.watcher, &model.view);
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
            match model.candles_to_tell(symbol, interval, 1) {
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
    fn publish_symbols(model: &mut ReadModel<Hub>) {
        let changed = model.watcher.symbols.look(&mut model.view);
        if !changed.is_empty() {
            model.watcher.tell(Topic::Symbols, || messages::symbols("update", changed, None));
        }
    }

    fn publish_status(model: &mut ReadModel<Hub>) {
        let connections = model.watcher.subscriptions.connections();
        let Some(stats) = &mut model.watcher.stats else { return };
        let measured = stats.measure(&model.view, connections);
        model.watcher.tell(Topic::Status, || messages::status(&measured));
    }
}

impl Watcher for Hub {
    fn tell_now(model: &mut ReadModel<Hub>) {
        Hub::publish(model);
    }

    fn failed(model: &mut ReadModel<Hub>) {
        model.watcher.end();
    }

    fn look(model: &mut ReadModel<Hub>) -> Duration {
        let begun = Instant::now();
        if begun < model.watcher.next_publish {
            return model.watcher.next_publish - begun;
        }
        let cpu_before = own_cpu();
        Hub::publish(model);
        Hub::begin_waiting(model);
        Hub::subscribe_waiting(model);
        let due = Hub::with_streams(model, |streams, model| streams.tell_due(model));
        if begun >= model.watcher.next_symbols && model.watcher.has(Topic::Symbols) {
            Hub::publish_symbols(model);
            model.watcher.next_symbols = begun + SYMBOLS_EVERY;
        }
        if begun >= model.watcher.next_status {
            Hub::publish_status(model);
            model.watcher.next_status = begun + STATUS_EVERY;
        }
        let ended = Instant::now();
        let spent = own_cpu().saturating_sub(cpu_before) + model.watcher.telling.take();
        let pause = spent.saturating_mul(SHARE).min(PAUSE_MAX);
        model.watcher.next_publish = ended + pause;
        let next = if model.watcher.beginning.is_empty() { ended + SYMBOLS_EVERY } else { ended };
        let next = model.watcher.next_status.min(next);
        let next = [due, model.watcher.waiting.due()].into_iter().flatten().fold(next, Instant::min);
        next.saturating_duration_since(ended).max(pause)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use exchange::EventBatch;
    use feed::Listeners;
    use terms::{AccountId, Event, MarketState, Money, OrderId, Sequence, StateItem, Time};

    use super::*;
    use crate::report_replay::Replay;
    use crate::topic_count::TopicCount;

    const ACCOUNT: AccountIndex = AccountIndex(0);
    /// A moment.
    const TICK: Duration = Duration::from_millis(1);

    /// A market without anything.
    struct Empty;

    impl MarketState for Empty {
        fn sequence(&self) -> Sequence {
            Sequence::ZERO
        }

        fn time(&self) -> Time {
            Time::ZERO
        }

        fn next_order(&self) -> OrderId {
            OrderId(1)
        }

        fn export(&self, visit: &mut dyn FnMut(StateItem)) {
            visit(StateItem::Head { sequence: self.sequence(), time: self.time(), next_order: self.next_order() });
        }
    }

    fn apply(model: &mut ReadModel<Hub>, sequence: u64, event: Event) {
        let mut batch = EventBatch::default();
        batch.add(Sequence(sequence), event);
        batch.seal(Sequence(sequence), Time(sequence));
        model.view.apply(&batch);
    }

    fn model_with(streams: Box<dyn Streams>) -> ReadModel<Hub> {
        let (view, watcher) = (View::new(&Empty, None), Hub::with(streams));
        let mut model = ReadModel { view, history: None, watcher, listeners: Listeners::default() };
        let id = AccountId::parse(b"1").expect("it is one");
        apply(&mut model, 1, Event::AccountCreated { account: ACCOUNT, id });
        model
    }

    /// Streams with a fault.
    struct Faulty;

    impl Streams for Faulty {
        fn begin(&mut self, _: &View, _: Topic) {
            panic!("planted");
        }

        fn end(&mut self, _: Topic) {}

        fn learn(&mut self, _: SymbolIndex, _: Vec<Candle>) {}

        fn tell_gathered(&mut self, _: &ReadModel<Hub>, _: Topic) {}

        fn follow_symbol(&mut self, _: &ReadModel<Hub>, _: SymbolIndex, _: &[(Side, Price)], _: &[Trade]) {}

        fn follow_accounts(&mut self, _: &ReadModel<Hub>, _: &[News]) {}

        fn tell_due(&mut self, _: &mut ReadModel<Hub>) -> Option<Instant> {
            None
        }
    }

    /// A panic in a question to the streams once took them from everybody: the next publishing panicked, and with it
    /// the feed.
    #[test]
    fn streams_stay_when_a_question_to_them_panics() {
        let mut model = model_with(Box::new(Faulty));
        let outbox = Outbox::new(&OutboxBudget::default());
        let asked = std::panic::AssertUnwindSafe(|| Hub::subscribe(&mut model, Topic::Orders(ACCOUNT), &outbox));
        assert!(std::panic::catch_unwind(asked).is_err());
        assert!(model.watcher.streams.is_some());
        Hub::publish(&mut model);
    }

    /// A subscription that is there already once sent everybody what had been gathered.
    #[test]
    fn a_repeated_subscription_publishes_nothing() {
        let mut model = model_with(Box::new(()));
        let budget = OutboxBudget::default();
        let outbox = Outbox::new(&budget);
        assert!(Hub::subscribe(&mut model, Topic::Orders(ACCOUNT), &outbox));
        let event = Event::BalanceChanged { account: ACCOUNT, balance: Money::from_units(7) };
        apply(&mut model, 2, event);
        let (gathered, made) = (model.view.gathered(), budget.made());
        assert!(gathered > 0);
        assert!(!Hub::subscribe(&mut model, Topic::Orders(ACCOUNT), &outbox));
        assert_eq!((model.view.gathered(), budget.made()), (gathered, made));
    }

    /// Each subscription published what was gathered to everybody, so that one client in a loop undid the pauses by
    /// which many subscribers cost no more than a part of the time.
    #[test]
    fn subscribing_in_a_loop_publishes_no_oftener() {
        let mut model = model_with(Box::new(()));
        let budget = OutboxBudget::default();
        let (other, loops) = (Outbox::new(&budget), Outbox::new(&budget));
        assert!(Hub::subscribe(&mut model, Topic::Orders(ACCOUNT), &other));
        model.watcher.next_publish = Instant::now() + Duration::from_secs(3600);
        let made = budget.made();
        let done = Arc::new(AtomicUsize::new(0));
        for round in 0..100 {
            let sequence = 2 + round;
            let balance = Money::from_units(sequence.into());
            apply(&mut model, sequence, Event::BalanceChanged { account: ACCOUNT, balance });
            let (outbox, done) = (loops.clone(), Arc::clone(&done));
            model.watcher.begin_next(loops.client(""), loops.clone(), move |model| {
                assert_ne!(round, 50, "planted");
                assert!(Hub::subscribe(model, Topic::Orders(ACCOUNT), &outbox));
                assert!(Hub::unsubscribe(model, Topic::Orders(ACCOUNT), &outbox));
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert!(Hub::look(&mut model) > TICK);
        }
        assert_eq!((budget.made(), done.load(Ordering::Relaxed)), (made, 0), "it is not the time to publish");
        // A busy machine needs more than one publishing for all.
        while done.load(Ordering::Relaxed) < 99 {
            model.watcher.next_publish = Instant::now();
            Hub::look(&mut model);
        }
        assert!(model.watcher.beginning.is_empty());
        let messages = std::iter::from_fn(|| other.take()).filter(|piece| piece.last).count();
        assert_eq!(messages, 2, "its snapshot, and one message for all that happened");
    }

    #[test]
    fn a_subscription_of_a_client_that_has_left_does_not_begin() {
        let mut model = model_with(Box::new(()));
        let (left, there) = (Outbox::new(&OutboxBudget::default()), Outbox::new(&OutboxBudget::default()));
        let begun = Arc::new(AtomicUsize::new(0));
        for (outbox, number) in [(&left, 1), (&there, 10)] {
            let begun = Arc::clone(&begun);
            model.watcher.begin_next(outbox.client(""), outbox.clone(), move |_| {
                begun.fetch_add(number, Ordering::Relaxed);
            });
        }
        left.close();
        model.watcher.next_publish = Instant::now();
        Hub::look(&mut model);
        assert_eq!((begun.load(Ordering::Relaxed), model.watcher.beginning.is_empty()), (10, true));
    }

    /// News went on being gathered and written for a client that was to be disconnected, until it was.
    #[test]
    fn a_follower_that_is_full_costs_nothing_more() {
        let mut model = model_with(Box::new(()));
        let budget = OutboxBudget::default();
        let (full, other) = (Outbox::new(&budget), Outbox::new(&budget));
        for outbox in [&full, &other] {
            assert!(Hub::subscribe(&mut model, Topic::Orders(ACCOUNT), outbox));
        }
        let mut sequence = 1;
        let mut change = |model: &mut ReadModel<Hub>| {
            sequence += 1;
            let balance = Money::from_units(sequence.into());
            apply(model, sequence, Event::BalanceChanged { account: ACCOUNT, balance });
            let gathered = model.view.gathered();
            Hub::publish(model);
            gathered
        };
        full.overflow();
        assert!(change(&mut model) > 0, "the other one follows still");
        let made = budget.made();
        assert!(change(&mut model) > 0 && budget.made() > made, "it is told");
        assert!(!model.watcher.subscriptions.is(Topic::Orders(ACCOUNT), &full));
        other.overflow();
        let made = budget.made();
        // News that were gathered before the hub noticed are dropped.
        change(&mut model);
        assert_eq!((change(&mut model), budget.made()), (0, made), "nothing is gathered and nothing is made");
        assert!(!Hub::subscribe(&mut model, Topic::Orders(ACCOUNT), &full));
        assert_eq!(budget.too_slow(), 2);
    }

    /// A client that had waited for a long snapshot was subscribed again when its turn came, after it had left. Nothing
    /// checked then whether it may still look.
    #[test]
    fn a_client_that_left_waits_for_no_snapshot() {
        let mut model = model_with(Box::new(()));
        let (outbox, topic) = (Outbox::new(&OutboxBudget::default()), Topic::Orders(ACCOUNT));
        let answer = || SharedText::from("{}".to_owned());
        assert!(model.watcher.waiting.add(topic, &outbox, answer()));
        // The snapshot is short by now.
        assert!(!Hub::subscribe_in_turn(&mut model, topic, &outbox, answer()), "it was counted when it began to wait");
        assert_eq!(std::iter::from_fn(|| outbox.take()).count(), 3, "both answers, and the snapshot");
        for waits in [false, true] {
            if waits {
                assert!(Hub::subscribe(&mut model, topic, &outbox));
                assert!(model.watcher.waiting.add(topic, &outbox, answer()));
            }
            assert!(Hub::unsubscribe(&mut model, topic, &outbox));
            Hub::subscribe_waiting(&mut model);
            assert!(!model.watcher.subscriptions.is(topic, &outbox));
        }
    }

    /// A client that unsubscribed while it waited once got an answer to that alone.
    #[test]
    fn a_client_that_waits_and_unsubscribes_has_both_answers() {
        let mut model = model_with(Box::new(()));
        let (outbox, topic) = (Outbox::new(&OutboxBudget::default()), Topic::Orders(ACCOUNT));
        assert!(model.watcher.waiting.add(topic, &outbox, SharedText::from("subscribed".to_owned())));
        assert!(outbox.take().is_none(), "it waits");
        assert!(Hub::unsubscribe(&mut model, topic, &outbox));
        let told: Vec<_> = std::iter::from_fn(|| outbox.take()).map(|piece| piece.bytes).collect();
        assert_eq!(told, ["subscribed"]);
        assert!(model.watcher.waiting.is_empty() && !Hub::unsubscribe(&mut model, topic, &outbox));
    }

    /// Answers that waited for a long snapshot, each with an id of the client's, were counted nowhere. They stayed when
    /// their clients left, until the turn of their snapshot came.
    #[test]
    fn what_waits_for_a_snapshot_is_counted_and_goes_with_its_client() {
        const LONG: usize = 16 << 10;
        let mut model = model_with(Box::new(()));
        let budget = OutboxBudget::default();
        let [goes, stays] = [(); 2].map(|()| Outbox::new(&budget));
        let topics = [Topic::Orders(ACCOUNT), Topic::Book(SymbolIndex(0)), Topic::Book(SymbolIndex(1))];
        let answer = || SharedText::from("x".repeat(LONG));
        for (topic, outbox) in topics.iter().flat_map(|topic| [(topic, &goes), (topic, &stays)]) {
            assert!(model.watcher.waiting.add(*topic, outbox, answer()));
        }
        assert_eq!(budget.held(), 6 * LONG);
        assert!(!model.watcher.waiting.add(topics[1], &stays, SharedText::from("again".to_owned())));
        assert_eq!(stays.take().map(|piece| piece.bytes.len()), Some(5), "it waits already, and is told so");
        goes.close();
        Hub::leave(&mut model, &goes);
        assert_eq!(budget.held(), 3 * LONG);
        Hub::leave(&mut model, &stays);
        assert!(model.watcher.waiting.is_empty());
        assert_eq!(budget.held(), 0);
    }

    /// A connection that only waited for a long snapshot went on without one where the feed failed.
    #[test]
    fn who_waits_for_a_snapshot_ends_with_the_feed() {
        let mut model = model_with(Box::new(()));
        let outbox = Outbox::new(&OutboxBudget::default());
        assert!(model.watcher.waiting.add(Topic::Orders(ACCOUNT), &outbox, SharedText::from("{}".to_owned())));
        <Hub as Watcher>::failed(&mut model);
        assert!(!outbox.is_open() && model.watcher.waiting.is_empty() && model.watcher.waiting.due().is_none());
    }

    /// The subscription was counted for as long as the connection lasted, so that 64 such replays left it no room.
    #[test]
    fn a_replay_that_ends_unreadable_is_no_subscription_any_more() {
        let mut model = model_with(Box::new(()));
        let (outbox, topics) = (Outbox::new(&OutboxBudget::default()), TopicCount::default());
        let topic = Topic::Reports(ACCOUNT);
        assert!(Hub::subscribe(&mut model, topic, &outbox));
        let mut replay = Replay::unreadable(&mut model, ACCOUNT, &outbox);
        topics.began(1);
        assert!(!replay.step_or_end(&mut model, &topics));
        assert_eq!(topics.count(), 0);
        assert!(!Hub::unsubscribe(&mut model, topic, &outbox), "it has ended");
        assert!(Hub::subscribe(&mut model, topic, &outbox));
        let mut left = Replay::unreadable(&mut model, ACCOUNT, &outbox);
        topics.began(1);
        assert!(Hub::unsubscribe(&mut model, topic, &outbox));
        topics.ended(1);
        assert!(!left.step_or_end(&mut model, &topics));
        assert_eq!(topics.count(), 0, "it ended once");
    }
}
