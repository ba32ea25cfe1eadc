//! The limits of a member, and the stop that a member may call for itself.

use std::fmt::Write as _;

use super::access::{MARKET, SECRET, ask, logged_in, started};

/// An operator, and a trader with these limits and two keys.
fn members(limits: &str) -> String {
    let mut text = format!(
        "[[member]]\nname = \"operator\"\nroles = [\"operator\"]\n[[member.key]]\nid = \"operator\"\nsecret = \"{SECRET}\"\n\
         [[member]]\nname = \"trader\"\nroles = [\"trader\"]\naccounts = [\"1\"]\n{limits}\n"
    );
    for key in ["one", "two"] {
        let _ = writeln!(text, "[[member.key]]\nid = \"{key}\"\nsecret = \"{SECRET}\"");
    }
    text
}

/// The keys' names differ from the member's, and the login tells the member's name.
fn trader(server: &crate::common::server::Server, key: &str) -> crate::common::client::Client {
    let mut client = server.client();
    let reply = client.ask(&format!("<login key=\"{key}\" secret=\"{SECRET}\"/>"));
    assert_eq!(reply, "<results><logged-in member=\"trader\"/></results>\n");
    client
}

#[test]
fn an_order_past_a_members_limits_is_refused_with_the_bound() {
    let limits = "limits = { order_shares = \"20\", order_value = \"100\" }";
    let (_folder, server, _) = started("member-limits", &members(limits));
    logged_in(&server, "operator").ask(MARKET);
    let mut client = trader(&server, "one");
    let shares = "too many shares: an order of this member may have 20";
    let value = "too much money: an order of this member may be worth 100 dollars";
    for (child, refused) in [
        ("<order sym=\"S\" amount=\"20\" limit=\"5\"/>", None),
        ("<order sym=\"S\" amount=\"21\" limit=\"1\"/>", Some(shares)),
        ("<order sym=\"S\" amount=\"-21\" type=\"market\"/>", Some(shares)),
        ("<order sym=\"S\" amount=\"20\" limit=\"5.01\"/>", Some(value)),
        // The number of its shares is known only when it executes, and once exceeded the bound.
        (
            "<order sym=\"S\" funds=\"1\" type=\"market\"/>",
            Some("an order of this member may have 20, and one for money has no number before it executes"),
        ),
        // An order that moves up once was worth more than allowed.
        ("<order sym=\"S\" amount=\"1\" limit=\"1\" post-only=\"move\"/>", None),
        (
            "<order sym=\"S\" amount=\"-1\" limit=\"1\" post-only=\"move\"/>",
            Some("may be worth 100 dollars, and a post-only sell that moves has no limit before it is placed"),
        ),
        (
            "<oco><order sym=\"S\" amount=\"-20\" limit=\"5\" post-only=\"true\"/>\
          <order sym=\"S\" amount=\"-20\" limit=\"6\" stop=\"1\"/></oco>",
            Some(value),
        ),
        (
            "<oto><order sym=\"S\" amount=\"1\" limit=\"5\"/><order sym=\"S\" amount=\"-21\" limit=\"1\"/></oto>",
            Some(shares),
        ),
    ] {
        let reply = ask(&mut client, "1", child);
        match refused {
            Some(why) => assert!(reply.contains(why) && !reply.contains("<opened"), "{child}: {reply}"),
            None => assert!(!reply.contains("<error"), "{child}: {reply}"),
        }
    }
    // An error repeats the order at fault, and the other orders of the list do not exist.
    let list = |kind: &str, orders: [&str; 2]| format!("<{kind}><order {}/><order {}/></{kind}>", orders[0], orders[1]);
    let buy = "sym=\"S\" amount=\"1\" limit=\"5\"";
    let dear = "sym=\"S\" amount=\"-20\" limit=\"6\" stop=\"1\"";
    let cheap = "sym=\"S\" amount=\"-20\" limit=\"5\" post-only=\"true\"";
    for (kind, orders, at, why) in [
        ("oto", [buy, "sym=\"S\" amount=\"-21\" limit=\"1\""], 1, shares),
        ("oto", ["sym=\"S\" amount=\"21\" limit=\"1\"", buy], 0, shares),
        ("oco", [cheap, dear], 1, value),
    ] {
        let reply = ask(&mut client, "1", &list(kind, orders));
        assert_eq!(reply, format!("<results><error {}>{why}</error></results>\n", orders[at]));
    }
    assert!(ask(&mut client, "1", "<cancel-all/>").contains("<canceled-all orders=\"2\""));
    // Orders with a key of another member are not bounded.
    let mut operator = logged_in(&server, "operator");
    assert!(ask(&mut operator, "1", "<order sym=\"S\" amount=\"21\" limit=\"5\"/>").contains("<opened"));
    server.stop();
}

#[test]
fn orders_a_second_are_counted_over_all_keys_and_connections_of_a_member() {
    let (_folder, server, _) = started("member-pace", &members("limits = { orders_per_second = 3 }"));
    logged_in(&server, "operator").ask(MARKET);
    let (mut one, mut two) = (trader(&server, "one"), trader(&server, "two"));
    let order = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>".repeat(20);
    let replies = [ask(&mut one, "1", &order), ask(&mut two, "1", &order)].concat();
    let (opened, refused) =
        (replies.matches("<opened").count(), replies.matches("this member may place 3 a second").count());
    // A slow machine lets a few more through.
    assert!((3..20).contains(&opened) && opened + refused == 40, "{opened} {refused}: {replies}");
    // The member's cancels and queries go on, and so do all requests of other members.
    assert!(ask(&mut one, "1", "<query id=\"1\"/><cancel-all/>").contains("<canceled-all"));
    let mut operator = logged_in(&server, "operator");
    assert_eq!(ask(&mut operator, "2", &order).matches("<opened").count(), 20);
    server.stop();
}

