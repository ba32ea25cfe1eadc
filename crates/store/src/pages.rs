//! Pages of past trades and orders, for people. Each page goes along an index, from an id or a time on.

use std::time::Instant;

use exchange::Trade;
use terms::{
    AccountIndex, CancelReason, ClientOrderId, Fee, Money, OrderId, OrderKind, Price, SelfTrade, Sequence, Shares,
    Side, SymbolIndex, Time, Trigger,
};

use crate::column::{Column, Put, Single};
use crate::error::{StoreError, StoreResult};
use crate::fee_rows;
use crate::fields::Fields;
use crate::kept::{Gone, Kept, RowsOf};
use crate::reader::{Given, Reader, Seen, each};
use crate::session::Session;
use crate::term_rows::{self, SHARES_NOW};

/// The most rows that one page looks at: beyond it the page ends early and says where to go on.
const LOOKED_AT_MAX: u64 = 10_000;
/// The last time that a question may name: the year 9999.
pub(crate) const TIME_MAX: Time = Time(253_402_300_799_999_999);
/// A cursor above every id.
const NO_CURSOR: u64 = i64::MAX.unsigned_abs();

/// A page, and the start of the next one.
pub type Page<T> = (Vec<T>, Option<u64>);

/// An order as it was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedRow {
    /// The id of the order.
    pub order: OrderId,
    /// The symbol of the order.
    pub symbol: SymbolIndex,
    /// The side of the order.
    pub side: Side,
    /// The worst price that it accepts.
    pub limit: Price,
    /// The shares with which it was placed, less those taken off it.
    pub shares: Shares,
    /// The kind, with which it arrived.
    pub kind: OrderKind,
    /// The trigger for which it waits or waited.
    pub trigger: Option<Trigger>,
    /// Self-trade prevention.
    pub self_trade: SelfTrade,
    /// The time at which it was placed.
    pub time: Time,
    /// The command that placed it.
    pub sequence: Sequence,
    /// The client order id.
    pub client_id: Option<ClientOrderId>,
}

/// An order that was placed since the rows began, and its present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedRow {
    /// The account of the order.
    pub account: AccountIndex,
    /// The order as it was placed, with the terms that it has now.
    pub placed: OpenedRow,
    /// The open shares.
    pub open: Shares,
    /// The canceled shares.
    pub canceled: Shares,
    /// The money of its executions.
    pub money: Money,
    /// The time at which it was triggered; none if it never was, or that is unknown.
    pub triggered: Option<Time>,
    /// The order with which it was linked; none if there was none, or that is unknown.
    pub linked: Option<OrderId>,
    /// The working order for which it waits or waited; none if there was none, or that is unknown.
    pub pended: Option<OrderId>,
    /// The end; none while it is open.
    pub ended: Option<EndRow>,
}

/// The end of an order: its cancellation or else its last execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndRow {
    /// The reason of its cancellation; none if it was not canceled, or that is unknown.
    pub why: Option<CancelReason>,
    /// The time at which it ended.
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
}

/// The first trade of a page: the first one that is neither before this id nor before this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// The first id; none for any.
    pub trade: Option<u64>,
    /// The first time; none for any.
    pub time: Option<Time>,
}

/// The selection of an account's trades.
#[derive(Clone, Copy, Debug)]
pub struct Of {
    /// The account.
    pub account: AccountIndex,
    /// The only symbol; none for all.
    pub symbol: Option<SymbolIndex>,
    /// The only order; none for all.
    pub order: Option<OrderId>,
}

pub(crate) const TRADE: &str =
    "e.id, e.symbol, e.price, e.shares, e.time, e.sequence, e.aggressor = 'buy', e.buy_order, e.sell_order,
    e.buyer, e.seller, e.buyer_fee_rate, e.seller_fee_rate";

