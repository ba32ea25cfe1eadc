//! Members that several servers share, over a log in memory.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::*;
use crate::common::Stands;
use crate::locked::Locked;

const AUTHOR: Author<'_> = Author { name: "olga", from: "192.0.2.1" };

/// A log in memory. Clones share it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    editions: Vec<String>,
    /// The log keeps no members yet.
    is_old: bool,
    is_away: bool,
    /// A text that an editor writes into a file as soon as something was put.
    written_then: Option<(PathBuf, String)>,
    /// Whether the log keeps a put edition and answers nothing.
    is_silent: bool,
}

impl Log {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().expect("nobody panics"));
    }
}

impl MembersLog for Log {
    fn cluster(&self) -> u64 {
        7
    }

    fn last(&self) -> Result<Option<u64>, Disagreement> {
        let state = self.0.lock().expect("nobody panics");
        match (state.is_away, state.is_old) {
            (true, _) => Err(Disagreement::ForNow("away".to_owned())),
            (false, true) => Ok(None),
            (false, false) => Ok(Some(state.editions.len() as u64)),
        }
    }

    fn read(&self, edition: u64) -> Result<String, Disagreement> {
        let state = self.0.lock().expect("nobody panics");
        let index = usize::try_from(edition - 1).expect("few");
        state.editions.get(index).cloned().ok_or_else(|| Disagreement::ForNow("none".to_owned()))
    }

    fn put(&self, edition: &str, last: u64) -> Result<u64, NotPut> {
        let mut state = self.0.lock().expect("nobody panics");
        if state.editions.len() as u64 != last {
            return Err(NotPut::Outdated);
        }
        state.editions.push(edition.to_owned());
        if let Some((path, text)) = state.written_then.take() {
            write(&path, &text);
        }
        if state.is_silent { Err(NotPut::InDoubt) } else { Ok(last + 1) }
    }
}

/// A server with a file. Calls do what its thread would do by itself.
struct Server {
    access: Access,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

/// Writes a file of olga, an operator, and of these traders; each has a key of its name.
fn text(traders: &[&str]) -> String {
    let member = |name: &&str| {
        let role = if *name == "olga" { "operator" } else { "trader" };
        format!("[[member]]\nname = \"{name}\"\nroles = [\"{role}\"]\n{}", key(name, &format!("secret = \"{SECRET}\"")))
    };
    ["olga"].iter().chain(traders).map(member).collect()
}

impl Server {
    /// Makes a server, with a file if there is a text.
    fn new(log: &Log, text: &str) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("access.toml");
        let server = |access| Server { access, path: path.clone(), _folder: folder };
        if !text.is_empty() {
            write(&path, text);
        }
        server(open(log, &path))
    }

    /// Starts the server again.
    fn again(self, log: &Log) -> Server {
        Server { access: open(log, &self.path), ..self }
    }

    fn agree(&self) -> Result<Stands, Disagreement> {
        let common = self.access.common().expect("in common");
        common.agree(&self.path, true, &mut |table| self.access.replace(table))
    }

    fn has(&self, member: &str) -> bool {
        self.access.by_secret(member, SECRET, TODAY).is_some()
    }

    fn revoke(&self, member: &str) -> Result<(), Unchanged> {
        self.access.change(&Change::Revoked(Revoked::Member(member)), AUTHOR)
    }

    fn beside(&self, ending: &str) -> String {
        std::fs::read_to_string(self.path.with_extension(format!("toml.{ending}"))).unwrap_or_default()
    }
}

fn write(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).expect("written");
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).expect("allowed");
}

fn open(log: &Log, path: &std::path::Path) -> Access {
    let common = InCommon::new(Arc::new(log.clone()), path);
    let agreed = common.agree(path, true, &mut |_| ());
    assert!(matches!(agreed, Ok(Stands::AtLast | Stands::Apart)), "{agreed:?}");
    Access::read_with(path, Some(common)).expect("an access file")
}

#[test]
fn what_one_server_changes_counts_on_the_others_and_nothing_gets_lost() {
    let log = Log::default();
    let one = Server::new(&log, &text(&["alice", "bob", "carol"]));
    let two = Server::new(&log, "");
    assert!(two.has("alice") && two.beside("log").contains("edition=1 user=file"), "it had no file");
    assert_eq!(one.revoke("alice"), Ok(()));
    assert!(!one.has("alice") && two.has("alice"));
    // The second server does not know of that change when it makes its own.
    assert_eq!(two.revoke("bob"), Ok(()));
    assert!(!two.has("alice") && !two.has("bob") && two.has("carol"));
    assert_eq!(one.agree(), Ok(Stands::AtLast));
    assert!(!one.has("bob") && one.has("carol"));
    assert!(
        one.beside("log").contains("edition=3 user=olga from=192.0.2.1 revoke member=bob"),
        "{}",
        one.beside("log")
    );
    let (one, two) = (one.again(&log), two.again(&log));
    assert!(!one.has("bob") && !two.has("alice") && log.last() == Ok(Some(3)), "nothing is put again");
    assert_eq!(two.revoke("olga"), Err(Unchanged::NoOperator));
    assert_eq!(log.last(), Ok(Some(3)));
}

