//! Done orders read back by their ids, for queries about orders that the engine no longer keeps, and executions that it
//! does not keep. On a connection of its own, so that a look-up waits for no commit.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::time::{Duration, Instant};

use engine::{AccountId, Cancellation, DoneOrder, Execution, OrderId};
use exchange::{Found, Unavailable};
use futures_util::TryStreamExt;
use futures_util::future::{try_join, try_join3};
use tokio::runtime::Runtime;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::column::{Column, Put, Single};
use crate::error::{ErrorClass, StoreError, classify, final_error, with_cause};
use crate::fee_rows;
use crate::fields::Fields;
use crate::schema;
use crate::session::{Connector, Purpose, Session};
use crate::stop::{Stop, unless_stopped};
use crate::url::StoreUrl;

const ACTION: &str = "look up orders";
/// More rows than there are.
const MOST: u64 = 1 << 62;
const PAUSE: Duration = Duration::from_millis(200);

/// Orders of these ids that are not on a book, with what was canceled of them. See pages.rs for the `LIMIT`.
const ORDERS: &str = "
    SELECT o.id, a.id, c.shares, c.time
    FROM unnest($1::bigint[]) AS u(id)
    CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = u.id LIMIT 1) o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN LATERAL (SELECT d.* FROM pricetime.cancellations d WHERE d.order_id = o.id LIMIT 1) c ON true
    WHERE NOT EXISTS (SELECT FROM pricetime.resting r WHERE r.order_id = o.id)";
/// Their executions, oldest first.
const EXECUTIONS: &str = "
    SELECT u.id, 0 AS later, i.ordinal, i.shares, i.price, i.time, OF_IMPORTED
        FROM unnest($1::bigint[]) AS u(id) JOIN pricetime.imported_executions i ON i.order_id = u.id
    UNION ALL SELECT u.id, 1, e.id, e.shares, e.price, e.time, OF_BUY FROM unnest($1::bigint[]) AS u(id)
        CROSS JOIN LATERAL (SELECT x.* FROM pricetime.executions x WHERE x.buy_order = u.id OFFSET 0) e
    UNION ALL SELECT u.id, 1, e.id, e.shares, e.price, e.time, OF_SELL FROM unnest($1::bigint[]) AS u(id)
        CROSS JOIN LATERAL (SELECT x.* FROM pricetime.executions x WHERE x.sell_order = u.id OFFSET 0) e
    ORDER BY 1, 2, 3";
/// Those of some accounts' orders, in any order, and no more of them than are asked for.
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
/// The first so many of each of some orders, oldest first, with the place of their order among these.
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

/// Orders before it may be gone.
const FIRST_ORDER: &str = "SELECT first_order FROM pricetime.kept";
const BEGIN: &str = "BEGIN READ ONLY; LOCK TABLE pricetime.kept IN ACCESS SHARE MODE";

/// Reads done orders, for one thread.
pub struct History {
    link: Option<Link>,
    runtime: Runtime,
    connector: Connector,
    patience: Duration,
    stop: Stop,
}

/// A connection with the statements that look up.
pub(crate) struct Link {
    session: Session,
    orders: Statement,
    executions: Statement,
    executions_within: Statement,
    first_executions: Statement,
    first_order: Statement,
}

/// What became of an order, and who asks: the executions of another account's order are not read, nor those for nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskedOrder {
    pub order: OrderId,
    pub executions_for: Option<AccountId>,
}

/// What was found of orders when so many executions may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// Of each order, in their order; none if it was never placed or is open; or that it is no longer kept.
    pub done: Vec<Found>,
    /// Whether the executions are there: there are no more than were asked for, over all of the orders together.
    pub whole: bool,
}

impl History {
    /// Connects. `patience` is how long a look-up may take, the time that a database is away included. Errors:
    /// `Unreachable`, `NoSchema`, `OlderSchema`, `NewerSchema`, `Rights`.
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

    /// The done order of this id; none if it was never placed, is open or no longer kept. See `done_orders`.
    pub fn done_order(&mut self, order: OrderId) -> Result<Option<DoneOrder>, StoreError> {
        Ok(self.done_orders(&[order])?.pop().flatten())
    }

    /// The done orders of these ids, in their order, each none if it was never placed, is open or no longer kept. While the database is away
    /// it tries again, until told to stop or out of patience. Errors: `Unreachable`, after which the next look-up may
    /// succeed; `Stopped`; others last.
    pub fn done_orders(&mut self, orders: &[OrderId]) -> Result<Vec<Option<DoneOrder>>, StoreError> {
        self.ask(async |link: &Link| link.at_one_moment(link.done_orders(orders)).await)
    }

    /// The same with at most so many executions: what there is beyond them is not read. Errors: as of `done_orders`.
    pub fn done_within(&mut self, orders: &[AskedOrder], executions_max: usize) -> Result<Within, StoreError> {
        self.ask(async |link: &Link| link.done_within(orders, executions_max).await)
    }

