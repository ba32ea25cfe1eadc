//! Notes on orders, besides executions and cancellations: as rows to write, and as rows that are read for reports. An
//! order without any has no such row.

use std::time::Instant;

use terms::{
    AccountIndex, CancelReason, NewOrder, OrderId, OrderKind, Price, Sequence, Shares, Side, SymbolIndex, Time, Trigger,
};

use crate::column::{Single, table};
use crate::error::{StoreError, StoreResult};
use crate::fields::Fields;
use crate::pages::side;
use crate::reader::{Given, Reader, Seen, each};
use crate::session::Session;

/// A row of `pricetime.notes` to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoteRow {
    pub order: OrderId,
    pub account: AccountIndex,
    pub kind: Kind,
    /// The trigger of an order that was triggered.
    pub trigger: Option<Trigger>,
    pub partner: Option<OrderId>,
    pub taken: Option<Shares>,
    /// The shares of an order that was placed again.
    pub after: Option<Shares>,
    pub terms: Option<NewTerms>,
    pub why: Option<CancelReason>,
    pub time: Time,
    pub sequence: Sequence,
    /// The number of notes that its command had made before.
    pub place: u64,
    pub next_execution: u64,
}

/// The terms of an amended order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewTerms {
    /// The kind.
    pub kind: OrderKind,
    /// The worst price that it accepts.
    pub limit: Price,
    /// The trigger for which it waits; none for an order that waits for none.
    pub trigger: Option<Trigger>,
    /// Whether it kept its place among others.
    pub keeps_place: bool,
}

// The function that writes amendments adds `shares_before`, and `shares_after` where it is not known here.
table! { notes: NoteRow, row =>
    order_id: row.order,
    account: row.account,
    kind: row.kind.name(),
    price: row.trigger().map(Trigger::price),
    from_below: row.trigger().map(Trigger::is_from_below),
    partner: row.partner,
    taken: row.taken,
    shares_after: row.after,
    new_kind: row.terms.map(|terms| terms.kind),
    new_limit: row.terms.map(|terms| terms.limit),
    keeps_place: row.terms.map(|terms| terms.keeps_place),
    why: row.why,
    time: row.time,
    sequence: row.sequence,
    place: row.place,
    next_execution: row.next_execution,
}

impl NoteRow {
    fn trigger(&self) -> Option<Trigger> {
        self.trigger.or_else(|| self.terms?.trigger)
    }
}

/// The kinds of notes, by their names in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Triggered,
    Linked,
    Amended,
    Pends,
    Released,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Triggered => "triggered",
            Kind::Linked => "linked",
            Kind::Amended => "amended",
            Kind::Pends => "pends",
            Kind::Released => "released",
        }
    }
}

/// The notes of consecutive commands.
#[derive(Debug, Default)]
pub(crate) struct NoteRows(Vec<NoteRow>);

impl NoteRows {
    /// Empties the list, which keeps its capacity.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn rows(&self) -> &[NoteRow] {
        &self.0
    }

    /// Notes that a waiting order is active now.
    pub(crate) fn triggered(
        &mut self,
        (order, account): (OrderId, AccountIndex),
        placed: &NewOrder<SymbolIndex>,
        (sequence, time): (Sequence, Time),
        next_execution: u64,
    ) {
        let row = self.row((order, account), Kind::Triggered, (sequence, time), next_execution);
        self.0.push(NoteRow { trigger: placed.trigger, ..row });
    }

    /// Notes that two orders are linked from now on.
    pub(crate) fn linked(
        &mut self,
        [one, other]: [OrderId; 2],
        account: AccountIndex,
        (sequence, time): (Sequence, Time),
        next_execution: u64,
    ) {
        for (order, partner) in [(one, other), (other, one)] {
            let row = self.row((order, account), Kind::Linked, (sequence, time), next_execution);
            self.0.push(NoteRow { partner: Some(partner), ..row });
        }
    }

    /// Notes that shares were taken off an order.
    pub(crate) fn amended(
        &mut self,
        of: (OrderId, AccountIndex),
        (taken, why): (Shares, CancelReason),
        at: (Sequence, Time),
        next_execution: u64,
    ) {
        let row = self.row(of, Kind::Amended, at, next_execution);
        self.0.push(NoteRow { taken: Some(taken), why: Some(why), ..row });
    }

    /// Notes that an order got other terms, and, if it was placed again, with how many shares.
    pub(crate) fn terms(
        &mut self,
        of: (OrderId, AccountIndex),
        terms: NewTerms,
        after: Option<Shares>,
        at: (Sequence, Time),
        next_execution: u64,
    ) {
        let row = self.row(of, Kind::Amended, at, next_execution);
        self.0.push(NoteRow { after, terms: Some(terms), why: Some(CancelReason::Asked), ..row });
    }

    /// The next row, of a kind without further columns.
    fn row(
        &self,
        (order, account): (OrderId, AccountIndex),
        kind: Kind,
        (sequence, time): (Sequence, Time),
        next_execution: u64,
    ) -> NoteRow {
        let place = self.place(sequence);
        let (trigger, partner, taken, after, terms, why) = (None, None, None, None, None, None);
        NoteRow {
            order,
            account,
            kind,
            trigger,
            partner,
            taken,
            after,
            terms,
            why,
            time,
            sequence,
            place,
            next_execution,
        }
    }

    /// Notes that an order waits for this one or, with none, that it is placed because that one executed.
    pub(crate) fn pending(
        &mut self,
        of: (OrderId, AccountIndex),
        working: Option<OrderId>,
        at: (Sequence, Time),
        next_execution: u64,
    ) {
        let kind = if working.is_some() { Kind::Pends } else { Kind::Released };
        let row = self.row(of, kind, at, next_execution);
        self.0.push(NoteRow { partner: working, ..row });
    }

    /// The number of notes that the current command has made before.
    fn place(&self, sequence: Sequence) -> u64 {
        self.0.last().filter(|last| last.sequence == sequence).map_or(0, |last| last.place + 1)
    }
}

