//! The verdict on an episode: the answers fit one market, and all nodes have it in the end.

use std::collections::HashMap;

use serde_json::Value;

use super::pair::{Asked, ORDERS, Order, Pair, PairCall, Told};
use super::stage::{NODES, NodeCall, Stage, lock, shown};
use super::trader::{holdings_of, order_of};
use super::world::World;
use crate::common::checker::{Call, is_linearizable};
use crate::common::http::Http;

/// The fault of a history, if it has one. The promise for reads is weaker than for writes: all writes, whichever nodes
/// they went through, are as if done one after the other where their callers waited for them; a node's reads are as if
/// it did all these writes in that order, those of other nodes perhaps later than their callers know.
/// perhaps later than their callers know.
pub fn fault_of(history: &[NodeCall], read: &[PairCall]) -> Option<String> {
    let with = |calls: Vec<PairCall>| -> Vec<PairCall> { calls.into_iter().chain(read.iter().cloned()).collect() };
    let writes = history.iter().filter(|record| record.call.asked.changes());
    let writes: Vec<PairCall> = writes.map(|record| record.call.clone()).collect();
    if !is_linearizable(&Pair::default(), &with(writes)) {
        return Some("what all nodes did".to_owned());
    }
    let seen_by = |node: usize| history.iter().filter_map(move |record| seen(record, node)).collect();
    let wrong = (0..NODES).find(|node| !is_linearizable(&Pair::default(), &with(seen_by(*node))));
    wrong.map(|node| format!("what node {} told", node + 1))
}

/// A call as it may look to a node: another node's effects may reach this one at any later time.
fn seen(record: &NodeCall, node: usize) -> Option<PairCall> {
    let mut call = record.call.clone();
    if record.node == node {
        return Some(call);
    }
    if let Some((_, at)) = &mut call.told {
        *at = u64::MAX - 1;
    }
    call.asked.changes().then_some(call)
}

/// Reads all pairs of all nodes, and checks all histories. Panics if one is wrong. Returns the number of checked calls,
/// and of those with unknown effect.
pub fn check(stage: &Stage, world: &World) -> (usize, usize) {
    let nodes: Vec<Http> = world.nodes.iter().map(|node| Http::new(node.server.as_ref().unwrap().http)).collect();
    let (mut calls, mut open) = (0, 0);
    for pair in stage.asked_pairs() {
        let all: Vec<Vec<Told>> = nodes.iter().map(|node| read(stage, pair, node)).collect();
        let history = lock(&stage.histories[pair]).clone();
        let tell = |what: String| format!("pair {pair}: {what}{}", shown(history.clone()));
        assert!(all.iter().all(|told| *told == all[0]), "{}", tell(format!("nodes end with {all:?}")));
        let now = u64::MAX;
        let asked = (0..ORDERS).map(Asked::Look).chain((0..2).map(Asked::Account));
        let read = asked.zip(&all[0]).map(|(asked, told)| Call { asked, from: now, told: Some((*told, now)) });
        let read: Vec<PairCall> = read.collect();
        if let Some(what) = fault_of(&history, &read) {
            panic!("{}", tell(format!("{what} is not what one market would; it ends with {:?}", all[0])));
        }
        calls += history.len();
        open += history.iter().filter(|record| record.call.told.is_none()).count();
    }
    (calls, open)
}

/// The orders of a pair, and the holdings of its accounts. Panics if an order is there twice, or under another number
/// than in its answer.
fn read(stage: &Stage, pair: usize, node: &Http) -> Vec<Told> {
    let mut found: HashMap<usize, Order> = HashMap::new();
    let numbers = lock(&stage.numbers);
    for account in 0..2 {
        let listed = node.read(&format!("/api/v1/accounts/{}/orders?status=all", stage.account(pair, account)));
        for order in listed["orders"].as_array().unwrap() {
            let name: usize = order["client_order_id"].as_str().unwrap().parse().unwrap();
            assert!(name % 2 == account && name < ORDERS, "nobody asked for {order}");
            assert!(found.insert(name, order_of(order)).is_none(), "order {name} is there twice: {listed}");
            let told = numbers.get(&(pair, name)).map(|number| Value::from(*number));
            assert!(told.is_none_or(|told| told == order["order_id"]), "its number was told otherwise: {order}");
        }
    }
    let orders = (0..ORDERS).map(|order| found.get(&order).map_or(Told::Unknown, |order| Told::Is(*order)));
    let accounts = (0..2).map(|account| {
        Told::Has(holdings_of(&node.read(&format!("/api/v1/accounts/{}", stage.account(pair, account)))))
    });
    orders.chain(accounts).collect()
}
