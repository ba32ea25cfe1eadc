//! The grammar of requests: elements and attributes become ops, and parts of the reply. It knows nothing of how the
//! engine answers. Source: docs/PROTOCOL.md, create and transactions.

use std::borrow::Cow;

use exchange::{KILLED_AT_ONCE_MAX, KillRoom, NotKilled, replacement};
use terms::{AccountId, Command, Decimal, Op, OrderId, OrderName, Query, Symbol};

use super::amend::{AMEND_NAMES, amendment};
use super::chars;
use super::documents::{Documents, Limits, Part, PartKind, Span};
use super::escape::{push_display, push_escaped};
use super::fault::{ChildFault, FaultCause, Refusal};
use super::fees::{FEES_NAMES, TIER_NAMES, fees_command, tier_command};
use super::fields::{Fields, account_id, decimal, symbol};
use super::groups::{GROUP_NAMES, group_command};
use super::limits::{LIMITS_FIELDS, limits_command, limits_names};
use super::login_kind::LoginRequest;
use super::order_fields::{
    ORDER_FIELDS, PLAIN_NAMES, on_failure_of, order_name, order_names, order_place, plain_order,
};
use super::reader::{Reader, Tag, Token, Value};
use super::rules::{PHASE_NAMES, RULES_FIELDS, phase_command, rules_command, rules_names};

/// Bytes of an echoed `sym` up to which it is repeated for any number of accounts; every legal one is shorter.
const SYMBOL_ECHO_FREE_BYTES: usize = 64;
/// Bytes by which longer echoes in one request may exceed that in total, so that a reply does not dwarf its request.
const SYMBOL_ECHO_EXCESS_BYTES_MAX: usize = 1 << 20;

impl Documents {
    /// Appends exactly one document, whatever the bytes are: a refused document becomes a request without ops whose
    /// reply says why and at which byte.
    pub fn parse(&mut self, body: &[u8], limits: &Limits) {
        if self.parse_unless_login(body, limits, &|_, _, _| Err(NotKilled::Unknown)).is_some() {
            self.say("error", None, NO_MEMBERS);
        }
    }

    /// Parses like [`parse`](Documents::parse), but appends nothing for a login and returns it. `of_member` returns the
    /// ops that kill a member.
    pub fn parse_unless_login(
        &mut self,
        body: &[u8],
        limits: &Limits,
        of_member: &OfMember<'_>,
    ) -> Option<LoginRequest> {
        let mark = self.mark();
        let attributes = std::mem::take(&mut self.attributes);
        let reader = Reader::new(body, limits.children_max, attributes);
        // Only there may a few bytes of a request ask for many ops.
        let kill_room = KillRoom::new(KILLED_AT_ONCE_MAX);
        let mut grammar = Grammar { reader, documents: self, symbol_echo_excess: 0, of_member, kill_room };
        let read = grammar.document();
        let attributes = grammar.reader.into_attributes();
        self.keep_attributes(attributes);
        match read {
            Ok(None) => self.end_document(),
            Ok(login) => return login,
            Err(refusal) => {
                self.roll_back(mark);
                self.refuse_with(|text| push_display(text, &refusal));
            }
        }
        None
    }
}

/// The answer to a login where there are no members.
const NO_MEMBERS: &str = "login refused: this server has no access file, so nobody has to log in";

/// The depth of elements in `transactions`, except for linked orders.
pub(super) const DEPTH: usize = 2;

/// Returns the ops that kill or release a member, one for each of its accounts, if the asker may and the request has
/// room for them.
type OfMember<'m> = dyn Fn(&str, bool, &mut KillRoom) -> Result<Vec<Op>, NotKilled> + 'm;

pub(super) struct Grammar<'a, 'r> {
    pub(super) reader: Reader<'a>,
    pub(super) documents: &'r mut Documents,
    /// Bytes by which the echoes of `sym` were longer than legal ones so far.
    symbol_echo_excess: usize,
    pub(super) of_member: &'r OfMember<'r>,
    /// Room for members' accounts.
    pub(super) kill_room: KillRoom,
}

