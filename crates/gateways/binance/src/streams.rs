//! Decides which events the followers of streams get, and when: changes of the book at the pace that they chose,
//! everything else at once. It lives in the feed's thread, in the hub.
//!
//! The update ids of depth are the numbers of commands. An event covers the commands `U` to `u`, and the events of a
//! stream follow each other without a gap. A book that is read over REST is the one after command `lastUpdateId`. So a
//! client drops events with `u <= lastUpdateId` and goes on with one that has `U <= lastUpdateId + 1 <= u`, whatever
//! the book did meanwhile.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use feed::{Candle, HistoryError, News, ReadModel, Trade, View};
use terms::{AccountIndex, Price, Side, SymbolIndex, Time};

use crate::all_tickers::AllTickers;
use crate::kline::KlineInterval;
use crate::reports::ReportedState;
use crate::tickers::best;
use crate::topic::{Envelope, Stream, StreamTopic, Wrap};
use crate::{events, klines};
use http_gateway::clock::market_now;
use http_gateway::hub::{self, Hub};
use http_gateway::shared_text::SharedText;
use http_gateway::topic::Topic;

/// The shortest time between two tickers.
const TICKER_EVERY: Duration = Duration::from_secs(1);

/// All streams with followers.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    of_symbols: HashMap<SymbolIndex, Vec<FollowedStream>>,
    of_accounts: HashMap<AccountIndex, FollowedAccount>,
    all_tickers: AllTickers,
    /// The last days of followed symbols, where a database has them.
    days: HashMap<SymbolIndex, Vec<Candle>>,
}

/// An account and the topics about it, which share what was reported.
#[derive(Debug)]
struct FollowedAccount {
    told: ReportedState,
    topics: Vec<StreamTopic>,
}

/// A stream, with the events that are due next and the last ones.
#[derive(Debug)]
struct FollowedStream {
    stream: Stream,
    envelope: Envelope,
    state: StreamState,
    /// The time of the next event.
    next: Instant,
}

#[derive(Debug)]
enum StreamState {
    /// Levels that changed since, and the first command with which they may have changed.
    Levels {
        changed: BTreeSet<(Side, Price)>,
        from: u64,
    },
    /// Whether an event is due.
    Changed(bool),
    /// The best prices of the last event.
    Best([String; 4]),
    /// The candle of the last event, and whether it was closed.
    Candle(Option<(Candle, bool)>),
    Nothing,
}

impl hub::Streams for Streams {
    fn begin(&mut self, view: &View, topic: Topic) {
        let Some(topic) = StreamTopic::of(topic) else { return };
        let next = Instant::now();
        let from = view.sequence().0 + 1;
        match topic {
            StreamTopic::OfSymbol(symbol, stream, envelope) => {
                let state = match stream {
                    Stream::Depth(_) => StreamState::Levels { changed: BTreeSet::new(), from },
                    // The first event is sent at once.
                    Stream::BestLevels(..) => StreamState::Changed(true),
                    Stream::Ticker | Stream::MiniTicker | Stream::WindowTicker(_) | Stream::AveragePrice => {
                        StreamState::Changed(false)
                    }
                    Stream::BookTicker => StreamState::Best(best(view, symbol)),
                    Stream::Kline(_) => StreamState::Candle(None),
                    Stream::Trade | Stream::AggregateTrade => StreamState::Nothing,
                };
                let followed = FollowedStream { stream, envelope, state, next };
                self.of_symbols.entry(symbol).or_default().push(followed);
            }
            StreamTopic::OfAll(tickers, envelope) => self.all_tickers.begin(tickers, envelope),
            StreamTopic::User(account, _) | StreamTopic::UserByKey(account, ..) => {
                let begin = || FollowedAccount { told: ReportedState::begin(view, account), topics: Vec::new() };
                self.of_accounts.entry(account).or_insert_with(begin).topics.push(topic);
            }
        }
    }

    fn end(&mut self, topic: Topic) {
        let Some(topic) = StreamTopic::of(topic) else { return };
        match topic {
            StreamTopic::OfSymbol(symbol, stream, envelope) => {
                if let Some(followed) = self.of_symbols.get_mut(&symbol) {
                    followed.retain(|its| (its.stream, its.envelope) != (stream, envelope));
                    if followed.is_empty() {
                        self.of_symbols.remove(&symbol);
                        self.days.remove(&symbol);
                    }
                }
            }
            StreamTopic::OfAll(tickers, envelope) => self.all_tickers.end(tickers, envelope),
            StreamTopic::User(account, _) | StreamTopic::UserByKey(account, ..) => {
                if let Some(followed) = self.of_accounts.get_mut(&account) {
                    followed.topics.retain(|its| *its != topic);
                    if followed.topics.is_empty() {
                        self.of_accounts.remove(&account);
                    }
                }
            }
        }
    }

    fn learn(&mut self, symbol: SymbolIndex, days: Vec<Candle>) {
        if self.of_symbols.contains_key(&symbol) {
            self.days.insert(symbol, days);
        }
    }

