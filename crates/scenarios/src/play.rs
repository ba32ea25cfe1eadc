//! Playing: each step is said in a player's protocol, and its answer compared with the expected one.

use std::collections::BTreeMap;
use std::fmt;

use crate::amount::{canonical, plus};
use crate::cases::{FILES, File, Scenario};
use crate::order::{Bond, Order, Side};
use crate::step::{Outcome, Part, Step};

/// The letter of a symbol that `has` trades in, which no scenario names.
const PROBE: char = 'P';
/// The least amount of money and of shares that any protocol says.
const LEAST: &str = "0.00000001";
/// A price at which nobody buys.
const DEAR: &str = "90000000";

/// A refusal, in the words of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// The answer to a request.
pub type Answer<T> = Result<T, Refused>;

/// The status of an order, in any order of its parts but with the oldest execution first.
pub type OrderStatus = Vec<Part>;

/// An order that was placed.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The id that the market gave it.
    pub id: String,
    pub order: Order,
}

/// Plays scenarios to a market over one protocol. It panics where the protocol itself breaks.
pub trait Player {
    /// Begins the scenario with this number: letters stand for accounts and symbols that nothing else uses.
    fn begin(&mut self, scenario: usize);
    /// Creates an account with dollars.
    fn fund(&mut self, account: char, dollars: &str);
    /// Gives an account shares of a symbol.
    fn issue(&mut self, symbol: char, account: char, shares: &str);
    /// Puts a symbol into a phase.
    fn change_phase(&mut self, symbol: char, phase: &str);
    /// Gives a symbol a price band, so many per cent up and down. `by_pressure`: the market's pressure chooses among
    /// the prices of its auctions, and not the last price.
    fn set_band(&mut self, symbol: char, percent: &str, by_pressure: bool);
    /// Places orders, and returns their ids.
    fn place(&mut self, account: char, bond: Bond, orders: &[&Order]) -> Answer<Vec<String>>;
    /// Asks for an order's status.
    fn query(&mut self, account: char, order: &Placed) -> Answer<OrderStatus>;
    /// Cancels an order, and returns its status.
    fn cancel(&mut self, account: char, order: &Placed) -> Answer<OrderStatus>;
    /// Takes shares off an order.
    fn amend(&mut self, account: char, order: &Placed, shares: &str) -> Answer<()>;
}

/// A step whose answer was another one than expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub path: &'static str,
    pub line: usize,
    pub name: &'static str,
    pub step: &'static str,
    /// The answer that came.
    pub came: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { path, line, name, step, came } = self;
        write!(f, "{path}:{line}: {name}: expected `{step}`, and what came is: {came}")
    }
}

/// The account of a letter in a scenario, for a market that nobody else uses.
pub fn account_number(scenario: usize, letter: char) -> usize {
    scenario * 8 + usize::from(letter as u8 - b'A') + 1
}

/// The symbol of a letter in a scenario.
pub fn symbol_name(scenario: usize, letter: char) -> String {
    format!("{letter}{scenario}")
}

/// The number of scenarios.
pub fn scenario_count() -> usize {
    FILES.iter().map(|file| file.scenarios().len()).sum()
}

/// Plays all scenarios but those that leave out the protocol of this name, and returns the names of the latter. Panics
/// with each scenario that fails.
pub fn play_all(protocol: &str, player: &mut impl Player) -> Vec<&'static str> {
    let all: Vec<Scenario> = FILES.iter().flat_map(File::scenarios).collect();
    let (left_out, played): (Vec<_>, Vec<_>) =
        all.iter().enumerate().partition(|(_, scenario)| scenario.left_out_by().any(|word| word == protocol));
    let failures = played.into_iter().filter_map(|(nth, scenario)| {
        player.begin(nth);
        play(player, scenario).err()
    });
    let failures: Vec<String> = failures.map(|failure| failure.to_string()).collect();
    assert!(failures.is_empty(), "{} scenarios fail over {protocol}:\n{}", failures.len(), failures.join("\n"));
    left_out.into_iter().map(|(_, scenario)| scenario.name).collect()
}

/// Plays one scenario. Errors: the first step with another answer.
pub fn play(player: &mut impl Player, scenario: &Scenario) -> Result<(), Failure> {
    let mut orders = BTreeMap::new();
    for (line, text, step) in scenario.steps().expect("invariant: a test reads every scenario") {
        let _place = Place { path: scenario.path, line };
        take(player, &mut orders, step).map_err(|came| {
            let Scenario { path, name, .. } = *scenario;
            Failure { path, line, name, step: text, came }
        })?;
    }
    Ok(())
}

