//! Carried orders: those that were open when their part was sealed. Their records are copied here, by id, and end here,
//! because a sealed part never changes and may be removed. Orders that nobody will ask for again are left out when the
//! others are copied to the next file.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::codec::sound;
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::parts::{self, Form};
use crate::record::{ORDER_BYTES, PLACED_BYTES};
use crate::table::{Kind, Near, Reach, Sizes, Table};

/// The length of an order's number and its record.
pub(crate) const CARRIED_BYTES: usize = KEY_BYTES + ORDER_BYTES;
const KEY_BYTES: usize = 8;
/// The most bytes that wait to be written.
const WAITING_MAX: usize = 64 * 1024;

pub(crate) const CARRIED: Kind<CARRIED_BYTES> =
    Kind { stem: "carried", single: true, seed: 0, fields: &[], strip: |_, _, _| None, restore: |_, _| {} };

/// The orders that were open when the history began, by id.
pub(crate) const BEGUN: Kind<CARRIED_BYTES> =
    Kind { stem: "earlier-open", single: true, seed: 0, fields: &[], strip: |_, _, _| None, restore: |_, _| {} };

#[derive(Debug)]
pub(crate) struct Carried {
    table: Table<CARRIED_BYTES>,
    /// The number of the file; each copy has the next one.
    file: u64,
}

impl Carried {
    /// Opens the first `len` records of the file with this number.
    pub(crate) fn open(
        folder: &Arc<dyn Folder>,
        (file, len): (u64, u64),
        sizes: &Sizes,
    ) -> Result<Carried, HistoryError> {
        let Carried { table, .. } = Carried::unchecked(folder, (file, len), sizes);
        Ok(Carried { table: table.checked()?, file })
    }

    /// Begins the file with this number.
    pub(crate) fn begin(folder: &Arc<dyn Folder>, file: u64, sizes: &Sizes) -> Result<Carried, HistoryError> {
        let name = name(file);
        folder.remove(&name).map_err(|source| HistoryError::Io { name, source })?;
        Carried::open(folder, (file, 0), sizes)
    }

    /// Opens a file of another kind.
    pub(crate) fn open_as(
        kind: &'static Kind<CARRIED_BYTES>,
        folder: &Arc<dyn Folder>,
        len: u64,
        sizes: &Sizes,
    ) -> Result<Carried, HistoryError> {
        let table = Table::open(folder, kind, (0, len, Reach::default()), sizes, WAITING_MAX)?;
        Ok(Carried { table, file: 0 })
    }

    /// Opens a file without a check.
    pub(crate) fn unchecked(folder: &Arc<dyn Folder>, (file, len): (u64, u64), sizes: &Sizes) -> Carried {
        let table = Table::unchecked(folder, &CARRIED, (0, len, Reach::default()), sizes, WAITING_MAX);
        Carried { table: table.in_file(file), file }
    }

    /// The names of all its files.
    pub(crate) fn names(file: u64, len: u64) -> Vec<String> {
        if len == 0 { Vec::new() } else { vec![name(file)] }
    }

    pub(crate) fn file(&self) -> u64 {
        self.file
    }

    pub(crate) fn len(&self) -> u64 {
        self.table.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.len() * CARRIED_BYTES as u64
    }

    pub(crate) fn check(&self) -> Result<(), HistoryError> {
        self.table.check()
    }

    pub(crate) fn sync(&mut self) -> Result<(), HistoryError> {
        self.table.sync()
    }

    pub(crate) fn write_all(&mut self) -> Result<(), HistoryError> {
        self.table.write_all()
    }

    pub(crate) fn sync_written(&self) -> Result<(), HistoryError> {
        self.table.sync_written()
    }

    /// Forgets all records behind the first `len`.
    pub(crate) fn cut(&mut self, len: u64) {
        self.table.cut(len);
    }

    /// Adds record `at` of the orders, which is behind all that are here.
    pub(crate) fn append(&mut self, at: u64, record: &[u8; ORDER_BYTES]) -> Result<(), HistoryError> {
        let mut carried = [0; CARRIED_BYTES];
        carried[..KEY_BYTES].copy_from_slice(&at.to_le_bytes());
        carried[KEY_BYTES..].copy_from_slice(record);
        self.table.append(&carried)
    }

