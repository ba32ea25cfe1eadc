//! The limits of accounts: the model looks at all orders of an account whenever that account places one. See
//! docs/rules/ACCOUNT_LIMITS.md.

use terms::{
    AccountId, AccountIndex, AccountLimits, Event, NewOrder, OrderId, OrderKind, PastLimit, Price, Reject, Reply,
    Shares, Side, SymbolIndex,
};

use crate::exchange::{Model, Order};

impl Model {
    /// The limits of an account.
    pub fn limits(&self, account: AccountIndex) -> AccountLimits {
        self.limits.get(&account).copied().unwrap_or(AccountLimits::NONE)
    }

    /// The number of accounts that have limits.
    pub fn limited_accounts(&self) -> usize {
        self.limits.len()
    }

    pub(crate) fn change_limits(
        &mut self,
        account: AccountId,
        limits: AccountLimits,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        if self.limits(account) != limits {
            self.limits.insert(account, limits);
            self.limits.retain(|_, limits| *limits != AccountLimits::NONE);
            let AccountLimits { open_orders, order_shares, order_value, position, collar } = limits;
            events.push(Event::LimitsChanged { account, open_orders, order_shares, order_value, position, collar });
        }
        Ok(Reply::Created)
    }

    /// The limit of its account that an order exceeds when it is placed. The value of one for money is its funds. Of
    /// its shares, `open` are still to be executed.
    pub(crate) fn past_limit(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        open: Shares,
        waits: bool,
        for_money: bool,
    ) -> Option<PastLimit> {
        let past_size = self.past_size(account, placed, waits || placed.kind.rests());
        let past_value = if for_money { None } else { self.past_value(account, placed) };
        let open = NewOrder { shares: open, ..*placed };
        let past = past_size.or(past_value).or_else(|| self.past_position(account, &open));
        if waits { past } else { past.or_else(|| self.past_collar(account, placed)) }
    }

    /// The limit on number or size of orders that an order exceeds. Checks no limit that counts when the order arrives
    /// at its book.
    pub(crate) fn past_size(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        may_stay: bool,
    ) -> Option<PastLimit> {
        let AccountLimits { open_orders, order_shares: most, .. } = self.limits(account);
        let open = self.open_orders().filter(|order| order.account == account).count() as u64;
        if let Some(most) = open_orders
            && may_stay
            && open + 1 > u64::from(most.get())
        {
            return Some(PastLimit::OpenOrders { most });
        }
        (placed.shares > most).then_some(PastLimit::OrderShares { most })
    }

    /// The limit on the value of orders that an order for shares exceeds.
    pub(crate) fn past_value(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<PastLimit> {
        let most = self.limits(account).order_value;
        let price = match (placed.kind, placed.trigger) {
            (OrderKind::Market, Some(trigger)) => trigger.price(),
            (OrderKind::Market, None) => self.market_price(placed.symbol, placed.side)?,
            _ => placed.limit,
        };
        (price.times(placed.shares) > most).then_some(PastLimit::OrderValue { most })
    }

    /// The position limit, if a buy exceeds it together with the account's position, its open buys and its open sells,
    /// which may stay open. Of two linked orders, one counts.
    pub fn past_position(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<PastLimit> {
        let most = self.limits(account).position;
        if placed.side == Side::Sell || most == Shares::MAX {
            return None;
        }
        let is_second = |id: OrderId| self.partner(id).is_some_and(|partner| partner < id) || self.linking == Some(id);
        let counts = |order: &&Order| {
            order.account == account
                && order.symbol == placed.symbol
                && order.pends_on.is_none()
                && !is_second(order.id)
        };
        let in_orders = self.open_orders().filter(counts).map(|order| i128::from(order.open.units()));
        let has = self.position(account, placed.symbol).units() + in_orders.sum::<i128>();
        (has + i128::from(placed.shares.units()) > i128::from(most.units())).then_some(PastLimit::Position { most })
    }

    /// The collar, if an order that arrives at its book has a limit beyond it.
    pub fn past_collar(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<PastLimit> {
        let NewOrder { symbol, side, limit, .. } = *placed;
        let worst = self.collar(account, symbol, side)?;
        let is_past = placed.kind != OrderKind::Market
            && match side {
                Side::Buy => limit > worst,
                Side::Sell => limit < worst,
            };
        is_past.then_some(PastLimit::Collar { side, limit, worst })
    }

    /// The worst price that an order of an account may have: the hundredths of a per cent of its collar beyond the
    /// market's price, rounded towards that price.
    pub fn collar(&self, account: AccountIndex, symbol: SymbolIndex, side: Side) -> Option<Price> {
        let hundredths = i128::from(self.limits(account).collar?.hundredths());
        let market = i128::from(self.market_price(symbol, side)?.units());
        let units = match side {
            Side::Buy => market + market * hundredths / 10_000,
            Side::Sell => market - market * hundredths / 10_000,
        };
        Price::from_units(units.clamp(1, i128::from(i64::MAX)) as i64)
    }

    /// The best price of the other side while orders execute as they arrive; without such a price or in another phase,
    /// the price of the last execution.
    fn market_price(&self, symbol: SymbolIndex, side: Side) -> Option<Price> {
        let best = self.matching(symbol, side, side.any_price()).first().map(|&best| self.order(best).limit);
        best.filter(|_| self.is_open(symbol)).or(self.last_price(symbol))
    }
}
