//! Finds whole replies in a stream of bytes, and reads the little of them that a load has to know: their kind, and the
//! id in them. It knows no sockets and no requests.
//!
//! Our server ends a reply with a newline and writes none inside, so a line is a reply. Other servers of this protocol
//! put a line with the length before it, spread it over lines, or end it without a newline: there it looks for
//! `</results>`.

use memchr::{memchr, memmem};

const END: &[u8] = b"</results>";
const END_OF_LINE: &[u8] = b"</results>\n";

/// The kind of a reply's first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Created,
    Opened,
    Canceled,
    Status,
    Error,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Created, Kind::Opened, Kind::Canceled, Kind::Status, Kind::Error];

    /// Returns its element's name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Created => "created",
            Kind::Opened => "opened",
            Kind::Canceled => "canceled",
            Kind::Status => "status",
            Kind::Error => "error",
        }
    }
}

/// The way in which a server's replies are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No reply has been seen.
    Unknown,
    /// A reply is a line.
    Lines,
    /// A reply ends with `</results>`; the bytes before it need a closer look.
    Tagged,
}

/// The bytes of one connection that are no whole reply yet.
#[derive(Default)]
pub struct Replies {
    partial: Vec<u8>,
    /// The number of bytes that hold no end of a reply.
    scanned: usize,
}

impl Replies {
    /// Takes bytes as they arrived, and calls `each` with every reply that is whole now.
    pub fn take(&mut self, framing: &mut Framing, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while *framing == Framing::Lines {
            let Some(end) = memchr(b'\n', rest) else {
                self.partial.extend_from_slice(rest);
                return;
            };
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            if self.partial.is_empty() && line.ends_with(END_OF_LINE) {
                each(line);
                continue;
            }
            self.partial.extend_from_slice(line);
            if self.partial.ends_with(END_OF_LINE) {
                each(&self.partial);
                self.forget(self.partial.len());
            } else {
                // The line ends no reply: from here on every byte is looked at.
                *framing = Framing::Tagged;
            }
        }
        self.partial.extend_from_slice(rest);
        self.take_tagged(framing, &mut each);
    }

    fn take_tagged(&mut self, framing: &mut Framing, each: &mut impl FnMut(&[u8])) {
        let mut start = 0;
        while let Some(at) = memmem::find(&self.partial[self.scanned..], END) {
            let end = self.scanned + at + END.len();
            let reply = self.partial[start..end].trim_ascii_start();
            let body = without_length(reply);
            if *framing != Framing::Tagged && body.len() == reply.len() && memchr(b'\n', body).is_none() {
                // Without a byte behind it the end of the line may still be under way: the next reply will tell.
                match self.partial.get(end) {
                    Some(b'\n') => *framing = Framing::Lines,
                    Some(_) => *framing = Framing::Tagged,
                    None => {}
                }
            } else {
                *framing = Framing::Tagged;
            }
            each(body);
            start = end;
            self.scanned = end;
        }
        let blank = self.partial[start..].len() - self.partial[start..].trim_ascii_start().len();
        self.forget(start + blank);
        self.scanned = self.partial.len().saturating_sub(END.len() - 1);
    }

    fn forget(&mut self, bytes: usize) {
        self.partial.drain(..bytes);
        self.scanned = 0;
    }
}

/// Returns the kind of a whole reply, and the bytes behind its name; `None` for bytes that are no reply of this
/// protocol.
pub fn read(reply: &[u8]) -> Option<(Kind, &[u8])> {
    let element = match reply.strip_prefix(b"<results><") {
        Some(element) => element,
        None => after_root(reply)?,
    };
    let kind = Kind::ALL.into_iter().find(|kind| element.starts_with(kind.name().as_bytes()))?;
    let rest = &element[kind.name().len()..];
    matches!(rest.first(), Some(b' ' | b'/' | b'>' | b'\t' | b'\r' | b'\n')).then_some((kind, rest))
}

