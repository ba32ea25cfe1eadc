//! Prepares a market for a load: accounts with more money and shares than they can spend, symbols, and orders that
//! rest. It uses one connection, and makes one request at a time; a market that exists already is used as it is.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tls::ClientStream;

use super::choice::{OpenOrder, standing};
use super::replies::{self, Framing, Kind, Replies};
use super::requests::{self, frame, order_attributes, symbol_name, transactions};
use super::server::Server;
use crate::machine::interrupt;
use crate::records::{LoadSettings, Recipe};

/// Elements of a request: well below the default of `--max-children`.
const CHILDREN_PER_REQUEST: u64 = 1_000;
/// Dollars, and shares of each symbol, issued in all: a hundredth of what a server may issue, so that the setup can be
/// repeated on the same data.
const ISSUED_IN_ALL: u64 = 1_000_000_000_000_000_000;
/// Dollars, and shares of each symbol, issued to one account, at most: a thousandth of the default of `--max-balance`
/// and of `--max-position`, so that the setup can be repeated, and with a request's children below that of
/// `--max-issue`.
const ISSUED_EACH_MAX: u64 = 10_000_000_000_000;
/// Time that a server which closes after each reply may take for it.
const CLOSE_PATIENCE: Duration = Duration::from_millis(200);

/// Everything that was created: dollars, and shares by symbol.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IssuedTotals {
    pub dollars: u128,
    pub shares: BTreeMap<String, u128>,
}

impl IssuedTotals {
    /// Adds what the load itself created.
    pub fn add_load(&mut self, recipe: Recipe, created: u64, refused: u64) {
        if recipe == Recipe::EchoExample {
            self.add_examples(refused);
        } else {
            self.dollars += u128::from(created) * u128::from(requests::BALANCE);
        }
    }

    fn add_examples(&mut self, count: u64) {
        let shares = self.shares.entry(requests::EXAMPLE_SYMBOL.to_string()).or_default();
        *shares += u128::from(count) * u128::from(requests::EXAMPLE_SHARES);
    }
}

/// Returns the dollars that each of this many accounts gets, and the shares of each symbol.
pub fn issued_each(accounts: u64) -> u64 {
    (ISSUED_IN_ALL / accounts).min(ISSUED_EACH_MAX)
}

/// A server that gets one request after the other.
pub struct Setup<'a> {
    server: &'a Server,
    /// The way in which it separates its replies.
    pub framing: Framing,
    /// Whether it closes the connection after each reply.
    pub closes: bool,
    stream: Option<ClientStream>,
}

impl<'a> Setup<'a> {
    /// Prepares for a server that nothing is known of. Sends nothing.
    pub fn new(server: &'a Server) -> Setup<'a> {
        Setup { server, framing: Framing::Unknown, closes: false, stream: None }
    }

    /// Sends one harmless request, and sees how the server answers. Errors: no server, or none of this protocol.
    pub fn probe(&mut self) -> Result<(), String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
        // The account is a time in microseconds, so with fewer digits than the accounts of a load.
        let reply = self.ask(&requests::create(now, 0))?;
        if !is_created(&reply) {
            let (to, reply) = (self.server.to, reply.trim());
            return Err(format!("{to} is no server of this protocol: a new account was answered with `{reply}`"));
        }
        let mut byte = [0];
        self.closes = loop {
            let Some(stream) = &mut self.stream else { break true };
            let waiting = stream.socket().set_read_timeout(Some(CLOSE_PATIENCE));
            match waiting.and_then(|()| stream.read(&mut byte)) {
                Ok(0) => break true,
                // The byte is the line end of the reply.
                Ok(_) if byte[0] == b'\n' && self.framing == Framing::Unknown => self.framing = Framing::Lines,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break true,
            }
        };
        self.stream = None;
        Ok(())
    }

    /// Creates what the workload needs; accounts and symbols only where `market` says so. Returns the orders that rest,
    /// and what was issued. Errors: what the server refused.
    pub fn prepare(
        &mut self,
        load: &LoadSettings,
        strict: bool,
        market: bool,
    ) -> Result<(Vec<OpenOrder>, IssuedTotals), String> {
        let mut issued = IssuedTotals::default();
        match load.workload {
            _ if !market => {}
            Recipe::EchoExample => {
                if is_created(&self.ask(requests::EXAMPLE)?) {
                    issued.dollars += u128::from(requests::EXAMPLE_DOLLARS);
                }
                issued.add_examples(1);
            }
            Recipe::Lifecycle => {
                let names = || (0..load.symbols as usize).map(symbol_name);
                let symbols: String = names().map(|name| format!("  <symbol sym=\"{name}\"/>\n")).collect();
                self.ask(&format!("<create>\n{symbols}</create>\n"))?;
                issued.shares = names().map(|name| (name, 0)).collect();
            }
            Recipe::Create | Recipe::Raw => {}
            Recipe::Order
            | Recipe::OrderTaking
            | Recipe::OrderResting
            | Recipe::OrderCrossing
            | Recipe::Mix
            | Recipe::Query => self.create_market(load, strict, &mut issued)?,
        }
        let open = if load.workload.needs_open_orders() { self.open_orders(load)? } else { Vec::new() };
        Ok((open, issued))
    }

