//! Reports on an account's orders, read again piece by piece: every placing, execution, note and cancellation behind a
//! command, each kind along an index of its own. Ids rise with the commands, so a search finds where to begin.

use std::time::Instant;

use exchange::Trade;
use terms::{AccountIndex, CancelReason, OrderId, Sequence, Shares, Side, SymbolIndex, Time};

use crate::column::Single;
use crate::error::{StoreError, StoreResult};
use crate::fields::Fields;
use crate::kept::RowsOf;
use crate::notes::{self, NotedRow};
use crate::pages::{OpenedRow, TRADE, opened_row, side, trade_row};
use crate::reader::{Given, Reader, START_PATIENCE, Seen, each};
use crate::session::Session;

/// The cancellation of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanceledRow {
    /// The id of the order.
    pub order: OrderId,
    /// The symbol of the order.
    pub symbol: SymbolIndex,
    /// The side of the order.
    pub side: Side,
    /// The shares that were canceled.
    pub shares: Shares,
    /// The reason; none if it is unknown.
    pub why: Option<CancelReason>,
    /// The time of the cancellation.
    pub time: Time,
    /// The command that canceled it.
    pub sequence: Sequence,
}

/// A piece of an account's reports, each kind in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRows {
    /// The orders that it placed.
    pub placed: Vec<OpenedRow>,
    /// The executions of its buys; a trade with itself is in both lists.
    pub bought: Vec<Trade>,
    /// The executions of its sells.
    pub sold: Vec<Trade>,
    /// The other notes on its orders.
    pub noted: Vec<NotedRow>,
    /// Its orders that were canceled.
    pub canceled: Vec<CanceledRow>,
    /// The last command that the piece covers completely.
    pub through: Sequence,
}

/// Selects whether the first order ever is here as it was placed, or was when it was removed.
pub(crate) const IS_WHOLE: &str = "
    SELECT coalesce(k.whole,
        (SELECT o.id = 1 AND o.sequence IS NOT NULL FROM pricetime.orders o ORDER BY o.id LIMIT 1), s.next_order = 1)
    FROM pricetime.command_sequence s CROSS JOIN pricetime.kept k";
const PLACED: &str = "
    SELECT o.id, o.symbol, o.side = 'buy', o.limit_price, o.shares, o.kind, o.trigger_price,
        o.trigger_from_below, o.self_trade, o.time, o.sequence, n.client_order_id
    FROM (
        SELECT p.* FROM pricetime.orders p WHERE p.account = $1::bigint AND p.id >= $2::bigint
        ORDER BY p.id LIMIT $3::bigint
    ) o LEFT JOIN pricetime.client_orders n ON n.order_id = o.id ORDER BY o.id";
const CANCELED: &str = "
    SELECT c.order_id, o.symbol, o.side = 'buy', c.shares, c.why, c.time, c.sequence
    FROM (
        SELECT x.* FROM pricetime.cancellations x WHERE x.account = $1::bigint AND x.sequence > $2::bigint
        ORDER BY x.sequence LIMIT $3::bigint
    ) c CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = c.order_id LIMIT 1) o ORDER BY c.sequence, c.order_id";

impl Reader {
    /// Whether the rows have every order that there ever was: none was imported. Errors: those of `placed_times`.
    pub fn is_whole(&mut self) -> Result<bool, StoreError> {
        let whole = self.read(Instant::now() + START_PATIENCE, async |session: &Session, _| {
            let row = session.client.query_one(IS_WHOLE, &[]).await?;
            Ok(Fields::of(&row).next()?)
        });
        Ok(whole?.0)
    }

    /// Reads the reports of an account behind one command and up to another, from the beginning: `most` of each kind,
    /// and more only where one command made more. Errors: those of `trades_of_symbol`.
    pub fn reports(
        &mut self,
        account: AccountIndex,
        behind: Sequence,
        through: Sequence,
        most: usize,
        until: Instant,
    ) -> Result<Seen<ReportRows>, StoreError> {
        self.read(until, async |session: &Session, kept| {
            for rows in [RowsOf::OrdersOf(account), RowsOf::TradesOf(account)] {
                // A client that only asks for newer reports misses nothing.
                if let Some(gone) = kept.gone(session, rows).await?.filter(|gone| gone.sequence > behind) {
                    return Err(gone.error().into());
                }
            }
            let mut most = most.max(1);
            loop {
                let rows = reports(session, account, (behind, through), most).await?;
                if rows.through > behind || through <= behind {
                    return Ok(rows);
                }
                most = most.saturating_mul(2);
            }
        })
    }
}

