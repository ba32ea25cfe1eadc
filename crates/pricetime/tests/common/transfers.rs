//! Deposits and withdrawals that are sent again, at once or in vain, whatever keeps the market.

use serde_json::{Value, json};

use super::http::{Answer, Http};
use super::server::Launch;

/// Withdrawals of one number that are sent at once.
const AT_ONCE: usize = 8;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="0"/>
    <symbol sym="SPY"><account id="1">100</account></symbol></create>"#;

fn send(http: &Http, account: &str, what: &str, body: &Value) -> Answer {
    http.post(&format!("/api/v1/accounts/{account}/{what}"), body)
}

fn account(http: &Http) -> (Value, Value) {
    let account = http.read("/api/v1/accounts/1");
    (account["balance"].clone(), account["transfers"].clone())
}

/// Checks transfers over REST in an empty market, and that a crash forgets none.
pub fn check_transfers(launch: &Launch) {
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    assert_eq!(account(&http), (json!("1000"), Value::Null));
    check_repeats(&http);
    check_bounds(&http);
    check_at_once(&http);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="10" limit="50"/><order sym="SPY" amount="-30" limit="60"/></transactions>"#);
    let refused = send(&http, "1", "withdrawals", &json!({"dollars": "480.6"}));
    assert_eq!(refused.code(), (422, "insufficient-funds"), "{}", refused.text);
    assert_eq!(refused.body["detail"], "Insufficient funds: 480.6 needed, 480.5 available");
    let refused = send(&http, "1", "withdrawals", &json!({"symbol": "SPY", "shares": "71"}));
    assert_eq!(refused.code(), (422, "insufficient-shares"), "{}", refused.text);
    assert_eq!(send(&http, "1", "withdrawals", &json!({"symbol": "SPY", "shares": "70"})).status, 201);
    assert_eq!(http.read("/api/v1/symbols/SPY")["issued"], "30");
    let before = http.read("/api/v1/accounts/1");
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    let after = http.read("/api/v1/accounts/1");
    for field in ["balance", "held", "positions", "transfers"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let again = send(&http, "1", "withdrawals", &json!({"dollars": "10", "transfer": 2}));
    assert_eq!(again.code(), (409, "not-next-transfer"), "{}", again.text);
    assert_eq!(send(&http, "1", "withdrawals", &json!({"dollars": "480.5", "transfer": 5})).status, 201);
    assert_eq!(account(&http), (json!("0"), json!(5)));
    server.stop();
}

/// The answer was lost, and the operator sends the same again.
fn check_repeats(http: &Http) {
    let deposit = json!({"dollars": "0.5", "transfer": 1});
    let made = json!({"account": "1", "dollars": "0.5", "transfer": 1});
    let first = send(http, "1", "deposits", &deposit);
    assert_eq!((first.status, &first.body), (201, &made));
    let again = send(http, "1", "deposits", &deposit);
    assert_eq!(again.code(), (409, "not-next-transfer"), "{}", again.text);
    let why = "Transfer 1 of this account was made already, by this request or by another one, so this one changes nothing: the next one is 2";
    assert_eq!(again.body["detail"], why);
    assert_eq!(account(http), (json!("1000.5"), json!(1)));
    let early = send(http, "1", "withdrawals", &json!({"dollars": "1", "transfer": 3}));
    assert_eq!(early.code(), (409, "not-next-transfer"), "{}", early.text);
}

fn check_bounds(http: &Http) {
    for (body, field) in [
        (json!({"dollars": "0"}), "dollars"),
        (json!({"dollars": "-1"}), "dollars"),
        (json!({"dollars": "100000000000000000001"}), "dollars"),
        (json!({"symbol": "SPY", "shares": "0"}), "shares"),
        (json!({"symbol": "SPY"}), "dollars"),
        (json!({"dollars": "1", "symbol": "SPY", "shares": "1"}), "dollars"),
        (json!({"dollars": "1", "transfer": 0}), "transfer"),
        (json!({"dollars": "1", "transfer": 1_000_000_000_000_000_000_u64}), "transfer"),
    ] {
        let refused = send(http, "1", "deposits", &body);
        assert_eq!((refused.status, &refused.body["field"]), (400, &json!(field)), "{body}: {}", refused.text);
    }
    let too_much = send(http, "1", "deposits", &json!({"dollars": "10000000000000000"}));
    assert_eq!(too_much.code(), (422, "too-much-money"), "{}", too_much.text);
    let too_many = send(http, "1", "deposits", &json!({"symbol": "SPY", "shares": "10000000000000000"}));
    assert_eq!(too_many.code(), (422, "too-many-shares"), "{}", too_many.text);
    assert_eq!(send(http, "9", "deposits", &json!({"dollars": "1"})).code(), (404, "unknown-account"));
    let unknown = send(http, "1", "deposits", &json!({"symbol": "NONE", "shares": "1"}));
    assert_eq!(unknown.code(), (404, "unknown-symbol"), "{}", unknown.text);
    assert_eq!(account(http), (json!("1000.5"), json!(1)));
}

/// Sends the same withdrawal over several connections at once: one of them is made.
fn check_at_once(http: &Http) {
    let body = json!({"dollars": "10", "transfer": 2});
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| send(http, "1", "withdrawals", &body).status)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|&&status| status == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|&&status| status == 409).count(), AT_ONCE - 1, "{statuses:?}");
    let told = send(http, "1", "withdrawals", &json!({"dollars": "10"}));
    assert_eq!((told.status, told.body.get("transfer")), (201, None), "nobody gave a number");
    assert_eq!(account(http), (json!("980.5"), json!(3)));
}
