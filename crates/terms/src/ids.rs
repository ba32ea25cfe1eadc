//! Ids of accounts, symbols and orders, and the sequence and time of commands.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;

/// An account's id: 1 to 32 base-10 digits, compared as text (`01234` is not `1234`).
///
/// Packed as the number times 64 plus the count of digits, so that it is copied and compared as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(u128);

/// A symbol: 1 to 32 ASCII letters and digits, case-sensitive; unused bytes are zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol([u8; NAME_BYTES_MAX]);

/// An id that a client gives its order: 1 to 36 ASCII letters, digits and `. _ : / -`, case-sensitive; unused bytes are
/// zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientOrderId([u8; CLIENT_ORDER_ID_BYTES_MAX]);

/// An order's id, given by the engine: 1, 2, 3 …
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(pub u64);

/// A command's place in the one sequence of commands, from 1. Zero is before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

/// Microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// The time at which an order ends if it is still open: after the beginning of 1970, in the year 9999 at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deadline(NonZeroU64);

impl Deadline {
    /// The last moment of the year 9999: storage may have no room for later times.
    pub const LAST: Time = Time(253_402_300_799_999_999);

    /// A requested deadline that is not decided yet: it has no time, so no command with it can be applied or stored.
    pub const UNDECIDED: Deadline = Deadline(NonZeroU64::MAX);

    /// A deadline at this time; none for the beginning of 1970 and for times after the year 9999.
    pub fn new(time: Time) -> Option<Deadline> {
        NonZeroU64::new(time.0).filter(|_| time <= Deadline::LAST).map(Deadline)
    }

    /// The time of the deadline. Panics if it is undecided, which would be a bug of the market.
    #[inline]
    pub fn time(self) -> Time {
        assert!(self != Deadline::UNDECIDED, "invariant: deadlines are decided before commands get their numbers");
        Time(self.0.get())
    }

    /// The number of the deadline wherever orders are stored: its time, or zero for no deadline.
    pub fn code(deadline: Option<Deadline>) -> u64 {
        deadline.map_or(0, |deadline| deadline.time().0)
    }

    /// The deadline with this number; none also for a number that is no deadline's.
    pub fn from_code(code: u64) -> Option<Deadline> {
        Deadline::new(Time(code))
    }
}

/// An account by the order of its creation, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountIndex(pub u32);

/// A symbol by the order of its creation, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolIndex(pub u32);

/// The longest account id and symbol, in bytes.
pub const NAME_BYTES_MAX: usize = 32;

/// The longest client order id, in bytes: a UUID fits.
pub const CLIENT_ORDER_ID_BYTES_MAX: usize = 36;

/// The time for which a client order id stands for its order after that is done: a day.
pub const CLIENT_ORDER_ID_KEPT_US: u64 = 24 * 60 * 60 * 1_000_000;

/// The reason why a text is no id. Its `Display` follows the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdError {
    /// No characters at all.
    Empty,
    /// The id has more characters than it may have.
    TooLong { found: usize, most: usize },
    /// An account id with something other than base-10 digits.
    NotDigits,
    /// A symbol with something other than ASCII letters and digits.
    NotAlphanumeric,
    /// A client order id with something other than ASCII letters, digits and `. _ : / -`.
    NotClientOrderId,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdError::Empty => f.write_str("is empty"),
            IdError::TooLong { found, most } => write!(f, "has {found} characters; at most {most}"),
            IdError::NotDigits => f.write_str("has characters other than the digits 0-9"),
            IdError::NotAlphanumeric => f.write_str("has characters other than ASCII letters and digits"),
            IdError::NotClientOrderId => {
                f.write_str("has characters other than ASCII letters, digits and the five . _ : / -")
            }
        }
    }
}

impl std::error::Error for IdError {}

const LENGTH_BITS: u32 = 6;
const LENGTH_MASK: u128 = 63;

impl AccountId {
    /// Reads an account id. Errors: `Empty`, `TooLong`, `NotDigits`.
    pub fn parse(text: &[u8]) -> Result<AccountId, IdError> {
        check_length(text, NAME_BYTES_MAX)?;
        let mut number = 0u128;
        for chunk in text.chunks(16) {
            let mut part = 0u64;
            let mut scale = 1u64;
            for &byte in chunk {
                if !byte.is_ascii_digit() {
                    return Err(IdError::NotDigits);
                }
                part = part.wrapping_mul(10).wrapping_add(u64::from(byte.wrapping_sub(b'0')));
                scale = scale.wrapping_mul(10);
            }
            // 32 digits are below 2^107, so nothing wraps.
            number = number.wrapping_mul(u128::from(scale)).wrapping_add(u128::from(part));
        }
        Ok(AccountId((number << LENGTH_BITS) | text.len() as u128))
    }

