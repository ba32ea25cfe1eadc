//! Orders that were placed: looks them up, lists and cancels them. Other modules place, replace and amend them.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use exchange::Read;
use feed::{Direction, HistoryError, Walk};
use serde::{Deserialize, Serialize};
use terms::{AccountId, Command, Op, OrderId, Query, Reply, SymbolIndex};
use utoipa::{IntoParams, ToSchema};

use super::accounts::of_account;
use super::{bad_cursor, troubled, unreadable};
use crate::app_state::AppState;
use crate::chunked_answer::{self, Frame, Piece};
use crate::history_pages::{self, HistoryFault};
use crate::input::{self, Parameters, PathParameter};
use crate::open_orders::{self, Canceled, Stopped};
use crate::problem::{self, Problem};
use crate::problem_code::{Code, RECORD};
use crate::schema_values;
use crate::shapes::{OrderShape, PlaceShape};

/// Submits one op; also returns the op as it was decided, if that was left to the market.
pub(super) async fn ask_decided(app: &AppState, op: Op) -> Result<(Reply, Vec<Op>), Problem> {
    let (answers, decided) = app.submitter()?.ask_decided(&[op]).await.map_err(|_| Problem::unknown_outcome())?;
    let answer = answers.into_iter().next().ok_or_else(Problem::unknown_outcome)?;
    Ok((problem::reply(answer)?, decided))
}

/// Submits one op.
pub(super) async fn ask(app: &AppState, op: Op) -> Result<Reply, Problem> {
    let answers = app.submitter()?.ask(&[op]).await.map_err(|_| Problem::unknown_outcome())?;
    problem::reply(answers.into_iter().next().ok_or_else(Problem::unknown_outcome)?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Owner {
    /// The account of the order.
    #[param(value_type = schema_values::Account)]
    account: String,
}

/// Shows an order, open or done.
#[utoipa::path(
    get, path = "/orders/{order}", operation_id = "getOrder", tag = "Orders",
    params(("order" = schema_values::Order, Path, description = "The order's id"), Owner),
    responses((status = 200, description = "The order", body = OrderShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownOrder, RECORD]))),
)]
pub(crate) async fn one(
    State(app): State<AppState>,
    PathParameter(order): PathParameter<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (order, account) = (input::order(&order)?, input::account(&owner.account)?);
    show(&app, order, account, troubled).await.map(Json)
}

/// Shows the queue position of an open order, counting shares that are shown.
#[utoipa::path(
    get, path = "/orders/{order}/place", operation_id = "getOrderPlace", tag = "Orders",
    params(("order" = schema_values::Order, Path, description = "The order's id"), Owner),
    responses((status = 200, description = "Where it stands", body = PlaceShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownOrder, RECORD]))),
)]
pub(crate) async fn place_in_queue(
    State(app): State<AppState>,
    PathParameter(order): PathParameter<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<PlaceShape>, Problem> {
    let (order, account) = (input::order(&order)?, input::account(&owner.account)?);
    // The order's existence and its account are checked as for any look-up.
    show(&app, order, account, troubled).await?;
    app.look(move |model| PlaceShape::of(&model.view, order)).await.map(Json)
}

/// Cancels an open order.
#[utoipa::path(
    delete, path = "/orders/{order}", operation_id = "cancelOrder", tag = "Orders",
    params(("order" = schema_values::Order, Path, description = "The order's id"), Owner),
    responses((status = 200, description = "Canceled", body = OrderShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownOrder, Code::NothingOpen, RECORD]))),
)]
pub(crate) async fn cancel(
    State(app): State<AppState>,
    PathParameter(order): PathParameter<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (order, account) = (input::order(&order)?, input::account(&owner.account)?);
    cancel_by(&app, account, Command::CancelOrder { account, order: order.into() }).await
}