/// The step that is played. If the player panics, it says which one that was.
struct Place {
    path: &'static str,
    line: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this was at {}:{}", self.path, self.line);
        }
    }
}

/// Takes a step. Errors: the answer, if another one was expected.
fn take(player: &mut impl Player, orders: &mut BTreeMap<u32, Placed>, step: Step) -> Result<(), String> {
    let known = |orders: &BTreeMap<u32, Placed>, order: u32| {
        orders.get(&order).cloned().ok_or_else(|| format!("order {order} was not placed"))
    };
    match step {
        Step::Exact => {}
        Step::Fund { account, dollars } => player.fund(account, &dollars),
        Step::Issue { symbol, account, shares } => player.issue(symbol, account, &shares),
        Step::Phase { symbol, phase } => player.change_phase(symbol, &phase),
        Step::Within { symbol, percent, by_pressure } => player.set_band(symbol, &percent, by_pressure),
        Step::Place { account, bond, orders: asked } => {
            let terms: Vec<&Order> = asked.iter().map(|(order, _)| order).collect();
            let answer = player.place(account, bond, &terms);
            let slots: Option<Vec<u32>> = asked.iter().map(|(_, slot)| *slot).collect();
            match (answer, slots) {
                (Ok(ids), Some(slots)) => {
                    let is_known = |id: &String| orders.values().any(|order| order.id == *id);
                    if ids.len() != slots.len() || ids.iter().any(is_known) {
                        return Err(format!("placed as {ids:?}, and each order has an id of its own"));
                    }
                    let placed = ids.into_iter().zip(asked).map(|(id, (order, _))| Placed { id, order });
                    orders.extend(slots.into_iter().zip(placed));
                }
                (Err(_), None) => {}
                (Ok(ids), None) => return Err(format!("placed as {ids:?}")),
                (Err(Refused(why)), Some(_)) => return Err(format!("refused: {why}")),
            }
        }
        Step::Query { account, order, expected } => {
            let order = known(orders, order)?;
            compare(&expected, player.query(account, &order))?;
        }
        Step::Cancel { account, order, expected } => {
            let order = known(orders, order)?;
            compare(&expected, player.cancel(account, &order))?;
        }
        Step::Amend { account, order, shares, is_accepted } => {
            let order = known(orders, order)?;
            match player.amend(account, &order, &shares) {
                Ok(()) if !is_accepted => return Err("amended".to_owned()),
                Err(Refused(why)) if is_accepted => return Err(format!("refused: {why}")),
                Ok(()) | Err(_) => {}
            }
        }
        Step::HasMoney { account, dollars } => {
            player.issue(PROBE, account, "1");
            let order = |price: &str| Order::limit(Side::Buy, "1", PROBE, price);
            has(player, account, &dollars, order(&dollars), order(&plus(&dollars, LEAST)))?;
        }
        Step::HasShares { account, shares, symbol } => {
            let order = |shares: &str| Order::limit(Side::Sell, shares, symbol, DEAR);
            has(player, account, &shares, order(&shares), order(&plus(&shares, LEAST)))?;
        }
    }
    Ok(())
}

/// Checks that one order is just possible, takes it back, and checks that the next larger one is refused.
fn has(player: &mut impl Player, account: char, amount: &str, order: Order, larger: Order) -> Result<(), String> {
    if canonical(amount).as_deref() != Some("0") {
        let ids =
            player.place(account, Bond::Alone, &[&order]).map_err(|Refused(why)| format!("it has less: {why}"))?;
        let id = ids.into_iter().next().ok_or("an order without an id")?;
        let placed = Placed { id, order };
        player.cancel(account, &placed).map_err(|Refused(why)| format!("the order that shows it stays: {why}"))?;
    }
    match player.place(account, Bond::Alone, &[&larger]) {
        Ok(_) => Err("it has more".to_owned()),
        Err(_) => Ok(()),
    }
}

/// Compares a status. Errors: the answer, if it differs.
fn compare(expected: &Outcome, answer: Answer<OrderStatus>) -> Result<(), String> {
    match (expected, answer) {
        (Outcome::Refused, Err(_)) => Ok(()),
        (Outcome::Parts(parts), Ok(status)) if is_status(parts, &status) => Ok(()),
        (Outcome::Refused | Outcome::Parts(_), Ok(status)) => {
            Err(status.iter().map(Part::to_string).collect::<Vec<_>>().join(", "))
        }
        (Outcome::Parts(_), Err(Refused(why))) => Err(format!("refused: {why}")),
    }
}

