//! Deposits and withdrawals in a market that is kept in a database: sent again, and after a crash.

use crate::common::folder::Folder;
use crate::common::server::Launch;
use crate::common::transfers::check_transfers;

#[test]
fn a_transfer_with_a_number_is_made_once_in_a_database() {
    let database = crate::postgres::database();
    let folder = Folder::new("transfers-sql");
    let url = format!("postgres://postgres@127.0.0.1:{}/{}", database.port, database.name);
    check_transfers(&Launch::new(&folder.data()).in_database(&url));
}
