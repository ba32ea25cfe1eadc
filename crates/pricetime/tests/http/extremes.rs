//! Pairs of extreme values in the numeric fields of every protocol, within one request, and in two requests of which
//! the second depends on the first. Every request is answered, no code of ours panics, and other clients go on trading.

use std::net::SocketAddr;

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};
use crate::common::talk::order;
use serde_json::{Map, Value, json};

/// Numbers around the bounds of all integer types that a program may use for them.
const WHOLE: [&str; 8] = [
    "0",
    "1",
    "4294967295",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
];
/// Amounts around the bounds of prices, shares and money.
const DECIMAL: [&str; 8] = [
    "0",
    "0.00000001",
    "-0.00000001",
    "92233720368.54775807",
    "92233720368.54775808",
    "100000000000000000000",
    "100000000000000000000.00000001",
    "340282366920938463463374607431768211456.123456789",
];
const MARKET: &str = r#"<create><account id="1" balance="90000000000000000000"/><account id="9" balance="1000000"/>
    <symbol sym="SPY"><account id="1">10000000000000000</account></symbol><symbol sym="BY"><account id="9">1000000</account></symbol></create>"#;

fn launch(folder: &Folder) -> Launch {
    Launch::new(&folder.data())
        .with("--fix 127.0.0.1:0 --max-balance 100000000000000000000 --max-issue 100000000000000000000")
}

fn set_up(server: &Server) {
    let told = server.ask(MARKET);
    assert!(!told.contains("<error"), "{told}");
}

/// Checks that another client can trade, the server is well, and no code panicked.
fn goes_on(server: &Server, after: &str) {
    let http = Http::new(server.http);
    assert_eq!(http.read("/health")["status"], "ok", "after {after}");
    let trade = format!("{}{}", order("BY", "-1", "5"), order("BY", "1", "5"));
    let told = server.ask(&format!("<transactions id=\"9\">{trade}</transactions>"));
    assert!(!told.contains("<error") && told.matches("<opened").count() == 2, "after {after}: {told}");
    let metrics = String::from_utf8(http.bytes("/metrics", &[]).1).unwrap();
    let panics = metrics.lines().filter(|line| line.starts_with("pricetime_contained_panics_total{"));
    assert_eq!(
        panics.clone().filter(|line| line.ends_with(" 0")).count(),
        5,
        "after {after}: {:?}",
        panics.collect::<Vec<_>>()
    );
}

/// All pairs of different fields, and each field alone.
fn pairs(fields: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..fields).flat_map(move |one| (one..fields).map(move |other| (one, other)))
}

/// A numeric field of a REST request.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    place: Place,
    values: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Path,
    Query,
    Body,
}

/// A REST operation: its numeric fields, and what else its requests contain.
struct Operation {
    fields: Vec<Field>,
    body: Map<String, Value>,
    parameters: Vec<(String, Value)>,
}

/// The description of REST.
struct Description(Value);

