//! The player of the compatible interface: each account has a key. Accounts, shares and phases, which it cannot say,
//! come over XML.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use scenarios::{
    Amount, Answer, Bond, Kind, Order, OrderStatus, Part, Placed, Player, Refused, Side, account_number, canonical,
    minus, play_all, scenario_count, symbol_name,
};
use serde_json::Value;

use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::http::{Answer as HttpAnswer, Http};
use crate::common::keys::KeyFile;
use crate::common::server::Launch;
use crate::common::talk;

struct Binance {
    xml: Client,
    http: Http,
    /// The file of the keys.
    path: PathBuf,
    scenario: usize,
}

impl Binance {
    fn pair(&self, symbol: char) -> String {
        format!("{}USD", symbol_name(self.scenario, symbol))
    }

    fn send(&self, account: char, method: &str, path: &str, words: &str) -> Answer<Value> {
        let number = account_number(self.scenario, account);
        let key = KeyFile { path: self.path.clone(), key: api_key(number), secret: secret(number) };
        accepted(key.send(&self.http, method, path, words))
    }

    /// The status in an order, with the account's trades of it.
    fn status(&self, account: char, order: &Placed, told: &Value) -> OrderStatus {
        let text = |field: &str| told[field].as_str().unwrap_or_else(|| panic!("no {field} in {told}")).to_owned();
        let rest = minus(&text("origQty"), &text("executedQty"));
        let mut parts = match text("status").as_str() {
            "PENDING_NEW" => vec![Part::Pends { shares: rest }],
            "NEW" if told["isWorking"] == false => vec![Part::Waits { shares: rest, price: text("stopPrice") }],
            "NEW" | "PARTIALLY_FILLED" => vec![Part::Open { shares: rest, shown: None }],
            "FILLED" => Vec::new(),
            "CANCELED" | "EXPIRED" | "EXPIRED_IN_MATCH" => vec![Part::Canceled { shares: rest }],
            other => panic!("the status {other} of {told}"),
        };
        let words = format!("symbol={}&orderId={}", self.pair(order.order.symbol), order.id);
        let trades = self.send(account, "GET", "myTrades", &words).expect("an account sees its trades");
        parts.extend(trades.as_array().unwrap().iter().map(|trade| Part::Executed {
            shares: trade["qty"].as_str().unwrap().to_owned(),
            price: trade["price"].as_str().unwrap().to_owned(),
        }));
        parts
    }

    fn about(&mut self, method: &str, account: char, order: &Placed) -> Answer<OrderStatus> {
        let words = format!("symbol={}&orderId={}", self.pair(order.order.symbol), order.id);
        let told = self.send(account, method, "order", &words)?;
        // The answer to a cancel does not say all of the order, and a member of a list is answered by the list.
        let told = if method == "GET" { told } else { self.send(account, "GET", "order", &words)? };
        Ok(self.status(account, order, &told))
    }
}

/// The name of an order's type, and its terms, each with a beginning before its name.
fn terms(order: &Order, start: &str) -> String {
    let kind = match (order.kind, order.stop.is_some()) {
        (Kind::PostOnly, _) => "LIMIT_MAKER",
        (Kind::Market, false) => "MARKET",
        (Kind::Market, true) => "STOP_LOSS",
        (Kind::Limit | Kind::ImmediateOrCancel | Kind::FillOrKill, false) => "LIMIT",
        (Kind::Limit | Kind::ImmediateOrCancel | Kind::FillOrKill, true) => "STOP_LOSS_LIMIT",
        (Kind::AuctionLimit | Kind::AuctionMarket, _) => panic!("Binance's interface has no orders for an auction"),
    };
    let force = match order.kind {
        Kind::Limit => Some("GTC"),
        Kind::ImmediateOrCancel => Some("IOC"),
        Kind::FillOrKill => Some("FOK"),
        Kind::PostOnly | Kind::Market | Kind::AuctionLimit | Kind::AuctionMarket => None,
    };
    let mut words = format!("{}={kind}", named(start, "type"));
    let mut add = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("&{}={value}", named(start, name))));
    };
    add("timeInForce", force);
    add("price", order.limit.as_deref());
    add("stopPrice", order.stop.as_deref());
    add("icebergQty", order.display.as_deref());
    words
}

/// A parameter's name behind a beginning: `price` alone, and `workingPrice`.
fn named(start: &str, name: &str) -> String {
    match start {
        "" => name.to_owned(),
        start => format!("{start}{}{}", name[..1].to_uppercase(), &name[1..]),
    }
}

fn side(order: &Order) -> &'static str {
    if order.side == Side::Buy { "BUY" } else { "SELL" }
}

fn quantity(order: &Order) -> &str {
    order.shares().expect("an order of a list has shares")
}

/// The parameters of an order alone.
fn alone(order: &Order) -> String {
    let amount = match &order.amount {
        Amount::Shares(shares) => format!("quantity={shares}"),
        Amount::Funds(funds) => format!("quoteOrderQty={funds}"),
    };
    let mode = match order.self_trade.as_deref() {
        None => "",
        Some("cancel-newest") => "&selfTradePreventionMode=EXPIRE_TAKER",
        Some("cancel-oldest") => "&selfTradePreventionMode=EXPIRE_MAKER",
        Some("cancel-both") => "&selfTradePreventionMode=EXPIRE_BOTH",
        Some("decrement") => "&selfTradePreventionMode=DECREMENT",
        Some(other) => panic!("the mode {other}"),
    };
    format!("side={}&{amount}&{}{mode}", side(order), terms(order, ""))
}

