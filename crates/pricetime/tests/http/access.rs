//! Permissions over REST: every operation of the description, asked by members of each role about their own and other
//! accounts.

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::members::{AccessFile, Client, MEMBERS, market};
use crate::common::server::Server;

fn start(folder: &Folder) -> (Server, Http, [u64; 2]) {
    let server = AccessFile::new(folder).launch(folder).start();
    let http = Http::new(server.http);
    let orders = market(&http);
    (server, http, orders)
}

/// An operation, as a request about an account.
struct Request {
    operation: String,
    method: String,
    path: String,
    body: Option<Value>,
}

/// Every operation of the description, about this account and this order. Panics for an operation whose body is not
/// written here.
fn requests(http: &Http, account: &str, order: u64) -> Vec<Request> {
    let description = http.read("/api/v1/openapi.json");
    let mut requests = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            let values = [("account", account.to_owned()), ("order", order.to_string())];
            let others = [("client_order_id", "mine".to_owned()), ("symbol", "SPY".to_owned())];
            let members = [("member", "nobody".to_owned()), ("key", "none".to_owned())];
            let mut full = path.clone();
            for (part, value) in values.iter().chain(&others).chain(&members) {
                full = full.replace(&format!("{{{part}}}"), value);
            }
            assert!(!full.contains('{'), "{path} has a part that nobody thought of");
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            if parameters.iter().any(|one| one["in"] == "query" && one["name"] == "account") {
                full += &format!("?account={account}");
            }
            if name == "listCandles" {
                full += "?interval=1m";
            }
            let body = operation["requestBody"].is_object().then(|| body(name, account));
            requests.push(Request { operation: name.to_owned(), method: method.to_uppercase(), path: full, body });
        }
    }
    requests
}

fn body(operation: &str, account: &str) -> Value {
    let order = json!({"account": account, "symbol": "SPY", "side": "buy", "shares": "1", "limit": "9"});
    match operation {
        "createAccount" => json!({"account": account, "balance": "5"}),
        "issueShares" => json!({"account": account, "shares": "5"}),
        "deposit" | "withdraw" => json!({"dollars": "5"}),
        "changeGroup" => json!({"group": 7}),
        "changeTier" => json!({"tier": 7}),
        "changeLimits" => json!({"open_orders": 7}),
        "changeFees" => json!({"tier": 7, "maker": "1", "taker": "2", "account": account}),
        "changeRules" => json!({"tick": "0.01"}),
        "changePhase" => json!({"phase": "auction"}),
        "killAccount" | "killMember" | "killSymbol" | "killEverything" => json!({"killed": true}),
        "placeOrder" | "replaceOrder" | "replaceOrderByClientId" => order,
        "placeOrderList" => {
            let leg = |price: &str, limit: &str| json!({"account": account, "symbol": "SPY", "side": "sell", "shares": "1", price: limit, "limit": limit});
            let mut limit = leg("limit", "20");
            limit["kind"] = json!("post_only");
            json!({"orders": [limit, leg("stop", "5")]})
        }
        "amendOrder" | "amendOrderByClientId" => json!({"account": account, "shares": "0.5"}),
        "addMember" => json!({"name": "dora", "roles": []}),
        "changeMember" => json!({"roles": []}),
        "addKey" => json!({"kind": "hmac"}),
        "changeMode" => json!({"mode": "normal"}),
        "runSandbox" => json!({"running": false}),
        "logIn" => json!({}),
        _ => panic!(
            "what does {operation} take? A new route needs its place here, and in gateways/http/src/route_needs.rs"
        ),
    }
}

fn ask(client: &Client<'_>, request: &Request) -> Answer {
    client.send(&request.method, &request.path, request.body.as_ref())
}

/// The paths that anybody may read.
const FOR_ANYBODY: [&str; 8] =
    ["getHealth", "getReady", "getTime", "getOpenApi", "getAsyncApi", "getSession", "logIn", "logOut"];

