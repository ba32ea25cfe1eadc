//! Self-trade prevention: keeps an order from executing with orders of its own account and group, where its mode says
//! so.

use terms::{CancelReason, Event, NewOrder, Price, SelfTrade, Shares, SymbolIndex};

use crate::engine::Engine;
use crate::matching::aggressor::{Aggressor, FundsBefore};

impl Engine {
    /// Acts on an order of the own account or group with which the aggressor would have executed at this price.
    #[cold]
    pub(crate) fn prevent(
        &mut self,
        aggressor: &mut Aggressor,
        placed: &NewOrder<SymbolIndex>,
        maker: u32,
        price: Price,
        events: &mut impl FnMut(Event),
    ) {
        let open = self.open_of(maker);
        let shares = aggressor.wanted.min(self.orders.get(maker).open);
        let (ends_newest, ends_oldest) = match placed.self_trade {
            SelfTrade::Allowed => unreachable!("invariant: then they execute"),
            SelfTrade::CancelNewest => (true, false),
            SelfTrade::CancelOldest => (false, true),
            SelfTrade::CancelBoth => (true, true),
            SelfTrade::Decrement => (shares == aggressor.wanted, shares == open),
        };
        let rested = NewOrder::limit(placed.symbol, placed.side.opposite(), price, open);
        if ends_oldest || placed.self_trade == SelfTrade::Decrement {
            self.cancel_partner(self.orders.get(maker).id, &rested, events);
        }
        let decrements = placed.self_trade == SelfTrade::Decrement;
        let why = CancelReason::SelfTrade;
        if ends_oldest {
            self.leave_book(maker);
            self.cancel_open(maker, &rested, why, events);
            self.finish(maker, events);
        } else if decrements {
            self.reduce(maker, &rested, shares, why, events);
        }
        if ends_newest {
            // The walk's end cancels its remaining shares.
            (aggressor.wanted, aggressor.is_prevented) = (Shares::ZERO, true);
        } else if decrements {
            self.reduce(aggressor.slot, placed, shares, why, events);
            aggressor.reduced = aggressor.reduced.plus(shares);
            aggressor.wanted = self.orders.get(aggressor.slot).open;
            aggressor.want_what_is_paid_for(price);
            self.note_what_was_given_back(aggressor, placed);
        }
    }

    /// Notes that the balance or position of the aggressor's account changed, with an event, while it matches.
    fn note_what_was_given_back(&self, aggressor: &mut Aggressor, placed: &NewOrder<SymbolIndex>) {
        let account = self.orders.get(aggressor.slot).account;
        aggressor.self_traded = true;
        aggressor.before = match aggressor.before {
            FundsBefore::Buy(_) => FundsBefore::Buy(self.accounts.get(account).balance),
            FundsBefore::Pay { .. } => aggressor.before,
            FundsBefore::Sell(_) | FundsBefore::HeldSell(_) => {
                FundsBefore::Sell(self.positions.get(account, placed.symbol))
            }
        };
    }
}