impl Description {
    /// The schema without references. Of several alternatives it is the one that is not null.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        loop {
            if let Some(named) = schema["$ref"].as_str() {
                schema = self.0.pointer(named.trim_start_matches('#')).unwrap();
            } else if let Some(choice) =
                schema["oneOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null"))
            {
                schema = choice;
            } else {
                return schema;
            }
        }
    }

    /// The extreme values of a field. Empty for a field that is not numeric.
    fn values(&self, schema: &Value, is_text: bool) -> Vec<Value> {
        let schema = self.resolved(schema);
        let is_type = |name: &str| {
            schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.contains(&json!(name)))
        };
        let whole = || WHOLE.iter().filter_map(|text| text.parse::<u64>().ok());
        if is_type("integer") {
            return if is_text { WHOLE.map(Value::from).to_vec() } else { whole().map(Value::from).collect() };
        }
        let example = schema["examples"][0].as_str().unwrap_or_default();
        let is_decimal = schema["pattern"].as_str().is_some_and(|pattern| pattern.contains(r"\."));
        if is_type("string") && is_decimal && example.parse::<f64>().is_ok() {
            return DECIMAL.map(Value::from).to_vec();
        }
        Vec::new()
    }

    fn example(&self, name: &str, schema: &Value) -> Value {
        let schema = self.resolved(schema);
        match name {
            "account" => "1".into(),
            "symbol" => "SPY".into(),
            _ if schema["type"] == "boolean" => false.into(),
            _ => schema["examples"][0].clone(),
        }
    }

    fn operation(&self, operation: &Value) -> Operation {
        let (mut fields, mut parameters) = (Vec::new(), Vec::new());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let (name, schema) = (parameter["name"].as_str().unwrap().to_owned(), &parameter["schema"]);
            let values = self.values(schema, true);
            let place = if parameter["in"] == "path" { Place::Path } else { Place::Query };
            if !values.is_empty() {
                fields.push(Field { name: name.clone(), place, values });
            }
            if place == Place::Path || parameter["required"] == true {
                parameters.push((name.clone(), self.example(&name, schema)));
            }
        }
        let body = self.resolved(&operation["requestBody"]["content"]["application/json"]["schema"]);
        let required = body["required"].as_array().cloned().unwrap_or_default();
        let mut base = Map::new();
        for (name, schema) in body["properties"].as_object().into_iter().flatten() {
            let values = self.values(schema, false);
            if !values.is_empty() {
                fields.push(Field { name: name.clone(), place: Place::Body, values });
            }
            // An order must have a limit and shares here, though its description does not require them.
            if required.contains(&json!(name)) || ["limit", "shares"].contains(&name.as_str()) {
                base.insert(name.clone(), self.example(name, schema));
            }
        }
        Operation { fields, body: base, parameters }
    }
}

/// The address and the body of a request with values for one or two fields.
fn rest_request(
    path: &str,
    (base, parameters): (&Map<String, Value>, &[(String, Value)]),
    given: &[(&Field, &Value)],
) -> (String, Map<String, Value>) {
    let (mut path, mut body, mut query) = (path.to_owned(), base.clone(), String::new());
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let in_address = |name: &str| given.iter().any(|(field, _)| field.name == name && field.place != Place::Body);
    for (field, value) in given {
        match field.place {
            Place::Path => path = path.replace(&format!("{{{}}}", field.name), &plain(value)),
            Place::Query => query += &format!("&{}={}", field.name, plain(value)),
            Place::Body => drop(body.insert(field.name.clone(), (*value).clone())),
        }
    }
    for (name, example) in parameters.iter().filter(|(name, _)| !in_address(name)) {
        let named = format!("{{{name}}}");
        match path.contains(&named) {
            true => path = path.replace(&named, &plain(example)),
            false => query += &format!("&{name}={}", plain(example)),
        }
    }
    (format!("{path}?{}", query.trim_start_matches('&')), body)
}

#[test]
fn rest_answers_every_pair_of_numbers_that_its_description_names() {
    let folder = Folder::new("extremes-rest");
    let server = launch(&folder).start();
    set_up(&server);
    let http = Http::new(server.http);
    let description = Description(http.read("/api/v1/openapi.json"));
    let (mut asked, mut accepted) = (0, 0);
    for (path, item) in description.0["paths"].as_object().unwrap() {
        // Simulated traders would trade until the end of the test.
        if path.ends_with("/sandbox") {
            continue;
        }
        for (method, operation) in item.as_object().unwrap() {
            let Operation { fields, body: base, parameters } = description.operation(operation);
            for (one, other) in pairs(fields.len()) {
                for (first, second) in fields[one]
                    .values
                    .iter()
                    .flat_map(|first| fields[other].values.iter().map(move |second| (first, second)))
                {
                    let both = [(&fields[one], first), (&fields[other], second)];
                    let given = if one == other { &both[..1] } else { &both[..] };
                    let (path, body) = rest_request(path, (&base, &parameters), given);
                    let body = (!base.is_empty() || given.iter().any(|(field, _)| field.place == Place::Body))
                        .then(|| Value::Object(body).to_string());
                    let json = [("content-type", "application/json")];
                    let headers = if body.is_some() { &json[..] } else { &[] };
                    let answer = http.send(&method.to_uppercase(), &path, body.as_deref(), headers);
                    asked += 1;
                    accepted += usize::from(answer.status < 300);
                    let what = format!("{method} {path} {body:?}: {} {}", answer.status, answer.text);
                    assert!((200..500).contains(&answer.status), "{what:.600}");
                    if answer.status >= 400 {
                        let says = ["code", "detail"].map(|name| answer.body[name].as_str().unwrap_or_default().len());
                        assert!(says.iter().all(|length| *length > 0), "{what:.600}");
                    }
                }
            }
        }
    }
    println!("{asked} requests, {accepted} of them accepted");
    assert!(asked > 2_000 && accepted > 100, "{asked} asked, {accepted} accepted");
    goes_on(&server, "the extremes of REST");
    server.stop();
}

