//! The repository tells the truth about itself: its documents, the contents of `deploy/`, and the planted bugs.
//! Not quick: builds an image where there is Docker.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects)]

#[path = "../common/mod.rs"]
mod common;

mod additions;
mod arrows;
mod chapters;
mod cluster_compose;
mod deploy;
mod documents;
mod file_names;
mod image;
mod imports;
mod invariants;
mod mutants;
mod release;
mod snippets;
mod sums;
mod words;
