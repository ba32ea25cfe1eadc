//! Commands as bytes: every command comes back, every encoding is the only one, no bytes make the decoder panic.
#![allow(clippy::unwrap_used)]

use engine::{
    AccountId, ClientOrderId, Command, DOLLAR, FundsOrder, Money, NewOrder, OrderId, OrderKind, Position, Price,
    Shares, Side, Symbol, Trigger,
};
use journal::{CodecError, decode, encode};
use proptest::prelude::*;

fn account() -> impl Strategy<Value = AccountId> {
    "[0-9]{1,32}".prop_map(|text| AccountId::parse(text.as_bytes()).unwrap())
}

fn symbol() -> impl Strategy<Value = Symbol> {
    "[0-9A-Za-z]{1,32}".prop_map(|text| Symbol::parse(text.as_bytes()).unwrap())
}

fn client_order_id() -> impl Strategy<Value = ClientOrderId> {
    "[0-9A-Za-z._:/-]{1,36}".prop_map(|text| ClientOrderId::parse(text.as_bytes()).unwrap())
}

/// Numbers of all lengths up to `max`.
fn up_to(max: u128) -> impl Strategy<Value = u128> {
    (any::<u128>(), 0u32..128).prop_map(move |(value, shift)| (value >> shift) % (max + 1))
}

fn command() -> impl Strategy<Value = Command> {
    let balance = up_to(Money::CAP.units().unsigned_abs()).prop_map(|units| Money::from_units(units as i128));
    let issued = up_to(Position::CAP.units().unsigned_abs()).prop_map(|units| Position::from_units(units as i128));
    let above_zero = || up_to(i64::MAX as u128 - 1).prop_map(|units| units as i64 + 1);
    let body = (symbol(), prop_oneof![Just(Side::Buy), Just(Side::Sell)], above_zero(), above_zero());
    let kind = proptest::sample::select(OrderKind::ALL.as_slice());
    let trigger = proptest::option::of((above_zero(), any::<bool>()));
    let order = (proptest::option::of(client_order_id()), account(), (kind, trigger), body).prop_map(
        |(client_id, account, (kind, trigger), (symbol, side, limit, shares))| {
            let (limit, shares) = (Price::from_units(limit).unwrap(), Shares::from_units(shares).unwrap());
            let trigger = trigger.and_then(|(price, above)| Trigger::from_code(if above { -price } else { price }));
            let order = NewOrder { trigger, ..NewOrder::of_kind(kind, symbol, side, limit, shares) };
            Command::PlaceOrder { account, order, client_id }
        },
    );
    let funds = up_to(Money::CAP.units().unsigned_abs() - 1).prop_map(|units| Money::from_units(units as i128 + 1));
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let for_money = (proptest::option::of(client_order_id()), account(), symbol(), side, funds).prop_map(
        |(client_id, account, symbol, side, funds)| Command::PlaceByFunds {
            account,
            order: FundsOrder { symbol, side, funds },
            client_id,
        },
    );
    let placing = (prop_oneof![order, for_money], any::<bool>())
        .prop_map(|(command, conditional)| command.if_canceled().filter(|_| conditional).unwrap_or(command));
    prop_oneof![
        4 => placing,
        1 => (account(), balance).prop_map(|(account, balance)| Command::CreateAccount { account, balance }),
        1 => Just(Command::ActivateReached),
        1 => symbol().prop_map(|symbol| Command::CreateOldSymbol { symbol }),
        1 => symbol().prop_map(|symbol| Command::CreateSymbol { symbol }),
        1 => (symbol(), account(), issued).prop_map(|(symbol, account, shares)| Command::IssueShares {
            symbol,
            account,
            shares
        }),
        1 => (account(), client_order_id()).prop_map(|(account, id)| Command::CancelOrder { account, order: id.into() }),
        1 => (account(), any::<u64>())
            .prop_map(|(account, order)| Command::CancelOrder { account, order: OrderId(order).into() }),
    ]
}

