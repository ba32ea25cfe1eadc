//! An order that takes more than one command: what is told of it meanwhile over every protocol, that no other order
//! trades ahead of it, and that after a kill it goes on to the same result.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::client::frame;
use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_for;

/// Orders that show one share of a hundred: they make as many executions as fifteen commands.
const ICEBERGS: u64 = 1_500;
const PARTS: u64 = 100;
/// The most executions of a command.
const STEP: u64 = 10_000;
/// Shares that the sweeping order asks for and nobody sells.
const TOO_MANY: u64 = 50;
/// The number of kills that may come too late.
const KILLS: u64 = 10;
const PATIENCE: Duration = Duration::from_secs(120);

/// Account 1 sweeps, account 2 sells, and account 3 comes after account 1.
fn serve(folder: &Folder, keys: &KeyFile) -> Server {
    let launch = keys.launch(folder).with("--fix 127.0.0.1:0");
    let server = launch.start();
    let mut client = server.client();
    client.ask(
        r#"<create><account id="1" balance="100000000"/><account id="2" balance="0"/><account id="3" balance="1000"/>
        <symbol sym="S"><account id="2">1000000</account></symbol><symbol sym="T"><account id="2">10</account></symbol></create>"#,
    );
    let iceberg = r#"<order sym="S" amount="-100" limit="10" display="1"/>"#.repeat(500);
    for _ in 0..ICEBERGS / 500 {
        let told = client.ask(&format!("<transactions id=\"2\">{iceberg}</transactions>"));
        assert!(!told.contains("<error"), "{told:.300}");
    }
    let others = r#"<order sym="S" amount="-5" limit="11"/><order sym="T" amount="-4" limit="7"/>"#;
    assert!(!client.ask(&format!("<transactions id=\"2\">{others}</transactions>")).contains("<error"));
    server
}

/// Sends an order of account 1 that sweeps, one of account 3 after it, and `last`, all at once. Returns the ids of the
/// three orders.
fn sweep(server: &Server, last: &str) -> [u64; 3] {
    let mut client = server.client();
    let amount = ICEBERGS * PARTS + TOO_MANY;
    let requests = [
        &*format!(
            r#"<transactions id="1"><order sym="S" amount="{amount}" limit="10" tif="IOC" client-id="sweep"/><query client-id="sweep"/></transactions>"#
        ),
        r#"<transactions id="3"><order sym="S" amount="5" limit="11" client-id="behind"/><query client-id="behind"/></transactions>"#,
        r#"<transactions id="3"><order sym="T" amount="4" limit="7" client-id="elsewhere"/><query client-id="elsewhere"/></transactions>"#,
        last,
    ];
    // One write, so that the server has them all before it goes on with the first.
    client.send(&requests.map(frame).concat()).unwrap();
    let [swept, behind, elsewhere, _] = requests.map(|_| client.reply().unwrap());
    // A request is handled as a whole: the command reached its bound, and was queried before the server went on.
    assert_eq!(swept.matches("<executed ").count() as u64, STEP, "{swept:.300}");
    assert!(swept.contains(&format!("<open shares=\"{}\"/>", amount - STEP)), "{swept:.300}");
    assert!(behind.contains("<status client-id=\"behind\"><open shares=\"5\"/></status>"), "{behind}");
    assert!(elsewhere.contains("<executed shares=\"4\" price=\"7\""), "other symbols are not touched: {elsewhere}");
    [swept, behind, elsewhere].map(|told| {
        let (_, id) = told.split_once(" id=\"").expect("it was opened");
        id.split('"').next().unwrap().parse().unwrap()
    })
}

fn order(http: &Http, order: u64, account: u64) -> Value {
    http.read(&format!("/api/v1/orders/{order}?account={account}"))
}

