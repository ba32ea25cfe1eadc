//! Streams of the compatible interface as real clients open them: with unknown names, for all symbols, for windows,
//! with a listen key among others, and with an envelope that is changed meanwhile.

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::KeyFile;
use crate::common::server::Server;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">10000</account><account id="2">10000</account></symbol>
    <symbol sym="QQQ"><account id="2">10000</account></symbol></create>"#;
const TRADE: &str = r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#;
const TAKE: &str = r#"<transactions id="1"><order sym="SPY" amount="1" limit="10"/></transactions>"#;

fn start(folder: &Folder) -> (Server, Http, KeyFile) {
    KeyFile::serve(folder, MARKET)
}

fn trade(server: &Server) {
    server.ask(TRADE);
    server.ask(TAKE);
}

fn ask(socket: &mut Socket, method: &str, params: Value) -> Value {
    socket.send(&json!({"method": method, "params": params, "id": 7}));
    loop {
        let message = socket.next();
        if message.get("id").is_some() {
            return message;
        }
    }
}

fn listen_key(http: &Http, keys: &KeyFile) -> String {
    let made = http.send("POST", "/binance/api/v3/userDataStream", None, &[("x-mbx-apikey", &keys.key)]);
    made.body["listenKey"].as_str().unwrap().to_owned()
}

#[test]
fn a_name_that_nobody_knows_refuses_no_connection() {
    let folder = Folder::new("binance-unknown");
    let (server, http, _) = start(&folder);
    for path in [
        "/binance/ws/nonsense",
        "/binance/ws/noneusd@trade/spyusd@nothing",
        "/binance/stream?streams=nonsense",
        "/binance/stream?streams=a/b/@/!/%C3%A9@x",
        "/binance/stream",
    ] {
        let mut socket = http.listen_at(path);
        assert_eq!(ask(&mut socket, "LIST_SUBSCRIPTIONS", json!([]))["result"], json!([]), "{path}");
        // A stream that is subscribed to later is told.
        assert_eq!(ask(&mut socket, "SUBSCRIBE", json!(["spyusd@trade"]))["result"], Value::Null, "{path}");
        trade(&server);
        let told = socket.next();
        let event = if path.contains("stream") { &told["data"] } else { &told };
        assert_eq!(event["e"], "trade", "{path}: {told}");
    }
    // An unknown name among others does not disturb them.
    let mut socket = http.listen_at("/binance/ws/nonsense/spyusd@trade");
    trade(&server);
    assert_eq!(socket.next()["e"], "trade");
    // A subscription on the open connection is answered that there is no such stream.
    assert_eq!(ask(&mut socket, "SUBSCRIBE", json!(["nonsense"]))["error"]["code"], 2);
    let many = vec!["nonsense"; 201].join("/");
    for path in [format!("/binance/ws/{many}"), format!("/binance/stream?streams={many}")] {
        let refused = tungstenite::connect(format!("ws://{}{path}", server.http)).err().unwrap().to_string();
        assert!(refused.contains("400"), "{refused}");
    }
    server.stop();
}

#[test]
fn a_listen_key_is_followed_with_others_and_each_event_names_it() {
    let folder = Folder::new("binance-combined-key");
    let (server, http, keys) = start(&folder);
    let key = listen_key(&http, &keys);
    let mut alone = http.listen_at(&format!("/binance/stream?streams={key}"));
    let mut mixed = http.listen_at(&format!("/binance/stream?streams=spyusd@trade/{key}/nonsense"));
    let mut raw = http.listen_at(&format!("/binance/ws/{key}"));
    // Another listen key of the same account, while the first one's streams go on.
    let path = format!("/binance/api/v3/userDataStream?listenKey={key}");
    assert_eq!(http.send("DELETE", &path, None, &[("x-mbx-apikey", &keys.key)]).status, 200);
    let next = listen_key(&http, &keys);
    assert_ne!(key, next);
    let mut later = http.listen_at(&format!("/binance/stream?streams={next}"));
    trade(&server);
    let mut reports = Vec::new();
    for (socket, named) in [(&mut alone, Some(&key)), (&mut later, Some(&next)), (&mut raw, None)] {
        let mut told: Vec<Value> = (0..3).map(|_| socket.next()).collect();
        if let Some(named) = named {
            assert!(told.iter().all(|message| message["stream"] == **named), "{told:?}");
            told.iter_mut().for_each(|message| *message = message["data"].take());
        }
        told.iter_mut().for_each(|event| event["E"] = Value::Null);
        reports.push(told);
    }
    assert_eq!(
        reports[0].iter().map(|event| event["e"].as_str().unwrap()).collect::<Vec<_>>(),
        ["executionReport", "executionReport", "outboundAccountPosition"]
    );
    assert!(reports[0] == reports[1] && reports[1] == reports[2], "{reports:?}");
    let of_both: Vec<Value> = (0..4).map(|_| mixed.next()).collect();
    let of_key = of_both.iter().filter(|message| message["stream"] == *key).count();
    assert_eq!((of_key, of_both.iter().filter(|message| message["stream"] == "spyusd@trade").count()), (3, 1));
    assert_eq!(ask(&mut mixed, "LIST_SUBSCRIPTIONS", json!([]))["result"], json!(["spyusd@trade", key]));
    // When the connection leaves one of two streams, the other one goes on.
    assert_eq!(ask(&mut mixed, "UNSUBSCRIBE", json!(["spyusd@trade"]))["result"], Value::Null);
    drop((alone, raw));
    trade(&server);
    assert!((0..3).all(|_| mixed.next()["stream"] == *key) && (0..3).all(|_| later.next()["stream"] == *next));
    server.stop();
}

