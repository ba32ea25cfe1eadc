//! Trailing stops as these clients request them: `trailingDelta`, in hundredths of a per cent.

use serde_json::{Value, json};
use terms::Trail;

use crate::parameters::Parameters;
use crate::refusal::Refusal;

/// The field's name in requests and answers.
pub(crate) const DELTA: &str = "trailingDelta";

/// The least and the greatest distance, as in the filter.
const LEAST: u64 = 10;
const MOST: u64 = 2_000;

/// Writes the filter of `exchangeInfo`: the same in both directions.
pub(crate) fn filter() -> Value {
    json!({"filterType": "TRAILING_DELTA", "minTrailingAboveDelta": LEAST, "maxTrailingAboveDelta": MOST,
        "minTrailingBelowDelta": LEAST, "maxTrailingBelowDelta": MOST})
}

/// Reads the distance of an order of this type, if it follows the market.
pub(crate) fn read(asked: &Parameters, order_type: &str) -> Result<Option<u64>, Refusal> {
    let Some(delta) = asked.number(DELTA)? else { return Ok(None) };
    match order_type {
        "STOP_LOSS" | "STOP_LOSS_LIMIT" if (LEAST..=MOST).contains(&delta) => Ok(Some(delta)),
        "STOP_LOSS" | "STOP_LOSS_LIMIT" => Err(Refusal::filter("TRAILING_DELTA")),
        "TAKE_PROFIT" | "TAKE_PROFIT_LIMIT" => {
            let why =
                "Parameter 'trailingDelta' sent when not required: without an activation price this is a STOP_LOSS.";
            Err(Refusal::new(-1106, why))
        }
        _ => Err(Refusal::not_required(DELTA)),
    }
}

/// Adds the distance to an order under this name, if it is one that these clients have a number for.
pub(crate) fn tell(told: &mut Value, name: &str, trail: Option<Trail>) {
    if let (Some(told), Some(bips)) = (told.as_object_mut(), trail.and_then(Trail::bips)) {
        told.insert(name.to_owned(), json!(bips));
    }
}
