//! Cases that compare two servers, or one with itself, in turn.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tls::{ClientStream, Connector, Trust};

use crate::load::{self, Ask, Figures, MARKET, ROUND};
use crate::server::{Server, member, write_members};

const ROUNDS: usize = 151;
/// No case waits for a disk, so only the work is compared.
const WRITTEN: [&str; 2] = ["--durability", "written"];
/// The messages that a member may send in a second, and how many times as many it sends.
const MESSAGES_PER_SECOND: u32 = 500;
const TIMES: u32 = 10;

/// XML with an access file and the audit trail that comes with it, beside none.
pub fn access(binary: &str) {
    let folder = in_memory();
    let (open, closed) = pair(binary, folder.path(), &member("even", "trader", "\"1\", \"2\"", ""));
    let [mut without, mut with] =
        [(&open, None), (&closed, Some("even"))].map(|(server, member)| connections(server, 50, member, None));
    compare("without", "with", || [load::xml(&open, &mut without, 16), load::xml(&closed, &mut with, 16)]);
}

/// XML over TLS, beside plain.
pub fn tls(binary: &str) {
    let folder = in_memory();
    let pki = folder.path().join("pki");
    let made = Command::new(binary).args(["tls", "self-signed"]).arg(&pki).stdout(Stdio::null()).status().unwrap();
    assert!(made.success());
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| pki.join(name).display().to_string());
    let plain = Server::start(binary, &folder.path().join("plain"), &WRITTEN);
    let settings = [&WRITTEN[..], &["--tls-cert", &cert, "--tls-key", &key]].concat();
    let secret = Server::start(binary, &folder.path().join("tls"), &settings);
    let connector = Connector::new(&Trust::Authority(cert.into()), None).unwrap();
    let mut over_tls = connections(&secret, 50, None, Some(&connector));
    let mut over_none = connections(&plain, 50, None, None);
    load::ask(&mut over_tls[0], MARKET);
    load::ask(&mut over_none[0], MARKET);
    compare("plain", "TLS", || [load::xml(&plain, &mut over_none, 1), load::xml(&secret, &mut over_tls, 1)]);
}

/// REST with signed requests, beside a server without members.
pub fn hmac(binary: &str) {
    let folder = in_memory();
    let (open, closed) = pair(binary, folder.path(), &member("even", "trader", "\"1\", \"2\"", ""));
    let [mut without, mut with] = [&open, &closed].map(over_http);
    compare("without", "HMAC", || {
        [
            load::rest(&open, &mut without, Ask::Order, || None),
            load::rest(&closed, &mut with, Ask::Order, || Some("even".to_owned())),
        ]
    });
}

/// REST with signed requests that look, each of another key, of a million and of ten.
pub fn keys(binary: &str) {
    let folder = in_memory();
    let [few, many] = [10, 1_000_000].map(|keys: usize| {
        let data = folder.path().join(keys.to_string());
        let members = (0..keys).map(|key| member(&format!("m{key}"), "trader", "\"1\", \"2\"", ""));
        write_members(&data, &members.collect::<String>());
        let server = Server::start(binary, &data, &WRITTEN);
        load::ask(&mut server.connect(Some("operator"), None), MARKET);
        server
    });
    let [mut of_few, mut of_many] = [&few, &many].map(over_http);
    let mut count = 0;
    let mut key = |keys: usize| {
        count += 1;
        Some(format!("m{}", count * 7_919 % keys))
    };
    compare("ten", "a million", || {
        [
            load::rest(&few, &mut of_few, Ask::Symbol, || key(10)),
            load::rest(&many, &mut of_many, Ask::Symbol, || key(1_000_000)),
        ]
    });
}

