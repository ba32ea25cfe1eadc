//! Steps of scenarios, read from their lines.

use std::fmt;

use crate::names::{is_account, is_symbol, number, one_letter};
use crate::order::{self, Bond, Order};

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compares texts from here on as Pricetime writes them, where the player's protocol allows several.
    Exact,
    /// Creates an account with dollars.
    Fund { account: char, dollars: String },
    /// Gives an account shares of a symbol.
    Issue { symbol: char, account: char, shares: String },
    /// Places orders. Each has the number that it is known by from here on; none of them has one if they are refused.
    Place { account: char, bond: Bond, orders: Vec<(Order, Option<u32>)> },
    /// Asks for an order's status.
    Query { account: char, order: u32, expected: Outcome },
    /// Cancels an order.
    Cancel { account: char, order: u32, expected: Outcome },
    /// Takes shares off an order; none if that is refused.
    Amend { account: char, order: u32, shares: String, is_accepted: bool },
    /// Puts a symbol into a phase.
    Phase { symbol: char, phase: String },
    /// Gives a symbol a price band, so many per cent up and down. The market's pressure may choose among the prices of
    /// its auctions.
    Within { symbol: char, percent: String, by_pressure: bool },
    /// Checks that an account can spend exactly this.
    HasMoney { account: char, dollars: String },
    /// Checks that an account can sell exactly this.
    HasShares { account: char, shares: String, symbol: char },
}

/// The expected answer about an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its status.
    Parts(Vec<Part>),
    /// A refusal.
    Refused,
}

/// One part of an order's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Open shares; of an iceberg also the shown ones.
    Open { shares: String, shown: Option<String> },
    /// Open shares of an order that waits for a price.
    Waits { shares: String, price: String },
    /// Open shares of an order that waits for another order.
    Pends { shares: String },
    /// Canceled shares.
    Canceled { shares: String },
    /// One execution.
    Executed { shares: String, price: String },
}

impl Step {
    /// Reads a line. Errors: the fault in it.
    pub fn read(line: &str) -> Result<Step, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["exact"] => Ok(Step::Exact),
            ["fund", account, dollars] => {
                Ok(Step::Fund { account: one_letter(account, is_account)?, dollars: (*dollars).to_owned() })
            }
            ["issue", symbol, account, shares] => Ok(Step::Issue {
                symbol: one_letter(symbol, is_symbol)?,
                account: one_letter(account, is_account)?,
                shares: (*shares).to_owned(),
            }),
            [symbol, "is", phase @ ("open" | "halted" | "auction")] => {
                Ok(Step::Phase { symbol: one_letter(symbol, is_symbol)?, phase: (*phase).to_owned() })
            }
            [symbol, "within", percent, ties @ ..] if matches!(ties, [] | ["by", "pressure"]) => Ok(Step::Within {
                symbol: one_letter(symbol, is_symbol)?,
                percent: percent.strip_suffix('%').ok_or("a band is so many per cent")?.to_owned(),
                by_pressure: !ties.is_empty(),
            }),
            [account, words @ ..] => Step::of_account(one_letter(account, is_account)?, words, line),
            [] => Err("an empty line is no step".to_owned()),
        }
    }

    /// Reads the words behind an account's letter.
    fn of_account(account: char, words: &[&str], line: &str) -> Result<Step, String> {
        match words {
            ["buy" | "sell", ..] => Ok(Step::Place { account, bond: Bond::Alone, orders: vec![order::read(words)?] }),
            ["oco", ..] => place(account, Bond::OneCancelsOther, 2..=2, line),
            ["oto", ..] => place(account, Bond::OneTriggersOther, 2..=3, line),
            ["query", order, ..] => {
                Ok(Step::Query { account, order: number(order.trim_end_matches(':'))?, expected: outcome(line)? })
            }
            ["cancel", order, ..] => {
                Ok(Step::Cancel { account, order: number(order.trim_end_matches(':'))?, expected: outcome(line)? })
            }
            ["amend", order, "to", shares, end @ ..] if matches!(end, [] | ["refused"]) => Ok(Step::Amend {
                account,
                order: number(order)?,
                shares: (*shares).to_owned(),
                is_accepted: end.is_empty(),
            }),
            ["has", amount] => {
                let dollars = amount.strip_prefix('$').ok_or("dollars begin with $")?.to_owned();
                Ok(Step::HasMoney { account, dollars })
            }
            ["has", shares, symbol] => {
                Ok(Step::HasShares { account, shares: (*shares).to_owned(), symbol: one_letter(symbol, is_symbol)? })
            }
            _ => Err("no step of the language".to_owned()),
        }
    }
}

