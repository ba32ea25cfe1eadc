//! Accounts, prices and numbers of shares from literals.

use terms::{AccountId, Decimal, Price, Shares};

pub(super) fn account(id: u64) -> AccountId {
    AccountId::parse(id.to_string().as_bytes()).expect("invariant: digits")
}

pub(super) fn number(text: &str) -> Decimal {
    Decimal::parse(text.as_bytes()).expect("invariant: digits")
}

pub(super) fn price(cents: i64) -> Option<Price> {
    Price::from_units(cents.checked_mul(1_000_000)?)
}

pub(super) fn shares(count: u64) -> Option<Shares> {
    Shares::from_units(i64::try_from(count).ok()?.checked_mul(100_000_000)?)
}
