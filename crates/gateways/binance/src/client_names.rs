//! The `clientOrderId` of an order: the client order id that its client gave, or, without one, a name made of the
//! order's number. Such a name need not be kept. It has a character that no client order id may have, so it is never a
//! client's own.

use terms::{ClientOrderId, OrderId};

/// The first character of a made name; the order's number follows.
const MARK: char = '~';

/// Returns the name of an order.
pub(crate) fn name_of(order: OrderId, own: Option<&ClientOrderId>) -> String {
    own.map_or_else(|| format!("{MARK}{order}"), |own| own.as_str().to_owned())
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParsedName {
    /// The order to which its client gave this id.
    Own(ClientOrderId),
    /// The order of this number, if its client gave it none.
    Made(OrderId),
}

/// Reads a name. Returns `None` if no order can have it.
pub(crate) fn read(name: &str) -> Option<ParsedName> {
    let Some(number) = name.strip_prefix(MARK) else {
        return ClientOrderId::parse(name.as_bytes()).ok().map(ParsedName::Own);
    };
    OrderId::parse(number.as_bytes()).map(ParsedName::Made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_name_is_no_clients_own() {
        for order in [1, 7, u64::MAX].map(OrderId) {
            let name = name_of(order, None);
            assert_eq!(read(&name), Some(ParsedName::Made(order)));
            assert!(ClientOrderId::parse(name.as_bytes()).is_err() && name.len() <= terms::CLIENT_ORDER_ID_BYTES_MAX);
        }
        let own = ClientOrderId::parse(b"7").expect("an id");
        assert_eq!((name_of(OrderId(1), Some(&own)).as_str(), read("7")), ("7", Some(ParsedName::Own(own))));
        for nothing in ["", "~", "~x", "~-1", "~18446744073709551616", "a b"] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }
}
