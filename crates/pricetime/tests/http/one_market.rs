//! Commands that are sent over XML to one server and over REST to another, both on a clock that the test sets, get the
//! same replies and refusals, word for word, and make the same state hash.
#![allow(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::here::Here;
use crate::common::http::{Answer, Http};
use crate::common::order_xml::{amendment_attributes, as_on_the_wire, placing_attributes, seconds};
use crate::common::server::{PATIENCE, connect, state_of};
use crate::common::wait::wait_until;
use market::timekeeper::Clock;
use model::workload::{Flavour, Random, Workload};
use model::{Model, Order};
use pricetime::setting_units::Whole;
use pricetime::settings::GivenSettings;
use serde_json::{Value, json};
use terms::{
    AccountId, Amendment, Change, Command, DOLLAR, Entry, FundsOrder, Money, NewOrder, Op, OrderId, OrderName, Place,
    Query, Sequence, Side, Time, TimeInForce, WaitsFor,
};
use xml::Gateway;

/// Money has 16 decimals, and a balance at most 8.
const BALANCE_STEP: i128 = DOLLAR / 100_000_000;

/// A server in this process, with its XML gateway.
struct Served {
    here: Here,
    gateway: Gateway,
}

impl Served {
    fn start(data: &Path, clock: Clock) -> Served {
        // The workload goes to the engine's own bounds.
        let all = Some(Whole(10u128.pow(20)));
        let data = Some(data.to_owned());
        let given =
            GivenSettings { data, max_balance: all, max_position: all, max_issue: all, ..GivenSettings::default() };
        let here = Here::open(given, clock);
        let of_xml = xml::Settings {
            address: here.settings.xml,
            workers: 1,
            metrics: here.metrics.gateway("xml"),
            ..xml::Settings::default()
        };
        let gateway = xml::start(of_xml, here.backend.exchange()).unwrap();
        here.web.watch(Arc::new(gateway.counting()));
        here.serve();
        Served { here, gateway }
    }

    /// Ends the server. Returns the state of its folder.
    fn stop(self) -> Value {
        self.gateway.stop_accepting();
        drop(self.gateway);
        state_of(&self.here.stop().data)
    }
}

/// The result of a request, in whatever protocol it was told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Made,
    Placed(u64),
    Canceled,
    Amended { open: String },
    Shown { open: String, executed: String, canceled: String, until: Option<String> },
    Refused(String),
}

/// Sends a request as XML. Returns the result.
fn by_xml(client: &mut Client, op: &Op) -> Told {
    let body = match op {
        Op::Command(Command::CreateAccount { account, balance }) => {
            format!("<create><account id=\"{account}\" balance=\"{balance}\"/></create>")
        }
        Op::Command(Command::IssueShares { symbol, account, shares }) => {
            format!("<create><symbol sym=\"{symbol}\"><account id=\"{account}\">{shares}</account></symbol></create>")
        }
        Op::Command(placing @ Command::Place(Place { account, .. })) => {
            format!("<transactions id=\"{account}\"><order{}/></transactions>", placing_attributes(placing))
        }
        Op::Command(Command::Amend(amendment)) if let OrderName::Id(order) = amendment.order => {
            let (account, terms) = (amendment.account, amendment_attributes(amendment));
            format!("<transactions id=\"{account}\"><amend id=\"{}\"{terms}/></transactions>", order.0)
        }
        Op::Command(Command::CancelOrder { account, order: OrderName::Id(order) }) => {
            format!("<transactions id=\"{account}\"><cancel id=\"{}\"/></transactions>", order.0)
        }
        Op::Query(Query { account, order: OrderName::Id(order) }) => {
            format!("<transactions id=\"{account}\"><query id=\"{}\"/></transactions>", order.0)
        }
        other => unreachable!("{other:?} cannot be said in XML"),
    };
    let reply = client.ask(&body);
    let document = roxmltree::Document::parse(&reply).unwrap();
    let answer = document.root_element().first_element_child().unwrap_or_else(|| panic!("{body}: {reply}"));
    let shares = |name: &str| {
        let parts = answer.children().filter(|child| child.has_tag_name(name));
        let all = parts.map(|part| units(part.attribute("shares").unwrap())).sum::<i128>();
        text(all)
    };
    match answer.tag_name().name() {
        "created" => Told::Made,
        "opened" => Told::Placed(answer.attribute("id").unwrap().parse().unwrap()),
        "canceled" => Told::Canceled,
        "amended" => Told::Amended { open: shares("open") },
        "status" => {
            let open = answer.children().find(|child| child.has_tag_name("open"));
            let until = open.and_then(|open| open.attribute("until")).map(str::to_owned);
            Told::Shown { open: shares("open"), executed: shares("executed"), canceled: shares("canceled"), until }
        }
        "error" => Told::Refused(answer.text().unwrap().to_owned()),
        other => panic!("{other} in {reply}"),
    }
}

