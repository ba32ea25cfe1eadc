//! Scripts of cases, and their reading. Their lines are steps of scenarios ([`scenarios`]), said in XML here, and:
//!
//! ```text
//! > <create/>                          any request; the lines after it are the elements of its reply, or `(nothing)`
//! A> <query id="{1}"/>                 any request in `<transactions>` of the account
//! + <cancel id="{1}"/>                 more of the request on the line before
//! ```

use scenarios::{Amount, Bond, Kind, Order, Outcome, Part, Side, is_account};

use super::expect::Element;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compares as written from here on.
    Exact,
    /// Sends a request and compares the reply.
    Send { request: String, expected: Vec<Element> },
    /// Checks that an account can spend exactly this.
    HasMoney { account: char, dollars: String },
    /// Checks that an account can sell exactly this.
    HasShares { account: char, shares: String, symbol: char },
}

/// Reads a script. Errors: a line that is no step, and why.
pub fn parse(script: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut open: Option<Open> = None;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let in_line = |why: String| format!("{line:?}: {why}");
        if line.starts_with('<') || line == "(nothing)" {
            let open = open.as_mut().ok_or_else(|| in_line("no request stands before it".to_string()))?;
            open.expected.push_str(line);
            continue;
        }
        if let (Some(more), Some(open)) = (line.strip_prefix("+ "), &mut open) {
            open.request.push_str(more);
            continue;
        }
        close(&mut steps, open.take()).map_err(in_line)?;
        if let Some((account, request)) = line.split_once('>').filter(|(account, _)| account.len() <= 1) {
            let account = account.chars().next().map(account_letter).transpose();
            let request = request.trim().to_string();
            open = Some(Open { account: account.map_err(in_line)?, request, expected: String::new() });
        } else {
            steps.push(short(line).map_err(in_line)?);
        }
    }
    close(&mut steps, open).map_err(|why| format!("at its end: {why}"))?;
    Ok(steps)
}

/// A request whose lines are still being read.
struct Open {
    account: Option<char>,
    request: String,
    expected: String,
}

fn close(steps: &mut Vec<Step>, open: Option<Open>) -> Result<(), String> {
    let Some(Open { account, request, expected }) = open else {
        return Ok(());
    };
    let request = match account {
        Some(account) => transactions(account, &request),
        None => request,
    };
    steps.push(match expected.as_str() {
        "" => return Err(format!("no reply is given for {request}")),
        "(nothing)" => Step::Send { request, expected: Vec::new() },
        elements => send(request, elements)?,
    });
    Ok(())
}

fn send(request: String, elements: &str) -> Result<Step, String> {
    let expected = Element::parse(format!("<results>{elements}</results>").as_bytes())?.children;
    Ok(Step::Send { request, expected })
}

fn transactions(account: char, children: &str) -> String {
    format!("<transactions id=\"{{{account}}}\">{children}</transactions>")
}

/// Says a step of a scenario in XML.
fn short(line: &str) -> Result<Step, String> {
    match scenarios::Step::read(line)? {
        scenarios::Step::Exact => Ok(Step::Exact),
        scenarios::Step::Fund { account, dollars } => send(
            format!("<create><account id=\"{{{account}}}\" balance=\"{dollars}\"/></create>"),
            &format!("<created id=\"{{{account}}}\"/>"),
        ),
        scenarios::Step::Issue { symbol, account, shares } => {
            let inner = format!("<account id=\"{{{account}}}\">{shares}</account>");
            send(
                format!("<create><symbol sym=\"{{{symbol}}}\">{inner}</symbol></create>"),
                &format!("<created sym=\"{{{symbol}}}\" id=\"{{{account}}}\"/>"),
            )
        }
        scenarios::Step::Phase { symbol, phase } => {
            let phase = format!("sym=\"{{{symbol}}}\" is=\"{phase}\"");
            send(format!("<create><phase {phase}/></create>"), &format!("<changed {phase}/>"))
        }
        scenarios::Step::Within { symbol, percent, by_pressure } => {
            let ties = if by_pressure { " auction-ties=\"pressure\"" } else { "" };
            let rules = format!("sym=\"{{{symbol}}}\" band-up=\"{percent}\" band-down=\"{percent}\"{ties}");
            send(format!("<create><rules {rules}/></create>"), &format!("<changed {rules}/>"))
        }
        scenarios::Step::Place { account, bond, orders } => place(account, bond, &orders),
        scenarios::Step::Query { account, order, expected } => ask(account, ("query", "status"), order, &expected),
        scenarios::Step::Cancel { account, order, expected } => ask(account, ("cancel", "canceled"), order, &expected),
        scenarios::Step::Amend { account, order, shares, is_accepted } => {
            let terms = format!("id=\"{{{order}}}\" shares=\"{shares}\"");
            let expected = match is_accepted {
                true => format!("<amended {terms}><open shares=\"*\"/></amended>"),
                false => format!("<error {terms}/>"),
            };
            send(transactions(account, &format!("<amend {terms}/>")), &expected)
        }
        scenarios::Step::HasMoney { account, dollars } => Ok(Step::HasMoney { account, dollars }),
        scenarios::Step::HasShares { account, shares, symbol } => Ok(Step::HasShares { account, shares, symbol }),
    }
}

