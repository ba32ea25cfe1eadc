//! What is shown, as JSON: amounts are strings, exact; times are microseconds since the Unix epoch.

use engine::{AccountIndex, ClientOrderId, Money, Position, Price, Shares, Side, SymbolIndex, Time};
use feed::{Candle, Ended, History, HistoryError, LevelChange, Open, PastOrder, Report, Scene, Trade, View};
use serde::Serialize;
use utoipa::ToSchema;

use crate::describe::values;
use crate::past::Past;

/// `buy` or `sell`.
pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Symbol)]
pub(crate) struct SymbolShape {
    #[schema(value_type = values::Symbol)]
    pub(crate) symbol: String,
    #[schema(value_type = Option<values::Price>, required = true)]
    last: Option<String>,
    #[schema(value_type = Option<values::Time>, required = true)]
    last_time: Option<u64>,
    #[schema(value_type = Option<values::Change>, required = true)]
    change: Option<String>,
    #[schema(value_type = Option<values::Percent>, required = true)]
    change_percent: Option<String>,
    #[schema(value_type = Option<values::Price>, required = true)]
    open_24h: Option<String>,
    #[schema(value_type = Option<values::Price>, required = true)]
    high_24h: Option<String>,
    #[schema(value_type = Option<values::Price>, required = true)]
    low_24h: Option<String>,
    #[schema(value_type = values::Position)]
    volume_24h: String,
    #[schema(value_type = values::Money)]
    money_24h: String,
    #[schema(value_type = values::Count)]
    trades_24h: u64,
    #[schema(value_type = Option<values::Price>, required = true)]
    best_bid: Option<String>,
    #[schema(value_type = Option<values::Price>, required = true)]
    best_ask: Option<String>,
    #[schema(value_type = values::Position)]
    issued: String,
}

impl SymbolShape {
    pub(crate) fn of(view: &View, symbol: SymbolIndex, now: Time) -> SymbolShape {
        let listing = view.listing(symbol);
        let day = listing.day(now);
        let (volume, money) = day.map_or((Position::ZERO, Money::ZERO), |day| (day.volume, day.money));
        let last = listing.last.map(|trade| trade.price);
        let change = last.zip(day).map(|(last, day)| last.units() - day.open.units());
        SymbolShape {
            symbol: listing.name.to_string(),
            last: text(last),
            last_time: listing.last.map(|trade| trade.time.0),
            change: change.map(|units| Position::from_units(units.into()).to_string()),
            change_percent: change.zip(day).map(|(units, day)| percent(units, day.open)),
            open_24h: text(day.map(|day| day.open)),
            high_24h: text(day.map(|day| day.high)),
            low_24h: text(day.map(|day| day.low)),
            volume_24h: volume.to_string(),
            money_24h: money.to_string(),
            trades_24h: day.map_or(0, |day| day.trades),
            best_bid: text(listing.book.best(Side::Buy)),
            best_ask: text(listing.book.best(Side::Sell)),
            issued: listing.issued.to_string(),
        }
    }
}

fn text(amount: Option<impl ToString>) -> Option<String> {
    amount.map(|amount| amount.to_string())
}

/// Of a price, with two decimals.
fn percent(change: i64, of: Price) -> String {
    format!("{:.2}", change as f64 / of.units() as f64 * 100.0)
}

/// Limit, shares, number of orders.
pub(crate) type LevelShape = (String, String, u32);

pub(crate) fn level(change: LevelChange) -> LevelShape {
    (change.limit.to_string(), change.shares.to_string(), change.orders)
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Book)]
pub(crate) struct BookShape {
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Sequence)]
    sequence: u64,
    #[schema(value_type = values::Count)]
    update: u64,
    #[schema(value_type = values::Time)]
    time: u64,
    #[schema(value_type = Vec<values::Level>)]
    bids: Vec<LevelShape>,
    #[schema(value_type = Vec<values::Level>)]
    asks: Vec<LevelShape>,
    #[schema(value_type = values::Checksum)]
    checksum: u32,
}

impl BookShape {
    pub(crate) fn of(view: &View, symbol: SymbolIndex, depth: usize) -> BookShape {
        let listing = view.listing(symbol);
        let side = |side| {
            let levels = listing.book.levels(side).take(depth);
            levels.map(|(limit, at)| (limit.to_string(), at.shares.to_string(), at.orders)).collect()
        };
        BookShape {
            symbol: listing.name.to_string(),
            sequence: view.sequence().0,
            update: listing.update,
            time: view.time().0,
            bids: side(Side::Buy),
            asks: side(Side::Sell),
            checksum: checksum(view, symbol),
        }
    }
}

