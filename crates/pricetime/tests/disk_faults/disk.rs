//! Disks that fail or are full, under the real program: the server stops without a false acknowledgement and says why,
//! and everything that it acknowledged before is there after the next start.

use std::path::Path;
use std::time::Duration;

use crate::common::audit::{KnownOrders, audit};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::load::load_together;
use crate::common::server::{Ended, Launch, PATIENCE, Server, state_of};
use crate::common::small_disk::SmallDisk;
use crate::common::trace::{Trace, require_strace, strace};
use crate::common::trader::Trader;
use crate::common::wait::wait_until;
use serde_json::json;

const TRADERS: usize = 3;
const SMALL: &str = "--segment-size 64KiB --snapshot-every 500 --disk-low 0";
/// The most requests that a trader sends: more than it takes to reach any injected fault.
const REQUESTS: usize = 3_000;
const FAILING: Duration = Duration::from_secs(20);

/// The traders of a data folder, and all that they know of its market.
struct Past {
    traders: Vec<Trader>,
    known: KnownOrders,
}

impl Past {
    fn new(server: &Server, seed: u64) -> Past {
        let mut traders: Vec<Trader> = (0..TRADERS).map(|index| Trader::new(index, seed)).collect();
        traders.iter_mut().for_each(|trader| trader.open_accounts(server.xml));
        Past { traders, known: KnownOrders::default() }
    }

    /// Trades until the server ends its connections, or until all requests are answered.
    fn trade(&mut self, server: &Server) {
        let xml = server.xml;
        std::thread::scope(|scope| {
            for trader in &mut self.traders {
                scope.spawn(move || trader.trade(xml, REQUESTS));
            }
        });
    }

    fn audit(&mut self, server: &Server) {
        audit(server, &mut self.traders, &mut self.known, usize::MAX, 1);
    }
}

/// Panics unless the server ended by itself with an error that names the cause.
fn check_end(ended: &Ended, cause: &str, fault: &str) {
    assert!(ended.status.code().is_some_and(|code| code != 0), "{fault}: ends with an error: {ended:?}");
    assert!(ended.stderr.contains(cause), "{fault}: says {cause:?}: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{fault}: a failing disk is no fault of the program: {ended:?}");
}

/// Starts the server, trades until the fault strikes, checks how the server ends, starts it again without the fault,
/// and checks what it kept.
fn check_fault(wrapper: &[&str], data: &Path, cause: &str) {
    let fault = wrapper.join(" ");
    let healthy = Launch::new(data).with(SMALL);
    let server = healthy.start();
    let mut past = Past::new(&server, 7);
    past.audit(&server);
    server.stop();
    match healthy.clone().through(wrapper).try_start() {
        Ok(mut server) => {
            past.trade(&server);
            let ended = server.process.wait_for_end(FAILING);
            check_end(&ended, cause, &fault);
        }
        Err(ended) => check_end(&ended, cause, &fault),
    }
    let server = healthy.start();
    past.audit(&server);
    past.trade(&server);
    past.audit(&server);
    server.stop();
}

/// Lets the nth such call of each thread fail.
fn check_injection(call: &str, error: &str, nth: u32, cause: &str) {
    require_strace();
    let folder = Folder::new("injected");
    let output = folder.path().join("trace");
    let (trace, injection) = (format!("trace={call}"), format!("inject={call}:error={error}:when={nth}"));
    check_fault(&strace(output.to_str().unwrap(), &[&trace, &injection]), &folder.data(), cause);
}

#[test]
fn a_failed_sync_stops_the_server_without_a_false_acknowledgement() {
    for nth in [1, 2, 3, 4, 7, 20, 60, 150] {
        check_injection("fdatasync", "EIO", nth, "Input/output error");
    }
}

#[test]
fn a_write_without_room_stops_the_server_without_a_false_acknowledgement() {
    for nth in [1, 2, 3, 5, 40, 150] {
        check_injection("pwrite64", "ENOSPC", nth, "No space left on device");
    }
}

#[test]
fn a_journal_file_without_room_stops_the_server_without_a_false_acknowledgement() {
    for nth in [1, 2] {
        check_injection("fallocate", "ENOSPC", nth, "No space left on device");
    }
}

#[test]
fn a_limit_on_the_size_of_files_stops_the_server_without_a_false_acknowledgement() {
    for limit in [40_000, 70_000] {
        let folder = Folder::new("file-limit");
        let limit = format!("--fsize={limit}");
        // Beyond the limit the kernel would end the process with a signal, unless the signal is ignored.
        check_fault(&["prlimit", &limit], &folder.data(), "File too large");
    }
}

