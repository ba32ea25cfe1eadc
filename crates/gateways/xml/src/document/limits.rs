//! Parses the limits of an account from attributes. Source: docs/rules/ACCOUNT_LIMITS.md.

use terms::{AccountLimit, AccountLimits, Command};

use super::fault::ChildFault;
use super::fields::{Fields, account_id, decimal, given};

const AMOUNTS: usize = AccountLimit::ALL.len();
/// The number of attributes that limits may have.
pub(super) const LIMITS_FIELDS: usize = AMOUNTS + 1;

/// Returns the attributes: the account, and the limits.
pub(super) const fn limits_names() -> [&'static str; LIMITS_FIELDS] {
    let mut names = ["account"; LIMITS_FIELDS];
    let mut at = 0;
    while at < AMOUNTS {
        names[at + 1] = AccountLimit::ALL[at].name();
        at += 1;
    }
    names
}

/// Reads the limits of an account. A missing value is no limit.
pub(super) fn limits_command<'a>(fields: &Fields<'a, LIMITS_FIELDS>) -> Result<Command, ChildFault<'a>> {
    fields.known("limits")?;
    let [account, amounts @ ..] = fields.values;
    let account = account_id(given(account, "limits", "account")?)?;
    let mut limits = AccountLimits::NONE;
    for (limit, amount) in AccountLimit::ALL.into_iter().zip(amounts) {
        let Some(amount) = amount else { continue };
        decimal(limit.name(), &amount.trimmed(), |amount| limits.set_amount(limit, amount))?;
    }
    Ok(Command::ChangeLimits { account, limits })
}
