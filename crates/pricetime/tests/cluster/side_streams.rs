//! The two streams beside the log: settings that lose something, another stream in place of one, and none of their
//! servers leading.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, Client, SignedOrder, market, micros};
use crate::common::server::{Launch, PATIENCE};
use crate::common::wait::wait_until;

use super::log_servers::{LogServers, cluster};
use super::nodes::{CREATE, node};

/// Servers of the log, a log, and a node with members.
struct World {
    folder: Folder,
    servers: LogServers,
    url: String,
}

impl World {
    fn of(purpose: &str, count: usize) -> World {
        let folder = Folder::new(purpose);
        let servers = LogServers::start(folder.path(), count);
        let url = servers.create("market", count);
        let world = World { folder, servers, url };
        cluster(&["key", world.key()]).unwrap();
        let data = world.folder.path().join("node-1");
        fs::create_dir_all(&data).unwrap();
        let file = AccessFile::new(&world.folder);
        fs::copy(&file.path, data.join("access.toml")).unwrap();
        world
    }

    fn key(&self) -> &'static str {
        Path::new(&self.folder.path().join("members.key")).to_str().unwrap().to_owned().leak()
    }

    fn launch(&self) -> Launch {
        node(&self.folder, 1, &self.url).with(&format!("--members-key {}", self.key()))
    }

    fn config(&self, stream: &str) -> Value {
        self.servers.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "")["config"].clone()
    }

    fn set(&self, stream: &str, field: &str, value: Value) {
        let mut config = self.config(stream);
        config[field] = value;
        let set = self.servers.ask(&format!("$JS.API.STREAM.UPDATE.{stream}"), &config.to_string());
        assert!(set["error"].is_null(), "{set}");
    }

    /// The server that leads a stream.
    fn leader(&self, stream: &str) -> usize {
        let info = self.servers.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "");
        info["cluster"]["leader"].as_str().unwrap().strip_prefix("log-").unwrap().parse().unwrap()
    }
}

fn metrics(http: &Http) -> String {
    Client { http, member: "olga" }.get("/metrics").text
}

#[test]
fn a_node_does_not_begin_beside_a_stream_that_forgets_too_much() {
    let world = World::of("cluster-side-settings", 1);
    let window = world.config("market-signed")["duplicate_window"].clone();
    world.set("market-signed", "duplicate_window", json!(1_000_000_000));
    let refused = world.launch().try_start().err().expect("it does not start").stderr;
    assert!(
        refused.contains("the stream market-signed") && refused.contains("its duplicate window is too short"),
        "{refused}"
    );
    world.set("market-signed", "duplicate_window", window);
    world.set("market-members", "max_msgs", json!(3));
    let refused = world.launch().try_start().err().expect("it does not start").stderr;
    assert!(
        refused.contains("the stream market-members") && refused.contains("it keeps too few messages"),
        "{refused}"
    );
    world.set("market-members", "max_msgs", json!(1_000));
    drop(world.launch().start().stop());
}

/// A stream with as many editions as the node had once was taken for the same stream.
#[test]
fn a_node_ends_when_another_stream_of_members_has_as_many_editions() {
    let world = World::of("cluster-side-swapped", 1);
    let mut server = world.launch().start();
    assert_eq!(world.servers.state("market-members")["last_seq"], 1);
    // The node does not notice the moment in which there is no stream.
    server.process.signal(rustix::process::Signal::STOP);
    world.servers.lose("market-members");
    cluster(&["upgrade", "--store", &world.url]).unwrap();
    world.servers.ask("pricetime.market.members", "somebody's edition");
    server.process.signal(rustix::process::Signal::CONT);
    let ended = server.process.wait_for_end(PATIENCE);
    assert!(ended.stderr.contains("edition 1"), "{ended:?}");
}

