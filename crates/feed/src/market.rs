//! The market of one symbol: its book, its last trades and its candles.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use exchange::Trade;
use history::{Candle, Interval, KEPT};
use terms::{
    AuctionPrice, AuctionTerms, Phase, Position, Price, Side, Symbol, SymbolIndex, SymbolPhase, SymbolRules, Time,
    Turnover, auction_price,
};

use crate::book::Book;
use crate::latest_seconds::LatestSeconds;
use crate::remembered::Remembered;

/// Trades of each symbol that a start puts back into memory.
pub const RECALLED: usize = 100;
/// The most limits of a side that cross while an auction's price is computed: the feed computes it with each change,
/// and everybody waits for that.
const CROSSED_MAX: usize = 10_000;
const DAY_MICROS: u64 = 86_400_000_000;

/// A symbol and its market.
#[derive(Debug)]
pub struct Listing {
    pub name: Symbol,
    /// All shares of the symbol, in all accounts.
    pub issued: Position,
    /// The rules that its orders have to obey.
    pub rules: SymbolRules,
    /// The phase, which says whether its orders execute as they arrive.
    pub phase: SymbolPhase,
    /// The price to which an auction's price is to be near, if it is known; for symbols that are not open.
    pub(crate) reference: Option<Price>,
    pub book: Book,
    /// The auction's price that was asked for last.
    auction: Mutex<Option<FoundPrice>>,
    /// The number of the book: that of its changes while nobody watches, and of the updates that watchers got.
    pub update: u64,
    pub last: Option<Trade>,
    recent: VecDeque<Trade>,
    /// Whether there were trades before those that memory keeps.
    pub has_older: bool,
    pub(crate) latest_seconds: LatestSeconds,
    series: [Series; KEPT.len()],
    /// The number of the first trade of each minute, oldest first; only for minutes that began since the start.
    first_trades: VecDeque<(Time, u64)>,
    /// Whether anything is subscribed to the symbol.
    pub(crate) watched: bool,
    /// Levels that changed since the last update.
    pub(crate) touched: Vec<(Side, Price)>,
    /// Trades since the last update.
    pub(crate) news: Vec<Trade>,
}

/// The trades from some minute on, in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traded {
    /// The time from which the trades are counted.
    pub from: Time,
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub volume: Position,
    pub money: Turnover,
    pub trades: u64,
    /// The number of their first trade; `None` where memory does not reach back to it.
    pub first_trade: Option<u64>,
}

/// An auction's price, or that there is none, and what it was made of: the number of changes of the book, and the
/// terms.
#[derive(Debug)]
struct FoundPrice {
    made_of: (u64, AuctionTerms),
    price: Option<AuctionPrice>,
}

/// The market of a symbol as a history that is not in our files knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerMarket {
    pub symbol: SymbolIndex,
    /// The last trades, oldest first.
    pub trades: Vec<Trade>,
    /// All minutes with trades from `since` on, oldest first.
    pub minutes: Vec<Candle>,
    /// The start of the minutes, from `FormerMarket::since_of`.
    pub since: Time,
}

/// Candles of one interval.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// The time from which memory has all candles; `None` if it lacks none of the last day.
    pub(crate) whole_from: Option<Time>,
    /// The candle that trades still change.
    pub(crate) current: Option<Candle>,
    /// The candles before it, oldest first.
    pub(crate) closed: VecDeque<Candle>,
}

impl Listing {
    pub(crate) fn new(name: Symbol) -> Listing {
        Listing {
            name,
            issued: Position::ZERO,
            rules: SymbolRules::NONE,
            phase: SymbolPhase::OPEN,
            reference: None,
            book: Book::default(),
            auction: Mutex::default(),
            update: 0,
            last: None,
            recent: VecDeque::new(),
            has_older: false,
            latest_seconds: LatestSeconds::default(),
            series: Default::default(),
            first_trades: VecDeque::new(),
            watched: false,
            touched: Vec::new(),
            news: Vec::new(),
        }
    }

