//! The clients of a soak: traders over each protocol, which note what was acknowledged, and clients that come and go,
//! break off, or do not read. None of them panics because the server was killed: it waits for the next one.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::workload::Random;
use serde_json::{Value, json};

use crate::clients::lock;
use crate::common::client::{Client, frame};
use crate::common::fix::Fix;
use crate::common::keys::KeyFile;
use crate::common::once::{connect, exchange};
use crate::common::raw::{frame as websocket_frame, reset, try_connect_narrow};
use crate::common::reply::Element;
use crate::common::server::{PATIENCE, Server};

/// The accounts of the traders: two of each protocol, so that each finds somebody to trade with.
const ACCOUNTS: [&str; 5] = ["9000001", "9000002", "9000003", "9000004", BINANCE_ACCOUNT];
pub const BINANCE_ACCOUNT: &str = "9000005";
const SYMBOLS: [&str; 3] = ["MIXA", "MIXB", "MIXC"];
/// The orders that a trader leaves open before it cancels all of its account's.
const OPEN_MAX: usize = 300;
/// A pause between two requests of a driver, so that a small machine gets to all of them.
const PAUSE_US: usize = 3_000;

/// The request that creates the traders' accounts and symbols.
pub fn creation() -> String {
    let accounts: String = ACCOUNTS.iter().map(|id| format!("<account id=\"{id}\" balance=\"1000000000\"/>")).collect();
    let shares: String = ACCOUNTS.iter().map(|id| format!("<account id=\"{id}\">100000000</account>")).collect();
    let symbols: String = SYMBOLS.iter().map(|name| format!("<symbol sym=\"{name}\">{shares}</symbol>")).collect();
    format!("<create>{accounts}{symbols}</create>")
}

/// The addresses of the server that runs.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    xml: SocketAddr,
    http: SocketAddr,
    fix: SocketAddr,
}

impl Addresses {
    pub fn of(server: &Server) -> Addresses {
        Addresses { xml: server.xml, http: server.http, fix: server.fix.expect("it was asked for") }
    }
}

/// State that the drivers share.
pub struct Shared {
    /// The addresses; none while the server is being started again.
    pub addresses: Mutex<Option<Addresses>>,
    /// The acknowledged orders, by account.
    pub acknowledged: Mutex<BTreeMap<&'static str, Vec<u64>>>,
    /// Requests without an answer.
    pub refused: AtomicU64,
    keys: KeyFile,
    client_ids: AtomicU64,
    done: Vec<AtomicU64>,
    has_ended: AtomicBool,
}

impl Shared {
    pub fn new(addresses: Addresses, keys: KeyFile) -> Shared {
        Shared {
            addresses: Mutex::new(Some(addresses)),
            acknowledged: Mutex::default(),
            refused: AtomicU64::new(0),
            keys,
            client_ids: AtomicU64::new(0),
            done: DRIVERS.iter().map(|_| AtomicU64::new(0)).collect(),
            has_ended: AtomicBool::new(false),
        }
    }

    /// The number of things that each driver has done.
    pub fn done(&self) -> impl Iterator<Item = (&'static str, u64)> {
        DRIVERS.iter().zip(&self.done).map(|((name, _), done)| (*name, done.load(Ordering::Relaxed)))
    }

    /// The number of client order ids that were given.
    pub fn client_ids(&self) -> u64 {
        self.client_ids.load(Ordering::Relaxed)
    }

    /// A guard that ends the drivers when it is dropped.
    pub fn ending(&self) -> Ending<'_> {
        Ending(self)
    }

    fn acknowledge(&self, account: &'static str, id: u64) {
        lock(&self.acknowledged).entry(account).or_default().push(id);
    }
}

/// See `Shared::ending`.
pub struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.has_ended.store(true, Ordering::Relaxed);
    }
}

