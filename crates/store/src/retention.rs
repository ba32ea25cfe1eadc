//! Retention: removes the oldest parts as whole tables, on a thread and a connection of its own, in the server that
//! holds the epoch. Open orders of a part move to a table of carried orders; so do those that ended lately. All of it
//! is one transaction: a part is either there or removed, and retention and readers of parts wait for each other.
//!
//! The writer waits only while tables replace others: all work that takes time comes before, and retention gives way to
//! everyone else who holds a table.

use std::fmt::Write;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use terms::Time;
use tokio_postgres::error::SqlState;

use crate::column::Single;
use crate::error::{ErrorClass, Fault, StoreError, StoreResult, classify};
use crate::fields::Fields;
use crate::reports::IS_WHOLE;
use crate::session::{Connector, Purpose, Session};
use crate::standing::Epoch;
use crate::stop::{Stop, unless_stopped};
use crate::url::StoreUrl;

const ACTION: &str = "remove what is no longer kept";
/// The interval at which retention looks whether a part may go.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The least age of a removed part. A start reads the last day, and a client order id stands for its order for a day,
/// so everything since then stays, whatever its size.
const DAY_US: u64 = 24 * 3600 * 1_000_000;
/// The number of attempts to get the tables while others hold them, before all begins anew later.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(500);

/// The bounds of what is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The age in microseconds above which whole parts are removed; none for never.
    pub age_us: Option<u64>,
    /// The size in bytes of tables and indexes of the past above which the oldest parts are removed; none for no bound.
    pub bytes: Option<u64>,
}

/// The remover of old parts.
pub struct Retention {
    connector: Connector,
    keep: Keep,
    epoch: Epoch,
}

/// The kinds of rows that lie in parts together.
#[derive(Clone, Copy, Debug)]
enum Rows {
    Orders,
    Executions,
}

/// The oldest part of some rows, which may go.
#[derive(Clone, Copy, Debug)]
struct OldPart {
    rows: Rows,
    begins: u64,
    ends: u64,
    /// The first id that was kept so far: if it is not 1, some rows before it were carried along.
    first: u64,
    /// The time since which ended orders are carried along.
    since: Time,
}

/// Selects the oldest part of orders that has a later one, the time of its last placing, and the time of the market.
const OLDEST_ORDERS: &str = "
    SELECT p.begins, p.ends, k.first_order, s.time, coalesce(
        (SELECT o.time FROM pricetime.orders o WHERE o.id < p.ends ORDER BY o.id DESC LIMIT 1),
        (SELECT o.time FROM pricetime.orders o WHERE o.id >= p.ends AND o.time IS NOT NULL ORDER BY o.id LIMIT 1))
    FROM pricetime.command_sequence s CROSS JOIN pricetime.kept k CROSS JOIN pricetime.parts p
    WHERE p.rows_of = 'orders' AND EXISTS (SELECT FROM pricetime.parts n WHERE n.rows_of = p.rows_of AND n.begins = p.ends)
    ORDER BY p.begins LIMIT 1";
/// Selects the same of executions whose orders were all removed or carried along: the first order kept was placed
/// behind the last of these executions, which may belong to an older order that waited.
const OLDEST_EXECUTIONS: &str = "
    SELECT p.begins, p.ends, k.first_execution, s.time, l.time
    FROM pricetime.command_sequence s CROSS JOIN pricetime.kept k
    CROSS JOIN (SELECT * FROM pricetime.parts WHERE rows_of = 'executions' ORDER BY begins LIMIT 1) p
    CROSS JOIN LATERAL (
        SELECT e.time, e.sequence FROM pricetime.executions e WHERE e.id < p.ends ORDER BY e.id DESC LIMIT 1
    ) l
    WHERE l.sequence < coalesce(
            (SELECT coalesce(o.sequence, 0) FROM pricetime.orders o WHERE o.id >= k.first_order ORDER BY o.id LIMIT 1),
            s.sequence + 1)
        AND EXISTS (SELECT FROM pricetime.parts n WHERE n.rows_of = p.rows_of AND n.begins = p.ends)";
