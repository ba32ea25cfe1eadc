//! Amends orders: takes shares off an order, which keeps its place.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use terms::{AccountId, Command, Op, OrderName, Reject, Reply, Shares};
use utoipa::ToSchema;

use super::orders::{ask, done, show, untold};
use super::troubled;
use crate::app_state::AppState;
use crate::input::{self, Body, PathParameter};
use crate::problem::Problem;
use crate::problem_code::{Code, RECORD};
use crate::schema_values;
use crate::shapes::OrderShape;

/// The number of shares that an order is to have.
#[derive(Deserialize, ToSchema)]
#[schema(as = AmendOrder)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmendBody {
    /// The account of the order.
    #[schema(value_type = schema_values::Account)]
    account: String,
    /// The new number of shares: less than it has, and more than were executed, which count in it.
    #[schema(value_type = schema_values::SharesAsked)]
    shares: String,
}

/// Takes shares off an open order, which keeps its place among the others of its price.
#[utoipa::path(
    patch, path = "/orders/{order}", operation_id = "amendOrder", tag = "Orders",
    params(("order" = schema_values::Order, Path, description = "The order's id")),
    request_body = AmendBody,
    responses((status = 200, description = "Amended", body = OrderShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownOrder, Code::NothingToAmend, Code::AmendsUpward, Code::AmendsBelowExecuted, Code::AmendsOneOfTwo, Code::AmendsPending, RECORD]))),
)]
pub(crate) async fn amend(
    State(app): State<AppState>,
    PathParameter(order): PathParameter<String>,
    Body(asked): Body<AmendBody>,
) -> Result<Json<OrderShape>, Problem> {
    let (account, shares) = read(&asked)?;
    amend_by(&app, account, input::order(&order)?.into(), shares).await
}

/// Takes shares off the open order that a client order id stands for.
#[utoipa::path(
    patch, path = "/orders/by-client-id/{*client_order_id}", operation_id = "amendOrderByClientId", tag = "Orders",
    params(("client_order_id" = schema_values::ClientOrder, Path, description = "What its client calls the order")),
    request_body = AmendBody,
    responses((status = 200, description = "Amended", body = OrderShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownOrder, Code::NothingToAmend, Code::AmendsUpward, Code::AmendsBelowExecuted, Code::AmendsOneOfTwo, Code::AmendsPending, RECORD]))),
)]
pub(crate) async fn amend_by_client_id(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Body(asked): Body<AmendBody>,
) -> Result<Json<OrderShape>, Problem> {
    let (account, shares) = read(&asked)?;
    amend_by(&app, account, input::client_order_id(&id)?.into(), shares).await
}

pub(super) fn read(asked: &AmendBody) -> Result<(AccountId, Shares), Problem> {
    Ok((input::account(&asked.account)?, input::order_shares("shares", &asked.shares)?))
}

async fn amend_by(
    app: &AppState,
    account: AccountId,
    order: OrderName,
    shares: Shares,
) -> Result<Json<OrderShape>, Problem> {
    match ask(app, Op::Command(Command::AmendOrder { account, order, shares })).await? {
        Reply::Amended { order, .. } => show(app, order, account, untold).await.map(Json).map_err(done),
        // The order was done long ago: only the history knows its account.
        Reply::Done(order) => show(app, order, account, troubled).await.and(Err(Problem::of(&Reject::NothingToAmend))),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::InAuction
        | Reply::CanceledAll { .. }
        | Reply::Status(_)
        | Reply::Canceled(_)
        | Reply::Rejected(_) => Err(Problem::unknown_outcome()),
    }
}
