//! Fees as bytes. This file does not know which command or state item has them.

use terms::{Fee, FeeRate, Tier};

use crate::varint::{CodecError, put_u64, take_u8, take_u64};

pub(crate) fn put_tier(out: &mut Vec<u8>, tier: Tier) {
    out.push(tier.number());
}

pub(crate) fn take_tier(bytes: &mut &[u8]) -> Result<Tier, CodecError> {
    Tier::new(take_u8(bytes)?).ok_or(CodecError::OutOfBounds("tier"))
}

/// Puts the maker's rate, and the taker's.
pub(crate) fn put_rates(out: &mut Vec<u8>, rates: [FeeRate; 2]) {
    rates.into_iter().for_each(|rate| put_u64(out, rate.millionths().into()));
}

pub(crate) fn take_rates(bytes: &mut &[u8]) -> Result<[FeeRate; 2], CodecError> {
    Ok([take_rate(bytes)?, take_rate(bytes)?])
}

fn take_rate(bytes: &mut &[u8]) -> Result<FeeRate, CodecError> {
    let rate = u32::try_from(take_u64(bytes)?).ok().and_then(FeeRate::from_millionths);
    rate.ok_or(CodecError::OutOfBounds("rate of a fee"))
}

pub(crate) fn put_fee(out: &mut Vec<u8>, fee: Fee) {
    put_u64(out, fee.code().into());
}

pub(crate) fn take_fee(bytes: &mut &[u8]) -> Result<Fee, CodecError> {
    u32::try_from(take_u64(bytes)?).ok().and_then(Fee::from_code).ok_or(CodecError::OutOfBounds("fee"))
}
