//! The live page in real browsers, with a real server. Scripts of web/tests operate it.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{self, AccessFile};
use crate::common::server::{Launch, Server};
use flate2::read::GzDecoder;
use ureq::http::HeaderMap as Headers;

/// The browser that shows the page. The scripts of `web/tests` are the same for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Browser {
    Chromium,
    Firefox,
}

/// web/tests/browser.js: a user trades, the connection is lost, a page of another origin tries what it can.
#[test]
fn a_browser_trades_on_the_page() {
    trade(Browser::Chromium);
}

#[test]
fn firefox_trades_on_the_page() {
    trade(Browser::Firefox);
}

fn trade(browser: Browser) {
    let folder = Folder::new("page-browser");
    let calendar = folder.path().join("calendar");
    std::fs::write(&calendar, "00:00 * day-ends\n").unwrap();
    let server = Launch::new(&folder.data()).with(&format!("--calendar {}", calendar.display())).start();
    browse(&server, "browser", browser, &[]);
    server.stop();
}

/// web/tests/widths.js: no view must be scrolled sideways, at any size of the window.
#[test]
fn nothing_on_the_page_has_to_be_scrolled_sideways() {
    run("widths", Browser::Chromium);
}

/// web/tests/sizes.js: the button that sends an order can be pressed at every size and in every state of the ticket.
#[test]
fn an_order_can_be_sent_at_every_size_of_a_window() {
    run("sizes", Browser::Chromium);
}

#[test]
fn an_order_can_be_sent_at_every_size_of_a_window_of_firefox() {
    run("sizes", Browser::Firefox);
}

/// web/tests/flows.js: a user's actions on the page, and the page's reactions.
#[test]
fn the_page_does_in_return_what_it_should() {
    run("flows", Browser::Chromium);
}

#[test]
fn the_page_does_in_return_what_it_should_in_firefox() {
    run("flows", Browser::Firefox);
}

/// web/tests/trading.js: the ticket's orders, the account's tables and the portfolio.
#[test]
fn all_that_is_traded_and_owned_is_on_the_page() {
    run("trading", Browser::Chromium);
}

/// web/tests/tickets.js: what the ticket keeps in view, asks before it sends, and leaves behind.
#[test]
fn the_ticket_asks_before_a_slip_and_says_what_became_of_orders() {
    run("tickets", Browser::Chromium);
}

#[test]
fn the_ticket_asks_before_a_slip_in_firefox() {
    run("tickets", Browser::Firefox);
}

/// web/tests/lost.js: answers are lost on their way, and nothing is done twice.
#[test]
fn what_has_no_answer_is_done_once_and_found_out() {
    run("lost", Browser::Chromium);
}

/// web/tests/desk.js: the watchlist, alerts, indicators and lines, and the layout.
#[test]
fn a_desk_is_arranged_and_remembered() {
    run("desk", Browser::Chromium);
}

/// web/tests/pair.js: two accounts side by side.
#[test]
fn two_accounts_stand_side_by_side() {
    run("pair", Browser::Chromium);
}

/// web/tests/lab.js: what only a local exchange can show.
#[test]
fn the_page_shows_what_only_a_local_exchange_can() {
    run("lab", Browser::Chromium);
}

/// web/tests/replays.js: the market of a past moment, played.
#[test]
fn the_market_of_the_past_is_played_on_the_page() {
    run("replays", Browser::Chromium);
}

#[test]
fn the_market_of_the_past_is_played_in_firefox() {
    run("replays", Browser::Firefox);
}

/// web/tests/members.js signs in, trades and signs out, and tries the same from a page of another origin.
#[test]
fn a_member_signs_in_on_the_page() {
    sign_in(Browser::Chromium);
}

#[test]
fn a_member_signs_in_on_the_page_in_firefox() {
    sign_in(Browser::Firefox);
}

