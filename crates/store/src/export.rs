//! Exports the market from its rows: state items for a snapshot, done orders for a history.

use terms::{DoneOrder, OrderId, StateItem};

use crate::column::Single;
use crate::error::StoreError;
use crate::history::Link;
use crate::load;
use crate::session::Session;
use crate::standing::Standing;

const ACTION: &str = "read done orders";
/// The number of orders looked up at once.
const PAGE: u64 = 10_000;

/// Selects the next ids of orders that are on no book.
const DONE_IDS: &str = "
    SELECT o.id FROM pricetime.orders o
    WHERE o.id >= $1 AND NOT EXISTS (SELECT FROM pricetime.resting r WHERE r.order_id = o.id)
    ORDER BY o.id LIMIT $2";

/// Visits the state at one moment.
pub(crate) async fn state(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<Standing, StoreError> {
    load::begin_snapshot(session).await?;
    let standing = load::visit_state(session, visit).await?;
    session.run("COMMIT", ACTION).await?;
    Ok(standing)
}

/// Visits the done orders from an id on, at one moment; returns their number.
pub(crate) async fn done_orders(
    session: Session,
    from: OrderId,
    visit: &mut impl FnMut(DoneOrder) -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    // Indexes are right here: a page is a small part of its table.
    session.run("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan", ACTION).await?;
    load::begin_snapshot(&session).await?;
    let link = Link::new(session).await?;
    let fail = |error| link.session().error(&error, ACTION);
    let ids = link.session().prepare(DONE_IDS, ACTION).await?;
    let (mut next, mut visited) = (from, 0);
    loop {
        let page = link.session().client.query(&ids, &[&Single(next.0), &Single(PAGE)]).await.map_err(fail)?;
        let page: Vec<OrderId> = page.iter().map(|row| OrderId(row.get::<_, i64>(0).unsigned_abs())).collect();
        let Some(last) = page.last() else { return Ok(visited) };
        next = OrderId(last.0 + 1);
        for done in link.done_orders(&page).await.map_err(fail)??.into_iter().flatten() {
            visited += 1;
            visit(done)?;
        }
    }
}
