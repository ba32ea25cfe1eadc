//! `post-only="move"`: its command and its answer. Source: docs/rules/MOVING_ORDERS.md.

use crate::common::{commands, parse, reply_with};
use exchange::Answer;
use terms::{OrderId, OrderKind, Price, Reply};

const ORDER: &str = "<order sym='S' amount='1' limit='30' post-only='move'/>";

#[test]
fn an_order_that_may_move_is_told_with_the_price_that_it_got() {
    let document = format!("<transactions id='9'>{ORDER}</transactions>");
    let commands = commands(document.clone());
    let [command] = commands[..] else { panic!("{commands:?}") };
    assert_eq!(command.alone().unwrap().kind, OrderKind::PostOnlyMove);
    let limit = Price::from_units(1_950_000_000).unwrap();
    for is_new in [true, false] {
        let moved = Answer::Reply(Reply::Moved { order: OrderId(7), limit, is_new });
        let told = r#"<opened sym="S" amount="1" limit="30" post-only="move" moved-to="19.5" id="7"/>"#;
        assert_eq!(reply_with(&parse(&document), &[moved]), told);
    }
}

#[test]
fn what_cannot_move_is_an_error() {
    for (more, why) in [
        ("stop='25'", "an order that waits for a price does not move, so its post-only can only be true or false"),
        ("tif='IOC'", "a post-only order rests, so its tif can only be GTC, GTD or DAY"),
        ("type='market'", "a market order executes at once, so it cannot be post-only"),
    ] {
        let order = ORDER.replace("/>", &format!(" {more}/>"));
        let documents = parse(format!("<transactions id='9'>{order}</transactions>"));
        assert!(reply_with(&documents, &[]).ends_with(&format!(">{why}</error>")), "{more}");
    }
    let documents = parse(format!("<transactions id='9'>{}</transactions>", ORDER.replace("move", "moves")));
    assert!(reply_with(&documents, &[]).contains("post-only must be true, false or move"));
}
