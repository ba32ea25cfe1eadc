//! Parses the kill switch from attributes: for an account, a symbol, a member or, with none of them, for everything.
//! Source: docs/rules/KILL_SWITCH.md.

use exchange::NotKilled;
use terms::{Command, KillScope, Op};

use super::documents::{Part, PartKind, Span};
use super::fault::{ChildFault, Refusal};
use super::fields::{Fields, account_id, symbol};
use super::reader::{Tag, Value};
use super::request::Grammar;

const NAMES: [&str; 3] = ["account", "sym", "member"];
const TOO_MANY: &str = "the members of one request have more accounts than it kills or releases; at most 100, so name the accounts in several requests, or use the HTTP API";

impl<'a> Grammar<'a, '_> {
    pub(super) fn kill(&mut self, tag: &Tag<'a>, is_killed: bool) -> Result<(), Refusal<'a>> {
        self.reader.count_mass()?;
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let known = fields.known(if is_killed { "kill" } else { "release" });
        let ops = known.and_then(|()| match fields.values {
            [None, None, Some(member)] => self.of_member(member, is_killed),
            [_, _, Some(_)] => Err(ChildFault::Order("give one of account, sym and member")),
            [account, sym, None] => {
                let scope = scope(account, sym)?;
                Ok(vec![Op::Command(if is_killed { Command::Kill { scope } } else { Command::Release { scope } })])
            }
        });
        match ops {
            Ok(ops) if fields.values[2].is_some() => {
                let own = Span { start, end: self.documents.text.len() };
                let last = ops.len().saturating_sub(1);
                ops.iter().for_each(|op| self.documents.requests.push_op(*op));
                for place in 0..ops.len() {
                    let kind = if place == last { PartKind::LastOfMember } else { PartKind::OfMember };
                    self.documents.parts.push(Part { kind, symbol: Span::default(), own });
                }
            }
            Ok(ops) => {
                for op in ops {
                    self.part(PartKind::Change, Span::default(), start, Ok(op));
                }
            }
            Err(fault) => self.part(PartKind::Change, Span::default(), start, Err(fault)),
        }
        self.expect_empty(tag)
    }

    fn of_member(&mut self, member: Value<'a>, is_killed: bool) -> Result<Vec<Op>, ChildFault<'a>> {
        let name = member.trimmed();
        // An invalid name belongs to no member.
        let name = std::str::from_utf8(&name).unwrap_or_default();
        (self.of_member)(name, is_killed, &mut self.kill_room).map_err(|why| match why {
            NotKilled::TooManyAccounts => ChildFault::Order(TOO_MANY),
            NotKilled::Unknown | NotKilled::NoAccounts => ChildFault::Member(why),
        })
    }
}

fn scope<'a>(account: Option<Value<'a>>, sym: Option<Value<'a>>) -> Result<KillScope, ChildFault<'a>> {
    match (account, sym) {
        (None, None) => Ok(KillScope::Everything),
        (Some(account), None) => Ok(KillScope::Account(account_id(account)?)),
        (None, Some(sym)) => Ok(KillScope::Symbol(symbol(sym)?)),
        (Some(_), Some(_)) => Err(ChildFault::TwoScopes),
    }
}
