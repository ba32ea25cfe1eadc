//! Orders that show a part of their shares at a time, over the compatible interface: which orders may do so, what is
//! answered and told, and the filter that limits the number of parts.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">1000</account><account id="2">1000</account></symbol></create>"#;

fn quantities(of: &Value) -> Value {
    ["status", "origQty", "executedQty", "icebergQty"].map(|field| of[field].clone()).to_vec().into()
}

#[test]
fn an_iceberg_is_answered_with_its_quantity_and_the_depth_has_its_tip() {
    let folder = Folder::new("binance-icebergs");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = keys.follow(&http);
    let place = |words: &str| keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&{words}")).body;
    let limit = "side=SELL&type=LIMIT&timeInForce=GTC&price=10&quantity=77";
    let berg = place(&format!("{limit}&icebergQty=10"));
    assert_eq!(quantities(&berg), json!(["NEW", "77.00000000", "0.00000000", "10.00000000"]));
    let report = loop {
        let event = socket.next();
        if event["e"] == "executionReport" {
            break event;
        }
    };
    assert_eq!(json!([report["x"], report["q"], report["F"]]), json!(["NEW", "77.00000000", "10.00000000"]));
    let maker = place("side=SELL&type=LIMIT_MAKER&price=11&quantity=4&icebergQty=2");
    assert_eq!(maker["icebergQty"], "2.00000000", "{maker}");
    let stop = place("side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC&price=4&stopPrice=5&quantity=4&icebergQty=2");
    assert_eq!(stop["icebergQty"], "2.00000000", "{stop}");
    let plain = place("side=SELL&type=LIMIT&timeInForce=GTC&price=10&quantity=5");
    assert!(plain.get("icebergQty").is_none(), "one that shows all is answered as ever: {plain}");
    let asks = |http: &Http| http.read("/binance/api/v3/depth?symbol=SPYUSD")["asks"].clone();
    assert_eq!(asks(&http), json!([["10.00000000", "15.00000000"], ["11.00000000", "2.00000000"]]));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="12" limit="10"/></transactions>"#);
    assert_eq!(asks(&http), json!([["10.00000000", "13.00000000"], ["11.00000000", "2.00000000"]]));
    let shown = |http: &Http| quantities(&keys.send(http, "GET", "order", "symbol=SPYUSD&orderId=1").body);
    let expected = json!(["PARTIALLY_FILLED", "77.00000000", "10.00000000", "10.00000000"]);
    assert_eq!(shown(&http), expected);
    server.stop();
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    assert_eq!(shown(&http), expected);
    assert_eq!(asks(&http), json!([["10.00000000", "13.00000000"], ["11.00000000", "2.00000000"]]));
    server.stop();
}

#[test]
fn an_order_that_cannot_be_an_iceberg_is_refused_with_a_code() {
    let folder = Folder::new("binance-icebergs-refused");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let place =
        |path: &str, words: &str| keys.send(&http, "POST", path, &format!("symbol=SPYUSD&side=SELL&{words}")).body;
    for path in ["order", "order/test"] {
        for (words, code) in [
            ("type=LIMIT&timeInForce=IOC&price=10&quantity=5&icebergQty=1", -1115),
            ("type=STOP_LOSS_LIMIT&timeInForce=FOK&price=4&stopPrice=5&quantity=5&icebergQty=1", -1115),
            ("type=MARKET&quantity=5&icebergQty=1", -1106),
            ("type=STOP_LOSS&stopPrice=5&quantity=5&icebergQty=1", -1106),
            ("type=LIMIT&timeInForce=GTC&price=10&quantity=5&icebergQty=0", -1013),
            ("type=LIMIT&timeInForce=GTC&price=10&quantity=5&icebergQty=x", -1100),
        ] {
            assert_eq!(place(path, words)["code"], code, "{path} {words}");
        }
    }
    let limit = "type=LIMIT&timeInForce=GTC&price=10&quantity=5";
    let few = place("order", &format!("{limit}&icebergQty=0.04"));
    assert_eq!(few, json!({"code": -1013, "msg": "Filter failure: ICEBERG_PARTS"}));
    let many = place("order", &format!("{limit}&icebergQty=6"));
    assert_eq!(many, json!({"code": -2010, "msg": "IcebergQty exceeds QTY."}));
    assert_eq!(place("order", &format!("{limit}&icebergQty=0.05"))["status"], "NEW");
    let info = http.read("/binance/api/v3/exchangeInfo?symbol=SPYUSD")["symbols"][0].clone();
    assert_eq!(info["icebergAllowed"], true);
    let parts = json!({"filterType": "ICEBERG_PARTS", "limit": 100});
    assert!(info["filters"].as_array().unwrap().contains(&parts), "{info}");
    server.stop();
}
