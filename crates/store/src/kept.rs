//! The bounds of what is kept of the past, for readers of rows: read at the same moment as the rows, so an answer
//! refuses exactly the rows that retention removed.

use terms::{AccountIndex, Sequence, SymbolIndex, Time};

use crate::column::Single;
use crate::error::{StoreError, StoreResult};
use crate::fields::Fields;
use crate::session::Session;

/// Locks out retention in a transaction that reads several tables. It comes first, before the transaction's moment is
/// fixed: retention drops whole tables, also for readers of an earlier moment.
pub(crate) const NOTHING_GOES: &str = "LOCK TABLE pricetime.kept IN ACCESS SHARE MODE";
/// Columns of `pricetime.kept`, for `Kept::read`.
pub(crate) const COLUMNS: &str = "k.first_order, k.first_execution, k.until";

/// The row of `pricetime.kept`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// The first order from which on all are there. Of those before it, only the ones are there that were open at their
    /// removal.
    pub(crate) first_order: u64,
    /// The first execution from which on all are there.
    pub(crate) first_execution: u64,
    /// The time up to which all removed events happened.
    until: Option<Time>,
}

/// Rows of which some may be removed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowsOf {
    OrdersOf(AccountIndex),
    TradesOf(AccountIndex),
    TradesIn(SymbolIndex),
}

/// The end of the removed rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone {
    /// The last removed order or execution.
    pub(crate) id: u64,
    pub(crate) time: Time,
    /// The last command of which rows were removed.
    pub(crate) sequence: Sequence,
}

impl Gone {
    pub(crate) fn error(&self) -> StoreError {
        StoreError::NoLongerKept { until: self.time }
    }
}

const GONE: &str = "
    SELECT id, time, sequence FROM pricetime.gone WHERE rows_of = $1::text AND number = $2::bigint";

impl Kept {
    /// Reads the columns that `COLUMNS` names.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Kept, StoreError> {
        Ok(Kept { first_order: fields.next()?, first_execution: fields.next()?, until: fields.maybe()? })
    }

    /// The end of the removed rows of this kind, if any were removed.
    pub(crate) async fn gone(&self, session: &Session, rows: RowsOf) -> StoreResult<Option<Gone>> {
        if self.first_order == 1 {
            return Ok(None);
        }
        let (rows_of, number) = match rows {
            RowsOf::OrdersOf(account) => ("orders of account", account.0),
            RowsOf::TradesOf(account) => ("trades of account", account.0),
            RowsOf::TradesIn(symbol) => ("trades of symbol", symbol.0),
        };
        let Some(row) = session.client.query_opt(GONE, &[&rows_of, &Single(number)]).await? else { return Ok(None) };
        let mut fields = Fields::of(&row);
        Ok(Some(Gone { id: fields.next()?, time: fields.next()?, sequence: Sequence(fields.next()?) }))
    }

    /// The error for removed rows whose owner is no longer known.
    pub(crate) fn error(&self) -> StoreError {
        StoreError::NoLongerKept { until: self.until.unwrap_or(Time::ZERO) }
    }
}
