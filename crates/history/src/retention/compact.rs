//! Leaves out carried orders that nobody will ask for again, a little at a time: those whose part was removed and that
//! ended before the newest removed event. The others are copied to a file with the next number. It replaces the one
//! before when a checkpoint counts it, like a sealed part. Until then endings are written to both.

use crate::carried::Carried;
use crate::error::HistoryError;
use crate::history::History;
use crate::record::{ORDER_BYTES, ended_by};
use crate::retention::plan::{Job, Shrinking};
use crate::table::Near;

impl History {
    /// The copy that the next checkpoint counts.
    pub(crate) fn counted_copy(&self) -> Option<&Carried> {
        self.carried_copy.as_ref().filter(|copy| copy.file() == self.retention.plan.carried_file)
    }

    /// Begins to look at the carried orders if parts were removed since the last time. Returns false if none were.
    pub(crate) fn begin_shrinking(&mut self) -> bool {
        let gone = self.kept.reach[0].gone;
        if self.retention.shrunk_for == gone || self.carried.len() == 0 {
            return false;
        }
        self.retention.shrunk_for = gone;
        self.retention.job = Some(Job::Shrink(Shrinking::default()));
        true
    }

    /// Looks at as many orders as a block has.
    pub(crate) fn shrink_on(&mut self, mut shrinking: Shrinking) -> Result<bool, HistoryError> {
        let end = self.carried.len().min(shrinking.next + self.kept.block_records);
        let mut near = Near::default();
        for slot in shrinking.next..end {
            let (at, record) = match self.carried.read_near(slot, &mut near) {
                Ok(read) => read,
                Err(error) if error.is_damage() => {
                    // The file stays, because it alone shows the damage.
                    self.list(&error);
                    self.carried_copy = None;
                    return Ok(true);
                }
                Err(error) => return Err(error),
            };
            if self.is_needed(at, &record) {
                shrinking.needed += 1;
                if let Some(copy) = &mut self.carried_copy {
                    copy.append(at, &record)?;
                }
            }
        }
        shrinking.next = end;
        if end < self.carried.len() {
            self.retention.job = Some(Job::Shrink(shrinking));
            return Ok(true);
        }
        match &mut self.carried_copy {
            Some(copy) => {
                copy.sync()?;
                (self.retention.plan.carried_file, self.retention.plan.carried) = (copy.file(), copy.len());
            }
            // A copy is worth it if it leaves out half of them.
            None if shrinking.needed > self.carried.len() / 2 => {}
            None => {
                self.carried_copy = Some(Carried::begin(&self.folder, self.carried.file() + 1, &self.sizes)?);
                self.retention.job = Some(Job::Shrink(Shrinking::default()));
            }
        }
        Ok(true)
    }

    /// Whether someone may ask for a carried order: it is open or damaged, its part is there, or it ended later than
    /// everything removed, where a replay may begin.
    fn is_needed(&self, at: u64, record: &[u8; ORDER_BYTES]) -> bool {
        let reach = &self.kept.reach[0];
        at / self.kept.part_records >= reach.gone
            || ended_by(at, record).is_none_or(|ended| ended > reach.gone_until.sequence)
    }

    /// Writes the ending of a carried order to the copy, too.
    pub(crate) fn end_in_copy(&mut self, at: u64, from: usize, bytes: &[u8]) -> Result<(), HistoryError> {
        let Some(copy) = &mut self.carried_copy else { return Ok(()) };
        let ended = match copy.find(at) {
            Ok(Some(slot)) => copy.patch(slot, from, bytes),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        match ended {
            Err(error) if self.counted_copy().is_none() => {
                tracing::warn!(%error, "carried orders cannot be copied; it is tried again after the next checkpoint");
                self.give_up();
                Ok(())
            }
            Err(error) if error.is_damage() => {
                self.list(&error);
                Ok(())
            }
            ended => ended,
        }
    }
}
