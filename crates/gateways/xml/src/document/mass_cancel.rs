//! Parses `cancel-all`: a cancel of all orders of the account, of those in a symbol, or of those up to one.

use terms::{AccountId, Command, Op, OrderId};

use super::documents::{PartKind, Span};
use super::fault::{ChildFault, Refusal};
use super::fields::{Fields, symbol};
use super::reader::Value;
use super::request::Grammar;

impl<'a> Grammar<'a, '_> {
    pub(super) fn cancel_all(&mut self, account: Result<AccountId, ChildFault<'a>>) -> Result<(), Refusal<'a>> {
        self.reader.count_mass()?;
        const NAMES: [&str; 2] = ["sym", "through"];
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let op = account.and_then(|account| {
            fields.known("cancel-all")?;
            let [sym, through] = fields.values;
            let (symbol, through) = (sym.map(symbol).transpose()?, through.map(newest).transpose()?);
            Ok(Op::Command(Command::CancelAll { account, symbol, through }))
        });
        self.part(PartKind::Answered, Span::default(), start, op);
        Ok(())
    }
}

/// The newest order that is meant.
fn newest(value: Value<'_>) -> Result<OrderId, ChildFault<'static>> {
    OrderId::parse(&value.trimmed()).ok_or(ChildFault::Order("through is no order id: a whole number above zero"))
}
