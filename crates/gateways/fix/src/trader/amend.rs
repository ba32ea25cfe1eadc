//! The amendments of a session. The exchange says whether an order has other terms, and the feed reports them; where
//! nothing was to be changed, nothing is reported, and the session says so itself.

use exchange::Answer;
use terms::{Command, Op, OrderName, Query, Reply};

use crate::amending::{Amending, changes_nothing};
use crate::answers::Answers;
use crate::market::Unknown;
use crate::order_fields::{Change, OrderRef};
use crate::reasons::CxlRejReason;
use crate::report_queues::Model;
use crate::reports::{AskedFor, OrderSnapshot, unchanged};
use crate::trader::{NotChanged, Trader, known};

impl Trader {
    /// Gives an order other terms.
    pub(super) async fn amend(&mut self, amending: Amending, answers: &mut Answers) -> Result<(), Unknown> {
        let change = &amending.change;
        // All that it takes is one message of the client.
        if let Err(past) = self.take_message() {
            self.refuse_change(change, '2', &NotChanged::other(past.to_string()), answers);
            return Ok(());
        }
        let query = |order: OrderName| Op::Query(Query { account: change.account, order });
        let (named, new) = (query(self.known(&change.order).name()), query(change.new_name().into()));
        let (given, executions) = self.market.submit(&[named, new], &self.who_is_counted()).await?;
        let [answer, of_new] = &given[..] else { return Err(Unknown) };
        let answer = if matches!(of_new, Answer::Unavailable(_)) { of_new } else { answer };
        let Some(found) = known(answer, &executions) else {
            if let Some(why) = self.not_changed(named, answer).await? {
                self.refuse_change(change, '2', &why, answers);
            }
            return Ok(());
        };
        let is_taken = matches!(of_new, Answer::Reply(Reply::Status(_) | Reply::Done(_)))
            || self.amended(&change.cl_ord_id).is_some();
        if is_taken {
            let text = "this ClOrdID(11) stands for an order: give the amendment a name of its own";
            let why = NotChanged::of(&found, CxlRejReason::Duplicate, text.to_owned());
            self.refuse_change(change, '2', &why, answers);
            return Ok(());
        }
        self.amend_known(&amending, &found, answers).await
    }

    async fn amend_known(
        &mut self,
        amending: &Amending,
        found: &OrderSnapshot,
        answers: &mut Answers,
    ) -> Result<(), Unknown> {
        let order = found.order;
        let look = move |model: &mut dyn Model| {
            let view = model.view();
            let open = view.open_order(order);
            let open = open.map(|open| (open, view.listing(open.symbol).name, unchanged(view, open)));
            (open, view.sequence())
        };
        let (before, since) = self.market.look(look).await?;
        let amendment = match &before {
            Some((open, symbol, _)) => amending.amendment(open, *symbol, self.days.end(order)),
            None => Ok(amending.of_done(order)),
        };
        let amendment = match amendment {
            Ok(amendment) => amendment,
            Err(text) => {
                let why = NotChanged::of(found, CxlRejReason::Other, text);
                self.refuse_change(&amending.change, '2', &why, answers);
                return Ok(());
            }
        };
        let change = Change { order: OrderRef::Id(order), ..amending.change.clone() };
        let op = Op::Command(Command::Amend(amendment));
        let number = self.changes.remember(change.clone(), AskedFor::Amendment { amendment, since });
        let (given, _) = self.market.submit(&[op], &self.who_is_counted()).await?;
        let Some(answer) = given.into_iter().next() else { return Err(Unknown) };
        if let Some(why) = self.not_changed(op, &answer).await? {
            self.changes.forget(number);
            let why = if why.order.is_none() && why.reason == CxlRejReason::Other {
                NotChanged::of(found, why.reason, why.text)
            } else {
                why
            };
            self.refuse_change(&change, '2', &why, answers);
            return Ok(());
        }
        if let Some((_, _, report)) = before.filter(|(open, _, _)| changes_nothing(&amendment, open)) {
            // Nothing else reports it. It comes behind the reports of the amendments before it, whose names it follows.
            self.changes.unchanged(number, report);
            if let Some((change, report)) = self.changes.take_unchanged(order) {
                answers.add("8", self.told(&report, Some(change)));
            }
        }
        Ok(())
    }
}

impl NotChanged {
    /// The reason why an order is not amended.
    fn of(found: &OrderSnapshot, reason: CxlRejReason, text: String) -> NotChanged {
        NotChanged { order: Some(found.order), status: found.status(), reason, text }
    }
}
