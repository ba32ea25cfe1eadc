//! Changes of members while they count.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use exchange::Mode;
use rustix::fs::{CWD, FileType, OFlags, mknodat};

use super::*;
use crate::locked::Locked;

const AUTHOR: Author<'_> = Author { name: "olga", from: "192.0.2.1" };

/// Makes a file with an operator and a comment, and reads its members.
fn members() -> (tempfile::TempDir, Access) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.toml");
    let key = NewKey { member: "olga", id: "o1", kind: KeyKind::Hmac, value: SECRET, expires: None };
    let roles = ["operator".to_owned()];
    add(&path, &key, NewMember { roles: &roles, accounts: &[], limits: None, budget: None }, AUTHOR)
        .expect("a new file");
    let access = Access::read(&path).expect("an access file");
    (folder, access)
}

fn key<'a>(member: &'a str, id: &'a str) -> NewKey<'a> {
    NewKey { member, id, kind: KeyKind::Hmac, value: SECRET, expires: None }
}

#[test]
fn members_are_changed_while_they_count_and_what_stood_beside_them_stays() {
    let (folder, access) = members();
    let (roles, accounts) = (["trader".to_owned()], ["7".to_owned(), "5".to_owned()]);
    let limits =
        LimitsText { orders_per_second: Some(3), order_value: Some("12.5".to_owned()), ..LimitsText::default() };
    let trader = || NewMember { roles: &roles, accounts: &accounts, limits: Some(&limits), budget: None };
    let change = |change: Change<'_>| access.change(&change, AUTHOR);
    assert_eq!(change(Change::Member("alice", trader())), Ok(()));
    assert_eq!(change(Change::Key(&key("alice", "a1"))), Ok(()));
    let alice = access.by_secret("a1", SECRET, TODAY).expect("she counts at once");
    assert_eq!(alice.rights().limits, limits.limits().expect("limits"));
    let path = folder.path().join("access.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, text.replace("[[member.key]]\nid = \"a1\"", "# Her desk.\n[[member.key]]\nid = \"a1\""))
        .expect("written");
    let viewer = ["viewer".to_owned()];
    assert_eq!(
        change(Change::Rights("alice", NewMember { roles: &viewer, accounts: &accounts, limits: None, budget: None })),
        Ok(())
    );
    assert_eq!((alice.rights().roles, &alice.rights().limits), ([Role::Viewer].into(), &Limits::default()));
    let text = std::fs::read_to_string(&path).expect("a file");
    assert!(text.contains("# Her desk.\n") && text.contains("id = \"a1\""), "{text}");
    let listed = access.listed().expect("the file");
    assert_eq!((listed.len(), listed[1].roles.as_slice(), listed[1].keys.len()), (2, &viewer[..], 1));
    assert_eq!(change(Change::Revoked(Revoked::Key("a1"))), Ok(()));
    assert!(!alice.rights().may_read(Read::Market), "she is nobody at once");
    let log = std::fs::read_to_string(path.with_extension("toml.log")).expect("a log");
    assert!(log.contains(
        "user=olga from=192.0.2.1 add member=alice roles=trader accounts=7,5 limits={ orders_per_second = 3, order_value = \"12.5\" }\n"
    ), "{log}");
    assert!(log.contains(" set member=alice roles=viewer accounts=7,5\n") && !log.contains(SECRET), "{log}");
}

#[test]
fn what_is_refused_changes_nothing() {
    let (folder, access) = members();
    let before = std::fs::read_to_string(folder.path().join("access.toml")).expect("a file");
    let none = || NewMember { roles: &[], accounts: &[], limits: None, budget: None };
    let expires = |expires: &'static str| NewKey { expires: Some(expires), ..key("olga", "o2") };
    let traitor = ["traitor".to_owned()];
    for (change, why) in [
        (Change::Member("olga", none()), "there is one of this name"),
        (Change::Rights("alice", none()), "there is none of this name"),
        (Change::Key(&key("alice", "a1")), "there is none of this name"),
        (Change::Key(&key("olga", "o1")), "an earlier one has the same id"),
        (Change::Key(&expires("soon")), "expires must be like"),
        (Change::Key(&expires("2027-01-01T00:00:00Z\n[[member]]\nname = \"x\"")), "expires must be like"),
        (Change::Member("x\"\n[[member]]\nname = \"y", none()), "name has other characters"),
        (Change::Member("alice", NewMember { roles: &traitor, ..none() }), "roles has one that there is not"),
        (Change::Rights("olga", none()), "no operator"),
        (Change::Revoked(Revoked::Member("olga")), "no operator"),
        (Change::Revoked(Revoked::Key("o1")), "no operator"),
    ] {
        let refused = access.change(&change, AUTHOR).expect_err(why).to_string();
        assert!(refused.contains(why), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("access.toml")).expect("a file"), before);
    assert!(access.by_secret("o1", SECRET, TODAY).is_some_and(|olga| olga.rights().is_operator()));
}

