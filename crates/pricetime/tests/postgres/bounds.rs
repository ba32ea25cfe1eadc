//! Bounds of what clients make the server keep: settings limit accounts, symbols, money, shares and client order ids
//! over every interface, and clients that come late still get some.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};
use crate::common::talk::{Talk, started};
use serde_json::{Value, json};

/// The most that may ever be issued.
const ALL: &str = "100000000000000000000";

#[test]
fn the_accounts_and_symbols_that_there_may_be_are_bounded() {
    let folder = Folder::new("bounds-counts");
    let launch = Launch::new(&folder.data()).with("--max-accounts 2 --max-symbols 1");
    let server = launch.start();
    let mut talk = Talk::with(&server);
    let (accounts, symbols) = (
        "Too many accounts: this server keeps at most 2 (max-accounts)",
        "Too many symbols: this server keeps at most 1 (max-symbols)",
    );
    talk.creates(
        "<account id=\"1\" balance=\"5\"/><account id=\"1\" balance=\"5\"/><account id=\"2\" balance=\"0\"/>\
         <account id=\"3\" balance=\"0\"/><account id=\"2\" balance=\"0\"/>\
         <symbol sym=\"A\"><account id=\"1\">5</account></symbol><symbol sym=\"B\"><account id=\"1\">5</account></symbol>\
         <symbol sym=\"C\"/><symbol sym=\"A\"><account id=\"2\">5</account></symbol>",
        &format!(
            "<created id=\"1\"/><error id=\"1\">Account already exists</error><created id=\"2\"/><error id=\"3\">{accounts}</error>\
             <error id=\"2\">Account already exists</error>\
             <created sym=\"A\" id=\"1\"/><error sym=\"B\" id=\"1\">{symbols}</error><error sym=\"C\">{symbols}</error>\
             <created sym=\"A\" id=\"2\"/>"
        ),
    );
    let http = Http::new(server.http);
    assert_eq!(http.post("/api/v1/accounts", &account("3", "0")).code(), (422, "too-many-accounts"));
    assert_eq!(http.post("/api/v1/accounts", &account("1", "0")).code(), (409, "account-exists"));
    assert_eq!(http.post("/api/v1/symbols/B/shares", &shares("1", "1")).code(), (422, "too-many-symbols"));
    http.make("/api/v1/symbols/A/shares", &shares("1", "1"));
    // Refused requests are not in the journal, and a start with other bounds replays it to the same state.
    let before = server.state();
    assert_eq!(before["accounts"].as_array().unwrap().len(), 2, "{before}");
    server.stop();
    let server = Launch::new(&folder.data()).with("--max-accounts 1 --max-symbols 1").start();
    assert_eq!(server.state(), before);
    Talk::with(&server).creates(
        "<account id=\"3\" balance=\"0\"/><account id=\"2\" balance=\"0\"/>",
        "<error id=\"3\">Too many accounts: this server keeps at most 1 (max-accounts)</error>\
         <error id=\"2\">Account already exists</error>",
    );
}

fn account(id: &str, balance: &str) -> Value {
    json!({"account": id, "balance": balance})
}

fn shares(account: &str, shares: &str) -> Value {
    json!({"account": account, "shares": shares})
}

/// A single `create` of all the dollars that can exist once left nothing for anybody else.
#[test]
fn nobody_can_take_all_the_money_that_there_may_be() {
    let (_folder, server) = started("bounds-money", "--max-children 100000");
    let mut talk = Talk::with(&server);
    talk.creates(
        &format!("<account id=\"1\" balance=\"{ALL}\"/><account id=\"2\" balance=\"10000000000000000\"/>"),
        &format!(
            "<error id=\"1\">Too much money for one account: at most 10000000000000000 (max-balance, or less when little is left); \
             {ALL} is left to issue to all</error><created id=\"2\"/>"
        ),
    );
    // A request that asks for more than allowed, and then as many requests as it takes.
    let many = |from: u32| -> String {
        let accounts = (from..from + 11).map(|id| format!("<account id=\"{id}\" balance=\"10000000000000000\"/>"));
        format!("<create>{}</create>", accounts.collect::<String>())
    };
    let told = talk.client.ask(&many(100));
    assert_eq!(told.matches("<created").count(), 10, "{told}");
    let refusal = "Too much money for one request: at most 100000000000000000 (max-issue); ";
    assert!(told.contains(&format!("{refusal}99890000000000000000 is left to issue to all")), "{told}");
    (1..1_000).for_each(|round| drop(talk.client.ask(&many(100 + 100 * round))));
    // One client takes the last money that is not reserved for those who come late; then each client gets as much as
    // any other late one.
    let told = talk.client.ask("<create><account id=\"7\" balance=\"10000000000000000\"/></create>");
    let most =
        told.split("at most ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{told}"));
    talk.creates(&format!("<account id=\"7\" balance=\"{most}\"/>"), "<created id=\"7\"/>");
    let told = talk.client.ask("<create><account id=\"8\" balance=\"1000000000001\"/></create>");
    let late = "Too much money for one account: at most 1000000000000 (max-balance, or less when little is left); ";
    assert!(told.contains(late), "{told}");
    let accounts = (0..10_000).map(|id| format!("<account id=\"7770000{id}\" balance=\"1000000000000\"/>"));
    let told = talk.client.ask(&format!("<create>{}</create>", accounts.collect::<String>()));
    assert_eq!(told.matches("<created").count(), 10_000, "{told:.2000}");
}

