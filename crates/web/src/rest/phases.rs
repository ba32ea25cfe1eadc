//! Phases of symbols: halts, auctions, and their end.

use axum::Json;
use axum::extract::State;
use engine::{Command, Op};

use crate::input::{self, Body, Named};
use crate::problem::{self, Problem};
use crate::shapes::{PhaseAsked, PhaseGiven};
use crate::site::Site;
use crate::values;

/// Puts a symbol into a phase. When it opens, the orders that gathered execute at one price.
#[utoipa::path(
    put, path = "/symbols/{symbol}/phase", operation_id = "changePhase", tag = "Symbols",
    params(("symbol" = values::Symbol, Path, description = "The symbol's name")),
    request_body = PhaseAsked,
    responses((status = 200, description = "The phase that it has now", body = PhaseGiven)),
    extensions(("x-refusals" = json!(["unknown-symbol", "halted-by-rules"]))),
)]
pub(crate) async fn change_phase(
    State(site): State<Site>,
    Named(name): Named<String>,
    Body(asked): Body<PhaseAsked>,
) -> Result<Json<PhaseGiven>, Problem> {
    let symbol = input::symbol(&name).map_err(|_| Problem::unknown_symbol())?;
    let phase = asked.read()?;
    let ops = [Op::Command(Command::ChangePhase { symbol, phase, due: None })];
    let answers = site.submitter()?.ask(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    for answer in answers {
        problem::reply(answer)?;
    }
    Ok(Json(PhaseGiven { phase: phase.name() }))
}
