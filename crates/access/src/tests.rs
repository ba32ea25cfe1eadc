use std::time::{Duration, UNIX_EPOCH};

use argon2::{Argon2, PasswordHasher};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use exchange::{Limits, Read, Role};

use super::*;
use crate::proof::public_key;

mod budgets;
mod changes;
mod in_common;

const SECRET: &str = "a-secret-of-some-length";
const TODAY: SystemTime = UNIX_EPOCH;

fn later(seconds: u64) -> SystemTime {
    TODAY + Duration::from_secs(seconds)
}

fn account(id: &str) -> AccountId {
    AccountId::parse(id.as_bytes()).expect("digits")
}

/// Writes a file of alice, who trades for accounts 7 and 5, with these keys.
fn alice(keys: &str) -> String {
    format!("[[member]]\nname = \"alice\"\nroles = [\"trader\"]\naccounts = [\"7\", \"5\"]\n{keys}")
}

fn key(id: &str, proof: &str) -> String {
    format!("[[member.key]]\nid = \"{id}\"\n{proof}\n")
}

fn signer() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

fn access(text: &str) -> Access {
    Access::parse(text).expect("an access file")
}

/// Tokens of devices hold as long as the password does, also in another server that has the same members.
#[test]
fn a_device_is_known_by_a_token_of_its_member_and_the_present_password() {
    let of_password = |id: &str, password: &str, more: &str| {
        let hash = hash_of_password(password).expect("randomness");
        key(id, &format!("password = \"{hash}\"\n{more}"))
    };
    let bob = "[[member]]\nname = \"bob\"\nroles = [\"viewer\"]\naccounts = []\n".to_owned()
        + &of_password("b", "sesame", "");
    let text = alice(&of_password("a", "sesame", "expires = 1970-01-02T00:00:00Z")) + &bob;
    let (one, other) = (access(&text), access(&text));
    let [alices, bobs] = ["alice", "bob"].map(|member| one.device_token(member).expect("a token"));
    assert!(alices.len() == 64 && alices != bobs);
    assert!(other.knows_device("alice", &alices, TODAY) && other.knows_device("bob", &bobs, TODAY));
    for (member, token) in [("bob", &alices), ("alice", &bobs), ("carol", &alices), ("alice", &String::new())] {
        assert!(!other.knows_device(member, token, TODAY), "{member}");
    }
    assert!(!other.knows_device("alice", &alices, later(86_400)), "the password has expired");
    assert!(other.device_token("carol").is_none());
    other.reload(&(alice(&of_password("a", "sesame", "")) + &bob)).expect("an access file");
    assert!(!other.knows_device("alice", &alices, TODAY), "the password was set anew");
    assert!(other.knows_device("bob", &bobs, TODAY));
}

/// A client with a device's cookie could try passwords on it where the salt can be guessed.
#[test]
fn a_password_with_a_short_salt_is_refused() {
    let hash = |salt: &[u8]| Argon2::default().hash_password_with_salt(b"open sesame", salt).expect("a hash");
    let file = |salt: &[u8]| alice(&key("page", &format!("password = \"{}\"", hash(salt))));
    assert!(Access::parse(&file(&[7; 16])).is_ok());
    let refused = Access::parse(&file(b"somesalt")).map(drop).expect_err("a short salt");
    let told = refused.to_string();
    assert!(told.contains("password has a salt of 8 bytes; at least 16, drawn at random"), "{told}");
}

