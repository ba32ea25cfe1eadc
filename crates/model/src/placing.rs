//! The placing of orders: refusals, held money and shares, and the record.

use terms::{
    AccountId, AccountIndex, Bond, BrokenRule, ClientOrderId, Event, FundsOrder, Money, NewOrder, OrderDifference,
    OrderForm, OrderId, OrderKind, PastLimit, Phase, Place, Price, Reject, Reply, Shares, Side, SymbolIndex,
};

use crate::exchange::{Model, Order, Terms};
use crate::icebergs::Piece;

impl Model {
    pub(crate) fn place_command(&mut self, place: Place, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        let (account, form, bond) = (place.account, place.form(), place.bond());
        if bond == Bond::IfCanceled {
            return self.place_if_canceled(place.bound(Bond::Alone), events);
        }
        if bond == Bond::Replacing {
            return self.place_replacing(place.bound(Bond::Alone), events);
        }
        let display = if let OrderForm::Iceberg { display, .. } = form { Some(display) } else { None };
        let terms = Terms { client_id: place.client_id(), until: place.deadline(), display, ..Terms::NONE };
        match form {
            OrderForm::Funds(order) => self.place_by_funds(terms.client_id, account, order, events),
            OrderForm::Trailing { order, trail } => {
                self.place_trailing(Terms { trail: Some(trail), ..terms }, account, order, events)
            }
            OrderForm::Plain(order) | OrderForm::Iceberg { order, .. } => match bond {
                Bond::Alone | Bond::IfCanceled | Bond::Replacing => self.place_under(terms, account, order, events),
                Bond::Linked => self.place_linked(terms, account, order, events),
                Bond::Working { two_wait } => self.place_working(terms, account, order, two_wait, events),
                Bond::Pending => self.place_pending(terms, account, order, events),
            },
        }
    }

    pub(crate) fn place_under(
        &mut self,
        terms: Terms,
        account: AccountId,
        asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let standing = match terms.client_id {
            Some(client_id) => self.client_order(account, client_id),
            None => self.account_named(account).and(Err(Reject::UnknownOrder)),
        };
        match standing {
            Ok(order) => {
                let before = self.order(order);
                let differs = OrderDifference {
                    symbol: self.symbols[before.symbol.0 as usize].name != asked.symbol,
                    side: before.side != asked.side,
                    limit: before.limit != asked.limit
                        && (asked.kind, asked.trigger) != (OrderKind::PostOnlyMove, None)
                        && asked.kind != OrderKind::AuctionMarket,
                    shares: before.placed != asked.shares,
                    kind: before.kind != asked.kind
                        && (before.kind, asked.kind) != (OrderKind::PostOnly, OrderKind::PostOnlyMove),
                    trigger: before.asked().trigger != asked.trigger || before.trail != terms.trail,
                    self_trade: before.self_trade != asked.self_trade,
                    until: before.until != terms.until,
                    partner: false,
                    display: before.display != terms.display,
                };
                if differs.is_none() {
                    Ok(self.told_again(order, &asked))
                } else {
                    Err(Reject::ClientOrderIdTaken { order, differs })
                }
            }
            Err(Reject::UnknownOrder) => match terms.until {
                Some(until) if until.time() <= self.time => Err(Reject::DeadlinePassed { until, now: self.time }),
                _ => {
                    let refusal = terms.display.and_then(|display| self.refusal_of_display(&asked, display));
                    refusal.map_or(Ok(()), Err)?;
                    self.place(terms, account, asked, events)
                }
            },
            Err(reject) => Err(reject),
        }
    }

    /// Places a market order for as many shares as the money buys or brings now.
    pub(crate) fn place_by_funds(
        &mut self,
        client_id: Option<ClientOrderId>,
        account: AccountId,
        asked: FundsOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let FundsOrder { symbol: name, side, funds, self_trade } = asked;
        let owner = self.account_named(account)?;
        if let Some(Ok(order)) = client_id.map(|client_id| self.client_order(account, client_id)) {
            let before = self.order(order);
            let differs = OrderDifference {
                symbol: self.symbols[before.symbol.0 as usize].name != name,
                side: before.side != side,
                kind: before.kind != OrderKind::Market,
                trigger: before.trigger.is_some(),
                self_trade: before.self_trade != self_trade,
                until: before.until.is_some(),
                ..OrderDifference::default()
            };
            return if differs.is_none() {
                Ok(Reply::Repeated(order))
            } else {
                Err(Reject::ClientOrderIdTaken { order, differs })
            };
        }
        let symbol = self.symbol_named(name)?;
        self.check_takes_orders(owner, symbol)?;
        let most = self.limits(owner).order_value;
        if funds > most {
            return Err(Reject::PastLimit(PastLimit::OrderValue { most }));
        }
        if self.rules(symbol).is_halted {
            return Err(Reject::BreaksRule(BrokenRule::Halted));
        }
        let market = NewOrder::market(symbol, side, Shares::MAX);
        if let Some(broken) = self.broken_in_phase(&market) {
            return Err(Reject::BreaksRule(broken));
        }
        let available = self.balance(owner);
        if side == Side::Buy && funds > available {
            return Err(Reject::InsufficientFunds { needed: funds, available });
        }
        if self.waits_for_turn(symbol) || self.puts_off() {
            return Err(Reject::WouldWait);
        }
        self.turns_in_turn += 10;
        let (mut left, mut units) = (funds, 0);
        let worst = self.worst_price(owner, &market);
        for Piece { maker, shares: open } in self.counted(owner, self_trade, &self.matching(symbol, side, worst)) {
            let price = self.order(maker).limit;
            if self.band(symbol).is_some_and(|(low, high)| price < low || price > high) {
                break;
            }
            let shares = open.min(affordable(left, price));
            left = left.minus(price.times(shares));
            units += i128::from(shares.units());
            if shares < open {
                break;
            }
        }
        let shares = Shares::from_units(units.min(i128::from(i64::MAX)) as i64).expect("no fewer than none");
        if shares.is_zero() {
            return Err(Reject::FundsTradeNothing { funds });
        }
        let lots = self.whole_lots(symbol, shares);
        if lots.is_zero() {
            return Err(Reject::BreaksRule(BrokenRule::TooFewShares { shares, least: self.rules(symbol).lot }));
        }
        let order = NewOrder::market(name, side, lots).with_self_trade(self_trade);
        let terms = Terms { client_id, for_money: true, ..Terms::NONE };
        self.place(terms, account, order, events)
    }