/// Whether a status has these parts and no others, with the executions in this order.
fn is_status(expected: &[Part], status: &[Part]) -> bool {
    let parted = |parts: &[Part]| -> (Vec<Part>, Vec<Part>) {
        parts.iter().cloned().partition(|part| matches!(part, Part::Executed { .. }))
    };
    let ((expected, others), (executed, came)) = (parted(expected), parted(status));
    let are_equal = |left: &[Part], right: &[Part]| {
        left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_part(left, right))
    };
    are_equal(&expected, &executed) && are_equal(&others, &came)
}

/// Whether a part is the expected one. A tip that is not asked for may be told.
fn is_part(expected: &Part, came: &Part) -> bool {
    let same = |left: &str, right: &str| canonical(left).is_some() && canonical(left) == canonical(right);
    match (expected, came) {
        (Part::Open { shares, shown }, Part::Open { shares: open, shown: tip }) => {
            same(shares, open)
                && shown.as_deref().is_none_or(|shown| tip.as_deref().is_some_and(|tip| same(shown, tip)))
        }
        (Part::Waits { shares, price }, Part::Waits { shares: open, price: stop }) => {
            same(shares, open) && same(price, stop)
        }
        (Part::Pends { shares }, Part::Pends { shares: open }) => same(shares, open),
        (Part::Canceled { shares }, Part::Canceled { shares: canceled }) => same(shares, canceled),
        (Part::Executed { shares, price }, Part::Executed { shares: executed, price: at }) => {
            same(shares, executed) && same(price, at)
        }
        (
            Part::Open { .. } | Part::Waits { .. } | Part::Pends { .. } | Part::Canceled { .. } | Part::Executed { .. },
            _,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A market in which every order is opened and open whole; the number of orders so far.
    #[derive(Default)]
    struct Yes(usize);

    impl Player for Yes {
        fn begin(&mut self, _: usize) {}
        fn fund(&mut self, _: char, _: &str) {}
        fn issue(&mut self, _: char, _: char, _: &str) {}
        fn change_phase(&mut self, _: char, _: &str) {}
        fn set_band(&mut self, _: char, _: &str, _: bool) {}
        fn place(&mut self, _: char, _: Bond, orders: &[&Order]) -> Answer<Vec<String>> {
            let first = self.0;
            self.0 += orders.len();
            Ok((first..self.0).map(|id| id.to_string()).collect())
        }
        fn query(&mut self, _: char, order: &Placed) -> Answer<OrderStatus> {
            Ok(vec![Part::Open { shares: order.order.shares().unwrap_or("1").to_owned(), shown: None }])
        }
        fn cancel(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
            self.query(account, order)
        }
        fn amend(&mut self, _: char, _: &Placed, _: &str) -> Answer<()> {
            Ok(())
        }
    }

    #[test]
    fn no_scenario_holds_for_a_market_that_agrees_to_everything() {
        let all = FILES.iter().flat_map(File::scenarios);
        let held: Vec<&str> =
            all.filter(|scenario| play(&mut Yes::default(), scenario).is_ok()).map(|held| held.name).collect();
        let expected = ["match-incompatible", "match-symbols-apart", "order-ids-differ", "query-open"];
        assert_eq!(held, expected, "only orders that do not meet are open");
    }

    #[test]
    fn a_failure_names_its_line_and_what_came() {
        let scenario = FILES.iter().flat_map(File::scenarios).find(|scenario| scenario.name == "match-older-buy");
        let failure = play(&mut Yes::default(), &scenario.expect("it is there")).expect_err("nothing executes there");
        let text = failure.to_string();
        let line = format!("{}:{}: match-older-buy: ", failure.path, failure.line);
        assert!(text.starts_with(&line), "{text}");
        assert!(text.ends_with("expected `A query 1: executed 10 @ 10`, and what came is: open 10"), "{text}");
        let lines = include_str!("../cases/matching.txt").lines().collect::<Vec<_>>();
        assert_eq!(lines[failure.line - 1], "A query 1: executed 10 @ 10");
    }

    #[test]
    fn amounts_are_compared_by_value() {
        let open = |shares: &str, shown: Option<&str>| Part::Open {
            shares: shares.to_owned(),
            shown: shown.map(str::to_owned),
        };
        let at = |price: &str| Part::Executed { shares: "1".to_owned(), price: price.to_owned() };
        assert!(is_status(&[open("4", None), at("10")], &[at("10.00000000"), open("4.0", Some("2"))]));
        assert!(!is_status(&[open("4", Some("2"))], &[open("4", None)]), "an asked tip is told");
        assert!(!is_status(&[at("1"), at("2")], &[at("2"), at("1")]), "executions have an order");
        assert!(!is_status(&[open("4", None)], &[open("4", None), at("1")]), "nothing comes beside it");
        assert!(!is_status(&[Part::Pends { shares: "4".to_owned() }], &[open("4", None)]));
    }
}