    fn tell_gathered(&mut self, model: &ReadModel<Hub>, topic: Topic) {
        let Some(StreamTopic::OfSymbol(symbol, stream, envelope)) = StreamTopic::of(topic) else { return };
        let all = self.of_symbols.get_mut(&symbol).into_iter().flatten();
        let its = all.filter(|followed| (followed.stream, followed.envelope) == (stream, envelope));
        its.filter(|followed| followed.has_something()).for_each(|followed| followed.tell(model, symbol));
    }

    fn follow_symbol(
        &mut self,
        model: &ReadModel<Hub>,
        symbol: SymbolIndex,
        levels: &[(Side, Price)],
        trades: &[Trade],
    ) {
        let days = self.days.get(&symbol);
        let knows_days = days.is_some() || model.history.is_some();
        let days = days.map_or(&[][..], Vec::as_slice);
        let mut latest = LatestCandles::default();
        for followed in self.of_symbols.get_mut(&symbol).into_iter().flatten() {
            match (followed.stream, &mut followed.state) {
                (_, StreamState::Levels { changed, .. }) => changed.extend(levels),
                (Stream::BestLevels(..), StreamState::Changed(changed)) => *changed |= !levels.is_empty(),
                (_, StreamState::Changed(changed)) => *changed |= !levels.is_empty() || !trades.is_empty(),
                (_, StreamState::Best(told)) => {
                    let best = best(&model.view, symbol);
                    if *told != best {
                        tell(model, symbol, followed.stream, followed.envelope, &|| {
                            events::book_ticker(&model.view, symbol, &best)
                        });
                        *told = best;
                    }
                }
                // A candle made of a part of its days would be wrong.
                (Stream::Kline(interval), StreamState::Candle(_)) if interval.is_of_days() && !knows_days => {}
                (stream @ Stream::Kline(interval), StreamState::Candle(told)) if !trades.is_empty() => {
                    let candles = latest.of(interval, || klines::latest(model, symbol, interval, days));
                    let Some(current) = candles.last() else { continue };
                    let event = |candle: &Candle, closed| {
                        tell(model, symbol, stream, followed.envelope, &|| {
                            events::kline(&model.view, symbol, interval, candle, closed, followed.envelope.unit)
                        });
                    };
                    if let Some((before, false)) = told
                        && before.start < current.start
                    {
                        let last = candles.iter().find(|candle| candle.start == before.start);
                        event(last.unwrap_or(before), true);
                    }
                    // A trade may arrive after the clock closed its candle.
                    let closed = told.is_some_and(|(told, closed)| closed && told.start == current.start);
                    event(current, closed);
                    *told = Some((*current, closed));
                }
                (Stream::Trade, StreamState::Nothing) => {
                    for trade in trades {
                        tell(model, symbol, followed.stream, followed.envelope, &|| {
                            events::trade(&model.view, trade, followed.envelope.unit)
                        });
                    }
                }
                (_, StreamState::Nothing) => {
                    for trade in trades {
                        let event = || events::aggregate_trade(&model.view, trade, followed.envelope.unit);
                        tell(model, symbol, followed.stream, followed.envelope, &event);
                    }
                }
                (_, StreamState::Candle(_)) => {}
            }
        }
    }

    fn follow_accounts(&mut self, model: &ReadModel<Hub>, news: &[News]) {
        if self.of_accounts.is_empty() {
            return;
        }
        let mut its: HashMap<AccountIndex, Vec<News>> = HashMap::new();
        for news in news {
            let account = news.account();
            if self.of_accounts.contains_key(&account) {
                its.entry(account).or_default().push(*news);
            }
        }
        its.into_iter().for_each(|(account, news)| self.follow_account(model, account, &news));
    }

    fn tell_due(&mut self, model: &mut ReadModel<Hub>) -> Option<Instant> {
        let at = Instant::now();
        let mut next = self.all_tickers.tell_due(model, at);
        let model = &*model;
        for (&symbol, all) in &mut self.of_symbols {
            for followed in all {
                if followed.is_due(at) {
                    followed.tell(model, symbol);
                    followed.next = at + followed.pace();
                } else if followed.has_something() {
                    next = Some(next.map_or(followed.next, |next| next.min(followed.next)));
                }
                followed.close_candle(model, symbol);
            }
        }
        next
    }
}

/// The last candles of a symbol, made once for all followers of an interval.
#[derive(Default)]
struct LatestCandles(Vec<(KlineInterval, Vec<Candle>)>);

impl LatestCandles {
    /// Returns the candles of an interval; none if they cannot be read.
    fn of(&mut self, interval: KlineInterval, make: impl FnOnce() -> Result<Vec<Candle>, HistoryError>) -> &[Candle] {
        let place = self.0.iter().position(|(made, _)| *made == interval).unwrap_or_else(|| {
            let candles = make().inspect_err(|error| tracing::error!(%error, "candles cannot be told"));
            self.0.push((interval, candles.unwrap_or_default()));
            self.0.len() - 1
        });
        &self.0[place].1
    }
}

