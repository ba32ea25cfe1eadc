//! Names in cases: `{A}` to `{H}` are accounts, `{S}` to `{Z}` symbols, `{1}`, `{2}` … orders. Accounts and symbols are
//! made up at their first use, so a case works with a server that already has a past; orders are learnt from its
//! replies.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use scenarios::is_account;

/// A source of numbers that no earlier run is likely to have used.
pub struct Fresh(u64);

impl Fresh {
    /// Makes a source seeded by the operating system.
    pub fn new() -> Fresh {
        Fresh(RandomState::new().build_hasher().finish())
    }

    fn number(&mut self) -> u64 {
        // SplitMix64 makes numbers that differ from those of the last run.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// An account number of ten digits, which fits also a server that keeps it in 32 bits.
    pub fn account(&mut self) -> String {
        (1_000_000_000 + self.number() % 1_147_483_647).to_string()
    }

    /// A symbol of ten capitals and digits.
    pub fn symbol(&mut self) -> String {
        const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let mut number = self.number();
        let mut symbol = String::from("CK");
        for _ in 0..8 {
            symbol.push(char::from(LETTERS[(number % 32) as usize]));
            number /= 32;
        }
        symbol
    }
}

/// The names of one case, and their values.
pub struct Names {
    fresh: Fresh,
    made_up: BTreeMap<char, String>,
    orders: BTreeMap<u32, String>,
}

impl Names {
    /// Makes an empty list.
    pub fn new(fresh: Fresh) -> Names {
        Names { fresh, made_up: BTreeMap::new(), orders: BTreeMap::new() }
    }

    /// The account or symbol of this letter.
    pub fn of(&mut self, letter: char) -> String {
        let fresh = &mut self.fresh;
        let name = self.made_up.entry(letter);
        name.or_insert_with(|| if is_account(letter) { fresh.account() } else { fresh.symbol() }).clone()
    }

    /// A symbol that nothing else knows.
    pub fn fresh_symbol(&mut self) -> String {
        self.fresh.symbol()
    }

    /// The id that the server gave this order, if it did.
    pub fn order(&self, slot: u32) -> Option<&str> {
        self.orders.get(&slot).map(String::as_str)
    }

    /// Notes the id that the server gave an order. Errors: an empty id, or that of another order of the case.
    pub fn learn(&mut self, slot: u32, id: &str) -> Result<(), String> {
        if id.trim().is_empty() {
            return Err("the order's id is empty".to_string());
        }
        if self.orders.values().any(|known| known == id) {
            return Err(format!("the id {id} was given to two orders"));
        }
        self.orders.insert(slot, id.to_string());
        Ok(())
    }

    /// Puts the names into a template. An order that was not learnt yet stays as it is.
    pub fn fill(&mut self, template: &str) -> String {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                rest = after;
                break;
            };
            match (name.parse::<u32>(), name.chars().next()) {
                (Ok(slot), _) => filled.push_str(self.order(slot).unwrap_or("{unknown order}")),
                (Err(_), Some(letter)) => filled.push_str(&self.of(letter)),
                (Err(_), None) => filled.push_str("{}"),
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_the_same_within_a_case_and_orders_are_learnt() {
        let mut names = Names::new(Fresh::new());
        assert_eq!(names.fill("{A} {A}"), format!("{0} {0}", names.of('A')));
        assert_ne!(names.of('A'), names.of('B'));
        assert_ne!(names.of('S'), names.of('T'));
        assert_eq!(names.learn(1, "17"), Ok(()));
        assert_eq!(names.learn(2, "17"), Err("the id 17 was given to two orders".to_string()));
        assert!(names.learn(3, "").is_err());
        assert_eq!(names.fill("<query id=\"{1}\"/>"), "<query id=\"17\"/>");
    }

    #[test]
    fn made_up_names_are_ones_that_any_server_takes() {
        let mut fresh = Fresh::new();
        for _ in 0..1000 {
            let account = fresh.account();
            assert!(account.len() == 10 && account.parse::<i32>().is_ok(), "{account}");
            let symbol = fresh.symbol();
            assert!(symbol.len() == 10 && symbol.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{symbol}");
        }
    }
}
