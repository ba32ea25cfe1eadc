//! Attacks by XML connections that do next to nothing, or are many.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::server::{Launch, PATIENCE};
use crate::common::wait::wait_until;
use crate::peers::{allow_many_files, connect_many, has_answer, has_ended};

#[test]
fn half_a_length_line_costs_nothing_and_holds_up_nobody() {
    let count = size(500, 5_000);
    allow_many_files(count);
    // Besides the bystanders' memory, each connection takes its record and the buffer of its two bytes.
    let limits = Limits { memory: 16 * MIB + count as u64 * 2048, ..ORDINARY };
    let attack = Scene::set("halves of a length line", limits, |launch| launch).attack();
    let mut streams = connect_many(attack.server().xml, count);
    streams.iter_mut().for_each(|stream| stream.write_all(b"12").unwrap());
    let mut first = Client::over(streams.remove(0), PATIENCE).unwrap();
    first.send(b"\n<create/>   ").unwrap();
    assert_eq!(first.reply().unwrap(), "<results></results>\n");
    assert!(streams.iter().all(|stream| !has_ended(stream)));
    attack.end("each may go on, one did");
}

#[test]
fn memory_grows_with_the_bytes_that_come_and_not_with_those_announced() {
    let limits = Limits { memory: 32 * MIB, ..ORDINARY };
    let attack =
        Scene::set("500 times a gigabyte announced", limits, |launch| launch.with("--max-request 1GiB")).attack();
    let mut streams = connect_many(attack.server().xml, 500);
    for stream in &mut streams {
        stream.write_all(b"1000000000\n<create>").unwrap();
        stream.write_all(&[b' '; 1000]).unwrap();
    }
    // This request comes after them all.
    attack.server().ask("<create/>");
    attack.end("waited for");
}

#[test]
fn a_byte_now_and_then_does_not_keep_a_connection_open() {
    let scene = Scene::set("a byte now and then", ORDINARY, |launch| launch.with("--idle-timeout 1s"));
    let mut attack = scene.attack();
    let mut open = connect_many(attack.server().xml, 100);
    let started = Instant::now();
    open.iter_mut().for_each(|stream| stream.write_all(b"1000\n").unwrap());
    while !open.is_empty() {
        open.retain(|stream| !has_ended(stream));
        for stream in &mut open {
            // The server may be closing the connection just now.
            let _ = stream.write_all(b"x");
        }
        assert!(started.elapsed() < PATIENCE, "{} of 100 are still open", open.len());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(started.elapsed() > Duration::from_millis(900), "closed after {:?}", started.elapsed());
    attack.took("closing them", started.elapsed(), Duration::from_secs(3));
    attack.end("disconnected");
}

#[test]
fn ten_thousand_idle_connections_cost_little() {
    const CONNECTIONS: usize = 10_000;
    allow_many_files(CONNECTIONS);
    // 16 KiB each.
    let limits = Limits { memory: CONNECTIONS as u64 * (16 << 10), ..ORDINARY };
    let attack = Scene::set("10,000 idle connections", limits, |launch| launch).attack();
    let connections = connect_many(attack.server().xml, CONNECTIONS).into_iter();
    let mut clients: Vec<Client> = connections.map(|stream| Client::over(stream, PATIENCE).unwrap()).collect();
    for round in 0..2 {
        clients.iter_mut().for_each(|client| client.send(b"9\n<create/>").unwrap());
        for client in &mut clients {
            assert_eq!(client.reply().unwrap(), "<results></results>\n", "round {round}");
        }
    }
    attack.end("each answered twice");
}

/// A regression: the connections of both listeners took all files, and the next journal file could not be opened, so
/// the server ended.
#[test]
fn connections_leave_files_for_the_journal() {
    const IDLE: usize = 1_100;
    // This is fewer than HTTP has places, because an operator has one, too.
    const IDLE_OVER_HTTP: usize = 180;
    allow_many_files(IDLE + IDLE_OVER_HTTP);
    let scene = Scene::set("connections for all files", ORDINARY, |launch| {
        let settings = "--segment-size 64KiB --snapshot-every 200 --idle-timeout 10m";
        launch.with(settings).through(&["prlimit", "--nofile=1024:1024"])
    });
    let mut client = scene.server.client();
    client.ask("<create><account id=\"1\" balance=\"1000000000\"/><symbol sym=\"S\"/></create>");
    let attack = scene.attack();
    let server = attack.server();
    let _idle = [connect_many(server.xml, IDLE), connect_many(server.http, IDLE_OVER_HTTP)];
    wait_until("as many as are allowed to be there", PATIENCE, || server.process.open_files() > 850);
    let orders = "<order sym=\"S\" amount=\"1.5\" limit=\"99.99\"/>".repeat(30);
    for _ in 0..200 {
        let told = client.ask(&format!("<transactions id=\"1\">{orders}</transactions>"));
        assert_eq!(told.matches("<opened").count(), 30, "{told:.300}");
    }
    let files = server.process.open_files();
    attack.end(&format!("{files} of 1,024 files open, and the journal went on"));
}

#[test]
fn a_server_without_enough_files_does_not_start() {
    let folder = Folder::new("few-files");
    let launch = Launch::new(&folder.data()).with("--workers 2");
    let ended = launch.through(&["prlimit", "--nofile=100:100"]).try_start().err().expect("too few files");
    let why = "the limit of open files is 100; at least 160 are needed, 128 for the server's own files and 32 for connections: \
               raise it (ulimit -n, LimitNOFILE)";
    assert!(ended.status.code() != Some(0) && ended.stderr.contains(why), "{ended:?}");
}

#[test]
fn more_connections_than_files_wait_until_others_close() {
    const ASKING: usize = 300;
    let scene = Scene::set("more connections than files", ORDINARY, |launch| {
        launch.with("--segment-size 64KiB --snapshot-every 200").through(&["prlimit", "--nofile=200:200"])
    });
    let attack = scene.attack();
    let mut streams = connect_many(attack.server().xml, ASKING);
    streams.iter_mut().for_each(|stream| stream.write_all(b"9\n<create/>").unwrap());
    wait_until("some to be served", PATIENCE, || streams.iter().filter(|stream| has_answer(stream)).count() >= 50);
    // The served ones go on, with new files for the journal, while the others wait.
    let served = streams.iter().position(has_answer).unwrap();
    let mut client = Client::over(streams.swap_remove(served), PATIENCE).unwrap();
    assert_eq!(client.reply().unwrap(), "<results></results>\n");
    client.ask("<create><account id=\"1\" balance=\"1000000000\"/><symbol sym=\"S\"/></create>");
    for _ in 0..200 {
        let orders = "<order sym=\"S\" amount=\"1.5\" limit=\"99.99\"/>".repeat(30);
        let told = client.ask(&format!("<transactions id=\"1\">{orders}</transactions>"));
        assert_eq!(told.matches("<opened").count(), 30);
    }
    let waiting = streams.iter().filter(|stream| !has_answer(stream)).count();
    assert!(waiting >= ASKING - 200, "only {waiting} of {ASKING} wait, with 200 files");
    // Whenever some close, as many others are served, to the last.
    let mut rounds = 0;
    while !streams.is_empty() {
        wait_until("the next to be served", PATIENCE, || streams.iter().any(has_answer));
        streams.retain(|stream| !has_answer(stream));
        rounds += 1;
    }
    attack.end(&format!("{waiting} of {ASKING} had to wait, served in {rounds} rounds"));
}
