//! Parses `cancel-all`: a cancel of all orders of the account, or of those in a symbol.

use engine::{AccountId, Command, Op};

use super::documents::{PartKind, Span};
use super::fault::{ChildFault, Refusal};
use super::fields::{Fields, symbol};
use super::request::Grammar;

impl<'a> Grammar<'a, '_> {
    pub(super) fn cancel_all(&mut self, account: Result<AccountId, ChildFault<'a>>) -> Result<(), Refusal<'a>> {
        self.reader.count_mass()?;
        const NAMES: [&str; 1] = ["sym"];
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let op = account.and_then(|account| {
            fields.known("cancel-all")?;
            let [sym] = fields.values;
            Ok(Op::Command(Command::CancelAll { account, symbol: sym.map(symbol).transpose()? }))
        });
        self.part(PartKind::Answered, Span::default(), start, op);
        Ok(())
    }
}
