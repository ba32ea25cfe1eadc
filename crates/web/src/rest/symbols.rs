//! Symbols: their markets, and issuing shares of them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::{Command, Op, Position, Side, SymbolIndex, Time};
use feed::{Scene, View};
use serde::Deserialize;
use serde_json::{Value, json};

use super::status::now;
use super::{bad_cursor, unreadable};
use crate::hub::Hub;
use crate::input::{self, Body, Named, Parameters};
use crate::problem::{self, Problem};
use crate::shapes::{BookShape, CandleShape, QueuedShape, SymbolShape, TradeShape};
use crate::site::Site;

pub(crate) async fn list(State(site): State<Site>) -> Result<Json<Value>, Problem> {
    let shown = site.look(|scene| {
        let indices = (0..scene.view.listings().len() as u32).map(SymbolIndex);
        let symbols: Vec<_> = indices.map(|symbol| SymbolShape::of(&scene.view, symbol, Time(now()))).collect();
        json!({"symbols": symbols})
    });
    Ok(Json(shown.await?))
}

pub(crate) async fn one(State(site): State<Site>, Named(name): Named<String>) -> Result<Json<SymbolShape>, Problem> {
    of_symbol(&site, &name, |scene, symbol| Ok(SymbolShape::of(&scene.view, symbol, Time(now())))).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Depth {
    depth: Option<usize>,
}

/// Levels a side: shown unless asked otherwise, and at most.
const DEPTH: (usize, usize) = (50, 1000);

pub(crate) async fn book(
    State(site): State<Site>,
    Named(name): Named<String>,
    Parameters(asked): Parameters<Depth>,
) -> Result<Json<BookShape>, Problem> {
    let depth = input::count("depth", asked.depth, DEPTH.0, DEPTH.1)?;
    of_symbol(&site, &name, move |scene, symbol| Ok(BookShape::of(&scene.view, symbol, depth))).await
}

pub(crate) async fn queues(
    State(site): State<Site>,
    Named(name): Named<String>,
    Parameters(asked): Parameters<Depth>,
) -> Result<Json<Value>, Problem> {
    let depth = input::count("depth", asked.depth, DEPTH.0, DEPTH.1)?;
    of_symbol(&site, &name, move |scene, symbol| {
        let side = |side: Side| -> Result<Vec<QueuedShape>, Problem> {
            let queue = scene.view.queue(symbol, side).take(depth);
            queue.map(|open| QueuedShape::of(scene, open).map_err(unreadable)).collect()
        };
        let view = &scene.view;
        Ok(json!({
            "symbol": view.listing(symbol).name.as_str(),
            "sequence": view.sequence().0,
            "bids": side(Side::Buy)?,
            "asks": side(Side::Sell)?,
        }))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trades {
    limit: Option<usize>,
    before: Option<u64>,
}

pub(crate) async fn trades(
    State(site): State<Site>,
    Named(name): Named<String>,
    Parameters(asked): Parameters<Trades>,
) -> Result<Json<Value>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    of_symbol(&site, &name, move |scene, symbol| {
        let view = &scene.view;
        let (trades, next) = match &scene.history {
            Some(history) => {
                history.trades_of(symbol, asked.before, limit).map_err(unreadable)?.ok_or_else(bad_cursor)?
            }
            None => recent(view, symbol, asked.before, limit),
        };
        let trades: Vec<_> = trades.iter().map(|trade| TradeShape::of(view, trade)).collect();
        Ok(json!({"trades": trades, "next": next}))
    })
    .await
}

/// Trades that memory still has.
fn recent(view: &View, symbol: SymbolIndex, before: Option<u64>, limit: usize) -> (Vec<feed::Trade>, Option<u64>) {
    let mut early = view.listing(symbol).recent().filter(|trade| before.is_none_or(|before| trade.id < before));
    let trades: Vec<_> = early.by_ref().take(limit).copied().collect();
    let next = early.next().and(trades.last()).map(|trade| trade.id);
    (trades, next)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candles {
    interval: Option<String>,
    limit: Option<usize>,
    before: Option<u64>,
}

pub(crate) async fn candles(
    State(site): State<Site>,
    Named(name): Named<String>,
    Parameters(asked): Parameters<Candles>,
) -> Result<Json<Value>, Problem> {
    let interval = input::interval(asked.interval.as_deref().unwrap_or("1m"))?;
    let limit = input::count("limit", asked.limit, 500, 1500)?;
    of_symbol(&site, &name, move |scene, symbol| {
        let candles = scene.candles(symbol, interval, asked.before.map(Time), limit).map_err(unreadable)?;
        let shapes: Vec<_> = candles.iter().map(CandleShape::of).collect();
        let name = scene.view.listing(symbol).name;
        Ok(json!({"symbol": name.as_str(), "interval": interval.name(), "candles": shapes}))
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Issue {
    account: String,
    shares: String,
}

pub(crate) async fn issue(
    State(site): State<Site>,
    Named(name): Named<String>,
    Body(asked): Body<Issue>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let (symbol, account) = (input::symbol(&name)?, input::account(&asked.account)?);
    let shares: Position = input::position(&asked.shares)?;
    let ops = [Command::CreateSymbol { symbol }, Command::IssueShares { symbol, account, shares }].map(Op::Command);
    let answers = site.desk()?.ask(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    for answer in answers {
        problem::reply(answer)?;
    }
    let told = json!({"symbol": name, "account": asked.account, "shares": shares.to_string()});
    Ok((StatusCode::CREATED, Json(told)))
}

/// What `show` makes of a symbol, if there is one of this name.
async fn of_symbol<T: Send + 'static>(
    site: &Site,
    name: &str,
    show: impl FnOnce(&mut Scene<Hub>, SymbolIndex) -> Result<T, Problem> + Send + 'static,
) -> Result<Json<T>, Problem> {
    // What cannot be a symbol's name is the name of none.
    let name = input::symbol(name).map_err(|_| Problem::unknown_symbol())?;
    let shown = site.look(move |scene| match scene.view.find_symbol(name) {
        Some(symbol) => show(scene, symbol),
        None => Err(Problem::unknown_symbol()),
    });
    shown.await?.map(Json)
}
