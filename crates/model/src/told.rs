//! What a client was told, so that what the engine answers and what the model does can be compared.

use engine::{Execution, Reply, Status};

/// A reply with its executions beside it, so that two can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    reply: Reply,
    executions: Vec<Execution>,
}

impl Told {
    /// Of a reply that refers to `executions`.
    pub fn of(reply: &Reply, executions: &[Execution]) -> Told {
        let whole = |status: &Status| {
            let executions = executions[status.executions.clone()].to_vec();
            (Status { executions: 0..executions.len(), ..status.clone() }, executions)
        };
        match reply {
            Reply::Status(status) => {
                let (status, executions) = whole(status);
                Told { reply: Reply::Status(status), executions }
            }
            Reply::Canceled(status) => {
                let (status, executions) = whole(status);
                Told { reply: Reply::Canceled(status), executions }
            }
            Reply::Created
            | Reply::Opened(_)
            | Reply::Repeated(_)
            | Reply::Freed(_)
            | Reply::Moved { .. }
            | Reply::Amended { .. }
            | Reply::Activated
            | Reply::Expired
            | Reply::CanceledAll { .. }
            | Reply::Done(_)
            | Reply::Rejected(_) => Told { reply: reply.clone(), executions: Vec::new() },
        }
    }
}
