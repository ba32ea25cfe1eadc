//! Sessions that go on over connections: their numbers, and the reports of what happened while their clients were away.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, market, secret};
use crate::common::server::{Launch, Server};
use crate::sessions::{buy, serve};

/// Connects again, and logs on with this number.
pub fn back(address: SocketAddr, name: &str, next: u64) -> Fix {
    let mut fix = Fix::connect(address, name);
    fix.next = next;
    fix.send("A", "98=0|108=30|");
    fix
}

/// A sell of account 2 at any price.
pub const SELL: &str = r#"<transactions id="2"><order sym="SPY" amount="-1" limit="1"/></transactions>"#;

/// A client that was away got no report of what happened meanwhile, and had to begin its numbers again.
#[test]
fn a_client_that_was_away_goes_on_and_hears_what_happened() {
    let folder = Folder::new("fix-lasting");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    for name in ["a", "b"] {
        fix.send("D", &buy(name, "10"));
        fix.expect(&["150=0", &format!("11={name}")]);
    }
    drop(fix);
    server.ask(SELL);
    // The report of the execution has the number 4.
    std::thread::sleep(Duration::from_millis(300));
    let mut fix = back(address, "A", 4);
    let answer = fix.expect(&["35=A", "34=5"]);
    assert!(!answer.contains("|141="), "{answer}");
    fix.send("2", "7=4|16=4|");
    fix.expect(&["35=8", "34=4", "43=Y", "150=F", "11=a", "17=T1-1", "39=2"]);
    // What is sent again is the same again.
    fix.send("2", "7=1|16=0|");
    fix.expect(&["35=4", "34=1", "36=2"]);
    fix.expect(&["34=2", "43=Y", "150=0", "11=a"]);
    fix.expect(&["34=3", "43=Y", "150=0", "11=b"]);
    fix.expect(&["34=4", "43=Y", "150=F", "17=T1-1"]);
    fix.expect(&["35=4", "34=5", "36=6"]);
    server.ask(SELL);
    fix.expect(&["34=6", "150=F", "11=b", "17=T2-2"]);
    fix.send("5", "");
    fix.expect_end("goodbye");
    server.stop();
}

#[test]
fn a_number_too_high_is_asked_for_and_one_too_low_is_told() {
    let folder = Folder::new("fix-lasting-numbers");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("1", "112=x|");
    fix.expect(&["35=0"]);
    drop(fix);
    back(address, "A", 2).expect_end("MsgSeqNum(34) is 2, and 3 comes next");
    // The server asks for what it misses, and the messages have their turns.
    let mut fix = back(address, "A", 5);
    fix.expect(&["35=A"]);
    fix.expect(&["35=2", "7=3", "16=0"]);
    let lost = fix.made("D", 3, &format!("43=Y|122=20260101-00:00:00|{}", buy("a", "10")));
    std::io::Write::write_all(&mut fix.stream, &lost).unwrap();
    fix.expect(&["35=8", "150=0", "11=a"]);
    let filled = fix.made("4", 4, "43=Y|122=20260101-00:00:00|123=Y|36=6|");
    std::io::Write::write_all(&mut fix.stream, &filled).unwrap();
    fix.send("1", "112=there?|");
    fix.expect(&["35=0", "112=there?"]);
    // In a session, too, the numbers may begin again.
    fix.next = 1;
    fix.send("A", "98=0|108=30|141=Y|");
    fix.expect(&["35=A", "34=1", "141=Y"]);
    fix.send("1", "112=again|");
    fix.expect(&["35=0", "34=2", "112=again"]);
    drop(fix);
    let mut unknown = back(address, "B", 7);
    unknown.expect_end("MsgSeqNum(34) is 7, and the server knows no session of this name");
    server.stop();
}