/// Levels a side that the checksum covers.
const CHECKED_LEVELS: usize = 10;

/// The CRC-32 of the best levels, by which a follower sees that its book is ours.
pub(crate) fn checksum(view: &View, symbol: SymbolIndex) -> u32 {
    let book = &view.listing(symbol).book;
    let (mut bids, mut asks) = (book.levels(Side::Buy), book.levels(Side::Sell));
    let mut parts = Vec::new();
    for _ in 0..CHECKED_LEVELS {
        for (limit, level) in [bids.next(), asks.next()].into_iter().flatten() {
            parts.push(format!("{limit}:{}", level.shares));
        }
    }
    crc32fast::hash(parts.join(":").as_bytes())
}

/// An order in its queue.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = QueuedOrder)]
pub(crate) struct QueuedShape {
    #[schema(value_type = values::Order)]
    order_id: u64,
    #[schema(value_type = values::Account)]
    account: String,
    #[schema(value_type = values::Price)]
    limit: String,
    #[schema(value_type = values::Shares)]
    open: String,
    #[schema(value_type = Option<values::Time>, required = true)]
    time: Option<u64>,
}

impl QueuedShape {
    pub(crate) fn of(scene: &Scene<impl Sized>, open: &Open) -> Result<QueuedShape, HistoryError> {
        Ok(QueuedShape {
            order_id: open.order.0,
            account: scene.view.account(open.account).id.to_string(),
            limit: open.limit.to_string(),
            open: open.open.to_string(),
            time: placed_at(scene.history.as_ref(), open)?,
        })
    }
}

/// When an open order was placed: the view does not know it of those that were open at the start.
pub(crate) fn placed_at(history: Option<&History>, open: &Open) -> Result<Option<u64>, HistoryError> {
    match (open.time, history) {
        (Time::ZERO, Some(history)) => Ok(history.order(open.order)?.map(|order| order.time.0)),
        (Time::ZERO, None) => Ok(None),
        (time, _) => Ok(Some(time.0)),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Trade)]
pub(crate) struct TradeShape {
    #[schema(value_type = values::Trade)]
    pub(crate) trade_id: u64,
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Price)]
    price: String,
    #[schema(value_type = values::Shares)]
    shares: String,
    #[schema(value_type = values::Time)]
    time: u64,
    #[schema(value_type = values::Side)]
    aggressor: &'static str,
    #[schema(value_type = values::Order)]
    buy_order: u64,
    #[schema(value_type = values::Order)]
    sell_order: u64,
}

impl TradeShape {
    pub(crate) fn of(view: &View, trade: &Trade) -> TradeShape {
        TradeShape {
            trade_id: trade.id,
            symbol: view.listing(trade.symbol).name.to_string(),
            price: trade.price.to_string(),
            shares: trade.shares.to_string(),
            time: trade.time.0,
            aggressor: side_name(trade.aggressor),
            buy_order: trade.order(Side::Buy).0,
            sell_order: trade.order(Side::Sell).0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Candle)]
pub(crate) struct CandleShape {
    #[schema(value_type = values::Time)]
    start: u64,
    #[schema(value_type = values::Price)]
    open: String,
    #[schema(value_type = values::Price)]
    high: String,
    #[schema(value_type = values::Price)]
    low: String,
    #[schema(value_type = values::Price)]
    close: String,
    #[schema(value_type = values::Position)]
    volume: String,
    #[schema(value_type = values::Money)]
    money: String,
    #[schema(value_type = values::Count)]
    trades: u64,
}

impl CandleShape {
    pub(crate) fn of(candle: &Candle) -> CandleShape {
        CandleShape {
            start: candle.start.0,
            open: candle.open.to_string(),
            high: candle.high.to_string(),
            low: candle.low.to_string(),
            close: candle.close.to_string(),
            volume: candle.volume.to_string(),
            money: candle.money.to_string(),
            trades: candle.trades,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Account)]
pub(crate) struct AccountShape {
    #[schema(value_type = values::Account)]
    account: String,
    #[schema(value_type = values::Money)]
    balance: String,
    #[schema(value_type = values::Money)]
    held: String,
    positions: Vec<HoldingShape>,
    #[schema(value_type = values::Count)]
    open_orders: u32,
    #[schema(value_type = values::Sequence)]
    sequence: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Holding)]
struct HoldingShape {
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Position)]
    shares: String,
    #[schema(value_type = values::Position)]
    held: String,
}

