//! Client order ids in fewer bytes than characters. In the record of an order with a trigger, the trigger takes the
//! room that this saves, so that the records of all orders have one length.
//!
//! An id has 67 different characters, so ten of them make a number of 64 bits, and the last six one of 40.

use engine::{CLIENT_ORDER_ID_BYTES_MAX, ClientOrderId};

const CHARACTERS: &[u8; 67] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._:/-";
/// The characters and the bytes of a number. The last number has fewer of both.
const GROUP: usize = 10;
const GROUP_BYTES: usize = 8;
pub(crate) const PACKED_BYTES: usize = 3 * GROUP_BYTES + 5;
const _: () = assert!(CLIENT_ORDER_ID_BYTES_MAX == 3 * GROUP + 6);

/// Packs an id without its length.
pub(crate) fn pack(id: ClientOrderId) -> [u8; PACKED_BYTES] {
    let mut packed = [0; PACKED_BYTES];
    for (group, to) in id.as_bytes().chunks(GROUP).zip(packed.chunks_mut(GROUP_BYTES)) {
        let number = group.iter().rev().fold(0, |number: u64, byte| {
            let at = CHARACTERS.iter().position(|character| character == byte);
            number * 67 + at.expect("invariant: an id has no other characters") as u64
        });
        to.copy_from_slice(&number.to_le_bytes()[..to.len()]);
    }
    packed
}

/// Unpacks an id; none if no id of this length packs to these bytes.
pub(crate) fn unpack(length: usize, packed: &[u8; PACKED_BYTES]) -> Option<ClientOrderId> {
    let mut text = Vec::with_capacity(CLIENT_ORDER_ID_BYTES_MAX);
    for from in packed.chunks(GROUP_BYTES) {
        let mut bytes = [0; GROUP_BYTES];
        bytes[..from.len()].copy_from_slice(from);
        let mut number = u64::from_le_bytes(bytes);
        for _ in 0..GROUP.min(CLIENT_ORDER_ID_BYTES_MAX - text.len()) {
            text.push(CHARACTERS[(number % 67) as usize]);
            number /= 67;
        }
    }
    ClientOrderId::parse(text.get(..length)?).ok().filter(|id| pack(*id) == *packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_all_lengths_and_characters_come_back() {
        for length in 1..=CLIENT_ORDER_ID_BYTES_MAX {
            for first in 0..CHARACTERS.len() {
                let text: Vec<u8> = (0..length).map(|at| CHARACTERS[(first + at * 29) % CHARACTERS.len()]).collect();
                let id = ClientOrderId::parse(&text).expect("legal");
                assert_eq!(unpack(length, &pack(id)), Some(id));
            }
        }
        let last = ClientOrderId::parse(&[b'-'; CLIENT_ORDER_ID_BYTES_MAX]).expect("legal");
        assert_eq!(unpack(CLIENT_ORDER_ID_BYTES_MAX, &pack(last)), Some(last));
        assert_eq!(unpack(3, &pack(last)), None, "longer than it says");
        assert_eq!(unpack(37, &pack(last)), None);
    }
}
