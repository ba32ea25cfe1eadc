//! Reads trades from the events of a market. The event of an execution does not tell the fees, which the event before
//! it tells, and names the account and side of the aggressor only in an auction. Otherwise the aggressor is the order
//! that arrives, which every follower of the events keeps in a form of its own.

use terms::{AccountIndex, Event, Fee, OrderId, Sequence, Side, Time};

use crate::trade::Trade;

/// The facts that a follower of the events keeps for the next trade.
#[derive(Debug, Default)]
pub struct TradeReader {
    /// The fees of maker and aggressor.
    fees: [Fee; 2],
}

impl TradeReader {
    /// Takes the fees of the execution in the next event.
    #[inline]
    pub fn take_fees(&mut self, maker: Fee, aggressor: Fee) {
        self.fees = [maker, aggressor];
    }

    /// Makes the trade of an execution's event; panics at any other event. Outside auctions the aggressor is the order
    /// that is `arriving`, given with its account and side.
    #[inline]
    pub fn trade(
        &mut self,
        event: &Event,
        id: u64,
        (sequence, time): (Sequence, Time),
        arriving: Option<(OrderId, AccountIndex, Side)>,
    ) -> Trade {
        let (Event::Executed { symbol, maker, maker_account, aggressor, price, shares, .. }
        | Event::Uncrossed { symbol, maker, maker_account, aggressor, price, shares, .. }) = *event
        else {
            unreachable!("invariant: only executions are read as trades")
        };
        let (aggressor_account, side) = if let Event::Uncrossed { aggressor_account, aggressor_side, .. } = *event {
            (aggressor_account, aggressor_side)
        } else {
            let (order, account, side) = arriving.expect("invariant: its command opened or activated an aggressor");
            assert!(order == aggressor, "invariant: the aggressor is the order that arrives");
            (account, side)
        };
        let [maker_fee, aggressor_fee] = std::mem::take(&mut self.fees);
        Trade {
            id,
            symbol,
            price,
            shares,
            time,
            sequence,
            aggressor: side,
            maker_order: maker,
            aggressor_order: aggressor,
            maker_account,
            aggressor_account,
            maker_fee,
            aggressor_fee,
        }
    }
}
