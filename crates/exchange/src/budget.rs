//! What an issuer may give. It pays from an account of the venue, which holds what is left: there is nothing to be counted here, and nothing
//! that a restart, a second connection or a crash could forget.

use std::fmt;

use engine::{AccountId, Command, Op};

/// Bounds of what an issuer gives; those that are none bound nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The account whose dollars and shares it gives. It makes none then.
    pub payer: Option<AccountId>,
    /// The accounts that it may create.
    pub accounts: Option<AccountRange>,
}

/// Accounts whose numbers have equally many digits, so that there are no more of them than the numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountRange {
    first: AccountId,
    last: AccountId,
}

impl AccountRange {
    /// Both ends belong to it. None: they have not equally many digits, or the last one comes first.
    pub fn new(first: AccountId, last: AccountId) -> Option<AccountRange> {
        let range = AccountRange { first, last };
        (range.contains(first) && range.contains(last)).then_some(range)
    }

    fn contains(&self, account: AccountId) -> bool {
        let digits = |id: AccountId| id.to_string().len();
        // Of equally long numbers the packed ones are in the order of the numbers.
        digits(account) == digits(self.first)
            && digits(account) == digits(self.last)
            && (self.first.packed()..=self.last.packed()).contains(&account.packed())
    }
}

impl fmt::Display for AccountRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl Budget {
    /// Errors: the command creates an account that is none of those that it may create.
    pub(crate) fn check(&self, command: &Command) -> Result<(), AccountRange> {
        let (Command::CreateAccount { account, .. }, Some(range)) = (command, self.accounts) else { return Ok(()) };
        if range.contains(*account) { Ok(()) } else { Err(range) }
    }

    /// What is made it pays for.
    pub(crate) fn pay(&self, op: &mut Op) {
        let (Some(payer), Op::Command(command)) = (self.payer, op) else { return };
        if let Command::CreateAccount { account, balance } = *command {
            *command = Command::FundAccount { payer, account, balance };
        } else if let Command::IssueShares { symbol, account, shares } = *command {
            *command = Command::GiveShares { payer, symbol, account, shares };
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::Money;

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::parse(id.as_bytes()).expect("digits")
    }

    #[test]
    fn accounts_of_a_range_are_as_many_as_its_numbers_say() {
        let range = AccountRange::new(account("098"), account("102")).expect("in order");
        let ids = ["098", "099", "100", "102", "97", "98", "097", "103", "0100", "1000"];
        let within: Vec<&str> = ids.into_iter().filter(|id| range.contains(account(id))).collect();
        assert_eq!(within, ["098", "099", "100", "102"]);
        assert_eq!(range.to_string(), "098-102");
        for (first, last) in [("2", "1"), ("9", "10"), ("010", "9")] {
            assert_eq!(AccountRange::new(account(first), account(last)), None, "{first}-{last}");
        }
        let budget = Budget { payer: None, accounts: Some(range) };
        let create = |id| Command::CreateAccount { account: account(id), balance: Money::ZERO };
        assert_eq!(budget.check(&create("100")), Ok(()));
        assert_eq!(budget.check(&create("103")), Err(range));
        assert_eq!(Budget::default().check(&create("103")), Ok(()));
    }
}
