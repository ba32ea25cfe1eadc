//! Rows of the program as parameters of a statement: an array of a table's row type, or an array of one value of each
//! row. They are written straight into the message, without a copy. This file does not know tables.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;

use bytes::{BufMut, BytesMut};
use terms::{
    AccountId, AccountIndex, CancelReason, ClientOrderId, Deadline, Distance, FeeRate, Grace, Group, Money, OrderId,
    OrderKind, Pause, Phase, Position, Price, SelfTrade, Sequence, Shares, Side, Symbol, SymbolIndex, Tier, Time,
};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

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

/// Writes a value of a row.
type PutOf<R> = fn(&R, &mut BytesMut) -> IsNull;
/// A column's name, and its value in a row of the program.
pub(crate) type ColumnOf<R> = (&'static str, PutOf<R>);

/// The description of a table: its name, and the value of each column in a row of the program.
pub(crate) trait Table: Sized + 'static {
    const NAME: &'static str;
    const COLUMNS: &'static [ColumnOf<Self>];
}

/// Makes a statement that selects all columns of a described table, in the order of the description.
pub(crate) fn select<R: Table>(order_by: &str) -> String {
    let columns: Vec<&str> = R::COLUMNS.iter().map(|(name, _)| *name).collect();
    format!("SELECT {} FROM pricetime.{} ORDER BY {order_by}", columns.join(", "), R::NAME)
}

/// Describes a table by the names of its columns and their values in a row.
macro_rules! table {
    ($table:ident: $type:ty, $row:ident => $($column:ident: $value:expr),+ $(,)?) => {
        impl $crate::column::Table for $type {
            const NAME: &'static str = stringify!($table);
            const COLUMNS: &'static [$crate::column::ColumnOf<Self>] =
                &[$((stringify!($column), |$row, out| $crate::column::Put::put(&$value, out))),+];
        }
    };
}

/// Rows of a table, as an array of its row type. Columns that are not named are null.
pub(crate) struct Rows<'a, R, C> {
    rows: &'a [R],
    keep: fn(&R) -> bool,
    columns: C,
}

impl<'a, R, const N: usize> Rows<'a, R, [ColumnOf<R>; N]> {
    /// Takes the rows for which `keep` is true, with these columns.
    pub(crate) fn new(rows: &'a [R], keep: fn(&R) -> bool, columns: [ColumnOf<R>; N]) -> Self {
        Rows { rows, keep, columns }
    }
}

/// A parameter of a statement.
pub(crate) type Parameter<'a> = Box<dyn ToSql + Sync + 'a>;

/// A parameter of a function, by its name.
pub(crate) struct NamedParameter<'a> {
    pub name: &'static str,
    pub value: Parameter<'a>,
}

/// Makes a parameter of one value.
pub(crate) fn single<'a>(name: &'static str, value: impl Put + Sync + 'a) -> NamedParameter<'a> {
    NamedParameter { name, value: Box::new(Single(value)) }
}

/// Makes a parameter of rows: all columns of a described table, or those that are named; with `if`, only the rows for
/// which it holds.
macro_rules! rows {
    ($name:ident: $rows:expr) => {
        rows!($name: $rows, if |_| true)
    };
    ($name:ident: $rows:expr, if $keep:expr) => {
        $crate::column::described(stringify!($name), $rows, $keep)
    };
    ($name:ident: $rows:expr, $row:ident => $($columns:tt)+) => {
        rows!($name: $rows, if |_| true, $row => $($columns)+)
    };
    ($name:ident: $rows:expr, if $keep:expr, $row:ident => $($column:ident: $value:expr),+) => {
        $crate::column::NamedParameter {
            name: stringify!($name),
            value: Box::new($crate::column::Rows::new($rows, $keep, [
                $((stringify!($column), |$row, out| {
                    // A column may have one value in all rows.
                    let _ = $row;
                    $crate::column::Put::put(&$value, out)
                })),+
            ])),
        }
    };
}

