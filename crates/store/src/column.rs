//! Columns of rows as array parameters, written from lists of rows straight into the message without a copy. This file
//! does not know tables.

use std::error::Error;
use std::fmt;

use bytes::{BufMut, BytesMut};
use engine::{AccountId, ClientOrderId, Distance, FeeRate, Money, Position, Price, Shares, Symbol, Time};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::numeric::{MONEY_GROUPS, SHARE_GROUPS, put_numeric};

/// Units of 10^-8 per cent in a hundredth of a per cent.
pub(crate) const HUNDREDTH: i128 = 1_000_000;

/// Units of 10^-8 per cent in a millionth of the whole.
pub(crate) const MILLIONTH: i128 = 10_000;

/// Microseconds from 1970, the server's epoch, to 2000, PostgreSQL's.
pub(crate) const YEAR_2000_US: i64 = 946_684_800_000_000;

/// A value that can be sent alone or as an element of an array.
pub(crate) trait Put {
    fn put(&self, out: &mut BytesMut) -> IsNull;
}

/// One value of each of some rows, as an array parameter.
pub(crate) struct Column<'a, R> {
    rows: &'a [R],
    keep: fn(&R) -> bool,
    put: fn(&R, &mut BytesMut) -> IsNull,
}

impl<'a, R> Column<'a, R> {
    /// Makes a column of all rows.
    pub(crate) fn of(rows: &'a [R], put: fn(&R, &mut BytesMut) -> IsNull) -> Column<'a, R> {
        Column { rows, keep: |_| true, put }
    }

    /// Makes a column of the rows for which `keep` is true.
    pub(crate) fn of_some(rows: &'a [R], keep: fn(&R) -> bool, put: fn(&R, &mut BytesMut) -> IsNull) -> Column<'a, R> {
        Column { rows, keep, put }
    }
}

/// A parameter of a statement.
pub(crate) type Parameter<'a> = Box<dyn ToSql + Sync + 'a>;

/// Makes an array of parameters: the named values of some rows, a column each; with `if`, only of rows for which it
/// holds.
macro_rules! columns {
    ($rows:expr, $row:ident => $($value:expr),+) => {
        [$(Box::new($crate::column::Column::of($rows, |$row, out| $crate::column::Put::put(&$value, out)))
            as $crate::column::Parameter<'_>),+]
    };
    ($rows:expr, if $keep:expr, $row:ident => $($value:expr),+) => {
        [$(Box::new($crate::column::Column::of_some($rows, $keep, |$row, out| $crate::column::Put::put(&$value, out)))
            as $crate::column::Parameter<'_>),+]
    };
}

pub(crate) use columns;

impl<R> fmt::Debug for Column<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows.len())
    }
}

impl<R> ToSql for Column<'_, R> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let element = match *ty {
            Type::INT8_ARRAY => Type::INT8,
            Type::BOOL_ARRAY => Type::BOOL,
            Type::TIMESTAMPTZ_ARRAY => Type::TIMESTAMPTZ,
            Type::NUMERIC_ARRAY => Type::NUMERIC,
            Type::TEXT_ARRAY => Type::TEXT,
            _ => return Err(format!("a column cannot be sent as {ty}").into()),
        };
        // The header of an array: one dimension that counts from 1, with or without nulls, and the type of its
        // elements.
        out.put_i32(1);
        out.put_i32(1);
        out.put_u32(element.oid());
        out.put_i32(i32::try_from(self.rows.iter().filter(|row| (self.keep)(row)).count())?);
        out.put_i32(1);
        for row in self.rows.iter().filter(|row| (self.keep)(row)) {
            let length_at = out.len();
            out.put_i32(-1);
            if let IsNull::No = (self.put)(row, out) {
                let length = i32::try_from(out.len() - length_at - size_of::<i32>())?;
                out[length_at..length_at + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One value, as a parameter.
pub(crate) struct Single<T>(pub T);

impl<T> fmt::Debug for Single<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
}

impl<T: Put> ToSql for Single<T> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(self.0.put(out))
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl Put for &str {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        out.put_slice(self.as_bytes());
        IsNull::No
    }
}

impl Put for u64 {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        out.put_i64(i64::try_from(*self).expect("invariant: what is counted stays below 2^63"));
        IsNull::No
    }
}

impl Put for u32 {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        u64::from(*self).put(out)
    }
}

impl Put for bool {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        out.put_u8((*self).into());
        IsNull::No
    }
}

impl Put for Time {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        let since_1970 = i64::try_from(self.0).expect("invariant: times are below 2^63 microseconds");
        out.put_i64(since_1970 - YEAR_2000_US);
        IsNull::No
    }
}

impl Put for Price {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        put_numeric(self.units().into(), SHARE_GROUPS, out);
        IsNull::No
    }
}

impl Put for Shares {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        put_numeric(self.units().into(), SHARE_GROUPS, out);
        IsNull::No
    }
}

impl Put for Position {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        put_numeric(self.units(), SHARE_GROUPS, out);
        IsNull::No
    }
}

impl Put for Money {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        put_numeric(self.units(), MONEY_GROUPS, out);
        IsNull::No
    }
}

/// Writes per cent.
impl Put for Distance {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        put_numeric(i128::from(self.hundredths()) * HUNDREDTH, SHARE_GROUPS, out);
        IsNull::No
    }
}

/// Writes per cent.
impl Put for FeeRate {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        put_numeric(i128::from(self.millionths()) * MILLIONTH, SHARE_GROUPS, out);
        IsNull::No
    }
}

impl Put for AccountId {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        out.put_slice(self.to_string().as_bytes());
        IsNull::No
    }
}

impl Put for Symbol {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        out.put_slice(self.as_bytes());
        IsNull::No
    }
}

impl Put for ClientOrderId {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        out.put_slice(self.as_bytes());
        IsNull::No
    }
}

impl<T: Put> Put for Option<T> {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        self.as_ref().map_or(IsNull::Yes, |value| value.put(out))
    }
}
