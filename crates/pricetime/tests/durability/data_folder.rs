//! Damage that operators and disks may do to a data folder: damaged snapshots, files that are removed while the server
//! runs, read-only folders, and a disk without room for the next journal file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::folder::Folder;
use crate::common::load::{fill, load_together};
use crate::common::members::AccessFile;
use crate::common::port;
use crate::common::server::{Launch, PATIENCE, Server, state_of};
use crate::common::small_disk::SmallDisk;
use crate::common::trace::{require_strace, traced};
use crate::common::wait::wait_until;
use rustix::process::Signal;

/// Files are small and snapshots frequent, so that a short test has all of them.
const SMALL: &str = "--segment-size 64KiB --snapshot-every 500";

fn named(folder: &Path, start: &str, end: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let fits = all.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_str().unwrap();
        name.starts_with(start) && name.ends_with(end)
    });
    let mut found: Vec<PathBuf> = fits.map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn snapshots(data: &Path) -> Vec<PathBuf> {
    named(data, "snapshot-", ".snap")
}

/// Sends load until there is a snapshot newer than `newer_than`, and then some more, so that the files which it makes
/// superfluous are removed.
fn load_past_a_snapshot(server: &Server, data: &Path, newer_than: Option<&PathBuf>) {
    wait_until("a newer snapshot", PATIENCE, || {
        load_together(server.xml, 2, 200);
        snapshots(data).last() > newer_than
    });
    for _ in 0..3 {
        load_together(server.xml, 2, 100);
    }
}

fn damage(file: &Path) {
    let mut bytes = std::fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file, bytes).unwrap();
}

/// A start has nothing to begin from if the newest snapshot is damaged and journal files are removed up to it. Once a
/// damaged snapshot counted as a generation, and the next snapshot caused the removal of the sound one.
#[test]
fn one_damaged_snapshot_after_the_other_is_survived() {
    let folder = Folder::new("damaged-snapshots");
    let data = folder.data();
    let launch = Launch::new(&data).with(SMALL);
    let server = launch.start();
    wait_until("retired journal files", PATIENCE, || {
        load_together(server.xml, 2, 300);
        snapshots(&data).len() > 1 && !data.join("journal-00000000000000000001.log").exists()
    });
    load_past_a_snapshot(&server, &data, snapshots(&data).last());
    server.kill();
    for _ in 0..3 {
        let before = state_of(&data)["state_hash"].clone();
        let newest = snapshots(&data).pop().unwrap();
        damage(&newest);
        let server = launch.start();
        let name = newest.file_name().unwrap().to_str().unwrap();
        assert!(server.banner.contains(name), "the banner names the damaged one: {}", server.banner);
        assert_eq!(state_of(&data)["state_hash"], before);
        load_past_a_snapshot(&server, &data, Some(&newest));
        server.kill();
    }
}

/// Removes or replaces a file of a running server's folder.
fn displace(what: &str, displace: impl FnOnce(&Path) -> PathBuf) {
    let folder = Folder::new("displaced");
    let data = folder.data();
    let launch = Launch::new(&data).with(SMALL);
    let mut server = launch.start();
    load_past_a_snapshot(&server, &data, None);
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    let displaced = displace(&data);
    let ended = server.process.wait_for_end(PATIENCE);
    assert!(ended.status.code().is_some_and(|code| code != 0), "{what}: {ended:?}");
    // A thread that needed the file may have missed it before the server checked its files.
    let name = displaced.file_name().unwrap().to_str().unwrap();
    assert!(ended.stderr.lines().any(|line| line.contains("ERROR") && line.contains(name)), "{what}: {ended:?}");
}

fn removed(path: PathBuf) -> PathBuf {
    std::fs::remove_file(&path).unwrap();
    path
}

/// A server that lost a file once went on acknowledging commands, in files that no start would ever find.
#[test]
fn a_server_that_loses_a_file_says_so_and_stops() {
    displace("the journal file being written", |data| removed(named(data, "journal-", ".log").pop().unwrap()));
    displace("the oldest journal file", |data| removed(named(data, "journal-", ".log").remove(0)));
    displace("a snapshot", |data| removed(snapshots(data).pop().unwrap()));
    displace("a table of the history", |data| removed(data.join("history/orders-000000.tab")));
    displace("the history", |data| {
        std::fs::rename(data.join("history"), data.with_extension("history")).unwrap();
        data.join("history")
    });
    displace("a table of the history that is another file", |data| {
        let table = data.join("history/orders-000000.tab");
        std::fs::copy(&table, data.join("copy")).unwrap();
        std::fs::rename(data.join("copy"), &table).unwrap();
        table
    });
    displace("the folder", |data| {
        std::fs::rename(data, data.with_extension("moved")).unwrap();
        data.to_owned()
    });
}

