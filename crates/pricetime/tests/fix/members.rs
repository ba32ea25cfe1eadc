//! FIX on a server with members: who may log on, as which member, and what they are told.

use std::cell::Cell;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use crate::common::fix::{Fix, message};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, basic, market, secret};
use crate::common::raw;
use crate::common::server::PATIENCE;
use crate::common::wait::wait_for;
use crate::sessions::buy;
use serde_json::json;

fn proof(member: &str) -> String {
    format!("553={member}-key|554={}|", secret(member))
}

/// A client that guessed a secret once kept everybody at its address from logging on, for up to half a minute, and
/// later those with the key that it guessed at.
#[test]
fn whoever_guesses_waits_and_keeps_nobody_with_a_right_secret_from_logging_on() {
    let folder = Folder::new("fix-guesses");
    let access = AccessFile::new(&folder);
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let refused = |fields: &str, text: &str| {
        let mut fix = Fix::connect(server.fix.unwrap(), "A");
        fix.send("A", &format!("98=0|108=30|{fields}"));
        fix.expect_end(text);
    };
    // A few wrong secrets cost nothing, since people mistype. Each further one doubles the wait of the next.
    for _ in 0..4 {
        refused("553=alice-key|554=wrong|", "is not the secret of any key");
    }
    let has_to_wait = |_| {
        let mut fix = Fix::connect(server.fix.unwrap(), "A");
        fix.send("A", "98=0|108=30|553=alice-key|554=wrong|");
        fix.next().contains("too many wrong secrets came for this key from this address")
    };
    assert!((0..10).any(has_to_wait));
    Fix::connect(server.fix.unwrap(), "ALICE").log_on_with(&proof("alice"));
    Fix::connect(server.fix.unwrap(), "BOB").log_on_with(&proof("bob"));
    server.stop();
}

#[test]
fn members_trade_for_their_own_accounts_and_hear_of_no_others() {
    let folder = Folder::new("fix-members");
    let access = AccessFile::new(&folder);
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let address = server.fix.unwrap();
    market(&Http::new(server.http));
    let refused = |fields: &str, text: &str| {
        let mut fix = Fix::connect(address, "A");
        fix.send("A", &format!("98=0|108=30|{fields}"));
        fix.expect_end(text);
    };
    refused("", "who logs on is not known");
    refused("553=alice-key|", "come together");
    refused("553=alice-key|554=wrong|", "is not the secret of any key");
    refused(&format!("553=nobody|554={}|", secret("alice")), "is not the secret of any key");
    let (mut alice, mut bob) = (Fix::connect(address, "ALICE"), Fix::connect(address, "BOB"));
    alice.log_on_with(&proof("alice"));
    bob.log_on_with(&proof("bob"));
    // An order without an account is for alice's own.
    alice.send("D", "11=a|55=SPY|54=1|38=1|40=2|59=1|44=100|");
    alice.expect(&["150=0", "11=a", "1=1"]);
    bob.send("D", "11=theft|1=1|55=SPY|54=1|38=1|40=2|59=1|44=100|");
    bob.expect(&["35=8", "150=8", "103=15", "58=Unknown account"]);
    bob.send("F", "11=theft|41=a|1=1|55=SPY|54=1|38=1|");
    bob.expect(&["35=9", "102=1", "39=8"]);
    bob.send("AF", "584=spy|585=7|1=1|");
    bob.expect(&["150=I", "39=8", "58=Unknown account"]);
    bob.send("H", "11=a|1=1|55=SPY|54=1|");
    bob.expect(&["150=I", "39=8", "58=Unknown account"]);
    bob.send("D", "11=b|55=SPY|54=2|38=1|40=2|59=1|44=100|");
    bob.expect(&["150=0", "11=b", "1=2"]);
    bob.expect(&["150=F", "39=2", "11=b"]);
    alice.expect(&["150=F", "39=2", "11=a"]);
    // The audit trail says whose each command was and over which protocol it came.
    let audit = Http::new(server.http);
    let basic = basic("otto-key", &secret("otto"));
    let trail = audit.send("GET", "/api/v1/audit?limit=100", None, &[("authorization", &basic)]);
    assert_eq!(trail.status, 200, "{:?}", trail.body);
    let trail = trail.body.to_string();
    assert!(trail.contains("\"fix\"") && trail.contains("alice"), "{trail}");
    // The session of a removed member ends.
    access.write(&AccessFile::text(&["alice"]));
    wait_for("alice has no rights", PATIENCE, || {
        alice.send("D", &buy("late", "1"));
        alice.next().contains("|58=the key of this session counts no more|").then_some(())
    });
    bob.send("D", "11=b2|55=SPY|54=2|38=1|40=2|59=1|44=150|");
    bob.expect(&["150=0", "11=b2"]);
    server.stop();
}

