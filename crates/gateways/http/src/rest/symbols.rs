//! Symbols: their markets, and issuing shares of them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use exchange::IssuedBefore;
use feed::{ReadModel, View};
use serde::{Deserialize, Serialize};
use terms::{Command, Op, Position, Side, SymbolIndex, SymbolRules, Time};
use utoipa::{IntoParams, ToSchema};

use super::{bad_cursor, troubled, unreadable};
use crate::app_state::AppState;
use crate::chunked_answer;
use crate::clock::market_now;
use crate::history_pages;
use crate::history_port::Stretch;
use crate::hub::Hub;
use crate::input::{self, Body, Parameters, PathParameter};
use crate::problem::{self, Problem};
use crate::problem_code::{Code, RECORD};
use crate::schema_values;
use crate::shapes::{BookShape, CandleShape, CandlesShape, QueuedShape, RulesShape, SymbolShape, TradeShape};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Symbol>)]
    after: Option<String>,
    /// Symbols of a page.
    #[param(minimum = 1, maximum = 1000, default = 1000)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
}

/// Symbols, and the start of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = Symbols)]
pub(crate) struct SymbolsShape {
    symbols: Vec<SymbolShape>,
    #[schema(value_type = Option<schema_values::Symbol>, required = true)]
    next: Option<String>,
}

/// Symbols that are read between two turns of the feed.
const AT_ONCE: usize = 100;

/// Lists the symbols, in order of their creation.
#[utoipa::path(
    get, path = "/symbols", operation_id = "listSymbols", tag = "Symbols",
    params(List),
    responses((status = 200, description = "A page of symbols", body = SymbolsShape)),
)]
pub(crate) async fn list(
    State(app): State<AppState>,
    Parameters(asked): Parameters<List>,
) -> Result<Json<SymbolsShape>, Problem> {
    let limit = input::count("limit", asked.limit, 1000, 1000)?;
    let after = asked.after.as_deref().map(input::symbol).transpose()?;
    let from = app.look(move |model| match after {
        Some(after) => model.view.find_symbol(after).map(|symbol| symbol.0 as usize + 1),
        None => Some(0),
    });
    let from = from.await?.ok_or_else(|| Problem::field("after", "after is the `next` of a page of this list"))?;
    let (mut symbols, mut more) = (Vec::new(), true);
    while more && symbols.len() < limit {
        let (at, some) = (from + symbols.len(), AT_ONCE.min(limit - symbols.len()));
        let looked = app.look(move |model| {
            let there = model.view.listings().len();
            let indices = (at..there.min(at + some)).filter_map(|at| u32::try_from(at).ok()).map(SymbolIndex);
            let shapes: Vec<_> =
                indices.map(|symbol| SymbolShape::of(&model.view, symbol, market_now(&model.view))).collect();
            (shapes, at + some < there)
        });
        let (shapes, others) = chunked_answer::in_turn(&app, looked).await?;
        symbols.extend(shapes);
        more = others;
    }
    let next = symbols.last().filter(|_| more).map(|last| last.symbol.clone());
    Ok(Json(SymbolsShape { symbols, next }))
}

/// Shows one symbol, with its last day.
#[utoipa::path(
    get, path = "/symbols/{symbol}", operation_id = "getSymbol", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name")),
    responses((status = 200, description = "The symbol", body = SymbolShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol]))),
)]
pub(crate) async fn one(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
) -> Result<Json<SymbolShape>, Problem> {
    of_symbol(&app, &name, |model, symbol| Ok(SymbolShape::of(&model.view, symbol, market_now(&model.view)))).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Depth {
    /// Levels, or orders, of a side.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    #[serde(default, deserialize_with = "input::number")]
    depth: Option<usize>,
}

/// Levels of a side: shown by default, and at most.
pub(super) const DEPTH: (usize, usize) = (50, 1000);

/// Shows the best price levels.
#[utoipa::path(
    get, path = "/symbols/{symbol}/book", operation_id = "getBook", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name"), Depth),
    responses((status = 200, description = "The book", body = BookShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol]))),
)]
pub(crate) async fn book(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Parameters(asked): Parameters<Depth>,
) -> Result<Json<BookShape>, Problem> {
    let depth = input::count("depth", asked.depth, DEPTH.0, DEPTH.1)?;
    let of = move |view: &View, symbol| BookShape::of(view, symbol, view.listing(symbol).book_number(), depth);
    of_symbol(&app, &name, move |model, symbol| Ok(of(&model.view, symbol))).await
}

