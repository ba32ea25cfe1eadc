//! What TLS costs: 50 persistent connections, each with one order in flight, on a plain server and on one that speaks TLS, in
//! turn. Both have one worker on one core; the clients are on another one. Prints orders a second, and orders a second of
//! the server's processor time, which what else the machine does changes less.
//!
//! ```text
//! cargo build --release -p pricetime && cargo run --release -p pricetime --example tls_ratio -- target/release/pricetime
//! ```

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pricetime::client::Client;
use tls::{Connector, Trust};

const CONNECTIONS: usize = 50;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(30);
const MARKET: &[u8] =
    br#"<create><account id="1" balance="0"/><symbol sym="SPY"><account id="1">1000000000</account></symbol></create>"#;
const ORDER: &[u8] =
    br#"<transactions id="1"><order sym="SPY" amount="-1" limit="100"/><cancel id="1"/></transactions>"#;

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(binary: &str, data: &Path, more: &[String]) -> Server {
        let mut child = Command::new("taskset")
            .args(["-c", "0", binary, "serve", "--workers", "1", "--durability", "written", "--feed=false"])
            .args(["--xml", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level", "error", "--data"])
            .arg(data)
            .args(more)
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

    /// Its processor time in seconds.
    fn processor(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
    }

    /// Orders a second, and orders a second of its processor time.
    fn measure(&self, tls: Option<&Connector>) -> [f64; 2] {
        let connect = || Client::connect(&self.address, PATIENCE, tls).unwrap();
        let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| connect()).collect();
        let (began, before) = (Instant::now(), self.processor());
        let mut orders = 0.0;
        while began.elapsed() < ROUND {
            clients.iter_mut().for_each(|client| client.send_frame(ORDER).unwrap());
            clients.iter_mut().for_each(|client| drop(client.read_reply().unwrap()));
            orders += CONNECTIONS as f64;
        }
        [orders / began.elapsed().as_secs_f64(), orders / (self.processor() - before)]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let binary = std::env::args().nth(1).expect("the path of the server's program");
    let folder = tempfile::tempdir().unwrap();
    let pki = folder.path().join("pki");
    assert!(
        Command::new(&binary).args(["tls", "self-signed"]).arg(&pki).stdout(Stdio::null()).status().unwrap().success()
    );
    let (cert, key) = (pki.join("cert.pem"), pki.join("key.pem"));
    let files = ["--tls-cert".into(), cert.display().to_string(), "--tls-key".into(), key.display().to_string()];
    let plain = Server::start(&binary, &folder.path().join("plain"), &[]);
    let over_tls = Server::start(&binary, &folder.path().join("tls"), &files);
    let connector = Connector::new(&Trust::Authority(cert), None).unwrap();
    for (server, tls) in [(&plain, None), (&over_tls, Some(&connector))] {
        let mut client = Client::connect(&server.address, PATIENCE, tls).unwrap();
        client.send_frame(MARKET).unwrap();
        client.read_reply().unwrap();
    }
    println!("round  plain/s     TLS/s      ratio   plain/cpu s  TLS/cpu s  ratio");
    for round in 1..=ROUNDS {
        let ([a, b], [c, d]) = (plain.measure(None), over_tls.measure(Some(&connector)));
        println!("{round:5}  {a:9.0}  {c:9.0}   {:.3}   {b:9.0}    {d:9.0}   {:.3}", c / a, d / b);
    }
}
