//! Parses fees and tiers from attributes. Source: docs/rules/FEES.md.

use terms::{Command, FeeRate, Fees, Tier};

use super::fault::ChildFault;
use super::fields::{Fields, account_id, decimal, given, symbol};
use super::reader::Value;

pub(super) const FEES_NAMES: [&str; 5] = ["sym", "tier", "maker", "taker", "account"];
pub(super) const TIER_NAMES: [&str; 2] = ["id", "tier"];

/// Reads the fees that a tier pays in a symbol. A missing rate is zero, and so is a missing tier.
pub(super) fn fees_command<'a>(fields: &Fields<'a, 5>) -> Result<Command, ChildFault<'a>> {
    fields.known("fees")?;
    let [sym, in_tier, maker, taker, account] = fields.values;
    let symbol = symbol(given(sym, "fees", "sym")?)?;
    let tier = in_tier.map_or(Ok(Tier::FIRST), tier)?;
    let (maker, taker) = (rate("maker", maker)?, rate("taker", taker)?);
    if maker == FeeRate::ZERO && taker == FeeRate::ZERO {
        account.map(account_id).transpose()?;
        return Ok(Command::ChangeFees { symbol, tier, fees: None });
    }
    let account = account_id(given(account, "fees", "account")?)?;
    Ok(Command::ChangeFees { symbol, tier, fees: Some(Fees { maker, taker, account }) })
}

/// Reads the tier of an account.
pub(super) fn tier_command<'a>(fields: &Fields<'a, 2>) -> Result<Command, ChildFault<'a>> {
    let [id, in_tier] = fields.all("tier", &TIER_NAMES)?;
    Ok(Command::ChangeTier { account: account_id(id)?, tier: tier(in_tier)? })
}

fn rate(name: &'static str, value: Option<Value<'_>>) -> Result<FeeRate, ChildFault<'static>> {
    value.map_or(Ok(FeeRate::ZERO), |value| decimal(name, &value.trimmed(), FeeRate::of))
}

fn tier(value: Value<'_>) -> Result<Tier, ChildFault<'static>> {
    Tier::parse(&value.trimmed()).map_err(ChildFault::Tier)
}
