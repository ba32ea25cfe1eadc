//! The audit after a restart: finds out whether unanswered requests took effect, and compares everything that was ever
//! acknowledged with the server's answers now.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::workload::Random;
use serde_json::Value;

use super::client::{Client, frame};
use super::decimal;
use super::orders::{Order, SYMBOLS, digest};
use super::reply::{Element, Status};
use super::server::Server;
use super::trader::{Item, Request, Trader, count_executions};

/// The number of queries in a request, and of requests sent before the first is answered.
const QUERIES: usize = 100;
const WINDOW: usize = 16;

/// The ids of all known orders.
#[derive(Default)]
pub struct KnownOrders(Vec<bool>);

/// The fate of unanswered requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unanswered {
    pub applied: usize,
    pub not_applied: usize,
}

impl KnownOrders {
    fn add(&mut self, id: u64, next_order: u64) {
        assert!(id < next_order, "order {id} was acknowledged and is lost: the next is {next_order}");
        let place = id as usize;
        if self.0.len() <= place {
            self.0.resize(place + 1, false);
        }
        assert!(!std::mem::replace(&mut self.0[place], true), "order id {id} was given twice");
    }

    fn unknown(&self, next_order: u64) -> Vec<u64> {
        (1..next_order).filter(|&id| !self.0.get(id as usize).copied().unwrap_or(false)).collect()
    }
}

/// Checks everything: acknowledged orders and their earlier statuses, unanswered requests, balances, positions and
/// totals. `sample` bounds how many done orders of each trader are queried.
pub fn audit(server: &Server, traders: &mut [Trader], known: &mut KnownOrders, sample: usize, seed: u64) -> Unanswered {
    let state = server.state();
    let mut client = server.client();
    let unanswered = settle(&mut client, &state, traders, known);
    let mut random = Random::new(seed);
    for trader in traders.iter_mut() {
        check_orders(&mut client, trader, sample, &mut random);
    }
    check_executions(traders);
    check_state(&state, traders);
    unanswered
}

/// Decides for every unanswered request whether it took effect, whole or not at all.
fn settle(client: &mut Client, state: &Value, traders: &mut [Trader], known: &mut KnownOrders) -> Unanswered {
    let next_order = state["next_order"].as_u64().unwrap();
    for id in traders.iter_mut().flat_map(|trader| std::mem::take(&mut trader.new_ids)) {
        known.add(id, next_order);
    }
    let mut orphans = known.unknown(next_order);
    let accounts: BTreeSet<&str> =
        state["accounts"].as_array().unwrap().iter().map(|account| account["id"].as_str().unwrap()).collect();
    let mut unanswered = Unanswered::default();
    for trader in traders.iter_mut() {
        let found = claim(client, trader, &mut orphans);
        let one = resolve(client, trader, found, &accounts);
        unanswered.applied += one.applied;
        unanswered.not_applied += one.not_applied;
        for id in std::mem::take(&mut trader.new_ids) {
            known.add(id, next_order);
        }
    }
    assert!(orphans.is_empty(), "orders {orphans:?} belong to nobody who asked for them");
    unanswered
}

/// The orphans that belong to accounts with unanswered requests, by their shares.
fn claim(client: &mut Client, trader: &Trader, orphans: &mut Vec<u64>) -> HashMap<i64, (u64, usize, Status)> {
    let asked = trader.pending.iter().flat_map(|request| &request.items);
    let accounts: BTreeSet<usize> =
        asked.filter_map(|item| if let Item::Order(placed) = item { Some(placed.account) } else { None }).collect();
    let mut found = HashMap::new();
    for account in accounts {
        let statuses = statuses(client, &trader.accounts[account].id, orphans);
        for (id, status) in orphans.iter().zip(&statuses) {
            if let Some(status) = status {
                let before = found.insert(status.placed(), (*id, account, status.clone()));
                assert!(before.is_none(), "orders {id} and {before:?} are one request's, twice");
            }
        }
        let mut mine = statuses.iter().map(Option::is_some);
        orphans.retain(|_| !mine.next().unwrap_or(false));
    }
    found
}

