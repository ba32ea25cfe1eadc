//! Random text that cannot be guessed.

use rustix::rand::{GetRandomFlags, getrandom};

/// Letters and digits of a new key or secret: some 380 bits.
pub const RANDOM_TEXT_LENGTH: usize = 64;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Returns 64 letters and digits of the operating system's randomness. Errors: it has none.
pub fn random_text() -> std::io::Result<String> {
    let mut text = String::with_capacity(RANDOM_TEXT_LENGTH);
    while text.len() < RANDOM_TEXT_LENGTH {
        // Bytes past the last whole round of the letters are dropped: they would prefer the first letters.
        let even = random_bytes::<RANDOM_TEXT_LENGTH>()?
            .into_iter()
            .filter(|byte| usize::from(*byte) < 256 / LETTERS.len() * LETTERS.len());
        let letters = even.map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()]));
        text.extend(letters.take(RANDOM_TEXT_LENGTH - text.len()));
    }
    Ok(text)
}

/// Returns random bytes. Errors: the operating system has no randomness.
pub(crate) fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}
