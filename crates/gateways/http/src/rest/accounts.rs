//! Accounts: creates them, and shows their balances, positions and executions.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use exchange::{AccountSet, Read};
use feed::{ReadModel, Trade, View};
use serde::{Deserialize, Serialize};
use terms::{AccountId, AccountIndex, Command, Op, Side};
use utoipa::{IntoParams, ToSchema};

use super::{bad_cursor, troubled};
use crate::app_state::AppState;
use crate::current_principal;
use crate::history_pages;
use crate::history_port::TradesOfAccount;
use crate::hub::Hub;
use crate::input::{self, Body, Parameters, PathParameter};
use crate::problem::{self, Problem};
use crate::problem_code::{Code, RECORD};
use crate::schema_values;
use crate::shapes::{AccountShape, ExecutionShape, POSITIONS_MAX};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Account>)]
    after: Option<String>,
    /// Accounts of a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
}

/// The balance of an account.
#[derive(Serialize, ToSchema)]
#[schema(as = Balance)]
pub(crate) struct BalanceShape {
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::Money)]
    balance: String,
}

/// Accounts, and the start of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = Accounts)]
pub(crate) struct AccountsShape {
    accounts: Vec<BalanceShape>,
    #[schema(value_type = Option<schema_values::Account>, required = true)]
    next: Option<String>,
}

/// Lists the accounts that the asker may look at, in order of their creation.
#[utoipa::path(
    get, path = "/accounts", operation_id = "listAccounts", tag = "Accounts",
    params(List),
    responses((status = 200, description = "A page of accounts", body = AccountsShape)),
)]
pub(crate) async fn list(
    State(app): State<AppState>,
    Parameters(asked): Parameters<List>,
) -> Result<Json<AccountsShape>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let after = asked.after.as_deref().map(input::account).transpose()?;
    if let Some(theirs) = theirs(&app) {
        return app.look(move |model| list_of(&model.view, &theirs, after, limit)).await?.map(Json);
    }
    let shown = app.look(move |model| {
        let view = &model.view;
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
            .map(|account| BalanceShape { account: account.id.to_string(), balance: account.balance.to_string() });
        Ok(AccountsShape { accounts: accounts.collect(), next })
    });
    shown.await?.map(Json)
}

/// Returns the accounts that the asker may look at; `None` for all.
pub(super) fn theirs(app: &AppState) -> Option<AccountSet> {
    app.members()?;
    let rights = current_principal::asker().map(|asker| asker.rights()).unwrap_or_default();
    let may_any = || rights.accounts.iter().filter(|account| rights.may_read(Read::Account(*account)));
    (!rights.may_read(Read::AllAccounts)).then(|| may_any().collect())
}

/// Returns a page of these accounts.
fn list_of(view: &View, theirs: &AccountSet, after: Option<AccountId>, limit: usize) -> Result<AccountsShape, Problem> {
    let bad_after = || Problem::field("after", "after is the `next` of a page of this list");
    let after = match after {
        Some(after) => Some(view.find_account(after).filter(|_| theirs.contains(after)).ok_or_else(bad_after)?),
        None => None,
    };
    let mut rest: Vec<AccountIndex> = theirs.iter().filter_map(|account| view.find_account(account)).collect();
    rest.retain(|account| after.is_none_or(|after| *account > after));
    rest.sort_unstable();
    let shown: Vec<_> = rest.iter().take(limit).map(|account| view.account(*account)).collect();
    let next = shown.last().filter(|_| rest.len() > limit).map(|account| account.id.to_string());
    let accounts = shown
        .iter()
        .map(|account| BalanceShape { account: account.id.to_string(), balance: account.balance.to_string() });
    Ok(AccountsShape { accounts: accounts.collect(), next })
}

/// An account to create.
#[derive(Deserialize, ToSchema)]
#[schema(as = CreateAccount)]
#[serde(deny_unknown_fields)]
pub(crate) struct Create {
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::BalanceAsked)]
    balance: String,
}