#[test]
fn each_kind_of_key_proves_whose_it_is() {
    let public = BASE64_STANDARD.encode(signer().verifying_key().as_bytes());
    let password = hash_of_password("open sesame").expect("randomness");
    let text = alice(
        &[
            key("signs", &format!("secret = \"{SECRET}\"")),
            key("sends", &format!("secret_hash = \"{}\"", hash_of_secret(SECRET))),
            key("curve", &format!("ed25519 = \"{public}\"")),
            key("paper", &format!("certificate = \"{}\"", "ab:".repeat(31) + "AB")),
            key("place", "address = \"10.0.0.0/8\""),
            key("page", &format!("password = \"{password}\"")),
        ]
        .concat(),
    );
    let access = access(&text);
    let base64_of = |signer: SigningKey, text: &[u8]| BASE64_STANDARD.encode(signer.sign(text).to_bytes());
    let signature = base64_of(signer(), b"one two");
    let hmac = hmac_hex(SECRET, &[b"one two"]);
    let proven = [
        access.by_secret("signs", SECRET, TODAY),
        access.by_secret("sends", SECRET, TODAY),
        access.by_signature("signs", &[b"one", b" two"], &hmac, TODAY),
        access.by_signature("curve", &[b"one ", b"two"], &signature, TODAY),
        access.by_certificate(&[0xab; 32], TODAY),
        access.by_address("10.1.2.3".parse().expect("an address"), TODAY),
        access.by_password("alice", "open sesame", TODAY),
    ];
    for (number, principal) in proven.into_iter().enumerate() {
        let principal = principal.unwrap_or_else(|| panic!("proof {number}"));
        assert_eq!(principal.member(), "alice");
        let rights = exchange::Rights {
            roles: [Role::Trader].into(),
            accounts: [account("5"), account("7")].into(),
            ..exchange::Rights::default()
        };
        assert_eq!(*principal.rights(), rights);
    }
    let not_proven = [
        access.by_secret("signs", "a-secret-of-some-lengtH", TODAY),
        access.by_secret("nobody", SECRET, TODAY),
        access.by_secret("curve", SECRET, TODAY),
        access.by_secret("nobody", "", TODAY),
        access.by_signature("sends", &[b"one two"], &hmac, TODAY),
        access.by_signature("signs", &[b"one two "], &hmac, TODAY),
        access.by_signature("nobody", &[b"one two"], &hmac_hex(&"\0".repeat(32), &[b"one two"]), TODAY),
        access.by_signature("sends", &[b"one two"], &hmac_hex(&"\0".repeat(32), &[b"one two"]), TODAY),
        access.by_signature("signs", &[b"one two"], &hmac[..62], TODAY),
        access.by_signature("signs", &[b"one two"], &format!("{hmac}00"), TODAY),
        access.by_signature("curve", &[b"one two "], &signature, TODAY),
        access.by_signature("curve", &[b"one two"], &hmac, TODAY),
        access.by_signature("signs", &[b"one two"], &signature, TODAY),
        access.by_signature("nobody", &[b"x"], &base64_of(SigningKey::from_bytes(&[0; 32]), b"x"), TODAY),
        access.by_signature("curve", &[b"one two"], "short", TODAY),
        access.by_signature("alice", &[b"one two"], &hmac, TODAY),
        access.by_certificate(&[0xac; 32], TODAY),
        access.by_address("11.1.2.3".parse().expect("an address"), TODAY),
        access.by_password("alice", "open sesami", TODAY),
        access.by_password("bob", "", TODAY),
        access.by_password("bob", "open sesame", TODAY),
    ];
    assert_eq!(not_proven.iter().position(Option::is_some), None);
    assert_eq!((access.account_of("signs"), access.account_of("nobody")), (Some(account("7")), None));
}

