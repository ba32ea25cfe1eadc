//! The roles, and the set of them that a member has.

/// A right of a member. A member may have several roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Does and reads everything.
    Operator,
    /// Creates accounts and symbols, and gives shares to accounts.
    Issuer,
    /// Places, amends and cancels orders of the accounts named, and reads these accounts.
    Trader,
    /// Reads the accounts named.
    Viewer,
    /// Reads everything.
    Auditor,
}

impl Role {
    pub const ALL: [Role; 5] = [Role::Operator, Role::Issuer, Role::Trader, Role::Viewer, Role::Auditor];

    /// The name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Role::Operator => "operator",
            Role::Issuer => "issuer",
            Role::Trader => "trader",
            Role::Viewer => "viewer",
            Role::Auditor => "auditor",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A set of roles: a bit each, in the order of [`Role::ALL`], so that a look at it follows no pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles(u8);

impl Roles {
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, role: Role) -> bool {
        self.0 & bit(role) != 0
    }

    /// Iterates over the roles in the order of [`Role::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.contains(*role))
    }
}

fn bit(role: Role) -> u8 {
    1 << role as u8
}

impl FromIterator<Role> for Roles {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> Roles {
        Roles(roles.into_iter().fold(0, |bits, role| bits | bit(role)))
    }
}

impl<const N: usize> From<[Role; N]> for Roles {
    fn from(roles: [Role; N]) -> Roles {
        roles.into_iter().collect()
    }
}
