//! The simulated traders. Each symbol has a fair price that wanders; market makers quote around it, noise traders take
//! the offers, momentum traders follow the price, and patient ones leave orders of all kinds. They trade with each
//! other and with every visitor.

use std::collections::VecDeque;
use std::time::Duration;

use exchange::Answer;
use terms::{AccountId, Command, NewOrder, Op, OrderId, OrderKind, Place, Position, Reply, Side, Symbol};

use super::amounts::{account, number, price, shares};
use super::patient::{Patient, Scene, soon};
use super::random::Random;
use super::venue::Venue;

/// The symbols: a calm one with many trades, a lively one, a dear one with few shares, and a cheap one that jumps.
const SYMBOLS: [Character; 4] = [
    Character { name: "ACME", cents: 15_000, moves: 300, size: 2, weight: 4 },
    Character { name: "BOLT", cents: 4_250, moves: 450, size: 4, weight: 3 },
    Character { name: "CRUX", cents: 98_000, moves: 200, size: 1, weight: 2 },
    Character { name: "DUNE", cents: 725, moves: 900, size: 20, weight: 1 },
];
/// The account with which a visitor of the demo trades.
pub(super) const YOURS: u64 = 1;
const MAKERS: [u64; 3] = [101, 102, 103];
const NOISE: [u64; 4] = [201, 202, 203, 204];
const MOMENTUM: [u64; 2] = [301, 302];
const PATIENT: [u64; 2] = [401, 402];
/// The strategies of traders, and the frequency of each, in per cent.
pub(super) const STRATEGIES: [&str; 4] = ["makers", "noise", "patient", "momentum"];
const OFTEN: [u64; STRATEGIES.len()] = [25, 50, 10, 15];
/// The time in which prices move by `moves`.
const MOVING: Duration = Duration::from_millis(2_500);
/// Quotes far from the market, which make the books deep.
const DEEP_MAKER: u64 = 104;
const DEEP_LEVELS: i64 = 40;
/// The average number of orders and cancels in a turn.
const COMMANDS: f64 = 7.0;
/// The largest lot that all of them together can pay for.
const LOT_MAX: f64 = 200.0;
/// The number of levels that a maker quotes on a side.
const LEVELS: i64 = 5;
/// The number of turns over which momentum traders look back.
const LOOK_BACK: usize = 40;

/// The character of a symbol.
struct Character {
    name: &'static str,
    /// The first fair price.
    cents: i64,
    /// The move within `MOVING`, in millionths.
    moves: i64,
    /// The size of its orders, as a multiple of the others'.
    size: u64,
    /// The frequency of its trades, relative to the others.
    weight: u64,
}

/// All traders.
pub struct Crowd {
    random: Random,
    markets: Vec<Market>,
    patient: Vec<Patient>,
    pace: Pace,
    /// The frequency of each strategy.
    often: [u64; STRATEGIES.len()],
}

/// The pace, chosen so that an hour looks the same with many small turns as with few large ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The lot of which orders are multiples.
    lot: u64,
    /// The move of a price in a turn, in thousandths of its move within `MOVING`.
    moves: i64,
}

impl Pace {
    /// The pace of this many orders and cancels a second, of single shares.
    pub(super) fn of_rate(rate: u32) -> Pace {
        Pace::of_turns(Duration::from_secs_f64(COMMANDS / f64::from(rate)), 1.0)
    }

    /// The rate in turns at this distance.
    pub(super) fn of_steps(step: Duration, rate: u32) -> Pace {
        Pace::of_turns(step, step.as_secs_f64() * f64::from(rate) / COMMANDS)
    }

    fn of_turns(apart: Duration, lot: f64) -> Pace {
        // A wandering price moves by the square root of the time.
        let moves = (apart.as_secs_f64() / MOVING.as_secs_f64()).sqrt() * 1000.0;
        Pace { lot: lot.clamp(1.0, LOT_MAX).round() as u64, moves: moves as i64 }
    }
}

struct Market {
    symbol: Symbol,
    /// The fair price in cents, times a thousand.
    fair: i64,
    /// The move within `MOVING`, in millionths.
    moves: i64,
    first: i64,
    size: u64,
    weight: u64,
    before: VecDeque<i64>,
    /// The quotes of each maker.
    quotes: [Vec<OrderId>; MAKERS.len()],
    deep: Vec<OrderId>,
}