#[test]
fn a_session_is_one_connection_s_and_one_member_s() {
    let folder = Folder::new("fix-lasting-members");
    let access = AccessFile::new(&folder);
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let address = server.fix.unwrap();
    market(&Http::new(server.http));
    let proof = |member: &str| format!("553={member}-key|554={}|", secret(member));
    let mut alice = Fix::connect(address, "DESK");
    alice.log_on_with(&proof("alice"));
    let mut second = Fix::connect(address, "DESK");
    second.send("A", &format!("98=0|108=30|{}", proof("alice")));
    assert_eq!(second.try_next().unwrap(), None, "its connection is closed without a message");
    // The same name of another member is another session.
    let mut bob = Fix::connect(address, "DESK");
    bob.log_on_with(&proof("bob"));
    alice.send("D", "11=a|55=SPY|54=1|38=1|40=2|59=1|44=100|");
    alice.expect(&["150=0", "11=a", "34=2"]);
    drop(alice);
    bob.send("D", "11=b|55=SPY|54=2|38=1|40=2|59=1|44=100|");
    bob.expect(&["150=0", "11=b"]);
    bob.expect(&["150=F", "11=b"]);
    std::thread::sleep(Duration::from_millis(300));
    let mut alice = Fix::connect(address, "DESK");
    alice.next = 3;
    alice.send("A", &format!("98=0|108=30|{}", proof("alice")));
    alice.expect(&["35=A", "34=4"]);
    alice.send("2", "7=3|16=3|");
    alice.expect(&["35=8", "34=3", "43=Y", "150=F", "11=a"]);
    server.stop();
}

/// A client whose connection ended before it knew of its order sends the order again. It was refused, because its name
/// stood for an order.
#[test]
fn an_order_that_comes_again_is_placed_once() {
    let folder = Folder::new("fix-lasting-again");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "10"));
    fix.expect(&["150=0", "11=a"]);
    fix.send("D", &format!("97=Y|{}", buy("a", "10")));
    fix.send("1", "112=there?|");
    fix.expect(&["35=0", "112=there?"]);
    fix.send("D", &format!("97=Y|{}", buy("a", "11")));
    fix.expect(&["150=8", "103=6", "11=a"]);
    fix.send("D", &buy("a", "10"));
    fix.expect(&["150=8", "103=6", "11=a"]);
    server.stop();
}

/// Starts the server again, at another address: somebody else may have that of before by then.
fn serve_again(folder: &Folder) -> (Server, SocketAddr) {
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    let address = server.fix.unwrap();
    (server, address)
}

/// The value of a field of a message.
fn field(message: &str, tag: u32) -> Option<&str> {
    message.split('|').find_map(|field| field.strip_prefix(&format!("{tag}=")))
}

/// A client that takes messages in their order, and asks for those that it misses, as stock engines do.
struct Follower {
    fix: Fix,
    /// The number of the next message from the server.
    expects: u64,
    /// All reports, in order.
    reports: Vec<String>,
}

impl Follower {
    fn log_on(address: SocketAddr, name: &str, next: u64, expects: u64) -> Follower {
        Follower { fix: back(address, name, next), expects, reports: Vec::new() }
    }

    /// Takes messages up to the answer to a TestRequest, which comes behind everything that has happened.
    fn take_all(&mut self, id: &str) {
        let is_told = format!("|112={id}|");
        self.fix.send("1", &format!("112={id}|"));
        // The answer comes as a gap fill where it came too early.
        let (mut is_asked, mut too_early) = (false, None);
        loop {
            let message = self.fix.next();
            assert_ne!(field(&message, 35), Some("5"), "{message}");
            let number: u64 = field(&message, 34).unwrap().parse().unwrap();
            if number > self.expects {
                if !is_asked {
                    self.fix.send("2", &format!("7={}|16=0|", self.expects));
                    is_asked = true;
                }
                too_early = message.contains(&is_told).then_some(number).or(too_early);
                continue;
            }
            assert!(number == self.expects || message.contains("|43=Y|"), "{message}");
            if number < self.expects {
                continue;
            }
            self.expects = field(&message, 36).map_or(number + 1, |next| next.parse().unwrap());
            if field(&message, 35) == Some("8") {
                self.reports.push(message.clone());
            }
            if message.contains(&is_told) {
                return;
            }
            if too_early.take_if(|answer| *answer < self.expects).is_some() {
                is_asked = false;
                self.fix.send("1", &format!("112={id}|"));
            }
        }
    }
}

