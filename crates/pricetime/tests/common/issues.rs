//! Issues of shares that are sent again, at once or in vain, whatever keeps the market.

use serde_json::{Value, json};

use super::http::{Answer, Http};
use super::server::{Launch, Server};

/// Issues to account 1 that are sent at once.
const AT_ONCE: usize = 8;

/// Issues shares to account 1. They are meant for a symbol of which `expected` are issued, if that is given.
fn issue(http: &Http, symbol: &str, shares: &str, expected: Option<&str>) -> Answer {
    let mut body = json!({"account": "1", "shares": shares});
    if let Some(expected) = expected {
        body["expected_issued"] = json!(expected);
    }
    http.post(&format!("/api/v1/symbols/{symbol}/shares"), &body)
}

fn issued(http: &Http, symbol: &str) -> Value {
    http.read(&format!("/api/v1/symbols/{symbol}"))["issued"].clone()
}

fn check_refused(told: &Answer, issued: &str) {
    assert_eq!(told.code(), (409, "issued-otherwise"), "{}", told.text);
    let detail = format!("another number of shares is issued than expected, {issued}: nothing was done");
    assert_eq!(told.body["detail"], detail);
}

/// Checks issues over REST in an empty market.
pub fn check_issues(launch: &Launch) {
    let server = launch.start();
    let http = Http::new(server.http);
    server.ask("<create><account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"1000\"/></create>");
    check_repeats(&server, &http);
    check_at_once(&http);
    check_vain(&server, &http);
    server.stop();
    let server = launch.start();
    check_refused(&issue(&Http::new(server.http), "SPY", "100", Some("0")), "112.5");
    server.stop();
}

/// The answer was lost, and the operator sends the same again.
fn check_repeats(server: &Server, http: &Http) {
    let first = issue(http, "SPY", "100", Some("0"));
    let made = json!({"symbol": "SPY", "account": "1", "shares": "100", "issued": "100"});
    assert_eq!((first.status, &first.body), (201, &made));
    check_refused(&issue(http, "SPY", "100", Some("0")), "100");
    assert_eq!(issued(http, "SPY"), "100");
    // Trading changes nothing, nor does who has them.
    server.ask(
        "<transactions id=\"1\"><order sym=\"SPY\" amount=\"-10\" limit=\"1\"/></transactions>\
         <transactions id=\"2\"><order sym=\"SPY\" amount=\"4\" limit=\"1\"/></transactions>",
    );
    assert_eq!(issue(http, "SPY", "0.5", Some("100.00")).body["issued"], "100.5");
    let told = issue(http, "SPY", "12", None);
    assert_eq!((told.status, told.body.get("issued")), (201, None), "nobody said how many there were");
    assert_eq!(issued(http, "SPY"), "112.5");
    for wrong in ["-1", "x", "", "0.000000001", "100000000000000000001"] {
        let refused = issue(http, "SPY", "1", Some(wrong));
        assert_eq!(
            (refused.code(), &refused.body["field"]),
            ((400, "malformed"), &json!("expected_issued")),
            "{wrong}"
        );
    }
}

/// Several requests that expect the same number come at once, and one is done. Whether they share a turn is left to
/// chance here, and not in the tests of admission.
fn check_at_once(http: &Http) {
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let one = || issue(http, "ONCE", "7", Some("0"));
        let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|issue| issue.join().unwrap()).collect()
    });
    let (made, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!((made.len(), refused.len()), (1, AT_ONCE - 1), "{answers:?}");
    refused.into_iter().for_each(|refused| check_refused(refused, "7"));
    assert_eq!(issued(http, "ONCE"), "7");
}

/// An issue that was refused for a bound once left its symbol.
fn check_vain(server: &Server, http: &Http) {
    let before = http.read("/api/v1/status")["sequence"].clone();
    let too_many = "10000000000000000000";
    assert_eq!(issue(http, "GHOST", too_many, None).code(), (422, "too-many-shares"));
    assert_eq!(issue(http, "GHOST", too_many, Some("0")).code(), (422, "too-many-shares"));
    check_refused(&issue(http, "GHOST", "1", Some("1")), "0");
    let nobodys = json!({"account": "99", "shares": "1", "expected_issued": "0"});
    assert_eq!(http.post("/api/v1/symbols/GHOST/shares", &nobodys).code(), (404, "unknown-account"));
    assert_eq!(http.get("/api/v1/symbols/GHOST").code(), (404, "unknown-symbol"));
    assert_eq!(http.read("/api/v1/status")["sequence"], before, "nothing was kept of them");
    // XML's children each take effect by themselves.
    let told =
        server.ask(&format!("<create><symbol sym=\"XML\"><account id=\"1\">{too_many}</account></symbol></create>"));
    assert!(told.contains("Too many shares"), "{told}");
    assert_eq!(issued(http, "XML"), "0");
}
