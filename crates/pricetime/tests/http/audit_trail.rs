//! The audit trail over REST: it equals the journal's, page by page, for those who may read it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::callers::{ASKED, ask_all, dumped, kill_in_steps, log_in};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, basic, secret};
use crate::common::server::Launch;
use crate::common::wait::wait_until;

/// A page of the trail. Panics if the request is refused.
fn page(client: &Client<'_>, query: &str) -> (Vec<Value>, Value) {
    let answer = client.get(&format!("/api/v1/audit{query}"));
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    (answer.body["commands"].as_array().unwrap().clone(), answer.body["next"].clone())
}

/// All pages together.
fn all(client: &Client<'_>, query: &str) -> Vec<Value> {
    let (mut commands, mut next) = page(client, &format!("?{query}"));
    while let Some(before) = next.as_u64() {
        let (more, then) = page(client, &format!("?before={before}&{query}"));
        commands.extend(more);
        assert!(then.as_u64().is_none_or(|then| then < before), "{then} follows {before}");
        next = then;
    }
    commands
}

/// The commands as `pricetime journal dump` prints them, newest first.
fn as_dumped(commands: &[Value]) -> Vec<Value> {
    let words =
        |one: &Value| json!({"command": one["sequence"], "time_us": one["time"], "what": one["what"], "by": one["by"]});
    commands.iter().map(words).collect()
}

