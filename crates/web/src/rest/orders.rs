//! Orders: placing, looking up, canceling.

use std::collections::VecDeque;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use engine::{
    AccountId, ClientOrderId, Command, FundsOrder, Money, NewOrder, Op, OrderId, OrderKind, Price, Query, Reply,
    Shares, Side, Symbol, SymbolIndex, Trigger,
};
use feed::HistoryError;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::accounts::of_account;
use super::{bad_cursor, troubled, unreadable};
use crate::input::{self, Body, Named, Parameters};
use crate::open_orders::{self, Direction, Stopped, Walk};
use crate::past::{self, Trouble};
use crate::pieces::{self, Frame, Piece};
use crate::problem::{self, Problem};
use crate::shapes::{OrderShape, PlacedShape};
use crate::site::Site;
use crate::values;

/// An order to place.
#[derive(Deserialize, ToSchema)]
#[schema(as = PlaceOrder)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrderBody {
    #[schema(value_type = values::Account)]
    account: String,
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Side)]
    side: SideName,
    /// `limit` if none is given.
    #[schema(value_type = Option<values::OrderKind>)]
    kind: Option<KindName>,
    /// Needed, but for a market order, which has none.
    #[schema(value_type = Option<values::LimitAsked>)]
    limit: Option<String>,
    /// The order waits until an execution is at this price or beyond, where the market goes against it: at it or above of a buy, at
    /// it or below of a sell. Then it does what its kind does.
    #[schema(value_type = Option<values::LimitAsked>)]
    stop: Option<String>,
    /// The same the other way: at it or below of a buy, at it or above of a sell.
    #[schema(value_type = Option<values::LimitAsked>)]
    take_profit: Option<String>,
    /// Needed, unless a market order has `funds`.
    #[schema(value_type = Option<values::SharesAsked>)]
    shares: Option<String>,
    /// Of a market order without `shares`: the dollars to spend, or to bring in at most.
    #[schema(value_type = Option<values::FundsAsked>)]
    funds: Option<String>,
    /// A name by which the order can be sent again without being placed twice.
    #[schema(value_type = Option<values::ClientOrder>)]
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
    ImmediateOrCancel,
    FillOrKill,
    Market,
}

impl From<KindName> for OrderKind {
    fn from(name: KindName) -> OrderKind {
        match name {
            KindName::Limit => OrderKind::Limit,
            KindName::PostOnly => OrderKind::PostOnly,
            KindName::ImmediateOrCancel => OrderKind::ImmediateOrCancel,
            KindName::FillOrKill => OrderKind::FillOrKill,
            KindName::Market => OrderKind::Market,
        }
    }
}

/// Places an order.
#[utoipa::path(
    post, path = "/orders", operation_id = "placeOrder", tag = "Orders",
    request_body = PlaceOrderBody,
    responses((status = 201, description = "Placed", body = PlacedShape),
        (status = 200, description = "Placed before, under this `client_order_id`: the first answer again", body = PlacedShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-symbol", "client-order-id-taken", "too-many-client-order-ids", "insufficient-funds", "insufficient-shares", "would-take", "triggers-at-once", "funds-trade-nothing"]))),
)]
pub(crate) async fn place(
    State(site): State<Site>,
    Body(asked): Body<PlaceOrderBody>,
) -> Result<(StatusCode, Json<PlacedShape>), Problem> {
    let placing = Placing::read(asked)?;
    let (status, order) = match ask(&site, Op::Command(placing.command())).await? {
        Reply::Opened(order) => (StatusCode::CREATED, order),
        Reply::Repeated(order) => (StatusCode::OK, order),
        Reply::Created
        | Reply::Activated
        | Reply::Status(_)
        | Reply::Canceled(_)
        | Reply::Done(_)
        | Reply::Rejected(_) => {
            return Err(Problem::unknown_outcome());
        }
    };
    Ok((status, Json(placing.placed(&site, order).await?)))
}

/// An order as it is asked for.
pub(super) struct Placing {
    account: AccountId,
    client_id: Option<ClientOrderId>,
    symbol: Symbol,
    side: Side,
    kind: OrderKind,
    limit: Price,
    trigger: Option<Trigger>,
    amount: Amount,
}

