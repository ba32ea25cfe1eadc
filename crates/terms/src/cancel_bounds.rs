//! The bounds of commands that cancel orders without naming each of them. The numbers are part of what commands mean:
//! with other numbers the same commands make another market.

/// The most orders that one command ends when it does not name each of them: a kill, a cancel of all orders of an
/// account, a cancel on disconnect, or the end of deadlines. Orders that end with the last one of these, because they
/// were linked with it or waited for it, end as well. Further commands end the rest, so that nobody waits long. A kill
/// of a million orders took 0.30, 0.31 and 0.32 s in commands of 100, 1,000 and 10,000 orders. The longest commands
/// took 0.1, 0.5 and 3.9 ms (one run, `cargo bench -p engine --bench commands -- --only cancel-all`).
pub const CANCELS_MAX: usize = 1_000;

/// The bounds of the orders that one such command ends, and the commands of one turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelBounds {
    /// Orders that one command ends, see [`CANCELS_MAX`].
    pub command: usize,
    /// Orders that the commands of one market time end, after which each further one ends no more than `small`. The
    /// commands of a turn of the loop have one time, and so have those of a request. An `ExpireOrders` or an
    /// `EndAuction` may always end those of a whole command: what other commands began goes on whatever else comes.
    pub turn: usize,
    /// Orders that every command may end. At most `command`, and not zero.
    pub small: usize,
}

impl CancelBounds {
    /// The bounds of every exchange.
    pub const ALL: CancelBounds = CancelBounds { command: CANCELS_MAX, turn: 10_000, small: 100 };

    /// Bounds in which each command may end this many orders, whatever other commands did. For tests.
    pub const fn of_command(command: usize) -> CancelBounds {
        CancelBounds { command, turn: usize::MAX, small: command }
    }
}
