//! `rules` in `create`: its command and its answer. Source: docs/rules/SYMBOL_RULES.md.

use crate::common::{check_create, check_refused, commands, parse, reply_with};
use exchange::Answer;
use terms::{
    AuctionTies, Command, DOLLAR, Distance, Money, Pause, Phase, Price, Reject, Reply, Shares, Symbol, SymbolRules,
};

fn rules_of(attributes: &str) -> SymbolRules {
    let commands = commands(format!("<create><rules sym=\"SPY\" {attributes}/></create>"));
    let [Command::ChangeRules { symbol, rules }] = commands[..] else { panic!("{commands:?}") };
    assert_eq!(symbol, Symbol::parse(b"SPY").unwrap());
    rules
}

fn shares(units: i64) -> Shares {
    Shares::from_units(units).unwrap()
}

#[test]
fn every_attribute_is_a_rule_and_what_is_not_said_is_none() {
    assert_eq!(rules_of(""), SymbolRules::NONE);
    let all = "tick='0.01' lot=' 0.5 ' min-shares='1' max-shares='1000' min-value='10' max-value='1000000' band-up='10.5' \
               band-down='0.25' band-size='2' static-up='20' static-down='15' reference='10.05' interruption='300' \
               auction-ties='pressure' trading='off'";
    let expected = SymbolRules {
        tick: Price::from_units(1_000_000).unwrap(),
        lot: shares(50_000_000),
        shares_min: shares(100_000_000),
        shares_max: shares(100_000_000_000),
        value_min: Money::from_units(10 * DOLLAR),
        value_max: Money::from_units(1_000_000 * DOLLAR),
        band_up: Distance::from_hundredths(1_050),
        band_down: Distance::from_hundredths(25),
        is_halted: true,
        interruption: Pause::from_seconds(300),
        band_size: shares(200_000_000),
        static_up: Distance::from_hundredths(2_000),
        static_down: Distance::from_hundredths(1_500),
        reference: Price::from_units(1_005_000_000),
        auction_ties: AuctionTies::Pressure,
    };
    assert_eq!(rules_of(all), expected);
    assert_eq!(rules_of("trading='on' tick='0.00000001' auction-ties='nearest'"), SymbolRules::NONE);
}

#[test]
fn a_change_is_told_with_its_attributes() {
    check_create("<rules trading='on' tick='0.01' sym='S'/>", r#"<changed sym="S" tick="0.01" trading="on"/>"#);
    check_create("<symbol sym='S'/><rules sym='S'></rules>", r#"<changed sym="S"/>"#);
    let documents = parse("<create><rules sym='S' lot='2'/></create>");
    let refused = [Answer::Reply(Reply::Rejected(Reject::UnknownSymbol))];
    assert_eq!(reply_with(&documents, &refused), r#"<error sym="S" lot="2">Unknown symbol</error>"#);
}

#[test]
fn rules_that_cannot_be_are_an_error() {
    for (attributes, why) in [
        ("tick=\"0\"", "tick is not above zero"),
        ("tick=\"-1\"", "tick is not above zero"),
        ("lot=\"-1\"", "lot is not above zero"),
        ("lot=\"0\"", "lot is not above zero"),
        ("min-shares=\"0\"", "min-shares is not above zero"),
        ("max-shares=\"1e3\"", "max-shares is not a plain decimal number"),
        ("min-value=\"-1\"", "min-value is negative; at least 0"),
        ("max-value=\"100000000000000000000.1\"", "max-value is out of range; at most 100000000000000000000"),
        ("band-up=\"1\" band-size=\"0\"", "band-size is not above zero"),
        ("band-up=\"1\" reference=\"1\"", "a reference needs a static band: set static-up or static-down, too"),
        ("band-up=\"10001\"", "band-up is out of range; at most 10000"),
        ("auction-ties=\"last\"", "auction-ties must be nearest or pressure"),
        ("band-up=\"1.005\"", "band-up has more than 2 decimal places"),
        ("band-down=\"100\"", "the band reaches down to zero; at most 99.99 per cent"),
        ("min-shares=\"2\" max-shares=\"1\"", "the fewest shares, 2, are above the most, 1"),
        ("lot=\"3\" max-shares=\"2\"", "no multiple of the lot size 3 is from 0.00000001 to 2 shares"),
        ("min-value=\"2\" max-value=\"1\"", "the least value, 2, is above the greatest, 1"),
        ("trading=\"no\"", "trading must be on or off"),
        ("interruption=\"300\"", "an interruption needs a band: set how far prices may be apart, too"),
        ("band-up=\"1\" interruption=\"86401\"", "interruption is out of range; at most 86400"),
        ("band-up=\"1\" interruption=\"0.5\"", "interruption has more than 0 decimal places"),
    ] {
        check_create(
            &format!("<rules sym=\"S\" {attributes}/>"),
            &format!("<error sym=\"S\" {attributes}>{why}</error>"),
        );
    }
    check_create("<rules tick='1'/>", r#"<error tick="1">rules has no sym attribute</error>"#);
    check_create("<rules sym='S' step='1'/>", r#"<error sym="S">rules has an unknown attribute step</error>"#);
    check_create(
        "<rules sym='S-' />",
        r#"<error sym="S-">sym has characters other than ASCII letters and digits</error>"#,
    );
}

#[test]
fn rules_have_no_content_and_stand_in_create_alone() {
    check_refused("<create><rules sym='S'>0.01</rules></create>", "text where none belongs, at byte 23");
    let reply = crate::common::reply("<transactions id='1'><rules sym='S'/></transactions>");
    assert_eq!(reply, "<error>unknown element rules</error>");
}

#[test]
fn a_phase_is_one_of_three_and_is_told_with_its_attributes() {
    for (is, phase) in [("open", Phase::Open), ("halted", Phase::Halted), (" auction ", Phase::Auction)] {
        let commands = commands(format!("<create><phase sym=\"SPY\" is=\"{is}\"/></create>"));
        assert_eq!(commands, [Command::ChangePhase { symbol: Symbol::parse(b"SPY").unwrap(), phase, due: None }]);
    }
    check_create("<phase is='auction' sym='S'/>", r#"<changed sym="S" is="auction"/>"#);
    for (element, why) in [
        (r#"<phase sym="S" is="closed"/>"#, r#"<error sym="S" is="closed">is must be open, halted or auction</error>"#),
        (r#"<phase sym="S"/>"#, r#"<error sym="S">phase has no is attribute</error>"#),
        (r#"<phase is="open"/>"#, r#"<error is="open">phase has no sym attribute</error>"#),
        (
            r#"<phase sym="S" is="open" until="1"/>"#,
            r#"<error sym="S" is="open">phase has an unknown attribute until</error>"#,
        ),
    ] {
        check_create(element, why);
    }
    check_refused("<create><phase sym='S' is='open'>x</phase></create>", "text where none belongs, at byte 33");
    let documents = parse("<create><phase sym='S' is='open'/></create>");
    let refused = [Answer::Reply(Reply::Rejected(Reject::HaltedByRules))];
    assert!(reply_with(&documents, &refused).contains("cannot open while its rules halt it"));
}