const BYTES: &str = "
    SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
    WHERE c.relnamespace = 'pricetime'::regnamespace AND c.relkind = 'r'
        AND c.relname ~ '^((orders|cancellations|executions)_|client_orders$|audited$|callers$|notes$|amended_orders$|reductions$|icebergs$|trails$|imported_executions$)'";
const REMOVE_AUDIT: &str = "SELECT pricetime.remove_audit($1::bigint)";
/// The number of rows that one statement removes.
const AUDIT_ROWS: u64 = 1000;
const STILL_OURS: &str = "SELECT FROM pricetime.command_sequence WHERE epoch = $1 FOR UPDATE";

/// The result of a removal.
enum Ended {
    Removed,
    NothingToDo,
}

impl Retention {
    /// Makes the remover for the server of this epoch; pg_stat_activity shows `name`. Errors: `Tls`.
    pub fn new(url: &StoreUrl, name: &str, keep: Keep, epoch: Epoch) -> Result<Retention, StoreError> {
        Ok(Retention { connector: Connector::new(url, name)?, keep, epoch })
    }

    /// Starts the thread. It ends on `stop`, or when another server has taken over.
    pub(crate) fn start(self, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("retention".to_string()).spawn(move || self.run(&stop))
    }

    fn run(self, stop: &Stop) {
        let runtime = match crate::runtime::runtime() {
            Ok(runtime) => runtime,
            Err(error) => return tracing::error!(%error, "nothing is removed"),
        };
        loop {
            match runtime.block_on(unless_stopped(self.remove_all(), stop)) {
                None | Some(Err(StoreError::Fenced { .. })) => return,
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::warn!(%error, "what is no longer kept cannot be removed; it is tried again")
                }
            }
            if runtime.block_on(unless_stopped(async { tokio::time::sleep(LOOK_EVERY).await }, stop)).is_none() {
                return;
            }
        }
    }

    /// Removes all parts that may go, one after the other, and returns their number, for callers that do not wait for
    /// the thread. Errors: `Fenced`, `Unreachable`, `Refused`, `Rights`.
    pub fn remove_now(&self) -> Result<u64, StoreError> {
        crate::runtime::runtime()?.block_on(self.remove_all())
    }

    async fn remove_all(&self) -> Result<u64, StoreError> {
        let fail = |error| match classify(&error, ACTION, &self.connector.place()) {
            ErrorClass::Lasting(error) => error,
            ErrorClass::NotAtTheSequence => StoreError::Fenced { name: "another".to_owned(), since: "now".to_owned() },
            ErrorClass::Passing => {
                StoreError::Unreachable { place: self.connector.place(), fault: crate::error::with_cause(&error) }
            }
        };
        let session = self.connector.open(Purpose::Remove).await.map_err(fail)?;
        let mut removed = 0;
        loop {
            let ended = self.remove_one(&session).await;
            if !matches!(ended, Ok(Ended::Removed)) {
                // If even this fails, the connection is gone and the transaction with it.
                let _ = session.client.batch_execute("ROLLBACK").await;
            }
            match ended {
                Ok(Ended::Removed) => removed += 1,
                Ok(Ended::NothingToDo) => {
                    remove_audit(&session).await.map_err(fail)?;
                    return Ok(removed);
                }
                Err(Fault::Connection(error)) => return Err(fail(error)),
                Err(Fault::Rows(error)) => return Err(error),
            }
        }
    }

    async fn remove_one(&self, session: &Session) -> StoreResult<Ended> {
        // Each statement sees what was committed before it began.
        session.client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        let Some(old) = self.choose(session).await? else { return Ok(Ended::NothingToDo) };
        let begun = Instant::now();
        session.client.batch_execute(&old.prepare()).await?;
        let mut pause = PAUSE;
        for tries in 1.. {
            session.client.batch_execute("SAVEPOINT prepared").await?;
            let error = match self.replace(session, &old).await {
                Ok(blocked) => {
                    let (took, blocked) = (begun.elapsed(), blocked.elapsed());
                    tracing::info!(rows = ?old.rows, first = old.ends, ?took, ?blocked, "a part is no longer kept");
                    return Ok(Ended::Removed);
                }
                Err(Fault::Connection(error)) if tries < TRIES && is_held(&error) => error,
                Err(fault) => return Err(fault),
            };
            tracing::debug!(%error, "others read what is to be removed; trying again");
            session.client.batch_execute("ROLLBACK TO SAVEPOINT prepared").await?;
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Ok(Ended::NothingToDo)
    }

    /// The part to remove next.
    async fn choose(&self, session: &Session) -> StoreResult<Option<OldPart>> {
        let total = match self.keep.bytes {
            Some(_) => Fields::of(&session.client.query_one(BYTES, &[]).await?).next::<u64>()?,
            None => 0,
        };
        for (rows, sql) in [(Rows::Executions, OLDEST_EXECUTIONS), (Rows::Orders, OLDEST_ORDERS)] {
            let Some(row) = session.client.query_opt(sql, &[]).await? else { continue };
            let mut fields = Fields::of(&row);
            let (begins, ends, first) = (fields.next()?, fields.next()?, fields.next()?);
            let (now, last) = (fields.next::<Time>()?, fields.maybe::<Time>()?);
            if let Some(since) = last.and_then(|last| self.keep.lets_go(now, last, total)) {
                return Ok(Some(OldPart { rows, begins, ends, first, since }));
            }
        }
        Ok(None)
    }

    /// Replaces the part by the prepared tables, and commits. Returns the time since when the writer may have waited.
    async fn replace(&self, session: &Session, old: &OldPart) -> StoreResult<Instant> {
        // Readers of one moment hold the first of these tables. No writer needs any of the next; and none holds a table
        // while it waits for the sequence row, so the last ones are free then.
        session.client.batch_execute(&old.lock_parts()).await?;
        session.client.batch_execute("SET LOCAL lock_timeout = '1s'").await?;
        let blocked = Instant::now();
        if session.client.query_opt(STILL_OURS, &[&Single(self.epoch.0)]).await?.is_none() {
            let (name, since) = ("another server".to_owned(), "a moment ago".to_owned());
            return Err(StoreError::Fenced { name, since }.into());
        }
        session.client.batch_execute(&old.swap()).await?;
        session.client.batch_execute("COMMIT").await?;
        Ok(blocked)
    }
}