/// Converts shares to units of 10^-8.
fn units(shares: &str) -> i128 {
    let (whole, fraction) = shares.split_once('.').unwrap_or((shares, ""));
    format!("{whole}{fraction:0<8}").parse().unwrap()
}

fn text(units: i128) -> String {
    terms::Position::from_units(units).to_string()
}

/// Sends the same request over REST. Returns the result.
fn by_rest(http: &Http, op: &Op) -> Told {
    let (answer, told): (Answer, fn(&Value) -> Told) = match op {
        Op::Command(Command::CreateAccount { account, balance }) => {
            let body = json!({"account": account.to_string(), "balance": balance.to_string()});
            (http.post("/api/v1/accounts", &body), |_| Told::Made)
        }
        Op::Command(Command::IssueShares { symbol, account, shares }) => {
            let body = json!({"account": account.to_string(), "shares": shares.to_string()});
            (http.post(&format!("/api/v1/symbols/{symbol}/shares"), &body), |_| Told::Made)
        }
        Op::Command(Command::Place(place)) if let Some(order) = place.alone() => {
            let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = order;
            let account = place.account;
            // An order that waits for a price is not moved, so such a request would be refused.
            let kind = if trigger.is_some() { kind.once_placed() } else { kind };
            let word = if trigger.is_some_and(|trigger| trigger.is_stop_loss(side)) { "stop" } else { "take_profit" };
            let side = if side == Side::Buy { "buy" } else { "sell" };
            let mut body = json!({"account": account.to_string(), "symbol": symbol.to_string(), "side": side,
                "kind": kind.name(), "shares": shares.to_string(), "self_trade": self_trade.name()});
            if let Some(until) = place.deadline() {
                body["until"] = until.time().0.into();
            }
            if !kind.is_market() {
                body["limit"] = limit.to_string().into();
            }
            if let Some(trigger) = trigger {
                body[word] = trigger.price().to_string().into();
            }
            (http.post("/api/v1/orders", &body), |body| Told::Placed(body["order_id"].as_u64().unwrap()))
        }
        Op::Command(Command::Place(place)) if let Some(order) = place.for_money() => {
            let FundsOrder { symbol, side, funds, self_trade } = order;
            let account = place.account;
            let side = if side == Side::Buy { "buy" } else { "sell" };
            let body = json!({"account": account.to_string(), "symbol": symbol.to_string(), "side": side,
                "kind": "market", "funds": funds.to_string(), "self_trade": self_trade.name()});
            (http.post("/api/v1/orders", &body), |body| Told::Placed(body["order_id"].as_u64().unwrap()))
        }
        Op::Command(Command::CancelOrder { account, order: OrderName::Id(order) }) => {
            (http.delete(&format!("/api/v1/orders/{}?account={account}", order.0)), |_| Told::Canceled)
        }
        Op::Command(Command::Amend(amendment)) if let OrderName::Id(order) = amendment.order => {
            let body = amendment_body(amendment).to_string();
            let path = format!("/api/v1/orders/{}", order.0);
            let amended = http.send("PATCH", &path, Some(&body), &[("content-type", "application/json")]);
            (amended, |body| Told::Amended { open: body["open"].as_str().unwrap().to_owned() })
        }
        Op::Query(Query { account, order: OrderName::Id(order) }) => {
            let shown = http.get(&format!("/api/v1/orders/{}?account={account}", order.0));
            (shown, |body| {
                let [open, executed, canceled] =
                    ["open", "executed", "canceled"].map(|field| body[field].as_str().unwrap().to_owned());
                let until = body["until"].as_u64().map(|until| seconds(Time(until)));
                Told::Shown { open, executed, canceled, until }
            })
        }
        other => unreachable!("{other:?} cannot be said in XML"),
    };
    match answer.status {
        200 | 201 => told(&answer.body),
        _ => {
            answer.code();
            Told::Refused(answer.body["detail"].as_str().unwrap().to_owned())
        }
    }
}