fn resolve(
    client: &mut Client,
    trader: &mut Trader,
    mut found: HashMap<i64, (u64, usize, Status)>,
    accounts: &BTreeSet<&str>,
) -> Unanswered {
    let mut unanswered = Unanswered::default();
    let mut reply_began = std::mem::take(&mut trader.reply_began);
    for request in std::mem::take(&mut trader.pending) {
        let canceled = cancel_statuses(client, trader, &request);
        let verdicts = request.items.iter().filter_map(|item| match item {
            Item::Create(account) => Some(accounts.contains(account.id.as_str())),
            Item::Order(placed) => {
                Some(found.get(&placed.shares).is_some_and(|(_, owner, _)| *owner == placed.account))
            }
            Item::Cancel(id) if canceled[id].open > 0 => Some(false),
            Item::Cancel(id) => canceled[id].canceled.map(|_| true),
            Item::Refused | Item::Query(_) | Item::QueryDone(_) => None,
        });
        let verdicts: BTreeSet<bool> = verdicts.collect();
        assert!(verdicts.len() <= 1, "a request is there in part: {request:?}; {found:?}; {canceled:?}");
        assert!(!(reply_began && verdicts.contains(&false)), "its reply had begun, and it is not there: {request:?}");
        reply_began = false;
        match verdicts.first() {
            Some(true) => {
                assert_eq!(unanswered.not_applied, 0, "an earlier request of its connection is not there: {request:?}");
                unanswered.applied += 1;
            }
            Some(false) => unanswered.not_applied += 1,
            None => {}
        }
        adopt(trader, request, verdicts.contains(&true), &mut found, canceled);
    }
    assert!(found.is_empty(), "orders that were answered or never asked for are there again: {found:?}");
    unanswered
}

/// Treats an unanswered request as answered, if it took effect.
fn adopt(
    trader: &mut Trader,
    request: Request,
    applied: bool,
    found: &mut HashMap<i64, (u64, usize, Status)>,
    canceled: BTreeMap<u64, Status>,
) {
    let mut last_id = None;
    for item in request.items {
        match item {
            Item::Create(account) if applied => trader.accounts.push(account),
            Item::Order(placed) if applied => {
                let (id, _, status) = found.remove(&placed.shares).expect("found above");
                assert!(last_id.is_none_or(|last| id == last + 1), "orders of one request are not in a row: {id}");
                last_id = Some(id);
                trader.add(id, Order { cancel_sent: false, ..Order::new(placed) });
                trader.look(id, status);
            }
            Item::Cancel(id) => {
                let status = canceled[&id].clone();
                if status.open > 0
                    && let Some(order) = trader.live.get_mut(&id)
                {
                    order.cancel_sent = false;
                }
                trader.look(id, status);
            }
            Item::Create(_) | Item::Order(_) | Item::Refused | Item::Query(_) | Item::QueryDone(_) => {}
        }
    }
}

fn cancel_statuses(client: &mut Client, trader: &Trader, request: &Request) -> BTreeMap<u64, Status> {
    let targets = request.items.iter().filter_map(|item| if let Item::Cancel(id) = item { Some(*id) } else { None });
    let ask = |id: u64| {
        let account = match trader.live.get(&id) {
            Some(order) => order.placed.account,
            None => trader.done.iter().rev().find(|done| done.id == id).expect("an order of this trader").account,
        };
        let status = statuses(client, &trader.accounts[account].id, &[id]).remove(0);
        (id, status.unwrap_or_else(|| panic!("order {id} was acknowledged and is lost")))
    };
    targets.map(ask).collect()
}

/// Queries all live orders and some done ones.
fn check_orders(client: &mut Client, trader: &mut Trader, sample: usize, random: &mut Random) {
    for account in 0..trader.accounts.len() {
        let name = trader.accounts[account].id.clone();
        let live = trader.live.iter().filter(|(_, order)| order.placed.account == account);
        let live: Vec<u64> = live.map(|(id, _)| *id).collect();
        for (&id, status) in live.iter().zip(statuses(client, &name, &live)) {
            let status = status.unwrap_or_else(|| panic!("order {id} was acknowledged and is lost"));
            trader.look(id, status);
        }
        let places: Vec<usize> = if trader.done.len() <= sample {
            (0..trader.done.len()).collect()
        } else {
            (0..sample).map(|_| random.below(trader.done.len())).collect()
        };
        let done: Vec<_> = places.iter().map(|&place| trader.done[place]).filter(|d| d.account == account).collect();
        let ids: Vec<u64> = done.iter().map(|done| done.id).collect();
        for (done, status) in done.iter().zip(statuses(client, &name, &ids)) {
            let status = status.unwrap_or_else(|| panic!("order {} was acknowledged and is lost", done.id));
            assert_eq!(digest(&status), done.digest, "done order {} changed to {status:?}", done.id);
        }
    }
}

/// Checks that all bought shares were sold, at the same price and time.
fn check_executions(traders: &[Trader]) {
    let mut traded: BTreeMap<(usize, i64, u64), i128> = BTreeMap::new();
    for trader in traders {
        for (key, shares) in &trader.traded {
            *traded.entry(*key).or_default() += shares;
        }
        for order in trader.live.values() {
            count_executions(&mut traded, &order.placed, order.seen.as_ref().expect("all were asked for"));
        }
    }
    traded.retain(|_, shares| *shares != 0);
    assert!(traded.is_empty(), "bought and not sold, or the other way round: {traded:?}");
}

