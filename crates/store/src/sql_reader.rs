//! The threads that read done orders, and executions of open ones, from SQL for queries: one for short look-ups, many
//! of them at a time, and one for long ones. No question to the database brings more executions than its look-up has
//! room for.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};

use engine::DoneOrder;
use exchange::{Found, LookedUpOrder, Lookup, Unavailable, Wanted};
use market::Failed;
use market::exchange_handle::Readers;

use crate::{AskedOrder, History, StoreError, Within};

/// Orders asked for at once,
const ORDERS_MAX: usize = 256;
/// of those of one look-up,
const ORDERS_A_TURN: usize = 64;
/// and executions of look-ups that are asked for together.
const EXECUTIONS_MAX: usize = 16_384;

/// Starts the threads, each on a connection of its own. They end when what is returned is dropped.
pub fn start(short: History, long: History, failed: &Failed) -> std::io::Result<Readers> {
    Ok(Readers::new(line("history-short", short, failed.clone())?, line("history-long", long, failed.clone())?))
}

fn line(name: &str, history: History, failed: Failed) -> std::io::Result<Sender<Lookup>> {
    let (lookups, inbox) = channel::<Lookup>();
    let mut reader = Reader { history, turns: VecDeque::new() };
    std::thread::Builder::new().name(name.to_string()).spawn(move || match reader.run(&inbox) {
        Ok(()) | Err(StoreError::Stopped) => {}
        Err(error) => failed(error.to_string()),
    })?;
    Ok(lookups)
}

struct Reader {
    history: History,
    turns: VecDeque<Lookup>,
}

impl Reader {
    fn run(&mut self, inbox: &Receiver<Lookup>) -> Result<(), StoreError> {
        loop {
            self.turns.extend(inbox.try_iter());
            if self.turns.is_empty() {
                let Ok(next) = inbox.recv() else { return Ok(()) };
                self.turns.push_back(next);
                continue;
            }
            // As many as have their turn together.
            let mut orders = 0;
            let count = self.turns.iter().take_while(|lookup| {
                orders += turn_of(lookup).len();
                orders <= ORDERS_MAX
            });
            let count = count.count().max(1);
            let mut asked: Vec<Lookup> = self.turns.drain(..count).collect();
            match self.look_up(&mut asked) {
                Ok(()) => {}
                Err(StoreError::Unreachable { .. }) => {
                    asked.into_iter().for_each(|lookup| lookup.refuse(Unavailable::StoreAway));
                    continue;
                }
                Err(error) => return Err(error),
            }
            for lookup in asked {
                match lookup.left().is_empty() {
                    true => lookup.give_back(),
                    false => self.turns.push_back(lookup),
                }
            }
        }
    }

    /// Gives each of the look-ups what it asks for next.
    fn look_up(&mut self, lookups: &mut [Lookup]) -> Result<(), StoreError> {
        lookups.iter_mut().try_for_each(|lookup| self.look_up_open(lookup))?;
        if lookups.len() > 1 {
            let orders: Vec<AskedOrder> = lookups.iter().flat_map(turn_of).map(asked).collect();
            let Within { done, whole } = self.history.done_within(&orders, EXECUTIONS_MAX)?;
            if whole {
                let mut done = done.into_iter();
                lookups.iter_mut().for_each(|lookup| {
                    let count = turn_of(lookup).len();
                    done.by_ref().take(count).for_each(|done| tell(lookup, done));
                });
                return Ok(());
            }
        }
        lookups.iter_mut().try_for_each(|lookup| self.look_up_alone(lookup))
    }

    /// Reads the first executions of orders that may be open, as far as such are next.
    fn look_up_open(&mut self, lookup: &mut Lookup) -> Result<(), StoreError> {
        for _ in 0..ORDERS_A_TURN {
            let Some(&LookedUpOrder { order, account, executions: Wanted::First(count) }) = lookup.left().first()
            else {
                break;
            };
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let mut executions = Vec::new();
            if lookup.takes(account, count) {
                executions = self.history.first_executions(order, count)?;
            }
            lookup.found(Ok(Some(DoneOrder { order, account, canceled: None, executions })));
        }
        Ok(())
    }

    fn look_up_alone(&mut self, lookup: &mut Lookup) -> Result<(), StoreError> {
        let orders: Vec<AskedOrder> = turn_of(lookup).iter().map(asked).collect();
        if orders.is_empty() {
            return Ok(());
        }
        let Within { done, whole } = self.history.done_within(&orders, lookup.room())?;
        if whole {
            done.into_iter().for_each(|done| tell(lookup, done));
            return Ok(());
        }
        // Which of them has more than there is room for shows when each is asked for alone.
        for order in orders {
            if lookup.left().is_empty() {
                return Ok(());
            }
            let Within { mut done, whole } = self.history.done_within(&[order], lookup.room())?;
            let done = done.pop().unwrap_or(Ok(None));
            match whole {
                true => tell(lookup, done),
                false => {
                    if let Ok(Some(done)) = &done {
                        lookup.takes(done.account, usize::MAX);
                    }
                    lookup.found(done);
                }
            }
        }
        Ok(())
    }
}

/// The done orders that a look-up asks for in one turn.
fn turn_of(lookup: &Lookup) -> &[LookedUpOrder] {
    let left = lookup.left();
    let left = &left[..left.len().min(ORDERS_A_TURN)];
    let done = left.iter().take_while(|asked| !matches!(asked.executions, Wanted::First(_))).count();
    &left[..done]
}

fn asked(asked: &LookedUpOrder) -> AskedOrder {
    AskedOrder { order: asked.order, executions_for: (asked.executions == Wanted::All).then_some(asked.account) }
}

/// Gives a look-up its next order. A short one may have had enough before.
fn tell(lookup: &mut Lookup, found: Found) {
    if lookup.left().is_empty() {
        return;
    }
    let found = found.map(|done| {
        done.map(|mut done| {
            if !lookup.takes(done.account, done.executions.len()) {
                done.executions = Vec::new();
            }
            done
        })
    });
    lookup.found(found);
}