#[test]
fn a_node_says_that_its_members_cannot_be_asked_and_goes_on_with_those_it_knew() {
    let mut world = World::of("cluster-side-away", 3);
    let server = world.launch().with("--store-patience 60s").start();
    let http = Http::new(server.http);
    market(&http);
    // Only one server has the members, and it is stopped.
    world.set("market-members", "num_replicas", json!(1));
    let gone = world.leader("market-members");
    world.servers.kill(gone);
    wait_until("the node says so", Duration::from_secs(90), || server.readiness().contains("\"members-away\""));
    assert!(server.readiness().starts_with("HTTP/1.1 200"), "clients are served");
    assert!(metrics(&http).contains("\npricetime_log_members_away 1\n"));
    assert_eq!(Client { http: &http, member: "alice" }.get("/api/v1/status").status, 200);
    world.servers.restart(gone);
    wait_until("the members are back", Duration::from_secs(90), || server.readiness().contains("\"ok\""));
    assert!(metrics(&http).contains("\npricetime_log_members_away 0\n"));
    drop(server.stop());
}

/// A signed request once was refused for as long as the servers had no leader, however long the patience was.
#[test]
fn a_signed_request_waits_for_a_leader_as_long_as_a_command_does() {
    let mut world = World::of("cluster-side-leader", 3);
    let server = world.launch().with("--store-patience 60s").start();
    let http = Http::new(server.http);
    market(&http);
    assert_eq!(SignedOrder::at(micros()).send(&http).status, 201);
    let leader = world.leader("market-signed");
    world.servers.kill(leader);
    // Nobody knows what happened to requests under way to the leader; this one is sent when the leader is gone.
    std::thread::sleep(Duration::from_millis(200));
    let placed = SignedOrder::at(micros()).send(&http);
    assert_eq!(placed.status, 201, "{}", placed.text);
    drop(server.stop());
}

/// The number of the cluster in a stream's metadata, and whether its log is still to be made.
fn marks(servers: &LogServers, stream: &str) -> (String, bool) {
    let info = servers.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "");
    let metadata = &info["config"]["metadata"];
    let number = metadata["pricetime-cluster"].as_str().unwrap_or_else(|| panic!("{stream}: {info}"));
    (number.to_owned(), !metadata["pricetime-being-made"].is_null())
}

/// Marks the streams beside a log as they are before the end of a creation.
fn mark_as_being_made(servers: &LogServers) {
    for stream in ["market-members", "market-signed"] {
        let mut config = servers.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "")["config"].clone();
        config["metadata"]["pricetime-being-made"] = json!("yes");
        let set = servers.ask(&format!("$JS.API.STREAM.UPDATE.{stream}"), &config.to_string());
        assert!(set["error"].is_null(), "{set}");
    }
}

/// A creation that was interrupted between the streams once could never be repeated under that name: another try drew
/// another number, and the first stream had the first one.
#[test]
fn a_creation_that_was_interrupted_can_be_repeated() {
    let folder = Folder::new("cluster-side-interrupted");
    let servers = LogServers::start(folder.path(), 1);
    servers.create("other", 1);
    let (url, all) = (servers.url("market"), ["market", "market-members", "market-signed"]);
    let create = |further: &[&str]| cluster(&[&["create", "--store", &url, "--replicas", "1"], further].concat());
    // Another stream has the subject of the next one, so each creation ends before that.
    let interrupted_before = |subject: &str| {
        let blocks = json!({ "name": "blocks", "subjects": [format!("pricetime.market.{subject}")] });
        let made = servers.ask("$JS.API.STREAM.CREATE.blocks", &blocks.to_string());
        assert!(made["error"].is_null(), "{made}");
        let refused = create(&[]).unwrap_err();
        assert!(refused.contains("cannot be made"), "{refused}");
        servers.lose("blocks");
    };
    interrupted_before("signed");
    let (first, is_being_made) = marks(&servers, "market-members");
    assert!(is_being_made);
    interrupted_before("log");
    assert_eq!(marks(&servers, "market-signed"), (first.clone(), true));
    let made = create(&["--if-missing"]).unwrap();
    assert!(made.contains(&format!("made {url}, the log of cluster {first}, with 1 replicas")), "{made}");
    let is_all_made = || all.iter().all(|stream| marks(&servers, stream) == (first.clone(), false));
    assert!(is_all_made());
    // A node would begin a market whose log could be made again when it is lost.
    mark_as_being_made(&servers);
    let refused = node(&folder, 1, &url).try_start().err().expect("it does not start").stderr;
    assert!(refused.contains("its creation has not ended: `create --if-missing` ends it"), "{refused}");
    // The last step of a creation is done by whatever command comes next.
    assert!(create(&["--if-missing"]).unwrap().contains("is there already"));
    assert!(is_all_made());
    mark_as_being_made(&servers);
    assert!(create(&[]).unwrap_err().contains("is there already"));
    assert!(is_all_made());
    mark_as_being_made(&servers);
    servers.lose("market-signed");
    cluster(&["upgrade", "--store", &url]).unwrap();
    assert!(is_all_made());
    let server = node(&folder, 1, &url).start();
    assert!(server.ask(CREATE).contains("created"));
    drop(server.stop());
}

