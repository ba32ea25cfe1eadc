//! Retention: seals old parts and removes the oldest ones, as the settings say, a little at a time. A checkpoint makes
//! the result count, and files are removed only then, so a crash leaves all files that its checkpoint counts.

use terms::Time;

use crate::checkpoint::{Checkpoint, KeptRecords};
use crate::error::HistoryError;
use crate::history::History;
use crate::parts::Form;
use crate::record::ORDER_BYTES;
use crate::retention::plan::{IN_PARTS, Job, Keep, Which};
use crate::sealed::{self, Newest};
use crate::sealing::{Progress, Sealing};
use crate::table::Table;

/// The number of parts that stay plain behind the one that is written to: most orders end soon.
const PLAIN_PARTS: u64 = 1;

impl History {
    /// Does a little work: seals a block, carries or copies a few open orders, or removes a file. Returns false when
    /// there is no work. `now` is market time, which decides what is old. A failure is logged and the work tried again
    /// later: nothing is lost by it.
    pub fn tend(&mut self, now: Time) -> bool {
        self.note_leap(now);
        if self.remove_obsolete() {
            return true;
        }
        if self.retention.resting {
            return false;
        }
        let done = match self.retention.job.take() {
            Some(Job::Seal(which, sealing)) => self.seal_on(which, sealing),
            Some(Job::Carry(open)) => self.carry_on(open),
            Some(Job::Shrink(shrinking)) => self.shrink_on(shrinking),
            None => self.begin_job(now),
        };
        done.unwrap_or_else(|error| {
            tracing::warn!(%error, "the history cannot be tended to; it is tried again after the next checkpoint");
            self.give_up();
            false
        })
    }

    /// Notes a leap, and makes it durable before there is other work: a killed server knows of it when it starts again.
    fn note_leap(&mut self, now: Time) {
        if self.leaps.look(now)
            && let Err(error) = self.leaps.save(&*self.folder)
        {
            tracing::warn!(%error, "a leap of market time is not durable; the next checkpoint tries it again");
        }
    }

    /// Writes the last checkpoint again, so that it counts the parts that are sealed and removed by now, and nothing
    /// else that is new.
    fn commit(&mut self) -> Result<bool, HistoryError> {
        if !self.is_ahead_of_checkpoint() {
            return Ok(false);
        }
        self.carried.sync()?;
        if let Some(copy) = &mut self.carried_copy {
            copy.sync()?;
        }
        self.sync_names()?;
        let Some(Checkpoint { heads, .. }) = Checkpoint::read(&*self.folder)? else { return Ok(false) };
        let kept = KeptRecords { records: self.kept.records, ..self.retention.plan.clone() };
        Checkpoint::write(&*self.folder, &heads, heads.through, &kept)?;
        self.settle_parts(kept);
        Ok(true)
    }

    /// Drops the work that goes beyond the plan.
    pub(crate) fn give_up(&mut self) {
        self.retention.job = None;
        self.retention.resting = true;
        self.retention.shrunk_for = 0;
        if self.counted_copy().is_none() {
            self.carried_copy = None;
            self.carried.cut(self.retention.plan.carried);
        }
    }

    fn begin_job(&mut self, now: Time) -> Result<bool, HistoryError> {
        if self.counted_copy().is_some() {
            // Orders that are carried next go to the copy.
            return self.commit();
        }
        for (at, which) in IN_PARTS.into_iter().enumerate() {
            let part = self.retention.plan.reach[at].sealed;
            // The whole part has to be durable, and the newest parts may stay plain.
            if (part + 1 + PLAIN_PARTS).saturating_mul(self.kept.part_records) <= self.kept.records_in(which) {
                let sealing = match which {
                    Which::Orders => self.orders.begin_sealing(&*self.folder, part)?,
                    Which::Trades => self.trades.begin_sealing(&*self.folder, part)?,
                    Which::Notes => self.notes.begin_sealing(&*self.folder, part)?,
                };
                self.retention.job = Some(Job::Seal(which, sealing));
                return Ok(true);
            }
        }
        Ok(self.commit()? || self.let_go(now)? || self.begin_shrinking())
    }

    fn seal_on(&mut self, which: Which, mut sealing: Sealing) -> Result<bool, HistoryError> {
        let through = self.heads.through;
        let progress = match which {
            Which::Orders => self.orders.seal_on(&mut sealing, through)?,
            Which::Trades => self.trades.seal_on(&mut sealing, through)?,
            Which::Notes => self.notes.seal_on(&mut sealing, through)?,
        };
        match progress {
            Progress::More => self.retention.job = Some(Job::Seal(which, sealing)),
            Progress::Damaged(error) => {
                self.list(&error);
                self.retention.plan.reach[which as usize].unsealed.insert(sealing.part);
                self.retention.plan.reach[which as usize].sealed = sealing.part + 1;
            }
            Progress::Whole => {
                let part = sealing.part;
                let (open, bytes) = match which {
                    Which::Orders => self.orders.finish_sealing(&*self.folder, sealing)?,
                    Which::Trades => self.trades.finish_sealing(&*self.folder, sealing)?,
                    Which::Notes => self.notes.finish_sealing(&*self.folder, sealing)?,
                };
                self.retention.sealed_bytes.insert((which, part), bytes);
                match open.is_empty() {
                    true => self.retention.plan.reach[which as usize].sealed = part + 1,
                    false => self.retention.job = Some(Job::Carry(open)),
                }
            }
        }
        Ok(true)
    }

