//! What is kept of the past, as whoever reads rows needs to know it: read at the same moment as the rows. So an answer says that
//! something is no longer kept exactly where it is gone.

use engine::{AccountIndex, Sequence, SymbolIndex, Time};

use crate::column::Single;
use crate::error::{StoreError, Told};
use crate::fields::Fields;
use crate::session::Session;

/// Comes first in a transaction that reads several tables, before the moment that it sees is fixed: what goes, goes with its
/// tables, also for those who see an earlier moment.
pub(crate) const NOTHING_GOES: &str = "LOCK TABLE pricetime.kept IN ACCESS SHARE MODE";
/// Columns of `pricetime.kept`, for `Kept::read`.
pub(crate) const COLUMNS: &str = "k.first_order, k.first_execution, k.until";

/// The row of `pricetime.kept`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// All orders from here on are there, and of those before it those that were open when the others went.
    pub(crate) first_order: u64,
    /// All executions from here on are there.
    pub(crate) first_execution: u64,
    /// All that is gone happened up to then.
    until: Option<Time>,
}

/// Rows of which some may be gone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowsOf {
    OrdersOf(AccountIndex),
    TradesOf(AccountIndex),
    TradesIn(SymbolIndex),
}

/// Something is gone: up to here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone {
    /// The last order or execution.
    pub(crate) id: u64,
    pub(crate) time: Time,
    /// The last command of which something is gone.
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
    /// The columns that `COLUMNS` names.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Result<Kept, StoreError> {
        Ok(Kept { first_order: fields.next()?, first_execution: fields.next()?, until: fields.maybe()? })
    }

    /// What is gone of these rows, if anything is.
    pub(crate) async fn gone(&self, session: &Session, rows: RowsOf) -> Told<Option<Gone>> {
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

    /// That something is gone of which nobody can say whose it was.
    pub(crate) fn error(&self) -> StoreError {
        StoreError::NoLongerKept { until: self.until.unwrap_or(Time::ZERO) }
    }
}