#[test]
fn what_is_written_by_hand_counts_unless_the_log_has_more() {
    let log = Log::default();
    let (one, two) = (Server::new(&log, &text(&["alice", "bob"])), Server::new(&log, &text(&["alice", "bob"])));
    assert_eq!(log.last(), Ok(Some(1)), "both have the same");
    write(&one.path, &text(&["bob"]));
    assert_eq!((one.agree(), two.agree()), (Ok(Stands::AtLast), Ok(Stands::AtLast)));
    assert!(!one.has("alice") && !two.has("alice"));
    write(&one.path, &text(&["bob", "dora"]));
    assert_eq!(two.revoke("bob"), Ok(()));
    assert_eq!(one.agree(), Ok(Stands::AtLast));
    assert!(!one.has("dora") && !one.has("bob"), "what another server changed first counts");
    assert_eq!(one.beside("replaced"), text(&["bob", "dora"]));
    // Texts as an editor that has just begun to write leaves them.
    for wrong in ["", "[[member]]\nname = 1\n"] {
        write(&one.path, wrong);
        assert!(matches!(one.agree(), Err(Disagreement::ForNow(_))));
        assert!(one.has("olga") && log.last() == Ok(Some(3)));
    }
}

#[test]
fn a_log_that_is_away_changes_nothing_and_one_that_lost_something_is_no_log() {
    let log = Log::default();
    let one = Server::new(&log, &text(&["alice", "bob"]));
    log.set(|state| state.is_away = true);
    assert_eq!(one.revoke("alice"), Err(Unchanged::Away("away".to_owned())));
    assert!(matches!(one.agree(), Err(Disagreement::ForNow(_))) && one.has("alice"));
    log.set(|state| (state.is_away, state.is_silent) = (false, true));
    assert_eq!(one.revoke("alice"), Err(Unchanged::InDoubt));
    assert!(one.has("alice"), "nobody knows yet");
    assert_eq!(one.agree(), Ok(Stands::AtLast));
    assert!(!one.has("alice"));
    log.set(|state| state.editions.push("no record".to_owned()));
    assert!(matches!(one.agree(), Err(Disagreement::ForEver(why)) if why.contains("edition 3")));
    log.set(|state| state.editions.truncate(1));
    assert!(matches!(one.agree(), Err(Disagreement::ForEver(why)) if why.contains("lost some")));
    assert!(matches!(one.revoke("bob"), Err(Unchanged::Failed(why)) if why.contains("lost some")));
    assert!(!one.has("alice") && one.has("bob"));
}

/// A log was upgraded and no member was changed since, so it had no members: a node without a file served everybody.
#[test]
fn a_server_brings_its_file_by_itself_once_the_log_keeps_members() {
    let log = Log::default();
    log.set(|state| state.is_old = true);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.toml");
    write(&path, &text(&["alice"]));
    let joined = Access::join(&path, Arc::new(log.clone()), Arc::new(|_| ())).expect("joined");
    let (_access, _watch) = joined.expect("members");
    log.set(|state| state.is_old = false);
    let begun = std::time::Instant::now();
    while log.last() == Ok(Some(0)) {
        assert!(begun.elapsed().as_secs() < 20, "the log has no members");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(log.read(1).expect("an edition").ends_with(&text(&["alice"])));
}

/// The thread that follows the file waited for the lock: no key expired meanwhile, and the server did not end.
#[test]
fn a_file_that_is_locked_for_long_holds_nobody_up() {
    let log = Log::default();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.toml");
    write(&path, &text(&["alice"]));
    let joined = Access::join(&path, Arc::new(log.clone()), Arc::new(|_| ())).expect("joined");
    let (_access, watch) = joined.expect("members");
    let locked = Locked::take(&path).expect("nobody changes it");
    write(&path, &text(&["alice", "dora"]));
    // Three looks: the second one sees that the file has settled.
    std::thread::sleep(std::time::Duration::from_millis(900));
    let (ended, has_ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(watch);
        let _ = ended.send(());
    });
    assert_eq!(has_ended.recv_timeout(std::time::Duration::from_secs(20)), Ok(()), "the thread waits for the lock");
    drop(locked);
}

