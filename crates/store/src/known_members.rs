//! The mark of a market with members in its database, which has the place of the file `members` in a data folder. This
//! file knows no member.

use crate::error::StoreError;
use crate::session::Session;

const MARK: &str = "UPDATE pricetime.market SET has_members = true WHERE NOT has_members";
const IS_MARKED: &str = "SELECT has_members FROM pricetime.market";

/// Notes that the market has members.
pub(crate) async fn mark(session: &Session) -> Result<(), StoreError> {
    session.run(MARK, "note that the market has members").await
}

/// Whether it is noted that the market has members.
pub(crate) async fn is_marked(session: &Session) -> Result<bool, StoreError> {
    let row = session.client.query_one(IS_MARKED, &[]).await;
    Ok(row.map_err(|error| session.error(&error, "read whether the market has members"))?.get(0))
}
