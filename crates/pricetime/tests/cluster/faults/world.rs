//! A cluster: three servers of the log and three nodes.

use std::time::Duration;

use rustix::process::Signal;

use super::log::Log;
use super::node::{Mark, Node};
use super::stage::{NODES, Stage, Target, lock};
use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Server;
use crate::common::wait::wait_until;
use crate::nodes::STOPS;

const PATIENCE: Duration = Duration::from_secs(30);

pub struct World {
    // The nodes stand before the folder that they use, to be dropped first.
    pub nodes: [Node; NODES],
    pub log: Log,
    pub marks: [Option<Mark>; NODES],
    _folder: Folder,
}

impl World {
    pub fn start() -> World {
        let folder = Folder::new("cluster-faults");
        let log = Log::start(folder.path());
        // The last node has a disk that can be filled.
        let nodes = std::array::from_fn(|at| Node::start(folder.path(), at + 1, &log, at + 1 == NODES));
        World { nodes, log, marks: [None, None, None], _folder: folder }
    }

    pub fn targets(&self) -> [Target; NODES] {
        self.nodes.each_ref().map(|node| Target::of(node.server.as_ref().expect("it runs")))
    }

    /// Creates the accounts of an episode. All nodes know them then.
    pub fn prepare(&mut self, stage: &Stage) {
        let created = self.nodes[0].server.as_ref().unwrap().ask(&stage.creation());
        assert!(!created.contains("<error"), "{created:.500}");
        self.settle();
        self.marks = self.nodes.each_ref().map(Node::mark);
    }

    /// Ends all faults: everything runs again, and reaches everything. Panics if a node ended that should not have.
    pub fn heal(&mut self, stage: &Stage) {
        let is_flipped = self.log.flipped.is_some();
        self.log.heal();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            node.ways.iter().for_each(crate::common::proxy::Proxy::release);
            node.signal(Signal::CONT);
            if let Some(disk) = &node.disk
                && node.may_end
            {
                disk.make_room();
                // A node that met the full disk may still be about to end.
                wait_until("a node whose disk was full has ended, or takes requests", PATIENCE, || {
                    let server = node.server.as_ref();
                    server.is_none_or(takes_requests) || !node.is_running()
                });
                // If only its history met it, the node goes on, and asks for a restart.
                if node.server.as_ref().is_some_and(|server| server.process.log().contains("and start again")) {
                    node.signal(Signal::TERM);
                    wait_until("a node whose history met the full disk ends", PATIENCE, || !node.is_running());
                }
            }
            if let Some(ended) = node.ended() {
                let is_full = node.may_end && ended.stderr.contains("No space left on device");
                // The node must notice the message with a changed bit that a server of the log gives it.
                let has_noticed = is_flipped && ended.stderr.contains(" of the log ");
                assert!(is_full || has_noticed, "node {} ended: {ended:?}", at + 1);
            }
            node.may_end = false;
            if node.server.is_none() {
                node.server = Some(node.launch().start());
                lock(&stage.targets)[at] = Target::of(node.server.as_ref().unwrap());
            }
        }
    }

    /// Waits until every node has taken everything that any of them wrote.
    pub fn settle(&mut self) {
        // A node has one message on its way, so when it answers, those before were taken. The request fails, but goes
        // through the log.
        for node in &self.nodes {
            let server = node.server.as_ref().unwrap();
            wait_until("a node takes requests", PATIENCE, || takes_requests(server));
        }
        let sequence =
            |node: &Node| Http::new(node.server.as_ref().unwrap().http).read("/api/v1/status")["sequence"].clone();
        wait_until("all nodes stand where the first does", PATIENCE, || {
            let first = sequence(&self.nodes[0]);
            self.nodes.iter().all(|node| sequence(node) == first)
        });
    }

    fn states_at_rest(&mut self) -> [serde_json::Value; NODES] {
        std::thread::scope(|scope| {
            for node in &mut self.nodes {
                scope.spawn(move || drop(node.server.take().expect("it runs").stop()));
            }
        });
        self.nodes.each_ref().map(Node::state)
    }

    /// The states at one message. A statement that a node writes while others stop is in its own state alone: then all
    /// start again, and stop again.
    fn states_at_one_message(&mut self) -> [serde_json::Value; NODES] {
        for _ in 0..STOPS {
            let states = self.states_at_rest();
            let message =
                states[0]["log_message"].as_u64().expect("the journal of a node says where it stands in the log");
            if states.iter().all(|state| state["log_message"] == message) {
                return states;
            }
            self.nodes.iter_mut().for_each(|node| node.server = Some(node.launch().start()));
            self.settle();
        }
        panic!("nodes that stop together stop at different messages, {STOPS} times");
    }

    /// Stops all nodes, compares their states, and starts them again.
    pub fn compare(&mut self) {
        let states = self.states_at_one_message();
        for (at, state) in states.iter().enumerate() {
            assert_eq!(state["state_hash"], states[0]["state_hash"], "node {} has another state", at + 1);
        }
        let totals = &states[0]["totals"];
        let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<i64>().unwrap();
        let accounts = totals["accounts"].as_i64().unwrap();
        // The account of `settle` has one dollar.
        let dollars = (accounts - 1) * super::pair::DOLLARS + 1;
        assert_eq!(number(&totals["money"]), dollars, "dollars are as many as were created: {totals}");
        for symbol in totals["symbols"].as_array().unwrap() {
            let there = number(&symbol["shares"]) + number(&symbol["held"]);
            assert_eq!(there, 2 * super::pair::SHARES, "shares are as many as were issued: {symbol}");
        }
        for node in &mut self.nodes {
            // The node's clock shows the right time again.
            node.jump = 0;
            node.server = Some(node.launch().start());
        }
    }
}

/// Whether a request goes through the log.
fn takes_requests(server: &Server) -> bool {
    let Ok(mut client) = Client::connect(server.xml, PATIENCE) else { return false };
    let request = "<create><account id=\"1\" balance=\"1\"/></create>";
    let sent = client.send_request(request).is_ok();
    sent && client.reply().is_ok_and(|reply| reply.contains("created") || reply.contains("already exists"))
}
