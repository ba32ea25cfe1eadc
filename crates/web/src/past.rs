//! What was: pages of trades, orders and candles, from the feed's files or from the database that keeps them. Whoever asks
//! here does not see which.

use std::sync::Arc;
use std::time::Duration;

use engine::{AccountIndex, OrderId, Sequence, Shares, SymbolIndex, Time};
use feed::{Candle, History, HistoryError, Interval, Open, PastOrder, Scene, Trade, View};
use tokio::sync::{Semaphore, oneshot};

use crate::hub::Hub;
use crate::site::Site;

/// A page, newest first, and where the next one begins.
pub type Page<T> = (Vec<T>, Option<u64>);

/// An order that was placed, and what is open of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    pub order: PastOrder,
    /// As it was when it was looked up; none if it was done.
    pub open: Option<Open>,
}

/// Which trades of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfAccount {
    pub account: AccountIndex,
    /// Of this symbol alone.
    pub symbol: Option<SymbolIndex>,
    /// Of this order alone.
    pub order: Option<OrderId>,
}

/// A question to the database. What it gives is at least as new as all that was answered when it was asked.
pub enum Question {
    /// Trades of a symbol before one of them; told none if that is not one of them.
    Trades { symbol: SymbolIndex, before: Option<u64>, limit: usize, told: Told<Option<Page<Trade>>> },
    /// Trades of an account, as those of a symbol.
    TradesOf { of: OfAccount, before: Option<u64>, limit: usize, told: Told<Option<Page<Trade>>> },
    /// Orders of an account, of one symbol or of all, as its trades.
    Orders {
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        before: Option<u64>,
        limit: usize,
        told: Told<Option<Page<Past>>>,
    },
    /// Orders by their ids: those that there are.
    Named { orders: Vec<OrderId>, told: Told<Vec<Past>> },
    /// The last candles of a symbol that began before a time, oldest first.
    Candles { symbol: SymbolIndex, interval: Interval, before: Option<Time>, limit: usize, told: Told<Vec<Candle>> },
}

/// Called with the answer, once.
pub type Told<T> = Box<dyn FnOnce(Result<T, Away>) + Send>;

/// The database does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Away;

/// Who asks the database.
pub trait Records: Send + Sync {
    /// Leaves a question, and waits for nothing.
    fn ask(&self, question: Question);
}

/// Why there is no answer.
pub(crate) enum Trouble {
    /// Nobody keeps a history.
    NoHistory,
    /// Its files cannot be read.
    Unreadable(HistoryError),
    /// The database does not answer in time.
    Away,
    /// The server serves nobody at the moment.
    NotReady,
}

impl From<HistoryError> for Trouble {
    fn from(error: HistoryError) -> Trouble {
        Trouble::Unreadable(error)
    }
}

/// Questions that the database has not answered at most; others wait for room, so long at most.
const IN_FLIGHT_MAX: usize = 64;
const ROOM_PATIENCE: Duration = Duration::from_secs(1);
/// How often, and how many times, it is looked whether the view has caught up with the rows: it is told of a commit right
/// after that.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const LOOKS_MAX: usize = 2_000;

/// The database, with room for so many questions.
#[derive(Clone)]
pub(crate) struct Library {
    records: Arc<dyn Records>,
    room: Arc<Semaphore>,
}

impl Library {
    pub(crate) fn new(records: Arc<dyn Records>) -> Library {
        Library { records, room: Arc::new(Semaphore::new(IN_FLIGHT_MAX)) }
    }

    async fn ask<T: Send + 'static>(&self, question: impl FnOnce(Told<T>) -> Question) -> Result<T, Trouble> {
        let room = tokio::time::timeout(ROOM_PATIENCE, self.room.clone().acquire_owned()).await;
        let room = room.map_err(|_| Trouble::Away)?.map_err(|_| Trouble::NotReady)?;
        let (answer, answered) = oneshot::channel();
        self.records.ask(question(Box::new(move |found| {
            // Room is given back with the answer, also where nobody waits for it any more.
            drop(room);
            drop(answer.send(found));
        })));
        answered.await.map_err(|_| Trouble::NotReady)?.map_err(|Away| Trouble::Away)
    }
}

/// Trades of a symbol, newest first: those before `before`, which must be one of them (none otherwise).
pub(crate) async fn trades_of_symbol(
    site: &Site,
    symbol: SymbolIndex,
    before: Option<u64>,
    limit: usize,
) -> Result<Option<Page<Trade>>, Trouble> {
    let Some(library) = library(site)? else {
        return read(site, move |_, history| history.trades_of(symbol, before, limit)).await;
    };
    let page = library.ask(|told| Question::Trades { symbol, before, limit, told }).await?;
    caught_up_with(site, page, |trade| trade.sequence).await
}

/// Trades of an account, as those of a symbol; where both orders were its own, once.
pub(crate) async fn trades_of_account(
    site: &Site,
    of: OfAccount,
    before: Option<u64>,
    limit: usize,
) -> Result<Option<Page<Trade>>, Trouble> {
    let Some(library) = library(site)? else {
        let wanted = move |trade: &Trade| {
            let its_order = of.order.is_none_or(|order| [trade.maker_order, trade.aggressor_order].contains(&order));
            of.symbol.is_none_or(|symbol| trade.symbol == symbol) && its_order
        };
        return read(site, move |_, history| history.trades_of_account(of.account, before, limit, wanted)).await;
    };
    let page = library.ask(|told| Question::TradesOf { of, before, limit, told }).await?;
    caught_up_with(site, page, |trade| trade.sequence).await
}

