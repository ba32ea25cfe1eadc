//! The beginnings, lives and ends of sessions, with any client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::common::fix::{Fix, message, now};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;

pub const MARKET: &str = r#"<create><account id="1" balance="1000000"/><account id="2" balance="1000000"/>
    <symbol sym="SPY"><account id="2">100000</account></symbol></create>"#;

pub fn serve(folder: &Folder) -> (Server, SocketAddr) {
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    server.ask(MARKET);
    let address = server.fix.unwrap();
    (server, address)
}

/// A buy of account 1.
pub fn buy(name: &str, limit: &str) -> String {
    format!("11={name}|1=1|55=SPY|54=1|38=1|40=2|59=1|44={limit}|")
}

#[test]
fn what_is_no_logon_is_told_so() {
    let folder = Folder::new("fix-no-logon");
    let (server, address) = serve(&folder);
    let refused = |bytes: &[u8], text: &str| {
        let mut fix = Fix::connect(address, "A");
        fix.stream.write_all(bytes).unwrap();
        fix.expect_end(text);
    };
    let logon = |fields: &str| message(&format!("35=A|49=A|52={}|{fields}", now()));
    refused(b"GET / HTTP/1.1\r\n\r\n", "BeginString(8)=FIX.4.4");
    refused(b"8=FIX.4.4\x019=5000\x01", "BodyLength(9) is the number of bytes, from 1 to 4096");
    refused(b"8=FIX.4.4\x019=5\x0135=A\x0110=000\x01", "CheckSum(10) is 000");
    refused(&message("35=0|49=A|56=PRICETIME|34=1|"), "the first message is a Logon");
    refused(&logon("34=1|98=0|108=30|"), "TargetCompID(56) is missing");
    refused(&logon("56=NYSE|34=1|98=0|108=30|"), "TargetCompID(56) is PRICETIME");
    refused(&logon("56=PRICETIME|34=7|98=0|108=30|"), "knows no session of this name");
    refused(&logon("56=PRICETIME|34=1|98=0|108=3601|"), "HeartBtInt(108) is 3601; it is 0 to 3600");
    let late = "35=A|49=A|52=20260101-00:00:00|56=PRICETIME|34=1|98=0|108=30|";
    refused(&message(late), "SendingTime(52) differs from the server's clock, ");
    server.stop();
}

#[test]
fn a_session_asks_for_what_is_missing_and_sends_again_what_is_asked_for() {
    let folder = Folder::new("fix-gaps");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "10"));
    fix.expect(&["35=8", "34=2", "150=0", "11=a"]);
    // The server sees the second order's sequence number skipped, as if the message was lost.
    let lost = fix.made("D", 3, &buy("b", "11"));
    fix.next = 4;
    fix.send("D", &buy("c", "12"));
    fix.expect(&["35=2", "34=3", "7=3", "16=0"]);
    fix.stream.write_all(&lost).unwrap();
    fix.expect(&["35=8", "34=4", "150=0", "11=b"]);
    let again = fix.made("D", 4, &format!("43=Y|122=20261126-00:00:00|{}", buy("c", "12")));
    fix.stream.write_all(&again).unwrap();
    fix.expect(&["35=8", "34=5", "150=0", "11=c"]);
    // All reports are sent again, and gap fills take the place of other messages.
    fix.send("2", "7=1|16=0|");
    fix.expect(&["35=4", "34=1", "43=Y", "123=Y", "36=2"]);
    fix.expect(&["35=8", "34=2", "43=Y", "11=a"]);
    fix.expect(&["35=4", "34=3", "43=Y", "123=Y", "36=4"]);
    fix.expect(&["35=8", "34=4", "43=Y", "11=b"]);
    fix.expect(&["35=8", "34=5", "43=Y", "11=c"]);
    // A message that the server has handled already is not handled twice.
    let twice = fix.made("D", 3, &format!("43=Y|122=20261126-00:00:00|{}", buy("b", "11")));
    fix.stream.write_all(&twice).unwrap();
    fix.send("1", "112=there?|");
    fix.expect(&["35=0", "34=6", "112=there?"]);
    let twice = fix.made("D", 3, &buy("b", "11"));
    fix.stream.write_all(&twice).unwrap();
    fix.expect_end("MsgSeqNum(34) is 3, and 7 comes next");
    server.stop();
}

