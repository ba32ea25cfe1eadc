//! The shared log as a workload draws it: messages that come next, and, more often, messages that do not.

use terms::{Command, LogMessage, NodeId};

use super::Workload;
use crate::exchange::Model;

/// Draws a message near those that were taken last.
pub(super) fn draw(workload: &mut Workload, model: &Model) -> Command {
    let last = model.last_messages();
    let node = NodeId::new(1 + workload.random.below(3) as u16).expect("above zero");
    let (epoch, number) =
        last.iter().find(|message| message.node == node).map_or((0, 0), |message| (message.epoch, message.number));
    let (epoch, number) = match workload.random.below(10) {
        0..5 => (epoch, number + 1),
        5..7 => (epoch + 1, 0),
        7 => (epoch, number),
        8 => (epoch, number + 2),
        _ => (epoch.saturating_sub(1), number + 1),
    };
    let end = last.iter().map(|message| message.position).max().unwrap_or(0);
    let position = if workload.random.percent(90) { end + 1 + workload.random.below(3) as u64 } else { end };
    Command::TakeMessage(LogMessage { position, node, epoch, number })
}
