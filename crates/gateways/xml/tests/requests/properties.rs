//! Properties that hold for any bytes: no panic, one reply that is XML, and no trace of a refused document.

use crate::common::{LIMITS, REPLY_LIMITS, accept};
use proptest::prelude::*;
use proptest::sample::select;
use xml::{Documents, write_reply};

/// Pieces of requests, of which random documents are made: most are refused, many only near their end.
const PIECES: [&str; 47] = [
    "<create>",
    "</create>",
    "<transactions id='1'>",
    "<transactions>",
    "</transactions>",
    "<symbol sym='S'>",
    "<symbol sym='&quot;'>",
    "<symbol>",
    "</symbol>",
    "<account id='1' balance='5'/>",
    "<account id='1'>",
    "</account>",
    "<account id='x'>7</account>",
    "<account id='2'>7</account>",
    "<order sym='S' amount='-1' limit='2'/>",
    "<order sym='S' amount='x' limit='&lt;'/>",
    "<order amount='1'>",
    "</order>",
    "<query id='1'/>",
    "<query id='a'/>",
    "<cancel id='1'/>",
    "<cancel/>",
    "<replace id='1' sym='S' amount='1' limit='2'/>",
    "<replace client-id='a' on-failure='place' sym='S' amount='1' limit='x'/>",
    "<replace>",
    "<amend id='1' shares='2'/>",
    "<amend client-id='a' shares='&lt;'/>",
    "<amend id='1' limit='2' stop='x' trail='3' display='none' until='7' tif='GTD'/>",
    "<amend>",
    "<order sym='S' amount='1' limit='2' self-trade='decrement' tif='GTD'/>",
    "<oco>",
    "</oco>",
    "<order sym='S' amount='1' limit='1' stop='2'/>",
    "<what/>",
    "<what>",
    "</what>",
    "5",
    " ",
    "\n",
    "<!-- -->",
    "<?go?>",
    "&#32;",
    "&amp;",
    "<![CDATA[5]]>",
    "<",
    "&",
    "\u{1}",
];

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(select(&PIECES[..]), 0..12).prop_map(|pieces| pieces.concat().into_bytes())
}

/// Makes a whole document, so that the reader gets to the elements inside.
fn document() -> impl Strategy<Value = Vec<u8>> {
    (pieces(), any::<bool>()).prop_map(|(inner, create)| {
        let (start, end): (&[u8], &[u8]) =
            if create { (b"<create>", b"</create>") } else { (b"<transactions id='1'>", b"</transactions>") };
        [start, &inner, end].concat()
    })
}

fn any_body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..80), pieces(), document(), document()]
}

fn replies(documents: &Documents) -> Vec<String> {
    let answers = accept(documents.requests.ops());
    let reply = |request| {
        let mut out = Vec::new();
        write_reply(&mut out, documents, request, &answers, &[], &REPLY_LIMITS);
        String::from_utf8(out).unwrap()
    };
    (0..documents.requests.len()).map(reply).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_one_request_with_one_reply_that_is_xml(body in any_body()) {
        let mut documents = Documents::new();
        documents.parse(&body, &LIMITS);
        prop_assert_eq!(documents.requests.len(), 1);
        let reply = &replies(&documents)[0];
        let document = roxmltree::Document::parse(reply).unwrap();
        prop_assert_eq!(document.root_element().tag_name().name(), "results");
        prop_assert!(reply.starts_with("<results>") && reply.ends_with("</results>\n"));
        prop_assert_eq!(reply.matches('\n').count(), 1);
    }

    #[test]
    fn requests_read_together_are_answered_as_if_each_were_alone(
        bodies in proptest::collection::vec(any_body(), 1..5)
    ) {
        let mut together = Documents::new();
        let mut alone = Vec::new();
        let mut order_ids = 0;
        for body in &bodies {
            together.parse(body, &LIMITS);
            let mut one = Documents::new();
            one.parse(body, &LIMITS);
            let (first, last) = (together.requests.ops_of(together.requests.len() - 1), one.requests.ops_of(0));
            prop_assert_eq!(&together.requests.ops()[first], &one.requests.ops()[last]);
            alone.push(renumbered(&replies(&one)[0], &mut order_ids));
        }
        prop_assert_eq!(replies(&together), alone);
    }
}

/// Continues the order ids of a reply after those of earlier replies.
fn renumbered(reply: &str, order_ids: &mut usize) -> String {
    let mut parts = reply.split("=\"2\" id=\"");
    let mut whole = parts.next().unwrap_or_default().to_string();
    for part in parts {
        *order_ids += 1;
        let rest = part.trim_start_matches(|character: char| character.is_ascii_digit());
        whole.push_str(&format!("=\"2\" id=\"{order_ids}{rest}"));
    }
    whole
}