/// Checks that balances, positions, open orders and totals follow from the orders.
fn check_state(state: &Value, traders: &[Trader]) {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value} is no string")).to_string();
    let told: HashMap<String, &Value> =
        state["accounts"].as_array().unwrap().iter().map(|account| (text(&account["id"]), account)).collect();
    assert_eq!(told.len(), traders.iter().map(|trader| trader.accounts.len()).sum::<usize>(), "accounts");
    for trader in traders {
        for (index, account) in trader.accounts.iter().enumerate() {
            let told = told.get(&account.id).unwrap_or_else(|| panic!("account {} is lost", account.id));
            check_account(told, trader, index);
        }
    }
    let totals = &state["totals"];
    let accounts = || traders.iter().flat_map(|trader| &trader.accounts);
    let created: i128 = accounts().map(|account| account.created).sum();
    assert_eq!(decimal::money(&text(&totals["money"])), created, "money is made or lost");
    for symbol in totals["symbols"].as_array().unwrap() {
        let place = SYMBOLS.iter().position(|name| *name == text(&symbol["symbol"])).expect("a symbol of the test");
        let issued: i128 = accounts().map(|account| account.issued[place]).sum();
        let (shares, held) = (decimal::units(&text(&symbol["shares"]), 8), decimal::units(&text(&symbol["held"]), 8));
        assert_eq!(decimal::units(&text(&symbol["issued"]), 8), issued, "shares of {}", SYMBOLS[place]);
        assert_eq!(shares + held, issued, "shares of {} are made or lost", SYMBOLS[place]);
    }
    let open: BTreeMap<u64, i64> = traders
        .iter()
        .flat_map(|trader| &trader.live)
        .map(|(id, order)| (*id, order.seen.as_ref().expect("all were asked for").open))
        .collect();
    let told: BTreeMap<u64, i64> = state["orders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| (order["id"].as_u64().unwrap(), decimal::shares(&text(&order["open"]))))
        .collect();
    assert_eq!(told, open, "open orders");
}

fn check_account(told: &Value, trader: &Trader, index: usize) {
    let account = &trader.accounts[index];
    let (mut balance, mut shares) = (account.created + account.money_traded, account.issued);
    let (mut held, mut shares_held) = (0, [0; SYMBOLS.len()]);
    for (symbol, traded) in account.shares_traded.iter().enumerate() {
        shares[symbol] += traded;
    }
    for Order { placed, seen, .. } in trader.live.values().filter(|order| order.placed.account == index) {
        let status = seen.as_ref().expect("all were asked for");
        let (traded, held_now) = (placed.traded(status), placed.held(status));
        balance += traded.0 - held_now.0;
        held += held_now.0;
        shares[placed.symbol] += traded.1 - held_now.1;
        shares_held[placed.symbol] += held_now.1;
    }
    let money = |name: &str| decimal::money(told[name].as_str().unwrap());
    assert_eq!((money("balance"), money("held")), (balance, held), "account {}: balance and held", account.id);
    for (symbol, name) in SYMBOLS.iter().enumerate() {
        let position = told["positions"].as_array().unwrap().iter().find(|position| position["symbol"] == *name);
        let units = |field: &str| position.map_or(0, |position| decimal::units(position[field].as_str().unwrap(), 8));
        let told = (units("shares"), units("held"));
        assert_eq!(told, (shares[symbol], shares_held[symbol]), "account {}: {name} and held", account.id);
    }
}

/// The status of each order; none where the account does not know it.
pub fn statuses(client: &mut Client, account: &str, ids: &[u64]) -> Vec<Option<Status>> {
    let mut statuses = Vec::with_capacity(ids.len());
    let requests: Vec<&[u64]> = ids.chunks(QUERIES).collect();
    for window in requests.chunks(WINDOW) {
        let mut bytes = Vec::new();
        for ids in window {
            let queries: String = ids.iter().map(|id| format!("<query id=\"{id}\"/>")).collect();
            bytes.extend(frame(&format!("<transactions id=\"{account}\">{queries}</transactions>")));
        }
        client.send(&bytes).unwrap();
        for ids in window {
            let reply = client.reply().unwrap();
            let elements = Element::parse(&reply).children;
            assert_eq!(elements.len(), ids.len(), "{reply}");
            for (element, id) in elements.iter().zip(*ids) {
                assert_eq!(element.get("id"), id.to_string(), "{reply}");
                statuses.push((element.name == "status").then(|| Status::of(element)));
            }
        }
    }
    statuses
}