#[test]
fn nothing_is_acknowledged_by_the_sync_that_failed() {
    require_strace();
    let folder = Folder::new("false-acknowledgement");
    let output = folder.path().join("trace");
    let expressions = ["trace=pwrite64,fdatasync,sendto,sendmsg,write,writev", "inject=fdatasync:error=EIO:when=40"];
    let launch = Launch::new(&folder.data()).with("--disk-low 0");
    let mut server = launch.clone().through(&strace(output.to_str().unwrap(), &expressions)).start();
    let asked = load_together(server.xml, 4, 10_000);
    check_end(&server.process.wait_for_end(FAILING), "Input/output error", "the 40th sync");
    let trace = Trace::read(&output, server.process.id());
    assert!(trace.calls(&["fdatasync"]).any(|sync| sync.error.as_deref() == Some("EIO")), "no sync failed");
    let left = trace.check(&asked.all).unwrap_or_else(|why| panic!("{why}"));
    assert!((asked.answered..asked.all.len()).contains(&left), "{left} left, {} came", asked.answered);
    launch.start().stop();
}

#[test]
fn below_the_low_water_mark_only_queries_and_cancels_are_taken() {
    let folder = Folder::new("disk-low");
    let low = "the server's disk is nearly full: only queries and cancels are taken; try later";
    let server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"1\" balance=\"1000\"/><symbol sym=\"S\"><account id=\"1\">10</account></symbol></create>");
    server.ask("<transactions id=\"1\"><order sym=\"S\" amount=\"5\" limit=\"2\"/><order sym=\"S\" amount=\"-5\" limit=\"3\"/></transactions>");
    server.stop();

    let server = Launch::new(&folder.data()).with("--disk-low 4000000GiB").start();
    let mut client = server.client();
    assert_eq!(
        client.ask("<create><account id=\"2\" balance=\"1\"/><symbol sym=\"S\"><account id=\"1\">1</account></symbol><symbol sym=\"T\"/></create>"),
        format!("<results><error id=\"2\">{low}</error><error sym=\"S\" id=\"1\">{low}</error><error sym=\"T\">{low}</error></results>\n")
    );
    let reply = client.ask(
        "<transactions id=\"1\"><query id=\"1\"/><order sym=\"S\" amount=\"1\" limit=\"1\"/><cancel id=\"1\"/></transactions>",
    );
    let start = format!(
        "<results><status id=\"1\"><open shares=\"5\"/></status><error sym=\"S\" amount=\"1\" limit=\"1\">{low}</error>\
         <canceled id=\"1\"><canceled shares=\"5\" time=\""
    );
    assert!(reply.starts_with(&start), "{reply}");
    server.stop();

    let server = Launch::new(&folder.data()).start();
    let reply = server
        .ask("<transactions id=\"1\"><query id=\"2\"/><order sym=\"S\" amount=\"1\" limit=\"1\"/></transactions>");
    assert_eq!(
        reply,
        "<results><status id=\"2\"><open shares=\"5\"/></status><opened sym=\"S\" amount=\"1\" limit=\"1\" id=\"3\"/></results>\n"
    );
}

#[test]
fn below_the_low_water_mark_orders_end_and_none_is_placed_released_or_protected() {
    let folder = Folder::new("disk-low-ends");
    let low = "the server's disk is nearly full: only queries and cancels are taken; try later";
    let act = |server: &Server, account: u32, children: &str| {
        let reply = server.ask(&format!("<transactions id=\"{account}\">{children}</transactions>"));
        reply.trim_end().replace("<results>", "").replace("</results>", "")
    };
    let server = Launch::new(&folder.data()).start();
    server.ask(
        "<create><account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"1000\"/><symbol sym=\"S\"/></create>",
    );
    let order = "<order sym=\"S\" amount=\"5\" limit=\"2\"/>";
    act(&server, 1, &order.repeat(3));
    act(&server, 2, &format!("<protect grace=\"1s\"/>{order}"));
    server.kill();

    let server = Launch::new(&folder.data()).with("--disk-low 4000000GiB").start();
    let http = Http::new(server.http);
    let replaced = act(&server, 1, "<replace id=\"1\" sym=\"S\" amount=\"1\" limit=\"1\" on-failure=\"place\"/>");
    let canceled = "<replaced><canceled id=\"1\"><canceled shares=\"5\"";
    let refused = format!("</canceled><error sym=\"S\" amount=\"1\" limit=\"1\">{low}</error></replaced>");
    assert!(replaced.starts_with(canceled) && replaced.ends_with(&refused), "{replaced}");
    let all = act(&server, 1, "<cancel-all/><cancel-all/><protect grace=\"5s\"/>");
    assert_eq!(
        all,
        format!("<canceled-all orders=\"2\"/><canceled-all orders=\"0\"/><error grace=\"5s\">{low}</error>")
    );
    // The protection of before holds, and its grace runs.
    wait_until("the orders of a protected account are canceled", PATIENCE, || {
        http.read("/api/v1/accounts/2")["open_orders"] == 0
    });
    let killed = server.ask("<create><kill account=\"1\"/><release account=\"1\"/><release/></create>");
    let refused = format!("<error account=\"1\">{low}</error><error>{low}</error>");
    assert_eq!(killed, format!("<results><killed account=\"1\" orders=\"0\"/>{refused}</results>\n"));
    server.stop();

    let server = Launch::new(&folder.data()).start();
    assert!(act(&server, 1, order).contains("Kill switch: this account"), "it is killed over the restart");
    server.ask("<create><release account=\"1\"/></create>");
    assert!(act(&server, 1, order).contains("<opened"));
    server.stop();
}