/// Orders and the answer to them. Of orders that belong together one is at fault where they are refused.
fn place(account: char, bond: Bond, orders: &[(Order, Option<u32>)]) -> Result<Step, String> {
    let is_refused = orders.iter().any(|(_, slot)| slot.is_none());
    let each = |element: fn(&str, u32) -> String| {
        let elements = orders.iter().map(|(order, slot)| element(&attributes(order), slot.unwrap_or_default()));
        elements.collect::<String>()
    };
    let asked = each(|order, _| format!("<order {order}/>"));
    let opened = each(|order, slot| format!("<opened {order} id=\"{{{slot}}}\"/>"));
    let tag = match bond {
        Bond::Alone => {
            let refused = each(|order, _| format!("<error {order}/>"));
            return send(transactions(account, &asked), if is_refused { &refused } else { &opened });
        }
        Bond::OneCancelsOther => "oco",
        Bond::OneTriggersOther => "oto",
    };
    let expected = if is_refused { "<error/>".to_owned() } else { format!("<{tag}>{opened}</{tag}>") };
    send(transactions(account, &format!("<{tag}>{asked}</{tag}>")), &expected)
}

/// The attributes of an order.
fn attributes(order: &Order) -> String {
    let sign = if order.side == Side::Sell { "-" } else { "" };
    let mut text = match &order.amount {
        Amount::Shares(shares) => format!("sym=\"{{{}}}\" amount=\"{sign}{shares}\"", order.symbol),
        Amount::Funds(funds) => format!("sym=\"{{{}}}\" funds=\"{sign}{funds}\"", order.symbol),
    };
    let mut add = |name: &str, value: Option<&str>| {
        text.extend(value.map(|value| format!(" {name}=\"{value}\"")));
    };
    add("limit", order.limit.as_deref());
    match order.kind {
        Kind::Limit => {}
        Kind::PostOnly => add("post-only", Some("true")),
        Kind::ImmediateOrCancel => add("tif", Some("IOC")),
        Kind::FillOrKill => add("tif", Some("FOK")),
        Kind::Market => add("type", Some("market")),
        Kind::AuctionLimit => add("tif", Some("GFA")),
        Kind::AuctionMarket => {
            add("type", Some("market"));
            add("tif", Some("GFA"));
        }
    }
    add("stop", order.stop.as_deref());
    add("display", order.display.as_deref());
    add("self-trade", order.self_trade.as_deref());
    text
}

/// A request about an order, and its answer's element.
fn ask(account: char, (verb, tag): (&str, &str), order: u32, expected: &Outcome) -> Result<Step, String> {
    let request = transactions(account, &format!("<{verb} id=\"{{{order}}}\"/>"));
    let expected = match expected {
        Outcome::Refused => format!("<error id=\"{{{order}}}\"/>"),
        Outcome::Parts(parts) => {
            let children: String = parts.iter().map(element).collect();
            format!("<{tag} id=\"{{{order}}}\">{children}</{tag}>")
        }
    };
    send(request, &expected)
}

/// A part of a status.
fn element(part: &Part) -> String {
    match part {
        Part::Open { shares, shown: None } => format!("<open shares=\"{shares}\"/>"),
        Part::Open { shares, shown: Some(shown) } => format!("<open shares=\"{shares}\" shown=\"{shown}\"/>"),
        Part::Waits { shares, price } => format!("<open shares=\"{shares}\" waits-for=\"{price}\"/>"),
        Part::Pends { shares } => format!("<open shares=\"{shares}\" pends-on=\"*\"/>"),
        Part::Canceled { shares } => format!("<canceled shares=\"{shares}\" time=\"*\"/>"),
        Part::Executed { shares, price } => format!("<executed shares=\"{shares}\" price=\"{price}\" time=\"*\"/>"),
    }
}

fn account_letter(letter: char) -> Result<char, String> {
    is_account(letter).then_some(letter).ok_or_else(|| format!("{letter} is no account: A to H are"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(script: &str) -> (String, Vec<Element>) {
        match parse(script).expect("a script").remove(0) {
            Step::Send { request, expected } => (request, expected),
            other @ (Step::Exact | Step::HasMoney { .. } | Step::HasShares { .. }) => panic!("{other:?} sends nothing"),
        }
    }

    #[test]
    fn short_lines_stand_for_requests_and_their_replies() {
        let (request, expected) = sent("A sell 2 S @ 3 -> 1");
        assert_eq!(request, r#"<transactions id="{A}"><order sym="{S}" amount="-2" limit="3"/></transactions>"#);
        assert_eq!((expected[0].name.as_str(), expected[0].attribute("id")), ("opened", Some("{1}")));
        let (request, _) = sent("A sell 2 S market gfa -> 1");
        let order = r#"<order sym="{S}" amount="-2" type="market" tif="GFA"/>"#;
        assert_eq!(request, format!("<transactions id=\"{{A}}\">{order}</transactions>"));
        let (request, expected) = sent("B query 1: open 4, executed 6 @ 12");
        assert_eq!(request, r#"<transactions id="{B}"><query id="{1}"/></transactions>"#);
        assert_eq!(expected[0].children.len(), 2);
        let (request, expected) = sent("A> <cancel id=\"9\"/>\n<error id=\"9\"/>");
        assert_eq!(request, r#"<transactions id="{A}"><cancel id="9"/></transactions>"#);
        assert_eq!(expected[0].name, "error");
        assert_eq!(sent("> <create/>\n(nothing)"), ("<create/>".to_string(), Vec::new()));
    }

    #[test]
    fn what_is_no_step_is_refused() {
        for script in [
            "hello",
            "fund S 1",
            "fund A",
            "A buy 1 A @ 1 -> 1",
            "A buy 1 S @ 1",
            "A has 5",
            "A query 1",
            "A query 1: half",
            "> <create/>",
            "<created/>",
            "> <create/>\n<oops",
        ] {
            assert!(parse(script).is_err(), "{script}");
        }
    }
}
