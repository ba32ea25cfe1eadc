//! Cases about placing orders: which are opened, which are refused, and what the reply repeats. Source:
//! docs/PROTOCOL.md, transactions.

use super::super::case::{Case, Kind, code, decided, spec};
use super::super::fault::Fault;
use super::super::probe::Probe;

pub const CASES: &[Case] = &[
    spec(
        "order-opened",
        "an accepted order is opened: the reply repeats it and gives it an id",
        r#"
        fund A 20000
        issue S A 10
        A> <order sym="{S}" amount="100" limit="145.67"/>
        <opened sym="{S}" amount="100" limit="145.67" id="{1}"/>
        A> <order sym="{S}" amount="-10" limit="200"/>
        <opened sym="{S}" amount="-10" limit="200" id="{2}"/>
        "#,
    ),
    spec(
        "order-refused-echo",
        "a refused order is an error that repeats its symbol, amount and limit",
        r#"
        fund A 10
        issue S A 1
        A> <order sym="{S}" amount="100" limit="145.67"/>
        <error sym="{S}" amount="100" limit="145.67"/>
        "#,
    ),
    spec(
        "order-replies-in-order",
        "replies stand in the order of the children, errors in their place",
        r#"
        fund A 100
        issue S A 1
        A> <order sym="{S}" amount="1" limit="3"/><order sym="{S}" amount="9" limit="5000"/>
        + <order sym="{S}" amount="2" limit="4"/><order sym="{S}" amount="-50" limit="6"/>
        + <order sym="{S}" amount="3" limit="5"/>
        <opened sym="{S}" amount="1" limit="3" id="{1}"/>
        <error sym="{S}" amount="9" limit="5000"/>
        <opened sym="{S}" amount="2" limit="4" id="{2}"/>
        <error sym="{S}" amount="-50" limit="6"/>
        <opened sym="{S}" amount="3" limit="5" id="{3}"/>
        "#,
    ),
    spec(
        "order-unknown-account",
        "an unknown account gets one error for each child",
        r#"
        fund A 100
        issue S A 5
        > <transactions id="{B}"><order sym="{S}" amount="1" limit="2"/><order sym="{S}" amount="-3" limit="4"/></transactions>
        <error sym="{S}" amount="1" limit="2"/>
        <error sym="{S}" amount="-3" limit="4"/>
        A buy 1 S @ 2 -> 1
        "#,
    ),
    decided(
        "order-exact-echo",
        "symbol, amount and limit are repeated as they were sent, untrimmed",
        r#"
        fund A 1000
        issue S A 1
        exact
        A> <order sym=" {S} " amount=" 007" limit="5."/><order limit=".5" amount="1.50" sym="{S}"/>
        + <order sym="{S}" amount="0.10 " limit="99999999.000"/>
        <opened sym=" {S} " amount=" 007" limit="5." id="{1}"/>
        <opened sym="{S}" amount="1.50" limit=".5" id="{2}"/>
        <error sym="{S}" amount="0.10 " limit="99999999.000"/>
        A query 1: open 7
        A query 2: open 1.5
        "#,
    ),
    decided(
        "order-escaped-echo",
        "what an error repeats is escaped again",
        r#"
        fund A 100
        exact
        A> <order sym="a&amp;b&lt;c&quot;d&#9;e&#10;f&#13;g" amount="1" limit="2"/>
        <error sym="a&amp;b&lt;c&quot;d&#9;e&#10;f&#13;g" amount="1" limit="2"/>
        A has $100
        "#,
    ),
    code(
        Kind::Decided,
        "order-ids-count",
        "ids are 1, 2, 3 …, and a refused order spends none (nobody else may trade meanwhile)",
        refused_orders_spend_no_id,
    ),
    decided(
        "order-children-in-order",
        "children take effect in the order they stand",
        r#"
        fund A 10
        issue S A 1
        A buy 10 S @ 1 -> 1
        A> <order sym="{S}" amount="5" limit="2"/><cancel id="{1}"/><order sym="{S}" amount="5" limit="2"/><query id="{1}"/>
        <error sym="{S}" amount="5" limit="2"/>
        <canceled id="{1}"><canceled shares="10" time="*"/></canceled>
        <opened sym="{S}" amount="5" limit="2" id="{2}"/>
        <status id="{1}"><canceled shares="10" time="*"/></status>
        "#,
    ),
    decided(
        "order-no-number",
        "what is no plain decimal is refused: NaN, 1e5, 0x1, +1, two points, nothing",
        r#"
        fund A 1000000
        issue S A 5
        A buy NaN S @ 1 refused
        A buy 1 S @ NaN refused
        A buy 1e5 S @ 1 refused
        A buy 1 S @ 1e5 refused
        A buy 0x1 S @ 1 refused
        A buy +1 S @ 1 refused
        A buy 1 S @ +1 refused
        A buy 1.2.3 S @ 1 refused
        A buy --1 S @ 1 refused
        A> <order sym="{S}" amount="" limit="1"/><order sym="{S}" amount="1" limit=""/>
        <error sym="{S}" amount="" limit="1"/>
        <error sym="{S}" amount="1" limit=""/>
        A has $1000000
        "#,
    ),
    decided(
        "order-missing-attribute",
        "an order without symbol, amount or limit is refused, and its error leaves that out",
        r#"
        fund A 100
        issue S A 5
        exact
        A> <order amount="1" limit="2"/><order sym="{S}" limit="2"/><order sym="{S}" amount="1"/><order/>
        <error amount="1" limit="2"/>
        <error sym="{S}" limit="2"/>
        <error sym="{S}" amount="1"/>
        <error/>
        A has $100
        "#,
    ),
    decided(
        "order-unknown-attribute",
        "an order with an attribute that it does not know is refused",
        r#"
        fund A 100
        issue S A 5
        A> <order sym="{S}" amount="1" limit="2" hurry="yes"/>
        <error sym="{S}" amount="1" limit="2"/>
        A has $100
        "#,
    ),
    decided(
        "order-no-children",
        "a transactions element without children is one error",
        r#"
        fund A 100
        exact
        A>
        <error/>
        "#,
    ),
    decided(
        "order-no-account",
        "a transactions element without an id is one error, and nothing of it happens",
        r#"
        fund A 100
        issue S A 5
        exact
        > <transactions><order sym="{S}" amount="1" limit="2"/><order sym="{S}" amount="1" limit="2"/></transactions>
        <error/>
        A has $100
        "#,
    ),
];

fn refused_orders_spend_no_id(probe: &mut Probe<'_>) -> Result<(), Fault> {
    probe.script(
        r#"
        fund A 100
        issue S A 5
        A buy 1 S @ 1 -> 1
        A buy 1 S @ 1000 refused
        A buy 1 S @ 1 -> 2
        "#,
    )?;
    let number = |slot| probe.names.order(slot).and_then(|id| id.parse::<u64>().ok());
    match (number(1), number(2)) {
        (Some(first), Some(second)) if first.checked_add(1) == Some(second) => Ok(()),
        ids => Err(Fault::Differs(format!("two orders with a refused one between have the ids {ids:?}"))),
    }
}
