//! Replies together with the executions that they refer to, so that tests can compare the engine with the model.

use terms::{Bond, Executed, Execution, Op, Reject, Reply, Status};

/// A reply with its executions beside it, so that tests can compare two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyWithExecutions {
    reply: Reply,
    executions: Vec<Execution>,
}

/// Completes an engine's reply with the executions that the engine does not keep: the first of `all`, which the history
/// has of the order. Panics if these do not add up to what the reply says.
pub fn completed(mut reply: Reply, executions: &mut Vec<Execution>, all: &[Execution]) -> Reply {
    if let Some((order, executed)) = reply.elsewhere() {
        let first = usize::try_from(executed.executions).ok().and_then(|count| all.get(..count));
        let first = first.unwrap_or_else(|| panic!("{executed:?} of order {order}, of which {} are known", all.len()));
        assert_eq!(Executed::of(first), executed, "what the first executions of order {order} come to");
        let start = executions.len();
        executions.extend_from_slice(first);
        if let Reply::Status(status) | Reply::Canceled(status) = &mut reply {
            (status.executions, status.elsewhere) = (start..executions.len(), None);
        }
    }
    reply
}

impl ReplyWithExecutions {
    /// Whether the command was refused.
    pub fn is_rejected(&self) -> bool {
        matches!(self.reply, Reply::Rejected(_))
    }

    /// Corrects the reply `before` this one, as the market's loop does: if `op`, with this reply, was to replace an
    /// order in one step and placed none, that order was kept.
    pub fn correct(&self, op: &Op, before: Option<&mut ReplyWithExecutions>) {
        let replaces = matches!(op, Op::Command(command) if command.bond() == Some(Bond::Replacing));
        let is_placed = matches!(self.reply, Reply::Opened(_) | Reply::Moved { is_new: true, .. });
        if let Some(before) = before.filter(|before| matches!(before.reply, Reply::Canceled(_)))
            && replaces
            && !is_placed
        {
            *before = ReplyWithExecutions::of(&Reply::Rejected(Reject::Kept), &[]);
        }
    }

    /// Pairs a reply with those of `executions` that it refers to.
    pub fn of(reply: &Reply, executions: &[Execution]) -> ReplyWithExecutions {
        let whole = |status: &Status| {
            let executions = executions[status.executions.clone()].to_vec();
            (Status { executions: 0..executions.len(), ..status.clone() }, executions)
        };
        match reply {
            Reply::Status(status) => {
                let (status, executions) = whole(status);
                ReplyWithExecutions { reply: Reply::Status(status), executions }
            }
            Reply::Canceled(status) => {
                let (status, executions) = whole(status);
                ReplyWithExecutions { reply: Reply::Canceled(status), executions }
            }
            Reply::Created
            | Reply::Opened(_)
            | Reply::Repeated(_)
            | Reply::Freed(_)
            | Reply::Moved { .. }
            | Reply::Amended { .. }
            | Reply::Activated
            | Reply::Expired
            | Reply::InAuction
            | Reply::CanceledAll { .. }
            | Reply::Done(_)
            | Reply::Rejected(_) => ReplyWithExecutions { reply: reply.clone(), executions: Vec::new() },
        }
    }
}
