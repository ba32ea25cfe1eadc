//! Exact amounts as PostgreSQL's `numeric` in its binary form: base-10000 digits, which 8 and 16 decimals fill exactly.

use bytes::{BufMut, BytesMut};

/// Base-10000 digits behind the point of prices, shares and positions.
pub(crate) const SHARE_GROUPS: u32 = terms::SHARE_DECIMALS / DIGITS;
/// Base-10000 digits behind the point of money.
pub(crate) const MONEY_GROUPS: u32 = terms::MONEY_DECIMALS / DIGITS;

/// Decimals in a base-10000 digit.
const DIGITS: u32 = 4;
const BASE: u128 = 10_000;
/// Digits that suffice for 2^127.
const GROUPS_MAX: usize = 10;
const POSITIVE: u16 = 0;
const NEGATIVE: u16 = 0x4000;

/// Appends an amount in units of 10000^-groups.
pub(crate) fn put_numeric(units: i128, groups: u32, out: &mut BytesMut) {
    let mut digits = [0u16; GROUPS_MAX];
    let mut rest = units.unsigned_abs();
    let mut count = 0usize;
    while rest != 0 {
        let digit;
        (rest, digit) = match u64::try_from(rest) {
            Ok(small) => (u128::from(small / BASE as u64), small % BASE as u64),
            Err(_) => (rest / BASE, (rest % BASE) as u64),
        };
        digits[count] = digit as u16;
        count += 1;
    }
    let zeros = digits[..count].iter().take_while(|&&digit| digit == 0).count();
    let weight = if count == 0 { 0 } else { count as i16 - 1 - groups as i16 };
    out.put_u16((count - zeros) as u16);
    out.put_i16(weight);
    out.put_u16(if units < 0 { NEGATIVE } else { POSITIVE });
    out.put_u16((groups * DIGITS) as u16);
    digits[zeros..count].iter().rev().for_each(|&digit| out.put_u16(digit));
}

/// Reads an amount in units of 10000^-groups. None if it is no number with so few decimals, or too large.
pub(crate) fn take_numeric(bytes: &[u8], groups: u32) -> Option<i128> {
    let (head, digits) = bytes.split_at_checked(8)?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign) = (word(0), word(2) as i16, word(4));
    if digits.len() != usize::from(count) * 2 {
        return None;
    }
    let mut units = 0i128;
    // The place of the digit up to which the amount is whole units.
    let lowest = -(groups as i32);
    let mut place = i32::from(weight);
    for digit in digits.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair)) {
        if place < lowest && digit != 0 {
            return None;
        }
        if place >= lowest {
            units = units.checked_mul(BASE as i128)?.checked_add(i128::from(digit))?;
        }
        place -= 1;
    }
    for _ in lowest..=place {
        if units == 0 {
            break;
        }
        units = units.checked_mul(BASE as i128)?;
    }
    match sign {
        POSITIVE => Some(units),
        NEGATIVE => units.checked_neg(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use terms::{Money, Position};

    fn there_and_back(units: i128, groups: u32) -> Vec<u8> {
        let mut out = BytesMut::new();
        put_numeric(units, groups, &mut out);
        assert_eq!(take_numeric(&out, groups), Some(units));
        out.to_vec()
    }

    #[test]
    fn amounts_come_back_as_they_went() {
        let mut units = 1i128;
        for groups in [0, SHARE_GROUPS, MONEY_GROUPS] {
            while units < i128::MAX / 7 {
                for near in [units - 1, units, units + 1, -units] {
                    there_and_back(near, groups);
                }
                units *= 7;
            }
            units = 1;
            for edge in [0, i64::MAX.into(), Money::CAP.units(), Position::CAP.units(), i128::MAX, i128::MIN + 1] {
                there_and_back(edge, groups);
            }
        }
    }

    #[test]
    fn the_binary_form_is_that_of_postgresql() {
        // 12345.5 with 8 decimals has the digits 1, 2345 and 5000; the first counts ten thousands.
        let bytes = there_and_back(1_234_550_000_000, SHARE_GROUPS);
        assert_eq!(bytes, [0, 3, 0, 1, 0, 0, 0, 8, 0, 1, 9, 41, 19, 136]);
        assert_eq!(there_and_back(0, SHARE_GROUPS), [0, 0, 0, 0, 0, 0, 0, 8]);
    }

    #[test]
    fn what_is_no_amount_is_none() {
        assert_eq!(take_numeric(&[], SHARE_GROUPS), None);
        let not_a_number = [0, 0, 0, 0, 0xC0, 0, 0, 0];
        assert_eq!(take_numeric(&not_a_number, SHARE_GROUPS), None);
        let too_fine = [0, 1, 0xFF, 0xFD, 0, 0, 0, 12, 0, 1];
        assert_eq!(take_numeric(&too_fine, SHARE_GROUPS), None);
        let too_large = [0, 1, 0x7F, 0xFF, 0, 0, 0, 0, 0, 1];
        assert_eq!(take_numeric(&too_large, SHARE_GROUPS), None);
    }
}
