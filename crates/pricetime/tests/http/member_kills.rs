//! The kill switch for a member: an operator or the member itself stops all of its accounts at once.

use serde_json::{Value, json};

use crate::common::client::{Client as XmlClient, frame};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, market, secret};
use crate::common::server::{PATIENCE, Server};
use crate::common::wait::wait_until;

/// Alice trades for accounts 1 and 2, and for one that does not exist; bob trades for account 2.
fn start(purpose: &str) -> (Folder, Server, Http) {
    let folder = Folder::new(purpose);
    let file = AccessFile::new(&folder);
    file.write(&with_accounts("\"2\", \"1\", \"99\""));
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    (folder, server, http)
}

/// The text of an access file in which alice has these accounts.
fn with_accounts(accounts: &str) -> String {
    AccessFile::text(&[]).replace("accounts = [\"1\"]", &format!("accounts = [{accounts}]"))
}

fn log_in(server: &Server, member: &str) -> XmlClient {
    let mut client = server.client();
    client.ask(&format!("<login key=\"{member}-key\" secret=\"{}\"/>", secret(member)));
    client
}

fn place(http: &Http, account: &str) -> (u16, Value) {
    let order = json!({"account": account, "symbol": "SPY", "side": "buy", "shares": "1", "limit": "9"});
    let answer = Client { http, member: "olga" }.send("POST", "/api/v1/orders", Some(&order));
    (answer.status, answer.body["code"].clone())
}

#[test]
fn a_killed_member_has_nothing_open_in_any_account_and_takes_no_orders_until_it_is_released() {
    let (_folder, server, http) = start("member-kills");
    let change = |member: &str, whom: &str, killed: bool| {
        let body = json!({"killed": killed});
        Client { http: &http, member }.send("PUT", &format!("/api/v1/members/{whom}/kill"), Some(&body))
    };
    let olga = Client { http: &http, member: "olga" };
    for (member, whom) in [("bob", "alice"), ("bob", "nobody"), ("vera", "vera"), ("otto", "alice"), ("olga", "nobody")]
    {
        assert_eq!(change(member, whom, true).code(), (404, "unknown-member"), "{member} kills {whom}");
    }
    assert_eq!(change("olga", "igor", true).code(), (422, "no-accounts"));
    let before = olga.get("/api/v1/status").body["sequence"].as_u64().unwrap();
    assert_eq!(change("olga", "alice", true).body, json!({"killed": true, "canceled": 2}));
    let after = olga.get("/api/v1/status").body["sequence"].as_u64().unwrap();
    assert_eq!((after - before) / 2, 1, "one command for each account that there is, and perhaps one that is refused");
    for account in ["1", "2"] {
        assert_eq!(olga.get(&format!("/api/v1/accounts/{account}/orders")).body["orders"], json!([]));
        assert_eq!(place(&http, account), (409, json!("killed")));
    }
    assert_eq!(olga.get("/api/v1/kill").body, json!({"killed": false, "accounts": ["1", "2"]}));
    assert_eq!(
        Client { http: &http, member: "bob" }.get("/api/v1/kill").body,
        json!({"killed": false, "accounts": ["2"]})
    );
    assert_eq!(change("alice", "alice", false).code(), (403, "not-permitted"), "she does not release herself");
    assert_eq!(change("olga", "alice", false).body, json!({"killed": false, "canceled": 0}));
    assert_eq!([place(&http, "1").0, place(&http, "2").0], [201, 201]);
    assert_eq!(change("alice", "alice", true).body, json!({"killed": true, "canceled": 2}), "she kills herself");
    server.stop();
}

