//! Cases of the extended protocol: other kinds of orders, waiting orders, pairs, icebergs, deadlines, amendments and
//! replacements. Source: docs/PROTOCOL.md, kinds of orders and what follows there.

use super::super::case::{Case, decided};

pub const CASES: &[Case] = &[
    decided(
        "extension-market",
        "a market order takes what is there at any price, and what is left of it is canceled",
        r#"
        fund A 1000
        fund B 1
        issue S B 10
        B sell 4 S @ 10 -> 1
        B sell 4 S @ 12 -> 2
        A> <order sym="{S}" amount="10" type="market"/>
        <opened sym="{S}" amount="10" type="market" id="{3}"/>
        A query 3: canceled 2, executed 4 @ 10, executed 4 @ 12
        A has $912
        A has 8 S
        "#,
    ),
    decided(
        "extension-market-funds",
        "a market order for money buys as much as the money pays for",
        r#"
        fund A 1000
        fund B 1
        issue S B 10
        B sell 10 S @ 10 -> 1
        A> <order sym="{S}" funds="45" type="market"/>
        <opened sym="{S}" funds="45" type="market" id="{2}"/>
        A query 2: executed 4.5 @ 10
        A has $955
        "#,
    ),
    decided(
        "extension-ioc",
        "an immediate-or-cancel order takes what it can, and does not rest",
        r#"
        fund A 1000
        fund B 1
        issue S B 10
        B sell 4 S @ 10 -> 1
        B sell 4 S @ 12 -> 2
        A> <order sym="{S}" amount="10" limit="11" tif="IOC"/>
        <opened sym="{S}" amount="10" limit="11" tif="IOC" id="{3}"/>
        A query 3: canceled 6, executed 4 @ 10
        A has $960
        "#,
    ),
    decided(
        "extension-fok",
        "a fill-or-kill order executes whole, or not at all",
        r#"
        fund A 1000
        fund B 1
        issue S B 10
        B sell 4 S @ 10 -> 1
        A> <order sym="{S}" amount="5" limit="10" tif="FOK"/>
        <opened sym="{S}" amount="5" limit="10" tif="FOK" id="{2}"/>
        A query 2: canceled 5
        A> <order sym="{S}" amount="4" limit="10" tif="FOK"/>
        <opened sym="{S}" amount="4" limit="10" tif="FOK" id="{3}"/>
        A query 3: executed 4 @ 10
        "#,
    ),
    decided(
        "extension-post-only",
        "a post-only order that would execute at once is refused",
        r#"
        fund A 1000
        fund B 1
        issue S B 10
        B sell 4 S @ 10 -> 1
        A> <order sym="{S}" amount="1" limit="10" post-only="true"/>
        <error sym="{S}" amount="1" limit="10" post-only="true"/>
        A> <order sym="{S}" amount="1" limit="9" post-only="true"/>
        <opened sym="{S}" amount="1" limit="9" post-only="true" id="{2}"/>
        A query 2: open 1
        "#,
    ),
    decided(
        "extension-stop",
        "an order with a stop waits until an execution reaches its price, and executes then",
        r#"
        fund A 1000
        fund B 1000
        issue S A 10
        B buy 9 S @ 40 -> 1
        A> <order sym="{S}" amount="-5" type="market" stop="45"/>
        <opened sym="{S}" amount="-5" type="market" stop="45" id="{2}"/>
        A> <query id="{2}"/>
        <status id="{2}"><open shares="5" waits-for="45"/></status>
        A sell 1 S @ 40 -> 3
        A query 2: executed 5 @ 40
        A query 3: executed 1 @ 40
        "#,
    ),
    decided(
        "extension-oco",
        "of two orders that are linked one is canceled when the other one executes, and both hold their shares once",
        r#"
        fund A 1
        fund B 1000
        issue S A 10
        A> <oco><order sym="{S}" amount="-10" limit="30" post-only="true"/>
        + <order sym="{S}" amount="-10" type="market" stop="20"/></oco>
        <oco><opened sym="{S}" amount="-10" limit="30" post-only="true" id="{1}"/>
        <opened sym="{S}" amount="-10" type="market" stop="20" id="{2}"/></oco>
        A has 0 S
        B buy 4 S @ 30 -> 3
        A query 1: open 6, executed 4 @ 30
        A query 2: canceled 10
        "#,
    ),
    decided(
        "extension-display",
        "an order that shows a part of its shares executes a part at a time, behind the others of its price",
        r#"
        fund A 1
        fund B 1000
        issue S A 20
        A> <order sym="{S}" amount="-12" limit="10" display="4"/>
        <opened sym="{S}" amount="-12" limit="10" display="4" id="{1}"/>
        A> <query id="{1}"/>
        <status id="{1}"><open shares="12" display="4" shown="4"/></status>
        A sell 3 S @ 10 -> 2
        B buy 7 S @ 10 -> 3
        A> <query id="{1}"/>
        <status id="{1}"><open shares="8" display="4" shown="4"/><executed shares="4" price="10" time="*"/></status>
        A query 2: executed 3 @ 10
        "#,
    ),
    decided(
        "extension-until",
        "an order with a deadline is told with it",
        r#"
        fund A 1000
        issue S A 1
        A> <order sym="{S}" amount="10" limit="5" until="4102444800"/>
        <opened sym="{S}" amount="10" limit="5" until="4102444800" id="{1}"/>
        A> <query id="{1}"/>
        <status id="{1}"><open shares="10" until="4102444800"/></status>
        A has $950
        "#,
    ),
    decided(
        "extension-amend",
        "an order that is amended keeps its place, and gives back what it held",
        r#"
        fund A 1000
        fund B 1
        issue S B 10
        A buy 5 S @ 10 -> 1
        A buy 5 S @ 10 -> 2
        A> <amend id="{1}" shares="3"/><amend id="{1}" shares="4"/>
        <amended id="{1}" shares="3"><open shares="3"/></amended>
        <error id="{1}" shares="4"/>
        A has $920
        B sell 4 S @ 10 -> 3
        A query 1: executed 3 @ 10
        A query 2: open 4, executed 1 @ 10
        "#,
    ),
    decided(
        "extension-self-trade",
        "an order that prevents self-trades does not execute with its own account",
        r#"
        fund A 1000
        issue S A 10
        A sell 5 S @ 10 -> 1
        A> <order sym="{S}" amount="2" limit="10" self-trade="cancel-newest"/>
        <opened sym="{S}" amount="2" limit="10" self-trade="cancel-newest" id="{2}"/>
        A query 2: canceled 2
        A query 1: open 5
        "#,
    ),
    decided(
        "extension-cancel-all",
        "all open orders of an account are canceled at once, or those of a symbol",
        r#"
        fund A 1000
        fund B 1000
        issue S A 10
        issue T A 10
        A buy 5 S @ 10 -> 1
        A sell 4 T @ 20 -> 2
        B buy 1 S @ 10 -> 3
        A> <cancel-all sym="{S}"/><cancel-all sym="{S}"/>
        <canceled-all sym="{S}" orders="1"/>
        <canceled-all sym="{S}" orders="0"/>
        A query 1: canceled 5
        A query 2: open 4
        A> <cancel-all/>
        <canceled-all orders="1"/>
        A query 2: canceled 4
        B query 3: open 1
        A has $1000
        A has 10 T
        "#,
    ),
    decided(
        "extension-fees",
        "a fee is taken of what an execution brings, and the account of the fees gets it",
        r#"
        fund A 1000
        fund B 1
        fund C 1
        issue S B 10
        > <create><fees sym="{S}" maker="0.1" taker="0.25" account="{C}"/></create>
        <changed sym="{S}" maker="0.1" taker="0.25" account="{C}"/>
        B sell 10 S @ 10 -> 1
        A buy 4 S @ 10 -> 2
        A> <query id="{2}"/>
        <status id="{2}"><executed shares="4" price="10" fee="0.01" time="*"/></status>
        B> <query id="{1}"/>
        <status id="{1}"><open shares="6"/><executed shares="4" price="10" fee="0.04" time="*"/></status>
        A has $960
        A has 3.99 S
        B has $40.96
        C has $1.04
        C has 0.01 S
        "#,
    ),
    decided(
        "extension-halt",
        "while a symbol is halted no order is placed, and open ones can be canceled",
        r#"
        fund A 1000
        issue S A 10
        A buy 5 S @ 10 -> 1
        > <create><phase sym="{S}" is="halted"/></create>
        <changed sym="{S}" is="halted"/>
        A sell 1 S @ 10 refused
        A buy 1 S @ 9 refused
        A query 1: open 5
        A cancel 1: canceled 5
        > <create><phase sym="{S}" is="open"/></create>
        <changed sym="{S}" is="open"/>
        A buy 1 S @ 9 -> 2
        A query 2: open 1
        "#,
    ),
    decided(
        "extension-auction",
        "orders gather in an auction, and all execute at one price when the symbol opens",
        r#"
        fund A 10000
        fund B 1
        issue S B 100
        > <create><phase sym="{S}" is="auction"/></create>
        <changed sym="{S}" is="auction"/>
        A buy 10 S @ 105 -> 1
        A buy 20 S @ 101 -> 2
        B sell 15 S @ 100 -> 3
        A query 1: open 10
        B query 3: open 15
        > <create><phase sym="{S}" is="open"/></create>
        <changed sym="{S}" is="open"/>
        A query 1: executed 10 @ 101
        A query 2: open 15, executed 5 @ 101
        B query 3: executed 10 @ 101, executed 5 @ 101
        A has $6970
        B has $1516
        "#,
    ),
];
