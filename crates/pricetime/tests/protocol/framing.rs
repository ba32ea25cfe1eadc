//! The ends of requests in the bytes of a real socket, and the settings that bound requests, replies and the lives of
//! connections: the edge cases that docs/PROTOCOL.md decides under framing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::client::{Client, frame};
use crate::common::server::connect;
use crate::common::talk::{Talk, opened, order, refused, started};

#[test]
fn requests_are_framed_by_their_length_however_they_arrive() {
    let (_folder, server) = started("framing", "");
    let empty = "<results></results>\n";
    let mut client = server.client();
    let mut check = |bytes: &[u8], replies: usize| {
        client.send(bytes).unwrap();
        (0..replies).for_each(|_| assert_eq!(client.reply().unwrap(), empty, "{:?}", String::from_utf8_lossy(bytes)));
    };
    check(b"9\n<create/>", 1);
    check(b"9\r\n<create/>", 1);
    check(b"0000000009\n<create/>", 1);
    check(b"10\n<create/>\n", 1);
    check(b"9\n<create/>\r\n\r\n \t\0\x009\n<create/>", 2);
    check(b"9\n<create/>9\n<create/>9\n<create/>", 3);
    // A published example: CRLF throughout, 173 bytes announced and 176 sent.
    let body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<create>\r\n  <symbol sym=\"SPY\"/>\r\n</create>";
    check(format!("{}\r\n{body}\r\n\0", body.len()).as_bytes(), 1);
    // The request is sent byte by byte.
    for byte in b"9\n<create/>\n" {
        check(&[*byte], 0);
    }
    check(b"", 1);
    // Replies come in the order of the requests.
    let mut bytes = Vec::new();
    for id in 0..500 {
        bytes.extend(frame(&format!("<create><account id=\"{id}\" balance=\"1\"/></create>")));
    }
    client.send(&bytes).unwrap();
    for id in 0..500 {
        assert_eq!(client.reply().unwrap(), format!("<results><created id=\"{id}\"/></results>\n"));
    }
    // A client that ends its sending half still gets every reply, an error for an incomplete request, and then the end.
    client.send(b"9\n<create/>9\n<create/>9\n<creat").unwrap();
    client.end_sending();
    let cut = "<results><error>incomplete: 6 of 9 bytes came</error></results>\n";
    assert_eq!(client.rest().unwrap(), empty.repeat(2) + cut);
}

#[test]
fn a_length_that_cannot_be_trusted_is_answered_after_the_earlier_replies_and_closes() {
    let (_folder, server) = started("lengths", "");
    let number = "the length line is not a number of bytes: expected 1 to 10 digits and a newline before the XML";
    for (line, why) in [
        ("<create/>", number),
        ("-9\n<create/>", number),
        ("9 9\n<create/>", number),
        ("9x\n<create/>", number),
        ("00000000009\n<create/>", "the length has more than 10 digits"),
        ("99999999999999999999\n", "the length has more than 10 digits"),
        ("1048577\n", "the request is 1048577 bytes long; at most 1048576"),
        ("9999999999\n", "the request is 9999999999 bytes long; at most 1048576"),
    ] {
        let mut client = server.client();
        // The half MiB after it is read and discarded, so that the connection is not reset before the client has read
        // the reply.
        client.send(format!("9\n<create/>{line}{}", "x".repeat(1 << 19)).as_bytes()).unwrap();
        let all = client.rest().unwrap_or_else(|error| panic!("{line}: {error}"));
        let expected = format!("<results></results>\n<results><error>{why}</error></results>\n");
        assert_eq!(all, expected, "{line}");
    }
    server.ask("<create/>");
}