/// Selects the time at which order `o` was triggered, its partner, and its working order; null without them, or from
/// before there were notes.
const BEFELL: &str = "
    CASE WHEN o.trigger_price IS NOT NULL THEN (
        SELECT t.time FROM pricetime.notes t WHERE t.order_id = o.id AND t.kind = 'triggered' LIMIT 1
    ) END, (
        SELECT t.partner FROM pricetime.notes t WHERE t.order_id = o.id AND t.kind = 'linked' LIMIT 1
    ), (
        SELECT t.partner FROM pricetime.notes t WHERE t.order_id = o.id AND t.kind = 'pends' LIMIT 1
    )";

/// Selects the present terms of an order, and its end. Imported executions belong to orders that were placed before.
/// With a `LIMIT` the database looks a row up by its key, whatever it estimates: it does not know that a table in parts
/// has only one such row.
fn placed() -> String {
    format!(
        "SELECT o.account, o.id, o.symbol, o.side = 'buy', coalesce(m.limit_price, o.limit_price), {SHARES_NOW},
        coalesce(m.kind, o.kind), CASE WHEN m.kind IS NULL THEN o.trigger_price ELSE m.trigger_price END,
        CASE WHEN m.kind IS NULL THEN o.trigger_from_below ELSE m.trigger_from_below END, o.self_trade, o.time, o.sequence, n.client_order_id,
        coalesce(r.open, 0), coalesce(c.shares, 0), coalesce(e.money, 0), c.why,
        CASE WHEN r.order_id IS NULL THEN coalesce(c.time, e.time) END,
        CASE WHEN r.order_id IS NULL THEN coalesce(c.sequence, e.sequence) END, {BEFELL}
    FROM chosen o
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN LATERAL (SELECT d.* FROM pricetime.cancellations d WHERE d.order_id = o.id LIMIT 1) c ON true
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id
    LEFT JOIN pricetime.amended_orders m ON m.order_id = o.id
    LEFT JOIN LATERAL (
        SELECT sum(x.price * x.shares) AS money, max(x.time) AS time, max(x.sequence) AS sequence FROM (
            SELECT b.price, b.shares, b.time, b.sequence FROM pricetime.executions b WHERE b.buy_order = o.id
            UNION ALL
            SELECT s.price, s.shares, s.time, s.sequence FROM pricetime.executions s WHERE s.sell_order = o.id
        ) x
    ) e ON true
    ORDER BY o.id DESC"
    )
}

/// Selects a row if one of these orders was placed and then removed.
const ANY_GONE: &str = "
    SELECT 1 FROM unnest($1::bigint[]) AS u(id) CROSS JOIN pricetime.kept k
    WHERE u.id > 0 AND u.id < k.first_order AND NOT EXISTS (SELECT FROM pricetime.orders o WHERE o.id = u.id) LIMIT 1";

impl Reader {
    /// Reads trades of a symbol, newest first: those before `before`, which must be one of them (none otherwise). Until
    /// `until` it tries again while the database is away. Errors: `Unreachable`, after which the next question may
    /// succeed; `NoLongerKept`; `Stopped`; other errors last.
    pub fn trades_of_symbol(
        &mut self,
        symbol: SymbolIndex,
        before: Option<u64>,
        limit: usize,
        until: Instant,
    ) -> Result<Seen<Option<Page<Trade>>>, StoreError> {
        self.read(until, async |session: &Session, kept| match is_id(before) {
            true => trades_of_symbol(session, kept, symbol, before, limit).await,
            false => Ok(None),
        })
    }

    /// Reads the first trades of a symbol from a point on, oldest first. Errors: those of `trades_of_symbol`.
    pub fn trades_since(
        &mut self,
        symbol: SymbolIndex,
        since: Since,
        limit: usize,
        until: Instant,
    ) -> Result<Seen<Vec<Trade>>, StoreError> {
        self.read(until, async |session: &Session, kept| trades_since(session, kept, symbol, since, limit).await)
    }

