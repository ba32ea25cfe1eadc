//! Cases of the extended protocol that scenarios do not say: deadlines, cancels of all orders, fees, and what XML alone
//! tells of orders. Source: docs/PROTOCOL.md, kinds of orders and what follows there.

use super::super::case::{Case, decided};

pub const CASES: &[Case] = &[
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
];