#[test]
fn whoever_has_proven_nothing_gets_nothing() {
    let folder = Folder::new("access-nobody");
    let (server, http, [order, _]) = start(&folder);
    let nobody = Client { http: &http, member: "" };
    let mut refused = 0;
    for request in requests(&http, "1", order) {
        let answer = ask(&nobody, &request);
        if FOR_ANYBODY.contains(&request.operation.as_str()) {
            assert!(answer.status != 403, "{}: {}", request.operation, answer.text);
            continue;
        }
        assert_eq!(answer.code(), (401, "unauthenticated"), "{} {}", request.method, request.path);
        refused += 1;
    }
    assert!(refused >= 30, "{refused}");
    for path in ["/metrics", "/ws/v1", "/binance/api/v3/depth?symbol=SPYUSD", "/binance/api/v3/account"] {
        assert_eq!(http.get(path).status, 401, "{path}");
    }
    for path in ["/", "/health", "/binance/api/v3/ping", "/binance/api/v3/time", "/binance/sapi/v1/system/status"] {
        assert_eq!(http.get(path).status, 200, "{path}");
    }
    assert_eq!(http.get("/api/v1/nothing").code(), (404, "not-found"));
    server.stop();
}

/// A request about an account of others gets the same answer, byte for byte, as one about an account that does not
/// exist, so nobody learns whether it exists.
#[test]
fn an_account_of_others_is_as_one_that_is_not_there() {
    let folder = Folder::new("access-others");
    let (server, http, [order, _]) = start(&folder);
    let operator = Client { http: &http, member: "olga" };
    let (others, nobodys) = (requests(&http, "1", order), requests(&http, "99", order));
    let before = operator.get("/api/v1/status").body["sequence"].clone();
    let mut compared = 0;
    for member in ["bob", "vera", "igor"] {
        let client = Client { http: &http, member };
        for (others, nobodys) in others.iter().zip(&nobodys) {
            let is_about_an_account = others.path != nobodys.path || others.body != nobodys.body;
            if !is_about_an_account
                || member == "igor" && ["createAccount", "issueShares", "deposit"].contains(&others.operation.as_str())
            {
                continue;
            }
            let (one, other) = (ask(&client, others), ask(&client, nobodys));
            let told = format!("{member} {} {}", others.method, others.path);
            assert_eq!((one.status, &one.kind, &one.text), (other.status, &other.kind, &other.text), "{told}");
            assert!([403, 404].contains(&one.status), "{told}: {}", one.text);
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
    let after = operator.get("/api/v1/status").body["sequence"].clone();
    assert_eq!(before, after, "nothing of it was done");
    server.stop();
}

/// Encoding the path, or naming the account twice, does not get around the check.
#[test]
fn an_account_is_found_however_it_is_written() {
    let folder = Folder::new("access-written");
    let (server, http, [order, own]) = start(&folder);
    let bob = Client { http: &http, member: "bob" };
    for path in [
        "/api/v1/accounts/%31",
        "/api/v1/accounts/1?limit=0",
        "/api/v1/accounts/1/orders?status=all",
        "/api/v1/accounts/01",
    ] {
        assert_eq!(bob.get(path).code(), (404, "unknown-account"), "{path}");
    }
    for query in ["account=2&account=1", "account=1&account=2", "%61ccount=1", "account=%31"] {
        let answer = bob.get(&format!("/api/v1/orders/{order}?{query}"));
        assert!([400, 404].contains(&answer.status), "{query}: {}", answer.text);
        assert!(!answer.text.contains("limit"), "{query}: {}", answer.text);
    }
    assert_eq!(bob.get(&format!("/api/v1/orders/{order}?account=2")).code(), (404, "unknown-order"));
    assert_eq!(bob.get(&format!("/api/v1/orders/{own}?account=2")).status, 200);
    assert_eq!(bob.get("/api/v1/accounts/%32").status, 200);
    let head = Client { http: &http, member: "" }.send("HEAD", "/api/v1/accounts/1", None);
    assert_eq!(head.status, 401);
    server.stop();
}

#[test]
fn each_role_does_its_part() {
    let folder = Folder::new("access-roles");
    let (server, http, orders) = start(&folder);
    let operator = Client { http: &http, member: "olga" };
    let sequence = || operator.get("/api/v1/status").body["sequence"].as_u64().unwrap();
    // Viewers change nothing, and see their own accounts.
    let before = sequence();
    for (member, own, order) in [("otto", "1", orders[0]), ("vera", "2", orders[1])] {
        for request in requests(&http, own, order) {
            let answer = ask(&Client { http: &http, member }, &request);
            let reads = request.method == "GET";
            let is_allowed = reads
                && (member == "otto"
                    || !["getBookOrders", "getPastBookOrders", "listMembers"].contains(&request.operation.as_str()))
                || ["logIn", "logOut"].contains(&request.operation.as_str());
            assert_eq!(
                answer.status < 400,
                is_allowed,
                "{member} {} {}: {}",
                request.method,
                request.path,
                answer.text
            );
        }
    }
    assert_eq!(sequence(), before);
    // A trader trades, and cannot administer the venue.
    let bob = Client { http: &http, member: "bob" };
    for request in requests(&http, "2", orders[1]) {
        let is_for_others = [
            "createAccount",
            "issueShares",
            "deposit",
            "withdraw",
            "closeAccount",
            "changeGroup",
            "changeLimits",
            "changeTier",
            "changeFees",
            "changeRules",
            "changePhase",
            "killSymbol",
            "killEverything",
            "getBookOrders",
            "getPastBookOrders",
            "listMembers",
            "addMember",
            "changeMember",
            "removeMember",
            "addKey",
            "removeKey",
            "changeMode",
            "runSandbox",
        ];
        let answer = ask(&bob, &request);
        match is_for_others.contains(&request.operation.as_str()) {
            true => assert_eq!(answer.code(), (403, "not-permitted"), "{}", request.operation),
            false => assert!(
                ![401, 403].contains(&answer.status) && answer.body["code"] != "unknown-account",
                "{}: {}",
                request.operation,
                answer.text
            ),
        }
    }
    // An issuer makes accounts and shares, and sees none of them.
    let issuer = Client { http: &http, member: "igor" };
    issuer.make("/api/v1/accounts", &json!({"account": "7", "balance": "5"}));
    issuer.make("/api/v1/symbols/NEW/shares", &json!({"account": "7", "shares": "5"}));
    assert_eq!(issuer.get("/api/v1/accounts/7").code(), (404, "unknown-account"));
    assert_eq!(operator.get("/api/v1/accounts/7").body["balance"], "5");
    assert_eq!((operator.get("/metrics").status, bob.get("/metrics").status), (200, 403));
    server.stop();
}

/// The account that receives the fees is an account like any other.
#[test]
fn fees_are_for_everybody_and_who_gets_them_is_not() {
    let folder = Folder::new("access-fees");
    let (server, http, _) = start(&folder);
    let operator = Client { http: &http, member: "olga" };
    let fees = json!({"tier": 0, "maker": "0.1", "taker": "0.2", "account": "1"});
    assert_eq!(operator.send("PUT", "/api/v1/symbols/SPY/fees", Some(&fees)).status, 200);
    for (member, account) in [("olga", json!("1")), ("alice", json!("1")), ("bob", Value::Null), ("igor", Value::Null)]
    {
        let told = Client { http: &http, member }.get("/api/v1/symbols/SPY/fees").body;
        assert_eq!((&told["fees"][0]["taker"], &told["fees"][0]["account"]), (&json!("0.2"), &account), "{member}");
    }
    server.stop();
}

#[test]
fn the_list_of_accounts_is_of_those_that_may_be_looked_at() {
    let folder = Folder::new("access-list");
    let (server, http, _) = start(&folder);
    let list = |member, query: &str| {
        let answer = Client { http: &http, member }.get(&format!("/api/v1/accounts{query}"));
        let accounts = answer.body["accounts"].as_array().unwrap().clone();
        let ids: Vec<String> = accounts.iter().map(|one| one["account"].as_str().unwrap().to_owned()).collect();
        (ids.join(","), answer.body["next"].clone())
    };
    for (member, role, _) in MEMBERS {
        let expected = match role {
            "operator" | "auditor" => "1,2",
            "issuer" => "",
            _ if member == "alice" => "1",
            _ => "2",
        };
        assert_eq!(list(member, ""), (expected.to_owned(), Value::Null), "{member}");
    }
    assert_eq!(list("olga", "?limit=1"), ("1".to_owned(), json!("1")));
    let bob = Client { http: &http, member: "bob" };
    assert_eq!(bob.get("/api/v1/accounts?after=1").text, bob.get("/api/v1/accounts?after=99").text);
    assert_eq!(list("bob", "?after=2"), (String::new(), Value::Null));
    server.stop();
}

/// An anonymous client of a server without members gets what it got before the server knew members.
#[test]
fn without_an_access_file_nobody_is_asked_for() {
    let folder = Folder::new("access-none");
    let server = crate::common::server::Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "5"}));
    let wrong = [("authorization", "Bearer x"), ("pricetime-key", "x"), ("cookie", "pricetime-session=x")];
    assert_eq!(http.send("GET", "/api/v1/accounts/1", None, &wrong).status, 200);
    assert_eq!(http.read("/api/v1/sessions"), json!({"members": false, "member": null, "roles": [], "accounts": []}));
    assert_eq!(http.post("/api/v1/sessions", &json!({})).code(), (409, "no-members"));
    server.stop();
}
