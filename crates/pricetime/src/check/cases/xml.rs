//! Documents that are refused as a whole and change nothing, and XML that has to be read. Source: docs/PROTOCOL.md, bad
//! XML.

use super::super::case::{Case, decided, refused, spec};

pub const CASES: &[Case] = &[
    spec(
        "xml-single-quotes",
        "attribute values stand in single quotes as well as in double ones",
        r#"
        > <create><account balance='1000' id='{A}'/></create>
        <created id="{A}"/>
        A has $1000
        "#,
    ),
    spec(
        "xml-start-and-end-tag",
        "an empty element is written with one tag or with two",
        r#"
        > <create><account id="{A}" balance="10"></account></create>
        <created id="{A}"/>
        issue S A 1
        A> <order sym="{S}" amount="1" limit="2"></order>
        <opened sym="{S}" amount="1" limit="2" id="{1}"/>
        A> <query id="{1}"></query>
        <status id="{1}"><open shares="1"/></status>
        "#,
    ),
    spec(
        "xml-white-space",
        "white space between elements and attributes means nothing",
        r#"
        > <create > <account  id = "{A}"   balance= "10" /> <symbol sym="{S}" > <account id="{A}" >5</account > </symbol > </create >
        <created id="{A}"/>
        <created sym="{S}" id="{A}"/>
        A has 5 S
        "#,
    ),
    spec(
        "xml-declaration",
        "an XML declaration may stand first, with UTF-8 as its encoding",
        r#"
        > <?xml version="1.0" encoding="UTF-8"?><create><account id="{A}" balance="1"/></create>
        <created id="{A}"/>
        > <?xml version='1.0' encoding='utf-8' standalone='yes'?> <create><account id="{B}" balance="1"/></create>
        <created id="{B}"/>
        > <?xml version="1.0"?><create><account id="{C}" balance="1"/></create>
        <created id="{C}"/>
        "#,
    ),
    decided(
        "xml-declared-ascii",
        "US-ASCII is an encoding that is read",
        r#"
        > <?xml version="1.0" encoding="US-ASCII"?><create><account id="{A}" balance="1"/></create>
        <created id="{A}"/>
        "#,
    ),
    decided(
        "xml-references",
        "character references and the five predefined entities are read",
        r#"
        > <create><account id="{A}" balance="&#49;&#x30;"/><symbol sym="{S}&#65;"><account id="{A}">&#53;</account></symbol></create>
        <created id="{A}"/>
        <created sym="{S}A" id="{A}"/>
        A has $10
        A> <order sym="{S}A" amount="&#45;5" limit="1"/><order sym="&lt;&gt;&amp;&quot;&apos;" amount="1" limit="1"/>
        <opened sym="{S}A" amount="-5" limit="1" id="{1}"/>
        <error sym="&lt;&gt;&amp;&quot;&apos;" amount="1" limit="1"/>
        "#,
    ),
    decided(
        "xml-comments",
        "comments and processing instructions are skipped wherever they stand",
        r#"
        > <!-- a --><?pi one?><create><!-- <account/> --><account id="{A}" balance="1"/><?pi two?><symbol sym="{S}"><!-- b -->
        + <account id="{A}">1<!-- c -->2</account></symbol></create><!-- d --><?pi three?>
        <created id="{A}"/>
        <created sym="{S}" id="{A}"/>
        A has 12 S
        "#,
    ),
    decided(
        "xml-cdata",
        "CDATA is text",
        r#"
        fund A 1
        > <create><symbol sym="{S}"><account id="{A}"><![CDATA[7]]></account></symbol></create>
        <created sym="{S}" id="{A}"/>
        A has 7 S
        "#,
    ),
    decided(
        "xml-orders-atomic",
        "a bad document of orders changes nothing, however good its first children",
        r#"
        fund A 100
        issue S A 5
        A buy 1 S @ 40 -> 1
        > <transactions id="{A}"><order sym="{S}" amount="1" limit="10"/><cancel id="{1}"/><order sym="{S}" amount="1"</transactions>
        <error/>
        A query 1: open 1
        A has $60
        "#,
    ),
    decided(
        "xml-text-in-order",
        "text inside an order refuses the whole document",
        r#"
        fund A 100
        issue S A 5
        > <transactions id="{A}"><order sym="{S}" amount="1" limit="10"/><order sym="{S}" amount="1" limit="10">now</order></transactions>
        <error/>
        > <transactions id="{A}">now<order sym="{S}" amount="1" limit="10"/></transactions>
        <error/>
        A has $100
        "#,
    ),
    refused("xml-empty", "an empty document is refused", b""),
    refused("xml-blank", "a document of white space is refused", b" \r\n\t "),
    refused("xml-plain-text", "text is no document", b"create an account {A} with 5 dollars, please"),
    refused("xml-unclosed", "an element without its end is refused", b"<create><account id=\"{A}\" balance=\"5\"/>"),
    refused("xml-cut-tag", "a document that ends in a tag is refused", b"<create><account id=\"{A}\" balance=\"5\"/></create"),
    refused(
        "xml-mismatched",
        "an end tag of another name is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/></creates>",
    ),
    refused(
        "xml-crossed",
        "elements that cross are refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"A\"><account id=\"{A}\">1</symbol></account></create>",
    ),
    refused("xml-two-roots", "a second root is refused", b"<create><account id=\"{A}\" balance=\"5\"/></create><create/>"),
    refused("xml-text-after", "text after the root is refused", b"<create><account id=\"{A}\" balance=\"5\"/></create> bye"),
    refused("xml-text-before", "text before the root is refused", b"hello <create><account id=\"{A}\" balance=\"5\"/></create>"),
    refused(
        "xml-text-inside",
        "text where none belongs is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/>hello</create>",
    ),
    refused(
        "xml-text-in-account",
        "text inside an account that has a balance is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><account id=\"1{A}\" balance=\"5\">6</account></create>",
    ),
    refused(
        "xml-duplicate-attribute",
        "an attribute that stands twice is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><account id=\"1{A}\" balance=\"1\" balance=\"2\"/></create>",
    ),
    refused(
        "xml-unquoted",
        "an attribute value without quotes is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><account id=\"1{A}\" balance=1 /></create>",
    ),
    refused(
        "xml-no-value",
        "an attribute without a value is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><account id balance=\"1\"/></create>",
    ),
    refused(
        "xml-attributes-joined",
        "two attributes without a blank between them are refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><account id=\"1{A}\"balance=\"1\"/></create>",
    ),
    refused(
        "xml-open-quote",
        "an attribute value that never ends is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><account id=\"1{A}/></create>",
    ),
    refused(
        "xml-less-than-in-value",
        "a < in an attribute value is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a<b\"/></create>",
    ),
    refused(
        "xml-bare-ampersand",
        "a & that begins no reference is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a & b\"/></create>",
    ),
    refused(
        "xml-unknown-entity",
        "an entity other than the five predefined is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a&nbsp;b\"/></create>",
    ),
    refused(
        "xml-reference-nul",
        "a reference to a character that XML does not have is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a&#0;b\"/></create>",
    ),
    refused(
        "xml-reference-surrogate",
        "a reference to half a surrogate pair is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a&#xD800;b\"/></create>",
    ),
    refused(
        "xml-reference-beyond",
        "a reference beyond the last character is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a&#x110000;b\"/></create>",
    ),
    refused(
        "xml-control-character",
        "a control character is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a\x01b\"/></create>",
    ),
    refused("xml-nul", "a NUL inside the document is refused", b"<create><account id=\"{A}\" balance=\"5\"/>\0</create>"),
    refused(
        "xml-invalid-utf8",
        "bytes that are not UTF-8 are refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a\xffb\"/></create>",
    ),
    refused(
        "xml-overlong-utf8",
        "an overlong form of a character is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"a\xc1\x81b\"/></create>",
    ),
    refused(
        "xml-doctype",
        "a DOCTYPE is refused",
        b"<!DOCTYPE create><create><account id=\"{A}\" balance=\"5\"/></create>",
    ),
    refused(
        "xml-doctype-entity",
        "an entity that the document defines itself is refused",
        b"<!DOCTYPE create [<!ENTITY e \"5\">]><create><account id=\"{A}\" balance=\"&e;\"/></create>",
    ),
    refused(
        "xml-doctype-external",
        "an entity that names a file is refused",
        b"<!DOCTYPE c [<!ENTITY e SYSTEM \"file:///etc/hostname\">]><create><account id=\"{A}\" balance=\"5\"/>&e;</create>",
    ),
    refused(
        "xml-encoding-latin1",
        "a declared encoding other than UTF-8 and ASCII is refused",
        b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><create><account id=\"{A}\" balance=\"5\"/></create>",
    ),
    refused(
        "xml-encoding-utf16",
        "UTF-16 is refused",
        b"<?xml version=\"1.0\" encoding=\"UTF-16\"?><create><account id=\"{A}\" balance=\"5\"/></create>",
    ),
    refused("xml-unknown-root", "an unknown root is refused", b"<update><account id=\"{A}\" balance=\"5\"/></update>"),
    refused("xml-root-case", "names are case-sensitive: Create is unknown", b"<Create><account id=\"{A}\" balance=\"5\"/></Create>"),
    refused(
        "xml-too-deep",
        "an element deeper than the grammar is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"A\"><account id=\"{A}\"><b>1</b></account></symbol></create>",
    ),
    refused(
        "xml-bad-comment",
        "a comment that never ends is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><!-- and so on</create>",
    ),
    refused(
        "xml-bad-cdata",
        "a CDATA section that never ends is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><symbol sym=\"A\"><account id=\"{A}\"><![CDATA[1</account></symbol></create>",
    ),
    refused(
        "xml-bad-name",
        "an element name that begins with a digit is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/><1st/></create>",
    ),
    refused(
        "xml-end-tag-attribute",
        "an end tag with an attribute is refused",
        b"<create><account id=\"{A}\" balance=\"5\"/></create at=\"end\">",
    ),
];
