//! Limits of an account as bytes. Limits have one encoding. This file does not know where they are written. Source:
//! docs/JOURNAL.md, limits.

use terms::AccountLimits;

use crate::records::parts;
use crate::values::MaybeZero;

parts! {
    AccountLimits, "limits" {
        1: open_orders;
        2: order_shares;
        4: order_value;
        8: position as MaybeZero;
        16: collar;
        marks {}
        sound { AccountLimits::is_sound, "invariant: limits that no order could obey are refused by the parser" }
    }
}
