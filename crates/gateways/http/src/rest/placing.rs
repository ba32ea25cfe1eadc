//! Places orders: reads a request, and writes the answer.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use terms::{
    AccountId, ClientOrderId, Command, Deadline, FundsOrder, Money, NewOrder, Op, OrderId, OrderKind, Place, Price,
    Reply, SelfTrade, Shares, Side, Symbol, Trail, Trigger,
};
use utoipa::ToSchema;

use super::orders::ask_decided;
use crate::app_state::AppState;
use crate::history_pages;
use crate::input::{self, Body};
use crate::problem::Problem;
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
    /// The number of shares. Required, unless a market order has `funds`.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    shares: Option<String>,
    /// The dollars that a market order without `shares` spends, or brings in, at most.
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
}

impl From<KindName> for OrderKind {
    fn from(name: KindName) -> OrderKind {
        match name {
            KindName::Limit => OrderKind::Limit,
            KindName::PostOnly => OrderKind::PostOnly,
            KindName::PostOnlyMove => OrderKind::PostOnlyMove,
            KindName::ImmediateOrCancel => OrderKind::ImmediateOrCancel,
            KindName::FillOrKill => OrderKind::FillOrKill,
            KindName::Market => OrderKind::Market,
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
    extensions(("x-refusals" = json!(["@order"]))),
)]
pub(crate) async fn place(
    State(app): State<AppState>,
    Body(asked): Body<PlaceOrderBody>,
) -> Result<(StatusCode, Json<PlacedShape>), Problem> {
    let mut placing = Placing::read(asked)?;
    let (reply, decided) = ask_decided(&app, Op::Command(placing.command())).await?;
    placing.decide(&decided);
    let (status, order) = match reply {
        Reply::Opened(order) => (StatusCode::CREATED, order),
        Reply::Repeated(order) => (StatusCode::OK, order),
        Reply::Moved { order, limit, is_new } => {
            placing.limit = limit;
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
    account: AccountId,
    client_id: Option<ClientOrderId>,
    symbol: Symbol,
    side: Side,
    kind: OrderKind,
    /// The requested limit; once it is placed, the limit that it got.
    pub(super) limit: Price,
    trigger: Option<Trigger>,
    trail: Option<Trail>,
    self_trade: SelfTrade,
    until: Option<Deadline>,
    display: Option<Shares>,
    amount: Amount,
}

/// The amount to trade.
enum Amount {
    Shares(Shares),
    Funds(Money),
}

impl Placing {
    pub(super) fn read(asked: PlaceOrderBody) -> Result<Placing, Problem> {
        let side = match asked.side {
            SideName::Buy => Side::Buy,
            SideName::Sell => Side::Sell,
        };
        let (account, symbol) = (input::account(&asked.account)?, input::symbol(&asked.symbol)?);
        let kind = asked.kind.map_or(OrderKind::Limit, OrderKind::from);
        let limit = match (kind, &asked.limit) {
            (OrderKind::Market, None) => side.any_price(),
            (OrderKind::Market, Some(_)) => {
                return Err(Problem::field("limit", "a market order has no limit".to_owned()));
            }
            (_, Some(limit)) => input::price("limit", limit)?,
            (_, None) => {
                return Err(Problem::field("limit", "limit is missing: only a market order has none".to_owned()));
            }
        };
        let trigger = match (&asked.stop, &asked.take_profit) {
            (None, None) => None,
            (Some(stop), None) => Some(Trigger::stop_loss(side, input::price("stop", stop)?)),
            (None, Some(price)) => Some(Trigger::take_profit(side, input::price("take_profit", price)?)),
            (Some(_), Some(_)) => {
                return Err(Problem::field("take_profit", "stop and take_profit exclude each other".to_owned()));
            }
        };
        let trail = trail_of(&asked)?;
        let waits = trigger.is_some() || trail.is_some();
        if kind == OrderKind::PostOnlyMove && waits {
            return Err(Problem::field(
                "kind",
                "kind cannot be post_only_move: an order that waits for a price does not move",
            ));
        }
        let self_trade = asked.self_trade.map_or(SelfTrade::Allowed, SelfTrade::from);
        let until = until_of(&asked)?;
        if until.is_some() && !kind.rests() && !waits {
            let field = if asked.tif.is_some() { "tif" } else { "until" };
            let why = format!("{field} belongs to an order that rests or waits, and this one is done at once");
            return Err(Problem::field(field, why));
        }
        let display = asked.display.as_deref().map(input::display).transpose()?;
        if display.is_some() && !kind.rests() {
            let why = "display belongs to an order that rests, and this one is done at once";
            return Err(Problem::field("display", why));
        }
        let client_id = asked.client_order_id.as_deref().map(input::client_order_id).transpose()?;
        let amount = match (&asked.shares, &asked.funds) {
            (Some(shares), None) => Amount::Shares(input::order_shares(shares)?),
            (None, Some(_)) if kind != OrderKind::Market => {
                return Err(Problem::field("funds", "funds are for market orders".to_owned()));
            }
            (None, Some(_)) if waits => {
                let why = "an order with funds executes at once, so it cannot wait for a price";
                return Err(Problem::field("funds", why.to_owned()));
            }
            (None, Some(funds)) => Amount::Funds(input::funds(funds)?),
            (None, None) => return Err(Problem::field("shares", "shares is missing".to_owned())),
            (Some(_), Some(_)) => {
                return Err(Problem::field("funds", "shares and funds exclude each other".to_owned()));
            }
        };
        Ok(Placing {
            account,
            client_id,
            symbol,
            side,
            kind,
            limit,
            trigger,
            trail,
            self_trade,
            until,
            display,
            amount,
        })
    }

    pub(super) fn account(&self) -> AccountId {
        self.account
    }

    pub(super) fn command(&self) -> Command {
        let Placing { account, client_id, symbol, side, kind, limit, trigger, self_trade, until, .. } = *self;
        match self.amount {
            Amount::Shares(shares) => {
                let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
                let trailing = self.trail.and_then(|trail| Place::trailing(account, order, trail));
                let iceberg = self.display.and_then(|display| Place::iceberg(account, order, display));
                let place = trailing.or(iceberg).unwrap_or(Place::order(account, order));
                Command::Place(place.named(client_id).until(until))
            }
            Amount::Funds(funds) => {
                let order = FundsOrder { symbol, side, funds, self_trade };
                Command::Place(Place::funds(account, order).named(client_id))
            }
        }
    }

    /// Sets the deadline of an order for the day, as the market decided it: these ops are those of the request, and the
    /// order's is the last.
    pub(super) fn decide(&mut self, decided: &[Op]) {
        if let Some(op) = decided.last().filter(|_| self.until == Some(Deadline::UNDECIDED)) {
            self.until = op.deadline();
        }
    }

    /// Writes the answer for the order of this id.
    pub(super) async fn placed(&self, app: &AppState, order: OrderId) -> Result<PlacedShape, Problem> {
        let Placing { account, client_id, symbol, side, kind, limit, trigger, self_trade, until, .. } = *self;
        let shares = match self.amount {
            Amount::Shares(shares) => shares,
            // The order is placed: an error in writing the answer must not invite the client to try again.
            Amount::Funds(_) => shares_of(app, order).await.ok_or_else(Problem::unknown_outcome)?,
        };
        let placed = NewOrder { symbol, side, limit, shares, kind: kind.once_placed(), trigger, self_trade };
        let client_id = client_id.map(|id| id.to_string());
        let placed = PlacedShape::of(order, client_id, account.to_string(), &placed, until);
        let display = self.display.map(|display| display.to_string());
        let trail = self.trail.and_then(Trail::distance).map(|distance| distance.to_string());
        Ok(PlacedShape { display, trail, trail_bips: self.trail.and_then(Trail::bips), ..placed })
    }
}

/// Reads the deadline.
fn until_of(asked: &PlaceOrderBody) -> Result<Option<Deadline>, Problem> {
    match (asked.tif, &asked.until) {
        (Some(TifName::Day), Some(_)) => {
            Err(Problem::field("until", "an order whose tif is DAY ends with the day, so it has no until"))
        }
        (Some(TifName::Day), None) => Ok(Some(Deadline::UNDECIDED)),
        (None, until) => until.as_ref().map(input::deadline).transpose(),
    }
}

/// Reads the distance at which its trigger follows the market.
fn trail_of(asked: &PlaceOrderBody) -> Result<Option<Trail>, Problem> {
    let (field, trail) = match (&asked.trail, &asked.trail_bips) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(Problem::field("trail_bips", "trail and trail_bips exclude each other")),
        (Some(dollars), None) => ("trail", Trail::by(input::price("trail", dollars)?)),
        (None, Some(bips)) => ("trail_bips", input::trail_bips(bips)?),
    };
    if asked.stop.is_some() || asked.take_profit.is_some() {
        return Err(Problem::field(field, "the market says where a trailing stop is: stop and take_profit exclude it"));
    }
    if asked.display.is_some() {
        return Err(Problem::field("display", "an order that follows the market shows all its shares"));
    }
    Ok(Some(trail))
}

/// Returns the number of shares for which a done order was placed.
async fn shares_of(app: &AppState, order: OrderId) -> Option<Shares> {
    Some(history_pages::order(app, order).await.ok()??.order.shares)
}