fn sign_in(browser: Browser) {
    let folder = Folder::new("page-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    members::market(&Http::new(server.http));
    let who = [
        ("MEMBER", "alice"),
        ("PASSWORD", members::PASSWORD),
        ("ACCOUNT", "1"),
        ("SYMBOL", "SPY"),
        ("OPERATOR", "olga"),
    ];
    browse(&server, "members", browser, &who);
    server.stop();
}

/// Runs a script of web/tests on a server of its own.
fn run(script: &str, browser: Browser) {
    let folder = Folder::new(&format!("page-{script}-{browser:?}"));
    let server = Launch::new(&folder.data()).start();
    browse(&server, script, browser, &[]);
    server.stop();
}

/// Runs a script of web/tests on a server. Its screenshots go into a folder with its name.
fn browse(server: &Server, script: &str, browser: Browser, settings: &[(&str, &str)]) {
    // If no Firefox can be installed, ./test says so.
    if browser == Browser::Firefox && std::env::var_os("PRICETIME_WITHOUT_FIREFOX").is_some() {
        println!("{script}.js was not run in Firefox: there is none here");
        return;
    }
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let name = format!("{browser:?}").to_lowercase();
    let ran = Command::new("node")
        .arg(format!("tests/{script}.js"))
        .current_dir(web)
        .env("PRICETIME_HTTP", format!("http://{}", server.http))
        .env("OUT", Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{script}-{name}")))
        .env("BROWSER", name)
        .envs(settings.iter().copied())
        .output()
        .unwrap_or_else(|error| panic!("node: {error}; ./test installs what the tests need"));
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    println!("{said}");
}

#[test]
fn files_of_the_page_come_with_their_policy_and_nothing_else_is_there() {
    let folder = Folder::new("page-files");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    let page = http.get("/");
    assert!(page.status == 200 && page.kind.starts_with("text/html"), "{page:?}");
    assert!(page.policy.contains("default-src 'none'") && !page.policy.contains("unsafe"), "{}", page.policy);
    assert_eq!(http.get("/app.js").kind, "text/javascript; charset=utf-8");
    let again = http.send("GET", "/app.js", None, &[("if-none-match", &http.get("/app.js").tag)]);
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    compressed_files_are_what_they_are(&http);
    for path in ["/nothing.js", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "/tests/browser.js"] {
        assert_eq!(http.get(path).status, 404, "{path}");
    }
    server.stop();
    let server = Launch::new(&folder.data()).with("--feed=false").start();
    let http = Http::new(server.http);
    assert_eq!(http.get("/health").status, 200);
    assert_eq!(http.get("/api/v1/status").code(), (503, "not-ready"));
    server.stop();
}

/// Files in gzip, for clients that accept it: all files of the page, with the same content, and with tags of their own.
fn compressed_files_are_what_they_are(http: &Http) {
    let (mut plain, mut sent) = (0, 0);
    for path in
        ["/", "/app.js", "/style/account.css", "/vendor/lightweight-charts.standalone.production.mjs", "/icon.svg"]
    {
        let [(whole, bytes), (small, packed)] =
            ["identity", "gzip, br"].map(|takes| http.bytes(path, &[("accept-encoding", takes)]));
        let header = |answer: &Headers, name: &str| answer.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(
            (header(&whole, "content-encoding"), header(&small, "content-encoding")),
            (None, Some("gzip".to_owned())),
            "{path}"
        );
        assert_eq!(header(&small, "content-type"), header(&whole, "content-type"));
        assert_eq!(header(&small, "content-length"), Some(packed.len().to_string()));
        for answer in [&whole, &small] {
            assert_eq!(header(answer, "vary"), Some("accept-encoding".to_owned()));
            assert_eq!(header(answer, "cache-control"), Some("no-cache".to_owned()));
        }
        assert_ne!(header(&small, "etag"), header(&whole, "etag"), "{path}");
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == bytes, "{path} has the same contents");
        let tag = header(&small, "etag").unwrap();
        let again = http.send("GET", path, None, &[("accept-encoding", "gzip"), ("if-none-match", &tag)]);
        assert_eq!((again.status, again.tag, again.text.as_str()), (304, tag, ""));
        plain += bytes.len();
        sent += packed.len();
    }
    assert!(sent * 2 < plain, "{sent} of {plain} bytes");
}
