//! A database in another region: each of its answers takes a while, so a connection that asks often is made late.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::market::Market;
use crate::common::postgres::database;
use store::{Probe, Stop, Store, StoreUrl};

/// The delay of an answer while the database is far away.
const FAR_MS: u64 = 100;
/// The round trips in which a connection is made and asked, with room for a few more. Those of TLS and passwords come
/// on top.
const ROUND_TRIPS_MAX: u64 = 15;

/// A network that delays the answers of a database, and counts them.
struct Distance {
    port: u16,
    delay_ms: AtomicU64,
    round_trips: AtomicU64,
}

impl Distance {
    /// Puts a network before a port of this machine.
    fn to(port: u16) -> Arc<Distance> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let here = listener.local_addr().unwrap().port();
        let distance = Arc::new(Distance { port: here, delay_ms: AtomicU64::new(0), round_trips: AtomicU64::new(0) });
        let shared = distance.clone();
        // The thread waits in accept until the test process ends.
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let far = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).unwrap();
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let (mut asks, mut asked) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut asks, &mut asked);
                    let _ = asked.shutdown(Shutdown::Both);
                });
                let shared = shared.clone();
                std::thread::spawn(move || shared.answer(far, near));
            }
        });
        distance
    }

    /// Passes on the messages of the database, each of which begins with its kind and its length. An answer ends with
    /// the message Z.
    fn answer(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut head = [0; 5];
        while from.read_exact(&mut head).is_ok() {
            let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
            let mut message = head.to_vec();
            message.resize(1 + length, 0);
            let is_read = from.read_exact(&mut message[5..]).is_ok();
            if head[0] == b'Z' {
                self.round_trips.fetch_add(1, Ordering::AcqRel);
                std::thread::sleep(Duration::from_millis(self.delay_ms.load(Ordering::Acquire)));
            }
            if !is_read || to.write_all(&message).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// A connection that is to write once asked for each type of its statement by itself, which took longer than a probe
/// waits. An idle server of a distant database was `store-away` for good after its connection had broken.
#[test]
fn a_probe_of_a_distant_database_is_answered_after_the_connection_broke() {
    let database = database();
    let distance = Distance::to(database.port);
    let url = format!("postgres://postgres@127.0.0.1:{}/{}?sslmode=disable", distance.port, database.name);
    let url: StoreUrl = url.parse().unwrap();
    let mut store = Store::connect(&url, "one", Stop::new()).unwrap();
    store.migrate().unwrap();
    let mut writer = store.take_over().unwrap();
    let mut market = Market::new(12);
    market.run(&mut writer, 100);
    assert!(database.end_connections("one") > 0);
    distance.delay_ms.store(FAR_MS, Ordering::Release);
    let before = distance.round_trips.load(Ordering::Acquire);
    // The first one may find the break.
    let is_answered = (0..4).any(|_| writer.probe().unwrap() == Probe::Answered);
    let round_trips = distance.round_trips.load(Ordering::Acquire) - before;
    println!("{round_trips} round trips");
    assert!(is_answered, "no probe is answered: a connection takes more than {round_trips} round trips in all of them");
    assert!(round_trips <= ROUND_TRIPS_MAX, "{round_trips} round trips");
    // The statement is sent with its text first, and prepared meanwhile.
    distance.delay_ms.store(0, Ordering::Release);
    market.run(&mut writer, 600);
    market.check(&database);
}
