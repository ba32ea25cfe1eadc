//! Issues of shares over REST that are sent again, at once or in vain.

use crate::common::folder::Folder;
use crate::common::issues::check_issues;
use crate::common::server::Launch;

/// An operator whose answer was lost once issued the shares twice.
#[test]
fn an_issue_that_says_how_many_are_issued_is_done_once_and_a_refused_one_leaves_nothing() {
    let folder = Folder::new("issue-rest");
    check_issues(&Launch::new(&folder.data()));
}
