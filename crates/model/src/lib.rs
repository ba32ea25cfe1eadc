//! The naive exchange.
