//! Phases of symbols as rows: what a batch of commands changed, and what a row says. It knows neither effects nor how rows are written.

use engine::{Pause, Phase, SymbolIndex, SymbolPhase};

use crate::error::StoreError;
use crate::fields::Fields;

/// A symbol and the phase that it is in now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseRow {
    pub symbol: SymbolIndex,
    pub phase: SymbolPhase,
}

/// A symbol is in another phase. The last one counts.
pub(crate) fn change(rows: &mut Vec<PhaseRow>, symbol: SymbolIndex, phase: SymbolPhase) {
    match rows.iter_mut().find(|row| row.symbol == symbol) {
        Some(row) => row.phase = phase,
        None => rows.push(PhaseRow { symbol, phase }),
    }
}

/// The next fields of a row: the phase, and its end. Errors: `Unreadable`.
pub(crate) fn take_phase(fields: &mut Fields<'_>) -> Result<SymbolPhase, StoreError> {
    let phase = Phase::named(fields.next::<&str>()?).ok_or_else(|| unreadable("symbol_phases.phase"))?;
    Ok(SymbolPhase { phase, until: fields.maybe()? })
}

/// The next field, for how long a band interrupts trading. Errors: `Unreadable`.
pub(crate) fn take_interruption(fields: &mut Fields<'_>) -> Result<Option<Pause>, StoreError> {
    let seconds = fields.maybe::<u32>()?;
    seconds
        .map(|seconds| Pause::from_seconds(seconds).ok_or_else(|| unreadable("symbol_rules.interruption")))
        .transpose()
}

fn unreadable(column: &str) -> StoreError {
    StoreError::Unreadable { column: column.to_owned() }
}
