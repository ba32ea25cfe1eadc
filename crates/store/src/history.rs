//! Reads done orders by their ids, for queries about orders that the engine no longer keeps, and executions that it
//! does not keep. It has a connection of its own, so a look-up waits for no commit.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::time::{Duration, Instant};

use exchange::{OrderAnswer, Unavailable};
use futures_util::TryStreamExt;
use futures_util::future::{try_join, try_join3};
use terms::{AccountId, Cancellation, DoneOrder, Execution, OrderId};
use tokio::runtime::Runtime;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::column::{Column, Put, Single};
use crate::error::{ErrorClass, StoreError, classify, final_error, with_cause};
use crate::fee_rows;
use crate::fields::Fields;
use crate::kept::NOTHING_GOES;
use crate::schema;
use crate::session::{Connector, Purpose, Session};
use crate::stop::{Stop, unless_stopped};
use crate::url::StoreUrl;

const ACTION: &str = "look up orders";
/// A number above that of all rows.
const MOST: u64 = 1 << 62;
const PAUSE: Duration = Duration::from_millis(200);

/// Selects the orders of these ids that are on no book, with their canceled shares. See pages.rs for the `LIMIT`.
const ORDERS: &str = "
    SELECT o.id, a.id, c.shares, c.time
    FROM unnest($1::bigint[]) AS u(id)
    CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = u.id LIMIT 1) o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN LATERAL (SELECT d.* FROM pricetime.cancellations d WHERE d.order_id = o.id LIMIT 1) c ON true
    WHERE NOT EXISTS (SELECT FROM pricetime.resting r WHERE r.order_id = o.id)";
/// Selects their executions, oldest first.
const EXECUTIONS: &str = "
    SELECT u.id, 0 AS later, i.ordinal, i.shares, i.price, i.time, OF_IMPORTED
        FROM unnest($1::bigint[]) AS u(id) JOIN pricetime.imported_executions i ON i.order_id = u.id
    UNION ALL SELECT u.id, 1, e.id, e.shares, e.price, e.time, OF_BUY FROM unnest($1::bigint[]) AS u(id)
        CROSS JOIN LATERAL (SELECT x.* FROM pricetime.executions x WHERE x.buy_order = u.id OFFSET 0) e
    UNION ALL SELECT u.id, 1, e.id, e.shares, e.price, e.time, OF_SELL FROM unnest($1::bigint[]) AS u(id)
        CROSS JOIN LATERAL (SELECT x.* FROM pricetime.executions x WHERE x.sell_order = u.id OFFSET 0) e
    ORDER BY 1, 2, 3";
/// Selects the executions of some accounts' orders, in any order, at most as many as requested.
const EXECUTIONS_WITHIN: &str = "
    SELECT u.id, x.later, x.ordinal, x.shares, x.price, x.time, x.share_fee_rate, x.money_fee_rate
    FROM unnest($1::bigint[], $2::text[]) AS u(id, asker)
    CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = u.id LIMIT 1) o
    JOIN pricetime.accounts a ON a.number = o.account AND a.id = u.asker
    CROSS JOIN LATERAL (
        SELECT 0 AS later, i.ordinal::bigint AS ordinal, i.shares, i.price, i.time, OF_IMPORTED
            FROM pricetime.imported_executions i WHERE i.order_id = u.id
        UNION ALL SELECT 1, e.id, e.shares, e.price, e.time, OF_BUY FROM pricetime.executions e WHERE e.buy_order = u.id
        UNION ALL SELECT 1, e.id, e.shares, e.price, e.time, OF_SELL FROM pricetime.executions e WHERE e.sell_order = u.id
    ) x
    LIMIT $3";
/// Selects the first executions of each of some orders, oldest first, with the order's place among these.
const FIRST_EXECUTIONS: &str = "
    SELECT u.place, x.shares, x.price, x.time, x.share_fee_rate, x.money_fee_rate
    FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u(id, most, place)
    CROSS JOIN LATERAL (
        SELECT y.* FROM (
            SELECT 0 AS later, i.ordinal::bigint AS ordinal, i.shares, i.price, i.time, OF_IMPORTED
                FROM pricetime.imported_executions i WHERE i.order_id = u.id
            UNION ALL SELECT 1, e.id, e.shares, e.price, e.time, OF_BUY FROM pricetime.executions e WHERE e.buy_order = u.id
            UNION ALL SELECT 1, e.id, e.shares, e.price, e.time, OF_SELL FROM pricetime.executions e WHERE e.sell_order = u.id
        ) y ORDER BY y.later, y.ordinal LIMIT u.most
    ) x
    ORDER BY u.place, x.later, x.ordinal";

/// Selects the first order that retention certainly left.
const FIRST_ORDER: &str = "SELECT first_order FROM pricetime.kept";