#[test]
fn the_trail_is_that_of_the_journal_in_pages_and_by_member_session_and_account() {
    let folder = Folder::new("audit-rest");
    let server = AccessFile::new(&folder).launch(&folder).start();
    ask_all(&server);
    let http = Http::new(server.http);
    let olga = Client { http: &http, member: "olga" };
    let dump = |arguments: &[&str]| -> Vec<Value> { dumped(&folder.data(), arguments).into_iter().rev().collect() };
    let (told, next) = page(&olga, "");
    assert_eq!((as_dumped(&told), next), (dump(&[]), Value::Null));
    assert_eq!(told.len(), ASKED.len());
    for limit in [1, 2, 4, 9] {
        assert_eq!(all(&olga, &format!("limit={limit}")), told, "{limit} at a time");
    }
    let session = told[8]["by"]["session"].to_string();
    let of_session = format!("session={session}");
    for (query, arguments) in [
        ("member=bob", ["--member", "bob"]),
        ("account=1", ["--account", "1"]),
        (of_session.as_str(), ["--session", session.as_str()]),
        ("member=nobody", ["--member", "nobody"]),
    ] {
        assert_eq!(as_dumped(&all(&olga, &format!("limit=2&{query}"))), dump(&arguments), "{query}");
    }
    let of = |query: &str| all(&olga, query).iter().map(|one| one["sequence"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("account=2&member=bob"), [9, 7, 6]);
    assert_eq!(of("account=1"), [8, 5, 4, 1]);
    for (wrong, field) in
        [("limit=0", "limit"), ("limit=1001", "limit"), ("account=x", "account"), ("member=a%20b", "member")]
    {
        let answer = olga.get(&format!("/api/v1/audit?{wrong}"));
        assert_eq!((answer.status, &answer.body["field"]), (400, &json!(field)), "{wrong}: {}", answer.text);
    }
    assert_eq!(olga.get("/api/v1/audit?before=x").code(), (400, "malformed"));
    assert_eq!(page(&olga, "?before=1"), (Vec::new(), Value::Null));
    // A sequence beyond the last command is treated as the last command's.
    assert_eq!(page(&olga, "?before=999999").0, told);
    server.stop();
}

/// A later command of the server canceled such an order, and the trail said that nobody had asked for it.
#[test]
fn the_question_in_the_document_says_who_killed_an_order_that_a_later_command_canceled() {
    let folder = Folder::new("audit-killed");
    let server = AccessFile::new(&folder).launch(&folder).start();
    ask_all(&server);
    kill_in_steps(&server);
    let http = Http::new(server.http);
    let otto = Client { http: &http, member: "otto" };
    let mut socket = http.listen_with("/ws/v1", &[("authorization", &basic("otto-key", &secret("otto")))]);
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    let mut reports = Vec::new();
    while !reports.iter().any(|report: &Value| report["report"] == "canceled" && report["order_id"] == 7) {
        reports.extend(socket.next_of("reports", "orders")["reports"].as_array().unwrap().clone());
    }
    let sequence = |what: &str| {
        let report = reports.iter().find(|report| report["report"] == what && report["order_id"] == 7).unwrap();
        report["sequence"].as_u64().unwrap()
    };
    let (placed, canceled) = (sequence("placed"), sequence("canceled"));
    let canceling = &page(&otto, &format!("?limit=1&before={}", canceled + 1)).0[0];
    assert_eq!(canceling["by"]["member"], Value::Null, "the server itself canceled it: {canceling}");
    // The question as the document has it.
    let question = "/audit?kills=true&before=SEQUENCE";
    assert!(include_str!("../../../../docs/API.md").contains(&format!("`GET {question}`")));
    let (kills, next) =
        page(&otto, question.replace("SEQUENCE", &(canceled + 1).to_string()).trim_start_matches("/audit"));
    assert_eq!((kills.len(), next), (1, Value::Null));
    let oldest = kills.iter().rfind(|kill| kill["sequence"].as_u64().unwrap() > placed).unwrap();
    assert_eq!((&oldest["what"], &oldest["by"]["member"]), (&json!("kill symbol SPY"), &json!("olga")));
    assert!(oldest["sequence"].as_u64().unwrap() < canceled, "{oldest}");
    let olga = Client { http: &http, member: "olga" };
    assert_eq!(olga.send("PUT", "/api/v1/symbols/SPY/kill", Some(&json!({"killed": false}))).status, 200);
    let whats: Vec<Value> = all(&otto, "kills=true&limit=1").iter().map(|kill| kill["what"].clone()).collect();
    assert_eq!(whats, ["release symbol SPY", "kill symbol SPY"]);
    assert_eq!(all(&Client { http: &http, member: "alice" }, "kills=true"), [] as [Value; 0]);
    assert_eq!(otto.get("/api/v1/audit?kills=1").code(), (400, "malformed"));
    server.stop();
}

#[test]
fn a_member_is_told_what_it_asked_for_itself() {
    let folder = Folder::new("audit-own-rest");
    let server = AccessFile::new(&folder).launch(&folder).start();
    ask_all(&server);
    let http = Http::new(server.http);
    let client = |member| Client { http: &http, member };
    let whose = |member| {
        let told = all(&client(member), "limit=3");
        told.iter().map(|one| one["by"]["member"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(whose("otto").len(), ASKED.len(), "an auditor is told everything");
    assert_eq!(whose("alice"), ["alice", "alice"]);
    assert_eq!(whose("bob"), ["bob", "bob", "bob"]);
    assert_eq!((whose("vera").len(), whose("igor").len()), (0, 0));
    assert_eq!(all(&client("alice"), "member=alice").len(), 2);
    assert_eq!(client("alice").get("/api/v1/audit?member=bob").code(), (403, "not-permitted"));
    assert_eq!(client("alice").get("/api/v1/audit?account=2").code(), (404, "unknown-account"));
    assert_eq!(client("").get("/api/v1/audit").code(), (401, "unauthenticated"));
    server.stop();
}

#[test]
fn pages_go_through_all_files_of_a_journal_that_is_written_meanwhile_and_end_where_files_are_retired() {
    let folder = Folder::new("audit-files");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).with("--segment-size 64KiB --snapshot-every 1000000 --keep-journal").start();
    ask_all(&server);
    let mut alice = server.client();
    log_in(&mut alice, "alice");
    let order = "<order sym=\"SPY\" amount=\"-0.01\" limit=\"500\"/>";
    let many = format!("<transactions id=\"1\">{}</transactions>", order.repeat(100));
    for _ in 0..120 {
        alice.ask(&many);
    }
    let http = Http::new(server.http);
    let otto = Client { http: &http, member: "otto" };
    let (newest, next) = page(&otto, "?limit=1000");
    // The command that was just answered is in the trail, and commands that come while pages are read are in none of
    // them.
    let last = newest[0]["sequence"].as_u64().unwrap();
    assert_eq!(last, ASKED.len() as u64 + 12_000);
    let (mut before, mut read, mut short) = (next.as_u64(), newest.len(), 0);
    let mut rest = newest;
    while let Some(at) = before {
        alice.ask(&many);
        let (more, then) = page(&otto, &format!("?limit=1000&before={at}"));
        read += more.len();
        short += usize::from(more.len() < 1000 && then.is_u64());
        rest.extend(more);
        before = then.as_u64();
    }
    assert_eq!(read as u64, last);
    assert!(short > 0, "a page ends with its file");
    assert!(
        rest.windows(2).all(|two| two[0]["sequence"].as_u64() == two[1]["sequence"].as_u64().map(|older| older + 1))
    );
    assert!(rest[..12_000].iter().all(|one| one["by"]["member"] == "alice"), "callers are known in each file");
    assert_eq!(all(&otto, "limit=1000&member=olga").len(), 4);
    server.stop();

    let server = file.launch(&folder).with("--segment-size 64KiB --snapshot-every 400").start();
    let mut alice = server.client();
    log_in(&mut alice, "alice");
    let http = Http::new(server.http);
    let otto = Client { http: &http, member: "otto" };
    wait_until("journal files are retired", Duration::from_secs(30), || {
        alice.ask(&many);
        otto.get("/api/v1/audit?before=2").status == 410
    });
    // The last page that is kept says where the list continues, and that page is refused.
    let mut next = page(&otto, "?limit=1000").1;
    let refused = loop {
        let answer = otto.get(&format!("/api/v1/audit?limit=1000&before={next}"));
        match answer.status {
            200 => next = answer.body["next"].clone(),
            _ => break answer,
        }
    };
    assert_eq!(refused.code(), (410, "no-longer-kept"));
    server.stop();
}

#[test]
fn without_members_it_is_told_whose_commands_are_where_that_is_kept() {
    let folder = Folder::new("audit-open-rest");
    let make = |http: &Http, account: &str| http.make("/api/v1/accounts", &json!({"account": account, "balance": "1"}));
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    make(&http, "1");
    assert_eq!(http.read("/api/v1/audit")["commands"][0]["by"], Value::Null);
    server.stop();
    let server = Launch::new(&folder.data()).with("--audit").start();
    let http = Http::new(server.http);
    make(&http, "2");
    let told = http.read("/api/v1/audit");
    let [newer, older] = [&told["commands"][0], &told["commands"][1]];
    assert_eq!((&newer["account"], &newer["what"]), (&json!("2"), &json!("create account 2 balance 1")));
    let by = &newer["by"];
    assert_eq!((&by["protocol"], &by["member"], &by["address"]), (&json!("rest"), &Value::Null, &json!("127.0.0.1")));
    assert_eq!((&older["by"], &told["next"]), (&Value::Null, &Value::Null));
    server.stop();
}
