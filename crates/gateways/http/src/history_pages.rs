//! Pages of past trades, orders and candles, from the history's files or from the database that keeps them. The caller
//! does not see which.

mod candles;
mod noted_orders;
mod steps;

use std::time::Duration;

use feed::{Amended, HistoryAt, HistoryError, PastOrder, ReadModel, Report, Trade, TradedThen, View};
use terms::{AccountIndex, OrderId, Sequence, SymbolIndex};

use crate::app_state::AppState;
use crate::history_port::{Page, Past, Question, Since, TradesOfAccount};
use crate::hub::Hub;
use crate::sql_history::SqlHistory;

use noted_orders::NotedOrders;
use steps::{AT_ONCE, Step, in_turn};

pub use crate::history_port::HistoryFault;
pub use candles::candles;

/// Pause between two looks whether the view has reached the rows, and the number of looks. The view gets the events of
/// a commit right after the commit.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const LOOKS_MAX: usize = 2_000;
/// Orders that one question finds by their ids.
const ORDERS_AT_ONCE: usize = 64;

/// Returns trades of a symbol, newest first: those before `before`, which must be one of them (`None` otherwise).
pub async fn trades_of_symbol(
    app: &AppState,
    symbol: SymbolIndex,
    before: Option<u64>,
    limit: usize,
) -> Result<Option<Page<Trade>>, HistoryFault> {
    let Some(library) = library(app)? else {
        return steps::page(app, before, limit, move |_, history, Step { before, bounds }| {
            history.trades_of(symbol, before, bounds)
        })
        .await;
    };
    as_new(app, library.page(|told| Question::Trades { symbol, before, limit, told })).await
}

/// Returns the first trades of a symbol from somewhere on, oldest first. `None` where there are files, which are read
/// backwards alone.
pub async fn trades_since(
    app: &AppState,
    symbol: SymbolIndex,
    since: Since,
    limit: usize,
) -> Result<Option<Vec<Trade>>, HistoryFault> {
    let Some(library) = library(app)? else { return Ok(None) };
    as_new(app, library.page(|told| Question::TradesSince { symbol, since, limit, told })).await.map(Some)
}

/// Returns trades of an account, like those of a symbol; a trade between two of its own orders comes once.
pub async fn trades_of_account(
    app: &AppState,
    of: TradesOfAccount,
    before: Option<u64>,
    limit: usize,
) -> Result<Option<Page<Trade>>, HistoryFault> {
    let Some(library) = library(app)? else {
        let wanted = move |trade: &Trade| {
            let its_order = of.order.is_none_or(|order| [trade.maker_order, trade.aggressor_order].contains(&order));
            of.symbol.is_none_or(|symbol| trade.symbol == symbol) && its_order
        };
        return steps::page(app, before, limit, move |_, history, Step { before, bounds }| {
            history.trades_of_account(of.account, before, bounds, wanted)
        })
        .await;
    };
    as_new(app, library.page(|told| Question::TradesOf { of, before, limit, told })).await
}

/// Returns orders of an account, of one symbol or of all, newest first: those placed before `before`, which must be one
/// of them (`None` otherwise).
pub async fn orders_of(
    app: &AppState,
    account: AccountIndex,
    symbol: Option<SymbolIndex>,
    before: Option<u64>,
    limit: usize,
) -> Result<Option<Page<Past>>, HistoryFault> {
    let Some(library) = library(app)? else {
        let page = steps::page(app, before, limit, move |view, history, Step { before, bounds }| {
            let mut wanted = |past: &PastOrder| symbol.is_none_or(|symbol| past.symbol == symbol);
            let page = history.orders_of(account, before.map(OrderId), bounds, &mut wanted)?;
            let Some((orders, next)) = page else { return Ok(None) };
            let orders: Result<Vec<_>, _> =
                orders.iter().map(|order| noted_orders::begin(view, history, order)).collect();
            Ok(Some((orders?, next.map(|order| order.0))))
        });
        let Some((orders, next)) = page.await? else { return Ok(None) };
        return Ok(Some((read_notes(app, NotedOrders::of(orders)).await?, next)));
    };
    as_new(app, library.page(|told| Question::Orders { account, symbol, before, limit, told })).await
}

/// Finds an order of the owner by its id; without an owner, the order of any account. Nothing more is read of an order
/// of another account, so that the time of an answer says nothing about it. Errors: among others, it is no longer kept,
/// or was done before the history began.
pub async fn order(app: &AppState, owner: Option<AccountIndex>, order: OrderId) -> Result<Option<Past>, HistoryFault> {
    let Some(library) = library(app)? else {
        let found = read(app, move |view, history| {
            let found = history.order(order)?.filter(|past| is_of(owner, past));
            found.map(|order| noted_orders::begin(view, history, &order)).transpose()
        });
        let found = found.await?.into_iter().collect();
        return Ok(read_notes(app, NotedOrders::of(found)).await?.pop());
    };
    let orders = vec![order];
    Ok(as_new(app, library.look_up(|told| Question::Named { owner, orders, told })).await?.pop())
}