/// Reads done orders, for one thread.
pub struct History {
    link: Option<Link>,
    runtime: Runtime,
    connector: Connector,
    patience: Duration,
    stop: Stop,
}

/// A connection with the prepared statements of look-ups.
pub(crate) struct Link {
    session: Session,
    orders: Statement,
    executions: Statement,
    executions_within: Statement,
    first_executions: Statement,
    first_order: Statement,
}

/// An order to look up, and the account that asks: executions of another account's order are not read, nor any without
/// an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskedOrder {
    pub order: OrderId,
    pub executions_for: Option<AccountId>,
}

/// The result of a look-up with a bound on executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// The orders in the order of the question: none if an order was never placed or is open; or the refusal for one
    /// that is no longer kept.
    pub done: Vec<OrderAnswer>,
    /// Whether the executions are complete: all orders together have no more than the bound.
    pub whole: bool,
}

impl History {
    /// Connects. `patience` is the most time that a look-up may take, including the time that a database is away.
    /// Errors: `Unreachable`, `NoSchema`, `EarlierBuild`, `OlderSchema`, `NewerSchema`, `Rights`.
    pub fn connect(url: &StoreUrl, name: &str, patience: Duration, stop: Stop) -> Result<History, StoreError> {
        let connector = Connector::new(url, name)?;
        let runtime = crate::runtime::runtime()?;
        let link = runtime.block_on(async {
            let session = connector.open(Purpose::LookUp).await;
            let session = session.map_err(|error| final_error(&error, "connect", &connector.place()))?;
            schema::require(&session).await?;
            Link::new(session).await
        })?;
        Ok(History { link: Some(link), runtime, connector, patience, stop })
    }

    /// Reads the done order of this id; none if it was never placed, is open or no longer kept. See `done_orders`.
    pub fn done_order(&mut self, order: OrderId) -> Result<Option<DoneOrder>, StoreError> {
        Ok(self.done_orders(&[order])?.pop().flatten())
    }

    /// Reads the done orders of these ids, in their order: none for one that was never placed, is open or no longer
    /// kept. While the database is away it tries again, until it is told to stop or out of patience. Errors:
    /// `Unreachable`, after which the next look-up may succeed; `Stopped`; other errors last.
    pub fn done_orders(&mut self, orders: &[OrderId]) -> Result<Vec<Option<DoneOrder>>, StoreError> {
        self.ask(async |link: &Link, left| link.at_one_moment(left, link.done_orders(orders)).await)
    }

    /// Reads done orders with at most this many executions, and none beyond. Errors: those of `done_orders`.
    pub fn done_within(&mut self, orders: &[AskedOrder], executions_max: usize) -> Result<Within, StoreError> {
        self.ask(async |link: &Link, left| link.done_within(left, orders, executions_max).await)
    }

    /// Reads the first executions of orders, open or done, oldest first: of each order at most as many as requested,
    /// and fewer if it has fewer or they are no longer kept. One statement reads all of them. Errors: those of
    /// `done_orders`.
    pub fn first_executions(&mut self, orders: &[(OrderId, usize)]) -> Result<Vec<Vec<Execution>>, StoreError> {
        match orders.is_empty() {
            true => Ok(Vec::new()),
            false => self.ask(async |link: &Link, left| link.first_executions(left, orders).await),
        }
    }

    /// Asks, again and again, with the time that is left for the answer.
    fn ask<T>(&mut self, ask: impl AsyncFn(&Link, Duration) -> Looked<T>) -> Result<T, StoreError> {
        let until = Instant::now() + self.patience;
        loop {
            // A connection that a fault or a panic leaves amid a transaction is not used again.
            let mut link = self.link.take();
            let looking = look_up(&mut link, &self.connector, until, &ask);
            let in_time = async { tokio::time::timeout_at(until.into(), looking).await };
            let fault = match self.runtime.block_on(unless_stopped(in_time, &self.stop)) {
                None => return Err(StoreError::Stopped),
                Some(Ok(Ok(found))) => {
                    self.link = link;
                    return found;
                }
                Some(Ok(Err(error))) => match classify(&error, ACTION, &self.connector.place()) {
                    ErrorClass::Lasting(error) => return Err(error),
                    ErrorClass::Passing | ErrorClass::NotAtTheSequence => with_cause(&error),
                },
                Some(Err(_)) => format!("no answer in {:?}", self.patience),
            };
            if Instant::now() + PAUSE >= until {
                tracing::warn!(fault, "the database does not answer a look-up");
                return Err(StoreError::Unreachable { place: self.connector.place(), fault });
            }
            tracing::warn!(fault, "the database does not answer a look-up; trying again");
            if self.runtime.block_on(unless_stopped(async { tokio::time::sleep(PAUSE).await }, &self.stop)).is_none() {
                return Err(StoreError::Stopped);
            }
        }
    }
}

