//! The check of what everybody may do, where batches enter the exchange: whatever protocol they came by.

use std::sync::Arc;

use crate::batch::{Batch, Exchange};
use crate::lookup::Lookup;
use crate::principal::Rights;

/// An exchange that takes from each only what they may do. What somebody may not do is answered in its place, and changes
/// nothing. A request that does not say who asks may do nothing.
pub struct Guarded(Arc<dyn Exchange>);

impl Guarded {
    /// Behind it stands the exchange itself.
    pub fn new(exchange: Arc<dyn Exchange>) -> Guarded {
        Guarded(exchange)
    }
}

impl Exchange for Guarded {
    fn submit(&self, mut batch: Box<Batch>) {
        let nothing = Arc::new(Rights::default());
        batch.requests.deny_unless(|principal| principal.map_or_else(|| Arc::clone(&nothing), |one| one.rights()));
        self.0.submit(batch);
    }

    /// Of orders of which the engine said that they are done, to whom it may say so.
    fn look_up(&self, lookup: Lookup) {
        self.0.look_up(lookup);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use engine::{AccountId, Command, Money, Op, OrderId, Query};

    use super::*;
    use crate::principal::{Denial, Principal, Role};
    use crate::requests::Requests;

    #[derive(Default)]
    struct Keeps(Mutex<Vec<Requests>>);

    impl Exchange for Keeps {
        fn submit(&self, batch: Box<Batch>) {
            self.0.lock().expect("nobody panics").push(batch.requests.clone());
        }

        fn look_up(&self, _: Lookup) {}
    }

    #[test]
    fn each_request_is_judged_by_who_asks() {
        let account = |id: &str| AccountId::parse(id.as_bytes()).expect("digits");
        let query = |id| Op::Query(Query { account: account(id), order: OrderId(1).into() });
        let create = Op::Command(Command::CreateAccount { account: account("3"), balance: Money::ZERO });
        let trader = |id| {
            let accounts = HashSet::from([account(id)]);
            Principal::new(id, Rights { roles: vec![Role::Trader], accounts, ..Rights::default() })
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
        Guarded::new(behind.clone()).submit(batch);
        let submitted = behind.0.lock().expect("nobody panics");
        let denials: Vec<Option<Denial>> = (0..6).map(|op| submitted[0].denial(op)).collect();
        let (theirs, not_theirs) = (None, Some(Denial::NotTheirs));
        assert_eq!(denials, [theirs, not_theirs, Some(Denial::NotPermitted), not_theirs, theirs, not_theirs]);
    }
}
