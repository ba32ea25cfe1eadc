//! Attacks on XML by clients that send much or never read.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::attack::{Attack, Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::frame;
use crate::peers::{allow_many_files, connect_narrow};

/// The allowed costs where thousands send large requests at once, and a bystander waits for its turn among them.
const LONG_TURNS: Limits = Limits { p99: Duration::from_millis(500), longest: Duration::from_secs(5), ..ORDINARY };

/// Makes queries of a missing order.
fn unknown(count: usize) -> Vec<u8> {
    frame(&format!("<transactions id=\"777\">{}</transactions>", "<query id=\"0\"/>".repeat(count)))
}

#[test]
fn ten_thousand_clients_that_never_read_delay_nobody() {
    const CONNECTIONS: usize = 10_000;
    const QUERIES: usize = 500;
    allow_many_files(CONNECTIONS);
    let reply_bytes = QUERIES * "<error id=\"0\">Unknown order</error>".len();
    let asked = (reply_bytes * CONNECTIONS) as u64;
    let limits = Limits { memory: asked + asked / 2 + 64 * MIB, ..LONG_TURNS };
    let attack = Scene::set("10,000 clients that never read", limits, |launch| launch).attack();
    let request = unknown(QUERIES);
    for _ in 0..size(1, 3) {
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect_narrow(attack.server().xml)).collect();
        for stream in &mut streams {
            stream.write_all(&request).unwrap();
        }
        // This request comes after them all.
        attack.server().ask("<create/>");
    }
    attack.end(&format!("{} MiB a round asked for and not read", asked / MIB));
}

/// Sends a request over and over on connections that never read, until none of them takes more for a while. Returns the
/// number of bytes that they took.
pub fn flood(attack: &Attack, connections: usize, request: &[u8], bytes_max: usize) -> u64 {
    const QUIET: Duration = Duration::from_millis(500);
    let mut streams: Vec<(TcpStream, usize)> =
        (0..connections).map(|_| (connect_narrow(attack.server().xml), 0)).collect();
    streams.iter().for_each(|(stream, _)| stream.set_nonblocking(true).unwrap());
    let mut taken_at = Instant::now();
    while taken_at.elapsed() < QUIET {
        for (stream, sent) in &mut streams {
            if *sent < bytes_max
                && let Ok(count) = stream.write(&request[*sent % request.len()..])
            {
                *sent += count;
                taken_at = Instant::now();
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // This request comes after them all.
    attack.server().ask("<create/>");
    streams.iter().map(|(_, sent)| *sent as u64).sum()
}

#[test]
fn whoever_never_reads_is_not_read_either() {
    let limits = Limits { memory: 20 * 4 * MIB + 64 * MIB, ..LONG_TURNS };
    let attack = Scene::set("20 floods of requests", limits, |launch| launch).attack();
    let sent = flood(&attack, 20, &unknown(1000), 256 << 20);
    attack.end(&format!("not read after {:.1} MiB of requests", sent as f64 / MIB as f64));
}

#[test]
fn small_requests_for_huge_replies_are_bounded() {
    const EXECUTIONS: usize = 2_000;
    // A request waits for those in flight: for each worker four such replies, which take up to 100 ms each to make and
    // write.
    let limits = Limits { memory: 10 * 64 * MIB + 256 * MIB, p99: Duration::from_secs(1), ..LONG_TURNS };
    let scene = Scene::set("10 floods of requests for replies of 16 MiB", limits, |launch| launch);
    let mut client = scene.server.client();
    client.ask("<create><account id=\"1\" balance=\"10000\"/><symbol sym=\"S\"><account id=\"1\">10000</account></symbol></create>");
    client.ask(&format!(
        "<transactions id=\"1\"><order sym=\"S\" amount=\"{}\" limit=\"1\"/></transactions>",
        EXECUTIONS + 1
    ));
    let sells = "<order sym=\"S\" amount=\"-1\" limit=\"1\"/>".repeat(EXECUTIONS);
    client.ask(&format!("<transactions id=\"1\">{sells}</transactions>"));
    let attack = scene.attack();
    // A status has 100 KiB, and a request of 2 KiB asks for 150.
    let request = frame(&format!("<transactions id=\"1\">{}</transactions>", "<query id=\"1\"/>".repeat(150)));
    let sent = flood(&attack, 10, &request, 256 << 10);
    attack.end(&format!("not read after {:.1} MiB of requests", sent as f64 / MIB as f64));
}

#[test]
fn a_million_pipelined_requests_are_answered_in_bounded_memory() {
    let requests = size(200_000, 1_000_000);
    let limits = Limits { memory: 128 * MIB, ..ORDINARY };
    let attack = Scene::set("pipelined requests", limits, |launch| launch).attack();
    let mut client = attack.server().client();
    let mut writer = client.stream.try_clone().unwrap();
    let sending = std::thread::spawn(move || {
        let thousand = unknown(1).repeat(1000);
        (0..requests / 1000).for_each(|_| writer.write_all(&thousand).unwrap());
    });
    for _ in 0..requests {
        assert_eq!(client.reply().unwrap(), "<results><error id=\"0\">Unknown order</error></results>\n");
    }
    sending.join().unwrap();
    attack.end(&format!("{requests} answered"));
}
