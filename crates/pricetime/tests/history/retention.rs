//! Removal of the oldest orders, over the wire: a client that asks for a removed order is told over every interface
//! that it is no longer kept.

use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Launch;
use crate::common::wait::wait_until;

/// The number of orders of each side in a request.
const AT_ONCE: u64 = 4_000;
/// The orders fill three parts of the orders' table.
const ORDERS: u64 = 800_000;

#[test]
fn whoever_asks_for_what_is_gone_is_told_so_over_the_wire() {
    let folder = Folder::new("retention");
    let settings = "--segment-size 1MiB --snapshot-every 1000 --history-keep-bytes 1MiB";
    let server = Launch::new(&folder.data()).with(settings).start();
    server.ask(r#"<create><account id="1" balance="9"/><symbol sym="S"><account id="1">9</account></symbol></create>"#);
    let mut client = server.client();
    // The second order stays open, and open orders are kept however old they are.
    client.ask(r#"<transactions id="1"><order sym="S" amount="-1" limit="5"/><cancel id="1"/><order sym="S" amount="-1" limit="9"/></transactions>"#);
    let mut last = 2;
    while last < ORDERS {
        let orders: String = (last + 1..=last + AT_ONCE)
            .map(|id| format!("<order sym=\"S\" amount=\"-1\" limit=\"7\"/><cancel id=\"{id}\"/>"))
            .collect();
        let told = client.ask(&format!("<transactions id=\"1\">{orders}</transactions>"));
        assert!(!told.contains("<error"), "{told:.300}");
        last += AT_ONCE;
    }
    let query = |id: u64| server.ask(&format!("<transactions id=\"1\"><query id=\"{id}\"/></transactions>"));
    assert!(query(last).contains("<canceled"));
    wait_until("the oldest orders to go", Duration::from_secs(120), || query(1).contains("no longer kept"));
    assert_eq!(query(1).trim_end(), r#"<results><error id="1">no longer kept</error></results>"#);
    let canceled = server.ask(r#"<transactions id="1"><cancel id="1"/></transactions>"#);
    assert_eq!(canceled.trim_end(), r#"<results><error id="1">no longer kept</error></results>"#);
    assert!(query(2).contains("<open") && query(last).contains("<canceled"));
    let http = Http::new(server.http);
    assert_eq!(http.get("/api/v1/orders/1?account=1").code(), (410, "no-longer-kept"));
    assert_eq!(http.delete("/api/v1/orders/1?account=1").code(), (410, "no-longer-kept"));
    assert_eq!(http.read("/api/v1/orders/2?account=1")["status"], "open");
    server.kill();
    let server = Launch::new(&folder.data()).with(settings).start();
    let told = server.ask(r#"<transactions id="1"><query id="1"/><cancel id="2"/></transactions>"#);
    assert!(told.contains("no longer kept") && told.contains("<canceled id=\"2\">"), "{told}");
    server.stop();
}
