//! Integers as LEB128: seven bits a byte, lowest first, the top bit set on all bytes but the last. Reading accepts only
//! the shortest form, so a value has one encoding. This file does not know what the numbers mean.

/// The reason why bytes are no command, state item or record of the history. Their checksum was right, so the disk did
/// not damage them: it is a fault of this program, or another version wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end inside a value.
    #[error("the bytes end inside a value")]
    Truncated,
    /// An integer is longer than its type or than its shortest form.
    #[error("an integer is longer than it may be")]
    BadInteger,
    /// No type has this tag.
    #[error("unknown tag {0}")]
    UnknownTag(u8),
    /// The value of a field is outside its bounds.
    #[error("the {0} is out of bounds")]
    OutOfBounds(&'static str),
    /// Bytes follow where the value should have ended.
    #[error("bytes follow the value")]
    TrailingBytes,
}

/// Appends an integer.
pub fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a long integer.
pub fn put_u128(out: &mut Vec<u8>, mut value: u128) {
    while value > u128::from(u64::MAX) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    put_u64(out, value as u64);
}

/// Takes one byte.
pub fn take_u8(bytes: &mut &[u8]) -> Result<u8, CodecError> {
    let (&first, rest) = bytes.split_first().ok_or(CodecError::Truncated)?;
    *bytes = rest;
    Ok(first)
}

/// Takes `count` bytes.
pub fn take_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], CodecError> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(CodecError::Truncated)?;
    *bytes = rest;
    Ok(taken)
}

/// Takes an integer.
#[inline]
pub fn take_u64(bytes: &mut &[u8]) -> Result<u64, CodecError> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate() {
        // The tenth byte holds the one bit that nine times seven leave.
        if index == 9 && byte > 1 {
            return Err(CodecError::BadInteger);
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            if byte == 0 && index > 0 {
                return Err(CodecError::BadInteger);
            }
            *bytes = &bytes[index + 1..];
            return Ok(value);
        }
    }
    Err(CodecError::Truncated)
}

/// Takes a long integer.
#[inline]
pub fn take_u128(bytes: &mut &[u8]) -> Result<u128, CodecError> {
    let mut value = 0u128;
    for (index, &byte) in bytes.iter().enumerate() {
        // The nineteenth byte holds the two bits that eighteen times seven leave.
        if index == 18 && byte > 3 {
            return Err(CodecError::BadInteger);
        }
        value |= u128::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            if byte == 0 && index > 0 {
                return Err(CodecError::BadInteger);
            }
            *bytes = &bytes[index + 1..];
            return Ok(value);
        }
    }
    Err(CodecError::Truncated)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_come_back(shift in 0u32..128, value: u128) {
            let long = value >> shift;
            let mut bytes = Vec::new();
            put_u128(&mut bytes, long);
            let mut rest = &bytes[..];
            prop_assert_eq!(take_u128(&mut rest), Ok(long));
            prop_assert!(rest.is_empty());
            if let Ok(short) = u64::try_from(long) {
                let mut again = Vec::new();
                put_u64(&mut again, short);
                prop_assert_eq!(&again, &bytes);
                prop_assert_eq!(take_u64(&mut &again[..]), Ok(short));
            }
        }

        #[test]
        fn whatever_reads_as_an_integer_is_its_only_encoding(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let mut rest = &bytes[..];
            if let Ok(value) = take_u128(&mut rest) {
                let mut again = Vec::new();
                put_u128(&mut again, value);
                prop_assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
            }
            let mut rest = &bytes[..];
            if let Ok(value) = take_u64(&mut rest) {
                let mut again = Vec::new();
                put_u64(&mut again, value);
                prop_assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
            }
        }
    }

    #[test]
    fn integers_that_are_too_long_are_refused() {
        assert_eq!(take_u64(&mut &[0xff; 12][..]), Err(CodecError::BadInteger));
        assert_eq!(take_u128(&mut &[0xff; 22][..]), Err(CodecError::BadInteger));
        assert_eq!(take_u64(&mut &[0x80, 0][..]), Err(CodecError::BadInteger));
        assert_eq!(take_u64(&mut &[0x80][..]), Err(CodecError::Truncated));
        assert_eq!(take_u64(&mut &[][..]), Err(CodecError::Truncated));
    }
}
