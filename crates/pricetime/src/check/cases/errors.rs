//! Cases about refusals: their form, and that each stands alone. Source: docs/PROTOCOL.md, create and transactions.

use super::super::case::{Case, decided, spec};

pub const CASES: &[Case] = &[
    spec(
        "error-create-says-why",
        "an error of create has a text that says what was wrong",
        r#"
        fund A 1
        > <create><account id="{A}" balance="1"/><account id="{A}" balance="1"/></create>
        <error id="{A}">*</error>
        <error id="{A}">*</error>
        "#,
    ),
    spec(
        "error-request-goes-on",
        "an order refused for lack of funds does not keep the others of its request from opening",
        r#"
        fund A 100
        issue S A 5
        A> <order sym="{S}" amount="1000" limit="1000"/><order sym="{S}" amount="1" limit="1"/>
        <error sym="{S}" amount="1000" limit="1000"/>
        <opened sym="{S}" amount="1" limit="1" id="{1}"/>
        A query 1: open 1
        "#,
    ),
    spec(
        "error-unknown-account-each",
        "an unknown account gets as many errors as its request has children, in one reply",
        r#"
        fund A 100
        issue S A 5
        A buy 1 S @ 1 -> 1
        > <transactions id="{B}"><order sym="{S}" amount="1" limit="1"/><query id="{1}"/><order sym="{S}" amount="2" limit="1"/>
        + <cancel id="{1}"/></transactions>
        <error sym="{S}" amount="1" limit="1"/>
        <error/>
        <error sym="{S}" amount="2" limit="1"/>
        <error/>
        A query 1: open 1
        "#,
    ),
    decided(
        "error-order-says-why",
        "an error of an order has a text that says what was wrong",
        r#"
        fund A 1
        issue S A 1
        A> <order sym="{S}" amount="10" limit="10"/><order sym="{S}" amount="-10" limit="10"/>
        <error sym="{S}" amount="10" limit="10">*</error>
        <error sym="{S}" amount="-10" limit="10">*</error>
        "#,
    ),
    decided(
        "error-cancel-says-why",
        "an error of a query or cancel has a text that says what was wrong",
        r#"
        fund A 1
        A> <query id="999999999999999"/><cancel id="999999999999999"/>
        <error id="999999999999999">*</error>
        <error id="999999999999999">*</error>
        "#,
    ),
    decided(
        "error-xml-says-why",
        "the error about a document that is refused as a whole says what was wrong",
        r#"
        > <create><account id="{A}" balance="1"/>
        <error>*</error>
        > <updates/>
        <error>*</error>
        fund A 1
        "#,
    ),
    decided(
        "error-own-attributes",
        "each error of an unknown account has its child's own attributes and a text",
        r#"
        fund A 1
        exact
        > <transactions id="{B}"><order sym="{S}" amount="01" limit="1.0"/><query id="7"/><cancel id="8"/></transactions>
        <error sym="{S}" amount="01" limit="1.0">*</error>
        <error id="7">*</error>
        <error id="8">*</error>
        "#,
    ),
    decided(
        "error-illegal-account",
        "a transactions element of an illegal account gets one error for each child",
        r#"
        fund A 1
        exact
        > <transactions id="x{A}"><order sym="{S}" amount="1" limit="1"/><query id="7"/></transactions>
        <error sym="{S}" amount="1" limit="1">*</error>
        <error id="7">*</error>
        > <transactions id=""><cancel id="8"/></transactions>
        <error id="8">*</error>
        "#,
    ),
    decided(
        "error-unknown-in-create",
        "an unknown child of create is an error in its place, and the others take effect",
        r#"
        > <create><account id="{A}" balance="1"/><bond sym="{S}"/><account id="{B}" balance="2"/></create>
        <created id="{A}"/>
        <error>*</error>
        <created id="{B}"/>
        A has $1
        B has $2
        "#,
    ),
    decided(
        "error-unknown-in-symbol",
        "an unknown child of a symbol is an error in its place, and the others take effect",
        r#"
        fund A 1
        > <create><symbol sym="{S}"><account id="{A}">1</account><holder id="{A}"/><account id="{A}">3</account></symbol></create>
        <created sym="{S}" id="{A}"/>
        <error>*</error>
        <created sym="{S}" id="{A}"/>
        A has 4 S
        "#,
    ),
    decided(
        "error-unknown-in-transactions",
        "an unknown child of transactions is an error in its place, and the others take effect",
        r#"
        fund A 100
        issue S A 1
        A> <order sym="{S}" amount="1" limit="1"/><replace id="1"/><account id="{A}" balance="5"/><order sym="{S}" amount="2" limit="1"/>
        <opened sym="{S}" amount="1" limit="1" id="{1}"/>
        <error>*</error>
        <error>*</error>
        <opened sym="{S}" amount="2" limit="1" id="{2}"/>
        "#,
    ),
    decided(
        "error-create-attributes",
        "replies of create have exactly the id, or the symbol and then the id, as sent",
        r#"
        exact
        > <create><account id="{A}" balance="1"/><symbol sym="{S}"><account id="{A}">1</account><account id="{B}">1</account></symbol></create>
        <created id="{A}"/>
        <created sym="{S}" id="{A}"/>
        <error sym="{S}" id="{B}">*</error>
        "#,
    ),
    decided(
        "error-create-escaped",
        "what an error of create repeats is escaped again",
        r#"
        exact
        > <create><symbol sym="&lt;&amp;&quot;&apos;&gt;"/><account id="&#x26;1" balance="1"/><account id="{A}" balance="1"/></create>
        <error sym="&lt;&amp;&quot;&apos;&gt;">*</error>
        <error id="&amp;1">*</error>
        <created id="{A}"/>
        "#,
    ),
    decided(
        "error-echo-utf8",
        "letters beyond ASCII are refused in a symbol and repeated as they are",
        r#"
        fund A 100
        exact
        A> <order sym="Zürich€𝄞" amount="1" limit="1"/>
        <error sym="Zürich€𝄞" amount="1" limit="1">*</error>
        A has $100
        "#,
    ),
];