    /// Creates accounts 1 to `accounts`, and gives each its part of every symbol.
    fn create_market(&mut self, load: &LoadSettings, strict: bool, issued: &mut IssuedTotals) -> Result<(), String> {
        let each = issued_each(load.accounts);
        let in_all = u128::from(each) * u128::from(load.accounts);
        for some in batches(load.accounts) {
            let accounts = some.map(|account| format!("  <account id=\"{account}\" balance=\"{each}\"/>\n"));
            // On a server that was driven before, they exist.
            self.ask_for(&format!("<create>\n{}</create>\n", accounts.collect::<String>()), strict)?;
        }
        issued.dollars += in_all;
        for name in (0..load.symbols as usize).map(symbol_name) {
            for some in batches(load.accounts) {
                let parts = some.map(|account| format!("    <account id=\"{account}\">{each}</account>\n"));
                let parts: String = parts.collect();
                let body = format!("<create>\n  <symbol sym=\"{name}\">\n{parts}  </symbol>\n</create>\n");
                self.ask_for(&body, true)?;
            }
            issued.shares.insert(name, in_all);
        }
        Ok(())
    }

    /// Opens the orders that rest.
    fn open_orders(&mut self, load: &LoadSettings) -> Result<Vec<OpenOrder>, String> {
        let mut orders = Vec::new();
        for some in standing(load) {
            let account = some[0].account;
            let children = some.map(|order| format!("<order {}/>", order_attributes(&order))).concat();
            let reply = self.ask_for(&transactions(account, &children), true)?;
            // The values echoed before it hold no quotes and no ` id=`.
            for opened in reply.split(" id=\"").skip(1) {
                let id = opened.split('"').next().and_then(|id| id.parse().ok());
                orders.push(OpenOrder { account, id: id.ok_or_else(|| format!("an order without an id in {reply}"))? });
            }
        }
        Ok(orders)
    }

    /// Makes a request, and returns the reply. Errors: there is none, or it has an error in it although `all` must be
    /// accepted.
    fn ask_for(&mut self, body: &str, all: bool) -> Result<String, String> {
        let reply = self.ask(body)?;
        let Some(error) = reply.split("<error").nth(1).filter(|_| all) else { return Ok(reply) };
        let shown: String = error.chars().take(200).collect();
        Err(format!("{}: the setup was refused: <error{shown}", self.server.to))
    }

    fn ask(&mut self, body: &str) -> Result<String, String> {
        interrupt::check()?;
        let to = self.server.to;
        let mut stream = self
            .stream
            .take()
            .map_or_else(|| self.server.connect(None), Ok)
            .map_err(|error| format!("{to}: {error}; is the server running?"))?;
        let reply = self
            .exchange(&mut stream, &frame(body))
            .map_err(|error| format!("{to}: no reply during the setup: {error}"))?;
        self.stream = (!self.closes).then_some(stream);
        Ok(reply)
    }

    fn exchange(&mut self, stream: &mut ClientStream, request: &str) -> std::io::Result<String> {
        stream.write_all(request.as_bytes())?;
        stream.flush()?;
        let (mut replies, mut found, mut scratch) = (Replies::default(), None, vec![0; 64 << 10]);
        loop {
            if let Some(reply) = found {
                return Ok(reply);
            }
            match stream.read(&mut scratch) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                // A signal came: the reply comes all the same, and the next request is not made.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(bytes) => replies.take(&mut self.framing, &scratch[..bytes], |reply| {
                    found = Some(String::from_utf8_lossy(reply).into_owned());
                }),
            }
        }
    }
}

fn is_created(reply: &str) -> bool {
    matches!(replies::read(reply.as_bytes()), Some((Kind::Created, _)))
}

fn batches(accounts: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    let starts = (1..=accounts).step_by(CHILDREN_PER_REQUEST as usize);
    starts.map(move |start| start..=accounts.min(start.saturating_add(CHILDREN_PER_REQUEST - 1)))
}