    /// The slot of the record with this number, if it is here. A damaged record does not say on which side of it
    /// another one is, so the next sound record does. Errors: it may be one of the damaged records that are in its
    /// place.
    pub(crate) fn find(&self, at: u64) -> Result<Option<u64>, HistoryError> {
        let (mut from, mut to) = (0, self.len());
        // The first of the damaged slots between `to` and the next sound record.
        let mut damaged = None;
        while from < to {
            let middle = from + (to - from) / 2;
            match self.first_sound(middle, to)? {
                Some((slot, key)) => match key.cmp(&at) {
                    Ordering::Equal => return Ok(Some(slot)),
                    Ordering::Less => from = slot + 1,
                    Ordering::Greater => (to, damaged) = (middle, Some(middle).filter(|_| slot > middle)),
                },
                None => (to, damaged) = (middle, Some(middle)),
            }
        }
        damaged.map_or(Ok(None), |slot| Err(self.table.damaged(slot)))
    }

    /// The first slot from `from` on and before `to` whose record is sound, with its number.
    fn first_sound(&self, from: u64, to: u64) -> Result<Option<(u64, u64)>, HistoryError> {
        if let Some(key) = key(&self.table.read(from)?) {
            return Ok(Some((from, key)));
        }
        let mut near = Near::default();
        for slot in from + 1..to {
            if let Some(key) = key(&self.table.read_near(slot, &mut near)?) {
                return Ok(Some((slot, key)));
            }
        }
        Ok(None)
    }

    /// Reads the record in a slot, with its number; an error if it is damaged.
    pub(crate) fn read_near(&self, slot: u64, near: &mut Near) -> Result<(u64, [u8; ORDER_BYTES]), HistoryError> {
        let carried = self.table.read_near(slot, near)?;
        let at = key(&carried).ok_or_else(|| self.table.damaged(slot))?;
        let mut record = [0; ORDER_BYTES];
        record.copy_from_slice(&carried[KEY_BYTES..]);
        Ok((at, record))
    }

    /// Changes bytes of the record in a slot.
    pub(crate) fn patch(&mut self, slot: u64, from: usize, bytes: &[u8]) -> Result<(), HistoryError> {
        self.table.patch(slot, KEY_BYTES + from, bytes)
    }

    /// The error of a damaged record.
    pub(crate) fn damaged(&self, slot: u64) -> HistoryError {
        self.table.damaged(slot)
    }
}

/// The name of the file with this number.
pub(crate) fn name(file: u64) -> String {
    parts::name(CARRIED.stem, CARRIED.single, Form::Plain, file)
}

/// The number of the record, which seeds its checksum; none if it is damaged.
fn key(carried: &[u8; CARRIED_BYTES]) -> Option<u64> {
    let (key, record) = carried.split_first_chunk::<KEY_BYTES>()?;
    let at = u64::from_le_bytes(*key);
    sound(at, &record[..PLACED_BYTES]).map(|_| at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use journal::simulated::SimulatedDisk;

    use super::*;
    use crate::{codec, folder};

    const RECORDS: u64 = 1_000;
    /// Slots of damaged records. The search for any record begins at the second one.
    const DAMAGED: [u64; 6] = [0, 500, 501, 502, 750, 999];

    /// The number of the record in a slot: every third number is there.
    fn number(slot: u64) -> u64 {
        3 * slot + 1
    }

    /// One damaged record on the way of the search once had the whole file read for every ending.
    #[test]
    fn damaged_records_hide_themselves_alone_and_cost_a_few_reads() {
        let disk = SimulatedDisk::new();
        let folder = folder::open(&disk).unwrap();
        let mut carried = Carried::begin(&folder, 0, &Sizes::USUAL).unwrap();
        for slot in 0..RECORDS {
            let mut record = [7; ORDER_BYTES];
            codec::seal(number(slot), &mut record[..PLACED_BYTES]);
            if DAMAGED.contains(&slot) {
                record[0] ^= 1;
            }
            carried.append(number(slot), &record).unwrap();
        }
        carried.sync().unwrap();
        for slot in 0..RECORDS {
            let before = disk.operations();
            match carried.find(number(slot)) {
                Ok(found) => assert_eq!(found, Some(slot)),
                Err(error) => assert!(error.is_damage() && DAMAGED.contains(&slot), "slot {slot}: {error}"),
            }
            assert!(!DAMAGED.contains(&slot) || carried.find(number(slot)).is_err(), "slot {slot} is damaged");
            assert!(disk.operations() - before < 60, "slot {slot}: {} reads", disk.operations() - before);
            // A number between two sound records is of no record.
            let is_between_sound = !DAMAGED.contains(&slot) && !DAMAGED.contains(&(slot + 1));
            if is_between_sound {
                assert_eq!(carried.find(number(slot) + 1).unwrap(), None, "behind slot {slot}");
            }
        }
    }
}
