//! The terms of an order before and after an amendment. The view knows only its latest terms, but a report of something
//! earlier tells the terms that the order had at that time.

use history::AmendedTerms;
use terms::{Deadline, Iceberg, OrderKind, Price, Shares, Trigger};

use crate::orders::Open;

/// The terms of an order before and after an amendment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermsChange {
    pub before: AmendableTerms,
    pub after: AmendableTerms,
}

/// The terms that an amendment may change, besides the number of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmendableTerms {
    pub kind: OrderKind,
    pub limit: Price,
    /// The trigger for which the order waits or waited.
    pub trigger: Option<Trigger>,
    pub until: Option<Deadline>,
    /// The shares that it shows at a time.
    pub display: Option<Shares>,
}

impl TermsChange {
    /// The change of an open order that gets other terms. Events that come later give it a deadline and a display.
    pub(crate) fn of(open: &Open, terms: AmendedTerms) -> TermsChange {
        let AmendedTerms { kind, limit, trigger, keeps_place } = terms;
        let trigger = trigger.or(open.trigger.filter(|_| keeps_place));
        let Open { iceberg, until, .. } = *open;
        let display = iceberg.map(|iceberg| iceberg.display);
        TermsChange {
            before: AmendableTerms { kind: open.kind, limit: open.limit, trigger: open.trigger, until, display },
            after: AmendableTerms { kind, limit, trigger, until: None, display: None },
        }
    }
}

impl AmendableTerms {
    /// Gives an order these terms.
    pub(crate) fn give(&self, open: &mut Open) {
        let shown = open.iceberg.map_or(Shares::ZERO, |iceberg| iceberg.shown);
        (open.kind, open.limit, open.trigger, open.until) = (self.kind, self.limit, self.trigger, self.until);
        open.iceberg = self.display.map(|display| Iceberg { display, shown });
    }
}
