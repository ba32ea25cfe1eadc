//! Orders as HTTP requests, and reading the replies to them: the little of HTTP/1.1 that a load needs. No sockets.

use std::ops::Range;

use crate::load::{Choice, symbol_name};

const END_OF_HEAD: &[u8] = b"\r\n\r\n";
const LENGTH: &[u8] = b"content-length: ";
const CREATED: &[u8] = b"HTTP/1.1 201 ";

/// An order to be placed, and what its reply must say.
pub struct Prepared {
    pub request: Vec<u8>,
    /// The body of its reply behind the order's id.
    echo: Vec<u8>,
}

impl Prepared {
    pub fn new(order: &Choice, host: &str) -> Prepared {
        let &Choice { account, symbol, buys, shares, cents } = order;
        let (symbol, side) = (symbol_name(symbol), if buys { "buy" } else { "sell" });
        let limit = dollars(cents);
        let body = format!(
            r#"{{"account":"{account}","symbol":"{symbol}","side":"{side}","limit":"{limit}","shares":"{shares}"}}"#
        );
        let length = body.len();
        let request = format!(
            "POST /api/v1/orders HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: \
             {length}\r\n\r\n{body}"
        );
        let echo = format!(
            r#","client_order_id":null,"account":"{account}","symbol":"{symbol}","side":"{side}","limit":"{limit}","shares":"{shares}"}}"#
        );
        Prepared { request: request.into_bytes(), echo: echo.into_bytes() }
    }

    /// Whether this reply accepts the order.
    pub fn is_right(&self, reply: &Reply) -> bool {
        let Some(id) = reply.body.strip_prefix(b"{\"order_id\":") else { return false };
        let digits = id.iter().take_while(|byte| byte.is_ascii_digit()).count();
        reply.created && digits > 0 && id[digits..] == self.echo[..]
    }
}

/// As the server writes it: without zeros at the end.
fn dollars(cents: usize) -> String {
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A whole reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    pub created: bool,
    pub body: &'a [u8],
}

/// The bytes that stand before the end of a reply, and the reply; none while it is not whole. Errors: no reply of HTTP/1.1
/// with a length.
pub fn read(bytes: &[u8]) -> Result<Option<(usize, Reply<'_>)>, String> {
    let Some(head) = bytes.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD) else { return Ok(None) };
    let Range { start, end } = length(&bytes[..head])?;
    let length = std::str::from_utf8(&bytes[start..end]).ok().and_then(|digits| digits.parse().ok());
    let body = head + END_OF_HEAD.len();
    let whole = body.saturating_add(length.ok_or("a reply whose length is no number")?);
    let found = bytes.get(body..whole);
    Ok(found.map(|body| (whole, Reply { created: bytes.starts_with(CREATED), body })))
}

/// Where the digits of the length are.
fn length(head: &[u8]) -> Result<Range<usize>, String> {
    let at = head.windows(LENGTH.len()).position(|window| window == LENGTH);
    let start =
        at.ok_or_else(|| format!("a reply without a length: {}", String::from_utf8_lossy(head)))? + LENGTH.len();
    let digits = head[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    Ok(start..start + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: Choice = Choice { account: 7, symbol: 1, buys: true, shares: 12, cents: 14_550 };
    const BODY: &str = r#"{"order_id":99,"client_order_id":null,"account":"7","symbol":"SYM1","side":"buy","limit":"145.5","shares":"12"}"#;

    fn reply(status: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn a_reply_is_whole_when_its_last_byte_is_there() {
        let text = reply("201 Created", BODY) + "HTTP";
        let whole = text.len() - 4;
        for cut in [0, 10, 60, whole - 1] {
            assert_eq!(read(&text.as_bytes()[..cut]), Ok(None), "{cut} bytes");
        }
        assert_eq!(read(text.as_bytes()), Ok(Some((whole, Reply { created: true, body: BODY.as_bytes() }))));
        assert!(read(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn only_the_order_that_was_sent_is_right() {
        let prepared = Prepared::new(&ORDER, "127.0.0.1:1");
        let right = |created, body: &str| prepared.is_right(&Reply { created, body: body.as_bytes() });
        assert!(right(true, BODY));
        assert!(!right(false, BODY));
        assert!(!right(true, &BODY.replace("99", "")));
        assert!(!right(true, &BODY.replace("145.5", "145.4")));
        assert!(!right(true, &(BODY.to_string() + " ")));
        assert_eq!([100, 101, 110, 1000].map(dollars), ["1", "1.01", "1.1", "10"]);
    }
}
