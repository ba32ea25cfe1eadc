//! Backups of a server that goes on serving: neither waits long for the other, and the copy is complete.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::load::{fill, load_together};
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::trace::traced;
use crate::common::wait::{wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};

/// Files are small and snapshots frequent, so that a short test has all of them.
const SMALL: &str = "--segment-size 64KiB --snapshot-every 500";

/// The number of snapshots in a data folder.
fn snapshots(data: &Path) -> usize {
    let names = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".snap")).count()
}

/// Places an order and cancels it, so that there is a done order. Returns its id.
fn done_order(client: &mut Client) -> String {
    let placed = client.ask(r#"<transactions id="1"><order sym="S" amount="-1" limit="7"/></transactions>"#);
    let id = placed.split(" id=\"").nth(1).unwrap().split('"').next().unwrap().to_string();
    let canceled = client.ask(&format!(r#"<transactions id="1"><cancel id="{id}"/></transactions>"#));
    assert!(canceled.contains("<canceled"), "{canceled}");
    id
}

fn with_an_account(launch: &Launch) -> Server {
    let server = launch.start();
    let made = server
        .ask(r#"<create><account id="1" balance="9"/><symbol sym="S"><account id="1">9</account></symbol></create>"#);
    assert!(!made.contains("<error"), "{made}");
    server
}

/// A process that is killed when the test ends.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn backup(data: &Path, copy: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    command.env_clear().arg("backup").args([data, copy]).stdout(Stdio::null());
    command
}

#[test]
fn a_backup_that_was_stopped_holds_up_nobody_and_goes_on_later() {
    let folder = Folder::new("stopped-backup");
    let launch = Launch::new(&folder.data()).with(SMALL);
    let server = launch.start();
    load_together(server.xml, 2, 600);
    let copy = folder.path().join("copy");
    let mut running = Running(backup(&folder.data(), &copy).spawn().unwrap());
    wait_until("the backup to copy", PATIENCE, || copy.join("history").exists());
    running.signal(Signal::STOP);
    load_together(server.xml, 2, 600);
    server.stop();
    let server = launch.start();
    running.signal(Signal::CONT);
    let status = wait_for("the end of the backup", PATIENCE, || running.0.try_wait().unwrap());
    assert!(status.success(), "{status}");
    server.stop();
    Launch::new(&copy).with(SMALL).start().stop();
}

#[test]
fn backups_of_a_server_where_orders_are_done_all_the_time_are_whole() {
    let folder = Folder::new("busy-backup");
    let server = with_an_account(&Launch::new(&folder.data()).with(SMALL));
    let (stop, mut client) = (AtomicBool::new(false), server.client());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                done_order(&mut client);
            }
        });
        for number in 0..5 {
            let copy = folder.path().join(format!("copy-{number}"));
            let output = backup(&folder.data(), &copy).stderr(Stdio::piped()).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            stop.fetch_or(!output.status.success(), Ordering::Relaxed);
            assert!(output.status.success(), "{stderr}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    server.stop();
}

/// A journal that was copied before the other files may end before the snapshot does, or before the history does.
#[test]
fn the_journal_is_copied_behind_all_else() {
    let folder = Folder::new("backup-order");
    let server = Launch::new(&folder.data()).with(SMALL).start();
    load_together(server.xml, 2, 900);
    wait_until("a snapshot that can be copied", PATIENCE, || snapshots(&folder.data()) > 0);
    let (copy, trace) = (folder.path().join("copy"), folder.path().join("trace"));
    let text = traced(&trace, "trace=openat", &["backup"], &[&folder.data(), &copy]);
    server.stop();
    let begin = format!("\"{}/", copy.display());
    // Only copies are opened for writing alone. The check that follows the copying opens files for reading, too.
    let copied: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("O_WRONLY"))
        .filter_map(|line| line.split_once(&begin)?.1.split('"').next())
        .collect();
    let last = |start: &str| copied.iter().rposition(|name| name.starts_with(start));
    // The records up to which the checkpoint counts are copied after it.
    let order = ["snapshot-", "history/checkpoint", "history/orders-"].map(last);
    assert!(order.is_sorted() && order[0].is_some(), "{copied:?}");
    let journal = copied.iter().position(|name| name.starts_with("journal-"));
    assert!(journal > last("history/"), "{copied:?}");
}

/// The copy had the damaged snapshot: with all of the journal it was called sound, and otherwise there was no copy.
#[test]
fn a_backup_takes_the_newest_snapshot_that_can_be_read() {
    for more in ["", "--keep-journal"] {
        let folder = Folder::new("backup-snapshot");
        let (data, copy) = (folder.data(), folder.path().join("copy"));
        let server = Launch::new(&data).with(SMALL).with(more).start();
        wait_until("two snapshots", PATIENCE, || {
            fill(&server);
            let is_retired = !data.join("journal-00000000000000000001.log").exists();
            snapshots(&data) > 1 && (is_retired || !more.is_empty())
        });
        server.kill();
        let names = std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path());
        let newest = names.filter(|path| path.extension().is_some_and(|ending| ending == "snap")).max().unwrap();
        let mut bytes = std::fs::read(&newest).unwrap();
        bytes[100] ^= 1;
        std::fs::write(&newest, bytes).unwrap();
        let output = backup(&data, &copy).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{more}: {}", String::from_utf8_lossy(&output.stderr));
        let verified = Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().arg("verify").arg(&copy).output();
        let verified = verified.unwrap();
        assert!(verified.status.success(), "{more}: {}", String::from_utf8_lossy(&verified.stdout));
    }
}