impl Streams {
    fn follow_account(&mut self, model: &ReadModel<Hub>, account: AccountIndex, news: &[News]) {
        let Some(followed) = self.of_accounts.get_mut(&account) else { return };
        for event in followed.told.follow(&model.view, account, news) {
            for topic in &followed.topics {
                let message = || {
                    if let StreamTopic::UserByKey(_, key, unit) = topic {
                        return events::of_stream(key.as_str(), &events::in_unit(&event, *unit));
                    }
                    let StreamTopic::User(_, Envelope { wrap, unit }) = topic else { return String::new() };
                    let event = events::in_unit(&event, *unit);
                    if *wrap == Wrap::Api { events::of_subscription(account, &event) } else { event }
                };
                model.watcher.tell(topic.topic(), || SharedText::from(message()));
            }
        }
    }
}

impl FollowedStream {
    fn has_something(&self) -> bool {
        match &self.state {
            StreamState::Levels { changed, .. } => !changed.is_empty(),
            StreamState::Changed(changed) => *changed,
            StreamState::Best(_) | StreamState::Candle(_) | StreamState::Nothing => false,
        }
    }

    fn is_due(&self, at: Instant) -> bool {
        self.has_something() && at >= self.next
    }

    fn pace(&self) -> Duration {
        match self.stream {
            Stream::Depth(every) | Stream::BestLevels(_, every) => every.duration(),
            Stream::Trade
            | Stream::AggregateTrade
            | Stream::Kline(_)
            | Stream::BookTicker
            | Stream::Ticker
            | Stream::MiniTicker
            | Stream::WindowTicker(_)
            | Stream::AveragePrice => TICKER_EVERY,
        }
    }

    fn tell(&mut self, model: &ReadModel<Hub>, symbol: SymbolIndex) {
        let (view, unit) = (&model.view, self.envelope.unit);
        match (&mut self.state, self.stream) {
            (StreamState::Levels { changed, from }, _) => {
                let through = view.sequence().0;
                let changed = std::mem::take(changed);
                let first = std::mem::replace(from, through + 1);
                tell(model, symbol, self.stream, self.envelope, &|| {
                    events::depth(view, symbol, first, through, &changed, unit)
                });
            }
            (StreamState::Changed(changed), stream) => {
                *changed = false;
                tell(model, symbol, stream, self.envelope, &|| match stream {
                    Stream::BestLevels(levels, _) => crate::market::book_shape(view, symbol, levels.into()).to_string(),
                    Stream::MiniTicker => events::mini_ticker(view, symbol, unit),
                    Stream::WindowTicker(window) => events::window_ticker(view, symbol, window, unit),
                    Stream::AveragePrice => events::average_price(view, symbol, unit),
                    Stream::Depth(_)
                    | Stream::Trade
                    | Stream::AggregateTrade
                    | Stream::Kline(_)
                    | Stream::BookTicker
                    | Stream::Ticker => events::ticker(view, symbol, unit),
                });
            }
            (StreamState::Best(_) | StreamState::Candle(_) | StreamState::Nothing, _) => {}
        }
    }

    /// Sends a candle a last time when its time is over, also without further trades.
    fn close_candle(&mut self, model: &ReadModel<Hub>, symbol: SymbolIndex) {
        let (Stream::Kline(interval), StreamState::Candle(Some((told, closed @ false)))) =
            (self.stream, &mut self.state)
        else {
            return;
        };
        // A moment later: trades of its time may be on their way.
        if Time(market_now(&model.view).0.saturating_sub(1_000_000)) < interval.end_of(told.start) {
            return;
        }
        *closed = true;
        let candle = *told;
        tell(model, symbol, self.stream, self.envelope, &|| {
            events::kline(&model.view, symbol, interval, &candle, true, self.envelope.unit)
        });
    }
}

fn tell(model: &ReadModel<Hub>, symbol: SymbolIndex, stream: Stream, envelope: Envelope, event: &dyn Fn() -> String) {
    model.watcher.tell(StreamTopic::OfSymbol(symbol, stream, envelope).topic(), || {
        SharedText::from(match envelope.wrap {
            Wrap::Raw | Wrap::Api => event(),
            Wrap::Combined => events::of_stream(&crate::stream::name(&model.view, symbol, stream), &event()),
        })
    });
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use feed::Interval;

    use super::*;

    /// Each of an interval's six kinds of followers had the candles read from the files again.
    #[test]
    fn the_candles_of_an_interval_are_made_once_for_all_its_followers() {
        let (mut latest, made) = (LatestCandles::default(), Cell::new(0));
        let intervals = [Interval::Second, Interval::Minute].map(KlineInterval::Kept);
        for interval in [intervals[0], intervals[1], intervals[0], intervals[1], intervals[0]] {
            let make = || {
                made.set(made.get() + 1);
                Ok(Vec::new())
            };
            assert_eq!(latest.of(interval, make), []);
        }
        assert_eq!(made.get(), 2);
    }
}
