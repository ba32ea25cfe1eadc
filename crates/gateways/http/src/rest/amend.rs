//! Amends orders: gives an open order other terms. It keeps its id, and its place where nothing of it can execute
//! sooner or more.

use axum::Json;
use axum::extract::State;
use exchange::{AmendmentRequest, AmendmentRequestFault, TimeInForce};
use serde::{Deserialize, Deserializer};
use terms::{Amendment, Change, Command, Op, OrderName, Reject, Reply};
use utoipa::ToSchema;

use super::order_problem::order_problem;
use super::orders::{ask, done, show, untold};
use super::placing::trail_bips;
use super::troubled;
use crate::app_state::AppState;
use crate::input::{self, Body, PathParameter};
use crate::problem::Problem;
use crate::problem_code::{AMENDMENT, RECORD};
use crate::schema_values;
use crate::shapes::OrderShape;

/// The terms that an order is to have: at least one. A term that is not named stays as it is.
#[derive(Deserialize, ToSchema)]
#[schema(as = AmendOrder)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmendBody {
    /// The account of the order.
    #[schema(value_type = schema_values::Account)]
    account: String,
    /// The new number of shares: more than were executed, which count in it.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    shares: Option<String>,
    /// The limit, of any order but a market order.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    limit: Option<String>,
    /// The price for which the order waits to limit a loss, in place of the present one. It belongs to an order that
    /// waits for a price, as do the next three fields.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    stop: Option<String>,
    /// The price for which the order waits to take a profit, in place of the present one.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    take_profit: Option<String>,
    /// The distance in dollars of a trigger that follows the market, in place of the present one.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    trail: Option<String>,
    /// The distance of such a trigger in hundredths of a per cent.
    #[schema(value_type = Option<u16>, minimum = 1, maximum = 9999)]
    trail_bips: Option<serde_json::Value>,
    /// The number of shares that the order shows at a time; null for all of them.
    #[serde(default = "keep", deserialize_with = "change")]
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    display: Change<String>,
    /// The time at which open shares of the order are canceled; null for no such time.
    #[serde(default = "keep", deserialize_with = "change")]
    #[schema(value_type = Option<schema_values::DeadlineAsked>)]
    until: Change<serde_json::Value>,
    #[schema(value_type = Option<schema_values::AmendedTif>)]
    tif: Option<TifName>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum TifName {
    Gtc,
    Gtd,
    Ioc,
    Fok,
    Day,
    Gfa,
}

fn keep<T>() -> Change<T> {
    Change::Keep
}

/// Reads a term that an order may lose: null takes it away.
fn change<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Change<T>, D::Error> {
    Ok(Option::deserialize(from)?.map_or(Change::Remove, Change::Set))
}

impl AmendBody {
    pub(super) fn read(&self, order: OrderName) -> Result<Amendment, Problem> {
        let price = |field, text: &Option<String>| text.as_deref().map(|text| input::price(field, text)).transpose();
        let request = AmendmentRequest {
            shares: self.shares.as_deref().map(|text| input::order_shares("shares", text)).transpose()?,
            limit: price("limit", &self.limit)?,
            stop: price("stop", &self.stop)?,
            take_profit: price("take_profit", &self.take_profit)?,
            trail: price("trail", &self.trail)?,
            trail_bips: self.trail_bips.as_ref().map(trail_bips).transpose()?,
            display: changed(&self.display, |text| input::order_shares("display", text))?,
            until: changed(&self.until, input::deadline)?,
            tif: match self.tif {
                None | Some(TifName::Day) => None,
                Some(TifName::Gtc) => Some(TimeInForce::GoodTillCanceled),
                Some(TifName::Gtd) => Some(TimeInForce::GoodTillDate),
                Some(TifName::Ioc) => Some(TimeInForce::ImmediateOrCancel),
                Some(TifName::Fok) => Some(TimeInForce::FillOrKill),
                Some(TifName::Gfa) => Some(TimeInForce::GoodForAuction),
            },
            ends_with_day: matches!(self.tif, Some(TifName::Day)),
            ..AmendmentRequest::new(input::account(&self.account)?, order)
        };
        request.amendment().map_err(|fault| match fault {
            AmendmentRequestFault::NamesNothing => Problem::malformed(
                "an amendment names what is to change: shares, limit, stop, take_profit, trail, trail_bips, display, until or tif",
            ),
            AmendmentRequestFault::EndsWithDay => {
                Problem::field("tif", "an amended order cannot end with the day: give until, the time at which it ends")
            }
            AmendmentRequestFault::Order(fault) => order_problem(fault),
        })
    }
}

fn changed<A, T>(asked: &Change<A>, read: impl FnOnce(&A) -> Result<T, Problem>) -> Result<Change<T>, Problem> {
    match asked {
        Change::Keep => Ok(Change::Keep),
        Change::Remove => Ok(Change::Remove),
        Change::Set(asked) => read(asked).map(Change::Set),
    }
}

/// Gives an open order other terms. It keeps its id, and its place among the others of its price with fewer shares,
/// another deadline or another display; otherwise it is placed again, behind them.
#[utoipa::path(
    patch, path = "/orders/{order}", operation_id = "amendOrder", tag = "Orders",
    params(("order" = schema_values::Order, Path, description = "The order's id")),
    request_body = AmendBody,
    responses((status = 200, description = "Amended", body = OrderShape)),
    extensions(("x-refusals" = json!([AMENDMENT, RECORD]))),
)]
pub(crate) async fn amend(
    State(app): State<AppState>,
    PathParameter(order): PathParameter<String>,
    Body(asked): Body<AmendBody>,
) -> Result<Json<OrderShape>, Problem> {
    amend_by(&app, &asked.read(input::order(&order)?.into())?).await
}

/// Gives the open order that a client order id stands for other terms.
#[utoipa::path(
    patch, path = "/orders/by-client-id/{*client_order_id}", operation_id = "amendOrderByClientId", tag = "Orders",
    params(("client_order_id" = schema_values::ClientOrder, Path, description = "What its client calls the order")),
    request_body = AmendBody,
    responses((status = 200, description = "Amended", body = OrderShape)),
    extensions(("x-refusals" = json!([AMENDMENT, RECORD]))),
)]
pub(crate) async fn amend_by_client_id(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Body(asked): Body<AmendBody>,
) -> Result<Json<OrderShape>, Problem> {
    amend_by(&app, &asked.read(input::client_order_id(&id)?.into())?).await
}

async fn amend_by(app: &AppState, amendment: &Amendment) -> Result<Json<OrderShape>, Problem> {
    let account = amendment.account;
    match ask(app, Op::Command(Command::Amend(*amendment))).await? {
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
