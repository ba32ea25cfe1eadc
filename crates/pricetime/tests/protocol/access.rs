//! Permissions over a real socket: logins, roles, and keys that are removed, have expired or are guessed.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use access::hash_of_secret;

use crate::common::client::{Client, frame};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::basic;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;

/// The secret of every key in these tests.
pub(super) const SECRET: &str = "sesame-sesame-sesame";
const UNKNOWN: &str = "Unknown account";
const OTHER_ROLE: &str = "not permitted: this is for members of another role";
const WRONG: &str = "<results><error>login refused: no valid key is proven by this</error></results>\n";

/// A member with this name and one key of this name, and further lines of the key.
fn member(name: &str, role: &str, accounts: &str, key: &str) -> String {
    let proof = if key.is_empty() { format!("secret = \"{SECRET}\"\n") } else { key.to_owned() };
    format!(
        "[[member]]\nname = \"{name}\"\nroles = [{role}]\naccounts = [{accounts}]\n[[member.key]]\nid = \"{name}\"\n{proof}\n"
    )
}

fn all_roles() -> String {
    let roles = [
        ("operator", "\"operator\"", ""),
        ("issuer", "\"issuer\"", ""),
        ("trader", "\"trader\"", "\"1\""),
        ("viewer", "\"viewer\"", "\"1\""),
        ("auditor", "\"auditor\"", ""),
        ("nobody", "", "\"1\""),
    ];
    roles.iter().map(|(name, role, accounts)| member(name, role, accounts, "")).collect()
}

/// A server whose data folder has this access file. Returns the file's path, too.
pub(super) fn started(purpose: &str, text: &str) -> (Folder, Server, PathBuf) {
    started_with(purpose, text, "")
}

/// Starts it with further settings.
pub(super) fn started_with(purpose: &str, text: &str, settings: &str) -> (Folder, Server, PathBuf) {
    let folder = Folder::new(purpose);
    fs::create_dir_all(folder.data()).unwrap();
    let path = folder.data().join("access.toml");
    write(&path, text);
    let server = Launch::new(&folder.data()).with(settings).start();
    (folder, server, path)
}

/// Replaces the file in one step, as editors should.
fn write(path: &Path, text: &str) {
    let new = path.with_extension("new");
    let file = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&new);
    file.unwrap().write_all(text.as_bytes()).unwrap();
    fs::rename(new, path).unwrap();
}

pub(super) fn log_in(client: &mut Client, key: &str) {
    let reply = client.ask(&format!("<login key=\"{key}\" secret=\"{SECRET}\"/>"));
    assert_eq!(reply, format!("<results><logged-in member=\"{key}\"/></results>\n"));
}

pub(super) fn logged_in(server: &Server, key: &str) -> Client {
    let mut client = server.client();
    log_in(&mut client, key);
    client
}

pub(super) const MARKET: &str = "<create><account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"1000\"/><symbol sym=\"S\">\
    <account id=\"1\">100</account><account id=\"2\">100</account></symbol></create>";

/// All requests about an account. Only `create` is left out.
const ASKED: [&str; 18] = [
    "<order sym=\"S\" amount=\"1\" limit=\"5\"/>",
    "<order sym=\"S\" amount=\"-1\" limit=\"5\" client-id=\"mine\"/>",
    "<order sym=\"NONE\" amount=\"1\" limit=\"5\"/>",
    "<order sym=\"S\" amount=\"1\" limit=\"50000\"/>",
    "<order sym=\"S\" amount=\"-1000\" limit=\"5\"/>",
    "<order sym=\"S\" amount=\"1\" type=\"market\"/>",
    "<order sym=\"S\" amount=\"-1\" type=\"market\" stop=\"1\"/>",
    "<order sym=\"S\" amount=\"10\" limit=\"5\" display=\"1\"/>",
    "<oco><order sym=\"S\" amount=\"-1\" limit=\"9\" post-only=\"true\"/><order sym=\"S\" amount=\"-1\" type=\"market\" stop=\"1\"/></oco>",
    "<oto><order sym=\"S\" amount=\"1\" limit=\"5\"/><order sym=\"S\" amount=\"-1\" limit=\"9\"/></oto>",
    "<replace on-failure=\"stop\" id=\"1\" sym=\"S\" amount=\"1\" limit=\"4\"/>",
    "<amend id=\"1\" shares=\"1\"/>",
    "<query id=\"1\"/>",
    "<query client-id=\"theirs\"/>",
    "<cancel id=\"1\"/>",
    "<cancel client-id=\"theirs\"/>",
    "<cancel-all sym=\"S\"/>",
    "<cancel-all/>",
];