#[test]
fn a_silent_client_is_asked_and_left_and_one_that_never_logs_on_too() {
    let folder = Folder::new("fix-silent");
    let (server, address) = serve(&folder);
    let mut silent = Fix::connect(address, "A");
    silent.send("A", "98=0|108=1|");
    let answer = silent.next();
    assert!(answer.contains("|35=A|") && !answer.contains("|141="), "{answer}");
    let mut kinds = Vec::new();
    loop {
        let told = silent.next();
        let kind = told.split('|').find_map(|field| field.strip_prefix("35=")).unwrap().to_owned();
        kinds.push(kind);
        if told.contains("|35=5|") {
            assert!(told.contains("nothing came for more than two heartbeats"), "{told}");
            break;
        }
    }
    assert!(kinds.contains(&"0".to_owned()) && kinds.contains(&"1".to_owned()), "{kinds:?}");
    assert_eq!(silent.try_next().unwrap(), None);
    let mut mute = Fix::connect(address, "B");
    mute.stream.write_all(b"8=FIX").unwrap();
    mute.expect_end("no Logon came in time");
    server.stop();
}

#[test]
fn whoever_speaks_wrongly_ends_alone() {
    let folder = Folder::new("fix-wrong");
    let (server, address) = serve(&folder);
    let mut good = Fix::log_on(address, "GOOD");
    let wrong = |bytes: &[u8], text: &str| {
        let mut fix = Fix::log_on(address, "WRONG");
        fix.stream.write_all(bytes).unwrap();
        fix.expect_end(text);
    };
    let wrong_sum = b"8=FIX.4.4\x019=5\x0135=0\x0110=000\x01".repeat(20);
    wrong(&wrong_sum, "16 garbled messages came, and none in its turn: CheckSum(10) is 000");
    wrong(&message("49=WRONG|35=D|").repeat(20), "16 garbled messages came, and none in its turn: MsgType(35) comes");
    wrong(b"8=FIX.4.4\x019=5000\x01", "BodyLength(9) is the number of bytes, from 1 to 4096; it is 5000");
    let mut other = Fix::log_on(address, "WRONG");
    other.stream.write_all(&message("35=D|49=OTHER|56=PRICETIME|34=2|")).unwrap();
    other.expect(&["35=3", "45=2", "371=49", "373=9"]);
    other.expect_end("SenderCompID(49) is that of the Logon");
    wrong(&message("35=D|49=WRONG|56=PRICETIME|34=1|"), "MsgSeqNum(34) is 1, and 2 comes next");
    // A fault of one message is reported, and the next message is handled.
    let mut fix = Fix::log_on(address, "FIELDS");
    fix.send("D", "11=a|1=1|55=SPY|54=1|38=1|38=2|40=2|59=1|44=10|");
    fix.expect(&["35=3", "45=2", "371=38", "372=D", "373=13"]);
    fix.send("4", "36=1|");
    fix.expect(&["35=3", "371=36", "373=5"]);
    fix.next = 3;
    fix.send("A", "98=0|108=30|");
    fix.expect(&["35=3", "371=35", "373=5"]);
    fix.send("ZZ", "");
    fix.expect(&["35=3", "45=4", "372=ZZ", "373=11"]);
    fix.send("V", "262=a|115=DESK|");
    fix.expect(&["35=j", "45=5", "372=V", "380=3", "128=DESK"]);
    // Refusals are not refused.
    fix.send("j", "45=1|372=8|380=3|");
    fix.send("D", "no field|");
    fix.expect(&["35=3", "45=7", "373=0"]);
    fix.send("D", "38=|");
    fix.expect(&["35=3", "45=8", "371=38", "373=4"]);
    fix.send("D", &buy("a", "10"));
    fix.expect(&["35=8", "150=0", "11=a"]);
    good.send("H", "11=a|1=1|55=SPY|54=1|");
    good.expect(&["35=8", "150=I", "39=0"]);
    let metrics = Http::new(server.http).get("/metrics");
    assert!(metrics.text.contains("gateway=\"fix\""), "{}", metrics.text);
    server.stop();
}

