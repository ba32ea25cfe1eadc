//! Cases about matching: which orders meet, in which order, at which price. Source: docs/PROTOCOL.md, matching.

use super::super::case::{Case, decided};

pub const CASES: &[Case] = &[decided(
    "match-within-request",
    "the orders of one request match each other, in the order they stand",
    r#"
        fund A 1000
        issue S A 10
        A> <order sym="{S}" amount="-10" limit="9"/><order sym="{S}" amount="4" limit="12"/><query id="999999999999999"/>
        <opened sym="{S}" amount="-10" limit="9" id="{1}"/>
        <opened sym="{S}" amount="4" limit="12" id="{2}"/>
        <error/>
        A query 1: open 6, executed 4 @ 9
        "#,
)];
