//! Batches that wait for their turn, and the order in which they get one. It knows no lock, no clock and no engine.
//!
//! Light batches, which gateways gather from many connections' small requests, are taken all together, first come,
//! first served. Heavy ones take turns by source: the next one belongs to the source that has had the least so far, and
//! a turn takes as many as its budget of cost allows, at least one. While both wait, turns of light and of heavy
//! batches alternate, so that neither waits for more than one turn of the other.
//!
//! While followers of the market are behind, only light batches are taken: a heavy one brings very many events, and
//! waits for followers where others would.
//!
//! Batches of one source keep their order. A heavy batch never overtakes a light one that was handed in before it, so a
//! connection whose requests become heavy is answered in order, too. A light batch may overtake heavy ones, so a
//! gateway hands in no light batch for a connection that waits for a heavy one.
#![expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use exchange::{Batch, Lag, Source};

/// The most heavy batches of a turn. It bounds the memory of their answers.
const HEAVY_BATCHES_MAX: usize = 8;

/// All waiting batches.
#[derive(Default)]
pub(crate) struct WaitingBatches {
    light: VecDeque<Numbered>,
    sources: BTreeMap<Source, VecDeque<Numbered>>,
    /// The sources whose batches wait, the next one first.
    order: BTreeSet<Rank>,
    /// The rank of the heavy batch that was taken last. A source that begins to wait stands behind it by the cost of
    /// its batch: no source saves up cost, and none that has one batch at a time keeps another from its turn.
    served: u64,
    /// The number of the next batch.
    next_number: u64,
    turns: u64,
    took_light: bool,
    ops: usize,
}

/// A batch with its number in the order of arrival.
struct Numbered {
    number: u64,
    /// The number of turns that had begun when it came.
    turns: u64,
    cost: u64,
    batch: Box<Batch>,
}

/// The rank of a source: by its cost including its next batch, and among equals by the arrival of that batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    cost: u64,
    number: u64,
    source: Source,
}

/// The share of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The estimated cost of its heavy batches; 0 for light ones.
    pub heavy_cost: u64,
    /// The number of its requests that waited while others had turns.
    pub passed_over: usize,
    /// Whether heavy batches were left to later turns.
    pub is_cut: bool,
}

impl WaitingBatches {
    pub fn is_empty(&self) -> bool {
        self.light.is_empty() && self.order.is_empty()
    }

    /// Whether a turn may take any of them, while followers have this lag.
    pub fn has_next(&self, lag: Lag) -> bool {
        match lag {
            Lag::None => !self.is_empty(),
            Lag::Behind => !self.light.is_empty(),
            Lag::TooFar => false,
        }
    }

    /// The number of ops in all batches.
    pub fn ops(&self) -> usize {
        self.ops
    }

    /// Adds a batch, whose cost counts only if it has a source.
    pub fn push(&mut self, batch: Box<Batch>, cost: u64) {
        self.ops += batch.requests.ops().len();
        let (number, source) = (self.next_number, batch.source);
        self.next_number += 1;
        let waiting = Numbered { number, turns: self.turns, cost, batch };
        let Some(source) = source else { return self.light.push_back(waiting) };
        let queue = self.sources.entry(source).or_default();
        if queue.is_empty() {
            self.order.insert(Rank { cost: self.served.saturating_add(cost), number, source });
        }
        queue.push_back(waiting);
    }

    /// Appends the batches of the next turn to `batches`: at least one, where `has_next` says so.
    pub fn take(&mut self, batches: &mut Vec<Box<Batch>>, budget: u64, lag: Lag) -> Share {
        let mut share = Share::default();
        let is_heavy_next = self.took_light && lag == Lag::None && self.may_take_heavy();
        let is_light_next = !self.light.is_empty() && !is_heavy_next;
        if is_light_next {
            for waiting in std::mem::take(&mut self.light) {
                self.hand_over(waiting, batches, &mut share);
            }
        } else {
            while batches.len() < HEAVY_BATCHES_MAX
                && (batches.is_empty() || share.heavy_cost < budget)
                && self.may_take_heavy()
            {
                let Some(waiting) = self.pop_heavy() else { break };
                share.heavy_cost += waiting.cost;
                self.hand_over(waiting, batches, &mut share);
            }
        }
        self.took_light = is_light_next;
        self.turns += 1;
        share.is_cut = !is_light_next && !self.order.is_empty();
        share
    }

    /// Takes all batches, in the order of arrival.
    pub fn drain(&mut self) -> Vec<Box<Batch>> {
        let heavy = std::mem::take(&mut self.sources).into_values().flatten();
        let mut all: Vec<Numbered> = std::mem::take(&mut self.light).into_iter().chain(heavy).collect();
        all.sort_unstable_by_key(|waiting| waiting.number);
        self.order.clear();
        self.ops = 0;
        all.into_iter().map(|waiting| waiting.batch).collect()
    }

    /// Whether the next heavy batch came before every waiting light one.
    fn may_take_heavy(&self) -> bool {
        let oldest_light = self.light.front().map_or(u64::MAX, |light| light.number);
        self.order.first().is_some_and(|first| first.number < oldest_light)
    }

    /// Takes the next heavy batch, and moves its source back by its cost.
    fn pop_heavy(&mut self) -> Option<Numbered> {
        let Rank { cost, source, .. } = self.order.pop_first()?;
        let queue = self.sources.get_mut(&source)?;
        let waiting = queue.pop_front()?;
        self.served = cost;
        match queue.front() {
            Some(next) => {
                let cost = cost.saturating_add(next.cost);
                self.order.insert(Rank { cost, number: next.number, source });
            }
            None => drop(self.sources.remove(&source)),
        }
        Some(waiting)
    }

    fn hand_over(&mut self, waiting: Numbered, batches: &mut Vec<Box<Batch>>, share: &mut Share) {
        let Numbered { turns, batch, .. } = waiting;
        self.ops -= batch.requests.ops().len();
        if turns < self.turns {
            share.passed_over += batch.requests.len();
        }
        batches.push(batch);
    }
}
