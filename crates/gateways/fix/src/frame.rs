//! Cuts messages out of the bytes that arrived. Garbled ones, which are not FIX 4.4 or have a wrong length or checksum,
//! are skipped: the gap in the numbers has them sent again. A message that is too long would be as long again, so it
//! ends its session.

use std::fmt;

/// The start of every message; the length of its body follows.
const HEAD: &[u8] = b"8=FIX.4.4\x019=";
/// Bytes of the longest body.
pub(crate) const BODY_BYTES_MAX: usize = 4096;
/// Digits of the body's length, leading zeros included.
const LENGTH_DIGITS_MAX: usize = 9;
/// Bytes of `10=NNN` and the end of the field.
const TRAILER_BYTES: usize = 7;
/// The byte that ends every field.
pub(crate) const SOH: u8 = 1;

/// Bytes of the longest message.
pub(crate) const MESSAGE_BYTES_MAX: usize = HEAD.len() + LENGTH_DIGITS_MAX + 1 + BODY_BYTES_MAX + TRAILER_BYTES;

/// The reason why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Begins,
    Length,
    TooLong(usize),
    Trailer,
    Sum { told: u8, is: u8 },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Begins => f.write_str("a message begins with BeginString(8)=FIX.4.4 and BodyLength(9)"),
            Fault::Length => write!(f, "BodyLength(9) is the number of bytes, from 1 to {BODY_BYTES_MAX}"),
            Fault::TooLong(length) => {
                write!(f, "BodyLength(9) is the number of bytes, from 1 to {BODY_BYTES_MAX}; it is {length}")
            }
            Fault::Trailer => f.write_str("CheckSum(10) with three digits is not where BodyLength(9) says"),
            Fault::Sum { told, is } => write!(f, "CheckSum(10) is {told:03}, and the bytes add up to {is:03}"),
        }
    }
}

/// A message at the start of some bytes.
pub(crate) struct Frame<'a> {
    /// The bytes between its length and its checksum.
    pub(crate) body: &'a [u8],
    /// The number of all its bytes.
    pub(crate) bytes: usize,
}

/// Finds the message at the start of some bytes. Returns `None` while its end has not arrived. Errors: the bytes are no
/// message.
pub(crate) fn first(bytes: &[u8]) -> Result<Option<Frame<'_>>, Fault> {
    let begun = bytes.len().min(HEAD.len());
    if bytes[..begun] != HEAD[..begun] {
        return Err(Fault::Begins);
    }
    let Some(rest) = bytes.get(HEAD.len()..) else { return Ok(None) };
    let digits = rest.iter().take(LENGTH_DIGITS_MAX + 1).take_while(|byte| byte.is_ascii_digit()).count();
    if digits > LENGTH_DIGITS_MAX {
        return Err(Fault::Length);
    }
    match rest.get(digits) {
        None => return Ok(None),
        Some(&SOH) if digits > 0 => {}
        Some(_) => return Err(Fault::Length),
    }
    let length = rest[..digits].iter().fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    if length == 0 {
        return Err(Fault::Length);
    }
    if length > BODY_BYTES_MAX {
        return Err(Fault::TooLong(length));
    }
    let begin = HEAD.len() + digits + 1;
    let (end, whole) = (begin + length, begin + length + TRAILER_BYTES);
    let Some(trailer) = bytes.get(end..whole) else { return Ok(None) };
    let told = match trailer {
        [b'1', b'0', b'=', digits @ .., SOH] if bytes[end - 1] == SOH => std::str::from_utf8(digits).ok(),
        _ => None,
    };
    let is_number = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let told = told.filter(is_number).and_then(|text| text.parse().ok()).ok_or(Fault::Trailer)?;
    let is = sum(&bytes[..end]);
    if told != is {
        return Err(Fault::Sum { told, is });
    }
    Ok(Some(Frame { body: &bytes[begin..end], bytes: whole }))
}

