//! Day orders. The end of the day depends on the venue's calendar, so a gateway asks for [`Deadline::UNDECIDED`], and
//! the market replaces it by a time before the command gets its number. This module knows no calendar.

use terms::{Deadline, Op, Symbol};

/// Whether an op places a day order without a decided end.
pub(crate) fn is_undecided(op: &Op) -> bool {
    op.deadline() == Some(Deadline::UNDECIDED)
}

/// The symbol of the order that an op places, if that order's day still has no decided end.
#[cold]
pub fn without_day_end(op: &Op) -> Option<Symbol> {
    let Op::Command(command) = op else { return None };
    let place = command.place().filter(|place| place.deadline() == Some(Deadline::UNDECIDED))?;
    Some(place.symbol())
}

/// Gives the order that an op places the end of its day.
#[cold]
pub(crate) fn decide(op: &mut Op, end: Deadline) {
    let Op::Command(command) = op else { return };
    *command = command.with_deadline(Some(end)).expect("invariant: a day order has a deadline");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use terms::{AccountId, Command, NewOrder, OrderKind, Place, Price, SelfTrade, Shares, Side, Time, Trail};

    use super::*;
    use crate::{OnFailure, Requests, linked, pending, replacement};

    fn order(symbol: &str, trigger: Option<u64>) -> NewOrder {
        let trigger = trigger.map(|dollars| terms::Trigger::from_below(Price::from_units(dollars as i64).unwrap()));
        let (limit, shares) = (Price::from_units(5).unwrap(), Shares::from_units(7).unwrap());
        let symbol = Symbol::parse(symbol.as_bytes()).unwrap();
        let kind = if trigger.is_some() { OrderKind::Limit } else { OrderKind::PostOnly };
        NewOrder { symbol, side: Side::Buy, limit, shares, kind, trigger, self_trade: SelfTrade::Allowed }
    }

    /// All ways to place an order that may have a deadline.
    fn ops(until: Option<Deadline>) -> Vec<Op> {
        let account = AccountId::parse(b"1").unwrap();
        let client_id = None;
        let place = |order| Place::order(account, order).named(client_id).until(until);
        let shows = Shares::from_units(2).unwrap();
        let (one, other) = (order("ONE", None), order("ONE", Some(9)));
        let iceberg = Place::iceberg(account, one, shows).unwrap().named(client_id).until(until);
        let trail = Trail::by(Price::from_units(3).unwrap());
        let trailing = Place::trailing(account, one, trail).unwrap().named(client_id).until(until);
        let mut ops = [place(one), iceberg, trailing].map(|place| Op::Command(Command::Place(place))).to_vec();
        ops.extend(linked(place(one), place(other)).unwrap());
        ops.extend(pending(place(one), &[place(other)]).unwrap());
        ops.push(replacement(terms::OrderId(1).into(), place(one), OnFailure::Stop)[1]);
        ops
    }

    #[test]
    fn an_end_of_the_day_is_put_into_every_kind_of_order_and_nowhere_else() {
        let end = Deadline::new(Time(77));
        let mut requests = Requests::new();
        for op in ops(Some(Deadline::UNDECIDED)) {
            requests.push(&[op]);
        }
        assert!(requests.asks_for_days());
        let mut asked = Vec::new();
        requests.decide_days(|symbol| {
            asked.push(symbol.to_string());
            end
        });
        assert_eq!((requests.ops(), asked), (&ops(end)[..], vec!["ONE".to_owned(); ops(end).len()]));
        for until in [None, Deadline::new(Time(5))] {
            let mut requests = Requests::new();
            ops(until).into_iter().for_each(|op| requests.push_op(op));
            requests.end_request();
            assert!(!requests.asks_for_days());
            assert!(requests.ops().iter().all(|op| op.deadline() == until));
        }
    }

    #[test]
    fn an_order_whose_day_has_no_end_stays_undecided() {
        let mut requests = Requests::new();
        requests.push(&ops(Some(Deadline::UNDECIDED)));
        requests.decide_days(|_| None);
        assert!(requests.asks_for_days() && requests.ops().iter().all(is_undecided));
        requests.clear();
        assert!(!requests.asks_for_days());
    }

    #[test]
    #[should_panic(expected = "deadlines are decided")]
    fn what_is_undecided_has_no_time_and_no_code() {
        Deadline::code(Some(Deadline::UNDECIDED));
    }
}
