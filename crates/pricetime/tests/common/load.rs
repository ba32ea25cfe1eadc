//! A client whose every acknowledgement can be found in a trace of system calls: no two of its requests look alike.

use std::net::SocketAddr;

use terms::{AccountId, Command, Decimal, NewOrder, OrderId, Place, Side, Symbol};

use super::reply::Element;
use super::server::{Server, connect};
use super::trace::Acknowledged;

/// The requests of a client, answered or not, and the number of answered ones.
pub struct Asked {
    pub all: Vec<Acknowledged>,
    pub answered: usize,
}

/// Sends creates, orders and cancels of the client with this index, until this many rounds are answered or the
/// connection ends.
pub fn load(xml: SocketAddr, index: usize, rounds: usize) -> Asked {
    let mut client = connect(xml);
    let account = format!("{}", 100 + index);
    let id = AccountId::parse(account.as_bytes()).unwrap();
    let symbol = Symbol::parse(b"SPY").unwrap();
    let balance = Decimal::parse(b"1000000").unwrap().money().unwrap();
    let limit = Decimal::parse(b"1").unwrap().price().unwrap();
    let mut asked = Asked { all: Vec::new(), answered: 0 };
    let mut ask = |asked: &mut Asked, body: &str, told: String, command: &Command| -> Option<String> {
        let mut bytes = Vec::new();
        journal::encode(command, &mut bytes);
        asked.all.push(Acknowledged { told, command: bytes });
        client.send_request(body).ok()?;
        let reply = client.reply().ok()?;
        asked.answered += 1;
        Some(reply)
    };
    let create = Command::CreateAccount { account: id, balance };
    let body = format!("<create><account id=\"{account}\" balance=\"1000000\"/><symbol sym=\"SPY\"/></create>");
    if ask(&mut asked, &body, format!("<created id=\"{account}\"/>"), &create).is_none() {
        return asked;
    }
    for round in 0..rounds {
        // The amounts occur in no other order.
        let amount = format!("{}.{:04}", 1 + index, 1 + round);
        let body = format!(
            "<transactions id=\"{account}\"><order sym=\"SPY\" amount=\"{amount}\" limit=\"1\"/></transactions>"
        );
        let shares = Decimal::parse(amount.as_bytes()).unwrap().order_shares().unwrap();
        let place = Command::Place(Place::order(id, NewOrder::limit(symbol, Side::Buy, limit, shares)));
        let told = format!("<opened sym=\"SPY\" amount=\"{amount}\"");
        let Some(reply) = ask(&mut asked, &body, told, &place) else { return asked };
        if round % 3 == 0 {
            let order: u64 = Element::parse(&reply).children[0].get("id").parse().unwrap();
            let body = format!(
                "<transactions id=\"{account}\"><query id=\"{order}\"/><cancel id=\"{order}\"/></transactions>"
            );
            let cancel = Command::CancelOrder { account: id, order: OrderId(order).into() };
            if ask(&mut asked, &body, format!("<canceled id=\"{order}\">"), &cancel).is_none() {
                return asked;
            }
        }
    }
    asked
}

/// Does the same with several clients at once; returns all their requests.
pub fn load_together(xml: SocketAddr, clients: usize, rounds: usize) -> Asked {
    let clients: Vec<_> = (0..clients).map(|index| std::thread::spawn(move || load(xml, index, rounds))).collect();
    let mut together = Asked { all: Vec::new(), answered: 0 };
    for client in clients {
        let asked = client.join().unwrap();
        together.all.extend(asked.all);
        together.answered += asked.answered;
    }
    together
}

/// Places a thousand orders of an account of its own in one request. This fills the journal faster than
/// `load_together`.
pub fn fill(server: &Server) {
    // From the second time on they exist already.
    server.ask("<create><account id=\"77\" balance=\"1000000\"/><symbol sym=\"FILL\"/></create>");
    let orders = "<order sym=\"FILL\" amount=\"1\" limit=\"0.01\"/>".repeat(1000);
    let told = server.ask(&format!("<transactions id=\"77\">{orders}</transactions>"));
    assert!(!told.contains("<error"), "{told}");
}
