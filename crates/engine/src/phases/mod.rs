//! Phases of symbols, their auctions, and the calendar that begins and ends them.

mod apply;
mod auction_orders;
mod calendar;
pub(crate) mod state;
