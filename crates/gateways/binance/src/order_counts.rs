//! The interface's answers about how many orders an account has placed.

use axum::Json;
use axum::extract::State;

use crate::market::Answer;
use crate::parameters::Parameters;
use crate::state::BinanceState;
use crate::used_weight;

pub(crate) async fn limits(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&[])?;
    Ok(Json(used_weight::order_limits(app.own()?.order_counts.of(account))))
}
