//! Pairs of extreme values in the numeric attributes of XML requests.

use super::extremes::{DECIMAL, WHOLE, goes_on, launch, pairs, set_up};
use crate::common::folder::Folder;
use crate::common::talk::order;

/// Elements of XML requests: their root, what stands around them, their name, their other attributes, their numeric
/// attributes, and a part of the reply where one was accepted. The empty attribute is the text of the element.
type Element = (&'static str, [&'static str; 2], &'static str, &'static str, &'static [&'static str], &'static str);

const ALONE: [&str; 2] = ["", ""];
const SELL: &str = "sym=\"SPY\" amount=\"-5\" limit=\"7\"";
const ELEMENTS: [Element; 23] = [
    ("transactions", ALONE, "amend", "id=\"1\" shares=\"1\"", &["id", "shares"], "<amended"),
    ("transactions", ALONE, "amend", "id=\"2\" shares=\"9\"", &["shares", "limit", "display", "until"], "<amended"),
    ("transactions", ALONE, "query", "", &["id"], "<status"),
    ("transactions", ALONE, "cancel", "", &["id"], "<canceled"),
    (
        "transactions",
        ["<oco><order sym=\"SPY\" amount=\"-0.00000001\" limit=\"92233720368\" post-only=\"true\"/>", "</oco>"],
        "order",
        "sym=\"SPY\" amount=\"-0.00000001\" type=\"market\" stop=\"0.00000001\"",
        &["amount", "stop", "until"],
        "<oco><opened",
    ),
    (
        "transactions",
        ["<oto><order sym=\"SPY\" amount=\"5\" limit=\"0.00000001\"/>", "</oto>"],
        "order",
        SELL,
        &["amount", "limit", "stop", "until"],
        "<oto><opened",
    ),
    // The second order is there to be bought.
    ("transactions", ALONE, "order", "sym=\"SPY\" type=\"market\"", &["funds"], "<opened"),
    (
        "transactions",
        ALONE,
        "order",
        SELL,
        &["amount", "limit", "stop", "take-profit", "display", "trail", "trail-bips", "until"],
        "<opened",
    ),
    (
        "transactions",
        ALONE,
        "order",
        "sym=\"SPY\" amount=\"5\" limit=\"7\"",
        &["amount", "limit", "stop", "display", "until"],
        "<opened",
    ),
    ("transactions", ALONE, "order", "sym=\"SPY\" type=\"market\"", &["amount"], "<opened"),
    (
        "transactions",
        ALONE,
        "replace",
        "id=\"1\" sym=\"SPY\" amount=\"-5\" limit=\"7\" on-failure=\"place\"",
        &["id", "amount", "limit", "stop", "take-profit", "display", "trail", "trail-bips", "until"],
        "<opened",
    ),
    ("transactions", ALONE, "protect", "", &["grace"], "<protected"),
    ("transactions", ALONE, "cancel-all", "sym=\"SPY\"", &["through"], "<canceled-all"),
    ("create", ALONE, "account", "id=\"77\"", &["balance"], "<created"),
    ("create", ["<symbol sym=\"NESTED\">", "</symbol>"], "account", "id=\"1\"", &[""], "<created"),
    (
        "create",
        ALONE,
        "rules",
        "sym=\"RULED\"",
        &["tick", "lot", "min-shares", "max-shares", "min-value", "max-value"],
        "<changed",
    ),
    (
        "create",
        ALONE,
        "rules",
        "sym=\"RULED\" band-up=\"1\" band-down=\"1\"",
        &["band-up", "band-down", "static-up", "static-down", "reference", "interruption"],
        "<changed",
    ),
    ("create", ALONE, "rules", "sym=\"RULED\" band-up=\"1\"", &["band-size", "band-up", "tick"], "<changed"),
    ("create", ALONE, "rules", "sym=\"RULED\" static-up=\"1\"", &["static-up", "reference", "tick"], "<changed"),
    (
        "create",
        ALONE,
        "limits",
        "account=\"77\"",
        &["open-orders", "order-shares", "order-value", "position", "collar"],
        "<changed",
    ),
    ("create", ALONE, "fees", "sym=\"RULED\" account=\"1\"", &["tier", "maker", "taker"], "<changed"),
    ("create", ALONE, "tier", "id=\"77\"", &["tier"], "<changed"),
    ("create", ALONE, "group", "id=\"77\"", &["group"], "<changed"),
];

/// An element with values for one or two of its attributes.
fn element_of((_, around, element, base, ..): &Element, given: &[(&str, &str)]) -> String {
    let is_given = |text: &&str| given.iter().any(|(name, _)| text.starts_with(&format!("{name}=")));
    let beside = base.split(' ').filter(|text| !text.is_empty() && !is_given(text)).map(str::to_owned);
    let given_as_text = given.iter().find(|(name, _)| name.is_empty()).map_or("", |(_, value)| value);
    let attributes = given.iter().filter(|(name, _)| !name.is_empty()).map(|(name, value)| match *name {
        "grace" => format!("{name}=\"{value}s\""),
        _ => format!("{name}=\"{value}\""),
    });
    let attributes = beside.chain(attributes).collect::<Vec<_>>().join(" ");
    format!("{}<{element} {attributes}>{given_as_text}</{element}>{}", around[0], around[1])
}

#[test]
fn xml_answers_every_pair_of_extreme_amounts() {
    /// Fewer than the mass cancels that a request may have.
    const AT_ONCE: usize = 90;
    let folder = Folder::new("extremes-xml");
    let server = launch(&folder).start();
    set_up(&server);
    let mut client = server.client();
    assert!(!client.ask("<create><symbol sym=\"RULED\"/></create>").contains("<error"));
    // Two orders rest, and a price can be followed.
    let resting = order("SPY", "-4294967296", "92233720368.54775807").repeat(2);
    let traded = format!("{}{}", order("SPY", "-1", "5"), order("SPY", "1", "5"));
    let told = client.ask(&format!("<transactions id=\"1\">{resting}{traded}</transactions>"));
    assert!(!told.contains("<error"), "{told}");
    let values: Vec<&str> = DECIMAL.into_iter().chain(WHOLE).collect();
    for row in &ELEMENTS {
        let (root, _, element, _, names, accepted) = row;
        let mut accepted_with = vec![0; names.len()];
        for (one, other) in pairs(names.len()) {
            let children: Vec<String> = values
                .iter()
                .flat_map(|first| values.iter().map(move |second| [(names[one], *first), (names[other], *second)]))
                .map(|both| element_of(row, if one == other { &both[..1] } else { &both[..] }))
                .collect();
            let account = if *root == "transactions" { " id=\"1\"" } else { "" };
            for some in children.chunks(AT_ONCE) {
                let told = client.ask(&format!("<{root}{account}>{}</{root}>", some.concat()));
                assert!(told.contains("<results><"), "{root} {element}: {told:.300}");
                let count = told.matches(accepted).count();
                [one, other].into_iter().for_each(|at| accepted_with[at] += count);
            }
        }
        for (name, count) in names.iter().zip(accepted_with) {
            assert!(count > 0, "no {element} with {name} was accepted, so it was not tried: {row:?}");
        }
    }
    goes_on(&server, "the extremes of XML");
    server.stop();
}
