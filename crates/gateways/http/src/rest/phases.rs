//! Phases of symbols: halts, auctions, and their end.

use axum::Json;
use axum::extract::State;
use terms::{Command, Op, Phase, Reply};

use crate::app_state::AppState;
use crate::input::{self, Body, PathParameter};
use crate::problem::{self, Problem};
use crate::problem_code::Code;
use crate::schema_values;
use crate::shapes::{PhaseAsked, PhaseGiven};

/// Puts a symbol into a phase. When it opens, the orders that gathered execute at one price. The answer is `auction`
/// where they execute more often than one command may: the symbol opens by itself when all have executed.
#[utoipa::path(
    put, path = "/symbols/{symbol}/phase", operation_id = "changePhase", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name")),
    request_body = PhaseAsked,
    responses((status = 200, description = "The phase that it has now", body = PhaseGiven)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, Code::HaltedByRules]))),
)]
pub(crate) async fn change_phase(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<PhaseAsked>,
) -> Result<Json<PhaseGiven>, Problem> {
    let symbol = input::symbol(&name).map_err(|_| Problem::unknown_symbol())?;
    let phase = asked.read()?;
    let ops = [Op::Command(Command::ChangePhase { symbol, phase, due: None })];
    let answers = app.submitter()?.ask(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    let mut given = phase;
    for answer in answers {
        if problem::reply(answer)? == Reply::InAuction {
            given = Phase::Auction;
        }
    }
    Ok(Json(PhaseGiven { phase: given.name() }))
}
