//! Values of fields as bytes: each type has one encoding. This file does not know which command or state item has which
//! fields (`codec.rs`, `state_codec.rs`). Source: docs/JOURNAL.md, commands.

use std::num::NonZeroU32;

use terms::{
    AccountId, AccountIndex, AccountStatus, Assets, BandReferences, ClientOrderId, Deadline, Distance, Fee, FeeRate,
    Fees, Grace, Group, LogMessage, Money, NodeId, OrderId, OrderKind, Pause, Phase, Position, Price, SelfTrade,
    Sequence, Shares, Symbol, SymbolIndex, Tier, Time, TimeInForce, Trail, TransferNumber, TriggersLeft,
};

use crate::field::{Field, put_if_any};
use crate::records::structs;
use crate::varint::{CodecError, put_u64, put_u128, take_bytes, take_u8, take_u64, take_u128};

/// A value whose encoding is an integer.
pub(crate) trait Number: Copy {
    const NAME: &'static str;

    fn to_number(self) -> u64;

    fn from_number(number: u64) -> Option<Self>;
}

impl<T: Number> Field for T {
    const NAME: &'static str = <T as Number>::NAME;

    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.to_number());
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Result<T, CodecError> {
        T::from_number(take_u64(bytes)?).ok_or(T::fault())
    }
}

/// A number, or zero for none.
impl<T: Number> Field for Option<T> {
    const NAME: &'static str = <T as Number>::NAME;

    fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.map_or(0, T::to_number));
    }

    fn take(bytes: &mut &[u8]) -> Result<Option<T>, CodecError> {
        match take_u64(bytes)? {
            0 => Ok(None),
            number => T::from_number(number).map(Some).ok_or(T::fault()),
        }
    }
}

/// Implements [`Number`]. A line has the type, its name in errors, its number, and the value that a number makes.
macro_rules! numbers {
    ($($type:ty, $name:literal: $value:ident => $to:expr, $from:expr;)*) => {$(
        impl Number for $type {
            const NAME: &'static str = $name;

            #[inline]
            fn to_number(self) -> u64 {
                let $value = self;
                u64::from($to)
            }

            #[inline]
            fn from_number(number: u64) -> Option<$type> {
                number.try_into().ok().and_then($from)
            }
        }
    )*};
}

numbers! {
    u16, "number": number => number, Some;
    u32, "number": number => number, Some;
    u64, "number": number => number, Some;
    NonZeroU32, "number": number => number.get(), NonZeroU32::new;
    OrderId, "order id": order => order.0, |number| Some(OrderId(number));
    Sequence, "sequence": sequence => sequence.0, |number| Some(Sequence(number));
    Time, "time": time => time.0, |micros| Some(Time(micros));
    Deadline, "deadline": deadline => deadline.time().0, Deadline::from_code;
    AccountIndex, "index": account => account.0, |index| Some(AccountIndex(index));
    SymbolIndex, "index": symbol => symbol.0, |index| Some(SymbolIndex(index));
    Price, "price": price => price.units().unsigned_abs(), Price::from_units;
    Shares, "number of shares": shares => above_zero(shares),
        |units| Shares::from_units(units).filter(|shares| !shares.is_zero());
    Fee, "fee": fee => fee.code(), Fee::from_code;
    FeeRate, "rate of a fee": rate => rate.millionths(), FeeRate::from_millionths;
    Distance, "price band": distance => distance.hundredths(), Distance::from_hundredths;
    Pause, "interruption": pause => pause.seconds(), Pause::from_seconds;
    Grace, "grace": grace => grace.millis(), Grace::from_millis;
    Group, "group": group => group.number(), Group::new;
    TransferNumber, "number of a transfer": number => number.get(), TransferNumber::new;
    NodeId, "node": node => node.number(), NodeId::new;
}

fn above_zero(shares: Shares) -> u64 {
    assert!(!shares.is_zero(), "invariant: shares at rest are above zero");
    shares.units().unsigned_abs()
}

/// Implements [`Field`] for types whose encoding is a long integer. The lines are like those of [`numbers`].
macro_rules! long_numbers {
    ($($type:ty, $name:literal: $value:ident => $to:expr, $from:expr;)*) => {$(
        impl Field for $type {
            const NAME: &'static str = $name;

            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                let $value = self;
                put_u128(out, $to);
            }

            #[inline]
            fn take(bytes: &mut &[u8]) -> Result<$type, CodecError> {
                take_u128(bytes)?.try_into().ok().and_then($from).ok_or(Self::fault())
            }
        }
    )*};
}

long_numbers! {
    AccountId, "account id": account => account.packed(), AccountId::from_packed;
    Money, "amount of money": money => not_negative(money.units()), |units| Some(Money::from_units(units));
    Position, "number of shares": position => not_negative(position.units()), |units| Some(Position::from_units(units));
}

fn not_negative(units: i128) -> u128 {
    u128::try_from(units).expect("invariant: an amount at rest is not negative")
}

/// Implements [`Field`] for types whose encoding is a byte. A line has the type, its name in errors, and what converts
/// it to its number and back.
macro_rules! codes {
    ($($type:ty, $name:literal: $to:path, $from:path;)*) => {$(
        impl Field for $type {
            const NAME: &'static str = $name;

            fn put(&self, out: &mut Vec<u8>) {
                out.push($to(*self));
            }

            fn take(bytes: &mut &[u8]) -> Result<$type, CodecError> {
                $from(take_u8(bytes)?).ok_or(Self::fault())
            }
        }
    )*};
}

