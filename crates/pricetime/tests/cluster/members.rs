//! Members of a cluster: a change on one node holds on all, also on those that were away, and no node takes a signed
//! request that another one took.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, SignedOrder, basic, hmac_hex, market, micros, secret};
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;

use super::log_servers::{LogServers, cluster};
use super::nodes::node;

/// A cluster with a key that seals its members.
struct World {
    folder: Folder,
    servers: LogServers,
    url: String,
    key: PathBuf,
}

impl World {
    fn new(purpose: &str) -> World {
        World::of(purpose, 1)
    }

    /// Makes a world with this many servers of the log.
    fn of(purpose: &str, count: usize) -> World {
        let folder = Folder::new(purpose);
        let servers = LogServers::start(folder.path(), count);
        let url = servers.create("market", count);
        let key = folder.path().join("members.key");
        cluster(&["key", key.to_str().unwrap()]).unwrap();
        World { folder, servers, url, key }
    }

    fn data(&self, number: u16) -> PathBuf {
        self.folder.path().join(format!("node-{number}"))
    }

    /// The access file of a node.
    fn file(&self, number: u16) -> PathBuf {
        self.data(number).join("access.toml")
    }

    /// Gives a node an access file.
    fn give(&self, number: u16, text: &str) {
        fs::create_dir_all(self.data(number)).unwrap();
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(self.file(number));
        std::io::Write::write_all(&mut file.unwrap(), text.as_bytes()).unwrap();
    }

    fn launch(&self, number: u16) -> Launch {
        node(&self.folder, number, &self.url).with(&format!("--members-key {}", self.key.display()))
    }

    fn start(&self, number: u16) -> (Server, Http) {
        let server = self.launch(number).start();
        let http = Http::new(server.http);
        (server, http)
    }

    /// The sealed bytes of an edition on the log's servers.
    fn sealed(&self, edition: u64) -> Vec<u8> {
        let found = self.servers.ask("$JS.API.STREAM.MSG.GET.market-members", &format!("{{\"seq\":{edition}}}"));
        BASE64_STANDARD.decode(found["message"]["data"].as_str().unwrap_or_else(|| panic!("{found}"))).unwrap()
    }
}

