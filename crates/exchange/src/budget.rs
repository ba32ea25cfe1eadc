//! The budget of an issuer. The issuer pays from an account of the venue, and the balance of that account is the rest
//! of the budget: no count exists that a restart, a second connection or a crash could lose.

use std::fmt;

use terms::{AccountId, Command, Op};

/// Bounds on what an issuer gives; `None` is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The account whose dollars and shares the issuer gives, so that it creates no new ones.
    pub payer: Option<AccountId>,
    /// The accounts that the issuer may create.
    pub accounts: Option<AccountRange>,
}

/// Accounts whose numbers have equally many digits, so that there are no more of them than the numbers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountRange {
    first: AccountId,
    last: AccountId,
}

impl AccountRange {
    /// Makes a range that includes both ends. Returns `None` if they do not have equally many digits, or the last one
    /// comes first.
    pub fn new(first: AccountId, last: AccountId) -> Option<AccountRange> {
        let range = AccountRange { first, last };
        (range.contains(first) && range.contains(last)).then_some(range)
    }

    fn contains(&self, account: AccountId) -> bool {
        let digits = |id: AccountId| id.to_string().len();
        // Packed account ids of the same length are in the order of their numbers.
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
    /// Checks a command against the range of accounts. Errors: the command creates an account outside it.
    pub(crate) fn check(&self, command: &Command) -> Result<(), AccountRange> {
        let (Command::CreateAccount { account, .. }, Some(range)) = (command, self.accounts) else { return Ok(()) };
        if range.contains(*account) { Ok(()) } else { Err(range) }
    }

    /// Turns an op that creates dollars or shares into one that takes them from the payer.
    pub(crate) fn pay(&self, op: &mut Op) {
        let (Some(payer), Op::Command(command)) = (self.payer, op) else { return };
        if let Command::CreateAccount { account, balance } = *command {
            *command = Command::FundAccount { payer, account, balance };
        } else if let Command::IssueShares { symbol, account, shares } = *command {
            *command = Command::GiveShares { payer, symbol, account, shares };
        } else if let Command::Deposit { account, assets, number } = *command {
            *command = Command::DepositFrom { payer, account, assets, number };
        }
    }
}

#[cfg(test)]
mod tests {
    use terms::Money;

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::parse(id.as_bytes()).expect("digits")
    }

    #[test]
    fn deposits_are_paid_and_withdrawals_are_not() {
        let (payer, account, number) = (account("9"), account("7"), terms::TransferNumber::new(3));
        let assets = terms::Assets::Dollars(Money::from_units(5));
        let budget = Budget { payer: Some(payer), accounts: None };
        let mut op = Op::Command(Command::Deposit { account, assets, number });
        budget.pay(&mut op);
        assert_eq!(op, Op::Command(Command::DepositFrom { payer, account, assets, number }));
        let withdrawal = Op::Command(Command::Withdraw { account, assets, number });
        op = withdrawal;
        budget.pay(&mut op);
        assert_eq!(op, withdrawal);
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
