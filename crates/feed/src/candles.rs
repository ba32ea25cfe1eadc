//! Candles of any interval: from memory where it reaches back far enough, otherwise from the history.

use exchange::Trade;
use history::{Candle, HistoryAt, HistoryError, Interval, PageBounds};
use terms::{SymbolIndex, Time};

use crate::view::View;

/// Trades of the files from which candles of a second are made, at most.
const TRADES_MAX: usize = 5_000;
const TRADES_AT_ONCE: usize = 512;
/// Trades of all symbols that are read to find one of a symbol: at once, and at most.
const SEARCHED_AT_ONCE: usize = TRADES_AT_ONCE;
const SEARCHED_MAX: usize = 320 * SEARCHED_AT_ONCE;
/// Trades of a symbol that are passed, at most, to find the last one before a time where that search cannot.
const PASSED_MAX: usize = TRADES_MAX;

/// Returns the last `limit` candles that began before `before`, oldest first.
pub(crate) fn candles(
    view: &View,
    history: Option<&HistoryAt<'_>>,
    symbol: SymbolIndex,
    interval: Interval,
    before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, HistoryError> {
    // The end of the range moves to the end of a candle, or the last candle would lack its later trades.
    let before =
        before.map(|before| Time(before.0.saturating_add(interval.micros() - 1))).map(|end| interval.start_of(end));
    let mut candles = match interval {
        Interval::Minute | Interval::Hour | Interval::Day => kept(view, history, symbol, interval, before, limit)?,
        Interval::FiveMinutes | Interval::FifteenMinutes => {
            let minutes = limit.saturating_mul((interval.micros() / Interval::Minute.micros()) as usize);
            // The first candle may lack its first minutes: it is one candle more than wanted, and is cut off.
            let minutes = minutes.saturating_add(15);
            let mut longer = joined(&kept(view, history, symbol, Interval::Minute, before, minutes)?, interval);
            let whole_from = view.listing(symbol).series(Interval::Minute).and_then(|minutes| minutes.whole_from);
            // Without a history, memory may lack the first minutes of the first candle.
            let is_cut = longer.first().zip(whole_from).is_some_and(|(first, whole_from)| first.start < whole_from);
            if is_cut && history.is_none() {
                longer.remove(0);
            }
            longer
        }
        Interval::Second => {
            let mut seconds = Seconds::new(symbol, (None, before), limit);
            // Mostly a few trades suffice.
            let mut most = 16;
            // A second whose trades are more than may be read at once is left out.
            while seconds.go_on(view, history, most)? && !seconds.is_cut {
                most = (2 * most).min(TRADES_AT_ONCE);
            }
            seconds.finish()
        }
    };
    candles.drain(..candles.len().saturating_sub(limit));
    Ok(candles)
}

/// Returns the last `limit` candles that began before `before`, oldest first, if memory has them: so many, or all that
/// there are.
pub(crate) fn candles_in_memory(
    view: &View,
    symbol: SymbolIndex,
    interval: Interval,
    before: Option<Time>,
    limit: usize,
) -> Result<Option<Vec<Candle>>, HistoryError> {
    let has_all = memory_has_all(view, symbol, interval, before, limit);
    // Memory may lack trades of the oldest second that it knows.
    let wanted = if interval == Interval::Second && !has_all { limit.saturating_add(1) } else { limit };
    let mut found = candles(view, None, symbol, interval, before, wanted)?;
    let suffices = has_all || found.len() == wanted;
    found.drain(..found.len().saturating_sub(limit));
    Ok(suffices.then_some(found))
}

/// Whether the history has no candle of these that memory does not have.
fn memory_has_all(view: &View, symbol: SymbolIndex, interval: Interval, before: Option<Time>, limit: usize) -> bool {
    let listing = view.listing(symbol);
    let is_whole = |interval| listing.series(interval).is_some_and(|series| series.whole_from.is_none());
    view.has_put_back()
        && match interval {
            // Where all of its trades are no longer kept, memory has none.
            Interval::Second => {
                let has_last = || listing.last.is_some() && listing.latest_seconds.has_last(before, limit);
                !listing.has_older || has_last()
            }
            Interval::FiveMinutes | Interval::FifteenMinutes => is_whole(Interval::Minute),
            Interval::Minute | Interval::Hour | Interval::Day => is_whole(interval),
        }
}

fn joined(shorter: &[Candle], interval: Interval) -> Vec<Candle> {
    let mut longer = Vec::new();
    shorter.iter().for_each(|candle| Candle::join(&mut longer, candle, interval));
    longer
}

fn kept(
    view: &View,
    history: Option<&HistoryAt<'_>>,
    symbol: SymbolIndex,
    interval: Interval,
    before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, HistoryError> {
    let Some(series) = view.listing(symbol).series(interval) else { return Ok(Vec::new()) };
    let is_early = |candle: &Candle| before.is_none_or(|before| candle.start < before);
    let early = series.closed.partition_point(is_early);
    let current = series.current.iter().filter(|candle| is_early(candle));
    let in_memory = series.closed.range(..early).chain(current).rev().take(limit);
    let mut candles: Vec<Candle> = in_memory.copied().collect();
    candles.reverse();
    if let Some(history) = history.filter(|_| candles.len() < limit) {
        let earliest = candles.first().map(|candle| candle.start).or(before);
        let mut older = history.closed_candles(symbol, interval, earliest, limit - candles.len())?;
        older.append(&mut candles);
        candles = older;
    }
    Ok(candles)
}

/// Candles of a second while they are made of a symbol's trades, from the newest one back: of the last seconds that
/// memory has whole, of the trades that memory has, and then of those in the files.
#[derive(Debug)]
pub struct Seconds {
    symbol: SymbolIndex,
    from: Option<Time>,
    before: Option<Time>,
    limit: usize,
    /// The candles, newest first.
    found: Vec<Candle>,
    /// The first candles of these, which memory has whole: none of their trades is read.
    known: usize,
    place: Place,
    /// The number of trades that may still be read of the files.
    left: usize,
    /// Whether the oldest candle lacks trades.
    is_cut: bool,
    /// The time before which a search that was too long would have gone on.
    since: Time,
    /// The damage for which the last trade before a time is looked for in another way.
    damage: Option<HistoryError>,
}

/// The trades that are read next.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The trades that memory has.
    Memory,
    /// The trades in the files before a time, by which memory has none.
    Search(Time),
    /// The trades of all symbols up to a number, until one is the symbol's.
    AllSymbols(Searched),
    /// The trades of the symbol before this one; without it the newest.
    Before(Option<u64>),
    /// Trades of the symbol before this one, while all so far were too new, and the number of those that may still be
    /// passed.
    Passing(Option<u64>, usize),
    End,
}

/// A search among the trades of all symbols.
#[derive(Clone, Copy, Debug)]
struct Searched {
    at: u64,
    /// The first trade that is not looked at, and the time before which the search then goes on.
    floor: u64,
    since: Time,
    /// The number of trades that may still be looked at.
    left: usize,
}

impl Seconds {
    /// Begins with the last trade of a stretch of time, whose last `limit` candles are made. The stretch begins and
    /// ends with a whole second.
    pub fn new(symbol: SymbolIndex, (from, before): (Option<Time>, Option<Time>), limit: usize) -> Seconds {
        let (found, place) = (Vec::new(), if limit == 0 { Place::End } else { Place::Memory });
        Seconds {
            symbol,
            from,
            before,
            limit,
            found,
            known: 0,
            place,
            left: TRADES_MAX,
            is_cut: false,
            since: Time::ZERO,
            damage: None,
        }
    }

    /// Makes it of all trades of the stretch, and not only of the last 5,000 in the files.
    pub fn without_bound(self) -> Seconds {
        Seconds { left: usize::MAX, ..self }
    }

    /// Returns the number of trades of which the candles are made.
    pub fn trades(&self) -> u64 {
        self.found.iter().map(|candle| candle.trades).sum()
    }

    /// Reads the next trades: of the symbol at most `most` in the files. Returns false when the candles are made.
    /// Errors: among others, no candle is kept whole, and those before a time cannot be found.
    pub fn go_on(&mut self, view: &View, history: Option<&HistoryAt<'_>>, most: usize) -> Result<bool, HistoryError> {
        match self.step(view, history, most) {
            Err(HistoryError::NoLongerKept { until }) => {
                // Trades that are no longer kept are older than those that were found, and may be of the same second.
                let oldest = self.found.get(self.known..).and_then(<[Candle]>::last);
                self.is_cut = oldest.is_some_and(|oldest| oldest.start <= until);
                if self.whole() == 0 {
                    return Err(HistoryError::NoLongerKept { until });
                }
                self.place = Place::End;
            }
            read => read?,
        }
        Ok(!matches!(self.place, Place::End))
    }

    /// The candles, oldest first. One that lacks trades is not among them.
    pub fn finish(mut self) -> Vec<Candle> {
        self.found.truncate(self.whole());
        self.found.reverse();
        self.found
    }

    /// Returns the number of candles that lack no trades.
    fn whole(&self) -> usize {
        self.found.len().saturating_sub(usize::from(self.is_cut))
    }

    fn step(&mut self, view: &View, history: Option<&HistoryAt<'_>>, most: usize) -> Result<(), HistoryError> {
        match (self.place, history) {
            (Place::Memory, _) => self.place = self.take_memory(view, history.is_some()),
            (Place::Search(before), Some(history)) => {
                self.place = match search(view, history, self.symbol, before) {
                    Err(error) if error.is_damage() => self.pass(view, Some(error)),
                    searched => searched?.map_or(Place::End, Place::AllSymbols),
                };
            }
            (Place::AllSymbols(Searched { mut at, floor, since, left }), Some(history)) => {
                let looked_at = (at - floor).min(SEARCHED_AT_ONCE.min(left) as u64) as usize;
                let left = left - looked_at;
                self.place = match history.trade_back(self.symbol, &mut at, looked_at) {
                    // The damaged trade may be another symbol's.
                    Err(error) if error.is_damage() => self.pass(view, Some(error)),
                    found => match found? {
                        Some(trade) if self.add(&trade) => Place::Before(Some(trade.id)),
                        None if at == floor && floor > 0 => Place::Search(since),
                        None if at > floor && left > 0 => Place::AllSymbols(Searched { at, floor, since, left }),
                        None if at > floor => {
                            self.since = since;
                            self.pass(view, None)
                        }
                        Some(_) | None => Place::End,
                    },
                };
            }
            (Place::Before(trade), Some(history)) => {
                // A single candle is made of all its trades, however many they are.
                let looked_at = if self.left == 0 { most } else { most.min(self.left) };
                self.left = self.left.saturating_sub(looked_at);
                let next = self.read(history, trade, looked_at)?;
                self.is_cut = next.is_some() && self.left == 0;
                let goes_on = next.is_some() && (self.left > 0 || self.whole() == 0);
                self.place = if goes_on { Place::Before(next) } else { Place::End };
            }
            (Place::Passing(trade, left), Some(history)) => {
                let looked_at = most.min(left);
                let next = self.read(history, trade, looked_at)?;
                let left = left.saturating_sub(looked_at);
                self.left = self.left.saturating_sub(looked_at);
                self.place = match next {
                    Some(_) if self.found.len() > self.known => Place::Before(next),
                    Some(_) if left > 0 => Place::Passing(next, left),
                    Some(_) if self.found.is_empty() => {
                        let buried = HistoryError::Buried { since: self.since };
                        return Err(self.damage.take().unwrap_or(buried));
                    }
                    Some(_) | None => Place::End,
                };
            }
            (Place::Search(_) | Place::AllSymbols(_) | Place::Before(_) | Place::Passing(..) | Place::End, _) => {
                self.place = Place::End;
            }
        }
        Ok(())
    }

    /// Makes the candles that memory has. Returns the place of the trades before them.
    fn take_memory(&mut self, view: &View, has_history: bool) -> Place {
        let (listing, end) = (view.listing(self.symbol), self.before);
        for candle in listing.latest_seconds.before(end).iter().rev() {
            if self.found.len() == self.limit || self.from.is_some_and(|from| candle.start < from) {
                return Place::End;
            }
            self.found.push(*candle);
            self.before = Some(candle.start);
        }
        self.known = self.found.len();
        if self.known == self.limit {
            return Place::End;
        }
        let (mut oldest, mut recent) = (None, listing.recent());
        let goes_on = recent.all(|trade| {
            oldest = Some(trade.id);
            self.add(trade)
        });
        match self.before {
            _ if !goes_on || !has_history => Place::End,
            Some(before) if self.found.len() == self.known && end.is_some() => Place::Search(before),
            // All trades of memory are of the last seconds, which are whole: the ones before them are not far.
            Some(_) if self.found.len() == self.known => Place::Passing(oldest, PASSED_MAX),
            Some(_) | None => Place::Before(oldest),
        }
    }

    /// Goes back along the symbol's own trades from the oldest one that memory has, until one is old enough.
    fn pass(&mut self, view: &View, damage: Option<HistoryError>) -> Place {
        self.damage = damage;
        let oldest = view.listing(self.symbol).recent().next_back();
        Place::Passing(oldest.map(|trade| trade.id), PASSED_MAX)
    }

    /// Adds trades of the symbol in the files: those before one, or the newest. Returns where to go on; `None` if there
    /// are no more, or none that count.
    fn read(&mut self, history: &HistoryAt<'_>, before: Option<u64>, most: usize) -> Result<Option<u64>, HistoryError> {
        let bounds = PageBounds { entries: most, looked_at: most };
        let (page, next) = history.trades_of(self.symbol, before, bounds)?.unwrap_or_default();
        let goes_on = page.iter().all(|trade| self.add(trade));
        Ok(next.filter(|_| goes_on))
    }

    /// Adds an older trade than those before. Returns whether older ones may count, too.
    fn add(&mut self, trade: &Trade) -> bool {
        if self.before.is_some_and(|before| trade.time >= before) {
            return true;
        }
        if self.from.is_some_and(|from| trade.time < from) {
            return false;
        }
        let (mut candle, is_full) = (Candle::of(trade, Interval::Second), self.found.len() == self.limit);
        match self.found.last_mut() {
            Some(later) if later.start == candle.start => {
                candle.extend(later);
                *later = candle;
            }
            _ if is_full => return false,
            _ => self.found.push(candle),
        }
        true
    }
}

/// Begins the search for the last trade of a symbol before a time; none if there is none. It saves reading each newer
/// trade, which leads to the one before.
fn search(
    view: &View,
    history: &HistoryAt<'_>,
    symbol: SymbolIndex,
    before: Time,
) -> Result<Option<Searched>, HistoryError> {
    // The symbol was traded in the last minute that has a candle, so few trades of others lie behind its own.
    let Some(minute) = kept(view, Some(history), symbol, Interval::Minute, Some(before), 1)?.pop() else {
        return Ok(None);
    };
    let (since, end) = (minute.start, Time(minute.start.0.saturating_add(Interval::Minute.micros())));
    let at = history.last_trade_before(before.min(end))?;
    // The trades of a minute that is cut may all be behind the cut.
    let floor = if before < end { history.last_trade_before(since)? } else { 0 };
    Ok(Some(Searched { at, floor, since, left: SEARCHED_MAX }))
}
