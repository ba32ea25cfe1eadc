//! Orders that take several commands, and the rounds in which symbols take turns.

pub(crate) mod apply;
mod rounds;