#[test]
fn public_keys_are_taken_as_tools_write_them() {
    let raw = signer().verifying_key();
    let der =
        [&[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00], raw.as_bytes().as_slice()].concat();
    let encoded = BASE64_STANDARD.encode(der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{encoded}\n-----END PUBLIC KEY-----\n");
    for text in [&BASE64_STANDARD.encode(raw.as_bytes()), &encoded, &pem] {
        assert_eq!(public_key(text), Some(raw), "{text}");
    }
    // The last key is a point that anything can be signed with.
    for text in ["", "x", "AAAA", &BASE64_STANDARD.encode([0; 32]), &format!("AQ{}=", "A".repeat(41))] {
        assert_eq!(public_key(text), None, "{text}");
    }
}

#[test]
fn a_key_that_is_gone_or_changed_loses_its_rights_and_others_keep_theirs() {
    let secret = |id, secret| key(id, &format!("secret = \"{secret}\""));
    let before = alice(&[secret("one", SECRET), secret("two", SECRET), secret("three", SECRET)].concat());
    let access = access(&before);
    let log_in = |id| access.by_secret(id, SECRET, TODAY).expect("the secret");
    let (one, two, three) = (log_in("one"), log_in("two"), log_in("three"));
    let broken = access.reload(&before.replace("trader", "traitor")).expect_err("there is no such role");
    assert!(broken.contains("line 1: member \"alice\": roles"), "{broken}");
    assert!(one.rights().may_read(Read::Account(account("7"))), "the file of before goes on");
    let after = alice(&[secret("one", SECRET), secret("two", "another-secret-now")].concat()).replace("\"7\", ", "");
    access.reload(&after).expect("an access file");
    let own = |id| Read::Account(account(id));
    assert!(one.rights().may_read(own("5")) && !one.rights().may_read(own("7")), "it has the member's new rights");
    assert!(!two.rights().may_read(Read::Market) && !three.rights().may_read(Read::Market));
    assert_eq!(access.by_secret("one", SECRET, TODAY), Some(one));
    assert!(access.by_secret("two", SECRET, TODAY).is_none() && access.by_secret("three", SECRET, TODAY).is_none());
    let new = access.by_secret("two", "another-secret-now", TODAY).expect("the new secret");
    assert!(new != two && new.rights().may_read(own("5")) && !two.rights().may_read(Read::Market));
}

#[test]
fn a_key_expires_for_those_who_come_and_for_those_who_are_there() {
    let text = alice(&key("short", &format!("secret = \"{SECRET}\"\nexpires = 1970-01-01T00:01:00Z")));
    let access = access(&text);
    let log_in = |now| access.by_secret("short", SECRET, now);
    let principal = log_in(later(59)).expect("a second is left");
    access.expire(later(59));
    assert!(principal.rights().may_read(Read::Market));
    assert_eq!(log_in(later(60)), None);
    access.expire(later(60));
    assert!(!principal.rights().may_read(Read::Market));
    access.reload(&text.replace("1970", "2970")).expect("an access file");
    assert!(principal.rights().may_read(Read::Market), "it is valid for longer now");
    access.reload(&text).expect("an access file");
    assert!(!principal.rights().may_read(Read::Market), "it has expired long ago");
}

#[test]
fn faults_are_named_and_no_secret_is_shown() {
    let with = |proof: &str| alice(&key("k", proof));
    let secret = format!("secret = \"{SECRET}\"");
    let twice = |one: &str, other: &str| alice(&[key("a", one), key("b", other)].concat());
    let password = format!("password = \"{}\"", hash_of_password("sesame").expect("randomness"));
    for (text, fault) in [
        (with(""), "line 5: member \"alice\": key \"k\": must have one of secret"),
        (with(&format!("{secret}\n{password}")), "line 5: member \"alice\": key \"k\": must have one of secret"),
        (with("secret = \"sesame\""), "secret has 6 bytes; it must have 16 to 256"),
        (with("secret_hash = \"sesame\""), "secret_hash must be sha256:"),
        (with("ed25519 = \"sesame\""), "ed25519 is no public key"),
        (with("certificate = \"sesame\""), "certificate must be a SHA-256 fingerprint"),
        (with("address = \"sesame\""), "address is no address like"),
        (with("password = \"sesame\""), "password is no hash"),
        (with(&password.replace("m=19456", "m=999999")), "more than 64 MiB"),
        (with(&password.replace("argon2id", "argon2i")), "not one of argon2id"),
        (with(&format!("{secret}\nexpires = \"sesame\"")), "line 8: invalid type: string \"…\""),
        (with(&format!("{secret}\nexpires = 2027-01-01")), "expires must be like 2027-01-01T00:00:00Z"),
        (with("secret = \"sesame\nexpires = 1"), "line 7: "),
        (with("passwort = \"sesame\""), "line 7: unknown field `passwort`"),
        (alice("").replace("\"7\"", "\"x\""), "line 1: member \"alice\": accounts has one that"),
        (alice("").replace("\"trader\"", "\"sesame\""), "roles has one that there is not; there are operator, issuer,"),
        (alice("").replace("[\"trader\"]", "\"sesame\""), "line 3: invalid type"),
        (alice("").replace("\"alice\"", "\"\""), "name has 0 bytes"),
        (alice("").replace("alice", "a b"), "name has other characters"),
        (alice(&key("", &secret)), "id has 0 bytes"),
        (alice("") + &alice(""), "line 5: member \"alice\": an earlier one has the same name"),
        (
            alice(&[key("a", &secret), key("a", &secret)].concat()),
            "line 8: member \"alice\": key \"a\": an earlier one has the same id",
        ),
        (twice(&password, &password), "key \"b\": an earlier one has the same password's member"),
        (twice("address = \"10.0.0.0/8\"", "address = \"10.0.0.0/8\""), "key \"b\": an earlier one"),
    ] {
        let refused = Access::parse(&text).expect_err(&text);
        assert!(refused.contains(fault), "{text}\n{refused}");
        assert!(!refused.contains("sesame") && !refused.contains(SECRET), "{refused}");
    }
    assert!(!format!("{:?}", access(&with(&secret))).contains(SECRET));
}

#[test]
fn a_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("access.toml");
    std::fs::write(&path, alice("")).expect("written");
    for mode in [0o640, 0o604, 0o620] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("changed");
        let refused = Access::read(&path).expect_err("others may read it");
        assert!(refused.contains(&format!("{mode:03o}")) && refused.contains("chmod 600"), "{refused}");
    }
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("changed");
    assert!(Access::read(&path).is_ok());
}

mod files {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::time::Instant;

    use super::*;

