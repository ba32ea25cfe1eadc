//! Memory in slots: values under 32-bit numbers that are used again, and an index that finds the slot of an order's id.
//! The slots of orders whose triggers follow a price stand in groups. A hash table grows in parts.
//!
//! The engine keeps its orders in it, and the feed those that it shows. Nothing in it knows what an order is.

mod following;
mod id_index;
mod slab;
mod splitting_table;
mod spread_map;
mod spread_table;

pub use following::Following;
pub use id_index::IdIndex;
pub use slab::{NONE, Slab};
pub use splitting_table::SplittingTable;
pub use spread_map::SpreadMap;
pub use spread_table::SpreadTable;