/// The best open orders of a symbol in the order in which they execute.
#[derive(Serialize, ToSchema)]
#[schema(as = Queues)]
pub(crate) struct QueuesShape {
    #[schema(value_type = schema_values::Symbol)]
    pub(super) symbol: String,
    #[schema(value_type = schema_values::Sequence)]
    pub(super) sequence: u64,
    pub(super) bids: Vec<QueuedShape>,
    pub(super) asks: Vec<QueuedShape>,
}

/// Lists the best open orders, in priority.
#[utoipa::path(
    get, path = "/symbols/{symbol}/book/orders", operation_id = "getBookOrders", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name"), Depth),
    responses((status = 200, description = "The orders", body = QueuesShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, RECORD]))),
)]
pub(crate) async fn queues(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Parameters(asked): Parameters<Depth>,
) -> Result<Json<QueuesShape>, Problem> {
    let depth = input::count("depth", asked.depth, DEPTH.0, DEPTH.1)?;
    of_symbol(&app, &name, move |model, symbol| {
        let side = |side: Side| -> Result<Vec<QueuedShape>, Problem> {
            let queue = model.view.queue(symbol, side).take(depth);
            queue.map(|open| QueuedShape::of(model, &open).map_err(unreadable)).collect()
        };
        let view = &model.view;
        Ok(QueuesShape {
            symbol: view.listing(symbol).name.to_string(),
            sequence: view.sequence().0,
            bids: side(Side::Buy)?,
            asks: side(Side::Sell)?,
        })
    })
    .await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trades {
    /// Trades of a page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
    /// The `next` of the page before.
    #[param(value_type = Option<schema_values::Trade>)]
    #[serde(default, deserialize_with = "input::number")]
    before: Option<u64>,
}

/// Trades, and the start of the next page.
#[derive(Serialize, ToSchema)]
#[schema(as = Trades)]
pub(crate) struct TradesShape {
    trades: Vec<TradeShape>,
    #[schema(value_type = Option<schema_values::Trade>, required = true)]
    next: Option<u64>,
}

/// Lists trades, newest first.
#[utoipa::path(
    get, path = "/symbols/{symbol}/trades", operation_id = "listTrades", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name"), Trades),
    responses((status = 200, description = "A page of trades", body = TradesShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, RECORD]))),
)]
pub(crate) async fn trades(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Parameters(asked): Parameters<Trades>,
) -> Result<Json<TradesShape>, Problem> {
    let limit = input::count("limit", asked.limit, 100, 1000)?;
    let Json(symbol) = of_symbol(&app, &name, |_, symbol| Ok(symbol)).await?;
    let page = history_pages::trades_of_symbol(&app, symbol, asked.before, limit).await.map_err(troubled)?;
    let (trades, next) = page.ok_or_else(bad_cursor)?;
    let shown = app.look(move |model| trades.iter().map(|trade| TradeShape::of(&model.view, trade)).collect());
    Ok(Json(TradesShape { trades: shown.await?, next }))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candles {
    /// The length of each candle.
    #[param(value_type = Option<schema_values::Interval>, default = "1m")]
    interval: Option<String>,
    /// Candles of a page.
    #[param(minimum = 1, maximum = 1500, default = 500)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
    /// The time before which they begin.
    #[param(value_type = Option<schema_values::Time>)]
    #[serde(default, deserialize_with = "input::number")]
    before: Option<u64>,
}

/// Lists candles, oldest first.
#[utoipa::path(
    get, path = "/symbols/{symbol}/candles", operation_id = "listCandles", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name"), Candles),
    responses((status = 200, description = "A page of candles", body = CandlesShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, Code::TooMuchToSearch, RECORD]))),
)]
pub(crate) async fn candles(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Parameters(asked): Parameters<Candles>,
) -> Result<Json<CandlesShape>, Problem> {
    let interval = input::interval(asked.interval.as_deref().unwrap_or("1m"))?;
    let limit = input::count("limit", asked.limit, 500, 1500)?;
    let Json(symbol) = of_symbol(&app, &name, |_, symbol| Ok(symbol)).await?;
    let stretch = Stretch { from: None, before: asked.before.map(Time) };
    let candles = history_pages::candles(&app, symbol, interval, stretch, limit).await.map_err(troubled)?;
    let candles = candles.iter().map(CandleShape::of).collect();
    Ok(Json(CandlesShape { symbol: name, interval: interval.name(), candles }))
}