codes! {
    OrderKind, "kind of an order": OrderKind::code, OrderKind::from_code;
    SelfTrade, "self-trade prevention": SelfTrade::code, SelfTrade::from_code;
    TimeInForce, "time in force of an amendment": TimeInForce::code, TimeInForce::from_code;
    Phase, "phase": Phase::code, Phase::from_code;
    Tier, "tier": Tier::number, Tier::new;
    bool, "flag": u8::from, flag;
}

fn flag(code: u8) -> Option<bool> {
    (code <= 1).then_some(code == 1)
}

/// Implements [`Field`] for texts, whose encoding is a byte with their length and then the text.
macro_rules! texts {
    ($($type:ty, $name:literal;)*) => {$(
        impl Field for $type {
            const NAME: &'static str = $name;

            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                let text = self.as_bytes();
                out.push(text.len() as u8);
                out.extend_from_slice(text);
            }

            #[inline]
            fn take(bytes: &mut &[u8]) -> Result<$type, CodecError> {
                let length = take_u8(bytes)?;
                <$type>::parse(take_bytes(bytes, usize::from(length))?).map_err(|_| Self::fault())
            }
        }
    )*};
}

texts! {
    Symbol, "symbol";
    ClientOrderId, "client order id";
}

structs! {
    AccountStatus, "status of an account": transfers, is_closed;
    LogMessage, "message": position, node, epoch, number;
    TriggersLeft, "price": up_to, down_to;
    BandReferences, "price": dynamic, fixed;
}

/// Both rates, and, if one is above zero, the account that gets the fees.
impl Field for Option<Fees> {
    const NAME: &'static str = "fees";

    fn put(&self, out: &mut Vec<u8>) {
        assert!(self.is_none_or(|fees| fees.is_any()), "invariant: fees of nothing are read as none");
        self.map_or(FeeRate::ZERO, |fees| fees.maker).put(out);
        self.map_or(FeeRate::ZERO, |fees| fees.taker).put(out);
        put_if_any(self.map(|fees| fees.account), out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Option<Fees>, CodecError> {
        let fees = Fees { maker: Field::take(bytes)?, taker: Field::take(bytes)?, account: () };
        if fees.is_any() { Ok(Some(fees.to(Field::take(bytes)?))) } else { Ok(None) }
    }
}

/// The distance of a trailing stop: the units of a price, or zero and hundredths of a per cent.
impl Field for Trail {
    const NAME: &'static str = "distance from the market";

    fn put(&self, out: &mut Vec<u8>) {
        self.distance().put(out);
        put_if_any(self.bips(), out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Trail, CodecError> {
        match Field::take(bytes)? {
            Some(distance) => Ok(Trail::by(distance)),
            None => Trail::by_bips(u16::take(bytes)?).ok_or(Trail::fault()),
        }
    }
}

/// The assets of a transfer: a byte and dollars, or a byte, a symbol and its shares.
pub(crate) struct Sound(pub Assets);

const DOLLARS: u8 = 0;
const SHARES: u8 = 1;

impl Field for Sound {
    const NAME: &'static str = "assets of a transfer";

    fn put(&self, out: &mut Vec<u8>) {
        assert!(self.0.is_sound(), "invariant: parsed assets are more than nothing and at most their cap");
        match self.0 {
            Assets::Dollars(dollars) => {
                out.push(DOLLARS);
                dollars.put(out);
            }
            Assets::Shares { symbol, shares } => {
                out.push(SHARES);
                symbol.put(out);
                shares.put(out);
            }
        }
    }

    fn take(bytes: &mut &[u8]) -> Result<Sound, CodecError> {
        let assets = match take_u8(bytes)? {
            DOLLARS => Assets::Dollars(Field::take(bytes)?),
            SHARES => Assets::Shares { symbol: Field::take(bytes)?, shares: Field::take(bytes)? },
            _ => return Err(Sound::fault()),
        };
        if assets.is_sound() { Ok(Sound(assets)) } else { Err(Sound::fault()) }
    }
}

/// A number of shares that may be zero.
pub(crate) struct MaybeZero(pub Shares);

impl Field for MaybeZero {
    const NAME: &'static str = <Shares as Field>::NAME;

    fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.0.units().unsigned_abs());
    }

    fn take(bytes: &mut &[u8]) -> Result<MaybeZero, CodecError> {
        let units = i64::try_from(take_u64(bytes)?).ok();
        units.and_then(Shares::from_units).map(MaybeZero).ok_or(MaybeZero::fault())
    }
}

/// A value that is written only if it is not the default one.
pub(crate) struct Given<T>(pub T);

impl<T: Field + Default + PartialEq> Field for Given<T> {
    const NAME: &'static str = T::NAME;

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Given<T>, CodecError> {
        let value = T::take(bytes)?;
        if value == T::default() { Err(T::fault()) } else { Ok(Given(value)) }
    }
}

/// Dollars or shares that a client gives to an account: at most their cap.
pub(crate) struct Capped<T>(pub T);

impl Field for Capped<Money> {
    const NAME: &'static str = "balance";

    fn put(&self, out: &mut Vec<u8>) {
        assert!(self.0 <= Money::CAP, "invariant: a parsed balance is at most its cap");
        self.0.put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        Some(Money::take(bytes)?).filter(|money| *money <= Money::CAP).map(Capped).ok_or(Self::fault())
    }
}

impl Field for Capped<Position> {
    const NAME: &'static str = "number of shares issued";

    fn put(&self, out: &mut Vec<u8>) {
        assert!(self.0 <= Position::CAP, "invariant: parsed shares are at most their cap");
        self.0.put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        Some(Position::take(bytes)?).filter(|shares| *shares <= Position::CAP).map(Capped).ok_or(Self::fault())
    }
}
