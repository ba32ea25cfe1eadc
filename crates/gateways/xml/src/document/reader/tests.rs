//! Compares the reader with roxmltree, the oracle of well-formed XML, over random documents and damaged ones.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

/// An item of a document, in order.
#[derive(Debug, PartialEq, Eq)]
enum Item {
    Start(String, Vec<(String, String)>),
    Text(String),
    End,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn push_text(items: &mut Vec<Item>, more: &str) {
    match items.last_mut() {
        Some(Item::Text(text)) => text.push_str(more),
        _ if more.is_empty() => {}
        _ => items.push(Item::Text(more.to_string())),
    }
}

fn read(body: &[u8]) -> Result<Vec<Item>, Refusal<'_>> {
    let mut reader = Reader::new(body, 1000, Vec::new());
    let mut items = Vec::new();
    let mut depth = 0;
    let mut token = Token::Start(reader.root()?);
    loop {
        match token {
            Token::Start(tag) => {
                let attributes =
                    reader.attributes().map(|(name, value)| (text(name), text(&value.decoded()))).collect();
                items.push(Item::Start(text(tag.name), attributes));
                if tag.empty {
                    items.push(Item::End);
                } else {
                    depth += 1;
                }
            }
            Token::Text(some) => push_text(&mut items, &text(&some.decoded())),
            Token::End => {
                items.push(Item::End);
                depth -= 1;
            }
        }
        if depth == 0 {
            break;
        }
        token = reader.next()?;
    }
    reader.finish()?;
    Ok(items)
}

fn oracle_items(node: roxmltree::Node<'_, '_>, items: &mut Vec<Item>) {
    if node.is_element() {
        let attributes =
            node.attributes().map(|attribute| (attribute.name().to_string(), attribute.value().to_string())).collect();
        items.push(Item::Start(node.tag_name().name().to_string(), attributes));
        node.children().for_each(|child| oracle_items(child, items));
        items.push(Item::End);
    } else if let Some(text) = node.text().filter(|_| node.is_text()) {
        push_text(items, text);
    }
}

/// Checks that the reader accepts nothing that the oracle refuses, and reads the same in what both accept. Where only
/// the reader refuses, its reason must be one of its own.
fn check_beside_the_oracle(body: &[u8]) {
    let read = read(body);
    let shown = String::from_utf8_lossy(body);
    // Line ends are translated as XML 1.0 demands before parsing: beside a reference, the oracle misses a CR.
    let translated = String::from_utf8(body.to_vec()).map(|text| text.replace("\r\n", "\n").replace('\r', "\n"));
    let oracle = match &translated {
        Ok(text) => roxmltree::Document::parse(text).map_err(Some),
        Err(_) => Err(None),
    };
    // The oracle knows namespaces, and the reader does not.
    let namespaces = body.contains(&b':') || shown.contains("xmlns");
    match (read, oracle) {
        (Ok(read), Ok(oracle)) => {
            let mut items = Vec::new();
            oracle_items(oracle.root_element(), &mut items);
            assert!(namespaces || read == items, "{shown:?}\nwe read      {read:?}\nthe oracle {items:?}");
        }
        (Ok(_), Err(error)) => assert!(namespaces, "{shown:?}\nwe accept what is refused: {error:?}"),
        (Err(refusal), Ok(_)) => {
            let ours = matches!(
                refusal.why,
                FaultCause::TooDeep { .. } | FaultCause::TooManyElements { .. } | FaultCause::OtherEncoding(_)
            );
            // The oracle takes `order` and `:order` for one name.
            let names = namespaces && matches!(refusal.why, FaultCause::Mismatched { .. });
            let is_right = ours || names || stricter_than_the_oracle(refusal.why);
            assert!(is_right, "{shown:?}\nwe refuse what is accepted: {refusal}");
        }
        (Err(refusal), Err(_)) => assert!(refusal.at <= body.len(), "{shown:?}: {refusal}"),
    }
}

#[test]
fn names_that_the_oracle_takes_for_one_are_two() {
    check_beside_the_oracle(b"<order></:order>");
}

