//! The results of a replay: its states and the number of its events; and all answers of a history.

use std::fmt::Write;

use engine::Engine;
use exchange::EventBatch;
use history::{History, Interval, ReportKey};
use journal::{Disk, JournalPoint};
use terms::{AccountIndex, Event, OrderId, Sequence, SymbolIndex};

use super::new_engine;

/// The figures of a fixture, a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub commands: u64,
    /// The command of the first snapshot.
    pub halfway: u64,
    /// The hash of the state at the end, and there.
    pub state: u64,
    pub state_halfway: u64,
    /// The hashes of the states behind all batches, folded.
    pub states: u64,
    pub events: u64,
    /// The numbers of orders, trades, candles and notes in the history, and in the one that begins halfway.
    pub records: [u64; 4],
    pub records_begun: [u64; 4],
}

impl Told {
    pub fn to_text(&self) -> String {
        let Told { commands, halfway, state, state_halfway, states, events, records, records_begun } = self;
        let mut text = String::new();
        writeln!(text, "commands {commands}\nhalfway {halfway}\nevents {events}").unwrap();
        writeln!(text, "state {state}\nstate-halfway {state_halfway}\nstates {states}").unwrap();
        for (name, records) in [("records", records), ("records-begun", records_begun)] {
            let [orders, trades, candles, notes] = records;
            writeln!(text, "{name} {orders} {trades} {candles} {notes}").unwrap();
        }
        text
    }

    pub fn parse(text: &str) -> Told {
        let numbers = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap();
            line.split(' ').map(|word| word.parse::<u64>().unwrap()).collect::<Vec<u64>>()
        };
        Told {
            commands: numbers("commands")[0],
            halfway: numbers("halfway")[0],
            state: numbers("state")[0],
            state_halfway: numbers("state-halfway")[0],
            states: numbers("states")[0],
            events: numbers("events")[0],
            records: numbers("records").try_into().unwrap(),
            records_begun: numbers("records-begun").try_into().unwrap(),
        }
    }

    /// Takes in the state behind a batch.
    pub fn note(&mut self, engine: &Engine, events: usize, halfway: u64) {
        let state = engine.state_hash();
        self.commands = engine.sequence().0;
        self.events += events as u64;
        self.state = state;
        self.states = self.states.rotate_left(5) ^ state;
        if self.commands <= halfway {
            (self.halfway, self.state_halfway) = (self.commands, state);
        }
    }
}

/// Replays a journal from its first command on, and passes each batch of events to `visit`. The numbers of records are
/// taken over from the frozen figures, since a replay makes no history.
pub fn replay(disk: &Disk, frozen: &Told, visit: &mut dyn FnMut(&Engine, &EventBatch)) -> Told {
    let (mut engine, mut scratch) = (new_engine(), Vec::new());
    let mut told = Told { records: frozen.records, records_begun: frozen.records_begun, ..Told::default() };
    let read = journal::visit_batches(disk, JournalPoint::ZERO, None, &mut |batch| {
        let mut events = EventBatch::default();
        batch.entries(&mut |entry| {
            engine.apply_told(&entry, &mut scratch, &mut |event: Event| events.add(entry.sequence, event));
            scratch.clear();
            Ok(())
        })?;
        events.seal(engine.sequence(), batch.time);
        told.note(&engine, events.len(), frozen.halfway);
        visit(&engine, &events);
        Ok(())
    });
    read.unwrap();
    told
}

/// All answers of a history up to an engine's state, in words; an answer may be that something is no longer kept.
pub fn all(history: &History, engine: &Engine) -> Vec<String> {
    let mut told = Vec::new();
    for order in (1..engine.next_order().0).map(OrderId) {
        let past = history.order(order);
        told.push(format!("{order:?} {past:?} {:?}", history.done(order)));
        if let Ok(Some(past)) = past {
            told.push(format!("trades {:?}", history.executions_of(order, 10_000)));
            told.push(format!("triggered {:?}", history.triggered_at(&past)));
            told.push(format!("relatives {:?}", history.relatives_of(&past)));
            told.push(format!("amended {:?}", history.amendments(order, Sequence(0), 10_000)));
        }
    }
    for symbol in (0..history.symbol_count() as u32).map(SymbolIndex) {
        told.push(format!("{symbol:?} {:?}", history.trades_of(symbol, None, 10_000)));
        for interval in [Interval::Minute, Interval::Hour, Interval::Day] {
            told.push(format!("{interval:?} {:?}", history.closed_candles(symbol, interval, None, 10_000)));
        }
    }
    for account in (0..20).map(AccountIndex) {
        let mut sweep = history.sweep(account, ReportKey::after(Sequence(0)), engine.sequence());
        while history.sweep_on(&mut sweep, 10_000).unwrap() {}
        for key in sweep.finish().0 {
            told.push(format!("{:?}", history.report(key)));
        }
    }
    told
}
