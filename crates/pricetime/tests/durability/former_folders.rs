//! Data folders of the previous version, which kept done orders in an archive beside the history: this version tells
//! the same of their orders, and removes the archive. `folders/` has one folder whose feed was off, so that only the
//! archive has the done orders, and one whose feed was on. In both, order 1 is a sell of 10 at 5 by account 1, with
//! executions of 4, 2 and 3 by orders 2, 5 and 6 of account 2; order 3 of account 2 and order 4 of account 1 are
//! canceled. A third folder has orders that waited, from before there were notes.
//! were notes.

use std::path::Path;
use std::process::Command;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::packed::unpack;
use crate::common::server::{Launch, Server};
use serde_json::{Value, json};

fn told(server: &Server) -> [String; 2] {
    let queries = |orders: &[u64]| orders.iter().map(|id| format!("<query id=\"{id}\"/>")).collect::<String>();
    let ask = |account, orders: &[u64]| {
        server.ask(&format!("<transactions id=\"{account}\">{}</transactions>", queries(orders)))
    };
    [ask("1", &[1, 4, 2]), ask("2", &[2, 3, 5, 6, 1])]
}

/// The orders as that version told them, but for the times.
fn expected() -> [String; 2] {
    let executed = |shares: u64| format!("<executed shares=\"{shares}\" price=\"5\" time=\"T\"/>");
    let canceled =
        |order: u64, shares: u64| format!("<status id=\"{order}\"><canceled shares=\"{shares}\" time=\"T\"/></status>");
    let status = |order: u64, shares: u64| format!("<status id=\"{order}\">{}</status>", executed(shares));
    let unknown = |order: u64| format!("<error id=\"{order}\">Unknown order</error>");
    let partly = format!("<open shares=\"1\"/>{}{}{}", executed(4), executed(2), executed(3));
    let of_one = format!("<status id=\"1\">{partly}</status>{}{}", canceled(4, 9), unknown(2));
    let of_two = [status(2, 4), canceled(3, 7), status(5, 2), status(6, 3), unknown(1)].concat();
    [of_one, of_two].map(|told| format!("<results>{told}</results>"))
}

fn without_times(told: &str) -> String {
    let mut parts = told.trim_end().split(" time=\"");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, part| format!("{all} time=\"T\"{}", part.split_once('"').unwrap().1))
}

