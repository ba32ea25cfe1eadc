//! Copies of data folders that a program gives which is no node of the cluster, but may write to the log's servers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::trace::require_strace;

use super::log_servers::LogServers;
use super::nodes::{CREATE, node, sell};

/// A client that could write to the log's servers could lay an access file into the folder of a new node or a backup.
#[test]
fn a_copy_with_a_file_that_no_data_folder_has_is_refused_by_its_name_and_nothing_is_written() {
    let folder = Folder::new("cluster-copies");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let given = Arc::new(Mutex::new(String::new()));
    give_copies(servers.port(0), given.clone());
    for name in [
        "access.toml",
        "lock",
        "history",
        "journal-1.log",
        "history/access.toml",
        "history/orders-/../../../x",
        "history/../journal-00000000000000000001.log",
        "copy-taken/journal-00000000000000000001.log",
        "../x",
        "/tmp/x",
        "",
    ] {
        *given.lock().unwrap() = name.to_owned();
        let target = folder.path().join("copy");
        let backup =
            Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["backup", &url]).arg(&target).output().unwrap();
        let told = String::from_utf8(backup.stderr).unwrap();
        assert!(!backup.status.success() && told.contains(&format!("node 9 gives: {name:?} is no file")), "{told}");
        let found = std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(found.collect::<Vec<_>>(), ["unfinished"], "{name:?}");
        assert!(!folder.path().join("x").exists(), "{name:?}");
        std::fs::remove_dir_all(&target).unwrap();
    }
}

/// A client that could write to the log's servers could send orders to the terminals of operators.
#[test]
fn what_an_impostor_says_gives_no_terminal_an_order() {
    let folder = Folder::new("cluster-impostor");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    give_copies(servers.port(0), Arc::new(Mutex::new(REFUSED.to_owned())));
    let target = folder.path().join("copy");
    let backup = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["backup", &url]).arg(&target).output().unwrap();
    let told = String::from_utf8(backup.stderr).unwrap();
    assert!(told.contains("node 9: no") && !told.contains('\u{1b}'), "{told:?}");
    let status = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["cluster", "status", "--store", &url]).output();
    let told = String::from_utf8(status.unwrap().stdout).unwrap();
    assert!(told.contains("    9 ") && !told.contains('\u{1b}'), "{told:?}");
}

/// The moves of a join could be lost in a power cut if the folder went before them.
#[test]
fn a_join_that_was_cut_off_goes_on_and_its_moves_are_durable_before_its_folder_goes() {
    require_strace();
    let folder = Folder::new("cluster-join-goes-on");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let (data, trace) = (folder.path().join("node-1"), folder.path().join("trace"));
    let copy = data.join("copy-taken");
    let first = node(&folder, 1, &url).start();
    first.ask(CREATE);
    first.ask(&sell(1));
    first.stop();
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(&data).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("snapshot-") || name == "history" {
            std::fs::rename(entry.path(), copy.join(name)).unwrap();
        }
    }
    let calls = ["-e", "trace=rename,renameat,renameat2,fsync,rmdir,unlinkat"];
    let traced = [&["strace", "-D", "-f", "-qq", "-y", "-o", trace.to_str().unwrap()], &calls[..]].concat();
    let again = node(&folder, 1, &url).through(&traced).start();
    let told = again.ask("<transactions id=\"1\"><query id=\"1\"/></transactions>");
    assert!(told.contains("<open shares=\"1\"") && !copy.exists(), "{told}");
    again.stop();
    let text = std::fs::read_to_string(trace).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let behind = |from: usize, words: [&str; 2]| {
        let found = lines[from..].iter().position(|line| words.iter().all(|word| line.contains(word)));
        from + found.unwrap_or_else(|| panic!("{words:?}: {text}"))
    };
    let moved = lines.iter().rposition(|line| line.contains("rename") && line.contains("/copy-taken/")).unwrap();
    let (of_copy, of_data) = (format!("{}>", copy.display()), format!("{}>", data.display()));
    let synced = behind(moved, ["sync(", &of_copy]).max(behind(moved, ["sync(", &of_data]));
    let gone = behind(moved, ["rmdir(", "/copy-taken\""]);
    assert!(synced < gone, "{text}");
    behind(gone, ["sync(", &of_data]);
}

/// The name of a file with which a copy is refused.
const REFUSED: &str = "refused";

/// Says that it is node 9, which is ahead of all others, and gives a copy of a journal file and of a file of this name.
fn give_copies(port: u16, name: Arc<Mutex<String>>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let subjects = "SUB pricetime.market.status 1\r\nSUB pricetime.market.copies.9 2\r\nPING\r\n";
    stream.write_all(format!("CONNECT {{\"verbose\":false}}\r\n{subjects}").as_bytes()).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    while line != "PONG\r\n" {
        line.clear();
        lines.read_line(&mut line).unwrap();
    }
    std::thread::spawn(move || {
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["PING"] => stream.write_all(b"PONG\r\n").unwrap(),
                ["MSG", subject, _, reply, length] => {
                    let mut asked = vec![0; length.parse::<usize>().unwrap() + 2];
                    lines.read_exact(&mut asked).unwrap();
                    let answers = match subject.ends_with("status") {
                        true => vec![
                            json!({"node": 9, "state": "ready", "taken": u64::MAX}).to_string(),
                            json!({"node": 8, "state": "\u{1b}[2J"}).to_string(),
                        ],
                        false => {
                            let asked = serde_json::from_slice(asked.trim_ascii_end()).unwrap();
                            vec![copy_of(&name.lock().unwrap(), asked)]
                        }
                    };
                    for answer in answers {
                        let sent = format!("PUB {reply} {}\r\n{answer}\r\n", answer.len());
                        stream.write_all(sent.as_bytes()).unwrap();
                    }
                }
                ["MSG", _, _, length] => drop(lines.read_exact(&mut vec![0; length.parse::<usize>().unwrap() + 2])),
                _ => {}
            }
        }
    });
}

fn copy_of(name: &str, asked: Value) -> String {
    let file = |name: &str| json!({"name": name, "bytes": 5, "hash": "of other bytes"});
    match asked["Make"].is_object() {
        true if name == REFUSED => json!({"Refused": "no\u{1b}[2J"}).to_string(),
        true => json!({"Made": [file(name), file("journal-00000000000000000001.log")]}).to_string(),
        false => "owned".to_owned(),
    }
}