/// Whether this is a fault by XML 1.0 that the oracle lets pass.
fn stricter_than_the_oracle(why: FaultCause<'_>) -> bool {
    match why {
        // The oracle reads `<?xml?>` and `<?XML ...?>` as instructions, and takes `<?go"?>` for one.
        FaultCause::MisplacedDeclaration | FaultCause::BadDeclaration | FaultCause::BadInstruction => true,
        // The oracle reads references to surrogates, and beyond the last character, as U+FFFD.
        FaultCause::BadCharacterReference(name) => {
            let name = text(name);
            let number = match name.strip_prefix("#x") {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => name.trim_start_matches('#').parse(),
            };
            number.is_ok_and(|number| char::from_u32(number).is_none())
        }
        _ => false,
    }
}

const NAMES: [&str; 10] = ["create", "account", "symbol", "transactions", "order", "query", "a", "élan", "_x-1.2", "B"];
const PIECES: [&str; 40] = [
    "1",
    "SPY",
    "abc",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "é",
    "€",
    "𝄞",
    "'",
    ">",
    "]",
    "]]",
    "-",
    "--",
    "?",
    "=",
    "/",
    "&lt;",
    "&gt;",
    "&amp;",
    "&apos;",
    "&quot;",
    "&#9;",
    "&#xA;",
    "&#13;",
    "&#32;",
    "&#65;",
    "&#x20AC;",
    "&#0000000065;",
    "\u{7f}",
    "\u{85}",
    "\u{fffd}",
    "#",
    "%",
    ";",
    "0",
    ".",
];
/// Pieces that are spliced into documents to damage them.
const DAMAGE: [&[u8]; 44] = [
    b"<",
    b">",
    b"/",
    b"=",
    b"\"",
    b"'",
    b"&",
    b";",
    b"&lt",
    b"&nbsp;",
    b"&#0;",
    b"&#x1F;",
    b"&#xD800;",
    b"&#xFFFE;",
    b"&#;",
    b"]]>",
    b"<!--",
    b"-->",
    b"--",
    b"<!-- - --->",
    b"<![CDATA[",
    b"<![CDATA[ x ]]>",
    b"<?",
    b"?>",
    b"<?xml?>",
    b"<?xml version=\"1.0\"?>",
    b"<?XML a?>",
    b"<?p?>",
    b"<?p  q?>",
    b"<!DOCTYPE a>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"<a/>",
    b"</a>",
    b"<a>",
    b"</ a>",
    b"</a >",
    b"< a/>",
    b"<a / >",
    b" b='1'",
    b"\0",
    b"\x01",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xef\xbf\xbe",
];

fn value() -> impl Strategy<Value = String> + Clone {
    proptest::collection::vec(select(&PIECES[..]), 0..5).prop_map(|pieces| pieces.concat())
}

fn space() -> impl Strategy<Value = &'static str> + Clone {
    select(&["", "", "", " ", "\n", "\t", "\r\n"][..])
}

fn attributes() -> impl Strategy<Value = String> + Clone {
    let attribute = (value(), space(), space(), any::<bool>()).prop_map(|(value, before, after, single)| {
        let (quote, other) = if single { ("'", "&apos;") } else { ("\"", "&quot;") };
        format!("{before}={after}{quote}{}{quote}", value.replace(quote, other))
    });
    proptest::collection::vec(attribute, 0..4).prop_map(|attributes| {
        let names = ["sym", "amount", "id", "ö"];
        names.iter().zip(attributes).map(|(name, rest)| format!(" {name}{rest}")).collect()
    })
}

/// Items that may stand anywhere, also around the root.
fn aside() -> impl Strategy<Value = String> {
    let comment = value().prop_map(|text| format!("<!--{}-->", text.replace('-', "~")));
    let instruction = value().prop_map(|text| format!("<?go {}?>", text.replace('?', "~")));
    prop_oneof![4 => space().prop_map(str::to_string), 1 => comment, 1 => instruction]
}

