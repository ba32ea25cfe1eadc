//! Replies: writes the engine's answers as XML, each in the place of the child that asked. It knows nothing of how
//! requests are read. Source: docs/PROTOCOL.md.

use std::fmt;

use exchange::{Answer, KilledTogether, Unavailable, Which, killed_together, placed_pair, placed_tree};
use terms::{Executed, Execution, OpenTerms, OrderId, Reject, Reply, Status, Time};

use super::day_ends::DayEnds;
use super::documents::{Documents, Part, PartKind};
use super::escape::push_display;
use crate::number::{push_decimal, push_seconds};

/// The form of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Bytes of a reply, at most. A query that would exceed them gets "reply too large" instead, a cancel an answer
    /// without the order's executions.
    pub reply_bytes_max: usize,
    /// Whether a line with the length of the reply in bytes stands before it.
    pub length_line: bool,
}

/// Executions of a batch from which room for a reply's is made at once, and not as it is written: growing a buffer of
/// megabytes copies it again and again.
const MANY_EXECUTIONS: usize = 1 << 12;
/// Bytes of a usual `<executed …/>` element.
const EXECUTED_BYTES_USUAL: usize = 64;
/// Bytes of the shortest one.
const EXECUTED_BYTES_MIN: usize = "<executed shares=\"1\" price=\"1\" time=\"0\"/>".len();

/// Returns how many executions fit a reply of this many bytes, however short they are.
pub fn executions_max(reply_bytes_max: usize) -> usize {
    reply_bytes_max / EXECUTED_BYTES_MIN
}

const END: &[u8] = b"</results>\n";
/// The element of a query's answer.
const QUERIED: &str = "status";

/// Appends the whole reply to one document: `<results>`, an element for each child, `</results>` and a newline, on one
/// line.
///
/// `answers` has one answer for each op of all documents, none of which is [`Reply::Done`]; the executions of statuses
/// are ranges of `executions`. Source: docs/PROTOCOL.md.
pub fn write_reply(
    out: &mut Vec<u8>,
    documents: &Documents,
    document: usize,
    answers: &[Answer],
    executions: &[Execution],
    limits: &ReplyLimits,
) {
    let start = out.len();
    if executions.len() > MANY_EXECUTIONS {
        let shown: usize = answers[documents.requests.ops_of(document)].iter().map(shown_executions).sum();
        out.reserve((shown * EXECUTED_BYTES_USUAL).min(limits.reply_bytes_max));
    }
    let mut writer = Writer {
        documents,
        day_ends: DayEnds::of(&documents.requests, document, answers),
        executions,
        out,
        cut: false,
        bytes_end: start.saturating_add(limits.reply_bytes_max).saturating_sub(END.len()),
    };
    writer.out.extend_from_slice(b"<results>");
    let mut answers = answers[documents.requests.ops_of(document)].iter();
    let (mut symbol_refused, mut first_of_two) = (None, None);
    let (mut tree, mut of_member) = (Vec::new(), Vec::new());
    for part in documents.parts_of(document) {
        let mut answer = || answers.next().expect("invariant: one answer an op");
        match part.kind {
            PartKind::Refused => {
                writer.out.extend_from_slice(b"<error");
                writer.echo(part);
            }
            PartKind::Said => writer.echo(part),
            PartKind::Answered => writer.element(part, answer()),
            PartKind::ReplaceCancel => {
                writer.out.extend_from_slice(b"<replaced>");
                writer.element(part, answer());
            }
            PartKind::ReplaceOrder => {
                writer.element(part, answer());
                writer.out.extend_from_slice(b"</replaced>");
            }
            PartKind::LinkedFirst => first_of_two = Some((part, answer())),
            PartKind::LinkedSecond => {
                let first = first_of_two.take().expect("invariant: the first of two orders stands before the second");
                writer.linked([first, (part, answer())]);
            }
            PartKind::OfTree => tree.push((part, answer())),
            PartKind::LastOfTree => {
                tree.push((part, answer()));
                writer.tree(&std::mem::take(&mut tree));
            }
            PartKind::OfMember => of_member.push(answer()),
            PartKind::LastOfMember => {
                of_member.push(answer());
                writer.of_member(part, &std::mem::take(&mut of_member));
            }
            PartKind::Change => writer.changed(part, answer()),
            PartKind::Deposit => writer.done(b"<deposited", part, answer()),
            PartKind::Withdraw => writer.done(b"<withdrawn", part, answer()),
            PartKind::Close => writer.done(b"<closed", part, answer()),
            PartKind::Protect => writer.done(b"<protected", part, answer()),
            PartKind::Unprotect => writer.done(b"<unprotected", part, answer()),
            PartKind::Symbol => {
                let answer = answer();
                if refusal(answer).is_some() {
                    writer.element(part, answer);
                }
            }
            PartKind::SymbolWithAccounts => symbol_refused = Some(answer()).filter(|answer| refusal(answer).is_some()),
            PartKind::Issued => {
                let answer = answer();
                // Without the symbol its accounts are refused too; the reason is the symbol's.
                writer.element(part, symbol_refused.unwrap_or(answer));
            }
        }
    }
    out.extend_from_slice(END);
    if limits.length_line {
        insert_length_line(out, start);
    }
}

