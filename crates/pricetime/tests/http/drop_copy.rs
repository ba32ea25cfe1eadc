//! The drop copy: everything that some accounts do, in the order of the commands, for a reader that disconnects and
//! comes back.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::members::{AccessFile, Client, basic, secret};
use crate::common::server::{Launch, PATIENCE};
use crate::common::wait::wait_until;

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <account id="3" balance="100000"/>
    <symbol sym="SPY"><account id="1">1000</account><account id="2">1000</account></symbol></create>"#;

/// Sends orders of three accounts, two in each request. Some of them execute and some are canceled.
fn trade(client: &mut crate::common::client::Client, rounds: usize) {
    for round in 0..rounds {
        let limit = 10 + round % 3;
        for (account, amount) in [(1, -2), (2, 1), (3, 3)] {
            let order = format!("<order sym=\"SPY\" amount=\"{amount}\" limit=\"{limit}\"/>");
            let reply = client.ask(&format!("<transactions id=\"{account}\">{order}{order}</transactions>"));
            assert!(!reply.contains("<error"), "{reply}");
        }
        client.ask("<transactions id=\"3\"><cancel-all/></transactions>");
    }
}

fn subscribe(socket: &mut Socket, from: u64, accounts: &Value) {
    let mut request = json!({"op": "subscribe", "channel": "drop-copy", "from": from});
    if !accounts.is_null() {
        request["accounts"] = accounts.clone();
    }
    socket.send(&request);
    assert_eq!(socket.next()["type"], "subscribed");
}

/// Reads messages until everything up to the command `until` has been told, or for at most `messages` messages. Returns
/// the reports, and the command up to which everything has been told.
fn read(socket: &mut Socket, until: u64, messages: usize) -> (Vec<Value>, u64) {
    let (mut reports, mut through) = (Vec::new(), 0);
    for _ in 0..messages {
        let told = socket.next_of("reports", "drop-copy");
        reports.extend(told["reports"].as_array().unwrap().iter().cloned());
        let whole = told["through"].as_u64().unwrap();
        assert!(whole >= through, "{whole} after {through}");
        through = whole;
        if through >= until {
            break;
        }
    }
    (reports, through)
}

fn sequence(http: &Http) -> u64 {
    http.read("/api/v1/status")["sequence"].as_u64().unwrap()
}

/// The reports that the channel of one account replays.
fn reports_of(http: &Http, account: &str, until: u64) -> Vec<Value> {
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "channel": "orders", "account": account, "from": 0}));
    let mut reports = Vec::new();
    loop {
        let told = socket.next_of("reports", "orders");
        reports.extend(told["reports"].as_array().unwrap().iter().cloned());
        if told["through"].as_u64().unwrap() >= until && told["live"] == true {
            return reports;
        }
    }
}