/// Removes the audit trail of that time, a few rows at a time, without waiting for anyone.
async fn remove_audit(session: &Session) -> Result<(), tokio_postgres::Error> {
    while Fields::of(&session.client.query_one(REMOVE_AUDIT, &[&Single(AUDIT_ROWS)]).await?).next().unwrap_or(0)
        == AUDIT_ROWS
    {}
    Ok(())
}

/// Whether others hold a table.
fn is_held(error: &tokio_postgres::Error) -> bool {
    [Some(&SqlState::LOCK_NOT_AVAILABLE), Some(&SqlState::T_R_DEADLOCK_DETECTED)].contains(&error.code())
}

impl Keep {
    /// The time since which ended orders stay, if a part whose last row is of `last` may go.
    fn lets_go(&self, now: Time, last: Time, total: u64) -> Option<Time> {
        let before = |age: u64| Time(now.0.saturating_sub(age.max(DAY_US)));
        let by_age = self.age_us.map(before).filter(|since| last < *since);
        let by_size = || self.bytes.filter(|bytes| total > *bytes).map(|_| before(0)).filter(|since| last < *since);
        by_age.or_else(by_size)
    }
}

impl OldPart {
    /// The tables that lie in parts together, with their id columns.
    fn wholes(&self) -> &'static [(&'static str, &'static str)] {
        match self.rows {
            Rows::Orders => &[("orders", "id"), ("cancellations", "order_id")],
            Rows::Executions => &[("executions", "id")],
        }
    }

    /// The parts that go: this one, and the one with the rows carried along before.
    fn names(&self, whole: &str) -> Vec<String> {
        let carried = (self.first > 1).then(|| format!("pricetime.{whole}_to_{}", self.first));
        std::iter::once(format!("pricetime.{whole}_{}", self.begins)).chain(carried).collect()
    }

    /// Copies the rows that stay into tables that nobody knows yet, and notes the end of the removed ones. It locks
    /// nothing that others want.
    fn prepare(&self) -> String {
        let OldPart { rows, ends, .. } = self;
        let mut sql = String::new();
        for (whole, id) in self.wholes() {
            add(&mut sql, &format!("SELECT pricetime.make_part('{whole}_to_{ends}', '{whole}')"));
            add(&mut sql, &format!("ALTER TABLE pricetime.{whole}_to_{ends} ADD CHECK ({id} < {ends})"));
        }
        match rows {
            Rows::Orders => self.prepare_orders(&mut sql),
            Rows::Executions => self.prepare_executions(&mut sql),
        }
        add(&mut sql, "UPDATE pricetime.kept SET until = (SELECT max(time) FROM pricetime.gone)");
        sql
    }

    fn prepare_orders(&self, sql: &mut String) {
        let (ends, since) = (self.ends, format!("to_timestamp({} / 1000000.0)", self.since.0));
        add(sql, &format!("UPDATE pricetime.kept SET first_order = {ends}, whole = ({IS_WHOLE})"));
        add(
            sql,
            &format!(
                "INSERT INTO pricetime.orders_to_{ends} SELECT o.* FROM pricetime.orders o JOIN (
                     SELECT order_id AS id FROM pricetime.resting WHERE order_id < {ends}
                     UNION SELECT order_id FROM pricetime.client_orders
                         WHERE order_id < {ends} AND (done IS NULL OR done >= {since})
                     UNION SELECT order_id FROM pricetime.cancellations WHERE order_id < {ends} AND time >= {since}
                     UNION SELECT e.buy_order FROM pricetime.executions e WHERE e.time >= {since} AND e.buy_order < {ends}
                     UNION SELECT e.sell_order FROM pricetime.executions e WHERE e.time >= {since} AND e.sell_order < {ends}
                 ) stays ON stays.id = o.id WHERE o.id < {ends}"
            ),
        );
        add(sql, &format!("ANALYZE pricetime.orders_to_{ends}"));
        add(sql, &self.carry_cancellations());
        let goes = format!("NOT EXISTS (SELECT FROM pricetime.orders_to_{ends} s WHERE s.id = t.order_id)");
        add(
            sql,
            &note_gone(
                "orders of account",
                "account",
                &format!(
                    "SELECT t.account, t.id, coalesce(greatest(t.time, c.time, n.time), to_timestamp(0)) AS time,
                         coalesce(greatest(t.sequence, c.sequence, n.sequence), 0) AS sequence
                     FROM (SELECT o.*, o.id AS order_id FROM pricetime.orders o WHERE o.id < {ends}) t
                     LEFT JOIN pricetime.cancellations c ON c.order_id = t.id
                     LEFT JOIN (
                         SELECT m.order_id, max(m.time) AS time, max(m.sequence) AS sequence
                         FROM pricetime.notes m WHERE m.order_id < {ends} GROUP BY m.order_id
                     ) n ON n.order_id = t.id WHERE {goes}"
                ),
            ),
        );
        for table in
            ["client_orders", "notes", "amended_orders", "reductions", "icebergs", "trails", "imported_executions"]
        {
            add(sql, &format!("DELETE FROM pricetime.{table} t WHERE t.order_id < {ends} AND {goes}"));
        }
    }

    fn prepare_executions(&self, sql: &mut String) {
        let OldPart { ends, first, .. } = self;
        add(sql, &format!("UPDATE pricetime.kept SET first_execution = {ends}"));
        // Their orders lie before the first one kept, so those that are there were carried along.
        let stays = |order: &str| format!("EXISTS (SELECT FROM pricetime.orders o WHERE o.id = e.{order})");
        add(
            sql,
            &format!(
                "INSERT INTO pricetime.executions_to_{ends} SELECT e.* FROM pricetime.executions e
                 WHERE e.id < {ends} AND ({} OR {})",
                stays("buy_order"),
                stays("sell_order")
            ),
        );
        for (rows_of, number) in
            [("trades of symbol", "symbol"), ("trades of account", "buyer"), ("trades of account", "seller")]
        {
            let rows = format!("SELECT * FROM pricetime.executions WHERE id >= {first} AND id < {ends}");
            add(sql, &note_gone(rows_of, number, &rows));
        }
    }

    /// Selects the cancellations of carried orders that are not carried along yet.
    fn carry_cancellations(&self) -> String {
        let ends = self.ends;
        format!(
            "INSERT INTO pricetime.cancellations_to_{ends} SELECT c.* FROM pricetime.orders_to_{ends} o
             JOIN pricetime.cancellations c ON c.order_id = o.id
             WHERE NOT EXISTS (SELECT FROM pricetime.resting r WHERE r.order_id = o.id)
             ON CONFLICT (order_id) DO NOTHING"
        )
    }

    fn lock_parts(&self) -> String {
        let mut sql = String::new();
        add(&mut sql, "SET LOCAL lock_timeout = '200ms'");
        add(&mut sql, "LOCK TABLE pricetime.kept IN ACCESS EXCLUSIVE MODE");
        for (whole, _) in self.wholes() {
            add(&mut sql, &format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", self.names(whole).join(", ")));
        }
        sql
    }

    fn swap(&self) -> String {
        let mut sql = String::new();
        add(&mut sql, "SET LOCAL lock_timeout = '100ms'");
        let wholes: Vec<String> = self.wholes().iter().map(|(whole, _)| format!("ONLY pricetime.{whole}")).collect();
        add(&mut sql, &format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", wholes.join(", ")));
        if let Rows::Orders = self.rows {
            // These orders were canceled while the tables were prepared.
            add(&mut sql, &self.carry_cancellations());
        }
        let ends = self.ends;
        for (whole, _) in self.wholes() {
            for name in self.names(whole) {
                add(&mut sql, &format!("ALTER TABLE pricetime.{whole} DETACH PARTITION {name}"));
                add(&mut sql, &format!("DROP TABLE {name}"));
            }
            add(
                &mut sql,
                &format!(
                    "ALTER TABLE pricetime.{whole} ATTACH PARTITION pricetime.{whole}_to_{ends}
                     FOR VALUES FROM (MINVALUE) TO ({ends})"
                ),
            );
        }
        let (rows_of, begins) = (self.wholes()[0].0, self.begins);
        add(&mut sql, &format!("DELETE FROM pricetime.parts WHERE rows_of = '{rows_of}' AND begins = {begins}"));
        sql
    }
}

fn add(sql: &mut String, statement: &str) {
    writeln!(sql, "{statement};").expect("invariant: a text takes all that is written");
}

/// Notes the last of `rows` by each `number` of theirs.
fn note_gone(rows_of: &str, number: &str, rows: &str) -> String {
    format!(
        "INSERT INTO pricetime.gone AS g
         SELECT '{rows_of}', r.{number}, max(r.id), max(r.time), max(r.sequence) FROM ({rows}) r GROUP BY r.{number}
         ON CONFLICT (rows_of, number) DO UPDATE SET id = greatest(g.id, excluded.id),
             time = greatest(g.time, excluded.time), sequence = greatest(g.sequence, excluded.sequence)"
    )
}