/// How much is to be traded.
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
        let client_id = asked.client_order_id.as_deref().map(input::client_order_id).transpose()?;
        let amount = match (&asked.shares, &asked.funds) {
            (Some(shares), None) => Amount::Shares(input::order_shares(shares)?),
            (None, Some(_)) if kind != OrderKind::Market => {
                return Err(Problem::field("funds", "funds are for market orders".to_owned()));
            }
            (None, Some(_)) if trigger.is_some() => {
                let why = "an order with funds executes at once, so it cannot wait for a price";
                return Err(Problem::field("funds", why.to_owned()));
            }
            (None, Some(funds)) => Amount::Funds(input::funds(funds)?),
            (None, None) => return Err(Problem::field("shares", "shares is missing".to_owned())),
            (Some(_), Some(_)) => {
                return Err(Problem::field("funds", "shares and funds exclude each other".to_owned()));
            }
        };
        Ok(Placing { account, client_id, symbol, side, kind, limit, trigger, amount })
    }

    pub(super) fn account(&self) -> AccountId {
        self.account
    }

    pub(super) fn command(&self) -> Command {
        let Placing { account, client_id, symbol, side, kind, limit, trigger, .. } = *self;
        match self.amount {
            Amount::Shares(shares) => Command::PlaceOrder {
                account,
                order: NewOrder { symbol, side, limit, shares, kind, trigger },
                client_id,
            },
            Amount::Funds(funds) => {
                Command::PlaceByFunds { account, order: FundsOrder { symbol, side, funds }, client_id }
            }
        }
    }

    /// What is told of it when it has this id.
    pub(super) async fn placed(&self, site: &Site, order: OrderId) -> Result<PlacedShape, Problem> {
        let Placing { account, client_id, symbol, side, kind, limit, trigger, .. } = *self;
        let shares = match self.amount {
            Amount::Shares(shares) => shares,
            // It is placed: whoever cannot be told of it must not be told to try again.
            Amount::Funds(_) => shares_of(site, order).await.ok_or_else(Problem::unknown_outcome)?,
        };
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger };
        Ok(PlacedShape::of(order, client_id.map(|id| id.to_string()), account.to_string(), &placed))
    }
}

/// What an order that is done was placed for.
async fn shares_of(site: &Site, order: OrderId) -> Option<Shares> {
    Some(past::orders(site, vec![order]).await.ok()?.first()?.order.shares)
}