#[test]
fn a_second_server_is_kept_out_whatever_becomes_of_the_lock_file() {
    let folder = Folder::new("second-server");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    std::fs::remove_file(folder.data().join("lock")).unwrap();
    let refused = launch.try_start().map(|_| ()).unwrap_err();
    assert!(!refused.status.success() && refused.stderr.contains("in use"), "{refused:?}");
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    server.stop();
}

/// All files of a folder with their sizes, times and modes, which show whether something touched them.
fn listing(folder: &Path) -> BTreeMap<PathBuf, (u64, i64, i64, u32)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        found.insert(path.clone(), (metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.mode()));
        if metadata.is_dir() {
            found.extend(listing(&path));
        }
    }
    found
}

fn change_modes(folder: &Path, file: u32, directory: u32) {
    for path in listing(folder).keys().chain([&folder.to_owned()]) {
        let mode = if path.is_dir() { directory } else { file };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
}

/// Operators inspect copies of folders on disks that are mounted read-only.
#[test]
fn commands_that_read_write_nothing() {
    let folder = Folder::new("read-only");
    let data = folder.data();
    let server = Launch::new(&data).with(SMALL).start();
    load_past_a_snapshot(&server, &data, None);
    // After a crash the folder contains things that a start would repair.
    server.kill();
    change_modes(&data, 0o400, 0o500);
    let before = listing(&data);
    let calls = "trace=openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,chmod,fchmod,fchmodat,\
                 ftruncate,truncate,fallocate,write,pwrite64";
    let copy = folder.path().join("copy");
    let commands: [(&[&str], &[&Path]); 5] = [
        (&["state"], &[&data]),
        (&["journal", "verify"], &[&data]),
        (&["journal", "dump"], &[&data]),
        (&["journal", "stats"], &[&data]),
        (&["backup"], &[&data, &copy]),
    ];
    for (words, folders) in commands {
        let trace = traced(&folder.path().join("trace"), calls, words, folders);
        // Paths in quotes are arguments, and paths in angle brackets belong to open files.
        let inside = [format!("\"{}", data.display()), format!("<{}", data.display())];
        let touching = trace.lines().filter(|line| inside.iter().any(|path| line.contains(path)));
        let (reading, writing): (Vec<&str>, Vec<&str>) = touching
            .partition(|line| line.contains("openat(") && line.contains("O_RDONLY") && !line.contains("O_CREAT"));
        assert!(writing.is_empty() && !reading.is_empty(), "{words:?}: {writing:?}");
        assert_eq!(listing(&data), before, "{words:?}");
    }
    change_modes(&data, 0o600, 0o700);
    let (copied, original) = (state_of(&copy), state_of(&data));
    assert_eq!(copied["state_hash"], original["state_hash"]);
}

fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let inside = listing(folder).into_iter().map(|(path, (.., mode))| (path, mode & 0o777));
    inside.chain([(folder.to_owned(), std::fs::metadata(folder).unwrap().mode() & 0o777)]).collect()
}

#[test]
fn what_is_made_is_its_owners_alone_unless_asked_otherwise() {
    for (asked, file, directory) in [("", 0o600, 0o700), ("--umask 027", 0o640, 0o750)] {
        let folder = Folder::new("modes");
        let server = Launch::new(&folder.data()).with(SMALL).with(asked).start();
        load_past_a_snapshot(&server, &folder.data(), None);
        let copy = folder.path().join("above/copy");
        let output = Command::new(env!("CARGO_BIN_EXE_pricetime"))
            .arg("backup")
            .args(asked.split_whitespace())
            .args([&folder.data(), &copy])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        server.stop();
        let made = [modes(&folder.data()), modes(&copy), vec![(copy.clone(), directory)]].concat();
        for (path, mode) in made {
            let expected = if path.is_dir() { directory } else { file };
            assert_eq!(mode, expected, "{}: {mode:o} and not {expected:o}", path.display());
        }
    }
}

/// A crash loses all files in a new folder whose name is not durable, although the files are durable.
#[test]
fn a_new_folder_is_durable_in_the_one_above() {
    require_strace();
    let folder = Folder::new("new-folders");
    let (server_trace, data) = (folder.path().join("server-trace"), folder.data());
    let output = server_trace.to_str().unwrap();
    let calls = "trace=mkdir,mkdirat,fsync";
    let wrapper = ["strace", "-D", "-f", "-qq", "-y", "-s", "4096", "-e", calls, "-o", output];
    let server = Launch::new(&data).through(&wrapper).start();
    let read = || std::fs::read_to_string(&server_trace).unwrap();
    check_durable(&read(), &[&data, &data.join("history")]);
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    server.stop();
    let copy = folder.path().join("deep/copy");
    let trace = traced(&folder.path().join("trace"), calls, &["backup"], &[&data, &copy]);
    check_durable(&trace, &[&folder.path().join("deep"), &copy, &copy.join("history")]);
}

