//! Places orders that belong together: two of which one cancels the other, or a working order and those that pend on
//! it. All are placed, or none.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use exchange::{Answer, PairFault, PendingFault, Which, linked, pending, placed_pair, placed_tree};
use serde::{Deserialize, Serialize};
use terms::{Op, OrderId, Place};
use utoipa::ToSchema;

use super::placing::{PlaceOrderBody, Placing};
use crate::app_state::AppState;
use crate::input::Body;
use crate::problem::{self, Problem};
use crate::problem_code::ANY_ORDER;
use crate::schema_values;
use crate::shapes::PlacedShape;

/// Orders to place. They are of one account and symbol.
#[derive(Deserialize, ToSchema)]
#[schema(as = PlaceOrderList)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrderListBody {
    #[serde(default)]
    kind: ListKind,
    #[schema(min_items = 2, max_items = 3)]
    orders: Vec<PlaceOrderBody>,
}

/// The contingency of a list's orders. `oco`: of two orders of one side and number of shares one is canceled as soon as
/// something happens to the other; one waits for a price, and the other one waits too, or is post-only. `oto`: the
/// second order is placed when the first one, a limit or post-only order, is executed wholly. `otoco`: the second and
/// the third are placed then, and are linked like the two of `oco`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = OrderListKind)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ListKind {
    #[default]
    Oco,
    Oto,
    Otoco,
}

/// Orders that were placed together.
#[derive(Serialize, ToSchema)]
#[schema(as = PlacedOrderList)]
pub(crate) struct PlacedOrderListShape {
    /// The id of the first order.
    #[schema(value_type = schema_values::Order)]
    order_list_id: u64,
    #[schema(min_items = 2, max_items = 3)]
    orders: Vec<PlacedShape>,
}

/// Places two orders of which one is canceled as soon as something happens to the other: it executes, is triggered,
/// canceled or ends. Or places an order, and one or two that wait until it is executed wholly; they have their ids at
/// once, hold nothing until then, and are canceled if it ends otherwise.
#[utoipa::path(
    post, path = "/order-lists", operation_id = "placeOrderList", tag = "Orders",
    request_body = PlaceOrderListBody,
    responses((status = 201, description = "All are placed", body = PlacedOrderListShape),
        (status = 200, description = "All were placed before, under these `client_order_id`s: the first answer again", body = PlacedOrderListShape)),
    extensions(("x-refusals" = json!([ANY_ORDER]))),
)]
pub(crate) async fn place(
    State(app): State<AppState>,
    Body(asked): Body<PlaceOrderListBody>,
) -> Result<(StatusCode, Json<PlacedOrderListShape>), Problem> {
    let (kind, mut orders, ops) = read(asked)?;
    let (answers, decided) = app.submitter()?.ask_decided(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    for (order, op) in orders.iter_mut().zip(decided) {
        order.decide(&[op]);
    }
    let (ids, repeated) = kind.placed(&answers).map_err(|(place, why)| {
        problem::reply(*why).err().unwrap_or_else(Problem::unknown_outcome).within(ORDERS[place])
    })?;
    let mut placed = Vec::with_capacity(orders.len());
    for (order, &id) in orders.iter().zip(&ids) {
        placed.push(order.placed(&app, id).await?);
    }
    let status = if repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(PlacedOrderListShape { order_list_id: ids[0].0, orders: placed })))
}

/// Reads a list: its orders, and the ops that place them.
pub(super) fn read(asked: PlaceOrderListBody) -> Result<(ListKind, Vec<Placing>, Vec<Op>), Problem> {
    let PlaceOrderListBody { kind, orders } = asked;
    if orders.len() != kind.orders() {
        let these = match kind {
            ListKind::Oco | ListKind::Oto => "these are two orders",
            ListKind::Otoco => "these are three orders",
        };
        return Err(Problem::field("orders", these));
    }
    let read = |(place, order)| Placing::read(&order).map_err(|problem: Problem| problem.within(ORDERS[place]));
    let orders = orders.into_iter().enumerate().map(read).collect::<Result<Vec<Placing>, Problem>>()?;
    if let Some(other) = orders.iter().position(|order| order.place().account != orders[0].place().account) {
        let why = match kind {
            ListKind::Oco => "two orders that are linked are of one account",
            ListKind::Oto | ListKind::Otoco => "orders that wait for another one are of its account",
        };
        return Err(Problem::field("account", why).within(ORDERS[other]));
    }
    let places: Vec<Place> = orders.iter().map(Placing::place).collect();
    let ops = kind.ops(&places)?;
    Ok((kind, orders, ops))
}

const ORDERS: [&str; 3] = ["orders.0", "orders.1", "orders.2"];

impl ListKind {
    /// Returns the number of its orders.
    fn orders(self) -> usize {
        match self {
            ListKind::Oco | ListKind::Oto => 2,
            ListKind::Otoco => 3,
        }
    }

    fn ops(self, orders: &[Place]) -> Result<Vec<Op>, Problem> {
        let malformed = |field, why: String| Problem::field(field, why);
        match self {
            ListKind::Oco => linked(orders[0], orders[1]).map(Vec::from).map_err(|fault| {
                let field = match fault {
                    PairFault::TakesAtOnce(Which::First) => ORDERS[0],
                    PairFault::TakesAtOnce(Which::Second) => ORDERS[1],
                    PairFault::Funds
                    | PairFault::Display
                    | PairFault::TrailsSecond
                    | PairFault::Symbol
                    | PairFault::Side
                    | PairFault::Shares
                    | PairFault::NeitherWaits => "orders",
                };
                malformed(field, fault.to_string())
            }),
            ListKind::Oto | ListKind::Otoco => pending(orders[0], &orders[1..])
                .map_err(|fault: PendingFault| malformed(ORDERS[fault.place()], fault.to_string())),
        }
    }

    /// Returns the ids of the orders, and whether they were placed before. Errors: which order was refused, and the
    /// answer.
    fn placed(self, answers: &[Answer]) -> Result<(Vec<OrderId>, bool), (usize, Box<Answer>)> {
        match (self, answers) {
            (ListKind::Oco, [first, second]) => match placed_pair(first, second) {
                Ok(pair) => Ok((pair.orders.to_vec(), pair.repeated)),
                Err((which, why)) => Err((if which == Which::First { 0 } else { 1 }, why)),
            },
            (ListKind::Oco | ListKind::Oto | ListKind::Otoco, _) => {
                placed_tree(answers).map(|tree| (tree.orders, tree.repeated))
            }
        }
    }
}
