//! The interface's answers about how many orders an account has placed.

use axum::Json;
use axum::extract::State;

use super::market::Answer;
use super::parameters::Parameters;
use super::used_weight;
use crate::app_state::AppState;

pub(super) async fn limits(State(app): State<AppState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&[])?;
    Ok(Json(used_weight::order_limits(app.market()?.order_counts.of(account))))
}
