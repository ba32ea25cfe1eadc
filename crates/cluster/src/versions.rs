//! Versions of a log's messages. The log says which one nodes write ([`crate::upgrade`]).

/// The oldest that is read and written, and the newest that this program knows. Those before said neither whose all
/// commands are, nor by a guarded clock when they were written.
pub const OLDEST: u8 = 5;
pub const NEWEST: u8 = 5;
