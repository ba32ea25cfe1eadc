//! What a member costs the others that sends ten times what it may: 40 persistent connections of one member, each with one order in
//! flight, alone and beside another member that is bounded to so many messages a second, in turn. The server has one worker on one
//! core; the clients are on other ones. Prints the others' orders a second and the time within which 99 of 100 replies came.
//!
//! ```text
//! cargo build --release -p pricetime && cargo run --release -p pricetime --example member_ratio -- target/release/pricetime
//! ```

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pricetime::client::Client;

const CONNECTIONS: usize = 40;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(30);
/// What the other member may send, and how many times as much it does.
const MESSAGES_PER_SECOND: u32 = 500;
const TIMES: u32 = 10;
const SECRET: &str = "a-secret-that-nobody-needs-to-guess";
const MARKET: &[u8] = br#"<create><account id="1" balance="0"/><account id="2" balance="0"/>
    <symbol sym="SPY"><account id="1">1000000000</account><account id="2">1000000000</account></symbol></create>"#;
const ORDER: [&[u8]; 2] = [
    br#"<transactions id="1"><order sym="SPY" amount="-1" limit="100"/><cancel-all/></transactions>"#,
    br#"<transactions id="2"><order sym="SPY" amount="-1" limit="100"/><cancel-all/></transactions>"#,
];

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(binary: &str, data: &Path) -> Server {
        let mut child = Command::new("taskset")
            .args(["-c", "0", binary, "serve", "--workers", "1", "--durability", "written", "--feed=false"])
            .args(["--xml", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level", "error", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find_map(|line| line.trim().strip_prefix("XML ").map(str::to_owned)).unwrap();
        let address = line.trim().split(' ').next().unwrap().to_owned();
        lines.find(|line| line.starts_with("try it")).unwrap();
        // Whoever prints to a closed pipe is ended.
        std::thread::spawn(move || lines.count());
        Server { child, address }
    }

    fn client(&self, member: &str) -> Client {
        let mut client = Client::connect(&self.address, PATIENCE, None).unwrap();
        client.send_frame(format!("<login key=\"{member}\" secret=\"{SECRET}\"/>").as_bytes()).unwrap();
        client.read_reply().unwrap();
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Orders a second, and the 99th percentile of the replies in microseconds.
fn measure(clients: &mut [Client]) -> (f64, u128) {
    let began = Instant::now();
    let mut taken = Vec::new();
    while began.elapsed() < ROUND {
        let mut sent = Vec::new();
        for client in clients.iter_mut() {
            sent.push(Instant::now());
            client.send_frame(ORDER[0]).unwrap();
        }
        for (client, sent) in clients.iter_mut().zip(sent) {
            client.read_reply().unwrap();
            taken.push(sent.elapsed().as_micros());
        }
    }
    let rate = taken.len() as f64 / began.elapsed().as_secs_f64();
    taken.sort_unstable();
    (rate, taken[taken.len() * 99 / 100])
}

/// Sends so many messages a second until it is to stop, whatever it is told.
fn send_too_much(mut client: Client, goes_on: &AtomicBool, refused: &AtomicU64) {
    let pause = Duration::from_secs(1) / (MESSAGES_PER_SECOND * TIMES);
    let mut due = Instant::now();
    while goes_on.load(Ordering::Relaxed) {
        client.send_frame(ORDER[1]).unwrap();
        let reply = client.read_reply().unwrap();
        refused.fetch_add(u64::from(reply.bytes.windows(8).any(|text| text == b"too many")), Ordering::Relaxed);
        due = (due + pause).max(Instant::now() - Duration::from_millis(10));
        sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn main() {
    let binary = std::env::args().nth(1).expect("the path of the server's program");
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let member = |name: &str, role: &str, account: &str, limits: &str| {
        format!(
            "[[member]]\nname = \"{name}\"\nroles = [\"{role}\"]\naccounts = [{account}]\n{limits}\n\
             [[member.key]]\nid = \"{name}\"\nsecret = \"{SECRET}\"\n"
        )
    };
    let text = [
        member("operator", "operator", "", ""),
        member("even", "trader", "\"1\"", ""),
        member("greedy", "trader", "\"2\"", &format!("limits = {{ messages_per_second = {MESSAGES_PER_SECOND} }}")),
    ];
    fs::write(data.join("access.toml"), text.concat()).unwrap();
    fs::set_permissions(data.join("access.toml"), fs::Permissions::from_mode(0o600)).unwrap();
    let server = Server::start(&binary, &data);
    let mut operator = server.client("operator");
    operator.send_frame(MARKET).unwrap();
    operator.read_reply().unwrap();
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| server.client("even")).collect();
    println!("round  alone/s  p99 us   beside/s  p99 us   ratio  of p99  refused/s");
    for round in 1..=ROUNDS {
        let (alone, alone_p99) = measure(&mut clients);
        let (goes_on, refused) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let greedy = server.client("greedy");
        let sender = {
            let (goes_on, refused) = (Arc::clone(&goes_on), Arc::clone(&refused));
            std::thread::spawn(move || send_too_much(greedy, &goes_on, &refused))
        };
        let (beside, beside_p99) = measure(&mut clients);
        goes_on.store(false, Ordering::Relaxed);
        sender.join().unwrap();
        let refused = refused.load(Ordering::Relaxed) as f64 / ROUND.as_secs_f64();
        let (ratio, of_p99) = (beside / alone, beside_p99 as f64 / alone_p99 as f64);
        println!(
            "{round:5}  {alone:7.0}  {alone_p99:6}  {beside:9.0}  {beside_p99:6}   {ratio:.3}   {of_p99:.2}  {refused:9.0}"
        );
    }
}
