//! Rules of symbols: ticks, lots, bounds and bands.

mod apply;
pub(crate) mod band;
pub(crate) mod state;
