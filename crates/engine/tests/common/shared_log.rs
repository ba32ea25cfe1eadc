//! Situations with messages of the shared log.

use model::Model;
use terms::{Command, LogMessage, Op, SymbolIndex};

pub const ALL: [&str; 7] = [
    "message: begins an epoch",
    "message: the next of its node",
    "message: of an older epoch",
    "message: came before, or too early",
    "message: where another one stands",
    "phase: was due, and is put into it",
    "phase: was due, and was changed since",
];

/// The situation that `op` causes; the model stands before it.
pub fn before(op: &Op, model: &Model) -> Option<&'static str> {
    let last = model.last_messages();
    if let Op::Command(Command::ChangePhase { symbol, due: Some(due), .. }) = op
        && !last.is_empty()
    {
        let at = model.symbols().position(|name| name == *symbol)?;
        return Some(match model.phase_was_changed_since(SymbolIndex(at as u32), *due) {
            true => "phase: was due, and was changed since",
            false => "phase: was due, and is put into it",
        });
    }
    let Op::Command(Command::TakeMessage(message)) = op else { return None };
    let of_node = last.iter().find(|last| last.node == message.node);
    let (epoch, number) = of_node.map_or((0, 0), |last| (last.epoch, last.number));
    let end = last.iter().map(|last| last.position).max().unwrap_or(0);
    let LogMessage { position, .. } = *message;
    Some(match (message.epoch, message.number) {
        _ if position <= end => "message: where another one stands",
        (next, 0) if next == epoch + 1 => "message: begins an epoch",
        (older, _) if older < epoch => "message: of an older epoch",
        (same, next) if same == epoch && epoch > 0 && next == number + 1 => "message: the next of its node",
        _ => "message: came before, or too early",
    })
}
