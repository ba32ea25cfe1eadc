//! What was: pages of trades, orders and candles, from the feed's files or from the database that keeps them. Whoever asks
//! here does not see which.

mod candles;
mod library;

use engine::{AccountIndex, Money, OrderId, Sequence, Shares, SymbolIndex, Time};
use feed::{Candle, History, HistoryError, Interval, Open, PastOrder, Report, Scene, Trade, View};

use crate::hub::Hub;
use crate::site::Site;

pub(crate) use candles::candles;
pub(crate) use library::Library;

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

/// Where trades of a symbol begin: with the first one that is neither before this one nor before this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// None for any.
    pub trade: Option<u64>,
    /// None for any.
    pub time: Option<Time>,
}

/// Which candles: those that begin from one time on and before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first ones from here on are meant; without it the last ones.
    pub from: Option<Time>,
    /// None for all that there are.
    pub before: Option<Time>,
}

/// A question to the database. What it gives is at least as new as all that was answered when it was asked.
pub enum Question {
    /// Trades of a symbol before one of them; told none if that is not one of them.
    Trades { symbol: SymbolIndex, before: Option<u64>, limit: usize, told: Told<Option<Page<Trade>>> },
    /// The first trades of a symbol from somewhere on, oldest first.
    TradesSince { symbol: SymbolIndex, since: Since, limit: usize, told: Told<Vec<Trade>> },
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
    /// Orders by their ids, in this order: those that there are.
    Named { orders: Vec<OrderId>, told: Told<Vec<Past>> },
    /// What was reported of an account's orders behind one command and up to another one, in order: some from the beginning,
    /// about `most`, and the command up to which that is all.
    Reports {
        account: AccountIndex,
        behind: Sequence,
        through: Sequence,
        most: usize,
        told: Told<(Vec<Report>, Sequence)>,
    },
    /// Candles of a symbol, oldest first. The ends of the stretch are multiples of their length.
    Candles { symbol: SymbolIndex, interval: Interval, stretch: Stretch, limit: usize, told: Told<Vec<Candle>> },
}

/// Called with the answer, once: what was found, and the last command whose effects were there.
pub type Told<T> = Box<dyn FnOnce(Result<(T, Sequence), Away>) + Send>;

/// The database does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Away;

/// Who asks the database.
pub trait Records: Send + Sync {
    /// Leaves a question, and waits for nothing.
    fn ask(&self, question: Question);

    /// Whether it knows of every order that there ever was.
    fn is_whole(&self) -> bool;
}

/// Why there is no answer.
pub(crate) enum Trouble {
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
    library.page(site, |told| Question::Trades { symbol, before, limit, told }).await
}

/// The first trades of a symbol from somewhere on, oldest first. None where there are files: those are read backwards alone.
pub(crate) async fn trades_since(
    site: &Site,
    symbol: SymbolIndex,
    since: Since,
    limit: usize,
) -> Result<Option<Vec<Trade>>, Trouble> {
    let Some(library) = library(site)? else { return Ok(None) };
    library.page(site, |told| Question::TradesSince { symbol, since, limit, told }).await.map(Some)
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
    library.page(site, |told| Question::TradesOf { of, before, limit, told }).await
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
    library.page(site, |told| Question::Orders { account, symbol, before, limit, told }).await
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
    library.look_up(site, |told| Question::Named { orders, told }).await
}

/// What was reported of an account's orders, as the database has it: see `Question::Reports`.
pub(crate) async fn reports(
    site: &Site,
    account: AccountIndex,
    (behind, through): (Sequence, Sequence),
    most: usize,
) -> Result<(Vec<Report>, Sequence), Trouble> {
    let library = library(site)?.ok_or(Trouble::NotReady)?;
    library.page(site, |told| Question::Reports { account, behind, through, most, told }).await
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
    look(site, move |scene| {
        let history = scene.history.as_ref().ok_or(Trouble::NotReady)?;
        Ok(read(&scene.view, history)?)
    })
    .await?
}

impl Past {
    /// An order as a database has it.
    pub fn of(order: PastOrder, open: Shares, money: Money) -> Past {
        let PastOrder { order: id, account, symbol, side, limit, shares, time, .. } = order;
        let open = Open { order: id, account, symbol, side, limit, shares, open, money, time };
        Past { order, open: order.ended.is_none().then_some(open) }
    }
}