    /// Carries the first of these orders as they are now, as many as a block has.
    fn carry_on(&mut self, mut open: Vec<u64>) -> Result<bool, HistoryError> {
        let at_once = usize::try_from(self.kept.block_records).unwrap_or(usize::MAX);
        let later = open.split_off(open.len().min(at_once));
        for at in open {
            let mut record = [0; ORDER_BYTES];
            self.orders.read_plain(&mut record, at)?;
            self.carried.append(at, &record)?;
        }
        if later.is_empty() {
            self.retention.plan.reach[0].sealed += 1;
            self.retention.plan.carried = self.carried.len();
        } else {
            self.retention.job = Some(Job::Carry(later));
        }
        Ok(true)
    }

    /// Removes the oldest sealed part, if it is too old or there are too many bytes.
    fn let_go(&mut self, now: Time) -> Result<bool, HistoryError> {
        let Keep { age_us, bytes } = self.retention.keep;
        if age_us.is_none() && bytes.is_none() {
            return Ok(false);
        }
        let age_us = age_us.filter(|_| self.leaps.are_known());
        if let Some(age) = age_us {
            self.leaps.forget(age, now);
        }
        let mut oldest: Option<(Which, Newest)> = None;
        for which in IN_PARTS {
            if let Some(newest) = self.newest_of_oldest(which)?
                && oldest.is_none_or(|(_, other)| newest.time < other.time)
            {
                oldest = Some((which, newest));
            }
        }
        let Some((which, newest)) = oldest else { return Ok(false) };
        let too_old = age_us.is_some_and(|age| self.leaps.age_us(newest.time, now) > age);
        let too_many = match bytes {
            Some(bytes) => self.bytes()? > bytes,
            None => false,
        };
        if !too_old && !too_many {
            return Ok(false);
        }
        let reach = &mut self.retention.plan.reach[which as usize];
        reach.unsealed.remove(&reach.gone);
        reach.gone_until = reach.gone_until.or(newest);
        reach.gone += 1;
        Ok(true)
    }

    /// The newest event in the oldest part of a table, if that counts as sealed. For a part that cannot say so, because
    /// it is damaged, the next one's.
    fn newest_of_oldest(&self, which: Which) -> Result<Option<Newest>, HistoryError> {
        let (planned, durable) = (&self.retention.plan.reach[which as usize], &self.kept.reach[which as usize]);
        for part in planned.gone..durable.sealed {
            if !durable.is_sealed(part) {
                continue;
            }
            let (head, error) = match which {
                Which::Orders => (self.orders.head_of(part), self.orders.damaged_head(part)),
                Which::Trades => (self.trades.head_of(part), self.trades.damaged_head(part)),
                Which::Notes => (self.notes.head_of(part), self.notes.damaged_head(part)),
            };
            if let Some(head) = head? {
                return Ok(Some(head.newest));
            }
            self.list(&error);
        }
        Ok(None)
    }

    /// The bytes of all files that the next checkpoint counts.
    fn bytes(&mut self) -> Result<u64, HistoryError> {
        let mut bytes = self.carried.bytes() + self.candles.bytes();
        for which in IN_PARTS {
            let reach = self.retention.plan.reach[which as usize].clone();
            let (plain, part_bytes) = match which {
                Which::Orders => (self.orders.bytes(), self.orders.part_bytes()),
                Which::Trades => (self.trades.bytes(), self.trades.part_bytes()),
                Which::Notes => (self.notes.bytes(), self.notes.part_bytes()),
            };
            bytes += plain - reach.sealed * part_bytes;
            for part in reach.gone..reach.sealed {
                bytes += match reach.is_sealed(part) {
                    true => self.bytes_of_sealed(which, part)?,
                    false => part_bytes,
                };
            }
        }
        Ok(bytes)
    }

    fn bytes_of_sealed(&mut self, which: Which, part: u64) -> Result<u64, HistoryError> {
        if let Some(bytes) = self.retention.sealed_bytes.get(&(which, part)) {
            return Ok(*bytes);
        }
        let bytes = match which {
            Which::Orders => self.orders.bytes_of_sealed(part),
            Which::Trades => self.trades.bytes_of_sealed(part),
            Which::Notes => self.notes.bytes_of_sealed(part),
        }?;
        self.retention.sealed_bytes.insert((which, part), bytes);
        Ok(bytes)
    }

    /// Removes a file that no checkpoint counts. If that fails, the next start removes it.
    fn remove_obsolete(&mut self) -> bool {
        let Some((which, form, part)) = self.retention.obsolete.pop_front() else { return false };
        let parts = match which {
            Which::Orders => self.orders.parts(),
            Which::Trades => self.trades.parts(),
            Which::Notes => self.notes.parts(),
        };
        parts.close(form, part);
        let name = parts.name(form, part);
        if let Err(error) = self.folder.remove(&name) {
            tracing::warn!(%error, name, "a file of the history that is not needed any more stays until the next start");
        }
        true
    }
}

impl<const N: usize> Table<N> {
    /// The head of a sealed part; none if it is damaged.
    pub(crate) fn head_of(&self, part: u64) -> Result<Option<sealed::Head>, HistoryError> {
        let name = || self.parts().name(Form::Sealed, part);
        let file = self.parts().file(Form::Sealed, part)?;
        let head = sealed::read_head(&*file, self.kind().seed);
        let head = head.map_err(|source| HistoryError::Io { name: name(), source })?;
        Ok(head.filter(|head| head.part == part))
    }

    fn bytes_of_sealed(&self, part: u64) -> Result<u64, HistoryError> {
        let file = self.parts().file(Form::Sealed, part)?;
        file.len().map_err(|source| HistoryError::Io { name: self.parts().name(Form::Sealed, part), source })
    }

    /// The bytes that all its records would take if they were plain.
    fn bytes(&self) -> u64 {
        self.len() * N as u64
    }

    fn part_bytes(&self) -> u64 {
        self.part_records() * N as u64
    }
}