#[test]
fn nobody_can_take_all_the_shares_that_there_may_be() {
    let (_folder, server) = started("bounds-shares", "--max-position 1000 --max-issue 2500");
    let mut talk = Talk::with(&server);
    let accounts: String = (1..=4).map(|id| format!("<account id=\"{id}\" balance=\"0\"/>")).collect();
    talk.creates(&accounts, "<created id=\"1\"/><created id=\"2\"/><created id=\"3\"/><created id=\"4\"/>");
    let of_account = |most: &str, left: &str| {
        format!(
            "Too many shares for one account: with these it may have at most {most} (max-position, or less when few are left); \
             {left} are left to issue to all"
        )
    };
    let left = "99999999999999997500";
    talk.creates(
        "<symbol sym=\"S\"><account id=\"1\">1000</account><account id=\"1\">0.00000001</account><account id=\"1\">0</account>\
         <account id=\"2\">1000</account><account id=\"3\">500</account><account id=\"4\">1</account></symbol>\
         <symbol sym=\"T\"><account id=\"4\">1</account></symbol>",
        &format!(
            "<created sym=\"S\" id=\"1\"/><error sym=\"S\" id=\"1\">{}</error><created sym=\"S\" id=\"1\"/>\
             <created sym=\"S\" id=\"2\"/><created sym=\"S\" id=\"3\"/>\
             <error sym=\"S\" id=\"4\">Too many shares for one request: at most 2500 of a symbol (max-issue); {left} are left to \
             issue to all</error><created sym=\"T\" id=\"4\"/>",
            of_account("1000", "99999999999999999000")
        ),
    );
    talk.creates(
        "<symbol sym=\"S\"><account id=\"3\">500.5</account><account id=\"3\">500</account></symbol>",
        &format!("<error sym=\"S\" id=\"3\">{}</error><created sym=\"S\" id=\"3\"/>", of_account("1000", left)),
    );
    let http = Http::new(server.http);
    let told = http.post("/api/v1/symbols/S/shares", &shares("3", "1"));
    assert_eq!(told.code(), (422, "too-many-shares"));
    assert!(told.text.contains("max-position"), "{}", told.text);
}

/// 16,500 ids a second of one account once were kept for a day, with 191 bytes each.
#[test]
fn the_client_order_ids_of_an_account_are_bounded() {
    let folder = Folder::new("bounds-ids");
    check_client_order_ids(&folder, &|launch| launch);
}

#[test]
fn the_client_order_ids_of_an_account_are_bounded_in_a_database() {
    let database = crate::postgres::database();
    let folder = Folder::new("bounds-ids-sql");
    let url = format!("postgres://postgres@127.0.0.1:{}/{}", database.port, database.name);
    check_client_order_ids(&folder, &|launch| launch.in_database(&url));
}

fn check_client_order_ids(folder: &Folder, kept: &dyn Fn(Launch) -> Launch) {
    let keys = KeyFile::new(folder);
    let launch = || kept(keys.launch(folder).with("--max-client-orders 3 --max-accounts 2 --max-symbols 1"));
    let server = launch().start();
    server.ask(
        "<create><account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"1000\"/><symbol sym=\"SPY\"/></create>",
    );
    let http = Http::new(server.http);
    let place = |http: &Http, account: &str, id: Option<&str>| {
        let mut order = json!({"account": account, "symbol": "SPY", "side": "buy", "limit": "1", "shares": "1"});
        if let Some(id) = id {
            order["client_order_id"] = json!(id);
        }
        http.post("/api/v1/orders", &order)
    };
    let refusal = "Too many client order ids: this account may have at most 3 (max-client-orders), and each counts until a day after \
                   its order is done; an order without one is taken";
    let check_full = |server: &Server| {
        let http = Http::new(server.http);
        let refused = place(&http, "1", Some("d"));
        assert_eq!(refused.code(), (422, "too-many-client-order-ids"));
        assert_eq!(refused.body["detail"], refusal);
        // An order that is sent again does not count again.
        assert_eq!(place(&http, "1", Some("b")).status, 200);
        assert_eq!(place(&http, "1", None).status, 201);
        let order = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1";
        let refused = keys.send(&http, "POST", "order", &format!("{order}&newClientOrderId=d"));
        assert_eq!((refused.status, &refused.body["code"]), (429, &json!(-1015)), "{}", refused.text);
        assert_eq!(refused.body["msg"], format!("Too many new orders. {refusal}."));
        assert_eq!(keys.send(&http, "POST", "order", order).status, 200);
        let made = http.post("/api/v1/accounts", &account("3", "0"));
        assert_eq!(made.code(), (422, "too-many-accounts"));
    };
    for id in ["a", "b", "c"] {
        assert_eq!(place(&http, "1", Some(id)).status, 201);
    }
    // An order that is done still counts.
    assert_eq!(http.delete("/api/v1/orders/by-client-id/a?account=1").status, 200);
    check_full(&server);
    assert_eq!(place(&http, "2", Some("d")).status, 201, "another account's ids are its own");
    server.stop();
    check_full(&launch().start());
}
