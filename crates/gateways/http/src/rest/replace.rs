//! Replaces orders: cancels one and places another one, with nothing in between.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use exchange::{OnFailure, replacement};
use serde::{Deserialize, Serialize};
use terms::{OrderName, Reply};
use utoipa::{IntoParams, ToSchema};

use super::orders::canceled;
use super::placing::{PlaceOrderBody, Placing};
use crate::app_state::AppState;
use crate::input::{self, Body, Parameters, PathParameter};
use crate::problem::{self, Problem};
use crate::problem_code::{ANY_ORDER, Code, ORDER_ALONE, RECORD};
use crate::schema_values;
use crate::shapes::{OrderShape, PlacedShape};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    /// The fate of one order when something goes wrong with the other: `place` places the new one when the old one
    /// cannot be canceled; `keep` leaves the old one as it is when the new one is refused.
    #[param(inline, default = "stop")]
    on_failure: Option<OnFailureName>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OnFailureName {
    Stop,
    Place,
    Keep,
}

/// The results for the old order and the new one.
#[derive(Serialize, ToSchema)]
#[schema(as = Replaced)]
pub(crate) struct ReplacedShape {
    /// The old order, if it was canceled.
    #[schema(required = true)]
    canceled: Option<OrderShape>,
    /// The reason why it was not canceled.
    #[schema(required = true)]
    not_canceled: Option<Problem>,
    /// The new order, if it was placed.
    #[schema(required = true)]
    placed: Option<PlacedShape>,
    /// The reason why it was not placed.
    #[schema(required = true)]
    not_placed: Option<Problem>,
}

/// Cancels an open order and places another one of the same account in its stead.
#[utoipa::path(
    put, path = "/orders/{order}", operation_id = "replaceOrder", tag = "Orders",
    params(("order" = schema_values::Order, Path, description = "The id of the order to cancel"), Condition),
    request_body = PlaceOrderBody,
    responses((status = 201, description = "Placed, and the old order canceled, unless `not_canceled` says why not", body = ReplacedShape),
        (status = 200, description = "Canceled and not placed; or placed before, under this `client_order_id`", body = ReplacedShape)),
    extensions(("x-refusals" = json!([ANY_ORDER, ORDER_ALONE, Code::UnknownOrder, Code::NothingOpen, RECORD]))),
)]
pub(crate) async fn replace(
    State(app): State<AppState>,
    PathParameter(order): PathParameter<String>,
    Parameters(condition): Parameters<Condition>,
    Body(asked): Body<PlaceOrderBody>,
) -> Result<(StatusCode, Json<ReplacedShape>), Problem> {
    replace_by(&app, input::order(&order)?.into(), condition, Placing::read(&asked)?).await
}

/// Cancels the open order that a client order id stands for, and places another one of the same account in its stead.
#[utoipa::path(
    put, path = "/orders/by-client-id/{*client_order_id}", operation_id = "replaceOrderByClientId", tag = "Orders",
    params(("client_order_id" = schema_values::ClientOrder, Path, description = "What its client calls the order to cancel"), Condition),
    request_body = PlaceOrderBody,
    responses((status = 201, description = "Placed, and the old order canceled, unless `not_canceled` says why not", body = ReplacedShape),
        (status = 200, description = "Canceled and not placed; or placed before, under this `client_order_id`", body = ReplacedShape)),
    extensions(("x-refusals" = json!([ANY_ORDER, ORDER_ALONE, Code::UnknownOrder, Code::NothingOpen, RECORD]))),
)]
pub(crate) async fn replace_by_client_id(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Parameters(condition): Parameters<Condition>,
    Body(asked): Body<PlaceOrderBody>,
) -> Result<(StatusCode, Json<ReplacedShape>), Problem> {
    replace_by(&app, input::client_order_id(&id)?.into(), condition, Placing::read(&asked)?).await
}

/// Replaces an order. A refusal means that nothing was changed.
async fn replace_by(
    app: &AppState,
    order: OrderName,
    condition: Condition,
    mut placing: Placing,
) -> Result<(StatusCode, Json<ReplacedShape>), Problem> {
    let on_failure = match condition.on_failure {
        None | Some(OnFailureName::Stop) => OnFailure::Stop,
        Some(OnFailureName::Place) => OnFailure::Place,
        Some(OnFailureName::Keep) => OnFailure::Keep,
    };
    let account = placing.place().account;
    let ops = replacement(order, placing.place(), on_failure);
    let (answers, decided) = app.submitter()?.ask_decided(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    placing.decide(&decided);
    let [cancel, place] = <[_; 2]>::try_from(answers).map_err(|_| Problem::unknown_outcome())?;
    let (cancel, place) = (problem::reply(cancel), problem::reply(place));
    let changed = matches!(cancel, Ok(Reply::Canceled(_))) || place.is_ok();
    // A result that cannot be shown must not look like a refusal.
    let untold = |problem: Problem| if changed { Problem::unknown_outcome() } else { problem };
    let canceled = match cancel {
        Ok(reply @ Reply::Canceled(_)) => Ok(canceled(app, account, reply).await.map_err(untold)?),
        Ok(reply) => Err(canceled(app, account, reply).await.err().unwrap_or_else(Problem::unknown_outcome)),
        Err(problem) => Err(problem),
    };
    let (status, placed) = match place {
        Ok(Reply::Opened(order)) => (StatusCode::CREATED, Ok(placing.placed(app, order).await.map_err(untold)?)),
        Ok(Reply::Moved { order, limit, is_new }) => {
            placing.moved_to = Some(limit);
            let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
            (status, Ok(placing.placed(app, order).await.map_err(untold)?))
        }
        Ok(Reply::Repeated(order)) => (StatusCode::OK, Ok(placing.placed(app, order).await.map_err(untold)?)),
        Ok(
            Reply::Created
            | Reply::Freed(_)
            | Reply::Amended { .. }
            | Reply::Activated
            | Reply::Expired
            | Reply::InAuction
            | Reply::CanceledAll { .. }
            | Reply::Status(_)
            | Reply::Canceled(_)
            | Reply::Done(_)
            | Reply::Rejected(_),
        ) => {
            return Err(Problem::unknown_outcome());
        }
        Err(problem) => (StatusCode::OK, Err(problem)),
    };
    match (canceled, placed) {
        // The answer is the refusal of the old order, if the new one depended on it, or else that of the new one.
        (Err(why), Err(_)) if on_failure == OnFailure::Stop => Err(why),
        (Err(why), Err(other)) if other.code == Code::NotCanceled => Err(why),
        (Err(_), Err(why)) => Err(why),
        (canceled, placed) => {
            let (canceled, not_canceled) = apart(canceled);
            let (placed, not_placed) = apart(placed);
            Ok((status, Json(ReplacedShape { canceled, not_canceled, placed, not_placed })))
        }
    }
}

fn apart<T>(outcome: Result<T, Problem>) -> (Option<T>, Option<Problem>) {
    match outcome {
        Ok(done) => (Some(done), None),
        Err(problem) => (None, Some(problem)),
    }
}
