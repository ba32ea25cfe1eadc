//! Orders that are placed when their working order has executed.

mod apply;
pub(crate) mod due_line;
pub(crate) mod state;