/// A note on an order that neither executed nor ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedRow {
    /// The id of the order.
    pub order: OrderId,
    /// The symbol of the order.
    pub symbol: SymbolIndex,
    /// The side of the order.
    pub side: Side,
    /// The event.
    pub what: Befell,
    /// The time of the event.
    pub time: Time,
    /// The command that caused it.
    pub sequence: Sequence,
    /// The number of notes that this command had made before.
    pub place: u32,
    /// The id of the next execution, past or future.
    pub next_execution: u64,
}

/// The event of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Befell {
    /// An execution reached its trigger.
    Triggered(Trigger),
    /// The order is linked with this one.
    Linked(OrderId),
    /// Shares were taken off it, or it got other terms.
    Amended {
        /// The shares before.
        before: Shares,
        /// The shares after.
        after: Shares,
        /// The reason.
        why: CancelReason,
        /// The terms; none if it only lost shares.
        terms: Option<NewTerms>,
    },
    /// The order waits until this working order has executed completely.
    Pends(OrderId),
    /// Its working order has executed, so it was placed.
    Released,
}

/// Columns of note `n` of order `o`.
const NOTE: &str = "n.order_id, o.symbol, o.side = 'buy', n.kind, n.price, n.from_below, n.partner, n.shares_before,
    n.shares_after, n.why, n.new_kind, n.new_limit, n.keeps_place, n.time, n.sequence, n.place, n.next_execution";

/// Reads the notes of an account behind a command, in order, up to a number.
pub(crate) async fn noted(session: &Session, given: &[Given<'_>; 3]) -> StoreResult<Vec<NotedRow>> {
    let sql = format!(
        "SELECT {NOTE} FROM (
            SELECT x.* FROM pricetime.notes x WHERE x.account = $1::bigint AND x.sequence > $2::bigint
            ORDER BY x.sequence, x.place LIMIT $3::bigint
        ) n CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = n.order_id LIMIT 1) o
        ORDER BY n.sequence, n.place"
    );
    Ok(each(&session.client.query(&sql, given).await?, noted_row)?)
}

impl Reader {
    /// Reads the amendments of an order by the command `from` and later ones, in order, up to a number. Errors: those
    /// of `trades_of_symbol`.
    pub fn amendments(
        &mut self,
        order: OrderId,
        from: Sequence,
        most: usize,
        until: Instant,
    ) -> Result<Seen<Vec<NotedRow>>, StoreError> {
        let sql = format!(
            "SELECT {NOTE} FROM (
                SELECT x.* FROM pricetime.notes x
                WHERE x.order_id = $1::bigint AND x.kind = 'amended' AND x.sequence >= $2::bigint
                ORDER BY x.sequence, x.place LIMIT $3::bigint
            ) n CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = n.order_id LIMIT 1) o
            ORDER BY n.sequence, n.place"
        );
        let [order, from] = [order.0, from.0].map(|number| Single(number.min(i64::MAX.unsigned_abs())));
        let most = Single(most as u64);
        self.read(until, async |session: &Session, _| {
            let given: [Given<'_>; 3] = [&order, &from, &most];
            Ok(each(&session.client.query(&sql, &given).await?, noted_row)?)
        })
    }
}

fn noted_row(fields: &mut Fields<'_>) -> Result<NotedRow, StoreError> {
    let (order, symbol, side) = (OrderId(fields.next()?), SymbolIndex(fields.next()?), side(fields.next()?));
    let kind: &str = fields.next()?;
    let (trigger, partner) = (fields.trigger()?, fields.maybe()?.map(OrderId));
    let (before, after, why) = (fields.maybe()?, fields.maybe()?, fields.maybe()?);
    let (new_kind, new_limit, keeps_place) = (fields.maybe()?, fields.maybe()?, fields.maybe()?);
    let is = |one: Kind| kind == one.name();
    let amended = before.zip(after).zip(why);
    let terms = new_kind.zip(new_limit).zip(keeps_place);
    let terms = terms.map(|((kind, limit), keeps_place)| NewTerms { kind, limit, trigger, keeps_place });
    let what = match (trigger, partner, amended) {
        (Some(trigger), ..) if is(Kind::Triggered) => Befell::Triggered(trigger),
        (_, Some(partner), _) if is(Kind::Linked) => Befell::Linked(partner),
        (.., Some(((before, after), why))) if is(Kind::Amended) => Befell::Amended { before, after, why, terms },
        (_, Some(working), _) if is(Kind::Pends) => Befell::Pends(working),
        _ if is(Kind::Released) => Befell::Released,
        // This program does not know the kind, or the order has no trigger.
        _ => return Err(StoreError::Unreadable { column: "notes.kind".to_owned() }),
    };
    let (time, sequence, place, next_execution) =
        (fields.next()?, Sequence(fields.next()?), fields.next()?, fields.next()?);
    Ok(NotedRow { order, symbol, side, what, time, sequence, place, next_execution })
}
