//! Fees: which account pays which, and the tiers of accounts.

use axum::Json;
use axum::extract::State;
use exchange::Read;
use serde::{Deserialize, Serialize};
use terms::{Command, Op};
use utoipa::ToSchema;

use super::symbols::of_symbol;
use crate::app_state::AppState;
use crate::input::{self, Body, PathParameter};
use crate::problem::{self, Problem};
use crate::problem_code::Code;
use crate::schema_values;
use crate::shapes::{FeesShape, tier};

/// The fees of a symbol.
#[derive(Serialize, ToSchema)]
#[schema(as = SymbolFees)]
pub(crate) struct SymbolFeesShape {
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    /// The fees of each tier that pays any.
    fees: Vec<FeesShape>,
}

/// Shows the fees of a symbol, by tier.
#[utoipa::path(
    get, path = "/symbols/{symbol}/fees", operation_id = "getFees", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name")),
    responses((status = 200, description = "Its fees", body = SymbolFeesShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol]))),
)]
pub(crate) async fn of(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
) -> Result<Json<SymbolFeesShape>, Problem> {
    let Json(mut fees) = of_symbol(&app, &name.clone(), move |model, symbol| {
        Ok(SymbolFeesShape { symbol: name, fees: FeesShape::all(&model.view, symbol) })
    })
    .await?;
    // Not every asker that may look at the market may know which accounts exist.
    fees.fees.iter_mut().for_each(|fees| fees.hide_unless(|account| app.may_read(Read::Account(account))));
    Ok(Json(fees))
}

/// Changes the fees that the accounts of a tier pay in a symbol. Earlier executions keep their fees.
#[utoipa::path(
    put, path = "/symbols/{symbol}/fees", operation_id = "changeFees", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name")),
    request_body = FeesShape,
    responses((status = 200, description = "What they pay now", body = FeesShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, Code::UnknownAccount, Code::AccountClosed]))),
)]
pub(crate) async fn change(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<FeesShape>,
) -> Result<Json<FeesShape>, Problem> {
    let symbol = input::symbol(&name).map_err(|_| Problem::unknown_symbol())?;
    let (tier, fees) = asked.read()?;
    order(&app, Command::ChangeFees { symbol, tier, fees }).await?;
    Ok(Json(asked))
}

/// The tier of an account.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = AccountTier)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierShape {
    #[schema(value_type = schema_values::Tier)]
    tier: u64,
}

/// Puts an account into a tier. It pays the tier's fees from now on.
#[utoipa::path(
    put, path = "/accounts/{account}/tier", operation_id = "changeTier", tag = "Accounts",
    params(("account" = schema_values::Account, Path, description = "The account's id")),
    request_body = TierShape,
    responses((status = 200, description = "The tier that it is of now", body = TierShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount]))),
)]
pub(crate) async fn change_tier(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<TierShape>,
) -> Result<Json<TierShape>, Problem> {
    let account = input::account(&name).map_err(|_| Problem::unknown_account())?;
    order(&app, Command::ChangeTier { account, tier: tier(asked.tier)? }).await?;
    Ok(Json(asked))
}

async fn order(app: &AppState, command: Command) -> Result<(), Problem> {
    let answers = app.submitter()?.ask(&[Op::Command(command)]).await.map_err(|_| Problem::unknown_outcome())?;
    for answer in answers {
        problem::reply(answer)?;
    }
    Ok(())
}
