//! Deposits and withdrawals of an account, and its closing.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use terms::{AmountError, Assets, Command, Decimal, Op, TransferNumber, TransferNumberError};
use utoipa::ToSchema;

use crate::app_state::AppState;
use crate::input::{self, Body, PathParameter};
use crate::problem::{self, Problem};
use crate::problem_code::Code;
use crate::schema_values;

/// Assets to move: `dollars`, or `symbol` and `shares`.
#[derive(Deserialize, ToSchema)]
#[schema(as = MoveAssets)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransferBody {
    #[schema(value_type = Option<schema_values::DollarsMoved>)]
    dollars: Option<String>,
    #[schema(value_type = Option<schema_values::Symbol>)]
    symbol: Option<String>,
    #[schema(value_type = Option<schema_values::SharesMoved>)]
    shares: Option<String>,
    /// The number that the transfer must have among those of the account: its `transfers`, and one. If another number
    /// is next by then, nothing is done. So a request can be sent again after a lost answer.
    #[schema(value_type = Option<schema_values::TransferNumberAsked>)]
    transfer: Option<u64>,
}

/// Assets that were moved.
#[derive(Serialize, ToSchema)]
#[schema(as = AssetsMoved)]
pub(crate) struct TransferShape {
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = Option<schema_values::Money>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    dollars: Option<String>,
    #[schema(value_type = Option<schema_values::Symbol>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    #[schema(value_type = Option<schema_values::Position>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<String>,
    /// The number of the transfer. Only for a request with one.
    #[schema(value_type = Option<schema_values::TransferNumberAsked>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer: Option<u64>,
}

impl TransferBody {
    /// Reads the assets and the number. Errors: a field that is missing, or whose value is invalid.
    pub(crate) fn read(&self) -> Result<(Assets, Option<TransferNumber>), Problem> {
        let (assets, field) = match (&self.dollars, &self.symbol, &self.shares) {
            (Some(dollars), None, None) => {
                (Assets::Dollars(input::amount("dollars", dollars, Decimal::money)?), "dollars")
            }
            (None, Some(symbol), Some(shares)) => {
                (Assets::Shares { symbol: input::symbol(symbol)?, shares: input::position(shares)? }, "shares")
            }
            _ => return Err(Problem::field("dollars", "a transfer moves either dollars, or a symbol's shares")),
        };
        if !assets.is_sound() {
            return Err(Problem::field(field, format!("{field} {}", AmountError::Zero)));
        }
        let number = |number| {
            let fault = || Problem::field("transfer", format!("transfer {TransferNumberError}"));
            TransferNumber::new(number).filter(|number| *number <= TransferNumber::MAX).ok_or_else(fault)
        };
        Ok((assets, self.transfer.map(number).transpose()?))
    }
}

/// Adds dollars or shares to an account. Where the asker's budget is of an account, that one pays.
#[utoipa::path(
    post, path = "/accounts/{account}/deposits", operation_id = "deposit", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    request_body = TransferBody,
    responses((status = 201, description = "Deposited", body = TransferShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::AccountClosed, Code::UnknownSymbol, Code::NotNextTransfer, Code::TooMuchMoney, Code::TooManyShares, Code::InsufficientFunds, Code::InsufficientShares, Code::UnknownPayer]))),
)]
pub(crate) async fn deposit(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<TransferBody>,
) -> Result<(StatusCode, Json<TransferShape>), Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    let (assets, number) = asked.read()?;
    transfer(&app, name, Command::Deposit { account, assets, number }, (assets, number)).await
}

/// Takes dollars or shares out of an account and out of the market. Open orders keep what they hold.
#[utoipa::path(
    post, path = "/accounts/{account}/withdrawals", operation_id = "withdraw", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    request_body = TransferBody,
    responses((status = 201, description = "Withdrawn", body = TransferShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::AccountClosed, Code::UnknownSymbol, Code::NotNextTransfer, Code::InsufficientFunds, Code::InsufficientShares]))),
)]
pub(crate) async fn withdraw(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<TransferBody>,
) -> Result<(StatusCode, Json<TransferShape>), Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    let (assets, number) = asked.read()?;
    transfer(&app, name, Command::Withdraw { account, assets, number }, (assets, number)).await
}

/// An account that is closed.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountClosed)]
pub(crate) struct ClosedShape {
    #[schema(value_type = schema_values::Account)]
    account: String,
    closed: bool,
}

/// Closes an account for ever: it then places no orders and gets nothing, and its id is not used again. One that is
/// closed stays so.
#[utoipa::path(
    delete, path = "/accounts/{account}", operation_id = "closeAccount", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    responses((status = 200, description = "Closed", body = ClosedShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::AccountInUse]))),
)]
pub(crate) async fn close(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
) -> Result<Json<ClosedShape>, Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    let asked = app.submitter()?.ask(&[Op::Command(Command::CloseAccount { account })]).await;
    for answer in asked.map_err(|_| Problem::unknown_closing())? {
        problem::reply(answer)?;
    }
    Ok(Json(ClosedShape { account: name, closed: true }))
}

async fn transfer(
    app: &AppState,
    account: String,
    command: Command,
    (assets, number): (Assets, Option<TransferNumber>),
) -> Result<(StatusCode, Json<TransferShape>), Problem> {
    let unknown = |_| Problem::unknown_transfer(number.is_some());
    for answer in app.submitter()?.ask(&[Op::Command(command)]).await.map_err(unknown)? {
        problem::reply(answer)?;
    }
    let (dollars, symbol, shares) = match assets {
        Assets::Dollars(dollars) => (Some(dollars.to_string()), None, None),
        Assets::Shares { symbol, shares } => (None, Some(symbol.to_string()), Some(shares.to_string())),
    };
    let told = TransferShape { account, dollars, symbol, shares, transfer: number.map(TransferNumber::get) };
    Ok((StatusCode::CREATED, Json(told)))
}
