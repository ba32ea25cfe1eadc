//! Deposits and withdrawals: the assets that they move, their numbers, and the status of accounts, which counts them
//! and says which accounts are closed. `engine/accounts/{deposits,closing}.rs` decide. Followers of events keep the
//! status, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU64;

use crate::amount::{Money, Position};
use crate::ids::{AccountIndex, Symbol};

/// The most digits of a transfer's number.
const DIGITS_MAX: usize = 18;

/// The assets that a transfer moves, of one kind: more than nothing, and at most the cap of their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assets {
    Dollars(Money),
    Shares { symbol: Symbol, shares: Position },
}

impl Assets {
    /// Whether they are more than nothing and at most their cap.
    pub fn is_sound(self) -> bool {
        match self {
            Assets::Dollars(dollars) => dollars > Money::ZERO && dollars <= Money::CAP,
            Assets::Shares { shares, .. } => shares > Position::ZERO && shares <= Position::CAP,
        }
    }
}

impl fmt::Display for Assets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Assets::Dollars(dollars) => write!(f, "{dollars} dollars"),
            Assets::Shares { symbol, shares } => write!(f, "{shares} {symbol}"),
        }
    }
}

/// The number of a transfer among those of its account. The first one has number 1, and each the number after that of
/// the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferNumber(NonZeroU64);

impl TransferNumber {
    /// The number of an account's first transfer.
    pub const FIRST: TransferNumber = TransferNumber(NonZeroU64::MIN);

    /// The highest number that a request may name.
    pub const MAX: TransferNumber = match NonZeroU64::new(999_999_999_999_999_999) {
        Some(number) => TransferNumber(number),
        None => TransferNumber::FIRST,
    };

    /// Makes a number of at least one.
    pub fn new(number: u64) -> Option<TransferNumber> {
        NonZeroU64::new(number).map(TransferNumber)
    }

    /// Reads a number. Errors: a text that is no such number.
    pub fn parse(text: &[u8]) -> Result<TransferNumber, TransferNumberError> {
        let digits = !text.is_empty() && text.len() <= DIGITS_MAX && text.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
        number.and_then(TransferNumber::new).ok_or(TransferNumberError)
    }

    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for TransferNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is no number of a transfer. Its `Display` follows the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferNumberError;

impl fmt::Display for TransferNumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is not a whole number from 1, of at most {DIGITS_MAX} digits")
    }
}

impl std::error::Error for TransferNumberError {}

/// A thing that keeps an account from being closed. Its `Display` is the sentence for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountUse {
    /// Open orders.
    Orders,
    /// Dollars that a withdrawal can name.
    Dollars,
    /// Shares of a symbol.
    Shares(Symbol),
    /// The fees of a symbol, which it gets.
    Fees(Symbol),
}

impl fmt::Display for AccountUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Account cannot be closed: it ")?;
        match self {
            AccountUse::Orders => f.write_str("has open orders, so cancel them first"),
            AccountUse::Dollars => f.write_str("has dollars, so withdraw them first"),
            AccountUse::Shares(symbol) => write!(f, "has shares of {symbol}, so withdraw them first"),
            AccountUse::Fees(symbol) => write!(f, "gets the fees of {symbol}, so name another account in them first"),
        }
    }
}

/// The status of an account: its transfers so far, and whether it is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountStatus {
    /// The number of deposits and withdrawals.
    pub transfers: u64,
    pub is_closed: bool,
}

impl AccountStatus {
    /// The status of an open account without transfers.
    pub const NEW: AccountStatus = AccountStatus { transfers: 0, is_closed: false };

    /// The number of the account's next transfer.
    pub fn next(self) -> TransferNumber {
        TransferNumber::new(self.transfers.saturating_add(1)).unwrap_or(TransferNumber::FIRST)
    }
}

/// The statuses of accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountStatuses {
    of: BTreeMap<AccountIndex, AccountStatus>,
    /// The closed accounts once more: each order looks here, and they are fewer.
    closed: BTreeSet<AccountIndex>,
}

impl AccountStatuses {
    /// Makes the statuses of accounts without transfers.
    pub fn new() -> AccountStatuses {
        AccountStatuses::default()
    }

    /// The status of an account.
    #[inline]
    pub fn of(&self, account: AccountIndex) -> AccountStatus {
        self.of.get(&account).copied().unwrap_or(AccountStatus::NEW)
    }

    /// Whether any account is closed.
    #[inline]
    pub fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Whether this account is closed.
    pub fn is_closed(&self, account: AccountIndex) -> bool {
        self.closed.contains(&account)
    }

    pub fn set(&mut self, account: AccountIndex, status: AccountStatus) {
        if status.is_closed {
            self.closed.insert(account);
        }
        self.of.insert(account, status);
    }

    /// The statuses of all accounts that are not new, by account.
    pub fn all(&self) -> impl Iterator<Item = (AccountIndex, AccountStatus)> {
        self.of.iter().map(|(&account, &status)| (account, status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_transfers_begin_at_one() {
        let first = TransferNumber::FIRST;
        assert_eq!(TransferNumber::parse(b"1"), Ok(first));
        assert_eq!(TransferNumber::parse(b"999999999999999999").map(TransferNumber::get), Ok(999_999_999_999_999_999));
        for text in ["0", "000", "", "-1", "+1", "1.0", "1000000000000000000"] {
            assert_eq!(TransferNumber::parse(text.as_bytes()), Err(TransferNumberError), "{text}");
        }
        assert_eq!(AccountStatus::NEW.next(), first);
        assert_eq!(AccountStatus { transfers: 41, ..AccountStatus::NEW }.next().get(), 42);
    }

    #[test]
    fn assets_are_more_than_nothing_and_at_most_their_cap() {
        let dollars = |units| Assets::Dollars(Money::from_units(units));
        assert!(dollars(1).is_sound() && Assets::Dollars(Money::CAP).is_sound());
        assert!(!dollars(0).is_sound() && !dollars(-1).is_sound() && !dollars(Money::CAP.units() + 1).is_sound());
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let shares = |units| Assets::Shares { symbol, shares: Position::from_units(units) };
        assert!(shares(1).is_sound() && shares(Position::CAP.units()).is_sound());
        assert!(!shares(0).is_sound() && !shares(Position::CAP.units() + 1).is_sound());
    }
}
