//! Accounts, symbols and shares. Source: docs/PROTOCOL.md, create.

use super::super::case::{Case, decided, spec};

pub const CASES: &[Case] = &[
    spec(
        "create-account",
        "an account is created with its balance, and the reply names it",
        r#"
        > <create><account id="{A}" balance="1000"/></create>
        <created id="{A}"/>
        A has $1000
        "#,
    ),
    spec(
        "create-duplicate",
        "an account that exists is not created again, and keeps its balance",
        r#"
        fund A 20
        > <create><account id="{A}" balance="5000"/></create>
        <error id="{A}"/>
        A has $20
        "#,
    ),
    spec(
        "create-symbol",
        "a symbol's account gets its shares, and the reply names both",
        r#"
        fund A 0.01
        > <create><symbol sym="{S}"><account id="{A}">50</account></symbol></create>
        <created sym="{S}" id="{A}"/>
        A has 50 S
        "#,
    ),
    spec(
        "create-symbol-again",
        "a symbol that exists is given more shares",
        r#"
        fund A 1
        issue S A 50
        issue S A 25
        A has 75 S
        "#,
    ),
    spec(
        "create-in-order",
        "children take effect in the order they stand: an account serves the symbol after it",
        r#"
        > <create><account id="{A}" balance="1000"/><symbol sym="{S}"><account id="{A}">100000</account></symbol></create>
        <created id="{A}"/>
        <created sym="{S}" id="{A}"/>
        A has 100000 S
        "#,
    ),
    spec(
        "create-mixed",
        "accounts and symbols stand in any order, with one reply element for each account",
        r#"
        fund A 1
        > <create><symbol sym="{S}"><account id="{A}">1</account></symbol><account id="{B}" balance="2"/>
        + <symbol sym="{T}"><account id="{B}">3</account><account id="{A}">4</account></symbol>
        + <account id="{C}" balance="5"/></create>
        <created sym="{S}" id="{A}"/>
        <created id="{B}"/>
        <created sym="{T}" id="{B}"/>
        <created sym="{T}" id="{A}"/>
        <created id="{C}"/>
        A has 4 T
        B has 3 T
        "#,
    ),
    spec(
        "create-nothing",
        "a create without children is answered with empty results",
        r#"
        > <create></create>
        (nothing)
        > <create/>
        (nothing)
        fund A 1
        "#,
    ),
    spec(
        "create-error-alone",
        "a refused child does not undo the others",
        r#"
        fund A 1
        > <create><account id="{B}" balance="2"/><account id="{A}" balance="3"/><account id="{C}" balance="4"/></create>
        <created id="{B}"/>
        <error id="{A}"/>
        <created id="{C}"/>
        B has $2
        C has $4
        "#,
    ),
    spec(
        "create-fraction",
        "positions and balances may be fractions",
        r#"
        fund A 10.75
        issue S A 2.5
        A has $10.75
        A has 2.5 S
        "#,
    ),
    spec(
        "create-long-account",
        "an account is any number of digits: seventeen are told apart",
        r#"
        > <create><account id="1234567{A}" balance="1"/><account id="1234568{A}" balance="1"/></create>
        <created id="1234567{A}"/>
        <created id="1234568{A}"/>
        > <create><account id="1234567{A}" balance="1"/></create>
        <error id="1234567{A}"/>
        "#,
    ),
    spec(
        "create-symbol-letters",
        "a symbol is letters and digits, such as T5asdf",
        r#"
        fund A 1
        > <create><symbol sym="5{S}asdf"><account id="{A}">7</account></symbol></create>
        <created sym="5{S}asdf" id="{A}"/>
        A> <order sym="5{S}asdf" amount="-7" limit="1"/>
        <opened sym="5{S}asdf" amount="-7" limit="1" id="{1}"/>
        "#,
    ),
    decided(
        "create-symbol-alone",
        "a symbol without accounts is created and has no reply element",
        r#"
        fund A 10
        A buy 1 S @ 1 refused
        > <create><symbol sym="{S}"/></create>
        (nothing)
        A buy 1 S @ 1 -> 1
        "#,
    ),
    decided(
        "create-unknown-account",
        "shares for an unknown account are refused, and those of the symbol's other accounts are not",
        r#"
        fund A 1
        > <create><symbol sym="{S}"><account id="{B}">5</account><account id="{A}">6</account></symbol></create>
        <error sym="{S}" id="{B}"/>
        <created sym="{S}" id="{A}"/>
        A has 6 S
        fund B 1
        B has 0 S
        "#,
    ),
    decided(
        "create-zero",
        "a balance of zero and zero shares are allowed, and -0 is zero",
        r#"
        fund A 0
        issue S A 0
        > <create><account id="{B}" balance="-0"/><symbol sym="{S}"><account id="{B}">-0.0</account></symbol></create>
        <created id="{B}"/>
        <created sym="{S}" id="{B}"/>
        A has $0
        A has 0 S
        "#,
    ),
    decided(
        "create-negative-balance",
        "a negative balance is refused",
        r#"
        > <create><account id="{A}" balance="-0.01"/></create>
        <error id="{A}"/>
        fund A 1
        "#,
    ),
    decided(
        "create-negative-shares",
        "negative shares are refused",
        r#"
        fund A 1
        issue S A 5
        > <create><symbol sym="{S}"><account id="{A}">-1</account></symbol></create>
        <error sym="{S}" id="{A}"/>
        A has 5 S
        "#,
    ),
    decided(
        "create-eight-decimals",
        "eight decimals are kept exactly",
        r#"
        exact
        fund A 10.00000001
        issue S A 0.12345678
        A has $10.00000001
        A has 0.12345678 S
        "#,
    ),
    decided(
        "create-nine-decimals",
        "more than eight decimals are refused, even zeros",
        r#"
        > <create><account id="{A}" balance="1.000000001"/><account id="{B}" balance="1.000000000"/></create>
        <error id="{A}"/>
        <error id="{B}"/>
        fund A 1
        > <create><symbol sym="{S}"><account id="{A}">0.000000001</account></symbol></create>
        <error sym="{S}" id="{A}"/>
        "#,
    ),
    decided(
        "create-no-number",
        "a balance or shares that are no plain decimal are refused",
        r#"
        > <create><account id="{A}" balance="ten"/><account id="{A}" balance="1e5"/><account id="{A}" balance="NaN"/>
        + <account id="{A}" balance="+1"/><account id="{A}" balance="0x1"/><account id="{A}" balance="1,000"/>
        + <account id="{A}" balance=""/><account id="{A}" balance="."/><account id="{A}" balance="1 2"/></create>
        <error id="{A}"/><error id="{A}"/><error id="{A}"/>
        <error id="{A}"/><error id="{A}"/><error id="{A}"/>
        <error id="{A}"/><error id="{A}"/><error id="{A}"/>
        fund A 1
        > <create><symbol sym="{S}"><account id="{A}">ten</account><account id="{A}"></account></symbol></create>
        <error sym="{S}" id="{A}"/>
        <error sym="{S}" id="{A}"/>
        "#,
    ),
    decided(
        "create-odd-numbers",
        "leading zeros and a bare fraction are read: 007, 5. and .5",
        r#"
        > <create><account id="{A}" balance="007"/><account id="{B}" balance=".5"/><account id="{C}" balance="5."/></create>
        <created id="{A}"/>
        <created id="{B}"/>
        <created id="{C}"/>
        A has $7
        B has $0.5
        C has $5
        "#,
    ),
    decided(
        "create-trimmed",
        "white space inside values and around the shares is trimmed",
        r#"
        > <create><account id=" {A} " balance=" 10 "/><symbol sym=" {S} "><account id="{A} "> 4&#10;</account></symbol></create>
        <created id="*"/>
        <created sym="*" id="*"/>
        A has $10
        A has 4 S
        "#,
    ),
    decided(
        "create-missing",
        "an account without an id or without a balance is refused",
        r#"
        > <create><account balance="1"/><account id="{A}"/><account id="{B}" balance="2"/></create>
        <error/>
        <error id="{A}"/>
        <created id="{B}"/>
        fund A 1
        "#,
    ),
    decided(
        "create-account-digits",
        "an account's id of anything but digits, or of none, is refused",
        r#"
        > <create><account id="x{A}" balance="1"/><account id="-{A}" balance="1"/><account id="{A}.0" balance="1"/>
        + <account id="" balance="1"/><account id="{A}" balance="1"/></create>
        <error id="x{A}"/>
        <error id="-{A}"/>
        <error id="{A}.0"/>
        <error id=""/>
        <created id="{A}"/>
        "#,
    ),
    decided(
        "create-account-text",
        "ids are compared as text: 01234 is not 1234",
        r#"
        exact
        > <create><account id="{A}" balance="1"/><account id="0{A}" balance="2"/></create>
        <created id="{A}"/>
        <created id="0{A}"/>
        A has $1
        "#,
    ),
    decided(
        "create-account-32",
        "an account's id has at most 32 digits",
        r#"
        > <create><account id="0000000000000000000001{A}" balance="1"/>
        + <account id="00000000000000000000000{A}" balance="1"/><account id="{A}" balance="1"/></create>
        <created id="0000000000000000000001{A}"/>
        <error id="00000000000000000000000{A}"/>
        <created id="{A}"/>
        "#,
    ),
    decided(
        "create-symbol-case",
        "symbols differ by the case of their letters",
        r#"
        fund A 1
        > <create><symbol sym="{S}x"><account id="{A}">1</account></symbol></create>
        <created sym="{S}x" id="{A}"/>
        A> <order sym="{S}X" amount="-1" limit="1"/>
        <error sym="{S}X" amount="-1" limit="1"/>
        "#,
    ),
    decided(
        "create-symbol-32",
        "a symbol has at most 32 characters",
        r#"
        fund A 1
        > <create><symbol sym="{S}1234567890123456789012"><account id="{A}">1</account></symbol>
        + <symbol sym="{S}12345678901234567890123"><account id="{A}">1</account></symbol></create>
        <created sym="{S}1234567890123456789012" id="{A}"/>
        <error sym="{S}12345678901234567890123" id="{A}"/>
        "#,
    ),
    decided(
        "create-symbol-illegal",
        "an illegal symbol gets one error for each of its accounts",
        r#"
        fund A 1
        fund B 1
        > <create><symbol sym="{S}-1"><account id="{A}">1</account><account id="{B}">1</account></symbol></create>
        <error sym="{S}-1" id="{A}"/>
        <error sym="{S}-1" id="{B}"/>
        "#,
    ),
    decided(
        "create-symbol-illegal-alone",
        "an illegal symbol without accounts gets one error",
        r#"
        exact
        > <create><symbol sym="{S} 1"/><symbol sym=""/><account id="{A}" balance="1"/></create>
        <error sym="{S} 1"/>
        <error sym=""/>
        <created id="{A}"/>
        "#,
    ),
    decided(
        "create-shares-cap",
        "more than 10^20 shares of a symbol are refused",
        r#"
        fund A 1
        > <create><symbol sym="{S}"><account id="{A}">100000000000000000001</account></symbol></create>
        <error sym="{S}" id="{A}"/>
        > <create><symbol sym="{S}"><account id="{A}">100000000000000000000.00000001</account></symbol></create>
        <error sym="{S}" id="{A}"/>
        > <create><symbol sym="{S}"><account id="{A}">1</account></symbol></create>
        <created sym="{S}" id="{A}"/>
        "#,
    ),
    decided(
        "create-dollars-cap",
        "a balance above 10^20 is refused, however long the number",
        r#"
        > <create><account id="{A}" balance="100000000000000000000.00000001"/><account id="{A}"
        +  balance="9999999999999999999999999999999999999999999999999999999999999999"/></create>
        <error id="{A}"/>
        <error id="{A}"/>
        fund A 1
        "#,
    ),
];
