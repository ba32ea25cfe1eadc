//! Rules of symbols as rows: the changes of a batch of commands, and the rules in a row. This file knows neither
//! effects nor how rows are written.

use engine::{Distance, Money, Price, RulesPart, Shares, SymbolIndex, SymbolRules};

use crate::error::StoreError;
use crate::fields::Fields;
use crate::phase_rows::take_interruption;

const NONE: SymbolRules = SymbolRules::NONE;

/// The columns behind the symbol's number, as [`take_rules`] takes them.
pub(crate) const COLUMNS: &str =
    "tick_size, lot_size, min_shares, max_shares, min_value, max_value, band_up, band_down, halted, interruption";

/// A symbol and its new rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RulesRow {
    pub symbol: SymbolIndex,
    pub rules: SymbolRules,
}

/// Replaces one part of a symbol's rules. All parts come, one after the other.
pub(crate) fn change(rows: &mut Vec<RulesRow>, symbol: SymbolIndex, part: RulesPart) {
    if rows.iter().all(|row| row.symbol != symbol) {
        rows.push(RulesRow { symbol, rules: NONE });
    }
    rows.iter_mut().filter(|row| row.symbol == symbol).for_each(|row| row.rules.set(part));
}

/// The values of the columns; null for a rule that is not set.
impl RulesRow {
    pub(crate) fn tick(&self) -> Option<Price> {
        Some(self.rules.tick).filter(|&tick| tick != NONE.tick)
    }

    pub(crate) fn lot(&self) -> Option<Shares> {
        Some(self.rules.lot).filter(|&lot| lot != NONE.lot)
    }

    pub(crate) fn shares_min(&self) -> Option<Shares> {
        Some(self.rules.shares_min).filter(|&least| least != NONE.shares_min)
    }

    pub(crate) fn shares_max(&self) -> Option<Shares> {
        Some(self.rules.shares_max).filter(|&most| most != NONE.shares_max)
    }

    pub(crate) fn value_min(&self) -> Option<Money> {
        Some(self.rules.value_min).filter(|&least| least != NONE.value_min)
    }

    /// The length of interruptions in seconds.
    pub(crate) fn interruption(&self) -> Option<u64> {
        self.rules.interruption.map(|pause| pause.seconds().into())
    }

    pub(crate) fn value_max(&self) -> Option<Money> {
        Some(self.rules.value_max).filter(|&most| most != NONE.value_max)
    }
}

/// Takes the next fields of a row, in the order of [`COLUMNS`]. Errors: `Unreadable`.
pub(crate) fn take_rules(fields: &mut Fields<'_>) -> Result<SymbolRules, StoreError> {
    Ok(SymbolRules {
        tick: fields.maybe()?.unwrap_or(NONE.tick),
        lot: fields.maybe()?.unwrap_or(NONE.lot),
        shares_min: fields.maybe()?.unwrap_or(NONE.shares_min),
        shares_max: fields.maybe()?.unwrap_or(NONE.shares_max),
        value_min: fields.maybe()?.unwrap_or(NONE.value_min),
        value_max: fields.maybe()?.unwrap_or(NONE.value_max),
        band_up: fields.maybe::<Distance>()?,
        band_down: fields.maybe::<Distance>()?,
        is_halted: fields.next()?,
        interruption: take_interruption(fields)?,
    })
}
