//! The costs of members, TLS, limits, the kill switch and waiting orders. Each case starts servers of its own in a new
//! folder, with one worker on one core, and loads them from another core. If it compares two servers, it loads them in
//! turn. It prints each round and the medians. A case takes less than two minutes.
//!
//! ```text
//! cargo build --release -p pricetime
//! cargo run --release -p pricetime --example costs -- target/release/pricetime CASE
//! ```
//!
//! | case | compares |
//! |---|---|
//! | `access` | XML, 50 connections with 16 requests in flight each: with an access file and audit trail, and without |
//! | `tls` | XML, 50 connections with one request in flight each: over TLS and plain |
//! | `hmac` | REST, 50 connections with one order in flight each: signed with HMAC, and on a server without members |
//! | `keys` | REST, 50 connections with one signed look-up in flight each: a million keys in the access file, and ten |
//! | `greedy` | 40 connections of one member: beside another one that sends ten times what it may, and alone |
//! | `kill` | nothing: the time of a kill of 100,000 open orders, and that none of them executes after its answer |
//! | `stops` | nothing: the memory of a million orders that wait for a price, with feed and history |

#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

mod comparing;
mod load;
mod server;
mod telling;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let words: Option<(String, String)> = arguments.next().zip(arguments.next());
    let (binary, case) = words.expect("the path of the server's program, and a case");
    match case.as_str() {
        "access" => comparing::access(&binary),
        "tls" => comparing::tls(&binary),
        "hmac" => comparing::hmac(&binary),
        "keys" => comparing::keys(&binary),
        "greedy" => comparing::greedy(&binary),
        "kill" => telling::kill(&binary),
        "stops" => telling::stops(&binary),
        other => panic!("no case is called {other}"),
    }
}
