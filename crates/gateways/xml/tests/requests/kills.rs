//! `kill` and `release` in `create`: their commands and answers. Source: docs/rules/KILL_SWITCH.md.

use crate::common::{check_create, commands, parse, reply_with};
use exchange::Answer;
use terms::{AccountId, Command, KillScope, Reject, Reply, Symbol};

#[test]
fn an_account_a_symbol_or_everything_is_killed_and_released() {
    let account = AccountId::parse(b"9").unwrap();
    let symbol = Symbol::parse(b"SPY").unwrap();
    for (attributes, scope) in [
        ("", KillScope::Everything),
        (" account=' 9 '", KillScope::Account(account)),
        (" sym='SPY'", KillScope::Symbol(symbol)),
    ] {
        let request = format!("<create><kill{attributes}/><release{attributes}></release></create>");
        assert_eq!(commands(request), [Command::Kill { scope }, Command::Release { scope }]);
    }
    check_create("<kill/><release/>", r#"<killed orders="3"/><changed/>"#);
    check_create("<kill account='9'/>", r#"<killed account="9" orders="3"/>"#);
    check_create("<release sym='SPY'/>", r#"<changed sym="SPY"/>"#);
    let documents = parse("<create><kill account='9'/></create>");
    let refused = [Answer::Reply(Reply::Rejected(Reject::UnknownAccount))];
    assert_eq!(reply_with(&documents, &refused), r#"<error account="9">Unknown account</error>"#);
}

#[test]
fn what_cannot_be_is_an_error() {
    for (element, why) in [
        (r#"<kill account="9" sym="SPY"/>"#, "give account or sym, not both"),
        (r#"<kill account="x"/>"#, "account id has characters other than the digits 0-9"),
        (r#"<release sym=""/>"#, "sym is empty"),
    ] {
        let echoed = element.trim_start_matches(|byte: char| byte != ' ').trim_end_matches("/>");
        check_create(element, &format!("<error{echoed}>{why}</error>"));
    }
    check_create(r#"<kill id="9"/>"#, "<error>kill has an unknown attribute id</error>");
}
