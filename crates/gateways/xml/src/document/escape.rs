//! Escaping: text made safe between tags and between double quotes.

use std::fmt;

/// Appends `value` so that it reads back as itself in text and in a double-quoted attribute: `& < > "` as entities,
/// TAB, LF and CR as character references.
pub fn push_escaped(out: &mut Vec<u8>, value: &[u8]) {
    let mut plain_start = 0;
    for (at, &byte) in value.iter().enumerate() {
        let escaped: &[u8] = match byte {
            b'&' => b"&amp;",
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'"' => b"&quot;",
            b'\t' => b"&#9;",
            b'\n' => b"&#10;",
            b'\r' => b"&#13;",
            _ => continue,
        };
        out.extend_from_slice(&value[plain_start..at]);
        out.extend_from_slice(escaped);
        plain_start = at + 1;
    }
    out.extend_from_slice(&value[plain_start..]);
}

/// Appends the text of `display`, escaped.
pub(super) fn push_display(out: &mut Vec<u8>, display: &impl fmt::Display) {
    use fmt::Write;
    write!(Escaping(out), "{display}").expect("invariant: a vector takes all that is written to it");
}

struct Escaping<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        push_escaped(self.0, text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_would_read_otherwise_is_escaped() {
        let mut out = Vec::new();
        push_escaped(&mut out, b"a<b>&\"c'\t\n\r \xc3\xa9");
        assert_eq!(out, b"a&lt;b&gt;&amp;&quot;c'&#9;&#10;&#13; \xc3\xa9");
    }
}
