//! The bounds of commands' executions. The numbers are part of what commands mean: with other numbers the same commands
//! make another market.

/// The most executions that one command makes, with everything that it activates; an `ActivateReached` makes as many
/// again for one fill-or-kill (see `share`). An order that would go on is then under way, and an auction goes on;
/// commands of the loop continue both. A resting order of the own account counts as one execution when the order meets
/// it and does not execute with it, and so does each trigger price that an execution reaches, and each order whose
/// following it ends. Each auction that ends counts as one, and so does each kill that it asks for orders.
pub const EXECUTIONS_MAX: u32 = 10_000;

/// The bounds of the executions of one command, and of the commands of one turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionBounds {
    /// Executions of one command, see [`EXECUTIONS_MAX`].
    pub command: u32,
    /// Executions of the commands of one market time, after which each further one may make no more than `small`. The
    /// commands of a turn of the loop have one time, and so have those of a request. An `ActivateReached` resets the
    /// count, so that orders execute also if time stands still. An `ActivateReached` or an `EndAuction` may always make
    /// the executions of a whole command: what other commands began goes on whatever else comes.
    pub turn: u32,
    /// Executions that every command may make. At most `command`.
    pub small: u32,
    /// Executions after which an order that an `ActivateReached` goes on with, or brings to its book, goes behind those
    /// of other symbols: an order with few executions left does not wait for all of one with many. Not zero. One
    /// fill-or-kill of a command that may need more has as many executions as a command besides, so that an
    /// `ActivateReached` executes at most twice `command`.
    pub share: u32,
    /// Turns of the commands of one market time, after which each further one takes no more than 100. A turn is that of
    /// an order that waited behind others; an order that is activated, or that looks at others before it executes,
    /// counts as ten.
    pub turns: u32,
}

impl ExecutionBounds {
    /// The bounds of every exchange.
    pub const ALL: ExecutionBounds =
        ExecutionBounds { command: EXECUTIONS_MAX, turn: 25_000, small: 5, share: 100, turns: 100_000 };

    /// Bounds in which each command may make this many executions, whatever other commands did. For tests.
    pub const fn of_command(command: u32) -> ExecutionBounds {
        ExecutionBounds { command, turn: u32::MAX, small: 0, share: command, turns: u32::MAX }
    }
}
