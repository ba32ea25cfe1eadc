//! The faults that can strike a world, by name, and the operations at which each makes a difference.

use std::fmt;

use journal::simulated::{self, PowerCut, SimulatedDisk};

use super::process::{Fate, Kind, Sabotage};

/// A fault that strikes at an operation of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The operation fails.
    Error,
    /// The operation fails because the disk is full.
    NoSpace,
    /// No file can grow from here on, until there is space again.
    DiskFull,
    /// Half of a write is done, and the write fails.
    ShortWrite,
    /// A sync fails, and the data that it should have made durable never will be, whatever later syncs say.
    FailedSync,
    /// The process is killed. The system goes on with what it holds in memory.
    Killed,
    /// The power is cut, and nothing that was not synced is there.
    CrashLost,
    /// The power is cut. Of each file a part of the unsynced data is there, torn between sectors.
    CrashTorn,
    /// The power is cut, and an arbitrary selection of unsynced sectors is there.
    CrashReordered,
    /// Syncs do nothing from here on, and some steps later the power is cut.
    LyingSync,
    /// The power is cut, and one bit of one file flips.
    BitFlip,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 11] = [
        Fault::Error,
        Fault::NoSpace,
        Fault::DiskFull,
        Fault::ShortWrite,
        Fault::FailedSync,
        Fault::Killed,
        Fault::CrashLost,
        Fault::CrashTorn,
        Fault::CrashReordered,
        Fault::LyingSync,
        Fault::BitFlip,
    ];

    /// The name of the fault on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Error => "error",
            Fault::NoSpace => "no-space",
            Fault::DiskFull => "disk-full",
            Fault::ShortWrite => "short-write",
            Fault::FailedSync => "failed-sync",
            Fault::Killed => "killed",
            Fault::CrashLost => "crash-lost",
            Fault::CrashTorn => "crash-torn",
            Fault::CrashReordered => "crash-reordered",
            Fault::LyingSync => "lying-sync",
            Fault::BitFlip => "bit-flip",
        }
    }

    /// The fault with this name.
    pub fn named(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// Whether the fault makes a difference at an operation of this kind. A crash at a read equals one at the next
    /// change, and a disk that lies from a write on equals one that lies from the next sync on.
    pub fn strikes(self, kind: Kind) -> bool {
        match self {
            Fault::Error => true,
            Fault::NoSpace => matches!(kind, Kind::Write | Kind::Length | Kind::Sync | Kind::Names),
            Fault::DiskFull => matches!(kind, Kind::Length | Kind::Names),
            Fault::ShortWrite => kind == Kind::Write,
            Fault::FailedSync => kind == Kind::Sync,
            Fault::Killed | Fault::CrashLost | Fault::CrashTorn | Fault::CrashReordered => kind != Kind::Read,
            Fault::LyingSync | Fault::BitFlip => matches!(kind, Kind::Sync | Kind::SyncNames),
        }
    }

    /// Whether a second fault is worth a try during the recovery from this one.
    pub fn leaves_much_to_recover(self) -> bool {
        matches!(self, Fault::CrashTorn | Fault::CrashReordered | Fault::Killed | Fault::FailedSync | Fault::ShortWrite)
    }

    /// Whether the disk breaks its promises.
    pub fn deceives(self) -> bool {
        matches!(self, Fault::LyingSync | Fault::BitFlip)
    }

    /// The fate in which the fault strikes at this operation.
    pub fn plan(self, disk: &SimulatedDisk, at: u64, sabotage: Sabotage) -> Fate {
        let calm = Fate { sabotage, ..Fate::CALM };
        let on_disk = match self {
            Fault::Error => simulated::Fault::Error,
            Fault::NoSpace => simulated::Fault::NoSpace,
            Fault::ShortWrite => simulated::Fault::ShortWrite,
            Fault::FailedSync => simulated::Fault::FailedSync,
            Fault::CrashLost | Fault::CrashTorn | Fault::CrashReordered | Fault::BitFlip => simulated::Fault::Crash,
            Fault::Killed => return Fate { killed_at: Some(at), ..calm },
            Fault::DiskFull => return Fate { full_from: Some(at), ..calm },
            Fault::LyingSync => return Fate { lies_from: Some(at), ..calm },
        };
        disk.fail_at(at, on_disk);
        calm
    }

    /// The kind of power cut. Returns `any` if the fault does not determine it.
    pub fn power_cut(self, any: PowerCut) -> PowerCut {
        match self {
            Fault::CrashLost | Fault::BitFlip => PowerCut::LosesAll,
            Fault::CrashTorn => PowerCut::Tears,
            Fault::CrashReordered => PowerCut::Reorders,
            Fault::Error
            | Fault::NoSpace
            | Fault::DiskFull
            | Fault::ShortWrite
            | Fault::FailedSync
            | Fault::Killed
            | Fault::LyingSync => any,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
