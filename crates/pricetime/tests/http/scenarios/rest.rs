//! The player of REST.

use scenarios::{
    Amount, Answer, Bond, Kind, Order, OrderStatus, Part, Placed, Player, Refused, Side, account_number, play_all,
    symbol_name,
};
use serde_json::{Map, Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer as HttpAnswer, Http};
use crate::common::server::Launch;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

struct Rest {
    http: Http,
    scenario: usize,
}

impl Rest {
    fn account(&self, letter: char) -> String {
        account_number(self.scenario, letter).to_string()
    }

    fn symbol(&self, letter: char) -> String {
        symbol_name(self.scenario, letter)
    }

    fn body(&self, account: char, order: &Order) -> Value {
        let kind = match order.kind {
            Kind::Limit => "limit",
            Kind::PostOnly => "post_only",
            Kind::ImmediateOrCancel => "immediate_or_cancel",
            Kind::FillOrKill => "fill_or_kill",
            Kind::Market => "market",
            Kind::AuctionLimit => "auction_limit",
            Kind::AuctionMarket => "auction_market",
        };
        let side = if order.side == Side::Buy { "buy" } else { "sell" };
        let (field, amount) = match &order.amount {
            Amount::Shares(shares) => ("shares", shares),
            Amount::Funds(funds) => ("funds", funds),
        };
        let (account, symbol) = (self.account(account), self.symbol(order.symbol));
        let mut body = Map::new();
        let mut add = |field: &str, value: Option<&str>| {
            body.extend(value.map(|value| (field.to_owned(), Value::from(value))));
        };
        add("account", Some(&account));
        add("symbol", Some(&symbol));
        add("side", Some(side));
        add("kind", Some(kind));
        add(field, Some(amount));
        add("limit", order.limit.as_deref());
        add("stop", order.stop.as_deref());
        add("display", order.display.as_deref());
        add("self_trade", order.self_trade.as_deref().map(|mode| mode.replace('-', "_")).as_deref());
        body.into()
    }

    /// The status in an ORDER, with the executions that the account has of it.
    fn status(&self, account: char, order: &Placed, told: &Value) -> OrderStatus {
        let text = |field: &str| told[field].as_str().unwrap_or_else(|| panic!("no {field} in {told}")).to_owned();
        let mut parts = Vec::new();
        if told["status"] == "open" {
            let shares = text("open");
            parts.push(match (told["waits"] == true, told.get("pends_on").is_some_and(Value::is_u64)) {
                (true, _) => Part::Waits { shares, price: text("stop") },
                (_, true) => Part::Pends { shares },
                (false, false) => Part::Open { shares, shown: told["shown"].as_str().map(str::to_owned) },
            });
        }
        if text("canceled") != "0" {
            parts.push(Part::Canceled { shares: text("canceled") });
        }
        let (account, symbol) = (self.account(account), self.symbol(order.order.symbol));
        let page = self.http.read(&format!("/api/v1/accounts/{account}/executions?symbol={symbol}&limit=100"));
        let of_order = |execution: &&Value| execution["order_id"].as_u64().is_some_and(|id| id.to_string() == order.id);
        let executions = page["executions"].as_array().unwrap().iter().rev().filter(of_order);
        parts.extend(executions.map(|execution| Part::Executed {
            shares: execution["shares"].as_str().unwrap().to_owned(),
            price: execution["price"].as_str().unwrap().to_owned(),
        }));
        parts
    }

    fn about(&mut self, method: &str, account: char, order: &Placed) -> Answer<OrderStatus> {
        let path = format!("/api/v1/orders/{}?account={}", order.id, self.account(account));
        let told = accepted(self.http.send(method, &path, None, &[]))?;
        Ok(self.status(account, order, &told))
    }
}

/// The body of an answer. Errors: a refusal of the order, or of an amount in it. Panics with any other: then this
/// player asked wrongly.
fn accepted(answer: HttpAnswer) -> Answer<Value> {
    if answer.status < 400 {
        return Ok(answer.body);
    }
    let (status, code) = answer.code();
    let is_of_amount = ["shares", "funds", "limit", "stop", "display"].map(Value::from).contains(&answer.body["field"]);
    assert!([404, 409, 422].contains(&status) || is_of_amount, "{}", answer.text);
    Err(Refused(format!("{status} {code}")))
}

impl Player for Rest {
    fn begin(&mut self, scenario: usize) {
        self.scenario = scenario;
    }

    fn fund(&mut self, account: char, dollars: &str) {
        self.http.make("/api/v1/accounts", &json!({"account": self.account(account), "balance": dollars}));
    }

    fn issue(&mut self, symbol: char, account: char, shares: &str) {
        let body = json!({"account": self.account(account), "shares": shares});
        self.http.make(&format!("/api/v1/symbols/{}/shares", self.symbol(symbol)), &body);
    }

    fn change_phase(&mut self, symbol: char, phase: &str) {
        let (path, body) = (format!("/api/v1/symbols/{}/phase", self.symbol(symbol)), json!({"phase": phase}));
        let answer = self.http.send("PUT", &path, Some(&body.to_string()), &JSON);
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    fn set_band(&mut self, symbol: char, percent: &str, by_pressure: bool) {
        let path = format!("/api/v1/symbols/{}/rules", self.symbol(symbol));
        let mut body = json!({"band_up": percent, "band_down": percent});
        if by_pressure {
            body["auction_ties"] = "pressure".into();
        }
        let answer = self.http.send("PUT", &path, Some(&body.to_string()), &JSON);
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    fn place(&mut self, account: char, bond: Bond, orders: &[&Order]) -> Answer<Vec<String>> {
        let bodies: Vec<Value> = orders.iter().map(|order| self.body(account, order)).collect();
        let id =
            |placed: &Value| placed["order_id"].as_u64().unwrap_or_else(|| panic!("no id in {placed}")).to_string();
        let list = match (bond, orders.len()) {
            (Bond::Alone, _) => {
                return accepted(self.http.post("/api/v1/orders", &bodies[0])).map(|placed| vec![id(&placed)]);
            }
            (Bond::OneCancelsOther, _) => json!({"orders": bodies}),
            (Bond::OneTriggersOther, 2) => json!({"kind": "oto", "orders": bodies}),
            (Bond::OneTriggersOther, _) => json!({"kind": "otoco", "orders": bodies}),
        };
        let placed = accepted(self.http.post("/api/v1/order-lists", &list))?;
        Ok(placed["orders"].as_array().unwrap().iter().map(id).collect())
    }

    fn query(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        self.about("GET", account, order)
    }

    fn cancel(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        self.about("DELETE", account, order)
    }

    fn amend(&mut self, account: char, order: &Placed, shares: &str) -> Answer<()> {
        let body = json!({"account": self.account(account), "shares": shares}).to_string();
        accepted(self.http.send("PATCH", &format!("/api/v1/orders/{}", order.id), Some(&body), &JSON)).map(drop)
    }
}

#[test]
fn every_scenario_is_played_over_rest() {
    let folder = Folder::new("scenarios-rest");
    let server = Launch::new(&folder.data()).start();
    let mut player = Rest { http: Http::new(server.http), scenario: 0 };
    assert_eq!(play_all("rest", &mut player), [""; 0]);
    server.stop();
}