/// A message that was damaged on its way ended the session with all orders of a client that cancels on disconnect.
#[test]
fn garbled_messages_are_ignored_and_the_gap_has_them_sent_again() {
    let folder = Folder::new("fix-garbled");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let good = fix.numbered("D", &buy("a", "10"));
    let mut garbled = good.clone();
    let at = garbled.windows(4).position(|bytes| bytes == b"44=1").unwrap();
    garbled[at + 3] = b'9';
    let test = fix.numbered("1", "112=there?|");
    fix.stream.write_all(&[garbled, test.clone()].concat()).unwrap();
    fix.expect(&["35=2", "34=2", "7=2", "16=0"]);
    fix.stream.write_all(&[good, test].concat()).unwrap();
    let (placed, there) = (fix.next(), fix.next());
    let both = [placed, there].concat();
    assert!(both.contains("|150=0|") && both.contains("|44=10|") && both.contains("|112=there?|"), "{both}");
    server.stop();
}

/// An order whose report was to come when its client logged out was reported behind the Logout, or never.
#[test]
fn the_logout_comes_behind_the_reports_of_all_orders_before_it() {
    let folder = Folder::new("fix-last-words");
    let (server, address) = serve(&folder);
    for round in 0..20 {
        let mut fix = Fix::log_on(address, &format!("A{round}"));
        let (first, second) = (buy(&format!("{round}a"), "10"), buy(&format!("{round}b"), "11"));
        fix.send_together(&[("D", &first), ("D", &second), ("5", "")]);
        fix.expect(&["150=0", "44=10"]);
        fix.expect(&["150=0", "44=11"]);
        fix.expect_end("goodbye");
    }
    server.stop();
}

/// Connections that had not logged on took the places of sessions on a server without members.
#[test]
fn silent_connections_keep_nobody_out() {
    let folder = Folder::new("fix-silent-crowd");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut late = Fix::log_on(address, "B");
    for session in [&mut fix, &mut late] {
        session.send("1", "112=there?|");
        session.expect(&["35=0", "112=there?"]);
    }
    drop(silent);
    server.stop();
}

#[test]
fn one_that_does_not_read_holds_up_nobody_and_is_left() {
    /// Far more than the sockets of both sides hold.
    const ASKED_MAX: usize = 400_000;
    let folder = Folder::new("fix-not-read");
    let (server, address) = serve(&folder);
    let mut greedy = Fix::log_on(address, "GREEDY");
    for order in 0..200 {
        greedy.send("D", &buy(&format!("g{order}"), "10"));
    }
    // The client asks for the same messages again and again, and reads none of them: some 80 KB for each request of 90
    // bytes.
    greedy.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut asked = 0;
    while asked < ASKED_MAX {
        let bytes = greedy.made("2", greedy.next, "7=1|16=0|");
        if greedy.stream.write_all(&bytes).is_err() {
            break;
        }
        greedy.next += 1;
        asked += 1;
    }
    assert!(asked < ASKED_MAX, "it is not read while it does not read");
    let mut good = Fix::log_on(address, "GOOD");
    good.send("D", "11=s|1=2|55=SPY|54=2|38=1|40=2|59=1|44=200|");
    good.expect(&["35=8", "150=0", "11=s"]);
    std::thread::sleep(Duration::from_secs(11));
    let mut rest = [0; 1 << 16];
    greedy.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut unread = 0;
    while let Ok(count @ 1..) = greedy.stream.read(&mut rest) {
        unread += count;
        assert!(unread < 64 << 20, "it was left, and what the sockets took is all that came");
    }
    good.send("1", "112=there?|");
    good.expect(&["35=0", "112=there?"]);
    server.stop();
}

/// The answers to all requests of one read were once made before the first of them was sent: here 85 MB.
#[test]
fn long_answers_are_sent_one_by_one() {
    const ORDERS: usize = 1_000;
    const REQUESTS: usize = 256;
    /// Far less than all answers.
    const GROWN_KIB_MAX: u64 = 32 << 10;
    let folder = Folder::new("fix-long-answers");
    let (server, address) = serve(&folder);
    let order = r#"<order sym="SPY" amount="1" limit="1"/>"#.repeat(ORDERS);
    server.ask(&format!("<transactions id=\"1\">{order}</transactions>"));
    let mut greedy = Fix::log_on(address, "GREEDY");
    let before = server.process.memory_kib("VmHWM");
    let requests =
        (0..REQUESTS).map(|number| greedy.made("AF", 2 + number as u64, &format!("584=q{number}|585=7|1=1|")));
    let requests = requests.collect::<Vec<_>>().concat();
    greedy.stream.write_all(&requests).unwrap();
    // Others are served while it reads nothing.
    let mut good = Fix::log_on(address, "GOOD");
    good.send("D", "11=s|1=2|55=SPY|54=2|38=1|40=2|59=1|44=200|");
    good.expect(&["35=8", "150=0", "11=s"]);
    let last = format!("\x01584=q{}\x01911={ORDERS}\x01912=Y\x01", REQUESTS - 1);
    let (mut read, mut end) = (vec![0; 1 << 20], Vec::new());
    while !end.windows(last.len()).any(|bytes| bytes == last.as_bytes()) {
        let count = greedy.stream.read(&mut read).unwrap();
        assert!(count > 0, "the connection ended");
        end.drain(..end.len().saturating_sub(last.len()));
        end.extend_from_slice(&read[..count]);
    }
    let grown = server.process.memory_kib("VmHWM") - before;
    assert!(grown < GROWN_KIB_MAX, "{grown} KiB");
    server.stop();
}

