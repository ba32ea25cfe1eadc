//! `group` in `create`: its command and its answer. Source: docs/rules/GROUPS.md.

use crate::common::{check_create, commands, parse, reply_with};
use exchange::Answer;
use terms::{AccountId, Command, Group, Reject, Reply};

#[test]
fn an_account_is_put_into_a_group_or_into_none() {
    let account = AccountId::parse(b"9").unwrap();
    for (element, number) in [("<group id='9' group=' 7 '/>", 7), ("<group group='0' id='9'></group>", 0)] {
        let group = Group::new(number).unwrap();
        assert_eq!(commands(format!("<create>{element}</create>")), [Command::ChangeGroup { account, group }]);
    }
    check_create("<group group='7' id='9'/>", r#"<changed id="9" group="7"/>"#);
    let documents = parse("<create><group id='9' group='7'/></create>");
    let refused = [Answer::Reply(Reply::Rejected(Reject::UnknownAccount))];
    assert_eq!(reply_with(&documents, &refused), r#"<error id="9" group="7">Unknown account</error>"#);
}

#[test]
fn what_cannot_be_is_an_error() {
    for (element, why) in [
        ("<group id=\"9\"/>", "group has no group attribute"),
        ("<group group=\"7\"/>", "group has no id attribute"),
        ("<group id=\"9\" group=\"-1\"/>", "group is not a whole number from 0 to 999999999"),
        ("<group id=\"9\" group=\"1000000000\"/>", "group is not a whole number from 0 to 999999999"),
        ("<group id=\"x\" group=\"7\"/>", "account id has characters other than the digits 0-9"),
    ] {
        let echoed = element.trim_start_matches(|byte: char| byte != ' ').trim_end_matches("/>");
        check_create(element, &format!("<error{echoed}>{why}</error>"));
    }
}
