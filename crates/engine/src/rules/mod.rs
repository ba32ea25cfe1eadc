//! Rules of symbols: ticks, lots, bounds and bands.

mod apply;
mod band;
pub(crate) mod state;
