//! The order of system calls: no reply leaves before the sync that covers its command has succeeded. The same check
//! must fail for a server that is told not to sync; otherwise it would prove nothing.

use crate::common::folder::Folder;
use crate::common::load::{Asked, load_together};
use crate::common::server::{Launch, PATIENCE};
use crate::common::trace::{Trace, require_strace, strace};
use rustix::process::Signal;

const CLIENTS: usize = 4;
const ROUNDS: usize = 60;
const CALLS: &str = "trace=pwrite64,fdatasync,fsync,sendto,sendmsg,write,writev";

/// Runs clients against a traced server. Returns the trace and the requests that were sent.
fn traced(purpose: &str, arguments: &str) -> (Folder, Trace, Asked) {
    require_strace();
    let folder = Folder::new(purpose);
    let output = folder.path().join("trace");
    let launch = Launch::new(&folder.data()).with(arguments).through(&strace(output.to_str().unwrap(), &[CALLS]));
    let mut server = launch.start();
    let asked = load_together(server.xml, CLIENTS, ROUNDS);
    server.process.signal(Signal::TERM);
    assert!(server.process.wait_for_end(PATIENCE).status.success());
    let trace = Trace::read(&output, server.process.id());
    (folder, trace, asked)
}

#[test]
fn every_reply_leaves_after_the_sync_of_its_command() {
    // Journal files are small, so that the server changes files during the test.
    let (_folder, trace, asked) = traced("synced", "--segment-size 64KiB --snapshot-every 100 --workers 2");
    let checked = trace.check(&asked.all).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((checked, asked.answered), (asked.all.len(), CLIENTS * (1 + ROUNDS + ROUNDS / 3)));
    println!("{checked} acknowledgements, each after a sync that covers it");
}

#[test]
fn the_check_notices_a_server_that_does_not_sync() {
    let (_folder, trace, asked) = traced("written", "--durability written");
    let why = trace.check(&asked.all).expect_err("replies left without a sync");
    assert!(why.contains("no sync of file"), "{why}");
}
