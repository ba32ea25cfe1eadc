//! Pages of what was: trades, candles and orders, newest first, for people who ask. On a connection of its own, so that a
//! long answer holds up no commit and no look-up.

use std::time::{Duration, Instant};

use engine::{AccountIndex, ClientOrderId, Money, OrderId, Position, Price, Sequence, Shares, Side, SymbolIndex, Time};
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::column::{Column, Put, Single};
use crate::error::{StoreError, Verdict, final_error, verdict, with_cause};
use crate::fields::Fields;
use crate::schema;
use crate::session::{Connector, Purpose, Session};
use crate::stop::Stop;
use crate::url::StoreUrl;
use crate::writer::unless_stopped;

const ACTION: &str = "read the history";
const PAUSE: Duration = Duration::from_millis(200);

/// Rows looked at for one page at most: past it the page ends early and says where to go on.
const LOOKED_AT_MAX: u64 = 10_000;
/// Executions of a page of candles: past it the page ends with the candle that is full.
const CANDLE_EXECUTIONS_MAX: u64 = 500_000;
/// Candles of one answer at most.
const CANDLES_MAX: usize = 10_000;
/// The last time that is looked for: the year 9999.
const TIME_MAX: Time = Time(253_402_300_799_999_999);

/// A page, and where the next one begins.
pub type Page<T> = (Vec<T>, Option<u64>);

/// An execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeRow {
    /// 1, 2, 3 …
    pub id: u64,
    /// What was traded.
    pub symbol: SymbolIndex,
    /// The price of one share.
    pub price: Price,
    /// How many.
    pub shares: Shares,
    /// When.
    pub time: Time,
    /// The command that did it.
    pub sequence: Sequence,
    /// The side of the order that was being placed.
    pub aggressor: Side,
    /// The two orders.
    pub buy_order: OrderId,
    /// See `buy_order`.
    pub sell_order: OrderId,
    /// Whose they are.
    pub buyer: AccountIndex,
    /// See `buyer`.
    pub seller: AccountIndex,
}

/// An order that was placed since the rows were begun, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedRow {
    /// Its id.
    pub order: OrderId,
    /// Whose it is.
    pub account: AccountIndex,
    /// What it is for.
    pub symbol: SymbolIndex,
    /// Buy or sell.
    pub side: Side,
    /// The worst price it takes.
    pub limit: Price,
    /// What was ordered.
    pub shares: Shares,
    /// When it was placed.
    pub time: Time,
    /// The command that placed it.
    pub sequence: Sequence,
    /// What its client calls it.
    pub client_id: Option<ClientOrderId>,
    /// What is open of it.
    pub open: Shares,
    /// What was canceled of it.
    pub canceled: Shares,
    /// What was paid for the rest.
    pub money: Money,
    /// How it ended; none while it is open.
    pub ended: Option<EndRow>,
}

/// How an order ended: by its cancellation or else by its last execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndRow {
    /// When it ended.
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
}

/// The executions of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandleRow {
    /// A multiple of its length since 1970.
    pub start: Time,
    /// The first price.
    pub open: Price,
    /// The highest.
    pub high: Price,
    /// The lowest.
    pub low: Price,
    /// The last.
    pub close: Price,
    /// Shares traded.
    pub volume: Position,
    /// What was paid for them.
    pub money: Money,
    /// How many executions.
    pub trades: u64,
}

/// Which trades of an account.
#[derive(Clone, Copy, Debug)]
pub struct Of {
    /// Whose.
    pub account: AccountIndex,
    /// Of this symbol alone.
    pub symbol: Option<SymbolIndex>,
    /// Of this order alone.
    pub order: Option<OrderId>,
}

/// Reads pages, for one thread.
pub struct Reader {
    // Before the runtime, so that it is dropped while its connection still can say good-bye.
    session: Option<Session>,
    runtime: Runtime,
    connector: Connector,
    patience: Duration,
    stop: Stop,
}

const TRADE: &str =
    "e.id, e.symbol, e.price, e.shares, e.time, e.sequence, e.aggressor = 'buy', e.buy_order, e.sell_order,
    e.buyer, e.seller";

