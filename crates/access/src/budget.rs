//! The budget of an issuer, as an access file holds it.

use std::fmt;

use exchange::{AccountRange, Budget, Role};
use serde::Deserialize;
use terms::AccountId;

/// A budget as it is written; a missing field bounds nothing.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct BudgetText {
    /// The account that pays.
    pub from: Option<String>,
    /// The accounts that the issuer may create, `1000-1999`.
    pub accounts: Option<String>,
}

/// Writes the budget as TOML.
impl fmt::Display for BudgetText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &String| toml::Value::from(text.as_str()).to_string();
        let all = [("from", &self.from), ("accounts", &self.accounts)];
        let given = all.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}", quoted(value.as_ref()?))));
        write!(f, "{{ {} }}", given.collect::<Vec<String>>().join(", "))
    }
}

impl BudgetText {
    /// Reads the budget of a member with these roles. Errors: the field and its fault.
    pub(crate) fn of(&self, roles: &[Role]) -> Result<Budget, String> {
        if !roles.contains(&Role::Issuer) || roles.contains(&Role::Operator) {
            return Err("budget is for a member that is an issuer and no operator".to_owned());
        }
        let payer = |id: &String| AccountId::parse(id.as_bytes()).map_err(|why| format!("budget.from {why}"));
        let range = |text: &String| {
            let (first, last) = text.split_once('-')?;
            AccountRange::new(AccountId::parse(first.as_bytes()).ok()?, AccountId::parse(last.as_bytes()).ok()?)
        };
        let fault = "budget.accounts must be the first and the last account, of equally many digits, like 1000-1999";
        Ok(Budget {
            payer: self.from.as_ref().map(payer).transpose()?,
            accounts: self.accounts.as_ref().map(|text| range(text).ok_or(fault)).transpose()?,
        })
    }
}