/// A revoked key traded on for as long as a program held the lock, and nothing said so.
#[test]
fn a_later_edition_counts_while_another_program_locks_the_file() {
    let log = Log::default();
    let (one, two) = (Server::new(&log, &text(&["alice", "bob"])), Server::new(&log, ""));
    let common = two.access.common().expect("in common");
    let look = || common.agree_if_free(&two.path, true, &mut |table| two.access.replace(table));
    assert_eq!(look(), Ok(Stands::AtLast));
    let locked = Locked::take(&two.path).expect("nobody changes it");
    assert_eq!((one.revoke("alice"), look()), (Ok(()), Ok(Stands::Edited)));
    assert!(two.has("bob") && !two.has("alice"));
    let mut times = 0;
    assert_eq!(common.agree_if_free(&two.path, true, &mut |_| times += 1), Ok(Stands::Edited));
    assert_eq!(times, 0, "it is taken once");
    drop(locked);
    assert_eq!(look(), Ok(Stands::AtLast));
    assert_eq!(std::fs::read_to_string(&two.path).expect("a file"), text(&["bob"]));
}

/// The edit counted on that server alone, until another change was made.
#[test]
fn what_is_written_by_hand_while_a_server_starts_counts_on_all() {
    let log = Log::default();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.toml");
    write(&path, &text(&["alice"]));
    log.set(|state| state.written_then = Some((path.clone(), text(&["alice", "dora"]))));
    let joined = Access::join(&path, Arc::new(log.clone()), Arc::new(|_| ())).expect("joined");
    let (_access, _watch) = joined.expect("members");
    let begun = std::time::Instant::now();
    while log.last() == Ok(Some(1)) {
        assert!(begun.elapsed().as_secs() < 20, "the log does not have it");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(log.read(2).expect("an edition").ends_with(&text(&["alice", "dora"])));
}

#[test]
fn an_edition_is_known_by_what_it_says_and_not_by_its_number() {
    let log = Log::default();
    let one = Server::new(&log, &text(&["alice"]));
    let other = format!("user=file\n{}", text(&["mallory"]));
    log.set(|state| state.editions[0] = other);
    let common = InCommon::new(Arc::new(log.clone()), &one.path);
    let another = |agreed| matches!(agreed, Err(Disagreement::ForEver(why)) if why.contains("another edition 1"));
    assert!(another(common.agree(&one.path, true, &mut |_| ()).map(drop)), "at a start");
    let running = one.access.common().expect("in common");
    log.set(|state| state.is_away = true);
    assert!(running.is_behind(&one.path).is_err());
    log.set(|state| state.is_away = false);
    assert_eq!(running.is_behind(&one.path), Ok(true), "it looks again after the log was away");
    assert!(another(one.agree().map(drop)) && one.has("alice"));
}

/// The client got the answer that nothing was done.
#[test]
fn a_change_that_counts_everywhere_is_done_also_where_the_file_cannot_be_written() {
    let log = Log::default();
    let (one, two) = (Server::new(&log, &text(&["alice", "bob"])), Server::new(&log, ""));
    let blocked = one.path.with_extension("toml.new");
    std::fs::create_dir(&blocked).expect("a folder");
    assert_eq!(one.revoke("alice"), Ok(()));
    assert_eq!(two.agree(), Ok(Stands::AtLast));
    assert!(!one.has("alice") && !two.has("alice"));
    std::fs::remove_dir(&blocked).expect("removed");
    assert_eq!(one.agree(), Ok(Stands::AtLast));
    assert_eq!(std::fs::read_to_string(&one.path).expect("a file"), text(&["bob"]));
}

#[test]
fn a_change_takes_no_hand_edit_along_that_nobody_has_looked_at() {
    let log = Log::default();
    let one = Server::new(&log, &text(&["alice", "bob"]));
    write(&one.path, &text(&["alice", "bob", "dora"]));
    assert_eq!(one.revoke("alice"), Err(Unchanged::BeingEdited));
    assert_eq!(log.last(), Ok(Some(1)));
    assert_eq!(one.agree(), Ok(Stands::AtLast));
    assert_eq!(one.revoke("alice"), Ok(()));
    assert!(one.has("dora") && !one.has("alice"));
}

#[test]
fn a_log_that_keeps_no_members_yet_leaves_each_server_its_own() {
    let log = Log::default();
    log.set(|state| state.is_old = true);
    let (one, two) = (Server::new(&log, &text(&["alice"])), Server::new(&log, &text(&["alice"])));
    assert_eq!(one.revoke("alice"), Ok(()));
    assert_eq!((one.agree(), two.agree()), (Ok(Stands::Apart), Ok(Stands::Apart)));
    assert!(!one.has("alice") && two.has("alice"));
    log.set(|state| state.is_old = false);
    assert_eq!((one.agree(), two.agree()), (Ok(Stands::AtLast), Ok(Stands::AtLast)));
    assert!(!two.has("alice") && two.beside("replaced").contains("alice"), "the first one's count");
}
