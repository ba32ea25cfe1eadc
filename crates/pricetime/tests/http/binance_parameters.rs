//! Every request of the compatible interface with every parameter that its public description has: the parameter is
//! obeyed, or the request is refused with the parameter's name. So is a parameter that nobody knows. None is ignored.

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http, Socket};
use crate::common::keys::{KeyFile, now};
use serde_json::{Map, Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">1000</account><account id="2">100</account></symbol></create>"#;

#[derive(Clone, Copy, PartialEq)]
enum Proof {
    Open,
    Key,
    Signed,
}
use Proof::{Key, Open, Signed};

/// A request: its method and path, its name over the WebSocket API, its proof, the parameters that it needs, and all
/// others that it may have.
type Known = (&'static str, &'static str, Option<&'static str>, Proof, &'static str, &'static str);

const SPY: &str = "symbol=SPYUSD";
const NEW: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1";
/// Parameters that an order may have besides.
const OF_NEW: &str = "quoteOrderQty=5 newClientOrderId=NAME strategyId=1 strategyType=1000000 stopPrice=5 trailingDelta=10 icebergQty=0.5 \
    newOrderRespType=ACK selfTradePreventionMode=EXPIRE_TAKER pegPriceType=PRIMARY_PEG pegOffsetValue=1 pegOffsetType=PRICE_LEVEL recvWindow=6000";
const REPLACED: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1&cancelReplaceMode=ALLOW_FAILURE&cancelOrderId=1";
const OF_REPLACED: &str = "cancelNewClientOrderId=the-cancel cancelOrigClientOrderId=none cancelRestrictions=ONLY_NEW \
    orderRateLimitExceededMode=DO_NOTHING quoteOrderQty=5 newClientOrderId=NAME strategyId=1 strategyType=1000000 stopPrice=5 trailingDelta=10 \
    icebergQty=0.5 newOrderRespType=RESULT selfTradePreventionMode=NONE pegPriceType=PRIMARY_PEG pegOffsetValue=1 pegOffsetType=PRICE_LEVEL";
const PAIR: &str = "symbol=SPYUSD&side=SELL&quantity=1&aboveType=LIMIT_MAKER&abovePrice=300&belowType=STOP_LOSS_LIMIT&belowStopPrice=2\
    &belowPrice=1&belowTimeInForce=GTC";
const OF_PAIR: &str = "listClientOrderId=NAME aboveClientOrderId=NAME aboveIcebergQty=0.5 aboveStopPrice=400 aboveTrailingDelta=10 \
    aboveTimeInForce=GTC aboveStrategyId=1 aboveStrategyType=1000000 abovePegPriceType=PRIMARY_PEG abovePegOffsetType=PRICE_LEVEL \
    abovePegOffsetValue=1 belowClientOrderId=NAME belowIcebergQty=0.5 belowTrailingDelta=10 belowStrategyId=1 belowStrategyType=1000000 \
    belowPegPriceType=PRIMARY_PEG belowPegOffsetType=PRICE_LEVEL belowPegOffsetValue=1 newOrderRespType=RESULT \
    selfTradePreventionMode=EXPIRE_BOTH";
const OLDER: &str =
    "symbol=SPYUSD&side=SELL&quantity=1&price=300&stopPrice=2&stopLimitPrice=1&stopLimitTimeInForce=GTC";
const OF_OLDER: &str = "listClientOrderId=NAME limitClientOrderId=NAME limitStrategyId=1 limitStrategyType=1000000 limitIcebergQty=0.5 \
    trailingDelta=10 stopClientOrderId=NAME stopStrategyId=1 stopStrategyType=1000000 stopIcebergQty=0.5 newOrderRespType=RESULT \
    selfTradePreventionMode=NONE";

const ALL: [Known; 50] = [
    ("GET", "api/v3/ping", Some("ping"), Open, "", ""),
    ("GET", "api/v3/time", Some("time"), Open, "", ""),
    (
        "GET",
        "api/v3/exchangeInfo",
        Some("exchangeInfo"),
        Open,
        "",
        "symbol=SPYUSD symbols=%5B%22SPYUSD%22%5D permissions=SPOT showPermissionSets=false symbolStatus=TRADING",
    ),
    ("GET", "api/v3/depth", Some("depth"), Open, SPY, "limit=5 symbolStatus=TRADING"),
    ("GET", "api/v3/trades", Some("trades.recent"), Open, SPY, "limit=5"),
    ("GET", "api/v3/historicalTrades", Some("trades.historical"), Open, SPY, "limit=5 fromId=1"),
    (
        "GET",
        "api/v3/aggTrades",
        Some("trades.aggregate"),
        Open,
        SPY,
        "fromId=1 startTime=1700000000000 endTime=4000000000000 limit=5",
    ),
    (
        "GET",
        "api/v3/klines",
        Some("klines"),
        Open,
        "symbol=SPYUSD&interval=1m",
        "startTime=1700000000000 endTime=4000000000000 limit=5 timeZone=0",
    ),
    (
        "GET",
        "api/v3/uiKlines",
        Some("uiKlines"),
        Open,
        "symbol=SPYUSD&interval=1m",
        "startTime=1700000000000 endTime=4000000000000 limit=5 timeZone=0",
    ),
    ("GET", "api/v3/avgPrice", Some("avgPrice"), Open, SPY, ""),
    (
        "GET",
        "api/v3/ticker/24hr",
        Some("ticker.24hr"),
        Open,
        "",
        "symbol=SPYUSD symbols=%5B%22SPYUSD%22%5D type=MINI symbolStatus=TRADING",
    ),
    (
        "GET",
        "api/v3/ticker/price",
        Some("ticker.price"),
        Open,
        "",
        "symbol=SPYUSD symbols=%5B%22SPYUSD%22%5D symbolStatus=TRADING",
    ),
    (
        "GET",
        "api/v3/ticker/bookTicker",
        Some("ticker.book"),
        Open,
        "",
        "symbol=SPYUSD symbols=%5B%22SPYUSD%22%5D symbolStatus=TRADING",
    ),
    ("GET", "api/v3/ticker", Some("ticker"), Open, SPY, "windowSize=5m type=MINI symbolStatus=TRADING"),
    (
        "GET",
        "api/v3/ticker/tradingDay",
        Some("ticker.tradingDay"),
        Open,
        SPY,
        "timeZone=2 type=MINI symbolStatus=TRADING",
    ),
    ("GET", "api/v3/ticker", None, Open, "symbols=%5B%22SPYUSD%22%5D", "symbolStatus=TRADING"),
    ("POST", "api/v3/order", Some("order.place"), Signed, NEW, OF_NEW),
    (
        "POST",
        "api/v3/order/test",
        Some("order.test"),
        Signed,
        NEW,
        "computeCommissionRates=true newClientOrderId=NAME strategyId=1 strategyType=1000000 \
        stopPrice=5 trailingDelta=10 icebergQty=0.5 newOrderRespType=ACK selfTradePreventionMode=NONE pegPriceType=PRIMARY_PEG",
    ),
    (
        "GET",
        "api/v3/order",
        Some("order.status"),
        Signed,
        "symbol=SPYUSD&orderId=1",
        "origClientOrderId=none recvWindow=6000",
    ),
    (
        "DELETE",
        "api/v3/order",
        Some("order.cancel"),
        Signed,
        "symbol=SPYUSD&orderId=1",
        "origClientOrderId=none newClientOrderId=NAME cancelRestrictions=ONLY_NEW",
    ),
    ("POST", "api/v3/order/cancelReplace", Some("order.cancelReplace"), Signed, REPLACED, OF_REPLACED),
    (
        "PUT",
        "api/v3/order/amend/keepPriority",
        Some("order.amend.keepPriority"),
        Signed,
        "symbol=SPYUSD&orderId=1&newQty=1",
        "origClientOrderId=none newClientOrderId=NAME",
    ),
    (
        "GET",
        "api/v3/order/amendments",
        Some("order.amendments"),
        Signed,
        "symbol=SPYUSD&orderId=1",
        "fromExecutionId=1 limit=5",
    ),
    ("POST", "api/v3/orderList/oco", Some("orderList.place.oco"), Signed, PAIR, OF_PAIR),
    ("POST", "api/v3/order/oco", Some("orderList.place"), Signed, OLDER, OF_OLDER),
    ("GET", "api/v3/orderList", Some("orderList.status"), Signed, "", "orderListId=1 origClientOrderId=none"),
    (
        "DELETE",
        "api/v3/orderList",
        Some("orderList.cancel"),
        Signed,
        "symbol=SPYUSD&orderListId=1",
        "listClientOrderId=none newClientOrderId=NAME",
    ),
    ("GET", "api/v3/openOrderList", Some("openOrderLists.status"), Signed, "", "recvWindow=6000"),
    (
        "GET",
        "api/v3/allOrderList",
        Some("allOrderLists"),
        Signed,
        "",
        "fromId=1 startTime=1700000000000 endTime=1700000001000 limit=5",
    ),
    ("GET", "api/v3/openOrders", Some("openOrders.status"), Signed, "", "symbol=SPYUSD recvWindow=6000"),
    (
        "GET",
        "api/v3/allOrders",
        Some("allOrders"),
        Signed,
        SPY,
        "orderId=1 startTime=1700000000000 endTime=4000000000000 limit=5",
    ),
    ("GET", "api/v3/account", Some("account.status"), Signed, "", "omitZeroBalances=true recvWindow=6000"),
    ("GET", "api/v3/account/commission", Some("account.commission"), Signed, SPY, ""),
    (
        "GET",
        "api/v3/myTrades",
        Some("myTrades"),
        Signed,
        SPY,
        "orderId=1 fromId=1 startTime=1700000000000 endTime=4000000000000 limit=5",
    ),
    ("GET", "api/v3/rateLimit/order", Some("account.rateLimits.orders"), Signed, "", "recvWindow=6000"),
    (
        "GET",
        "api/v3/myAllocations",
        Some("myAllocations"),
        Signed,
        SPY,
        "startTime=1700000000000 endTime=4000000000000 fromAllocationId=1 limit=5 orderId=1",
    ),
    (
        "GET",
        "api/v3/myPreventedMatches",
        Some("myPreventedMatches"),
        Signed,
        SPY,
        "preventedMatchId=1 orderId=1 fromPreventedMatchId=1 limit=5",
    ),
    ("POST", "api/v3/userDataStream", None, Key, "", ""),
    ("PUT", "api/v3/userDataStream", None, Key, "", "listenKey=none"),
    ("DELETE", "api/v3/userDataStream", None, Key, "", "listenKey=none"),
    ("GET", "api/v1/exchangeInfo", None, Open, "", "symbol=SPYUSD"),
    ("GET", "api/v1/depth", None, Open, SPY, "limit=5"),
    ("GET", "sapi/v1/system/status", None, Open, "", ""),
    ("GET", "sapi/v1/asset/tradeFee", None, Signed, "", "symbol=SPYUSD"),
    ("GET", "sapi/v1/asset/assetDetail", None, Signed, "", "asset=SPY"),
    ("GET", "sapi/v1/capital/config/getall", None, Signed, "", "recvWindow=6000"),
    ("GET", "sapi/v1/margin/allPairs", None, Key, "", "symbol=SPYUSD"),
    ("GET", "sapi/v1/margin/isolated/allPairs", None, Key, "", "symbol=SPYUSD"),
    ("GET", "sapi/v1/spot/delist-schedule", None, Key, "", "recvWindow=6000"),
    ("DELETE", "api/v3/openOrders", Some("openOrders.cancelAll"), Signed, SPY, "recvWindow=6000"),
];

/// Codes of answers about orders and keys that do not exist or cannot be changed so: they show that the parameter was
/// read.
const READ: [i64; 7] = [-1125, -2010, -2011, -2013, -2021, -2022, -2038];

fn send(keys: &KeyFile, http: &Http, (method, path, _, proof, ..): &Known, parameters: &str) -> Answer {
    let parameters = if *proof == Signed { keys.sign(parameters) } else { parameters.to_owned() };
    let key = [("x-mbx-apikey", keys.key.as_str())];
    let headers: &[_] = if *proof == Open { &[] } else { &key };
    http.send(method, &format!("/binance/{path}?{parameters}"), None, headers)
}

/// Makes a call over the WebSocket API. Returns its status and its refusal.
fn call(keys: &KeyFile, socket: &mut Socket, (_, _, method, proof, ..): &Known, parameters: &str) -> (Value, Value) {
    let mut all: Vec<String> = parameters.split('&').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if *proof == Signed {
        all.extend([format!("apiKey={}", keys.key), format!("timestamp={}", now())]);
        all.sort_unstable();
        all.push(format!("signature={}", keys.signature(&all.join("&"))));
    }
    let parameters: Map<String, Value> =
        all.iter().map(|part| part.split_once('=').unwrap()).map(|(name, value)| (name.into(), value.into())).collect();
    socket.send(&json!({"id": 1, "method": method.unwrap(), "params": parameters}));
    let told = socket.next();
    (told["status"].clone(), told["error"].clone())
}

/// The parameters, in which this one replaces any of the same name.
fn with(parameters: &str, name: &str, value: &str) -> String {
    let others = parameters.split('&').filter(|part| !part.is_empty() && part.split('=').next() != Some(name));
    others.map(str::to_owned).chain([format!("{name}={value}")]).collect::<Vec<_>>().join("&")
}

fn names(refusal: &Value, parameter: &str) -> bool {
    refusal["msg"].as_str().is_some_and(|msg| msg.contains(&format!("'{parameter}'")) || msg.contains(parameter))
}

#[test]
fn no_parameter_is_passed_over() {
    let folder = Folder::new("binance-parameters");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let mut socket = http.listen_at("/binance/ws-api/v3");
    let (mut done, mut refused, mut number, mut faults) = (0, 0, 0, Vec::new());
    for known in &ALL {
        let (method, path, over_socket, proof, needed, others) = *known;
        let what = |parameter: &str| format!("{method} {path} {parameter}");
        let unknown = with(needed, "nonsense", "1");
        let answer = send(&keys, &http, known, &unknown).body;
        if !(matches!(answer["code"].as_i64(), Some(-1104 | -1106)) && names(&answer, "nonsense")) {
            faults.push(format!("{}: {answer}", what("nonsense")));
        }
        if over_socket.is_some() {
            let (_, error) = call(&keys, &mut socket, known, &unknown);
            if !(matches!(error["code"].as_i64(), Some(-1104 | -1106)) && names(&error, "nonsense")) {
                faults.push(format!("{over_socket:?} nonsense: {error}"));
            }
        }
        let needed_too = needed.split('&').filter(|part| !part.is_empty() && proof != Open);
        for parameter in others.split_whitespace().chain(needed_too) {
            let (name, value) = parameter.split_once('=').unwrap();
            number += 1;
            let value = value.replace("NAME", &format!("name-{number}"));
            let answer = send(&keys, &http, known, &with(needed, name, &value));
            let code = answer.body["code"].as_i64().unwrap_or_default();
            if answer.status != 200 && !READ.contains(&code) {
                refused += 1;
                // If there is nothing of the kind, the request is refused for that.
                if code != -1020 && !names(&answer.body, name) {
                    faults.push(format!("{} is refused, and not named: {}", what(parameter), answer.body));
                }
                continue;
            }
            done += 1;
            // If a parameter is read, a wrong value of it is noticed.
            let wrong = send(&keys, &http, known, &with(needed, name, "%3F%21"));
            if wrong.status == 200 {
                faults.push(format!("{} is passed over: {}", what(name), wrong.text));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(done > 90 && refused > 30, "{done} done, {refused} refused");
    server.stop();
}
