//! Attributes the commands of a turn to their callers. It keeps nothing.

use std::sync::Arc;

use exchange::{Batch, Caller};
use terms::Op;

use crate::admission::Decision;

/// Calls `asked_by` with the caller of each run of commands, in order: the first `own` commands are the loop's, the
/// others those of the batches that were let in.
pub(crate) fn attribute(
    own: usize,
    batches: &[Box<Batch>],
    mut decisions: impl Iterator<Item = Decision>,
    mut asked_by: impl FnMut(Option<&Arc<Caller>>, u32),
) {
    let mut tell = |caller, commands: usize| {
        if let (1.., Ok(commands)) = (commands, u32::try_from(commands)) {
            asked_by(caller, commands);
        }
    };
    tell(None, own);
    for requests in batches.iter().map(|batch| &batch.requests) {
        for request in 0..requests.len() {
            let commands = requests.ops()[requests.ops_of(request)].iter().filter(|op| matches!(op, Op::Command(_)));
            let let_in = commands.filter(|_| decisions.next() == Some(Decision::Admitted)).count();
            tell(requests.caller(request), let_in);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use exchange::{Protocol, Session, Unavailable};
    use terms::{AccountId, Command, OrderId, Query};

    use super::*;

    #[test]
    fn only_what_is_let_in_is_somebodys() {
        let account = AccountId::parse(b"1").expect("digits");
        let cancel = Op::Command(Command::CancelOrder { account, order: OrderId(1).into() });
        let query = Op::Query(Query { account, order: OrderId(1).into() });
        let caller = |last| Session::begin(IpAddr::from([192, 0, 2, last])).caller(Protocol::Xml, None);
        let (one, two) = (caller(1), caller(2));
        let mut batch = Batch::calling(drop);
        batch.requests.push(&[cancel, query, cancel]);
        batch.requests.called_by(&one);
        batch.requests.push(&[query]);
        batch.requests.push(&[cancel]);
        let mut other = Batch::calling(drop);
        other.requests.push(&[cancel, cancel]);
        other.requests.called_by(&two);
        other.requests.push(&[cancel]);
        other.requests.called_by(&one);
        let refused = Decision::Refused(Unavailable::DiskLow);
        let decided =
            [Decision::Admitted, Decision::Denied, Decision::Admitted, refused, Decision::Admitted, Decision::NoEffect];
        let mut told = Vec::new();
        attribute(3, &[batch, other], decided.into_iter(), |caller, commands| {
            told.push((caller.map(|caller| caller.number()), commands));
        });
        assert_eq!(told, [(None, 3), (Some(one.number()), 1), (None, 1), (Some(two.number()), 1)]);
    }
}