/// Creates an account.
#[utoipa::path(
    post, path = "/accounts", operation_id = "createAccount", tag = "Accounts",
    request_body = Create,
    responses((status = 201, description = "Created", body = BalanceShape)),
    extensions(("x-refusals" = json!([Code::AccountExists, Code::TooManyAccounts, Code::TooMuchMoney, Code::OutsideBudget, Code::InsufficientFunds, Code::UnknownPayer]))),
)]
pub(crate) async fn create(
    State(app): State<AppState>,
    Body(asked): Body<Create>,
) -> Result<(StatusCode, Json<BalanceShape>), Problem> {
    let (account, balance) = (input::account(&asked.account)?, input::balance(&asked.balance)?);
    let command = Op::Command(Command::CreateAccount { account, balance });
    let answers = app.submitter()?.ask(&[command]).await.map_err(|_| Problem::unknown_outcome())?;
    for answer in answers {
        problem::reply(answer)?;
    }
    Ok((StatusCode::CREATED, Json(BalanceShape { account: asked.account, balance: balance.to_string() })))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Positions {
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Symbol>)]
    after: Option<String>,
    /// Positions of a page.
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
}

/// Shows an account, with its positions in order of their symbols' creation.
#[utoipa::path(
    get, path = "/accounts/{account}", operation_id = "getAccount", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id"), Positions),
    responses((status = 200, description = "The account", body = AccountShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownSymbol]))),
)]
pub(crate) async fn one(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Parameters(asked): Parameters<Positions>,
) -> Result<Json<AccountShape>, Problem> {
    let limit = input::count("limit", asked.limit, POSITIONS_MAX, POSITIONS_MAX)?;
    let after = asked.after.as_deref().map(input::symbol).transpose()?;
    of_account(&app, &id, move |model, account| {
        let found = |after| model.view.find_symbol(after).ok_or_else(Problem::unknown_symbol);
        Ok(AccountShape::page(&model.view, account, after.map(found).transpose()?, limit))
    })
    .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Executions {
    /// The symbol of the entries; all symbols without it.
    #[param(value_type = Option<schema_values::Symbol>)]
    symbol: Option<String>,
    /// Trades of a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Trade>)]
    #[serde(default, deserialize_with = "input::number")]
    before: Option<u64>,
}

/// Executions, and the start of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = Executions)]
pub(crate) struct ExecutionsShape {
    executions: Vec<ExecutionShape>,
    #[schema(value_type = Option<schema_values::Trade>, required = true)]
    next: Option<u64>,
}

/// Lists the executions of an account, newest first.
#[utoipa::path(
    get, path = "/accounts/{account}/executions", operation_id = "listExecutions", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id"), Executions),
    responses((status = 200, description = "A page of executions", body = ExecutionsShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownSymbol, RECORD]))),
)]
pub(crate) async fn executions(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Parameters(asked): Parameters<Executions>,
) -> Result<Json<ExecutionsShape>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    let Json(of) = of_account(&app, &id, move |model, account| {
        let view = &model.view;
        let symbol = symbol.map(|symbol| view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol)).transpose()?;
        Ok(TradesOfAccount { account, symbol, order: None })
    })
    .await?;
    let page = history_pages::trades_of_account(&app, of, asked.before, limit).await.map_err(troubled)?;
    let (trades, next) = page.ok_or_else(bad_cursor)?;
    let shown = app.look(move |model| {
        let sides_of = |trade| sides(trade, of.account).map(move |side| (trade, side));
        let sides = trades.iter().flat_map(sides_of);
        sides.map(|(trade, side)| ExecutionShape::of(&model.view, trade, side)).collect()
    });
    Ok(Json(ExecutionsShape { executions: shown.await?, next }))
}

/// Returns the sides that an account took in a trade: both, when it traded with itself.
fn sides(trade: &Trade, account: AccountIndex) -> impl Iterator<Item = Side> {
    let took = [
        (trade.aggressor_account == account).then_some(trade.aggressor),
        (trade.maker_account == account).then_some(trade.aggressor.opposite()),
    ];
    took.into_iter().flatten()
}

/// Calls `show` for an account, if there is one of this id.
pub(super) async fn of_account<T: Send + 'static>(
    app: &AppState,
    id: &str,
    show: impl FnOnce(&mut ReadModel<Hub>, AccountIndex) -> Result<T, Problem> + Send + 'static,
) -> Result<Json<T>, Problem> {
    let id = input::account(id).map_err(|_| Problem::unknown_account())?;
    let shown = app.look(move |model| match model.view.find_account(id) {
        Some(account) => show(model, account),
        None => Err(Problem::unknown_account()),
    });
    shown.await?.map(Json)
}
