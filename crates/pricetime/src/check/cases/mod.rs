//! The cases, one file a group: a name, who demands it, the rule, and how to find out. Scripts wherever one can say it.

pub mod balances;
pub mod create;
pub mod errors;
pub mod extensions;
pub mod framing;
pub mod limits;
pub mod matching;
pub mod orders;
pub mod query;
pub mod refused_frames;
pub mod xml;
