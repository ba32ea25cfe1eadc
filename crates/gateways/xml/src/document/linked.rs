//! Parses `oco`: two orders of which one cancels the other. The exchange places both or none, so they have one answer.
//! Source: docs/rules/LINKED_ORDERS.md.

use exchange::{PairFault, Which, linked};
use terms::{AccountId, Place};

use super::documents::{Part, PartKind, Span};
use super::fault::{ChildFault, Refusal};
use super::fields::Fields;
use super::order_fields::{ORDER_FIELDS, order_names, order_place};
use super::reader::Tag;
use super::request::{DEPTH, Grammar};

/// An order inside: the text that the reply repeats, and the order.
pub(super) type Inner<'a> = (Span, Result<Place, ChildFault<'a>>);

const NOT_TWO: ChildFault<'_> = ChildFault::Order("oco has two orders in it, and nothing else");

impl<'a> Grammar<'a, '_> {
    /// Reads two linked orders. An error has the attributes of the order at fault, if it is one of them.
    pub(super) fn linked(
        &mut self,
        tag: &Tag<'a>,
        account: Result<AccountId, ChildFault<'a>>,
    ) -> Result<(), Refusal<'a>> {
        let known = Fields::of(&self.reader, &[]).known("oco");
        let orders = if tag.empty { None } else { self.two_orders(account)? };
        let Some([(one, first), (other, second)]) = orders else {
            self.refused_pair(Span::default(), known.err().unwrap_or(NOT_TWO));
            return Ok(());
        };
        let ops = match (known, first, second) {
            (Err(why), ..) => Err((Span::default(), why)),
            (Ok(()), Err(why), _) => Err((one, why)),
            (Ok(()), Ok(_), Err(why)) => Err((other, why)),
            (Ok(()), Ok(first), Ok(second)) => linked(first, second).map_err(|fault| {
                let at = match fault {
                    PairFault::TakesAtOnce(Which::First) => one,
                    PairFault::TakesAtOnce(Which::Second) => other,
                    PairFault::Funds
                    | PairFault::Display
                    | PairFault::TrailsSecond
                    | PairFault::Symbol
                    | PairFault::Side
                    | PairFault::Shares
                    | PairFault::NeitherWaits => Span::default(),
                };
                (at, ChildFault::Pair(fault))
            }),
        };
        match ops {
            Err((at, why)) => self.refused_pair(at, why),
            Ok(ops) => {
                ops.into_iter().for_each(|op| self.documents.requests.push_op(op));
                for (kind, own) in [(PartKind::LinkedFirst, one), (PartKind::LinkedSecond, other)] {
                    self.documents.parts.push(Part { kind, symbol: Span::default(), own });
                }
            }
        }
        Ok(())
    }

    /// Reads the two orders inside; `None` if there are not exactly two.
    fn two_orders(
        &mut self,
        account: Result<AccountId, ChildFault<'a>>,
    ) -> Result<Option<[Inner<'a>; 2]>, Refusal<'a>> {
        self.reader.limit_depth(DEPTH + 1);
        let (mut first, mut second, mut others) = (None, None, false);
        while let Some(child) = self.next_child()? {
            if child.name != b"order" {
                self.skip(&child)?;
                others = true;
                continue;
            }
            let order = self.inner_order(account);
            self.expect_empty(&child)?;
            match (&first, &second) {
                (None, _) => first = Some(order),
                (Some(_), None) => second = Some(order),
                (Some(_), Some(_)) => others = true,
            }
        }
        self.reader.limit_depth(DEPTH);
        Ok(first.zip(second).filter(|_| !others).map(|(first, second)| [first, second]))
    }

    pub(super) fn inner_order(&mut self, account: Result<AccountId, ChildFault<'a>>) -> Inner<'a> {
        const NAMES: [&str; ORDER_FIELDS] = order_names("client-id");
        let fields = Fields::of(&self.reader, &NAMES);
        let start = self.documents.text.len();
        self.echo_all(&NAMES, &fields.values);
        let own = Span { start, end: self.documents.text.len() };
        let place = account.and_then(|account| {
            fields.known("order")?;
            order_place(account, "order", "client-id", fields.values)
        });
        (own, place)
    }

    /// Appends an error in its place, which repeats the text at `at`.
    pub(super) fn refused_pair(&mut self, at: Span, why: ChildFault<'a>) {
        let start = self.documents.text.len();
        self.documents.text.extend_from_within(at.start..at.end);
        self.part(PartKind::Refused, Span::default(), start, Err(why));
    }
}