/// Has one op done.
async fn ask(site: &Site, op: Op) -> Result<Reply, Problem> {
    let answers = site.submitter()?.ask(&[op]).await.map_err(|_| Problem::unknown_outcome())?;
    problem::reply(answers.into_iter().next().ok_or_else(Problem::unknown_outcome)?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Owner {
    /// Whose order it is.
    #[param(value_type = values::Account)]
    account: String,
}

/// An order, open or done.
#[utoipa::path(
    get, path = "/orders/{order}", operation_id = "getOrder", tag = "Orders",
    params(("order" = values::Order, Path, description = "The order's id"), Owner),
    responses((status = 200, description = "The order", body = OrderShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-order", "history-unreadable", "record-damaged", "no-longer-kept", "store-away"]))),
)]
pub(crate) async fn one(
    State(site): State<Site>,
    Named(order): Named<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (order, account) = (input::order(&order)?, input::account(&owner.account)?);
    show(&site, order, account, troubled).await.map(Json)
}

/// Cancels what is open of an order.
#[utoipa::path(
    delete, path = "/orders/{order}", operation_id = "cancelOrder", tag = "Orders",
    params(("order" = values::Order, Path, description = "The order's id"), Owner),
    responses((status = 200, description = "Canceled", body = OrderShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-order", "nothing-open", "history-unreadable", "record-damaged", "no-longer-kept"]))),
)]
pub(crate) async fn cancel(
    State(site): State<Site>,
    Named(order): Named<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (order, account) = (input::order(&order)?, input::account(&owner.account)?);
    cancel_by(&site, account, Command::CancelOrder { account, order: order.into() }).await
}

/// The order that a client order id stands for.
#[utoipa::path(
    get, path = "/orders/by-client-id/{*client_order_id}", operation_id = "getOrderByClientId", tag = "Orders",
    params(("client_order_id" = values::ClientOrder, Path, description = "What its client calls the order"), Owner),
    responses((status = 200, description = "The order", body = OrderShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-order", "history-unreadable", "record-damaged", "no-longer-kept", "store-away", "outcome-unknown"]))),
)]
pub(crate) async fn one_by_client_id(
    State(site): State<Site>,
    Named(id): Named<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (id, account) = (input::client_order_id(&id)?, input::account(&owner.account)?);
    match ask(&site, Op::Query(Query { account, order: id.into() })).await? {
        Reply::Status(status) => show(&site, status.order, account, troubled).await.map(Json),
        Reply::Done(order) => show(&site, order, account, troubled).await.map(Json),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Activated
        | Reply::Canceled(_)
        | Reply::Rejected(_) => Err(Problem::unknown_outcome()),
    }
}

/// Cancels what is open of the order that a client order id stands for.
#[utoipa::path(
    delete, path = "/orders/by-client-id/{*client_order_id}", operation_id = "cancelOrderByClientId", tag = "Orders",
    params(("client_order_id" = values::ClientOrder, Path, description = "What its client calls the order"), Owner),
    responses((status = 200, description = "Canceled", body = OrderShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-order", "nothing-open", "history-unreadable", "record-damaged", "no-longer-kept"]))),
)]
pub(crate) async fn cancel_by_client_id(
    State(site): State<Site>,
    Named(id): Named<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (id, account) = (input::client_order_id(&id)?, input::account(&owner.account)?);
    cancel_by(&site, account, Command::CancelOrder { account, order: id.into() }).await
}

async fn cancel_by(site: &Site, account: AccountId, command: Command) -> Result<Json<OrderShape>, Problem> {
    canceled(site, account, ask(site, Op::Command(command)).await?).await.map(Json)
}

/// What a cancel was answered with.
pub(super) async fn canceled(site: &Site, account: AccountId, reply: Reply) -> Result<OrderShape, Problem> {
    match reply {
        Reply::Canceled(status) => show(site, status.order, account, untold).await,
        // It was done long ago: whose it was, only the history knows.
        Reply::Done(order) => show(site, order, account, troubled).await.and(Err(Problem::nothing_open())),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Activated
        | Reply::Status(_)
        | Reply::Rejected(_) => Err(Problem::unknown_outcome()),
    }
}

/// What was done and cannot be shown: nobody must take it for refused.
pub(super) fn untold(trouble: Trouble) -> Problem {
    match trouble {
        Trouble::Away | Trouble::NotReady => Problem::unknown_outcome(),
        Trouble::Unreadable(_) => troubled(trouble),
    }
}

/// An order as its owner sees it; nobody else learns that it exists.
pub(super) async fn show(
    site: &Site,
    order: OrderId,
    account: AccountId,
    refused: impl FnOnce(Trouble) -> Problem,
) -> Result<OrderShape, Problem> {
    let found = site.look(move |scene| {
        let owner = scene.view.find_account(account).ok_or_else(Problem::unknown_account)?;
        let open = scene.view.open_order(order).filter(|open| open.account == owner);
        let shape = open.map(|open| OrderShape::open(scene, &open));
        Ok((owner, shape.transpose().map_err(unreadable)?))
    });
    let (owner, open) = found.await??;
    if let Some(shape) = open {
        return Ok(shape);
    }
    let found = past::orders(site, vec![order]).await.map_err(refused)?;
    let past = found.into_iter().find(|past| past.order.account == owner).ok_or_else(Problem::unknown_order)?;
    site.look(move |scene| OrderShape::past(&scene.view, &past)).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// Those that are open, or all that the history knows.
    #[param(inline, default = "open")]
    status: Option<Which>,
    /// Of this symbol alone.
    #[param(value_type = Option<values::Symbol>)]
    symbol: Option<String>,
    /// Orders of a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
    /// The `next` of the page before.
    #[param(value_type = Option<values::Order>)]
    #[serde(default, deserialize_with = "input::number")]
    before: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Which {
    Open,
    All,
}

/// Orders, and where the next page begins.
#[derive(Serialize, ToSchema)]
#[schema(as = Orders)]
pub(crate) struct OrdersShape {
    orders: Vec<OrderShape>,
    #[schema(value_type = Option<values::Order>, required = true)]
    next: Option<u64>,
}

/// Orders of an account, newest first.
#[utoipa::path(
    get, path = "/accounts/{account}/orders", operation_id = "listOrders", tag = "Orders",
    params(("account" = values::Account, Path, description = "The account's id"), List),
    responses((status = 200, description = "A page of orders", body = OrdersShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-symbol", "history-unreadable", "record-damaged", "no-longer-kept", "store-away"]))),
)]
pub(crate) async fn list(
    State(site): State<Site>,
    Named(id): Named<String>,
    Parameters(asked): Parameters<List>,
) -> Result<Json<OrdersShape>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    // No order has the id 0, so no page ended there.
    let check = move || if asked.before == Some(0) { Err(bad_cursor()) } else { Ok(()) };
    match asked.status.unwrap_or(Which::Open) {
        Which::Open => {
            let Json((account, symbol)) = of_account(&site, &id, move |scene, account| {
                let found = |symbol| scene.view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol);
                Ok((account, symbol.map(found).transpose()?))
            })
            .await?;
            check()?;
            let walk = Walk::new(account, Direction::NewestFirst, asked.before.map(OrderId));
            open_page(&site, walk, symbol, limit).await.map(Json)
        }
        Which::All => {
            let Json((account, symbol)) = of_account(&site, &id, move |scene, account| {
                let found = |symbol| scene.view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol);
                Ok((account, symbol.map(found).transpose()?))
            })
            .await?;
            check()?;
            let page = past::orders_of(&site, account, symbol, asked.before, limit).await.map_err(troubled)?;
            let (orders, next) = page.ok_or_else(bad_cursor)?;
            let shown = site.look(move |scene| orders.iter().map(|past| OrderShape::past(&scene.view, past)).collect());
            Ok(Json(OrdersShape { orders: shown.await?, next }))
        }
    }
}

