//! `cancel-all` in `transactions`: which command it becomes, and what is answered. Source: docs/PROTOCOL.md, canceling all orders.

use crate::common::{check_transactions, commands, parse, reply_with};
use engine::{AccountId, Command, Reject, Reply, Sequence, Symbol};
use exchange::Answer;

#[test]
fn all_orders_of_the_account_are_meant_or_those_of_a_symbol() {
    let account = AccountId::parse(b"1").unwrap();
    let spy = Symbol::parse(b"SPY").unwrap();
    for (element, symbol) in
        [("<cancel-all/>", None), ("<cancel-all sym=' SPY '/>", Some(spy)), ("<cancel-all></cancel-all>", None)]
    {
        let request = format!("<transactions id='1'>{element}</transactions>");
        assert_eq!(commands(request), [Command::CancelAll { account, symbol }]);
    }
    check_transactions("<cancel-all/>", r#"<canceled-all orders="3"/>"#);
    check_transactions("<cancel-all sym='SPY'/>", r#"<canceled-all sym="SPY" orders="3"/>"#);
    let documents = parse("<transactions id='1'><cancel-all sym='SPY'/></transactions>");
    let refused = [Answer::Reply(Reply::Rejected(Reject::UnknownSymbol))];
    assert_eq!(reply_with(&documents, &refused), r#"<error sym="SPY">Unknown symbol</error>"#);
    let none = [Answer::Reply(Reply::CanceledAll { orders: 0, sequence: Sequence(1) })];
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
        (r#"<cancel-all id="3"/>"#, "<error>cancel-all has an unknown attribute id</error>"),
    ] {
        check_transactions(element, error);
    }
}