/// The whole answer was once made, 3 MB of memory for 5,000 orders, before any of it was sent, and its client had ten
/// seconds for all of it.
#[test]
fn a_long_answer_is_made_as_it_is_read() {
    const ORDERS: usize = 5_000;
    const SESSIONS: usize = 40;
    /// Half of all answers. 30 to 41 MiB were measured: a session keeps a quarter of a MiB that it may send again.
    const GROWN_KIB_MAX: u64 = 60 << 10;
    /// Longer than a client may take nothing.
    const SLOW: Duration = Duration::from_secs(12);
    let folder = Folder::new("fix-long-answer");
    let (server, address) = serve(&folder);
    let order = r#"<order sym="SPY" amount="1" limit="1"/>"#.repeat(ORDERS);
    server.ask(&format!("<transactions id=\"1\">{order}</transactions>"));
    let asked = |number: usize| {
        let mut fix = Fix::log_on(address, &format!("S{number}"));
        fix.send("AF", &format!("584=q{number}|585=7|1=1|"));
        fix
    };
    let before = server.process.memory_kib("VmHWM");
    let mut slow = asked(SESSIONS);
    let (mut read, mut told) = (vec![0; 16 << 10], Vec::new());
    slow.stream.read_exact(&mut read).unwrap();
    told.extend_from_slice(&read);
    let _silent: Vec<Fix> = (0..SESSIONS).map(asked).collect();
    let begun = Instant::now();
    while begun.elapsed() < SLOW {
        std::thread::sleep(Duration::from_millis(250));
        slow.stream.read_exact(&mut read).unwrap();
        told.extend_from_slice(&read);
    }
    let unsent = figure(&server, "pricetime_fix_unsent_bytes");
    assert!((1..=256 << 10).contains(&unsent), "{unsent}: that of the session which reads");
    // An order that is done before its report is made is reported as it is by then.
    server.ask(&format!("<transactions id=\"1\"><cancel id=\"{ORDERS}\"/></transactions>"));
    let last = format!("\x01584=q{SESSIONS}\x01911={ORDERS}\x01912=Y\x01");
    // The report of the cancel may follow at once.
    let is_last = |told: &[u8]| told.windows(last.len()).any(|bytes| bytes == last.as_bytes());
    while !is_last(&told[told.len().saturating_sub(read.len() + last.len())..]) {
        let count = slow.stream.read(&mut read).unwrap();
        assert!(count > 0, "the connection ended after {} bytes", told.len());
        told.extend_from_slice(&read[..count]);
    }
    let told = String::from_utf8(told).unwrap().replace('\x01', "|");
    assert_eq!(told.matches("|150=I|39=0|").count(), ORDERS - 1);
    assert!(told.contains(&format!("|37={ORDERS}|17=0|150=I|39=4|1=1|55=SPY|54=1|38=1|151=0|")), "{:.500}", told);
    let grown = server.process.memory_kib("VmHWM") - before;
    assert!(grown < GROWN_KIB_MAX, "{grown} KiB");
    server.stop();
}