#[test]
fn a_reader_that_goes_and_comes_back_is_told_everything_once_and_in_order() {
    let folder = Folder::new("drop-copy");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let mut client = server.client();
    trade(&mut client, 150);
    let http = Http::new(server.http);
    let accounts = json!(["3", "1"]);
    let (mut all, mut from) = (Vec::new(), 0);
    // The reader is disconnected again and again, also while more happens.
    for part in 0..6 {
        let mut socket = http.listen();
        subscribe(&mut socket, from, &accounts);
        trade(&mut client, 10);
        let (reports, through) = read(&mut socket, u64::MAX, 1 + part % 2);
        drop(socket);
        all.extend(reports.into_iter().filter(|told| told["report"]["sequence"].as_u64().unwrap() <= through));
        from = through;
    }
    let end = sequence(&http);
    let mut socket = http.listen();
    subscribe(&mut socket, from, &accounts);
    let (reports, through) = read(&mut socket, end, usize::MAX);
    assert_eq!(through, end);
    all.extend(reports);
    let sequences: Vec<u64> = all.iter().map(|told| told["report"]["sequence"].as_u64().unwrap()).collect();
    assert!(sequences.is_sorted(), "in the order of the commands");
    for account in ["1", "3"] {
        let its = all.iter().filter(|told| told["account"] == account).map(|told| told["report"].clone());
        assert_eq!(its.collect::<Vec<Value>>(), reports_of(&http, account, end), "account {account}");
    }
    assert!(all.iter().all(|told| told["account"] != "2") && all.len() > 1_500, "{}", all.len());
    // From now on reports come without a question, and only those of what happened since.
    trade(&mut client, 1);
    let (reports, _) = read(&mut socket, sequence(&http), usize::MAX);
    assert!(reports.iter().any(|told| told["report"]["report"] == "executed"), "{reports:?}");
    let is_new = |told: &Value| told["report"]["sequence"].as_u64().unwrap() > end;
    assert!(reports.iter().all(is_new), "told again: {reports:?}");
    socket.send(&json!({"op": "unsubscribe", "channel": "drop-copy"}));
    assert_eq!(socket.next_of("unsubscribed", "drop-copy")["channel"], "drop-copy");
    for (request, code) in [
        (json!({"from": 0}), "malformed"),
        (json!({"from": 0, "accounts": ["9"]}), "unknown-account"),
        (json!({"from": end + 1_000_000, "accounts": ["1"]}), "from-ahead"),
        (json!({"from": "x", "accounts": ["1"]}), "malformed"),
    ] {
        let mut whole = json!({"op": "subscribe", "channel": "drop-copy"});
        whole.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        socket.send(&whole);
        assert_eq!(socket.next()["code"], code, "{whole}");
    }
    server.stop();
}

#[test]
fn a_member_is_told_of_its_accounts_as_the_access_file_has_them() {
    let folder = Folder::new("drop-copy-members");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    let mut olga = server.client();
    olga.ask(&format!("<login key=\"olga-key\" secret=\"{}\"/>", secret("olga")));
    olga.ask(MARKET);
    let listen = |member: &str| {
        http.listen_with("/ws/v1", &[("authorization", &basic(&format!("{member}-key"), &secret(member)))])
    };
    let whose = |reports: &[Value]| {
        let mut accounts: Vec<String> =
            reports.iter().map(|told| told["account"].as_str().unwrap().to_owned()).collect();
        accounts.sort();
        accounts.dedup();
        accounts
    };
    let end = || {
        let status =
            http.send("GET", "/api/v1/status", None, &[("authorization", &basic("olga-key", &secret("olga")))]);
        status.body["sequence"].as_u64().unwrap()
    };
    let (mut alice, mut otto) = (listen("alice"), listen("otto"));
    subscribe(&mut alice, 0, &Value::Null);
    subscribe(&mut otto, 0, &json!(["1", "2"]));
    for socket in [&mut alice, &mut otto] {
        assert!(read(socket, 1, 1).0.is_empty(), "nothing happened");
    }
    trade(&mut olga, 1);
    assert_eq!(whose(&read(&mut alice, end(), 100).0), ["1"]);
    assert_eq!(whose(&read(&mut otto, end(), 100).0), ["1", "2"]);
    let mut bob = listen("bob");
    bob.send(&json!({"op": "subscribe", "channel": "drop-copy", "accounts": ["1"]}));
    assert_eq!(bob.next()["code"], "unknown-account");
    // An operator that may look at all of the member's accounts is told the same under the member's name.
    let mut by_name = listen("otto");
    by_name.send(&json!({"op": "subscribe", "channel": "drop-copy", "from": 0, "member": "alice"}));
    assert_eq!(by_name.next()["member"], "alice");
    assert_eq!(whose(&read(&mut by_name, end(), 100).0), ["1"]);
    for (who, request, code) in [
        ("bob", json!({"member": "alice"}), "unknown-member"),
        ("otto", json!({"member": "nobody"}), "unknown-member"),
        ("otto", json!({"member": "igor"}), "unknown-member"),
        ("otto", json!({"member": "alice", "accounts": ["1"]}), "malformed"),
    ] {
        let mut asked = json!({"op": "subscribe", "channel": "drop-copy"});
        asked.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        let mut socket = listen(who);
        socket.send(&asked);
        assert_eq!(socket.next()["code"], code, "{who} {asked}");
    }
    // From then on another account belongs to the member.
    let may_look = |member| Client { http: &http, member }.send("GET", "/api/v1/accounts/3", None).status == 200;
    assert!(!may_look("alice") && !may_look("vera"));
    let wider = AccessFile::text(&[]).replace("accounts = [\"1\"]", "accounts = [\"1\", \"3\"]");
    file.write(&wider);
    wait_until("the file to be followed", PATIENCE, || may_look("alice"));
    trade(&mut olga, 1);
    assert_eq!(whose(&read(&mut alice, end(), 100).0), ["1", "3"]);
    assert_eq!(whose(&read(&mut by_name, end(), 100).0), ["1", "3"]);
    // A viewer of one account learns nothing of the others by the member's name.
    file.write(&wider.replace("roles = [\"viewer\"]\naccounts = [\"2\"]", "roles = [\"viewer\"]\naccounts = [\"3\"]"));
    wait_until("the file to be followed", PATIENCE, || may_look("vera"));
    let mut vera = listen("vera");
    vera.send(&json!({"op": "subscribe", "channel": "drop-copy", "from": 0, "member": "alice"}));
    assert_eq!(vera.next()["code"], "unknown-member");
    subscribe(&mut vera, 0, &json!(["3"]));
    assert_eq!(whose(&read(&mut vera, end(), 100).0), ["3"]);
    server.stop();
}