/// Makes a parameter of rows of a described table.
pub(crate) fn described<'a, R: Table + Sync>(
    name: &'static str,
    rows: &'a [R],
    keep: fn(&R) -> bool,
) -> NamedParameter<'a> {
    NamedParameter { name, value: Box::new(Rows { rows, keep, columns: R::COLUMNS }) }
}

/// One value of each of some rows, as an array.
pub(crate) struct Column<'a, R> {
    rows: &'a [R],
    put: PutOf<R>,
}

impl<'a, R> Column<'a, R> {
    pub(crate) fn of(rows: &'a [R], put: PutOf<R>) -> Column<'a, R> {
        Column { rows, put }
    }
}

/// Makes an array of parameters: the named values of some rows, a column each.
macro_rules! columns {
    ($rows:expr, $row:ident => $($value:expr),+) => {
        [$(Box::new($crate::column::Column::of($rows, |$row, out| $crate::column::Put::put(&$value, out)))
            as $crate::column::Parameter<'_>),+]
    };
}

pub(crate) use {columns, rows, table};

type Failure = Box<dyn Error + Sync + Send>;

/// Writes an array of the values that `put` makes of the kept rows.
fn put_array<R>(
    (rows, keep): (&[R], fn(&R) -> bool),
    element: &Type,
    out: &mut BytesMut,
    mut put: impl FnMut(&R, &mut BytesMut) -> Result<IsNull, Failure>,
) -> Result<IsNull, Failure> {
    let count = i32::try_from(rows.iter().filter(|row| keep(row)).count())?;
    // The header of an array: its dimensions, whether there are nulls, the type of its elements; then the length of the
    // one dimension, which counts from 1.
    out.put_i32(i32::from(count > 0));
    out.put_i32(1);
    out.put_u32(element.oid());
    if count > 0 {
        out.put_i32(count);
        out.put_i32(1);
    }
    for row in rows.iter().filter(|row| keep(row)) {
        put_sized(out, |out| put(row, out))?;
    }
    Ok(IsNull::No)
}

/// Writes a value behind its length.
fn put_sized(out: &mut BytesMut, put: impl FnOnce(&mut BytesMut) -> Result<IsNull, Failure>) -> Result<(), Failure> {
    let length_at = out.len();
    out.put_i32(-1);
    if let IsNull::No = put(out)? {
        let length = i32::try_from(out.len() - length_at - size_of::<i32>())?;
        out[length_at..length_at + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

impl<R, C> fmt::Debug for Rows<'_, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows.len())
    }
}

impl<R, C: AsRef<[ColumnOf<R>]>> ToSql for Rows<'_, R, C> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        let Kind::Array(row_type) = ty.kind() else { return Err(format!("rows cannot be sent as {ty}").into()) };
        let Kind::Composite(fields) = row_type.kind() else {
            return Err(format!("rows cannot be sent as {row_type}").into());
        };
        let columns = self.columns.as_ref();
        if let Some((lacking, _)) = columns.iter().find(|(name, _)| fields.iter().all(|field| field.name() != *name)) {
            return Err(format!("the table of {row_type} has no column {lacking}").into());
        }
        let of = |name: &str| columns.iter().find(|(column, _)| *column == name).map(|(_, put)| *put);
        // The columns of the table in its order, with their types, and how each is written, if it is.
        let fields: Vec<(u32, Option<PutOf<R>>)> =
            fields.iter().map(|field| (field.type_().oid(), of(field.name()))).collect();
        put_array((self.rows, self.keep), row_type, out, |row, out| {
            out.put_i32(i32::try_from(fields.len())?);
            for (oid, put) in &fields {
                out.put_u32(*oid);
                put_sized(out, |out| Ok(put.map_or(IsNull::Yes, |put| put(row, out))))?;
            }
            Ok(IsNull::No)
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<R> fmt::Debug for Column<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows.len())
    }
}

impl<R> ToSql for Column<'_, R> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        let Kind::Array(element) = ty.kind() else { return Err(format!("a column cannot be sent as {ty}").into()) };
        put_array((self.rows, |_| true), element, out, |row, out| Ok((self.put)(row, out)))
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

/// Writes a `smallint`.
impl Put for u8 {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        out.put_i16((*self).into());
        IsNull::No
    }
}

impl Put for String {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        self.as_str().put(out)
    }
}

/// Writes an `inet`.
impl Put for IpAddr {
    fn put(&self, out: &mut BytesMut) -> IsNull {
        // The family, the bits of the network, no network alone, and the bytes of the address.
        let mut put = |family, bytes: &[u8]| {
            let length = u8::try_from(bytes.len()).expect("invariant: an address has at most 16 bytes");
            out.put_slice(&[family, length * 8, 0, length]);
            out.put_slice(bytes);
        };
        match self {
            IpAddr::V4(address) => put(2, &address.octets()),
            IpAddr::V6(address) => put(3, &address.octets()),
        }
        IsNull::No
    }
}

/// Writes types like others: by a number, a name or a time of theirs.
macro_rules! put_as {
    ($($type:ty: $value:ident => $as:expr),+ $(,)?) => {
        $(impl Put for $type {
            fn put(&self, out: &mut BytesMut) -> IsNull {
                let $value = *self;
                $as.put(out)
            }
        })+
    };
}

put_as! {
    AccountIndex: account => account.0,
    SymbolIndex: symbol => symbol.0,
    OrderId: order => order.0,
    Sequence: sequence => sequence.0,
    Side: side => if side == Side::Buy { "buy" } else { "sell" },
    OrderKind: kind => kind.name(),
    SelfTrade: mode => mode.name(),
    CancelReason: why => why.code(),
    Deadline: until => until.time(),
    Phase: phase => phase.name(),
    Pause: pause => pause.seconds(),
    Tier: tier => tier.number(),
    Group: group => group.number(),
    Grace: grace => grace.millis(),
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

#[cfg(test)]
mod tests {
    use tokio_postgres::types::Field;

    use super::*;

    /// A table with the columns `id` and `time`, as an array of its rows.
    fn table() -> Type {
        let fields = vec![Field::new("id".to_owned(), Type::INT8), Field::new("time".to_owned(), Type::TIMESTAMPTZ)];
        let row = Type::new("t".to_owned(), 70_000, Kind::Composite(fields), "s".to_owned());
        Type::new("_t".to_owned(), 70_001, Kind::Array(row), "s".to_owned())
    }

    fn sent(rows: &NamedParameter<'_>) -> Result<Vec<u8>, Failure> {
        let mut out = BytesMut::new();
        rows.value.to_sql_checked(&table(), &mut out)?;
        Ok(out.to_vec())
    }

    #[test]
    fn columns_stand_in_the_order_of_the_table_and_those_without_a_value_are_null() {
        let orders = [(OrderId(7), Time(0)), (OrderId(8), Time(0))];
        let both = rows!(orders: &orders, if |row| row.0.0 > 7, row => time: row.1, id: row.0);
        let since_2000 = (-YEAR_2000_US).to_be_bytes();
        let row =
            [&[0, 0, 0, 2, 0, 0, 0, 20, 0, 0, 0, 8][..], &8u64.to_be_bytes(), &[0, 0, 4, 160, 0, 0, 0, 8], &since_2000];
        assert!(sent(&both).expect("rows of the table").ends_with(&row.concat()));
        let ids = rows!(orders: &orders, row => id: row.0);
        assert!(sent(&ids).expect("rows of the table").ends_with(&[0, 0, 4, 160, 255, 255, 255, 255]));
    }

    #[test]
    fn a_column_that_the_table_lacks_is_refused() {
        let orders = [OrderId(7)];
        let error = sent(&rows!(orders: &orders, order => id: *order, color: *order)).expect_err("no such column");
        assert_eq!(error.to_string(), "the table of s.t has no column color");
    }
}
