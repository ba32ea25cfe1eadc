//! The messages of the WebSocket, as text.

use feed::{Candle, HistoryError, Interval, PageBounds, ReadModel, Report, ReportKey, Trade, View};
use serde::Serialize;
use serde_json::{Value, json};
use terms::{AccountIndex, Price, Sequence, Side, SymbolIndex};
use utoipa::ToSchema;

use crate::account_news::AccountNews;
use crate::clock::market_now;
use crate::long_snapshots;
use crate::problem::Problem;
use crate::schema_values;
use crate::server_stats::Measured;
use crate::shapes::{
    AccountShape, BookShape, CandleShape, CandlesShape, ExecutionShape, LevelShape, OrderShape, PhaseShape,
    ReportShape, SymbolShape, TradeShape, checksum, level,
};
use crate::shared_text::SharedText;
use crate::ticker;
use crate::topic::Topic;

/// Trades and candles of a snapshot.
const TRADES_SHOWN: usize = 50;
const CANDLES_SHOWN: usize = 500;

/// Reports of one message.
pub(crate) const REPORTS_AT_ONCE: usize = 256;

/// Levels or orders from which a snapshot is written only when it is taken.
const ROWS_AT_ONCE: usize = 4096;

/// Whether a topic's snapshot has many rows.
pub(crate) fn is_long(view: &View, topic: Topic) -> bool {
    let rows = match topic {
        Topic::Book(symbol) => view.listing(symbol).book.count(),
        Topic::Orders(account) => view.account(account).open_orders as usize,
        Topic::Trades(_)
        | Topic::Candles(..)
        | Topic::Reports(_)
        | Topic::Symbols
        | Topic::Status
        | Topic::Dialect(..) => 0,
    };
    rows > ROWS_AT_ONCE
}

/// Makes the snapshot of a topic; `None` for topics that only have updates.
pub(crate) fn snapshot(model: &ReadModel<impl Sized>, topic: Topic) -> Option<SharedText> {
    let view = &model.view;
    let made = match topic {
        Topic::Book(symbol) if is_long(view, topic) => Ok(long_snapshots::book(view, symbol)),
        Topic::Book(symbol) => Ok(book_snapshot(view, symbol)),
        Topic::Trades(symbol) => last_trades(model, symbol).map(|last| trades("snapshot", view, symbol, &last)),
        Topic::Candles(symbol, interval) => candles_snapshot(model, symbol, interval),
        Topic::Orders(account) if is_long(view, topic) => long_snapshots::orders(model, account),
        Topic::Orders(account) => orders_snapshot(model, account),
        Topic::Symbols => {
            let some = (0..).map(SymbolIndex).zip(view.listings()).take(ticker::AT_ONCE);
            let shapes: Vec<SymbolShape> =
                some.map(|(symbol, _)| SymbolShape::of(view, symbol, market_now(view))).collect();
            let more = shapes.len() < view.listings().len();
            let next = shapes.last().filter(|_| more).map(|last| last.symbol.clone());
            Ok(symbols("snapshot", shapes, next))
        }
        Topic::Reports(_) | Topic::Status | Topic::Dialect(..) => return None,
    };
    match made {
        Ok(message) => Some(message),
        Err(error) => Some(unreadable(&error)),
    }
}

fn text(message: &impl Serialize) -> SharedText {
    crate::json::text(message).into()
}

/// The fields with which each message of a channel begins.
#[derive(Serialize)]
struct Message<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    channel: &'static str,
    #[serde(flatten)]
    content: T,
}

/// Returns the last trades of a symbol, oldest first: from the history where memory keeps fewer.
fn last_trades(model: &ReadModel<impl Sized>, symbol: SymbolIndex) -> Result<Vec<Trade>, HistoryError> {
    let listing = model.view.listing(symbol);
    let mut last: Vec<Trade> = listing.recent().take(TRADES_SHOWN).copied().collect();
    if last.len() < TRADES_SHOWN && listing.has_older {
        let bounds = PageBounds::of_page(TRADES_SHOWN);
        let older = model.history()?.map(|history| history.trades_of(symbol, None, bounds)).transpose();
        match older {
            Ok(Some(Some((page, _)))) => last = page,
            Ok(Some(None) | None) | Err(HistoryError::NoLongerKept { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    last.reverse();
    Ok(last)
}

fn book_snapshot(view: &View, symbol: SymbolIndex) -> SharedText {
    // The update that others wait for comes behind it.
    let update = view.listing(symbol).update;
    text(&Message { kind: "snapshot", channel: "book", content: BookShape::of(view, symbol, update, usize::MAX) })
}

#[derive(Serialize, ToSchema)]
pub(crate) struct BookUpdate {
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Count)]
    update: u64,
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = Vec<schema_values::Level>)]
    bids: Vec<LevelShape>,
    #[schema(value_type = Vec<schema_values::Level>)]
    asks: Vec<LevelShape>,
    #[schema(value_type = schema_values::Checksum)]
    checksum: u32,
    /// The phase of the symbol; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<PhaseShape>,
}