async fn reports(
    session: &Session,
    account: AccountIndex,
    (behind, through): (Sequence, Sequence),
    most: usize,
) -> StoreResult<ReportRows> {
    // A client chooses this command, which may be any number.
    let behind_asked = behind.0.min(i64::MAX.unsigned_abs());
    let (client, of, limit, after) = (&session.client, Single(account.0), Single(most as u64), Single(behind_asked));
    let first = |table: &'static str, next: &'static str| async move {
        let row = session.client.query_one(&first_behind(table, next), &[&Single(behind_asked)]).await?;
        StoreResult::Ok(Single(Fields::of(&row).next::<u64>()?))
    };
    let (order, execution) = (first("orders", "next_order").await?, first("executions", "next_execution").await?);
    let given: [Given<'_>; 3] = [&of, &order, &limit];
    let placed = each(&client.query(PLACED, &given).await?, opened_row)?;
    let given: [Given<'_>; 3] = [&of, &execution, &limit];
    let bought = each(&client.query(&traded("buyer"), &given).await?, trade_row)?;
    let sold = each(&client.query(&traded("seller"), &given).await?, trade_row)?;
    let given: [Given<'_>; 3] = [&of, &after, &limit];
    let canceled = each(&client.query(CANCELED, &given).await?, canceled_row)?;
    let noted = notes::noted(session, &given).await?;
    // Behind the last of as many rows as were requested there may be more of the same command.
    let ends = |rows: usize, last: Option<Sequence>| match last {
        Some(last) if rows == most => Sequence(last.0.saturating_sub(1)),
        _ => through,
    };
    let through = through
        .min(ends(placed.len(), placed.last().map(|row| row.sequence)))
        .min(ends(bought.len(), bought.last().map(|row| row.sequence)))
        .min(ends(sold.len(), sold.last().map(|row| row.sequence)))
        .min(ends(noted.len(), noted.last().map(|row| row.sequence)))
        .min(ends(canceled.len(), canceled.last().map(|row| row.sequence)));
    let mut rows = ReportRows { placed, bought, sold, noted, canceled, through };
    rows.placed.retain(|row| row.sequence <= through);
    rows.bought.retain(|row| row.sequence <= through);
    rows.sold.retain(|row| row.sequence <= through);
    rows.noted.retain(|row| row.sequence <= through);
    rows.canceled.retain(|row| row.sequence <= through);
    Ok(rows)
}

/// Finds the first id of a table whose command is behind `$1`, or the id that comes `next`, by bisection, row by row.
/// With the `OFFSET` the database reads each row once, and not once for each column that depends on it.
fn first_behind(table: &str, next: &str) -> String {
    format!(
        "WITH RECURSIVE search AS (
             SELECT 1::bigint AS low, s.{next} AS high FROM pricetime.command_sequence s
             UNION ALL
             SELECT CASE WHEN h.later THEN h.low ELSE h.middle + 1 END, CASE WHEN h.later THEN h.middle ELSE h.high END
             FROM (
                 SELECT f.low, f.high, f.middle, coalesce((
                     SELECT coalesce(t.sequence, 0) > $1::bigint FROM pricetime.{table} t
                     WHERE t.id >= f.middle ORDER BY t.id LIMIT 1
                 ), true) AS later
                 FROM (SELECT w.low, w.high, (w.low + w.high) / 2 AS middle FROM search w WHERE w.low < w.high) f OFFSET 0
             ) h
         )
         SELECT low FROM search WHERE low = high"
    )
}

fn traded(party: &str) -> String {
    format!(
        "SELECT {TRADE} FROM pricetime.executions e WHERE e.{party} = $1::bigint AND e.id >= $2::bigint
         ORDER BY e.id LIMIT $3::bigint"
    )
}

fn canceled_row(fields: &mut Fields<'_>) -> Result<CanceledRow, StoreError> {
    Ok(CanceledRow {
        order: OrderId(fields.next()?),
        symbol: SymbolIndex(fields.next()?),
        side: side(fields.next()?),
        shares: fields.next()?,
        why: fields.maybe()?,
        time: fields.next()?,
        sequence: Sequence(fields.next()?),
    })
}
