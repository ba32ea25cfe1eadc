//! What befalls orders beside their executions and cancellations: as rows to be written, and as rows that are read for
//! reports. An order without any has no row of this.

use std::time::Instant;

use engine::{
    AccountIndex, CancelReason, NewOrder, OrderId, Price, Sequence, Shares, Side, SymbolIndex, Time, Trigger,
};

use crate::column::Single;
use crate::error::{StoreError, Told};
use crate::fields::Fields;
use crate::pages::side;
use crate::reader::{Given, Reader, Seen, each};
use crate::session::Session;
use crate::term_rows;

/// A row of `pricetime.notes` that is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoteRow {
    pub order: OrderId,
    pub account: AccountIndex,
    pub kind: Kind,
    pub price: Option<Price>,
    pub partner: Option<OrderId>,
    pub taken: Option<Shares>,
    pub why: Option<CancelReason>,
    pub time: Time,
    pub sequence: Sequence,
    /// How many notes its command had made before.
    pub place: u64,
    pub next_execution: u64,
}

/// The kinds of notes, as they are called in the table.
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
    /// Empties this; the list keeps its room.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn rows(&self) -> &[NoteRow] {
        &self.0
    }

    /// An order that waited is active now.
    pub(crate) fn triggered(
        &mut self,
        (order, account): (OrderId, AccountIndex),
        placed: &NewOrder<SymbolIndex>,
        (sequence, time): (Sequence, Time),
        next_execution: u64,
    ) {
        let row = self.row((order, account), Kind::Triggered, (sequence, time), next_execution);
        self.0.push(NoteRow { price: placed.trigger.map(Trigger::price), ..row });
    }

    /// Two orders cancel each other from now on.
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

    /// Shares were taken off an order.
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

    /// The next row, of a kind with nothing of its own.
    fn row(
        &self,
        (order, account): (OrderId, AccountIndex),
        kind: Kind,
        (sequence, time): (Sequence, Time),
        next_execution: u64,
    ) -> NoteRow {
        let place = self.place(sequence);
        let (price, partner, taken, why) = (None, None, None, None);
        NoteRow { order, account, kind, price, partner, taken, why, time, sequence, place, next_execution }
    }

    /// An order waits for this one, or, for none, is placed because that was executed.
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

    /// How many notes the command that makes the next one has made before.
    fn place(&self, sequence: Sequence) -> u64 {
        self.0.last().filter(|last| last.sequence == sequence).map_or(0, |last| last.place + 1)
    }
}

/// Something that befell an order and neither executed nor ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotedRow {
    /// Its id.
    pub order: OrderId,
    /// What it is for.
    pub symbol: SymbolIndex,
    /// Buy or sell.
    pub side: Side,
    /// What befell it.
    pub what: Befell,
    /// When.
    pub time: Time,
    /// The command that did it.
    pub sequence: Sequence,
    /// How many notes that command had made before.
    pub place: u32,
    /// The id of the execution that came next, or will come.
    pub next_execution: u64,
}

/// What befell an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Befell {
    /// An execution had reached what it waited for.
    Triggered(Trigger),
    /// It and this order are a pair of which one cancels the other.
    Linked(OrderId),
    /// Shares were taken off it.
    Amended {
        /// What it had.
        before: Shares,
        /// What it was left.
        after: Shares,
        /// Why.
        why: CancelReason,
    },
    /// It waits until this order is executed wholly.
    Pends(OrderId),
    /// That order was, and so it was placed.
    Released,
}

/// Of note `n` of order `o`.
const NOTE: &str = "n.order_id, o.symbol, o.side = 'buy', n.kind, coalesce(n.price, o.trigger_price), o.trigger_from_below, n.partner,
    o.shares - n.taken_in_all + n.taken, o.shares - n.taken_in_all, n.why::bigint, n.time, n.sequence, n.place, n.next_execution";

/// Those of an account behind a command, in order: so many at most.
pub(crate) async fn noted(session: &Session, given: &[Given<'_>; 3]) -> Told<Vec<NotedRow>> {
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
    /// What was taken off an order by the command `from` and later ones, in order: so many at most. Errors: as of `trades_of_symbol`.
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
    let (before, after, why) = (fields.maybe()?, fields.maybe()?, term_rows::why(fields)?);
    let is = |one: Kind| kind == one.name();
    let amended = before.zip(after).zip(why);
    let what = match (trigger, partner, amended) {
        (Some(trigger), ..) if is(Kind::Triggered) => Befell::Triggered(trigger),
        (_, Some(partner), _) if is(Kind::Linked) => Befell::Linked(partner),
        (.., Some(((before, after), why))) if is(Kind::Amended) => Befell::Amended { before, after, why },
        (_, Some(working), _) if is(Kind::Pends) => Befell::Pends(working),
        _ if is(Kind::Released) => Befell::Released,
        // A kind that this program does not know, or an order that waited for nothing.
        _ => return Err(StoreError::Unreadable { column: "notes.kind".to_owned() }),
    };
    let (time, sequence, place, next_execution) =
        (fields.next()?, Sequence(fields.next()?), fields.next()?, fields.next()?);
    Ok(NotedRow { order, symbol, side, what, time, sequence, place, next_execution })
}