/// The sign of an order's shares says its side, so a bound of -5 was one of 5.
#[test]
fn a_bound_has_no_sign() {
    let limits = |shares: &str| LimitsText { order_shares: Some(shares.to_owned()), ..LimitsText::default() }.limits();
    assert!(limits("5").is_ok());
    for wrong in ["-5", "0", "x", "0.000000001"] {
        assert!(limits(wrong).is_err_and(|why| why.starts_with("limits.order_shares ")), "{wrong}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("data");
    let roles = ["operator".to_owned()];
    let member = NewMember { roles: &roles, accounts: &[], limits: None, budget: None };
    let path = missing.join("access.toml");
    let added = add(&path, &key("olga", "o1"), member, AUTHOR);
    let asked = format!("{}: there is no folder {}: make it first", path.display(), missing.display());
    assert_eq!(added.expect_err("there is none").to_string(), asked);
}

/// A regression: the file to which the link led got a line, and the server's user as its owner where root changed the
/// members.
#[test]
fn a_link_in_place_of_the_record_is_refused_and_not_followed() {
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    const NOBODY: u32 = 65_534;
    let (folder, _) = members();
    let (path, log) = (folder.path().join("access.toml"), folder.path().join("access.toml.log"));
    let precious = folder.path().join("precious");
    std::fs::write(&precious, "precious").expect("written");
    let owner = std::fs::metadata(&precious).expect("there").uid();
    // Only root can give files away; anybody sees the bytes.
    let _ = chown(&path, Some(NOBODY), Some(NOBODY));
    let nothing = || NewMember { roles: &[], accounts: &[], limits: None, budget: None };
    let change = || add(&path, &key("olga", "o2"), nothing(), AUTHOR);
    type Put = fn(&std::path::Path, &std::path::Path) -> std::io::Result<()>;
    let puts: [Put; 2] = [|precious, log| symlink(precious, log), |precious, log| std::fs::hard_link(precious, log)];
    for put in puts {
        std::fs::remove_file(&log).expect("it was there");
        put(&precious, &log).expect("a link");
        let before = std::fs::read(&path).expect("a file");
        let refused = change().expect_err("it is a link");
        assert!(refused.contains("access.toml.log: it is a link"), "{refused}");
        assert_eq!(std::fs::read(&precious).expect("there"), b"precious");
        assert_eq!(std::fs::metadata(&precious).expect("there").uid(), owner);
        assert_eq!(std::fs::read(&path).expect("a file"), before);
    }
    std::fs::remove_file(&log).expect("it was there");
    assert_eq!(change(), Ok(()));
    let made = std::fs::metadata(&log).expect("a new one");
    assert_eq!(made.uid(), std::fs::metadata(&path).expect("there").uid(), "what is new is its owner's");
}

/// The mode was written into the first place of the same words, a comment, and the answer said that it counts.
#[test]
fn a_mode_is_set_in_its_line_and_not_in_a_comment_of_the_same_words() {
    let (folder, access) = members();
    let path = folder.path().join("access.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    let head = "# At night:\n# mode = \"normal\"\nmode = \"normal\"\n";
    std::fs::write(&path, format!("{head}{text}")).expect("written");
    assert_eq!(access.change(&Change::Mode(Mode::Maintenance), AUTHOR), Ok(()));
    assert_eq!(access.mode().get(), Mode::Maintenance);
    let head = "# At night:\n# mode = \"normal\"\nmode = \"maintenance\"\n";
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), format!("{head}{text}"));
    std::fs::write(&path, format!("mode = \"closed\"\n{text}")).expect("written");
    assert_eq!(set_mode(&path, Mode::Normal, AUTHOR), Ok(()), "a mode that there is not is set right");
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), format!("mode = \"normal\"\n{text}"));
}

