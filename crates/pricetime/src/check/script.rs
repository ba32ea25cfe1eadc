//! The little language of the cases, and its reading. A script is a list of steps, one a line:
//!
//! ```text
//! fund A 1000                          an account with a balance
//! issue S A 50                         shares of a symbol
//! A buy 10 S @ 12.5 -> 1               an order that is opened, known as 1 from here on (`sell` likewise)
//! A buy 10 S @ 12.5 refused            an order that is refused
//! A query 1: open 4, executed 6 @ 12   its status; further parts: `canceled 4`
//! A cancel 1: canceled 4               what its cancel answers
//! A cancel 1 refused                   `query` likewise
//! A has $12.5                          it can spend that, and not a cent more
//! A has 50 S                           it can sell that, and not a share more
//! exact                                from here: texts as Pricetime writes them, and 0.00000001 more is too much
//! > <create/>                          any request; the lines after it are the elements of its reply, or `(nothing)`
//! A> <query id="{1}"/>                 any request in `<transactions>` of the account
//! + <cancel id="{1}"/>                 more of the request on the line before
//! ```

use super::expect::Element;
use super::names::{is_account, is_symbol};

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
            let account = account.chars().next().map(|account| letter(account, is_account)).transpose();
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

/// Reads the lines that stand for a common request.
fn short(line: &str) -> Result<Step, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["exact"] => Ok(Step::Exact),
        ["fund", account, dollars] => {
            let account = name(account, is_account)?;
            send(
                format!("<create><account id=\"{{{account}}}\" balance=\"{dollars}\"/></create>"),
                &format!("<created id=\"{{{account}}}\"/>"),
            )
        }
        ["issue", symbol, account, shares] => {
            let (symbol, account) = (name(symbol, is_symbol)?, name(account, is_account)?);
            let inner = format!("<account id=\"{{{account}}}\">{shares}</account>");
            send(
                format!("<create><symbol sym=\"{{{symbol}}}\">{inner}</symbol></create>"),
                &format!("<created sym=\"{{{symbol}}}\" id=\"{{{account}}}\"/>"),
            )
        }
        [account, side @ ("buy" | "sell"), shares, symbol, "@", limit, outcome @ ..] => {
            let (account, symbol) = (name(account, is_account)?, name(symbol, is_symbol)?);
            let sign = if *side == "sell" { "-" } else { "" };
            let order = format!("sym=\"{{{symbol}}}\" amount=\"{sign}{shares}\" limit=\"{limit}\"");
            let expected = match outcome {
                ["->", slot] => format!("<opened {order} id=\"{{{}}}\"/>", number(slot)?),
                ["refused"] => format!("<error {order}/>"),
                _ => return Err("an order ends in `-> 1` or `refused`".to_string()),
            };
            send(transactions(account, &format!("<order {order}/>")), &expected)
        }
        [account, "has", amount] => {
            let dollars = amount.strip_prefix('$').ok_or("dollars begin with $")?.to_string();
            Ok(Step::HasMoney { account: name(account, is_account)?, dollars })
        }
        [account, "has", shares, symbol] => Ok(Step::HasShares {
            account: name(account, is_account)?,
            shares: shares.to_string(),
            symbol: name(symbol, is_symbol)?,
        }),
        [account, verb @ ("query" | "cancel"), ..] => ask(name(account, is_account)?, verb, line),
        _ => Err("no step of the language".to_string()),
    }
}

/// Reads `A query 1: open 4, executed 6 @ 12` or `A cancel 1 refused`.
fn ask(account: char, verb: &str, line: &str) -> Result<Step, String> {
    let (_, rest) = line.split_once(verb).ok_or("no verb")?;
    let request = |slot: u32| transactions(account, &format!("<{verb} id=\"{{{slot}}}\"/>"));
    if let Some(slot) = rest.strip_suffix("refused") {
        let slot = number(slot)?;
        return send(request(slot), &format!("<error id=\"{{{slot}}}\"/>"));
    }
    let (slot, parts) = rest.split_once(':').ok_or("what it shows follows a colon")?;
    let slot = number(slot)?;
    let mut children = String::new();
    for part in parts.split(',') {
        let words: Vec<&str> = part.split_whitespace().collect();
        children.push_str(&match words.as_slice() {
            ["open", shares] => format!("<open shares=\"{shares}\"/>"),
            ["canceled", shares] => format!("<canceled shares=\"{shares}\" time=\"*\"/>"),
            ["executed", shares, "@", price] => {
                format!("<executed shares=\"{shares}\" price=\"{price}\" time=\"*\"/>")
            }
            _ => return Err(format!("{part:?} is no part of a status")),
        });
    }
    let tag = if verb == "query" { "status" } else { "canceled" };
    send(request(slot), &format!("<{tag} id=\"{{{slot}}}\">{children}</{tag}>"))
}

fn name(word: &str, is_right: fn(char) -> bool) -> Result<char, String> {
    let mut letters = word.chars();
    match (letters.next(), letters.next()) {
        (Some(found), None) => letter(found, is_right),
        _ => Err(format!("{word} is no name: A to H are accounts, S to Z symbols")),
    }
}

fn letter(letter: char, is_right: fn(char) -> bool) -> Result<char, String> {
    is_right(letter).then_some(letter).ok_or_else(|| format!("{letter} names nothing of this kind"))
}

fn number(word: &str) -> Result<u32, String> {
    word.trim().parse().map_err(|_| format!("{word:?} is no order's number"))
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