/// The rows' answer or the fault in them; or the fault of the connection.
type Looked<T> = Result<Result<T, StoreError>, tokio_postgres::Error>;

/// Asks, on a new connection if there is none.
async fn look_up<T>(
    link: &mut Option<Link>,
    connector: &Connector,
    until: Instant,
    ask: &impl AsyncFn(&Link, Duration) -> Looked<T>,
) -> Looked<T> {
    let left = || until.saturating_duration_since(Instant::now());
    let link = match link {
        Some(link) => link,
        None => link.insert(Link::open(connector, left).await?),
    };
    ask(link, left()).await
}

/// Begins a transaction whose statements end by themselves at the time at which nobody waits for them any more:
/// otherwise each question without an answer would leave a process of the database behind.
fn begin(left: Duration) -> String {
    let milliseconds = left.as_millis().clamp(1, 1_000_000_000);
    format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {milliseconds}")
}

impl Link {
    async fn open(connector: &Connector, left: impl Fn() -> Duration) -> Result<Link, tokio_postgres::Error> {
        let session = connector.open(Purpose::LookUp).await?;
        let client = &session.client;
        // A table that somebody has locked is waited for here, too.
        client.batch_execute(&begin(left())).await?;
        let (orders, executions) = (client.prepare(ORDERS).await?, client.prepare(&fee_rows::named(EXECUTIONS)).await?);
        let executions_within = client.prepare(&fee_rows::named(EXECUTIONS_WITHIN)).await?;
        let first_executions = client.prepare(&fee_rows::named(FIRST_EXECUTIONS)).await?;
        let first_order = client.prepare(FIRST_ORDER).await?;
        client.batch_execute("COMMIT").await?;
        Ok(Link { session, orders, executions, executions_within, first_executions, first_order })
    }

    /// Prepares the statements on a connection whose schema was checked.
    pub(crate) async fn new(session: Session) -> Result<Link, StoreError> {
        let (orders, executions) =
            (session.prepare(ORDERS, ACTION).await?, session.prepare(&fee_rows::named(EXECUTIONS), ACTION).await?);
        let executions_within = session.prepare(&fee_rows::named(EXECUTIONS_WITHIN), ACTION).await?;
        let first_executions = session.prepare(&fee_rows::named(FIRST_EXECUTIONS), ACTION).await?;
        let first_order = session.prepare(FIRST_ORDER, ACTION).await?;
        Ok(Link { session, orders, executions, executions_within, first_executions, first_order })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Asks while nothing is removed, within a transaction that sees one moment.
    async fn at_one_moment<T, F>(&self, left: Duration, ask: F) -> Result<T, tokio_postgres::Error>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        self.between(&format!("{}; {NOTHING_GOES}", begin(left)), ask).await
    }

    /// Sends the begin of a transaction, the question and the end, without waiting in between.
    async fn between<T, F>(&self, begin: &str, ask: F) -> Result<T, tokio_postgres::Error>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let client = &self.session.client;
        let (begin, end) = (client.batch_execute(begin), client.batch_execute("COMMIT"));
        let (_, found, _) = try_join3(begin, ask, end).await?;
        Ok(found)
    }

    /// Sends both statements at once, within a transaction that sees one moment.
    pub(crate) async fn done_orders(&self, orders: &[OrderId]) -> Looked<Vec<Option<DoneOrder>>> {
        // Each order once: a join would return the executions of a repeated order twice.
        let once: Vec<OrderId> = orders.iter().copied().collect::<BTreeSet<OrderId>>().into_iter().collect();
        let ids = Column::of(&once, |order, out| order.0.put(out));
        let client = &self.session.client;
        let parameters: [&(dyn ToSql + Sync); 1] = [&ids];
        let orders_found = client.query(&self.orders, &parameters);
        let (found, executions) = try_join(orders_found, client.query(&self.executions, &parameters)).await?;
        Ok(assemble(orders, &found, &executions))
    }
}