/// A driver talks to one server until that ends, the driver has had enough, or the soak ends. An error is the end of
/// the server.
pub type Driver = fn(&mut Session<'_>) -> io::Result<()>;

/// All drivers, by the name of what they do.
pub const DRIVERS: [(&str, Driver); 8] = [
    ("XML", over_xml),
    ("REST", over_rest),
    ("FIX", over_fix),
    ("Binance", over_binance),
    ("WebSocket", over_websocket),
    ("slow readers", without_reading),
    ("connects", connect_and_go),
    ("halts", halt_and_open),
];

/// A driver's view of one server.
pub struct Session<'a> {
    shared: &'a Shared,
    to: Addresses,
    random: Random,
    done: &'a AtomicU64,
}

impl Session<'_> {
    fn goes_on(&self) -> bool {
        !self.shared.has_ended.load(Ordering::Relaxed)
    }

    fn did(&self, count: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_micros(self.random.below(PAUSE_US) as u64));
    }

    /// Does nothing for so many hundredths of a second, or until the soak ends.
    fn rest_for(&self, hundredths: usize) {
        (0..hundredths).take_while(|_| self.goes_on()).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    }

    /// A price near 100, which mostly meets others.
    fn price(&mut self) -> String {
        format!("{}.{:02}", 95 + self.random.below(10), self.random.below(100))
    }

    fn side(&mut self) -> &'static str {
        self.random.pick(&["buy", "sell"])
    }

    fn client_id(&mut self) -> String {
        self.shared.client_ids.fetch_add(1, Ordering::Relaxed);
        format!("soak-{:x}", self.random.any())
    }
}

