//! `create`: the ops of its children, and their answers. Source: docs/PROTOCOL.md, create.

use crate::common::{LIMITS, check_create, check_refused, commands, parse, reply, reply_with};
use exchange::{Answer, Unavailable};
use terms::{AccountId, Command, DOLLAR, Money, Position, Reject, Reply, Symbol};
use xml::Documents;

fn account(id: &str) -> AccountId {
    AccountId::parse(id.as_bytes()).unwrap()
}

fn symbol(name: &str) -> Symbol {
    Symbol::parse(name.as_bytes()).unwrap()
}

fn shares(whole: i128) -> Position {
    Position::from_units(whole * 100_000_000)
}

#[test]
fn accounts_and_symbols_become_commands_in_the_order_they_stand() {
    let body = r#"<?xml version="1.0" encoding="UTF-8"?>
        <create>
          <account id="01" balance="1000.5"/>
          <symbol sym="SPY"><account id="01">100000</account><account id="2">.5</account></symbol>
          <symbol sym="BTC"/>
          <account id="3" balance="0"></account>
        </create>"#;
    let expected = [
        Command::CreateAccount { account: account("01"), balance: Money::from_units(10_005 * DOLLAR / 10) },
        Command::CreateSymbol { symbol: symbol("SPY") },
        Command::IssueShares { symbol: symbol("SPY"), account: account("01"), shares: shares(100_000) },
        Command::IssueShares { symbol: symbol("SPY"), account: account("2"), shares: Position::from_units(50_000_000) },
        Command::CreateSymbol { symbol: symbol("BTC") },
        Command::CreateAccount { account: account("3"), balance: Money::ZERO },
    ];
    assert_eq!(commands(body), expected);
    let created = r#"<created id="01"/><created sym="SPY" id="01"/><created sym="SPY" id="2"/><created id="3"/>"#;
    assert_eq!(reply(body), created);
}

#[test]
fn a_create_without_children_has_an_empty_reply() {
    for body in ["<create/>", "<create></create>", "<create>\n<!-- nothing --></create>"] {
        assert_eq!(reply(body), "");
    }
}

