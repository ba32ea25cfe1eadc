//! Starts and stops simulated traders.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app_state::AppState;
use crate::input::Body;
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::sandbox::{SANDBOX_RATE_MAX, Sandbox, SandboxPlan, SandboxStanding};
use crate::schema_values;

/// The state of the simulated traders.
#[derive(Serialize, ToSchema)]
#[schema(as = Sandbox)]
pub(crate) struct SandboxShape {
    /// Whether they can be started: the market is empty, or theirs.
    possible: bool,
    /// The reason why they cannot; null where they can.
    #[schema(required = true)]
    why: Option<&'static str>,
    running: bool,
    /// Whether they are stopping, and cancel their orders.
    stopping: bool,
    /// Whether all their accounts and symbols exist. While they run and this is false, these are being made.
    made: bool,
    /// Orders and cancels of all traders together, per second.
    #[schema(value_type = schema_values::Count)]
    rate: u32,
    seed: u64,
    /// The strategies that trade.
    strategies: Vec<&'static str>,
    /// The commands that they have sent since they were started.
    #[schema(value_type = schema_values::Count)]
    commands: u64,
    accounts: Vec<SandboxAccountShape>,
    #[schema(value_type = Vec<schema_values::Symbol>)]
    symbols: Vec<String>,
}

/// An account of the sandbox.
#[derive(Serialize, ToSchema)]
#[schema(as = SandboxAccount)]
struct SandboxAccountShape {
    #[schema(value_type = schema_values::Account)]
    account: String,
    name: &'static str,
    /// The strategy; null for the account that is for people.
    #[schema(required = true)]
    strategy: Option<&'static str>,
}

/// The state that the simulated traders are to have.
#[derive(Deserialize, ToSchema)]
#[schema(as = RunSandbox)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunBody {
    running: bool,
    /// Orders and cancels of all traders together, per second; 50 by default.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    rate: Option<u32>,
    /// The seed of their random choices; 1 by default.
    #[schema(value_type = Option<u32>)]
    seed: Option<u32>,
    /// The strategies that trade: `makers`, `noise`, `momentum`, `patient`; all by default.
    strategies: Option<Vec<String>>,
}

const NOT_HERE: &str = "no simulated traders can be started here: this is a demo, or the server only follows others";
const AMONG_OTHERS: &str = "this market has accounts or symbols of others, among which no simulated traders are let";
const ENDED_BEFORE: &str =
    "the traders were stopped, or ended, before all their accounts and symbols were there; the server's log says more";
/// Time for which an answer waits for the accounts and symbols of the traders.
const MADE_WITHIN: Duration = Duration::from_secs(10);
/// Pause between two looks for them.
const MADE_AGAIN: Duration = Duration::from_millis(20);
const RATE: u32 = 50;
/// The largest number that descriptions call one of 32 bits.
const SEED_MAX: u32 = i32::MAX.unsigned_abs();

/// Shows whether simulated traders can be started, and how they trade.
#[utoipa::path(
    get, path = "/sandbox", operation_id = "getSandbox", tag = "Server",
    responses((status = 200, description = "How they stand", body = SandboxShape)),
)]
pub(crate) async fn of(State(app): State<AppState>) -> Result<Json<SandboxShape>, Problem> {
    match app.market()?.sandbox.clone() {
        Some(sandbox) => tell(&app, &*sandbox).await,
        None => Ok(Json(SandboxShape::none())),
    }
}

/// Starts simulated traders, with accounts and symbols of their own, on a market that is empty or theirs, and answers
/// when these exist, or after ten seconds with 202; or stops them, and cancels their orders.
#[utoipa::path(
    put, path = "/sandbox", operation_id = "runSandbox", tag = "Server",
    request_body = RunBody,
    responses((status = 200, description = "How they stand now", body = SandboxShape),
        (status = 202, description = "They are started, and their accounts and symbols are still being made", body = SandboxShape)),
    extensions(("x-refusals" = json!([Code::NoSandbox]))),
)]
pub(crate) async fn run(
    State(app): State<AppState>,
    Body(asked): Body<RunBody>,
) -> Result<(StatusCode, Json<SandboxShape>), Problem> {
    let sandbox = sandbox(&app)?;
    let plan = plan(&asked, sandbox.strategies())?;
    if !asked.running {
        sandbox.stop();
        return Ok((StatusCode::OK, tell(&app, &*sandbox).await?));
    }
    let ground = ground(&app, &*sandbox).await?;
    if ground == Ground::Others {
        return Err(refused(AMONG_OTHERS));
    }
    sandbox.start(plan, ground == Ground::Empty).map_err(|why| refused(&why))?;
    made(&app, &*sandbox).await?;
    let told = tell(&app, &*sandbox).await?;
    Ok((begun(told.made, told.running)?, told))
}