    /// The packed form, for storage.
    pub fn packed(self) -> u128 {
        self.0
    }

    /// Unpacks an id; none unless some text packs to this number.
    pub fn from_packed(packed: u128) -> Option<AccountId> {
        let digits = (packed & LENGTH_MASK) as u32;
        let bound = 10u128.checked_pow(digits)?;
        (digits >= 1 && digits as usize <= NAME_BYTES_MAX && (packed >> LENGTH_BITS) < bound)
            .then_some(AccountId(packed))
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (self.0 & LENGTH_MASK) as usize;
        f.pad(&format!("{:0digits$}", self.0 >> LENGTH_BITS))
    }
}

impl Symbol {
    /// Reads a symbol. Errors: `Empty`, `TooLong`, `NotAlphanumeric`.
    pub fn parse(text: &[u8]) -> Result<Symbol, IdError> {
        check_length(text, NAME_BYTES_MAX)?;
        if !text.iter().all(u8::is_ascii_alphanumeric) {
            return Err(IdError::NotAlphanumeric);
        }
        let mut bytes = [0; NAME_BYTES_MAX];
        for (to, &from) in bytes.iter_mut().zip(text) {
            *to = from;
        }
        Ok(Symbol(bytes))
    }

    /// The symbol's characters.
    pub fn as_bytes(&self) -> &[u8] {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES_MAX);
        self.0.get(..length).unwrap_or_default()
    }

    /// The symbol as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

/// Hashes a symbol as four words: the hash of a byte array treats it as text of any length, and takes five times as
/// long.
impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for word in self.0.as_chunks().0 {
            state.write_u128(u128::from_le_bytes(*word));
        }
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ClientOrderId {
    /// Reads a client order id. Errors: `Empty`, `TooLong`, `NotClientOrderId`.
    pub fn parse(text: &[u8]) -> Result<ClientOrderId, IdError> {
        check_length(text, CLIENT_ORDER_ID_BYTES_MAX)?;
        if !text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._:/-".contains(byte)) {
            return Err(IdError::NotClientOrderId);
        }
        let mut bytes = [0; CLIENT_ORDER_ID_BYTES_MAX];
        for (to, &from) in bytes.iter_mut().zip(text) {
            *to = from;
        }
        Ok(ClientOrderId(bytes))
    }

    /// The id's characters.
    pub fn as_bytes(&self) -> &[u8] {
        let length = self.0.iter().position(|&byte| byte == 0).unwrap_or(CLIENT_ORDER_ID_BYTES_MAX);
        self.0.get(..length).unwrap_or_default()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

/// A client order id, or none, without a byte that tells which of the two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedClientId([u8; CLIENT_ORDER_ID_BYTES_MAX]);

impl PackedClientId {
    pub(crate) const NONE: PackedClientId = PackedClientId([0; CLIENT_ORDER_ID_BYTES_MAX]);

    #[inline]
    pub(crate) fn new(id: Option<ClientOrderId>) -> PackedClientId {
        id.map_or(PackedClientId::NONE, |id| PackedClientId(id.0))
    }

    /// Whether there is none: an id has a character.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        let PackedClientId([first, ..]) = self;
        *first == 0
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<ClientOrderId> {
        if self.is_none() { None } else { Some(ClientOrderId(self.0)) }
    }
}

/// Hashes words, for the same reason as a symbol.
impl Hash for ClientOrderId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for word in self.0.as_chunks().0 {
            state.write_u32(u32::from_le_bytes(*word));
        }
    }
}

impl fmt::Display for ClientOrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ClientOrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn check_length(text: &[u8], most: usize) -> Result<(), IdError> {
    match text.len() {
        0 => Err(IdError::Empty),
        found if found > most => Err(IdError::TooLong { found, most }),
        _ => Ok(()),
    }
}