/// Returns the number of bytes before the next place at which a message may begin, behind a garbled one at the start.
pub(crate) fn garbled_bytes(bytes: &[u8]) -> usize {
    let begins = |at: &usize| HEAD.starts_with(&bytes[*at..bytes.len().min(*at + HEAD.len())]);
    (1..bytes.len()).find(begins).unwrap_or(bytes.len())
}

/// Makes a message of a body that is not empty.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = [HEAD, body.len().to_string().as_bytes(), &[SOH], body].concat();
    let sum = sum(&bytes);
    bytes.extend_from_slice(format!("10={sum:03}\x01").as_bytes());
    bytes
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        text.replace('|', "\x01").into_bytes()
    }

    #[test]
    fn a_message_is_found_when_its_end_has_come() {
        // The checksum stands where the specification's example has it; the sum was computed by hand in another
        // language.
        let heartbeat = framed(&bytes("35=0|49=A|56=B|34=2|52=20260101-00:00:00|"));
        for end in 0..heartbeat.len() {
            assert!(first(&heartbeat[..end]).expect("so far it is one").is_none(), "{end}");
        }
        let two = [heartbeat.clone(), heartbeat.clone()].concat();
        let frame = first(&two).expect("it is one").expect("it is there");
        assert_eq!(
            (frame.bytes, frame.body),
            (heartbeat.len(), &bytes("35=0|49=A|56=B|34=2|52=20260101-00:00:00|")[..])
        );
        assert!(heartbeat.len() <= MESSAGE_BYTES_MAX);
    }

    #[test]
    fn whatever_does_not_add_up_is_named() {
        let fault = |text: &str| first(&bytes(text)).map(|frame| frame.is_some()).err();
        assert_eq!(fault("8=FIX.4.2|9=5|35=0|10=000|"), Some(Fault::Begins));
        assert_eq!(fault("GET / HTTP/1.1"), Some(Fault::Begins));
        assert_eq!(fault("8=FIX.4.4|9=|"), Some(Fault::Length));
        assert_eq!(fault("8=FIX.4.4|9=0|"), Some(Fault::Length));
        assert_eq!(fault("8=FIX.4.4|9=4097|"), Some(Fault::TooLong(4097)));
        assert_eq!(fault("8=FIX.4.4|9=0000000005"), Some(Fault::Length));
        assert_eq!(fault("8=FIX.4.4|9=4|35=0|10=000|"), Some(Fault::Trailer));
        assert_eq!(fault("8=FIX.4.4|9=5|35=0|10=+63|"), Some(Fault::Trailer));
        let Some(Fault::Sum { told: 0, is }) = fault("8=FIX.4.4|9=5|35=0|10=000|") else {
            panic!("it does not add up")
        };
        assert_eq!(fault(&format!("8=FIX.4.4|9=5|35=0|10={is:03}|")), None);
    }

    #[test]
    fn behind_a_garbled_message_the_next_one_is_found() {
        let good = framed(&bytes("35=0|"));
        let behind = |garbled: &str, more: &[u8]| garbled_bytes(&[&bytes(garbled), more].concat());
        for garbled in ["GET / HTTP/1.1", "8=FIX.4.2|9=5|35=0|10=000|", "8=FIX.4.4|9=9|35=0|10=000|", "8=FIX.4.48=FIX"]
        {
            assert_eq!(behind(garbled, &good), garbled.len(), "{garbled}");
            assert_eq!(behind(garbled, &good[..3]), garbled.len(), "its begin may have come");
        }
        assert_eq!(behind("8=FIX.4.4|9=x", b""), 13);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, cut in any::<usize>(), at in any::<usize>(), byte: u8) {
            let _ = first(&bytes);
            let mut message = framed(b"35=D\x0111=x\x01");
            let length = message.len();
            message[at % length] = byte;
            let _ = first(&message[..cut % (length + 1)]);
        }
    }
}
