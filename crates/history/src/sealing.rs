//! Seals a part of a table, one block at a time: reads the records, checks them, packs them and writes them to a new
//! file. The plain part counts until a checkpoint counts the sealed one. A part with a damaged record is not sealed,
//! because only its plain record shows the damage.

use std::sync::Arc;

use terms::Sequence;

use crate::columns::pack;
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::parts::Form;
use crate::sealed::{Head, Newest, Writer};
use crate::table::Table;

/// A part that is being sealed.
#[derive(Debug)]
pub(crate) struct Sealing {
    pub(crate) part: u64,
    /// The number of records in it so far.
    done: u64,
    writer: Writer,
    newest: Newest,
    /// The numbers of records that will still get an ending.
    pub(crate) open: Vec<u64>,
}

/// The progress of the sealing.
#[derive(Debug)]
pub(crate) enum Progress {
    More,
    /// All blocks are in it.
    Whole,
    /// A record of the part is damaged.
    Damaged(HistoryError),
}

impl<const N: usize> Table<N> {
    pub(crate) fn begin_sealing(&self, folder: &dyn Folder, part: u64) -> Result<Sealing, HistoryError> {
        let name = self.parts().name(Form::Unfinished, part);
        let failed = |source| HistoryError::Io { name: name.clone(), source };
        folder.remove(&name).map_err(failed)?;
        let file = Arc::from(folder.open(&name).map_err(failed)?);
        let blocks = self.part_records().div_ceil(self.block_records());
        let writer = Writer::new(name, file, self.kind().seed, blocks);
        Ok(Sealing { part, done: 0, writer, newest: Newest::NOTHING, open: Vec::new() })
    }

    /// Seals one more block. It leaves out events after the command `covered`, because they are not durable yet.
    pub(crate) fn seal_on(&self, sealing: &mut Sealing, covered: Sequence) -> Result<Progress, HistoryError> {
        let records = self.block_records().min(self.part_records() - sealing.done);
        let first = sealing.part * self.part_records() + sealing.done;
        let mut bytes = vec![0; records as usize * N];
        self.read_plain(&mut bytes, first)?;
        for (at, record) in (first..).zip(bytes.as_chunks_mut::<N>().0) {
            let Some((newest, open)) = (self.kind().strip)(at, record, covered) else {
                return Ok(Progress::Damaged(self.damaged(at)));
            };
            sealing.newest = sealing.newest.or(newest);
            if open {
                sealing.open.push(at);
            }
        }
        let block = pack(self.kind().fields, N, self.own().wrapping_add(first), &bytes);
        // A field that is too wide belongs to a record that this program did not write.
        let Some(block) = block else { return Ok(Progress::Damaged(self.damaged(first))) };
        sealing.writer.add(first, &block)?;
        sealing.done += records;
        Ok(if sealing.done == self.part_records() { Progress::Whole } else { Progress::More })
    }

    /// Syncs the file and renames it, which is durable when the folder is synced. Returns the records that will still
    /// get an ending, and the file's length in bytes.
    pub(crate) fn finish_sealing(
        &self,
        folder: &dyn Folder,
        sealing: Sealing,
    ) -> Result<(Vec<u64>, u64), HistoryError> {
        let Sealing { part, writer, newest, open, .. } = sealing;
        let head = Head { part, records: self.part_records(), block_records: self.block_records(), newest };
        let bytes = writer.finish(&head)?;
        let (from, to) = (self.parts().name(Form::Unfinished, part), self.parts().name(Form::Sealed, part));
        folder.rename(&from, &to).map_err(|source| HistoryError::Io { name: to, source })?;
        Ok((open, bytes))
    }
}