/// Returns the number in the attribute `id` of the first element; `rest` stands behind its name.
pub fn id(rest: &[u8]) -> Option<u64> {
    const ATTRIBUTE: &[u8] = b" id=\"";
    let element = &rest[..memchr(b'>', rest)?];
    let at = memmem::find(element, ATTRIBUTE)?;
    let value = &element[at + ATTRIBUTE.len()..];
    let digits = &value[..memchr(b'"', value)?];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns a reply without the line of digits before it, if there is one.
fn without_length(reply: &[u8]) -> &[u8] {
    let digits = reply.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 { reply } else { reply[digits..].trim_ascii_start() }
}

/// Returns the bytes behind the `<` of the first element in the root, for replies that are laid out in their own way.
fn after_root(reply: &[u8]) -> Option<&[u8]> {
    let mut rest = reply.trim_ascii_start();
    if rest.starts_with(b"<?xml") {
        rest = rest[memchr(b'>', rest)? + 1..].trim_ascii_start();
    }
    rest.strip_prefix(b"<results>")?.trim_ascii_start().strip_prefix(b"<")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the replies that are found when `stream` comes in pieces of each length, and the framing that was
    /// recognised.
    fn check(stream: &str, expected: &[&str], framing_at_the_end: Framing) {
        for piece in 1..=stream.len() {
            let (mut framing, mut replies, mut found) = (Framing::Unknown, Replies::default(), Vec::new());
            for bytes in stream.as_bytes().chunks(piece) {
                replies.take(&mut framing, bytes, |reply| {
                    found.push(String::from_utf8_lossy(reply).trim().to_string());
                });
            }
            assert_eq!(found, expected, "in pieces of {piece}");
            if piece == stream.len() {
                assert_eq!(framing, framing_at_the_end);
            }
        }
    }

    const A: &str = "<results><created id=\"1\"/></results>";
    const B: &str = "<results><status id=\"2\"><open shares=\"1\"/></status></results>";

    #[test]
    fn replies_are_found_however_a_server_lays_them_out() {
        check(&format!("{A}\n{B}\n{A}\n"), &[A, B, A], Framing::Lines);
        check(&format!("{A}{B}{A}"), &[A, B, A], Framing::Tagged);
        check(&format!("36\n{A}61\n{B}36\n{A}"), &[A, B, A], Framing::Tagged);
        check(&format!("37\n{A}\n62\r\n{B}\n37\n{A}\n"), &[A, B, A], Framing::Tagged);
        let spread = A.replace("><", ">\n  <");
        check(&format!("{spread}\n{spread}\n"), &[&spread, &spread], Framing::Tagged);
        let declared = format!("<?xml version=\"1.0\"?>\n{A}");
        check(&format!("{declared}\n{declared}\n"), &[&declared, &declared], Framing::Tagged);
        // The stream has lines at first, and then other replies.
        check(&format!("{A}\n{spread}\n{A}\n"), &[A, &spread, A], Framing::Tagged);
        check("", &[], Framing::Unknown);
    }

    #[test]
    fn the_kind_is_read_and_nothing_else_taken_for_it() {
        let kind = |reply: &str| read(reply.as_bytes()).map(|(kind, _)| kind);
        assert_eq!(kind(A), Some(Kind::Created));
        assert_eq!(kind(B), Some(Kind::Status));
        assert_eq!(kind("<?xml version=\"1.0\"?>\r\n<results>\n <error>no</error>\n</results>"), Some(Kind::Error));
        assert_eq!(kind("<results><creates id=\"1\"/></results>"), None);
        assert_eq!(kind("<results></results>"), None);
        assert_eq!(kind("<result><created id=\"1\"/></result>"), None);
    }

    #[test]
    fn the_id_is_that_of_the_first_element() {
        let of = |reply: &str| read(reply.as_bytes()).and_then(|(_, rest)| id(rest));
        assert_eq!(of("<results><opened sym=\"S\" amount=\"1\" limit=\"2\" id=\"37\"/></results>"), Some(37));
        assert_eq!(of("<results><error>x</error><status id=\"2\"/></results>"), None);
        assert_eq!(of("<results><opened id=\"x\"/></results>"), None);
    }
}