/// Cancels that found nothing to cancel once were journaled even when the disk was low, until it was full and the
/// server ended.
#[test]
fn vain_cancels_below_the_low_water_are_answered_and_take_nothing_of_the_disk() {
    let Some(disk) = SmallDisk::mount("32m") else { return };
    let data = disk.path().join("data");
    // If the cancels were journaled, they would take more than four times the free space.
    let launch = Launch::new(&data).with("--segment-size 64KiB --snapshot-every 100000 --disk-low 2MiB");
    let server = launch.start();
    let http = Http::new(server.http);
    let mut client = server.client();
    client.ask(
        "<create><account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"0\"/><symbol sym=\"S\"/></create>",
    );
    let order = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>";
    client.ask(&format!("<transactions id=\"1\">{}<cancel id=\"1\"/></transactions>", order.repeat(4)));
    for id in ["open", "done"] {
        let named =
            json!({"account": "1", "symbol": "S", "side": "buy", "limit": "1", "shares": "1", "client_order_id": id});
        assert_eq!(http.post("/api/v1/orders", &named).status, 201);
    }
    assert_eq!(http.delete("/api/v1/orders/by-client-id/done?account=1").status, 200);
    disk.fill_but(1 << 20);
    let few = format!("<transactions id=\"2\">{order}</transactions>");
    wait_until("orders to be refused", PATIENCE, || client.ask(&few).contains("disk is nearly full"));
    let (before, free) = (server.state()["sequence"].as_u64().unwrap(), disk.free());

    let mut flood = |account: &str, order: &str, refusal: &str, times: usize| {
        let cancel = format!("<cancel id=\"{order}\"/>");
        let request = format!("<transactions id=\"{account}\">{}</transactions>", cancel.repeat(10_000));
        let refused = format!("<error id=\"{order}\">{refusal}</error>");
        for _ in 0..times {
            let told = client.ask(&request);
            assert_eq!(told, format!("<results>{}</results>\n", refused.repeat(10_000)), "{told:.200}");
        }
    };
    flood("777", "1", "Unknown account", 25);
    flood("1", "9999999", "Unknown order", 25);
    flood("1", "1", "Order has nothing open to cancel", 25);
    flood("2", "2", "Unknown order", 25);
    for (path, status) in [
        ("orders/1?account=1", 409),
        ("orders/by-client-id/done?account=1", 409),
        ("orders/by-client-id/none?account=1", 404),
    ] {
        let told = http.delete(&format!("/api/v1/{path}"));
        assert_eq!(told.status, status, "{path}: {}", told.text);
    }
    assert_eq!(server.state()["sequence"], before, "what changes nothing is not journaled");

    // A cancel that frees something is still done, once.
    let request = format!("<transactions id=\"1\">{}</transactions>", "<cancel id=\"2\"/>".repeat(10_000));
    let told = client.ask(&request);
    let vain = "<error id=\"2\">Order has nothing open to cancel</error>".repeat(9_999);
    assert!(told.starts_with("<results><canceled id=\"2\"><canceled shares=\"1\" time=\""), "{told:.200}");
    assert!(told.ends_with(&format!("</canceled>{vain}</results>\n")), "{told:.200}");
    assert_eq!(http.delete("/api/v1/orders/by-client-id/open?account=1").status, 200);
    assert!(client.ask("<transactions id=\"1\"><cancel id=\"3\"/></transactions>").contains("<canceled id=\"3\">"));
    assert_eq!(server.state()["sequence"], before + 3, "each open order is canceled once");
    let taken = free.saturating_sub(disk.free());
    assert!(taken < 256 << 10, "{taken} bytes of the disk");

    server.stop();
    let state = state_of(&data);
    assert_eq!((&state["sequence"], &state["totals"]["open_orders"]), (&json!(before + 3), &json!(1)));
    let server = launch.start();
    assert_eq!(server.state(), state, "a start finds the same");
    server.stop();
}
