//! A connection that answers people's questions about the past; pages.rs and candles.rs have the questions. It stands
//! beside the connections of the writer and of the look-ups, so a long answer delays neither.

use std::time::{Duration, Instant};

use terms::{OrderId, OrderKind, SelfTrade, Sequence, Time, Trigger};
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::{ErrorClass, Fault, StoreError, StoreResult, classify, final_error, with_cause};
use crate::fields::Fields;
use crate::kept::{self, Kept, NOTHING_GOES};
use crate::schema;
use crate::session::{Connector, Purpose, Session};
use crate::stop::{Stop, unless_stopped};
use crate::term_rows;
use crate::url::StoreUrl;

const ACTION: &str = "read the history";
const PAUSE: Duration = Duration::from_millis(200);
/// The patience of a start, which reads all that it needs, however long that takes.
pub(crate) const START_PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// An answer, and the last command whose effects it saw: its reader waits until the view has come as far.
pub type Seen<T> = (T, Sequence);

/// An open order: the time of its placing, its present kind and trigger, its self-trade prevention, the time at which
/// it was triggered, and its partner.
pub type PlacedAs = (OrderId, Time, OrderKind, Option<Trigger>, SelfTrade, Option<Time>, Option<OrderId>);

/// A reader for one thread, which changes nothing.
pub struct Reader {
    // The session stands before the runtime, so that it is dropped while it can still close its connection.
    session: Option<Session>,
    runtime: Runtime,
    connector: Connector,
    stop: Stop,
}

pub(crate) type Given<'a> = &'a (dyn ToSql + Sync);

/// Selects the head of the rows, and the bounds of what is kept.
fn standing() -> String {
    format!("SELECT s.sequence, {} FROM pricetime.command_sequence s CROSS JOIN pricetime.kept k", kept::COLUMNS)
}

/// Selects the placing of open orders with their present terms; imported ones have none. The trigger of one that was
/// triggered is the price that was reached, unless it was placed again since.
const PLACED_AT: &str = "
    SELECT o.id, o.time, o.kind,
        CASE WHEN t.sequence IS NULL OR o.placed_again > t.sequence THEN o.trigger_price ELSE t.price END,
        CASE WHEN t.sequence IS NULL OR o.placed_again > t.sequence THEN o.trigger_from_below ELSE t.from_below END,
        o.self_trade, t.time, k.partner
    FROM pricetime.resting r JOIN pricetime.present_orders o ON o.id = r.order_id
    LEFT JOIN pricetime.notes t ON t.order_id = o.id AND t.kind = 'triggered'
    LEFT JOIN pricetime.notes k ON k.order_id = o.id AND k.kind = 'linked' WHERE o.time IS NOT NULL";

impl Reader {
    /// Connects. Errors: `Unreachable`, `NoSchema`, `EarlierBuild`, `OlderSchema`, `NewerSchema`, `Rights`.
    pub fn connect(url: &StoreUrl, name: &str, stop: Stop) -> Result<Reader, StoreError> {
        let connector = Connector::new(url, name)?;
        let runtime = crate::runtime::runtime()?;
        let session = runtime.block_on(async {
            let session = connector.open(Purpose::LookUp).await;
            let session = session.map_err(|error| final_error(&error, "connect", &connector.place()))?;
            schema::require(&session).await?;
            Ok::<Session, StoreError>(session)
        })?;
        Ok(Reader { session: Some(session), runtime, connector, stop })
    }

    /// Reads the times at which the open orders were placed, as far as the rows have them, and their terms. Errors:
    /// those of `trades_of_symbol`.
    pub fn placed_times(&mut self) -> Result<Vec<PlacedAs>, StoreError> {
        let placed = self.read(Instant::now() + START_PATIENCE, async |session: &Session, _| {
            // This question reads whole tables, unlike all others.
            session.client.batch_execute("SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on").await?;
            let rows = session.client.query(PLACED_AT, &[]).await?;
            let placed_as = |fields: &mut Fields<'_>| {
                let (order, time, kind) = (OrderId(fields.next()?), fields.next()?, fields.next()?);
                let (trigger, self_trade) = (fields.trigger()?, term_rows::self_trade(fields)?);
                Ok((order, time, kind, trigger, self_trade, fields.maybe()?, fields.maybe()?.map(OrderId)))
            };
            Ok(each(&rows, placed_as)?)
        });
        Ok(placed?.0)
    }

    /// Asks until there is an answer or time is up, on a new connection after one that broke.
    pub(crate) fn read<T>(
        &mut self,
        until: Instant,
        ask: impl AsyncFn(&Session, Kept) -> StoreResult<T>,
    ) -> Result<Seen<T>, StoreError> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // The database is not at fault: other questions came first.
                let fault = "others were asked first, and it is too late now".to_owned();
                return Err(StoreError::Unreachable { place: self.connector.place(), fault });
            }
            // A connection that a fault or a panic leaves amid a transaction is not used again.
            let (mut kept, connector) = (self.session.take(), &self.connector);
            let asking = async {
                let session = match &mut kept {
                    Some(session) => session,
                    None => kept.insert(connector.open(Purpose::LookUp).await?),
                };
                at_one_moment(session, left, &ask).await
            };
            let in_time = async { tokio::time::timeout_at(until.into(), asking).await };
            let answer = self.runtime.block_on(unless_stopped(in_time, &self.stop));
            if matches!(answer, Some(Ok(Ok(_)))) {
                self.session = kept;
            }
            let fault = match answer {
                None => return Err(StoreError::Stopped),
                Some(Ok(Ok(seen))) => return Ok(seen),
                Some(Ok(Err(Fault::Rows(error)))) => return Err(error),
                Some(Ok(Err(Fault::Connection(error)))) => match classify(&error, ACTION, &self.connector.place()) {
                    ErrorClass::Lasting(error) => return Err(error),
                    ErrorClass::Passing | ErrorClass::NotAtTheSequence => with_cause(&error),
                },
                Some(Err(_)) => "no answer in time".to_owned(),
            };
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

/// Runs all statements of a question on the same rows. They end by themselves at the time at which nobody waits any
/// more.
async fn at_one_moment<T>(
    session: &Session,
    left: Duration,
    ask: &impl AsyncFn(&Session, Kept) -> StoreResult<T>,
) -> StoreResult<Seen<T>> {
    let milliseconds = left.as_millis().clamp(1, 1_000_000_000);
    // A bitmap would read all rows of an account, where the order of the index gives the first ones.
    let begin = format!(
        "BEGIN READ ONLY; SET LOCAL statement_timeout = {milliseconds}; SET LOCAL enable_bitmapscan = off; {NOTHING_GOES}"
    );
    session.client.batch_execute(&begin).await?;
    let row = session.client.query_one(&standing(), &[]).await?;
    let mut fields = Fields::of(&row);
    let (through, kept) = (Sequence(fields.next()?), Kept::read(&mut fields)?);
    let found = ask(session, kept).await?;
    session.client.batch_execute("COMMIT").await?;
    Ok((found, through))
}

/// Reads a value from each row.
pub(crate) fn each<T>(
    rows: &[Row],
    read: impl Fn(&mut Fields<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    rows.iter().map(|row| read(&mut Fields::of(row))).collect()
}
