//! Clients of two servers of one market, over all interfaces: their calls and answers go into a history.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::workload::Random;
use serde_json::{Value, json};
use tungstenite::Message;

use super::account::{AccountCall, Asked, ORDERS, Order, Told};
use crate::common::checker::{CALLS_MAX, Call};
use crate::common::client::Client;
use crate::common::once::{connect, exchange};
use crate::common::reply::{Element, Status};
use crate::common::server::PATIENCE;

/// The number of accounts that one request creates.
const CREATED_TOGETHER: usize = 8_000;
/// The calls of an account.
pub const CALLS: usize = 48;

/// The addresses of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub xml: SocketAddr,
    pub http: SocketAddr,
}

/// State that the clients share.
pub struct Stage {
    began: Instant,
    /// The servers that are known to serve, the newest last.
    pub targets: Mutex<Vec<Target>>,
    ended: AtomicBool,
    calls: AtomicUsize,
    history: Vec<Mutex<Vec<AccountCall>>>,
    /// The orders' numbers in the market, by account and order, as far as they are known.
    numbers: Mutex<HashMap<(usize, usize), u64>>,
}

/// The result of a call.
enum Outcome {
    Told(Told),
    /// The call was refused, or not sent, and had no effect.
    Nothing,
    /// The call may have had an effect or not.
    Unknown,
}

/// An interface to ask over.
#[derive(Clone, Copy)]
enum Way {
    Xml,
    Rest,
    /// The interfaces that show all orders: the account, the open orders, all orders, the snapshot of a WebSocket.
    Account,
    OpenOrders,
    AllOrders,
    Snapshot,
}

pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// Makes a stage of so many accounts, which exist from the beginning. Clients move from one to the next as each
    /// gets its share of calls.
    pub fn new(first: Target, accounts: usize) -> Stage {
        Stage {
            began: Instant::now(),
            targets: Mutex::new(vec![first]),
            ended: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            history: (0..accounts).map(|_| Mutex::new(Vec::new())).collect(),
            numbers: Mutex::new(HashMap::new()),
        }
    }

    /// The requests that create the accounts.
    pub fn creation(accounts: usize) -> Vec<String> {
        let numbers: Vec<usize> = (1..=accounts).collect();
        let creates = numbers.chunks(CREATED_TOGETHER).map(|numbers| {
            let accounts: String =
                numbers.iter().map(|number| format!("<account id=\"{number}\" balance=\"1000\"/>")).collect();
            format!("<create>{accounts}</create>")
        });
        let symbol = "<create><symbol sym=\"SPY\"><account id=\"1\">1</account></symbol></create>".to_owned();
        creates.chain([symbol]).collect()
    }

    /// The number of calls so far.
    #[allow(dead_code, reason = "the soak reports it")]
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// The number of calls that there are accounts for.
    #[allow(dead_code, reason = "the soak asks for it")]
    pub fn calls_max(&self) -> usize {
        self.history.len() * CALLS
    }

    /// The calls of each account.
    pub fn history(&self) -> impl Iterator<Item = (usize, Vec<AccountCall>)> {
        self.history.iter().map(|calls| lock(calls).clone()).enumerate().filter(|(_, calls)| !calls.is_empty())
    }

    /// A guard that ends the calls when it is dropped.
    pub fn ending(&self) -> Ending<'_> {
        Ending(self)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap()
    }
}

/// See `Stage::ending`.
pub struct Ending<'a>(&'a Stage);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

/// A client of the servers.
pub struct Caller<'a> {
    stage: &'a Stage,
    random: Random,
    /// Whether it asks the server that took over, and also changes things. Otherwise it only looks, and mostly asks the
    /// server before that one.
    follows: bool,
    connections: HashMap<SocketAddr, Client>,
}

