//! Lists of an account that are always empty, or that are not kept.

use axum::Json;
use axum::extract::State;
use serde_json::json;

use crate::find_order::of_account;
use crate::market::Answer;
use crate::names;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;

/// Answers with no allocations: orders go to this market alone, and no shares are allotted in any other way.
pub(crate) async fn allocations(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&["symbol", "startTime", "endTime", "fromAllocationId", "limit", "orderId"])?;
    for number in ["startTime", "endTime", "fromAllocationId", "limit", "orderId"] {
        asked.number(number)?;
    }
    let pair = asked.needed("symbol")?.to_owned();
    let known = of_account(&app, account, move |model, _| Ok(names::find(&model.view, &pair))).await?;
    known.map(|_| Json(json!([]))).ok_or_else(Refusal::unknown_symbol)
}

/// Refuses: such matches exist, but are not kept.
pub(crate) async fn prevented_matches(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.account(&app).await?;
    asked.only_signed(&["symbol", "preventedMatchId", "orderId", "fromPreventedMatchId", "limit"])?;
    Err(Refusal::not_kept("prevented matches are not kept; the account's stream tells each as TRADE_PREVENTION"))
}