impl Crowd {
    pub(super) fn new(seed: u64, pace: Pace) -> Crowd {
        let market = |Character { name, cents, moves, size, weight }: Character| Market {
            symbol: Symbol::parse(name.as_bytes()).expect("invariant: letters"),
            fair: cents * 1000,
            moves,
            first: cents * 1000,
            size,
            weight,
            before: VecDeque::new(),
            quotes: Default::default(),
            deep: Vec::new(),
        };
        let patient = PATIENT.map(|id| Patient::new(account(id))).into();
        Crowd { random: Random::new(seed), markets: SYMBOLS.map(market).into(), patient, pace, often: OFTEN }
    }

    /// All accounts, with a name and their trader's strategy; those of people first.
    pub(super) fn accounts() -> impl Iterator<Item = (AccountId, &'static str, Option<&'static str>)> {
        let [makers, noise, patient, momentum] = STRATEGIES;
        let all = [
            (YOURS, "You", None),
            (MAKERS[0], "Post-only maker", Some(makers)),
            (MAKERS[1], "Second maker", Some(makers)),
            (MAKERS[2], "Third maker", Some(makers)),
            (DEEP_MAKER, "Deep maker", Some(makers)),
            (NOISE[0], "First taker", Some(noise)),
            (NOISE[1], "Second taker", Some(noise)),
            (NOISE[2], "Third taker", Some(noise)),
            (NOISE[3], "Fourth taker", Some(noise)),
            (PATIENT[0], "First patient one", Some(patient)),
            (PATIENT[1], "Second patient one", Some(patient)),
            (MOMENTUM[0], "First follower", Some(momentum)),
            (MOMENTUM[1], "Second follower", Some(momentum)),
        ];
        all.into_iter().map(|(id, name, strategy)| (account(id), name, strategy))
    }

    pub(super) fn symbols() -> impl Iterator<Item = Symbol> {
        SYMBOLS.iter().map(|Character { name, .. }| Symbol::parse(name.as_bytes()).expect("invariant: letters"))
    }

    /// Draws later events from another seed.
    pub(super) fn drawn_anew(mut self, seed: u64) -> Crowd {
        self.random = Random::new(seed);
        self
    }

    /// Lets only traders of these strategies trade.
    pub(super) fn only(&mut self, strategies: &[&str]) {
        for (at, name) in STRATEGIES.iter().enumerate() {
            self.often[at] = if strategies.contains(name) { OFTEN[at] } else { 0 };
        }
    }

    /// Has all traders cancel their orders. None when the market has ended.
    pub(super) fn close(&mut self, venue: &mut impl Venue) -> Option<()> {
        let traders = Crowd::accounts().filter(|(_, _, strategy)| strategy.is_some());
        let ops: Vec<Op> = traders
            .map(|(account, ..)| Op::Command(Command::CancelAll { account, symbol: None, through: None }))
            .collect();
        venue.send(&ops)?;
        for market in &mut self.markets {
            market.quotes.iter_mut().for_each(Vec::clear);
            market.deep.clear();
        }
        Some(())
    }

