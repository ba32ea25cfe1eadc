//! Accounts: creating them, what they have, and what they executed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::{AccountIndex, Command, Op, Side};
use feed::{Scene, Trade};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{bad_cursor, no_history, unreadable};
use crate::hub::Hub;
use crate::input::{self, Body, Named, Parameters};
use crate::problem::{self, Problem};
use crate::shapes::{AccountShape, ExecutionShape};
use crate::site::Site;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    after: Option<String>,
    limit: Option<usize>,
}

pub(crate) async fn list(
    State(site): State<Site>,
    Parameters(asked): Parameters<List>,
) -> Result<Json<Value>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let after = asked.after.as_deref().map(input::account).transpose()?;
    let shown = site.look(move |scene| {
        let view = &scene.view;
        let from = match after {
            Some(after) => view.find_account(after).map(|account| account.0 as usize + 1),
            None => Some(0),
        };
        let from = from.ok_or_else(|| Problem::field("after", "after is the `next` of a page of this list"))?;
        let rest = &view.accounts()[from..];
        let page: Vec<_> = rest.iter().take(limit).collect();
        let next = page.last().filter(|_| rest.len() > limit).map(|account| account.id.to_string());
        let accounts = page
            .into_iter()
            .map(|account| json!({"account": account.id.to_string(), "balance": account.balance.to_string()}));
        Ok(json!({"accounts": accounts.collect::<Vec<_>>(), "next": next}))
    });
    shown.await?.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Create {
    account: String,
    balance: String,
}

pub(crate) async fn create(
    State(site): State<Site>,
    Body(asked): Body<Create>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let (account, balance) = (input::account(&asked.account)?, input::balance(&asked.balance)?);
    let command = Op::Command(Command::CreateAccount { account, balance });
    let answers = site.desk()?.ask(&[command]).await.map_err(|_| Problem::unknown_outcome())?;
    for answer in answers {
        problem::reply(answer)?;
    }
    Ok((StatusCode::CREATED, Json(json!({"account": asked.account, "balance": balance.to_string()}))))
}

pub(crate) async fn one(State(site): State<Site>, Named(id): Named<String>) -> Result<Json<AccountShape>, Problem> {
    of_account(&site, &id, |scene, account| Ok(AccountShape::of(&scene.view, account))).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Executions {
    symbol: Option<String>,
    limit: Option<usize>,
    before: Option<u64>,
}

pub(crate) async fn executions(
    State(site): State<Site>,
    Named(id): Named<String>,
    Parameters(asked): Parameters<Executions>,
) -> Result<Json<Value>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    of_account(&site, &id, move |scene, account| {
        let view = &scene.view;
        let symbol = symbol.map(|symbol| view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol)).transpose()?;
        let wanted = |trade: &Trade| symbol.is_none_or(|symbol| trade.symbol == symbol);
        let history = scene.history.as_ref().ok_or_else(no_history)?;
        let page = history.trades_of_account(account, asked.before, limit, wanted).map_err(unreadable)?;
        let (trades, next) = page.ok_or_else(bad_cursor)?;
        let executions: Vec<_> = trades
            .iter()
            .flat_map(|trade| sides(trade, account).map(|side| ExecutionShape::of(view, trade, side)))
            .collect();
        Ok(json!({"executions": executions, "next": next}))
    })
    .await
}

/// The sides that an account took in a trade: both, when it traded with itself.
fn sides(trade: &Trade, account: AccountIndex) -> impl Iterator<Item = Side> {
    let took = [
        (trade.aggressor_account == account).then_some(trade.aggressor),
        (trade.maker_account == account).then_some(trade.aggressor.opposite()),
    ];
    took.into_iter().flatten()
}

/// What `show` makes of an account, if there is one of this id.
pub(super) async fn of_account<T: Send + 'static>(
    site: &Site,
    id: &str,
    show: impl FnOnce(&mut Scene<Hub>, AccountIndex) -> Result<T, Problem> + Send + 'static,
) -> Result<Json<T>, Problem> {
    let id = input::account(id).map_err(|_| Problem::unknown_account())?;
    let shown = site.look(move |scene| match scene.view.find_account(id) {
        Some(account) => show(scene, account),
        None => Err(Problem::unknown_account()),
    });
    shown.await?.map(Json)
}
