//! Histories that begin anew while there are open orders: snapshots have no single executions of orders with more than
//! eight. The unknown executions are told as a sum over every interface, and the known ones are never told as if they
//! were all.

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::load::fill;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;
use serde_json::json;

/// Files are small and snapshots frequent, so that the first journal file is removed soon.
pub(crate) const SMALL: &str = "--segment-size 64KiB --snapshot-every 500 --fix 127.0.0.1:0";
const MARKET: &str = r#"<create><account id="1" balance="100000"/><symbol sym="A"><account id="1">1000</account></symbol><symbol sym="B"><account id="1">1000</account></symbol><symbol sym="C"><account id="1">1000</account></symbol></create>"#;

/// Lets account 1 do these things in one request.
fn trade(server: &Server, children: &str) -> String {
    server.ask(&format!("<transactions id=\"1\">{children}</transactions>"))
}

/// A buy of this many shares at 11, which is executed by `times` sells of one share. Returns its id.
fn executed_buy(server: &Server, symbol: &str, shares: usize, times: usize) -> String {
    let opened = trade(server, &format!("<order sym=\"{symbol}\" amount=\"{shares}\" limit=\"11\"/>"));
    trade(server, &sells(symbol, times));
    opened.split(" id=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

fn sells(symbol: &str, times: usize) -> String {
    format!("<order sym=\"{symbol}\" amount=\"-1\" limit=\"11\"/>").repeat(times)
}

/// Removes the history when the journal does not go back far enough to rebuild it, and starts the server again.
pub(crate) fn without_history(launch: &Launch, folder: &Folder, server: Server) -> Server {
    wait_until("a retired journal file", PATIENCE, || {
        fill(&server);
        !folder.data().join("journal-00000000000000000001.log").exists()
    });
    server.stop();
    std::fs::remove_dir_all(folder.data().join("history")).unwrap();
    let server = launch.start();
    assert!(server.banner.contains("the history begins with order"), "{}", server.banner);
    server
}

/// The executions since the beginning of the history once were told as if they were all.
#[test]
fn executions_before_a_history_that_begins_anew_are_told_as_a_sum() {
    let folder = Folder::new("lost-executions");
    let keys = KeyFile::new(&folder);
    let launch = keys.launch(&folder).with(SMALL);
    let server = launch.start();
    server.ask(MARKET);
    let many = executed_buy(&server, "A", 100, 12);
    let few = executed_buy(&server, "B", 50, 5);
    let all = executed_buy(&server, "C", 14, 12);
    let server = without_history(&launch, &folder, server);

    let query = |server: &Server, id: &str| trade(server, &format!("<query id=\"{id}\"/>"));
    let sum = |shares: u32, money: u32| {
        format!("<error>{shares} shares executed for {money} dollars: the single executions are no longer kept</error>")
    };
    let open = query(&server, &many);
    assert!(open.contains(&format!("<open shares=\"88\"/>{}</status>", sum(12, 132))), "{open}");
    trade(&server, &sells("A", 3));
    trade(&server, &format!("<amend id=\"{many}\" shares=\"80\"/>"));
    let open = query(&server, &many);
    assert!(open.contains(&format!("<open shares=\"65\"/>{}</status>", sum(15, 165))), "{open}");
    let canceled = trade(&server, &format!("<cancel id=\"{many}\"/>"));
    assert!(canceled.contains("<canceled shares=\"65\""), "{canceled}");
    assert!(canceled.contains("<error>15 executions are left out"), "{canceled}");
    // The engine kept these five executions singly, so none of this order's are lost, however many follow.
    trade(&server, &sells("B", 6));
    assert_eq!(query(&server, &few).matches("<executed shares=\"1\" price=\"11\"").count(), 11);
    trade(&server, &format!("<cancel id=\"{few}\"/>{}", sells("C", 2)));
    let told = |server: &Server| {
        let done = query(server, &many);
        assert!(done.contains("<canceled shares=\"65\"") && done.contains(&sum(15, 165)), "{done}");
        assert!(!done.contains("<executed"), "{done}");
        assert_eq!(query(server, &few).matches("<executed shares=\"1\" price=\"11\"").count(), 11);
        let executed = query(server, &all);
        assert!(executed.contains(&format!("<status id=\"{all}\">{}</status>", sum(14, 154))), "{executed}");
        let http = Http::new(server.http);
        for (id, status, executed, average) in [(&many, "canceled", "15", "11"), (&all, "executed", "14", "11")] {
            let order = http.read(&format!("/api/v1/orders/{id}?account=1"));
            let shown = [&order["status"], &order["executed"], &order["average_price"], &order["time"]];
            assert_eq!(shown, [&json!(status), &json!(executed), &json!(average), &json!(null)], "{order}");
        }
        let order = keys.send(&http, "GET", "order", &format!("symbol=AUSD&orderId={many}")).body;
        let shown = [&order["status"], &order["executedQty"], &order["cummulativeQuoteQty"]];
        assert_eq!(shown, [&json!("CANCELED"), &json!("15.00000000"), &json!("165.00000000")], "{order}");
        let amended = keys.send(&http, "GET", "order/amendments", &format!("symbol=AUSD&orderId={many}")).body;
        let shown: Vec<_> = amended.as_array().unwrap().iter().map(|one| [&one["origQty"], &one["newQty"]]).collect();
        assert_eq!(shown, [[&json!("100.00000000"), &json!("80.00000000")]], "{amended}");
        let mut fix = Fix::log_on(server.fix.unwrap(), "A");
        fix.send("H", &format!("11=q|37={many}|1=1|55=A|54=1|"));
        fix.expect(&["35=8", "39=4", "14=15", "6=11", "151=0"]);
    };
    told(&server);
    server.stop();
    let server = launch.start();
    told(&server);
    server.stop();
}

/// REST and the compatible interface once took such an order for one that never existed.
#[test]
fn an_order_that_was_done_before_the_history_began_is_told_as_no_longer_kept() {
    let folder = Folder::new("lost-orders");
    let keys = KeyFile::new(&folder);
    let launch = keys.launch(&folder).with(SMALL);
    let server = launch.start();
    server.ask(MARKET);
    let done = executed_buy(&server, "A", 2, 2);
    let server = without_history(&launch, &folder, server);
    assert!(trade(&server, &format!("<query id=\"{done}\"/>")).contains(">no longer kept</error>"));
    let http = Http::new(server.http);
    assert_eq!(http.get(&format!("/api/v1/orders/{done}?account=1")).code(), (410, "no-longer-kept"));
    let refused = keys.send(&http, "GET", "order", &format!("symbol=AUSD&orderId={done}"));
    assert_eq!(refused.body["code"], -2026, "{refused:?}");
    assert_eq!(http.get("/api/v1/orders/999999?account=1").code(), (404, "unknown-order"));
    server.stop();
}

/// A single order that was done before the history began once made whole answers fail: the list of all open lists, an
/// order list, and the list's cancel.
#[test]
fn an_order_that_is_no_longer_kept_takes_nothing_from_a_list_beside_it() {
    let folder = Folder::new("lost-neighbours");
    let keys = KeyFile::new(&folder);
    let launch = keys.launch(&folder).with(SMALL);
    let server = launch.start();
    server.ask(MARKET);
    let pair =
        "symbol=BUSD&side=SELL&quantity=10&aboveType=LIMIT_MAKER&abovePrice=30&belowType=STOP_LOSS&belowStopPrice=20";
    let list = keys.send(&Http::new(server.http), "POST", "orderList/oco", pair).body["orderListId"].clone();
    let done = executed_buy(&server, "A", 2, 2);
    assert_eq!(done, (list.as_u64().unwrap() + 2).to_string());
    let server = without_history(&launch, &folder, server);
    let http = Http::new(server.http);
    let open = keys.send(&http, "GET", "openOrderList", "").body;
    assert!(open.as_array().is_some_and(|open| open.len() == 1 && open[0]["orderListId"] == list), "{open}");
    let one = keys.send(&http, "GET", "orderList", &format!("orderListId={list}")).body;
    assert_eq!(one, open[0]);
    // Nobody knows whether this order began a list.
    let gone = keys.send(&http, "GET", "orderList", &format!("orderListId={done}")).body;
    assert_eq!(gone["code"], -2026, "{gone}");
    let canceled = keys.send(&http, "DELETE", "orderList", &format!("symbol=BUSD&orderListId={list}")).body;
    assert_eq!(canceled["listOrderStatus"], "ALL_DONE", "{canceled}");
    server.stop();
}
