//! Done orders as bytes: their facts without their ids. This file does not know in which file they are. Source:
//! docs/HISTORY.md, earlier orders.

use terms::{Cancellation, DoneOrder, Execution, Fee, OrderId, Time};

use crate::field::Field;
use crate::varint::{CodecError, put_u64, take_u64};

/// Appends an order's fields without its id.
pub fn encode_order(done: &DoneOrder, out: &mut Vec<u8>) {
    done.account.put(out);
    done.canceled.map(|canceled| canceled.shares).put(out);
    if let Some(Cancellation { shares: _, time }) = done.canceled {
        time.put(out);
    }
    put_u64(out, done.executions.len() as u64);
    let mut before = 0u64;
    for execution in &done.executions {
        execution.shares.put(out);
        execution.price.put(out);
        // Executions follow each other in time, so the difference is short.
        put_u64(out, execution.time.0.wrapping_sub(before));
        before = execution.time.0;
    }
    if done.executions.iter().any(|execution| !execution.fee.is_none()) {
        done.executions.iter().for_each(|execution| execution.fee.put(out));
    }
}

/// Reads an order's fields.
pub fn decode_order(order: OrderId, fields: &[u8]) -> Result<DoneOrder, CodecError> {
    let bytes = &mut &*fields;
    let account = Field::take(bytes)?;
    let canceled = match Field::take(bytes)? {
        None => None,
        Some(shares) => Some(Cancellation { shares, time: Field::take(bytes)? }),
    };
    let count = take_u64(bytes)?;
    // A corrupt count may be any number; an execution takes at least three bytes.
    let count = usize::try_from(count).ok().filter(|count| *count <= bytes.len() / 3);
    let count = count.ok_or(CodecError::OutOfBounds("executions"))?;
    let mut executions = Vec::with_capacity(count);
    let mut before = 0u64;
    for _ in 0..count {
        let (shares, price) = (Field::take(bytes)?, Field::take(bytes)?);
        before = before.wrapping_add(take_u64(bytes)?);
        executions.push(Execution { shares, price, time: Time(before), fee: Fee::NONE });
    }
    if !bytes.is_empty() {
        for execution in &mut executions {
            execution.fee = Field::take(bytes)?;
        }
        if executions.iter().all(|execution| execution.fee.is_none()) {
            return Err(Fee::fault());
        }
    }
    if !bytes.is_empty() {
        return Err(CodecError::TrailingBytes);
    }
    Ok(DoneOrder { order, account, canceled, executions })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use terms::{AccountId, Price, Shares};

    fn done() -> impl Strategy<Value = DoneOrder> {
        let shares = || (1..=i64::MAX).prop_map(|units| Shares::from_units(units).unwrap());
        let fee =
            prop_oneof![3 => Just(Fee::NONE), 1 => (0u32..=1_000_000).prop_map(|code| Fee::from_code(code).unwrap())];
        let execution = (shares(), 1..=i64::MAX, any::<u64>(), fee).prop_map(|(shares, price, time, fee)| Execution {
            shares,
            price: Price::from_units(price).unwrap(),
            time: Time(time),
            fee,
        });
        let canceled = proptest::option::of((shares(), any::<u64>()))
            .prop_map(|canceled| canceled.map(|(shares, time)| Cancellation { shares, time: Time(time) }));
        let account = "[0-9]{1,32}".prop_map(|text| AccountId::parse(text.as_bytes()).unwrap());
        (any::<u64>(), account, canceled, proptest::collection::vec(execution, 0..9)).prop_map(
            |(order, account, canceled, executions)| DoneOrder { order: OrderId(order), account, canceled, executions },
        )
    }

    proptest! {
        #[test]
        fn orders_come_back(done in done()) {
            let mut bytes = Vec::new();
            encode_order(&done, &mut bytes);
            prop_assert_eq!(decode_order(done.order, &bytes), Ok(done));
        }

        #[test]
        fn fields_that_are_none_are_refused_without_a_panic(fields in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode_order(OrderId(1), &fields);
        }
    }
}