/// The body of a request that amends an order.
fn amendment_body(amendment: &Amendment) -> Value {
    let mut body = json!({"account": amendment.account.to_string()});
    let mut say = |name: &str, value: Value| body[name] = value;
    amendment.shares().into_iter().for_each(|shares| say("shares", shares.to_string().into()));
    amendment.limit().into_iter().for_each(|limit| say("limit", limit.to_string().into()));
    match amendment.waits_for() {
        Some(WaitsFor::StopLoss(price)) => say("stop", price.to_string().into()),
        Some(WaitsFor::TakeProfit(price)) => say("take_profit", price.to_string().into()),
        Some(WaitsFor::Trail(trail)) => match trail.distance() {
            Some(distance) => say("trail", distance.to_string().into()),
            None => say("trail_bips", trail.bips().into()),
        },
        None => {}
    }
    match amendment.display() {
        Change::Keep => {}
        Change::Remove => say("display", Value::Null),
        Change::Set(display) => say("display", display.to_string().into()),
    }
    match amendment.deadline() {
        Change::Keep => {}
        Change::Remove => say("until", Value::Null),
        Change::Set(until) => say("until", until.time().0.into()),
    }
    let has_end = matches!(amendment.deadline(), Change::Set(_));
    match amendment.tif() {
        Some(TimeInForce::Rests) => say("tif", if has_end { "GTD" } else { "GTC" }.into()),
        Some(TimeInForce::ImmediateOrCancel) => say("tif", "IOC".into()),
        Some(TimeInForce::FillOrKill) => say("tif", "FOK".into()),
        Some(TimeInForce::GoodForAuction) => say("tif", "GFA".into()),
        None => {}
    }
    body
}

/// Draws the commands, depending on the market that they make.
struct Source {
    model: Model,
    workload: Workload,
    sequence: Sequence,
}

impl Source {
    fn next(&mut self) -> Op {
        loop {
            match self.workload.next_op(&self.model) {
                Op::Command(Command::CreateAccount { account, balance }) => {
                    let steps = (balance.units() + BALANCE_STEP - 1) / BALANCE_STEP;
                    let balance = Money::from_units(steps * BALANCE_STEP).min(Money::CAP);
                    return Op::Command(Command::CreateAccount { account, balance });
                }
                // REST makes a symbol only together with shares.
                Op::Command(Command::CreateSymbol { .. }) => {}
                op => return op,
            }
        }
    }

    /// Does what a server does by itself at this time, before anything else. Returns the orders that this ends, as
    /// paths of REST.
    fn expire(&mut self, time: Time) -> Vec<String> {
        let has_ended = |order: &&Order| order.until.is_some_and(|until| until.time() <= time);
        let path = |order: &Order| {
            let account = self.model.accounts().nth(order.account.0 as usize).unwrap();
            format!("/api/v1/orders/{}?account={account}", order.id)
        };
        let ended: Vec<String> = self.model.open_orders().filter(has_ended).map(path).collect();
        if !ended.is_empty() {
            self.apply_one(Command::ExpireOrders, time);
        }
        ended
    }

    fn apply(&mut self, op: &Op, time: Time) {
        let Op::Command(command) = op else { return };
        if let Command::IssueShares { symbol, .. } = command {
            self.apply_one(Command::CreateSymbol { symbol: *symbol }, time);
        }
        self.apply_one(*command, time);
    }

    fn apply_one(&mut self, command: Command, time: Time) {
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time, command };
        self.model.apply(&entry, &mut Vec::new(), &mut Vec::new());
    }
}

/// Returns false for ops that no client can express, or that XML and REST refuse before the market does.
fn is_sayable(op: &Op) -> bool {
    let of_none = OrderName::Id(OrderId(0));
    match op {
        Op::Query(Query { order, .. }) | Op::Command(Command::CancelOrder { order, .. }) => *order != of_none,
        Op::Command(Command::Amend(amendment)) => amendment.order != of_none,
        Op::Command(_) => true,
    }
}

