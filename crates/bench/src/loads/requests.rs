//! Requests as bytes. It knows no sockets, and does not choose what to send.

use std::io::Write as _;

use super::choice::{Choice, OrderKind};

const XML_DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
/// Dollars of an account that a load creates.
pub const BALANCE: u64 = 100_000;

/// The example of the protocol that a published experiment sends again and again: 173 bytes.
pub const EXAMPLE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<create>\n  <account id=\"123456\" balance=\"1000\"/>\n  \
    <symbol sym=\"SPY\">\n    <account id=\"123456\">100000</account>\n  </symbol>\n</create>\n";
/// Dollars that the example creates, where the account is new; the shares it creates each time.
pub const EXAMPLE_DOLLARS: u64 = 1_000;
pub const EXAMPLE_SYMBOL: &str = "SPY";
pub const EXAMPLE_SHARES: u64 = 100_000;

/// Returns `body` with its length line.
pub fn frame(body: &str) -> String {
    format!("{}\n{body}", body.len())
}

/// Returns a request of `account` with these children, laid out as the protocol's published examples are.
pub fn transactions(account: u64, children: &str) -> String {
    format!("{XML_DECLARATION}<transactions id=\"{account}\">\n  {children}\n</transactions>\n")
}

/// Returns a request that creates one account.
pub fn create(account: u64, dollars: u64) -> String {
    format!("{XML_DECLARATION}<create>\n  <account id=\"{account}\" balance=\"{dollars}\"/>\n</create>\n")
}

/// Returns the name of the symbol of this number.
pub fn symbol_name(number: usize) -> String {
    format!("SYM{number}")
}

/// Returns a request that places one order, with its length line.
pub fn place(order: &Choice) -> String {
    frame(&transactions(order.account, &format!("<order {}/>", order_attributes(order))))
}

/// Returns the attributes of an order, as they stand in it and in its reply.
pub fn order_attributes(order: &Choice) -> String {
    let &Choice { symbol, buys, shares, cents, kind, .. } = order;
    let (name, sign) = (symbol_name(symbol), if buys { "" } else { "-" });
    let limit = format!("limit=\"{}.{:02}\"", cents / 100, cents % 100);
    let terms = match kind {
        OrderKind::Limit => limit,
        OrderKind::ImmediateOrCancel => format!("{limit} tif=\"IOC\""),
        OrderKind::Market => "type=\"market\"".to_owned(),
    };
    format!("sym=\"{name}\" amount=\"{sign}{shares}\" {terms}")
}

/// Appends a request of `account` with one child, `query` or `cancel`, about one order.
pub fn append_about(out: &mut Vec<u8>, child: &str, account: u64, order: u64) {
    const AROUND: usize = "<transactions id=\"\">\n  < id=\"\"/>\n</transactions>\n".len();
    let length = XML_DECLARATION.len() + AROUND + digits(account) + child.len() + digits(order);
    // Writing to memory does not fail.
    let _ = write!(
        out,
        "{length}\n{XML_DECLARATION}<transactions id=\"{account}\">\n  <{child} id=\"{order}\"/>\n</transactions>\n"
    );
}

/// Writes `value` in decimal into all of `out`, with zeros before it.
pub fn write_decimal(out: &mut [u8], value: u64) {
    let mut rest = value;
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_its_173_bytes() {
        assert_eq!(EXAMPLE.len(), 173);
    }

    #[test]
    fn an_order_says_its_kind() {
        let limit = Choice { account: 1, symbol: 2, buys: false, shares: 3, cents: 405, kind: OrderKind::Limit };
        for (kind, attributes) in [
            (OrderKind::Limit, r#"sym="SYM2" amount="-3" limit="4.05""#),
            (OrderKind::ImmediateOrCancel, r#"sym="SYM2" amount="-3" limit="4.05" tif="IOC""#),
            (OrderKind::Market, r#"sym="SYM2" amount="-3" type="market""#),
        ] {
            assert_eq!(order_attributes(&Choice { kind, ..limit }), attributes);
        }
    }

    #[test]
    fn a_request_about_an_order_announces_its_length() {
        for (account, order) in [(1, 1), (10_000, 9_999), (0, u64::MAX)] {
            let mut out = Vec::new();
            append_about(&mut out, "cancel", account, order);
            let children = format!("<cancel id=\"{order}\"/>");
            assert_eq!(String::from_utf8(out), Ok(frame(&transactions(account, &children))));
        }
    }
}