/// The accounts of a drop copy were looked up when it began to catch up, which lasts as long as its reader likes: an
/// account that was taken from a member was told to it all that time.
#[test]
fn an_account_that_is_taken_away_is_told_no_more_while_the_reader_catches_up() {
    const ROUNDS: usize = 12;
    /// Orders of each account in a round.
    const ORDERS: usize = 1_000;
    let folder = Folder::new("drop-copy-taken");
    let file = AccessFile::new(&folder);
    let narrow = AccessFile::text(&[]);
    file.write(&narrow.replace("accounts = [\"1\"]", "accounts = [\"1\", \"3\"]"));
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    let mut olga = server.client();
    olga.ask(&format!("<login key=\"olga-key\" secret=\"{}\"/>", secret("olga")));
    olga.ask(MARKET);
    let orders = "<order sym=\"SPY\" amount=\"1\" limit=\"1\"/>".repeat(ORDERS);
    for account in (0..ROUNDS).flat_map(|_| [1, 3]) {
        let told = olga.ask(&format!("<transactions id=\"{account}\">{orders}<cancel-all/></transactions>"));
        assert_eq!(told.matches("<opened").count(), ORDERS, "{told:.300}");
    }
    let proof = basic("alice-key", &secret("alice"));
    let mut alice = http.listen_with("/ws/v1", &[("authorization", &proof)]);
    subscribe(&mut alice, 0, &Value::Null);
    let (mut reports, _) = read(&mut alice, u64::MAX, 1);
    let client = Client { http: &http, member: "alice" };
    let may_look = || client.get("/api/v1/accounts/3").status == 200;
    assert!(may_look());
    file.write(&narrow);
    wait_until("the file to be followed", PATIENCE, || !may_look());
    let status = Client { http: &http, member: "olga" }.get("/api/v1/status");
    reports.extend(read(&mut alice, status.body["sequence"].as_u64().unwrap(), usize::MAX).0);
    let of = |account| reports.iter().filter(|told| told["account"] == account).count();
    // What waited for the reader by then is told. An order has a report of its beginning, and one of its end.
    assert_eq!(of("1"), 2 * ROUNDS * ORDERS);
    assert!(of("3") < ROUNDS * ORDERS, "{} of {}", of("3"), 2 * ROUNDS * ORDERS);
    server.stop();
}