/// XML makes a symbol before it looks at the accounts in it. Over REST, shares for an unknown account make no symbol.
fn makes_a_symbol_in_xml_alone(http: &Http, op: &Op) -> bool {
    let Op::Command(Command::IssueShares { account, .. }) = op else { return false };
    http.get(&format!("/api/v1/accounts/{account}")).status == 404
}

fn play(seed: u64, ops: usize) -> BTreeMap<String, usize> {
    let folder = Folder::new(&format!("one-market-{seed}"));
    let time = Arc::new(AtomicU64::new(1_763_690_000_000_000));
    let clock = |time: &Arc<AtomicU64>| {
        let time = time.clone();
        Clock::steady(move || Time(time.load(Ordering::SeqCst)))
    };
    let xml = Served::start(&folder.path().join("xml"), clock(&time));
    let rest = Served::start(&folder.path().join("rest"), clock(&time));
    let mut client = connect(xml.gateway.local_addr());
    let http = rest.here.http();
    let mut source = Source {
        model: Model::new(),
        workload: Workload::new(seed).with_all_kinds().with_terms().with_amendments(),
        sequence: Sequence::ZERO,
    };
    let mut random = Random::new(!seed);
    let mut seen = BTreeMap::new();
    for number in 0..ops {
        let op = match source.next() {
            Op::Command(command) => Op::Command(as_on_the_wire(command)),
            query @ Op::Query(_) => query,
        };
        if !is_sayable(&op) || makes_a_symbol_in_xml_alone(&http, &op) {
            continue;
        }
        time.fetch_add(random.below(3_000_000) as u64, Ordering::SeqCst);
        let ended = source.expire(Time(time.load(Ordering::SeqCst)));
        // A query over REST gives the sequencer nothing to do, and it sleeps by another clock than this one.
        if matches!(op, Op::Query(_)) {
            let is_done = |path: &String| http.read(path)["status"] != "open";
            wait_until("orders whose time has come are ended", PATIENCE, || ended.iter().all(is_done));
        }
        let (one, other) = (by_xml(&mut client, &op), by_rest(&http, &op));
        assert_eq!(one, other, "seed {seed}, {number}: {op:?}");
        source.apply(&op, Time(time.load(Ordering::SeqCst)));
        let kind = match one {
            Told::Refused(why) => format!("refused: {}", why.split(':').next().unwrap()),
            told => format!("{told:?}").split(['(', ' ']).next().unwrap().to_owned(),
        };
        *seen.entry(kind).or_default() += 1;
    }
    drop(client);
    let (xml, rest) = (xml.stop(), rest.stop());
    assert_eq!(xml["state_hash"], rest["state_hash"], "seed {seed}");
    assert_eq!(xml["sequence"], source.sequence.0);
    assert_eq!(xml, rest, "seed {seed}");
    seen
}

#[test]
fn xml_and_rest_make_the_same_market() {
    let mut seen = BTreeMap::new();
    for flavour in [Flavour::Plain, Flavour::Poor, Flavour::Crumbs, Flavour::Extreme] {
        let seed = (1..).find(|seed| Workload::new(*seed).flavour() == flavour).unwrap();
        for (kind, count) in play(seed, 400) {
            *seen.entry(kind).or_insert(0) += count;
        }
    }
    println!("{seen:?}");
    let refusals = seen.keys().filter(|kind| kind.starts_with("refused")).count();
    assert!(
        refusals >= 6 && ["Made", "Placed", "Canceled", "Amended", "Shown"].iter().all(|kind| seen.contains_key(*kind)),
        "{seen:?}"
    );
}

#[test]
fn the_state_hash_tells_of_the_time() {
    let hash = |later: u64| {
        let folder = Folder::new(&format!("one-market-later-{later}"));
        let here = Served::start(&folder.data(), Clock::steady(move || Time(1_763_690_000_000_000 + later)));
        let mut client = connect(here.gateway.local_addr());
        let account = AccountId::parse(b"1").unwrap();
        by_xml(&mut client, &Op::Command(Command::CreateAccount { account, balance: Money::CAP }));
        drop(client);
        here.stop()["state_hash"].clone()
    };
    assert_eq!(hash(0), hash(0));
    assert_ne!(hash(0), hash(1), "or the clock would not matter");
}
