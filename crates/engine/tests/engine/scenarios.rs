//! The scenarios of crates/scenarios/cases, played to the engine and to the model: older first at a price, the resting
//! order's price, what keeps its place, self-trade prevention, icebergs, stops, pairs, brackets, auctions.

use engine::{DoneOrders, Engine};
use model::Model;
use scenarios::{CommandPlayer, Market, play_all};
use terms::{Entry, Execution, Query, Reply};

struct Fast(Engine);

impl Market for Fast {
    fn apply(&mut self, entry: &Entry, executions: &mut Vec<Execution>) -> Reply {
        let reply = self.0.apply(entry, executions, &mut |_| {});
        self.0.check_invariants();
        reply
    }

    fn query(&self, query: &Query, executions: &mut Vec<Execution>) -> Reply {
        self.0.query(query, executions)
    }
}

struct Naive(Model);

impl Market for Naive {
    fn apply(&mut self, entry: &Entry, executions: &mut Vec<Execution>) -> Reply {
        let reply = self.0.apply(entry, executions, &mut Vec::new());
        self.0.check_invariants();
        reply
    }

    fn query(&self, query: &Query, executions: &mut Vec<Execution>) -> Reply {
        self.0.query(query, executions)
    }
}

#[test]
fn the_engine_plays_every_scenario() {
    let engine = Fast(Engine::new(1, DoneOrders::Keep));
    assert_eq!(play_all("engine", &mut CommandPlayer::new(engine)), [""; 0]);
}

#[test]
fn the_model_plays_every_scenario() {
    assert_eq!(play_all("model", &mut CommandPlayer::new(Naive(Model::new()))), [""; 0]);
}
