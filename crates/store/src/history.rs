//! Done orders read back by their ids, for queries about orders that the engine no longer keeps. On a connection of its
//! own, so that a look-up waits for no commit.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use engine::{AccountId, Cancellation, DoneOrder, Execution, OrderId};
use futures_util::future::try_join;
use tokio::runtime::Runtime;
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::column::{Column, Put};
use crate::error::{StoreError, Verdict, final_error, verdict, with_cause};
use crate::fields::Fields;
use crate::schema;
use crate::session::{Connector, Purpose, Session};
use crate::stop::Stop;
use crate::url::StoreUrl;
use crate::writer::unless_stopped;

const ACTION: &str = "look up orders";
const PAUSE: Duration = Duration::from_millis(200);

/// Orders of these ids that are not on a book, with what was canceled of them.
const ORDERS: &str = "
    SELECT o.id, a.id, c.shares, c.time
    FROM unnest($1::bigint[]) AS u(id)
    JOIN pricetime.orders o ON o.id = u.id
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    WHERE NOT EXISTS (SELECT FROM pricetime.resting r WHERE r.order_id = o.id)";
/// Their executions, oldest first.
const EXECUTIONS: &str = "
    SELECT u.id, 0 AS later, i.ordinal, i.shares, i.price, i.time
        FROM unnest($1::bigint[]) AS u(id) JOIN pricetime.imported_executions i ON i.order_id = u.id
    UNION ALL SELECT u.id, 1, e.id, e.shares, e.price, e.time
        FROM unnest($1::bigint[]) AS u(id) JOIN pricetime.executions e ON e.buy_order = u.id
    UNION ALL SELECT u.id, 1, e.id, e.shares, e.price, e.time
        FROM unnest($1::bigint[]) AS u(id) JOIN pricetime.executions e ON e.sell_order = u.id
    ORDER BY 1, 2, 3";

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
}

impl History {
    /// Connects. `patience` is how long a look-up may take, the time that a database is away included. Errors:
    /// `Unreachable`, `NoSchema`, `OlderSchema`, `NewerSchema`, `Rights`.
    pub fn connect(url: &StoreUrl, name: &str, patience: Duration, stop: Stop) -> Result<History, StoreError> {
        let connector = Connector::new(url, name)?;
        let runtime = crate::store::runtime()?;
        let link = runtime.block_on(async {
            let session = connector.open(Purpose::LookUp).await;
            let session = session.map_err(|error| final_error(&error, "connect", &connector.place()))?;
            schema::require(&session).await?;
            Link::new(session).await
        })?;
        Ok(History { link: Some(link), runtime, connector, patience, stop })
    }

    /// The done order of this id; none if it was never placed or is open. See `done_orders`.
    pub fn done_order(&mut self, order: OrderId) -> Result<Option<DoneOrder>, StoreError> {
        Ok(self.done_orders(&[order])?.pop().flatten())
    }

    /// The done orders of these ids, in their order, each none if it was never placed or is open. While the database is away
    /// it tries again, until told to stop or out of patience. Errors: `Unreachable`, after which the next look-up may
    /// succeed; `Stopped`; others last.
    pub fn done_orders(&mut self, orders: &[OrderId]) -> Result<Vec<Option<DoneOrder>>, StoreError> {
        let until = Instant::now() + self.patience;
        loop {
            let looking = look_up(&mut self.link, &self.connector, orders);
            let in_time = async { tokio::time::timeout_at(until.into(), looking).await };
            let fault = match self.runtime.block_on(unless_stopped(in_time, &self.stop)) {
                None => return Err(StoreError::Stopped),
                Some(Ok(Ok(found))) => return found,
                Some(Ok(Err(error))) => match verdict(&error, ACTION, &self.connector.place()) {
                    Verdict::Lasting(error) => return Err(error),
                    Verdict::Passing | Verdict::NotAtTheSequence => with_cause(&error),
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

/// What the rows say, on a new connection if there is none.
async fn look_up(
    link: &mut Option<Link>,
    connector: &Connector,
    orders: &[OrderId],
) -> Result<Result<Vec<Option<DoneOrder>>, StoreError>, tokio_postgres::Error> {
    let link = match link {
        Some(link) => link,
        None => link.insert(Link::open(connector).await?),
    };
    link.done_orders(orders).await
}

impl Link {
    async fn open(connector: &Connector) -> Result<Link, tokio_postgres::Error> {
        let session = connector.open(Purpose::LookUp).await?;
        let (orders, executions) = (session.client.prepare(ORDERS).await?, session.client.prepare(EXECUTIONS).await?);
        Ok(Link { session, orders, executions })
    }

    /// Of a connection whose schema was looked at.
    pub(crate) async fn new(session: Session) -> Result<Link, StoreError> {
        let (orders, executions) = (session.prepare(ORDERS, ACTION).await?, session.prepare(EXECUTIONS, ACTION).await?);
        Ok(Link { session, orders, executions })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Both statements at once: what a done order consists of does not change between them.
    pub(crate) async fn done_orders(
        &self,
        orders: &[OrderId],
    ) -> Result<Result<Vec<Option<DoneOrder>>, StoreError>, tokio_postgres::Error> {
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

fn assemble(
    orders: &[OrderId],
    found: &[tokio_postgres::Row],
    executions: &[tokio_postgres::Row],
) -> Result<Vec<Option<DoneOrder>>, StoreError> {
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
    for row in executions {
        let mut fields = Fields::of(row);
        let order = OrderId(fields.next()?);
        fields.skip(2);
        let execution = Execution { shares: fields.next()?, price: fields.next()?, time: fields.next()? };
        // None: an order that is open, or was when the first statement looked.
        if let Some(done) = done.get_mut(&order) {
            done.executions.push(execution);
        }
    }
    Ok(orders.iter().map(|order| done.get(order).cloned()).collect())
}
