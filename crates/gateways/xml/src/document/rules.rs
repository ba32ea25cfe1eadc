//! Parses the rules and the phase of a symbol from attributes. Source: docs/PROTOCOL.md, rules and phases.

use terms::{AuctionTies, Command, Phase, Rule, SymbolRules};

use super::fault::ChildFault;
use super::fields::{Fields, decimal, given, symbol};
use super::reader::Value;

const AMOUNTS: usize = Rule::ALL.len();
/// The number of attributes that rules may have.
pub(super) const RULES_FIELDS: usize = AMOUNTS + 3;

/// The attributes of a phase: the symbol, and its phase.
pub(super) const PHASE_NAMES: [&str; 2] = ["sym", "is"];

/// Returns the attributes: the symbol, the rules with an amount, the choice of auctions, and whether it trades.
pub(super) const fn rules_names() -> [&'static str; RULES_FIELDS] {
    let mut names = ["sym"; RULES_FIELDS];
    let mut at = 0;
    while at < AMOUNTS {
        names[at + 1] = Rule::ALL[at].name();
        at += 1;
    }
    names[RULES_FIELDS - 2] = "auction-ties";
    names[RULES_FIELDS - 1] = "trading";
    names
}

/// Reads the rules of a symbol. A missing value is no rule.
pub(super) fn rules_command<'a>(fields: &Fields<'a, RULES_FIELDS>) -> Result<Command, ChildFault<'a>> {
    fields.known("rules")?;
    let [sym, amounts @ .., ties, trading] = fields.values;
    let symbol = symbol(given(sym, "rules", "sym")?)?;
    let mut rules =
        SymbolRules { auction_ties: auction_ties(ties)?, is_halted: is_halted(trading)?, ..SymbolRules::NONE };
    for (rule, amount) in Rule::ALL.into_iter().zip(amounts) {
        let Some(amount) = amount else { continue };
        decimal(rule.name(), &amount.trimmed(), |amount| rules.set_amount(rule, amount))?;
    }
    rules.check().map_err(ChildFault::Rules)?;
    Ok(Command::ChangeRules { symbol, rules })
}

/// Reads the phase of a symbol.
pub(super) fn phase_command<'a>(fields: &Fields<'a, 2>) -> Result<Command, ChildFault<'a>> {
    let [sym, is] = fields.all("phase", &PHASE_NAMES)?;
    let named = |name: &[u8]| std::str::from_utf8(name).ok().and_then(Phase::named);
    let symbol = symbol(sym)?;
    let phase = named(&is.trimmed()).ok_or(ChildFault::Order("is must be open, halted or auction"))?;
    Ok(Command::ChangePhase { symbol, phase, due: None })
}

fn auction_ties(ties: Option<Value<'_>>) -> Result<AuctionTies, ChildFault<'static>> {
    let Some(ties) = ties else { return Ok(AuctionTies::Nearest) };
    let named = std::str::from_utf8(&ties.trimmed()).ok().and_then(AuctionTies::named);
    named.ok_or(ChildFault::Order("auction-ties must be nearest or pressure"))
}

fn is_halted(trading: Option<Value<'_>>) -> Result<bool, ChildFault<'static>> {
    let trading = trading.map(|trading| trading.trimmed());
    match trading.as_deref() {
        None => Ok(false),
        Some(value) if value == b"on" => Ok(false),
        Some(value) if value == b"off" => Ok(true),
        Some(_) => Err(ChildFault::Order("trading must be on or off")),
    }
}
