//! The parts that the tests of the journal share: commands made from their sequence, batches of them, and a recovery
//! that returns them. It uses only the journal's public interface.

use journal::{Durability, Journal, JournalError, JournalPoint, Options, Recovery, Storage, encode};
use terms::{
    AccountId, ClientOrderId, Command, Entry, Money, NewOrder, OrderId, Place, Position, Price, Sequence, Shares, Side,
    Symbol, Time,
};

/// A length so small that a few batches fill a segment.
pub const SEGMENT_BYTES: u64 = 1024;

pub fn options() -> Options {
    Options { segment_bytes: SEGMENT_BYTES, durability: Durability::Synced }
}

/// The command of this sequence: always the same, and different from its neighbours.
pub fn command(sequence: u64) -> Command {
    let account = AccountId::parse(format!("{:04}", sequence * 7 % 1000).as_bytes()).unwrap();
    let symbol = Symbol::parse(["SPY", "BTC", "a1b2c3d4e5f6"][sequence as usize % 3].as_bytes()).unwrap();
    let id = ClientOrderId::parse(format!("c-{sequence}").as_bytes()).unwrap();
    let (limit, shares) = (sequence as i64 * 1_000_003, sequence as i64 * 100_000_000);
    let (limit, shares) = (Price::from_units(limit).unwrap(), Shares::from_units(shares).unwrap());
    let place = |side| match sequence % 12 < 6 {
        true => Command::Place(Place::order(account, NewOrder::limit(symbol, side, limit, shares))),
        false => Command::Place(Place::order(account, NewOrder::limit(symbol, side, limit, shares)).named(Some(id))),
    };
    match sequence % 6 {
        0 => Command::CreateAccount { account, balance: Money::from_units(i128::from(sequence) << 50) },
        1 => Command::CreateSymbol { symbol },
        2 => Command::IssueShares { symbol, account, shares: Position::from_units(i128::from(sequence) << 40) },
        3 if sequence % 12 < 6 => Command::CancelOrder { account, order: OrderId(sequence).into() },
        3 => Command::CancelOrder { account, order: id.into() },
        4 => place(Side::Buy),
        _ => place(Side::Sell),
    }
}

pub fn entry(sequence: u64, time: u64) -> Entry {
    Entry { sequence: Sequence(sequence), time: Time(time), command: command(sequence) }
}

/// The encoded commands of a batch.
pub fn payload(first: u64, count: u32) -> Vec<u8> {
    let mut payload = Vec::new();
    for sequence in first..first + u64::from(count) {
        encode(&command(sequence), &mut payload);
    }
    payload
}

/// Appends the next `count` commands at `time`.
pub fn append<S: Storage>(journal: &mut Journal<S>, time: u64, count: u32) -> Result<(), JournalError> {
    let first = journal.point().sequence.next();
    journal.append(first, Time(time), count, &payload(first.0, count))
}

/// Appends the next commands as a batch that is synced with those behind it.
pub fn append_unsynced<S: Storage>(journal: &mut Journal<S>, time: u64, count: u32) -> Result<(), JournalError> {
    let first = journal.point().sequence.next();
    journal.append_unsynced(first, Time(time), count, (&[], &payload(first.0, count)))
}

/// The result of a recovery from the journal's beginning.
pub type Recovered<S> = (Journal<S>, Recovery, Vec<Entry>);

pub fn recover<S: Storage>(storage: &S) -> Result<Recovered<S>, JournalError> {
    recover_from(storage, JournalPoint::ZERO)
}

pub fn recover_from<S: Storage>(storage: &S, from: JournalPoint) -> Result<Recovered<S>, JournalError> {
    let mut entries = Vec::new();
    let (journal, recovery) = Journal::recover(storage.clone(), options(), from, Time::ZERO, &mut |entry| {
        entries.push(entry);
        Ok(())
    })?;
    Ok((journal, recovery, entries))
}

/// The names of the segments, oldest first.
pub fn segment_names<S: Storage>(storage: &S) -> Vec<String> {
    let mut names: Vec<_> = storage.list().unwrap().into_iter().filter(|name| name.ends_with(".log")).collect();
    names.sort();
    names
}
