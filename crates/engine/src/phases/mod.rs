//! Phases of symbols, their auctions, and the calendar that begins and ends them.

mod apply;
mod calendar;
pub(crate) mod state;
