//! The kernel's table of connections, if it tracks them (as on any machine that has run Docker): an entry stays for two
//! minutes after its connection was closed, and once the table is full no connection can be made. It knows no load.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the kernel's table.
const FOLDER: &str = "/proc/sys/net/netfilter";
/// The variable that names another folder, for tests.
const FOLDER_VARIABLE: &str = "PRICETIME_BENCH_CONNTRACK";
/// The part of the table from which it counts as full: the kernel drops some entries early and refuses others.
const FULL: f64 = 0.95;

/// The state of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracked {
    entries: u64,
    max: u64,
}

impl Tracked {
    /// Reads it; `None` where the kernel tracks no connections.
    pub fn look() -> Option<Tracked> {
        let folder = std::env::var_os(FOLDER_VARIABLE).map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
        Tracked::look_in(&folder)
    }

    fn look_in(folder: &Path) -> Option<Tracked> {
        let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok();
        Some(Tracked { entries: number("nf_conntrack_count")?, max: number("nf_conntrack_max")? })
    }

    /// Returns advice for a run that makes this many connections; `None` where they have room.
    pub fn warning(self, connections: u64) -> Option<String> {
        let needed = self.entries.saturating_add(connections);
        (needed > self.max).then(|| {
            format!(
                "the kernel tracks connections, each for two minutes after its end, and {} of the {} entries of its table are \
                 taken: the {connections} or so of this run may not all be made; {}",
                self.entries,
                self.max,
                advice(needed)
            )
        })
    }

    /// Returns why connections could not be made; `None` where the table has room.
    pub fn cause(self) -> Option<String> {
        (self.entries as f64 >= self.max as f64 * FULL).then(|| {
            format!(
                "the kernel's table of tracked connections is full ({} of {} entries), so it let no more be made; {}",
                self.entries,
                self.max,
                advice(self.max.saturating_mul(4))
            )
        })
    }
}

fn advice(entries: u64) -> String {
    format!("wait two minutes, or as root: sysctl -w net.netfilter.nf_conntrack_max={}", entries.next_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_room_is_told_before_and_named_as_the_cause_after() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Tracked::look_in(folder.path()), None, "a kernel that tracks nothing");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
        write("nf_conntrack_max", "65536\n");
        write("nf_conntrack_count", "60000\n");
        let tracked = Tracked::look_in(folder.path()).expect("a table");
        assert_eq!((tracked.warning(5_000), tracked.cause()), (None, None));
        let told = tracked.warning(150_000).expect("too many");
        assert!(told.contains("60000 of the 65536") && told.contains("nf_conntrack_max=262144"), "{told}");
        write("nf_conntrack_count", "65500\n");
        let cause = Tracked::look_in(folder.path()).and_then(Tracked::cause).expect("full");
        assert!(cause.contains("65500 of 65536 entries") && cause.contains("sysctl -w"), "{cause}");
    }
}
