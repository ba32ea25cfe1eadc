//! What must be there before a load: accounts with more money and shares than they can spend, symbols, and orders that
//! rest. One connection, one request at a time; a market that is already there is used as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::choice::{OpenOrder, standing};
use super::login::Login;
use super::replies::{self, Framing, Kind, Replies};
use super::requests::{self, frame, order_attributes, symbol_name, transactions};
use crate::interrupt;
use crate::record::{LoadSettings, Recipe};

/// Elements a request: well below the default of `--max-children`.
const CHILDREN_PER_REQUEST: u64 = 1_000;
/// Issued in all, a hundredth of what a server may issue, so that the setup can be repeated on the same data.
const ISSUED_IN_ALL: u64 = 1_000_000_000_000_000_000;
/// Issued to one account at most: a thousandth of the default of `--max-balance` and of `--max-position`, so that the setup can be
/// repeated, and with a request's children below that of `--max-issue`.
const ISSUED_EACH_MAX: u64 = 10_000_000_000_000;
/// How long a server that closes after each reply may take for it.
const CLOSE_PATIENCE: Duration = Duration::from_millis(200);

/// How a server frames its replies.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub framing: Framing,
    /// It closes the connection after each reply.
    pub closes: bool,
}

/// What was created: dollars, and shares by symbol.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Issued {
    pub dollars: u128,
    pub shares: BTreeMap<String, u128>,
}

