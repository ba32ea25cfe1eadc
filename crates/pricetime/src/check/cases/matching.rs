//! Cases about matching: which orders meet, in which order, at which price. Source: docs/PROTOCOL.md, matching.

use super::super::case::{Case, decided, spec};

pub const CASES: &[Case] = &[
    spec(
        "match-worked-example",
        "the worked example: seven orders, two executions, one order split",
        r#"
        fund A 1000000
        issue S A 10000
        fund B 1000000
        issue S B 10000
        A buy 300 S @ 125 -> 1
        B sell 100 S @ 130 -> 2
        A buy 200 S @ 127 -> 3
        B sell 500 S @ 128 -> 4
        B sell 200 S @ 140 -> 5
        A buy 400 S @ 125 -> 6
        A query 1: open 300
        B query 2: open 100
        A query 3: open 200
        B query 4: open 500
        B query 5: open 200
        A query 6: open 400
        B sell 400 S @ 124 -> 7
        A query 1: open 100, executed 200 @ 125
        B query 2: open 100
        A query 3: executed 200 @ 127
        B query 4: open 500
        B query 5: open 200
        A query 6: open 400
        B query 7: executed 200 @ 127, executed 200 @ 125
        "#,
    ),
    spec(
        "match-split-keeps-place",
        "the rest of a split order keeps its place before a younger one of the same price",
        r#"
        fund A 1000000
        fund B 1000000
        issue S B 10000
        A buy 300 S @ 125 -> 1
        A buy 400 S @ 125 -> 2
        B sell 200 S @ 125 -> 3
        A query 1: open 100, executed 200 @ 125
        B sell 150 S @ 125 -> 4
        A query 1: executed 200 @ 125, executed 100 @ 125
        A query 2: open 350, executed 50 @ 125
        "#,
    ),
    spec(
        "match-sell-takes-buy",
        "a sell executes at the price of the buy that was open first",
        r#"
        fund A 1000
        fund B 1000
        issue S B 10
        A buy 10 S @ 12 -> 1
        B sell 10 S @ 9 -> 2
        A query 1: executed 10 @ 12
        B query 2: executed 10 @ 12
        "#,
    ),
    spec(
        "match-buy-takes-sell",
        "a buy executes at the price of the sell that was open first",
        r#"
        fund A 1000
        fund B 1000
        issue S B 10
        B sell 10 S @ 9 -> 1
        A buy 10 S @ 12 -> 2
        A query 2: executed 10 @ 9
        B query 1: executed 10 @ 9
        "#,
    ),
    spec(
        "match-equal-limits",
        "a buy and a sell of the same limit match",
        r#"
        fund A 1000
        fund B 1000
        issue S B 10
        A buy 4 S @ 7.25 -> 1
        B sell 4 S @ 7.25 -> 2
        A query 1: executed 4 @ 7.25
        "#,
    ),
    spec(
        "match-incompatible",
        "a buy below every sell matches nothing",
        r#"
        fund A 1000
        fund B 1000
        issue S B 10
        B sell 4 S @ 7.26 -> 1
        A buy 4 S @ 7.25 -> 2
        B query 1: open 4
        A query 2: open 4
        "#,
    ),
    spec(
        "match-symbols-apart",
        "orders of two symbols do not match",
        r#"
        fund A 1000
        fund B 1000
        issue S B 10
        issue T B 10
        B sell 4 S @ 5 -> 1
        A buy 4 T @ 6 -> 2
        B query 1: open 4
        A query 2: open 4
        "#,
    ),
    spec(
        "match-lowest-sell",
        "a buy takes the lowest sell first, whichever came first",
        r#"
        fund A 1000
        fund B 1000
        issue S B 30
        B sell 10 S @ 12 -> 1
        B sell 10 S @ 10 -> 2
        B sell 10 S @ 11 -> 3
        A buy 15 S @ 13 -> 4
        B query 1: open 10
        B query 2: executed 10 @ 10
        B query 3: open 5, executed 5 @ 11
        A query 4: executed 10 @ 10, executed 5 @ 11
        "#,
    ),
    spec(
        "match-highest-buy",
        "a sell takes the highest buy first, whichever came first",
        r#"
        fund A 1000
        fund B 1000
        issue S B 30
        A buy 10 S @ 10 -> 1
        A buy 10 S @ 12 -> 2
        A buy 10 S @ 11 -> 3
        B sell 15 S @ 9 -> 4
        A query 1: open 10
        A query 2: executed 10 @ 12
        A query 3: open 5, executed 5 @ 11
        B query 4: executed 10 @ 12, executed 5 @ 11
        "#,
    ),
    spec(
        "match-older-buy",
        "of two buys of the same limit the older goes first",
        r#"
        fund A 1000
        fund B 1000
        fund C 1000
        issue S C 30
        A buy 10 S @ 10 -> 1
        B buy 10 S @ 10 -> 2
        C sell 10 S @ 10 -> 3
        A query 1: executed 10 @ 10
        B query 2: open 10
        "#,
    ),
    spec(
        "match-older-sell",
        "of two sells of the same limit the older goes first, the larger or not",
        r#"
        fund A 1000
        fund B 1000
        fund C 1000
        issue S A 5
        issue S B 50
        A sell 5 S @ 10 -> 1
        B sell 50 S @ 10 -> 2
        C buy 6 S @ 10 -> 3
        A query 1: executed 5 @ 10
        B query 2: open 49, executed 1 @ 10
        "#,
    ),
    spec(
        "match-sweep",
        "one order executes at as many prices as it takes",
        r#"
        fund A 1000
        fund B 1000
        issue S B 30
        B sell 1 S @ 1 -> 1
        B sell 2 S @ 2 -> 2
        B sell 3 S @ 3 -> 3
        B sell 4 S @ 4 -> 4
        A buy 10 S @ 3 -> 5
        A query 5: open 4, executed 1 @ 1, executed 2 @ 2, executed 3 @ 3
        B query 4: open 4
        "#,
    ),
    spec(
        "match-rest-stays",
        "what is left of an order stays open at its own limit",
        r#"
        fund A 1000
        fund B 1000
        issue S B 30
        B sell 4 S @ 5 -> 1
        A buy 10 S @ 8 -> 2
        A query 2: open 6, executed 4 @ 5
        B sell 6 S @ 5 -> 3
        A query 2: executed 4 @ 5, executed 6 @ 8
        B query 3: executed 6 @ 8
        "#,
    ),
    spec(
        "match-fractions",
        "fractions of shares are traded",
        r#"
        fund A 1000
        fund B 1000
        issue S B 1.5
        B sell 1.5 S @ 10 -> 1
        A buy 0.25 S @ 10 -> 2
        B query 1: open 1.25, executed 0.25 @ 10
        A query 2: executed 0.25 @ 10
        "#,
    ),
    spec(
        "match-not-canceled",
        "a canceled order never matches",
        r#"
        fund A 1000
        fund B 1000
        issue S B 10
        A buy 10 S @ 10 -> 1
        A cancel 1: canceled 10
        B sell 10 S @ 10 -> 2
        B query 2: open 10
        A query 1: canceled 10
        "#,
    ),
    spec(
        "match-bought-shares-sell",
        "shares that were bought can be sold on",
        r#"
        fund A 1000
        fund B 1000
        fund C 1000
        issue S A 10
        A sell 10 S @ 5 -> 1
        B buy 10 S @ 5 -> 2
        B sell 10 S @ 6 -> 3
        C buy 10 S @ 6 -> 4
        C has 10 S
        A has $1050
        B has $1010
        C has $940
        "#,
    ),
    decided(
        "match-self",
        "an account may trade with itself, and keeps what it has",
        r#"
        fund A 1000
        issue S A 10
        A sell 10 S @ 9 -> 1
        A buy 10 S @ 12 -> 2
        A query 1: executed 10 @ 9
        A query 2: executed 10 @ 9
        A has $1000
        A has 10 S
        "#,
    ),
    decided(
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
    ),
    decided(
        "match-smallest",
        "the smallest shares are traded at the smallest price",
        r#"
        fund A 1
        fund B 1
        issue S B 1
        exact
        A buy 0.00000001 S @ 0.00000001 -> 1
        B sell 0.00000001 S @ 0.00000001 -> 2
        A query 1: executed 0.00000001 @ 0.00000001
        B has 0.99999999 S
        A has 0.00000001 S
        "#,
    ),
];