/// Shows the order that a client order id stands for.
#[utoipa::path(
    get, path = "/orders/by-client-id/{*client_order_id}", operation_id = "getOrderByClientId", tag = "Orders",
    params(("client_order_id" = schema_values::ClientOrder, Path, description = "What its client calls the order"), Owner),
    responses((status = 200, description = "The order", body = OrderShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownOrder, RECORD, Code::OutcomeUnknown]))),
)]
pub(crate) async fn one_by_client_id(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (id, account) = (input::client_order_id(&id)?, input::account(&owner.account)?);
    match ask(&app, Op::Query(Query { account, order: id.into() })).await? {
        Reply::Status(status) => show(&app, status.order, account, troubled).await.map(Json),
        Reply::Done(order) => show(&app, order, account, troubled).await.map(Json),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Amended { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::InAuction
        | Reply::CanceledAll { .. }
        | Reply::Canceled(_)
        | Reply::Rejected(_) => Err(Problem::unknown_outcome()),
    }
}

/// Cancels the open order that a client order id stands for.
#[utoipa::path(
    delete, path = "/orders/by-client-id/{*client_order_id}", operation_id = "cancelOrderByClientId", tag = "Orders",
    params(("client_order_id" = schema_values::ClientOrder, Path, description = "What its client calls the order"), Owner),
    responses((status = 200, description = "Canceled", body = OrderShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownOrder, Code::NothingOpen, RECORD]))),
)]
pub(crate) async fn cancel_by_client_id(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Parameters(owner): Parameters<Owner>,
) -> Result<Json<OrderShape>, Problem> {
    let (id, account) = (input::client_order_id(&id)?, input::account(&owner.account)?);
    cancel_by(&app, account, Command::CancelOrder { account, order: id.into() }).await
}

async fn cancel_by(app: &AppState, account: AccountId, command: Command) -> Result<Json<OrderShape>, Problem> {
    canceled(app, account, ask(app, Op::Command(command)).await?).await.map(Json)
}

/// Returns the answer to a cancel.
pub(super) async fn canceled(app: &AppState, account: AccountId, reply: Reply) -> Result<OrderShape, Problem> {
    match reply {
        Reply::Canceled(status) => show(app, status.order, account, untold).await.map_err(done),
        // The order was done long ago: only the history knows its account.
        Reply::Done(order) => show(app, order, account, troubled).await.and(Err(Problem::nothing_open())),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Amended { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::InAuction
        | Reply::CanceledAll { .. }
        | Reply::Status(_)
        | Reply::Rejected(_) => Err(Problem::unknown_outcome()),
    }
}

/// Turns a failed feed into an unknown outcome: the command was done, and its answer must not say that it was refused.
pub(super) fn done(fault: Problem) -> Problem {
    if fault.code == Problem::no_feed().code { Problem::unknown_outcome() } else { fault }
}

/// The fault where something was done and cannot be shown: it must not look like a refusal.
pub(super) fn untold(trouble: HistoryFault) -> Problem {
    match trouble {
        HistoryFault::Away | HistoryFault::Crowded | HistoryFault::NotReady | HistoryFault::Fault => {
            Problem::unknown_outcome()
        }
        HistoryFault::Unreadable(_) => troubled(trouble),
    }
}

/// Shows an order to its owner; other askers do not learn that it exists.
pub(super) async fn show(
    app: &AppState,
    order: OrderId,
    account: AccountId,
    refused: impl FnOnce(HistoryFault) -> Problem,
) -> Result<OrderShape, Problem> {
    let found = app.look(move |model| {
        let owner = model.view.find_account(account).ok_or_else(Problem::unknown_account)?;
        let open = model.view.open_order(order).filter(|open| open.account == owner);
        let shape = open.map(|open| OrderShape::open(model, &open));
        Ok((owner, shape.transpose().map_err(unreadable)?))
    });
    let (owner, open) = found.await??;
    if let Some(shape) = open {
        return Ok(shape);
    }
    let found = history_pages::order(app, Some(owner), order).await.map_err(refused)?;
    let past = found.ok_or_else(Problem::unknown_order)?;
    app.look(move |model| OrderShape::past(&model.view, &past)).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// The orders to list: the open ones, or all that the history knows.
    #[param(inline, default = "open")]
    status: Option<Which>,
    /// The symbol of the entries; all symbols without it.
    #[param(value_type = Option<schema_values::Symbol>)]
    symbol: Option<String>,
    /// Orders of a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Order>)]
    #[serde(default, deserialize_with = "input::number")]
    before: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Which {
    Open,
    All,
}

/// Orders, and the start of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = Orders)]
pub(crate) struct OrdersShape {
    orders: Vec<OrderShape>,
    #[schema(value_type = Option<schema_values::Order>, required = true)]
    next: Option<u64>,
}

/// Lists the orders of an account, newest first.
#[utoipa::path(
    get, path = "/accounts/{account}/orders", operation_id = "listOrders", tag = "Orders",
    params(("account" = schema_values::Account, Path, description = "The account's id"), List),
    responses((status = 200, description = "A page of orders", body = OrdersShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownSymbol, RECORD]))),
)]
pub(crate) async fn list(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Parameters(asked): Parameters<List>,
) -> Result<Json<OrdersShape>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    // No order has the id 0, so no page ended there.
    let check = move || if asked.before == Some(0) { Err(bad_cursor()) } else { Ok(()) };
    match asked.status.unwrap_or(Which::Open) {
        Which::Open => {
            let Json((account, symbol)) = of_account(&app, &id, move |model, account| {
                let found = |symbol| model.view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol);
                Ok((account, symbol.map(found).transpose()?))
            })
            .await?;
            check()?;
            let walk = Walk::new(account, Direction::NewestFirst, asked.before.map(OrderId));
            open_page(&app, walk, symbol, limit).await.map(Json)
        }
        Which::All => {
            let Json((account, symbol)) = of_account(&app, &id, move |model, account| {
                let found = |symbol| model.view.find_symbol(symbol).ok_or_else(Problem::unknown_symbol);
                Ok((account, symbol.map(found).transpose()?))
            })
            .await?;
            check()?;
            let page = history_pages::orders_of(&app, account, symbol, asked.before, limit).await.map_err(troubled)?;
            let (orders, next) = page.ok_or_else(bad_cursor)?;
            let shown = app.look(move |model| orders.iter().map(|past| OrderShape::past(&model.view, past)).collect());
            Ok(Json(OrdersShape { orders: shown.await?, next }))
        }
    }
}