fn check_durable(trace: &str, folders: &[&Path]) {
    for folder in folders {
        let made = format!("(\"{}\"", folder.display());
        let mut behind = trace.lines().skip_while(|line| !(line.contains(&made) && line.ends_with("= 0")));
        assert!(behind.next().is_some(), "{} is made: {trace}", folder.display());
        let above = format!("<{}>)", folder.parent().unwrap().display());
        let synced = behind.any(|line| line.contains("fsync(") && line.contains(&above) && line.ends_with("= 0"));
        assert!(synced, "{} is durable: {trace}", folder.display());
    }
}

/// The last write of a stopping server once failed without an error.
#[test]
fn a_write_that_fails_while_stopping_is_an_error() {
    let folder = Folder::new("failed-stop");
    let mut server = Launch::new(&folder.data()).start();
    server
        .ask(r#"<create><account id="1" balance="1"/><symbol sym="S"><account id="1">900</account></symbol></create>"#);
    let orders = r#"<order sym="S" amount="-1" limit="5"/>"#.repeat(300);
    server.ask(&format!(r#"<transactions id="1">{orders}</transactions>"#));
    let journal = folder.data().join("journal-00000000000000000001.log");
    // The journal has nothing left to write, so that it is the history's write which fails.
    wait_until("the journal's mark", PATIENCE, || {
        let bytes = std::fs::read(&journal).unwrap();
        bytes.windows(4).filter(|window| *window == b"PTBA").count() >= 3
    });
    // The limit allows the log and the present size of the journal.
    let limited =
        Command::new("prlimit").args(["--fsize=16384", &format!("--pid={}", server.process.id())]).status().unwrap();
    assert!(limited.success());
    server.process.signal(Signal::TERM);
    let ended = server.process.wait_for_end(PATIENCE);
    assert!(ended.status.code().is_some_and(|code| code != 0), "{ended:?}");
    assert!(ended.stderr.contains("orders-000000.tab") && ended.stderr.contains("File too large"), "{ended:?}");
    let server = Launch::new(&folder.data()).start();
    assert!(server.ask("<create><account id=\"1\" balance=\"1\"/></create>").contains("<error"));
}

#[test]
fn a_snapshot_that_cannot_be_written_while_stopping_is_an_error() {
    let folder = Folder::new("failed-snapshot");
    let mut server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    std::fs::create_dir(folder.data().join("snapshot-00000000000000000001.snap.tmp")).unwrap();
    server.process.signal(Signal::TERM);
    let ended = server.process.wait_for_end(PATIENCE);
    assert!(ended.status.code().is_some_and(|code| code != 0), "{ended:?}");
    assert!(ended.stderr.contains("snapshot-00000000000000000001.snap.tmp"), "{ended:?}");
}

/// A log that could not be written once ended the server.
#[test]
fn a_log_that_takes_nothing_stops_nobody() {
    let folder = Folder::new("full-log");
    let server = Launch::new(&folder.data()).through(&["sh", "-c", "exec \"$@\" 2>/dev/full", "sh"]).start();
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    server.stop();
}

/// The space that should remain free once did not suffice for the next journal file, and creating it ended the server.
#[test]
fn orders_are_refused_before_there_is_no_room_for_the_next_journal_file() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let data = disk.path().join("data");
    let server = Launch::new(&data).with("--segment-size 16MiB --disk-low 1MiB").start();
    let mut client = server.client();
    client.ask("<create><account id=\"1\" balance=\"1000\"/><symbol sym=\"S\"/></create>");
    let mut order = || client.ask("<transactions id=\"1\"><order sym=\"S\" amount=\"1\" limit=\"1\"/></transactions>");
    assert!(order().contains("<opened"));
    disk.fill_but(8 << 20);
    wait_until("orders to be refused", PATIENCE, || order().contains("disk is nearly full"));
    disk.make_room();
    wait_until("orders to be taken", PATIENCE, || order().contains("<opened"));
    server.stop();
}

/// A server with a low disk once said nothing, and claimed to be ready for everything.
#[test]
fn a_disk_that_is_low_at_the_start_is_told() {
    let Some(disk) = SmallDisk::mount("64m") else { return };
    let data = disk.path().join("data");
    let launch = Launch::new(&data).with("--segment-size 1MiB --disk-low 16MiB");
    launch.start().stop();
    disk.fill_but(8 << 20);
    let server = launch.start();
    assert!(server.banner.contains("warning    the disk is nearly full"), "{}", server.banner);
    let ready = server.readiness();
    assert!(ready.starts_with("HTTP/1.1 200") && ready.contains("\"status\":\"disk-low\""), "{ready}");
    let refused = server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    assert!(refused.contains("disk is nearly full"), "{refused}");
    let log = server.process.log();
    assert!(log.lines().any(|line| line.contains("ERROR") && line.contains("disk is nearly full")), "{log}");
    disk.make_room();
    wait_until("the disk to have room", PATIENCE, || server.readiness().contains("\"status\":\"ok\""));
    server.stop();
}

/// A server that was told to stop once read its journal to the end first, for more than a minute.
#[test]
fn a_server_that_is_asked_to_stop_while_it_recovers_stops() {
    require_strace();
    let folder = Folder::new("stopped-recovery");
    let launch = Launch::new(&folder.data()).with("--segment-size 64KiB");
    let server = launch.start();
    while named(&folder.data(), "journal-", ".log").len() < 5 {
        fill(&server);
    }
    // It is killed, so that there is no snapshot of an orderly stop.
    server.kill();
    let trace = folder.path().join("trace");
    // Each read of a file takes so long that all of them together would take far longer than this test waits.
    let slowly = ["strace", "-D", "-f", "-qq", "-y", "-o", trace.to_str().unwrap(), "-e", "trace=pread64", "-e"];
    let slowly = [&slowly[..], &["inject=pread64:delay_enter=10s"]].concat();
    let mut process = launch.clone().through(&slowly).spawn();
    wait_until("it to read the journal", PATIENCE, || {
        std::fs::read_to_string(&trace).is_ok_and(|trace| trace.contains("/journal-"))
    });
    process.signal(Signal::TERM);
    let ended = process.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let server = launch.start();
    assert!(server.ask("<create><account id=\"1\" balance=\"1\"/></create>").contains("<"), "it is served");
    server.stop();
}

/// A regression: it ended without an orderly stop, though clients over XML were answered while it waited to take
/// signed requests.
#[test]
fn a_server_that_is_asked_to_stop_as_soon_as_clients_reach_it_stops_in_good_order() {
    let folder = Folder::new("stopped-early");
    let launch = AccessFile::new(&folder).launch(&folder);
    let server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    server.stop();
    let mut process = launch.spawn();
    wait_until("it to listen for HTTP and then for XML", PATIENCE, || listening(process.id()) > 1);
    process.signal(Signal::TERM);
    let ended = process.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.stderr.contains("stopped"), "{ended:?}");
}

/// Counts the sockets on which a process listens.
fn listening(process: u32) -> usize {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    // The fourth word of a line is the state, 0A of one that listens; the tenth one is the socket's number.
    let words = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let all: Vec<String> =
        words.filter(|words| words[3] == "0A").map(|words| format!("socket:[{}]", words[9])).collect();
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
    links.filter(|link| all.iter().any(|socket| Path::new(socket) == link)).count()
}

/// A start with members on a wrong folder, or one that it cannot use, once noted there that the market has members. The
/// folder was then refused without their access file.
#[test]
fn a_start_that_fails_notes_no_members() {
    let folder = Folder::new("not-its-market");
    let server = Launch::new(&folder.data()).start();
    server.ask("<create><account id=\"1\" balance=\"1\"/></create>");
    server.stop();
    let with_members = AccessFile::new(&folder).launch(&folder);
    let (mark, history) = (folder.data().join("members"), folder.data().join("history"));
    let checkpoint = std::fs::read(history.join("checkpoint")).unwrap();
    std::fs::write(history.join("checkpoint"), b"damaged").unwrap();
    with_members.try_start().map(|_| ()).expect_err("a damaged history was served");
    assert!(!mark.exists());
    std::fs::write(history.join("checkpoint"), checkpoint).unwrap();
    with_members.start().stop();
    assert!(mark.exists());
}

/// A regression: a demo that was stopped while it read its market left the folder of it.
#[test]
fn a_demo_that_is_stopped_while_it_recovers_removes_its_folder() {
    let folder = Folder::new("stopped-demo");
    let http = SocketAddr::from(([127, 0, 0, 1], port::free()));
    let mut process = Launch::new(&folder.data()).with_traders().on_http(http).spawn();
    let made = std::env::temp_dir().join(format!("pricetime-demo-{}", process.id()));
    // Its health is served from the beginning of the recovery on.
    wait_until("it to serve its health", PATIENCE, || std::net::TcpStream::connect(http).is_ok());
    assert!(made.exists(), "{made:?}");
    process.signal(Signal::INT);
    let ended = process.wait_for_end(PATIENCE);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(!made.exists(), "{ended:?}");
}