/// Fills that the journal has and no session was told were told to nobody after the server was killed, and the numbers
/// began again.
#[test]
fn a_session_outlives_a_server_that_is_killed_and_each_fill_is_told_once() {
    const ROUNDS: usize = 6;
    let folder = Folder::new("fix-killed");
    let (mut server, mut address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", "11=a|1=1|55=SPY|54=1|38=100|40=2|59=1|44=10|");
    fix.expect(&["150=0", "34=2"]);
    let (mut next, mut expects, mut told, mut sold) = (fix.next, 3, Vec::new(), 0);
    let mut clients = vec![fix];
    for round in 0..ROUNDS {
        for _ in 0..=round {
            server.ask(SELL);
            sold += 1;
        }
        server.kill();
        clients.clear();
        (server, address) = serve_again(&folder);
        if round % 2 == 1 {
            server.ask(SELL);
            sold += 1;
        }
        let mut follower = Follower::log_on(address, "A", next, expects);
        follower.take_all(&format!("round{round}"));
        told.extend(follower.reports.iter().filter_map(|report| {
            assert!(!report.contains("|97=Y|"), "no power failed: {report}");
            assert!(report.contains("|150=F|") && report.contains("|11=a|"), "{report}");
            field(report, 17).map(str::to_owned)
        }));
        let executed = follower.reports.last().and_then(|last| field(last, 14)).unwrap().to_owned();
        assert_eq!((told.len(), executed), (sold, sold.to_string()), "{told:?}");
        (next, expects) = (follower.fix.next, follower.expects);
        clients.push(follower.fix);
    }
    assert_eq!(told.iter().collect::<HashSet<_>>().len(), sold, "{told:?}");
    server.stop();
}

/// The reports that are made of the history have to be those of the feed, or a client would take an event for two.
#[test]
fn reports_of_the_past_are_those_that_the_feed_told() {
    let folder = Folder::new("fix-past");
    let (server, address) = serve(&folder);
    let open = "<order sym=\"SPY\" amount=\"5\" limit=\"20\"/><order sym=\"SPY\" amount=\"7\" limit=\"9\"/>";
    server.ask(&format!("<transactions id=\"1\">{open}</transactions>"));
    let mut away = Fix::log_on(address, "AWAY");
    away.send("AF", "584=begin|585=7|1=1|");
    (0..2).for_each(|_| drop(away.expect(&["150=I"])));
    away.send("5", "");
    away.expect_end("goodbye");
    server.kill();
    let (server, address) = serve_again(&folder);
    let mut live = Fix::log_on(address, "LIVE");
    live.send("AF", "584=begin|585=7|1=1|");
    (0..2).for_each(|_| drop(live.expect(&["150=I"])));
    for requests in [
        r#"<transactions id="2"><order sym="SPY" amount="-2" limit="20"/></transactions>"#,
        r#"<transactions id="1"><amend id="1" shares="8"/></transactions>"#,
        r#"<transactions id="1"><amend id="1" limit="19"/></transactions>"#,
        r#"<transactions id="2"><order sym="SPY" amount="-3" limit="19"/></transactions>"#,
        r#"<transactions id="1"><amend id="2" shares="6" limit="8"/></transactions>"#,
        r#"<transactions id="1"><order sym="SPY" amount="4" limit="18" client-id="mine"/></transactions>"#,
        r#"<transactions id="1"><order sym="SPY" amount="1" limit="7" tif="IOC"/></transactions>"#,
        r#"<transactions id="1"><order sym="SPY" amount="2" limit="32" stop="30"/></transactions>"#,
        r#"<transactions id="2"><order sym="SPY" amount="-1" limit="31"/></transactions>"#,
        r#"<transactions id="1"><order sym="SPY" amount="1" limit="31"/></transactions>"#,
        r#"<transactions id="1"><cancel id="2"/></transactions>"#,
        r#"<transactions id="2"><order sym="SPY" amount="-50" limit="1"/></transactions>"#,
    ] {
        let told = server.ask(requests);
        assert!(!told.contains("<error"), "{requests}: {told}");
    }
    live.send("1", "112=end|");
    let body = |report: &str| {
        let header = ["8=", "9=", "34=", "49=", "52=", "56=", "10="];
        report.split('|').filter(|field| !header.iter().any(|tag| field.starts_with(tag))).collect::<Vec<_>>().join("|")
    };
    let mut told = Vec::new();
    std::thread::sleep(Duration::from_millis(500));
    live.send("1", "112=really|");
    loop {
        let next = live.next();
        if next.contains("|112=really|") {
            break;
        }
        told.extend(next.contains("|35=8|").then(|| body(&next)));
    }
    let mut away = Follower::log_on(address, "AWAY", away.next, 5);
    away.take_all("end");
    let past: Vec<String> = away.reports.iter().map(|report| body(report)).collect();
    assert!(told.len() >= 15, "{told:#?}");
    assert_eq!(past, told);
    server.stop();
}