fn goes_on(name: &str, settings: &str) {
    let folder = Folder::new(&format!("former-{name}"));
    let data = unpack(name, &folder);
    let copy = folder.path().join("copy");
    let backup = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("backup").args([&data, &copy]).output().unwrap();
    assert!(backup.status.success(), "{backup:?}");
    for data in [data, copy] {
        let launch = Launch::new(&data).with(settings);
        let server = launch.start();
        assert_eq!(told(&server).map(|told| without_times(&told)), expected());
        assert!(!data.join("archive.redb").exists() && !data.join("archive.gate").exists());
        // What was open then is done now: with what it had executed before.
        server.ask("<transactions id=\"2\"><order sym=\"S\" amount=\"1\" limit=\"5\"/></transactions>");
        let [of_one, _] = told(&server);
        assert!(!of_one.contains("<open") && of_one.matches("<executed").count() == 4, "{of_one}");
        server.kill();
        let server = launch.start();
        assert_eq!(told(&server)[0], of_one);
        server.stop();
        let server = launch.start();
        assert_eq!(told(&server)[0], of_one);
        server.stop();
        let checked = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("verify").arg(&data).output().unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
}

#[test]
fn a_folder_whose_done_orders_are_in_the_archive_alone_goes_on() {
    goes_on("quiet", "--feed=false");
    goes_on("quiet", "");
}

#[test]
fn a_folder_that_has_all_in_its_history_goes_on() {
    goes_on("looked", "--feed=false");
    goes_on("looked", "");
}

/// The previous version kept no notes. Of the three orders that waited, one was triggered and is done, one was
/// triggered and is in the book, and one still waits.
#[test]
fn a_folder_whose_history_has_no_notes_goes_on_and_gets_them() {
    let folder = Folder::new("former-waited");
    let launch = Launch::new(&unpack("waited", &folder));
    let data = folder.path().join("waited");
    let version = || std::fs::read(data.join("history/checkpoint")).unwrap()[7];
    let shown = |server: &Server| {
        let http = Http::new(server.http);
        [1, 2, 3].map(|order| {
            let order = http.read(&format!("/api/v1/orders/{order}?account=1"));
            json!([order["status"], order["waits"], order["triggered_time"], order["executed"]])
        })
    };
    assert_eq!(version(), 4);
    let server = launch.start();
    let [sold, rests, waits] = [["executed", "3"], ["open", "0"], ["open", "0"]];
    let before = [json!([sold[0], false, null, sold[1]]), json!([rests[0], false, null, rests[1]])];
    assert_eq!(shown(&server)[..2], before);
    assert_eq!(shown(&server)[2], json!([waits[0], true, null, waits[1]]));
    server.stop();
    assert_eq!(version(), 4, "an older program reads what has no notes");
    let server = launch.start();
    // The second order sells its four shares. Then one more share is sold for 15, which triggers the third order, and
    // that one buys the rest.
    server.ask(r#"<transactions id="2"><order sym="S" amount="-6" limit="15"/><order sym="S" amount="5" limit="15"/></transactions>"#);
    let after = shown(&server);
    let time = after[2][2].as_u64().expect("it was triggered by this version");
    let expected = [before[0].clone(), json!(["executed", false, null, "4"]), json!(["executed", false, time, "5"])];
    assert_eq!(after, expected);
    server.kill();
    let server = launch.start();
    assert_eq!(shown(&server), expected);
    let mut socket = Http::new(server.http).listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    let mut told = Vec::new();
    while told.last().is_none_or(|report: &Value| report["report"] != "executed" || report["order_id"] != 3) {
        told.extend(socket.next()["reports"].as_array().into_iter().flatten().cloned());
    }
    let triggered: Vec<_> = told.iter().filter(|report| report["report"] == "triggered").collect();
    assert_eq!(triggered.len(), 1, "what was before notes were kept nobody knows: {triggered:?}");
    assert_eq!([&triggered[0]["order_id"], &triggered[0]["time"]], [&json!(3), &json!(time)]);
    server.stop();
    assert_eq!(version(), 6);
    let server = launch.start();
    assert_eq!(shown(&server), expected);
    server.stop();
    let checked = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("verify").arg(&data).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    assert!(String::from_utf8_lossy(&checked.stdout).contains("notes up to command"), "{checked:?}");
}

/// Whichever of its bits flips: the archive is read correctly, or the start fails with the file's name and leaves the
/// file in place.
#[test]
fn a_damaged_archive_is_told_rightly_or_refused_by_name() {
    let folder = Folder::new("former-damaged");
    let sound = unpack("quiet", &folder);
    let bytes = std::fs::read(sound.join("archive.redb")).unwrap();
    let written: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
    let (mut refused, mut whole) = (0, 0);
    for &at in written.iter().step_by(written.len() / 40) {
        let data = folder.path().join(format!("changed-{at}"));
        copy(&sound, &data);
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(data.join("archive.redb"), changed).unwrap();
        match Launch::new(&data).try_start() {
            Ok(server) => {
                assert_eq!(told(&server).map(|told| without_times(&told)), expected(), "byte {at}");
                whole += 1;
                server.kill();
            }
            Err(ended) => {
                assert!(!ended.status.success() && ended.stderr.contains("archive.redb"), "byte {at}: {ended:?}");
                assert!(data.join("archive.redb").exists());
                refused += 1;
            }
        }
    }
    assert!(refused > 1 && whole > 1, "{refused} refused, {whole} whole");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