proptest! {
    #[test]
    fn commands_come_back(commands in proptest::collection::vec(command(), 1..20)) {
        let mut bytes = Vec::new();
        for command in &commands {
            encode(command, &mut bytes);
        }
        let mut rest = &bytes[..];
        for command in &commands {
            prop_assert_eq!(decode(&mut rest), Ok(*command));
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn a_cut_command_is_refused(command in command(), end: proptest::sample::Index) {
        let mut bytes = Vec::new();
        encode(&command, &mut bytes);
        prop_assert!(decode(&mut &bytes[..end.index(bytes.len())]).is_err());
    }

    #[test]
    fn whatever_reads_as_a_command_is_its_only_encoding(tag in 0u8..15, tail in proptest::collection::vec(any::<u8>(), 0..64)) {
        let bytes = [&[tag], &tail[..]].concat();
        let mut rest = &bytes[..];
        if let Ok(command) = decode(&mut rest) {
            let mut again = Vec::new();
            encode(&command, &mut again);
            prop_assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
        }
    }

    #[test]
    fn a_changed_command_is_refused_or_is_a_command(command in command(), bit: proptest::sample::Index) {
        let mut bytes = Vec::new();
        encode(&command, &mut bytes);
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = decode(&mut &bytes[..]) {
            prop_assert_ne!(other, command);
        }
    }
}

#[test]
fn values_out_of_bounds_are_refused() {
    let account = AccountId::parse(b"7").unwrap();
    let mut bytes = Vec::new();
    encode(&Command::CancelOrder { account, order: OrderId(1).into() }, &mut bytes);
    assert_eq!(bytes, [6, 0xc1, 0x03, 1]);
    let refused = |bytes: &[u8]| decode(&mut &bytes[..]).unwrap_err();
    assert_eq!(refused(&[6, 0, 1]), CodecError::OutOfBounds("account id"));
    assert_eq!(refused(&[0]), CodecError::UnknownTag(0));
    assert_eq!(refused(&[16]), CodecError::UnknownTag(16));
    assert_eq!(refused(&[]), CodecError::Truncated);
    assert_eq!(refused(&[2, 0]), CodecError::OutOfBounds("symbol"));
    assert_eq!(refused(&[2, 1, b'-']), CodecError::OutOfBounds("symbol"));
    assert_eq!(refused(&[2, 33]), CodecError::Truncated);
    // A price, and shares, of zero.
    assert_eq!(refused(&[4, 0xc1, 0x03, 1, b'A', 0, 1]), CodecError::OutOfBounds("price"));
    assert_eq!(refused(&[5, 0xc1, 0x03, 1, b'A', 1, 0]), CodecError::OutOfBounds("number of shares"));
}

#[test]
fn client_order_ids_out_of_bounds_are_refused() {
    let (account, id) = (AccountId::parse(b"7").unwrap(), ClientOrderId::parse(b"a-1").unwrap());
    let mut bytes = Vec::new();
    encode(&Command::CancelOrder { account, order: id.into() }, &mut bytes);
    assert_eq!(bytes, [9, 0xc1, 0x03, 3, b'a', b'-', b'1']);
    let (symbol, side) = (Symbol::parse(b"S").unwrap(), Side::Sell);
    let (limit, shares) = (Price::from_units(5).unwrap(), Shares::from_units(6).unwrap());
    bytes.clear();
    encode(
        &Command::PlaceOrder { account, order: NewOrder::limit(symbol, side, limit, shares), client_id: Some(id) },
        &mut bytes,
    );
    assert_eq!(bytes, [8, 3, b'a', b'-', b'1', 0xc1, 0x03, 1, b'S', 5, 6]);
    bytes.clear();
    let order = NewOrder { kind: OrderKind::FillOrKill, ..NewOrder::limit(symbol, side, limit, shares) };
    encode(&Command::PlaceOrder { account, order, client_id: Some(id) }, &mut bytes);
    assert_eq!(bytes, [10, 15, 3, b'a', b'-', b'1', 0xc1, 0x03, 1, b'S', 5, 6]);
    bytes.clear();
    let order = NewOrder::market(symbol, Side::Buy, shares);
    encode(&Command::PlaceOrder { account, order, client_id: None }, &mut bytes);
    assert_eq!(bytes, [10, 16, 0xc1, 0x03, 1, b'S', 6]);
    bytes.clear();
    let order = FundsOrder { symbol, side, funds: Money::from_units(7) };
    encode(&Command::PlaceByFunds { account, order, client_id: None }, &mut bytes);
    assert_eq!(bytes, [11, 1, 0xc1, 0x03, 1, b'S', 7]);
    assert_eq!(decode(&mut &[11, 1, 0xc1, 0x03, 1, b'S', 0][..]), Err(CodecError::OutOfBounds("funds")));
    assert_eq!(decode(&mut &[11, 4, 0xc1, 0x03, 1, b'S', 7][..]), Err(CodecError::OutOfBounds("kind of an order")));
    // On the condition that the command before it canceled an order. Only an order has it, and only once.
    bytes.clear();
    let order = NewOrder::limit(symbol, side, limit, shares);
    encode(&Command::PlaceIfCanceled { account, order, client_id: None }, &mut bytes);
    assert_eq!(bytes, [13, 5, 0xc1, 0x03, 1, b'S', 5, 6]);
    for bytes in [&[13, 6, 0xc1, 0x03, 1][..], &[13, 13, 5, 0xc1, 0x03, 1, b'S', 5, 6], &[13; 1 << 20]] {
        assert_eq!(decode(&mut &bytes[..]), Err(CodecError::OutOfBounds("command on a condition")));
    }
    // A limit order has a tag of its own, and there is no sixth kind.
    for kind in [0, 5] {
        assert_eq!(decode(&mut &[10, kind << 2][..]), Err(CodecError::OutOfBounds("kind of an order")));
    }
    for bytes in [&[7, 0][..], &[9, 0xc1, 0x03, 1, b' '], &[&[7, 37][..], &[b'x'; 37]].concat()] {
        assert_eq!(decode(&mut &bytes[..]), Err(CodecError::OutOfBounds("client order id")), "{bytes:?}");
    }
}

#[test]
#[should_panic(expected = "a parsed balance is at most its cap")]
fn a_balance_above_its_cap_is_our_bug() {
    let account = AccountId::parse(b"7").unwrap();
    let balance = Money::CAP.plus(Money::from_units(DOLLAR));
    encode(&Command::CreateAccount { account, balance }, &mut Vec::new());
}