/// Reads orders that belong together.
fn place(account: char, bond: Bond, counts: std::ops::RangeInclusive<usize>, line: &str) -> Result<Step, String> {
    let (_, list) = line.split_once(" oco ").or_else(|| line.split_once(" oto ")).ok_or("no orders follow")?;
    let orders = list.split(',').map(|part| order::read(&part.split_whitespace().collect::<Vec<_>>()));
    let orders = orders.collect::<Result<Vec<_>, _>>()?;
    let refused = orders.iter().filter(|(_, slot)| slot.is_none()).count();
    if !counts.contains(&orders.len()) || (refused > 0 && refused < orders.len()) {
        return Err(
            "a pair has two orders, a working order one or two behind it, all of them opened or none".to_owned()
        );
    }
    Ok(Step::Place { account, bond, orders })
}

/// Reads the expected answer behind an order's number.
fn outcome(line: &str) -> Result<Outcome, String> {
    if line.trim_end().ends_with(" refused") {
        return Ok(Outcome::Refused);
    }
    let (_, parts) = line.split_once(':').ok_or("the status follows a colon")?;
    Ok(Outcome::Parts(parts.split(',').map(part).collect::<Result<_, _>>()?))
}

fn part(part: &str) -> Result<Part, String> {
    let words: Vec<&str> = part.split_whitespace().collect();
    let own = |word: &&str| (*word).to_owned();
    match words.as_slice() {
        ["open", shares] => Ok(Part::Open { shares: own(shares), shown: None }),
        ["open", shares, "shown", shown] => Ok(Part::Open { shares: own(shares), shown: Some(own(shown)) }),
        ["waits", shares, "for", price] => Ok(Part::Waits { shares: own(shares), price: own(price) }),
        ["pends", shares] => Ok(Part::Pends { shares: own(shares) }),
        ["canceled", shares] => Ok(Part::Canceled { shares: own(shares) }),
        ["executed", shares, "@", price] => Ok(Part::Executed { shares: own(shares), price: own(price) }),
        _ => Err(format!("{part:?} is no part of a status")),
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Open { shares, shown: None } => write!(f, "open {shares}"),
            Part::Open { shares, shown: Some(shown) } => write!(f, "open {shares} shown {shown}"),
            Part::Waits { shares, price } => write!(f, "waits {shares} for {price}"),
            Part::Pends { shares } => write!(f, "pends {shares}"),
            Part::Canceled { shares } => write!(f, "canceled {shares}"),
            Part::Executed { shares, price } => write!(f, "executed {shares} @ {price}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_step_is_refused() {
        for line in [
            "",
            "hello",
            "fund S 1",
            "fund A",
            "S is closed",
            "S within 5",
            "S within 5% by chance",
            "A buy 1 A @ 1 -> 1",
            "A buy 1 S @ 1",
            "A buy 1 S @ 1 ioc fok -> 1",
            "A buy 1 S @ 1 ioc gfa -> 1",
            "A buy 1 S market gfa gfa -> 1",
            "A buy 1 S @ 1 stop 2 stop 3 -> 1",
            "A oco buy 1 S @ 1 -> 1",
            "A oto buy 1 S @ 1 -> 1, sell 1 S @ 2 refused",
            "A has 5",
            "A query 1",
            "A query 1: half",
            "A amend 1 to",
        ] {
            assert!(Step::read(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_words_of_orders_and_of_statuses_are_read() {
        let Ok(Step::Place { orders, .. }) =
            Step::read("A oco sell 9 S @ 30 post-only -> 1, sell 9 S market stop 20 -> 2")
        else {
            panic!("a pair");
        };
        let stop = Order { limit: None, stop: Some("20".to_owned()), kind: crate::Kind::Market, ..orders[0].0.clone() };
        assert_eq!(orders[1], (stop, Some(2)));
        let kind = |line: &str| match Step::read(line) {
            Ok(Step::Place { orders, .. }) => orders[0].0.kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind("A buy 1 S @ 10 display 1 gfa -> 1"), crate::Kind::AuctionLimit);
        assert_eq!(kind("A buy 1 S market gfa -> 1"), crate::Kind::AuctionMarket);
        let query = Step::read("B query 1: open 12 shown 4, executed 6 @ 12");
        let parts = "open 12 shown 4, executed 6 @ 12".split(", ").map(|text| part(text).expect("a part")).collect();
        assert_eq!(query, Ok(Step::Query { account: 'B', order: 1, expected: Outcome::Parts(parts) }));
    }
}