#[test]
fn the_envelope_is_changed_on_the_way_and_no_change_of_the_book_is_lost() {
    let folder = Folder::new("binance-properties");
    let (server, http, keys) = start(&folder);
    let key = listen_key(&http, &keys);
    let path = format!("/binance/ws/spyusd@depth/{key}/!miniTicker@arr");
    let mut socket = http.listen_at(&path);
    for (params, code) in [
        (json!(["combined", "true"]), 1),
        (json!(["combined"]), 1),
        (json!(["colour", true]), 0),
        (json!([]), 0),
        (json!({}), 0),
    ] {
        assert_eq!(ask(&mut socket, "SET_PROPERTY", params.clone())["error"]["code"], code, "{params}");
    }
    assert_eq!(ask(&mut socket, "GET_PROPERTY", json!(["colour"]))["error"]["code"], 0);
    let mut client = server.client();
    let (mut last, mut kinds, mut is_combined) = (None::<u64>, [false; 3], false);
    let mut take = |message: Value, is_combined: bool| {
        assert_eq!(message.get("stream").is_some(), is_combined, "{message}");
        let event = if is_combined { &message["data"] } else { &message };
        match event["e"].as_str() {
            Some("depthUpdate") => {
                kinds[0] = true;
                let number = |name: &str| event[name].as_u64().unwrap();
                assert!(last.is_none_or(|last| number("U") == last + 1), "{last:?} {event}");
                last = Some(number("u"));
            }
            Some(_) => kinds[1] = true,
            None => kinds[2] = event.is_array(),
        }
    };
    for round in 0..12 {
        for _ in 0..5 {
            client.ask(&format!(
                r#"<transactions id="1"><order sym="SPY" amount="0.125" limit="9.{round}"/></transactions>"#
            ));
        }
        std::thread::sleep(std::time::Duration::from_millis(150));
        let set = json!({"method": "SET_PROPERTY", "params": ["combined", !is_combined], "id": round});
        socket.send(&set);
        loop {
            let message = socket.next();
            if message.get("id").is_some() {
                assert_eq!(message, json!({"result": null, "id": round}));
                break;
            }
            take(message, is_combined);
        }
        is_combined = !is_combined;
        socket.send(&json!({"method": "GET_PROPERTY", "params": ["combined"], "id": "get"}));
        loop {
            let message = socket.next();
            if message.get("id").is_some() {
                assert_eq!(message, json!({"result": is_combined, "id": "get"}));
                break;
            }
            take(message, is_combined);
        }
    }
    assert_eq!(kinds, [true; 3]);
    assert!(last.is_some());
    server.stop();
}

