//! Groups of accounts of one owner: self-trade prevention treats them as one. `self_trade/apply.rs` decides what
//! happens to two such orders; `self_trade/groups.rs` changes and reads the groups. Followers of events keep them, too.

use std::collections::BTreeMap;
use std::fmt;

use crate::ids::AccountIndex;

/// The most digits of a group's number.
const DIGITS_MAX: usize = 9;

/// The number of an account's group. Two accounts in no group have nothing in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(u32);

impl Group {
    /// No group.
    pub const NONE: Group = Group(0);
    /// The highest number.
    pub const MAX: u32 = 999_999_999;

    /// The group with this number; none beyond the highest.
    pub fn new(number: u32) -> Option<Group> {
        (number <= Group::MAX).then_some(Group(number))
    }

    /// Reads the number of a group. Errors: a text that is no such number.
    pub fn parse(text: &[u8]) -> Result<Group, GroupError> {
        let digits = !text.is_empty() && text.len() <= DIGITS_MAX && text.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
        number.and_then(Group::new).ok_or(GroupError)
    }

    pub fn number(self) -> u32 {
        self.0
    }
}

/// A text that is no group. Its `Display` follows the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupError;

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is not a whole number from 0 to {}", Group::MAX)
    }
}

impl std::error::Error for GroupError {}

/// The groups of accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    of: BTreeMap<AccountIndex, Group>,
}

impl Groups {
    /// Puts no account into a group.
    pub fn new() -> Groups {
        Groups { of: BTreeMap::new() }
    }

    /// The group of an account.
    pub fn of(&self, account: AccountIndex) -> Group {
        self.of.get(&account).copied().unwrap_or(Group::NONE)
    }

    /// Moves an account to another group, or to none.
    pub fn set(&mut self, account: AccountIndex, group: Group) {
        match group {
            Group::NONE => self.of.remove(&account),
            group => self.of.insert(account, group),
        };
    }

    /// Whether two accounts are the same or in one group.
    #[inline]
    pub fn are_one(&self, one: AccountIndex, other: AccountIndex) -> bool {
        one == other || !self.of.is_empty() && self.share_one(one, other)
    }

    #[cold]
    fn share_one(&self, one: AccountIndex, other: AccountIndex) -> bool {
        self.of.get(&one).is_some_and(|group| self.of.get(&other) == Some(group))
    }

    /// All accounts in groups, by account.
    pub fn all(&self) -> impl Iterator<Item = (AccountIndex, Group)> {
        self.of.iter().map(|(&account, &group)| (account, group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_a_number_of_nine_digits() {
        assert_eq!(Group::parse(b"7").map(Group::number), Ok(7));
        assert_eq!(Group::parse(b"999999999").map(Group::number), Ok(Group::MAX));
        assert_eq!(Group::parse(b"000"), Ok(Group::NONE));
        for text in ["1000000000", "-1", "", "1.0", "+1"] {
            assert_eq!(Group::parse(text.as_bytes()), Err(GroupError), "{text}");
        }
        assert_eq!(GroupError.to_string(), "is not a whole number from 0 to 999999999");
    }

    #[test]
    fn accounts_of_no_group_have_nothing_in_common() {
        let [one, two, three] = [0, 1, 2].map(AccountIndex);
        let mut groups = Groups::new();
        assert!(groups.are_one(one, one) && !groups.are_one(one, two));
        let [mine, other] = [1, 2].map(|number| Group::new(number).expect("it is in bounds"));
        groups.set(one, mine);
        groups.set(three, other);
        assert!(!groups.are_one(one, two) && !groups.are_one(two, one) && !groups.are_one(one, three));
        groups.set(three, mine);
        assert!(groups.are_one(one, three) && groups.are_one(three, one) && !groups.are_one(two, three));
        groups.set(three, Group::NONE);
        assert!(!groups.are_one(one, three) && groups.of(three) == Group::NONE);
    }
}
