//! The threads that read archived orders for queries: one for short look-ups and one for long ones, so that nobody's few
//! executions wait for somebody's many. A look-up of many orders takes turns with the others. Who asks for an order that cannot be
//! read is told so, and everybody else is answered as before.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use engine::{DoneOrder, OrderId};
use exchange::{Lookup, Unavailable};
use journal::{ARCHIVE_NAME, Archive, ArchiveError, Damages};

use crate::archiver::Kept;
use crate::exchange_handle::Readers;

/// Orders read for one look-up before the next one has its turn.
const ORDERS_A_TURN: usize = 16;

/// Starts the threads. They end when what is returned is dropped. What is damaged is told to `damages`.
pub fn start(kept: &Arc<Kept>, damages: &Damages) -> std::io::Result<Readers> {
    let line = |name: &str| -> std::io::Result<Sender<Lookup>> {
        let (lookups, inbox) = channel::<Lookup>();
        let (kept, damages) = (kept.clone(), damages.clone());
        let read = move || read(kept.archive(), &inbox, &damages);
        std::thread::Builder::new().name(name.to_string()).spawn(read)?;
        Ok(lookups)
    };
    Ok(Readers::new(line("archive-short")?, line("archive-long")?))
}

fn read(archive: &Archive, inbox: &Receiver<Lookup>, damages: &Damages) {
    let mut turns = VecDeque::new();
    loop {
        turns.extend(inbox.try_iter());
        let Some(mut lookup) = turns.pop_front() else {
            let Ok(next) = inbox.recv() else { return };
            turns.push_back(next);
            continue;
        };
        for _ in 0..ORDERS_A_TURN {
            let Some(asked) = lookup.left().first() else { break };
            let order = asked.order;
            let found = archive.get_if(order, |account, executions| lookup.takes(account, executions));
            lookup.found(match found {
                Ok(Some(done)) => Ok(Some(done)),
                found => {
                    damages.found(ARCHIVE_NAME, order.0, &Unreadable { order, found });
                    Err(Unavailable::RecordDamaged)
                }
            });
        }
        match lookup.left().is_empty() {
            true => lookup.give_back(),
            false => turns.push_back(lookup),
        }
    }
}

/// A done order that the archive does not give. It was asked for because it had been there: the engine forgets no other.
#[derive(Debug)]
struct Unreadable {
    order: OrderId,
    found: Result<Option<DoneOrder>, ArchiveError>,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order {} is done and cannot be read: ", self.order)?;
        match &self.found {
            Ok(_) => write!(f, "{ARCHIVE_NAME} is damaged where it stood")?,
            Err(error) => error.fmt(f)?,
        }
        f.write_str("; who asks for it is told so, all else goes on")
    }
}