/// Elements of XML requests: their parent element, their name, their other attributes, and their numeric attributes.
const ELEMENTS: [(&str, &str, &str, &[&str]); 14] = [
    (
        "transactions",
        "order",
        "sym=\"SPY\" amount=\"-5\" limit=\"7\"",
        &["amount", "limit", "stop", "take-profit", "display", "trail", "trail-bips", "until"],
    ),
    ("transactions", "order", "sym=\"SPY\" amount=\"5\" limit=\"7\"", &["amount", "limit", "stop", "display", "until"]),
    ("transactions", "order", "sym=\"SPY\" kind=\"market\" amount=\"5\"", &["amount", "funds"]),
    ("transactions", "order", "sym=\"SPY\" kind=\"market\"", &["funds"]),
    ("transactions", "amend", "id=\"1\" shares=\"1\"", &["id", "shares"]),
    ("transactions", "query", "", &["id"]),
    ("transactions", "cancel", "", &["id"]),
    ("transactions", "replace", "id=\"1\" sym=\"SPY\" amount=\"-5\" limit=\"7\"", &["id", "amount", "limit"]),
    ("create", "account", "id=\"77\"", &["balance"]),
    (
        "create",
        "rules",
        "sym=\"RULED\"",
        &["tick", "lot", "min-shares", "max-shares", "min-value", "max-value", "band-up", "band-down", "interruption"],
    ),
    ("create", "limits", "id=\"1\"", &["open-orders", "order-shares", "order-value", "position", "collar"]),
    ("create", "fees", "sym=\"RULED\" account=\"1\"", &["tier", "maker", "taker"]),
    ("create", "tier", "id=\"77\"", &["tier"]),
    ("create", "group", "id=\"77\"", &["group"]),
];

#[test]
fn xml_answers_every_pair_of_extreme_amounts() {
    let folder = Folder::new("extremes-xml");
    let server = launch(&folder).start();
    set_up(&server);
    let mut client = server.client();
    assert!(!client.ask("<create><symbol sym=\"RULED\"/></create>").contains("<error"));
    for (root, element, base, names) in ELEMENTS {
        for (one, other) in pairs(names.len()) {
            let values = || DECIMAL.iter().chain(&WHOLE);
            let children: String = values()
                .flat_map(|first| values().map(move |second| [(names[one], first), (names[other], second)]))
                .map(|both| {
                    let given = if one == other { &both[..1] } else { &both[..] };
                    let is_given = |text: &&str| given.iter().any(|(name, _)| text.starts_with(&format!("{name}=")));
                    let beside = base.split(' ').filter(|text| !text.is_empty() && !is_given(text));
                    let given = given.iter().map(|(name, value)| format!("{name}=\"{value}\""));
                    format!("<{element} {}/>", beside.map(str::to_owned).chain(given).collect::<Vec<_>>().join(" "))
                })
                .collect();
            let account = if root == "transactions" { " id=\"1\"" } else { "" };
            let told = client.ask(&format!("<{root}{account}>{children}</{root}>"));
            assert!(told.contains("<results>"), "{root} {element}: {told:.300}");
        }
    }
    goes_on(&server, "the extremes of XML");
    server.stop();
}

