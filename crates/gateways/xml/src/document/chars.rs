//! The characters that XML 1.0 allows at each place, and those that its references stand for. It knows nothing of tags.

use std::borrow::Cow;

use super::fault::FaultCause;

/// Checks that all of `body` is UTF-8, of characters that XML allows. Errors: the fault and its byte.
pub(super) fn check(body: &[u8]) -> Result<(), (FaultCause<'static>, usize)> {
    // The first pass checks for plain ASCII, which the compiler turns into vector instructions; other bodies are
    // checked closely.
    let plain = body.iter().fold(true, |plain, &byte| {
        plain & (byte < 0x80) & ((byte >= 0x20) | (byte == b'\n') | (byte == b'\r') | (byte == b'\t'))
    });
    if plain { Ok(()) } else { check_closely(body) }
}

fn check_closely(body: &[u8]) -> Result<(), (FaultCause<'static>, usize)> {
    let (valid, broken_at) = match std::str::from_utf8(body) {
        Ok(valid) => (valid, None),
        Err(error) => {
            let valid = std::str::from_utf8(&body[..error.valid_up_to()]).unwrap_or_default();
            (valid, Some(error.valid_up_to()))
        }
    };
    if let Some((at, character)) = valid.char_indices().find(|&(_, character)| !is_allowed(character)) {
        return Err((FaultCause::ForbiddenCharacter(character), at));
    }
    broken_at.map_or(Ok(()), |at| Err((FaultCause::NotUtf8, at)))
}

