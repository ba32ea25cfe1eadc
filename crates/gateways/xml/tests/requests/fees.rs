//! `fees` and `tier` in `create`: their commands and answers, and how executions show fees. Source: docs/PROTOCOL.md,
//! fees.

use crate::common::{check_create, commands, parse, reply_with};
use exchange::Answer;
use terms::{AccountId, Command, FeeRate, Fees, Reject, Reply, Symbol, Tier};

fn command(element: &str) -> Command {
    let commands = commands(format!("<create>{element}</create>"));
    let [command] = commands[..] else { panic!("{commands:?}") };
    command
}

fn rate(millionths: u32) -> FeeRate {
    FeeRate::from_millionths(millionths).unwrap()
}

#[test]
fn attributes_say_who_pays_what_to_whom() {
    let (symbol, account) = (Symbol::parse(b"SPY").unwrap(), AccountId::parse(b"9").unwrap());
    let change = |tier, fees| Command::ChangeFees { symbol, tier: Tier::new(tier).unwrap(), fees };
    let fees = Fees { maker: rate(100), taker: rate(2_500), account };
    let said = command("<fees sym='SPY' tier=' 3 ' maker='0.01' taker=' 0.25' account='9'/>");
    assert_eq!(said, change(3, Some(fees)));
    let of_takers = Some(Fees { maker: FeeRate::ZERO, ..fees });
    assert_eq!(command("<fees sym='SPY' taker='0.25' account='9'></fees>"), change(0, of_takers));
    // Fees of zero need no account that gets them.
    for none in ["<fees sym='SPY'/>", "<fees sym='SPY' tier='0' maker='0.0000' account='9'/>"] {
        assert_eq!(command(none), change(0, None), "{none}");
    }
    let tier = Tier::new(15).unwrap();
    assert_eq!(command("<tier id='9' tier='15'/>"), Command::ChangeTier { account, tier });
}

#[test]
fn a_change_is_told_with_its_attributes() {
    check_create("<fees account='9' taker='0.1' sym='S'/>", r#"<changed sym="S" taker="0.1" account="9"/>"#);
    check_create("<tier tier='1' id='9'/>", r#"<changed id="9" tier="1"/>"#);
    let documents = parse("<create><fees sym='S' maker='2' account='9'/><tier id='9' tier='1'/></create>");
    let refused = [Reject::UnknownSymbol, Reject::UnknownAccount].map(|reject| Answer::Reply(Reply::Rejected(reject)));
    assert_eq!(
        reply_with(&documents, &refused),
        r#"<error sym="S" maker="2" account="9">Unknown symbol</error><error id="9" tier="1">Unknown account</error>"#
    );
}

#[test]
fn what_cannot_be_is_an_error() {
    for (element, why) in [
        ("<fees maker=\"1\" account=\"9\"/>", "fees has no sym attribute"),
        ("<fees sym=\"S\" maker=\"1\"/>", "fees has no account attribute"),
        ("<fees sym=\"S\" maker=\"-1\" account=\"9\"/>", "maker is negative; at least 0"),
        ("<fees sym=\"S\" taker=\"100.1\" account=\"9\"/>", "taker is out of range; at most 100"),
        ("<fees sym=\"S\" taker=\"0.00001\" account=\"9\"/>", "taker has more than 4 decimal places"),
        ("<fees sym=\"S\" tier=\"16\" taker=\"1\" account=\"9\"/>", "tier is not a whole number from 0 to 15"),
        ("<fees sym=\"S\" taker=\"1\" account=\"x\"/>", "account id has characters other than the digits 0-9"),
        ("<tier id=\"9\"/>", "tier has no tier attribute"),
        ("<tier id=\"9\" tier=\"-1\"/>", "tier is not a whole number from 0 to 15"),
    ] {
        let echoed = element.trim_start_matches(|byte: char| byte != ' ').trim_end_matches("/>");
        check_create(element, &format!("<error{echoed}>{why}</error>"));
    }
}
