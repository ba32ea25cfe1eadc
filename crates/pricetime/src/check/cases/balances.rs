//! Cases about balances and positions, found out by what an account can still buy and sell. Source: docs/PROTOCOL.md,
//! matching.

use super::super::case::{Case, decided, spec};

pub const CASES: &[Case] = &[
    spec(
        "balance-held",
        "a buy holds its amount × limit when it is placed",
        r#"
        fund A 1000
        issue S A 1
        A buy 10 S @ 12.5 -> 1
        A has $875
        "#,
    ),
    spec(
        "balance-shares-held",
        "a sell holds its shares when it is placed",
        r#"
        fund A 1
        issue S A 50
        A sell 20 S @ 12.5 -> 1
        A has 30 S
        "#,
    ),
    spec(
        "balance-execution",
        "an execution gives the seller the money and the buyer the shares",
        r#"
        fund A 1000
        fund B 50
        issue S B 30
        A buy 10 S @ 20 -> 1
        B sell 10 S @ 20 -> 2
        A has $800
        A has 10 S
        B has $250
        B has 20 S
        "#,
    ),
    spec(
        "balance-improvement",
        "a buyer gets back, to the cent, what the price was better than its limit",
        r#"
        fund A 1000
        fund B 1
        issue S B 30
        B sell 7 S @ 9.37 -> 1
        A buy 7 S @ 12.11 -> 2
        A has $934.41
        B has $66.59
        A has 7 S
        "#,
    ),
    spec(
        "balance-seller-improvement",
        "a seller gets the better price of the buy that was open first",
        r#"
        fund A 1000
        fund B 1
        issue S B 30
        A buy 7 S @ 12.11 -> 1
        B sell 7 S @ 9.37 -> 2
        A has $915.23
        B has $85.77
        "#,
    ),
    spec(
        "balance-sweep-improvement",
        "the improvement counts at every price that one order takes",
        r#"
        fund A 100
        fund B 0.01
        issue S B 6
        B sell 1 S @ 1 -> 1
        B sell 2 S @ 2 -> 2
        B sell 3 S @ 3 -> 3
        A buy 8 S @ 4 -> 4
        A has $78
        B has $14.01
        A cancel 4: canceled 2, executed 1 @ 1, executed 2 @ 2, executed 3 @ 3
        A has $86
        "#,
    ),
    spec(
        "balance-cancel-buy",
        "a canceled buy returns its money",
        r#"
        fund A 1000
        issue S A 1
        A buy 10 S @ 12.5 -> 1
        A has $875
        A cancel 1: canceled 10
        A has $1000
        "#,
    ),
    spec(
        "balance-cancel-sell",
        "a canceled sell returns its shares",
        r#"
        fund A 1
        issue S A 50
        A sell 20 S @ 12.5 -> 1
        A has 30 S
        A cancel 1: canceled 20
        A has 50 S
        "#,
    ),
    spec(
        "balance-cancel-rest",
        "a cancel after a partial fill returns the rest, and no more",
        r#"
        fund A 1000
        fund B 1
        issue S B 30
        A buy 10 S @ 20 -> 1
        B sell 4 S @ 15 -> 2
        A has $800
        A cancel 1: canceled 6, executed 4 @ 20
        A has $920
        A has 4 S
        B has $81
        "#,
    ),
    spec(
        "balance-cancel-rest-sell",
        "a cancel of a partly filled sell returns the shares not sold",
        r#"
        fund A 1000
        fund B 1
        issue S B 30
        B sell 30 S @ 20 -> 1
        A buy 4 S @ 25 -> 2
        B has 0 S
        B cancel 1: canceled 26, executed 4 @ 20
        B has 26 S
        A has $920
        B has $81
        "#,
    ),
    spec(
        "balance-refused-holds-nothing",
        "a refused order holds nothing",
        r#"
        fund A 100
        issue S A 10
        A buy 11 S @ 10 refused
        A sell 11 S @ 10 refused
        A has $100
        A has 10 S
        "#,
    ),
    spec(
        "balance-tenths",
        "0.1 and 0.2 make 0.3 exactly",
        r#"
        fund A 0.3
        issue S A 1
        A buy 1 S @ 0.1 -> 1
        A buy 1 S @ 0.2 -> 2
        A buy 1 S @ 0.01 refused
        fund B 0.1
        fund C 1
        issue T B 2
        B sell 2 T @ 0.1 -> 3
        C buy 2 T @ 0.1 -> 4
        B has $0.3
        C has $0.8
        "#,
    ),
    spec(
        "balance-many-cents",
        "ten fills of 0.1 shares at 1.1 cost 1.1",
        r#"
        fund A 1.1
        fund B 0.01
        issue S B 1
        A buy 1 S @ 1.1 -> 1
        B sell 0.1 S @ 1.1 -> 2
        B sell 0.1 S @ 1.1 -> 3
        B sell 0.1 S @ 1.1 -> 4
        B sell 0.7 S @ 1.1 -> 5
        A query 1: executed 0.1 @ 1.1, executed 0.1 @ 1.1, executed 0.1 @ 1.1, executed 0.7 @ 1.1
        A has $0
        A has 1 S
        B has $1.11
        "#,
    ),
    spec(
        "balance-proceeds-buy",
        "money from a sale can be spent at once",
        r#"
        fund A 100
        fund B 0.01
        issue S B 10
        issue T A 10
        B buy 1 T @ 50 refused
        A buy 10 S @ 10 -> 1
        B sell 10 S @ 10 -> 2
        B buy 1 T @ 50 -> 3
        B has $50.01
        "#,
    ),
    decided(
        "balance-small-product",
        "a price and shares of eight decimals each are multiplied exactly, to 16",
        r#"
        fund A 0.00000002
        fund B 0
        issue S A 1
        exact
        A buy 0.00000001 S @ 0.00000001 -> 1
        A buy 1 S @ 0.00000002 refused
        A buy 1.99999999 S @ 0.00000001 -> 2
        A buy 0.00000001 S @ 0.00000001 refused
        A cancel 1: canceled 0.00000001
        A cancel 2: canceled 1.99999999
        A has $0.00000002
        "#,
    ),
    decided(
        "balance-large",
        "dollars beyond 2^53 keep every cent",
        r#"
        fund A 9007199254740993.01
        fund B 0
        issue S B 9007199254740993
        exact
        B sell 90071992547.40993 S @ 100000 -> 1
        A buy 90071992547.40993 S @ 100000 -> 2
        A has $0.01
        A has 90071992547.40993 S
        B buy 90071992547.40993 S @ 100000.00000001 refused
        B buy 90071992547.40993 S @ 100000 -> 3
        B has $0
        "#,
    ),
    decided(
        "balance-self-trade",
        "an account that trades with itself keeps its money, its improvement and its shares",
        r#"
        fund A 100
        issue S A 10
        exact
        A buy 4 S @ 10 -> 1
        A sell 6 S @ 8 -> 2
        A query 1: executed 4 @ 10
        A query 2: open 2, executed 4 @ 10
        A has $100
        A cancel 2: canceled 2, executed 4 @ 10
        A has 10 S
        "#,
    ),
    decided(
        "balance-improvement-fine",
        "the improvement is exact to the last of 16 decimals",
        r#"
        fund A 3
        fund B 0
        issue S B 10
        exact
        B sell 1.00000001 S @ 1.00000001 -> 1
        A buy 1.00000001 S @ 2 -> 2
        B buy 1 S @ 1.00000003 refused
        B buy 1 S @ 1.00000002 -> 3
        B cancel 3: canceled 1
        A buy 1 S @ 1.99999998 refused
        A buy 1 S @ 1.99999997 -> 4
        "#,
    ),
];
