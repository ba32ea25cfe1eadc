//! Data folders that the version before left, which kept done orders in an archive beside the history: what it told of its orders
//! is told by this version, too, and the archive is gone. `folders/` has one whose feed was off, so that the archive alone has the
//! done orders, and one whose feed was on. In both: 1 a sell of 10 at 5 of account 1 with executions of 4, 2 and 3, by orders 2, 5
//! and 6 of account 2; order 3 of account 2 and order 4 of account 1 are canceled.

use std::path::Path;
use std::process::Command;

use crate::common::folder::Folder;
use crate::common::packed::unpack;
use crate::common::server::{Launch, Server};

fn told(server: &Server) -> [String; 2] {
    let queries = |orders: &[u64]| orders.iter().map(|id| format!("<query id=\"{id}\"/>")).collect::<String>();
    let ask = |account, orders: &[u64]| {
        server.ask(&format!("<transactions id=\"{account}\">{}</transactions>", queries(orders)))
    };
    [ask("1", &[1, 4, 2]), ask("2", &[2, 3, 5, 6, 1])]
}

/// As that version told it, but for the times.
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

/// Whatever bit of it changed: it is told rightly, or the start is refused with the file's name and leaves it where it is.
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
