//! Parts of orders, cancellations and executions, by ranges of ids. The writer makes a part before a batch has rows for
//! it, so no batch fails for lack of one. retention.rs removes parts.

use crate::column::Single;
use crate::effects::Head;
use crate::fields::Fields;
use crate::session::Session;
use crate::standing::Epoch;

/// The first ids without a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartEnds {
    order: u64,
    execution: u64,
}

const ENDS: &str = "
    SELECT max(ends) FILTER (WHERE rows_of = 'orders'), max(ends) FILTER (WHERE rows_of = 'executions') FROM pricetime.parts";
const MAKE: &str = "SELECT orders_end, executions_end FROM pricetime.make_parts($1::bigint, $2::bigint, $3::bigint)";

impl PartEnds {
    /// Whether all rows before `head` have their part.
    pub(crate) fn have_room_for(&self, head: &Head) -> bool {
        head.next_order.0 <= self.order && head.next_execution <= self.execution
    }

    /// Reads the ends. A part that cannot be read ends before all ids, so that the writer asks for it again.
    fn of(row: &tokio_postgres::Row) -> PartEnds {
        let mut fields = Fields::of(row);
        let mut end = || fields.next().unwrap_or(0);
        PartEnds { order: end(), execution: end() }
    }
}

/// The ends of the parts.
pub(crate) async fn ends(session: &Session) -> Result<PartEnds, tokio_postgres::Error> {
    Ok(PartEnds::of(&session.client.query_typed_one(ENDS, &[]).await?))
}

/// Makes the parts that rows before `head` need, and returns their ends. It waits for no reader or writer.
pub(crate) async fn make(session: &Session, epoch: Epoch, head: &Head) -> Result<PartEnds, tokio_postgres::Error> {
    let given = [Single(epoch.0), Single(head.next_order.0), Single(head.next_execution)];
    let row = session.client.query_one(MAKE, &[&given[0], &given[1], &given[2]]).await?;
    Ok(PartEnds::of(&row))
}