/// Members of whom one sends too much, beside themselves alone.
pub fn greedy(binary: &str) {
    let folder = in_memory();
    let data = folder.path().join("data");
    let limits = format!("limits = {{ messages_per_second = {MESSAGES_PER_SECOND} }}");
    write_members(
        &data,
        &(member("even", "trader", "\"1\", \"2\"", "") + &member("greedy", "trader", "\"2\"", &limits)),
    );
    let server = Server::start(binary, &data, &WRITTEN);
    load::ask(&mut server.connect(Some("operator"), None), MARKET);
    let mut streams = connections(&server, 40, Some("even"), None);
    let refused = AtomicU64::new(0);
    compare("alone", "beside", || {
        let alone = load::xml(&server, &mut streams, 1);
        let goes_on = AtomicBool::new(true);
        let sender = server.connect(Some("greedy"), None);
        let beside = std::thread::scope(|scope| {
            scope.spawn(|| send_too_much(sender, &goes_on, &refused));
            let beside = load::xml(&server, &mut streams, 1);
            goes_on.store(false, Ordering::Relaxed);
            beside
        });
        [alone, beside]
    });
    let refused = refused.load(Ordering::Relaxed) as f64 / ROUND.as_secs_f64() / ROUNDS as f64;
    println!("the other one had {refused:.0} requests a second refused");
}

/// Sends so many messages a second until it is to stop, whatever it is told.
fn send_too_much(mut stream: ClientStream, goes_on: &AtomicBool, refused: &AtomicU64) {
    let pause = Duration::from_secs(1) / (MESSAGES_PER_SECOND * TIMES);
    let mut due = Instant::now();
    while goes_on.load(Ordering::Relaxed) {
        let reply = load::ask(
            &mut stream,
            "<transactions id=\"2\"><order sym=\"SPY\" amount=\"1\" limit=\"1\"/></transactions>",
        );
        refused.fetch_add(u64::from(reply.contains("too many")), Ordering::Relaxed);
        due = (due + pause).max(Instant::now() - Duration::from_millis(10));
        sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// A folder in memory where there is one: writing back to a disk would take turns as it likes.
fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A server without members and one with these, both with a market.
fn pair(binary: &str, folder: &Path, members: &str) -> (Server, Server) {
    let [open, closed] = ["open", "closed"].map(|name| folder.join(name));
    write_members(&closed, members);
    let (open, closed) = (Server::start(binary, &open, &WRITTEN), Server::start(binary, &closed, &WRITTEN));
    load::ask(&mut open.connect(None, None), MARKET);
    load::ask(&mut closed.connect(Some("operator"), None), MARKET);
    (open, closed)
}

fn connections(server: &Server, count: usize, member: Option<&str>, tls: Option<&Connector>) -> Vec<ClientStream> {
    (0..count).map(|_| server.connect(member, tls)).collect()
}

fn over_http(server: &Server) -> Vec<ClientStream> {
    (0..50).map(|_| load::connect(&server.http, None)).collect()
}

/// Measures both in turn, prints one round of ten, and at last the medians of the ratios, each with the quarters below
/// and above it.
fn compare(one: &str, other: &str, mut measure: impl FnMut() -> [Figures; 2]) {
    println!("round {one:>11}/s {other:>11}/s  ratio   {one:>11} us {other:>11} us  ratio   p99 us {one} {other}");
    let mut ratios = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for round in 1..=ROUNDS {
        let [a, b] = measure();
        let (rate, cpu, p99) = (b.rate / a.rate, a.cpu_us / b.cpu_us, b.p99_us / a.p99_us);
        if round % 10 == 1 {
            println!(
                "{round:5} {:13.0} {:13.0}  {rate:.3}   {:14.2} {:14.2}  {cpu:.3}   {:.0} {:.0}",
                a.rate, b.rate, a.cpu_us, b.cpu_us, a.p99_us, b.p99_us
            );
        }
        ratios.iter_mut().zip([rate, cpu, p99, b.cpu_us - a.cpu_us]).for_each(|(all, one)| all.push(one));
    }
    let names = ["answers a second", "answers a processor second", "p99", "processor time more for one, us"];
    for (name, mut ratios) in names.into_iter().zip(ratios) {
        ratios.sort_unstable_by(f64::total_cmp);
        println!("{name}: {:.3} ({:.3} to {:.3})", ratios[ROUNDS / 2], ratios[ROUNDS / 4], ratios[ROUNDS * 3 / 4]);
    }
}