/// What an order is, and how it ended. Imported executions are of orders that were placed before.
const PLACED: &str = "
    SELECT o.id, o.account, o.symbol, o.side = 'buy', o.limit_price, o.shares, o.time, o.sequence,
        n.client_order_id, coalesce(r.open, 0), coalesce(c.shares, 0), coalesce(e.money, 0),
        CASE WHEN r.order_id IS NULL THEN coalesce(c.time, e.time) END,
        CASE WHEN r.order_id IS NULL THEN coalesce(c.sequence, e.sequence) END
    FROM chosen o
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN LATERAL (
        SELECT sum(x.price * x.shares) AS money, max(x.time) AS time, max(x.sequence) AS sequence FROM (
            SELECT b.price, b.shares, b.time, b.sequence FROM pricetime.executions b WHERE b.buy_order = o.id
            UNION ALL
            SELECT s.price, s.shares, s.time, s.sequence FROM pricetime.executions s WHERE s.sell_order = o.id
        ) x
    ) e ON true
    ORDER BY o.id DESC";

/// Candles one after the other, newest first: where the one before lies is looked up, so stretches without trades cost
/// nothing.
const CANDLES: &str = "
    WITH RECURSIVE walk AS (
        SELECT $2::timestamptz AS start, 0::bigint AS number, 0::bigint AS looked_at, NULL::numeric AS open,
            NULL::numeric AS high, NULL::numeric AS low, NULL::numeric AS close, NULL::numeric AS volume,
            NULL::numeric AS money, NULL::bigint AS trades
        UNION ALL
        SELECT l.start, w.number + 1, w.looked_at + c.trades, f.price, c.high, c.low, l.price, c.volume, c.money, c.trades
        FROM walk w
        CROSS JOIN LATERAL (
            SELECT date_bin(make_interval(secs => $3::bigint), e.time, 'epoch'::timestamptz) AS start, e.price::numeric AS price
            FROM pricetime.executions e WHERE e.symbol = $1::bigint AND e.time < w.start
            ORDER BY e.time DESC, e.id DESC LIMIT 1
        ) l
        CROSS JOIN LATERAL (
            SELECT e.price::numeric AS price FROM pricetime.executions e
            WHERE e.symbol = $1::bigint AND e.time >= l.start AND e.time < w.start ORDER BY e.time, e.id LIMIT 1
        ) f
        CROSS JOIN LATERAL (
            SELECT max(e.price)::numeric AS high, min(e.price)::numeric AS low, sum(e.shares) AS volume,
                sum(e.price * e.shares) AS money, count(*) AS trades
            FROM pricetime.executions e WHERE e.symbol = $1::bigint AND e.time >= l.start AND e.time < w.start
        ) c
        WHERE w.number < $4::bigint AND w.looked_at < $5::bigint
    )
    SELECT start, open, high, low, close, volume, money, trades FROM walk WHERE number > 0 ORDER BY start";

/// A start reads all that is open, however long that takes.
const START_PATIENCE: Duration = Duration::from_secs(24 * 3600);
const WHOLE_TABLES: &str = "
    BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on";
/// When the orders on the books were placed.
const PLACED_AT: &str = "
    SELECT o.id, o.time FROM pricetime.resting r JOIN pricetime.orders o ON o.id = r.order_id WHERE o.time IS NOT NULL";

/// The answer to a question, or what the rows say is wrong; outside of it, what became of the connection.
type Told<T> = Result<Result<T, StoreError>, tokio_postgres::Error>;

type Given<'a> = &'a (dyn ToSql + Sync);

impl Reader {
    /// Connects. `patience` is how long an answer may take, the time that a database is away included. Errors:
    /// `Unreachable`, `NoSchema`, `OlderSchema`, `NewerSchema`, `Rights`.
    pub fn connect(url: &StoreUrl, name: &str, patience: Duration, stop: Stop) -> Result<Reader, StoreError> {
        let connector = Connector::new(url, name)?;
        let runtime = crate::store::runtime()?;
        let session = runtime.block_on(async {
            let session = open(&connector, patience).await;
            let session = session.map_err(|error| final_error(&error, "connect", &connector.place()))?;
            schema::require(&session).await?;
            Ok::<Session, StoreError>(session)
        })?;
        Ok(Reader { session: Some(session), runtime, connector, patience, stop })
    }

