//! The interface's answers about how many orders an account has placed.

use axum::Json;
use axum::extract::State;

use super::market::Answer;
use super::parameters::Parameters;
use super::used_weight;
use crate::site::Site;

pub(super) async fn limits(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site).await?;
    asked.only_signed(&[])?;
    Ok(Json(used_weight::order_limits(site.market()?.order_counts.of(account))))
}
