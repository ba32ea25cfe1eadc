//! The check of everybody's rights where batches enter the exchange, over any protocol.

use std::sync::Arc;

use crate::batch::{Batch, Exchange};
use crate::lookup::Lookup;
use crate::mode::ModeSwitch;
use crate::principal::{Principal, Rights};

/// An exchange that takes from each principal only what its rights allow. An op that they do not allow gets a denial in
/// its place, and changes nothing. A request without a principal may do nothing.
pub struct Guarded {
    exchange: Arc<dyn Exchange>,
    mode: ModeSwitch,
}

impl Guarded {
    /// Wraps the exchange itself, which is open as far as the mode says.
    pub fn new(exchange: Arc<dyn Exchange>, mode: ModeSwitch) -> Guarded {
        Guarded { exchange, mode }
    }
}

impl Exchange for Guarded {
    fn submit(&self, mut batch: Box<Batch>) {
        let nothing = Arc::new(Rights::default());
        let rights_of =
            |principal: Option<&Principal>| principal.map_or_else(|| Arc::clone(&nothing), Principal::rights);
        batch.requests.deny_unless(rights_of, self.mode.get());
        match batch.requests.are_all_denied() {
            // A batch without a single permitted op takes no turn from others.
            true => batch.deny(),
            false => self.exchange.submit(batch),
        }
    }

    /// Passes the look-up on: the engine named its orders as done, in answers to principals with the right to see them.
    fn look_up(&self, lookup: Lookup) {
        self.exchange.look_up(lookup);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use terms::{AccountId, Command, Money, Op, OrderId, Query, Reject, Reply};

    use super::*;
    use crate::account_set::AccountSet;
    use crate::answer::Answer;
    use crate::mode::Mode;
    use crate::principal::Denial;
    use crate::protector::ProtectorId;
    use crate::requests::Requests;
    use crate::role::Role;

    #[derive(Default)]
    struct Keeps(Mutex<Vec<Requests>>);

    impl Exchange for Keeps {
        fn submit(&self, batch: Box<Batch>) {
            self.0.lock().expect("nobody panics").push(batch.requests.clone());
        }

        fn look_up(&self, _: Lookup) {}
    }

    #[test]
    fn what_is_denied_as_a_whole_comes_back_at_once_and_what_has_to_pass_the_exchange_passes() {
        let account = AccountId::parse(b"2").expect("digits");
        let query = Op::Query(Query { account, order: OrderId(1).into() });
        let behind = Arc::new(Keeps::default());
        let guarded = Guarded::new(behind.clone(), ModeSwitch::default());
        let submit = |fill: &dyn Fn(&mut Requests)| {
            let (back, came) = std::sync::mpsc::channel();
            let mut batch = Batch::detached(back);
            batch.requests.push(&[query, query]);
            fill(&mut batch.requests);
            guarded.submit(batch);
            came.try_recv().ok().map(|batch| (batch.answers.clone(), batch.is_refused()))
        };
        let unknown = Answer::Reply(Reply::Rejected(Reject::UnknownAccount));
        assert_eq!(submit(&|requests| requests.push(&[query])), Some((vec![unknown; 3], false)));
        assert!(behind.0.lock().expect("nobody panics").is_empty());
        let operator = Principal::new("olga", Rights { roles: [Role::Operator].into(), ..Rights::default() });
        let of_operator = |requests: &mut Requests| {
            requests.push(&[query]);
            requests.asked_by(&operator);
        };
        let passing: [&dyn Fn(&mut Requests); 3] =
            [&of_operator, &|requests| requests.push(&[]), &|requests| requests.depart(ProtectorId::new())];
        for fill in passing {
            assert_eq!(submit(fill), None);
        }
        assert_eq!(behind.0.lock().expect("nobody panics").len(), passing.len());
    }

    #[test]
    fn each_request_is_judged_by_who_asks() {
        let account = |id: &str| AccountId::parse(id.as_bytes()).expect("digits");
        let query = |id| Op::Query(Query { account: account(id), order: OrderId(1).into() });
        let create = Op::Command(Command::CreateAccount { account: account("3"), balance: Money::ZERO });
        let trader = |id| {
            let accounts = AccountSet::from([account(id)]);
            Principal::new(id, Rights { roles: [Role::Trader].into(), accounts, ..Rights::default() })
        };
        let (one, two) = (trader("1"), trader("2"));
        let mut batch = Batch::calling(drop);
        let requests = &mut batch.requests;
        requests.push(&[query("1"), query("2"), create]);
        requests.asked_by(&one);
        requests.push(&[query("1")]);
        requests.push(&[query("2"), query("1")]);
        requests.asked_by(&two);
        let behind = Arc::new(Keeps::default());
        let mode = ModeSwitch::default();
        let guarded = Guarded::new(behind.clone(), mode.clone());
        mode.set(Mode::ReadOnly);
        let mut again = Batch::calling(drop);
        again.requests = batch.requests.clone();
        guarded.submit(again);
        mode.set(Mode::Normal);
        guarded.submit(batch);
        let mut submitted = behind.0.lock().expect("nobody panics");
        let in_mode = submitted.remove(0);
        let closed = Some(Denial::Closed(Mode::ReadOnly));
        assert_eq!([0, 1, 2].map(|op| in_mode.denial(op)), [None, Some(Denial::NotTheirs), closed]);
        let denials: Vec<Option<Denial>> = (0..6).map(|op| submitted[0].denial(op)).collect();
        let (theirs, not_theirs) = (None, Some(Denial::NotTheirs));
        assert_eq!(denials, [theirs, not_theirs, Some(Denial::NotPermitted), not_theirs, theirs, not_theirs]);
    }
}
