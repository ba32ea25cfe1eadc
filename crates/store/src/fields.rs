//! Fields of a row as the engine's types. This file does not know tables.

use std::error::Error;
use std::num::NonZeroU32;

use terms::{
    AuctionTies, CancelReason, Deadline, Distance, FeeRate, Grace, Group, Money, OrderKind, Pause, Phase, Position,
    Price, SelfTrade, Shares, Tier, Time, Trigger, Turnover,
};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use crate::column::{HUNDREDTH, MILLIONTH, YEAR_2000_US};
use crate::error::StoreError;
use crate::numeric::{MONEY_GROUPS, SHARE_GROUPS, take_numeric};

/// Takes the fields of a row, in order.
pub(crate) struct Fields<'a> {
    row: &'a Row,
    next: usize,
}

/// A type that can be read from the bytes of a field.
pub(crate) trait Take<'a>: Sized {
    /// Reads the value; none if the bytes are no such value.
    fn take(raw: &'a [u8]) -> Option<Self>;
}

/// The bytes of a field as they came.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Box<dyn Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn of(row: &'a Row) -> Fields<'a> {
        Fields { row, next: 0 }
    }

    /// Skips fields.
    pub(crate) fn skip(&mut self, fields: usize) {
        self.next += fields;
    }

    /// Takes the next field, which may be null. Errors: `Unreadable`.
    pub(crate) fn maybe<T: Take<'a>>(&mut self) -> Result<Option<T>, StoreError> {
        let unreadable = || {
            let column = self.row.columns().get(self.next).map_or("?", |column| column.name());
            StoreError::Unreadable { column: column.to_owned() }
        };
        let raw: Option<Raw<'a>> = self.row.try_get(self.next).map_err(|_| unreadable())?;
        let value = raw.map(|raw| T::take(raw.0).ok_or_else(unreadable)).transpose()?;
        self.next += 1;
        Ok(value)
    }

    /// Takes the next field. Errors: `Unreadable`, also for null.
    pub(crate) fn next<T: Take<'a>>(&mut self) -> Result<T, StoreError> {
        let column = self.row.columns().get(self.next).map_or("?", |column| column.name());
        self.maybe()?.ok_or_else(|| StoreError::Unreadable { column: column.to_owned() })
    }

    /// Takes the next two fields, the trigger of an order. Errors: `Unreadable`.
    pub(crate) fn trigger(&mut self) -> Result<Option<Trigger>, StoreError> {
        Ok(match (self.maybe::<Price>()?, self.maybe()?) {
            (Some(price), Some(true)) => Some(Trigger::from_below(price)),
            (Some(price), Some(false)) => Some(Trigger::from_above(price)),
            _ => None,
        })
    }
}

impl Take<'_> for u64 {
    fn take(raw: &[u8]) -> Option<u64> {
        u64::try_from(i64::from_be_bytes(raw.try_into().ok()?)).ok()
    }
}

impl Take<'_> for u32 {
    fn take(raw: &[u8]) -> Option<u32> {
        u32::try_from(u64::take(raw)?).ok()
    }
}

/// Reads a `smallint`.
impl Take<'_> for u8 {
    fn take(raw: &[u8]) -> Option<u8> {
        u8::try_from(i16::from_be_bytes(raw.try_into().ok()?)).ok()
    }
}

/// Reads types by a number, a name or a time of theirs.
macro_rules! take_as {
    ($($type:ty: $as:ty => $made:expr),+ $(,)?) => {
        $(impl Take<'_> for $type {
            fn take(raw: &[u8]) -> Option<$type> {
                $made(<$as>::take(raw)?)
            }
        })+
    };
}

take_as! {
    OrderKind: &str => OrderKind::named,
    SelfTrade: &str => SelfTrade::named,
    Phase: &str => Phase::named,
    AuctionTies: &str => AuctionTies::named,
    CancelReason: u8 => CancelReason::from_code,
    Tier: u8 => Tier::new,
    Deadline: Time => Deadline::new,
    Pause: u32 => Pause::from_seconds,
    Group: u32 => Group::new,
    Grace: u32 => Grace::from_millis,
    NonZeroU32: u32 => NonZeroU32::new,
}

impl Take<'_> for bool {
    fn take(raw: &[u8]) -> Option<bool> {
        raw.first().map(|&byte| byte != 0)
    }
}

impl Take<'_> for Time {
    fn take(raw: &[u8]) -> Option<Time> {
        let since_2000 = i64::from_be_bytes(raw.try_into().ok()?);
        u64::try_from(since_2000.checked_add(YEAR_2000_US)?).ok().map(Time)
    }
}

impl Take<'_> for Price {
    fn take(raw: &[u8]) -> Option<Price> {
        Price::from_units(i64::try_from(take_numeric(raw, SHARE_GROUPS)?).ok()?)
    }
}

impl Take<'_> for Shares {
    fn take(raw: &[u8]) -> Option<Shares> {
        Shares::from_units(i64::try_from(take_numeric(raw, SHARE_GROUPS)?).ok()?)
    }
}

impl Take<'_> for Position {
    fn take(raw: &[u8]) -> Option<Position> {
        take_numeric(raw, SHARE_GROUPS).map(Position::from_units)
    }
}

impl Take<'_> for Money {
    fn take(raw: &[u8]) -> Option<Money> {
        take_numeric(raw, MONEY_GROUPS).map(Money::from_units)
    }
}

impl Take<'_> for Turnover {
    fn take(raw: &[u8]) -> Option<Turnover> {
        take_numeric(raw, MONEY_GROUPS).and_then(Turnover::from_units)
    }
}

/// Reads per cent.
impl Take<'_> for Distance {
    fn take(raw: &[u8]) -> Option<Distance> {
        let units = take_numeric(raw, SHARE_GROUPS)?;
        let hundredths = u32::try_from(units / HUNDREDTH).ok().filter(|_| units % HUNDREDTH == 0);
        Distance::from_hundredths(hundredths?)
    }
}

/// Reads per cent.
impl Take<'_> for FeeRate {
    fn take(raw: &[u8]) -> Option<FeeRate> {
        let units = take_numeric(raw, SHARE_GROUPS)?;
        let millionths = u32::try_from(units / MILLIONTH).ok().filter(|_| units % MILLIONTH == 0);
        FeeRate::from_millionths(millionths?)
    }
}

impl<'a> Take<'a> for &'a str {
    fn take(raw: &'a [u8]) -> Option<&'a str> {
        std::str::from_utf8(raw).ok()
    }
}
