//! A client of all nodes: it asks its own one, and another one when that does not answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::time::Duration;

use model::workload::Random;
use serde_json::{Value, json};

use super::pair::{Asked, Holdings, ORDERS, Order, PRICE, Told};
use super::stage::{NODES, Stage, Target, lock};
use crate::common::checker::Call;
use crate::common::client::Client;
use crate::common::once::{connect, exchange};
use crate::common::reply::{Element, Status};

/// The time after which a client asks another node.
const PATIENCE: Duration = Duration::from_secs(8);

/// The outcome of a request.
enum Outcome {
    Told(Told),
    /// The request was refused, or not sent: it has no effect.
    Nothing,
    /// The effect is unknown.
    Unknown,
}

pub struct Trader<'a> {
    stage: &'a Stage,
    random: Random,
    node: usize,
    home: usize,
    connections: HashMap<SocketAddr, Client>,
    /// The time since when it has no answer.
    waits_since: Option<u64>,
}

impl<'a> Trader<'a> {
    pub fn new(stage: &'a Stage, seed: u64, home: usize) -> Trader<'a> {
        let (node, connections) = (home, HashMap::new());
        Trader { stage, random: Random::new(seed), node, home, connections, waits_since: None }
    }

    /// Makes calls until the episode is over.
    pub fn run(mut self) {
        while let Some(pair) = self.stage.pair() {
            self.call(pair);
            std::thread::sleep(Duration::from_micros(self.random.below(6_000) as u64));
        }
    }

    fn call(&mut self, pair: usize) {
        if self.random.percent(5) {
            self.node = self.home;
        }
        let order = self.random.below(ORDERS);
        let asked = match self.random.below(100) {
            0..35 => Asked::Place(order),
            35..50 => Asked::Cancel(order),
            50..80 => Asked::Look(order),
            _ => Asked::Account(order % 2),
        };
        if asked.changes() && !self.stage.has_room(pair) {
            return;
        }
        let (node, target) = (self.node, lock(&self.stage.targets)[self.node]);
        let from = self.stage.now();
        let outcome = self.ask(target, pair, asked);
        let at = self.stage.now();
        let told = match outcome {
            Outcome::Told(told) => {
                self.stage.waited(at - self.waits_since.take().unwrap_or(from));
                Some((told, at))
            }
            Outcome::Unknown | Outcome::Nothing => {
                self.waits_since.get_or_insert(from);
                self.node = (self.node + 1) % NODES;
                // A read without an answer leaves nothing to know.
                if matches!(outcome, Outcome::Nothing) || !asked.changes() {
                    return;
                }
                None
            }
        };
        self.stage.keep(pair, node, Call { asked, from, told });
    }

    fn ask(&mut self, target: Target, pair: usize, asked: Asked) -> Outcome {
        let number = match asked {
            Asked::Place(_) | Asked::Account(_) => None,
            Asked::Cancel(order) | Asked::Look(order) => lock(&self.stage.numbers).get(&(pair, order)).copied(),
        };
        match (asked, number) {
            (Asked::Account(_), _) => self.over_rest(target, pair, asked),
            (Asked::Cancel(_) | Asked::Look(_), None) => self.over_rest(target, pair, asked),
            _ if self.random.percent(50) => self.over_rest(target, pair, asked),
            (_, number) => self.over_xml(target, pair, asked, number),
        }
    }

    fn over_xml(&mut self, target: Target, pair: usize, asked: Asked, number: Option<u64>) -> Outcome {
        let (order, element) = match (asked, number) {
            (Asked::Place(order), _) => {
                let (symbol, amount) = (self.stage.symbol(pair), if order % 2 == 0 { -1 } else { 1 });
                let what = format!("sym=\"{symbol}\" amount=\"{amount}\" limit=\"{PRICE}\" client-id=\"{order}\"");
                (order, format!("<order {what}/>"))
            }
            (Asked::Cancel(order), Some(number)) => (order, format!("<cancel id=\"{number}\"/>")),
            (Asked::Look(order), Some(number)) => (order, format!("<query id=\"{number}\"/>")),
            (Asked::Cancel(_) | Asked::Look(_) | Asked::Account(_), _) => unreachable!("not over XML"),
        };
        let account = self.stage.account(pair, order % 2);
        let request = format!("<transactions id=\"{account}\">{element}</transactions>");
        let Some(client) = self.connection(target.xml) else { return Outcome::Nothing };
        let reply = client.send_request(&request).ok().and_then(|()| client.reply().ok());
        let Some(reply) = reply else {
            self.connections.remove(&target.xml);
            return Outcome::Unknown;
        };
        let element = Element::parse(&reply).children.remove(0);
        match (element.name.as_str(), element.text.as_str()) {
            ("opened", _) => self.placed(pair, order, element.get("id").parse().unwrap()),
            ("canceled", _) => Outcome::Told(Told::Canceled),
            ("status", _) => Outcome::Told(Told::Is(match Status::of(&element) {
                Status { open: 1.., .. } => Order::Open,
                Status { canceled: Some(_), .. } => Order::Canceled,
                _ => Order::Executed,
            })),
            (_, "Order has nothing open to cancel") => Outcome::Told(Told::NothingOpen),
            (_, "Unknown order") => Outcome::Told(Told::Unknown),
            (_, text) if text.contains("store is away") || text.contains("is stopping") => Outcome::Nothing,
            _ => panic!("{reply}"),
        }
    }

    fn over_rest(&mut self, target: Target, pair: usize, asked: Asked) -> Outcome {
        let named = |order: usize| {
            format!("/api/v1/orders/by-client-id/{order}?account={}", self.stage.account(pair, order % 2))
        };
        let (method, path, body) = match asked {
            Asked::Place(order) => {
                let side = if order % 2 == 0 { "sell" } else { "buy" };
                let body = json!({"account": self.stage.account(pair, order % 2), "symbol": self.stage.symbol(pair),
                    "side": side, "limit": PRICE.to_string(), "shares": "1", "client_order_id": order.to_string()});
                ("POST", "/api/v1/orders".to_owned(), Some(body))
            }
            Asked::Cancel(order) => ("DELETE", named(order), None),
            Asked::Look(order) => ("GET", named(order), None),
            Asked::Account(account) => ("GET", format!("/api/v1/accounts/{}", self.stage.account(pair, account)), None),
        };
        let Ok(stream) = connect(target.http) else { return Outcome::Nothing };
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let Some((status, told)) = exchange(stream, method, &path, body.as_ref()) else { return Outcome::Unknown };
        match (status, told["code"].as_str(), asked) {
            (504, ..) => Outcome::Unknown,
            (503, Some("store-away" | "not-ready"), _) => Outcome::Nothing,
            // A node that was behind may not know the pair, either.
            (404, Some("unknown-order" | "unknown-account"), _) => Outcome::Told(Told::Unknown),
            (409, Some("nothing-open"), _) => Outcome::Told(Told::NothingOpen),
            (200 | 201, _, Asked::Place(order)) => self.placed(pair, order, told["order_id"].as_u64().unwrap()),
            (200, _, Asked::Cancel(_)) => Outcome::Told(Told::Canceled),
            (200, _, Asked::Look(_)) => Outcome::Told(Told::Is(order_of(&told))),
            (200, _, Asked::Account(_)) => Outcome::Told(Told::Has(holdings_of(&told))),
            _ => panic!("{method} {path}: {status} {told}"),
        }
    }

    fn placed(&self, pair: usize, order: usize, number: u64) -> Outcome {
        let before = lock(&self.stage.numbers).insert((pair, order), number);
        assert!(
            before.is_none_or(|before| before == number),
            "order {order} of pair {pair} is {before:?} and {number}"
        );
        Outcome::Told(Told::Placed)
    }

    fn connection(&mut self, xml: SocketAddr) -> Option<&mut Client> {
        match self.connections.entry(xml) {
            Entry::Occupied(open) => Some(open.into_mut()),
            Entry::Vacant(none) => Some(none.insert(Client::connect(xml, PATIENCE).ok()?)),
        }
    }
}

/// The state of an order in REST's answer.
pub fn order_of(told: &Value) -> Order {
    match told["status"].as_str() {
        Some("open") => Order::Open,
        Some("canceled") => Order::Canceled,
        Some("executed") => Order::Executed,
        _ => panic!("{told}"),
    }
}

/// The holdings of an account, which has one symbol, in REST's answer.
pub fn holdings_of(told: &Value) -> Holdings {
    let number = |value: &Value| value.as_str().map_or(0, |text| text.parse().unwrap());
    let position = &told["positions"][0];
    Holdings {
        dollars: number(&told["balance"]),
        dollars_held: number(&told["held"]),
        shares: number(&position["shares"]),
        shares_held: number(&position["held"]),
    }
}