    /// Reads trades of an account like `trades_of_symbol`; a trade with itself comes once.
    pub fn trades_of_account(
        &mut self,
        of: Of,
        before: Option<u64>,
        limit: usize,
        until: Instant,
    ) -> Result<Seen<Option<Page<Trade>>>, StoreError> {
        self.read(until, async |session: &Session, kept| match is_id(before) {
            true => trades_of_account(session, kept, of, before, limit).await,
            false => Ok(None),
        })
    }

    /// Reads orders of an account, newest first: those placed before `before`, which must be one of them (none
    /// otherwise). Imported orders are not among them. Errors: those of `trades_of_symbol`.
    pub fn orders_of(
        &mut self,
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        before: Option<u64>,
        limit: usize,
        until: Instant,
    ) -> Result<Seen<Option<Page<PlacedRow>>>, StoreError> {
        self.read(until, async |session: &Session, kept| match is_id(before) {
            true => orders_of(session, kept, account, symbol, before, limit).await,
            false => Ok(None),
        })
    }

    /// Reads the orders of these ids that were placed and not imported, newest first. With an `owner` nothing more is
    /// read of the orders of other accounts than whose they are. Errors: those of `trades_of_symbol`.
    pub fn orders(
        &mut self,
        owner: Option<AccountIndex>,
        orders: &[OrderId],
        until: Instant,
    ) -> Result<Seen<Vec<PlacedRow>>, StoreError> {
        let asked: Vec<OrderId> = orders.iter().copied().filter(|order| i64::try_from(order.0).is_ok()).collect();
        let sql = format!(
            "WITH chosen AS (
                 SELECT o.* FROM unnest($1::bigint[]) AS u(id)
                 CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = u.id LIMIT 1) o
                 WHERE o.sequence IS NOT NULL AND ($2::bigint IS NULL OR o.account = $2::bigint)
             ) {}",
            placed()
        );
        let owner = Single(owner.map(|owner| owner.0));
        self.read(until, async |session: &Session, kept| {
            let ids = Column::of(&asked, |order, out| order.0.put(out));
            let rows = session.client.query(&sql, &[&ids, &owner]).await?;
            let lacking = rows.len() < asked.len() && asked.iter().any(|order| order.0 < kept.first_order);
            if lacking && session.client.query_opt(ANY_GONE, &[&ids]).await?.is_some() {
                return Err(kept.error().into());
            }
            Ok(each(&rows, placed_row)?)
        })
    }
}

/// Whether a page can begin at this id: ids are positive and below 2^63.
fn is_id(before: Option<u64>) -> bool {
    before.is_none_or(|before| before > 0 && i64::try_from(before).is_ok())
}

/// Checks that a page does not begin in what was removed. Errors: it does.
fn expect_kept(gone: Option<Gone>, before: Option<u64>) -> Result<(), StoreError> {
    match gone.filter(|gone| before.is_some_and(|before| before <= gone.id)) {
        Some(gone) => Err(gone.error()),
        None => Ok(()),
    }
}

/// Makes a page. If the next one would begin in what was removed, its start is the `last` row of this one, so that it
/// can refuse. Errors: no row stands before what was removed.
fn page<T>(rows: Vec<T>, next: Option<u64>, gone: Option<Gone>, last: fn(&T) -> u64) -> Result<Page<T>, StoreError> {
    match (gone.filter(|_| next.is_none()), rows.last()) {
        (Some(gone), None) => Err(gone.error()),
        (Some(_), Some(row)) => {
            let behind = last(row);
            Ok((rows, Some(behind)))
        }
        (None, _) => Ok((rows, next)),
    }
}

