//! Replaces an order: cancels it and places another one, with nothing in between.

use axum::Json;
use axum::extract::State;
use exchange::{OnFailure, replacement};
use serde_json::{Value, json};
use terms::{AccountId, Command, Op, Query, Reply};

use crate::cancel::{after_cancel, cancelable};
use crate::cancel_restriction::CancelRestriction;
use crate::find_order::{ask, ask_all, find_order};
use crate::market::Answer;
use crate::parameters::Parameters;
use crate::place::{Placing, client_order_id, placed};
use crate::refusal::Refusal;
use crate::state::BinanceState;

/// The parameters that belong to the cancel, not to the new order.
const OF_CANCEL: [&str; 6] = [
    "cancelReplaceMode",
    BY_NUMBER_OR_NAME[0],
    BY_NUMBER_OR_NAME[1],
    "cancelNewClientOrderId",
    "cancelRestrictions",
    "orderRateLimitExceededMode",
];
const BY_NUMBER_OR_NAME: [&str; 2] = ["cancelOrderId", "cancelOrigClientOrderId"];

/// The result of one half of a replacement.
enum Half {
    Done(Value),
    Failed(Refusal),
    /// A half that was not tried, because the other half failed.
    NotAttempted,
}

pub(crate) async fn replace(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    let on_failure = on_failure(&asked)?;
    let restriction = CancelRestriction::read(&asked)?;
    let cancel_name =
        asked.text("cancelNewClientOrderId").map(|id| client_order_id("cancelNewClientOrderId", id)).transpose()?;
    let placing = Placing::read(account, &asked, &OF_CANCEL)?;
    app.ascertain().await?;
    let order = find_order(&app, account, &asked, BY_NUMBER_OR_NAME).await?;
    let pair = asked.needed("symbol")?.to_owned();
    let open = match order {
        None => Err(Refusal::unknown_to_cancel()),
        Some(order_ref) => cancelable(&app, account, order_ref, pair, restriction).await?,
    };
    // An order that is not open at the look will not be open later, either.
    let (cancel, order) = match open {
        Err(why) if on_failure == OnFailure::Stop => return answer(Half::Failed(why), Half::NotAttempted),
        Err(why) => (Half::Failed(why), placing.ask(&app).await),
        Ok(open) => {
            let ops = replacement(open.id.into(), placing.place(), on_failure);
            let [cancel, reply] = match freeing(&app, account, &placing).await? {
                None => ask_all(&app, ops).await?,
                Some(free) => {
                    let [cancel, place] = ops;
                    let [freed, cancel, reply] = ask_all(&app, [free, cancel, place]).await?;
                    // The cancel may be done, so this is a failure of the new order alone.
                    [cancel, freed.and(reply)]
                }
            };
            let cancel = match after_cancel(&app, open, cancel?).await.map_err(|_| Refusal::unknown_outcome())? {
                Ok(order) => {
                    let name = cancel_name.map_or_else(|| order.client_name(), |name| name.to_string());
                    Half::Done(order.canceled_shape_under(&name, asked.unit))
                }
                Err(why) => Half::Failed(why),
            };
            (cancel, reply.and_then(placed))
        }
    };
    if matches!(cancel, Half::Failed(_)) && on_failure == OnFailure::Stop {
        return answer(cancel, Half::NotAttempted);
    }
    let new = match order {
        Err(why) => Half::Failed(why),
        // The order is placed: an error in writing the answer must not invite the client to try again.
        Ok(order) => {
            app.count_order(account);
            let told = placing.tell(&app, order, asked.unit).await;
            Half::Done(told.map_err(|_| Refusal::unknown_outcome())?)
        }
    };
    answer(cancel, new)
}

/// Returns the op that frees the new order's client order id, if that stands for an order that is done.
async fn freeing(app: &BinanceState, account: AccountId, placing: &Placing) -> Result<Option<Op>, Refusal> {
    let Some(id) = placing.client_id() else { return Ok(None) };
    let reply = ask(app, Op::Query(Query { account, order: id.into() })).await?;
    Ok(matches!(reply, Reply::Done(_)).then_some(Op::Command(Command::FreeClientOrderId { account, id })))
}

fn on_failure(asked: &Parameters) -> Result<OnFailure, Refusal> {
    // There is no rate limit on orders here, so either value means the same.
    if !matches!(asked.text("orderRateLimitExceededMode"), None | Some("DO_NOTHING" | "CANCEL_ONLY")) {
        return Err(Refusal::invalid("orderRateLimitExceededMode", "it is DO_NOTHING or CANCEL_ONLY"));
    }
    match asked.needed("cancelReplaceMode")? {
        "STOP_ON_FAILURE" => Ok(OnFailure::Stop),
        "ALLOW_FAILURE" => Ok(OnFailure::Place),
        _ => Err(Refusal::invalid("cancelReplaceMode", "it is STOP_ON_FAILURE or ALLOW_FAILURE")),
    }
}

fn answer(cancel: Half, new: Half) -> Answer {
    let data = json!({
        "cancelResult": cancel.result(),
        "newOrderResult": new.result(),
        "cancelResponse": cancel.response(),
        "newOrderResponse": new.response(),
    });
    match (&cancel, &new) {
        // A client that was told of a failure would try again.
        (Half::Failed(why), _) | (_, Half::Failed(why)) if why.is_unknown_outcome() => Err(Refusal::unknown_outcome()),
        (Half::Done(_), Half::Done(_)) => Ok(Json(data)),
        (Half::Done(_), _) | (_, Half::Done(_)) => Err(Refusal::partly_replaced(data)),
        (_, _) => Err(Refusal::nothing_replaced(data)),
    }
}

impl Half {
    fn result(&self) -> &'static str {
        match self {
            Half::Done(_) => "SUCCESS",
            Half::Failed(_) => "FAILURE",
            Half::NotAttempted => "NOT_ATTEMPTED",
        }
    }

    fn response(&self) -> Value {
        match self {
            Half::Done(told) => told.clone(),
            Half::Failed(why) => why.body(),
            Half::NotAttempted => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An order whose outcome was unknown was once reported as failed, where the other order could not be canceled.
    #[test]
    fn a_half_with_an_unknown_outcome_is_no_failure() {
        let failed = || Half::Failed(Refusal::unknown_to_cancel());
        let code = |cancel, new| answer(cancel, new).err().map(|refusal| refusal.body()["code"].clone());
        assert_eq!(code(failed(), failed()), Some(json!(-2022)));
        assert_eq!(code(Half::Done(json!({})), failed()), Some(json!(-2021)));
        let unknown = || Half::Failed(Refusal::unknown_outcome());
        for (cancel, new) in
            [(failed(), unknown()), (unknown(), Half::NotAttempted), (Half::Done(json!({})), unknown())]
        {
            assert_eq!(code(cancel, new), Some(json!(-1007)));
        }
    }
}