/// The access file in which alice has these limits.
fn limited(limits: &str) -> String {
    AccessFile::text(&[]).replace("accounts = [\"1\"]\n", &format!("accounts = [\"1\"]\nlimits = {{ {limits} }}\n"))
}

/// Logs on alice once her limit has room for it.
fn alice_when_there_is_room(address: SocketAddr) -> Fix {
    wait_for("a logon to have room", PATIENCE, || {
        let mut alice = Fix::connect(address, "ALICE");
        alice.send("A", &format!("98=0|108=30|141=Y|{}", proof("alice")));
        alice.next().contains("|35=A|").then_some(alice)
    })
}

/// Second Logons, SequenceResets, Rejects and messages out of turn once counted nowhere, so a member sent as many as it
/// liked.
#[test]
fn each_message_counts_among_those_of_its_member() {
    let folder = Folder::new("fix-messages");
    let access = AccessFile::new(&folder);
    access.write(&limited("messages_per_second = 4"));
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let address = server.fix.unwrap();
    market(&Http::new(server.http));
    let past = "too many messages: this member may send 4 a second; try again";
    // Messages that ask nothing of the exchange count, too: all open orders, a test request, a resend request, and an
    // invalid message.
    for (kind, fields) in
        [("AF", "584=all|585=7|1=1|"), ("1", "112=there?|"), ("2", "7=1|16=0|"), ("D", "11=x|"), ("V", "262=a|")]
    {
        let mut alice = alice_when_there_is_room(address);
        for _ in 0..200 {
            alice.send(kind, fields);
        }
        wait_for("one too many to be refused", PATIENCE, || alice.next().contains(past).then_some(()));
    }
    // So do those that only the session reads: a second logon, a SequenceReset, a Reject, heartbeats that nobody waits
    // for, messages without their header, those that came before, and those whose number is ahead.
    type Made = fn(&mut Fix) -> Vec<u8>;
    let floods: [Made; 8] = [
        |fix| fix.numbered("A", "98=0|108=30|"),
        |fix| fix.numbered("4", "36=1|"),
        |fix| fix.numbered("3", "45=1|"),
        |fix| fix.numbered("0", ""),
        |_| message("35=D|49=ALICE|34=2|"),
        |fix| fix.made("D", 1, "43=Y|"),
        |fix| fix.made("5", 1, "43=Y|"),
        |fix| fix.made("D", 9, "11=ahead|"),
    ];
    for (flood, made) in floods.into_iter().enumerate() {
        let mut alice = alice_when_there_is_room(address);
        (0..200).for_each(|_| {
            let bytes = made(&mut alice);
            alice.stream.write_all(&bytes).unwrap();
        });
        wait_for("one too many to be refused", PATIENCE, || {
            let told = alice.next();
            assert!(!told.contains("|35=5|"), "{flood}: {told}");
            told.contains(past).then_some(())
        });
    }
    // A logon counts, too.
    wait_for("a logon too many", PATIENCE, || {
        let mut alice = Fix::connect(address, "ALICE");
        alice.send("A", &format!("98=0|108=30|141=Y|{}", proof("alice")));
        alice.next().contains(past).then_some(())
    });
    server.stop();
}

/// An amendment counted three times, so at the limit it was refused because its name were taken.
#[test]
fn an_amendment_is_one_message_and_one_beyond_the_limit_is_told_so() {
    let folder = Folder::new("fix-amend-limit");
    let access = AccessFile::new(&folder);
    access.write(&limited("messages_per_second = 1"));
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    market(&Http::new(server.http));
    let mut alice = alice_when_there_is_room(server.fix.unwrap());
    let past = "|58=too many messages: this member may send 1 a second; try again|";
    wait_for("an order to have room", PATIENCE, || {
        alice.send("D", "11=a|55=SPY|54=1|38=9|40=2|59=1|44=100|");
        alice.next().contains("|150=0|").then_some(())
    });
    for shares in [8, 7] {
        wait_for("an amendment to have room", PATIENCE, || {
            alice.send("G", &format!("11=a{shares}|41=a|55=SPY|54=1|38={shares}|40=2|44=100|"));
            let told = alice.next();
            let is_past = told.contains("|35=9|") && told.contains("|102=99|") && told.contains(past);
            assert!(is_past || told.contains("|150=5|"), "{told}");
            told.contains(&format!("|38={shares}|")).then_some(())
        });
    }
    server.stop();
}