/// Requests of the compatible interface: method, path, other parameters, whether it is signed, and numeric parameters.
const COMPATIBLE: [(&str, &str, &str, bool, &[&str]); 18] = [
    ("GET", "depth", "symbol=SPYUSD", false, &["limit"]),
    ("GET", "trades", "symbol=SPYUSD", false, &["limit"]),
    ("GET", "historicalTrades", "symbol=SPYUSD", false, &["limit", "fromId"]),
    ("GET", "aggTrades", "symbol=SPYUSD", false, &["limit", "fromId", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1s", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1m", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=3d", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1w&timeZone=-12", false, &["limit", "startTime", "endTime"]),
    ("GET", "klines", "symbol=SPYUSD&interval=1M&timeZone=14", false, &["limit", "startTime", "endTime"]),
    ("GET", "allOrders", "symbol=SPYUSD", true, &["orderId", "startTime", "endTime", "limit", "recvWindow"]),
    ("GET", "myTrades", "symbol=SPYUSD", true, &["orderId", "startTime", "endTime", "fromId", "limit", "recvWindow"]),
    ("GET", "order", "symbol=SPYUSD", true, &["orderId", "recvWindow"]),
    ("GET", "allOrderList", "", true, &["fromId", "startTime", "endTime", "limit"]),
    ("GET", "order/amendments", "symbol=SPYUSD", true, &["orderId", "fromExecutionId", "limit"]),
    ("DELETE", "order", "symbol=SPYUSD", true, &["orderId", "recvWindow"]),
    (
        "POST",
        "order",
        "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC",
        true,
        &[
            "price",
            "quantity",
            "icebergQty",
            "stopPrice",
            "trailingDelta",
            "strategyType",
            "strategyId",
            "quoteOrderQty",
        ],
    ),
    ("POST", "order", "symbol=SPYUSD&side=SELL&type=MARKET", true, &["quantity", "quoteOrderQty", "recvWindow"]),
    (
        "POST",
        "order",
        "symbol=SPYUSD&side=SELL&type=STOP_LOSS_LIMIT&timeInForce=GTC",
        true,
        &["price", "quantity", "stopPrice", "trailingDelta"],
    ),
];

#[test]
fn the_compatible_interface_answers_every_pair_of_extreme_numbers() {
    let folder = Folder::new("extremes-binance");
    let keys = KeyFile::new(&folder);
    let settings = "--max-balance 100000000000000000000 --max-issue 100000000000000000000";
    let server = keys.launch(&folder).with(settings).start();
    set_up(&server);
    let traded = format!("{}{}", order("SPY", "-1", "5"), order("SPY", "1", "5"));
    server.ask(&format!("<transactions id=\"1\">{traded}</transactions>"));
    let http = Http::new(server.http);
    for (method, path, base, is_signed, names) in COMPATIBLE {
        for (one, other) in pairs(names.len()) {
            for (first, second) in
                DECIMAL.iter().chain(&WHOLE).flat_map(|first| WHOLE.iter().map(move |second| (first, second)))
            {
                let mut query = format!("{base}&{}={first}", names[one]);
                if one != other {
                    query += &format!("&{}={second}", names[other]);
                }
                let query = if is_signed { keys.sign(query.trim_start_matches('&')) } else { query };
                let path = format!("/binance/api/v3/{path}?{query}");
                let answer = http.send(method, &path, None, &[("x-mbx-apikey", keys.key.as_str())]);
                let what = format!("{method} {path}: {} {}", answer.status, answer.text);
                assert!((200..500).contains(&answer.status), "{what:.500}");
                assert!(answer.status < 400 || answer.body["msg"].is_string(), "{what:.500}");
            }
        }
    }
    goes_on(&server, "the extremes of the compatible interface");
    server.stop();
}

#[test]
fn the_websocket_answers_every_pair_of_extreme_numbers() {
    let folder = Folder::new("extremes-websocket");
    let server = launch(&folder).start();
    set_up(&server);
    let http = Http::new(server.http);
    let whole: Vec<u64> = WHOLE.iter().filter_map(|text| text.parse().ok()).collect();
    let mut socket = http.listen();
    for (one, other) in whole.iter().flat_map(|one| whole.iter().map(move |other| (*one, *other))) {
        for asked in [
            json!({"op": "subscribe", "id": one, "channel": "orders", "account": "1", "from": other}),
            json!({"op": "subscribe", "id": one, "channel": "orders", "account": "1", "reports": true, "from": other}),
            json!({"op": "subscribe", "id": one, "channel": "book", "symbol": "SPY", "depth": other}),
            json!({"op": "subscribe", "id": one, "channel": "drop-copy", "from": other}),
            json!({"op": "unsubscribe", "id": one, "channel": "orders", "account": "1"}),
            json!({"op": "ping", "id": other}),
        ] {
            socket.send(&asked);
        }
        socket.send_text(&format!("{{\"op\":\"ping\",\"id\":{}}}", WHOLE[7]));
    }
    socket.send(&json!({"op": "ping", "id": 77}));
    let answered = (0..100_000).find(|_| {
        let told = socket.next();
        told["type"] == "pong" && told["id"] == 77
    });
    assert!(answered.is_some(), "what was asked last is answered");
    goes_on(&server, "the extremes of the WebSocket");
    server.stop();
}

/// Numeric fields of an order over FIX.
const OF_ORDER: [&str; 7] = ["38", "44", "99", "111", "152", "54", "40"];

fn log_on(address: SocketAddr, name: usize) -> Fix {
    Fix::log_on(address, &format!("X{name}"))
}

#[test]
fn fix_answers_every_pair_of_extreme_numbers() {
    let folder = Folder::new("extremes-fix");
    let server = launch(&folder).start();
    set_up(&server);
    let address = server.fix.unwrap();
    let mut sessions = 0;
    // Numeric fields of the session, where the second message depends on the first one.
    for (one, other) in WHOLE.iter().flat_map(|one| WHOLE.iter().map(move |other| (one, other))) {
        for (kind, fields) in
            [("4", format!("36={one}|")), ("4", format!("123=Y|36={one}|")), ("2", format!("7={one}|16={other}|"))]
        {
            sessions += 1;
            let mut fix = log_on(address, sessions);
            fix.send(kind, &fields);
            let next = other.parse().unwrap_or(u64::MAX);
            for kind in ["1", "0", "4"] {
                // The server may have ended the session by then.
                let sent = fix.made(kind, next, &format!("112=x|{fields}"));
                let _ = std::io::Write::write_all(&mut fix.stream, &sent);
            }
            let _ = fix.stream.shutdown(std::net::Shutdown::Write);
            while let Ok(Some(_)) = fix.try_next() {}
        }
    }
    let mut fix = log_on(address, 0);
    let mut name = 0;
    for (one, other) in pairs(OF_ORDER.len()).filter(|(one, other)| one != other) {
        for (first, second) in DECIMAL.iter().flat_map(|first| DECIMAL.iter().map(move |second| (first, second))) {
            name += 1;
            let given = [(OF_ORDER[one], *first), (OF_ORDER[other], *second)];
            let base = [("54", "2"), ("38", "5"), ("40", "2"), ("44", "7")];
            let rest = base.iter().filter(|(tag, _)| given.iter().all(|(its, _)| its != tag));
            let all: String = given.iter().chain(rest).map(|(tag, value)| format!("{tag}={value}|")).collect();
            fix.send("D", &format!("11=n{name}|1=1|55=SPY|59=1|{all}"));
            let answer = fix.next();
            assert!(answer.contains("|35=8|") || answer.contains("|35=3|"), "{all}: {answer}");
        }
    }
    drop(fix);
    goes_on(&server, "the extremes of FIX");
    server.stop();
}
