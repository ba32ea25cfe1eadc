//! Places orders: reads a request, and writes the answer.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use exchange::{OrderFault, OrderRequest, OrderType, PostOnly, TimeInForce};
use serde::Deserialize;
use terms::{
    Command, FundsOrder, NewOrder, Op, OrderForm, OrderId, Place, Price, Reply, SelfTrade, Shares, Side, Trail,
};
use utoipa::ToSchema;

use super::order_problem::order_problem;
use super::orders::ask_decided;
use crate::app_state::AppState;
use crate::history_pages;
use crate::input::{self, Body};
use crate::problem::Problem;
use crate::problem_code::{ANY_ORDER, ORDER_ALONE};
use crate::schema_values;
use crate::shapes::PlacedShape;

/// An order to place.
#[derive(Deserialize, ToSchema)]
#[schema(as = PlaceOrder)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrderBody {
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: SideName,
    /// The kind; `limit` if none is given.
    #[schema(value_type = Option<schema_values::OrderKind>)]
    kind: Option<KindName>,
    /// The limit. Required, except for a market order, which has none.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    limit: Option<String>,
    /// The price at which the order is triggered, where the market goes against it: a buy waits for an execution at it
    /// or above, a sell for one at it or below. Then it does what its kind does.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    stop: Option<String>,
    /// The trigger price the other way: a buy waits for an execution at it or below, a sell for one at it or above.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    take_profit: Option<String>,
    /// The distance in dollars of a trigger that follows the market like `stop`: below the highest price since the
    /// order was placed or, for a buy, above the lowest.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    trail: Option<String>,
    /// The distance of such a trigger in hundredths of a per cent of that price.
    #[schema(value_type = Option<u16>, minimum = 1, maximum = 9999)]
    trail_bips: Option<serde_json::Value>,
    /// The number of shares. Required, unless an order of kind `market` has `funds`.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    shares: Option<String>,
    /// The dollars that an order of kind `market` without `shares` spends, or brings in, at most.
    #[schema(value_type = Option<schema_values::FundsAsked>)]
    funds: Option<String>,
    /// The self-trade prevention: what happens where the order would execute with an open one of its own account;
    /// `allowed` if none is given.
    #[schema(value_type = Option<schema_values::SelfTrade>)]
    self_trade: Option<SelfTradeName>,
    /// The time at which open shares of the order are canceled. It belongs to an order that rests or waits.
    #[schema(value_type = Option<schema_values::DeadlineAsked>)]
    until: Option<serde_json::Value>,
    /// The time in force. `DAY`: the order ends when the day of its symbol does, which the server's calendar says, and
    /// the answer has that time as its `until`. It belongs to an order that rests or waits, and excludes `until`. Sent
    /// again under its `client_order_id` it is the same order until then. How long other orders stay follows from their
    /// `kind` and `until`.
    #[schema(value_type = Option<schema_values::TimeInForce>)]
    tif: Option<TifName>,
    /// The number of shares that the order shows at a time, if not all. Hidden shares execute, too, behind all that are
    /// shown at its price. It belongs to an order that rests.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    display: Option<String>,
    /// A name by which the order can be sent again without being placed twice.
    #[schema(value_type = Option<schema_values::ClientOrder>)]
    client_order_id: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SideName {
    Buy,
    Sell,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindName {
    Limit,
    PostOnly,
    PostOnlyMove,
    ImmediateOrCancel,
    FillOrKill,
    Market,
    AuctionLimit,
    AuctionMarket,
}

impl KindName {
    fn asked(self) -> (OrderType, Option<TimeInForce>, Option<PostOnly>) {
        match self {
            KindName::Limit => (OrderType::Limit, None, None),
            KindName::PostOnly => (OrderType::Limit, None, Some(PostOnly::Refused)),
            KindName::PostOnlyMove => (OrderType::Limit, None, Some(PostOnly::Moves)),
            KindName::ImmediateOrCancel => (OrderType::Limit, Some(TimeInForce::ImmediateOrCancel), None),
            KindName::FillOrKill => (OrderType::Limit, Some(TimeInForce::FillOrKill), None),
            KindName::Market => (OrderType::Market, None, None),
            KindName::AuctionLimit => (OrderType::Limit, Some(TimeInForce::GoodForAuction), None),
            KindName::AuctionMarket => (OrderType::Market, Some(TimeInForce::GoodForAuction), None),
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SelfTradeName {
    Allowed,
    CancelNewest,
    CancelOldest,
    CancelBoth,
    Decrement,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum TifName {
    Day,
}

impl From<SelfTradeName> for SelfTrade {
    fn from(name: SelfTradeName) -> SelfTrade {
        match name {
            SelfTradeName::Allowed => SelfTrade::Allowed,
            SelfTradeName::CancelNewest => SelfTrade::CancelNewest,
            SelfTradeName::CancelOldest => SelfTrade::CancelOldest,
            SelfTradeName::CancelBoth => SelfTrade::CancelBoth,
            SelfTradeName::Decrement => SelfTrade::Decrement,
        }
    }
}

/// Places an order.
#[utoipa::path(
    post, path = "/orders", operation_id = "placeOrder", tag = "Orders",
    request_body = PlaceOrderBody,
    responses((status = 201, description = "Placed", body = PlacedShape),
        (status = 200, description = "Placed before, under this `client_order_id`: the first answer again", body = PlacedShape)),
    extensions(("x-refusals" = json!([ANY_ORDER, ORDER_ALONE]))),
)]
pub(crate) async fn place(
    State(app): State<AppState>,
    Body(asked): Body<PlaceOrderBody>,
) -> Result<(StatusCode, Json<PlacedShape>), Problem> {
    let mut placing = Placing::read(&asked)?;
    let (reply, decided) = ask_decided(&app, Op::Command(Command::Place(placing.place()))).await?;
    placing.decide(&decided);
    let (status, order) = match reply {
        Reply::Opened(order) => (StatusCode::CREATED, order),
        Reply::Repeated(order) => (StatusCode::OK, order),
        Reply::Moved { order, limit, is_new } => {
            placing.moved_to = Some(limit);
            (if is_new { StatusCode::CREATED } else { StatusCode::OK }, order)
        }
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
        | Reply::Rejected(_) => {
            return Err(Problem::unknown_outcome());
        }
    };
    Ok((status, Json(placing.placed(&app, order).await?)))
}

/// An order as it is requested.
pub(super) struct Placing {
    place: Place,
    /// The limit that a post-only order got in place of the requested one.
    pub(super) moved_to: Option<Price>,
}

impl Placing {
    pub(super) fn read(asked: &PlaceOrderBody) -> Result<Placing, Problem> {
        let side = match asked.side {
            SideName::Buy => Side::Buy,
            SideName::Sell => Side::Sell,
        };
        let (account, symbol) = (input::account(&asked.account)?, input::symbol(&asked.symbol)?);
        let (order_type, tif, post_only) = asked.kind.unwrap_or(KindName::Limit).asked();
        let price = |field, text: &Option<String>| text.as_deref().map(|text| input::price(field, text)).transpose();
        let request = OrderRequest {
            order_type,
            tif,
            ends_with_day: matches!(asked.tif, Some(TifName::Day)),
            post_only,
            limit: price("limit", &asked.limit)?,
            shares: asked.shares.as_deref().map(|text| input::order_shares("shares", text)).transpose()?,
            funds: asked.funds.as_deref().map(input::funds).transpose()?,
            stop: price("stop", &asked.stop)?,
            take_profit: price("take_profit", &asked.take_profit)?,
            trail: price("trail", &asked.trail)?,
            trail_bips: asked.trail_bips.as_ref().map(trail_bips).transpose()?,
            display: asked.display.as_deref().map(|text| input::order_shares("display", text)).transpose()?,
            until: asked.until.as_ref().map(input::deadline).transpose()?,
            self_trade: asked.self_trade.map_or(SelfTrade::Allowed, SelfTrade::from),
            client_id: asked.client_order_id.as_deref().map(input::client_order_id).transpose()?,
            ..OrderRequest::new(account, symbol, side)
        };
        let place = request.place().map_err(order_problem)?;
        Ok(Placing { place, moved_to: None })
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Takes the order with its deadline as the market decided it: these ops are those of the request, and the order's
    /// is the last.
    pub(super) fn decide(&mut self, decided: &[Op]) {
        if let Some(Op::Command(Command::Place(place))) = decided.last() {
            self.place = *place;
        }
    }

    /// Writes the answer for the order of this id.
    pub(super) async fn placed(&self, app: &AppState, id: OrderId) -> Result<PlacedShape, Problem> {
        let Placing { place, moved_to } = self;
        let (order, display, trail) = match place.form() {
            OrderForm::Plain(order) => (order, None, None),
            OrderForm::Iceberg { order, display } => (order, Some(display), None),
            OrderForm::Trailing { order, trail } => (order, None, Some(trail)),
            OrderForm::Funds(FundsOrder { symbol, side, self_trade, .. }) => {
                // The order is placed: an error in writing the answer must not invite the client to try again.
                let shares = shares_of(app, id).await.ok_or_else(Problem::unknown_outcome)?;
                (NewOrder::market(symbol, side, shares).with_self_trade(self_trade), None, None)
            }
        };
        let placed = NewOrder { limit: moved_to.unwrap_or(order.limit), kind: order.kind.once_placed(), ..order };
        let client_id = place.client_id().map(|id| id.to_string());
        let placed = PlacedShape::of(id, client_id, place.account.to_string(), &placed, place.deadline());
        let display = display.map(|display| display.to_string());
        let distance = trail.and_then(Trail::distance).map(|distance| distance.to_string());
        Ok(PlacedShape { display, trail: distance, trail_bips: trail.and_then(Trail::bips), ..placed })
    }
}

/// Reads the distance of a trigger that follows the market, in hundredths of a per cent.
pub(super) fn trail_bips(bips: &serde_json::Value) -> Result<u64, Problem> {
    bips.as_u64().ok_or_else(|| order_problem(OrderFault::TrailBips))
}

/// Returns the number of shares for which a done order was placed.
async fn shares_of(app: &AppState, order: OrderId) -> Option<Shares> {
    Some(history_pages::order(app, None, order).await.ok()??.order.shares)
}
