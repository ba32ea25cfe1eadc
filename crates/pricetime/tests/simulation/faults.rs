//! The faults that strike a world, by name, and where each makes a difference.

use std::fmt;

use journal::simulated::{self, PowerCut, SimulatedDisk};

use super::process::{Fate, Kind, Sabotage};

/// What strikes at an operation of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The operation fails.
    Error,
    /// The operation fails for want of room.
    NoSpace,
    /// From here on no file can get longer, until there is room again.
    DiskFull,
    /// Half of a write is done, and it fails.
    ShortWrite,
    /// A sync fails, and what it should have made durable never will be, whatever later syncs say.
    FailedSync,
    /// The process is killed; the system goes on with what it holds in memory.
    Killed,
    /// Power cut: nothing that was not synced is there.
    CrashLost,
    /// Power cut: of each file a part of what was not synced is there, torn between sectors.
    CrashTorn,
    /// Power cut: any sectors that were not synced are there.
    CrashReordered,
    /// From here on syncs do nothing; some steps later the power is cut.
    LyingSync,
    /// Power cut, and one bit of one file flips.
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

    /// As the command line names it.
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

    /// The fault of a name.
    pub fn named(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// Whether it makes a difference at an operation of this kind: a crash at a read is one at the next change, and a
    /// disk that lies from a write on lies from the next sync on.
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

    /// Whether a second fault during the recovery from it is worth a try.
    pub fn leaves_much_to_recover(self) -> bool {
        matches!(self, Fault::CrashTorn | Fault::CrashReordered | Fault::Killed | Fault::FailedSync | Fault::ShortWrite)
    }

    /// Whether the disk breaks its word.
    pub fn deceives(self) -> bool {
        matches!(self, Fault::LyingSync | Fault::BitFlip)
    }

    /// Lets it strike at an operation.
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

    /// How the power is cut; `any` where the fault does not say.
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
