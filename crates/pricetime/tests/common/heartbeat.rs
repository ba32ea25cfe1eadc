//! Another client that asks all the time, to see that it is answered while somebody else misbehaves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::server::connect;

/// A client with an account of its own that asks on one connection, one request after another.
pub struct Heartbeat {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

/// How long it waited for replies.
#[derive(Debug)]
pub struct Beats {
    pub replies: usize,
    pub longest: Duration,
    pub median: Duration,
}

impl Heartbeat {
    /// Connects and goes on asking until it is ended.
    pub fn start(xml: SocketAddr) -> Heartbeat {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let mut client = connect(xml);
        client.ask("<create><account id=\"777\" balance=\"5\"/></create>");
        let thread = std::thread::spawn(move || {
            let mut waits = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let asked = Instant::now();
                let reply = client.ask("<transactions id=\"777\"><query id=\"0\"/></transactions>");
                assert_eq!(reply, "<results><error id=\"0\">Unknown order</error></results>\n");
                waits.push(asked.elapsed());
                std::thread::sleep(Duration::from_millis(5));
            }
            waits
        });
        Heartbeat { stop, thread }
    }

    /// Ends it. Panics if it was not answered, or once had to wait longer than `longest`.
    pub fn end(self, longest: Duration) -> Beats {
        self.stop.store(true, Ordering::Relaxed);
        let mut waits = self.thread.join().expect("the other client is answered");
        waits.sort();
        let beats = Beats { replies: waits.len(), longest: *waits.last().unwrap(), median: waits[waits.len() / 2] };
        assert!(beats.longest <= longest, "another client had to wait: {beats:?}");
        beats
    }
}
