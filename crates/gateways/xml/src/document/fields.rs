//! The attributes of a tag, and their values.

use terms::{AccountId, AmountError, ClientOrderId, Decimal, Symbol};

use super::chars;
use super::fault::ChildFault;
use super::reader::{Reader, Value};

/// The attributes of one tag that its element knows, and the first unknown one.
pub(super) struct Fields<'a, const N: usize> {
    pub(super) values: [Option<Value<'a>>; N],
    pub(super) unknown: Option<&'a [u8]>,
}

impl<'a, const N: usize> Fields<'a, N> {
    pub(super) fn of(reader: &Reader<'a>, names: &[&'static str; N]) -> Fields<'a, N> {
        let mut fields = Fields { values: [None; N], unknown: None };
        for (at, (name, value)) in reader.attributes().enumerate() {
            let is_it = |known: &&str| chars::same(known.as_bytes(), name);
            // Most are written in the grammar's order.
            let in_order = names.get(at).is_some_and(is_it).then_some(at);
            match in_order.or_else(|| names.iter().position(is_it)) {
                Some(index) => fields.values[index] = Some(value),
                None => fields.unknown = fields.unknown.or(Some(name)),
            }
        }
        fields
    }

    /// Checks that all attributes are known. Errors: one is not.
    pub(super) fn known(&self, element: &'static str) -> Result<(), ChildFault<'a>> {
        match self.unknown {
            Some(name) => Err(ChildFault::UnknownAttribute { element, name }),
            None => Ok(()),
        }
    }

    /// Returns all values. Errors: one is missing, or an attribute is unknown.
    pub(super) fn all(
        &self,
        element: &'static str,
        names: &[&'static str; N],
    ) -> Result<[Value<'a>; N], ChildFault<'a>> {
        self.known(element)?;
        match self.values.iter().zip(names).find(|(value, _)| value.is_none()) {
            Some((_, name)) => Err(ChildFault::MissingAttribute { element, name }),
            None => Ok(self.values.map(Option::unwrap_or_default)),
        }
    }
}

pub(super) fn given<'a>(
    value: Option<Value<'a>>,
    element: &'static str,
    name: &'static str,
) -> Result<Value<'a>, ChildFault<'a>> {
    value.ok_or(ChildFault::MissingAttribute { element, name })
}

pub(super) fn account_id(value: Value<'_>) -> Result<AccountId, ChildFault<'static>> {
    AccountId::parse(&value.trimmed()).map_err(|error| ChildFault::Id { field: "account id", error })
}

pub(super) fn client_order_id(field: &'static str, value: Value<'_>) -> Result<ClientOrderId, ChildFault<'static>> {
    ClientOrderId::parse(&value.trimmed()).map_err(|error| ChildFault::Id { field, error })
}

pub(super) fn symbol(value: Value<'_>) -> Result<Symbol, ChildFault<'static>> {
    Symbol::parse(&value.trimmed()).map_err(|error| ChildFault::Id { field: "sym", error })
}

/// Reads `text` as a decimal, and turns that into a value by `form`.
pub(super) fn decimal<T>(
    field: &'static str,
    text: &[u8],
    form: impl FnOnce(Decimal) -> Result<T, AmountError>,
) -> Result<T, ChildFault<'static>> {
    Decimal::parse(text).and_then(form).map_err(|error| ChildFault::Amount { field, error })
}