/// An order under the name of an amended one was refused without being counted, so a member sent as many as it liked.
#[test]
fn an_order_under_the_name_of_an_amended_one_counts() {
    let folder = Folder::new("fix-amended-name-limit");
    let access = AccessFile::new(&folder);
    access.write(&limited("messages_per_second = 1"));
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    market(&Http::new(server.http));
    let mut alice = alice_when_there_is_room(server.fix.unwrap());
    let mut until_done = |kind: &str, fields: &str, done: &str| {
        wait_for("a message to have room", PATIENCE, || {
            alice.send(kind, fields);
            alice.next().contains(done).then_some(())
        });
    };
    until_done("D", "11=a|55=SPY|54=1|38=9|40=2|59=1|44=100|", "|150=0|");
    until_done("G", "11=a2|41=a|55=SPY|54=1|38=8|40=2|44=100|", "|150=5|");
    // All of the member's messages of a second are free again.
    std::thread::sleep(Duration::from_millis(1_100));
    let again = ("D", "11=a2|55=SPY|54=1|38=1|40=2|59=1|44=100|");
    alice.send_together(&[again; 20]);
    let told: Vec<String> = (0..20).map(|_| alice.next()).collect();
    let past = "|58=too many messages: this member may send 1 a second; try again|";
    let are = |fields: &[&str]| {
        let is_it = |told: &&String| told.contains("|150=8|") && fields.iter().all(|field| told.contains(field));
        told.iter().filter(is_it).count()
    };
    let (taken, beyond) = (are(&["|103=6|", "since it was amended|"]), are(&["|103=99|", past]));
    assert!(told[0].contains("|103=6|") && beyond > 0 && taken + beyond == 20, "{told:#?}");
    server.stop();
}

/// Each step of a mass cancel counted, so a member with many open orders was refused what it sent behind it.
#[test]
fn a_mass_cancel_is_one_message() {
    let folder = Folder::new("fix-mass-limit");
    let access = AccessFile::new(&folder);
    access.write(&limited("messages_per_second = 3"));
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    market(&Http::new(server.http));
    let mut operator = server.client();
    operator.ask(&format!("<login key=\"olga-key\" secret=\"{}\"/>", secret("olga")));
    let order = r#"<order sym="SPY" amount="1" limit="0.01"/>"#.repeat(2_500);
    let placed = operator.ask(&format!("<transactions id=\"1\">{order}</transactions>"));
    assert_eq!(placed.matches("<opened").count(), 2_500);
    let mut alice = alice_when_there_is_room(server.fix.unwrap());
    // All of the member's messages of a second are free again.
    std::thread::sleep(Duration::from_millis(1_100));
    alice.send_together(&[("q", "11=all|530=7|"), ("1", "112=there?|")]);
    let mut told = std::iter::from_fn(|| Some(alice.next())).filter(|told| !told.contains("|150=4|"));
    let (canceled, there) = (told.next().unwrap(), told.next().unwrap());
    assert!(canceled.contains("|35=r|") && canceled.contains("|533=2501|"), "{canceled}");
    assert!(there.contains("|35=0|") && there.contains("|112=there?|"), "{there}");
    server.stop();
}

/// A session heard of the accounts alone that its member had, and that there were, at its Logon.
#[test]
fn a_session_hears_of_accounts_that_come_behind_its_logon() {
    let folder = Folder::new("fix-later-accounts");
    let access = AccessFile::new(&folder);
    let of_alice = |accounts: &str| AccessFile::text(&[]).replace("accounts = [\"1\"]\n", accounts);
    access.write(&of_alice("accounts = []\n"));
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let http = Http::new(server.http);
    market(&http);
    let mut alice = Fix::connect(server.fix.unwrap(), "ALICE");
    alice.log_on_with(&proof("alice"));
    // The session has looked for accounts before. The first one is there, and the second one is created later.
    std::thread::sleep(Duration::from_millis(600));
    access.write(&of_alice("accounts = [\"1\", \"3\"]\n"));
    let olga = Client { http: &http, member: "olga" };
    let mut hears_of = |account: &str| {
        let order = json!({"account": account, "symbol": "SPY", "side": "buy", "shares": "1", "limit": "9"});
        alice.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        wait_for("a report", PATIENCE, || {
            olga.make("/api/v1/orders", &order);
            let told = alice.try_next().ok().flatten()?;
            assert!(told.contains("|150=0|") && told.contains(&format!("|1={account}|")), "{told}");
            Some(())
        });
        // The reports of the orders that followed.
        while matches!(alice.try_next(), Ok(Some(_))) {}
    };
    hears_of("1");
    olga.make("/api/v1/accounts", &json!({"account": "3", "balance": "1000"}));
    hears_of("3");
    // An order without an account is for the first one.
    alice.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    alice.send("D", "11=a|55=SPY|54=1|38=1|40=2|59=1|44=8|");
    alice.expect(&["150=0", "11=a", "1=1"]);
    server.stop();
}

