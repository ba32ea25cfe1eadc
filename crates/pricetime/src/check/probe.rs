//! One running case: it asks the server, remembers the exchanges, and compares. It knows nothing of the other cases.

use std::time::Duration;

use scenarios::plus;
use tls::Connector;

use super::expect::{Element, Manner, compare_all};
use super::fault::Fault;
use super::names::{Fresh, Names};
use super::script::{self, Step};
use crate::client::{Client, ClientError, Reply};
use crate::login::{Login, LoginError};

/// The most bytes of a request or reply that are kept for the report.
const SHOWN_BYTES_MAX: usize = 2_000;

/// The server under examination.
#[derive(Clone, Debug)]
pub struct Server {
    /// The address, `HOST:PORT`.
    pub address: String,
    /// The time limit for its replies.
    pub timeout: Duration,
    /// The options of TLS; none without TLS.
    pub tls: Option<Connector>,
    /// The login of each connection.
    pub login: Option<Login>,
}

impl Server {
    /// Opens a connection and logs in. Errors: the server cannot be reached, or refuses the login.
    pub fn connect(&self) -> Result<Client, LoginError> {
        let mut client = Client::connect(&self.address, self.timeout, self.tls.as_ref())?;
        self.login.as_ref().map_or(Ok(()), |login| login.log_in(&mut client)).map(|()| client)
    }
}

/// A request and its reply, both cut where they are long.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    pub sent: String,
    pub got: String,
}

/// A running case.
pub struct Probe<'a> {
    /// The server to ask.
    pub server: &'a Server,
    /// The values of its names.
    pub names: Names,
    /// The way in which replies are compared.
    pub manner: Manner,
    /// The exchanges so far; a case stops at the last.
    pub said: Vec<Exchange>,
    probe_symbol: String,
}

