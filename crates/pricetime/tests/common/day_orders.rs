//! Orders for the day over XML and REST, on a server whose calendar ends days: their answers, and their fate over a
//! crash and at the end of the day.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::http::Http;
use super::server::{Launch, PATIENCE};
use super::wait::wait_until;

const MARKET: &str = r#"<create><account id="1" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account></symbol><symbol sym="FREE"><account id="1">100</account></symbol></create>"#;
const PER_SECOND: u64 = 1_000_000;

/// The time this many seconds from now: as a calendar writes it, and in microseconds since 1970.
fn in_seconds(seconds: u64) -> (String, u64) {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds;
    let day = at % 86_400;
    (format!("{:02}:{:02}:{:02}", day / 3_600, day / 60 % 60, day % 60), at * PER_SECOND)
}

fn order(symbol: &str, side: &str, limit: &str, more: &Value) -> Value {
    let mut order =
        json!({"account": "1", "symbol": symbol, "side": side, "limit": limit, "shares": "4", "tif": "DAY"});
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

fn xml(children: &str) -> String {
    format!("<transactions id=\"1\">{children}</transactions>")
}

/// Checks the market that servers of `launch`, one after another, keep. The calendar is put into `folder`.
pub fn check(folder: &Path, launch: impl Fn() -> Launch) {
    let calendar = folder.join("calendar");
    let (time, end) = in_seconds(8);
    std::fs::write(&calendar, format!("{time} SPY day-ends\n")).unwrap();
    let start = || launch().with(&format!("--calendar {}", calendar.display())).start();
    let server = start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let named = json!({"client_order_id": "of-today"});
    let placed = http.make("/api/v1/orders", &order("SPY", "buy", "9", &named));
    assert_eq!(placed["until"], json!(end), "{placed}");
    let again = http.post("/api/v1/orders", &order("SPY", "buy", "9", &named));
    assert_eq!((again.status, again.body), (200, placed), "the same day it is the same order");
    // The orders are placed in every way: 2, 3 in its stead, 4 and 5 linked, 6 and 7 which is pending on it, 8 an
    // iceberg.
    http.make("/api/v1/orders", &order("SPY", "sell", "30", &json!({"kind": "post_only"})));
    let asked = order("SPY", "sell", "31", &json!({})).to_string();
    let replaced = http.send("PUT", "/api/v1/orders/2", Some(&asked), &[("content-type", "application/json")]);
    assert_eq!(replaced.body["placed"]["until"], json!(end), "{}", replaced.text);
    let one = order("SPY", "sell", "40", &json!({"kind": "post_only"}));
    let other = order("SPY", "sell", "5", &json!({"stop": "6"}));
    let told = http.make("/api/v1/order-lists", &json!({"kind": "oco", "orders": [one, other]}));
    assert_eq!([0, 1].map(|at| told["orders"][at]["until"].clone()), [json!(end), json!(end)]);
    let told = server.ask(&xml(
        r#"<oto><order sym="SPY" amount="1" limit="2" tif="DAY"/><order sym="SPY" amount="-1" limit="50" tif="day"/></oto>
           <order sym="SPY" amount="9" limit="3" display="3" tif="DAY"/><order sym="SPY" amount="1" type="market" stop="60" tif="DAY"/>
           <order sym="SPY" amount="1" limit="1"/><query id="8"/>"#,
    ));
    let until = format!("<open shares=\"9\" until=\"{}\"", end / PER_SECOND);
    assert!(!told.contains("<error") && told.contains(&until), "{told}");
    // Each answer lacks the end, which is unknown when the order is placed.
    let opened = format!(" until=\"{}\" id=\"", end / PER_SECOND);
    assert_eq!((told.matches(&opened).count(), told.matches("until=").count()), (4, 5), "{told}");
    // A symbol whose days have no end has no orders for the day, nor orders that belong together with one.
    let refused = http.post("/api/v1/orders", &order("FREE", "buy", "9", &json!({})));
    assert_eq!((refused.status, &refused.body["code"]), (422, &json!("no-day-end")), "{}", refused.text);
    let why = "tif cannot be DAY: the server's calendar does not say when the day of FREE ends; it needs a line such as 21:00 FREE day-ends";
    assert_eq!(refused.body["detail"], why);
    let told = server.ask(&xml(
        r#"<order sym="FREE" amount="1" limit="1" tif="DAY"/>
           <oco><order sym="FREE" amount="-1" limit="9" post-only="true"/><order sym="FREE" amount="-1" limit="1" stop="2" tif="DAY"/></oco>"#,
    ));
    assert!(told.matches(why).count() >= 2 && !told.contains("<opened"), "{told}");
    let open = |http: &Http| http.read("/api/v1/accounts/1/orders?status=open")["orders"].as_array().unwrap().clone();
    let ends = |http: &Http| open(http).iter().filter(|order| order["until"] == json!(end)).count();
    assert_eq!((open(&http).len(), ends(&http)), (9, 8), "{:?}", open(&http));
    server.kill();
    let server = start();
    let http = Http::new(server.http);
    assert_eq!((open(&http).len(), ends(&http)), (9, 8));
    wait_until("the day to end", PATIENCE, || open(&http).len() == 1);
    let ended = http.read("/api/v1/orders/1?account=1");
    assert!(ended["status"] == "canceled" && ended["done_time"].as_u64().unwrap() >= end, "{ended}");
    // It is another order on the next day.
    let another = http.post("/api/v1/orders", &order("SPY", "buy", "9", &named));
    assert_eq!((another.status, &another.body["code"]), (409, &json!("client-order-id-taken")), "{}", another.text);
    assert!(another.text.contains("deadline"), "{}", another.text);
    let next = http.make("/api/v1/orders", &order("SPY", "buy", "9", &json!({})));
    assert_eq!(next["until"], json!(end + 86_400 * PER_SECOND));
    for (more, field) in
        [(json!({"until": end}), "until"), (json!({"kind": "fill_or_kill"}), "tif"), (json!({"tif": "day"}), "DAY")]
    {
        let refused = http.post("/api/v1/orders", &order("SPY", "buy", "9", &more));
        assert_eq!(refused.body["code"], "malformed", "{}", refused.text);
        assert!(refused.body["field"] == field || refused.text.contains(field), "{}", refused.text);
    }
    server.stop();
}
