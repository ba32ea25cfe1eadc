//! The plan of retention: the bounds of what is kept, the parts to seal, carry and remove next, and the content of the
//! next checkpoint. This file does none of the work.

use std::collections::{BTreeMap, VecDeque};

use crate::checkpoint::KeptRecords;
use crate::parts::Form;
use crate::sealing::Sealing;

/// The bounds of what is kept. Candles are kept for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The age in microseconds above which whole parts of orders and trades may be removed; none for never.
    pub age_us: Option<u64>,
    /// The size in bytes above which the oldest sealed parts are removed; none for no bound.
    pub bytes: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Retention {
    pub(crate) keep: Keep,
    pub(crate) job: Option<Job>,
    /// The content of the next checkpoint, without the numbers of records.
    pub(crate) plan: KeptRecords,
    /// The files that no checkpoint counts any more.
    pub(crate) obsolete: VecDeque<(Which, Form, u64)>,
    /// The lengths of sealed parts, as far as they were read.
    pub(crate) sealed_bytes: BTreeMap<(Which, u64), u64>,
    /// The number of removed parts of orders when the carried ones were last looked at.
    pub(crate) shrunk_for: u64,
    /// Set after a failure: the work is tried again after the next checkpoint.
    pub(crate) resting: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Which {
    Orders,
    Trades,
    Notes,
}

/// The tables with parts, in the order of their `Reach`.
pub(crate) const IN_PARTS: [Which; 3] = [Which::Orders, Which::Trades, Which::Notes];

impl KeptRecords {
    /// The number of records that a table has had.
    pub(crate) fn records_in(&self, which: Which) -> u64 {
        let [orders, trades, _, notes] = self.records;
        match which {
            Which::Orders => orders,
            Which::Trades => trades,
            Which::Notes => notes,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Job {
    Seal(Which, Sealing),
    /// Carries the orders that were open when their part was sealed.
    Carry(Vec<u64>),
    /// Leaves out carried orders that nobody will ask for again.
    Shrink(Shrinking),
}

/// The progress through the carried orders: once to count those that are needed, and once more to copy them.
#[derive(Debug, Default)]
pub(crate) struct Shrinking {
    pub(crate) next: u64,
    pub(crate) needed: u64,
}

impl Retention {
    pub(crate) fn new(kept: &KeptRecords) -> Retention {
        Retention {
            keep: Keep::default(),
            job: None,
            plan: kept.clone(),
            obsolete: VecDeque::new(),
            sealed_bytes: BTreeMap::new(),
            shrunk_for: 0,
            resting: false,
        }
    }

    /// Whether the order of this record may be carried although its part still counts as plain.
    pub(crate) fn may_carry(&self, at: u64, part_records: u64) -> bool {
        let carrying = u64::from(matches!(self.job, Some(Job::Carry(_))));
        at / part_records < self.plan.reach[0].sealed + carrying
    }

    /// Applies a checkpoint that counts `new` and no longer `old`: files that only `old` needs may go.
    pub(crate) fn settle(&mut self, old: &KeptRecords, new: &KeptRecords) {
        for (at, which) in IN_PARTS.into_iter().enumerate() {
            let (old, new) = (&old.reach[at], &new.reach[at]);
            for part in old.gone..new.gone {
                let form = if old.is_sealed(part) { Form::Sealed } else { Form::Plain };
                self.obsolete.push_back((which, form, part));
                self.sealed_bytes.remove(&(which, part));
            }
            let sealed = (old.sealed.max(new.gone)..new.sealed).filter(|part| new.is_sealed(*part));
            self.obsolete.extend(sealed.map(|part| (which, Form::Plain, part)));
        }
        self.resting = false;
    }
}
