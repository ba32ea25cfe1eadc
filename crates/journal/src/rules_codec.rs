//! Rules of a symbol as bytes. Rules have one encoding. This file does not know where they are written. Source:
//! docs/JOURNAL.md, rules.

use terms::{AuctionTies, SymbolRules};

use crate::records::parts;
use crate::values::Given;

parts! {
    SymbolRules, "rules" {
        1: tick;
        2: lot;
        4: shares_min;
        8: shares_max;
        16: value_min;
        32: value_max;
        64: band_up as Given;
        128: band_down as Given;
        512: interruption as Given;
        1_024: band_size;
        2_048: static_up as Given;
        4_096: static_down as Given;
        8_192: reference as Given;
        marks {
            256: is_halted = true;
            16_384: auction_ties = AuctionTies::Pressure;
        }
        sound {
            |rules: &SymbolRules| rules.check().is_ok(),
            "invariant: rules that no order could obey are refused by the parser"
        }
    }
}
