//! Commands as bytes: every command comes back, every encoding is the only one, no bytes make the decoder panic.

use std::num::NonZeroU32;

use journal::{CodecError, decode, encode};
use proptest::prelude::*;
use terms::{
    AccountId, AccountLimits, Amendment, Among, Assets, AuctionTies, Bond, ClientOrderId, Command, DOLLAR, Deadline,
    Distance, FeeRate, Fees, FundsOrder, Grace, Group, KillScope, Money, NewOrder, OrderId, OrderKind, Pause, Phase,
    Place, Position, Price, SelfTrade, Shares, Side, Symbol, SymbolRules, Tier, Time, TimeInForce, Trail,
    TransferNumber, Trigger, WaitsFor,
};

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

fn amended() -> impl Strategy<Value = Shares> {
    up_to(i64::MAX as u128 - 1).prop_map(|units| Shares::from_units(units as i64 + 1).unwrap())
}

/// Amendments that name any of the terms.
fn amendment() -> impl Strategy<Value = Command> {
    let order = prop_oneof![any::<u64>().prop_map(|id| OrderId(id).into()), client_order_id().prop_map(Into::into)];
    let price = || up_to(i64::MAX as u128 - 1).prop_map(|units| Price::from_units(units as i64 + 1).unwrap());
    let trail = (any::<bool>(), price(), 1u16..10_000)
        .prop_map(|(by_price, price, bips)| if by_price { Trail::by(price) } else { Trail::by_bips(bips).unwrap() });
    let waits = prop_oneof![
        price().prop_map(WaitsFor::StopLoss),
        price().prop_map(WaitsFor::TakeProfit),
        trail.prop_map(WaitsFor::Trail)
    ];
    let until = proptest::option::of(any::<u64>().prop_map(Deadline::from_code));
    let tif = proptest::sample::select(TimeInForce::ALL.as_slice());
    let display = proptest::option::of(proptest::option::of(amended()));
    let named = (
        proptest::option::of(amended()),
        proptest::option::of(price()),
        proptest::option::of(waits),
        display,
        until,
        proptest::option::of(tif),
    );
    (account(), order, named).prop_map(|(account, order, (shares, limit, waits, display, until, tif))| {
        let bare = Amendment::of(account, order);
        let amendment = shares.map_or(bare, |shares| bare.with_shares(shares));
        let amendment = limit.map_or(amendment, |limit| amendment.with_limit(limit));
        let amendment = waits.map_or(amendment, |waits| amendment.with_wait(waits));
        let amendment = display.map_or(amendment, |display| amendment.with_display(display));
        let amendment = until.map_or(amendment, |until| amendment.with_deadline(until));
        Command::Amend(tif.map_or(amendment, |tif| amendment.with_tif(tif)))
    })
}

fn kill_scope() -> impl Strategy<Value = KillScope> {
    prop_oneof![
        Just(KillScope::Everything),
        account().prop_map(KillScope::Account),
        symbol().prop_map(KillScope::Symbol),
    ]
}

fn limits() -> impl Strategy<Value = AccountLimits> {
    let bound = || prop_oneof![Just(0), up_to(i64::MAX as u128 - 1).prop_map(|units| units as i64)];
    (any::<u32>(), bound(), up_to(SymbolRules::VALUE_MAX.units().unsigned_abs()), bound(), 0u32..2_000_000).prop_map(
        |(open_orders, order_shares, order_value, position, collar)| {
            let mut limits = AccountLimits { open_orders: NonZeroU32::new(open_orders), ..AccountLimits::NONE };
            limits.position = Shares::from_units(position).unwrap();
            limits.collar = Distance::from_hundredths(collar);
            if order_shares > 0 {
                limits.order_shares = Shares::from_units(order_shares).unwrap();
            }
            if order_value > 0 {
                limits.order_value = Money::from_units(order_value as i128);
            }
            limits
        },
    )
}

