//! The phase of a symbol: in requests, and in answers while the symbol is not open.

use feed::Listing;
use serde::{Deserialize, Serialize};
use terms::{AuctionPrice, Phase, SymbolPhase};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::schema_values;

/// A phase to put a symbol into.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(as = PhaseAsked)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseAsked {
    #[schema(value_type = schema_values::Phase)]
    phase: String,
}

/// The phase that a symbol was put into.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PhaseGiven)]
pub(crate) struct PhaseGiven {
    #[schema(value_type = schema_values::Phase)]
    pub(crate) phase: &'static str,
}

impl PhaseAsked {
    /// Reads the phase. Errors: no phase has this name.
    pub(crate) fn read(&self) -> Result<Phase, Problem> {
        let unknown = || Problem::field("phase", "phase must be open, halted or auction");
        Phase::named(&self.phase).ok_or_else(unknown)
    }
}

/// The phase of a symbol that is not open. The orders of an auction may be crossed: the best bid above the best ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[schema(as = Phase)]
pub(crate) struct PhaseShape {
    #[schema(value_type = schema_values::Phase)]
    name: &'static str,
    /// The time at which an auction ends by itself that an order brought about.
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    until: Option<u64>,
    /// The price at which the orders would execute if the symbol opened now; null if none would execute, and while more
    /// than 10,000 prices of a side cross the other side.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    price: Option<String>,
    /// The number of shares that would execute.
    #[schema(value_type = Option<schema_values::Position>, required = true)]
    shares: Option<String>,
    /// The number of shares by which buyers exceed sellers at that price; below zero if sellers exceed.
    #[schema(value_type = Option<schema_values::Surplus>, required = true)]
    surplus: Option<String>,
}

impl PhaseShape {
    /// Returns the phase; `None` for a symbol that is open.
    pub(crate) fn of(listing: &Listing) -> Option<PhaseShape> {
        let SymbolPhase { phase, until } = listing.phase;
        if phase == Phase::Open {
            return None;
        }
        let found = listing.auction_price();
        let told = |told: fn(&AuctionPrice) -> String| found.as_ref().map(told);
        Some(PhaseShape {
            name: phase.name(),
            until: until.map(|until| until.0),
            price: told(|found| found.price.to_string()),
            shares: told(|found| found.shares.to_string()),
            surplus: told(|found| found.surplus.to_string()),
        })
    }
}
