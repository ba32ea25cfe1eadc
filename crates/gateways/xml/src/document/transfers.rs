//! Parses deposits, withdrawals and closings of accounts from attributes. Source: docs/rules/DEPOSITS.md.

use terms::{AccountId, AmountError, Assets, Command, Decimal, Op, TransferNumber};

use super::documents::{PartKind, Span};
use super::fault::{ChildFault, Refusal};
use super::fields::{Fields, account_id, decimal, given, symbol};
use super::reader::Tag;
use super::request::Grammar;

const NAMES: [&str; 5] = ["id", "dollars", "sym", "shares", "transfer"];

impl<'a> Grammar<'a, '_> {
    pub(super) fn deposit(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        self.transfer(tag, "deposit", PartKind::Deposit, |account, assets, number| Command::Deposit {
            account,
            assets,
            number,
        })
    }

    pub(super) fn withdraw(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        self.transfer(tag, "withdraw", PartKind::Withdraw, |account, assets, number| Command::Withdraw {
            account,
            assets,
            number,
        })
    }

    pub(super) fn close(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        let fields = Fields::of(&self.reader, &["id"]);
        let start = self.documents.text.len();
        self.echo_all(&["id"], &fields.values);
        let command = account_of("close", &fields).map(|account| Op::Command(Command::CloseAccount { account }));
        self.part(PartKind::Close, Span::default(), start, command);
        self.expect_empty(tag)
    }

    fn transfer(
        &mut self,
        tag: &Tag<'a>,
        element: &'static str,
        kind: PartKind,
        command: fn(AccountId, Assets, Option<TransferNumber>) -> Command,
    ) -> Result<(), Refusal<'a>> {
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let command = account_of(element, &fields).and_then(|account| {
            let number = fields.values[4].map(|number| TransferNumber::parse(&number.trimmed())).transpose();
            Ok(command(account, assets(element, &fields)?, number.map_err(ChildFault::Transfer)?))
        });
        self.part(kind, Span::default(), start, command.map(Op::Command));
        self.expect_empty(tag)
    }
}

fn account_of<'a, const N: usize>(element: &'static str, fields: &Fields<'a, N>) -> Result<AccountId, ChildFault<'a>> {
    fields.known(element)?;
    account_id(given(fields.values[0], element, "id")?)
}

/// Reads the dollars, or the symbol and the shares: more than nothing.
fn assets<'a>(element: &'static str, fields: &Fields<'a, 5>) -> Result<Assets, ChildFault<'a>> {
    let [_, dollars, sym, shares, _] = fields.values;
    let (assets, field) = match (dollars, sym, shares) {
        (Some(dollars), None, None) => {
            (Assets::Dollars(decimal("dollars", &dollars.trimmed(), Decimal::money)?), "dollars")
        }
        (None, None, None) | (Some(_), ..) => return Err(ChildFault::NoAssets),
        (None, sym, shares) => {
            let symbol = symbol(given(sym, element, "sym")?)?;
            let shares = given(shares, element, "shares")?;
            (Assets::Shares { symbol, shares: decimal("shares", &shares.trimmed(), Decimal::position)? }, "shares")
        }
    };
    if assets.is_sound() { Ok(assets) } else { Err(ChildFault::Amount { field, error: AmountError::Zero }) }
}