#[test]
fn the_limits_of_requests_and_replies_are_settings() {
    let (_folder, server) = started("limits", "--max-request 1000 --max-children 10 --max-reply 2000");
    let mut talk = Talk::with(&server);
    // 1000 bytes are accepted, 1001 are not.
    let create = |length: usize| format!("<create>{}</create>", " ".repeat(length - "<create></create>".len()));
    talk.says(&create(1000), "");
    let mut client = server.client();
    client.send(&frame(&create(1001))).unwrap();
    assert_eq!(
        client.rest().unwrap(),
        "<results><error>the request is 1001 bytes long; at most 1000</error></results>\n"
    );
    // Ten elements, counting nested ones and the root: a request with more is refused as a whole.
    talk.creates(
        "<account id=\"1\" balance=\"1000\"/><symbol sym=\"S\"><account id=\"1\">100</account></symbol>",
        "<created id=\"1\"/><created sym=\"S\" id=\"1\"/>",
    );
    talk.creates(
        &"<symbol sym=\"T\"><account id=\"1\">1</account></symbol>".repeat(4),
        &"<created sym=\"T\" id=\"1\"/>".repeat(4),
    );
    talk.refuses(&format!("<create>{}</create>", "<symbol sym=\"U\"><account id=\"1\">1</account></symbol>".repeat(6)));
    talk.trades("1", &order("U", "1", "1"), &refused("U", "1", "1", "Unknown symbol"));
    // A status with 20 executions has about 1,050 bytes: a second one does not fit, and only queries are cut.
    talk.trades("1", &order("S", "20", "1"), &opened("S", "20", "1", 1));
    for id in 0..4 {
        let sells = order("S", "-1", "1").repeat(5);
        let expected: String = (2 + id * 5..7 + id * 5).map(|id| opened("S", "-1", "1", id)).collect();
        talk.trades("1", &sells, &expected);
    }
    let status = format!("<status id=\"1\">{}</status>", "<executed shares=\"1\" price=\"1\" time=\"T\"/>".repeat(20));
    let request = format!("{}{}{}", "<query id=\"1\"/>".repeat(3), order("S", "-1", "5"), "<query id=\"1\"/>");
    let large = "<error id=\"1\">reply too large</error>";
    talk.trades("1", &request, &[&status, large, large, &opened("S", "-1", "5", 22), large].concat());
}

#[test]
fn a_reply_has_a_length_line_when_asked_for() {
    let (_folder, server) = started("reply-length", "--reply-length");
    let mut client = server.client();
    client.send(b"9\n<create/>").unwrap();
    assert_eq!(client.reply().unwrap(), "20\n<results></results>\n");
    client.send(b"5\nhello").unwrap();
    let reply = client.reply().unwrap();
    let (length, body) = reply.split_once('\n').unwrap();
    assert_eq!(length.parse::<usize>().unwrap(), body.len(), "{reply}");
    client.send(b"x").unwrap();
    let rest = client.rest().unwrap();
    let (length, body) = rest.split_once('\n').unwrap();
    assert_eq!(length.parse::<usize>().unwrap(), body.len(), "{rest}");
}

#[test]
fn one_request_a_connection_when_asked_for() {
    let (_folder, server) = started("close-after-reply", "--close-after-reply");
    for _ in 0..20 {
        let mut client = server.client();
        client.send(b"9\n<create/>9\n<create/>").unwrap();
        assert_eq!(client.rest().unwrap(), "<results></results>\n");
    }
}

#[test]
fn an_idle_connection_is_closed_after_the_time_that_is_set() {
    const TIMEOUT: Duration = Duration::from_millis(700);
    let (_folder, server) = started("idle", "--idle-timeout 700ms");
    // The time counts from before the connection's last action. On a busy machine the server may act late, but never
    // early, because it counts from the beginning of the turn in which it reads.
    let ends_after = |since: Instant, client: &mut Client, told: &str| {
        assert_eq!(client.rest().expect("an end, not a reset"), told);
        assert!(since.elapsed() >= TIMEOUT / 2, "closed after {:?}", since.elapsed());
    };
    // A connection without any request, one after a request, and one with half a request.
    let now = Instant::now();
    ends_after(now, &mut server.client(), "");
    let (now, mut once) = (Instant::now(), server.client());
    once.ask("<create/>");
    ends_after(now, &mut once, "");
    let (now, mut half) = (Instant::now(), server.client());
    half.send(b"100\n<create>").unwrap();
    ends_after(now, &mut half, "<results><error>incomplete: 8 of 100 bytes came</error></results>\n");
    // A client that asks now and then is not idle.
    let (mut busy, mut asked, mut rounds) = (server.client(), Instant::now(), 0);
    while rounds < 4 {
        std::thread::sleep(TIMEOUT / 3);
        if busy.send_request("<create/>").is_ok() && busy.reply().is_ok() {
            rounds += 1;
        } else {
            assert!(asked.elapsed() >= TIMEOUT / 2, "closed {:?} after it asked", asked.elapsed());
            // The machine was so busy that the connection was idle: the test tries again.
            (busy, rounds) = (server.client(), 0);
        }
        asked = Instant::now();
    }
}

#[test]
fn health_and_readiness_are_told_over_http() {
    let (_folder, server) = started("health", "");
    for path in ["/health", "/ready"] {
        assert_eq!(http_get(server.http, path), (200, "{\"status\":\"ok\"}".to_string()), "{path}");
    }
}

fn http_get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut client = connect(address);
    client.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
    let answer = client.rest().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
}