/// Orders of an account, of one symbol or of all, newest first: those placed before `before`, which must be one of them
/// (none otherwise).
pub(crate) async fn orders_of(
    site: &Site,
    account: AccountIndex,
    symbol: Option<SymbolIndex>,
    before: Option<u64>,
    limit: usize,
) -> Result<Option<Page<Past>>, Trouble> {
    let Some(library) = library(site)? else {
        return read(site, move |view, history| {
            let mut wanted = |past: &PastOrder| symbol.is_none_or(|symbol| past.symbol == symbol);
            let page = history.orders_of(account, before.map(OrderId), limit, &mut wanted)?;
            Ok(page.map(|(orders, next)| {
                (orders.iter().map(|order| with_open(view, order)).collect(), next.map(|order| order.0))
            }))
        })
        .await;
    };
    let page = library.ask(|told| Question::Orders { account, symbol, before, limit, told }).await?;
    caught_up_with(site, page, |past| past.order.sequence).await
}

/// Orders by their ids: those that there are, in this order.
pub(crate) async fn orders(site: &Site, orders: Vec<OrderId>) -> Result<Vec<Past>, Trouble> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let Some(library) = library(site)? else {
        return read(site, move |view, history| {
            let found = orders.iter().map(|order| history.order(*order)).filter_map(Result::transpose);
            found.map(|order| Ok(with_open(view, &order?))).collect()
        })
        .await;
    };
    let asked = orders.clone();
    let found = library.ask(|told| Question::Named { orders: asked, told }).await?;
    let found = caught_up_with(site, Some((found, None)), |past| past.order.sequence).await?;
    let mut found = found.map(|(found, _)| found).unwrap_or_default();
    found.sort_by_key(|past| orders.iter().position(|order| *order == past.order.order));
    Ok(found)
}

/// The last `limit` candles of a symbol that began before `before`, oldest first.
pub(crate) async fn candles(
    site: &Site,
    symbol: SymbolIndex,
    interval: Interval,
    before: Option<Time>,
    limit: usize,
) -> Result<Vec<Candle>, Trouble> {
    let Some(library) = library(site)? else {
        let looked = look(site, move |scene| scene.candles(symbol, interval, before, limit)).await?;
        return Ok(looked?);
    };
    // A candle that is cut in two would be a wrong one.
    let before = before.map(|before| interval.start_of(Time(before.0.saturating_add(interval.micros() - 1))));
    // Memory knows those since the start; the first of them it may have seen the end of alone.
    let asked = limit.saturating_add(1);
    let mut late = look(site, move |scene| scene.candles(symbol, interval, before, asked)).await??;
    late.drain(..late.len().min(1));
    late.drain(..late.len().saturating_sub(limit));
    if late.len() == limit {
        return Ok(late);
    }
    let (before, missing) = (late.first().map(|candle| candle.start).or(before), limit - late.len());
    let mut candles = library.ask(|told| Question::Candles { symbol, interval, before, limit: missing, told }).await?;
    candles.append(&mut late);
    Ok(candles)
}

/// An order of the files, with what the view knows is open of it.
fn with_open(view: &View, order: &PastOrder) -> Past {
    let open = view.open_order(order.order).filter(|_| order.ended.is_none());
    Past { order: *order, open: open.map(|open| Open { time: order.time, ..*open }) }
}

fn library(site: &Site) -> Result<Option<Library>, Trouble> {
    site.market().map(|market| market.library.clone()).map_err(|_| Trouble::NotReady)
}

async fn look<T: Send + 'static>(
    site: &Site,
    look: impl FnOnce(&mut Scene<Hub>) -> T + Send + 'static,
) -> Result<T, Trouble> {
    site.look(look).await.map_err(|_| Trouble::NotReady)
}

/// What the files say.
async fn read<T: Send + 'static>(
    site: &Site,
    read: impl FnOnce(&View, &History) -> Result<T, HistoryError> + Send + 'static,
) -> Result<T, Trouble> {
    let found = look(site, move |scene| {
        let history = scene.history.as_ref().ok_or(Trouble::NoHistory)?;
        Ok(read(&scene.view, history)?)
    });
    found.await?
}

/// Waits until the view knows the accounts and symbols that rows name: rows are there a moment before their events.
async fn caught_up_with<T>(
    site: &Site,
    page: Option<Page<T>>,
    sequence: impl Fn(&T) -> Sequence,
) -> Result<Option<Page<T>>, Trouble> {
    let Some((rows, next)) = page else { return Ok(None) };
    let last = rows.iter().map(sequence).max().unwrap_or(Sequence::ZERO);
    for _ in 0..LOOKS_MAX {
        if look(site, |scene| scene.view.sequence()).await? >= last {
            return Ok(Some((rows, next)));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(Trouble::NotReady)
}

impl Past {
    /// An order as a database has it.
    pub fn of(order: PastOrder, open: Shares, money: engine::Money) -> Past {
        let PastOrder { order: id, account, symbol, side, limit, shares, time, .. } = order;
        let open = Open { order: id, account, symbol, side, limit, shares, open, money, time };
        Past { order, open: order.ended.is_none().then_some(open) }
    }
}
