//! The sums that `pricetime state` shows of a market.

use crate::common::folder::Folder;
use crate::common::server::Launch;
use serde_json::json;

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