/// Two machines made a log at the same time. One was told that the log may be lost, and to remove the other's streams.
#[test]
fn a_log_that_two_make_at_once_is_there_for_both() {
    let folder = Folder::new("cluster-side-race");
    let servers = LogServers::start(folder.path(), 1);
    servers.create("other", 1);
    for round in 0..10 {
        let name = format!("race-{round}");
        let url = servers.url(&name);
        let create = || cluster(&["create", "--store", &url, "--replicas", "1", "--if-missing"]);
        let (one, other) = std::thread::scope(|scope| {
            let one = scope.spawn(create);
            let other = create();
            (one.join().unwrap(), other)
        });
        for told in [one.unwrap(), other.unwrap()] {
            assert!(told.contains(&format!("made {url}")) || told.contains("is there already"), "{told}");
        }
        let (first, _) = marks(&servers, &name);
        for stream in [format!("{name}-members"), format!("{name}-signed")] {
            assert_eq!(marks(&servers, &stream), (first.clone(), false), "{stream}");
        }
    }
}

/// A log was lost whose cluster had neither members nor signed requests. The streams beside it looked like those of an
/// interrupted creation, and `create --if-missing` once made an empty log under the lost one's number.
#[test]
fn a_log_that_is_lost_is_not_made_again_under_its_name() {
    let folder = Folder::new("cluster-side-lost");
    let servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let first = marks(&servers, "market-members").0;
    let server = node(&folder, 1, &url).start();
    assert!(server.ask(CREATE).contains("created"));
    drop(server.stop());
    servers.lose("market");
    let data = folder.path().join("node-1").to_str().unwrap().to_owned();
    let refused = |words: &[&str], why: &str| {
        let refused = cluster(&[words, &["--store", &url, "--replicas", "1"]].concat()).unwrap_err();
        assert!(
            refused.contains("the stream market-members is there without ")
                && refused.contains(why)
                && refused.contains("(then see `pricetime cluster recover`)")
                && refused.contains("nats stream rm market-members"),
            "{refused}"
        );
        let log = servers.ask("$JS.API.STREAM.INFO.market", "");
        assert_eq!(log["error"]["code"], 404, "{log}");
    };
    let recover = ["recover", "--data", &data];
    for words in [&["create"][..], &["create", "--if-missing"], &recover] {
        refused(words, "no creation was interrupted, so its log may be lost");
    }
    // A log that has had messages was there, however its creation ended.
    mark_as_being_made(&servers);
    servers.ask("pricetime.market.members", "somebody's edition");
    refused(&["create", "--if-missing"], "has had messages, so its log may be lost");
    servers.lose("market-members");
    servers.lose("market-signed");
    let made = cluster(&[&recover[..], &["--store", &url, "--replicas", "1"]].concat()).unwrap();
    assert!(made.contains("with 1 replicas") && !made.contains(&first), "{made}");
}
