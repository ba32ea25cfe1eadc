//! Looks up orders: one, the open ones, and all of a pair.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use exchange::Read;
use feed::{Direction, Walk};

use crate::find_order::{BY_NUMBER_OR_NAME, find_order, of_account};
use crate::history::{PageRequest, TRADES, gather};
use crate::market::Answer;
use crate::names;
use crate::order::Order;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use http_gateway::chunked_answer::{Frame, Piece, in_turn};
use http_gateway::history_pages;

/// Orders that are shown between two turns of the feed.
const SHOWN_AT_ONCE: usize = 250;

pub(crate) async fn one(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&["symbol", "orderId", "origClientOrderId"])?;
    let pair = asked.needed("symbol")?.to_owned();
    let order_ref = find_order(&app, account, &asked, BY_NUMBER_OR_NAME).await?.ok_or_else(Refusal::no_such_order)?;
    let order = order_ref.order;
    let (symbol, account, open) = of_account(&app, account, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let open = model.view.open_order(order).filter(|open| open.account == account && open.symbol == symbol);
        Ok((symbol, account, open.map(|open| Order::of_open(model, &open)).transpose()?))
    })
    .await?;
    let shown = match open {
        Some(open) => open,
        None => {
            let found = history_pages::order(&app, Some(account), order).await.map_err(Refusal::troubled)?;
            let past = found.filter(|past| past.order.symbol == symbol);
            let past = past.ok_or_else(Refusal::no_such_order)?;
            app.look(move |model| Order::of_past(&model.view, &past)).await?
        }
    };
    let shown = Some(shown).filter(|order| order_ref.is(order)).ok_or_else(Refusal::no_such_order)?;
    Ok(Json(shown.shape(asked.unit)))
}

/// Answers with all open orders, oldest first. It streams the answer, because this protocol has no pages.
pub(crate) async fn open(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    let id = asked.account(&app).await?;
    asked.only_signed(&["symbol"])?;
    let (pair, unit) = (asked.text("symbol").map(str::to_owned), asked.unit);
    let (account, symbol) = of_account(&app, id, move |model, account| {
        let find = |pair: String| names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol);
        Ok((account, pair.map(find).transpose()?))
    })
    .await?;
    let walk = Walk::new(account, Direction::OldestFirst, None);
    app.answer((Frame::bare(), Read::Account(id)), walk, move |app, mut walk| async move {
        let looked = app.look(move |model| {
            let mut found = Vec::new();
            let more = walk.go_on(&model.view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    found.push(Order::of_open(model, open));
                }
                found.len() < SHOWN_AT_ONCE
            });
            (found.into_iter().collect::<Result<Vec<Order>, Refusal>>(), more.then_some(walk))
        });
        let (orders, next) = in_turn(&app, looked).await?;
        Ok(Piece::of(orders?.iter().map(|order| order.shape(unit)), next))
    })
    .await
}

pub(crate) async fn all(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&["symbol", "orderId", "startTime", "endTime", "limit"])?;
    let (pair, wanted) = (asked.needed("symbol")?.to_owned(), PageRequest::of(&asked, "orderId")?);
    let (symbol, account) = of_account(&app, account, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((symbol, account))
    })
    .await?;
    let from = &app;
    let orders = gather(wanted, |before| history_pages::orders_of(from, account, Some(symbol), before, TRADES.1));
    let orders = orders.await?;
    let shown = app.look(move |model| {
        let orders: Vec<Order> = orders.iter().map(|past| Order::of_past(&model.view, past)).collect();
        orders
    });
    Ok(Json(shown.await?.iter().map(|order| order.shape(asked.unit)).collect()))
}