/// The accounts that count are those of the moment, also for a session that began with others. What is left of the
/// member is killed, and the list of killed accounts says what that was.
#[test]
fn a_member_that_lost_an_account_kills_those_that_it_has_and_no_other() {
    let (folder, server, http) = start("member-kills-lost");
    let mut session = log_in(&server, "alice");
    let [alice, olga] = ["alice", "olga"].map(|member| Client { http: &http, member });
    let file = AccessFile { path: folder.path().join("access.toml") };
    file.write(&with_accounts("\"1\", \"99\""));
    wait_until("the file to be followed", PATIENCE, || alice.get("/api/v1/accounts/2").status == 404);
    let kill = "<create><kill member=\"alice\"/></create>";
    assert_eq!(session.ask(kill), "<results><killed member=\"alice\" orders=\"1\"/></results>\n");
    assert_eq!(olga.get("/api/v1/kill").body, json!({"killed": false, "accounts": ["1"]}));
    assert_eq!([place(&http, "1"), place(&http, "2")], [(409, json!("killed")), (201, Value::Null)]);
    // The account that comes back was not killed with the others, and is when she asks again.
    file.write(&with_accounts("\"2\", \"1\", \"99\""));
    wait_until("the file to be followed", PATIENCE, || alice.get("/api/v1/accounts/2").status == 200);
    let again = alice.send("PUT", "/api/v1/members/alice/kill", Some(&json!({"killed": true})));
    assert_eq!(again.body, json!({"killed": true, "canceled": 2}));
    assert_eq!(alice.get("/api/v1/kill").body, json!({"killed": false, "accounts": ["1", "2"]}));
    server.stop();
}

/// A request of a few bytes can name as many accounts as the members have together.
#[test]
fn a_request_kills_so_many_accounts_of_all_the_members_that_it_names() {
    const EACH: usize = 50;
    let folder = Folder::new("member-kills-many");
    let file = AccessFile::new(&folder);
    let accounts = |from: usize| {
        let ids: Vec<String> = (from..from + EACH).map(|id| format!("\"{id}\"")).collect();
        format!("accounts = [{}]", ids.join(", "))
    };
    let text = AccessFile::text(&[]).replace("accounts = [\"1\"]", &accounts(10_000));
    file.write(&text.replacen("accounts = [\"2\"]", &accounts(20_000), 1));
    let server = file.launch(&folder).start();
    market(&Http::new(server.http));
    let mut olga = log_in(&server, "olga");
    let [alice, bob] = ["alice", "bob"].map(|member| format!("<killed member=\"{member}\" orders=\"0\"/>"));
    assert_eq!(
        olga.ask("<create><kill member=\"alice\"/><kill member=\"bob\"/></create>"),
        format!("<results>{alice}{bob}</results>\n")
    );
    let too_many = "the members of one request have more accounts than it kills or releases; at most 100, so name the accounts in several requests, or use the HTTP API";
    assert_eq!(
        olga.ask("<create><kill member=\"alice\"/><kill member=\"bob\"/><kill member=\"vera\"/></create>"),
        format!("<results>{alice}{bob}<error member=\"vera\">{too_many}</error></results>\n")
    );
    // Behind the bound nobody is looked for any more, however often the request goes on.
    let again = "<kill member=\"nobody\"/>".repeat(9);
    assert_eq!(
        olga.ask(&format!("<create><kill member=\"alice\"/><kill member=\"bob\"/>{again}</create>")),
        format!(
            "<results>{alice}{bob}{}</results>\n",
            format!("<error member=\"nobody\">{too_many}</error>").repeat(9)
        )
    );
    assert_eq!(
        olga.ask("<create><kill member=\"vera\"/></create>"),
        "<results><killed member=\"vera\" orders=\"1\"/></results>\n"
    );
    server.stop();
}

/// Lets an account of alice have some ten thousand open orders.
fn order_much(client: &mut XmlClient, account: &str) {
    const AT_ONCE: usize = 9_000;
    let order = r#"<order sym="SPY" amount="1" limit="0.00000001"/>"#.repeat(AT_ONCE);
    for _ in 0..4 {
        let told = client.ask(&format!("<transactions id=\"{account}\">{order}</transactions>"));
        assert_eq!(told.matches("<opened").count(), AT_ONCE, "{told:.300}");
    }
}

