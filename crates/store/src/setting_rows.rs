//! Settings of accounts and symbols as rows: those that a batch of commands changed, how each table is written, and the
//! setting in a row. This file knows no effects and no statement.

use std::num::NonZeroU32;

use terms::{
    AccountIndex, AccountLimits, AccountStatus, AuctionTies, Distance, Grace, Group, KillScope, RulesPart, SymbolIndex,
    SymbolPhase, SymbolRules,
};

use crate::column::table;
use crate::error::StoreError;
use crate::fields::Fields;

const NO_RULES: SymbolRules = SymbolRules::NONE;
const NO_LIMITS: AccountLimits = AccountLimits::NONE;

/// A symbol and its new rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RulesRow {
    pub symbol: SymbolIndex,
    pub rules: SymbolRules,
}

/// A symbol and its new phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseRow {
    pub symbol: SymbolIndex,
    pub phase: SymbolPhase,
}

/// An account and its new limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitsRow {
    pub account: AccountIndex,
    pub limits: AccountLimits,
}

/// An account and its new group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupRow {
    pub account: AccountIndex,
    pub group: Group,
}

/// An account and its new status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccountStatusRow {
    pub account: AccountIndex,
    pub status: AccountStatus,
}

/// An account and its grace; none if it is no longer protected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtectionRow {
    pub account: AccountIndex,
    pub grace: Option<Grace>,
}

/// A scope, and whether it is killed now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KillRow {
    pub scope: KillScope<AccountIndex, SymbolIndex>,
    pub is_killed: bool,
}

table! { symbol_rules: RulesRow, row =>
    symbol: row.symbol,
    tick_size: set(row.rules.tick, NO_RULES.tick),
    lot_size: set(row.rules.lot, NO_RULES.lot),
    min_shares: set(row.rules.shares_min, NO_RULES.shares_min),
    max_shares: set(row.rules.shares_max, NO_RULES.shares_max),
    min_value: set(row.rules.value_min, NO_RULES.value_min),
    max_value: set(row.rules.value_max, NO_RULES.value_max),
    band_up: row.rules.band_up,
    band_down: row.rules.band_down,
    halted: row.rules.is_halted,
    interruption: row.rules.interruption,
    band_size: set(row.rules.band_size, NO_RULES.band_size),
    static_up: row.rules.static_up,
    static_down: row.rules.static_down,
    auction_ties: set(row.rules.auction_ties, NO_RULES.auction_ties).map(AuctionTies::name),
}

table! { symbol_phases: PhaseRow, row => symbol: row.symbol, phase: row.phase.phase, until: row.phase.until }

table! { account_limits: LimitsRow, row =>
    account: row.account,
    open_orders: row.limits.open_orders.map(NonZeroU32::get),
    order_shares: set(row.limits.order_shares, NO_LIMITS.order_shares),
    order_value: set(row.limits.order_value, NO_LIMITS.order_value),
    position: set(row.limits.position, NO_LIMITS.position),
    collar: row.limits.collar,
}

table! { account_groups: GroupRow, row => account: row.account, group_number: row.group }

table! { account_statuses: AccountStatusRow, row => account: row.account, transfers: row.status.transfers, closed: row.status.is_closed }

table! { protections: ProtectionRow, row => account: row.account, grace_ms: row.grace }

table! { kills: KillRow, row =>
    scope: row.scope.name(),
    account: if let KillScope::Account(account) = row.scope { Some(account) } else { None },
    symbol: if let KillScope::Symbol(symbol) = row.scope { Some(symbol) } else { None },
}

/// The value of a column: null for a setting that is not set.
fn set<T: PartialEq>(value: T, unset: T) -> Option<T> {
    Some(value).filter(|value| *value != unset)
}

/// Adds a change to those of a batch. The last change of a setting counts.
pub(crate) fn change<R>(rows: &mut Vec<R>, row: R, is_same: impl Fn(&R) -> bool) {
    match rows.iter_mut().find(|row| is_same(row)) {
        Some(earlier) => *earlier = row,
        None => rows.push(row),
    }
}

/// Replaces one part of a symbol's rules. All parts come, one after the other.
pub(crate) fn change_rules(rows: &mut Vec<RulesRow>, symbol: SymbolIndex, part: RulesPart) {
    if rows.iter().all(|row| row.symbol != symbol) {
        rows.push(RulesRow { symbol, rules: NO_RULES });
    }
    rows.iter_mut().filter(|row| row.symbol == symbol).for_each(|row| row.rules.set(part));
}

impl RulesRow {
    /// Reads the columns of the table. Errors: `Unreadable`.
    pub(crate) fn take(fields: &mut Fields<'_>) -> Result<RulesRow, StoreError> {
        let symbol = SymbolIndex(fields.next()?);
        let rules = SymbolRules {
            tick: fields.maybe()?.unwrap_or(NO_RULES.tick),
            lot: fields.maybe()?.unwrap_or(NO_RULES.lot),
            shares_min: fields.maybe()?.unwrap_or(NO_RULES.shares_min),
            shares_max: fields.maybe()?.unwrap_or(NO_RULES.shares_max),
            value_min: fields.maybe()?.unwrap_or(NO_RULES.value_min),
            value_max: fields.maybe()?.unwrap_or(NO_RULES.value_max),
            band_up: fields.maybe::<Distance>()?,
            band_down: fields.maybe::<Distance>()?,
            is_halted: fields.next()?,
            interruption: fields.maybe()?,
            band_size: fields.maybe()?.unwrap_or(NO_RULES.band_size),
            static_up: fields.maybe::<Distance>()?,
            static_down: fields.maybe::<Distance>()?,
            auction_ties: fields.maybe()?.unwrap_or(NO_RULES.auction_ties),
            reference: None,
        };
        Ok(RulesRow { symbol, rules })
    }
}

impl PhaseRow {
    /// Reads the columns of the table. Errors: `Unreadable`.
    pub(crate) fn take(fields: &mut Fields<'_>) -> Result<PhaseRow, StoreError> {
        let symbol = SymbolIndex(fields.next()?);
        let phase = SymbolPhase { phase: fields.next()?, until: fields.maybe()? };
        Ok(PhaseRow { symbol, phase })
    }
}

impl LimitsRow {
    /// Reads the columns of the table. Errors: `Unreadable`.
    pub(crate) fn take(fields: &mut Fields<'_>) -> Result<LimitsRow, StoreError> {
        let account = AccountIndex(fields.next()?);
        let limits = AccountLimits {
            open_orders: fields.maybe()?,
            order_shares: fields.maybe()?.unwrap_or(NO_LIMITS.order_shares),
            order_value: fields.maybe()?.unwrap_or(NO_LIMITS.order_value),
            position: fields.maybe()?.unwrap_or(NO_LIMITS.position),
            collar: fields.maybe()?,
        };
        Ok(LimitsRow { account, limits })
    }
}

impl KillRow {
    /// Reads the columns of the table: a scope, and an account, or a symbol, or neither. Errors: `Unreadable`.
    pub(crate) fn take(fields: &mut Fields<'_>) -> Result<KillRow, StoreError> {
        fields.skip(1);
        let scope = match (fields.maybe()?.map(AccountIndex), fields.maybe()?.map(SymbolIndex)) {
            (None, None) => KillScope::Everything,
            (Some(account), None) => KillScope::Account(account),
            (None, Some(symbol)) => KillScope::Symbol(symbol),
            (Some(_), Some(_)) => return Err(StoreError::Unreadable { column: "kills.symbol".to_owned() }),
        };
        Ok(KillRow { scope, is_killed: true })
    }
}