/// Checks how the order stands while its symbol is halted, which is the same over every protocol. Returns the number of
/// executed shares.
fn is_under_way(server: &Server, keys: &KeyFile, [swept, behind, _]: [u64; 3]) -> u64 {
    let http = Http::new(server.http);
    let told = order(&http, swept, 1);
    let executed: u64 = told["executed"].as_str().unwrap().parse().unwrap();
    let open = ICEBERGS * PARTS + TOO_MANY - executed;
    assert!(executed >= STEP && executed.is_multiple_of(STEP) && open > TOO_MANY, "{told}");
    let (kind, status, open_text) = (json!("immediate_or_cancel"), json!("open"), json!(open.to_string()));
    assert_eq!((&told["kind"], &told["status"], &told["open"]), (&kind, &status, &open_text), "{told}");
    assert_eq!((&told["delayed"], &told["waits"]), (&json!(true), &json!(false)), "{told}");
    let waits = order(&http, behind, 3);
    assert_eq!((&waits["status"], &waits["executed"], &waits["delayed"]), (&status, &json!("0"), &json!(true)));
    let open_orders = http.read("/api/v1/accounts/1/orders?status=open");
    assert_eq!(open_orders["orders"][0]["order_id"], swept, "{open_orders}");
    let book = http.read("/api/v1/symbols/S/book");
    assert_eq!((&book["bids"], &book["asks"][0][0]), (&json!([]), &json!("10")), "neither stands in a book");
    let compatible = keys.send(&http, "GET", "order", "symbol=SUSD&origClientOrderId=sweep").body;
    let (filled, quote) = (format!("{executed}.00000000"), format!("{}.00000000", executed * 10));
    assert_eq!((&compatible["status"], &compatible["timeInForce"]), (&json!("PARTIALLY_FILLED"), &json!("IOC")));
    assert_eq!(compatible["executedQty"], filled, "{compatible}");
    assert_eq!(compatible["cummulativeQuoteQty"], quote, "{compatible}");
    let mut fix = Fix::log_on(server.fix.unwrap(), "A");
    fix.send("AF", "584=all|585=7|1=1|");
    fix.expect(&["150=I", "39=1", "11=sweep", "59=3", &format!("14={executed}"), &format!("151={open}"), "6=10"]);
    let told = server.ask(r#"<transactions id="3"><query client-id="behind"/></transactions>"#);
    assert!(told.contains("<open shares=\"5\"/></status>"), "{told}");
    executed
}

/// Checks the result, which is the same whatever happened on the way.
fn ended(server: &Server, [swept, behind, _]: [u64; 3]) {
    let http = Http::new(server.http);
    let all = ICEBERGS * PARTS;
    let done = wait_for("the order behind to be done", PATIENCE, || {
        Some(order(&http, behind, 3)).filter(|order| order["status"] != "open")
    });
    assert_eq!((&done["status"], &done["average_price"]), (&json!("executed"), &json!("11")), "{done}");
    let done = order(&http, swept, 1);
    assert_eq!((&done["status"], &done["executed"]), (&json!("canceled"), &json!(all.to_string())), "{done}");
    assert_eq!((&done["canceled"], &done["average_price"]), (&json!(TOO_MANY.to_string()), &json!("10")), "{done}");
    let account = |id: u64| http.read(&format!("/api/v1/accounts/{id}"));
    let has = |account: &Value, balance: u64, shares: u64| {
        assert_eq!((&account["balance"], &account["held"]), (&json!(balance.to_string()), &json!("0")), "{account}");
        let position = account["positions"].as_array().unwrap().iter().find(|position| position["symbol"] == "S");
        assert_eq!(position.map_or(json!("0"), |position| position["shares"].clone()), json!(shares.to_string()));
    };
    has(&account(1), 100_000_000 - all * 10, all);
    has(&account(2), all * 10 + 5 * 11 + 4 * 7, 1_000_000 - all - 5);
    has(&account(3), 1_000 - 5 * 11 - 4 * 7, 5);
    // All of the order's executions are told, though many commands made them.
    let told = server.ask(r#"<transactions id="1"><query client-id="sweep"/></transactions>"#);
    assert_eq!(told.matches("<executed ").count() as u64, all, "{told:.300}");
}

/// An order that swept many others once executed 100,000 times at most, and the rest of it was canceled, so its owner
/// got less than there was.
#[test]
fn an_order_that_is_under_way_is_shown_as_open_and_goes_on_after_a_kill() {
    let folder = Folder::new("under-way");
    let keys = KeyFile::new(&folder);
    let server = serve(&folder, &keys);
    // While the symbol is halted the order keeps its place, so what is told of it in the middle does not depend on the
    // moment.
    let orders = sweep(&server, r#"<create><phase sym="S" is="halted"/></create>"#);
    let executed = is_under_way(&server, &keys, orders);
    server.kill();
    let launch = |folder: &Folder| keys.launch(folder).with("--fix 127.0.0.1:0").start();
    let server = launch(&folder);
    assert_eq!(is_under_way(&server, &keys, orders), executed, "it keeps its place");
    server.ask(r#"<create><phase sym="S" is="open"/></create>"#);
    ended(&server, orders);
    server.stop();
    let server = launch(&folder);
    ended(&server, orders);
    server.stop();
}

/// The server is killed just after the sweep, until a kill comes in the middle of it. A server whose disk is nearly
/// full executes nothing by itself, and shows how far the order came.
#[test]
fn a_kill_in_the_middle_changes_nothing_of_what_it_comes_to() {
    let is_cut = (0..KILLS).any(|kill| {
        let folder = Folder::new(&format!("under-way-kill-{kill}"));
        let keys = KeyFile::new(&folder);
        let server = serve(&folder, &keys);
        let orders = sweep(&server, "<create></create>");
        server.kill();
        let server = Launch::new(&folder.data()).with("--disk-low 4000000GiB").start();
        let is_cut = order(&Http::new(server.http), orders[0], 1)["delayed"] == true;
        server.stop();
        let server = Launch::new(&folder.data()).start();
        ended(&server, orders);
        server.stop();
        is_cut
    });
    assert!(is_cut, "no kill came while an order was under way");
}

/// The order was once told with only as many shares as its command executed. Later it went on with other commands, at
/// whatever prices were there by then.
#[test]
fn an_order_for_money_that_one_command_does_not_finish_ends_and_is_told_with_all_its_shares() {
    let folder = Folder::new("under-way-funds");
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).start();
    let mut client = server.client();
    client.ask(
        r#"<create><account id="1" balance="1000000"/><account id="2" balance="0"/>
        <symbol sym="S"><account id="2">30000</account></symbol></create>"#,
    );
    let icebergs = r#"<order sym="S" amount="-100" limit="10" display="1"/>"#.repeat(300);
    assert!(!client.ask(&format!("<transactions id=\"2\">{icebergs}</transactions>")).contains("<error"));
    let http = Http::new(server.http);
    let order = "symbol=SUSD&side=BUY&type=MARKET&quoteOrderQty=200000&newOrderRespType=RESULT";
    let told = keys.send(&http, "POST", "order", order).body;
    let fields = ["status", "origQty", "executedQty", "origQuoteOrderQty", "cummulativeQuoteQty"];
    let told = fields.map(|field| told[field].as_str().unwrap_or("").trim_end_matches('0').to_owned());
    assert_eq!(told, ["EXPIRED", "20000.", "10000.", "200000.", "100000."]);
    server.stop();
}

/// The order is canceled like any other, and the orders that wait behind it have their turn at once.
#[test]
fn an_order_that_is_under_way_is_canceled_as_any_other() {
    let folder = Folder::new("under-way-cancel");
    let keys = KeyFile::new(&folder);
    let server = serve(&folder, &keys);
    let [swept, behind, _] = sweep(&server, r#"<transactions id="1"><cancel client-id="sweep"/></transactions>"#);
    let http = Http::new(server.http);
    let done = wait_for("the order behind to be done", PATIENCE, || {
        Some(order(&http, behind, 3)).filter(|order| order["status"] != "open")
    });
    assert_eq!(done["average_price"], "10", "it gets what the canceled one left");
    let done = order(&http, swept, 1);
    let number = |field: &str| done[field].as_str().unwrap().parse::<u64>().unwrap();
    assert_eq!(done["status"], "canceled", "{done}");
    assert_eq!(number("executed") + number("canceled"), ICEBERGS * PARTS + TOO_MANY);
    assert!(number("executed") >= STEP && number("executed").is_multiple_of(STEP), "{done}");
    server.stop();
}
