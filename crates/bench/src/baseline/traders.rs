//! The `order` load on the tables: so many connections, each with one transaction at a time, for so long. The same orders in
//! the same mix as the load generator sends to servers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use store::StoreUrl;
use tokio_postgres::Client;

use super::amount::Amount;
use super::exchange::{Exchange, Order, Side};
use super::market::Market;
use crate::load::{
    Choice, OPEN_ORDERS_MIN, OpenOrder, PREPARED, Random, Recipe, STANDING_PER_ACCOUNT, Step, crossing, issued_each,
    own_cpu, resting, standing, symbol_name,
};

/// What to do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub connections: usize,
    pub measured: Duration,
    /// Before it.
    pub warmup: Duration,
    pub accounts: u64,
    pub symbols: u64,
    pub seed: u64,
}

/// What came of it, in the measured part.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// From the first request to the end of the last.
    pub elapsed: Duration,
    /// Orders and cancels, each a transaction.
    pub requests: u64,
    pub orders: u64,
    /// Transactions that were begun again.
    pub retries: u64,
    /// Of a request, with its retries.
    pub latency_ns: Histogram<u64>,
    /// The part of a core that the load used.
    pub load_cpu_share: f64,
    /// Why the figures must not be used.
    pub faults: Vec<String>,
}

impl Outcome {
    pub fn requests_per_second(&self) -> f64 {
        self.a_second(self.requests)
    }

    pub fn orders_per_second(&self) -> f64 {
        self.a_second(self.orders)
    }

    /// Those of cancels, which are few, are among them.
    pub fn retries_per_order(&self) -> f64 {
        self.retries as f64 / self.orders.max(1) as f64
    }

    /// The latency that this part of the requests did not exceed.
    pub fn latency_us(&self, quantile: f64) -> f64 {
        self.latency_ns.value_at_quantile(quantile) as f64 / 1e3
    }

    fn a_second(&self, count: u64) -> f64 {
        if self.elapsed.is_zero() { 0.0 } else { count as f64 / self.elapsed.as_secs_f64() }
    }
}

/// Makes the tables, runs the load, and checks every row. Calls `measuring` when the measured part begins and when it has
/// ended. Errors: a database that cannot be reached or refuses something; a run that went wrong is no error but has faults.
pub fn run(url: &StoreUrl, plan: &Plan, measuring: &mut dyn FnMut()) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start a runtime: {error}"))?;
    runtime.block_on(async {
        let owner = connect(url).await?;
        let mut clients = Vec::new();
        for _ in 0..plan.connections {
            clients.push(connect(url).await?);
        }
        drive(owner, clients, plan, measuring).await.map_err(|error| super::said(&error))
    })
}

/// Errors: a line for people.
async fn connect(url: &StoreUrl) -> Result<Client, String> {
    store::connect(url, "baseline").await.map_err(|error| error.to_string())
}

