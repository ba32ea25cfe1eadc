//! The scenarios of crates/scenarios over FIX, in one session. Accounts, shares and phases, which FIX cannot say, come
//! over XML.

use std::collections::{BTreeMap, BTreeSet};

use scenarios::{
    Amount, Answer, Bond, Kind, Order, OrderStatus, Part, Placed, Player, Refused, Side, account_number, minus,
    play_all, plus, symbol_name,
};

use crate::common::client::Client;
use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::server::Launch;
use crate::common::talk;

/// The symbol of the orders that mark a place in the reports.
const MARKED: char = 'Q';

struct Session {
    xml: Client,
    fix: Fix,
    scenario: usize,
    /// The number of client order ids so far.
    names: u64,
    /// The shares and prices of the executions of orders that were reported.
    executed: BTreeMap<String, Vec<(String, String)>>,
    /// The orders that were reported as triggered.
    triggered: BTreeSet<String>,
}

fn field(message: &str, tag: u32) -> Option<&str> {
    let start = format!("{tag}=");
    message.split('|').find_map(|field| field.strip_prefix(&start))
}

fn needed(message: &str, tag: u32) -> String {
    field(message, tag).unwrap_or_else(|| panic!("no field {tag} in {message}")).to_owned()
}

impl Session {
    fn account(&self, letter: char) -> String {
        account_number(self.scenario, letter).to_string()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    /// Reads up to the first message that is the one, and notes the executions and triggers reported before it.
    fn read_until(&mut self, is_it: impl Fn(&str) -> bool) -> String {
        loop {
            let message = self.fix.next();
            let order = field(&message, 37).unwrap_or_default().to_owned();
            match field(&message, 150) {
                Some("F") => {
                    let (shares, price) = (needed(&message, 32), needed(&message, 31));
                    self.executed.entry(order).or_default().push((shares, price));
                }
                Some("D") => drop(self.triggered.insert(order)),
                _ => {}
            }
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Sends a request under a new name, and returns the answer that has the name. Errors: a refusal of the order,
    /// or of a value in it. Panics with any other: then this player wrote the message wrongly.
    fn ask(&mut self, kind: &str, fields: &str) -> Answer<String> {
        let name = self.name();
        let number = self.fix.next.to_string();
        self.fix.send(kind, &format!("11={name}|{fields}"));
        let answer = self.read_until(|message| match field(message, 35) {
            Some("3") => field(message, 45) == Some(&number),
            _ => field(message, 11) == Some(&name),
        });
        match (field(&answer, 35), field(&answer, 39)) {
            (Some("8"), Some("8")) | (Some("9"), _) => Err(Refused(answer)),
            (Some("3"), _) if field(&answer, 373) == Some("5") => Err(Refused(answer)),
            (Some("8"), _) => Ok(answer),
            _ => panic!("{kind} {fields} has the answer {answer}"),
        }
    }

    /// Waits until all reports of an account came: an order is reported behind all that happened before.
    fn catch_up(&mut self, account: char) {
        let symbol = symbol_name(self.scenario, MARKED);
        talk::issue(&mut self.xml, &symbol, account_number(self.scenario, account), "1");
        let order = Order::limit(Side::Sell, "1", MARKED, "90000000");
        let id = self.place(account, Bond::Alone, &[&order]).unwrap().remove(0);
        let terms = about(&self.account(account), &symbol, &order, &id);
        self.ask("F", &terms).unwrap();
    }

    /// The status of an order in an answer, with the executions that were reported.
    fn status(&mut self, account: char, order: &Placed, told: &str) -> OrderStatus {
        let [quantity, leaves, executed] = [38, 151, 14].map(|tag| needed(told, tag));
        let sum = |executions: Option<&Vec<(String, String)>>| {
            let executions = executions.into_iter().flatten();
            executions.fold("0".to_owned(), |sum, (shares, _)| plus(&sum, shares))
        };
        // The answer may overtake the reports of executions.
        while sum(self.executed.get(&order.id)) != executed {
            self.read_until(|message| field(message, 37) == Some(&order.id));
        }
        let mut parts = Vec::new();
        if leaves != "0" {
            if order.order.stop.is_some() && !self.triggered.contains(&order.id) {
                self.catch_up(account);
            }
            parts.push(match &order.order.stop {
                Some(price) if !self.triggered.contains(&order.id) => {
                    Part::Waits { shares: leaves.clone(), price: price.clone() }
                }
                _ => Part::Open { shares: leaves.clone(), shown: None },
            });
        }
        if ["4", "C"].contains(&needed(told, 39).as_str()) {
            parts.push(Part::Canceled { shares: minus(&quantity, &executed) });
        }
        let executions = self.executed.get(&order.id).cloned().unwrap_or_default().into_iter();
        parts.extend(executions.map(|(shares, price)| Part::Executed { shares, price }));
        parts
    }

    fn about(&mut self, kind: &str, account: char, order: &Placed) -> Answer<String> {
        let symbol = symbol_name(self.scenario, order.order.symbol);
        let terms = about(&self.account(account), &symbol, &order.order, &order.id);
        self.ask(kind, &terms)
    }
}

/// The fields that name an order.
fn about(account: &str, symbol: &str, order: &Order, id: &str) -> String {
    let shares = order.shares().map(|shares| format!("38={shares}|")).unwrap_or_default();
    format!("37={id}|1={account}|55={symbol}|54={}|{shares}", side(order))
}

fn side(order: &Order) -> u8 {
    if order.side == Side::Buy { 1 } else { 2 }
}

/// The fields of an order's terms.
fn terms(order: &Order) -> String {
    let kind = match (order.kind, order.stop.is_some()) {
        (Kind::Market | Kind::AuctionMarket, false) => "40=1|",
        (Kind::Market | Kind::AuctionMarket, true) => "40=3|",
        (_, false) => "40=2|",
        (_, true) => "40=4|",
    };
    let rests = match order.kind {
        Kind::Limit => "59=1|",
        Kind::PostOnly => "59=1|18=6|",
        Kind::ImmediateOrCancel => "59=3|",
        Kind::FillOrKill => "59=4|",
        Kind::AuctionLimit | Kind::AuctionMarket => "59=2|",
        Kind::Market if order.stop.is_some() => "59=1|",
        Kind::Market => "",
    };
    let amount = match &order.amount {
        Amount::Shares(shares) => format!("38={shares}|"),
        Amount::Funds(funds) => format!("152={funds}|"),
    };
    let given =
        |tag: u32, value: &Option<String>| value.as_ref().map(|value| format!("{tag}={value}|")).unwrap_or_default();
    let (limit, stop, display) = (given(44, &order.limit), given(99, &order.stop), given(111, &order.display));
    assert_eq!(order.self_trade, None, "FIX has no self-trade prevention");
    format!("{kind}{rests}{amount}{limit}{stop}{display}")
}

impl Player for Session {
    fn begin(&mut self, scenario: usize) {
        self.scenario = scenario;
    }

    fn fund(&mut self, account: char, dollars: &str) {
        talk::fund(&mut self.xml, account_number(self.scenario, account), dollars);
        // The session gets reports of the accounts that it names.
        let name = self.name();
        self.fix.send("AF", &format!("584={name}|585=7|1={}|", self.account(account)));
        self.read_until(|message| field(message, 584) == Some(&name));
    }

    fn issue(&mut self, symbol: char, account: char, shares: &str) {
        let symbol = symbol_name(self.scenario, symbol);
        talk::issue(&mut self.xml, &symbol, account_number(self.scenario, account), shares);
    }

    fn change_phase(&mut self, symbol: char, phase: &str) {
        talk::change_phase(&mut self.xml, &symbol_name(self.scenario, symbol), phase);
    }

    fn set_band(&mut self, symbol: char, percent: &str, by_pressure: bool) {
        talk::set_band(&mut self.xml, &symbol_name(self.scenario, symbol), percent, by_pressure);
    }

    fn place(&mut self, account: char, bond: Bond, orders: &[&Order]) -> Answer<Vec<String>> {
        assert_eq!(bond, Bond::Alone, "FIX has no lists of orders");
        let order = orders[0];
        let symbol = symbol_name(self.scenario, order.symbol);
        let fields = format!("1={}|55={symbol}|54={}|{}", self.account(account), side(order), terms(order));
        Ok(vec![needed(&self.ask("D", &fields)?, 37)])
    }

    fn query(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        let told = self.about("H", account, order)?;
        Ok(self.status(account, order, &told))
    }

    fn cancel(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        let told = self.about("F", account, order)?;
        Ok(self.status(account, order, &told))
    }

    fn amend(&mut self, account: char, order: &Placed, shares: &str) -> Answer<()> {
        let symbol = symbol_name(self.scenario, order.order.symbol);
        let (account, side) = (self.account(account), side(&order.order));
        let terms = terms(&Order { amount: Amount::Shares(shares.to_owned()), ..order.order.clone() });
        let fields = format!("37={}|1={account}|55={symbol}|54={side}|{terms}", order.id);
        let amended = self.ask("G", &fields)?;
        assert_eq!(needed(&amended, 150), "5", "{amended}");
        Ok(())
    }
}

#[test]
fn every_scenario_that_fix_can_say_is_played_over_it() {
    let folder = Folder::new("scenarios-fix");
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    let mut player = Session {
        xml: server.client(),
        fix: Fix::log_on(server.fix.unwrap(), "A"),
        scenario: 0,
        names: 0,
        executed: BTreeMap::new(),
        triggered: BTreeSet::new(),
    };
    let left_out = [
        "self-trade-newest",
        "self-trade-oldest",
        "self-trade-both",
        "self-trade-decrement",
        "self-trade-others-first",
        "iceberg-tip",
        "oco",
        "oco-stopped",
        "oco-canceled",
        "oco-refused",
        "bracket",
        "bracket-fits",
        "bracket-at-once",
        "bracket-canceled",
        "bracket-not-placed",
        "auction-self-trades",
        "auction-working-order",
    ];
    assert_eq!(play_all("fix", &mut player), left_out);
    server.stop();
}