impl Link {
    async fn first_executions(&self, left: Duration, orders: &[(OrderId, usize)]) -> Looked<Vec<Vec<Execution>>> {
        let ids = Column::of(orders, |(order, _), out| order.0.put(out));
        let counts = Column::of(orders, |(_, count), out| u64::try_from(*count).unwrap_or(u64::MAX).min(MOST).put(out));
        let parameters: [&(dyn ToSql + Sync); 2] = [&ids, &counts];
        let asked = self.session.client.query(&self.first_executions, &parameters);
        let rows = self.between(&begin(left), asked).await?;
        let mut executions = vec![Vec::new(); orders.len()];
        for row in &rows {
            let mut fields = Fields::of(row);
            let mut read = || Ok::<_, StoreError>((fields.next::<u64>()?, fee_rows::execution(&mut fields)?));
            match read() {
                // The database counts places from 1.
                Ok((place, execution)) => executions[place as usize - 1].push(execution),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(executions))
    }

    async fn done_within(&self, left: Duration, orders: &[AskedOrder], executions_max: usize) -> Looked<Within> {
        // Each order once, so that its executions come once.
        let once: BTreeSet<AskedOrder> = orders.iter().copied().collect();
        let once: Vec<AskedOrder> = once.into_iter().collect();
        let ids = Column::of(&once, |asked, out| asked.order.0.put(out));
        let askers = Column::of(&once, |asked, out| asked.executions_for.put(out));
        let limit = Single(u64::try_from(executions_max).unwrap_or(u64::MAX).min(MOST).saturating_add(1));
        let client = &self.session.client;
        let heads: [&(dyn ToSql + Sync); 1] = [&ids];
        let asked = async {
            let heads = try_join(client.query_one(&self.first_order, &[]), client.query(&self.orders, &heads));
            let parameters: [&(dyn ToSql + Sync); 3] = [&ids, &askers, &limit];
            let (heads, rows) = try_join(heads, client.query_raw(&self.executions_within, parameters)).await?;
            let mut rows = pin!(rows);
            let mut executions = Vec::new();
            while let Some(row) = rows.try_next().await? {
                executions.push(FoundExecution::of(&row));
            }
            Ok((heads, executions))
        };
        let ((first_order, found), executions) = self.at_one_moment(left, asked).await?;
        let read = || {
            let executions = executions.into_iter().collect::<Result<Vec<_>, _>>()?;
            Ok::<_, StoreError>((Fields::of(&first_order).next::<u64>()?, heads_of(&found)?, executions))
        };
        let (first_order, mut done, mut executions) = match read() {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let whole = executions.len() <= executions_max;
        if !whole {
            executions.clear();
        }
        executions.sort_unstable_by_key(|found| (found.order, found.later, found.ordinal));
        for FoundExecution { order, execution, .. } in executions {
            // An order without an entry is open, or was when the first statement looked.
            if let Some(done) = done.get_mut(&order) {
                done.executions.push(execution);
            }
        }
        // Nobody asks here for an open order: the question follows the reply that the order is done.
        let gone = |asked: &AskedOrder| (1..first_order).contains(&asked.order.0);
        let found = |asked: &AskedOrder, done: Option<DoneOrder>| match done {
            None if gone(asked) => Err(Unavailable::NoLongerKept),
            done => Ok(done),
        };
        let done = match orders {
            [asked] => vec![found(asked, done.remove(&asked.order))],
            orders => orders.iter().map(|asked| found(asked, done.get(&asked.order).cloned())).collect(),
        };
        Ok(Ok(Within { done, whole }))
    }
}

/// An execution in a row: its order, and its place among the executions of that order.
struct FoundExecution {
    order: OrderId,
    later: i32,
    ordinal: u64,
    execution: Execution,
}

impl FoundExecution {
    fn of(row: &tokio_postgres::Row) -> Result<FoundExecution, StoreError> {
        let mut fields = Fields::of(row);
        let order = OrderId(fields.next()?);
        let later = row.try_get(1).map_err(|_| StoreError::Unreadable { column: "later".to_owned() })?;
        fields.skip(1);
        let ordinal = fields.next()?;
        let execution = fee_rows::execution(&mut fields)?;
        Ok(FoundExecution { order, later, ordinal, execution })
    }
}

fn assemble(
    orders: &[OrderId],
    found: &[tokio_postgres::Row],
    executions: &[tokio_postgres::Row],
) -> Result<Vec<Option<DoneOrder>>, StoreError> {
    let mut done = heads_of(found)?;
    for row in executions {
        let mut fields = Fields::of(row);
        let order = OrderId(fields.next()?);
        fields.skip(2);
        let execution = fee_rows::execution(&mut fields)?;
        // An order without an entry is open, or was when the first statement looked.
        if let Some(done) = done.get_mut(&order) {
            done.executions.push(execution);
        }
    }
    Ok(orders.iter().map(|order| done.get(order).cloned()).collect())
}

/// Done orders without their executions.
fn heads_of(found: &[tokio_postgres::Row]) -> Result<HashMap<OrderId, DoneOrder>, StoreError> {
    let mut done = HashMap::new();
    for row in found {
        let mut fields = Fields::of(row);
        let order = OrderId(fields.next()?);
        let account = AccountId::parse(fields.next::<&str>()?.as_bytes())
            .map_err(|_| StoreError::Unreadable { column: "accounts.id".to_owned() })?;
        let canceled = match (fields.maybe()?, fields.maybe()?) {
            (Some(shares), Some(time)) => Some(Cancellation { shares, time }),
            _ => None,
        };
        done.insert(order, DoneOrder { order, account, canceled, executions: Vec::new() });
    }
    Ok(done)
}