/// A power cut may remove a finished copy that is not synced.
#[test]
fn all_of_a_backup_is_synced_before_it_counts() {
    let folder = Folder::new("synced-backup");
    let server = with_an_account(&Launch::new(&folder.data()).with(SMALL));
    done_order(&mut server.client());
    wait_until("a snapshot that can be copied", PATIENCE, || {
        fill(&server);
        snapshots(&folder.data()) > 0
    });
    let (copy, trace) = (folder.path().join("copy"), folder.path().join("trace"));
    let text = traced(&trace, "trace=fsync,fdatasync,unlink,unlinkat", &["backup"], &[&folder.data(), &copy]);
    server.stop();
    let counts = text.lines().position(|line| line.contains("unlink") && line.contains("/copy/unfinished\"")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let is_synced = |path: &Path, lines: &[&str]| {
        let file = format!("<{}>", path.display());
        lines.iter().any(|line| line.contains("sync(") && line.contains(&file) && line.ends_with("= 0"))
    };
    let inside = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for path in inside(&copy).chain(inside(&copy.join("history"))).chain([copy.clone()]) {
        assert!(is_synced(&path, &lines[..counts]), "{} is synced before: {text}", path.display());
    }
    assert!(is_synced(&copy, &lines[counts..]), "that it counts is synced: {text}");
}

/// A member who was revoked could have keys again after a power cut if the change were not synced.
#[test]
fn a_change_of_the_access_file_is_synced() {
    let folder = Folder::new("synced-access");
    let (file, trace) = (folder.path().join("access.toml"), folder.path().join("trace"));
    for member in ["alice", "bob"] {
        let words = ["access", "add", file.to_str().unwrap(), "--member", member, "--role", "operator"];
        let text = traced(&trace, "trace=fsync,fdatasync,rename,renameat,renameat2", &words, &[]);
        let position = |words: &[&str]| text.lines().position(|line| words.iter().all(|word| line.contains(word)));
        let above = format!("<{}>", folder.path().display());
        let order = [
            position(&["sync(", "/access.toml.new>"]),
            position(&["sync(", "/access.toml.log>"]),
            position(&["rename", "/access.toml.new\""]),
            position(&["sync(", &above]),
        ];
        assert!(order.is_sorted() && order[0].is_some(), "{order:?}: {text}");
    }
}

/// A backup has no access file, and a server on one once opened the market to everybody.
#[test]
fn a_market_that_has_members_is_not_served_without_them() {
    let folder = Folder::new("members-known");
    let add = |file: &Path| {
        let mut access = Command::new(env!("CARGO_BIN_EXE_pricetime"));
        let added = access.args(["access", "add"]).arg(file).args(["--member", "olga", "--role", "operator"]).output();
        assert!(added.unwrap().status.success());
    };
    let (data, copy) = (folder.data(), folder.path().join("copy"));
    std::fs::create_dir_all(&data).unwrap();
    let launch = Launch::new(&data);
    let file = data.join("access.toml");
    add(&file);
    launch.start().stop();
    assert!(backup(&data, &copy).status().unwrap().success());
    assert!(!copy.join("access.toml").exists(), "secrets are in no backup");
    for data in [&data, &copy] {
        let _ = std::fs::remove_file(&file);
        let refused = Launch::new(data).try_start().map(|_| ()).unwrap_err();
        assert!(refused.stderr.contains("has members, and there is no access file"), "{refused:?}");
        Launch::new(data).with("--open-to-anyone").start().stop();
        let other = folder.path().join("other.toml");
        if !other.exists() {
            add(&other);
        }
        Launch::new(data).with(&format!("--access {}", other.display())).start().stop();
    }
    for text in ["", "[[member]]\nname = \"ol"] {
        std::fs::write(&file, text).unwrap();
        let refused = launch.try_start().map(|_| ()).unwrap_err();
        assert!(refused.stderr.contains("access.toml"), "{refused:?}");
    }
}
