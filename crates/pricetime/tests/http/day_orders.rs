//! Orders that end with the day, on a server with a data folder.

use crate::common::day_orders;
use crate::common::folder::Folder;
use crate::common::server::Launch;

#[test]
fn an_order_ends_with_the_day_that_the_calendar_says() {
    let folder = Folder::new("day-orders");
    day_orders::check(folder.path(), || Launch::new(&folder.data()));
}