/// Writes levels that changed, as they stand.
pub(crate) fn book_update(view: &View, symbol: SymbolIndex, levels: &[(Side, Price)]) -> SharedText {
    let listing = view.listing(symbol);
    let of = |wanted: Side| {
        let its = levels.iter().filter(|(side, _)| *side == wanted);
        its.map(|(side, limit)| level(listing.book.level(*side, *limit))).collect()
    };
    let content = BookUpdate {
        symbol: listing.name.to_string(),
        update: listing.update,
        sequence: view.sequence().0,
        time: view.time().0,
        bids: of(Side::Buy),
        asks: of(Side::Sell),
        checksum: checksum(view, symbol),
        phase: PhaseShape::of(listing),
    };
    text(&Message { kind: "update", channel: "book", content })
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TradesTold {
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    trades: Vec<TradeShape>,
}

/// Writes trades, oldest first.
pub(crate) fn trades(kind: &'static str, view: &View, symbol: SymbolIndex, trades: &[Trade]) -> SharedText {
    let content = TradesTold {
        symbol: view.listing(symbol).name.to_string(),
        trades: trades.iter().map(|trade| TradeShape::of(view, trade)).collect(),
    };
    text(&Message { kind, channel: "trades", content })
}

fn candles_snapshot(
    model: &ReadModel<impl Sized>,
    symbol: SymbolIndex,
    interval: Interval,
) -> Result<SharedText, HistoryError> {
    let candles = model.candles(symbol, interval, None, CANDLES_SHOWN)?;
    let content = CandlesShape {
        symbol: model.view.listing(symbol).name.to_string(),
        interval: interval.name(),
        candles: candles.iter().map(CandleShape::of).collect(),
    };
    Ok(text(&Message { kind: "snapshot", channel: "candles", content }))
}

#[derive(Serialize, ToSchema)]
pub(crate) struct CandleUpdate {
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Interval)]
    interval: &'static str,
    candle: CandleShape,
}

/// Writes the candle that trades have changed.
pub(crate) fn candle_update(view: &View, symbol: SymbolIndex, interval: Interval, candle: &Candle) -> SharedText {
    let symbol = view.listing(symbol).name.to_string();
    let content = CandleUpdate { symbol, interval: interval.name(), candle: CandleShape::of(candle) };
    text(&Message { kind: "update", channel: "candles", content })
}

