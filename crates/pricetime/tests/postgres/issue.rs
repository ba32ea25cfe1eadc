//! Issues of shares that are sent again, at once or in vain, in a market that is kept in a database.

use crate::common::folder::Folder;
use crate::common::issues::check_issues;
use crate::common::server::Launch;

#[test]
fn an_issue_that_says_how_many_are_issued_is_done_once_in_a_database() {
    let database = crate::postgres::database();
    let folder = Folder::new("issue-sql");
    let url = format!("postgres://postgres@127.0.0.1:{}/{}", database.port, database.name);
    check_issues(&Launch::new(&folder.data()).in_database(&url));
}