#[test]
fn a_message_too_many_ends_orders_and_does_nothing_else() {
    let (_folder, server, _) = started("member-messages", &members("limits = { messages_per_second = 3 }"));
    logged_in(&server, "operator").ask(MARKET);
    let mut client = trader(&server, "one");
    let order = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>";
    let replies: Vec<String> = (0..20).map(|_| ask(&mut client, "1", order)).collect();
    let why = "too many messages: this member may send 3 a second; try again";
    let refused = replies.iter().filter(|reply| reply.contains(why)).count();
    let opened = replies.iter().filter(|reply| reply.contains("<opened")).count();
    // The login was the first message. A slow machine lets a few more through.
    assert!((2..20).contains(&opened) && opened + refused == 20, "{opened} {refused}: {replies:?}");
    let many = "<query id=\"1\"/><cancel id=\"1\"/><cancel-all/>";
    let reply = (0..20).map(|_| ask(&mut client, "1", many)).find(|reply| reply.contains(why));
    let reply = reply.expect("queries count");
    assert!(reply.contains("<canceled-all"), "{reply}");
    // Other members do not wait for that.
    let mut operator = logged_in(&server, "operator");
    assert!((0..20).all(|_| ask(&mut operator, "2", order).contains("<opened")));
    server.stop();
}

#[test]
fn an_order_for_money_is_bounded_by_its_value() {
    let (_folder, server, _) = started("member-value", &members("limits = { order_value = \"100\" }"));
    logged_in(&server, "operator").ask(MARKET);
    let mut client = trader(&server, "one");
    let value = "too much money: an order of this member may be worth 100 dollars";
    assert!(ask(&mut client, "1", "<order sym=\"S\" funds=\"100.01\" type=\"market\"/>").contains(value));
    assert!(!ask(&mut client, "1", "<order sym=\"S\" funds=\"100\" type=\"market\"/>").contains(value));
    server.stop();
}

#[test]
fn a_login_too_many_is_refused() {
    let (_folder, server, _) = started("member-logins", &members("limits = { messages_per_second = 1 }"));
    logged_in(&server, "operator").ask(MARKET);
    let past = "login refused: too many messages: this member may send 1 a second; try again";
    for login in [format!("<login key=\"one\" secret=\"{SECRET}\"/>"), "<login key=\"one\"/>".to_owned()] {
        let mut client = server.client();
        let logged_in = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            client.ask(&format!("<login key=\"one\" secret=\"{SECRET}\"/>")).contains("<logged-in")
        });
        assert!(logged_in);
        assert!((0..200).any(|_| client.ask(&login).contains(past)), "{login}");
    }
    server.stop();
}

#[test]
fn a_login_is_refused_on_a_connection_too_many() {
    let (_folder, server, _) = started("member-connections", &members("limits = { connections = 2 }"));
    logged_in(&server, "operator").ask(MARKET);
    let (mut one, two) = (trader(&server, "one"), trader(&server, "two"));
    let login = format!("<login key=\"two\" secret=\"{SECRET}\"/>");
    let mut third = server.client();
    let reply = third.ask(&login);
    let why = "login refused: too many connections: this member may have 2 open; close one";
    assert!(reply.contains(why), "{reply}");
    assert!(ask(&mut third, "1", "<cancel-all/>").contains("Unknown account"), "it is nobody's");
    // A connection that counts already may log in again.
    assert!(one.ask(&login).contains("<logged-in"));
    drop(two);
    // The server notices the end of the connection a little later.
    let again = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        third.ask(&login).contains("<logged-in")
    });
    assert!(again);
    server.stop();
}

#[test]
fn a_trader_stops_its_accounts_and_an_operator_lets_them_go_on() {
    let (_folder, server, _) = started("member-kill", &members(""));
    logged_in(&server, "operator").ask(MARKET);
    let (mut client, mut operator) = (trader(&server, "one"), logged_in(&server, "operator"));
    let order = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>";
    assert!(ask(&mut client, "1", order).contains("<opened"));
    let kill = |client: &mut crate::common::client::Client, what: &str| client.ask(&format!("<create>{what}</create>"));
    assert!(kill(&mut client, "<kill account=\"1\"/>").contains("<killed account=\"1\" orders=\"1\"/>"));
    assert!(kill(&mut client, "<kill account=\"2\"/>").contains("Unknown account"));
    for for_operators in ["<kill/>", "<kill sym=\"S\"/>", "<release account=\"1\"/>", "<release/>"] {
        assert!(kill(&mut client, for_operators).contains("not permitted"), "{for_operators}");
    }
    assert!(ask(&mut client, "1", order).contains("Kill switch"));
    assert!(ask(&mut operator, "2", order).contains("<opened"));
    assert!(kill(&mut operator, "<release account=\"1\"/>").contains("<changed account=\"1\"/>"));
    assert!(ask(&mut client, "1", order).contains("<opened"));
    server.stop();
}