impl OrderId {
    /// Reads a plain decimal without leading zeros, as the server writes it. None for anything else: no order has it.
    pub fn parse(text: &[u8]) -> Option<OrderId> {
        if text.is_empty() || text.first() == Some(&b'0') {
            return None;
        }
        let mut number = 0u64;
        for &byte in text {
            if !byte.is_ascii_digit() {
                return None;
            }
            number = number.checked_mul(10)?.checked_add(u64::from(byte.wrapping_sub(b'0')))?;
        }
        Some(OrderId(number))
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sequence {
    /// The sequence before the first command.
    pub const ZERO: Sequence = Sequence(0);

    /// The sequence `count` commands later.
    #[inline]
    #[must_use]
    pub fn plus(self, count: u64) -> Sequence {
        Sequence(self.0.checked_add(count).expect("invariant: fewer than 2^64 commands"))
    }

    /// The next command's sequence.
    #[inline]
    #[must_use]
    pub fn next(self) -> Sequence {
        self.plus(1)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Time {
    /// The beginning of 1970.
    pub const ZERO: Time = Time(0);

    /// The time this many microseconds later; the end of time if that is past it.
    #[inline]
    #[must_use]
    pub fn later_by_us(self, us: u64) -> Time {
        Time(self.0.saturating_add(us))
    }

    /// Whole seconds since the Unix epoch, as replies show it.
    pub fn seconds(self) -> u64 {
        self.0.wrapping_div(1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_ids_keep_their_leading_zeros() {
        for text in ["0", "1234", "01234", "00000000000000000000000000000000", "99999999999999999999999999999999"] {
            let id = AccountId::parse(text.as_bytes()).expect("digits");
            assert_eq!(id.to_string(), text);
            assert_eq!(AccountId::from_packed(id.packed()), Some(id));
        }
        assert_ne!(AccountId::parse(b"01234"), AccountId::parse(b"1234"));
    }

    #[test]
    fn what_is_no_account_id_is_refused() {
        assert_eq!(AccountId::parse(b""), Err(IdError::Empty));
        assert_eq!(AccountId::parse(&[b'1'; 33]), Err(IdError::TooLong { found: 33, most: 32 }));
        for text in ["a", "1a", "-1", "1.0", "٣"] {
            assert_eq!(AccountId::parse(text.as_bytes()), Err(IdError::NotDigits), "{text}");
        }
        for packed in [0, 63, (10 << LENGTH_BITS) | 1, u128::MAX] {
            assert_eq!(AccountId::from_packed(packed), None, "{packed}");
        }
    }

    #[test]
    fn symbols_are_letters_and_digits_in_their_case() {
        assert_eq!(Symbol::parse(b"T5asdf").map(|symbol| symbol.to_string()), Ok("T5asdf".to_string()));
        assert_ne!(Symbol::parse(b"SPY"), Symbol::parse(b"spy"));
        assert_eq!(Symbol::parse(b"A B"), Err(IdError::NotAlphanumeric));
        assert_eq!(Symbol::parse(&[b'x'; 33]), Err(IdError::TooLong { found: 33, most: 32 }));
        assert_eq!(Symbol::parse(&[b'x'; 32]).map(|symbol| symbol.as_bytes().len()), Ok(32));
    }

    #[test]
    fn client_order_ids_are_up_to_36_letters_digits_and_five_marks() {
        for text in ["a", "A.b_C:d/E-9", "123e4567-e89b-12d3-a456-426614174000"] {
            let id = ClientOrderId::parse(text.as_bytes()).expect("legal");
            assert_eq!((id.as_str(), id.to_string()), (text, text.to_string()));
        }
        assert_ne!(ClientOrderId::parse(b"a1"), ClientOrderId::parse(b"A1"));
        assert_eq!(ClientOrderId::parse(b""), Err(IdError::Empty));
        let long = ClientOrderId::parse(&[b'x'; 37]).expect_err("too long");
        assert_eq!(long, IdError::TooLong { found: 37, most: 36 });
        assert_eq!(long.to_string(), "has 37 characters; at most 36");
        for text in ["a b", "a\0", "a,", "a;", "ä", "a+b", "\n"] {
            assert_eq!(ClientOrderId::parse(text.as_bytes()), Err(IdError::NotClientOrderId), "{text:?}");
        }
    }

    #[test]
    fn an_order_id_is_a_plain_decimal() {
        assert_eq!(OrderId::parse(b"7"), Some(OrderId(7)));
        for text in ["007", "0", "", "-1", "+1", "1.0", "18446744073709551616"] {
            assert_eq!(OrderId::parse(text.as_bytes()), None, "{text}");
        }
    }
}
