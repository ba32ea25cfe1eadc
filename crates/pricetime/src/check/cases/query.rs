//! Cases about queries and the answers to cancels. Source: docs/PROTOCOL.md, transactions.

use super::super::case::{Case, Kind, code, decided, spec};
use super::super::fault::Fault;
use super::super::probe::Probe;

pub const CASES: &[Case] = &[
    spec(
        "query-time",
        "the time of an execution and of a cancel is in seconds since the epoch",
        r#"
        fund A 1000
        issue S A 10
        fund B 1000
        A sell 10 S @ 5 -> 1
        B buy 4 S @ 5 -> 2
        A> <cancel id="{1}"/>
        <canceled id="{1}"><canceled shares="6" time="now"/><executed shares="4" price="5" time="now"/></canceled>
        A> <query id="{1}"/>
        <status id="{1}"><canceled shares="6" time="now"/><executed shares="4" price="5" time="now"/></status>
        B> <query id="{2}"/>
        <status id="{2}"><executed shares="4" price="5" time="now"/></status>
        "#,
    ),
    spec(
        "query-in-one-request",
        "queries in one request are answered in their order",
        r#"
        fund A 1000
        issue S A 1
        A buy 1 S @ 5 -> 1
        A buy 2 S @ 5 -> 2
        A> <query id="{2}"/><query id="{1}"/><query id="{2}"/>
        <status id="{2}"><open shares="2"/></status>
        <status id="{1}"><open shares="1"/></status>
        <status id="{2}"><open shares="2"/></status>
        "#,
    ),
    spec(
        "query-unknown-account",
        "a query or cancel of an unknown account is an error each",
        r#"
        fund A 1000
        issue S A 1
        A buy 1 S @ 5 -> 1
        B> <query id="{1}"/><cancel id="{1}"/><query id="{1}"/>
        <error/>
        <error/>
        <error/>
        A query 1: open 1
        "#,
    ),
    decided(
        "query-shortest-numbers",
        "numbers are the shortest decimals: 125, 145.67, 0.1",
        r#"
        fund A 10000
        fund B 1
        issue S B 80
        exact
        A> <order sym="{S}" amount="10.50" limit="0125.00"/><order sym="{S}" amount="1.0" limit="145.670"/>
        + <order sym="{S}" amount="3." limit=".10"/>
        <opened sym="{S}" amount="10.50" limit="0125.00" id="{1}"/>
        <opened sym="{S}" amount="1.0" limit="145.670" id="{2}"/>
        <opened sym="{S}" amount="3." limit=".10" id="{3}"/>
        B sell 14 S @ 0.1 -> 4
        A query 1: executed 10.5 @ 125
        A query 2: executed 1 @ 145.67
        A query 3: open 0.5, executed 2.5 @ 0.1
        "#,
    ),
    decided(
        "query-whole-seconds",
        "times are whole seconds, without a fraction",
        r#"
        fund A 1000
        issue S A 10
        A buy 10 S @ 5 -> 1
        exact
        A> <cancel id="{1}"/>
        <canceled id="{1}"><canceled shares="10" time="now"/></canceled>
        "#,
    ),
    decided(
        "query-unknown",
        "a query of an unknown order is an error with its id",
        r#"
        fund A 1
        A> <query id="999999999999999"/><query id="0"/><query id="18446744073709551616"/><query id="-1"/><query id="abc"/>
        <error id="999999999999999"/>
        <error id="0"/>
        <error id="18446744073709551616"/>
        <error id="-1"/>
        <error id="abc"/>
        "#,
    ),
    decided(
        "query-leading-zero",
        "an order is named in plain decimal: with a leading zero it is unknown",
        r#"
        fund A 1000
        issue S A 1
        A buy 1 S @ 5 -> 1
        exact
        A> <query id="0{1}"/><cancel id="00{1}"/>
        <error id="0{1}"/>
        <error id="00{1}"/>
        A query 1: open 1
        "#,
    ),
    code(
        Kind::Decided,
        "query-tells-nothing",
        "another's order and one that does not exist are refused in the same words",
        anothers_order_is_like_none,
    ),
    decided(
        "query-missing-id",
        "a query or cancel without an id is an error",
        r#"
        fund A 1000
        issue S A 1
        A> <query/><cancel/><order sym="{S}" amount="1" limit="1"/>
        <error/>
        <error/>
        <opened sym="{S}" amount="1" limit="1" id="{1}"/>
        "#,
    ),
    decided(
        "cancel-unknown",
        "a cancel of an unknown order is an error with its id",
        r#"
        fund A 1
        A> <cancel id="999999999999999"/><cancel id="none"/>
        <error id="999999999999999"/>
        <error id="none"/>
        "#,
    ),
    decided(
        "cancel-then-query",
        "a query after a cancel in the same request shows it canceled",
        r#"
        fund A 1000
        issue S A 1
        A buy 10 S @ 5 -> 1
        A> <query id="{1}"/><cancel id="{1}"/><query id="{1}"/><cancel id="{1}"/>
        <status id="{1}"><open shares="10"/></status>
        <canceled id="{1}"><canceled shares="10" time="*"/></canceled>
        <status id="{1}"><canceled shares="10" time="*"/></status>
        <error id="{1}"/>
        "#,
    ),
];

fn anothers_order_is_like_none(probe: &mut Probe<'_>) -> Result<(), Fault> {
    probe.script(
        r#"
        fund A 1000
        fund B 1000
        issue S A 1
        A buy 1 S @ 5 -> 1
        "#,
    )?;
    let request = probe.names.fill(
        r#"<transactions id="{B}"><query id="{1}"/><query id="999999999999999"/><cancel id="{1}"/></transactions>"#,
    );
    let results = probe.ask(request.as_bytes())?;
    probe.expect(r#"<error id="{1}"/><error id="999999999999999"/><error id="{1}"/>"#, &results)?;
    let mut words = results.children.iter().map(|error| error.text.trim());
    let first = words.next().unwrap_or_default();
    match words.find(|other| *other != first) {
        None => Ok(()),
        Some(other) => Err(Fault::Differs(format!("{first:?} and {other:?} tell the two apart"))),
    }
}