/// Returns a page of open orders.
async fn open_page(
    app: &AppState,
    mut walk: Walk,
    symbol: Option<SymbolIndex>,
    limit: usize,
) -> Result<OrdersShape, Problem> {
    let mut orders: Vec<OrderShape> = Vec::new();
    // One order more than shown says whether there are more.
    let (mut more, wanted) = (true, limit + 1);
    while more && orders.len() < wanted {
        let room = wanted - orders.len();
        let looked = app.look(move |model| {
            let mut shapes = Vec::new();
            let more = walk.go_on(&model.view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    shapes.push(OrderShape::open(model, open));
                }
                shapes.len() < room
            });
            let shapes: Result<Vec<OrderShape>, HistoryError> = shapes.into_iter().collect();
            (shapes, walk, more)
        });
        let (shapes, gone, others) = chunked_answer::in_turn(app, looked).await?;
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
    /// The symbol of the entries; all symbols without it.
    #[param(value_type = Option<schema_values::Symbol>)]
    symbol: Option<String>,
}

/// Orders that were canceled.
#[derive(Serialize, ToSchema)]
#[schema(as = Canceled)]
pub(crate) struct CanceledShape {
    canceled: Vec<OrderShape>,
}

/// Cancels all open orders. One command cancels 1,000, the oldest first; if there are more, the requests of others come
/// between, and orders placed meanwhile stay. Orders that end with these are among the canceled.
#[utoipa::path(
    delete, path = "/accounts/{account}/orders", operation_id = "cancelOrders", tag = "Orders",
    params(("account" = schema_values::Account, Path, description = "The account's id"), OfSymbol),
    responses((status = 200, description = "What was canceled", body = CanceledShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::UnknownSymbol, RECORD]))),
)]
pub(crate) async fn cancel_all(
    State(app): State<AppState>,
    PathParameter(id): PathParameter<String>,
    Parameters(asked): Parameters<OfSymbol>,
) -> Result<Response, Problem> {
    let symbol = asked.symbol.as_deref().map(input::symbol).transpose()?;
    app.ascertain().await?;
    let Json((index, symbol)) = of_account(&app, &id, move |model, account| {
        let found = |name| match model.view.find_symbol(name) {
            Some(symbol) => Ok((name, symbol)),
            None => Err(Problem::unknown_symbol()),
        };
        Ok((account, symbol.map(found).transpose()?))
    })
    .await?;
    let account = input::account(&id)?;
    let canceled = open_orders::cancel(&app, (account, index), symbol).await;
    let canceled = canceled.map_err(|stopped| match stopped {
        Stopped::Unknown => Problem::unknown_outcome(),
        Stopped::Unavailable(why) => Problem::unavailable(why),
        Stopped::NotReady(problem) => problem,
        Stopped::Untold(trouble) => untold(trouble),
    })?;
    // All are canceled by now; the answer lists them as fast as the client takes it.
    let shown = |app: AppState, canceled: Canceled| async move {
        let (some, left) = canceled.take_some(&app).await.map_err(untold)?;
        let shapes = app.look(move |model| -> Vec<OrderShape> {
            some.iter().map(|past| OrderShape::past(&model.view, past)).collect()
        });
        Ok(Piece::of(chunked_answer::in_turn(&app, shapes).await?, left))
    };
    let frame = Frame::field(&serde_json::json!({}), "canceled");
    chunked_answer::answer(&app, (frame, Read::Account(account)), canceled, shown).await
}