pub(super) fn ask(client: &mut Client, account: &str, child: &str) -> String {
    client.ask(&format!("<transactions id=\"{account}\">{child}</transactions>"))
}

#[test]
fn an_account_of_others_is_answered_as_one_that_does_not_exist() {
    let (_folder, server, _) = started("access-others", &all_roles());
    let mut operator = logged_in(&server, "operator");
    operator.ask(MARKET);
    let theirs = "<order sym=\"S\" amount=\"5\" limit=\"3\" client-id=\"theirs\"/>";
    assert!(ask(&mut operator, "2", theirs).contains("<opened "));
    let before = server.state()["state_hash"].clone();
    assert!(before.is_string());
    let mut strangers: Vec<(&str, Client)> =
        ["issuer", "trader", "viewer", "auditor", "nobody"].map(|key| (key, logged_in(&server, key))).into();
    strangers.push(("anonymous", server.client()));
    for child in ASKED {
        let of_none = ask(&mut operator, "99", child);
        assert!(of_none.contains(UNKNOWN), "{child}: {of_none}");
        for (who, client) in &mut strangers {
            let reads = child.starts_with("<query");
            match (*who, reads) {
                ("auditor", true) => assert!(ask(client, "2", child).contains("<open "), "an auditor reads all"),
                _ => assert_eq!(ask(client, "2", child), of_none, "{who}: {child}"),
            }
            let own = ask(client, "1", child);
            match *who {
                "trader" => assert_ne!(own, of_none, "{child}"),
                "viewer" | "auditor" if reads => assert_ne!(own, of_none, "{who}: {child}"),
                _ => assert_eq!(own, of_none, "{who}: {child}"),
            }
        }
    }
    server.stop();
}

#[test]
fn what_makes_the_market_is_for_its_roles() {
    let (_folder, server, _) = started("access-roles", &all_roles());
    let issued = [
        "<account id=\"7\" balance=\"1\"/>",
        "<symbol sym=\"T\"/>",
        "<symbol sym=\"T\"><account id=\"7\">5</account></symbol>",
    ];
    let changed = [
        "<rules sym=\"T\" tick=\"1\"/>",
        "<fees sym=\"T\"/>",
        "<tier id=\"7\" tier=\"1\"/>",
        "<group id=\"7\" group=\"1\"/>",
        "<phase sym=\"T\" is=\"halted\"/>",
        "<kill sym=\"T\"/>",
        "<kill/>",
        "<release sym=\"T\"/>",
        "<release/>",
    ];
    for (who, may) in
        [("trader", 0), ("viewer", 0), ("auditor", 0), ("nobody", 0), ("anonymous", 0), ("issuer", 3), ("operator", 12)]
    {
        let mut client = if who == "anonymous" { server.client() } else { logged_in(&server, who) };
        for (number, child) in issued.iter().chain(&changed).enumerate() {
            let reply = client.ask(&format!("<create>{child}</create>"));
            assert_eq!(reply.contains(OTHER_ROLE), number >= may, "{who}: {child}: {reply}");
        }
    }
    server.stop();
}

#[test]
fn a_login_holds_for_what_comes_behind_it_on_its_connection() {
    let (_folder, server, _) = started("access-order", &all_roles());
    let query = "<transactions id=\"1\"><query id=\"1\"/></transactions>";
    logged_in(&server, "operator").ask(MARKET);
    let mut client = server.client();
    let login = format!("<login key=\"trader\" secret=\"{SECRET}\"/>");
    for request in [query, &login, query, "<login key=\"trader\" secret=\"wrong-wrong-wrong\"/>", query] {
        client.send_request(request).unwrap();
    }
    let unknown_order = "<results><error id=\"1\">Unknown order</error></results>\n";
    let expected = [
        "<results><error id=\"1\">Unknown account</error></results>\n",
        "<results><logged-in member=\"trader\"/></results>\n",
        unknown_order,
        WRONG,
        unknown_order,
    ];
    for reply in expected {
        assert_eq!(client.reply().unwrap(), reply);
    }
    log_in(&mut client, "nobody");
    assert!(client.ask(query).contains(UNKNOWN), "the last login counts");
    assert!(server.client().ask(query).contains(UNKNOWN), "other connections are not logged in");
    server.stop();
}

