//! Icebergs: orders that show a part of their shares.

mod apply;
pub(crate) mod state;