/// The call that places orders, and its parameters but the symbol.
fn call(bond: Bond, orders: &[&Order]) -> (&'static str, String) {
    match (bond, orders) {
        (Bond::OneCancelsOther, [above, below]) => {
            let both = format!("side={}&quantity={}", side(above), quantity(above));
            ("orderList/oco", format!("{both}&{}&{}", terms(above, "above"), terms(below, "below")))
        }
        (Bond::OneTriggersOther, [first, pending @ ..]) => {
            let working = format!("workingSide={}&workingQuantity={}", side(first), quantity(first));
            let waits = format!("pendingSide={}&pendingQuantity={}", side(pending[0]), quantity(pending[0]));
            let (path, starts): (_, &[&str]) = match pending.len() {
                1 => ("orderList/oto", &["pending"]),
                _ => ("orderList/otoco", &["pendingAbove", "pendingBelow"]),
            };
            let pending: Vec<String> = pending.iter().zip(starts).map(|(order, start)| terms(order, start)).collect();
            (path, format!("{working}&{}&{waits}&{}", terms(first, "working"), pending.join("&")))
        }
        (_, orders) => ("order", alone(orders[0])),
    }
}

fn api_key(account: usize) -> String {
    format!("key-of-{account}")
}

fn secret(account: usize) -> String {
    format!("a secret that account {account} has")
}

/// The codes of refusals of an order, or of a value in it: a filter, characters, decimals, a symbol, an order, a
/// cancel, an order that is not there, an amendment.
const REFUSALS: [i64; 8] = [-1013, -1100, -1111, -1121, -2010, -2011, -2013, -2038];

/// The body of an answer. Errors: a refusal of the order. Panics with any other: then this player asked wrongly.
fn accepted(answer: HttpAnswer) -> Answer<Value> {
    if answer.status < 400 {
        return Ok(answer.body);
    }
    let is_of_order = answer.body["code"].as_i64().is_some_and(|code| REFUSALS.contains(&code));
    assert!(is_of_order && answer.body["msg"].is_string(), "{}", answer.text);
    Err(Refused(format!("{} {}", answer.body["code"], answer.body["msg"])))
}

impl Player for Binance {
    fn begin(&mut self, scenario: usize) {
        self.scenario = scenario;
    }

    fn fund(&mut self, account: char, dollars: &str) {
        talk::fund(&mut self.xml, account_number(self.scenario, account), dollars);
    }

    fn issue(&mut self, symbol: char, account: char, shares: &str) {
        talk::issue(&mut self.xml, &symbol_name(self.scenario, symbol), account_number(self.scenario, account), shares);
    }

    fn change_phase(&mut self, symbol: char, phase: &str) {
        talk::change_phase(&mut self.xml, &symbol_name(self.scenario, symbol), phase);
    }

    fn set_band(&mut self, symbol: char, percent: &str, by_pressure: bool) {
        talk::set_band(&mut self.xml, &symbol_name(self.scenario, symbol), percent, by_pressure);
    }

    fn place(&mut self, account: char, bond: Bond, orders: &[&Order]) -> Answer<Vec<String>> {
        let (path, words) = call(bond, orders);
        let placed = self.send(account, "POST", path, &format!("symbol={}&{words}", self.pair(orders[0].symbol)))?;
        let id = |order: &Value| order["orderId"].as_u64().unwrap_or_else(|| panic!("no id in {order}")).to_string();
        Ok(match placed["orderReports"].as_array() {
            Some(reports) => reports.iter().map(id).collect(),
            None => vec![id(&placed)],
        })
    }

    fn query(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        self.about("GET", account, order)
    }

    fn cancel(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        self.about("DELETE", account, order)
    }

    fn amend(&mut self, account: char, order: &Placed, shares: &str) -> Answer<()> {
        let symbol = self.pair(order.order.symbol);
        let words = format!("symbol={symbol}&orderId={}&newQty={shares}", order.id);
        let amended = self.send(account, "PUT", "order/amend/keepPriority", &words)?;
        let total = amended["amendedOrder"]["qty"].as_str().map(canonical);
        assert_eq!(total, Some(canonical(shares)), "{amended}");
        Ok(())
    }
}

#[test]
fn every_scenario_is_played_over_the_compatible_interface() {
    let folder = Folder::new("scenarios-binance");
    let path = folder.path().join("keys.toml");
    let entry = |account: usize| {
        format!(
            "[[key]]\napi_key = \"{}\"\nsecret = \"{}\"\naccount = \"{account}\"\n",
            api_key(account),
            secret(account)
        )
    };
    let last = account_number(scenario_count(), 'A');
    std::fs::write(&path, (1..last).map(entry).collect::<String>()).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let server = Launch::new(&folder.data()).with(&format!("--keys {}", path.display())).start();
    let mut player = Binance { xml: server.client(), http: Http::new(server.http), path, scenario: 0 };
    let left_out = [
        "iceberg-tip",
        "auction-order-in-part",
        "auction-order-amended",
        "auction-order-stays-in-a-halt",
        "auction-order-beforehand",
        "auction-order-held-from-its-placing",
        "auction-orders-without-a-band",
        "auction-market-orders",
        "auction-market-order-decides-no-price",
        "auction-by-pressure",
    ];
    assert_eq!(play_all("binance", &mut player), left_out);
    server.stop();
}
