//! Sizes, durations and permissions as people write them: `64MiB`, `10s`, `077`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rustix::fs::Mode;
use serde::{Deserialize, Serialize};

/// A number of bytes, written `512`, `64KiB`, `1MiB`, `2GiB` (or `K`, `M`, `G`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "String")]
pub struct ByteSize(pub u64);

/// A length of time, written `250ms`, `10s`, `5m`, `366d` or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "String")]
pub struct Span(pub Duration);

/// The permissions that new files and folders lack, in octal: with `077` only their owner may use them, with `027` the
/// group may read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Umask(u32);

impl Umask {
    /// The default: a reader of the files knows the whole market, and a writer owns it.
    pub const OWNER_ALONE: Umask = Umask(0o077);

    /// Sets the permissions that all files and folders lack which this process makes from now on.
    pub fn apply(self) {
        rustix::process::umask(Mode::from_bits_truncate(self.0));
    }
}

/// A whole number of dollars or shares. In a file it is a string if it is beyond the largest number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "String")]
pub struct Whole(pub u128);

impl Whole {
    /// The number in units, of which one dollar or share has this many.
    pub fn times(self, units: i128) -> i128 {
        i128::try_from(self.0).unwrap_or(i128::MAX).saturating_mul(units)
    }
}

/// A setting's value in a file: with a unit, or a bare number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Written(String),
    Number(u64),
}

const SIZES: [(&str, u64); 7] =
    [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("", 1)];

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const SPANS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("d", DAY_MS), ("", 1_000)];

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    units.iter().find_map(|(unit, scale)| text.strip_suffix(unit)?.trim_end().parse::<u64>().ok()?.checked_mul(*scale))
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<ByteSize, String> {
        let size = scaled(text, &SIZES);
        size.map(ByteSize)
            .ok_or_else(|| format!("`{text}` is not a size; write bytes, or a number with KiB, MiB or GiB"))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let span = scaled(text, &SPANS);
        let span = span.map(|millis| Span(Duration::from_millis(millis)));
        span.ok_or_else(|| format!("`{text}` is not a length of time; write seconds, or a number with ms, s, m or d"))
    }
}

impl FromStr for Whole {
    type Err = String;

    fn from_str(text: &str) -> Result<Whole, String> {
        let whole = text.trim().parse();
        whole.map(Whole).map_err(|_| format!("`{text}` is not a whole number of dollars or shares"))
    }
}

impl TryFrom<Text> for Whole {
    type Error = String;

    fn try_from(text: Text) -> Result<Whole, String> {
        match text {
            Text::Written(text) => text.parse(),
            Text::Number(whole) => Ok(Whole(whole.into())),
        }
    }
}

impl FromStr for Umask {
    type Err = String;

    fn from_str(text: &str) -> Result<Umask, String> {
        // With a stricter mask the server itself could not use its files.
        let mask = u32::from_str_radix(text, 8).ok().filter(|mask| *mask <= 0o077);
        mask.map(Umask).ok_or_else(|| format!("`{text}` is no mask of permissions; write 077, 027 or 022, at most 077"))
    }
}

impl TryFrom<String> for Umask {
    type Error = String;

    fn try_from(text: String) -> Result<Umask, String> {
        text.parse()
    }
}

impl fmt::Display for Umask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03o}", self.0)
    }
}

impl From<Umask> for String {
    fn from(mask: Umask) -> String {
        mask.to_string()
    }
}

impl TryFrom<Text> for ByteSize {
    type Error = String;

    fn try_from(text: Text) -> Result<ByteSize, String> {
        match text {
            Text::Written(text) => text.parse(),
            Text::Number(bytes) => Ok(ByteSize(bytes)),
        }
    }
}

impl TryFrom<Text> for Span {
    type Error = String;

    fn try_from(text: Text) -> Result<Span, String> {
        match text {
            Text::Written(text) => text.parse(),
            // A bare number has the bound of a text, so that times of the clock have room for it.
            Text::Number(seconds) => seconds.to_string().parse(),
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, scale) in [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
            if self.0 != 0 && self.0.is_multiple_of(scale) {
                return write!(f, "{}{unit}", self.0 / scale);
            }
        }
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.as_secs() / (DAY_MS / 1_000);
        match self.0.subsec_millis() {
            0 if days > 0 && self.0.as_secs().is_multiple_of(DAY_MS / 1_000) => write!(f, "{days}d"),
            0 => write!(f, "{}s", self.0.as_secs()),
            _ => write!(f, "{}ms", self.0.as_millis()),
        }
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Whole> for String {
    fn from(whole: Whole) -> String {
        whole.to_string()
    }
}

impl From<ByteSize> for String {
    fn from(size: ByteSize) -> String {
        size.to_string()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> String {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_spans_are_read_as_people_write_them() {
        assert_eq!("1MiB".parse(), Ok(ByteSize(1 << 20)));
        assert_eq!("64 KiB".parse(), Ok(ByteSize(64 << 10)));
        assert_eq!("512".parse(), Ok(ByteSize(512)));
        assert_eq!("250ms".parse(), Ok(Span(Duration::from_millis(250))));
        assert_eq!("10".parse(), Ok(Span(Duration::from_secs(10))));
        assert_eq!("5m".parse(), Ok(Span(Duration::from_secs(300))));
        assert_eq!("366d".parse(), Ok(Span(Duration::from_secs(366 * 24 * 60 * 60))));
        assert!("1 parsec".parse::<ByteSize>().is_err());
        assert!("-1s".parse::<Span>().is_err());
        assert_eq!(Span::try_from(Text::Number(10)), Ok(Span(Duration::from_secs(10))));
        assert!(Span::try_from(Text::Number(u64::MAX)).is_err(), "no clock has room for it");
    }

    #[test]
    fn a_mask_leaves_the_owner_all_permissions() {
        assert_eq!("077".parse(), Ok(Umask::OWNER_ALONE));
        assert_eq!("27".parse::<Umask>().map(|mask| mask.to_string()), Ok("027".to_string()));
        for wrong in ["100", "777", "8", "-1", "", "u=rwx"] {
            assert!(wrong.parse::<Umask>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn they_print_as_they_are_read() {
        assert_eq!(ByteSize(64 << 20).to_string(), "64MiB");
        assert_eq!(ByteSize(1500).to_string(), "1500");
        assert_eq!(Span(Duration::from_millis(1500)).to_string(), "1500ms");
        assert_eq!(Span(Duration::from_secs(60)).to_string(), "60s");
        assert_eq!(Span(Duration::from_secs(2 * 24 * 60 * 60)).to_string(), "2d");
    }
}
