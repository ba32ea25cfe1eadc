//! The `order` load on the tables: a number of connections, each with one transaction at a time, for a time. The orders
//! and their mix are those that the load generator sends to servers, counted in the same way.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rust_decimal::Decimal;
use store::StoreUrl;
use tokio_postgres::Client;

use super::exchange::{Exchange, Order, Side};
use super::market::Market;
use crate::loads::{
    Answer, Choice, Kind, Mix, Next, OpenOrder, Requester, block_on, issued_each, run_requesters, standing, symbol_name,
};
use crate::machine::facts::now;
use crate::records::{DatabaseUse, LoadSettings, RunRecord};
use crate::runs::sql_error;

/// Makes the tables, runs the load, and checks every row. Calls `measuring` when the measured part begins and when it
/// has ended. Errors: a database that cannot be reached or refuses something; a run that went wrong is no error but has
/// faults.
pub fn run(url: &StoreUrl, load: &LoadSettings, measuring: &mut dyn FnMut()) -> Result<RunRecord, String> {
    block_on(async {
        let owner = connect(url).await?;
        let mut clients = Vec::new();
        for _ in 0..load.connections {
            clients.push(connect(url).await?);
        }
        let market = Market::make(owner).await.map_err(sql_error)?;
        let shared = prepare(&market, load).await.map_err(sql_error)?;
        let mut traders = Vec::new();
        for client in clients {
            let exchange = Exchange::over(client).await.map_err(sql_error)?;
            traders.push(Trader { exchange, shared: shared.clone() });
        }
        let started = now();
        let mut retries_before = 0;
        let mut begun = || {
            retries_before = shared.retries.load(Ordering::Relaxed);
            measuring();
        };
        let result = run_requesters(traders, load, &mut begun).await?;
        let LoadSettings { connections, accounts, symbols, seed, .. } = load;
        let seconds = load.duration.unwrap_or_default();
        let command = format!(
            "pricetime-bench baseline --connections {connections} --seconds {seconds} --accounts {accounts} --symbols {symbols} \
             --seed {seed}"
        );
        let mut record = RunRecord { started, command, ..result.record(load.clone()) };
        measuring();
        record.invalid_because = record.counts.faults();
        record.invalid_because.extend(market.faults(shared.opened.load(Ordering::Relaxed)).await.map_err(sql_error)?);
        let retries = Some(shared.retries.load(Ordering::Relaxed) - retries_before);
        record.database = Some(DatabaseUse { cpu_seconds: None, transactions: record.counts.answered, retries });
        Ok(record)
    })
}

/// Connects to the database. Errors: a line for people.
async fn connect(url: &StoreUrl) -> Result<Client, String> {
    store::connect(url, "baseline").await.map_err(|error| error.to_string())
}

/// Creates the accounts, and opens the orders that rest before the load, as the load generator does.
async fn prepare(market: &Market, load: &LoadSettings) -> Result<Arc<Shared>, tokio_postgres::Error> {
    let symbols: Vec<String> = (0..load.symbols).map(|number| symbol_name(number as usize)).collect();
    market.fill(load.accounts, &symbols, issued_each(load.accounts)).await?;
    let mut open = VecDeque::new();
    for choice in standing(load).flatten() {
        let id = market.rest(&order(&choice, &symbols)).await? as u64;
        open.push_back(OpenOrder { account: choice.account, id });
    }
    market.settle().await?;
    let opened = AtomicU64::new(open.len() as u64);
    let mix = Mutex::new(Mix::new(load, load.seed, open, |choice| *choice));
    Ok(Arc::new(Shared { symbols, mix, opened, retries: AtomicU64::new(0) }))
}

fn order<'a>(choice: &Choice, symbols: &'a [String]) -> Order<'a> {
    Order {
        account: choice.account as i64,
        symbol: &symbols[choice.symbol],
        side: if choice.buys { Side::Buy } else { Side::Sell },
        limit: Decimal::new(choice.cents as i64, 2),
        shares: choice.shares.into(),
    }
}

/// The state that the traders share.
struct Shared {
    symbols: Vec<String>,
    mix: Mutex<Mix<Choice>>,
    /// Orders that were acknowledged, and transactions that were begun again.
    opened: AtomicU64,
    retries: AtomicU64,
}

impl Shared {
    fn mix(&self) -> MutexGuard<'_, Mix<Choice>> {
        self.mix.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection.
struct Trader {
    exchange: Exchange,
    shared: Arc<Shared>,
}

impl Requester for Trader {
    async fn ask(&mut self) -> Result<Answer, String> {
        let retries = self.exchange.retries;
        let kind = self.request().await;
        self.shared.retries.fetch_add(self.exchange.retries - retries, Ordering::Relaxed);
        kind.map(Answer::Right)
    }
}

impl Trader {
    /// Makes the next request. Errors: a result that must not happen in this load.
    async fn request(&mut self) -> Result<Kind, String> {
        let Trader { exchange, shared } = self;
        let next = shared.mix().next_request();
        match next {
            Next::Place { order: choice, rests } => {
                let id = exchange.place(&order(&choice, &shared.symbols)).await.map_err(sql_error)?;
                let id = id.ok_or_else(|| format!("an order was refused that can be paid for: {choice:?}"))?;
                shared.opened.fetch_add(1, Ordering::Relaxed);
                if rests {
                    let order = OpenOrder { account: choice.account, id: id as u64 };
                    shared.mix().open.push_back(order);
                }
                Ok(Kind::Opened)
            }
            Next::Cancel(OpenOrder { account, id }) => {
                match exchange.cancel(account as i64, id as i64).await.map_err(sql_error)? {
                    true => Ok(Kind::Canceled),
                    false => Err(format!("order {id} rests and could not be canceled")),
                }
            }
            Next::Create | Next::Live | Next::Example | Next::Query(_) => {
                Err("our bug: the load of a baseline has orders and cancels only".to_string())
            }
        }
    }
}