/// Whether XML 1.0 allows the character at all.
fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Whether a byte is white space as XML has it: blank, TAB, LF or CR.
#[inline]
pub(super) fn is_white(byte: u8) -> bool {
    // Most bytes are above all of these, and one comparison decides.
    byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Removes the white space around a value.
#[inline]
pub(super) fn trim(value: &[u8]) -> &[u8] {
    match (value.first(), value.last()) {
        // Nearly always there is none.
        (Some(&first), Some(&last)) if !is_white(first) && !is_white(last) => value,
        _ => trim_some(value),
    }
}

fn trim_some(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|&byte| !is_white(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|&byte| !is_white(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

/// Whether two names are the same. Names are short: a loop over their bytes is faster than a call that compares them.
pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

/// Returns the length of the name at the start of `rest`, in bytes; `None` if there is no name. `rest` is UTF-8.
pub(super) fn name_length(rest: &[u8]) -> Option<usize> {
    let length = rest.iter().position(|&byte| NAME_BYTE[usize::from(byte)] == NOT_IN_NAME).unwrap_or(rest.len());
    if rest.get(length).is_some_and(|byte| !byte.is_ascii()) {
        return long_name_length(rest);
    }
    let first = *rest.first()?;
    (NAME_BYTE[usize::from(first)] == NAME_START).then_some(length)
}

/// Returns the length of a name that has characters beyond ASCII.
#[cold]
fn long_name_length(rest: &[u8]) -> Option<usize> {
    let in_name = |byte: &u8| NAME_BYTE[usize::from(*byte)] != NOT_IN_NAME || !byte.is_ascii();
    let length = rest.iter().take_while(|byte| in_name(byte)).count();
    let name = std::str::from_utf8(&rest[..length]).ok()?;
    let length = name.find(|character| !is_name(character)).unwrap_or(name.len());
    name.chars().next().filter(|&first| is_name_start(first)).map(|_| length)
}

const NOT_IN_NAME: u8 = 0;
const IN_NAME: u8 = 1;
const NAME_START: u8 = 2;

/// The places that ASCII characters have in names. Other characters are decoded first.
static NAME_BYTE: [u8; 256] = {
    let mut table = [NOT_IN_NAME; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b':' => NAME_START,
            b'0'..=b'9' | b'-' | b'.' => IN_NAME,
            _ => NOT_IN_NAME,
        };
        byte += 1;
    }
    table
};

fn is_name_start(character: char) -> bool {
    matches!(character,
        ':' | 'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_name(character: char) -> bool {
    is_name_start(character)
        || matches!(character,
            '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Reads the reference at the start of `rest`, which begins with `&`: its character and its length in bytes.
pub(super) fn reference(rest: &[u8]) -> Result<(char, usize), FaultCause<'_>> {
    // The longest sensible reference is `&#x10FFFF;`, but a number may have leading zeros.
    let Some(length) = rest.iter().position(|&byte| byte == b';' || byte == b'<').filter(|&at| rest[at] == b';') else {
        return Err(FaultCause::UnfinishedReference);
    };
    let name = &rest[1..length];
    let character = match name {
        b"lt" => '<',
        b"gt" => '>',
        b"amp" => '&',
        b"apos" => '\'',
        b"quot" => '"',
        [b'#', b'x', digits @ ..] => numbered(digits, 16, name)?,
        [b'#', digits @ ..] => numbered(digits, 10, name)?,
        _ => return Err(FaultCause::UnknownEntity(name)),
    };
    Ok((character, length + 1))
}

fn numbered<'a>(digits: &[u8], radix: u32, name: &'a [u8]) -> Result<char, FaultCause<'a>> {
    let mut number = 0u32;
    for &digit in digits {
        let Some(digit) = char::from(digit).to_digit(radix) else {
            return Err(FaultCause::BadCharacterReference(name));
        };
        number = number.saturating_mul(radix).saturating_add(digit);
    }
    match char::from_u32(number) {
        Some(character) if !digits.is_empty() && is_allowed(character) => Ok(character),
        _ => Err(FaultCause::BadCharacterReference(name)),
    }
}

/// The place of characters, which decides how XML reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextContext {
    /// An attribute's value: white space is read as blanks.
    Attribute,
    /// Text between tags: a line end is read as LF.
    Text,
    /// A CDATA section: read like text between tags, without references.
    Cdata,
}

/// Decodes `raw`, whose references were checked.
pub(super) fn decode(raw: &[u8], place: TextContext) -> Cow<'_, [u8]> {
    let special = |byte: &u8| match byte {
        b'&' => place != TextContext::Cdata,
        b'\r' => true,
        b'\n' | b'\t' => place == TextContext::Attribute,
        _ => false,
    };
    let Some(first) = raw.iter().position(special) else {
        return Cow::Borrowed(raw);
    };
    let line_end = if place == TextContext::Attribute { b' ' } else { b'\n' };
    let mut decoded = raw[..first].to_vec();
    let mut at = first;
    while let Some(&byte) = raw.get(at) {
        let rest = &raw[at..];
        at += 1;
        match byte {
            b'&' if place != TextContext::Cdata => {
                let (character, length) = reference(rest).expect("invariant: references were checked");
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                at += length - 1;
            }
            b'\r' => {
                decoded.push(line_end);
                at += usize::from(rest.get(1) == Some(&b'\n'));
            }
            b'\n' => decoded.push(line_end),
            b'\t' if place == TextContext::Attribute => decoded.push(b' '),
            _ => decoded.push(byte),
        }
    }
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_xml_1_0() {
        assert_eq!(name_length(b"order sym"), Some(5));
        assert_eq!(name_length(b"a-1.b:_>"), Some(7));
        assert_eq!(name_length("élan=".as_bytes()), Some(5));
        assert_eq!(name_length("a×".as_bytes()), Some(1));
        assert_eq!(name_length("a-é.1 b".as_bytes()), Some(6));
        assert_eq!(name_length(b"order"), Some(5));
        for text in ["", " a", "1a", "-a", ".a", "=", "×", "\u{b7}a"] {
            assert_eq!(name_length(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn references_are_the_five_and_characters() {
        assert_eq!(reference(b"&lt;x"), Ok(('<', 4)));
        assert_eq!(reference(b"&#65;"), Ok(('A', 5)));
        assert_eq!(reference(b"&#x20aC;"), Ok(('€', 8)));
        assert_eq!(reference(b"&#0000000000000000000065;"), Ok(('A', 25)));
        for text in ["&;", "&nbsp;", "&#;", "&#x;", "&#0;", "&#x1F;", "&#xD800;", "&#xFFFE;", "&#x110000;", "&#X41;"] {
            assert!(reference(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["&", "&lt", "&lt<;", "&#65"] {
            assert_eq!(reference(text.as_bytes()), Err(FaultCause::UnfinishedReference), "{text}");
        }
    }

    #[test]
    fn white_space_in_a_value_is_read_as_blanks_unless_it_is_referred_to() {
        let value = |raw: &[u8]| decode(raw, TextContext::Attribute).into_owned();
        assert_eq!(value(b"a\tb\nc\rd\r\ne\n\rf"), b"a b c d e  f");
        assert_eq!(value(b"&#9;&#10;&#13;&amp;lt;"), b"\t\n\r&lt;");
        assert_eq!(decode(b"a\r\nb\rc&amp;\t", TextContext::Text), &b"a\nb\nc&\t"[..]);
        assert_eq!(decode(b"a\r\nb&amp;", TextContext::Cdata), &b"a\nb&amp;"[..]);
    }

    #[test]
    fn a_forbidden_character_is_named_with_its_byte() {
        assert_eq!(check("é\u{7f}\t".as_bytes()), Ok(()));
        assert_eq!(check(b"ab\0"), Err((FaultCause::ForbiddenCharacter('\0'), 2)));
        assert_eq!(check("é\u{ffff}".as_bytes()), Err((FaultCause::ForbiddenCharacter('\u{ffff}'), 2)));
        assert_eq!(check(b"abc\xff"), Err((FaultCause::NotUtf8, 3)));
        assert_eq!(check(b"a\x01c\xff"), Err((FaultCause::ForbiddenCharacter('\x01'), 1)));
    }
}