/// Over XML, too, a refused release had released the accounts of which nothing was left.
#[test]
fn over_xml_a_release_of_a_member_whose_kill_goes_on_releases_none_of_its_accounts() {
    let (_folder, server, http) = start("member-kills-half-xml");
    let mut client = log_in(&server, "olga");
    order_much(&mut client, "2");
    let olga = Client { http: &http, member: "olga" };
    let killed = || olga.get("/api/v1/kill").body["accounts"].clone();
    // Both are sent at once, so the release comes before the kill has ended, however fast the server is.
    let [kill, release] =
        ["kill", "release"].map(|what| frame(&format!("<create><{what} member=\"alice\"/></create>")));
    client.send(&[kill, release].concat()).unwrap();
    assert!(client.reply().unwrap().contains("goes-on"));
    let told = client.reply().unwrap();
    assert!(told.contains("orders are still being canceled"), "{told}");
    let mut refused = 1;
    wait_until("the member is released", PATIENCE, || {
        let told = client.ask("<create><release member=\"alice\"/></create>");
        if told.contains("<error member=\"alice\">") {
            assert!(told.contains("orders are still being canceled"), "{told}");
            assert_eq!(killed(), json!(["1", "2"]));
            refused += 1;
        }
        told.contains("<changed member=\"alice\"/>")
    });
    assert_eq!(killed(), Value::Null, "after {refused} refusals");
    server.stop();
}

/// A refused release had released the accounts of the member of which nothing was left. Of a member with more accounts
/// than one request kills, those of the first requests could be released before a later one was refused.
#[test]
fn a_release_of_a_member_whose_kill_goes_on_releases_none_of_its_accounts() {
    let folder = Folder::new("member-kills-half");
    let file = AccessFile::new(&folder);
    let ids: Vec<String> = std::iter::once(1).chain(10_000..10_120).map(|id| format!("\"{id}\"")).collect();
    file.write(&AccessFile::text(&[]).replace("accounts = [\"1\"]", &format!("accounts = [{}]", ids.join(", "))));
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let mut client = log_in(&server, "olga");
    assert!(client.ask("<create><account id=\"10119\" balance=\"1000\"/></create>").contains("<created"));
    order_much(&mut client, "10119");
    let olga = Client { http: &http, member: "olga" };
    let change = |killed: bool| olga.send("PUT", "/api/v1/members/alice/kill", Some(&json!({"killed": killed})));
    let killed = || olga.get("/api/v1/kill").body["accounts"].clone();
    assert_eq!(change(true).body["goes_on"], true);
    let mut refused = 0;
    wait_until("the member is released", PATIENCE, || {
        let told = change(false);
        if told.status != 200 {
            assert_eq!(told.code(), (409, "kill-goes-on"));
            assert_eq!(killed(), json!(["1", "10119"]));
            refused += 1;
        }
        told.status == 200
    });
    assert_eq!(killed(), Value::Null, "after {refused} refusals");
    server.stop();
}

#[test]
fn xml_kills_a_member_as_one_element() {
    let (_folder, server, http) = start("member-kills-xml");
    let (mut olga, mut bob, mut alice) = (log_in(&server, "olga"), log_in(&server, "bob"), log_in(&server, "alice"));
    let killed = "<results><killed member=\"alice\" orders=\"2\"/></results>\n";
    let unknown = "<results><error member=\"alice\">Unknown member</error></results>\n";
    assert_eq!(bob.ask("<create><kill member=\"alice\"/></create>"), unknown);
    assert_eq!(olga.ask("<create><kill member=\"alice\"/></create>"), killed);
    assert_eq!(
        olga.ask("<create><kill member=\"alice\" sym=\"SPY\"/><kill member=\"igor\"/><kill name=\"alice\"/></create>"),
        "<results><error sym=\"SPY\" member=\"alice\">give one of account, sym and member</error>\
         <error member=\"igor\">the member has no accounts: its roles need none</error>\
         <error>kill has an unknown attribute name</error></results>\n"
    );
    assert_eq!(
        olga.ask("<create><release member=\"alice\"/></create>"),
        "<results><changed member=\"alice\"/></results>\n"
    );
    assert_eq!([place(&http, "1").0, place(&http, "2").0], [201, 201]);
    assert_eq!(alice.ask("<create><kill member=\"alice\"/></create>"), killed);
    server.stop();
}