    /// The first executions of orders, open or done, oldest first: of each order so many at most, and fewer if it has
    /// not so many, or they are no longer kept. One statement asks for all of them. Errors: as of `done_orders`.
    pub fn first_executions(&mut self, orders: &[(OrderId, usize)]) -> Result<Vec<Vec<Execution>>, StoreError> {
        match orders.is_empty() {
            true => Ok(Vec::new()),
            false => self.ask(async |link: &Link| link.first_executions(orders).await),
        }
    }

    fn ask<T>(&mut self, ask: impl AsyncFn(&Link) -> Looked<T>) -> Result<T, StoreError> {
        let until = Instant::now() + self.patience;
        loop {
            let looking = look_up(&mut self.link, &self.connector, &ask);
            let in_time = async { tokio::time::timeout_at(until.into(), looking).await };
            let fault = match self.runtime.block_on(unless_stopped(in_time, &self.stop)) {
                None => return Err(StoreError::Stopped),
                Some(Ok(Ok(found))) => return found,
                Some(Ok(Err(error))) => match classify(&error, ACTION, &self.connector.place()) {
                    ErrorClass::Lasting(error) => return Err(error),
                    ErrorClass::Passing | ErrorClass::NotAtTheSequence => with_cause(&error),
                },
                Some(Err(_)) => format!("no answer in {:?}", self.patience),
            };
            self.link = None;
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

/// What the rows say or what is wrong with them; or what became of the connection.
type Looked<T> = Result<Result<T, StoreError>, tokio_postgres::Error>;

/// What the rows say, on a new connection if there is none.
async fn look_up<T>(
    link: &mut Option<Link>,
    connector: &Connector,
    ask: &impl AsyncFn(&Link) -> Looked<T>,
) -> Looked<T> {
    let link = match link {
        Some(link) => link,
        None => link.insert(Link::open(connector).await?),
    };
    ask(link).await
}

impl Link {
    async fn open(connector: &Connector) -> Result<Link, tokio_postgres::Error> {
        let session = connector.open(Purpose::LookUp).await?;
        let client = &session.client;
        let (orders, executions) = (client.prepare(ORDERS).await?, client.prepare(&fee_rows::named(EXECUTIONS)).await?);
        let executions_within = client.prepare(&fee_rows::named(EXECUTIONS_WITHIN)).await?;
        let first_executions = client.prepare(&fee_rows::named(FIRST_EXECUTIONS)).await?;
        let first_order = client.prepare(FIRST_ORDER).await?;
        Ok(Link { session, orders, executions, executions_within, first_executions, first_order })
    }

    /// Of a connection whose schema was looked at.
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

    /// Sends what begins a transaction, what asks, and what ends it, without waiting in between.
    async fn at_one_moment<T, F>(&self, ask: F) -> Result<T, tokio_postgres::Error>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let client = &self.session.client;
        let (begin, end) = (client.batch_execute(BEGIN), client.batch_execute("COMMIT"));
        let (_, found, _) = try_join3(begin, ask, end).await?;
        Ok(found)
    }

    /// Both statements at once, within a transaction that sees one moment.
    pub(crate) async fn done_orders(&self, orders: &[OrderId]) -> Looked<Vec<Option<DoneOrder>>> {
        // Each once: a join would give the executions of one that is asked for twice twice.
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
    async fn first_executions(&self, orders: &[(OrderId, usize)]) -> Looked<Vec<Vec<Execution>>> {
        let ids = Column::of(orders, |(order, _), out| order.0.put(out));
        let counts = Column::of(orders, |(_, count), out| u64::try_from(*count).unwrap_or(u64::MAX).min(MOST).put(out));
        let rows = self.session.client.query(&self.first_executions, &[&ids, &counts]).await?;
        let mut executions = vec![Vec::new(); orders.len()];
        for row in &rows {
            let mut fields = Fields::of(row);
            let mut read = || Ok::<_, StoreError>((fields.next::<u64>()?, fee_rows::execution(&mut fields)?));
            match read() {
                // Places are counted from 1.
                Ok((place, execution)) => executions[place as usize - 1].push(execution),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(executions))
    }

    async fn done_within(&self, orders: &[AskedOrder], executions_max: usize) -> Looked<Within> {
        // Each once, so that its executions come once.
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
        let ((first_order, found), executions) = self.at_one_moment(asked).await?;
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
            // None: an order that is open, or was when the first statement looked.
            if let Some(done) = done.get_mut(&order) {
                done.executions.push(execution);
            }
        }
        // One that is open is asked for by nobody who was told that it is done.
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

/// An execution as a row has it: which order's, and where it stands among those of that order.
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
        // None: an order that is open, or was when the first statement looked.
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
