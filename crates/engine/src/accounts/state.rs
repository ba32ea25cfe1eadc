//! Accounts with their balances, and the positions of each in each symbol. Knows nothing of orders.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slots::SpreadTable;
use terms::{AccountId, AccountIndex, Money, Position, Symbol, SymbolIndex};

/// An account with its balance: its money less the money that its open buys hold.
#[derive(Clone, Copy)]
pub(crate) struct Account {
    pub(crate) id: AccountId,
    pub(crate) balance: Money,
}

/// All accounts, by index and by id.
pub(crate) struct Accounts {
    list: Vec<Account>,
    by_id: SpreadTable<u32>,
    hasher: FixedState,
    /// The entries that moved because a part of the table grew.
    #[cfg(test)]
    moved: std::cell::Cell<usize>,
}

impl Accounts {
    pub(crate) fn new(hasher: FixedState) -> Accounts {
        Accounts {
            list: Vec::new(),
            by_id: SpreadTable::default(),
            hasher,
            #[cfg(test)]
            moved: std::cell::Cell::new(0),
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.list.len() < u32::MAX as usize
    }

    #[inline(always)]
    pub(crate) fn find(&self, id: AccountId) -> Option<AccountIndex> {
        let hash = self.hasher.hash_one(id);
        let same = |&index: &u32| self.list[index as usize].id == id;
        self.by_id.of(hash).find(hash, same).map(|&index| AccountIndex(index))
    }

    /// Adds an account that `find` does not know.
    pub(crate) fn create(&mut self, id: AccountId, balance: Money) -> AccountIndex {
        let index = u32::try_from(self.list.len()).expect("invariant: has_room was asked");
        self.list.push(Account { id, balance });
        let hash = self.hasher.hash_one(id);
        self.by_id.of_mut(hash).insert_unique(hash, index, |&other| {
            #[cfg(test)]
            self.moved.set(self.moved.get().saturating_add(1));
            self.hasher.hash_one(self.list[other as usize].id)
        });
        AccountIndex(index)
    }

    pub(crate) fn get(&self, account: AccountIndex) -> &Account {
        &self.list[account.0 as usize]
    }

    /// Adds to a balance and returns the new one.
    pub(crate) fn credit(&mut self, account: AccountIndex, money: Money) -> Money {
        let balance = &mut self.list[account.0 as usize].balance;
        *balance = balance.plus(money);
        *balance
    }

    /// Takes from a balance that holds at least as much.
    pub(crate) fn debit(&mut self, account: AccountIndex, money: Money) {
        let balance = &mut self.list[account.0 as usize].balance;
        *balance = balance.minus(money);
        assert!(!balance.is_negative(), "invariant: no balance is negative");
    }

    /// All accounts by index.
    pub(crate) fn all(&self) -> &[Account] {
        &self.list
    }
}

/// Shares that accounts may sell, by account and symbol. A pair without an entry has none, and no entry has none.
pub(crate) struct Positions {
    table: SpreadTable<Holding>,
    hasher: FixedState,
}

/// Halves of an i128, so that a holding takes 24 bytes and not 32.
#[derive(Clone, Copy)]
struct Holding {
    key: u64,
    low: u64,
    high: i64,
}

impl Holding {
    fn shares(&self) -> Position {
        Position::from_units((i128::from(self.high) << 64) | i128::from(self.low))
    }

    fn set(&mut self, shares: Position) {
        let units = shares.units();
        self.low = units as u64;
        self.high = (units >> 64) as i64;
    }
}

fn key(account: AccountIndex, symbol: SymbolIndex) -> u64 {
    (u64::from(account.0) << 32) | u64::from(symbol.0)
}

impl Positions {
    pub(crate) fn new(hasher: FixedState) -> Positions {
        Positions { table: SpreadTable::default(), hasher }
    }

    pub(crate) fn get(&self, account: AccountIndex, symbol: SymbolIndex) -> Position {
        self.find(key(account, symbol)).map_or(Position::ZERO, Holding::shares)
    }

    /// Reads the memory where a position is.
    pub(crate) fn touch(&self, account: AccountIndex, symbol: SymbolIndex) -> u64 {
        self.find(key(account, symbol)).map_or(0, |holding| holding.low)
    }

    #[inline(always)]
    fn find(&self, key: u64) -> Option<&Holding> {
        let hash = self.hasher.hash_one(key);
        self.table.of(hash).find(hash, |holding| holding.key == key)
    }

    /// Adds to a position and returns the new one.
    pub(crate) fn credit(&mut self, account: AccountIndex, symbol: SymbolIndex, shares: Position) -> Position {
        if shares == Position::ZERO {
            return self.get(account, symbol);
        }
        let key = key(account, symbol);
        let hasher = &self.hasher;
        let hash = hasher.hash_one(key);
        let mut entry = self
            .table
            .of_mut(hash)
            .entry(hash, |holding| holding.key == key, |holding| hasher.hash_one(holding.key))
            .or_insert(Holding { key, low: 0, high: 0 });
        let holding = entry.get_mut();
        let total = holding.shares().plus(shares);
        holding.set(total);
        total
    }