/// Returns the answer after a start: whether their market was made, and whether they still run.
fn begun(made: bool, running: bool) -> Result<StatusCode, Problem> {
    match (made, running) {
        (true, _) => Ok(StatusCode::OK),
        (false, true) => Ok(StatusCode::ACCEPTED),
        (false, false) => Err(refused(ENDED_BEFORE)),
    }
}

fn sandbox(app: &AppState) -> Result<Arc<dyn Sandbox>, Problem> {
    let here = app.market()?.sandbox.clone();
    here.ok_or_else(|| refused(NOT_HERE))
}

/// Waits until all accounts and symbols of the traders exist, or they trade no more, or it takes too long.
async fn made(app: &AppState, sandbox: &dyn Sandbox) -> Result<(), Problem> {
    let begun = Instant::now();
    while ground(app, sandbox).await? != Ground::Theirs && sandbox.standing().running && begun.elapsed() < MADE_WITHIN {
        tokio::time::sleep(MADE_AGAIN).await;
    }
    Ok(())
}

fn refused(why: &str) -> Problem {
    Problem::new(Code::NoSandbox, why.to_owned())
}

fn plan(asked: &RunBody, there_are: &[&'static str]) -> Result<SandboxPlan, Problem> {
    let rate = asked.rate.unwrap_or(RATE);
    if !(1..=SANDBOX_RATE_MAX).contains(&rate) {
        return Err(Problem::field("rate", format!("rate is {rate}; it is 1 to {SANDBOX_RATE_MAX}")));
    }
    let seed = asked.seed.unwrap_or(1);
    if seed > SEED_MAX {
        return Err(Problem::field("seed", format!("seed is {seed}; it is 0 to {SEED_MAX}")));
    }
    let strategies = match &asked.strategies {
        None => there_are.to_vec(),
        Some(names) => {
            let found = names.iter().map(|name| there_are.iter().find(|there| *there == name).copied());
            let found: Option<Vec<_>> = found.collect();
            found.filter(|found| !found.is_empty() && found.len() <= there_are.len()).ok_or_else(|| {
                Problem::field("strategies", format!("strategies are some of {}", there_are.join(", ")))
            })?
        }
    };
    Ok(SandboxPlan { rate, seed: seed.into(), strategies })
}

/// The kind of a market, for simulated traders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ground {
    Empty,
    /// A sandbox has made everything that it needs.
    Theirs,
    Others,
}

async fn ground(app: &AppState, sandbox: &dyn Sandbox) -> Result<Ground, Problem> {
    let (accounts, symbols) = (sandbox.accounts(), sandbox.symbols());
    app.look(move |model| {
        let view = &model.view;
        let all = accounts.iter().all(|one| view.find_account(one.account).is_some())
            && symbols.iter().all(|symbol| view.find_symbol(*symbol).is_some());
        match (view.accounts().len(), view.listings().len()) {
            (0, 0) => Ground::Empty,
            _ if all => Ground::Theirs,
            _ => Ground::Others,
        }
    })
    .await
}

impl SandboxShape {
    /// The state on a server that has none.
    fn none() -> SandboxShape {
        SandboxShape {
            possible: false,
            why: Some(NOT_HERE),
            running: false,
            stopping: false,
            made: false,
            rate: RATE,
            seed: 1,
            strategies: Vec::new(),
            commands: 0,
            accounts: Vec::new(),
            symbols: Vec::new(),
        }
    }
}

async fn tell(app: &AppState, sandbox: &dyn Sandbox) -> Result<Json<SandboxShape>, Problem> {
    let SandboxStanding { running, stopping, plan, commands } = sandbox.standing();
    let ground = ground(app, sandbox).await?;
    // While they make their accounts and symbols the market is theirs, though some are missing.
    let possible = ground != Ground::Others || running;
    let accounts = sandbox.accounts();
    let accounts = accounts.iter().map(|one| SandboxAccountShape {
        account: one.account.to_string(),
        name: one.name,
        strategy: one.strategy,
    });
    Ok(Json(SandboxShape {
        possible,
        why: (!possible).then_some(AMONG_OTHERS),
        running,
        stopping,
        made: ground == Ground::Theirs,
        rate: plan.rate,
        seed: plan.seed,
        strategies: plan.strategies,
        commands,
        accounts: accounts.collect(),
        symbols: sandbox.symbols().iter().map(ToString::to_string).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    // A client that had traders started got the answer after ten seconds that everything was there, whether it was or
    // not.
    #[test]
    fn a_market_that_is_not_made_is_not_said_to_be_there() {
        assert_eq!(begun(true, true), Ok(StatusCode::OK));
        assert_eq!(begun(false, true), Ok(StatusCode::ACCEPTED));
        assert_eq!(begun(false, false).expect_err("they ended").code, Code::NoSandbox);
    }
}