#[test]
fn a_challenge_is_signed_once_and_on_its_connection() {
    let seed = ed25519_dalek::SigningKey::from_bytes(&[3; 32]);
    let public = base64(seed.verifying_key().as_bytes());
    let text = member("hana", "\"trader\"", "\"1\"", "")
        + &member("curt", "\"trader\"", "\"1\"", &format!("ed25519 = \"{public}\"\n"));
    let (_folder, server, _) = started("access-challenge", &text);
    let mut client = server.client();
    let challenge = |client: &mut Client, key: &str| {
        let reply = client.ask(&format!("<login key=\"{key}\"/>"));
        let nonce = reply.strip_prefix("<results><challenge nonce=\"").and_then(|rest| rest.split_once('"'));
        nonce.unwrap_or_else(|| panic!("a challenge: {reply}")).0.to_owned()
    };
    let answer = |client: &mut Client, key: &str, signature: &str| {
        client.ask(&format!("<login key=\"{key}\" signature=\"{signature}\"/>"))
    };
    let nonce = challenge(&mut client, "hana");
    let signature = xml::login_signature(SECRET, &nonce);
    assert_eq!(answer(&mut client, "hana", &signature), "<results><logged-in member=\"hana\"/></results>\n");
    assert!(answer(&mut client, "hana", &signature).contains("no challenge waits"), "it is used");
    let mut other = server.client();
    challenge(&mut other, "hana");
    assert_eq!(answer(&mut other, "hana", &signature), WRONG, "that was another connection's");
    let nonce = challenge(&mut other, "curt");
    let signature = ed25519_dalek::Signer::sign(&seed, format!("pricetime-login:{nonce}").as_bytes());
    let logged_in = answer(&mut other, "curt", &base64(&signature.to_bytes()));
    assert_eq!(logged_in, "<results><logged-in member=\"curt\"/></results>\n");
    server.stop();
}

/// Verifying a signature takes tens of microseconds, and a client could have as many verified as it liked.
#[test]
fn a_connection_ends_with_the_fourth_wrong_signature_whatever_keys_they_name() {
    let (_folder, server, _) = started("access-wrong-signatures", &all_roles());
    let mut client = server.client();
    let key = |number: u32| if number == 0 { "trader".to_owned() } else { format!("nobody-{number}") };
    let pair = |key| [format!("<login key=\"{key}\"/>"), format!("<login key=\"{key}\" signature=\"00\"/>")];
    let logins: Vec<u8> = (0..100).flat_map(|number| pair(key(number))).flat_map(|login| frame(&login)).collect();
    client.send(&logins).unwrap();
    for _ in 0..4 {
        assert!(client.reply().unwrap().contains("<challenge "));
        assert_eq!(client.reply().unwrap(), WRONG);
    }
    assert_eq!(client.rest().unwrap(), "");
    log_in(&mut server.client(), "trader");
    server.stop();
}

fn base64(bytes: &[u8]) -> String {
    base64::Engine::encode(&base64::prelude::BASE64_STANDARD, bytes)
}

