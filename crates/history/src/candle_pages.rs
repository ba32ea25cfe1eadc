//! Pages of candles. A search for old candles goes from days to hours to minutes, so a page costs the days behind it
//! and its own candles, and not each candle in between.

use terms::{SymbolIndex, Time};

use crate::candle::{Candle, Interval, KEPT};
use crate::chain_heads::SymbolChain;
use crate::error::HistoryError;
use crate::history::History;
use crate::record::CandleRecord;
use crate::table::Near;

/// The place in a chain from which a search goes back.
struct Begin {
    /// The number of a candle; none where the chain is empty up to here.
    number: Option<u64>,
    /// Whether it is the end of the chain, behind which a candle may still be open.
    is_newest: bool,
}

impl History {
    /// The candle of a kept interval that was not complete at the last checkpoint.
    pub fn current_candle(&self, symbol: SymbolIndex, interval: Interval) -> Option<Candle> {
        self.heads.symbol(symbol).and_then(|chain| chain.candles(interval).current)
    }

    /// The last `limit` complete candles of a kept interval that began before `before`, oldest first.
    pub fn closed_candles(
        &self,
        symbol: SymbolIndex,
        interval: Interval,
        before: Option<Time>,
        limit: usize,
    ) -> Result<Vec<Candle>, HistoryError> {
        let Some(chain) = self.heads.symbol(symbol) else { return Ok(Vec::new()) };
        let mut at = match before.zip(KEPT.iter().position(|kept| *kept == interval)) {
            Some((before, kept)) => self.begin(chain, kept, before)?.number,
            None => chain.candles(interval).last,
        };
        let (mut found, mut near) = (Vec::new(), Near::default());
        while let Some(number) = at {
            if found.len() >= limit {
                break;
            }
            let record = self.read_candle(number, &mut near)?;
            at = record.before;
            if before.is_none_or(|before| record.candle.start < before) {
                found.push(record.candle);
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Finds the candle from which to go back to those of `KEPT[kept]` that began before `before`: no later one did,
    /// and the ones passed on the way lie in one candle of the next longer interval.
    fn begin(&self, chain: &SymbolChain, kept: usize, before: Time) -> Result<Begin, HistoryError> {
        let newest = Begin { number: chain.candles(KEPT[kept]).last, is_newest: true };
        let Some(longer) = KEPT.get(kept + 1) else { return Ok(newest) };
        let begin = self.begin(chain, kept + 1, before)?;
        let (mut at, mut covers, mut near) = (begin.number, None, Near::default());
        while let Some(number) = at {
            let record = self.read_candle(number, &mut near)?;
            if record.candle.start.0.saturating_add(longer.micros()) < before.0 {
                break;
            }
            (covers, at) = (Some(number), record.before);
        }
        // The trade that completes a candle also completes the last one of each shorter interval in it, and those are
        // written just before it.
        Ok(match covers.or(begin.number.filter(|_| !begin.is_newest)) {
            Some(number) => Begin { number: number.checked_sub(1), is_newest: false },
            None => newest,
        })
    }

    fn read_candle(&self, number: u64, near: &mut Near) -> Result<CandleRecord, HistoryError> {
        let at = number.saturating_sub(1);
        self.record(&self.candles, at, self.candles.read_near(at, near), CandleRecord::decode)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use engine::{DoneOrders, Engine};
    use exchange::Trade;
    use journal::simulated::SimulatedDisk;
    use terms::{AccountIndex, Fee, OrderId, Price, Sequence, Shares, Side};

    use super::*;
    use crate::table::Sizes;

    const SYMBOLS: u32 = 2;
    const DAYS: u64 = 40;

    fn trade(symbol: u32, time: Time) -> Trade {
        Trade {
            id: 1,
            symbol: SymbolIndex(symbol),
            price: Price::from_units(1 + (time.0 / 1_000_000 % 1000) as i64).unwrap(),
            shares: Shares::from_units(1).unwrap(),
            time,
            sequence: Sequence(1),
            aggressor: Side::Buy,
            maker_order: OrderId(1),
            aggressor_order: OrderId(2),
            maker_account: AccountIndex(0),
            aggressor_account: AccountIndex(1),
            maker_fee: Fee::NONE,
            aggressor_fee: Fee::NONE,
        }
    }

    /// Makes a history of trades in two symbols, with some empty minutes, hours and days; returns it with the times of
    /// the trades.
    fn traded() -> (History, Vec<(u32, Time)>) {
        let engine = Engine::new(1, DoneOrders::Drop);
        let mut history = History::open_sized(&SimulatedDisk::new(), &engine, Sizes::USUAL).unwrap();
        let (mut times, mut seconds, mut random) = (Vec::new(), 0u64, 1u64);
        while seconds < DAYS * 86_400 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seconds += match (random >> 33) % 1000 {
                0 => 3 * 86_400,
                1..=9 => 5 * 3_600,
                other => other / 5,
            };
            times.push((((random >> 60) % u64::from(SYMBOLS)) as u32, Time(seconds * 1_000_000)));
        }
        times.iter().for_each(|(symbol, time)| history.add_to_candles(&trade(*symbol, *time)).unwrap());
        (history, times)
    }

    /// Makes all complete candles of the trades directly.
    fn closed(times: &[(u32, Time)], symbol: u32, interval: Interval) -> Vec<Candle> {
        let mut all = Vec::new();
        for (_, time) in times.iter().filter(|(its, _)| *its == symbol) {
            Candle::join(&mut all, &Candle::of(&trade(symbol, *time), interval), interval);
        }
        all.pop();
        all
    }

    #[test]
    fn candles_before_any_time_are_those_that_there_were() {
        let (history, times) = traded();
        for (symbol, interval) in (0..SYMBOLS).flat_map(|symbol| KEPT.map(|interval| (symbol, interval))) {
            let all = closed(&times, symbol, interval);
            let edges = all.iter().step_by(if interval == Interval::Minute { 7 } else { 1 });
            let edges =
                edges.flat_map(|candle| [0, 1, interval.micros(), interval.micros() + 1].map(|by| candle.start.0 + by));
            for before in edges.chain([0, u64::MAX]).map(Time) {
                let there = all.partition_point(|candle| candle.start < before);
                let found = history.closed_candles(SymbolIndex(symbol), interval, Some(before), 3).unwrap();
                assert_eq!(
                    found,
                    all[there.saturating_sub(3)..there],
                    "{symbol} {} before {before:?}",
                    interval.name()
                );
            }
            assert_eq!(history.closed_candles(SymbolIndex(symbol), interval, None, usize::MAX).unwrap(), all);
        }
    }

    /// A regression: a question for one old minute read each newer one, on the thread that answers all questions.
    #[test]
    fn an_old_candle_is_found_without_reading_the_newer_ones() {
        let (history, times) = traded();
        for (kept, passed_max) in [(0, 60), (1, 24)] {
            let all = closed(&times, 0, KEPT[kept]);
            assert!(all.len() > 4 * passed_max, "{}", all.len());
            for candle in all.iter().step_by(7) {
                let before = Time(candle.start.0 + 1);
                let chain = history.heads.symbol(SymbolIndex(0)).unwrap();
                let mut at = history.begin(chain, kept, before).unwrap().number;
                let mut passed = 0;
                let mut near = Near::default();
                while let Some(record) = at.map(|number| history.read_candle(number, &mut near).unwrap())
                    && record.candle.start >= before
                {
                    (at, passed) = (record.before, passed + 1);
                }
                assert!(passed <= passed_max, "{passed} are passed on the way to {before:?}");
            }
        }
    }
}