fn access(words: &[&str], file: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pricetime"));
    let ran = command.arg("access").arg(words[0]).arg(file).args(&words[1..]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn order(account: &str, shares: &str) -> Value {
    json!({"account": account, "symbol": "SPY", "side": "buy", "shares": shares, "limit": "0.01"})
}

fn place(http: &Http, member: &str, account: &str) -> u16 {
    Client { http, member }.send("POST", "/api/v1/orders", Some(&order(account, "1"))).status
}

fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_until(what, Duration::from_secs(20), &mut is_so);
}

#[test]
fn who_is_revoked_on_one_node_trades_on_none() {
    let world = World::new("cluster-members-revoked");
    world.give(1, &AccessFile::text(&[]));
    let (first, http_1) = world.start(1);
    market(&http_1);
    // The others have no access file, and get one.
    let (second, http_2) = world.start(2);
    let (third, http_3) = world.start(3);
    for http in [&http_1, &http_2, &http_3] {
        soon("alice trades", || place(http, "alice", "1") == 201);
    }
    drop(third.stop());
    let token = format!("Bearer {}", Client { http: &http_2, member: "alice" }.log_in());
    let mut logged_in = second.client();
    let login = format!("<login key=\"alice-key\" secret=\"{}\"/>", secret("alice"));
    assert!(logged_in.ask(&login).contains("logged-in"));
    let query = "<transactions id=\"1\"><query id=\"1\"/></transactions>";
    assert!(logged_in.ask(query).contains("<open shares="));

    let olga = Client { http: &http_1, member: "olga" };
    let revoked = olga.send("DELETE", "/api/v1/members/alice/keys/alice-key", None);
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    assert_eq!(place(&http_1, "alice", "1"), 401);
    soon("node 2 refuses her", || place(&http_2, "alice", "1") == 401);
    let by_token = http_2.send("GET", "/api/v1/accounts/1", None, &[("authorization", &token)]);
    assert_eq!(by_token.status, 401, "{}", by_token.text);
    let refused = logged_in.ask(query);
    assert!(refused.contains("<error") && !refused.contains("<open shares="), "{refused}");
    assert_eq!(place(&http_2, "bob", "2"), 201, "others trade on");
    // The record on each node names who did it.
    let record = fs::read_to_string(world.data(2).join("access.toml.log")).unwrap();
    assert!(record.contains("edition=2 user=olga from=127.0.0.1 revoke key=alice-key"), "{record}");

    // It holds after a restart, and on a node that was away.
    drop(second.stop());
    let (second, http_2) = world.start(2);
    let (third, http_3) = world.start(3);
    for http in [&http_2, &http_3] {
        assert_eq!((place(http, "alice", "1"), place(http, "bob", "2")), (401, 201));
    }
    for number in [1, 2, 3] {
        let text = fs::read_to_string(world.file(number)).unwrap();
        assert!(!text.contains("alice-key") && text.contains("bob-key"), "node {number}: {text}");
        assert_eq!(fs::metadata(world.file(number)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // A reader of the log finds no secret, and not even a member's name.
    for edition in [1, 2] {
        let sealed = world.sealed(edition);
        for hidden in [secret("bob").as_str(), "bob", "olga", "operator", "revoke"] {
            assert!(!sealed.windows(hidden.len()).any(|bytes| bytes == hidden.as_bytes()), "{hidden}");
        }
    }
    [first, second, third].into_iter().for_each(|server| drop(server.stop()));
}

/// A revocation takes the way of an order, or within a second a longer one. Nodes that asked for members now and then
/// would let a revoked key trade for as long.
#[test]
fn a_revocation_is_on_the_other_nodes_as_soon_as_an_order_is() {
    const ROUNDS: usize = 7;
    let world = World::new("cluster-members-soon");
    world.give(1, &AccessFile::text(&[]));
    let (first, http_1) = world.start(1);
    market(&http_1);
    let (second, http_2) = world.start(2);
    let (olga, otto) = (Client { http: &http_1, member: "olga" }, Client { http: &http_2, member: "otto" });
    let has_key = |key: &str| otto.get("/api/v1/members").text.contains(&format!("\"{key}\""));
    let keys: Vec<(String, Value)> = (0..ROUNDS)
        .map(|nth| {
            let id = format!("bob-{nth}");
            let made = olga.make("/api/v1/members/bob/keys", &json!({"kind": "hmac", "id": id}));
            (id, made["secret"].clone())
        })
        .collect();
    soon("all keys count on node 2", || keys.iter().all(|(key, _)| has_key(key)));
    let way_of = |is_there: &dyn Fn() -> bool| {
        let begun = Instant::now();
        soon("node 2 knows it", is_there);
        begun.elapsed()
    };
    let [mut orders, mut revocations] = [Vec::new(), Vec::new()];
    for (key, _) in &keys {
        let placed = olga.make("/api/v1/orders", &order("1", "1"));
        let path = format!("/api/v1/orders/{}?account=1", placed["order_id"]);
        orders.push(way_of(&|| Client { http: &http_2, member: "alice" }.get(&path).status == 200));
        let revoked = olga.send("DELETE", &format!("/api/v1/members/bob/keys/{key}"), None);
        assert_eq!(revoked.status, 200, "{}", revoked.text);
        revocations.push(way_of(&|| !has_key(key)));
    }
    let median = |mut ways: Vec<Duration>| {
        ways.sort_unstable();
        ways[ROUNDS / 2]
    };
    let (order, revocation) = (median(orders), median(revocations));
    println!("an order takes {order:?} to the other node, and a revocation {revocation:?}");
    assert!(revocation < order * 10 + Duration::from_secs(1), "{revocation:?}, and an order {order:?}");
    let proof = basic(&keys[0].0, keys[0].1.as_str().unwrap());
    assert_eq!(http_2.send("GET", "/api/v1/accounts/2", None, &[("authorization", &proof)]).status, 401);
    [first, second].into_iter().for_each(|server| drop(server.stop()));
}

#[test]
fn keys_limits_and_modes_of_one_node_are_those_of_all() {
    let world = World::new("cluster-members-changed");
    world.give(1, &AccessFile::text(&[]));
    let (first, http_1) = world.start(1);
    market(&http_1);
    let (second, http_2) = world.start(2);
    let reader = world.launch(3).with("--read-only").start();
    let http_3 = Http::new(reader.http);
    let (olga_1, olga_2) = (Client { http: &http_1, member: "olga" }, Client { http: &http_2, member: "olga" });
    // A key that one node made counts on the other.
    let key = olga_2.make("/api/v1/members/bob/keys", &json!({"kind": "hmac", "id": "bob-2"}));
    let proof = basic("bob-2", key["secret"].as_str().unwrap());
    let look = |http: &Http| http.send("GET", "/api/v1/accounts/2", None, &[("authorization", &proof)]).status;
    for http in [&http_1, &http_3] {
        soon("the new key counts", || look(http) == 200);
    }
    // Both change something at once, many times, and nothing gets lost.
    std::thread::scope(|scope| {
        for (olga, name) in [(&olga_1, "one"), (&olga_2, "two")] {
            scope.spawn(move || {
                for nth in 0..8 {
                    let member = json!({"name": format!("{name}-{nth}"), "roles": ["viewer"], "accounts": ["1"]});
                    let added = olga.send("POST", "/api/v1/members", Some(&member));
                    assert_eq!(added.status, 201, "{}", added.text);
                }
            });
        }
    });
    for http in [&http_1, &http_2, &http_3] {
        soon("all are members everywhere", || {
            let listed = Client { http, member: "otto" }.get("/api/v1/members").text;
            (0..8).all(|nth| listed.contains(&format!("one-{nth}")) && listed.contains(&format!("two-{nth}")))
        });
    }
    let limits = json!({"roles": ["trader"], "accounts": ["1"], "limits": {"order_shares": "5"}});
    assert_eq!(olga_1.send("PUT", "/api/v1/members/alice", Some(&limits)).status, 200);
    let alice_2 = Client { http: &http_2, member: "alice" };
    soon("her limit holds on node 2", || alice_2.send("POST", "/api/v1/orders", Some(&order("1", "6"))).status == 422);
    assert_eq!(place(&http_2, "alice", "1"), 201);
    let read_only = json!({"mode": "read-only"});
    assert_eq!(olga_2.send("PUT", "/api/v1/mode", Some(&read_only)).status, 200);
    soon("node 1 is read-only", || place(&http_1, "alice", "1") == 503);
    drop(first.stop());
    let (first, http_1) = world.start(1);
    assert_eq!(place(&http_1, "alice", "1"), 503, "also after a restart");
    // The file is changed by hand on one node, while it runs.
    access(&["mode", "normal"], &world.file(1));
    for http in [&http_1, &http_2] {
        soon("the venue is open", || place(http, "alice", "1") == 201);
    }
    // A node that only follows changes nothing.
    let olga_3 = Client { http: &http_3, member: "olga" };
    let refused = olga_3.send("DELETE", "/api/v1/members/bob", None);
    assert_eq!(refused.code(), (503, "read-only-node"));
    assert_eq!(olga_3.send("PUT", "/api/v1/mode", Some(&read_only)).code(), (503, "read-only-node"));
    [first, second, reader].into_iter().for_each(|server| drop(server.stop()));
}

#[test]
fn what_was_changed_by_hand_on_a_node_that_was_away_gives_way_to_the_log() {
    let world = World::new("cluster-members-by-hand");
    world.give(1, &AccessFile::text(&[]));
    let (first, http_1) = world.start(1);
    market(&http_1);
    let (second, _) = world.start(2);
    drop(second.stop());
    // Nobody changed anything else, so the change counts when the node is back.
    access(&["revoke", "--member", "vera"], &world.file(2));
    let (second, _) = world.start(2);
    soon("node 1 knows vera no more", || Client { http: &http_1, member: "vera" }.get("/api/v1/status").status == 401);
    drop(second.stop());
    // Someone did, so the log counts, and the file's content is kept aside.
    access(&["revoke", "--member", "otto"], &world.file(2));
    let revoked = Client { http: &http_1, member: "olga" }.send("DELETE", "/api/v1/members/alice", None);
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    let (second, http_2) = world.start(2);
    assert_eq!(place(&http_2, "alice", "1"), 401);
    assert_eq!(Client { http: &http_2, member: "otto" }.get("/api/v1/members").status, 200);
    let kept = fs::read_to_string(world.data(2).join("access.toml.replaced")).unwrap();
    assert!(kept.contains("alice") && !kept.contains("otto"), "{kept}");
    assert!(second.process.log().contains("those of the log count"), "{}", second.process.log());
    [first, second].into_iter().for_each(|server| drop(server.stop()));
}

#[test]
fn a_node_that_does_not_know_the_members_does_not_serve() {
    let world = World::new("cluster-members-refused");
    let refusal = |launch: &Launch| launch.try_start().err().expect("it does not start").stderr;
    let plain = |number| node(&world.folder, number, &world.url);
    let without_members = refusal(&world.launch(1));
    assert!(without_members.contains("neither its log nor this node has any"), "{without_members}");
    // There are no members yet, so anyone may do anything, on loopback.
    let mut open = plain(1).start();
    assert!(open.ask("<create><account id=\"7\" balance=\"1\"/></create>").contains("created"));
    world.give(2, &AccessFile::text(&[]));
    let without_key = refusal(&plain(2));
    assert!(without_key.contains("--members-key") && without_key.contains("pricetime cluster key"), "{without_key}");
    let (second, _) = world.start(2);
    // Now there are members: a node that lets anyone do anything ends, and none starts so.
    let ended = open.process.wait_for_end(PATIENCE);
    assert!(ended.stderr.contains("the cluster has members (edition 1 in its log)"), "{}", ended.stderr);
    assert!(refusal(&plain(1)).contains("start it with --members-key"), "it does not start again");
    let other = world.folder.path().join("other.key");
    cluster(&["key", other.to_str().unwrap()]).unwrap();
    let wrong = refusal(&plain(3).with(&format!("--members-key {}", other.display())));
    assert!(wrong.contains("edition 1") && wrong.contains("sealed with another key than this node's"), "{wrong}");
    let alone = Launch::new(&world.data(4)).with(&format!("--members-key {}", world.key.display()));
    assert!(refusal(&alone).contains("it needs store = nats://"));
    // A node that cannot open the present members must not go on with the earlier ones.
    let third = world.start(3).0;
    drop(second.stop());
    let keys = [&other, &world.key].map(|path| fs::read_to_string(path).unwrap()).concat();
    let both = world.folder.path().join("both.key");
    fs::write(&both, keys).unwrap();
    fs::set_permissions(&both, fs::Permissions::from_mode(0o600)).unwrap();
    let second = plain(2).with(&format!("--members-key {}", both.display())).start();
    let olga = |http: &Http, path: &str| Client { http, member: "olga" }.send("DELETE", path, None).status;
    assert_eq!(olga(&Http::new(second.http), "/api/v1/members/vera"), 200);
    let mut third = third;
    let ended = third.process.wait_for_end(PATIENCE);
    assert!(
        ended.stderr.contains("edition 2 of the members in the log: it was sealed with another key"),
        "{}",
        ended.stderr
    );
    // The log's servers are away: nothing is changed, and no change counts that nobody else would know.
    let World { servers, .. } = world;
    drop(servers);
    let http_2 = Http::new(second.http);
    let refused = Client { http: &http_2, member: "olga" }.send("DELETE", "/api/v1/members/bob", None);
    assert!(matches!(refused.code(), (503, "store-away") | (504, "outcome-unknown")), "{}", refused.text);
    assert_eq!(Client { http: &http_2, member: "bob" }.get("/api/v1/status").status, 200);
}

/// A recovered log knows of no members, and a node without the key once opened the market to everybody.
#[test]
fn a_recovered_market_is_not_served_without_its_members() {
    let world = World::new("cluster-members-recovered");
    world.give(1, &AccessFile::text(&[]));
    let (first, http) = world.start(1);
    market(&http);
    drop(first.stop());
    let other = world.servers.url("again");
    let data = world.data(1);
    cluster(&["recover", "--store", &other, "--replicas", "1", "--data", data.to_str().unwrap()]).unwrap();
    // The access file lay on a disk that is lost.
    ["access.toml", "access.toml.edition"].iter().for_each(|name| fs::remove_file(data.join(name)).unwrap());
    let plain = || node(&world.folder, 1, &other);
    let refused = plain().try_start().err().expect("it does not start").stderr;
    assert!(refused.contains("--members-key") && refused.contains(data.join("members").to_str().unwrap()), "{refused}");
    drop(plain().with("--open-to-anyone").start().stop());
    fs::remove_file(data.join("members")).unwrap();
    drop(plain().start().stop());
}

/// Adds a time and alice's signature to parameters.
fn sign(parameters: &str) -> String {
    // Two signatures within a millisecond would make the same request.
    std::thread::sleep(Duration::from_millis(2));
    let timed = format!("{parameters}&recvWindow=60000&timestamp={}", now());
    format!("{timed}&signature={}", hmac_hex(&secret("alice"), &timed))
}

fn send(http: &Http, method: &str, path: &str, signed: &str) -> Answer {
    http.send(method, &format!("/binance/api/v3/{path}?{signed}"), None, &[("x-mbx-apikey", "alice-key")])
}

#[test]
fn a_signed_request_that_one_node_took_is_taken_by_no_other() {
    const ORDER: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9";
    let world = World::of("cluster-members-signed", 3);
    world.give(1, &AccessFile::text(&[]));
    let (first, http_1) = world.start(1);
    market(&http_1);
    let (second, http_2) = world.start(2);
    let nodes = [(1, first), (2, second)];
    settle_members(&nodes);
    let open_orders = || {
        let orders = Client { http: &http_1, member: "alice" }.get("/api/v1/accounts/1/orders");
        orders.body["orders"].as_array().unwrap_or_else(|| panic!("{}", orders.text)).len()
    };
    let order = sign(ORDER);
    assert_eq!(send(&http_1, "POST", "order", &order).status, 200);
    let again = send(&http_2, "POST", "order", &order);
    assert_eq!((again.status, &again.body["code"]), (400, &json!(-1022)), "{}", again.text);
    assert!(again.text.contains("the same request was sent before"), "{}", again.text);
    let placed = send(&http_2, "POST", "order", &sign(ORDER));
    assert_eq!(placed.status, 200, "what is signed anew is done: {}", placed.text);
    // An eavesdropper may be as fast as the client. Rarely the log's servers tell one node that the mark is on its way,
    // and the other one that it came before: then no node takes the request, and the client signs it anew.
    let mut done_in_all = 0;
    for round in 0..10 {
        let order = sign(ORDER);
        let taken = std::thread::scope(|scope| {
            let sent = [&http_1, &http_2].map(|http| scope.spawn(|| send(http, "POST", "order", &order)));
            sent.map(|sent| sent.join().unwrap().status)
        });
        let done = taken.iter().filter(|status| **status == 200).count();
        assert!(done <= 1, "round {round}: {taken:?}");
        done_in_all += done;
    }
    assert!(done_in_all >= 5, "nearly every request is taken: {done_in_all}");
    let canceled = send(&http_1, "DELETE", "openOrders", &sign("symbol=SPYUSD"));
    assert_eq!(canceled.status, 200, "{}", canceled.text);
    // This is the client's own request.
    let ours = SignedOrder::at(micros());
    assert_eq!(ours.send(&http_2).status, 201);
    let again = ours.send(&http_1);
    assert_eq!(again.code(), (401, "unauthenticated"));
    assert!(again.text.contains("was sent before"), "{}", again.text);
    soon("the order is at the other node", || open_orders() == 1);
    // A read at one node changes nothing at another.
    let told = || world.servers.state("market-signed")["last_seq"].as_u64().unwrap();
    let before = told();
    let look = sign("symbol=SPYUSD");
    for http in [&http_1, &http_2] {
        assert_eq!(send(http, "GET", "openOrders", &look).status, 200);
    }
    soon("the look is told of", || told() > before);
    let canceled = send(&http_2, "DELETE", "openOrders", &look);
    assert_eq!((canceled.status, &canceled.body["code"]), (400, &json!(-1022)), "{}", canceled.text);
    assert_eq!(open_orders(), 1);
    let look = sign("symbol=SPYUSD");
    let before = told();
    assert_eq!(send(&http_1, "GET", "openOrders", &look).status, 200);
    soon("the look is told of", || told() > before);
    let canceled = send(&http_2, "DELETE", "openOrders", &look);
    assert_eq!((canceled.status, &canceled.body["code"]), (400, &json!(-1022)), "{}", canceled.text);
    assert_eq!(open_orders(), 1);
    nodes.into_iter().for_each(|(_, server)| drop(server.stop()));
}

/// Waits until both nodes have taken the market that one of them got.
fn settle_members(nodes: &[(u16, Server)]) {
    let count = |http: &Http| Client { http, member: "otto" }.get("/api/v1/status").body["sequence"].clone();
    let https: Vec<Http> = nodes.iter().map(|(_, node)| Http::new(node.http)).collect();
    soon("all nodes stand where the first does", || https.iter().all(|http| count(http) == count(&https[0])));
}

/// A copy of a node's folder once was served to everybody, also if its cluster had members.
#[test]
fn a_copy_of_a_node_is_not_served_without_the_members_of_its_cluster() {
    let world = World::new("cluster-members-copied");
    world.give(1, &AccessFile::text(&[]));
    let (first, http) = world.start(1);
    market(&http);
    let copy = world.folder.path().join("copy");
    let backup =
        Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["backup", &world.url]).arg(&copy).output().unwrap();
    assert!(backup.status.success(), "{backup:?}");
    drop(first.stop());
    fs::remove_file(world.file(1)).unwrap();
    // Neither folder has the access file now.
    let refused = Launch::new(&copy).try_start().map(|_| ()).unwrap_err();
    assert!(refused.stderr.contains("has members, and there is no access file"), "{refused:?}");
    let refused = Launch::new(&world.data(1)).try_start().map(|_| ()).unwrap_err();
    assert!(refused.stderr.contains("has members, and there is no access file"), "{refused:?}");
}
