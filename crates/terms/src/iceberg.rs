//! The part of an order that its book shows.

use crate::amount::Shares;

/// The most parts in which an order may be shown. It bounds the executions that one order causes for an aggressor that
/// takes all of it.
pub const ICEBERG_PARTS_MAX: i64 = 100;

/// The display and the tip of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iceberg {
    /// The shares shown at a time, as requested.
    pub display: Shares,
    /// The tip: the shares shown now; none for an order that waits for a price.
    pub shown: Shares,
}

/// The smallest display of an order with this many shares.
pub fn least_display(shares: Shares) -> Shares {
    const PARTS: i128 = ICEBERG_PARTS_MAX as i128;
    let rounded_up = i128::from(shares.units()).saturating_add(PARTS).saturating_sub(1).wrapping_div(PARTS);
    i64::try_from(rounded_up).ok().and_then(Shares::from_units).expect("invariant: a part is no more than the whole")
}