/// Returns the existing orders of these ids that [`order`] finds, in this order. An order that is no longer kept is
/// left out; the others are complete.
pub async fn orders(
    app: &AppState,
    owner: Option<AccountIndex>,
    orders: Vec<OrderId>,
) -> Result<Vec<Past>, HistoryFault> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let Some(library) = library(app)? else {
        let mut all = Vec::new();
        for some in orders.chunks(ORDERS_AT_ONCE) {
            let some = some.to_vec();
            let found = read(app, move |view, history| {
                let found = some.iter().filter_map(|order| match history.order(*order) {
                    Err(HistoryError::NoLongerKept { .. }) => None,
                    found => found.map(|found| found.filter(|past| is_of(owner, past))).transpose(),
                });
                found.map(|order| noted_orders::begin(view, history, &order?)).collect::<Result<Vec<_>, _>>()
            });
            all.extend(found.await?);
        }
        return read_notes(app, NotedOrders::of(all)).await;
    };
    as_new(app, library.look_up(|told| Question::Named { owner, orders, told })).await
}

/// Returns the first `most` reductions of an order by the command `from` and later ones, oldest first.
pub async fn amendments(
    app: &AppState,
    order: OrderId,
    from: Sequence,
    most: usize,
) -> Result<Vec<Amended>, HistoryFault> {
    let Some(library) = library(app)? else {
        let mut amendments = read(app, move |_, history| history.amendments(order, from, most)).await?;
        let mut goes_on = true;
        while goes_on {
            let some = read(app, move |_, history| {
                let goes_on = history.read_amendments(&mut amendments, AT_ONCE)?;
                Ok((amendments, goes_on))
            });
            (amendments, goes_on) = some.await?;
        }
        return Ok(amendments.finish());
    };
    as_new(app, library.look_up(|told| Question::Amendments { order, from, most, told })).await
}

/// Returns how many trades there were when a command had been applied, with some trades of a symbol; `None` where the
/// history does not reach back that far. Works with files alone.
pub(crate) async fn traded_then(
    app: &AppState,
    then: Sequence,
    symbol: SymbolIndex,
    limit: usize,
) -> Result<Option<TradedThen>, HistoryFault> {
    read(app, move |_, history| match history.traded_then(then, symbol, limit) {
        Ok(traded) => Ok(Some(traded)),
        Err(HistoryError::NoLongerKept { .. }) => Ok(None),
        Err(error) => Err(error),
    })
    .await
}

/// Returns the reports of an account's orders from the database: see `Question::Reports`.
pub(crate) async fn reports(
    app: &AppState,
    account: AccountIndex,
    (behind, through): (Sequence, Sequence),
    most: usize,
) -> Result<(Vec<Report>, Sequence), HistoryFault> {
    let library = library(app)?.ok_or(HistoryFault::NotReady)?;
    as_new(app, library.page(|told| Question::Reports { account, behind, through, most, told })).await
}

/// Reads what befell these orders, some notes with each question.
async fn read_notes(app: &AppState, mut orders: NotedOrders) -> Result<Vec<Past>, HistoryFault> {
    while !orders.are_read() {
        let some = read(app, move |_, history| {
            orders.go_on(history, AT_ONCE)?;
            Ok(orders)
        });
        orders = some.await?;
    }
    Ok(orders.finish())
}

fn is_of(owner: Option<AccountIndex>, past: &PastOrder) -> bool {
    owner.is_none_or(|owner| past.account == owner)
}

fn library(app: &AppState) -> Result<Option<SqlHistory>, HistoryFault> {
    app.market().map(|market| market.library.clone()).map_err(|_| HistoryFault::NotReady)
}

async fn look<T: Send + 'static>(
    app: &AppState,
    look: impl FnOnce(&mut ReadModel<Hub>) -> T + Send + 'static,
) -> Result<T, HistoryFault> {
    app.look(look).await.map_err(|_| HistoryFault::NotReady)
}

/// Reads an answer, or a part of one, from the files in the member's turn.
async fn read<T: Send + 'static>(
    app: &AppState,
    read: impl FnOnce(&View, &HistoryAt<'_>) -> Result<T, HistoryError> + Send + 'static,
) -> Result<T, HistoryFault> {
    let looked = look(app, move |model| {
        let history = model.history()?.ok_or(HistoryFault::NotReady)?;
        Ok(read(&model.view, &history)?)
    });
    in_turn(app, looked).await?
}

/// Returns the database's answer, held until the view has reached its sequence.
async fn as_new<T>(
    app: &AppState,
    asked: impl Future<Output = Result<(T, Sequence), HistoryFault>>,
) -> Result<T, HistoryFault> {
    let (found, through) = asked.await?;
    come_as_far(app, through).await?;
    Ok(found)
}

/// Waits until the view has reached the sequence of the rows that were read. Then it knows all accounts and symbols
/// that they name, and later answers from it are at least as new.
async fn come_as_far(app: &AppState, through: Sequence) -> Result<(), HistoryFault> {
    for _ in 0..LOOKS_MAX {
        if look(app, |model| model.view.sequence()).await? >= through {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    // The writer has not heard of a commit yet, or another server writes.
    Err(HistoryFault::Away)
}
