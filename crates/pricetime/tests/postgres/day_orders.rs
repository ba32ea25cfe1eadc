//! Orders that end with the day, on a server with a database.

use crate::common::day_orders;
use crate::common::folder::Folder;
use crate::common::server::Launch;

#[test]
fn an_order_on_a_database_ends_with_the_day_that_the_calendar_says() {
    let folder = Folder::new("postgres-day-orders");
    let database = crate::postgres::database();
    day_orders::check(folder.path(), || Launch::new(&folder.data()).in_database(database.url().secret()));
}
