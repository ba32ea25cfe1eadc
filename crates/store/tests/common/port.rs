//! A port for a server that is started on it, ended, and started on it again.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// A port on which nobody listens, below those that the system gives to outgoing connections, so that a restarted
/// server finds it free again.
pub fn free() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const PORTS: std::ops::Range<u32> = 15_000..32_000;
    let first = std::process::id().wrapping_mul(7919);
    let mut ports = std::iter::repeat_with(|| {
        let number = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        u16::try_from(PORTS.start + number % (PORTS.end - PORTS.start)).unwrap()
    });
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}
