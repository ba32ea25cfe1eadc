//! Cases about the sizes that a server bounds by default, just within and just beyond. Source: docs/PROTOCOL.md,
//! framing.

use super::super::case::{Case, Kind, code};
use super::super::expect::{Element, Manner};
use super::super::fault::Fault;
use super::super::probe::Probe;
use super::framing::expect_created;
use crate::client::frame;

const CHILDREN_MAX: usize = 10_000;
const REQUEST_BYTES_MAX: usize = 1 << 20;
const REPLY_BYTES_MAX: usize = 16 << 20;

pub const CASES: &[Case] = &[
    code(
        Kind::Decided,
        "limit-children",
        "a request has at most 10,000 elements: 9,999 children are answered",
        children,
    ),
    code(
        Kind::Decided,
        "limit-children-beyond",
        "10,001 children are refused as one, and change nothing",
        children_beyond,
    ),
    code(
        Kind::Decided,
        "limit-nested-beyond",
        "nested elements count too: 5,001 symbols of one account each",
        nested_beyond,
    ),
    code(Kind::Decided, "limit-request", "a request of 1 MiB is answered", request),
    code(
        Kind::Decided,
        "limit-request-beyond",
        "a request of one byte more is refused, and the connection closed",
        request_beyond,
    ),
    code(Kind::Decided, "limit-depth", "elements nested 100,000 deep are refused as one", depth),
    code(Kind::Decided, "limit-attribute", "a symbol of half a million letters is refused and repeated", attribute),
    code(
        Kind::Decided,
        "limit-number",
        "a number of half a million digits is refused, before the point or after it",
        number,
    ),
    code(Kind::Decided, "limit-reply", "a reply of 16 MiB ends in errors for the queries past it", reply),
];