impl Issued {
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

/// Sends one harmless request, and sees how the server answers. Errors: no server, or none of this protocol.
pub fn probe(to: SocketAddr, patience: Duration, login: Option<&Login>) -> Result<Found, String> {
    let mut server = Server { to, patience, login, framing: Framing::Unknown, closes: false, stream: None };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    // In microseconds, so with fewer digits than the accounts of a load.
    let reply = server.ask(&requests::create(now, 0))?;
    if !matches!(replies::read(reply.as_bytes()), Some((Kind::Created, _))) {
        return Err(format!("{to} is no server of this protocol: a new account was answered with `{}`", reply.trim()));
    }
    let Some(stream) = &mut server.stream else { return Ok(Found { framing: server.framing, closes: true }) };
    let mut byte = [0];
    let closes = loop {
        let waiting = stream.set_read_timeout(Some(CLOSE_PATIENCE));
        match waiting.and_then(|()| stream.read(&mut byte)) {
            Ok(0) => break true,
            // The line end of the reply.
            Ok(_) => {
                if byte[0] == b'\n' && server.framing == Framing::Unknown {
                    server.framing = Framing::Lines;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break true,
        }
    };
    Ok(Found { framing: server.framing, closes })
}

/// Creates what the workload needs; accounts and symbols only where `market` says so. Returns the orders that rest, and
/// what was issued. Errors: what the server refused.
pub fn prepare(
    to: SocketAddr,
    (patience, login): (Duration, Option<&Login>),
    found: Found,
    load: &LoadSettings,
    strict: bool,
    market: bool,
) -> Result<(Vec<OpenOrder>, Issued), String> {
    let mut server = Server { to, patience, login, framing: found.framing, closes: found.closes, stream: None };
    let mut issued = Issued::default();
    match load.workload {
        _ if !market => {}
        Recipe::EchoExample => {
            let reply = server.ask(requests::EXAMPLE)?;
            if matches!(replies::read(reply.as_bytes()), Some((Kind::Created, _))) {
                issued.dollars += u128::from(requests::EXAMPLE_DOLLARS);
            }
            issued.add_examples(1);
        }
        Recipe::Lifecycle => {
            let symbols = (0..load.symbols).fold(String::new(), |mut text, symbol| {
                let _ = writeln!(text, "  <symbol sym=\"{}\"/>", symbol_name(symbol as usize));
                text
            });
            server.ask(&format!("<create>\n{symbols}</create>\n"))?;
            issued.shares = (0..load.symbols).map(|symbol| (symbol_name(symbol as usize), 0)).collect();
        }
        Recipe::Create | Recipe::Raw => {}
        Recipe::Order
        | Recipe::OrderTaking
        | Recipe::OrderResting
        | Recipe::OrderCrossing
        | Recipe::Mix
        | Recipe::Query => create_market(&mut server, load, strict, &mut issued)?,
    }
    let open = match load.workload.needs_open_orders() {
        true => open_orders(&mut server, load)?,
        false => Vec::new(),
    };
    Ok((open, issued))
}

/// Dollars that each of so many accounts gets, and shares of each symbol.
pub fn issued_each(accounts: u64) -> u64 {
    (ISSUED_IN_ALL / accounts).min(ISSUED_EACH_MAX)
}

/// Creates accounts 1 to `accounts`, and gives each its part of every symbol.
fn create_market(
    server: &mut Server<'_>,
    load: &LoadSettings,
    strict: bool,
    issued: &mut Issued,
) -> Result<(), String> {
    let each = issued_each(load.accounts);
    let in_all = u128::from(each) * u128::from(load.accounts);
    for some in batches(load.accounts) {
        let mut body = String::from("<create>\n");
        for account in some {
            let _ = writeln!(body, "  <account id=\"{account}\" balance=\"{each}\"/>");
        }
        // On a server that was driven before, they are there.
        server.ask_for(&(body + "</create>\n"), strict)?;
    }
    issued.dollars += in_all;
    for symbol in 0..load.symbols {
        let name = symbol_name(symbol as usize);
        for some in batches(load.accounts) {
            let mut body = format!("<create>\n  <symbol sym=\"{name}\">\n");
            for account in some {
                let _ = writeln!(body, "    <account id=\"{account}\">{each}</account>");
            }
            server.ask_for(&(body + "  </symbol>\n</create>\n"), true)?;
        }
        issued.shares.insert(name, in_all);
    }
    Ok(())
}

/// Opens the orders that rest.
fn open_orders(server: &mut Server<'_>, load: &LoadSettings) -> Result<Vec<OpenOrder>, String> {
    let mut orders = Vec::new();
    for some in standing(load) {
        let account = some[0].account;
        let children = some.map(|order| format!("<order {}/>", order_attributes(&order))).concat();
        let reply = server.ask_for(&transactions(account, &children), true)?;
        // The values echoed before it hold no quotes and no ` id=`.
        for opened in reply.split(" id=\"").skip(1) {
            let id = opened.split('"').next().and_then(|id| id.parse().ok());
            orders.push(OpenOrder { account, id: id.ok_or_else(|| format!("an order without an id in {reply}"))? });
        }
    }
    Ok(orders)
}

fn batches(accounts: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    let starts = (1..=accounts).step_by(CHILDREN_PER_REQUEST as usize);
    starts.map(move |start| start..=accounts.min(start.saturating_add(CHILDREN_PER_REQUEST - 1)))
}

/// A server, asked one request after the other.
struct Server<'a> {
    to: SocketAddr,
    patience: Duration,
    login: Option<&'a Login>,
    framing: Framing,
    closes: bool,
    stream: Option<TcpStream>,
}

impl Server<'_> {
    /// The reply. Errors: none, or, where all of it must be accepted, one with an error in it.
    fn ask_for(&mut self, body: &str, all: bool) -> Result<String, String> {
        let reply = self.ask(body)?;
        match reply.split("<error").nth(1).filter(|_| all) {
            Some(error) => {
                let shown: String = error.chars().take(200).collect();
                Err(format!("{}: the setup was refused: <error{shown}", self.to))
            }
            None => Ok(reply),
        }
    }

    fn ask(&mut self, body: &str) -> Result<String, String> {
        interrupt::check()?;
        let stream = self.stream.take().map_or_else(|| self.connect(), Ok)?;
        let (reply, stream) = self
            .exchange(stream, &frame(body))
            .map_err(|error| format!("{}: no reply during the setup: {error}", self.to))?;
        self.stream = stream.filter(|_| !self.closes);
        Ok(reply)
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let connect = || {
            let mut stream = TcpStream::connect_timeout(&self.to, self.patience)?;
            stream.set_read_timeout(Some(self.patience))?;
            stream.set_nodelay(true)?;
            self.login.map_or(Ok(()), |login| login.log_in(&mut stream, self.patience)).map(|()| stream)
        };
        connect().map_err(|error: std::io::Error| format!("{}: {error}; is the server running?", self.to))
    }

    /// The reply, and the stream if it is still open.
    fn exchange(&mut self, mut stream: TcpStream, request: &str) -> std::io::Result<(String, Option<TcpStream>)> {
        stream.write_all(request.as_bytes())?;
        let (mut replies, mut found, mut scratch) = (Replies::default(), None, vec![0; 64 << 10]);
        while found.is_none() {
            match stream.read(&mut scratch) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                // A signal: the reply comes all the same, and the next question is not asked.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(bytes) => replies.take(&mut self.framing, &scratch[..bytes], |reply| {
                    found = Some(String::from_utf8_lossy(reply).into_owned());
                }),
            }
        }
        Ok((found.unwrap_or_default(), Some(stream)))
    }
}
