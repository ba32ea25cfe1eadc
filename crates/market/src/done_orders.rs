//! The threads that read done orders, and executions of open ones, from the history for queries. One does short
//! look-ups and one long ones, so a query with few executions never waits for one with many. A look-up waits until the
//! history has followed everything that it got before. A look-up of many orders takes turns with the others, and lets
//! others use the history between two pages of executions. If an order cannot be read, or a panic ends its reading,
//! only its queries are refused.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};

use exchange::containment::{Part, contain};
use exchange::{LookedUpOrder, Lookup, OrderAnswer, Unavailable, Wanted};
use history::{Done, Executions, HistoryError, SharedHistory};
use terms::{DoneOrder, Executed, Execution, OrderId, Time};

use crate::exchange_handle::Readers;

/// The number of orders read for one look-up before the next one has its turn.
const ORDERS_A_TURN: usize = 16;
/// The number of executions read at once, which takes about a millisecond.
const PAGE: usize = 512;
/// The most executions that an order may have got since the engine answered, for a short look-up and for a long one:
/// they are read first.
const NEWER_MAX: [usize; 2] = [4096, 1 << 20];
/// The most notes of an order that are read and lead to no execution, for a short look-up and for a long one: an order
/// with endless amendments delays nobody.
const NOTES_IN_VAIN_MAX: [usize; 2] = [4096, 200_000];
/// The number of orders with very many executions that are remembered.
const LONG_ORDERS_MAX: usize = 4096;

/// Starts the threads. They end when the caller drops the readers.
pub fn start(history: &SharedHistory) -> std::io::Result<Readers> {
    let line = |name: &str| -> std::io::Result<Sender<Lookup>> {
        let (lookups, inbox) = channel::<Lookup>();
        let mut reader = Reader { history: history.clone(), at_least: HashMap::new() };
        std::thread::Builder::new().name(name.to_string()).spawn(move || reader.run(&inbox))?;
        Ok(lookups)
    };
    Ok(Readers::new(line("done-short")?, line("done-long")?))
}

struct Reader {
    history: SharedHistory,
    /// The least number of executions of orders that had too many for a look-up, so that the next look-up need not
    /// count them.
    at_least: HashMap<OrderId, usize>,
}

impl Reader {
    fn run(&mut self, inbox: &Receiver<Lookup>) {
        let mut turns = VecDeque::new();
        loop {
            turns.extend(inbox.try_iter());
            let Some(mut lookup) = turns.pop_front() else {
                let Ok(next) = inbox.recv() else { return };
                turns.push_back(next);
                continue;
            };
            if self.history.latest().is_err() {
                // The history follows nothing more, because the server stops: queries get no answer.
                return;
            }
            for _ in 0..ORDERS_A_TURN {
                let Some(&asked) = lookup.left().first() else { break };
                let found = contain(Part::Question, || match asked.executions {
                    Wanted::First(executed) => self.find_first(&mut lookup, asked, executed),
                    Wanted::Nothing | Wanted::All => self.find_done(&mut lookup, asked.order),
                });
                lookup.found(found.unwrap_or_else(|panicked| {
                    tracing::error!(?asked, %panicked, "a look-up of an order ended by a fault of the server; please report it");
                    Err(Unavailable::Fault)
                }));
            }
            match lookup.left().is_empty() {
                true => lookup.give_back(),
                false => turns.push_back(lookup),
            }
        }
    }

    /// Finds the next order of a look-up, which is done: the engine gave it to the history.
    fn find_done(&mut self, lookup: &mut Lookup, order: OrderId) -> OrderAnswer {
        let done = self.history.read().done(order);
        told(order, done.and_then(|done| done.map(|done| self.read(lookup, order, done)).transpose()))
    }