    /// When the orders that are open now were placed, as far as the rows say. Errors: as of `trades_of_symbol`.
    pub fn placed_times(&mut self) -> Result<Vec<(OrderId, Time)>, StoreError> {
        self.read(Instant::now() + START_PATIENCE, async |session: &Session| {
            session.client.batch_execute(WHOLE_TABLES).await?;
            let rows = session.client.query(PLACED_AT, &[]).await?;
            session.client.batch_execute("COMMIT").await?;
            Ok(each(&rows, |fields| Ok((OrderId(fields.next()?), fields.next()?))))
        })
    }

    /// Trades of a symbol, newest first: those before `before`, which must be one of them (none otherwise). Until `until` it
    /// tries again while the database is away. Errors: `Unreachable`, after which the next question may be answered;
    /// `Stopped`; others last.
    pub fn trades_of_symbol(
        &mut self,
        symbol: SymbolIndex,
        before: Option<u64>,
        limit: usize,
        until: Instant,
    ) -> Result<Option<Page<TradeRow>>, StoreError> {
        let Some(before) = cursor(before) else { return Ok(None) };
        self.read(until, async |session: &Session| trades_of_symbol(session, symbol, before, limit).await)
    }

    /// Trades of an account as `trades_of_symbol`; where both orders were its own, once.
    pub fn trades_of_account(
        &mut self,
        of: Of,
        before: Option<u64>,
        limit: usize,
        until: Instant,
    ) -> Result<Option<Page<TradeRow>>, StoreError> {
        let Some(before) = cursor(before) else { return Ok(None) };
        self.read(until, async |session: &Session| trades_of_account(session, of, before, limit).await)
    }

    /// Orders of an account, newest first: those placed before `before`, which must be one of them (none otherwise). Those
    /// that were imported are not among them. Errors: as of `trades_of_symbol`.
    pub fn orders_of(
        &mut self,
        account: AccountIndex,
        symbol: Option<SymbolIndex>,
        before: Option<u64>,
        limit: usize,
        until: Instant,
    ) -> Result<Option<Page<PlacedRow>>, StoreError> {
        let Some(before) = cursor(before) else { return Ok(None) };
        self.read(until, async |session: &Session| orders_of(session, account, symbol, before, limit).await)
    }