/// The value of a figure that has no labels.
fn figure(server: &Server, name: &str) -> u64 {
    let text = Http::new(server.http).get("/metrics").text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

/// The reports of each session once were made in the thread that answers all requests: 200 sessions that read nothing
/// delayed it by 46 s.
#[test]
fn reports_are_made_once_for_all_sessions_and_not_for_those_that_are_full() {
    const SESSIONS: usize = 5;
    /// Placed and canceled, these orders make more reports than may wait for a session.
    const ORDERS: usize = 45_000;
    const TOGETHER: usize = 9_000;
    let folder = Folder::new("fix-full");
    let (server, address) = serve(&folder);
    let hears = |name: &str| {
        let mut fix = Fix::log_on(address, name);
        fix.send("AF", "584=begin|585=7|1=1|");
        fix.expect(&["150=I"]);
        fix
    };
    let mut sessions: Vec<Fix> = (0..SESSIONS).map(|number| hears(&format!("S{number}"))).collect();
    let mut client = server.client();
    let order = "<order sym=\"SPY\" amount=\"1\" limit=\"1\"/>";
    let told = client.ask(&format!("<transactions id=\"1\">{}</transactions>", order.repeat(10)));
    assert!(!told.contains("<error"), "{told:.300}");
    for session in &mut sessions {
        (0..10).for_each(|_| drop(session.expect(&["150=0"])));
    }
    let reports = || figure(&server, "pricetime_fix_reports_total");
    assert_eq!(reports(), 10, "one that all sessions get is made once");
    wait_until("what was read waits no more", PATIENCE, || figure(&server, "pricetime_fix_reports_waiting") == 0);
    // From here on no session reads.
    for _ in 0..ORDERS / TOGETHER {
        client.ask(&format!("<transactions id=\"1\">{}</transactions>", order.repeat(TOGETHER)));
    }
    // One command cancels a thousand orders, and a turn ten thousand.
    while client.ask("<transactions id=\"1\"><cancel-all/></transactions>").contains("left-through") {}
    // This answer is made after all these reports.
    assert_eq!(Http::new(server.http).read("/api/v1/accounts/1")["open_orders"], 0);
    let made = reports();
    assert!(made <= 2 * ORDERS as u64 + 10, "{made}: none is made for one session alone");
    for _ in 0..10 {
        client.ask(&format!("<transactions id=\"1\">{order}</transactions>"));
        Http::new(server.http).read("/api/v1/accounts/1");
    }
    assert_eq!(reports(), made, "those that are full get no more");
    client.ask("<transactions id=\"1\"><cancel-all/></transactions>");
    let mut good = hears("GOOD");
    good.send("D", &buy("a", "10"));
    good.expect(&["150=0", "11=a"]);
    server.stop();
}

/// Reports that a session has read no longer count as waiting, so a session that reads gets any number of them.
#[test]
fn a_session_that_reads_is_told_of_more_reports_than_may_wait() {
    /// The number of reports: more than may wait for a session.
    const REPORTS: usize = 36_000;
    const TOGETHER: usize = 9_000;
    let folder = Folder::new("fix-reads");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("AF", "584=begin|585=7|1=1|");
    fix.expect(&["150=I"]);
    let mut client = server.client();
    let order = "<order sym=\"SPY\" amount=\"1\" limit=\"1\"/>";
    for _ in 0..REPORTS / TOGETHER {
        let told = client.ask(&format!("<transactions id=\"1\">{}</transactions>", order.repeat(TOGETHER)));
        assert!(!told.contains("<error"), "{told:.300}");
        (0..TOGETHER).for_each(|_| drop(fix.expect(&["150=0"])));
    }
    fix.send("1", "112=there?|");
    fix.expect(&["35=0", "112=there?"]);
    server.stop();
}

#[test]
fn a_stopping_server_says_goodbye_and_its_address_may_be_taken() {
    let folder = Folder::new("fix-stop");
    let (server, address) = serve(&folder);
    let other = Folder::new("fix-stop-other");
    let ended = Launch::new(&other.data()).with(&format!("--fix {address}")).try_start().err().unwrap();
    assert!(ended.stderr.contains("--fix"), "{ended:?}");
    let ended = Launch::new(&other.data()).with("--fix here").try_start().err().unwrap();
    assert!(ended.stderr.contains("fix is \"here\"; it is ADDRESS:PORT"), "{ended:?}");
    let ended = Launch::new(&other.data()).with("--fix 127.0.0.1:0 --feed=false").try_start().err().unwrap();
    assert!(ended.stderr.contains("feed"), "{ended:?}");
    let ended = Launch::new(&other.data()).with("--fix 0.0.0.0:0").try_start().err().unwrap();
    assert!(ended.stderr.contains("--fix is 0.0.0.0:0"), "{ended:?}");
    let mut fix = Fix::log_on(address, "A");
    let waiting = TcpStream::connect(address).unwrap();
    server.stop();
    fix.expect_end("the server stops");
    drop(waiting);
}