    pub(crate) fn place(
        &mut self,
        terms: Terms,
        account: AccountId,
        asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = asked;
        let owner = account;
        let account = self.account_named(account)?;
        let symbol = self.symbol_named(symbol)?;
        self.check_takes_orders(account, symbol)?;
        let mut placed = self.moved(NewOrder { symbol, side, limit, shares, kind, trigger, self_trade });
        if kind.is_for_auction() {
            let waits = trigger.is_some() || terms.trail.is_some();
            placed.limit = self.limit_at_auction(account, &placed, waits).map_err(Reject::BreaksRule)?;
        }
        let limit = placed.limit;
        let waits = trigger.is_some() || terms.trail.is_some();
        let waits_for = trigger.or_else(|| self.trigger_behind(symbol, side, terms.trail?));
        // The executed shares of an amended order count for its size and value.
        let whole = NewOrder { shares: shares.plus(terms.executed), ..placed };
        let valued = NewOrder { trigger: waits_for, ..whole };
        let looks = kind == OrderKind::FillOrKill || self.looks_for_interruption(&placed);
        let looks_later = looks && trigger.is_none() && terms.trail.is_none() && self.puts_off();
        let comes_later =
            self.is_open(symbol) && !kind.is_for_auction() && (self.waits_for_turn(symbol) || looks_later);
        let past = match terms.released {
            None => self.past_limit(account, &valued, shares, waits || comes_later, terms.for_money),
            Some(_) => {
                let collar = if waits || comes_later { None } else { self.past_collar(account, &placed) };
                self.past_position(account, &placed).or(collar)
            }
        };
        if let Some(past) = past {
            return Err(Reject::PastLimit(past));
        }
        // An order for an auction waits for the next one, but one that has gathered stays where it is.
        let waits_for_auction = kind.is_for_auction() && terms.amended.is_none();
        if self.phase(symbol).phase == Phase::Halted && !waits_for_auction {
            return Err(Reject::BreaksRule(BrokenRule::Halted));
        }
        let in_phase = |model: &Model| if waits || waits_for_auction { None } else { model.broken_in_phase(&placed) };
        let price = waits_for.map(|trigger| trigger.price());
        // A trigger that follows the market need not be on the tick.
        let ruled = NewOrder { trigger: trigger.filter(|_| terms.trail.is_none()), ..whole };
        if let Some(broken) = self.broken_when_placed(&ruled, price).or_else(|| in_phase(self)) {
            return Err(Reject::BreaksRule(broken));
        }
        if let Some(trail) = terms.trail {
            return self.place_behind(terms, trail, owner, placed, events);
        }
        if let Some(trigger) = trigger {
            return self.place_stop(terms, account, placed, trigger, events);
        }
        let gathers = self.phase(symbol).phase == Phase::Auction && !self.gathers_further(symbol);
        if kind.is_for_auction() && !gathers {
            return self.place_before_auction(terms, account, placed, events);
        }
        if comes_later {
            return self.place_behind_others(terms, account, placed, events);
        }
        if self.is_open(symbol) && self.looks_for_interruption(&placed) {
            self.turns_in_turn += 10;
        }
        if !self.is_open(symbol) || self.interruption(&placed).is_some() {
            return self.gather(terms, account, placed, events);
        }
        self.refusal_on_arrival(account, &placed).map_or(Ok(()), Err)?;
        if self.fills_later(account, &placed) {
            return self.place_behind_others(terms, account, placed, events);
        }
        let before = [self.balance_changed(account), self.position_changed(account, symbol)];
        if !pays_as_it_goes(&placed) {
            self.hold(account, symbol, side, limit, shares)?;
        }
        let told_before = events.len();
        let id = self.open_order(terms, account, placed, events);
        let nobody_was_reached = self.reached_stops() == 0 && !self.is_releasing;
        self.execute_all(id, before, told_before, events);
        if nobody_was_reached {
            self.activate_stops(events);
        }
        if kind == OrderKind::PostOnlyMove && limit != asked.limit {
            return Ok(Reply::Moved { order: id, limit, is_new: true });
        }
        Ok(Reply::Opened(id))
    }