#[test]
fn tickers_of_all_symbols_tell_of_those_that_changed() {
    let folder = Folder::new("binance-all");
    let (server, http, _) = start(&folder);
    server.ask(r#"<create><symbol sym="USD"><account id="1">5</account></symbol></create>"#);
    let mut raw = http.listen_at("/binance/ws/!ticker@arr");
    let names = ["!ticker@arr", "!miniTicker@arr", "!ticker_1h@arr", "!ticker_4h@arr", "!ticker_1d@arr"];
    let mut all = http.listen_at(&format!("/binance/stream?streams={}", names.join("/")));
    assert_eq!(ask(&mut all, "LIST_SUBSCRIPTIONS", json!([]))["result"], json!(names));
    trade(&server);
    let until = |socket: &mut Socket, found: &mut dyn FnMut(&Value) -> bool| while !found(&socket.next()) {};
    until(&mut raw, &mut |told| {
        let [ticker] = told.as_array().unwrap().as_slice() else { panic!("one symbol changed: {told}") };
        assert_eq!((&ticker["e"], &ticker["s"]), (&json!("24hrTicker"), &json!("SPYUSD")));
        ticker["n"] == 1 && ticker["F"] == ticker["L"] && ticker["v"] == "1.00000000"
    });
    let mut seen: Vec<(String, String)> = Vec::new();
    until(&mut all, &mut |told| {
        let ticker = &told["data"][0];
        if ticker["s"] == "SPYUSD" && ticker["v"] == "1.00000000" {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            seen.push((text(&told["stream"]), text(&ticker["e"])));
        }
        seen.len() == names.len()
    });
    let kinds = ["24hrTicker", "24hrMiniTicker", "1hTicker", "4hTicker", "1dTicker"];
    let expected: Vec<(String, String)> = names.iter().zip(kinds).map(|(n, k)| (n.to_string(), k.to_owned())).collect();
    assert_eq!(seen, expected);
    // Streams that were left are told no more, and the others go on.
    assert_eq!(ask(&mut all, "UNSUBSCRIBE", json!(&names[1..]))["result"], Value::Null);
    server.ask(r#"<transactions id="2"><order sym="QQQ" amount="-1" limit="5"/></transactions>"#);
    until(&mut all, &mut |told| {
        assert_eq!(told["stream"], names[0]);
        told["data"].as_array().unwrap().iter().any(|ticker| ticker["s"] == "QQQUSD" && ticker["a"] == "5.00000000")
    });
    server.stop();
}

#[test]
fn windows_averages_and_the_orders_of_a_trade_are_told() {
    let folder = Folder::new("binance-windows");
    let (server, http, _) = start(&folder);
    let names = ["spyusd@ticker_1h", "spyusd@ticker_4h", "spyusd@ticker_1d", "spyusd@avgPrice", "spyusd@trade"];
    let mut socket = http.listen_at(&format!("/binance/stream?streams={}", names.join("/")));
    trade(&server);
    let mut seen: Vec<String> = Vec::new();
    while seen.len() < names.len() {
        let told = socket.next();
        let (name, event) = (told["stream"].as_str().unwrap().to_owned(), &told["data"]);
        match name.rsplit('@').next().unwrap() {
            "avgPrice" => {
                if event["T"] == 0 {
                    continue;
                }
                assert_eq!(
                    (&event["e"], &event["i"], &event["w"]),
                    (&json!("avgPrice"), &json!("5m"), &json!("10.00000000"))
                );
            }
            "trade" => assert_eq!((&event["b"], &event["a"]), (&json!(2), &json!(1)), "{event}"),
            kind => {
                if event["n"] == 0 {
                    continue;
                }
                assert_eq!(event["e"], format!("{}Ticker", kind.strip_prefix("ticker_").unwrap()));
                assert_eq!((&event["F"], &event["L"], &event["c"]), (&json!(1), &json!(1), &json!("10.00000000")));
                let hours = (event["C"].as_u64().unwrap() - event["O"].as_u64().unwrap()) / 3_600_000;
                assert_eq!(
                    kind,
                    ["ticker_1h", "ticker_4h", "ticker_1d"][[1, 4, 24].iter().position(|its| *its == hours).unwrap()]
                );
            }
        }
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    let klines = ["1s", "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M"];
    let names: Vec<String> = klines.iter().map(|interval| format!("spyusd@kline_{interval}")).collect();
    let mut socket = http.listen_at(&format!("/binance/stream?streams={}", names.join("/")));
    trade(&server);
    let mut seen: Vec<String> = Vec::new();
    while seen.len() < names.len() {
        let told = socket.next();
        let kline = &told["data"]["k"];
        let interval = kline["i"].as_str().unwrap();
        assert_eq!(told["stream"], format!("spyusd@kline_{interval}"));
        let asked = http.read(&format!("/binance/api/v3/klines?symbol=SPYUSD&interval={interval}&limit=1"));
        let same = [("t", 0), ("o", 1), ("h", 2), ("l", 3), ("c", 4), ("v", 5), ("T", 6), ("q", 7), ("n", 8)];
        assert!(same.iter().all(|(name, at)| kline[name] == asked[0][at]), "{kline} {asked}");
        if !seen.contains(&interval.to_owned()) {
            seen.push(interval.to_owned());
        }
    }
    server.stop();
}