/// Drives the driver at this place until the soak ends.
pub fn drive(shared: &Shared, at: usize, seed: u64) {
    let mut random = Random::new(seed);
    while !shared.has_ended.load(Ordering::Relaxed) {
        let Some(to) = *lock(&shared.addresses) else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let mut session = Session { shared, to, random: Random::new(random.any()), done: &shared.done[at] };
        if (DRIVERS[at].1)(&mut session).is_err() {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn gone() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

/// Orders of most kinds in pipelines, with cancels and queries.
fn over_xml(session: &mut Session<'_>) -> io::Result<()> {
    let account = ACCOUNTS[0];
    let mut client = Client::connect(session.to.xml, PATIENCE)?;
    let (mut ids, mut turns) = (Vec::new(), 20 + session.random.below(200));
    while session.goes_on() && turns > 0 {
        turns -= 1;
        let mut body = format!("<transactions id=\"{account}\">");
        let children = 1 + session.random.below(12);
        (0..children).for_each(|_| body.push_str(&xml_child(session, &ids)));
        if ids.len() > OPEN_MAX {
            body.push_str("<cancel-all/>");
            ids.clear();
        }
        client.send_request(&(body + "</transactions>"))?;
        let reply = client.reply().map_err(|_| gone())?;
        let elements = Element::parse(&reply).children;
        for opened in elements.iter().filter(|element| element.name == "opened") {
            let id = opened.get("id").parse().unwrap();
            session.shared.acknowledge(account, id);
            ids.push(id);
        }
        session.did(elements.len() as u64);
        session.pause();
    }
    if session.random.percent(30) {
        // A request in the middle of its way.
        let whole = frame("<transactions id=\"9000001\"><query id=\"1\"/></transactions>");
        client.send(&whole[..whole.len() / 2])?;
    }
    Ok(())
}

fn xml_child(session: &mut Session<'_>, ids: &[u64]) -> String {
    let (symbol, price) = (session.random.pick(&SYMBOLS), session.price());
    let sign = session.random.pick(&["", "-"]);
    let shares = 1 + session.random.below(20);
    let order = |more: &str| format!("<order sym=\"{symbol}\" amount=\"{sign}{shares}\" {more}/>");
    match session.random.below(14) {
        0 if !ids.is_empty() => format!("<cancel id=\"{}\"/>", session.random.pick(ids)),
        1 | 2 if !ids.is_empty() => format!("<query id=\"{}\"/>", session.random.pick(ids)),
        3 => order("type=\"market\""),
        4 => order(&format!("limit=\"{price}\" tif=\"IOC\"")),
        5 => order(&format!("limit=\"{price}\" tif=\"FOK\"")),
        6 => order(&format!("limit=\"{price}\" post-only=\"move\"")),
        7 => order(&format!("limit=\"{price}\" tif=\"DAY\"")),
        8 => order(&format!("type=\"market\" stop=\"{price}\"")),
        9 => order(&format!("limit=\"{price}\" display=\"1\"")),
        10 => "<order sym=\"NONE\" amount=\"1\" limit=\"1\"/>".to_owned(),
        _ => order(&format!("limit=\"{price}\"")),
    }
}

/// A request over REST on a connection of its own.
fn rest(session: &Session<'_>, method: &str, path: &str, body: Option<&Value>) -> io::Result<Value> {
    let (status, told) = exchange(connect(session.to.http)?, method, path, body).ok_or_else(gone)?;
    let is_expected = status < 500 || matches!(status, 503 | 504);
    assert!(is_expected, "{method} {path} {body:?}: {status} {told}");
    session.did(1);
    Ok(told)
}

/// Orders of all kinds, lists of orders, changes and cancels.
fn over_rest(session: &mut Session<'_>) -> io::Result<()> {
    let account = session.random.pick(&[ACCOUNTS[1], ACCOUNTS[2]]);
    let mut last = None;
    for _ in 0..OPEN_MAX {
        if !session.goes_on() {
            return Ok(());
        }
        let (path, body) = rest_order(session, account);
        let told = rest(session, "POST", path, Some(&body))?;
        let placed = told["orders"].as_array().cloned().unwrap_or_else(|| vec![told]);
        for id in placed.iter().filter_map(|order| order["order_id"].as_u64()) {
            session.shared.acknowledge(account, id);
            last = Some(id);
        }
        if let Some(id) = last.filter(|_| session.random.percent(40)) {
            match session.random.below(3) {
                0 => rest(session, "GET", &format!("/api/v1/orders/{id}?account={account}"), None)?,
                1 => rest(session, "DELETE", &format!("/api/v1/orders/{id}?account={account}"), None)?,
                _ => {
                    let fewer = json!({"account": account, "shares": "1"});
                    rest(session, "PATCH", &format!("/api/v1/orders/{id}"), Some(&fewer))?
                }
            };
        }
        session.pause();
    }
    rest(session, "DELETE", &format!("/api/v1/accounts/{account}/orders"), None).map(drop)
}

fn rest_order(session: &mut Session<'_>, account: &str) -> (&'static str, Value) {
    let symbol = session.random.pick(&SYMBOLS);
    let (price, side, shares) = (session.price(), session.side(), (1 + session.random.below(20)).to_string());
    let mut order = json!({"account": account, "symbol": symbol, "side": side, "shares": shares, "limit": price});
    let kinds = ["limit", "post_only", "post_only_move", "immediate_or_cancel", "fill_or_kill"];
    order["kind"] = session.random.pick(&kinds).into();
    match session.random.below(12) {
        0 => order = json!({"account": account, "symbol": symbol, "side": side, "shares": shares, "kind": "market"}),
        1 => order = json!({"account": account, "symbol": symbol, "side": side, "funds": "500", "kind": "market"}),
        2 => (order["kind"], order["stop"]) = ("limit".into(), session.price().into()),
        3 => (order["kind"], order["trail_bips"]) = ("limit".into(), 50.into()),
        4 => (order["kind"], order["display"]) = ("limit".into(), "1".into()),
        5 => (order["kind"], order["tif"]) = ("limit".into(), "DAY".into()),
        6 => order["client_order_id"] = session.client_id().into(),
        7 => order["self_trade"] = session.random.pick(&["cancel_newest", "cancel_both", "decrement"]).into(),
        8 | 9 => {
            order["kind"] = "post_only".into();
            let mut second = order.clone();
            (second["kind"], second["stop"]) = ("limit".into(), session.price().into());
            let kind = session.random.pick(&["oco", "oto"]);
            return ("/api/v1/order-lists", json!({"kind": kind, "orders": [order, second]}));
        }
        _ => {}
    }
    ("/api/v1/orders", order)
}

/// Orders over FIX, whose reports are read to the end of the session.
fn over_fix(session: &mut Session<'_>) -> io::Result<()> {
    let account = ACCOUNTS[3];
    let stream = TcpStream::connect(session.to.fix)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut fix = Fix::over(stream, &format!("SOAK{}", session.random.below(1_000_000)));
    fix.try_send("A", "98=0|108=30|141=Y|")?;
    for number in 0..20 + session.random.below(100) {
        if !session.goes_on() {
            break;
        }
        let (symbol, price) = (session.random.pick(&SYMBOLS), session.price());
        let (side, shares, name) = (1 + session.random.below(2), 1 + session.random.below(20), session.client_id());
        let terms = session.random.pick(&["40=2|59=1|", "40=2|59=3|", "40=2|59=4|", "40=2|59=0|", "40=2|59=1|18=6|"]);
        let order = format!("11={name}|1={account}|55={symbol}|54={side}|38={shares}|44={price}|{terms}");
        fix.try_send("D", &order)?;
        if session.random.percent(30) {
            fix.try_send("F", &format!("11=c{name}|41={name}|1={account}|55={symbol}|54={side}|"))?;
        }
        session.did(1);
        if number % 16 == 0 {
            read_reports(session, &mut fix, account)?;
        }
        session.pause();
    }
    fix.try_send("q", &format!("11={}|530=7|1={account}|", session.client_id()))?;
    read_reports(session, &mut fix, account)?;
    match session.random.below(3) {
        0 => fix.try_send("5", "")?,
        1 => reset(fix.stream),
        _ => {}
    }
    Ok(())
}

/// Reads the reports that have come, and notes the orders that they acknowledge.
fn read_reports(session: &Session<'_>, fix: &mut Fix, account: &'static str) -> io::Result<()> {
    loop {
        match fix.try_next() {
            Ok(None) => return Err(gone()),
            Ok(Some(report)) => {
                let id = report.split('|').find_map(|field| field.strip_prefix("37=")).and_then(|id| id.parse().ok());
                if let Some(id) = id.filter(|_| report.contains("|150=0|")) {
                    session.shared.acknowledge(account, id);
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Signed requests of the compatible interface.
fn over_binance(session: &mut Session<'_>) -> io::Result<()> {
    for number in 0..100 {
        if !session.goes_on() {
            return Ok(());
        }
        let (symbol, side) = (session.random.pick(&SYMBOLS), session.random.pick(&["BUY", "SELL"]));
        let (price, shares) = (session.price(), 1 + session.random.below(20));
        let (method, path, parameters) = match session.random.below(6) {
            _ if number == 99 => ("DELETE", "openOrders", format!("symbol={symbol}USD")),
            0 => ("POST", "order", format!("symbol={symbol}USD&side={side}&type=MARKET&quantity={shares}")),
            1 => ("GET", "account", String::new()),
            2 => ("GET", "openOrders", String::new()),
            _ => {
                let name = session.client_id();
                let order = format!("symbol={symbol}USD&side={side}&type=LIMIT&timeInForce=GTC&quantity={shares}");
                ("POST", "order", format!("{order}&price={price}&newClientOrderId={name}"))
            }
        };
        let signed = session.shared.keys.sign(&parameters);
        let told = binance(session, method, &format!("/binance/api/v3/{path}?{signed}"))?;
        if let Some(id) = told["orderId"].as_u64() {
            session.shared.acknowledge(BINANCE_ACCOUNT, id);
        }
        session.did(1);
        session.pause();
    }
    Ok(())
}

fn binance(session: &Session<'_>, method: &str, path: &str) -> io::Result<Value> {
    let mut stream = connect(session.to.http)?;
    let key = &session.shared.keys.key;
    let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-mbx-apikey: {key}");
    stream.write_all(format!("{head}\r\ncontent-length: 0\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(gone)?;
    assert!(!head.starts_with("HTTP/1.1 500"), "{method} {path}: {answer}");
    Ok(serde_json::from_str(body).unwrap_or_default())
}

/// Subscribes to all there is, reads for a while, and goes, in good order or not.
fn over_websocket(session: &mut Session<'_>) -> io::Result<()> {
    let stream = connect(session.to.http)?;
    let url = format!("ws://{}/ws/v1", session.to.http);
    let (mut socket, _) = tungstenite::client(url, stream).map_err(|_| gone())?;
    for (at, wanted) in subscriptions().into_iter().enumerate() {
        let mut wanted = wanted;
        (wanted["op"], wanted["id"]) = ("subscribe".into(), at.into());
        socket.send(tungstenite::Message::text(wanted.to_string())).map_err(|_| gone())?;
    }
    for _ in 0..session.random.below(500) {
        if !session.goes_on() {
            break;
        }
        socket.read().map_err(|_| gone())?;
        session.did(1);
    }
    if session.random.percent(50) {
        let _ = socket.close(None);
    }
    Ok(())
}

fn subscriptions() -> Vec<Value> {
    let of_symbols = SYMBOLS.iter().flat_map(|symbol| {
        [json!({"channel": "book", "symbol": symbol}), json!({"channel": "trades", "symbol": symbol})]
    });
    of_symbols.chain(ACCOUNTS.iter().map(|account| json!({"channel": "orders", "account": account}))).collect()
}

/// Asks for much and reads none of it: queries over XML, and subscriptions. After a while it breaks off.
fn without_reading(session: &mut Session<'_>) -> io::Result<()> {
    let queries = "<query id=\"1\"/>".repeat(90);
    let request = frame(&format!("<transactions id=\"{}\">{queries}</transactions>", ACCOUNTS[0]));
    let mut over_xml = try_connect_narrow(session.to.xml)?;
    over_xml.set_nonblocking(true)?;
    let mut over_websocket = try_connect_narrow(session.to.http)?;
    let host = session.to.http;
    write!(
        over_websocket,
        "GET /ws/v1 HTTP/1.1\r\nhost: {host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )?;
    for (at, wanted) in subscriptions().into_iter().enumerate() {
        let mut wanted = wanted;
        (wanted["op"], wanted["id"]) = ("subscribe".into(), at.into());
        over_websocket.write_all(&websocket_frame(0x81, wanted.to_string().as_bytes()))?;
    }
    let began = Instant::now();
    while session.goes_on() && began.elapsed() < Duration::from_secs(3) {
        // The server stops reading at some time, and then nothing more can be sent.
        if over_xml.write_all(&request).is_err() {
            std::thread::sleep(Duration::from_millis(100));
        }
        session.did(1);
    }
    reset(over_xml);
    if session.random.percent(50) {
        reset(over_websocket);
    }
    Ok(())
}

/// Connections that come and go, with nothing, with a part of a request, or with no more than a beginning.
fn connect_and_go(session: &mut Session<'_>) -> io::Result<()> {
    let Addresses { xml, http, fix } = session.to;
    for _ in 0..50 {
        if !session.goes_on() {
            return Ok(());
        }
        let mut stream = TcpStream::connect(session.random.pick(&[xml, http, fix]))?;
        let part: &[u8] = session.random.pick(&[b"", b"12", b"GET /api", b"8=FIX.4.4\x019=", b"77\n<create>"]);
        stream.write_all(part)?;
        if session.random.percent(50) {
            reset(stream);
        }
        session.did(1);
        session.pause();
    }
    Ok(())
}

/// An operator, who halts a symbol, gathers its orders and opens it again.
fn halt_and_open(session: &mut Session<'_>) -> io::Result<()> {
    let symbol = session.random.pick(&SYMBOLS);
    for phase in ["halted", "auction", "open"] {
        rest(session, "PUT", &format!("/api/v1/symbols/{symbol}/phase"), Some(&json!({"phase": phase})))?;
        session.rest_for(30);
    }
    session.rest_for(200);
    Ok(())
}