fn element(depth: u32) -> BoxedStrategy<String> {
    let tag = (select(&NAMES[..]), attributes(), space());
    let empty = tag.clone().prop_map(|(name, attributes, space)| format!("<{name}{attributes}{space}/>"));
    if depth == 0 {
        return empty.boxed();
    }
    let cdata = value().prop_map(|text| format!("<![CDATA[{}]]>", text.replace("]", "")));
    let content = prop_oneof![
        3 => element(depth - 1),
        2 => value().prop_map(|text| text.replace("]]", "").replace(']', "")),
        2 => aside(),
        1 => cdata
    ];
    let whole = (tag, proptest::collection::vec(content, 0..5), space()).prop_map(
        |((name, attributes, space), content, end_space)| {
            format!("<{name}{attributes}{space}>{}</{name}{end_space}>", content.concat())
        },
    );
    prop_oneof![1 => empty, 3 => whole].boxed()
}

fn document() -> impl Strategy<Value = String> {
    const DECLARATIONS: [&str; 5] = [
        "",
        "\u{feff}",
        "<?xml version=\"1.0\"?>",
        "<?xml version='1.0' encoding='utf-8' ?>",
        "\u{feff}<?xml version = \"1.0\"\n encoding=\"US-ASCII\" standalone='yes'?>",
    ];
    (select(&DECLARATIONS[..]), aside(), element(2), aside())
        .prop_map(|(declaration, before, root, after)| format!("{declaration}{before}{root}{after}"))
}

/// Makes one change to a document: changes a byte, cuts bytes out, or inserts damage or another part of the document.
fn damaged(mut body: Vec<u8>, kind: u8, at: Index, other: Index, byte: u8) -> Vec<u8> {
    if body.is_empty() {
        return body;
    }
    let at = at.index(body.len());
    match kind {
        0 => body[at] ^= 1 << (byte % 8),
        1 => body[at] = byte,
        2 => drop(body.drain(at..(at + 1 + other.index(6)).min(body.len()))),
        3 => {
            let from = other.index(body.len());
            let part = body[from..(from + 1 + usize::from(byte % 16)).min(body.len())].to_vec();
            body.splice(at..at, part);
        }
        4 => body.truncate(at),
        _ => drop(body.splice(at..at, DAMAGE[other.index(DAMAGE.len())].iter().copied())),
    }
    body
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_well_formed_is_read_as_the_oracle_reads_it(document in document()) {
        prop_assert!(read(document.as_bytes()).is_ok(), "{document:?} {:?}", read(document.as_bytes()));
        check_beside_the_oracle(document.as_bytes());
    }

    #[test]
    fn a_damaged_document_is_accepted_only_if_the_oracle_accepts_it(
        document in document(),
        damages in proptest::collection::vec((0..10u8, any::<Index>(), any::<Index>(), any::<u8>()), 1..4),
    ) {
        let mut body = document.into_bytes();
        for (kind, at, other, byte) in damages {
            body = damaged(body, kind, at, other, byte);
            check_beside_the_oracle(&body);
        }
    }

    #[test]
    fn pieces_of_markup_in_any_order_are_accepted_only_if_the_oracle_accepts_them(
        pieces in proptest::collection::vec(select(&DAMAGE[..]), 0..8),
        root in any::<bool>(),
    ) {
        let inner = pieces.concat();
        let body = if root { [b"<a>", &inner[..], b"</a>"].concat() } else { inner };
        check_beside_the_oracle(&body);
    }
}

#[test]
fn a_tag_with_many_attributes_is_checked_for_duplicates_in_little_time() {
    let tag = |count: usize, last: &str| {
        let attributes: String = (0..count).map(|index| format!(" a{index}=''")).collect();
        format!("<a{attributes} {last}=''/>")
    };
    for count in [1, 14, 15, 16, 17, 100_000] {
        assert!(read(tag(count, "b").as_bytes()).is_ok());
        let duplicate = tag(count, "a0");
        assert_eq!(read(duplicate.as_bytes()).unwrap_err().why, FaultCause::DuplicateAttribute(b"a0"), "{count}");
    }
}
