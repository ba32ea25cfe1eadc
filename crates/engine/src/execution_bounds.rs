//! How often commands execute, at most. The numbers are part of what commands mean: with others the same commands make
//! another market.

/// Executions that one command comes to, at most, with all that it activates; an order that would go on is under way
/// then, and an auction goes on, and commands of the loop continue them. An order of its own account that one meets, and
/// does not execute with, counts as one.
pub const EXECUTIONS_MAX: u32 = 10_000;

/// How often one command executes, and the commands of one turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionBounds {
    /// Executions of one command, see [`EXECUTIONS_MAX`].
    pub command: u32,
    /// Executions that the commands of one market time come to before each may have no more than `small`. The commands
    /// of a turn of the loop have one time, those of a request among them. An `ActivateReached` gives them all anew, so
    /// that orders execute where time stands still, and it and an `EndAuction` may always have those of a command:
    /// what others began goes on whatever else comes.
    pub turn: u32,
    /// Executions that any command may have. No more than `command`.
    pub small: u32,
}

impl ExecutionBounds {
    /// The bounds of every exchange.
    pub const ALL: ExecutionBounds = ExecutionBounds { command: EXECUTIONS_MAX, turn: 100_000, small: 10 };

    /// Bounds in which each command may execute so often, whatever others did: for tests.
    pub const fn of_command(command: u32) -> ExecutionBounds {
        ExecutionBounds { command, turn: u32::MAX, small: 0 }
    }
}