impl AccountShape {
    pub(crate) fn of(view: &View, account: AccountIndex) -> AccountShape {
        let account = view.account(account);
        let there = account
            .holdings
            .iter()
            .filter(|holding| holding.shares != Position::ZERO || holding.held != Position::ZERO);
        AccountShape {
            account: account.id.to_string(),
            balance: account.balance.to_string(),
            held: account.held.to_string(),
            positions: there
                .map(|holding| HoldingShape {
                    symbol: view.listing(holding.symbol).name.to_string(),
                    shares: holding.shares.to_string(),
                    held: holding.held.to_string(),
                })
                .collect(),
            open_orders: account.open_orders,
            sequence: view.sequence().0,
        }
    }
}

/// An order with all that became of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Order)]
pub(crate) struct OrderShape {
    #[schema(value_type = values::Order)]
    pub(crate) order_id: u64,
    #[schema(value_type = Option<values::ClientOrder>, required = true)]
    client_order_id: Option<String>,
    #[schema(value_type = values::Account)]
    account: String,
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Side)]
    side: &'static str,
    #[schema(value_type = values::Price)]
    limit: String,
    #[schema(value_type = values::Shares)]
    shares: String,
    #[schema(value_type = values::Shares)]
    open: String,
    #[schema(value_type = values::Shares)]
    executed: String,
    #[schema(value_type = values::Shares)]
    canceled: String,
    #[schema(value_type = values::OrderStatus)]
    status: &'static str,
    #[schema(value_type = Option<values::Time>, required = true)]
    time: Option<u64>,
    #[schema(value_type = Option<values::Time>, required = true)]
    done_time: Option<u64>,
    #[schema(value_type = Option<values::Price>, required = true)]
    average_price: Option<String>,
}

impl OrderShape {
    pub(crate) fn open(view: &View, history: Option<&History>, open: &Open) -> Result<OrderShape, HistoryError> {
        let time = placed_at(history, open)?;
        Ok(OrderShape::new(view, open, view.client_id(open.order), Shares::ZERO, time, None))
    }

    pub(crate) fn ended(view: &View, history: Option<&History>, ended: &Ended) -> Result<OrderShape, HistoryError> {
        let time = placed_at(history, &ended.order)?;
        Ok(OrderShape::new(view, &ended.order, ended.client_id, ended.canceled, time, Some(ended.time)))
    }

    /// One of the history.
    pub(crate) fn past(view: &View, past: &Past) -> OrderShape {
        let PastOrder { order, account, symbol, side, limit, shares, time, client_id, .. } = past.order;
        match (past.open, past.order.ended) {
            (Some(open), _) => OrderShape::new(view, &open, client_id, Shares::ZERO, Some(time.0), None),
            (None, ended) => {
                let money = ended.map_or(Money::ZERO, |ended| ended.money);
                let done = Open { order, account, symbol, side, limit, shares, open: Shares::ZERO, money, time };
                let canceled = ended.map_or(Shares::ZERO, |ended| ended.canceled);
                OrderShape::new(view, &done, client_id, canceled, Some(time.0), ended.map(|ended| ended.time))
            }
        }
    }

    fn new(
        view: &View,
        order: &Open,
        client_id: Option<ClientOrderId>,
        canceled: Shares,
        time: Option<u64>,
        done: Option<Time>,
    ) -> OrderShape {
        let executed = order.shares.less(order.open).less(canceled);
        let status = match (done, canceled.is_zero()) {
            (None, _) => "open",
            (Some(_), true) => "executed",
            (Some(_), false) => "canceled",
        };
        OrderShape {
            order_id: order.order.0,
            client_order_id: client_id.map(|id| id.to_string()),
            account: view.account(order.account).id.to_string(),
            symbol: view.listing(order.symbol).name.to_string(),
            side: side_name(order.side),
            limit: order.limit.to_string(),
            shares: order.shares.to_string(),
            open: order.open.to_string(),
            executed: executed.to_string(),
            canceled: canceled.to_string(),
            status,
            time,
            done_time: done.map(|time| time.0),
            average_price: average(order.money, executed),
        }
    }
}

/// Money divided by shares, rounded down to the decimals of a price; none without shares.
fn average(money: Money, shares: Shares) -> Option<String> {
    let average = money.units().checked_div(shares.units().into())?;
    i64::try_from(average).ok().and_then(Price::from_units).map(|price| price.to_string())
}

/// What an order on this side of a trade was: placed just then, or open before.
fn role(trade: &Trade, side: Side) -> &'static str {
    match side == trade.aggressor {
        true => "aggressor",
        false => "maker",
    }
}