    const AUTHOR: Author<'_> = Author { name: "root", from: "here" };

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("access.toml");
        (folder, path)
    }

    fn add_secret(path: &Path, member: &str, id: &str, new: bool) -> Result<(), String> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        let (roles, accounts) = if new { (words(&["trader"]), words(&["7", "5"])) } else { (vec![], vec![]) };
        let key = NewKey { member, id, kind: KeyKind::Hmac, value: SECRET, expires: Some("2030-01-01T00:00:00Z") };
        add(path, &key, NewMember { roles: &roles, accounts: &accounts, limits: None, budget: None }, AUTHOR)
    }

    fn ids(path: &Path) -> Vec<(String, Vec<String>)> {
        let members = list(path).expect("an access file");
        let keys = |member: &ListedMember| member.keys.iter().map(|key| key.id.clone()).collect();
        members.iter().map(|member| (member.name.clone(), keys(member))).collect()
    }

    #[test]
    fn keys_are_added_and_revoked_and_what_stood_beside_them_stays() {
        let (_folder, path) = file();
        add_secret(&path, "alice", "a1", true).expect("a new file");
        add_secret(&path, "bob", "b1", true).expect("a new member");
        add_secret(&path, "alice", "a2", false).expect("another key");
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, text.replace("[[member]]\nname = \"bob\"", "# He is new.\n[[member]]\nname = \"bob\""))
            .expect("written");
        add_secret(&path, "bob", "b2", false).expect("another key");
        let all = |names: &[(&str, &[&str])]| -> Vec<(String, Vec<String>)> {
            names
                .iter()
                .map(|(name, ids)| ((*name).to_owned(), ids.iter().map(|&id| id.to_owned()).collect()))
                .collect()
        };
        assert_eq!(ids(&path), all(&[("alice", &["a1", "a2"]), ("bob", &["b1", "b2"])]));
        assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        revoke(&path, Revoked::Key("b1"), AUTHOR).expect("it is there");
        revoke(&path, Revoked::Key("a1"), AUTHOR).expect("it is there");
        assert_eq!(ids(&path), all(&[("alice", &["a2"]), ("bob", &["b2"])]));
        revoke(&path, Revoked::Member("alice"), AUTHOR).expect("she is there");
        assert_eq!(ids(&path), all(&[("bob", &["b2"])]));
        for (faulty, why) in [
            (add_secret(&path, "bob", "b2", false), "an earlier one has the same id"),
            (add_secret(&path, "bob", "b3", true), "is there already"),
            (add_secret(&path, "b ob", "b3", true), "name has other characters"),
            (revoke(&path, Revoked::Key("a1"), AUTHOR), "there is none of this name"),
            (revoke(&path, Revoked::Member("alice"), AUTHOR), "there is none of this name"),
        ] {
            let fault = faulty.expect_err(why);
            assert!(fault.contains(why) && !fault.contains(SECRET), "{fault}");
        }
        assert_eq!(ids(&path), all(&[("bob", &["b2"])]), "what was refused changed nothing");
        let log = std::fs::read_to_string(path.with_extension("toml.log")).expect("a log");
        let lines: Vec<&str> = log.lines().filter_map(|line| line.split_once(' ')).map(|(_, rest)| rest).collect();
        assert_eq!(lines.len(), 7, "{log}");
        assert_eq!(lines[0], "user=root from=here add member=alice key=a1 kind=hmac");
        assert_eq!(lines[6], "user=root from=here revoke member=alice");
        assert!(!log.contains(SECRET));
    }

    #[test]
    fn a_file_that_is_written_otherwise_is_changed_by_hand() {
        let (_folder, path) = file();
        let text = format!("member = [{{ name = \"alice\", key = [{{ id = \"a1\", secret = \"{SECRET}\" }}] }}]\n");
        std::fs::write(&path, &text).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("changed");
        for refused in [add_secret(&path, "alice", "a2", false), revoke(&path, Revoked::Key("a1"), AUTHOR)] {
            assert!(refused.expect_err("no tables").contains("change them by hand"));
        }
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
    }

    #[test]
    fn a_change_of_the_file_counts_soon_and_a_broken_one_never() {
        let (_folder, path) = file();
        add_secret(&path, "alice", "a1", true).expect("a new file");
        let (access, _watch) = Access::follow(&path).expect("an access file");
        let principal = access.by_secret("a1", SECRET, TODAY).expect("the secret");
        let sound = std::fs::read_to_string(&path).expect("a file");
        for broken in ["", "[[", &sound.replace("trader", "traitor")] {
            std::fs::write(&path, broken).expect("written");
            std::thread::sleep(Duration::from_millis(800));
            assert!(principal.rights().may_read(Read::Market), "{broken}");
            assert_eq!(access.by_secret("a1", SECRET, TODAY).as_ref(), Some(&principal));
        }
        std::fs::write(&path, &sound).expect("written");
        add_secret(&path, "alice", "a2", false).expect("another key");
        until(|| access.by_secret("a2", SECRET, TODAY).is_some());
        revoke(&path, Revoked::Key("a1"), AUTHOR).expect("it is there");
        until(|| !principal.rights().may_read(Read::Market));
        assert!(access.by_secret("a2", SECRET, TODAY).is_some_and(|other| other.rights().may_read(Read::Market)));
    }

    fn until(holds: impl Fn() -> bool) {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < Duration::from_secs(10), "it lasts too long");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
