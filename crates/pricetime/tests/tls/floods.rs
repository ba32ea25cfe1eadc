//! Many handshakes at once that never end: trading goes on, and new clients still get in.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::folder::Folder;
use crate::common::raw::connect_from;
use crate::common::server::PATIENCE;
use crate::common::wait::wait_until;
use crate::peer::{MARKET, SELL, Start};
use crate::pki::Pki;
use crate::reload::metrics;

const FLOOD: usize = 500;
/// Handshakes of one address: more than a gateway works on at a time.
const HALVES: usize = 300;

#[test]
fn a_flood_of_handshakes_that_never_end_holds_up_nobody_who_trades() {
    let folder = Folder::new("tls-flood");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).with("--workers 1").start();
    let start = Start::trusting(&pki.authority);
    let mut trader = start.connect(server.xml).unwrap();
    trader.ask(MARKET).unwrap();
    let slowest = |trader: &mut crate::peer::Peer, count: usize| {
        let mut times: Vec<Duration> = (0..count)
            .map(|_| {
                let asked = Instant::now();
                trader.ask(SELL).unwrap();
                asked.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[count * 9 / 10]
    };
    let alone = slowest(&mut trader, 200);
    let hello = start.hello();
    let mut flood = Vec::new();
    for address in [server.xml, server.http] {
        for part in [hello.len() / 2, hello.len()] {
            for _ in 0..FLOOD / 2 {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(&hello[..part]).unwrap();
                flood.push(stream);
            }
        }
    }
    let flooded = slowest(&mut trader, 200);
    assert!(flooded < alone * 20 + Duration::from_millis(500), "{flooded:?} with the flood, {alone:?} without it");
    // Those beyond the bound wait, and places become free soon, because somebody waits.
    let asked = Instant::now();
    assert!(start.ask(server.xml, SELL).unwrap().contains("<opened "));
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    let told = metrics(&server, &start);
    let of_xml =
        |outcome: &str| told.sum("pricetime_tls_handshakes_total", &[("gateway", "xml"), ("outcome", outcome)]);
    assert!(of_xml("timed_out") >= 200.0, "{}", of_xml("timed_out"));
    assert!(told.sum("pricetime_tls_handshakes_open", &[("gateway", "xml")]) <= 256.0);
    wait_until("those who waited begin", Duration::from_secs(20), || {
        metrics(&server, &start).sum("pricetime_tls_handshakes_waiting", &[("gateway", "xml")]) == 0.0
    });
    drop(flood);
    wait_until("all are gone", Duration::from_secs(10), || {
        let told = metrics(&server, &start);
        told.sum("pricetime_tls_handshakes_open", &[("gateway", "xml")]) == 0.0
            && told.sum("pricetime_tls_handshakes_waiting", &[("gateway", "xml")]) == 0.0
            && told.sum("pricetime_connections", &[("gateway", "xml")]) == 1.0
    });
    trader.ask(SELL).unwrap();
    server.stop();
}

/// Other clients once were answered only when 750 half handshakes over HTTPS from one address had timed out.
#[test]
fn half_handshakes_of_one_address_hold_up_no_other_address() {
    let folder = Folder::new("tls-halves");
    let pki = Pki::new(&folder);
    let settings = "--workers 1 --fix 127.0.0.1:0 --tls-handshake-timeout 60s";
    let server = pki.launch(&folder).with(settings).start();
    let start = Start::trusting(&pki.authority);
    start.ask(server.xml, MARKET).unwrap();
    let hello = start.hello();
    let mut flood = Vec::new();
    for address in [server.xml, server.http, server.fix.unwrap()] {
        for _ in 0..HALVES {
            let mut stream = connect_from([127, 0, 0, 2], address);
            // Over FIX the connections beyond the bound are closed already.
            let _ = stream.write_all(&hello[..hello.len() / 2]);
            flood.push(stream);
        }
    }
    let sum = |name: &str, labels: &[(&str, &str)]| metrics(&server, &start).sum(name, labels);
    wait_until("all places for handshakes are taken", Duration::from_secs(20), || {
        sum("pricetime_tls_handshakes_open", &[("gateway", "xml")]) >= 250.0
    });
    for _ in 0..20 {
        assert!(start.ask(server.xml, SELL).unwrap().contains("<opened "));
        start.connect(server.fix.unwrap()).unwrap();
    }
    let outcome = |gateway: &str, outcome: &str| {
        sum("pricetime_tls_handshakes_total", &[("gateway", gateway), ("outcome", outcome)])
    };
    for gateway in ["xml", "http", "fix"] {
        assert!(outcome(gateway, "gave_way") >= 1.0, "{gateway}");
    }
    assert!(sum("pricetime_connections_gave_way_total", &[("gateway", "fix"), ("holder", "address")]) >= 1.0);
    for gateway in ["xml", "http", "fix"] {
        assert_eq!(outcome(gateway, "timed_out"), 0.0, "nobody waited until these took too long: {gateway}");
    }
    drop(flood);
    server.stop();
}

/// Reserved connections take none of the places for handshakes, so an operator waits for no client there, either.
#[test]
fn whoever_looks_after_the_server_is_answered_over_tls_when_all_places_are_taken() {
    /// The handshakes that a gateway works on at a time.
    const SHAKING: usize = 256;
    let folder = Folder::new("tls-places");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).with("--tls-handshake-timeout 10m --idle-timeout 10m").start();
    let start = Start::trusting(&pki.authority);
    let hello = start.hello();
    let ask = |path: &str| {
        let mut peer = start.connect(server.http).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        peer.send(request.as_bytes()).ok()?;
        peer.rest().ok()
    };
    // Those that said nothing yet have a place as connections, and none for a handshake.
    let mut taken: Vec<TcpStream> = (0..1_100).map(|_| TcpStream::connect(server.http).unwrap()).collect();
    for stream in &mut taken[..SHAKING] {
        stream.write_all(&hello[..hello.len() / 2]).unwrap();
    }
    wait_until("all places are taken", PATIENCE, || {
        taken.push(TcpStream::connect(server.http).unwrap());
        ask("/api/v1/status").is_some_and(|answer| answer.contains("too-many-connections"))
    });
    let handshakes = |name: &str, labels: &[(&str, &str)]| {
        let labels = [&[("gateway", "http")], labels].concat();
        metrics(&server, &start).sum(&format!("pricetime_tls_handshakes_{name}"), &labels)
    };
    wait_until("their handshakes begin", PATIENCE, || handshakes("open", &[]) >= SHAKING as f64);
    for path in ["/health", "/ready", "/metrics"].repeat(10) {
        let answer = ask(path).unwrap_or_else(|| panic!("{path} is not answered"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
    // None of them ended so that an operator had its place.
    assert_eq!(handshakes("open", &[]), SHAKING as f64);
    assert_eq!(handshakes("total", &[("outcome", "gave_way")]), 0.0);
    drop(taken);
    server.stop();
}

#[test]
fn a_handshake_that_takes_too_long_is_ended_and_so_is_silence_before_it() {
    let folder = Folder::new("tls-slow");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).with("--tls-handshake-timeout 400ms").start();
    let start = Start::trusting(&pki.authority);
    let hello = start.hello();
    for address in [server.xml, server.http] {
        let mut silent = TcpStream::connect(address).unwrap();
        let mut slow = TcpStream::connect(address).unwrap();
        slow.write_all(&hello[..10]).unwrap();
        let began = Instant::now();
        for stream in [&mut silent, &mut slow] {
            stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            // A reset is an end, too.
            assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0);
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
    let told = metrics(&server, &start);
    for gateway in ["xml", "http"] {
        let labels = [("gateway", gateway), ("outcome", "timed_out")];
        assert_eq!(told.sum("pricetime_tls_handshakes_total", &labels), 2.0, "{gateway}");
    }
    server.stop();
}
