//! Versions of the messages of a log. Which one nodes write is the log's to say ([`crate::upgrade`]).

/// The oldest that is written, and the newest that this program knows.
pub const OLDEST: u8 = 2;
pub const NEWEST: u8 = 4;
/// From this one on messages say whose their commands are.
pub(crate) const CALLERS: u8 = 3;
/// From this one on members, and signed requests that were taken, are kept beside the log ([`crate::members`]).
/// Messages are as those of version 3: the version keeps programs out that would not look there.
pub(crate) const MEMBERS: u8 = 4;