#[derive(Serialize, ToSchema)]
pub(crate) struct OrdersShown {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    account: AccountShape,
    orders: Vec<OrderShape>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct OrdersUpdate {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    account: AccountShape,
    orders: Vec<OrderShape>,
    executions: Vec<ExecutionShape>,
}

fn orders_snapshot(model: &ReadModel<impl Sized>, account: AccountIndex) -> Result<SharedText, HistoryError> {
    let view = &model.view;
    let orders: Result<Vec<_>, _> = view.orders_of(account).map(|open| OrderShape::open(model, &open)).collect();
    let content =
        OrdersShown { sequence: view.sequence().0, account: AccountShape::of(view, account), orders: orders? };
    Ok(text(&Message { kind: "snapshot", channel: "orders", content }))
}

/// Writes the orders of an account that changed.
pub(crate) fn orders_update(model: &ReadModel<impl Sized>, account: AccountIndex, news: &AccountNews) -> SharedText {
    let view = &model.view;
    let ended = news.ended.iter().map(|ended| OrderShape::ended(model, ended));
    let open = news.open.iter().filter_map(|order| view.open_order(*order));
    let orders: Result<Vec<_>, _> = ended.chain(open.map(|open| OrderShape::open(model, &open))).collect();
    let orders = match orders {
        Ok(orders) => orders,
        Err(error) => return unreadable(&error),
    };
    let executions = news.trades.iter().map(|(trade, side)| ExecutionShape::of(view, trade, *side)).collect();
    let content =
        OrdersUpdate { sequence: view.sequence().0, account: AccountShape::of(view, account), orders, executions };
    text(&Message { kind: "update", channel: "orders", content })
}

/// Reports of an account, as its `orders` channel sends them after a `from`.
#[derive(Serialize, ToSchema)]
pub(crate) struct Reports {
    #[schema(value_type = schema_values::Account)]
    account: String,
    reports: Vec<ReportShape>,
    /// The command up to which all reports were sent.
    #[schema(value_type = schema_values::Sequence)]
    through: u64,
    /// Whether the replay has ended: later reports come as things happen.
    live: bool,
}

/// Returns the last command whose reports are complete, when `last` was sent and `next` was not yet. If `next` is not
/// known, it may be of the same command as `last`.
pub(crate) fn whole(last: ReportKey, next: Option<ReportKey>) -> Sequence {
    match next {
        Some(next) if next.sequence > last.sequence => last.sequence,
        _ => Sequence(last.sequence.0.saturating_sub(1)),
    }
}

/// Writes reports in order.
pub(crate) fn reports(
    view: &View,
    account: AccountIndex,
    reports: &[Report],
    through: Sequence,
    live: bool,
) -> SharedText {
    let reports = reports.iter().map(|report| ReportShape::of(view, report)).collect();
    let account = view.account(account).id.to_string();
    let content = Reports { account, reports, through: through.0, live };
    text(&Message { kind: "reports", channel: "orders", content })
}

/// Reports of some accounts, as the channel `drop-copy` sends them.
#[derive(Serialize, ToSchema)]
pub(crate) struct DropCopyTold {
    reports: Vec<ReportOfAccount>,
    /// The command up to which all reports were sent.
    #[schema(value_type = schema_values::Sequence)]
    through: u64,
    /// Whether everything that happened so far was sent.
    live: bool,
}

/// A report of one account.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReportOfAccount {
    #[schema(value_type = schema_values::Account)]
    account: String,
    report: ReportShape,
}

/// Writes reports of several accounts in the order of their commands.
pub(crate) fn drop_copy(view: &View, reports: &[(AccountIndex, Report)], through: Sequence, live: bool) -> SharedText {
    let shape = |(account, report): &(AccountIndex, Report)| ReportOfAccount {
        account: view.account(*account).id.to_string(),
        report: ReportShape::of(view, report),
    };
    let content = DropCopyTold { reports: reports.iter().map(shape).collect(), through: through.0, live };
    text(&Message { kind: "reports", channel: "drop-copy", content })
}

#[derive(Serialize, ToSchema)]
pub(crate) struct SymbolsShown {
    symbols: Vec<SymbolShape>,
    /// The symbol behind which there are more: GET /symbols has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema_values::Symbol, required = false)]
    next: Option<String>,
}

pub(crate) fn symbols(kind: &'static str, symbols: Vec<SymbolShape>, next: Option<String>) -> SharedText {
    text(&Message { kind, channel: "symbols", content: SymbolsShown { symbols, next } })
}

pub(crate) fn status(measured: &Measured) -> SharedText {
    text(&Message { kind: "update", channel: "status", content: measured })
}

/// Writes the answer to a request that was understood.
pub(crate) fn done(kind: &'static str, request: &Value) -> SharedText {
    let mut told = json!({"type": kind});
    for field in ["id", "channel", "symbol", "account", "interval", "from", "accounts", "member"] {
        if let Some(value) = request.get(field) {
            told[field] = value.clone();
        }
    }
    text(&told)
}

/// Writes the error where the answer is in the history, which cannot be read.
pub(crate) fn unreadable(error: &HistoryError) -> SharedText {
    let problem = Problem::unreadable(error);
    refusal(None, problem.code.name(), &problem.detail)
}

pub(crate) fn refusal(id: Option<&Value>, code: &str, detail: &str) -> SharedText {
    let mut told = json!({"type": "error", "code": code, "detail": detail});
    if let Some(id) = id {
        told["id"] = id.clone();
    }
    text(&told)
}
