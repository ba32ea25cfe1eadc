//! Attacks by requests so large that others would wait for their turn.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::{Client, frame};
use crate::peers::connect_many;

/// The number of orders in a heavy request. Its last element cancels them, so that the market does not grow.
const ORDERS: usize = 9_000;

/// Sends a request over and over on all connections, and reads the replies, until it is told to stop. Returns the
/// number of replies that began.
fn pipeline(mut streams: Vec<TcpStream>, request: &[u8], stop: &AtomicBool) -> usize {
    streams.iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
    let (mut sent, mut replies) = (vec![0; streams.len()], 0);
    let mut buffer = vec![0; 1 << 20];
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for (stream, sent) in streams.iter_mut().zip(&mut sent) {
            match stream.write(&request[*sent..]) {
                Ok(count) => (*sent, is_idle) = ((*sent + count) % request.len(), false),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
            match stream.read(&mut buffer) {
                Ok(count) => {
                    assert!(count > 0, "an attacker was closed");
                    replies += buffer[..count].windows(9).filter(|bytes| *bytes == b"<results>").count();
                    is_idle = false;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
        }
        if is_idle {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    replies
}

/// The number of the order that a trader places. Those between two of them were placed by others while it waited.
fn place(trader: &mut Client) -> u64 {
    let told = trader.ask("<transactions id=\"2\"><order sym=\"S\" amount=\"1\" limit=\"1\"/></transactions>");
    let id = told.split("id=\"").nth(1).and_then(|rest| rest.split('"').next());
    id.and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{told}"))
}

/// A regression: a turn took everything that waited, and a worker read no client while one such request was on its way,
/// so a client waited for about twenty of these requests to place one order.
#[test]
fn forty_connections_that_pipeline_requests_of_9000_commands_let_others_have_their_turn() {
    const CONNECTIONS: usize = 40;
    let rounds = size(30, 300);
    let limits =
        Limits { memory: 600 * MIB, p99: Duration::from_millis(250), longest: Duration::from_secs(2), ..ORDINARY };
    let scene = Scene::set("40 pipelines of 9,000 commands", limits, |launch| launch.with("--workers 1"));
    let mut trader = scene.server.client();
    let accounts = "<account id=\"1\" balance=\"1000000000\"/><account id=\"2\" balance=\"1000000\"/>";
    let told = trader.ask(&format!("<create>{accounts}<symbol sym=\"S\"/></create>"));
    assert!(!told.contains("<error"), "{told}");
    let orders = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>".repeat(ORDERS);
    let all = "<cancel-all/>".repeat(ORDERS.div_ceil(1_000));
    let request = frame(&format!("<transactions id=\"1\">{orders}{all}</transactions>"));
    let attack = scene.attack();
    let (streams, stop) = (connect_many(attack.server().xml, CONNECTIONS), AtomicBool::new(false));
    let (replies, passed) = std::thread::scope(|scope| {
        let attacker = scope.spawn(|| pipeline(streams, &request, &stop));
        let begun = place(&mut trader);
        while place(&mut trader) < begun + (ORDERS * CONNECTIONS) as u64 {}
        let placed: Vec<u64> = (0..=rounds).map(|_| place(&mut trader)).collect();
        stop.store(true, Ordering::Relaxed);
        let mut passed: Vec<u64> = placed.windows(2).map(|pair| pair[1] - pair[0]).collect();
        passed.sort_unstable();
        (attacker.join().unwrap(), passed)
    });
    // The turns are counted and not timed: a busy machine makes everyone wait, but gives nobody more turns. Half of the
    // rounds are judged, because turns go on while the trader itself waits for its processor.
    let (half, most) = (passed[passed.len() / 2], passed[passed.len() - 1]);
    let told = format!("{half} orders of others beside half of those of a trader, {most} at most; {replies} replies");
    assert!(half <= 6 * ORDERS as u64, "{told}");
    attack.end(&told);
}
