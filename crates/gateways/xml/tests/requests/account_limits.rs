//! `limits` in `create`: its command and its answer. Source: docs/rules/ACCOUNT_LIMITS.md.

use std::num::NonZeroU32;

use crate::common::{check_create, commands};
use terms::{AccountId, AccountLimits, Command, Decimal, Distance, Shares};

#[test]
fn what_is_not_said_is_no_limit() {
    let account = AccountId::parse(b"9").unwrap();
    let amount = |text: &str| Decimal::parse(text.as_bytes()).unwrap();
    let all = AccountLimits {
        open_orders: NonZeroU32::new(100),
        order_shares: amount("5000").order_shares().unwrap(),
        order_value: amount("250000.5").money().unwrap(),
        position: Shares::ZERO,
        collar: Distance::from_hundredths(525),
    };
    let request = "<create><limits account=' 9 ' open-orders='100' order-shares='5000' order-value='250000.5' position='0' \
                   collar='5.25'/><limits account='9'></limits></create>";
    let none = AccountLimits::NONE;
    let expected = [all, none].map(|limits| Command::ChangeLimits { account, limits });
    assert_eq!(commands(request), expected);
    check_create("<limits account='9' collar='5'/>", r#"<changed account="9" collar="5"/>"#);
}

#[test]
fn what_cannot_be_is_an_error() {
    for (element, why) in [
        (r#"<limits collar="5"/>"#, "limits has no account attribute"),
        (r#"<limits account="x"/>"#, "account id has characters other than the digits 0-9"),
        (r#"<limits account="9" open-orders="0"/>"#, "open-orders is not above zero"),
        (r#"<limits account="9" open-orders="4294967296"/>"#, "open-orders is out of range; at most 4294967295"),
        (r#"<limits account="9" order-shares="0"/>"#, "order-shares is not above zero"),
        (r#"<limits account="9" position="-1"/>"#, "position is negative; at least 0"),
        (r#"<limits account="9" collar="5%"/>"#, "collar is not a plain decimal number"),
    ] {
        let echoed = element.trim_start_matches(|byte: char| byte != ' ').trim_end_matches("/>");
        check_create(element, &format!("<error{echoed}>{why}</error>"));
    }
    check_create(r#"<limits id="9"/>"#, "<error>limits has an unknown attribute id</error>");
}