    /// The orders of these ids, as far as they were placed and not imported, newest first. Errors: as of `trades_of_symbol`.
    pub fn orders(&mut self, orders: &[OrderId], until: Instant) -> Result<Vec<PlacedRow>, StoreError> {
        let asked: Vec<OrderId> = orders.iter().copied().filter(|order| i64::try_from(order.0).is_ok()).collect();
        self.read(until, async |session: &Session| {
            let ids = Column::of(&asked, |order, out| order.0.put(out));
            let sql = format!(
                "WITH chosen AS (
                     SELECT o.* FROM unnest($1::bigint[]) AS u(id) JOIN pricetime.orders o ON o.id = u.id
                     WHERE o.sequence IS NOT NULL
                 ) {PLACED}"
            );
            let rows = session.client.query(&sql, &[&ids]).await?;
            Ok(each(&rows, placed_row))
        })
    }

    /// The last `limit` candles of a symbol that began before `before`, which is a multiple of their length, oldest first;
    /// fewer when they hold very many executions. Errors: as of `trades_of_symbol`.
    pub fn candles(
        &mut self,
        symbol: SymbolIndex,
        length: Duration,
        before: Option<Time>,
        limit: usize,
        until: Instant,
    ) -> Result<Vec<CandleRow>, StoreError> {
        let before = before.unwrap_or(TIME_MAX).min(TIME_MAX);
        let limit = limit.min(CANDLES_MAX);
        self.read(until, async |session: &Session| {
            let (symbol, before) = (Single(symbol.0), Single(before));
            let (seconds, limit) = (Single(length.as_secs()), Single(limit as u64));
            let given: [Given<'_>; 5] = [&symbol, &before, &seconds, &limit, &Single(CANDLE_EXECUTIONS_MAX)];
            let rows = session.client.query(CANDLES, &given).await?;
            Ok(each(&rows, candle_row))
        })
    }

    /// Asks until there is an answer or it is too late, on a new connection after one that broke.
    fn read<T>(&mut self, until: Instant, ask: impl AsyncFn(&Session) -> Told<T>) -> Result<T, StoreError> {
        loop {
            let (session, connector, patience) = (&mut self.session, &self.connector, self.patience);
            let asking = async {
                let session = match session {
                    Some(session) => session,
                    None => session.insert(open(connector, patience).await?),
                };
                ask(session).await
            };
            let in_time = async { tokio::time::timeout_at(until.into(), asking).await };
            let fault = match self.runtime.block_on(unless_stopped(in_time, &self.stop)) {
                None => return Err(StoreError::Stopped),
                Some(Ok(Ok(found))) => {
                    if found.is_err() {
                        self.session = None;
                    }
                    return found;
                }
                Some(Ok(Err(error))) => match verdict(&error, ACTION, &self.connector.place()) {
                    Verdict::Lasting(error) => return Err(error),
                    Verdict::Passing | Verdict::NotAtTheSequence => with_cause(&error),
                },
                Some(Err(_)) => "no answer in time".to_owned(),
            };
            self.session = None;
            if Instant::now() + PAUSE >= until {
                tracing::warn!(fault, "the database does not answer a question about the past");
                return Err(StoreError::Unreachable { place: self.connector.place(), fault });
            }
            if self.runtime.block_on(unless_stopped(async { tokio::time::sleep(PAUSE).await }, &self.stop)).is_none() {
                return Err(StoreError::Stopped);
            }
        }
    }
}

/// A connection that gives up a statement by itself when nobody waits for it any more.
async fn open(connector: &Connector, patience: Duration) -> Result<Session, tokio_postgres::Error> {
    let session = connector.open(Purpose::LookUp).await?;
    let sql = format!(
        "SET default_transaction_read_only = on; SET statement_timeout = {}",
        patience.as_millis().clamp(1, 1_000_000)
    );
    session.client.batch_execute(&sql).await?;
    Ok(session)
}

/// Where a page begins: none where no page can. Ids are positive and below 2^63.
fn cursor(before: Option<u64>) -> Option<Option<u64>> {
    match before {
        Some(before) if before == 0 || i64::try_from(before).is_err() => None,
        before => Some(before),
    }
}

/// Above every id.
const NO_CURSOR: u64 = i64::MAX.unsigned_abs();