/// Returns the number of executions that an answer shows.
fn shown_executions(answer: &Answer) -> usize {
    match answer {
        Answer::Reply(Reply::Status(status) | Reply::Canceled(status)) => status.executions.len(),
        Answer::Reply(_) | Answer::Unavailable(_) => 0,
    }
}

/// Returns the reason of a refusal.
fn refusal(answer: &Answer) -> Option<Refusal<'_>> {
    match answer {
        Answer::Unavailable(unavailable) => Some(Refusal::Unavailable(*unavailable)),
        Answer::Reply(Reply::Rejected(reject)) => Some(Refusal::Rejected(reject)),
        Answer::Reply(
            Reply::Created
            | Reply::Opened(_)
            | Reply::Repeated(_)
            | Reply::Freed(_)
            | Reply::Moved { .. }
            | Reply::Amended { .. }
            | Reply::Activated
            | Reply::Expired
            | Reply::InAuction
            | Reply::Status(_)
            | Reply::Canceled(_)
            | Reply::CanceledAll { .. }
            | Reply::Done(_),
        ) => None,
    }
}

enum Refusal<'a> {
    Unavailable(Unavailable),
    Rejected(&'a Reject),
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Unavailable(unavailable) => unavailable.fmt(f),
            Refusal::Rejected(reject) => reject.fmt(f),
        }
    }
}

fn insert_length_line(out: &mut Vec<u8>, start: usize) {
    let mut line = Vec::with_capacity(12);
    push_decimal(&mut line, (out.len() - start) as u64);
    line.push(b'\n');
    out.splice(start..start, line);
}

/// The text between the symbol and the phase of a change of phase.
const IS: &[u8] = b" is=";

struct Writer<'a> {
    documents: &'a Documents,
    day_ends: DayEnds,
    executions: &'a [Execution],
    out: &'a mut Vec<u8>,
    /// Whether the executions of an order did not fit. Then those of later orders are not tried: each could write up to
    /// the limit in vain.
    cut: bool,
    /// Executions end at this byte at the latest.
    bytes_end: usize,
}

