//! Orders: placing, looking up, canceling.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::{AccountId, Command, Op, OrderId, Reply, Side};
use serde::Deserialize;
use serde_json::{Value, json};
use wire::Answer;

use super::accounts::of_account;
use super::{bad_cursor, no_history, unreadable};
use crate::input::{self, Body, Named, Parameters};
use crate::problem::{self, Problem};
use crate::shapes::{OrderShape, PlacedShape, find_order, side_name};
use crate::site::Site;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    account: String,
    symbol: String,
    side: SideName,
    limit: String,
    shares: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SideName {
    Buy,
    Sell,
}

pub(crate) async fn place(
    State(site): State<Site>,
    Body(asked): Body<Place>,
) -> Result<(StatusCode, Json<PlacedShape>), Problem> {
    let side = match asked.side {
        SideName::Buy => Side::Buy,
        SideName::Sell => Side::Sell,
    };
    let (account, symbol) = (input::account(&asked.account)?, input::symbol(&asked.symbol)?);
    let (limit, shares) = (input::limit(&asked.limit)?, input::order_shares(&asked.shares)?);
    let command = Op::Command(Command::PlaceOrder { account, symbol, side, limit, shares });
    let answers = site.desk()?.ask(&[command]).await.map_err(|_| Problem::unknown_outcome())?;
    let answer = answers.into_iter().next().ok_or_else(Problem::unknown_outcome)?;
    let Reply::Opened(order) = problem::reply(answer)? else { return Err(Problem::unknown_outcome()) };
    let placed = PlacedShape {
        order_id: order.0,
        client_order_id: None,
        account: asked.account,
        symbol: asked.symbol,
        side: side_name(side),
        limit: limit.to_string(),
        shares: shares.to_string(),
    };
    Ok((StatusCode::CREATED, Json(placed)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Owner {
    account: String,
}

pub(crate) async fn one(
    State(site): State<Site>,
    Named(order): Named<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (order, account) = (input::order(&order)?, input::account(&owner.account)?);
    show(&site, order, account).await.map(Json)
}

pub(crate) async fn cancel(
    State(site): State<Site>,
    Named(order): Named<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (order, account) = (input::order(&order)?, input::account(&owner.account)?);
    let command = Op::Command(Command::CancelOrder { account, order });
    let answers = site.desk()?.ask(&[command]).await.map_err(|_| Problem::unknown_outcome())?;
    let answer = answers.into_iter().next().ok_or_else(Problem::unknown_outcome)?;
    match problem::reply(answer)? {
        // It was done long ago: whose it was, only the history knows.
        Reply::Archived => show(&site, order, account).await.and(Err(Problem::nothing_open())),
        _ => show(&site, order, account).await.map(Json),
    }
}

/// An order as its owner sees it; nobody else learns that it exists.
async fn show(site: &Site, order: OrderId, account: AccountId) -> Result<OrderShape, Problem> {
    let shown = site.look(move |scene| {
        let found = find_order(scene, order).map_err(unreadable)?;
        let owner = scene.view.find_account(account).ok_or_else(Problem::unknown_account)?;
        match found {
            Some((of, shape)) if of == owner => Ok(shape),
            Some(_) => Err(Problem::unknown_order()),
            None if scene.history.is_none() => Err(no_history()),
            None => Err(Problem::unknown_order()),
        }
    });
    shown.await?
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    status: Option<Which>,
    symbol: Option<String>,
    limit: Option<usize>,
    before: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Which {
    Open,
    All,
}

pub(crate) async fn list(
    State(site): State<Site>,
    Named(id): Named<String>,
    Parameters(asked): Parameters<List>,
) -> Result<Json<Value>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    of_account(&site, &id, move |scene, account| {
        let (view, history) = (&scene.view, scene.history.as_ref());
        let symbol = symbol.map(|symbol| view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol)).transpose()?;
        let before = asked.before.map(OrderId);
        let (orders, next) = match asked.status.unwrap_or(Which::Open) {
            Which::Open => {
                let wanted = view.orders_of(account).filter(|open| {
                    before.is_none_or(|before| open.order < before) && symbol.is_none_or(|symbol| open.symbol == symbol)
                });
                // One more than shown says whether there are more.
                let mut orders: Vec<_> = wanted.take(limit + 1).collect();
                let more = orders.len() > limit;
                orders.truncate(limit);
                let next = orders.last().filter(|_| more).map(|open| open.order);
                let shapes: Result<Vec<_>, _> =
                    orders.into_iter().map(|open| OrderShape::open(view, history, open)).collect();
                (shapes.map_err(unreadable)?, next)
            }
            Which::All => {
                let history = history.ok_or_else(no_history)?;
                let mut wanted = |past: &feed::PastOrder| symbol.is_none_or(|symbol| past.symbol == symbol);
                let page = history.orders_of(account, before, limit, &mut wanted).map_err(unreadable)?;
                let (orders, next) = page.ok_or_else(bad_cursor)?;
                (orders.iter().map(|past| OrderShape::past(view, past)).collect(), next)
            }
        };
        Ok(json!({"orders": orders, "next": next.map(|order| order.0)}))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfSymbol {
    symbol: Option<String>,
}

/// Cancels what is open when it is asked; an order that is executed meanwhile is not among the canceled.
pub(crate) async fn cancel_all(
    State(site): State<Site>,
    Named(id): Named<String>,
    Parameters(asked): Parameters<OfSymbol>,
) -> Result<Json<Value>, Problem> {
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    let Json(open) = of_account(&site, &id, move |scene, account| {
        let view = &scene.view;
        let symbol = symbol.map(|symbol| view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol)).transpose()?;
        let wanted = view.orders_of(account).filter(|open| symbol.is_none_or(|symbol| open.symbol == symbol));
        Ok(wanted.map(|open| open.order).collect::<Vec<OrderId>>())
    })
    .await?;
    let account = input::account(&id)?;
    let mut canceled = Vec::new();
    for some in open.chunks(CANCELED_AT_ONCE) {
        let ops: Vec<Op> =
            some.iter().map(|order| Op::Command(Command::CancelOrder { account, order: *order })).collect();
        let answers = site.desk()?.ask(&ops).await.map_err(|_| Problem::unknown_outcome())?;
        let done = some.iter().zip(answers).filter(|(_, answer)| matches!(answer, Answer::Reply(Reply::Canceled(_))));
        canceled.extend(done.map(|(order, _)| *order));
    }
    let shown = site.look(move |scene| {
        let found = canceled.into_iter().map(|order| find_order(scene, order).map_err(unreadable));
        let shapes: Result<Vec<_>, Problem> = found.filter_map(Result::transpose).map(|found| Ok(found?.1)).collect();
        Ok(Json(json!({"canceled": shapes?})))
    });
    shown.await?
}

/// Commands of one request that stand in one line without others between.
const CANCELED_AT_ONCE: usize = 500;
