//! The sums that `pricetime state` shows of a market.

use std::path::Path;
use std::process::Command;

use crate::common::callers::dump;
use crate::common::folder::Folder;
use crate::common::server::{Launch, Server};
use serde_json::{Value, json};

#[test]
fn what_open_orders_hold_is_shown_of_each_account_and_of_all() {
    let folder = Folder::new("state");
    let server = Launch::new(&folder.data()).start();
    server.ask(r#"<create><account id="1" balance="100"/><account id="2" balance="50"/><symbol sym="S"><account id="1">10</account><account id="2">5</account></symbol></create>"#);
    let order = |amount: &str, limit: &str| format!("<order sym=\"S\" amount=\"{amount}\" limit=\"{limit}\"/>");
    let orders = [order("-3", "9"), order("-4", "8"), order("2", "1.5"), order("1", "2")].concat();
    assert_eq!(server.ask(&format!("<transactions id=\"1\">{orders}</transactions>")).matches("<opened").count(), 4);
    server.ask(&format!("<transactions id=\"2\">{}</transactions>", order("-5", "7")));
    let state = server.state();
    let account = |at: usize| json!([state["accounts"][at]["balance"], state["accounts"][at]["held"]]);
    assert_eq!((account(0), account(1)), (json!(["95", "5"]), json!(["50", "0"])));
    assert_eq!(state["accounts"][0]["positions"], json!([{"symbol": "S", "shares": "3", "held": "7"}]));
    assert_eq!(state["accounts"][1]["positions"], json!([{"symbol": "S", "shares": "0", "held": "5"}]));
    let totals = &state["totals"];
    assert_eq!(json!([totals["balance"], totals["held"], totals["money"]]), json!(["145", "5", "150"]));
    assert_eq!(totals["symbols"], json!([{"symbol": "S", "shares": "3", "held": "12", "issued": "15"}]));
    assert_eq!(totals["open_orders"], json!(5));
    server.stop();
}

/// The kinds of open orders were in no output of `pricetime state`, and a market order for an auction that was done had
/// a limit that nobody named.
#[test]
fn orders_for_an_auction_are_shown_and_a_start_from_that_state_ends_them() {
    let folder = Folder::new("state-auction");
    let server = Launch::new(&folder.data()).start();
    let place = |server: &Server, account: u8, orders: &str, count: usize| {
        let told = server.ask(&format!(r#"<transactions id="{account}">{orders}</transactions>"#));
        assert_eq!(told.matches("<opened").count(), count, "{told}");
    };
    server.ask(
        r#"<create><account id="1" balance="10000"/><account id="2" balance="1"/><symbol sym="S"><account
        id="2">100</account></symbol></create>"#,
    );
    place(&server, 1, r#"<order sym="S" amount="1" limit="100"/>"#, 1);
    place(&server, 2, r#"<order sym="S" amount="-1" limit="100"/>"#, 1);
    server.ask(r#"<create><rules sym="S" band-up="10" band-down="10"/><phase sym="S" is="auction"/></create>"#);
    let market = |amount: &str, name: &str| {
        format!(r#"<order sym="S" amount="{amount}" type="market" tif="GFA" client-id="{name}"/>"#)
    };
    let limit = r#"<order sym="S" amount="5" limit="95" tif="GFA" until="4102444800"/>"#;
    place(&server, 1, &[&market("4", "done"), r#"<cancel client-id="done"/>"#, &market("2", "m"), limit].concat(), 3);
    place(&server, 2, &market("-3", "s"), 1);
    let state = server.state();
    let order = |at: usize| ["side", "kind", "limit", "open"].map(|field| state["orders"][at][field].clone());
    assert_eq!(order(0), ["buy", "auction_market", "110", "2"]);
    assert_eq!(order(1), ["buy", "auction_limit", "95", "5"]);
    assert_eq!(order(2), ["sell", "auction_market", "90", "3"]);
    assert_eq!(state["orders"][1]["until"], json!(4_102_444_800_u64));
    assert_eq!(state["accounts"][0]["held"], json!("695"));
    let done = &state["client_order_ids_of_done_orders"][0];
    assert_eq!([&done["kind"], &done["limit"]], [&json!("auction_market"), &Value::Null]);
    server.stop();
    let text = text_of(&folder.data());
    for line in [
        "order 4: buy 2 S of account 1 at 110, auction_market, 0 executions, client order id m",
        "order 5: buy 5 S of account 1 at 95, auction_limit, until 4102444800, 0 executions",
        "client order id done of account 1: order 3, buy 4 S at any price, auction_market, done at ",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let dumped = dump(&folder.data(), &[]);
    for line in [
        "order of account 1: buy 2 S at any price, auction_market, client order id m",
        "order of account 1: buy 5 S at 95, auction_limit, until ",
        "order of account 2: sell 3 S at any price, auction_market, client order id s",
    ] {
        assert!(dumped.contains(line), "{line}: {dumped}");
    }
    // The server starts from the snapshot that it wrote at its end.
    let server = Launch::new(&folder.data()).start();
    let again = server.state();
    assert_eq!([&again["state_hash"], &again["orders"]], [&state["state_hash"], &state["orders"]]);
    server.ask(r#"<create><phase sym="S" is="open"/></create>"#);
    let opened = server.state();
    assert_eq!([&opened["orders"], &opened["accounts"][0]["held"]], [&json!([]), &json!("0")]);
    // Three of them execute at 95, where the most shares do.
    assert_eq!(opened["accounts"][0]["positions"], json!([{"symbol": "S", "shares": "4", "held": "0"}]));
    server.stop();
}

/// The text that `pricetime state` prints of a folder.
fn text_of(data: &Path) -> String {
    let printed = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("state").arg(data).output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    String::from_utf8(printed.stdout).unwrap()
}
