//! Documents that are refused whole, and some that look odd and are not. Source: docs/PROTOCOL.md, bad XML.

use crate::common::{LIMITS, check_refused, check_transactions, ops, reply};
use xml::{Documents, Limits};

const GOOD: &str = "<transactions id='1'><query id='1'/></transactions>";

#[track_caller]
fn check_accepted(body: impl AsRef<[u8]>) {
    let body = body.as_ref();
    assert_eq!(reply(body), r#"<status id="1"/>"#, "{}", String::from_utf8_lossy(body));
}

#[test]
fn what_has_no_end_is_refused() {
    check_refused("", "no root element: expected &lt;create&gt; or &lt;transactions&gt;, at byte 0");
    check_refused(" \r\n", "no root element: expected &lt;create&gt; or &lt;transactions&gt;, at byte 3");
    check_refused("<create>", "element create has no end tag, at byte 8");
    check_refused("<create", "the document ends inside a tag, comment or other markup, at byte 7");
    check_refused("<create></create", "the document ends inside a tag, comment or other markup, at byte 16");
    check_refused("<create><!-- -", "the document ends inside a tag, comment or other markup, at byte 14");
    check_refused("<create><account id='1", "the document ends inside a tag, comment or other markup, at byte 22");
    for end in 0..GOOD.len() {
        assert_eq!(ops(&GOOD[..end]), [], "{}", &GOOD[..end]);
    }
}

#[test]
fn tags_that_do_not_match_are_refused() {
    check_refused("<create></Create>", "end tag Create where the end of create was expected, at byte 8");
    check_refused("<create><a></create></a>", "end tag create where the end of a was expected, at byte 11");
    check_refused("<create></create foo>", "a tag that does not end with &gt; or /&gt;, at byte 17");
    check_refused("< create/>", "a name was expected, at byte 1");
    check_refused("<create / >", "a tag that does not end with &gt; or /&gt;, at byte 8");
    check_refused("<create></ create>", "a name was expected, at byte 10");
    check_refused("</create>", "markup that is no tag, comment, processing instruction or CDATA section, at byte 0");
}

#[test]
fn only_comments_and_instructions_stand_around_the_root() {
    let after = "something other than comments after the root element";
    check_refused(format!("{GOOD}<create/>"), &format!("{after}, at byte 51"));
    check_refused(format!("{GOOD} x"), &format!("{after}, at byte 52"));
    check_refused(format!("{GOOD}&#32;"), &format!("{after}, at byte 51"));
    check_refused("x<create/>", "no root element: expected &lt;create&gt; or &lt;transactions&gt;, at byte 0");
    let other = "markup that is no tag, comment, processing instruction or CDATA section";
    check_refused(format!("{GOOD}<![CDATA[ ]]>"), &format!("{other}, at byte 51"));
    check_accepted(format!("\n<!-- a --><?go?>\r\n{GOOD}<?go on?>\n<!--b-->\n\n"));
    check_accepted(format!("\u{feff}{GOOD}"));
    check_accepted(format!("\u{feff}<?xml version='1.0'?>{GOOD}"));
}

#[test]
fn an_unknown_root_is_refused() {
    check_refused("<orders/>", "unknown root element orders: expected create or transactions, at byte 0");
    check_refused("\n<x:create/>", "unknown root element x:create: expected create or transactions, at byte 1");
}

#[test]
fn attributes_are_quoted_separated_and_there_once() {
    check_refused("<create><a b=1/></create>", "the value of attribute b is not quoted, at byte 13");
    check_refused("<create><a b/></create>", "attribute b has no value, at byte 12");
    check_refused("<create><a b='1'c='2'/></create>", "white space was expected before an attribute, at byte 16");
    check_refused("<create><a b='1' b='2'/></create>", "attribute b stands twice in one tag, at byte 17");
    check_refused("<create><a b='<'/></create>", "the value of attribute b has a &lt;; write &amp;lt;, at byte 14");
    check_refused("<create><a 1='1'/></create>", "a name was expected, at byte 11");
    check_refused("<create><a b='1\"/></create>", "the value of attribute b has a &lt;; write &amp;lt;, at byte 18");
    check_accepted("<transactions\n\tid = \"1\" ><query id\r\n=\n'1'\n/></transactions >");
}

/// The reader compares many attributes of a tag in another way than few.
#[test]
fn no_attribute_stands_twice_however_many_there_are() {
    for count in [2, 15, 16, 17, 18, 100] {
        let others: String = (0..count).map(|number| format!("a{number}='' ")).collect();
        for twice in ["a0", &format!("a{}", count / 2)] {
            let at = "<create><a ".len() + others.len();
            let fault = format!("attribute {twice} stands twice in one tag, at byte {at}");
            check_refused(format!("<create><a {others}{twice}=''/></create>"), &fault);
        }
    }
}

#[test]
fn characters_that_xml_forbids_are_refused() {
    check_refused("<create>\0</create>", "character U+0000 is not allowed in XML, at byte 8");
    check_refused("<create><!-- \u{1b} --></create>", "character U+001B is not allowed in XML, at byte 13");
    check_refused("<create>\u{ffff}</create>", "character U+FFFF is not allowed in XML, at byte 8");
    check_refused(b"<create><!-- \xff --></create>", "not UTF-8, at byte 13");
    check_refused(b"<create><!-- \xed\xa0\x80 --></create>", "not UTF-8, at byte 13");
    check_refused(b"\xff\xfe<\0c\0", "not UTF-8, at byte 0");
}

#[test]
fn only_known_entities_and_allowed_character_references_are_read() {
    let check = |reference: &str, why: &str| {
        check_refused(format!("<create><account id='{reference}'/></create>"), &format!("{why}, at byte 21"));
        check_refused(format!("<create>{reference}</create>"), &format!("{why}, at byte 8"));
    };
    check("&nbsp;", "unknown entity nbsp: only lt, gt, amp, apos and quot are known");
    check("&#0;", "character reference #0 is no character that XML allows");
    check("&#x1F;", "character reference #x1F is no character that XML allows");
    check("&#xD800;", "character reference #xD800 is no character that XML allows");
    check("&#xFFFE;", "character reference #xFFFE is no character that XML allows");
    check("&#99999999999;", "character reference #99999999999 is no character that XML allows");
    check("&#;", "character reference # is no character that XML allows");
    check("& ", "&amp; without a ;: write &amp;amp;");
    check("&lt", "&amp; without a ;: write &amp;amp;");
    check_transactions(
        "<query id='&lt;&gt;&amp;&apos;&quot;&#65;&#x20AC;'/>",
        r#"<error id="&lt;&gt;&amp;'&quot;A€">Unknown order</error>"#,
    );
}

#[test]
fn a_doctype_is_refused() {
    check_refused(format!("<!DOCTYPE transactions>{GOOD}"), "a DOCTYPE is not accepted, at byte 0");
    check_refused("<create><!DOCTYPE a></create>", "a DOCTYPE is not accepted, at byte 8");
}

#[test]
fn declarations_stand_at_the_start_are_well_formed_and_name_a_known_encoding() {
    for encoding in ["UTF-8", "utf-8", "ASCII", "us-ascii", "utf8"] {
        check_accepted(format!("<?xml version='1.0' encoding='{encoding}'?>{GOOD}"));
    }
    check_accepted(format!("<?xml version=\"1.0\" standalone=\"no\"?>\r\n{GOOD}"));
    check_accepted(format!("<?xml version = '1.1' encoding = \"UTF-8\" standalone = 'yes' ?>{GOOD}"));
    for encoding in ["UTF-16", "ISO-8859-1", "windows-1252", ""] {
        check_refused(
            format!("<?xml version='1.0' encoding='{encoding}'?>{GOOD}"),
            &format!("encoding {encoding} is declared; only UTF-8 and ASCII are read, at byte 0"),
        );
    }
    let misplaced = "an XML declaration elsewhere than at the very start";
    check_refused(format!("\n<?xml version='1.0'?>{GOOD}"), &format!("{misplaced}, at byte 1"));
    check_refused(format!("<!----><?xml version='1.0'?>{GOOD}"), &format!("{misplaced}, at byte 7"));
    check_refused(format!("<?XML version='1.0'?>{GOOD}"), &format!("{misplaced}, at byte 0"));
    check_refused("<create><?xml version='1.0'?></create>", &format!("{misplaced}, at byte 8"));
    for declaration in [
        "<?xml?>",
        "<?xml ?>",
        "<?xml version='2.0'?>",
        "<?xml version='1.'?>",
        "<?xml version='1.0' encoding='UTF-8' version='1.0'?>",
        "<?xml encoding='UTF-8'?>",
        "<?xml encoding='UTF-8' version='1.0'?>",
        "<?xml version='1.0'encoding='UTF-8'?>",
        "<?xml version='1.0' standalone='maybe'?>",
        "<?xml version=1.0?>",
        "<?xml version='1.0'>",
    ] {
        assert!(
            reply(format!("{declaration}{GOOD}")).contains("XML declaration that is not well-formed"),
            "{declaration}"
        );
    }
    check_accepted(format!("<?xml-stylesheet href='a'?>{GOOD}"));
}

#[test]
fn comments_and_instructions_are_well_formed_too() {
    check_refused("<create><!-- a -- b --></create>", "-- inside a comment, at byte 15");
    check_refused("<create><!-- a ---></create>", "-- inside a comment, at byte 15");
    check_refused(
        "<create><!-></create>",
        "markup that is no tag, comment, processing instruction or CDATA section, at byte 8",
    );
    check_refused("<create><? go?></create>", "a name was expected, at byte 10");
    check_refused(
        "<create><?go/?></create>",
        "a processing instruction without white space after its name, at byte 12",
    );
    check_transactions("<!----><!-- < & ]]> --><?go < & ?><query id='1'/>", r#"<status id="1"/>"#);
}

#[test]
fn cdata_is_text() {
    check_transactions("<![CDATA[ \n ]]><![CDATA[]]><query id='1'/>", r#"<status id="1"/>"#);
    check_refused("<create><![CDATA[x]]></create>", "text where none belongs, at byte 8");
    check_refused("<create>]]></create>", "]]&gt; in text; write ]]&amp;gt;, at byte 8");
    check_refused(
        "<create><![CDATA[]]</create>",
        "the document ends inside a tag, comment or other markup, at byte 28",
    );
}

#[test]
fn white_space_may_be_written_as_references() {
    check_transactions("&#32;&#x9;<query id='1'/>&#10;", r#"<status id="1"/>"#);
}

#[test]
fn more_elements_than_allowed_are_refused_and_nested_ones_count() {
    let limits = Limits { children_max: 3 };
    let parsed = |body: &str| {
        let mut documents = Documents::new();
        documents.parse(body.as_bytes(), &limits);
        documents.requests.ops().len()
    };
    let account = "<account id='1'>5</account>";
    assert_eq!(parsed(&format!("<create><symbol sym='S'>{account}{account}</symbol></create>")), 3);
    assert_eq!(parsed(&format!("<create><symbol sym='S'>{account}{account}{account}</symbol></create>")), 0);
    assert_eq!(parsed("<create><a/><a/><account id='1' balance='1'/></create>"), 1);
    assert_eq!(parsed("<create><a><b/></a><a/><account id='1' balance='1'/></create>"), 0);
    let children = "<query id='1'/>".repeat(10_001);
    check_refused(
        format!("<transactions id='1'>{children}</transactions>"),
        "more than 10000 elements in one request; split it, at byte 150021",
    );
}

#[test]
fn a_refused_document_leaves_no_trace_of_its_children() {
    let mut documents = Documents::new();
    documents.parse(GOOD.as_bytes(), &LIMITS);
    documents.parse(b"<create><account id='1' balance='1'/><account", &LIMITS);
    documents.parse(GOOD.as_bytes(), &LIMITS);
    assert_eq!(documents.requests.len(), 3);
    assert_eq!(
        (documents.requests.ops_of(0), documents.requests.ops_of(1), documents.requests.ops_of(2)),
        (0..1, 1..1, 1..2)
    );
}