/// A page of open orders.
async fn open_page(
    site: &Site,
    mut walk: Walk,
    symbol: Option<SymbolIndex>,
    limit: usize,
) -> Result<OrdersShape, Problem> {
    let mut orders: Vec<OrderShape> = Vec::new();
    // One more than shown says whether there are more.
    let (mut more, wanted) = (true, limit + 1);
    while more && orders.len() < wanted {
        let room = wanted - orders.len();
        let looked = site.look(move |scene| {
            let mut shapes = Vec::new();
            let more = walk.go_on(&scene.view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    shapes.push(OrderShape::open(scene, open));
                }
                shapes.len() < room
            });
            let shapes: Result<Vec<OrderShape>, HistoryError> = shapes.into_iter().collect();
            (shapes, walk, more)
        });
        let (shapes, gone, others) = pieces::in_turn(site, looked).await?;
        orders.extend(shapes.map_err(unreadable)?);
        (walk, more) = (gone, others);
    }
    let next = (orders.len() > limit).then(|| orders.truncate(limit)).and(orders.last()).map(|last| last.order_id);
    Ok(OrdersShape { orders, next })
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfSymbol {
    /// Of this symbol alone.
    #[param(value_type = Option<values::Symbol>)]
    symbol: Option<String>,
}

/// Orders that were canceled.
#[derive(Serialize, ToSchema)]
#[schema(as = Canceled)]
pub(crate) struct CanceledShape {
    canceled: Vec<OrderShape>,
}

/// Cancels all that is open when it is asked; an order that is executed meanwhile is not among the canceled.
#[utoipa::path(
    delete, path = "/accounts/{account}/orders", operation_id = "cancelOrders", tag = "Orders",
    params(("account" = values::Account, Path, description = "The account's id"), OfSymbol),
    responses((status = 200, description = "What was canceled", body = CanceledShape)),
    extensions(("x-refusals" = json!(["unknown-account", "unknown-symbol", "history-unreadable", "record-damaged", "no-longer-kept"]))),
)]
pub(crate) async fn cancel_all(
    State(site): State<Site>,
    Named(id): Named<String>,
    Parameters(asked): Parameters<OfSymbol>,
) -> Result<Response, Problem> {
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    site.ascertain().await?;
    let Json((index, symbol)) = of_account(&site, &id, move |scene, account| {
        let found = |symbol| scene.view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol);
        Ok((account, symbol.map(found).transpose()?))
    })
    .await?;
    let walk = Walk::new(index, Direction::NewestFirst, None);
    let canceled = open_orders::cancel(&site, input::account(&id)?, walk, symbol).await;
    let canceled = canceled.map_err(|stopped| match stopped {
        Stopped::Unknown => Problem::unknown_outcome(),
        Stopped::Unavailable(why) => Problem::unavailable(why),
        Stopped::NotReady(problem) => problem,
    })?;
    // All is canceled by now; how it ended is told as fast as the client takes it.
    let shown = |site: Site, mut canceled: VecDeque<OrderId>| async move {
        let some = past::orders(&site, open_orders::take_some(&mut canceled)).await.map_err(untold)?;
        let shapes = site.look(move |scene| -> Vec<OrderShape> {
            some.iter().map(|past| OrderShape::past(&scene.view, past)).collect()
        });
        Ok(Piece::of(shapes.await?, Some(canceled).filter(|left| !left.is_empty())))
    };
    pieces::answer(&site, Frame::field(&serde_json::json!({}), "canceled"), canceled, shown).await
}
