//! Unsigned integers and times as decimal text, without allocation.

use terms::Time;

/// The two digits of each number below a hundred: two at a time halve the divisions.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Appends `number` in plain decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, number: u64) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    let mut rest = number;
    while rest >= 100 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest >= 10 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[rest as usize]);
    } else {
        start -= 1;
        digits[start] = b'0' + rest as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a time in seconds, with as many decimals as it has.
pub(crate) fn push_seconds(out: &mut Vec<u8>, time: Time) {
    push_decimal(out, time.seconds());
    let mut rest = time.0 % 1_000_000;
    if rest == 0 {
        return;
    }
    out.push(b'.');
    let mut step = 100_000;
    while rest > 0 {
        out.push(b'0' + (rest / step) as u8);
        rest %= step;
        step /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_plain_decimal() {
        for number in [0, 7, 10, 99, 100, 101, 999, 1_000, 12_345, 123_456, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }

    #[test]
    fn a_time_is_written_in_seconds_with_the_decimals_that_it_has() {
        for (time, text) in [
            (0, "0"),
            (1, "0.000001"),
            (1_500_000, "1.5"),
            (4_102_444_800_000_000, "4102444800"),
            (4_102_444_800_010_200, "4102444800.0102"),
        ] {
            let mut out = Vec::new();
            push_seconds(&mut out, Time(time));
            assert_eq!(String::from_utf8(out).expect("digits"), text);
        }
    }
}