async fn trades_of_symbol(
    session: &Session,
    kept: Kept,
    symbol: SymbolIndex,
    before: Option<u64>,
    limit: usize,
) -> StoreResult<Option<Page<Trade>>> {
    let of_symbol = Single(symbol.0);
    let gone = kept.gone(session, RowsOf::TradesIn(symbol)).await?;
    expect_kept(gone, before)?;
    let mut from = (TIME_MAX, NO_CURSOR);
    if let Some(before) = before {
        let sql = "SELECT time FROM pricetime.executions WHERE id = $1::bigint AND symbol = $2::bigint";
        let found = session.client.query_opt(sql, &[&Single(before), &of_symbol]).await?;
        let Some(row) = found else { return Ok(None) };
        from = (Fields::of(&row).next()?, before);
    }
    let sql = format!(
        "SELECT {TRADE} FROM pricetime.executions e
         WHERE e.symbol = $1::bigint AND (e.time, e.id) < ($2::timestamptz, $3::bigint) AND e.id >= {}
         ORDER BY e.time DESC, e.id DESC LIMIT $4::bigint",
        kept.first_execution
    );
    let (time, id, more) = (Single(from.0), Single(from.1), Single(limit.saturating_add(1) as u64));
    let given: [Given<'_>; 4] = [&of_symbol, &time, &id, &more];
    let mut trades = each(&session.client.query(&sql, &given).await?, trade_row)?;
    let more = trades.len() > limit;
    trades.truncate(limit);
    let next = trades.last().filter(|_| more).map(|trade| trade.id);
    Ok(Some(page(trades, next, gone, |trade| trade.id)?))
}

async fn trades_since(
    session: &Session,
    kept: Kept,
    symbol: SymbolIndex,
    since: Since,
    limit: usize,
) -> StoreResult<Vec<Trade>> {
    let (mut time, id) = (since.time.unwrap_or(Time::ZERO).min(TIME_MAX), since.trade.unwrap_or(0));
    if i64::try_from(id).is_err() {
        return Ok(Vec::new());
    }
    let gone = kept.gone(session, RowsOf::TradesIn(symbol)).await?;
    if let Some(gone) = gone.filter(|gone| id <= gone.id && time <= gone.time) {
        return Err(gone.error().into());
    }
    let id = id.max(kept.first_execution);
    if since.trade.is_some() {
        // The trade may be of any symbol: no later one happened before it.
        let sql = "SELECT time FROM pricetime.executions WHERE id >= $1::bigint ORDER BY id LIMIT 1";
        let Some(row) = session.client.query_opt(sql, &[&Single(id)]).await? else { return Ok(Vec::new()) };
        time = time.max(Fields::of(&row).next()?);
    }
    let sql = format!(
        "SELECT {TRADE} FROM pricetime.executions e
         WHERE e.symbol = $1::bigint AND (e.time, e.id) >= ($2::timestamptz, $3::bigint)
         ORDER BY e.time, e.id LIMIT $4::bigint"
    );
    let given: [Given<'_>; 4] = [&Single(symbol.0), &Single(time), &Single(id), &Single(limit as u64)];
    Ok(each(&session.client.query(&sql, &given).await?, trade_row)?)
}

async fn trades_of_account(
    session: &Session,
    kept: Kept,
    of: Of,
    before: Option<u64>,
    limit: usize,
) -> StoreResult<Option<Page<Trade>>> {
    let client = &session.client;
    let gone = kept.gone(session, RowsOf::TradesOf(of.account)).await?;
    expect_kept(gone, before)?;
    if let Some(before) = before {
        let sql = "SELECT 1 FROM pricetime.executions e WHERE e.id = $1::bigint AND $2::bigint IN (e.buyer, e.seller)";
        if client.query_opt(sql, &[&Single(before), &Single(of.account.0)]).await?.is_none() {
            return Ok(None);
        }
    }
    let chain = Chain {
        account: of.account,
        from: before.unwrap_or(NO_CURSOR),
        first: kept.first_execution,
        rows: executions_of_account,
    };
    // An id that no order can have selects none.
    let order = of.order.map(|order| if i64::try_from(order.0).is_ok() { order.0 } else { 0 });
    let (account, from, most) = (Single(chain.account.0), Single(chain.from), Single(limit as u64));
    let (symbol, order) = (Single(of.symbol.map(|symbol| symbol.0)), Single(order));
    let sql = format!(
        "SELECT {TRADE} FROM ({}) e
         WHERE ($3::bigint IS NULL OR e.symbol = $3::bigint) AND ($4::bigint IS NULL OR $4::bigint IN (e.buy_order, e.sell_order))
         ORDER BY e.id DESC LIMIT $5::bigint",
        executions_of_account("e.*", chain.first, LOOKED_AT_MAX)
    );
    let given: [Given<'_>; 5] = [&account, &from, &symbol, &order, &most];
    let found = each(&client.query(&sql, &given).await?, trade_row)?;
    let next = chain.next(session, found.last().filter(|_| found.len() == limit).map(|trade| trade.id)).await?;
    Ok(Some(page(found, next, gone, |trade| trade.id)?))
}

async fn orders_of(
    session: &Session,
    kept: Kept,
    account: AccountIndex,
    symbol: Option<SymbolIndex>,
    before: Option<u64>,
    limit: usize,
) -> StoreResult<Option<Page<PlacedRow>>> {
    let gone = kept.gone(session, RowsOf::OrdersOf(account)).await?;
    expect_kept(gone, before)?;
    if let Some(before) = before {
        let sql =
            "SELECT 1 FROM pricetime.orders WHERE id = $1::bigint AND account = $2::bigint AND sequence IS NOT NULL";
        if session.client.query_opt(sql, &[&Single(before), &Single(account.0)]).await?.is_none() {
            return Ok(None);
        }
    }
    // Removed parts leave the orders that were open then: the list has these only as long as nothing behind them was
    // removed.
    let first = gone.map_or(1, |gone| gone.id.saturating_add(1));
    let chain = Chain { account, from: before.unwrap_or(NO_CURSOR), first, rows: orders_of_account };
    let (account, from) = (Single(chain.account.0), Single(chain.from));
    let (symbol, most) = (Single(symbol.map(|symbol| symbol.0)), Single(limit as u64));
    let sql = format!(
        "WITH chosen AS (
             SELECT l.* FROM ({}) l WHERE $3::bigint IS NULL OR l.symbol = $3::bigint ORDER BY l.id DESC LIMIT $4::bigint
         ) {}",
        orders_of_account("o.*", chain.first, LOOKED_AT_MAX),
        placed()
    );
    let given: [Given<'_>; 4] = [&account, &from, &symbol, &most];
    let found = each(&session.client.query(&sql, &given).await?, placed_row)?;
    let last = found.last().filter(|_| found.len() == limit).map(|row| row.placed.order.0);
    let next = chain.next(session, last).await?;
    Ok(Some(page(found, next, gone, |row| row.placed.order.0)?))
}

/// Selects the executions of account `$1` from `first` on and before `$2`, newest first, each once, up to a number.
fn executions_of_account(columns: &str, first: u64, most: u64) -> String {
    let side = |condition: &str| {
        format!(
            "(SELECT {columns} FROM pricetime.executions e
              WHERE {condition} AND e.id < $2::bigint AND e.id >= {first} ORDER BY e.id DESC LIMIT {most})"
        )
    };
    let (bought, sold) = (side("e.buyer = $1::bigint"), side("e.seller = $1::bigint AND e.buyer <> $1::bigint"));
    format!("SELECT {columns} FROM ({bought} UNION ALL {sold}) e ORDER BY e.id DESC LIMIT {most}")
}

/// Selects the orders of account `$1` from `first` on and before `$2`, newest first, up to a number.
fn orders_of_account(columns: &str, first: u64, most: u64) -> String {
    format!(
        "SELECT {columns} FROM pricetime.orders o
         WHERE o.account = $1::bigint AND o.id < $2::bigint AND o.id >= {first} AND o.sequence IS NOT NULL
         ORDER BY o.id DESC LIMIT {most}"
    )
}

/// Rows of an account before an id, newest first, whether or not a page selects them.
struct Chain {
    account: AccountIndex,
    from: u64,
    /// The id before which no row is read.
    first: u64,
    /// The statement that selects columns of some of these rows.
    rows: fn(&str, u64, u64) -> String,
}

impl Chain {
    /// The start of the next page: behind the row that filled this one, or else behind the last row that was looked at.
    /// Returns `None` after the last row.
    async fn next(&self, session: &Session, filled: Option<u64>) -> StoreResult<Option<u64>> {
        let (from, skipped) = filled.map_or((self.from, LOOKED_AT_MAX - 1), |last| (last, 0));
        // One row behind the end of the page is enough to know, and for an unfilled page also its end, which lies
        // before.
        let sql = format!("SELECT a.id FROM ({}) a OFFSET {skipped}", (self.rows)("id", self.first, skipped + 2));
        let rows = session.client.query(&sql, &[&Single(self.account.0), &Single(from)]).await?;
        let ids = each(&rows, |fields| fields.next::<u64>())?;
        Ok(match filled {
            Some(last) => Some(last).filter(|_| !ids.is_empty()),
            None => ids.first().copied().filter(|_| ids.len() == 2),
        })
    }
}

pub(crate) fn side(buys: bool) -> Side {
    if buys { Side::Buy } else { Side::Sell }
}

pub(crate) fn trade_row(fields: &mut Fields<'_>) -> Result<Trade, StoreError> {
    let (id, symbol, price, shares) = (fields.next()?, SymbolIndex(fields.next()?), fields.next()?, fields.next()?);
    let (time, sequence, aggressor) = (fields.next()?, Sequence(fields.next()?), side(fields.next()?));
    let orders = [OrderId(fields.next()?), OrderId(fields.next()?)];
    let accounts = [AccountIndex(fields.next()?), AccountIndex(fields.next()?)];
    let [buyer_rate, seller_rate] = fee_rows::rates(fields)?;
    let fees = [Fee::on(Side::Buy, buyer_rate), Fee::on(Side::Sell, seller_rate)];
    // The buyer comes first in each of these.
    let (maker, aggressors) = if aggressor == Side::Buy { (1, 0) } else { (0, 1) };
    Ok(Trade {
        id,
        symbol,
        price,
        shares,
        time,
        sequence,
        aggressor,
        maker_order: orders[maker],
        aggressor_order: orders[aggressors],
        maker_account: accounts[maker],
        aggressor_account: accounts[aggressors],
        maker_fee: fees[maker],
        aggressor_fee: fees[aggressors],
    })
}

pub(crate) fn client_id(fields: &mut Fields<'_>) -> Result<Option<ClientOrderId>, StoreError> {
    let id = fields.maybe::<&str>()?.map(|id| ClientOrderId::parse(id.as_bytes())).transpose();
    id.map_err(|_| StoreError::Unreadable { column: "client_orders.client_order_id".to_owned() })
}

fn placed_row(fields: &mut Fields<'_>) -> Result<PlacedRow, StoreError> {
    let (account, placed) = (AccountIndex(fields.next()?), opened_row(fields)?);
    let (open, canceled, money, why) = (fields.next()?, fields.next()?, fields.next()?, fields.maybe()?);
    let ended = match (fields.maybe()?, fields.maybe()?) {
        (Some(time), Some(sequence)) => Some(EndRow { why, time, sequence: Sequence(sequence) }),
        _ => None,
    };
    Ok(PlacedRow {
        account,
        placed,
        open,
        canceled,
        money,
        triggered: fields.maybe()?,
        linked: fields.maybe()?.map(OrderId),
        pended: fields.maybe()?.map(OrderId),
        ended,
    })
}

pub(crate) fn opened_row(fields: &mut Fields<'_>) -> Result<OpenedRow, StoreError> {
    Ok(OpenedRow {
        order: OrderId(fields.next()?),
        symbol: SymbolIndex(fields.next()?),
        side: side(fields.next()?),
        limit: fields.next()?,
        shares: fields.next()?,
        kind: fields.next()?,
        trigger: fields.trigger()?,
        self_trade: term_rows::self_trade(fields)?,
        time: fields.next()?,
        sequence: Sequence(fields.next()?),
        client_id: client_id(fields)?,
    })
}