    /// Takes shares from a position if it has as many, and returns the position before; a position without shares is
    /// forgotten. Error: the position, if it has too few.
    #[inline(always)]
    pub(crate) fn debit(
        &mut self,
        account: AccountIndex,
        symbol: SymbolIndex,
        shares: Position,
    ) -> Result<Position, Position> {
        let key = key(account, symbol);
        let hash = self.hasher.hash_one(key);
        let holding = self.table.of_mut(hash).find_entry(hash, |holding| holding.key == key);
        let Ok(mut holding) = holding else { return Err(Position::ZERO) };
        let available = holding.get().shares();
        if available < shares {
            return Err(available);
        }
        if available == shares {
            holding.remove();
        } else {
            holding.get_mut().set(available.minus(shares));
        }
        Ok(available)
    }

    /// All positions, by account and then symbol.
    pub(crate) fn sorted(&self) -> Vec<(AccountIndex, SymbolIndex, Position)> {
        let mut all: Vec<&Holding> = self.table.iter().collect();
        all.sort_unstable_by_key(|holding| holding.key);
        all.into_iter()
            .map(|holding| {
                let (account, symbol) = ((holding.key >> 32) as u32, holding.key as u32);
                (AccountIndex(account), SymbolIndex(symbol), holding.shares())
            })
            .collect()
    }
}

/// A symbol and the shares that the market has of it: those that were issued, without withdrawn ones.
#[derive(Clone, Copy)]
pub(crate) struct Listing {
    pub(crate) name: Symbol,
    pub(crate) issued: Position,
}

/// All symbols, by index and by name.
pub(crate) struct Symbols {
    list: Vec<Listing>,
    by_name: HashTable<u32>,
    hasher: FixedState,
}

impl Symbols {
    pub(crate) fn new(hasher: FixedState) -> Symbols {
        Symbols { list: Vec::new(), by_name: HashTable::new(), hasher }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.list.len() < u32::MAX as usize
    }

    pub(crate) fn find(&self, name: Symbol) -> Option<SymbolIndex> {
        let hash = self.hasher.hash_one(name);
        self.by_name.find(hash, |&index| self.list[index as usize].name == name).map(|&index| SymbolIndex(index))
    }

    /// Adds a symbol that `find` does not know.
    pub(crate) fn create(&mut self, name: Symbol, issued: Position) -> SymbolIndex {
        let index = u32::try_from(self.list.len()).expect("invariant: has_room was asked");
        self.list.push(Listing { name, issued });
        let (list, hasher) = (&self.list, &self.hasher);
        self.by_name.insert_unique(hasher.hash_one(name), index, |&other| hasher.hash_one(list[other as usize].name));
        SymbolIndex(index)
    }

    pub(crate) fn get(&self, symbol: SymbolIndex) -> &Listing {
        &self.list[symbol.0 as usize]
    }

    pub(crate) fn issue(&mut self, symbol: SymbolIndex, shares: Position) {
        let listing = &mut self.list[symbol.0 as usize];
        listing.issued = listing.issued.plus(shares);
    }

    /// Takes shares that were issued out of the market.
    pub(crate) fn redeem(&mut self, symbol: SymbolIndex, shares: Position) {
        let listing = &mut self.list[symbol.0 as usize];
        listing.issued = listing.issued.minus(shares);
        assert!(!listing.issued.is_negative(), "invariant: no more shares are withdrawn than were issued");
    }

    /// All symbols by index.
    pub(crate) fn all(&self) -> &[Listing] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of all accounts doubled whole, and every request waited for that: 0.1 s at a million.
    #[test]
    fn no_new_account_moves_more_than_a_part_of_the_others() {
        let mut accounts = Accounts::new(FixedState::with_seed(7));
        let mut most = 0;
        for number in 0..200_000u32 {
            let id = AccountId::parse(number.to_string().as_bytes()).expect("a number is an id");
            accounts.moved.set(0);
            assert_eq!((accounts.find(id), accounts.create(id, Money::ZERO)), (None, AccountIndex(number)));
            most = most.max(accounts.moved.get());
        }
        assert!((1..5_000).contains(&most), "{most}");
    }

    #[test]
    fn a_position_without_shares_takes_no_memory() {
        let mut positions = Positions::new(FixedState::default());
        let (account, shares) = (AccountIndex(7), Position::from_units(5));
        for symbol in (0..1_000).map(SymbolIndex) {
            positions.credit(account, symbol, shares);
            assert_eq!(positions.debit(account, symbol, Position::from_units(2)), Ok(shares));
            assert_eq!(positions.debit(account, symbol, Position::from_units(4)), Err(Position::from_units(3)));
            assert_eq!(positions.debit(account, symbol, Position::from_units(3)), Ok(Position::from_units(3)));
            assert_eq!(positions.get(account, symbol), Position::ZERO);
            assert_eq!(positions.credit(account, symbol, Position::ZERO), Position::ZERO);
            assert_eq!(positions.table.iter().count(), 0);
        }
    }
}
