//! Parses `oto`: a working order, and one or two orders that are placed when it is executed wholly. The exchange
//! accepts all or none, so they have one answer. Source: docs/rules/PENDING_ORDERS.md.

use exchange::pending;
use terms::AccountId;

use super::documents::{Part, PartKind, Span};
use super::fault::{ChildFault, Refusal};
use super::fields::Fields;
use super::linked::Inner;
use super::reader::Tag;
use super::request::{DEPTH, Grammar};

/// The working order and the pending ones, at most.
const ORDERS_MAX: usize = 3;
const NOT_TWO_OR_THREE: ChildFault<'_> = ChildFault::Order("oto has two or three orders in it, and nothing else");

impl<'a> Grammar<'a, '_> {
    /// Reads such orders. An error has the attributes of the order at fault, if it is one of them.
    pub(super) fn pending(
        &mut self,
        tag: &Tag<'a>,
        account: Result<AccountId, ChildFault<'a>>,
    ) -> Result<(), Refusal<'a>> {
        let known = Fields::of(&self.reader, &[]).known("oto");
        let orders = if tag.empty { None } else { self.two_or_three_orders(account)? };
        if let Err(why) = known {
            self.refused_pair(Span::default(), why);
            return Ok(());
        }
        let Some(orders) = orders else {
            self.refused_pair(Span::default(), NOT_TWO_OR_THREE);
            return Ok(());
        };
        let mut places = Vec::with_capacity(ORDERS_MAX);
        for (at, place) in &orders {
            match place {
                Ok(place) => places.push(*place),
                Err(why) => {
                    self.refused_pair(*at, *why);
                    return Ok(());
                }
            }
        }
        match pending(places[0], &places[1..]) {
            Err(fault) => {
                let at = orders.get(fault.place()).map_or(Span::default(), |(at, _)| *at);
                self.refused_pair(at, ChildFault::Pending(fault));
            }
            Ok(ops) => {
                ops.into_iter().for_each(|op| self.documents.requests.push_op(op));
                let last = orders.len() - 1;
                for (place, (own, _)) in orders.into_iter().enumerate() {
                    let kind = if place == last { PartKind::LastOfTree } else { PartKind::OfTree };
                    self.documents.parts.push(Part { kind, symbol: Span::default(), own });
                }
            }
        }
        Ok(())
    }

    /// Reads the orders inside; `None` if there are not two or three.
    fn two_or_three_orders(
        &mut self,
        account: Result<AccountId, ChildFault<'a>>,
    ) -> Result<Option<Vec<Inner<'a>>>, Refusal<'a>> {
        self.reader.limit_depth(DEPTH + 1);
        let (mut orders, mut others) = (Vec::with_capacity(ORDERS_MAX), false);
        while let Some(child) = self.next_child()? {
            if child.name != b"order" || orders.len() == ORDERS_MAX {
                self.skip(&child)?;
                others = true;
                continue;
            }
            orders.push(self.inner_order(account));
            self.expect_empty(&child)?;
        }
        self.reader.limit_depth(DEPTH);
        Ok(Some(orders).filter(|orders| orders.len() >= 2 && !others))
    }
}
