//! The hold and the place of an order while the one that is to replace it is checked. This file knows nothing of books
//! or money; `replace.rs` fills it and puts everything back.

use terms::{AccountIndex, Money, NewOrder, Position, Shares, SymbolIndex};

use crate::stops::state::StopAside;

/// An open order that is out of account while the order that is to replace it is checked.
pub(crate) struct SetAside {
    pub(crate) slot: u32,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    /// The hold of the order and its partner together.
    pub(crate) held: (Money, Position),
    /// The places of the order and its partner. Pending orders have none.
    pub(crate) places: Vec<PlaceAside>,
    /// The shares that limits count of each order that ends with this one.
    pub(crate) counted: Vec<Option<(SymbolIndex, Shares)>>,
}

/// The place to which an order comes back.
pub(crate) enum PlaceAside {
    /// The slot of the order, and its limit and open shares. It keeps its neighbours.
    Book(u32, NewOrder<SymbolIndex>),
    Stop(StopAside),
}