#[test]
fn white_space_around_values_is_trimmed_and_echoed() {
    let body = "<create><account id=' 1\t' balance='&#10;5 '/><symbol sym=' SPY'><account id='1 '>\n 7 \n</account>\
                </symbol></create>";
    let expected = [
        Command::CreateAccount { account: account("1"), balance: Money::from_units(5 * DOLLAR) },
        Command::CreateSymbol { symbol: symbol("SPY") },
        Command::IssueShares { symbol: symbol("SPY"), account: account("1"), shares: shares(7) },
    ];
    assert_eq!(commands(body), expected);
    assert_eq!(reply(body), r#"<created id=" 1 "/><created sym=" SPY" id="1 "/>"#);
}

#[test]
fn the_text_of_an_account_may_be_split_by_comments_and_cdata() {
    let body =
        "<create><symbol sym='S'><account id='1'>1<!-- -->0<![CDATA[.]]><?go on?>&#53;</account></symbol></create>";
    let issued = Command::IssueShares {
        symbol: symbol("S"),
        account: account("1"),
        shares: Position::from_units(1_050_000_000),
    };
    assert_eq!(commands(body)[1], issued);
}

#[test]
fn an_account_that_cannot_be_created_is_an_error_with_its_id() {
    check_create("<account balance='1'/>", "<error>account has no id attribute</error>");
    check_create("<account id='1'/>", r#"<error id="1">account has no balance attribute</error>"#);
    check_create("<account id='1' balance=''/>", r#"<error id="1">balance is not a plain decimal number</error>"#);
    check_create("<account id='1' balance='-1'/>", r#"<error id="1">balance is negative; at least 0</error>"#);
    check_create(
        "<account id='1' balance='1.123456789'/>",
        r#"<error id="1">balance has 9 decimal places; at most 8</error>"#,
    );
    check_create(
        "<account id='a&lt;b' balance='1'/>",
        r#"<error id="a&lt;b">account id has characters other than the digits 0-9</error>"#,
    );
    check_create("<account id='' balance='1'/>", r#"<error id="">account id is empty</error>"#);
    check_create(
        "<account id='1' balance='1' name='x'/>",
        r#"<error id="1">account has an unknown attribute name</error>"#,
    );
    check_create(
        "<account id='1' balance='100000000000000000000.1'/>",
        r#"<error id="1">balance is out of range; at most 100000000000000000000</error>"#,
    );
}

#[test]
fn a_refused_child_does_not_undo_the_others() {
    let body = "<create><account id='x' balance='1'/><account id='2' balance='1'/></create>";
    assert_eq!(commands(body).len(), 1);
    let expected = r#"<error id="x">account id has characters other than the digits 0-9</error><created id="2"/>"#;
    assert_eq!(reply(body), expected);
}

#[test]
fn an_account_in_a_symbol_that_gets_no_shares_is_an_error_with_both_ids() {
    let check = |child: &str, expected: &str| {
        check_create(&format!("<symbol sym='S'>{child}</symbol>"), expected);
        // The symbol is created even if its accounts are refused.
        let ops = commands(format!("<create><symbol sym='S'>{child}</symbol></create>"));
        assert_eq!(ops, [Command::CreateSymbol { symbol: symbol("S") }]);
    };
    let missing = "shares are missing: they are the text of the account";
    check("<account id='1'/>", &format!(r#"<error sym="S" id="1">{missing}</error>"#));
    check("<account id='1'> </account>", &format!(r#"<error sym="S" id="1">{missing}</error>"#));
    check("<account>5</account>", r#"<error sym="S">account has no id attribute</error>"#);
    check("<account id='1'>-5</account>", r#"<error sym="S" id="1">shares is negative; at least 0</error>"#);
    check("<account id='1'>1 0</account>", r#"<error sym="S" id="1">shares is not a plain decimal number</error>"#);
    check("<account id='1' n='2'>5</account>", r#"<error sym="S" id="1">account has an unknown attribute n</error>"#);
}

#[test]
fn an_illegal_symbol_is_one_error_for_each_of_its_accounts() {
    let why = "sym has characters other than ASCII letters and digits";
    check_create(
        "<symbol sym='A B'><account id='1'>5</account><account id='x'>5</account></symbol>",
        &format!(r#"<error sym="A B" id="1">{why}</error><error sym="A B" id="x">{why}</error>"#),
    );
    check_create("<symbol sym='A B'/>", &format!(r#"<error sym="A B">{why}</error>"#));
    check_create("<symbol sym=''></symbol>", r#"<error sym="">sym is empty</error>"#);
    check_create("<symbol/>", "<error>symbol has no sym attribute</error>");
    check_create(
        "<symbol><account id='1'>5</account></symbol>",
        r#"<error id="1">symbol has no sym attribute</error>"#,
    );
    check_create("<symbol sym='S' x='1'/>", r#"<error sym="S">symbol has an unknown attribute x</error>"#);
    assert_eq!(commands("<create><symbol sym='A B'><account id='1'>5</account></symbol></create>"), []);
}

#[test]
fn a_symbol_is_silent_unless_it_alone_is_refused() {
    let full = Answer::Reply(Reply::Rejected(Reject::Full));
    let unknown = Answer::Reply(Reply::Rejected(Reject::UnknownSymbol));
    let alone = parse("<create><symbol sym='S'/></create>");
    assert_eq!(reply_with(&alone, &[Answer::Reply(Reply::Created)]), "");
    assert_eq!(reply_with(&alone, std::slice::from_ref(&full)), r#"<error sym="S">The exchange is full</error>"#);
    let with_account = parse("<create><symbol sym='S'><account id='1'>5</account></symbol></create>");
    let expected = r#"<error sym="S" id="1">The exchange is full</error>"#;
    assert_eq!(reply_with(&with_account, &[full, unknown]), expected);
    let stopping = Answer::Unavailable(Unavailable::Stopping);
    let expected = format!(r#"<error sym="S" id="1">{}</error>"#, Unavailable::Stopping);
    assert_eq!(reply_with(&with_account, &[stopping.clone(), stopping]), expected);
}

#[test]
fn unknown_elements_get_an_error_in_their_place_and_their_content_is_skipped() {
    check_create(
        "<account id='1' balance='1'/><bond id='9'>text<account id='7' balance='1'/></bond>\
         <account id='2' balance='1'/>",
        r#"<created id="1"/><error>unknown element bond</error><created id="2"/>"#,
    );
    check_create(
        "<symbol sym='S'><bond/><account id='1'>5</account></symbol>",
        r#"<error sym="S">unknown element bond</error><created sym="S" id="1"/>"#,
    );
    check_create(
        "<symbol sym='A B'><bond/></symbol>",
        "<error sym=\"A B\">unknown element bond</error>\
         <error sym=\"A B\">sym has characters other than ASCII letters and digits</error>",
    );
    let long = "n".repeat(50);
    check_create(&format!("<{long}/>"), &format!("<error>unknown element {}…</error>", &long[..40]));
}

#[test]
fn a_create_with_attributes_is_refused_whole() {
    check_refused(
        "<create id='1'><account id='1' balance='1'/></create>",
        "create has an unknown attribute id, at byte 0",
    );
}

#[test]
fn text_and_elements_where_none_belong_refuse_the_document() {
    check_refused("<create>x</create>", "text where none belongs, at byte 8");
    check_refused("<create><account id='1' balance='1'>x</account></create>", "text where none belongs, at byte 36");
    check_refused(
        "<create><account id='1' balance='1'><x/></account></create>",
        "an element inside account, nested deeper than the request allows, at byte 36",
    );
    check_refused(
        "<create><symbol sym='S'><account id='1'>5<x/></account></symbol></create>",
        "elements are nested deeper than the request allows; at most 3 levels, at byte 41",
    );
    check_refused(
        "<create><a><b><c/></b></a></create>",
        "elements are nested deeper than the request allows; at most 3 levels, at byte 14",
    );
}

#[test]
fn a_long_symbol_is_not_repeated_without_bound() {
    let accounts = "<account id='1'>5</account>".repeat(5_000);
    let body = |sym: &str| format!("<create><symbol sym='{sym}'>{accounts}</symbol></create>");
    let mut documents = Documents::new();
    documents.parse(body(&"x".repeat(32)).as_bytes(), &LIMITS);
    assert_eq!(documents.requests.ops().len(), 5_001);
    check_refused(body(&" ".repeat(10_000)), "a sym too long to be repeated for each of its accounts, at byte 8");
    // The repeated text of many symbols adds up.
    let symbol = format!("<symbol sym='{}'>{}</symbol>", " ".repeat(2_000), "<account id='1'>5</account>".repeat(100));
    assert_eq!(commands(format!("<create>{}</create>", symbol.repeat(5))), []);
    check_refused(
        format!("<create>{}</create>", symbol.repeat(6)),
        &format!("a sym too long to be repeated for each of its accounts, at byte {}", 8 + 5 * symbol.len()),
    );
}
