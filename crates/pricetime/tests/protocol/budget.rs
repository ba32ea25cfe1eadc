//! Issuers with a budget, over the wire: they pay from an account of the venue, and nothing refills it.

use serde_json::json;

use super::access::{SECRET, logged_in, started, started_with};
use crate::common::http::Http;
use crate::common::members::basic;
use crate::common::server::Launch;

fn members() -> String {
    [("operator", "\"operator\"", ""), ("issuer", "\"issuer\"", "budget = { from = \"66\", accounts = \"67-70\" }\n")]
        .map(|(name, role, budget)| {
            format!("[[member]]\nname = \"{name}\"\nroles = [{role}]\n{budget}[[member.key]]\nid = \"{name}\"\nsecret = \"{SECRET}\"\n")
        })
        .concat()
}

/// The example of docs/PROTOCOL.md.
#[test]
fn an_issuer_gives_what_its_budget_holds_and_no_more() {
    let (folder, server, path) = started("issuer-budget", &members());
    let mut issuer = logged_in(&server, "issuer");
    let create = |id: &str, dollars: &str| format!("<create><account id=\"{id}\" balance=\"{dollars}\"/></create>");
    assert_eq!(
        issuer.ask(&create("67", "1")),
        "<results><error id=\"67\">Budget is of an account that there is not: an operator creates it, or names another one in the \
         access file</error></results>\n"
    );
    let mut operator = logged_in(&server, "operator");
    operator.ask("<create><account id=\"66\" balance=\"1000\"/><symbol sym=\"SPY\"><account id=\"66\">100</account></symbol></create>");
    assert_eq!(issuer.ask(&create("67", "600")), "<results><created id=\"67\"/></results>\n");
    let left = "<results><error id=\"68\">Insufficient funds: 600 needed, 400 available</error></results>\n";
    assert_eq!(issuer.ask(&create("68", "600")), left);
    assert_eq!(logged_in(&server, "issuer").ask(&create("68", "600")), left, "another connection has no other budget");
    assert_eq!(
        issuer.ask(&create("71", "0")),
        "<results><error id=\"71\">outside the budget: this member may create the accounts 67-70</error></results>\n"
    );
    let give =
        |shares: &str| format!("<create><symbol sym=\"SPY\"><account id=\"67\">{shares}</account></symbol></create>");
    assert_eq!(issuer.ask(&give("90")), "<results><created sym=\"SPY\" id=\"67\"/></results>\n");
    assert_eq!(
        issuer.ask(&give("11")),
        "<results><error sym=\"SPY\" id=\"67\">Insufficient shares: 11 needed, 10 available</error></results>\n"
    );
    let other = "<create><symbol sym=\"NEW\"><account id=\"67\">1</account></symbol></create>";
    assert!(
        issuer.ask(other).contains("Insufficient shares: 1 needed, 0 available"),
        "nothing is made of another symbol"
    );
    let before = server.state()["state_hash"].clone();
    drop((issuer, operator));
    // The rest of the budget is the account's balance, so a crash forgets nothing of it.
    server.kill();
    let server = Launch::new(&folder.data()).start();
    assert_eq!(server.state()["state_hash"], before);
    let mut issuer = logged_in(&server, "issuer");
    assert_eq!(issuer.ask(&create("68", "600")), left);
    assert_eq!(issuer.ask(&create("68", "400")), "<results><created id=\"68\"/></results>\n");
    assert!(issuer.ask(&create("69", "0.00000001")).contains("0 available"));
    assert_eq!(issuer.ask(&create("69", "0")), "<results><created id=\"69\"/></results>\n");
    // An operator may create money, whatever budgets others have.
    let mut operator = logged_in(&server, "operator");
    assert_eq!(operator.ask(&create("71", "5000")), "<results><created id=\"71\"/></results>\n");
    drop(path);
}