    /// Finds the first executions of the next order of a look-up, which may be open.
    fn find_first(&mut self, lookup: &mut Lookup, asked: LookedUpOrder, executed: Executed) -> OrderAnswer {
        let LookedUpOrder { order, account, .. } = asked;
        let mut found = DoneOrder { order, account, canceled: None, executions: Vec::new() };
        let count = usize::try_from(executed.executions).unwrap_or(usize::MAX);
        if lookup.takes(account, count) {
            match self.read_first(order, &executed, lookup.is_long()) {
                Ok(Some(executions)) => found.executions = executions,
                // The order got too many executions since, or has too many notes.
                Ok(None) => lookup.cut(),
                Err(error) => return told(order, Err(error)),
            }
        }
        Ok(Some(found))
    }

    /// Reads the first executions of an order; none if it has got too many since, or has too many notes.
    fn read_first(
        &self,
        order: OrderId,
        wanted: &Executed,
        is_long: bool,
    ) -> Result<Option<Vec<Execution>>, HistoryError> {
        let count = usize::try_from(wanted.executions).unwrap_or(usize::MAX);
        let gone = HistoryError::NoLongerKept { until: Time::ZERO };
        let Some(mut executions) = self.history.read().executions_so_far(order)? else { return Err(gone) };
        while self.history.read().read_executions(&mut executions, PAGE)? {
            executions.keep_oldest(count);
            let most = count.saturating_add(NEWER_MAX[usize::from(is_long)]);
            if executions.len() > most || has_too_many_notes(&executions, is_long) {
                return Ok(None);
            }
        }
        executions.oldest(wanted).map(Some).ok_or(gone)
    }

    /// Reads the order with its executions, if the look-up wants them and has room for them.
    fn read(&mut self, lookup: &mut Lookup, order: OrderId, done: Done) -> Result<DoneOrder, HistoryError> {
        let Done { account, canceled, mut executions } = done;
        let without = DoneOrder { order, account, canceled, executions: Vec::new() };
        let Some(room) = lookup.room_for(account) else {
            lookup.takes(account, 0);
            return Ok(without);
        };
        let mut fits = self.at_least.get(&order).is_none_or(|count| *count <= room);
        while fits && self.history.read().read_executions(&mut executions, PAGE)? {
            fits = executions.len() <= room && !has_too_many_notes(&executions, lookup.is_long());
        }
        if fits && lookup.takes(account, executions.len()) {
            return Ok(match executions.finish() {
                Ok(executions) => DoneOrder { executions, ..without },
                Err(executed) => {
                    lookup.sum_up(executed);
                    without
                }
            });
        }
        lookup.takes(account, usize::MAX);
        self.note_long(order, executions.len());
        Ok(without)
    }

    fn note_long(&mut self, order: OrderId, count: usize) {
        if self.at_least.len() >= LONG_ORDERS_MAX {
            self.at_least.clear();
        }
        let known = self.at_least.entry(order).or_default();
        *known = (*known).max(count);
    }
}

fn has_too_many_notes(executions: &Executions, is_long: bool) -> bool {
    executions.notes_in_vain() > NOTES_IN_VAIN_MAX[usize::from(is_long)]
}

/// The result for a look-up's order.
fn told(order: OrderId, found: Result<Option<DoneOrder>, HistoryError>) -> OrderAnswer {
    match found {
        Ok(Some(done)) => Ok(Some(done)),
        Err(HistoryError::NoLongerKept { .. }) => Err(Unavailable::NoLongerKept),
        Ok(None) => {
            tracing::error!(%order, "an order is done, and the history does not say so; who asks for it is told so");
            Err(Unavailable::RecordDamaged)
        }
        // The history has logged the damage once.
        Err(error) if error.is_damage() => Err(Unavailable::RecordDamaged),
        Err(error) => {
            tracing::error!(%order, %error, "a done order cannot be read; who asks for it is told so");
            Err(Unavailable::RecordDamaged)
        }
    }
}

#[cfg(test)]
#[path = "done_orders/tests.rs"]
mod tests;
