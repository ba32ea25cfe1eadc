//! Placing two orders of which one cancels the other: both are placed, or none.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use exchange::{PairFault, Which, linked, placed_pair};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::placing::{PlaceOrderBody, Placing};
use crate::input::Body;
use crate::problem::{self, Problem};
use crate::shapes::PlacedShape;
use crate::site::Site;
use crate::values;

/// Two orders to place. They are of one account, symbol, side and number of shares. One waits for a price; the other one waits too, or
/// is post-only.
#[derive(Deserialize, ToSchema)]
#[schema(as = PlaceOrderList)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrderListBody {
    #[schema(min_items = 2, max_items = 2)]
    orders: Vec<PlaceOrderBody>,
}

/// Two orders that were placed and linked.
#[derive(Serialize, ToSchema)]
#[schema(as = PlacedOrderList)]
pub(crate) struct PlacedOrderListShape {
    /// The id of the first one.
    #[schema(value_type = values::Order)]
    order_list_id: u64,
    #[schema(min_items = 2, max_items = 2)]
    orders: [PlacedShape; 2],
}

/// Places two orders of which one is canceled as soon as something happens to the other: it executes, is triggered, canceled or ends.
#[utoipa::path(
    post, path = "/order-lists", operation_id = "placeOrderList", tag = "Orders",
    request_body = PlaceOrderListBody,
    responses((status = 201, description = "Both are placed", body = PlacedOrderListShape),
        (status = 200, description = "Both were placed before, under these `client_order_id`s: the first answer again", body = PlacedOrderListShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-symbol", "client-order-id-taken", "too-many-client-order-ids", "insufficient-funds", "insufficient-shares", "would-take", "triggers-at-once", "nothing-to-trail", "trail-too-far", "too-many-trails", "deadline-passed", "halted", "off-tick", "off-lot", "shares-out-of-range", "value-out-of-range", "outside-band"]))),
)]
pub(crate) async fn place(
    State(site): State<Site>,
    Body(asked): Body<PlaceOrderListBody>,
) -> Result<(StatusCode, Json<PlacedOrderListShape>), Problem> {
    let two = <[PlaceOrderBody; 2]>::try_from(asked.orders);
    let [first, second] = two.map_err(|_| Problem::field("orders", "these are two orders"))?;
    let first = Placing::read(first).map_err(|problem| problem.within(FIRST))?;
    let second = Placing::read(second).map_err(|problem| problem.within(SECOND))?;
    if first.account() != second.account() {
        return Err(Problem::field("account", "two orders that are linked are of one account").within(SECOND));
    }
    let ops = linked(first.command(), second.command()).map_err(|fault| {
        let field = match fault {
            PairFault::TakesAtOnce(Which::First) => FIRST,
            PairFault::TakesAtOnce(Which::Second) => SECOND,
            PairFault::Funds
            | PairFault::Display
            | PairFault::TrailsSecond
            | PairFault::Symbol
            | PairFault::Side
            | PairFault::Shares
            | PairFault::NeitherWaits => "orders",
        };
        Problem::field(field, fault.to_string())
    })?;
    let answers = site.submitter()?.ask(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    let [one, other] = <[_; 2]>::try_from(answers).map_err(|_| Problem::unknown_outcome())?;
    let placed = placed_pair(&one, &other).map_err(|(which, why)| {
        let field = if which == Which::First { FIRST } else { SECOND };
        problem::reply(*why).err().unwrap_or_else(Problem::unknown_outcome).within(field)
    })?;
    let [one, other] = placed.orders;
    let orders = [first.placed(&site, one).await?, second.placed(&site, other).await?];
    let status = if placed.repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(PlacedOrderListShape { order_list_id: one.0, orders })))
}

const FIRST: &str = "orders.0";
const SECOND: &str = "orders.1";