#[test]
fn over_rest_an_issuer_has_the_same_budget() {
    let (_folder, server, _) = started("issuer-budget-rest", &members());
    let http = Http::new(server.http);
    let send = |who: &str, method: &str, path: &str, body: &serde_json::Value| {
        let proof = basic(who, SECRET);
        let headers = [("content-type", "application/json"), ("authorization", proof.as_str())];
        let answer = http.send(method, path, Some(&body.to_string()), &headers);
        (answer.status, answer.body)
    };
    let create = |who: &str, id: &str, balance: &str| {
        send(who, "POST", "/api/v1/accounts", &json!({"account": id, "balance": balance}))
    };
    let get_symbol = |symbol: &str| {
        let proof = basic("operator", SECRET);
        http.send("GET", &format!("/api/v1/symbols/{symbol}"), None, &[("authorization", &proof)]).status
    };
    assert_eq!(create("operator", "66", "1000").0, 201);
    let (status, refused) = create("issuer", "67", "1000.5");
    assert_eq!((status, &refused["code"]), (422, &json!("insufficient-funds")), "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("1000 available"), "{refused}");
    assert_eq!(create("issuer", "67", "1000").0, 201);
    assert_eq!(create("issuer", "71", "0").1["code"], json!("outside-budget"));
    let shares = json!({"account": "67", "shares": "1"});
    let (status, refused) = send("issuer", "POST", "/api/v1/symbols/SPY/shares", &shares);
    assert_eq!((status, &refused["code"]), (422, &json!("insufficient-shares")), "{refused}");
    assert_eq!(get_symbol("SPY"), 404, "a refused issue leaves no symbol");
    // Shares that are given are not issued, so their number would not notice a second time.
    let expected = json!({"account": "67", "shares": "0", "expected_issued": "0"});
    let (status, refused) = send("issuer", "POST", "/api/v1/symbols/SPY/shares", &expected);
    assert_eq!((status, &refused["code"]), (422, &json!("given-from-budget")), "{refused}");
    assert_eq!(send("operator", "POST", "/api/v1/symbols/OWN/shares", &json!({"account": "66", "shares": "5"})).0, 201);
    assert_eq!(send("issuer", "POST", "/api/v1/symbols/OWN/shares", &shares).0, 201);
    let (_, refused) = send("issuer", "POST", "/api/v1/symbols/OWN/shares", &json!({"account": "67", "shares": "5"}));
    assert_eq!(refused["detail"], json!("Insufficient shares: 5 needed, 4 available"));
    // A new symbol costs nothing.
    assert_eq!(send("issuer", "POST", "/api/v1/symbols/NEW/shares", &json!({"account": "67", "shares": "0"})).0, 201);
    assert_eq!((get_symbol("NEW"), get_symbol("SPY")), (200, 404));
    // Operators see and change budgets, and changes count at once.
    let budget = json!({"from": "660", "accounts": "71-72"});
    let asked = json!({"roles": ["issuer"], "accounts": [], "budget": budget});
    let (status, member) = send("operator", "PUT", "/api/v1/members/issuer", &asked);
    assert_eq!((status, &member["budget"]), (200, &budget), "{member}");
    let (status, refused) = create("issuer", "71", "0");
    assert_eq!((status, &refused["code"]), (409, &json!("unknown-payer")), "{refused}");
    let (status, refused) = send("issuer", "POST", "/api/v1/symbols/SPY/shares", &shares);
    assert_eq!((status, &refused["code"]), (409, &json!("unknown-payer")), "{refused}");
    assert_eq!(get_symbol("SPY"), 404);
    let wrong = json!({"roles": ["trader"], "accounts": [], "budget": {"from": "660"}});
    let (status, refused) = send("operator", "PUT", "/api/v1/members/issuer", &wrong);
    assert_eq!(status, 400, "{refused}");
}

/// Accounts that a budget pays for need as much memory as other accounts.
#[test]
fn accounts_of_an_issuer_with_a_budget_count_among_all_accounts() {
    let (_folder, server, _) = started_with("issuer-budget-bound", &members(), "--max-accounts 2");
    logged_in(&server, "operator").ask("<create><account id=\"66\" balance=\"1000\"/></create>");
    let mut issuer = logged_in(&server, "issuer");
    let why = "Too many accounts: this server keeps at most 2 (max-accounts)";
    assert_eq!(
        issuer.ask("<create><account id=\"67\" balance=\"1\"/><account id=\"68\" balance=\"1\"/></create>"),
        format!("<results><created id=\"67\"/><error id=\"68\">{why}</error></results>\n")
    );
    let create = |id: &str| format!("<create><account id=\"{id}\" balance=\"0\"/></create>");
    assert_eq!(issuer.ask(&create("69")), format!("<results><error id=\"69\">{why}</error></results>\n"));
    assert!(issuer.ask(&create("67")).contains("Account already exists"));
    let http = Http::new(server.http);
    let proof = basic("issuer", SECRET);
    let headers = [("content-type", "application/json"), ("authorization", proof.as_str())];
    let body = json!({"account": "70", "balance": "1"}).to_string();
    assert_eq!(http.send("POST", "/api/v1/accounts", Some(&body), &headers).code(), (422, "too-many-accounts"));
}
