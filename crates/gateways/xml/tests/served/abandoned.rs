//! Batches that come back without answers: their connections are closed, and no others.

use crate::support::{ABANDONED, opened, order, query, serve, settings};

#[test]
fn a_connection_without_an_answer_is_closed_once_it_has_what_was_answered_before() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&order(1));
    client.expect(&opened(1, 1));
    let mut other = served.client();
    client.send(&query(ABANDONED));
    client.expect_end();
    other.send(&order(2));
    other.expect(&opened(2, 2));
    served.gateway.wait_for_answered(3);
}

#[test]
fn what_came_back_before_it_is_written_first() {
    let served = serve(settings());
    served.shut();
    let mut client = served.client();
    client.send(&order(1));
    crate::support::eventually("the first batch waits", || served.batches() == 1);
    client.send(&query(ABANDONED));
    crate::support::eventually("the second batch waits", || served.batches() == 2);
    served.open();
    client.expect(&opened(1, 1));
    client.expect_end();
}

#[test]
fn what_stands_behind_it_on_its_connection_is_not_answered() {
    let served = serve(settings());
    served.shut();
    let mut client = served.client();
    client.send(&query(ABANDONED));
    crate::support::eventually("the first batch waits", || served.batches() == 1);
    client.send(&order(1));
    crate::support::eventually("the second batch waits", || served.batches() == 2);
    let mut other = served.client();
    other.send(&order(2));
    crate::support::eventually("the third batch waits", || served.batches() == 3);
    served.open();
    client.expect_end();
    other.expect(&opened(2, 2));
}
