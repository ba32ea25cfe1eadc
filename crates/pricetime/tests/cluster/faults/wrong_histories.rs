//! Tests of the checks, which must be able to fail: histories of a wrong cluster.

use super::pair::{Asked, DOLLARS, Holdings, Order, PRICE, PairCall, SHARES, Told};
use super::stage::NodeCall;
use super::verdict::fault_of;
use crate::common::checker::Call;

fn call(node: usize, asked: Asked, from: u64, told: Told) -> NodeCall {
    NodeCall { node, call: Call { asked, from, told: Some((told, from + 10)) } }
}

fn unknown(node: usize, asked: Asked, from: u64) -> NodeCall {
    NodeCall { node, call: Call { asked, from, told: None } }
}

fn read(asked: Asked, told: Told) -> PairCall {
    Call { asked, from: u64::MAX, told: Some((told, u64::MAX)) }
}

fn is_right(history: &[NodeCall], end: &[PairCall]) -> bool {
    fault_of(history, end).is_none()
}

#[test]
fn an_acknowledged_order_that_is_missing_is_found() {
    let placed = call(0, Asked::Place(0), 0, Told::Placed);
    assert!(is_right(std::slice::from_ref(&placed), &[read(Asked::Look(0), Told::Is(Order::Open))]));
    assert!(!is_right(&[placed], &[read(Asked::Look(0), Told::Unknown)]));
    // An order without an answer may exist or not.
    let sent = [unknown(0, Asked::Place(0), 0)];
    assert!(is_right(&sent, &[read(Asked::Look(0), Told::Is(Order::Open))]));
    assert!(is_right(&sent, &[read(Asked::Look(0), Told::Unknown)]));
    assert!(!is_right(&[], &[read(Asked::Look(0), Told::Is(Order::Open))]), "nobody asked for it");
}

#[test]
fn a_node_may_be_behind_another_one_and_never_behind_itself() {
    let placed = call(0, Asked::Place(0), 0, Told::Placed);
    let canceled = call(0, Asked::Cancel(0), 20, Told::Canceled);
    let end = [read(Asked::Look(0), Told::Is(Order::Canceled))];
    let open = Told::Is(Order::Open);
    let with = |more: &[NodeCall]| [&[placed.clone(), canceled.clone()], more].concat();
    assert!(is_right(&with(&[call(1, Asked::Look(0), 40, open)]), &end), "node 2 is behind");
    assert!(!is_right(&with(&[call(0, Asked::Look(0), 40, open)]), &end), "node 1 canceled it itself");
    let back = [call(1, Asked::Look(0), 40, Told::Is(Order::Canceled)), call(1, Asked::Look(0), 60, open)];
    assert!(!is_right(&with(&back), &end), "node 2 goes back");
    let own = [call(1, Asked::Cancel(0), 40, Told::NothingOpen), call(1, Asked::Look(0), 60, open)];
    assert!(!is_right(&with(&own), &end), "node 2 wrote behind the cancel, and so has taken it");
    assert!(!is_right(&with(&[call(1, Asked::Cancel(0), 40, Told::Canceled)]), &end), "writes are never behind");
}

#[test]
fn a_command_done_twice_and_an_order_of_two_nodes_orders_are_found() {
    let has = |sold: i64| {
        Told::Has(Holdings { dollars: DOLLARS + PRICE * sold, dollars_held: 0, shares: SHARES - sold, shares_held: 0 })
    };
    let history = [call(0, Asked::Place(0), 0, Told::Placed), call(1, Asked::Place(1), 20, Told::Placed)];
    assert!(is_right(&history, &[read(Asked::Account(0), has(1))]));
    assert!(!is_right(&history, &[read(Asked::Account(0), has(2))]), "it was sold once");
    // The first sell must execute first, whichever node the second one went through.
    let history = [
        call(0, Asked::Place(0), 0, Told::Placed),
        call(1, Asked::Place(2), 20, Told::Placed),
        call(2, Asked::Place(1), 40, Told::Placed),
    ];
    let look = |order, told| read(Asked::Look(order), Told::Is(told));
    assert!(is_right(&history, &[look(0, Order::Executed), look(2, Order::Open)]));
    assert!(!is_right(&history, &[look(0, Order::Open), look(2, Order::Executed)]));
}