fn command() -> impl Strategy<Value = Command> {
    let balance = up_to(Money::CAP.units().unsigned_abs()).prop_map(|units| Money::from_units(units as i128)).boxed();
    let issued =
        up_to(Position::CAP.units().unsigned_abs()).prop_map(|units| Position::from_units(units as i128)).boxed();
    let above_zero = || up_to(i64::MAX as u128 - 1).prop_map(|units| units as i64 + 1);
    let body = (symbol(), prop_oneof![Just(Side::Buy), Just(Side::Sell)], above_zero(), above_zero());
    let kind = proptest::sample::select(OrderKind::ALL.as_slice());
    let trigger = proptest::option::of((above_zero(), any::<bool>()));
    let self_trade = || prop_oneof![Just(SelfTrade::Allowed), proptest::sample::select(SelfTrade::ALL.as_slice())];
    let until = prop_oneof![Just(None), any::<u64>().prop_map(Deadline::from_code)];
    let order = (proptest::option::of(client_order_id()), account(), (kind, trigger, self_trade(), until), body)
        .prop_map(|(client_id, account, (kind, trigger, self_trade, until), (symbol, side, limit, shares))| {
            let (limit, shares) = (Price::from_units(limit).unwrap(), Shares::from_units(shares).unwrap());
            let trigger = trigger.and_then(|(price, above)| Trigger::from_code(if above { -price } else { price }));
            let order = NewOrder { trigger, self_trade, ..NewOrder::of_kind(kind, symbol, side, limit, shares) };
            Command::Place(Place::order(account, order).named(client_id).until(until))
        });
    let funds = up_to(Money::CAP.units().unsigned_abs() - 1).prop_map(|units| Money::from_units(units as i128 + 1));
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let for_money = (proptest::option::of(client_order_id()), account(), symbol(), side, funds, self_trade()).prop_map(
        |(client_id, account, symbol, side, funds, self_trade)| {
            Command::Place(Place::funds(account, FundsOrder { symbol, side, funds, self_trade }).named(client_id))
        },
    );
    let trail =
        prop_oneof![above_zero().prop_map(|units| -(units % 9_999) - 1), above_zero()].prop_map(Trail::from_code);
    let placing =
        (prop_oneof![order, for_money], 0u8..12, amended(), trail).prop_map(|(command, how, display, trail)| {
            let place = *command.place().unwrap();
            let terms = |of_form: Place| of_form.named(place.client_id()).until(place.deadline());
            let bond = match how {
                0 | 3 | 7 => Bond::IfCanceled,
                1 => Bond::Linked,
                8 | 9 => Bond::Working { two_wait: how == 9 },
                10 => Bond::Pending,
                11 => Bond::Replacing,
                _ => Bond::Alone,
            };
            let of_form = match (how, place.plain()) {
                (6 | 7, Some(order)) => {
                    Place::trailing(place.account, NewOrder { trigger: None, ..order }, trail.unwrap()).map(terms)
                }
                (2 | 3, Some(order)) => Place::iceberg(place.account, order, display).map(terms),
                _ => None,
            };
            let place = of_form.unwrap_or(place);
            Command::Place(place.with_bond(bond).unwrap_or(place))
        });
    prop_oneof![
        4 => placing,
        1 => (account(), balance.clone()).prop_map(|(account, balance)| Command::CreateAccount { account, balance }),
        1 => Just(Command::ActivateReached),
        1 => Just(Command::ExpireOrders),
        1 => (account(), any::<u64>(), amended()).prop_map(|(account, order, shares)| {
            Command::AmendOrder { account, order: OrderId(order).into(), shares }
        }),
        2 => amendment(),
        1 => (account(), any::<u64>())
            .prop_map(|(account, order)| Command::ReplaceOrder { account, order: OrderId(order).into() }),
        1 => (account(), client_order_id()).prop_map(|(account, id)| Command::ReplaceOrder { account, order: id.into() }),
        1 => (account(), client_order_id(), amended())
            .prop_map(|(account, id, shares)| Command::AmendOrder { account, order: id.into(), shares }),
        2 => (symbol(), rules()).prop_map(|(symbol, rules)| Command::ChangeRules { symbol, rules }),
        2 => (symbol(), tier(), fees()).prop_map(|(symbol, tier, fees)| Command::ChangeFees { symbol, tier, fees }),
        1 => (account(), 0..=Group::MAX).prop_map(|(account, number)| Command::ChangeGroup {
            account,
            group: Group::new(number).unwrap(),
        }),
        1 => (account(), tier()).prop_map(|(account, tier)| Command::ChangeTier { account, tier }),
        1 => (symbol(), proptest::sample::select(Phase::ALL.as_slice()), proptest::option::of(any::<u64>().prop_map(Time)))
            .prop_map(|(symbol, phase, due)| Command::ChangePhase { symbol, phase, due }),
        1 => (kill_scope(), any::<bool>()).prop_map(|(scope, kills)| {
            if kills { Command::Kill { scope } } else { Command::Release { scope } }
        }),
        1 => (account(), 0..3usize, any::<bool>()).prop_map(|(account, place, kills)| {
            let among = [Among::First, Among::Between, Among::Last][place];
            if kills { Command::KillTogether { account, among } } else { Command::ReleaseTogether { account, among } }
        }),
        1 => (account(), limits()).prop_map(|(account, limits)| Command::ChangeLimits { account, limits }),
        1 => Just(Command::EndAuction),
        1 => any::<u64>().prop_map(|time| Command::FollowCalendar { through: Time(time) }),
        1 => (account(), 0..=Grace::MAX_MILLIS).prop_map(|(account, millis)| Command::Protect {
            account,
            grace: Grace::from_millis(millis).unwrap(),
        }),
        1 => (account(), any::<bool>(), proptest::option::of(any::<u64>())).prop_map(|(account, is_lost, through)| {
            Command::Unprotect { account, is_lost, through: through.map(OrderId).filter(|_| is_lost) }
        }),
        1 => (account(), proptest::option::of(symbol()), proptest::option::of(any::<u64>().prop_map(OrderId)))
            .prop_map(|(account, symbol, through)| Command::CancelAll { account, symbol, through }),
        1 => symbol().prop_map(|symbol| Command::CreateSymbol { symbol }),
        1 => (account(), account(), balance)
            .prop_map(|(payer, account, balance)| Command::FundAccount { payer, account, balance }),
        1 => (account(), symbol(), account(), issued.clone()).prop_map(|(payer, symbol, account, shares)| {
            Command::GiveShares { payer, symbol, account, shares }
        }),
        3 => (account(), account(), assets(), any::<u64>(), 0..3).prop_map(|(payer, account, assets, number, kind)| {
            let number = TransferNumber::new(number >> (number % 64));
            match kind {
                0 => Command::Deposit { account, assets, number },
                1 => Command::DepositFrom { payer, account, assets, number },
                _ => Command::Withdraw { account, assets, number },
            }
        }),
        1 => (symbol(), account(), issued).prop_map(|(symbol, account, shares)| Command::IssueShares {
            symbol,
            account,
            shares
        }),
        1 => (account(), client_order_id()).prop_map(|(account, id)| Command::CancelOrder { account, order: id.into() }),
        1 => (account(), client_order_id()).prop_map(|(account, id)| Command::FreeClientOrderId { account, id }),
        1 => (account(), any::<u64>())
            .prop_map(|(account, order)| Command::CancelOrder { account, order: OrderId(order).into() }),
    ]
}