    /// The reason why an order is refused when it arrives at its book, whatever it holds.
    pub(crate) fn refusal_on_arrival(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<Reject> {
        if let Some(past) = self.past_collar(account, placed) {
            return Some(Reject::PastLimit(past));
        }
        if let Some(broken) = self.broken_on_arrival(placed) {
            return Some(Reject::BreaksRule(broken));
        }
        let worst = self.worst_price(account, placed);
        let matching = self.matching(placed.symbol, placed.side, worst);
        let best = matching.first().map(|&best| self.order(best).limit)?;
        let available = self.balance(account);
        match placed.kind {
            OrderKind::PostOnly => Some(Reject::WouldTake { price: best }),
            OrderKind::Market
                if pays_as_it_goes(placed) && self.whole_lots(placed.symbol, affordable(available, best)).is_zero() =>
            {
                Some(Reject::InsufficientFunds { needed: best.times(placed.shares), available })
            }
            OrderKind::PostOnlyMove => panic!("it was moved"),
            OrderKind::AuctionLimit | OrderKind::AuctionMarket => panic!("it gathers"),
            OrderKind::Limit | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill | OrderKind::Market => None,
        }
    }

    /// Gives an accepted order its id.
    pub(crate) fn open_order(
        &mut self,
        terms: Terms,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) -> OrderId {
        if let Some(id) = terms.amended {
            self.begin_amended(id, terms, placed, events);
            return id;
        }
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = placed;
        if let Some(id) = terms.released {
            self.arrivals += 1;
            let arrival = self.arrivals;
            let order = &mut self.orders[id.0 as usize - 1];
            (order.pends_on, order.waits, order.arrival) = (None, trigger.is_some(), arrival);
            events.push(Event::OrderReleased { order: id, account, placed });
            return id;
        }
        let Terms { client_id, until, display, trail, for_money, .. } = terms;
        let id = OrderId(self.orders.len() as u64 + 1);
        self.arrivals += 1;
        self.orders.push(Order {
            id,
            account,
            symbol,
            side,
            limit,
            kind,
            open: shares,
            canceled: None,
            executions: Vec::new(),
            client_id,
            placed: shares,
            reduced: Shares::ZERO,
            display,
            shown: Shares::ZERO,
            self_trade,
            for_money,
            until,
            trigger,
            trail,
            follows: trail.is_some(),
            has_moved: false,
            waits: trigger.is_some(),
            delayed: None,
            worst: None,
            pends_on: None,
            arrival: self.arrivals,
        });
        self.open.push(id);
        events.push(Event::OrderOpened { order: id, account, placed });
        if let Some(client_id) = client_id {
            self.named.push(id);
            events.push(Event::ClientOrderIdGiven { order: id, id: client_id });
        }
        if let Some(until) = until {
            events.push(Event::DeadlineGiven { order: id, until });
        }
        if let Some(display) = display {
            events.push(Event::DisplayGiven { order: id, display });
        }
        if let Some(trail) = trail {
            events.push(Event::TrailGiven { order: id, trail });
        }
        id
    }

    /// Sets aside what the order may cost: money for a buy, shares for a sell.
    pub(crate) fn hold(
        &mut self,
        account: AccountIndex,
        symbol: SymbolIndex,
        side: Side,
        limit: Price,
        shares: Shares,
    ) -> Result<(), Reject> {
        match side {
            Side::Buy => {
                let (needed, available) = (limit.times(shares), self.balance(account));
                if needed > available {
                    return Err(Reject::InsufficientFunds { needed, available });
                }
                self.accounts[account.0 as usize].balance = available.minus(needed);
            }
            Side::Sell => {
                let (needed, available) = (shares.position(), self.position(account, symbol));
                if needed > available {
                    return Err(Reject::InsufficientShares { needed, available });
                }
                let left = available.minus(needed);
                self.holdings
                    .iter_mut()
                    .filter(|holding| holding.account == account && holding.symbol == symbol)
                    .for_each(|holding| holding.shares = left);
            }
        }
        Ok(())
    }
}

/// Whether an order pays execution by execution. A market buy holds nothing, and stops where its account's money ends.
pub(crate) fn pays_as_it_goes(placed: &NewOrder<SymbolIndex>) -> bool {
    (placed.kind, placed.side) == (OrderKind::Market, Side::Buy)
}

/// The most shares of one order that the money pays for.
pub(crate) fn affordable(money: Money, price: Price) -> Shares {
    let units = money.units() / i128::from(price.units());
    Shares::from_units(i64::try_from(units).unwrap_or(i64::MAX)).expect("no balance is negative")
}