/// A key became that of the member behind the one that was named, and a member went with the one before it, because
/// TOML has spaces where these lines were sought without.
#[test]
fn a_change_that_would_do_something_else_is_refused() {
    let (folder, access) = members();
    let path = folder.path().join("access.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    let more = "[[member]]\nname = \"alice\"\nroles = [\"trader\"]\n".to_owned()
        + "[[ member ]]\nname = \"bob\"\nroles = [\"trader\"]\n"
        + &super::key("b1", &format!("secret = \"{SECRET}\""))
        + "[[member]]\nname = \"igor\"\nroles = [\"issuer\"]\n"
        + &super::key("i1", &format!("secret = \"{SECRET}\""))
        + "[member.budget]\nfrom = \"900\"\n";
    let inline = format!(
        "[[member]]\nname = \"carol\"\nkey = [{{ id = \"c1\", secret = \"{SECRET}\" }}]\nroles = [\"trader\"]\n"
    );
    let text = text + &inline + &more;
    std::fs::write(&path, &text).expect("written");
    let viewer = ["viewer".to_owned()];
    let rights = NewMember { roles: &viewer, accounts: &[], limits: None, budget: None };
    for change in [
        Change::Key(&key("alice", "a1")),
        Change::Revoked(Revoked::Member("alice")),
        // Her key stands among the lines that are replaced.
        Change::Rights("carol", rights),
        // The member's budget stands behind the key.
        Change::Revoked(Revoked::Key("i1")),
    ] {
        assert_eq!(access.change(&change, AUTHOR), Err(Unchanged::WrittenOtherwise));
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
    }
}

/// The thread that follows the file had read it before a change was made and answered, and took what it had read behind
/// the change: a revoked key logged in again, and a key of a later change lost its rights for good.
#[test]
fn a_change_is_not_undone_by_what_was_read_of_the_file_before() {
    let (folder, access) = members();
    let path = folder.path().join("access.toml");
    let trader = ["trader".to_owned()];
    let rights = NewMember { roles: &trader, accounts: &[], limits: None, budget: None };
    assert_eq!(access.change(&Change::KeyOfNew(&key("alice", "a1"), rights), AUTHOR), Ok(()));
    let (access, watch) = Access::follow(&path).expect("an access file");
    let (before, aside) = (std::fs::read_to_string(&path).expect("a file"), folder.path().join("aside"));
    // The thread reads from a pipe, so that it takes as long as the test wants.
    std::fs::rename(&path, &aside).expect("renamed");
    mknodat(CWD, &path, FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR, 0).expect("a pipe");
    let begun = Instant::now();
    let mut pipe = loop {
        // There is nobody to write to until the thread has opened it.
        let opened = std::fs::OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&path);
        match opened {
            Ok(pipe) => break pipe,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(20), "nobody reads the file: {error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    pipe.write_all(before.as_bytes()).expect("it fits");
    std::fs::rename(&aside, &path).expect("renamed");
    assert_eq!(access.change(&Change::Revoked(Revoked::Key("a1")), AUTHOR), Ok(()));
    assert_eq!(access.change(&Change::Key(&key("alice", "a2")), AUTHOR), Ok(()));
    let alice = access.by_secret("a2", SECRET, TODAY).expect("it counts");
    drop(pipe);
    // The thread ends behind its look.
    drop(watch);
    assert!(access.by_secret("a1", SECRET, TODAY).is_none(), "it was revoked");
    assert!(alice.rights().may_read(Read::Market), "she is there");
    assert_eq!(access.by_secret("a2", SECRET, TODAY), Some(alice));
}

/// A program that holds the lock for long keeps nobody from what is written by hand.
#[test]
fn what_is_written_by_hand_counts_while_the_file_is_locked() {
    let (folder, access) = members();
    let path = folder.path().join("access.toml");
    let (followed, watch) = Access::follow(&path).expect("an access file");
    let locked = Locked::take(&path).expect("nobody changes it");
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, text.replace("\"o1\"", "\"o2\"")).expect("written");
    let begun = Instant::now();
    while followed.by_secret("o2", SECRET, TODAY).is_none() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not count");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop((watch, locked, access));
}