impl<'a> Grammar<'a, '_> {
    fn document(&mut self) -> Result<Option<LoginRequest>, Refusal<'a>> {
        let root = self.reader.root()?;
        let mut login = None;
        match root.name {
            b"transactions" => self.transactions(&root)?,
            b"create" => self.create(&root)?,
            b"login" => login = Some(self.login(&root)?),
            name => return Err(Refusal { why: FaultCause::UnknownRoot(name), at: root.at }),
        }
        self.reader.finish()?;
        Ok(login)
    }

    fn create(&mut self, root: &Tag<'a>) -> Result<(), Refusal<'a>> {
        if let Some((name, _)) = self.reader.attributes().next() {
            return Err(Refusal { why: FaultCause::RootAttribute { root: "create", name }, at: root.at });
        }
        if root.empty {
            return Ok(());
        }
        while let Some(tag) = self.next_child()? {
            match tag.name {
                b"account" => self.create_account(&tag)?,
                b"symbol" => self.create_symbol(&tag)?,
                b"rules" => self.change_rules(&tag)?,
                b"fees" => self.change(&tag, &FEES_NAMES, fees_command)?,
                b"tier" => self.change(&tag, &TIER_NAMES, tier_command)?,
                b"group" => self.change(&tag, &GROUP_NAMES, group_command)?,
                b"phase" => self.change(&tag, &PHASE_NAMES, phase_command)?,
                b"kill" => self.kill(&tag, true)?,
                b"release" => self.kill(&tag, false)?,
                b"limits" => self.change_limits(&tag)?,
                b"deposit" => self.deposit(&tag)?,
                b"withdraw" => self.withdraw(&tag)?,
                b"close" => self.close(&tag)?,
                _ => self.unknown_element(&tag, Span::default())?,
            }
        }
        Ok(())
    }

    fn create_account(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        const NAMES: [&str; 2] = ["id", "balance"];
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo("id", fields.values[0]);
        let command = fields.all("account", &NAMES).and_then(|[id, balance]| {
            Ok(Command::CreateAccount {
                account: account_id(id)?,
                balance: decimal("balance", &balance.trimmed(), Decimal::money)?,
            })
        });
        self.part(PartKind::Answered, Span::default(), start, command.map(Op::Command));
        self.expect_empty(tag)
    }

    fn change_rules(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        const NAMES: [&str; RULES_FIELDS] = rules_names();
        self.change(tag, &NAMES, rules_command)
    }

    fn change_limits(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        const NAMES: [&str; LIMITS_FIELDS] = limits_names();
        self.change(tag, &NAMES, limits_command)
    }

    /// Reads an element without content that changes something, from its attributes.
    fn change<const N: usize>(
        &mut self,
        tag: &Tag<'a>,
        names: &'static [&'static str; N],
        command: impl FnOnce(&Fields<'a, N>) -> Result<Command, ChildFault<'a>>,
    ) -> Result<(), Refusal<'a>> {
        let fields = Fields::of(&self.reader, names);
        let start = self.documents.text.len();
        self.echo_all(names, &fields.values);
        self.part(PartKind::Change, Span::default(), start, command(&fields).map(Op::Command));
        self.expect_empty(tag)
    }

    fn create_symbol(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        const NAMES: [&str; 1] = ["sym"];
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo("sym", fields.values[0]);
        let echo = Span { start, end: self.documents.text.len() };
        let symbol = fields.all("symbol", &NAMES).and_then(|[sym]| symbol(sym));
        let part = self.documents.parts.len();
        if let Ok(symbol) = symbol {
            let op = Op::Command(Command::CreateSymbol { symbol });
            self.part(PartKind::Symbol, echo, self.documents.text.len(), Ok(op));
        }
        let mut accounts = 0;
        while !tag.empty
            && let Some(child) = self.next_child()?
        {
            self.symbol_echo_excess += (echo.end - echo.start).saturating_sub(SYMBOL_ECHO_FREE_BYTES);
            if self.symbol_echo_excess > SYMBOL_ECHO_EXCESS_BYTES_MAX {
                return Err(Refusal { why: FaultCause::SymbolTooLong, at: tag.at });
            }
            if child.name == b"account" {
                self.issue_shares(&child, echo, symbol)?;
                accounts += 1;
            } else {
                self.unknown_element(&child, echo)?;
            }
        }
        match symbol {
            Ok(_) if accounts > 0 => self.documents.parts[part].kind = PartKind::SymbolWithAccounts,
            Err(fault) if accounts == 0 => self.part(PartKind::Symbol, echo, self.documents.text.len(), Err(fault)),
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }

    fn issue_shares(
        &mut self,
        tag: &Tag<'a>,
        symbol_echo: Span,
        symbol: Result<Symbol, ChildFault<'a>>,
    ) -> Result<(), Refusal<'a>> {
        const NAMES: [&str; 1] = ["id"];
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo("id", fields.values[0]);
        let text = self.text_of_element(tag)?;
        let command = symbol.and_then(|symbol| {
            let [id] = fields.all("account", &NAMES)?;
            let account = account_id(id)?;
            let shares = chars::trim(&text);
            if shares.is_empty() {
                return Err(ChildFault::NoShares);
            }
            Ok(Command::IssueShares { symbol, account, shares: decimal("shares", shares, Decimal::position)? })
        });
        self.part(PartKind::Issued, symbol_echo, start, command.map(Op::Command));
        Ok(())
    }

    fn transactions(&mut self, root: &Tag<'a>) -> Result<(), Refusal<'a>> {
        // Published clients write either name.
        const NAMES: [&str; 2] = ["id", "account"];
        let fields = Fields::of(&self.reader, &NAMES);
        if let Some(name) = fields.unknown {
            return Err(Refusal { why: FaultCause::RootAttribute { root: "transactions", name }, at: root.at });
        }
        let id = match fields.values {
            [Some(id), None] | [None, Some(id)] => id,
            [None, None] => return Err(Refusal { why: FaultCause::NoAccount, at: root.at }),
            [Some(_), Some(_)] => return Err(Refusal { why: FaultCause::TwoAccounts, at: root.at }),
        };
        let account = account_id(id);
        self.reader.limit_depth(DEPTH);
        let mut children = 0;
        while !root.empty
            && let Some(tag) = self.next_child()?
        {
            children += 1;
            match tag.name {
                b"order" => self.order(account),
                b"oco" => {
                    self.linked(&tag, account)?;
                    continue;
                }
                b"oto" => {
                    self.pending(&tag, account)?;
                    continue;
                }
                b"replace" => self.replace(account),
                b"amend" => self.amend(account),
                b"query" => {
                    self.named_order("query", account, |account, order| Op::Query(Query { account, order }));
                }
                b"cancel" => self.named_order("cancel", account, |account, order| {
                    Op::Command(Command::CancelOrder { account, order })
                }),
                b"cancel-all" => self.cancel_all(account)?,
                b"protect" => self.protect(account),
                b"unprotect" => self.unprotect(account),
                _ => {
                    self.unknown_element(&tag, Span::default())?;
                    continue;
                }
            }
            self.expect_empty(&tag)?;
        }
        if children == 0 { Err(Refusal { why: FaultCause::NoChildren, at: root.at }) } else { Ok(()) }
    }

    fn order(&mut self, account: Result<AccountId, ChildFault<'a>>) {
        let plain = Fields::of(&self.reader, &PLAIN_NAMES);
        if plain.unknown.is_some() {
            return self.order_of_any_kind(account);
        }
        let start = self.documents.text.len();
        self.echo_all(&PLAIN_NAMES, &plain.values);
        let place = account.and_then(|account| plain_order(account, &plain));
        self.part(PartKind::Answered, Span::default(), start, place.map(|place| Op::Command(Command::Place(place))));
    }

    fn order_of_any_kind(&mut self, account: Result<AccountId, ChildFault<'a>>) {
        const NAMES: [&str; ORDER_FIELDS] = order_names("client-id");
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let place = account.and_then(|account| {
            fields.known("order")?;
            order_place(account, "order", "client-id", fields.values)
        });
        self.part(PartKind::Answered, Span::default(), start, place.map(|place| Op::Command(Command::Place(place))));
    }

    /// Reads an order to be canceled, and another one that replaces it. Each has the answer that it would have alone.
    fn replace(&mut self, account: Result<AccountId, ChildFault<'a>>) {
        const CANCEL: [&str; 3] = ["on-failure", "id", "client-id"];
        const ORDER: [&str; ORDER_FIELDS] = order_names("new-client-id");
        let mut names = [""; CANCEL.len() + ORDER.len()];
        names[..CANCEL.len()].copy_from_slice(&CANCEL);
        names[CANCEL.len()..].copy_from_slice(&ORDER);
        let fields = Fields::of(&self.reader, &names);
        let [on_failure, id, client_id, order @ ..] = fields.values;
        let start = self.documents.text.len();
        self.echo(CANCEL[0], on_failure);
        let named = self.documents.text.len();
        self.echo_all(&CANCEL[1..], &[id, client_id]);
        let placed = self.documents.text.len();
        self.echo_all(&ORDER, &order);
        let ops = account.and_then(|account| {
            fields.known("replace")?;
            let on_failure = on_failure_of(on_failure)?;
            // An invalid order id names no order, and the engine says so of this one.
            let canceled = order_name("replace", id, client_id)?.unwrap_or(OrderId(0).into());
            let placing = order_place(account, "replace", "new-client-id", order)?;
            Ok(replacement(canceled, placing, on_failure))
        });
        match ops {
            Err(fault) => self.part(PartKind::Answered, Span::default(), start, Err(fault)),
            Ok(ops) => {
                ops.into_iter().for_each(|op| self.documents.requests.push_op(op));
                let end = self.documents.text.len();
                for (kind, start, end) in
                    [(PartKind::ReplaceCancel, named, placed), (PartKind::ReplaceOrder, placed, end)]
                {
                    self.documents.parts.push(Part { kind, symbol: Span::default(), own: Span { start, end } });
                }
            }
        }
    }

    /// Reads the terms that an order is to have.
    fn amend(&mut self, account: Result<AccountId, ChildFault<'a>>) {
        let fields = Fields::of(&self.reader, &AMEND_NAMES);
        let start = self.documents.text.len();
        self.echo_all(&AMEND_NAMES, &fields.values);
        let amendment = account.and_then(|account| {
            fields.known("amend")?;
            amendment(account, fields.values)
        });
        let op = amendment.map(|amendment| Op::Command(Command::Amend(amendment)));
        self.part(PartKind::Answered, Span::default(), start, op);
    }

    /// Reads a query or cancel, which `op` makes of the account and the order's name.
    fn named_order(
        &mut self,
        element: &'static str,
        account: Result<AccountId, ChildFault<'a>>,
        op: fn(AccountId, OrderName) -> Op,
    ) {
        const NAMES: [&str; 2] = ["id", "client-id"];
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let op = account.and_then(|account| {
            fields.known(element)?;
            let [id, client_id] = fields.values;
            let order = order_name(element, id, client_id)?;
            Ok(op(account, order.ok_or(ChildFault::UnknownOrder)?))
        });
        self.part(PartKind::Answered, Span::default(), start, op);
    }

    /// Appends an error in the place of an element that the grammar does not know, and skips its content.
    fn unknown_element(&mut self, tag: &Tag<'a>, symbol_echo: Span) -> Result<(), Refusal<'a>> {
        let start = self.documents.text.len();
        self.part(PartKind::Refused, symbol_echo, start, Err(ChildFault::UnknownElement(tag.name)));
        self.skip(tag)
    }

    /// Skips the content of an element.
    pub(super) fn skip(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        let mut open = usize::from(!tag.empty);
        while open > 0 {
            match self.reader.next()? {
                Token::Start(inner) => open += usize::from(!inner.empty),
                Token::Text(_) => {}
                Token::End => open -= 1,
            }
        }
        Ok(())
    }

    /// Returns the next child of the open element; `None` at its end.
    pub(super) fn next_child(&mut self) -> Result<Option<Tag<'a>>, Refusal<'a>> {
        loop {
            match self.reader.next()? {
                Token::Start(tag) => return Ok(Some(tag)),
                Token::End => return Ok(None),
                Token::Text(text) if text.is_white() => {}
                Token::Text(text) => return Err(Refusal { why: FaultCause::TextNotAllowed, at: text.at }),
            }
        }
    }

    pub(super) fn expect_empty(&mut self, tag: &Tag<'a>) -> Result<(), Refusal<'a>> {
        if tag.empty {
            return Ok(());
        }
        match self.next_child()? {
            None => Ok(()),
            Some(child) => Err(Refusal { why: FaultCause::ChildNotAllowed(tag.name), at: child.at }),
        }
    }

    /// Returns the text of an element that holds nothing else.
    fn text_of_element(&mut self, tag: &Tag<'a>) -> Result<Cow<'a, [u8]>, Refusal<'a>> {
        let mut whole = Cow::Borrowed(&[][..]);
        if tag.empty {
            return Ok(whole);
        }
        loop {
            match self.reader.next()? {
                Token::Text(text) if whole.is_empty() => whole = text.decoded(),
                Token::Text(text) => whole.to_mut().extend_from_slice(&text.decoded()),
                Token::End => return Ok(whole),
                Token::Start(child) => {
                    return Err(Refusal { why: FaultCause::ChildNotAllowed(tag.name), at: child.at });
                }
            }
        }
    }

    /// Writes ` name="value"` as the client sent it, escaped again, if it sent one.
    fn echo(&mut self, name: &str, value: Option<Value<'a>>) {
        let Some(value) = value else { return };
        let text = &mut self.documents.text;
        text.push(b' ');
        if let Some(written) = value.written {
            return text.extend_from_slice(written);
        }
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"=\"");
        if value.verbatim {
            text.extend_from_slice(value.raw);
        } else {
            push_escaped(text, &value.decoded());
        }
        text.push(b'"');
    }

    /// Writes all of these attributes that the client sent.
    pub(super) fn echo_all(&mut self, names: &[&str], values: &[Option<Value<'a>>]) {
        for (name, value) in names.iter().zip(values) {
            self.echo(name, *value);
        }
    }

    /// Appends the part of a child whose echo began at `start`, and its op unless it is refused.
    pub(super) fn part(&mut self, kind: PartKind, symbol: Span, start: usize, op: Result<Op, ChildFault<'a>>) {
        let text = &mut self.documents.text;
        let kind = match op {
            Ok(op) => {
                self.documents.requests.push_op(op);
                kind
            }
            Err(fault) => {
                text.push(b'>');
                push_display(text, &fault);
                text.extend_from_slice(b"</error>");
                PartKind::Refused
            }
        };
        let own = Span { start, end: text.len() };
        self.documents.parts.push(Part { kind, symbol, own });
    }
}
