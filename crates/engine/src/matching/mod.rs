//! The books, and how an order passes through one.

pub(crate) mod aggressor;
pub(crate) mod book;
mod execute;
pub(crate) mod liquidity;
mod place;
mod post_only_move;