#[test]
fn keys_that_are_gone_or_expired_lose_their_rights_on_open_connections() {
    let text = all_roles() + &member("brief", "\"trader\"", "\"1\"", "");
    let (_folder, server, path) = started("access-revoked", &text);
    let mut operator = logged_in(&server, "operator");
    operator.ask(MARKET);
    let [mut trader, mut brief] = ["trader", "brief"].map(|key| logged_in(&server, key));
    let may = |client: &mut Client| !ask(client, "1", "<query id=\"1\"/>").contains(UNKNOWN);
    assert!(may(&mut trader) && may(&mut brief));
    // A broken file changes nothing.
    for broken in ["", "[[member]", &text.replace("\"viewer\"", "\"voyeur\"")] {
        let refused = || server.process.log().matches("who may do what stays as it was").count();
        let before = refused();
        write(&path, broken);
        wait_until("the file's fault in the log", PATIENCE, || refused() > before);
        assert!(may(&mut trader) && logged_in_as(&server, "viewer"), "{broken}");
    }
    let log = server.process.log();
    assert!(log.contains("roles has one that there is not"), "{log}");
    let (soon, date) = in_seconds(4);
    let expires = format!("secret = \"{SECRET}\"\nexpires = {date}\n");
    let with_expiry = all_roles() + &member("brief", "\"trader\"", "\"1\"", &expires);
    write(&path, &with_expiry.replace("id = \"trader\"", "id = \"traitor\""));
    wait_until("the trader's key to count no more", PATIENCE, || !may(&mut trader));
    assert!(!logged_in_as(&server, "trader") && may(&mut operator));
    assert!(may(&mut brief) || SystemTime::now() >= soon, "it has not expired");
    wait_until("a key to expire", PATIENCE, || !may(&mut brief));
    assert!(!logged_in_as(&server, "brief"));
    server.stop();
}

/// Returns the full second this long from now, also as an access file has it.
fn in_seconds(seconds: u64) -> (SystemTime, String) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let seconds = now + seconds;
    let date = Command::new("date").args(["-u", "-d", &format!("@{seconds}"), "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    let soon = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    (soon, String::from_utf8(date.stdout).unwrap().trim().to_owned())
}

fn logged_in_as(server: &Server, key: &str) -> bool {
    let reply = server.client().ask(&format!("<login key=\"{key}\" secret=\"{SECRET}\"/>"));
    assert!(reply == WRONG || reply.contains("<logged-in "), "{reply}");
    reply != WRONG
}

#[test]
fn who_guesses_waits_and_learns_nothing_and_nobody_else_does() {
    let hashed = format!("secret_hash = \"{}\"\n", hash_of_secret(SECRET));
    let text = all_roles()
        + &member("hashed", "\"trader\"", "\"1\"", &hashed)
        + &member("here", "\"viewer\"", "\"1\"", "address = \"127.0.0.2\"\n");
    let (_folder, server, _) = started("access-guessing", &text);
    let mut trader = logged_in(&server, "trader");
    let mut guesser = server.client();
    for key in ["trader", "hashed", "nobody-at-all", "here"] {
        let reply = guesser.ask(&format!("<login key=\"{key}\" secret=\"wrong-wrong-wrong\"/>"));
        assert_eq!(reply, WRONG, "{key}");
    }
    let guess = |guesser: &mut Client| guesser.ask("<login key=\"trader\" secret=\"wrong-wrong-wrong\"/>");
    for _ in 0..3 {
        assert_eq!(guess(&mut guesser), WRONG);
    }
    // Each further one doubles the wait of the next.
    let waits = (0..10).map(|_| guess(&mut guesser)).find(|told| told != WRONG).expect("it has to wait");
    assert!(waits.contains("too many wrong ones came for this key from this address; try again in "), "{waits}");
    // A client with another key does not wait, although clients at its address guess.
    log_in(&mut server.client(), "hashed");
    assert!(!ask(&mut trader, "1", "<query id=\"1\"/>").is_empty(), "who is logged in goes on");
    let mut elsewhere = from("127.0.0.3", &server);
    log_in(&mut elsewhere, "trader");
    log_in(&mut guesser, "trader");
    server.stop();
}

/// The member that has the secret of a key was refused at an address while somebody guessed at that key there.
#[test]
fn whoever_has_the_secret_logs_in_where_others_guess_at_its_key_without_a_pause() {
    let (_folder, server, _) = started("access-guessed-at", &all_roles());
    let (is_over, begun) = (AtomicBool::new(false), Instant::now());
    let guess = |client: &mut Client| client.ask("<login key=\"trader\" secret=\"wrong-wrong-wrong\"/>");
    let right = format!("<login key=\"trader\" secret=\"{SECRET}\"/>");
    let told: Vec<String> = std::thread::scope(|scope| {
        let (mut guesser, is_over) = (server.client(), &is_over);
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
                guess(&mut guesser);
            }
        });
        let mut client = server.client();
        let each = |_| {
            let waits = (0..20).any(|_| guess(&mut client) != WRONG);
            assert!(waits, "a client that guesses has to wait");
            server.client().ask(&right)
        };
        let told = (0..20).map(each).collect();
        is_over.store(true, Ordering::Relaxed);
        told
    });
    assert!(told.iter().all(|told| told.contains("<logged-in ")), "{told:?}");
    server.stop();
}

