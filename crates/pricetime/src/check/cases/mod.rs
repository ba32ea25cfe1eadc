//! The cases, one file for each group: name, source, rule, and the way to find out. They are scripts wherever a script
//! suffices.

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
