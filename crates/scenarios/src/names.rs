//! The names of accounts, symbols and orders in scenarios.

/// Whether the letter is that of an account.
pub fn is_account(letter: char) -> bool {
    ('A'..='H').contains(&letter)
}

/// Whether the letter is that of a symbol.
pub fn is_symbol(letter: char) -> bool {
    ('S'..='Z').contains(&letter)
}

pub(crate) fn one_letter(word: &str, is_right: fn(char) -> bool) -> Result<char, String> {
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if is_right(letter) => Ok(letter),
        _ => Err(format!("{word} is no name here: A to H are accounts, S to Z symbols")),
    }
}

pub(crate) fn number(word: &str) -> Result<u32, String> {
    word.trim().parse().map_err(|_| format!("{word:?} is no order's number"))
}