/// A connection from another address of this machine.
fn from(address: &str, server: &Server) -> Client {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let source = std::net::SocketAddr::new(address.parse().unwrap(), 0);
    socket.bind(&source.into()).unwrap();
    socket.connect(&server.xml.into()).unwrap();
    Client::over(socket.into(), PATIENCE).unwrap()
}

#[test]
fn an_address_of_a_member_needs_no_login() {
    let text = all_roles() + &member("desk", "\"trader\"", "\"1\"", "address = \"127.0.0.2\"\n");
    let (_folder, server, _) = started("access-address", &text);
    logged_in(&server, "operator").ask(MARKET);
    let mut desk = from("127.0.0.2", &server);
    assert!(ask(&mut desk, "1", "<order sym=\"S\" amount=\"1\" limit=\"5\"/>").contains("<opened "));
    assert!(ask(&mut desk, "2", "<query id=\"1\"/>").contains(UNKNOWN));
    assert!(ask(&mut from("127.0.0.3", &server), "1", "<query id=\"1\"/>").contains(UNKNOWN));
    server.stop();
}

#[test]
fn secrets_are_shown_nowhere() {
    let (_folder, server, path) = started("access-secrets", &all_roles());
    let mut client = logged_in(&server, "operator");
    let mut said = client.ask(&format!("<login key=\"operator\" secret=\"{SECRET}\" oddity=\"{SECRET}\"/>"));
    said += &client.ask(&format!("<login key=\"operator\" secret=\"{SECRET}\" signature=\"{SECRET}\"/>"));
    said += &client.ask(&format!("<login secret=\"{SECRET}\"/>"));
    said += &client.ask(&format!("<login key=\"operator\" secret=\"{SECRET}<\"/>"));
    said += &client.ask(&format!("<login key=\"{SECRET}\" secret=\"{SECRET}\"/>"));
    assert_eq!(said.matches("<error>").count(), 5, "{said}");
    write(&path, &all_roles().replacen("[\"operator\"]", &format!("\"{SECRET}\""), 1));
    wait_until("the fault to be logged", PATIENCE, || server.process.log().contains("invalid type"));
    said += &server.process.log();
    let proof = [("authorization", basic("operator", SECRET))];
    let proof: Vec<(&str, &str)> = proof.iter().map(|(name, value)| (*name, value.as_str())).collect();
    said += &String::from_utf8(Http::new(server.http).bytes("/metrics", &proof).1).unwrap();
    said += &fs::read_to_string(format!("/proc/{}/cmdline", server.process.id())).unwrap();
    // Only root may read it.
    said += &fs::read_to_string(format!("/proc/{}/environ", server.process.id())).unwrap_or_default();
    said += &server.banner;
    assert!(!said.contains(SECRET) && !said.contains("sesame"), "{said}");
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.process.id())).unwrap();
    let core_dumps = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(
        core_dumps.split_whitespace().skip(4).take(2).collect::<Vec<_>>(),
        ["0", "0"],
        "a core dump has the secrets"
    );
    server.stop();
}

