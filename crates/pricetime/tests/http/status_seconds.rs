//! The server remembers its measurements of the last seconds for clients that come later.

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, PATIENCE};
use crate::common::wait::wait_until;

#[test]
fn the_last_seconds_are_told_oldest_first() {
    let folder = Folder::new("status-seconds");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    let times = || -> Vec<u64> {
        let told = http.read("/api/v1/status/seconds");
        told["seconds"].as_array().unwrap().iter().map(|second| second["time"].as_u64().unwrap()).collect()
    };
    wait_until("three seconds are measured", PATIENCE, || times().len() >= 3);
    let times = times();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    let last = &http.read("/api/v1/status/seconds")["seconds"][0];
    assert!(last["uptime_seconds"].is_u64() && last["commands_per_second"].is_number(), "{last}");
    server.stop();
}