    /// Returns the price at which its orders would execute if an auction ended now, and the shares, hidden ones
    /// included. `None` for a symbol that is open, where nothing would execute, and where more than 10,000 limits of a
    /// side cross. It is computed once for each change of the book, however often it is asked for: the time is
    /// proportional to the number of limits that cross.
    pub fn auction_price(&self) -> Option<AuctionPrice> {
        if self.phase.phase == Phase::Open {
            return None;
        }
        let made_of = (self.book.changes, self.auction_terms());
        let mut auction = self.auction.lock().unwrap_or_else(PoisonError::into_inner);
        match *auction {
            Some(FoundPrice { made_of: before, price }) if before == made_of => price,
            _ => auction.insert(FoundPrice { made_of, price: self.find_auction_price() }).price,
        }
    }

    fn find_auction_price(&self) -> Option<AuctionPrice> {
        if self.book.crosses_more_than(CROSSED_MAX) {
            return None;
        }
        auction_price(self.book.auction_levels(Side::Buy), self.book.auction_levels(Side::Sell), self.auction_terms())
    }

    fn auction_terms(&self) -> AuctionTerms {
        AuctionTerms { last: self.reference, tick: self.rules.tick, ties: self.rules.auction_ties }
    }

    /// Lists the last trades that memory still has, newest first.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &Trade> {
        self.recent.iter().rev()
    }

    /// Sums up the 24 hours before `now`; `None` if they have no trade.
    pub fn day(&self, now: Time) -> Option<Traded> {
        self.traded_since(Time(now.0.saturating_sub(DAY_MICROS)))
    }

    /// Sums up all minutes that began at `from` or later, which is at most a day ago; `None` if they have no trade. The
    /// sum begins with the hour of `from` where memory no longer has all minutes.
    pub fn traded_since(&self, from: Time) -> Option<Traded> {
        let [minutes, hours, _] = &self.series;
        let (mut from, mut minutes_from) = (from, from);
        if let Some(whole_from) = minutes.whole_from.filter(|whole_from| from < *whole_from) {
            from = Interval::Hour.start_of(from);
            // The hour of the last minute that memory dropped is complete.
            let dropped = Time(whole_from.0.saturating_sub(1));
            minutes_from = Time(Interval::Hour.start_of(dropped).0.saturating_add(Interval::Hour.micros()));
        }
        let mut inside = hours.between(from, minutes_from).chain(minutes.between(minutes_from, Time(u64::MAX)));
        let first = *inside.next()?;
        let mut joined = first;
        inside.for_each(|candle| joined.extend(candle));
        let Candle { open, high, low, volume, money, trades, .. } = joined;
        let first_trade = self.first_trade(first.start, trades);
        Some(Traded { from, open, high, low, volume, money, trades, first_trade })
    }

    /// Returns the number of a minute's first trade; `trades` is how many there were from that minute on.
    fn first_trade(&self, minute: Time, trades: u64) -> Option<u64> {
        let known = self.first_trades.binary_search_by_key(&minute, |(minute, _)| *minute);
        known.ok().map(|at| self.first_trades[at].1).or_else(|| self.trade_back(trades))
    }

    /// Returns the number of the trade that is the first of the last `trades`, if memory has it.
    pub fn trade_back(&self, trades: u64) -> Option<u64> {
        let back = usize::try_from(trades).ok()?.checked_sub(1)?;
        self.recent().nth(back).map(|trade| trade.id)
    }

    /// Returns the candles of an interval that is kept.
    pub(crate) fn series(&self, interval: Interval) -> Option<&Series> {
        KEPT.iter().position(|kept| *kept == interval).map(|at| &self.series[at])
    }

    /// Adds a trade.
    pub(crate) fn traded(&mut self, trade: &Trade, all: &mut Remembered) {
        self.remember(*trade, all);
        for (series, interval) in self.series.iter_mut().zip(KEPT) {
            match &mut series.current {
                Some(current) if current.has(trade.time, interval) => current.take(trade),
                current => {
                    let next = Candle::of(trade, interval);
                    if let Some(full) = current.replace(next) {
                        series.close(full, interval, all);
                    }
                    if interval == Interval::Minute {
                        if self.first_trades.len() >= all.candles_each(interval) {
                            self.first_trades.pop_front();
                        }
                        self.first_trades.push_back((next.start, trade.id));
                    }
                }
            }
        }
        if self.watched {
            self.news.push(*trade);
        }
    }

    /// Adds a trade to the recent ones, without news for subscribers.
    pub(crate) fn remember(&mut self, trade: Trade, all: &mut Remembered) {
        self.latest_seconds.take(&trade, self.last.is_none() && self.has_older);
        self.drop_trades(all.trades_each() - 1, all);
        self.recent.push_back(trade);
        all.trades += 1;
        self.last = Some(trade);
    }

    /// Drops the oldest trades and candles beyond the symbol's share, and their room.
    pub(crate) fn keep_within(&mut self, all: &mut Remembered) {
        self.drop_trades(all.trades_each(), all);
        self.recent.shrink_to_fit();
        for (series, interval) in self.series.iter_mut().zip(KEPT) {
            series.keep(all.candles_each(interval), interval, all);
            series.closed.shrink_to_fit();
        }
        let beyond = self.first_trades.len().saturating_sub(all.candles_each(Interval::Minute));
        self.first_trades.drain(..beyond);
        self.first_trades.shrink_to_fit();
    }

    fn drop_trades(&mut self, most: usize, all: &mut Remembered) {
        while self.recent.len() > most {
            self.recent.pop_front();
            all.trades -= 1;
            self.has_older = true;
        }
    }

    /// Puts back the candles of a kept interval, the current one last.
    pub(crate) fn recall(&mut self, interval: Interval, recalled: Series, all: &mut Remembered) {
        let at = KEPT.iter().position(|kept| *kept == interval).expect("invariant: only kept candles are recalled");
        let series = &mut self.series[at];
        all.candles = all.candles + recalled.closed.len() - series.closed.len();
        *series = recalled;
        series.keep(all.candles_each(interval), interval, all);
    }

    /// Puts back what another history knows.
    pub(crate) fn recognize(&mut self, former: &FormerMarket, all: &mut Remembered) {
        for interval in KEPT {
            let mut candles = Vec::new();
            former.minutes.iter().for_each(|minute| Candle::join(&mut candles, minute, interval));
            // Candles that begin before the minutes do may lack some of theirs.
            candles.retain(|candle| candle.start >= former.since);
            let current = candles.pop();
            self.recall(interval, Series::recalled(candles, current, usize::MAX), all);
        }
        // A database is asked for so many at most.
        self.has_older |= former.trades.len() >= RECALLED;
        former.trades.iter().for_each(|trade| self.remember(*trade, all));
    }

    /// Notes that a level changed.
    pub(crate) fn touch(&mut self, side: Side, limit: Price) {
        if !self.watched {
            self.update += 1;
        } else if self.touched.last() != Some(&(side, limit)) {
            self.touched.push((side, limit));
        }
    }

    /// Returns the number of the book as it stands: the next update's, where watchers have not got its changes yet.
    pub fn book_number(&self) -> u64 {
        self.update + u64::from(!self.touched.is_empty())
    }
}