impl<'a> Caller<'a> {
    pub fn new(stage: &'a Stage, seed: u64, follows: bool) -> Caller<'a> {
        Caller { stage, random: Random::new(seed), follows, connections: HashMap::new() }
    }

    /// Asks until it is told to end.
    pub fn run(mut self) {
        while !self.stage.ended.load(Ordering::Relaxed) {
            let account = self.stage.calls.load(Ordering::Relaxed) / CALLS;
            if account >= self.stage.history.len() {
                return;
            }
            self.call(account);
            std::thread::sleep(Duration::from_micros(self.random.below(4_000) as u64));
        }
    }

    fn call(&mut self, account: usize) {
        let Some(target) = self.target() else { return };
        // The followers change what the other clients look at.
        let (order, roll) = (self.random.below(ORDERS), self.random.below(100).max(if self.follows { 0 } else { 35 }));
        let by_number = self.random.percent(50) && lock(&self.stage.numbers).contains_key(&(account, order));
        let way = if by_number { Way::Xml } else { Way::Rest };
        let (asked, way) = match roll {
            0..20 => (Asked::Place(order), Way::Rest),
            20..35 => (Asked::Cancel(order), way),
            35..70 => (Asked::Look(order), way),
            _ => {
                let ways = [Way::Account, Way::OpenOrders, Way::AllOrders, Way::Snapshot];
                (Asked::LookAtAll, self.random.pick(&ways))
            }
        };
        let from = self.stage.now();
        let outcome = self.ask(target, account, asked, way);
        let at = self.stage.now();
        let told = match outcome {
            Outcome::Told(told) => Some((told, at)),
            // A query without an answer tells nothing, so it is left out.
            Outcome::Unknown if matches!(asked, Asked::Place(_) | Asked::Cancel(_)) => None,
            Outcome::Unknown | Outcome::Nothing => return,
        };
        let mut calls = lock(&self.stage.history[account]);
        // Other clients may have chosen the same account, and the checker can examine only so many calls together.
        if calls.len() < CALLS_MAX {
            calls.push(Call { asked, from, told });
        }
        self.stage.calls.fetch_add(1, Ordering::Relaxed);
    }

    fn target(&mut self) -> Option<Target> {
        let newest = self.random.percent(if self.follows { 100 } else { 10 });
        let targets = lock(&self.stage.targets);
        if newest { targets.last().copied() } else { targets.first().copied() }
    }

    fn ask(&mut self, target: Target, account: usize, asked: Asked, way: Way) -> Outcome {
        match way {
            Way::Xml => self.over_xml(target, account, asked),
            Way::Snapshot => snapshot(target.http, account).map_or(Outcome::Unknown, of_open),
            Way::Rest | Way::Account | Way::OpenOrders | Way::AllOrders => self.over_rest(target, account, asked, way),
        }
    }

    fn over_xml(&mut self, target: Target, account: usize, asked: Asked) -> Outcome {
        let (order, verb) = match asked {
            Asked::Cancel(order) => (order, "cancel"),
            Asked::Look(order) => (order, "query"),
            Asked::Place(_) | Asked::LookAtAll => unreachable!("not over XML"),
        };
        let number = lock(&self.stage.numbers)[&(account, order)];
        let request = format!("<transactions id=\"{}\"><{verb} id=\"{number}\"/></transactions>", account + 1);
        let Some(client) = self.connection(target.xml) else { return Outcome::Nothing };
        let reply = client.send_request(&request).ok().and_then(|()| client.reply().ok());
        let Some(reply) = reply else {
            self.connections.remove(&target.xml);
            return Outcome::Unknown;
        };
        let element = Element::parse(&reply).children.remove(0);
        match (element.name.as_str(), element.text.as_str()) {
            ("canceled", _) => Outcome::Told(Told::Canceled),
            ("status", _) => {
                let status = Status::of(&element);
                Outcome::Told(Told::Is(if status.open > 0 { Order::Open } else { Order::Canceled }))
            }
            (_, "Order has nothing open to cancel") => Outcome::Told(Told::NothingOpen),
            (_, "Unknown order") => Outcome::Told(Told::Unknown),
            (_, text) if text.contains("store is away") => Outcome::Nothing,
            _ => panic!("{reply}"),
        }
    }

    fn over_rest(&mut self, target: Target, account: usize, asked: Asked, way: Way) -> Outcome {
        let id = account + 1;
        let named = |order: usize| format!("/api/v1/orders/by-client-id/{order}?account={id}");
        let (method, path, body) = match (asked, way) {
            (Asked::Place(order), _) => {
                let body = json!({"account": id.to_string(), "symbol": "SPY", "side": "buy", "limit": "1",
                    "shares": (1 << order).to_string(), "client_order_id": order.to_string()});
                ("POST", "/api/v1/orders".to_owned(), Some(body))
            }
            (Asked::Cancel(order), _) => ("DELETE", named(order), None),
            (Asked::Look(order), _) => ("GET", named(order), None),
            (Asked::LookAtAll, Way::OpenOrders) => ("GET", format!("/api/v1/accounts/{id}/orders"), None),
            (Asked::LookAtAll, Way::AllOrders) => ("GET", format!("/api/v1/accounts/{id}/orders?status=all"), None),
            (Asked::LookAtAll, _) => ("GET", format!("/api/v1/accounts/{id}"), None),
        };
        let Ok(stream) = connect(target.http) else { return Outcome::Nothing };
        let Some((status, told)) = exchange(stream, method, &path, body.as_ref()) else { return Outcome::Unknown };
        match (status, told["code"].as_str(), asked, way) {
            (504, ..) => Outcome::Unknown,
            (503, Some("store-away" | "not-ready"), ..) => Outcome::Nothing,
            (404, Some("unknown-order"), ..) => Outcome::Told(Told::Unknown),
            (409, Some("nothing-open"), ..) => Outcome::Told(Told::NothingOpen),
            (200 | 201, _, Asked::Place(order), _) => {
                let number = told["order_id"].as_u64().unwrap();
                let before = lock(&self.stage.numbers).insert((account, order), number);
                assert!(before.is_none_or(|before| before == number), "two orders of one name: {told}");
                Outcome::Told(Told::Placed)
            }
            (200, _, Asked::Cancel(_), _) => Outcome::Told(Told::Canceled),
            (200, _, Asked::Look(_), _) => Outcome::Told(Told::Is(match told["status"].as_str() {
                Some("open") => Order::Open,
                _ => Order::Canceled,
            })),
            // The account shows what is held, and each order's hold is a bit of its own.
            (200, _, Asked::LookAtAll, Way::Account) => {
                Outcome::Told(Told::Open(told["held"].as_str().unwrap().parse().unwrap()))
            }
            (200, _, Asked::LookAtAll, _) => of_open(told),
            _ => panic!("{method} {path}: {status} {told}"),
        }
    }

    fn connection(&mut self, xml: SocketAddr) -> Option<&mut Client> {
        match self.connections.entry(xml) {
            Entry::Occupied(open) => Some(open.into_mut()),
            Entry::Vacant(none) => Some(none.insert(Client::connect(xml, PATIENCE).ok()?)),
        }
    }
}

/// The open ones of the shown orders.
fn of_open(shown: Value) -> Outcome {
    let orders = shown["orders"].as_array().unwrap().iter();
    let open = orders.filter(|order| order["status"] == "open");
    let bits = open.map(|order| order["shares"].as_str().unwrap().parse::<u8>().unwrap());
    Outcome::Told(Told::Open(bits.sum()))
}

/// The snapshot that a WebSocket shows when it subscribes to an account's orders. None when the subscription is
/// refused, or the connection ends.
fn snapshot(http: SocketAddr, account: usize) -> Option<Value> {
    let stream = connect(http).ok()?;
    let (mut socket, _) = tungstenite::client(format!("ws://{http}/ws/v1"), stream).ok()?;
    let wanted = json!({"op": "subscribe", "id": 1, "channel": "orders", "account": (account + 1).to_string()});
    socket.send(Message::text(wanted.to_string())).ok()?;
    loop {
        let Message::Text(text) = socket.read().ok()? else { continue };
        let message: Value = serde_json::from_str(&text).unwrap();
        match message["type"].as_str() {
            Some("snapshot") => return Some(message),
            Some("error") => {
                assert!(["store-away", "not-ready"].contains(&message["code"].as_str().unwrap()), "{message}");
                return None;
            }
            _ => {}
        }
    }
}
