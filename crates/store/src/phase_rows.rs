//! Phases of symbols as rows: the changes of a batch of commands, and the phase in a row. This file knows neither
//! effects nor how rows are written.

use engine::{Pause, Phase, SymbolIndex, SymbolPhase};

use crate::error::StoreError;
use crate::fields::Fields;

/// A symbol and its new phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseRow {
    pub symbol: SymbolIndex,
    pub phase: SymbolPhase,
}

/// Puts a symbol into another phase. The last change counts.
pub(crate) fn change(rows: &mut Vec<PhaseRow>, symbol: SymbolIndex, phase: SymbolPhase) {
    match rows.iter_mut().find(|row| row.symbol == symbol) {
        Some(row) => row.phase = phase,
        None => rows.push(PhaseRow { symbol, phase }),
    }
}

/// Takes the next fields of a row: the phase, and its end. Errors: `Unreadable`.
pub(crate) fn take_phase(fields: &mut Fields<'_>) -> Result<SymbolPhase, StoreError> {
    let phase = Phase::named(fields.next::<&str>()?).ok_or_else(|| unreadable("symbol_phases.phase"))?;
    Ok(SymbolPhase { phase, until: fields.maybe()? })
}

/// Takes the next field, the length of interruptions. Errors: `Unreadable`.
pub(crate) fn take_interruption(fields: &mut Fields<'_>) -> Result<Option<Pause>, StoreError> {
    let seconds = fields.maybe::<u32>()?;
    seconds
        .map(|seconds| Pause::from_seconds(seconds).ok_or_else(|| unreadable("symbol_rules.interruption")))
        .transpose()
}

fn unreadable(column: &str) -> StoreError {
    StoreError::Unreadable { column: column.to_owned() }
}