fn children(probe: &mut Probe<'_>) -> Result<(), Fault> {
    probe.script("fund A 1")?;
    let count = CHILDREN_MAX - 1;
    let request = transactions(probe, &r#"<query id="0"/>"#.repeat(count));
    let results = probe.ask(request.as_bytes())?;
    probe.expect(&r#"<error id="0"/>"#.repeat(count), &results)
}

fn children_beyond(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let account = probe.names.of('A');
    let mut request = format!("<create><account id=\"{account}\" balance=\"1\"/>");
    request.push_str(&r#"<symbol sym="-"/>"#.repeat(CHILDREN_MAX));
    request.push_str("</create>");
    refused_whole(probe, &request)
}

fn nested_beyond(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let account = probe.names.of('A');
    let mut request = format!("<create><account id=\"{account}\" balance=\"1\"/>");
    request.push_str(&r#"<symbol sym="-"><account id="1">1</account></symbol>"#.repeat(CHILDREN_MAX / 2 + 1));
    request.push_str("</create>");
    refused_whole(probe, &request)
}

fn request(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let request = padded(probe, REQUEST_BYTES_MAX);
    let results = probe.ask(request.as_bytes())?;
    expect_created(probe, 'A', &results)
}

fn request_beyond(probe: &mut Probe<'_>) -> Result<(), Fault> {
    // The beginning is enough: the length line announces too much.
    let mut raw = frame(padded(probe, REQUEST_BYTES_MAX + 1).as_bytes());
    raw.truncate(1_000);
    let mut client = probe.connect()?;
    probe.send_raw(&mut client, &raw)?;
    let results = probe.read(&mut client)?;
    probe.manner = Manner::Exact;
    probe.expect("<error/>", &results)?;
    probe.expect_end(&mut client)?;
    probe.script("fund A 1")
}

fn depth(probe: &mut Probe<'_>) -> Result<(), Fault> {
    let account = probe.names.of('A');
    let (open, close) = ("<a>".repeat(100_000), "</a>".repeat(100_000));
    refused_whole(probe, &format!("<create><account id=\"{account}\" balance=\"1\"/>{open}{close}</create>"))
}

fn attribute(probe: &mut Probe<'_>) -> Result<(), Fault> {
    probe.script("fund A 1")?;
    let symbol = "S".repeat(500_000);
    let request = transactions(probe, &format!("<order sym=\"{symbol}\" amount=\"1\" limit=\"1\"/>"));
    let results = probe.ask(request.as_bytes())?;
    probe.expect(&format!("<error sym=\"{symbol}\" amount=\"1\" limit=\"1\"/>"), &results)
}

fn number(probe: &mut Probe<'_>) -> Result<(), Fault> {
    probe.script("fund A 1")?;
    let digits = "9".repeat(500_000);
    for amount in [digits.clone(), format!("0.{digits}")] {
        let request = transactions(probe, &format!("<order sym=\"S\" amount=\"{amount}\" limit=\"1\"/>"));
        let results = probe.ask(request.as_bytes())?;
        probe.expect(&format!("<error sym=\"S\" amount=\"{amount}\" limit=\"1\"/>"), &results)?;
    }
    Ok(())
}

fn reply(probe: &mut Probe<'_>) -> Result<(), Fault> {
    // The status of an order with 50 executions has some 2,500 bytes, and is requested 9,000 times.
    const EXECUTIONS: usize = 50;
    const QUERIES: usize = 9_000;
    probe.script("fund A 100\nfund B 0\nissue S B 50\nA buy 50 S @ 1 -> 1")?;
    let account = probe.names.of('B');
    let sells = probe.names.fill(&r#"<order sym="{S}" amount="-1" limit="1"/>"#.repeat(EXECUTIONS));
    let sold = probe.ask(format!("<transactions id=\"{account}\">{sells}</transactions>").as_bytes())?;
    probe.expect(&r#"<opened sym="{S}" amount="-1" limit="1" id="*"/>"#.repeat(EXECUTIONS), &sold)?;
    let query = probe.names.fill(r#"<query id="{1}"/>"#);
    let request = transactions(probe, &query.repeat(QUERIES));
    let results = probe.ask(request.as_bytes())?;
    let answered = results.children.iter().take_while(|child| child.name == "status").count();
    let rest = results.children.get(answered..).unwrap_or_default();
    let refused = rest.iter().filter(|child| child.name == "error" && child.attribute("id").is_some()).count();
    let bytes_answered = answered * status_bytes(&results);
    if answered + refused != QUERIES || refused == 0 {
        return Err(Fault::Differs(format!("{QUERIES} queries got {answered} statuses and then {refused} errors")));
    }
    if !(REPLY_BYTES_MAX / 2..=REPLY_BYTES_MAX).contains(&bytes_answered) {
        return Err(Fault::Differs(format!(
            "{answered} statuses of some {bytes_answered} bytes came before the errors"
        )));
    }
    Ok(())
}

/// The length of one status as Pricetime writes it, from its values.
fn status_bytes(results: &Element) -> usize {
    let values = |element: &Element| -> usize {
        let attributes = element.attributes.iter().map(|(name, value)| name.len() + value.len() + 4);
        element.name.len() + 3 + attributes.sum::<usize>()
    };
    let status = results.children.first();
    status
        .map_or(0, |status| values(status) + "</status>".len() - 1 + status.children.iter().map(values).sum::<usize>())
}

fn refused_whole(probe: &mut Probe<'_>, request: &str) -> Result<(), Fault> {
    let results = probe.ask(request.as_bytes())?;
    probe.manner = Manner::Exact;
    probe.expect("<error/>", &results)?;
    probe.script("fund A 5")
}

fn transactions(probe: &mut Probe<'_>, children: &str) -> String {
    format!("<transactions id=\"{}\">{children}</transactions>", probe.names.of('A'))
}

/// Makes a request that creates account A, with this many bytes in all.
fn padded(probe: &mut Probe<'_>, bytes: usize) -> String {
    let start = format!("<create><account id=\"{}\" balance=\"1\"/>", probe.names.of('A'));
    let end = "</create>";
    let blanks = " ".repeat(bytes - start.len() - end.len());
    format!("{start}{blanks}{end}")
}