    pub(super) fn goes(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Creates accounts and symbols. None when the market has ended.
    pub fn open(&mut self, venue: &mut impl Venue) -> Option<()> {
        let rich = MAKERS
            .iter()
            .chain([&DEEP_MAKER])
            .chain(&NOISE)
            .chain(&MOMENTUM)
            .chain(&PATIENT)
            .map(|id| (*id, "100000000000", "1000000000"));
        let all = std::iter::once((YOURS, "100000", "500")).chain(rich);
        let mut ops = Vec::new();
        for (id, balance, shares) in all {
            let account = account(id);
            let balance = number(balance).money().expect("invariant: within the bounds");
            ops.push(Op::Command(Command::CreateAccount { account, balance }));
            for market in &self.markets {
                let shares: Position = number(shares).position().expect("invariant: within the bounds");
                ops.push(Op::Command(Command::CreateSymbol { symbol: market.symbol }));
                ops.push(Op::Command(Command::IssueShares { symbol: market.symbol, account, shares }));
            }
        }
        venue.send(&ops)?;
        let quoted = if self.often[0] > 0 { self.markets.len() } else { 0 };
        for market in 0..quoted {
            self.quote_deep(market, venue)?;
            for maker in 0..MAKERS.len() {
                self.quote(market, maker, venue)?;
            }
        }
        Some(())
    }

    /// Has one trader act. Returns the number of commands; none when the market has ended.
    pub fn turn(&mut self, venue: &mut impl Venue) -> Option<u64> {
        let market = self.some_market();
        self.wander(market);
        let [makers, noise, patient, _] = self.often;
        // This happens seldom, because it takes many commands.
        if self.random.below(200) == 0 && makers > 0 {
            return self.quote_deep(market, venue);
        }
        match self.random.below(self.often.iter().sum()) {
            drawn if drawn < makers => {
                let maker = self.random.below(MAKERS.len() as u64) as usize;
                self.quote(market, maker, venue)
            }
            drawn if drawn < makers + noise => {
                let side = if self.random.below(2) == 0 { Side::Buy } else { Side::Sell };
                let trader = self.one_of(&NOISE);
                self.take(market, trader, side, venue)
            }
            drawn if drawn < makers + noise + patient => {
                let trader = self.random.below(self.patient.len() as u64) as usize;
                let Market { symbol, fair, size, .. } = self.markets[market];
                let scene = Scene { symbol, fair: fair / 1000, lot: self.pace.lot * size, until: soon(venue.now()) };
                self.patient[trader].place(&scene, &mut self.random, venue)
            }
            _ => {
                let Market { fair, before, .. } = &self.markets[market];
                let rises = before.front().is_none_or(|then| fair >= then);
                let side = if rises { Side::Buy } else { Side::Sell };
                let trader = self.one_of(&MOMENTUM);
                self.take(market, trader, side, venue)
            }
        }
    }

    /// Draws a symbol, by weight.
    fn some_market(&mut self) -> usize {
        let mut left = self.random.below(self.markets.iter().map(|market| market.weight).sum());
        for (at, market) in self.markets.iter().enumerate() {
            if left < market.weight {
                return at;
            }
            left -= market.weight;
        }
        0
    }

    fn one_of(&mut self, traders: &[u64]) -> u64 {
        traders[self.random.below(traders.len() as u64) as usize]
    }

    /// Moves the fair price, and draws it a little towards its first value. It stays between a tenth and ten times of
    /// that.
    fn wander(&mut self, market: usize) {
        let (normal, moves) = (self.random.normal(), self.pace.moves);
        let market = &mut self.markets[market];
        let step = market.fair * market.moves / 1_000_000 * normal / 1000 * moves / 1000;
        let back = (market.first - market.fair) * moves * moves / 4_000_000_000;
        market.fair = (market.fair + step + back).clamp(market.first / 10, market.first * 10);
        market.before.push_back(market.fair);
        if market.before.len() > LOOK_BACK {
            market.before.pop_front();
        }
    }

    /// Has a maker cancel its quotes and quote anew. The first maker never takes the quotes of others.
    fn quote(&mut self, market: usize, maker: usize, venue: &mut impl Venue) -> Option<u64> {
        let (account, lot) = (account(MAKERS[maker]), self.pace.lot * self.markets[market].size);
        let kind = if maker == 0 { OrderKind::PostOnly } else { OrderKind::Limit };
        let random = &mut self.random;
        let Market { symbol, fair, quotes, .. } = &mut self.markets[market];
        let cancels =
            quotes[maker].drain(..).map(|order| Op::Command(Command::CancelOrder { account, order: order.into() }));
        let mut ops: Vec<Op> = cancels.collect();
        let cancels = ops.len();
        // The quotes are at least a cent from the fair price, and each level at least a cent further.
        let gap = (*fair / 1000 / 2500).max(1);
        for level in 0..LEVELS {
            for side in [Side::Buy, Side::Sell] {
                let away = gap * (1 + level) + random.below(gap as u64 + 1) as i64;
                let cents = match side {
                    Side::Buy => *fair / 1000 - away,
                    Side::Sell => *fair / 1000 + 1 + away,
                };
                let (Some(limit), Some(shares)) =
                    (price(cents), shares(lot * (10 + random.below(90 + 60 * level as u64))))
                else {
                    continue;
                };
                ops.push(Op::Command(Command::Place(Place::order(
                    account,
                    NewOrder::of_kind(kind, *symbol, side, limit, shares),
                ))));
            }
        }
        let answers = venue.send(&ops)?;
        quotes[maker].extend(answers.iter().skip(cancels).filter_map(|answer| match answer {
            Answer::Reply(Reply::Opened(order)) => Some(*order),
            Answer::Reply(_) | Answer::Unavailable(_) => None,
        }));
        Some(ops.len() as u64)
    }

    /// Has one maker quote anew behind all others, with more shares at each level the further away it is.
    fn quote_deep(&mut self, market: usize, venue: &mut impl Venue) -> Option<u64> {
        let account = account(DEEP_MAKER);
        let random = &mut self.random;
        let Market { symbol, fair, size, deep, .. } = &mut self.markets[market];
        // The depth is the same with many small turns as with few large ones.
        let lot = self.pace.lot.max(20) * *size;
        let mut ops: Vec<Op> =
            deep.drain(..).map(|order| Op::Command(Command::CancelOrder { account, order: order.into() })).collect();
        let cancels = ops.len();
        let gap = (*fair / 1000 / 1000).max(1);
        for level in 1..=DEEP_LEVELS {
            for (side, away) in [(Side::Buy, -1), (Side::Sell, 1)] {
                let cents = *fair / 1000 + away * (4 + level) * gap;
                let most = 50 + 20 * level.unsigned_abs();
                if let Some((limit, shares)) = price(cents).zip(shares(lot * (20 + random.below(most)))) {
                    ops.push(Op::Command(Command::Place(Place::order(
                        account,
                        NewOrder::of_kind(OrderKind::PostOnly, *symbol, side, limit, shares),
                    ))));
                }
            }
        }
        let answers = venue.send(&ops)?;
        deep.extend(answers.iter().skip(cancels).filter_map(|answer| match answer {
            Answer::Reply(Reply::Opened(order)) => Some(*order),
            Answer::Reply(_) | Answer::Unavailable(_) => None,
        }));
        Some(ops.len() as u64)
    }

    /// Buys or sells at about the offered price, or now and then at any price. The rest that is not executed is
    /// canceled.
    fn take(&mut self, market: usize, id: u64, side: Side, venue: &mut impl Venue) -> Option<u64> {
        let account = account(id);
        let Market { symbol, fair, size, .. } = self.markets[market];
        let far = fair / 1000 / 400 + 2;
        let cents = match side {
            Side::Buy => fair / 1000 + far,
            Side::Sell => fair / 1000 - far,
        };
        // Mostly little, sometimes much.
        let most = 10u64 << self.random.below(5);
        let Some((limit, shares)) = price(cents).zip(shares(self.pace.lot * size * (1 + self.random.below(most))))
        else {
            return Some(0);
        };
        let kind = match self.random.below(10) {
            0 => OrderKind::Market,
            1..4 => OrderKind::ImmediateOrCancel,
            _ => OrderKind::Limit,
        };
        let placed = venue.send(&[Op::Command(Command::Place(Place::order(
            account,
            NewOrder::of_kind(kind, symbol, side, limit, shares),
        )))])?;
        let Some(Answer::Reply(Reply::Opened(order))) = placed.first() else { return Some(1) };
        if !kind.rests() {
            return Some(1);
        }
        venue.send(&[Op::Command(Command::CancelOrder { account, order: (*order).into() })])?;
        Some(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_the_same_volume_and_moves_in_small_turns_and_in_large() {
        let hour = |apart: f64, pace: Pace| {
            let turns = 3600.0 / apart;
            (turns * pace.lot as f64, turns * (pace.moves as f64).powi(2))
        };
        for rate in [50, 200, 500] {
            let live = hour(COMMANDS / f64::from(rate), Pace::of_rate(rate));
            for apart in [0.5, 2.5] {
                let past = hour(apart, Pace::of_steps(Duration::from_secs_f64(apart), rate));
                let ratios = [past.0 / live.0, past.1 / live.1];
                assert!(ratios.iter().all(|ratio| (0.85..1.15).contains(ratio)), "{rate} {apart}: {ratios:?}");
            }
        }
    }
}
