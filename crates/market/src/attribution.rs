//! Tells a ledger whose the commands of a turn are. It keeps nothing.

use engine::Op;
use exchange::Batch;

use crate::admission::Decision;
use crate::ledger::Ledger;

/// The first `own` commands of the turn are the loop's, the others those of the batches that were let in.
pub(crate) fn attribute<L: Ledger>(
    ledger: &mut L,
    own: usize,
    batches: &[Box<Batch>],
    mut decisions: impl Iterator<Item = Decision>,
) {
    let mut asked_by = |caller, commands: usize| {
        if let (1.., Ok(commands)) = (commands, u32::try_from(commands)) {
            ledger.asked_by(caller, commands);
        }
    };
    asked_by(None, own);
    for requests in batches.iter().map(|batch| &batch.requests) {
        for request in 0..requests.len() {
            let commands = requests.ops()[requests.ops_of(request)].iter().filter(|op| matches!(op, Op::Command(_)));
            let let_in = commands.filter(|_| decisions.next() == Some(Decision::LetIn)).count();
            asked_by(requests.caller(request), let_in);
        }
    }
}
