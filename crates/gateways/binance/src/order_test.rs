//! Tests of orders: checks an order as far as possible without placing it.

use axum::Json;
use axum::extract::State;
use serde_json::json;

use crate::fees::Rates;
use crate::market::Answer;
use crate::parameters::Parameters;
use crate::place::Placing;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::wallet;

const COMPUTE_RATES: &str = "computeCommissionRates";

/// Checks an order and does not place it; answers with its fees, if the request asks for them.
pub(crate) async fn test(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    let placing = Placing::read(account, &asked, &[COMPUTE_RATES])?;
    let tells_rates = match asked.text(COMPUTE_RATES) {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(Refusal::invalid(COMPUTE_RATES, "it is true or false")),
    };
    app.ascertain().await?;
    let found = app.look(move |model| {
        let view = &model.view;
        let symbol = view.find_symbol(placing.place().symbol())?;
        let account = view.find_account(account);
        Some(account.map_or(Rates::default(), |account| Rates::of(view, account, symbol)))
    });
    match found.await? {
        Some(rates) if tells_rates => Ok(Json(wallet::order_commission(rates))),
        Some(_) => Ok(Json(json!({}))),
        None => Err(Refusal::unknown_symbol()),
    }
}