async fn trades_of_symbol(
    session: &Session,
    symbol: SymbolIndex,
    before: Option<u64>,
    limit: usize,
) -> Told<Option<Page<TradeRow>>> {
    let of_symbol = Single(symbol.0);
    let mut from = (TIME_MAX, NO_CURSOR);
    if let Some(before) = before {
        let sql = "SELECT time FROM pricetime.executions WHERE id = $1::bigint AND symbol = $2::bigint";
        let found = session.client.query_opt(sql, &[&Single(before), &of_symbol]).await?;
        let Some(row) = found else { return Ok(Ok(None)) };
        match Fields::of(&row).next() {
            Ok(time) => from = (time, before),
            Err(error) => return Ok(Err(error)),
        }
    }
    let sql = format!(
        "SELECT {TRADE} FROM pricetime.executions e
         WHERE e.symbol = $1::bigint AND (e.time, e.id) < ($2::timestamptz, $3::bigint)
         ORDER BY e.time DESC, e.id DESC LIMIT $4::bigint"
    );
    let (time, id, more) = (Single(from.0), Single(from.1), Single(limit.saturating_add(1) as u64));
    let given: [Given<'_>; 4] = [&of_symbol, &time, &id, &more];
    let rows = session.client.query(&sql, &given).await?;
    Ok(each(&rows, trade_row).map(|mut trades| {
        let more = trades.len() > limit;
        trades.truncate(limit);
        let next = trades.last().filter(|_| more).map(|trade| trade.id);
        Some((trades, next))
    }))
}

/// The executions of account `$1` before `$2`, newest first, so many of each side: each once.
fn of_account(columns: &str, most: u64) -> String {
    let side = |condition: &str| {
        format!(
            "(SELECT e.* FROM pricetime.executions e WHERE {condition} AND e.id < $2::bigint ORDER BY e.id DESC LIMIT {most})"
        )
    };
    let (bought, sold) = (side("e.buyer = $1::bigint"), side("e.seller = $1::bigint AND e.buyer <> $1::bigint"));
    format!("SELECT {columns} FROM ({bought} UNION ALL {sold}) e ORDER BY e.id DESC LIMIT {most}")
}

async fn trades_of_account(
    session: &Session,
    of: Of,
    before: Option<u64>,
    limit: usize,
) -> Told<Option<Page<TradeRow>>> {
    let client = &session.client;
    let account = Single(of.account.0);
    if let Some(before) = before {
        let sql = "SELECT 1 FROM pricetime.executions e WHERE e.id = $1::bigint AND $2::bigint IN (e.buyer, e.seller)";
        if client.query_opt(sql, &[&Single(before), &account]).await?.is_none() {
            return Ok(Ok(None));
        }
    }
    let from = Single(before.unwrap_or(NO_CURSOR));
    // An order's id that no order can have is the id of none.
    let order = of.order.map(|order| if i64::try_from(order.0).is_ok() { order.0 } else { 0 });
    let (symbol, order, most) = (Single(of.symbol.map(|symbol| symbol.0)), Single(order), Single(limit as u64));
    let sql = format!(
        "SELECT {TRADE} FROM ({}) e
         WHERE ($3::bigint IS NULL OR e.symbol = $3::bigint) AND ($4::bigint IS NULL OR $4::bigint IN (e.buy_order, e.sell_order))
         ORDER BY e.id DESC LIMIT $5::bigint",
        of_account("e.*", LOOKED_AT_MAX)
    );
    let ids = |offset: u64| format!("SELECT a.id FROM ({}) a OFFSET {offset} LIMIT 2", of_account("e.id", offset + 2));
    let given: [Given<'_>; 5] = [&account, &from, &symbol, &order, &most];
    let page = page(session, &sql, &given, limit, |trade: &TradeRow| trade.id, trade_row, &ids, (&account, &from));
    page.await
}

async fn orders_of(
    session: &Session,
    account: AccountIndex,
    symbol: Option<SymbolIndex>,
    before: Option<u64>,
    limit: usize,
) -> Told<Option<Page<PlacedRow>>> {
    let account = Single(account.0);
    if let Some(before) = before {
        let sql =
            "SELECT 1 FROM pricetime.orders WHERE id = $1::bigint AND account = $2::bigint AND sequence IS NOT NULL";
        if session.client.query_opt(sql, &[&Single(before), &account]).await?.is_none() {
            return Ok(Ok(None));
        }
    }
    let from = Single(before.unwrap_or(NO_CURSOR));
    let (symbol, most) = (Single(symbol.map(|symbol| symbol.0)), Single(limit as u64));
    let chain = |columns: &str, most: u64| {
        format!(
            "SELECT {columns} FROM pricetime.orders o
             WHERE o.account = $1::bigint AND o.id < $2::bigint AND o.sequence IS NOT NULL ORDER BY o.id DESC LIMIT {most}"
        )
    };
    let sql = format!(
        "WITH chosen AS (
             SELECT l.* FROM ({}) l WHERE $3::bigint IS NULL OR l.symbol = $3::bigint ORDER BY l.id DESC LIMIT $4::bigint
         ) {PLACED}",
        chain("o.*", LOOKED_AT_MAX)
    );
    let ids = |offset: u64| format!("SELECT a.id FROM ({}) a OFFSET {offset} LIMIT 2", chain("o.id", offset + 2));
    let given: [Given<'_>; 4] = [&account, &from, &symbol, &most];
    let page =
        page(session, &sql, &given, limit, |placed: &PlacedRow| placed.order.0, placed_row, &ids, (&account, &from));
    page.await
}

/// A page of rows, and where the next one begins: behind the last that was looked at, if there are more of the same account.
/// `ids` is a statement that gives two ids of the account from so many rows on, of an account and from an id down.
#[allow(clippy::too_many_arguments)]
async fn page<T>(
    session: &Session,
    sql: &str,
    given: &[Given<'_>],
    limit: usize,
    id: impl Fn(&T) -> u64,
    row: impl Fn(&mut Fields<'_>) -> Result<T, StoreError>,
    ids: &impl Fn(u64) -> String,
    (account, from): (Given<'_>, Given<'_>),
) -> Told<Option<Page<T>>> {
    // Both statements at one moment, so that what is placed between them moves no end of a page.
    session.client.batch_execute("BEGIN").await?;
    let rows = session.client.query(sql, given).await?;
    let found = match each(&rows, row) {
        Ok(found) => found,
        Err(error) => return Ok(Err(error)),
    };
    let next = match found.last().filter(|_| found.len() == limit).map(id) {
        Some(last) => {
            let older = session.client.query(&ids(0), &[account, &Single(last)]).await?;
            (!older.is_empty()).then_some(last)
        }
        None => {
            let looked_at = session.client.query(&ids(LOOKED_AT_MAX - 1), &[account, from]).await?;
            match each(&looked_at, |fields| fields.next::<u64>()) {
                Ok(ids) => ids.first().copied().filter(|_| ids.len() == 2),
                Err(error) => return Ok(Err(error)),
            }
        }
    };
    session.client.batch_execute("COMMIT").await?;
    Ok(Ok(Some((found, next))))
}

fn each<T>(rows: &[Row], read: impl Fn(&mut Fields<'_>) -> Result<T, StoreError>) -> Result<Vec<T>, StoreError> {
    rows.iter().map(|row| read(&mut Fields::of(row))).collect()
}

fn side(buys: bool) -> Side {
    if buys { Side::Buy } else { Side::Sell }
}

fn trade_row(fields: &mut Fields<'_>) -> Result<TradeRow, StoreError> {
    Ok(TradeRow {
        id: fields.next()?,
        symbol: SymbolIndex(fields.next()?),
        price: fields.next()?,
        shares: fields.next()?,
        time: fields.next()?,
        sequence: Sequence(fields.next()?),
        aggressor: side(fields.next()?),
        buy_order: OrderId(fields.next()?),
        sell_order: OrderId(fields.next()?),
        buyer: AccountIndex(fields.next()?),
        seller: AccountIndex(fields.next()?),
    })
}

fn placed_row(fields: &mut Fields<'_>) -> Result<PlacedRow, StoreError> {
    let (order, account, symbol) = (OrderId(fields.next()?), AccountIndex(fields.next()?), SymbolIndex(fields.next()?));
    let (side, limit, shares) = (side(fields.next()?), fields.next()?, fields.next()?);
    let (time, sequence) = (fields.next()?, Sequence(fields.next()?));
    let client_id = fields.maybe::<&str>()?.map(|id| ClientOrderId::parse(id.as_bytes())).transpose();
    let client_id =
        client_id.map_err(|_| StoreError::Unreadable { column: "client_orders.client_order_id".to_owned() })?;
    let (open, canceled, money) = (fields.next()?, fields.next()?, fields.next()?);
    let ended = match (fields.maybe()?, fields.maybe()?) {
        (Some(time), Some(sequence)) => Some(EndRow { time, sequence: Sequence(sequence) }),
        _ => None,
    };
    Ok(PlacedRow {
        order,
        account,
        symbol,
        side,
        limit,
        shares,
        time,
        sequence,
        client_id,
        open,
        canceled,
        money,
        ended,
    })
}

fn candle_row(fields: &mut Fields<'_>) -> Result<CandleRow, StoreError> {
    Ok(CandleRow {
        start: fields.next()?,
        open: fields.next()?,
        high: fields.next()?,
        low: fields.next()?,
        close: fields.next()?,
        volume: fields.next()?,
        money: fields.next()?,
        trades: fields.next()?,
    })
}