fn assets() -> impl Strategy<Value = Assets> {
    let dollars = up_to(Money::CAP.units().unsigned_abs() - 1);
    let shares = up_to(Position::CAP.units().unsigned_abs() - 1);
    (symbol(), dollars, shares, any::<bool>()).prop_map(|(symbol, dollars, shares, is_money)| match is_money {
        true => Assets::Dollars(Money::from_units(dollars as i128 + 1)),
        false => Assets::Shares { symbol, shares: Position::from_units(shares as i128 + 1) },
    })
}

/// Draws each rule in half of the cases. Rules that no order could obey become none.
fn tier() -> impl Strategy<Value = Tier> {
    (0..Tier::COUNT).prop_map(|number| Tier::new(number).unwrap())
}

fn fees() -> impl Strategy<Value = Option<Fees>> {
    let rate = || up_to(1_000_000).prop_map(|millionths| FeeRate::from_millionths(millionths as u32).unwrap());
    let fees = (rate(), rate(), account()).prop_map(|(maker, taker, account)| Fees { maker, taker, account });
    fees.prop_map(|fees| Some(fees).filter(Fees::is_any))
}

fn rules() -> impl Strategy<Value = SymbolRules> {
    let above_zero = || proptest::option::of(up_to(i64::MAX as u128 - 1).prop_map(|units| units as i64 + 1));
    let value = || proptest::option::of(up_to(SymbolRules::VALUE_MAX.units().unsigned_abs()));
    let shares = (above_zero(), above_zero(), above_zero());
    (above_zero(), shares, (value(), value()), (0u32..2_000_000, 0u32..20_000), any::<bool>()).prop_map(
        |(tick, (lot, least, most), (value_min, value_max), (up, down), is_halted)| {
            let none = SymbolRules::NONE;
            let shares = |units: Option<i64>, none| units.and_then(Shares::from_units).unwrap_or(none);
            let money = |units: Option<u128>, none| units.map_or(none, |units| Money::from_units(units as i128));
            let rules = SymbolRules {
                tick: tick.and_then(Price::from_units).unwrap_or(none.tick),
                lot: shares(lot, none.lot),
                shares_min: shares(least, none.shares_min),
                shares_max: shares(most, none.shares_max),
                value_min: money(value_min, none.value_min),
                value_max: money(value_max, none.value_max),
                band_up: Distance::from_hundredths(up),
                band_down: Distance::from_hundredths(down),
                is_halted,
                interruption: Pause::from_seconds(up % 100_000),
                band_size: shares(least.filter(|_| down % 2 == 0), none.band_size),
                static_up: Distance::from_hundredths(down),
                static_down: Distance::from_hundredths(down / 2),
                reference: tick.and_then(Price::from_units).filter(|_| up % 2 == 0),
                auction_ties: if down % 3 == 0 { AuctionTies::Pressure } else { AuctionTies::Nearest },
            };
            if rules.check().is_ok() { rules } else { SymbolRules { is_halted, ..none } }
        },
    )
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
    fn whatever_reads_as_a_command_is_its_only_encoding(tag in 0u8..42, tail in proptest::collection::vec(any::<u8>(), 0..64)) {
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
    assert_eq!(refused(&[22]), CodecError::UnknownTag(22));
    assert_eq!(refused(&[]), CodecError::Truncated);
    assert_eq!(refused(&[15, 0]), CodecError::OutOfBounds("symbol"));
    assert_eq!(refused(&[15, 1, b'-']), CodecError::OutOfBounds("symbol"));
    assert_eq!(refused(&[15, 33]), CodecError::Truncated);
    // A price, and shares, of zero are refused.
    assert_eq!(refused(&[4, 0xc1, 0x03, 1, b'A', 0, 1]), CodecError::OutOfBounds("price"));
    assert_eq!(refused(&[5, 0xc1, 0x03, 1, b'A', 1, 0]), CodecError::OutOfBounds("number of shares"));
}

#[test]
fn rules_have_one_encoding_and_bounds() {
    let symbol = Symbol::parse(b"S").unwrap();
    let none = SymbolRules::NONE;
    let encoded = |rules| {
        let mut bytes = Vec::new();
        encode(&Command::ChangeRules { symbol, rules }, &mut bytes);
        bytes
    };
    assert_eq!(encoded(none), [16, 1, b'S', 0]);
    let tick = SymbolRules { tick: Price::from_units(5).unwrap(), is_halted: true, ..none };
    assert_eq!(encoded(tick), [16, 1, b'S', 0x81, 2, 5]);
    let refused = |bytes: &[u8]| decode(&mut &[&[16, 1, b'S'], bytes].concat()[..]).unwrap_err();
    // A tick of the lowest price is not written; nor is a lot of the fewest shares, nor a lowest value of zero.
    for bytes in [&[1u8, 1][..], &[2, 1], &[16, 0]] {
        assert_eq!(refused(bytes), CodecError::OutOfBounds("rules"));
    }
    assert_eq!(refused(&[1, 0]), CodecError::OutOfBounds("price"));
    assert_eq!(refused(&[2, 0]), CodecError::OutOfBounds("number of shares"));
    assert_eq!(refused(&[64, 0]), CodecError::OutOfBounds("price band"));
    assert_eq!(refused(&[64, 0xc1, 0x84, 0x3d]), CodecError::OutOfBounds("price band"), "1,000,001 hundredths");
    // The most shares are fewer than the fewest; a bit has no rule; a band reaches down to zero.
    assert_eq!(refused(&[12, 3, 2]), CodecError::OutOfBounds("rules"));
    assert_eq!(refused(&[0x80, 0x80, 2]), CodecError::OutOfBounds("rules"));
    let pressed = SymbolRules { auction_ties: AuctionTies::Pressure, ..none };
    assert_eq!(encoded(pressed), [16, 1, b'S', 0x80, 0x80, 1]);
    assert_eq!(refused(&[0x80, 8, 2]), CodecError::OutOfBounds("rules"), "a band-size without a band");
    let (static_up, reference) = (Distance::from_hundredths(100), Price::from_units(9));
    let fixed = SymbolRules { static_up, reference, ..none };
    assert_eq!(encoded(fixed), [16, 1, b'S', 0x80, 0x50, 100, 9]);
    assert_eq!(refused(&[0x80, 0x40, 9]), CodecError::OutOfBounds("rules"), "a reference without a static band");
    assert_eq!(refused(&[0x80, 0x18, 1, 100]), CodecError::OutOfBounds("rules"), "the fewest shares are no band-size");
    let band_up = Distance::from_hundredths(100);
    let interrupts = SymbolRules { band_up, interruption: Pause::from_seconds(30), ..none };
    assert_eq!(encoded(interrupts), [16, 1, b'S', 0xc0, 4, 100, 30]);
    assert_eq!(refused(&[0xc0, 4, 100, 0]), CodecError::OutOfBounds("interruption"));
    assert_eq!(refused(&[0xc0, 4, 100, 0x81, 0xa3, 5]), CodecError::OutOfBounds("interruption"), "86,401 seconds");
    assert_eq!(refused(&[0x80, 4, 30]), CodecError::OutOfBounds("rules"), "an interruption without a band");
    assert_eq!(refused(&[0x80, 1, 0x90, 0x4e]), CodecError::OutOfBounds("rules"));
}

#[test]
fn fees_have_one_encoding() {
    let (symbol, account) = (Symbol::parse(b"S").unwrap(), AccountId::parse(b"7").unwrap());
    let rate = |millionths| FeeRate::from_millionths(millionths).unwrap();
    let encoded = |command| {
        let mut bytes = Vec::new();
        encode(&command, &mut bytes);
        bytes
    };
    let tier = Tier::new(3).unwrap();
    let fees = Some(Fees { maker: rate(0), taker: rate(1_000), account });
    assert_eq!(
        encoded(Command::ChangeFees { symbol, tier, fees }),
        [24, 1, b'S', 3, 0, 0xe8, 7, 0xc1, 3],
        "the tier, both rates in millionths, the account"
    );
    assert_eq!(encoded(Command::ChangeFees { symbol, tier, fees: None }), [24, 1, b'S', 3, 0, 0]);
    assert_eq!(encoded(Command::ChangeTier { account, tier }), [25, 0xc1, 3, 3]);
    let refused = |bytes: &[u8]| decode(&mut &bytes[..]).unwrap_err();
    assert_eq!(refused(&[24, 1, b'S', 16, 0, 0]), CodecError::OutOfBounds("tier"));
    assert_eq!(refused(&[25, 0xc1, 3, 16]), CodecError::OutOfBounds("tier"));
    assert_eq!(refused(&[24, 1, b'S', 3, 0xc1, 0x84, 0x3d, 0]), CodecError::OutOfBounds("rate of a fee"));
}

#[test]
fn a_group_has_one_encoding_and_a_bound() {
    let account = AccountId::parse(b"7").unwrap();
    for (number, written) in [(0, &[0][..]), (300, &[0xac, 2]), (Group::MAX, &[0xff, 0x93, 0xeb, 0xdc, 3])] {
        let mut bytes = Vec::new();
        encode(&Command::ChangeGroup { account, group: Group::new(number).unwrap() }, &mut bytes);
        assert_eq!(bytes, [&[38, 0xc1, 3][..], written].concat());
    }
    let beyond = [38, 0xc1, 3, 0x80, 0x94, 0xeb, 0xdc, 3];
    assert_eq!(decode(&mut &beyond[..]).unwrap_err(), CodecError::OutOfBounds("group"));
}

#[test]
fn a_protection_has_one_encoding_and_a_bound() {
    let account = AccountId::parse(b"7").unwrap();
    let protect = |millis| Command::Protect { account, grace: Grace::from_millis(millis).unwrap() };
    for (command, written) in [
        (protect(0), &[43, 0xc1, 3, 0][..]),
        (protect(300), &[43, 0xc1, 3, 0xac, 2]),
        (protect(Grace::MAX_MILLIS), &[43, 0xc1, 3, 0xe0, 0xd4, 3]),
        (Command::Unprotect { account, is_lost: false, through: None }, &[44, 0xc1, 3, 0]),
        (Command::Unprotect { account, is_lost: true, through: None }, &[44, 0xc1, 3, 1]),
        (Command::Unprotect { account, is_lost: true, through: Some(OrderId(300)) }, &[44, 0xc1, 3, 2, 0xac, 2]),
    ] {
        let mut bytes = Vec::new();
        encode(&command, &mut bytes);
        assert_eq!(bytes, written);
    }
    assert_eq!(decode(&mut &[43, 0xc1, 3, 0xe1, 0xd4, 3][..]).unwrap_err(), CodecError::OutOfBounds("grace"));
    let unknown = decode(&mut &[44, 0xc1, 3, 3][..]).unwrap_err();
    assert_eq!(unknown, CodecError::OutOfBounds("whether nobody came back"));
}

#[test]
fn kills_have_one_encoding_and_scopes() {
    let account = AccountId::parse(b"7").unwrap();
    let symbol = Symbol::parse(b"S").unwrap();
    for (scope, written) in [
        (KillScope::Everything, &[0][..]),
        (KillScope::Account(account), &[1, 0xc1, 3]),
        (KillScope::Symbol(symbol), &[2, 1, b'S']),
    ] {
        for (tag, command) in [(41, Command::Kill { scope }), (42, Command::Release { scope })] {
            let mut bytes = Vec::new();
            encode(&command, &mut bytes);
            assert_eq!(bytes, [&[tag][..], written].concat());
        }
    }
    for (byte, among) in [(3, Among::First), (4, Among::Between), (5, Among::Last)] {
        let together = [Command::KillTogether { account, among }, Command::ReleaseTogether { account, among }];
        for (tag, command) in [41, 42].into_iter().zip(together) {
            let mut bytes = Vec::new();
            encode(&command, &mut bytes);
            assert_eq!(bytes, [tag, byte, 0xc1, 3]);
        }
    }
    assert_eq!(decode(&mut &[41, 6][..]).unwrap_err(), CodecError::OutOfBounds("scope of a kill"));
}

#[test]
fn limits_have_one_encoding() {
    let account = AccountId::parse(b"7").unwrap();
    let written = |limits| {
        let mut bytes = Vec::new();
        encode(&Command::ChangeLimits { account, limits }, &mut bytes);
        assert_eq!(decode(&mut &bytes[..]), Ok(Command::ChangeLimits { account, limits }));
        bytes
    };
    assert_eq!(written(AccountLimits::NONE), [45, 0xc1, 3, 0]);
    let all = AccountLimits {
        open_orders: NonZeroU32::new(300),
        order_shares: Shares::from_units(5).unwrap(),
        order_value: Money::from_units(6),
        position: Shares::ZERO,
        collar: Distance::from_hundredths(7),
    };
    assert_eq!(written(all), [45, 0xc1, 3, 31, 0xac, 2, 5, 6, 0, 7]);
    let most = [45, 0xc1, 3, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for bytes in [&[45, 0xc1, 3, 32][..], &[45, 0xc1, 3, 1, 0], &[45, 0xc1, 3, 4, 0], &[45, 0xc1, 3, 16, 0], &most] {
        assert_eq!(decode(&mut &bytes[..]), Err(CodecError::OutOfBounds("limits")), "{bytes:?}");
    }
}

#[test]
fn a_cancel_of_all_orders_names_an_account_a_symbol_or_all_and_the_newest_order() {
    let account = AccountId::parse(b"7").unwrap();
    let of_one = Some(Symbol::parse(b"SPY").unwrap());
    for (symbol, through, written) in [
        (None, None, &[0][..]),
        (of_one, None, &[1, 3, b'S', b'P', b'Y']),
        (None, Some(OrderId(300)), &[2, 0xac, 2]),
        (of_one, Some(OrderId(5)), &[3, 3, b'S', b'P', b'Y', 5]),
    ] {
        let mut bytes = Vec::new();
        let command = Command::CancelAll { account, symbol, through };
        encode(&command, &mut bytes);
        assert_eq!(bytes, [&[40, 0xc1, 3][..], written].concat());
        assert_eq!(decode(&mut &bytes[..]), Ok(command));
    }
    let neither = [40, 0xc1, 3, 4];
    assert_eq!(decode(&mut &neither[..]).unwrap_err(), CodecError::OutOfBounds("which orders are canceled"));
}

#[test]
fn phases_have_one_encoding_and_bounds() {
    let symbol = Symbol::parse(b"S").unwrap();
    for (phase, code) in [(Phase::Open, 0), (Phase::Halted, 1), (Phase::Auction, 2)] {
        let mut bytes = Vec::new();
        encode(&Command::ChangePhase { symbol, phase, due: None }, &mut bytes);
        assert_eq!(bytes, [27, 1, b'S', code]);
        bytes.clear();
        encode(&Command::ChangePhase { symbol, phase, due: Some(Time(300)) }, &mut bytes);
        assert_eq!(bytes, [29, 1, b'S', code, 0xac, 2]);
    }
    assert_eq!(decode(&mut &[27, 1, b'S', 3][..]).unwrap_err(), CodecError::OutOfBounds("phase"));
    assert_eq!(decode(&mut &[28][..]).unwrap(), Command::EndAuction);
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
        &Command::Place(Place::order(account, NewOrder::limit(symbol, side, limit, shares)).named(Some(id))),
        &mut bytes,
    );
    assert_eq!(bytes, [8, 3, b'a', b'-', b'1', 0xc1, 0x03, 1, b'S', 5, 6]);
    bytes.clear();
    let order = NewOrder { kind: OrderKind::FillOrKill, ..NewOrder::limit(symbol, side, limit, shares) };
    encode(&Command::Place(Place::order(account, order).named(Some(id))), &mut bytes);
    assert_eq!(bytes, [10, 15, 3, b'a', b'-', b'1', 0xc1, 0x03, 1, b'S', 5, 6]);
    bytes.clear();
    let order = NewOrder::market(symbol, Side::Buy, shares);
    encode(&Command::Place(Place::order(account, order)), &mut bytes);
    assert_eq!(bytes, [10, 16, 0xc1, 0x03, 1, b'S', 6]);
    // Of the two kinds for an auction, the one without a limit writes none.
    for (kind, expected) in [
        (OrderKind::AuctionLimit, &[10, 25, 0xc1, 0x03, 1, b'S', 5, 6][..]),
        (OrderKind::AuctionMarket, &[10, 29, 0xc1, 0x03, 1, b'S', 6]),
    ] {
        bytes.clear();
        encode(
            &Command::Place(Place::order(account, NewOrder::of_kind(kind, symbol, side, limit, shares))),
            &mut bytes,
        );
        assert_eq!(bytes, expected);
    }
    bytes.clear();
    let good_for_auction = Amendment::of(account, OrderId(9).into()).with_tif(TimeInForce::GoodForAuction);
    encode(&Command::Amend(good_for_auction), &mut bytes);
    assert_eq!(bytes, [59, 0xc1, 0x03, 9, 32, 4]);
    // Only a limit order shows a part of its shares.
    for (kind, is_taken) in [(0x18, true), (0x1c, false)] {
        let limit = if is_taken { &[5][..] } else { &[] };
        let iceberg = [&[30, 2, 10, kind, 0xc1, 0x03, 1, b'S'][..], limit, &[6]].concat();
        assert_eq!(decode(&mut &iceberg[..]).is_ok(), is_taken, "{kind}");
    }
    bytes.clear();
    let order = FundsOrder { symbol, side, funds: Money::from_units(7), self_trade: SelfTrade::Allowed };
    encode(&Command::Place(Place::funds(account, order)), &mut bytes);
    assert_eq!(bytes, [11, 1, 0xc1, 0x03, 1, b'S', 7]);
    assert_eq!(decode(&mut &[11, 1, 0xc1, 0x03, 1, b'S', 0][..]), Err(CodecError::OutOfBounds("funds")));
    assert_eq!(decode(&mut &[11, 4, 0xc1, 0x03, 1, b'S', 7][..]), Err(CodecError::OutOfBounds("kind of an order")));
    // Only an order has the condition that the command before it canceled an order, and only once.
    bytes.clear();
    let order = NewOrder::limit(symbol, side, limit, shares);
    encode(&Command::Place(Place::order(account, order).bound(Bond::IfCanceled)), &mut bytes);
    assert_eq!(bytes, [13, 5, 0xc1, 0x03, 1, b'S', 5, 6]);
    for bytes in [&[13, 6, 0xc1, 0x03, 1][..], &[13, 13, 5, 0xc1, 0x03, 1, b'S', 5, 6], &[13; 1 << 20]] {
        assert_eq!(decode(&mut &bytes[..]), Err(CodecError::OutOfBounds("command on a condition")));
    }
    bytes.clear();
    encode(&Command::ReplaceOrder { account, order: OrderId(9).into() }, &mut bytes);
    assert_eq!(bytes, [56, 0xc1, 0x03, 9]);
    bytes.clear();
    encode(&Command::Place(Place::order(account, order).bound(Bond::Replacing)), &mut bytes);
    assert_eq!(bytes, [58, 5, 0xc1, 0x03, 1, b'S', 5, 6]);
    let twice = decode(&mut &[58, 13, 5, 0xc1, 0x03, 1, b'S', 5, 6][..]);
    assert_eq!(twice, Err(CodecError::OutOfBounds("command that replaces an order")));
    bytes.clear();
    encode(&Command::Place(Place::order(account, order).bound(Bond::Linked)), &mut bytes);
    assert_eq!(bytes, [21, 5, 0xc1, 0x03, 1, b'S', 5, 6]);
    assert_eq!(decode(&mut &[21, 6, 0xc1, 0x03, 1][..]), Err(CodecError::OutOfBounds("linked command")));
    for bytes in [&[21, 13, 5, 0xc1, 0x03, 1, b'S', 5, 6][..], &[13, 21, 5, 0xc1, 0x03, 1, b'S', 5, 6], &[21; 1 << 20]]
    {
        let tag = if bytes[0] == 21 { "linked command" } else { "command on a condition" };
        assert_eq!(decode(&mut &bytes[..]), Err(CodecError::OutOfBounds(tag)));
    }
    // A deadline or a mode of self-trade prevention comes once.
    bytes.clear();
    let decremented = order.with_self_trade(SelfTrade::Decrement);
    let until = Deadline::from_code(300);
    encode(&Command::Place(Place::order(account, decremented).until(until)), &mut bytes);
    assert_eq!(bytes, [19, 4, 0xac, 2, 5, 0xc1, 0x03, 1, b'S', 5, 6]);
    for bytes in [
        &[19, 1, 0, 6, 0xc1, 0x03, 1][..],
        &[19; 1 << 20],
        &[19, 1, 0, 13, 5],
        &[19, 1, 9, 11, 1, 0xc1, 0x03, 1, b'S', 7],
    ] {
        assert!(matches!(decode(&mut &bytes[..]), Err(CodecError::OutOfBounds(_))), "{:?}", &bytes[..4]);
    }
    assert_eq!(decode(&mut &[19, 0, 0, 5][..]), Err(CodecError::OutOfBounds("terms of an order")));
    assert_eq!(decode(&mut &[19, 5, 0, 5][..]), Err(CodecError::OutOfBounds("self-trade prevention")));
    bytes.clear();
    encode(&Command::AmendOrder { account, order: OrderId(9).into(), shares }, &mut bytes);
    assert_eq!(bytes, [17, 0xc1, 0x03, 9, 6]);
    // The terms that it does not name are not there. Zero takes a display or a deadline away.
    bytes.clear();
    let bare = Amendment::of(account, OrderId(9).into());
    encode(&Command::Amend(bare), &mut bytes);
    assert_eq!(bytes, [59, 0xc1, 0x03, 9, 0]);
    bytes.clear();
    let waits = WaitsFor::Trail(Trail::by_bips(7).unwrap());
    let named = bare.with_shares(shares).with_limit(limit).with_wait(waits).with_display(None);
    encode(&Command::Amend(named.with_deadline(until).with_tif(TimeInForce::Rests)), &mut bytes);
    assert_eq!(bytes, [59, 0xc1, 0x03, 9, 63, 6, 5, 3, 0, 7, 0, 0xac, 2, 1]);
    for (terms, fault) in [
        (&[64][..], "terms of an amendment"),
        (&[1, 0], "number of shares"),
        (&[4, 0], "price that an amended order waits for"),
        (&[4, 4], "price that an amended order waits for"),
        (&[32, 0], "time in force of an amendment"),
        (&[32, 5], "time in force of an amendment"),
    ] {
        let bytes = [&[59, 0xc1, 0x03, 9][..], terms].concat();
        assert_eq!(decode(&mut &bytes[..]), Err(CodecError::OutOfBounds(fault)), "{terms:?}");
    }
    // A limit order has a tag of its own, and there is no ninth kind.
    for kind in [0, 8] {
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

#[test]
fn what_others_pay_for_has_one_encoding() {
    let id = |digits: &[u8]| AccountId::parse(digits).unwrap();
    let (payer, account, symbol) = (id(b"9"), id(b"7"), Symbol::parse(b"S").unwrap());
    let fund = Command::FundAccount { payer, account, balance: Money::from_units(5) };
    let give = Command::GiveShares { payer, symbol, account, shares: Position::from_units(5) };
    let create = Command::CreateAccount { account, balance: Money::from_units(5) };
    let issue = Command::IssueShares { symbol, account, shares: Position::from_units(5) };
    for (command, made, tag) in [(fund, create, 46), (give, issue, 47)] {
        let (mut bytes, mut as_made) = (Vec::new(), Vec::new());
        encode(&command, &mut bytes);
        encode(&made, &mut as_made);
        assert_eq!((bytes[0], &bytes[1..3]), (tag, &[0xc1, 4][..]), "the payer stands in front");
        assert_eq!(&bytes[3..], &as_made[1..], "and behind it what it pays for, as if it were made");
        assert_eq!(decode(&mut &bytes[..]), Ok(command));
    }
    let too_much = [&[46, 0xc1, 4, 0xc1, 3][..], &[0xff; 18], &[0x7f]].concat();
    assert!(decode(&mut &too_much[..]).is_err());
}

#[test]
fn a_transfer_has_one_encoding_and_moves_something() {
    let id = |digits: &[u8]| AccountId::parse(digits).unwrap();
    let (payer, account) = (id(b"9"), id(b"7"));
    let assets = Assets::Shares { symbol: Symbol::parse(b"S").unwrap(), shares: Position::from_units(5) };
    let number = TransferNumber::new(3);
    for (command, expected) in [
        (Command::Deposit { account, assets, number }, vec![61, 0xc1, 3, 3, 1, 1, b'S', 5]),
        (Command::DepositFrom { payer, account, assets, number }, vec![62, 0xc1, 4, 0xc1, 3, 3, 1, 1, b'S', 5]),
        (
            Command::Withdraw { account, assets: Assets::Dollars(Money::from_units(5)), number: None },
            vec![63, 0xc1, 3, 0, 0, 5],
        ),
    ] {
        let mut bytes = Vec::new();
        encode(&command, &mut bytes);
        assert_eq!(bytes, expected);
        assert_eq!(decode(&mut &bytes[..]), Ok(command));
        // Nothing, and assets of a kind that there is not.
        let last = bytes.len() - 1;
        bytes[last] = 0;
        assert!(decode(&mut &bytes[..]).is_err());
    }
    assert!(decode(&mut &[63, 0xc1, 3, 0, 2, 5][..]).is_err());
    let too_much = [&[63, 0xc1, 3, 0, 0][..], &[0xff; 18], &[0x7f]].concat();
    assert!(decode(&mut &too_much[..]).is_err());
}
