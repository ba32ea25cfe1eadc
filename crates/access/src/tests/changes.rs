//! Changes of members while they count.

use super::*;

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