impl<'a> Probe<'a> {
    /// Makes a case that is about to start.
    pub fn new(server: &'a Server, fresh: Fresh) -> Probe<'a> {
        let mut names = Names::new(fresh);
        let probe_symbol = names.fresh_symbol();
        Probe { server, names, manner: Manner::Meaning, said: Vec::new(), probe_symbol }
    }

    /// Runs the steps of a script.
    pub fn script(&mut self, script: &str) -> Result<(), Fault> {
        let steps = script::parse(script).expect("invariant: a test reads every script");
        steps.into_iter().try_for_each(|step| match step {
            Step::Exact => {
                self.manner = Manner::Exact;
                Ok(())
            }
            Step::Send { request, expected } => {
                let request = self.names.fill(&request);
                let results = self.ask(request.as_bytes())?;
                self.compare(&expected, &results)
            }
            Step::HasMoney { account, dollars } => self.has_money(account, &dollars),
            Step::HasShares { account, shares, symbol } => self.has_shares(account, &shares, symbol),
        })
    }

    /// Opens a connection.
    pub fn connect(&mut self) -> Result<Client, Fault> {
        self.server.connect().map_err(|error| match error {
            LoginError::Client(error) => self.no_answer(&error),
            LoginError::Secret { .. } | LoginError::Refused(_) => Fault::NoAnswer(error.to_string()),
        })
    }

    /// Sends one request on a connection of its own, so that a server which closes after each reply is treated like one
    /// that does not, and reads the reply.
    pub fn ask(&mut self, body: &[u8]) -> Result<Element, Fault> {
        let mut client = self.connect()?;
        self.ask_on(&mut client, body)
    }

    /// Sends one request on a connection, and reads the reply.
    pub fn ask_on(&mut self, client: &mut Client, body: &[u8]) -> Result<Element, Fault> {
        self.will_send(body);
        client.send_frame(body).map_err(|error| self.no_answer(&error))?;
        self.read(client)
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, client: &mut Client, raw: &[u8]) -> Result<(), Fault> {
        self.will_send(raw);
        client.send_bytes(raw).map_err(|error| self.no_answer(&error))
    }

    /// Reads the next reply.
    pub fn read(&mut self, client: &mut Client) -> Result<Element, Fault> {
        let reply = self.read_bytes(client)?;
        Element::parse(&reply.bytes).map_err(Fault::Differs)
    }

    /// Reads the next reply without parsing it.
    pub fn read_bytes(&mut self, client: &mut Client) -> Result<Reply, Fault> {
        let reply = client.read_reply().map_err(|error| self.no_answer(&error))?;
        self.got(&reply.bytes);
        Ok(reply)
    }

    /// Compares a reply with the elements expected, written as in a script.
    pub fn expect(&mut self, expected: &str, results: &Element) -> Result<(), Fault> {
        let expected = Element::parse(format!("<results>{expected}</results>").as_bytes());
        self.compare(&expected.expect("invariant: a case's expectations are XML").children, results)
    }

    /// Checks that the connection ends, with nothing more on it but white space.
    pub fn expect_end(&mut self, client: &mut Client) -> Result<(), Fault> {
        match client.read_to_end() {
            Ok(rest) if rest.iter().all(|&byte| crate::client::is_between_messages(byte)) => Ok(()),
            Ok(rest) => {
                self.got(&rest);
                Err(Fault::Differs("more came where the end of the stream was expected".to_string()))
            }
            Err(ClientError::TimedOut { .. }) => {
                Err(Fault::Differs("the connection stays open; its end was expected".to_string()))
            }
            Err(error) => Err(Fault::Differs(error.to_string())),
        }
    }

    /// Notes the bytes that are about to be sent.
    pub fn will_send(&mut self, bytes: &[u8]) {
        self.said.push(Exchange { sent: shown(bytes), got: String::new() });
    }

    fn got(&mut self, bytes: &[u8]) {
        match self.said.last_mut() {
            Some(exchange) if exchange.got.is_empty() => exchange.got = shown(bytes),
            _ => self.said.push(Exchange { sent: String::new(), got: shown(bytes) }),
        }
    }

    fn compare(&mut self, expected: &[Element], results: &Element) -> Result<(), Fault> {
        compare_all(expected, results, &mut self.names, self.manner).map_err(Fault::Differs)
    }

    /// Makes a fault: half a reply differs, and none at all is no answer.
    fn no_answer(&mut self, error: &ClientError) -> Fault {
        let received = error.received();
        if received.iter().all(|&byte| crate::client::is_between_messages(byte)) {
            return Fault::NoAnswer(error.to_string());
        }
        self.got(received);
        Fault::Differs(format!("no whole reply: {error}"))
    }

    /// Sends a document that must be refused as a whole, and checks that it changed nothing.
    pub fn refused(&mut self, document: &[u8]) -> Result<(), Fault> {
        let account = self.names.of('A');
        let mut filled = Vec::new();
        let mut rest = document;
        // The document need not be UTF-8, so the one name in it is put in as bytes.
        while let Some(at) = rest.windows(3).position(|bytes| bytes == b"{A}") {
            filled.extend_from_slice(rest.get(..at).unwrap_or_default());
            filled.extend_from_slice(account.as_bytes());
            rest = rest.get(at + 3..).unwrap_or_default();
        }
        filled.extend_from_slice(rest);
        let results = self.ask(&filled)?;
        self.manner = Manner::Exact;
        self.expect("<error/>", &results)?;
        // Nothing of it took effect: the account that its first child names does not exist yet.
        self.script("fund A 5")
    }

    fn has_money(&mut self, account: char, dollars: &str) -> Result<(), Fault> {
        let (account, symbol) = (self.names.of(account), self.probe_symbol.clone());
        let inner = format!("<account id=\"{account}\">1</account>");
        let issue = format!("<create><symbol sym=\"{symbol}\">{inner}</symbol></create>");
        let issued = self.ask(issue.as_bytes())?;
        self.expect(&format!("<created sym=\"{symbol}\" id=\"{account}\"/>"), &issued)?;
        let step = if self.manner == Manner::Exact { "0.00000001" } else { "0.01" };
        let order = |limit: &str| format!("sym=\"{symbol}\" amount=\"1\" limit=\"{limit}\"");
        self.has(&account, dollars, order(dollars), order(&plus(dollars, step)))
            .map_err(|fault| fault.because(&format!("the account should be able to spend exactly {dollars} dollars")))
    }

    fn has_shares(&mut self, account: char, shares: &str, symbol: char) -> Result<(), Fault> {
        let (account, symbol) = (self.names.of(account), self.names.of(symbol));
        let step = if self.manner == Manner::Exact { "0.00000001" } else { "1" };
        // Nobody buys at this price, so the order can be canceled again.
        let order = |shares: &str| format!("sym=\"{symbol}\" amount=\"-{shares}\" limit=\"90000000\"");
        self.has(&account, shares, order(shares), order(&plus(shares, step)))
            .map_err(|fault| fault.because(&format!("the account should be able to sell exactly {shares} shares")))
    }

    /// Checks that one order is just possible (and takes it back), and that the next larger one is not.
    fn has(&mut self, account: &str, amount: &str, possible: String, too_much: String) -> Result<(), Fault> {
        let transactions = |child: &str| format!("<transactions id=\"{account}\">{child}</transactions>");
        if amount.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
            let opened = self.ask(transactions(&format!("<order {possible}/>")).as_bytes())?;
            self.expect(&format!("<opened {possible} id=\"*\"/>"), &opened)?;
            let id = opened.children.first().and_then(|opened| opened.attribute("id")).unwrap_or_default().to_string();
            let canceled = self.ask(transactions(&format!("<cancel id=\"{id}\"/>")).as_bytes())?;
            if canceled.children.first().is_none_or(|child| child.name != "canceled") {
                return Err(Fault::Differs(format!("the order {id} should be canceled")));
            }
        }
        let refused = self.ask(transactions(&format!("<order {too_much}/>")).as_bytes())?;
        self.expect(&format!("<error {too_much}/>"), &refused)
    }
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..SHOWN_BYTES_MAX).unwrap_or(bytes)).into_owned();
    match bytes.len().checked_sub(SHOWN_BYTES_MAX) {
        Some(more @ 1..) => format!("{text}… and {more} bytes more"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_amount_is_found_exactly() {
        for (amount, step, sum) in [
            ("12.5", "0.01", "12.51"),
            ("0", "0.00000001", "0.00000001"),
            ("0.99", "0.01", "1"),
            ("9007199254740993", "0.00000001", "9007199254740993.00000001"),
        ] {
            assert_eq!(plus(amount, step), sum);
        }
    }

    #[test]
    fn long_texts_are_cut_where_they_are_shown() {
        assert_eq!(shown(b"short"), "short");
        assert!(shown(&[b'x'; SHOWN_BYTES_MAX + 7]).ends_with("x… and 7 bytes more"));
    }
}
