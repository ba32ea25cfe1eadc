//! Trailing stops as these clients request them: `trailingDelta`, in hundredths of a per cent.

use serde_json::{Value, json};
use terms::Trail;

use crate::parameters::Parameters;
use crate::refusal::Refusal;

/// The field's name in requests and answers.
pub(crate) const DELTA: &str = "trailingDelta";

/// The least and the greatest distance, as in the filter.
const LEAST: u16 = 10;
const MOST: u16 = 2_000;

/// Writes the filter of `exchangeInfo`: the same in both directions.
pub(crate) fn filter() -> Value {
    json!({"filterType": "TRAILING_DELTA", "minTrailingAboveDelta": LEAST, "maxTrailingAboveDelta": MOST,
        "minTrailingBelowDelta": LEAST, "maxTrailingBelowDelta": MOST})
}

/// Reads the distance of an order of this type, if it follows the market.
pub(crate) fn read(asked: &Parameters, order_type: &str) -> Result<Option<Trail>, Refusal> {
    let Some(text) = asked.text(DELTA) else { return Ok(None) };
    match order_type {
        "STOP_LOSS" | "STOP_LOSS_LIMIT" => {}
        "TAKE_PROFIT" | "TAKE_PROFIT_LIMIT" => {
            let why =
                "Parameter 'trailingDelta' sent when not required: without an activation price this is a STOP_LOSS.";
            return Err(Refusal::new(-1106, why));
        }
        _ => return Err(Refusal::not_required(DELTA)),
    }
    if asked.text("stopPrice").is_some() {
        let why = "Parameter 'stopPrice' sent when not required: with 'trailingDelta' the order follows the market from its \
                   placing on.";
        return Err(Refusal::new(-1106, why));
    }
    if asked.text("icebergQty").is_some() {
        let why = "Parameter 'icebergQty' sent when not required: an order with 'trailingDelta' shows all its shares.";
        return Err(Refusal::new(-1106, why));
    }
    let digits = text.bytes().all(|digit| digit.is_ascii_digit());
    let delta = text.parse::<u64>().ok().filter(|_| digits).ok_or_else(|| Refusal::illegal(DELTA, "^[0-9]{1,20}$"))?;
    let within = u16::try_from(delta).ok().filter(|delta| (LEAST..=MOST).contains(delta));
    let trail = within.and_then(Trail::by_bips);
    trail.map(Some).ok_or_else(|| Refusal::filter("TRAILING_DELTA"))
}

/// Adds the distance to an order under this name, if it is one that these clients have a number for.
pub(crate) fn tell(told: &mut Value, name: &str, trail: Option<Trail>) {
    if let (Some(told), Some(bips)) = (told.as_object_mut(), trail.and_then(Trail::bips)) {
        told.insert(name.to_owned(), json!(bips));
    }
}
