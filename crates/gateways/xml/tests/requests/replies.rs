//! Replies byte for byte: statuses, the length line, the limit of a reply. Source: docs/PROTOCOL.md.

use crate::common::{LIMITS, REPLY_LIMITS, accept, parse};
use exchange::Answer;
use terms::{Cancellation, Execution, Fee, FeeRate, OrderId, Price, Reply, Shares, Side, Status, Time};
use xml::{Documents, ReplyLimits, write_reply};

fn shares(units: i64) -> Shares {
    Shares::from_units(units).unwrap()
}

fn execution(share_units: i64, price_units: i64, seconds: u64) -> Execution {
    Execution {
        shares: shares(share_units),
        price: Price::from_units(price_units).unwrap(),
        time: Time(seconds * 1_000_000 + 999_999),
        fee: Fee::NONE,
    }
}

fn executions() -> Vec<Execution> {
    vec![
        execution(1, 1, 1),
        execution(20_000_000_000, 12_700_000_000, 1_700_000_000),
        execution(10_000_000, 14_567_000_000, 1_700_000_001),
    ]
}

fn write(documents: &Documents, answers: &[Answer], limits: &ReplyLimits) -> String {
    let mut out = Vec::new();
    write_reply(&mut out, documents, 0, answers, &executions(), limits);
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn check_status(child: &str, reply: Reply, expected: &str) {
    let documents = parse(format!("<transactions id='1'>{child}</transactions>"));
    let written = write(&documents, &[Answer::Reply(reply)], &REPLY_LIMITS);
    assert_eq!(written, format!("<results>{expected}</results>\n"));
}

#[test]
fn a_status_lists_open_then_canceled_then_executions_oldest_first() {
    let open = Status {
        order: OrderId(7),
        open: shares(1_050_000_000),
        terms: None,
        canceled: None,
        executions: 1..3,
        elsewhere: None,
    };
    check_status(
        "<query id='7'/>",
        Reply::Status(open),
        "<status id=\"7\"><open shares=\"10.5\"/>\
         <executed shares=\"200\" price=\"127\" time=\"1700000000\"/>\
         <executed shares=\"0.1\" price=\"145.67\" time=\"1700000001\"/></status>",
    );
    let canceled = Some(Cancellation { shares: shares(5), time: Time(2_000_000) });
    check_status(
        "<query id='7'/>",
        Reply::Status(Status {
            order: OrderId(7),
            open: Shares::ZERO,
            terms: None,
            canceled,
            executions: 0..1,
            elsewhere: None,
        }),
        "<status id=\"7\"><canceled shares=\"0.00000005\" time=\"2\"/>\
         <executed shares=\"0.00000001\" price=\"0.00000001\" time=\"1\"/></status>",
    );
    let done = Status {
        order: OrderId(7),
        open: Shares::ZERO,
        terms: None,
        canceled: None,
        executions: 0..1,
        elsewhere: None,
    };
    check_status(
        "<query id='7'/>",
        Reply::Status(done),
        "<status id=\"7\"><executed shares=\"0.00000001\" price=\"0.00000001\" time=\"1\"/></status>",
    );
}

#[test]
fn a_cancel_tells_what_was_canceled_and_what_executed() {
    let canceled = Some(Cancellation { shares: shares(8_300_000_000), time: Time(9_000_000) });
    check_status(
        "<cancel id='7'/>",
        Reply::Canceled(Status {
            order: OrderId(7),
            open: Shares::ZERO,
            terms: None,
            canceled,
            executions: 0..1,
            elsewhere: None,
        }),
        "<canceled id=\"7\"><canceled shares=\"83\" time=\"9\"/>\
         <executed shares=\"0.00000001\" price=\"0.00000001\" time=\"1\"/></canceled>",
    );
}

#[test]
fn the_root_is_always_written_with_a_start_and_an_end_tag() {
    assert_eq!(write(&parse("<create/>"), &[], &REPLY_LIMITS), "<results></results>\n");
}

#[test]
fn a_framing_fault_is_answered_with_one_error() {
    let mut documents = Documents::new();
    documents.refuse("1 < 2 & \"so on\"");
    assert_eq!(documents.requests.len(), 1);
    assert_eq!(documents.requests.ops(), []);
    let expected = "<results><error>1 &lt; 2 &amp; &quot;so on&quot;</error></results>\n";
    assert_eq!(write(&documents, &[], &REPLY_LIMITS), expected);
}

#[test]
fn a_length_line_counts_the_bytes_behind_it() {
    let limits = ReplyLimits { length_line: true, ..REPLY_LIMITS };
    let mut out = b"earlier".to_vec();
    write_reply(&mut out, &parse("<create/>"), 0, &[], &[], &limits);
    assert_eq!(out, b"earlier20\n<results></results>\n");
}

#[test]
fn each_request_is_answered_from_its_own_ops() {
    let mut documents = Documents::new();
    for body in [
        "<transactions id='1'><order sym='A' amount='1' limit='1'/><order sym='B' amount='x' limit='1'/>\
         </transactions>",
        "<nonsense/>",
        "<transactions id='1'><query id='2'/><order sym='C' amount='1' limit='1'/></transactions>",
    ] {
        documents.parse(body.as_bytes(), &LIMITS);
    }
    let answers = accept(documents.requests.ops());
    let reply = |request| {
        let mut out = Vec::new();
        write_reply(&mut out, &documents, request, &answers, &[], &REPLY_LIMITS);
        String::from_utf8(out).unwrap()
    };
    assert!(reply(0).contains("<opened sym=\"A\" amount=\"1\" limit=\"1\" id=\"1\"/><error sym=\"B\""));
    assert!(reply(1).contains("unknown root element nonsense"));
    let expected = "<results><status id=\"2\"/><opened sym=\"C\" amount=\"1\" limit=\"1\" id=\"2\"/></results>\n";
    assert_eq!(reply(2), expected);
    documents.clear();
    assert!(documents.requests.is_empty() && documents.requests.ops().is_empty());
}

#[test]
fn queries_past_the_limit_of_a_reply_are_told_so_and_cancels_leave_executions_out() {
    let documents = parse(
        "<transactions id='1'><query id='1'/><query id='2'/><order sym='S' amount='1' limit='1'/><query id='3'/>\
         <cancel id='4'/></transactions>",
    );
    let status = Status {
        order: OrderId(7),
        open: Shares::ZERO,
        terms: None,
        canceled: None,
        executions: 1..3,
        elsewhere: None,
    };
    let answers = [
        Answer::Reply(Reply::Status(status.clone())),
        Answer::Reply(Reply::Status(status.clone())),
        Answer::Reply(Reply::Opened(OrderId(9))),
        Answer::Reply(Reply::Status(Status { executions: 0..0, ..status.clone() })),
        Answer::Reply(Reply::Canceled(status)),
    ];
    let whole = write(&documents, &answers, &REPLY_LIMITS);
    let one = parse("<transactions id='1'><query id='1'/></transactions>");
    let first = write(&one, &answers[..1], &REPLY_LIMITS);
    let limited = |reply_bytes_max| write(&documents, &answers, &ReplyLimits { reply_bytes_max, length_line: false });

    let cut = limited(first.len());
    assert!(cut.starts_with(first.strip_suffix("</results>\n").unwrap()));
    let rest = &cut[first.len() - "</results>\n".len()..];
    assert!(rest.starts_with(
        "<error id=\"2\">reply too large</error><opened sym=\"S\" amount=\"1\" limit=\"1\" id=\"9\"/>\
         <error id=\"3\">reply too large</error><canceled id=\"4\"><error>2 executions are left out: "
    ));
    assert!(limited(first.len() - 1).starts_with("<results><error id=\"1\">reply too large</error>"));
    assert_eq!(limited(whole.len()), whole);
}

/// A buyer pays its fee in shares, a seller in dollars. An execution without a fee has no such attribute.
#[test]
fn an_execution_tells_its_fee() {
    let rate = FeeRate::from_millionths(2_500).unwrap();
    let fees = [Fee::NONE, Fee::on(Side::Buy, rate), Fee::on(Side::Sell, rate)];
    let executions: Vec<Execution> =
        executions().into_iter().zip(fees).map(|(execution, fee)| Execution { fee, ..execution }).collect();
    let (order, open) = (OrderId(7), Shares::ZERO);
    let status = Status { order, open, terms: None, canceled: None, executions: 0..3, elsewhere: None };
    let documents = parse("<transactions id='1'><query id='7'/></transactions>");
    let mut out = Vec::new();
    write_reply(&mut out, &documents, 0, &[Answer::Reply(Reply::Status(status))], &executions, &REPLY_LIMITS);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "<results><status id=\"7\"><executed shares=\"0.00000001\" price=\"0.00000001\" time=\"1\"/>\
         <executed shares=\"200\" price=\"127\" fee=\"0.5\" time=\"1700000000\"/>\
         <executed shares=\"0.1\" price=\"145.67\" fee=\"0.0364175\" time=\"1700000001\"/></status></results>\n"
    );
}