impl FormerMarket {
    /// Returns the time from which minutes are needed when the last command was at `time`: a day before it, and from a
    /// full hour on, so that longer candles are whole.
    pub fn since_of(time: Time) -> Time {
        Interval::Hour.start_of(Time(time.0.saturating_sub(DAY_MICROS)))
    }
}

impl Series {
    /// Makes a series of the last candles that a history has, `most` of which were asked for.
    pub(crate) fn recalled(mut closed: Vec<Candle>, current: Option<Candle>, most: usize) -> Series {
        closed.shrink_to_fit();
        let cut = closed.first().filter(|_| closed.len() >= most);
        Series { whole_from: cut.map(|first| first.start), current, closed: closed.into() }
    }

    /// Adds a candle that is complete. The oldest one goes before, so that the queue has room for a symbol's share
    /// alone.
    fn close(&mut self, full: Candle, interval: Interval, all: &mut Remembered) {
        let most = all.candles_each(interval);
        self.keep(most - 1, interval, all);
        let count = self.closed.len();
        if count == self.closed.capacity() {
            self.closed.reserve_exact(count.max(4).min(most - count));
        }
        self.closed.push_back(full);
        all.candles += 1;
    }

    /// Drops the oldest closed candles beyond the last `most`.
    fn keep(&mut self, most: usize, interval: Interval, all: &mut Remembered) {
        while self.closed.len() > most
            && let Some(dropped) = self.closed.pop_front()
        {
            self.whole_from = Some(Time(dropped.start.0.saturating_add(interval.micros())));
            all.candles -= 1;
        }
    }

