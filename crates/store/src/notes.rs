//! What befalls orders beside their executions and cancellations: as rows to be written, and as rows that are read for
//! reports. An order without any has no row of this.

use engine::{AccountIndex, NewOrder, OrderId, Price, Sequence, Side, SymbolIndex, Time, Trigger};

use crate::error::{StoreError, Told};
use crate::fields::Fields;
use crate::pages::side;
use crate::reader::{Given, each};
use crate::session::Session;

/// A row of `pricetime.notes` that is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoteRow {
    pub order: OrderId,
    pub account: AccountIndex,
    pub kind: Kind,
    pub price: Option<Price>,
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
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Triggered => "triggered",
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
        let place = self.0.last().filter(|last| last.sequence == sequence).map_or(0, |last| last.place + 1);
        let (kind, price) = (Kind::Triggered, placed.trigger.map(Trigger::price));
        self.0.push(NoteRow { order, account, kind, price, time, sequence, place, next_execution });
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
}

const NOTED: &str = "
    SELECT n.order_id, o.symbol, o.side = 'buy', n.kind, o.trigger_price, o.trigger_from_below, n.time, n.sequence, n.place,
        n.next_execution
    FROM (
        SELECT x.* FROM pricetime.notes x WHERE x.account = $1::bigint AND x.sequence > $2::bigint
        ORDER BY x.sequence, x.place LIMIT $3::bigint
    ) n CROSS JOIN LATERAL (SELECT i.* FROM pricetime.orders i WHERE i.id = n.order_id LIMIT 1) o
    ORDER BY n.sequence, n.place";

/// Those of an account behind a command, in order: so many at most.
pub(crate) async fn noted(session: &Session, given: &[Given<'_>; 3]) -> Told<Vec<NotedRow>> {
    Ok(each(&session.client.query(NOTED, given).await?, noted_row)?)
}

fn noted_row(fields: &mut Fields<'_>) -> Result<NotedRow, StoreError> {
    let (order, symbol, side) = (OrderId(fields.next()?), SymbolIndex(fields.next()?), side(fields.next()?));
    let kind: &str = fields.next()?;
    let trigger = fields.trigger()?;
    let what = match (kind == Kind::Triggered.name(), trigger) {
        (true, Some(trigger)) => Befell::Triggered(trigger),
        // A kind that this program does not know, or an order that waited for nothing.
        _ => return Err(StoreError::Unreadable { column: "notes.kind".to_owned() }),
    };
    let (time, sequence, place, next_execution) =
        (fields.next()?, Sequence(fields.next()?), fields.next()?, fields.next()?);
    Ok(NotedRow { order, symbol, side, what, time, sequence, place, next_execution })
}