/// One side of a trade.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Execution)]
pub(crate) struct ExecutionShape {
    #[schema(value_type = values::Trade)]
    trade_id: u64,
    #[schema(value_type = values::Order)]
    order_id: u64,
    #[schema(value_type = values::Account)]
    account: String,
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Side)]
    side: &'static str,
    #[schema(value_type = values::Role)]
    role: &'static str,
    #[schema(value_type = values::Price)]
    price: String,
    #[schema(value_type = values::Shares)]
    shares: String,
    #[schema(value_type = values::Time)]
    time: u64,
}

impl ExecutionShape {
    pub(crate) fn of(view: &View, trade: &Trade, side: Side) -> ExecutionShape {
        let account = match side == trade.aggressor {
            true => trade.aggressor_account,
            false => trade.maker_account,
        };
        ExecutionShape {
            trade_id: trade.id,
            order_id: trade.order(side).0,
            account: view.account(account).id.to_string(),
            symbol: view.listing(trade.symbol).name.to_string(),
            side: side_name(side),
            role: role(trade, side),
            price: trade.price.to_string(),
            shares: trade.shares.to_string(),
            time: trade.time.0,
        }
    }
}

/// Something that happened to an order.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "report", rename_all = "lowercase")]
#[schema(as = Report)]
pub(crate) enum ReportShape {
    Placed(PlacedReport),
    Executed(ExecutedReport),
    Canceled(CanceledReport),
}

/// An order was placed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct PlacedReport {
    #[schema(value_type = values::Sequence)]
    sequence: u64,
    #[schema(value_type = values::Time)]
    time: u64,
    #[schema(value_type = values::Order)]
    order_id: u64,
    #[schema(value_type = Option<values::ClientOrder>, required = true)]
    client_order_id: Option<String>,
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Side)]
    side: &'static str,
    #[schema(value_type = values::Price)]
    limit: String,
    #[schema(value_type = values::Shares)]
    shares: String,
}

/// Shares of an order were executed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ExecutedReport {
    #[schema(value_type = values::Sequence)]
    sequence: u64,
    #[schema(value_type = values::Time)]
    time: u64,
    #[schema(value_type = values::Order)]
    order_id: u64,
    #[schema(value_type = values::Trade)]
    trade_id: u64,
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Side)]
    side: &'static str,
    #[schema(value_type = values::Role)]
    role: &'static str,
    #[schema(value_type = values::Price)]
    price: String,
    #[schema(value_type = values::Shares)]
    shares: String,
}

/// What was open of an order was canceled.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct CanceledReport {
    #[schema(value_type = values::Sequence)]
    sequence: u64,
    #[schema(value_type = values::Time)]
    time: u64,
    #[schema(value_type = values::Order)]
    order_id: u64,
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Side)]
    side: &'static str,
    #[schema(value_type = values::Shares)]
    shares: String,
}

impl ReportShape {
    pub(crate) fn of(view: &View, report: &Report) -> ReportShape {
        let name = |symbol| view.listing(symbol).name.to_string();
        match report {
            Report::Placed(order) => ReportShape::Placed(PlacedReport {
                sequence: order.sequence.0,
                time: order.time.0,
                order_id: order.order.0,
                client_order_id: order.client_id.map(|id| id.to_string()),
                symbol: name(order.symbol),
                side: side_name(order.side),
                limit: order.limit.to_string(),
                shares: order.shares.to_string(),
            }),
            Report::Executed(trade, side) => ReportShape::Executed(ExecutedReport {
                sequence: trade.sequence.0,
                time: trade.time.0,
                order_id: trade.order(*side).0,
                trade_id: trade.id,
                symbol: name(trade.symbol),
                side: side_name(*side),
                role: role(trade, *side),
                price: trade.price.to_string(),
                shares: trade.shares.to_string(),
            }),
            Report::Canceled(canceled) => ReportShape::Canceled(CanceledReport {
                sequence: canceled.sequence.0,
                time: canceled.time.0,
                order_id: canceled.order.0,
                symbol: name(canceled.symbol),
                side: side_name(canceled.side),
                shares: canceled.shares.to_string(),
            }),
        }
    }
}

/// An accepted order, as it was placed: the same each time that it is told.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Placed)]
pub(crate) struct PlacedShape {
    #[schema(value_type = values::Order)]
    pub(crate) order_id: u64,
    #[schema(value_type = Option<values::ClientOrder>, required = true)]
    pub(crate) client_order_id: Option<String>,
    #[schema(value_type = values::Account)]
    pub(crate) account: String,
    #[schema(value_type = values::Symbol)]
    pub(crate) symbol: String,
    #[schema(value_type = values::Side)]
    pub(crate) side: &'static str,
    #[schema(value_type = values::Price)]
    pub(crate) limit: String,
    #[schema(value_type = values::Shares)]
    pub(crate) shares: String,
}