/// Shares to issue, and the account that gets them.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Issue {
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::SharesIssued)]
    shares: String,
    /// The `issued` of the symbol for which this is meant; 0 before there is a symbol. If it is another one by then,
    /// nothing is done. So a request can be sent again after a lost answer.
    #[schema(value_type = Option<schema_values::IssuedAsked>)]
    expected_issued: Option<String>,
}

/// Shares that were issued.
#[derive(Serialize, ToSchema)]
#[schema(as = Issued)]
pub(crate) struct IssuedShape {
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::Position)]
    shares: String,
    /// All shares of the symbol that are issued, with these. Only for a request with `expected_issued`.
    #[schema(value_type = Option<schema_values::Position>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    issued: Option<String>,
}

/// Issues shares of a symbol; creates the symbol if there is none of this name.
#[utoipa::path(
    post, path = "/symbols/{symbol}/shares", operation_id = "issueShares", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name")),
    request_body = Issue,
    responses((status = 201, description = "Issued", body = IssuedShape)),
    extensions(("x-refusals" = json!([Code::UnknownAccount, Code::AccountClosed, Code::IssuedOtherwise, Code::TooManySymbols, Code::TooManyShares, Code::InsufficientShares, Code::UnknownPayer, Code::NotInACluster, Code::GivenFromBudget]))),
)]
pub(crate) async fn issue(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<Issue>,
) -> Result<(StatusCode, Json<IssuedShape>), Problem> {
    let (symbol, account) = (input::symbol(&name)?, input::account(&asked.account)?);
    let shares: Position = input::position(&asked.shares)?;
    let expected = asked.expected_issued.as_deref().map(input::expected_issued).transpose()?;
    let issue =
        exchange::Issue { symbol, account, shares, before: expected.map_or(IssuedBefore::Any, IssuedBefore::Exactly) };
    let answers = app.submitter()?.issue(&issue).await.map_err(|_| Problem::unknown_issue(expected.is_some()))?;
    for answer in answers {
        problem::reply(answer)?;
    }
    let with_these = |before: Position| Position::from_units(before.units().saturating_add(shares.units()));
    let issued = expected.map(|before| with_these(before).to_string());
    let told = IssuedShape { symbol: name, account: asked.account, shares: shares.to_string(), issued };
    Ok((StatusCode::CREATED, Json(told)))
}

/// Replaces all rules of a symbol. Open orders stay.
#[utoipa::path(
    put, path = "/symbols/{symbol}/rules", operation_id = "changeRules", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name")),
    request_body = RulesShape,
    responses((status = 200, description = "The rules that it has now", body = RulesShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol]))),
)]
pub(crate) async fn change_rules(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Body(asked): Body<RulesShape>,
) -> Result<Json<RulesShape>, Problem> {
    let symbol = input::symbol(&name).map_err(|_| Problem::unknown_symbol())?;
    let rules = asked.read()?;
    let ops = [Op::Command(Command::ChangeRules { symbol, rules })];
    let answers = app.submitter()?.ask(&ops).await.map_err(|_| Problem::unknown_outcome())?;
    for answer in answers {
        problem::reply(answer)?;
    }
    // The reference is no rule, and an auction may have moved it since.
    Ok(Json(RulesShape::of(&SymbolRules { reference: None, ..rules })))
}

/// Calls `show` for a symbol, if there is one of this name.
pub(super) async fn of_symbol<T: Send + 'static>(
    app: &AppState,
    name: &str,
    show: impl FnOnce(&mut ReadModel<Hub>, SymbolIndex) -> Result<T, Problem> + Send + 'static,
) -> Result<Json<T>, Problem> {
    // An invalid name is no symbol's.
    let name = input::symbol(name).map_err(|_| Problem::unknown_symbol())?;
    let shown = app.look(move |model| match model.view.find_symbol(name) {
        Some(symbol) => show(model, symbol),
        None => Err(Problem::unknown_symbol()),
    });
    shown.await?.map(Json)
}