/// A program that receives core dumps through a pipe is not bound by the limit of their size, and another process of
/// the server's user could read its memory. A process that may not be dumped belongs to root.
#[test]
fn the_memory_of_a_server_that_holds_secrets_belongs_to_root() {
    const NOBODY: u32 = 65_534;
    let owner = |text: Option<String>| {
        let folder = Folder::new("access-memory");
        fs::create_dir_all(folder.data()).unwrap();
        if let Some(text) = text {
            write(&folder.data().join("access.toml"), &text);
        }
        let mut launch = Launch::new(&folder.data());
        if rustix::process::geteuid().is_root() {
            for entry in fs::read_dir(folder.data()).unwrap().map(|entry| entry.unwrap().path()).chain([folder.data()])
            {
                chown(entry, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
            launch = launch.through(&["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        let server = launch.start();
        let owner = fs::metadata(format!("/proc/{}/mem", server.process.id())).unwrap().uid();
        server.stop();
        owner
    };
    assert_ne!(owner(None), 0, "it holds none");
    assert_eq!(owner(Some(all_roles())), 0);
}

#[test]
fn without_an_access_file_nobody_logs_in() {
    let folder = Folder::new("access-none");
    let server = Launch::new(&folder.data()).start();
    let reply = server.ask("<login key=\"a\" secret=\"b\"/>");
    assert_eq!(
        reply,
        "<results><error>login refused: this server has no access file, so nobody has to log in</error></results>\n"
    );
    assert!(server.ask(MARKET).contains("<created "));
    server.stop();
    let open = Launch::new(&folder.data()).on_xml("0.0.0.0:0".parse().unwrap());
    let refused = open.try_start().err().unwrap();
    assert!(
        refused.stderr.contains("--xml is 0.0.0.0:0, which is not loopback, and there is no access file"),
        "{}",
        refused.stderr
    );
    write(&folder.data().join("access.toml"), &all_roles());
    let server = open.start();
    assert!(!server.banner.contains("warning "), "{}", server.banner);
    server.stop();
    fs::set_permissions(folder.data().join("access.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    let refused = open.try_start().err().unwrap();
    assert!(refused.stderr.contains("its mode is 644") && refused.stderr.contains("chmod 600"), "{}", refused.stderr);
}

/// Runs `pricetime access` with these words and this standard input. Returns what it prints, and whether it succeeded.
fn tool(words: &[&str], input: &str) -> (String, bool) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pricetime"))
        .arg("access")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (text, output.status.success())
}

#[test]
fn members_are_added_and_revoked_while_the_server_runs() {
    let (folder, server, path) = started("access-tool", &all_roles());
    let file = path.to_str().unwrap();
    logged_in(&server, "operator").ask(MARKET);
    let (added, true) =
        tool(&["add", file, "--member", "alice", "--role", "trader", "--account", "1", "--id", "a1"], "")
    else {
        panic!("it is added")
    };
    let secret = added.lines().find_map(|line| line.strip_prefix("secret  ")).unwrap().to_owned();
    let secret_file = folder.path().join("secret");
    fs::write(&secret_file, format!("{secret}\n")).unwrap();
    let query = folder.path().join("query.xml");
    fs::write(&query, "<transactions id=\"1\"><query id=\"1\"/></transactions>").unwrap();
    let send = || {
        let login = format!("a1:{}", secret_file.display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
        command.args(["send", "--to", &server.xml.to_string(), "--login", &login]).arg(&query);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    wait_until("the key to count", PATIENCE, || send() == "<results><error id=\"1\">Unknown order</error></results>\n");
    assert!(tool(&["add", file, "--member", "alice", "--key", "password", "--id", "a2"], "open sesame\n").1);
    let (short, false) = tool(&["add", file, "--member", "alice", "--key", "password"], "sesame\n") else {
        panic!("short")
    };
    assert!(short.contains("the password has 6 bytes; at least 8"), "{short}");
    let (listed, true) = tool(&["list", file], "") else { panic!("it is an access file") };
    for shown in ["alice", "a1", "hmac", "a2", "password"] {
        assert!(listed.contains(shown), "{listed}");
    }
    assert!(tool(&["revoke", file, "--key", "a1"], "").1);
    wait_until("the key to count no more", PATIENCE, || send().contains("login: the server did not let us in"));
    assert!(!tool(&["revoke", file, "--key", "a1"], "").1);
    assert!(tool(&["revoke", file, "--member", "alice"], "").1);
    let log = fs::read_to_string(format!("{file}.log")).unwrap();
    assert_eq!(log.lines().count(), 4, "{log}");
    for text in [&listed, &log, &server.process.log()] {
        assert!(!text.contains(&secret) && !text.contains("sesame") && !text.contains("$argon2"), "{text}");
    }
    assert!(!fs::read_to_string(&path).unwrap().contains("alice"));
    server.stop();
}
