//! Unsigned integers as decimal text, without allocation.

/// Appends `number` in plain decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, number: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_plain_decimal() {
        for number in [0, 7, 10, 99, 1_000, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
