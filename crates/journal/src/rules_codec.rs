//! Rules of a symbol as bytes: bits that say which rules are set, and then their amounts, integers as LEB128. Rules
//! have one encoding. This file does not know where they are written. Source: docs/JOURNAL.md, rules.

use terms::{AuctionTies, Distance, Money, Pause, SymbolRules};

use crate::fields::{put_amount, take_amount, take_price, take_shares};
use crate::varint::{CodecError, put_u64, take_u64};

const TICK: u64 = 1;
const LOT: u64 = 2;
const SHARES_MIN: u64 = 4;
const SHARES_MAX: u64 = 8;
const VALUE_MIN: u64 = 16;
const VALUE_MAX: u64 = 32;
const BAND_UP: u64 = 64;
const BAND_DOWN: u64 = 128;
const HALTED: u64 = 256;
/// The bit of the interruption, whose seconds are written.
const INTERRUPTION: u64 = 512;
/// The bits of the references that both bands have, of the static band and of its reference.
const BAND_SIZE: u64 = 1_024;
const STATIC_UP: u64 = 2_048;
const STATIC_DOWN: u64 = 4_096;
const REFERENCE: u64 = 8_192;
/// The bit of auctions that follow the pressure where prices are equally good.
const PRESSURE: u64 = 16_384;
const ALL: u64 = 32_767;

const NONE: SymbolRules = SymbolRules::NONE;

/// Appends rules. Panics if no order could obey them: once written, they could never be read again.
pub(crate) fn put_rules(out: &mut Vec<u8>, rules: &SymbolRules) {
    assert!(rules.check().is_ok(), "invariant: rules that no order could obey are refused by the parser");
    put_u64(out, bits(rules));
    if rules.tick != NONE.tick {
        put_u64(out, rules.tick.units().unsigned_abs());
    }
    for (shares, none) in
        [(rules.lot, NONE.lot), (rules.shares_min, NONE.shares_min), (rules.shares_max, NONE.shares_max)]
    {
        if shares != none {
            put_u64(out, shares.units().unsigned_abs());
        }
    }
    for (value, none) in [(rules.value_min, NONE.value_min), (rules.value_max, NONE.value_max)] {
        if value != none {
            put_amount(out, value.units());
        }
    }
    for distance in [rules.band_up, rules.band_down].into_iter().flatten() {
        put_u64(out, u64::from(distance.hundredths()));
    }
    if let Some(pause) = rules.interruption {
        put_u64(out, u64::from(pause.seconds()));
    }
    if rules.band_size != NONE.band_size {
        put_u64(out, rules.band_size.units().unsigned_abs());
    }
    for distance in [rules.static_up, rules.static_down].into_iter().flatten() {
        put_u64(out, u64::from(distance.hundredths()));
    }
    if let Some(reference) = rules.reference {
        put_u64(out, reference.units().unsigned_abs());
    }
}

/// Takes rules from the front of `bytes`. It never panics, whatever the bytes are.
pub(crate) fn take_rules(bytes: &mut &[u8]) -> Result<SymbolRules, CodecError> {
    let found = take_u64(bytes)?;
    if found & !ALL != 0 {
        return Err(CodecError::OutOfBounds("rules"));
    }
    let auction_ties = if found & PRESSURE != 0 { AuctionTies::Pressure } else { AuctionTies::Nearest };
    let mut rules = SymbolRules { is_halted: found & HALTED != 0, auction_ties, ..NONE };
    if found & TICK != 0 {
        rules.tick = take_price(bytes)?;
    }
    for (bit, shares) in
        [(LOT, &mut rules.lot), (SHARES_MIN, &mut rules.shares_min), (SHARES_MAX, &mut rules.shares_max)]
    {
        if found & bit != 0 {
            *shares = take_shares(bytes)?;
        }
    }
    for (bit, value) in [(VALUE_MIN, &mut rules.value_min), (VALUE_MAX, &mut rules.value_max)] {
        if found & bit != 0 {
            *value = Money::from_units(take_amount(bytes, "value")?);
        }
    }
    for (bit, distance) in [(BAND_UP, &mut rules.band_up), (BAND_DOWN, &mut rules.band_down)] {
        if found & bit != 0 {
            *distance = Some(take_distance(bytes)?);
        }
    }
    if found & INTERRUPTION != 0 {
        let seconds = u32::try_from(take_u64(bytes)?).ok();
        let pause = seconds.and_then(Pause::from_seconds).ok_or(CodecError::OutOfBounds("interruption"))?;
        rules.interruption = Some(pause);
    }
    if found & BAND_SIZE != 0 {
        rules.band_size = take_shares(bytes)?;
    }
    for (bit, distance) in [(STATIC_UP, &mut rules.static_up), (STATIC_DOWN, &mut rules.static_down)] {
        if found & bit != 0 {
            *distance = Some(take_distance(bytes)?);
        }
    }
    if found & REFERENCE != 0 {
        rules.reference = Some(take_price(bytes)?);
    }
    // The amount of a rule that is not set is never written.
    if bits(&rules) != found || rules.check().is_err() {
        return Err(CodecError::OutOfBounds("rules"));
    }
    Ok(rules)
}

/// The bits of the rules that are set.
fn bits(rules: &SymbolRules) -> u64 {
    let found = [
        (rules.tick != NONE.tick, TICK),
        (rules.lot != NONE.lot, LOT),
        (rules.shares_min != NONE.shares_min, SHARES_MIN),
        (rules.shares_max != NONE.shares_max, SHARES_MAX),
        (rules.value_min != NONE.value_min, VALUE_MIN),
        (rules.value_max != NONE.value_max, VALUE_MAX),
        (rules.band_up.is_some(), BAND_UP),
        (rules.band_down.is_some(), BAND_DOWN),
        (rules.is_halted, HALTED),
        (rules.interruption.is_some(), INTERRUPTION),
        (rules.band_size != NONE.band_size, BAND_SIZE),
        (rules.static_up.is_some(), STATIC_UP),
        (rules.static_down.is_some(), STATIC_DOWN),
        (rules.reference.is_some(), REFERENCE),
        (rules.auction_ties == AuctionTies::Pressure, PRESSURE),
    ];
    found.into_iter().filter(|(is_there, _)| *is_there).fold(0, |bits, (_, bit)| bits | bit)
}

fn take_distance(bytes: &mut &[u8]) -> Result<Distance, CodecError> {
    let hundredths = u32::try_from(take_u64(bytes)?).ok();
    hundredths.and_then(Distance::from_hundredths).ok_or(CodecError::OutOfBounds("price band"))
}
