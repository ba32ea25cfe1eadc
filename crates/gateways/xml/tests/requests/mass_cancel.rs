//! `cancel-all` in `transactions`: its command and its answer. Source: docs/rules/CANCEL_ALL.md.

use crate::common::{check_transactions, commands, parse, reply_with};
use exchange::Answer;
use terms::{AccountId, Command, OrderId, Reject, Reply, Sequence, Symbol};
use xml::{Documents, Limits};

#[test]
fn all_orders_of_the_account_are_meant_or_those_of_a_symbol() {
    let account = AccountId::parse(b"1").unwrap();
    let spy = Symbol::parse(b"SPY").unwrap();
    let nine = Some(OrderId(9));
    for (element, symbol, through) in [
        ("<cancel-all/>", None, None),
        ("<cancel-all sym=' SPY '/>", Some(spy), None),
        ("<cancel-all></cancel-all>", None, None),
        ("<cancel-all through=' 9 '/>", None, nine),
        ("<cancel-all through='9' sym='SPY'/>", Some(spy), nine),
    ] {
        let request = format!("<transactions id='1'>{element}</transactions>");
        assert_eq!(commands(request), [Command::CancelAll { account, symbol, through }]);
    }
    check_transactions("<cancel-all/>", r#"<canceled-all orders="3"/>"#);
    check_transactions("<cancel-all sym='SPY'/>", r#"<canceled-all sym="SPY" orders="3"/>"#);
    let documents = parse("<transactions id='1'><cancel-all sym='SPY'/></transactions>");
    let refused = [Answer::Reply(Reply::Rejected(Reject::UnknownSymbol))];
    assert_eq!(reply_with(&documents, &refused), r#"<error sym="SPY">Unknown symbol</error>"#);
    let some = [Answer::Reply(Reply::CanceledAll { orders: 1_000, left: nine, sequence: Sequence(1) })];
    assert_eq!(reply_with(&documents, &some), r#"<canceled-all sym="SPY" orders="1000" left-through="9"/>"#);
    let none = [Answer::Reply(Reply::CanceledAll { orders: 0, left: None, sequence: Sequence(1) })];
    assert_eq!(reply_with(&documents, &none), r#"<canceled-all sym="SPY" orders="0"/>"#);
}

#[test]
fn what_cannot_be_is_an_error() {
    for (element, error) in [
        (r#"<cancel-all sym=""/>"#, r#"<error sym="">sym is empty</error>"#),
        (
            r#"<cancel-all sym="S-Y"/>"#,
            r#"<error sym="S-Y">sym has characters other than ASCII letters and digits</error>"#,
        ),
        (
            r#"<cancel-all through="-3"/>"#,
            r#"<error through="-3">through is no order id: a whole number above zero</error>"#,
        ),
        (r#"<cancel-all id="3"/>"#, "<error>cancel-all has an unknown attribute id</error>"),
    ] {
        check_transactions(element, error);
    }
}

/// Each costs as much as there are orders: 4,000 in one request kept all other clients waiting for 20 seconds.
#[test]
fn a_hundred_of_them_are_the_most_in_one_request() {
    let limits = Limits { children_max: 1_000 };
    let told = |request: String| {
        let mut documents = Documents::new();
        documents.parse(request.as_bytes(), &limits);
        let ops = documents.requests.ops().len();
        (ops, reply_with(&documents, &vec![Answer::Reply(Reply::Rejected(Reject::UnknownAccount)); ops]))
    };
    let transactions = |inside: &str| format!("<transactions id='1'>{inside}</transactions>");
    let create = |inside: &str| format!("<create>{inside}</create>");
    let why = "more than 1000 elements in one request, where cancel-all, kill and release count as 10 each; split it";
    for element in ["<cancel-all/>", "<cancel-all sym='SPY'/>"] {
        assert_eq!(told(transactions(&element.repeat(100))).0, 100);
        let (ops, refused) = told(transactions(&element.repeat(101)));
        assert!(ops == 0 && refused.contains(why), "{refused}");
    }
    for element in ["<kill/>", "<release sym='SPY'/>", "<kill account='1'/>"] {
        assert_eq!(told(create(&element.repeat(100))).0, 100);
        let (ops, refused) = told(create(&element.repeat(101)));
        assert!(ops == 0 && refused.contains(why), "{refused}");
    }
    let mixed = format!("{}{}", "<cancel-all/>".repeat(50), "<query id='1'/>".repeat(500));
    assert_eq!(told(transactions(&mixed)).0, 550);
    assert_eq!(told(transactions(&format!("{mixed}<query id='1'/>"))).0, 0);
}