async fn drive(
    owner: Client,
    clients: Vec<Client>,
    plan: &Plan,
    measuring: &mut dyn FnMut(),
) -> Result<Outcome, tokio_postgres::Error> {
    let market = Market::make(owner).await?;
    let symbols: Vec<String> = (0..plan.symbols).map(|number| symbol_name(number as usize)).collect();
    market.fill(plan.accounts, &symbols, issued_each(plan.accounts)).await?;
    let open = rest(&market, plan, &symbols).await?;
    market.settle().await?;
    let before = open.len() as u64;
    let desk = Arc::new(Desk { symbols, mix: Mutex::new(Mix::new(plan, open)) });
    let mut exchanges = Vec::new();
    for client in clients {
        exchanges.push(Exchange::over(client).await?);
    }
    let begun = Instant::now();
    let clock = Clock { from: begun + plan.warmup, to: begun + plan.warmup + plan.measured };
    let traders: Vec<_> =
        exchanges.into_iter().map(|exchange| tokio::spawn(trade(exchange, desk.clone(), clock))).collect();
    tokio::time::sleep_until(clock.from.into()).await;
    let (cpu, since) = (own_cpu(), Instant::now());
    measuring();
    let mut all = Tally::new();
    for trader in traders {
        match trader.await {
            Ok(tally) => all.add(&tally),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
    let load_cpu_share = (own_cpu() - cpu).as_secs_f64() / since.elapsed().as_secs_f64();
    measuring();
    let mut faults = all.faults;
    let (orders, _) = market.counts().await?;
    if orders as u64 != before + all.orders_in_all {
        faults.push(format!("{} orders were acknowledged, and there are {orders}", before + all.orders_in_all));
    }
    faults.extend(market.faults().await?);
    if all.requests == 0 {
        faults.push("nothing was answered in the measured part".to_string());
    }
    Ok(Outcome {
        elapsed: all.last.map_or(Duration::ZERO, |last| last.saturating_duration_since(all.first.unwrap_or(last))),
        requests: all.requests,
        orders: all.orders,
        retries: all.retries,
        latency_ns: all.latency_ns,
        load_cpu_share,
        faults,
    })
}

/// Opens the orders that rest before the load, as the load generator does.
async fn rest(market: &Market, plan: &Plan, symbols: &[String]) -> Result<VecDeque<OpenOrder>, tokio_postgres::Error> {
    let count = OPEN_ORDERS_MIN.max(plan.connections as u64 * 2);
    let mut open = VecDeque::new();
    for number in 0..count.div_ceil(STANDING_PER_ACCOUNT) {
        for order in standing(1 + number % plan.accounts, plan.symbols) {
            let (limit, shares) = (Amount::cents(order.cents), Amount::whole(order.shares));
            let id = market.rest(order.account as i64, &symbols[order.symbol], limit, shares).await?;
            open.push_back(OpenOrder { account: order.account, id: id as u64 });
        }
    }
    Ok(open)
}

/// When the measured part begins and ends.
#[derive(Clone, Copy)]
struct Clock {
    from: Instant,
    to: Instant,
}

/// What the traders share.
struct Desk {
    symbols: Vec<String>,
    mix: Mutex<Mix>,
}

/// What is done next.
struct Mix {
    place: usize,
    resting: Ring,
    crossing: Ring,
    open: VecDeque<OpenOrder>,
}

#[derive(Default)]
struct Ring {
    choices: Vec<Choice>,
    next: usize,
}

enum Next {
    Place { order: Choice, rests: bool },
    Cancel(OpenOrder),
}

impl Ring {
    fn turn(&mut self) -> Choice {
        let choice = self.choices[self.next];
        self.next = (self.next + 1) % self.choices.len();
        choice
    }
}

impl Mix {
    fn new(plan: &Plan, open: VecDeque<OpenOrder>) -> Mix {
        let mut random = Random(plan.seed);
        let mut ring = |choose: fn(&mut Random, u64, u64, usize) -> Vec<Choice>| Ring {
            choices: choose(&mut random, plan.accounts, plan.symbols, PREPARED),
            next: 0,
        };
        let (resting, crossing) = (ring(resting), ring(crossing));
        Mix { place: 0, resting, crossing, open }
    }

    fn next(&mut self) -> Next {
        let step = Recipe::Order.step(self.place);
        self.place = self.place.wrapping_add(1);
        match (step, self.open.is_empty()) {
            (Step::Cross, _) => Next::Place { order: self.crossing.turn(), rests: false },
            (Step::Cancel, false) => Next::Cancel(self.open.pop_front().expect("invariant: it is not empty")),
            // More requests are under way than orders were open: one is opened instead.
            _ => Next::Place { order: self.resting.turn(), rests: true },
        }
    }
}

/// What traders count.
struct Tally {
    first: Option<Instant>,
    last: Option<Instant>,
    requests: u64,
    orders: u64,
    retries: u64,
    latency_ns: Histogram<u64>,
    /// With those of the warm-up.
    orders_in_all: u64,
    faults: Vec<String>,
}

impl Tally {
    fn new() -> Tally {
        Tally {
            first: None,
            last: None,
            requests: 0,
            orders: 0,
            retries: 0,
            latency_ns: Histogram::new(3).expect("invariant: three digits are a precision that histograms have"),
            orders_in_all: 0,
            faults: Vec::new(),
        }
    }

    fn add(&mut self, other: &Tally) {
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = self.last.max(other.last);
        self.requests += other.requests;
        self.orders += other.orders;
        self.retries += other.retries;
        self.latency_ns.add(&other.latency_ns).expect("invariant: a histogram that resizes itself takes any other");
        self.orders_in_all += other.orders_in_all;
        self.faults.extend_from_slice(&other.faults);
    }
}

/// One connection, until the end or the first fault.
async fn trade(mut exchange: Exchange, desk: Arc<Desk>, clock: Clock) -> Tally {
    let mut tally = Tally::new();
    loop {
        let begun = Instant::now();
        if begun >= clock.to {
            return tally;
        }
        let next = desk.mix.lock().unwrap_or_else(PoisonError::into_inner).next();
        let retries = exchange.retries;
        let places = matches!(next, Next::Place { .. });
        if let Err(fault) = request(&mut exchange, &desk, next).await {
            tally.faults.push(fault);
            return tally;
        }
        tally.orders_in_all += u64::from(places);
        if begun >= clock.from {
            let ended = Instant::now();
            tally.first.get_or_insert(begun);
            tally.last = Some(ended);
            tally.requests += 1;
            tally.orders += u64::from(places);
            tally.retries += exchange.retries - retries;
            let nanoseconds = u64::try_from((ended - begun).as_nanos()).unwrap_or(u64::MAX);
            // Its bounds grow with what it is given.
            let _ = tally.latency_ns.record(nanoseconds);
        }
    }
}

/// Errors: what must not happen in this load.
async fn request(exchange: &mut Exchange, desk: &Desk, next: Next) -> Result<(), String> {
    match next {
        Next::Place { order: choice, rests } => {
            let order = Order {
                account: choice.account as i64,
                symbol: &desk.symbols[choice.symbol],
                side: if choice.buys { Side::Buy } else { Side::Sell },
                limit: Amount::cents(choice.cents),
                shares: Amount::whole(choice.shares),
            };
            let id = exchange.place(&order).await.map_err(|error| super::said(&error))?;
            let id = id.ok_or_else(|| format!("an order was refused that can be paid for: {choice:?}"))?;
            if rests {
                let open = OpenOrder { account: choice.account, id: id as u64 };
                desk.mix.lock().unwrap_or_else(PoisonError::into_inner).open.push_back(open);
            }
            Ok(())
        }
        Next::Cancel(OpenOrder { account, id }) => {
            match exchange.cancel(account as i64, id as i64).await.map_err(|error| super::said(&error))? {
                true => Ok(()),
                false => Err(format!("order {id} rests and could not be canceled")),
            }
        }
    }
}
