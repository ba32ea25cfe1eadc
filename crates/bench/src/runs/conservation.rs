//! Checks that the money and the shares of a stopped server are those that were created: trading makes and loses
//! nothing.

use std::process::Command;

use serde_json::Value;

use super::fresh::Fresh;
use crate::loads::IssuedTotals;
use crate::machine::program;
use crate::records::Conservation;

/// Asks `pricetime state` for the sums of a market.
pub fn check(market: &Fresh, issued: &IssuedTotals) -> Conservation {
    match state(market).and_then(|state| compare(&state, issued)) {
        Ok(()) => Conservation::Holds,
        Err(what) => Conservation::Broken(what),
    }
}

fn state(market: &Fresh) -> Result<Value, String> {
    let mut command = Command::new(program::server()?);
    command.args(["state", "--format", "json", "--totals"]);
    market.tell_reader(&mut command);
    let output = command.output().map_err(|error| format!("pricetime state: {error}"))?;
    if !output.status.success() {
        return Err(format!("pricetime state failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("pricetime state: {error}"))
}

/// Compares the sums. Errors: the difference.
fn compare(state: &Value, issued: &IssuedTotals) -> Result<(), String> {
    let totals = &state["totals"];
    let [money, balance, held] = ["money", "balance", "held"].map(|name| hundred_millionths(&totals[name]));
    let expected = issued.dollars * SCALE;
    if money? != expected || balance? + held? != expected {
        let [money, balance, held] = ["money", "balance", "held"].map(|name| totals[name].to_string());
        return Err(format!(
            "{} dollars were created, and there are {money}: {balance} and {held} held",
            issued.dollars
        ));
    }
    let symbols = totals["symbols"].as_array().ok_or("pricetime state lists no symbols")?;
    if symbols.len() != issued.shares.len() {
        return Err(format!("{} symbols were created, and there are {}", issued.shares.len(), symbols.len()));
    }
    for symbol in symbols {
        let name = symbol["symbol"].as_str().unwrap_or_default();
        let created = issued.shares.get(name).ok_or_else(|| format!("nobody created the symbol {name}"))?;
        let [all, free, held] = ["issued", "shares", "held"].map(|name| hundred_millionths(&symbol[name]));
        if all? != created * SCALE || free? + held? != created * SCALE {
            return Err(format!("{created} shares of {name} were created, and there are {symbol}"));
        }
    }
    Ok(())
}

/// Decimals of an amount, at most.
const DECIMALS: usize = 8;
const SCALE: u128 = 100_000_000;

/// Reads a printed amount exactly.
fn hundred_millionths(amount: &Value) -> Result<u128, String> {
    let wrong = || format!("pricetime state prints {amount} for an amount");
    let text = amount.as_str().ok_or_else(wrong)?;
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    // Products of a price and an amount have up to 16 decimals; those behind the eighth come in pairs that cancel out.
    let (decimals, rest) = decimals.split_at(decimals.len().min(DECIMALS));
    if !rest.bytes().all(|digit| digit == b'0') {
        return Err(wrong());
    }
    format!("{whole}{decimals:0<DECIMALS$}").parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(balance: &str, shares: &str) -> Value {
        let symbol = serde_json::json!({ "symbol": "SYM0", "issued": "10", "shares": shares, "held": "3" });
        serde_json::json!({ "totals": { "money": "100", "balance": balance, "held": "0.25", "symbols": [symbol] } })
    }

    #[test]
    fn what_trading_made_or_lost_is_noticed() {
        let issued = IssuedTotals { dollars: 100, shares: [("SYM0".to_string(), 10)].into() };
        assert_eq!(compare(&state("99.75", "7"), &issued), Ok(()));
        assert!(compare(&state("99.76", "7"), &issued).is_err_and(|what| what.contains("100 dollars")));
        assert!(compare(&state("99.75", "8"), &issued).is_err_and(|what| what.contains("10 shares")));
        let more = IssuedTotals { dollars: 101, ..issued.clone() };
        assert!(compare(&state("99.75", "7"), &more).is_err());
        assert!(compare(&state("99.75", "7"), &IssuedTotals { dollars: 100, ..IssuedTotals::default() }).is_err());
    }
}