impl Writer<'_> {
    fn element(&mut self, part: &Part, answer: &Answer) {
        match answer {
            Answer::Reply(Reply::Created) => {
                self.out.extend_from_slice(b"<created");
                self.echo(part);
                self.out.extend_from_slice(b"/>");
            }
            // A repeat under the same client order id gets the first answer again.
            Answer::Reply(Reply::Opened(order) | Reply::Repeated(order)) => {
                self.out.extend_from_slice(b"<opened");
                self.echo(part);
                self.day_end(part, *order);
                self.out.extend_from_slice(b" id=\"");
                push_decimal(self.out, order.0);
                self.out.extend_from_slice(b"\"/>");
            }
            Answer::Reply(Reply::Moved { order, limit, .. }) => {
                self.out.extend_from_slice(b"<opened");
                self.echo(part);
                self.day_end(part, *order);
                self.out.extend_from_slice(b" moved-to=\"");
                self.out.extend_from_slice(limit.text().as_bytes());
                self.out.extend_from_slice(b"\" id=\"");
                push_decimal(self.out, order.0);
                self.out.extend_from_slice(b"\"/>");
            }
            Answer::Reply(Reply::Status(status)) => self.query(part, status),
            Answer::Reply(Reply::Canceled(status)) => self.canceled(part, status),
            Answer::Reply(Reply::InAuction) => self.in_auction(part),
            Answer::Reply(Reply::Amended { open, .. }) => {
                self.out.extend_from_slice(b"<amended");
                self.echo(part);
                self.out.extend_from_slice(b"><open shares=\"");
                self.out.extend_from_slice(open.text().as_bytes());
                self.out.extend_from_slice(b"\"/></amended>");
            }
            Answer::Reply(Reply::CanceledAll { orders, left, .. }) => {
                self.canceled_all(b"<canceled-all", part, *orders);
                if let Some(left) = left {
                    self.out.extend_from_slice(b" left-through=\"");
                    push_decimal(self.out, left.0);
                    self.out.push(b'"');
                }
                self.out.extend_from_slice(b"/>");
            }
            Answer::Reply(Reply::Activated | Reply::Expired | Reply::Freed(_)) => {
                panic!("invariant: nobody asks for that")
            }
            Answer::Reply(Reply::Done(_)) => {
                panic!("invariant: an order that is done is looked up before its reply is written")
            }
            Answer::Reply(Reply::Rejected(reject)) => self.error(part, reject),
            Answer::Unavailable(unavailable) => self.error(part, unavailable),
        }
    }

    /// Writes one answer for two linked orders, or why one of them was refused: then neither was placed.
    fn linked(&mut self, orders: [(&Part, &Answer); 2]) {
        let [(first, one), (second, other)] = orders;
        match placed_pair(one, other) {
            Ok(_) => {
                self.out.extend_from_slice(b"<oco>");
                orders.into_iter().for_each(|(part, answer)| self.element(part, answer));
                self.out.extend_from_slice(b"</oco>");
            }
            Err((Which::First, why)) => self.element(first, &why),
            Err((Which::Second, why)) => self.element(second, &why),
        }
    }

    /// Writes one answer for a working order and its pending ones, or why one of them was refused.
    fn tree(&mut self, orders: &[(&Part, &Answer)]) {
        let answers: Vec<Answer> = orders.iter().map(|(_, answer)| (*answer).clone()).collect();
        match placed_tree(&answers) {
            Ok(_) => {
                self.out.extend_from_slice(b"<oto>");
                orders.iter().for_each(|(part, answer)| self.element(part, answer));
                self.out.extend_from_slice(b"</oto>");
            }
            Err((place, why)) => self.element(orders[place].0, &why),
        }
    }

    /// Writes one answer for a change, or why it was refused.
    fn changed(&mut self, part: &Part, answer: &Answer) {
        match (refusal(answer), answer) {
            (Some(why), _) => self.error(part, &why),
            (None, Answer::Reply(Reply::CanceledAll { orders, left, .. })) => {
                self.killed(part, KilledTogether { orders: *orders, goes_on: left.is_some() });
            }
            (None, Answer::Reply(Reply::InAuction)) => self.in_auction(part),
            (None, _) => {
                self.out.extend_from_slice(b"<changed");
                self.echo(part);
                self.out.extend_from_slice(b"/>");
            }
        }
    }

    /// Writes that a symbol that was to open is in an auction.
    fn in_auction(&mut self, part: &Part) {
        let asked = self.documents.text_of(part.own);
        let named = asked.windows(IS.len()).rposition(|text| text == IS).map_or(asked, |at| &asked[..at]);
        self.out.extend_from_slice(b"<changed");
        self.out.extend_from_slice(named);
        self.out.extend_from_slice(b" is=\"auction\"/>");
    }

    /// Writes that the request was done, or why it was refused.
    fn done(&mut self, element: &[u8], part: &Part, answer: &Answer) {
        if let Some(why) = refusal(answer) {
            return self.error(part, &why);
        }
        self.out.extend_from_slice(element);
        self.echo(part);
        self.out.extend_from_slice(b"/>");
    }

    /// Writes one answer for all accounts of a member.
    fn of_member(&mut self, part: &Part, answers: &[&Answer]) {
        // The commands before the last one answer a kill, too, with that they were taken.
        let is_release = matches!(answers.last(), Some(Answer::Reply(Reply::Created)));
        match killed_together(answers.iter().copied()) {
            Err(why) => self.changed(part, why),
            Ok(_) if is_release => self.changed(part, &Answer::Reply(Reply::Created)),
            Ok(killed) => self.killed(part, killed),
        }
    }

    /// Writes how many orders a kill canceled, and whether it goes on.
    fn killed(&mut self, part: &Part, killed: KilledTogether) {
        self.canceled_all(b"<killed", part, killed.orders);
        self.out.extend_from_slice(if killed.goes_on { b" goes-on=\"true\"/>" } else { b"/>" });
    }

    /// Writes how many orders were canceled: all but the end of the tag.
    fn canceled_all(&mut self, element: &[u8], part: &Part, orders: usize) {
        self.out.extend_from_slice(element);
        self.echo(part);
        self.out.extend_from_slice(b" orders=\"");
        push_decimal(self.out, orders as u64);
        self.out.push(b'"');
    }

    /// Repeats the attributes of the child, as the client sent them.
    fn echo(&mut self, part: &Part) {
        self.out.extend_from_slice(self.documents.text_of(part.symbol));
        self.out.extend_from_slice(self.documents.text_of(part.own));
    }

    /// Writes the deadline of a DAY order.
    fn day_end(&mut self, part: &Part, order: OrderId) {
        if let Some(until) = self.day_ends.untold(order, self.documents.text_of(part.own)) {
            self.out.extend_from_slice(b" until=\"");
            push_seconds(self.out, until.time());
            self.out.push(b'"');
        }
    }

    fn error(&mut self, part: &Part, why: &impl fmt::Display) {
        self.out.extend_from_slice(b"<error");
        self.echo(part);
        self.out.push(b'>');
        push_display(self.out, why);
        self.out.extend_from_slice(b"</error>");
    }

    /// Writes a status, unless the reply would become too large with it.
    fn query(&mut self, part: &Part, status: &Status) {
        let start = self.out.len();
        self.cut = self.cut || !self.status(part, QUERIED, status, self.bytes_end);
        if self.cut {
            self.out.truncate(start);
            self.error(part, &Unavailable::ReplyTooLarge);
        }
    }

    /// Writes the answer to a cancel. If the executions of its order do not fit, it says how many are left out.
    fn canceled(&mut self, part: &Part, status: &Status) {
        let start = self.out.len();
        let executions = &self.executions[status.executions.clone()];
        if !executions.is_empty() {
            self.cut = self.cut || !self.status(part, "canceled", status, self.bytes_end);
            if self.cut {
                self.out.truncate(start);
                let elsewhere = Some(Box::new(Executed::of(executions)));
                let without = Status { executions: 0..0, elsewhere, ..status.clone() };
                self.status(part, "canceled", &without, usize::MAX);
            }
            return;
        }
        self.status(part, "canceled", status, usize::MAX);
    }

    /// Writes a status. Returns whether all of it fits before `bytes_end`; if not, it breaks off somewhere.
    fn status(&mut self, part: &Part, name: &str, status: &Status, bytes_end: usize) -> bool {
        self.out.push(b'<');
        self.out.extend_from_slice(name.as_bytes());
        self.echo(part);
        let executions = &self.executions[status.executions.clone()];
        let is_told = !executions.is_empty() || status.elsewhere.is_some();
        if status.open.is_zero() && status.canceled.is_none() && !is_told {
            self.out.extend_from_slice(b"/>");
            return self.out.len() <= bytes_end;
        }
        self.out.push(b'>');
        if !status.open.is_zero() {
            self.out.extend_from_slice(b"<open shares=\"");
            self.out.extend_from_slice(status.open.text().as_bytes());
            if let Some(terms) = &status.terms {
                self.open_terms(terms);
            }
            self.out.extend_from_slice(b"\"/>");
        }
        if let Some(canceled) = &status.canceled {
            self.out.extend_from_slice(b"<canceled shares=\"");
            self.out.extend_from_slice(canceled.shares.text().as_bytes());
            self.time(canceled.time);
        }
        for execution in executions {
            self.out.extend_from_slice(b"<executed shares=\"");
            self.out.extend_from_slice(execution.shares.text().as_bytes());
            self.out.extend_from_slice(b"\" price=\"");
            self.out.extend_from_slice(execution.price.text().as_bytes());
            if let Some(taken) = execution.taken() {
                self.out.extend_from_slice(b"\" fee=\"");
                self.out.extend_from_slice(taken.text().as_bytes());
            }
            self.time(execution.time);
            if self.out.len() > bytes_end {
                return false;
            }
        }
        if let Some(executed) = &status.elsewhere {
            self.sum(name, executed);
        }
        self.out.extend_from_slice(b"</");
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b'>');
        self.out.len() <= bytes_end
    }

    /// Writes the sum of an order's executions, or their number, where they are not listed singly, and why.
    fn sum(&mut self, name: &str, executed: &Executed) {
        self.out.extend_from_slice(b"<error>");
        if name == QUERIED {
            self.out.extend_from_slice(executed.shares.text().as_bytes());
            self.out.extend_from_slice(b" shares executed for ");
            self.out.extend_from_slice(executed.money.text().as_bytes());
            self.out.extend_from_slice(b" dollars: the single executions are no longer kept</error>");
        } else {
            push_decimal(self.out, executed.executions);
            self.out.extend_from_slice(
                b" executions are left out: a query of the order tells them, or why it cannot</error>",
            );
        }
    }

    /// Writes the attributes for an open order's terms, behind an open quote.
    fn open_terms(&mut self, terms: &OpenTerms) {
        if let Some(trigger) = terms.waits {
            self.out.extend_from_slice(b"\" waits-for=\"");
            self.out.extend_from_slice(trigger.price().text().as_bytes());
        }
        match terms.trail.map(|trail| (trail.distance(), trail.bips())) {
            Some((Some(distance), _)) => {
                self.out.extend_from_slice(b"\" trail=\"");
                self.out.extend_from_slice(distance.text().as_bytes());
            }
            Some((None, Some(bips))) => {
                self.out.extend_from_slice(b"\" trail-bips=\"");
                self.out.extend_from_slice(bips.to_string().as_bytes());
            }
            Some((None, None)) | None => {}
        }
        if let Some(working) = terms.pends_on {
            self.out.extend_from_slice(b"\" pends-on=\"");
            push_decimal(self.out, working.0);
        }
        if let Some(until) = terms.until {
            self.out.extend_from_slice(b"\" until=\"");
            push_seconds(self.out, until.time());
        }
        if let Some(iceberg) = terms.iceberg {
            self.out.extend_from_slice(b"\" display=\"");
            self.out.extend_from_slice(iceberg.display.text().as_bytes());
            self.out.extend_from_slice(b"\" shown=\"");
            self.out.extend_from_slice(iceberg.shown.text().as_bytes());
        }
    }

    /// Writes the last attribute of an element without content, and its end.
    fn time(&mut self, time: Time) {
        self.out.extend_from_slice(b"\" time=\"");
        push_decimal(self.out, time.seconds());
        self.out.extend_from_slice(b"\"/>");
    }
}
