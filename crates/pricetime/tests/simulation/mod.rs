//! The market as the server runs it, but without sockets and threads, on a simulated disk and with a clock that a seed
//! controls: one step after another, with faults at every operation of the disk, and with a comparison of everything
//! with the naive model after each restart. `tests/simulation.rs` (the short form) and `examples/simulate.rs` (the long
//! one) share this module.

#![allow(dead_code, reason = "each of the two forms uses its part")]
#![allow(clippy::unwrap_used)]

pub mod audit;
pub mod campaign;
pub mod clock;
pub mod faults;
pub mod follower;
pub mod ledger;
pub mod node;
#[path = "../common/order_xml.rs"]
pub mod order_xml;
pub mod panics;
pub mod past;
pub mod point;
pub mod process;
pub mod requests;
pub mod tally;
pub mod world;

use market::recovery::RecoveryError;

/// Why a world does not go on.
#[derive(Debug)]
pub enum Stop {
    /// The node is dead, as it should be after a fault, with this message.
    Dead(String),
    /// The folder was refused.
    Refused(Box<RecoveryError>),
    /// A condition does not hold that must: this is a fault of the program.
    Wrong(String),
}

/// Returns a fault of the program unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(format!($($what)+).into());
        }
    };
}
pub(crate) use ensure;

impl From<String> for Stop {
    fn from(wrong: String) -> Stop {
        Stop::Wrong(wrong)
    }
}