/// A session was told that its key is gone with the next message or report, so one without either stayed open.
#[test]
fn a_silent_session_ends_soon_after_its_key_is_gone() {
    let folder = Folder::new("fix-silent-key");
    let access = AccessFile::new(&folder);
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let mut begun = ["alice", "bob"].map(|member| {
        let mut fix = Fix::connect(server.fix.unwrap(), member);
        fix.send("A", &format!("98=0|108=3600|{}", proof(member)));
        assert!(fix.next().contains("|35=A|"));
        fix
    });
    access.write(&AccessFile::text(&["alice"]));
    begun[0].expect_end("the key of this session counts no more");
    begun[1].send("1", "112=there?|");
    begun[1].expect(&["35=0", "112=there?"]);
    server.stop();
}

#[test]
fn under_maintenance_a_session_ends_and_none_begins() {
    let folder = Folder::new("fix-maintenance");
    let access = AccessFile::new(&folder);
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let address = server.fix.unwrap();
    let http = Http::new(server.http);
    market(&http);
    let (mut alice, mut olga) = (Fix::connect(address, "ALICE"), Fix::connect(address, "OLGA"));
    alice.log_on_with(&proof("alice"));
    olga.log_on_with(&proof("olga"));
    let olgas = Client { http: &http, member: "olga" };
    let mode = olgas.send("PUT", "/api/v1/mode", Some(&json!({"mode": "maintenance"})));
    assert_eq!(mode.status, 200, "{}", mode.text);
    // Alice's session is not told what an operator does to her account.
    olgas.make("/api/v1/orders", &json!({"account": "1", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "9"}));
    alice.expect_end("the venue is under maintenance");
    let mut late = Fix::connect(address, "ALICE");
    late.send("A", &format!("98=0|108=30|141=Y|{}", proof("alice")));
    late.expect_end("the venue is under maintenance");
    olga.send("AF", "584=all|585=7|1=1|");
    olga.expect(&["35=8", "584=all"]);
    server.stop();
}

/// Sessions count among their member's connections, and free their place however they end.
#[test]
fn a_member_has_so_many_sessions() {
    let folder = Folder::new("fix-connections");
    let access = AccessFile::new(&folder);
    access.write(&limited("connections = 2"));
    let server = access.launch(&folder).with("--fix 127.0.0.1:0").start();
    let address = server.fix.unwrap();
    market(&Http::new(server.http));
    let names = Cell::new(0);
    // A session is one connection's, so each has a name of its own.
    let connect = || {
        names.set(names.get() + 1);
        Fix::connect(address, &format!("ALICE{}", names.get()))
    };
    let begin = || {
        let mut alice = connect();
        alice.log_on_with(&proof("alice"));
        alice
    };
    let answer = || {
        let mut alice = connect();
        alice.send("A", &format!("98=0|108=30|141=Y|{}", proof("alice")));
        (alice.next(), alice)
    };
    let is_full = || {
        let (told, mut alice) = answer();
        let why = "too many connections: this member may have 2 open; close one";
        assert!(told.contains("|35=5|") && told.contains(why), "{told}");
        assert_eq!(alice.try_next().unwrap(), None);
    };
    let next = || wait_for("a place", PATIENCE, || Some(answer()).filter(|(told, _)| told.contains("|35=A|"))).1;
    let (mut first, second) = (begin(), begin());
    is_full();
    // Another member has connections of its own, and connections over another protocol count, too.
    Fix::connect(address, "BOB").log_on_with(&proof("bob"));
    let login = format!("<login key=\"alice-key\" secret=\"{}\"/>", secret("alice"));
    assert!(server.client().ask(&login).contains("too many connections"));
    first.send("5", "");
    first.expect_end("goodbye");
    let third = next();
    is_full();
    raw::reset(second.stream);
    let mut fourth = next();
    is_full();
    drop(third);
    let _fifth = next();
    is_full();
    // The server ends a session that sends a number again.
    fourth.next = 1;
    fourth.send("D", "");
    let told = fourth.next();
    assert!(told.contains("|35=5|"), "{told}");
    let _sixth = next();
    is_full();
    server.stop();
}
