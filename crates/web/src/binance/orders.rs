//! Looks up orders: one, the open ones, and all of a pair.

use axum::Json;
use axum::extract::State;
use axum::response::Response;

use super::history::{TRADES, Wanted, gather};
use super::market::Answer;
use super::meant::{BY_NUMBER_OR_NAME, meant, of_account};
use super::names;
use super::order::Order;
use super::parameters::Parameters;
use super::refusal::Refusal;
use crate::open_orders::{Direction, Walk};
use crate::past;
use crate::pieces::{self, Frame, Piece};
use crate::site::Site;

/// Orders that are shown between two turns of the feed.
const SHOWN_AT_ONCE: usize = 250;

pub(super) async fn one(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site).await?;
    asked.only_signed(&["symbol", "orderId", "origClientOrderId"])?;
    let pair = asked.needed("symbol")?.to_owned();
    let meant = meant(&site, account, &asked, BY_NUMBER_OR_NAME).await?.ok_or_else(Refusal::no_such_order)?;
    let order = meant.order;
    let (symbol, account, open) = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let open = scene.view.open_order(order).filter(|open| open.account == account && open.symbol == symbol);
        Ok((symbol, account, open.map(|open| Order::of_open(scene, &open)).transpose()?))
    })
    .await?;
    let shown = match open {
        Some(open) => open,
        None => {
            let found = past::order(&site, order).await.map_err(Refusal::troubled)?;
            let past = found.filter(|past| past.order.account == account && past.order.symbol == symbol);
            let past = past.ok_or_else(Refusal::no_such_order)?;
            site.look(move |scene| Order::of_past(&scene.view, &past)).await?
        }
    };
    let shown = Some(shown).filter(|order| meant.is(order)).ok_or_else(Refusal::no_such_order)?;
    Ok(Json(shown.shape(asked.unit)))
}

/// Answers with all open orders, oldest first. It streams the answer, because this protocol has no pages.
pub(super) async fn open(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    let account = asked.account(&site).await?;
    asked.only_signed(&["symbol"])?;
    let (pair, unit) = (asked.text("symbol").map(str::to_owned), asked.unit);
    let (account, symbol) = of_account(&site, account, move |scene, account| {
        let find = |pair: String| names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol);
        Ok((account, pair.map(find).transpose()?))
    })
    .await?;
    let walk = Walk::new(account, Direction::OldestFirst, None);
    pieces::answer(&site, Frame::bare(), walk, move |site, mut walk| async move {
        let looked = site.look(move |scene| {
            let mut found = Vec::new();
            let more = walk.go_on(&scene.view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    found.push(Order::of_open(scene, open));
                }
                found.len() < SHOWN_AT_ONCE
            });
            (found.into_iter().collect::<Result<Vec<Order>, Refusal>>(), more.then_some(walk))
        });
        let (orders, next) = looked.await?;
        Ok(Piece::of(orders?.iter().map(|order| order.shape(unit)), next))
    })
    .await
}

pub(super) async fn all(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site).await?;
    asked.only_signed(&["symbol", "orderId", "startTime", "endTime", "limit"])?;
    let (pair, wanted) = (asked.needed("symbol")?.to_owned(), Wanted::of(&asked, "orderId")?);
    let (symbol, account) = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((symbol, account))
    })
    .await?;
    let from = &site;
    let orders = gather(wanted, |before| past::orders_of(from, account, Some(symbol), before, TRADES.1));
    let orders = orders.await?;
    let shown = site.look(move |scene| {
        let orders: Vec<Order> = orders.iter().map(|past| Order::of_past(&scene.view, past)).collect();
        orders
    });
    Ok(Json(shown.await?.iter().map(|order| order.shape(asked.unit)).collect()))
}
