//! The machine on which everything is measured: processes and their cores, processor time, disks, folders and signals.
//! It knows no load.

pub mod conntrack;
pub mod cores;
pub mod disk;
pub mod facts;
pub mod interrupt;
pub mod process;
pub mod processor;
pub mod program;
pub mod test_bed;