    /// Lists the candles that begin from one time on and before another one, oldest first.
    fn between(&self, from: Time, to: Time) -> impl Iterator<Item = &Candle> {
        let begin = self.closed.partition_point(|candle| candle.start < from);
        let end = self.closed.partition_point(|candle| candle.start < to).max(begin);
        let current = self.current.iter().filter(move |candle| (from..to).contains(&candle.start));
        self.closed.range(begin..end).chain(current)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use terms::{AccountIndex, Fee, OrderId, Sequence, Shares};

    use super::*;
    use crate::remembered::{HOURS_MIN, MINUTES_MIN};

    fn trade(minute: u64, price: i64) -> Trade {
        Trade {
            id: minute + 1,
            symbol: SymbolIndex(0),
            price: Price::from_units(price).unwrap(),
            shares: Shares::from_units(1).unwrap(),
            time: Time(minute * 60_000_000),
            sequence: Sequence(minute + 1),
            aggressor: Side::Buy,
            maker_order: OrderId(1),
            aggressor_order: OrderId(2),
            maker_account: AccountIndex(0),
            aggressor_account: AccountIndex(1),
            maker_fee: Fee::NONE,
            aggressor_fee: Fee::NONE,
        }
    }

    #[test]
    fn the_last_24_hours_forget_what_was_before_them() {
        const DAY: u64 = 24 * 60;
        let mut listing = Listing::new(Symbol::parse(b"S").unwrap());
        for (minute, price) in [(0, 9), (1, 1), (2, 5), (DAY, 4)] {
            listing.traded(&trade(minute, price), &mut Remembered::new());
        }
        let day = |minute: u64| listing.day(Time(minute * 60_000_000));
        let shown = |minute| day(minute).map(|day| (day.open.units(), day.high.units(), day.low.units(), day.trades));
        assert_eq!(shown(DAY), Some((9, 9, 1, 4)));
        assert_eq!(shown(DAY + 1), Some((1, 5, 1, 3)));
        assert_eq!(shown(DAY + 2), Some((5, 5, 4, 2)));
        assert_eq!(shown(2 * DAY), Some((4, 4, 4, 1)));
        assert_eq!(shown(2 * DAY + 1), None);
    }

    /// The limits that cross were counted each time somebody asked, also where nothing had changed.
    #[test]
    fn the_price_of_an_auction_is_looked_for_once_for_each_change_also_where_there_is_none() {
        const MANY: i64 = CROSSED_MAX as i64;
        let price = |units| Price::from_units(units).unwrap();
        // One limit of each side crosses; none does; too many do.
        for (best_bid, is_found) in [(MANY + 1, true), (MANY, false), (2 * MANY + 1, false)] {
            let mut listing = Listing::new(Symbol::parse(b"S").unwrap());
            listing.phase.phase = Phase::Auction;
            listing.book = Book::of_limits((1..=best_bid).map(price), (MANY + 1..=2 * MANY + 1).map(price));
            let found = listing.auction_price();
            assert_eq!(found.is_some(), is_found, "the best bid is {best_bid}");
            // What is in its place now is told as long as nothing changes.
            let other = AuctionPrice { price: price(7), shares: Position::ZERO, surplus: Position::ZERO };
            listing.auction.lock().unwrap().as_mut().unwrap().price = Some(other);
            assert_eq!(listing.auction_price(), Some(other), "it is not looked for again");
            listing.book.changes += 1;
            assert_eq!(listing.auction_price(), found, "it is looked for after a change");
        }
    }

    /// A book that nobody followed had the same number however it changed.
    #[test]
    fn a_book_has_another_number_once_it_has_changed() {
        let mut listing = Listing::new(Symbol::parse(b"S").unwrap());
        let mut numbers = vec![listing.book_number()];
        let price = Price::from_units(1).unwrap();
        for watched in [false, false, true, false] {
            listing.watched = watched;
            listing.touch(Side::Buy, price);
            numbers.push(listing.book_number());
        }
        assert!(numbers.windows(2).all(|two| two[0] < two[1]), "{numbers:?}");
    }

    /// Each symbol that traded all day kept 150 KB of minutes, however many symbols there were.
    #[test]
    fn where_many_symbols_trade_the_last_24_hours_begin_with_an_hour() {
        const DAY: u64 = 24 * 60;
        let new = || Listing::new(Symbol::parse(b"S").unwrap());
        let (mut listing, all) = (new(), &mut Remembered::of(100_000));
        let trades: Vec<Trade> = (0..3 * DAY).map(|minute| trade(minute, 1 + (minute * 7919 % 1000) as i64)).collect();
        let sum = |from: u64, to: u64| {
            let prices = || trades[from as usize..=to as usize].iter().map(|trade| trade.price.units());
            (prices().next().unwrap(), prices().max().unwrap(), prices().min().unwrap(), to - from + 1)
        };
        let numbers = |day: Option<Traded>| {
            day.map(|day| (day.open.units(), day.high.units(), day.low.units(), day.trades)).unwrap()
        };
        for minute in 0..3 * DAY {
            listing.traded(&trades[minute as usize], all);
            let hour = minute.saturating_sub(DAY) / 60 * 60;
            let now = Time(minute * 60_000_000);
            assert_eq!(numbers(listing.day(now)), sum(hour, minute), "minute {minute}");
            assert_eq!(listing.day(now).map(|day| day.from), Some(trades[hour as usize].time), "minute {minute}");
            let lately = minute.saturating_sub(MINUTES_MIN as u64);
            let told = numbers(listing.traded_since(Time(lately * 60_000_000)));
            assert_eq!(told, sum(lately, minute), "minute {minute}");
        }
        assert!(all.candles <= MINUTES_MIN + 2 * HOURS_MIN, "{} candles", all.candles);
        assert!(listing.first_trades.capacity() <= MINUTES_MIN && listing.series[0].closed.capacity() <= MINUTES_MIN);
        // A start puts back as many.
        let mut again = new();
        for interval in KEPT {
            let Series { closed, current, .. } = listing.series(interval).unwrap();
            let recalled = Series::recalled(closed.iter().copied().collect(), *current, all.candles_each(interval));
            // A symbol that is recalled early has the share of few.
            again.recall(interval, recalled, &mut Remembered::new());
        }
        let now = Time((3 * DAY - 1) * 60_000_000);
        assert_eq!(numbers(again.day(now)), numbers(listing.day(now)));
    }

    #[test]
    fn the_first_trade_is_known_as_far_back_as_memory_goes() {
        let mut listing = Listing::new(Symbol::parse(b"S").unwrap());
        // Minutes before the start, of which memory has only the last trades.
        let minute = |minute: u64, trades: u64| Candle { trades, ..Candle::of(&trade(minute, 1), Interval::Minute) };
        let all = &mut Remembered::new();
        let closed = vec![minute(1, 2), minute(2, 1)];
        listing.recall(Interval::Minute, Series::recalled(closed, Some(minute(3, 1)), usize::MAX), all);
        [2, 3].into_iter().for_each(|minute| listing.remember(trade(minute, 1), all));
        listing.traded(&trade(3, 1), all);
        listing.traded(&Trade { id: 5, ..trade(4, 1) }, all);
        listing.traded(&Trade { id: 9, ..trade(4, 1) }, all);
        let first = |minute: u64| listing.traded_since(Time(minute * 60_000_000)).and_then(|traded| traded.first_trade);
        assert_eq!([4, 3, 2, 1, 0].map(first), [Some(5), Some(4), Some(3), None, None]);
        assert_eq!([0, 1, 5, 6].map(|back| listing.trade_back(back)), [None, Some(9), Some(3), None]);
    }
}
