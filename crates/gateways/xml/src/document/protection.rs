//! Parses cancel on disconnect: `protect` and `unprotect` of the account, and the replies to a login that asks for it.
//! Source: docs/rules/CANCEL_ON_DISCONNECT.md.

use terms::{AccountId, Command, Grace, Op};

use super::documents::{Documents, Part, PartKind, Span};
use super::fault::ChildFault;
use super::fields::{Fields, given};
use super::reader::Value;
use super::request::Grammar;

/// Reads a grace.
pub(super) fn grace(value: Value<'_>) -> Result<Grace, terms::GraceError> {
    Grace::parse(&value.trimmed())
}

impl<'a> Grammar<'a, '_> {
    pub(super) fn protect(&mut self, account: Result<AccountId, ChildFault<'a>>) {
        const NAMES: [&str; 1] = ["grace"];
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let op = account.and_then(|account| {
            fields.known("protect")?;
            let value = given(fields.values[0], "protect", "grace")?;
            let grace = grace(value).map_err(|error| ChildFault::Grace { field: "grace", error })?;
            Ok(Op::Command(Command::Protect { account, grace }))
        });
        self.documents.protects |= op.is_ok();
        self.part(PartKind::Protect, Span::default(), start, op);
    }

    pub(super) fn unprotect(&mut self, account: Result<AccountId, ChildFault<'a>>) {
        let fields = Fields::of(&self.reader, &[]);
        let start = self.documents.text.len();
        let op = account.and_then(|account| {
            fields.known("unprotect")?;
            Ok(Op::Command(Command::Unprotect { account, is_lost: false, through: None }))
        });
        self.documents.protects |= op.is_ok();
        self.part(PartKind::Unprotect, Span::default(), start, op);
    }
}

impl Documents {
    /// Returns whether the last document protects or unprotects accounts, and forgets it.
    pub fn take_protects(&mut self) -> bool {
        std::mem::take(&mut self.protects)
    }

    /// Appends a document that says which member logged in, and protects these accounts: each has an answer of its own.
    pub fn say_and_protect(&mut self, element: &str, attribute: (&str, &str), accounts: &[AccountId], grace: Grace) {
        self.say_part(element, Some(attribute), "");
        for &account in accounts {
            let start = self.text.len();
            self.text.extend_from_slice(format!(" account=\"{account}\" grace=\"{grace}\"").as_bytes());
            let own = Span { start, end: self.text.len() };
            self.requests.push_op(Op::Command(Command::Protect { account, grace }));
            self.parts.push(Part { kind: PartKind::Protect, symbol: Span::default(), own });
        }
        self.protects = true;
        self.end_document();
    }

    /// Appends a document that says which member logged in, and why none of its accounts is protected.
    pub fn say_and_refuse(&mut self, element: &str, attribute: (&str, &str), why: &str) {
        self.say_part(element, Some(attribute), "");
        self.say_part("error", None, why);
        self.end_document();
    }
}
