//! Cancel on disconnect: the accounts whose orders are canceled when their last protected connection has ended, and
//! after which grace. The engine does not see connections: commands tell it in time (`protecting.rs`). Followers of
//! events keep the accounts, too.

use std::collections::BTreeMap;
use std::fmt;

use crate::ids::AccountIndex;

/// The time for which the orders of an account stay open after its last protected connection has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grace(u32);

impl Grace {
    /// No grace: the orders are canceled at once.
    pub const ZERO: Grace = Grace(0);
    /// The longest grace, in milliseconds.
    pub const MAX_MILLIS: u32 = 60_000;

    /// A grace of this many milliseconds; none beyond the longest.
    pub fn from_millis(millis: u32) -> Option<Grace> {
        (millis <= Grace::MAX_MILLIS).then_some(Grace(millis))
    }

    /// Milliseconds.
    pub fn millis(self) -> u32 {
        self.0
    }

    /// Microseconds, the unit of time.
    pub fn micros(self) -> u64 {
        u64::from(self.0).saturating_mul(1_000)
    }

    /// Reads a grace such as `5s` or `250ms`. Errors: a text that is no such time.
    pub fn parse(text: &[u8]) -> Result<Grace, GraceError> {
        let text = std::str::from_utf8(text).map_err(|_| GraceError)?;
        let (digits, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(digits), _) => (digits, 1),
            (None, Some(digits)) => (digits, 1_000),
            (None, None) => return Err(GraceError),
        };
        // A sign is no digit, though the number's own parser accepts one.
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: Option<u32> = digits.parse().ok().filter(|_| is_number);
        number.and_then(|number| number.checked_mul(unit)).and_then(Grace::from_millis).ok_or(GraceError)
    }
}

impl fmt::Display for Grace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.wrapping_div(1_000), self.0.wrapping_rem(1_000)) {
            (seconds, 0) => write!(f, "{seconds}s"),
            _ => write!(f, "{}ms", self.0),
        }
    }
}

/// A text that is no grace. Its `Display` follows the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraceError;

impl fmt::Display for GraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not a time from 0s to 60s in whole seconds or milliseconds, as 5s or 250ms")
    }
}

impl std::error::Error for GraceError {}

/// The accounts that are protected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protections {
    of: BTreeMap<AccountIndex, Grace>,
}

impl Protections {
    /// Protects no account.
    pub fn new() -> Protections {
        Protections::default()
    }

    /// The grace of an account; none if it is not protected.
    pub fn of(&self, account: AccountIndex) -> Option<Grace> {
        self.of.get(&account).copied()
    }

    /// Gives an account another grace, or none.
    pub fn set(&mut self, account: AccountIndex, grace: Option<Grace>) {
        match grace {
            Some(grace) => self.of.insert(account, grace),
            None => self.of.remove(&account),
        };
    }

    /// The number of protected accounts.
    pub fn count(&self) -> usize {
        self.of.len()
    }

    /// All protected accounts, by account.
    pub fn all(&self) -> impl Iterator<Item = (AccountIndex, Grace)> {
        self.of.iter().map(|(&account, &grace)| (account, grace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_is_written_in_seconds_or_milliseconds() {
        for (text, millis, shown) in
            [("5s", 5_000, "5s"), ("0s", 0, "0s"), ("0ms", 0, "0s"), ("60s", 60_000, "60s"), ("250ms", 250, "250ms")]
        {
            let grace = Grace::parse(text.as_bytes()).expect("it is a grace");
            assert_eq!((grace.millis(), grace.to_string().as_str()), (millis, shown));
        }
        assert_eq!(Grace::parse(b"5000ms").map(|grace| grace.to_string()), Ok("5s".to_owned()));
        for text in
            ["", "5", "s", "ms", "61s", "60001ms", "1.5s", "-1s", "+1s", "5m", " 5s", "4294968s", "99999999999s", "5S"]
        {
            assert_eq!(Grace::parse(text.as_bytes()), Err(GraceError), "{text}");
        }
    }
}
