//! Invariants that hold after every command. The full check walks the whole state and is for tests and tools.

use std::collections::{BTreeMap, BTreeSet};

use terms::{
    AccountLimits, AccountStatus, Group, Money, NewOrder, OrderKind, Phase, Position, Side, StateItem, SymbolIndex,
    SymbolRules, Tier, Time, least_display,
};

use crate::engine::Engine;

impl Engine {
    /// Whether a symbol's best bid is below its best ask.
    pub(crate) fn is_uncrossed(&self, symbol: SymbolIndex) -> bool {
        let best = |side| self.books.best(symbol, side).map(|level| self.books.level(level).price);
        match (best(Side::Buy), best(Side::Sell)) {
            (Some(bid), Some(ask)) => bid < ask,
            _ => true,
        }
    }

    /// Whether each level's sum equals the open shares of its orders.
    fn are_levels_added_up(&self) -> bool {
        let symbols = (0..).map(SymbolIndex).take(self.symbols.all().len());
        symbols.flat_map(|symbol| [(symbol, Side::Buy), (symbol, Side::Sell)]).all(|(symbol, side)| {
            let mut left = self.books.levels(symbol, side).map(|level| level.open).collect::<Vec<_>>();
            let (mut at, mut last) = (0usize, None);
            self.books.walk(symbol, side, &self.orders, &mut |level, slot| {
                at = at.saturating_add(usize::from(last.is_some_and(|last| last != level.price)));
                last = Some(level.price);
                left[at] = left[at].minus(self.open_of(slot).position());
            });
            left.iter().all(|left| *left == Position::ZERO)
        })
    }

    /// Whether the orders for auctions are those on the books of symbols that are not open, and the shares of market
    /// orders are counted.
    fn are_auction_orders_noted(&self) -> bool {
        let symbols = (0..).map(SymbolIndex).take(self.symbols.all().len());
        let (mut orders, mut market) = (Vec::new(), BTreeMap::new());
        for (symbol, side) in symbols.flat_map(|symbol| [(symbol, Side::Buy), (symbol, Side::Sell)]) {
            self.books.walk(symbol, side, &self.orders, &mut |level, slot| {
                let kind = self.orders.kind(slot).0;
                if kind.is_for_auction() {
                    orders.push((self.orders.get(slot).id, symbol));
                }
                if kind == OrderKind::AuctionMarket {
                    let shares = market.entry((symbol, side, level.price)).or_insert(Position::ZERO);
                    *shares = shares.plus(self.open_of(slot).position());
                }
            });
        }
        orders.sort_unstable();
        let gather = orders.iter().all(|(_, symbol)| self.phase(*symbol).phase != Phase::Open);
        gather && self.auction_orders.all().eq(orders) && *self.auction_orders.market() == market
    }

    /// Checks the whole state: no balance or position is negative, money and shares are those that were created, every
    /// book is uncrossed and in the order of price and time. Panics on the first fault. The time is proportional to the
    /// state.
    pub fn check_invariants(&self) {
        assert!(self.are_limits_counted(), "what accounts with limits have open is counted");
        assert!(self.are_kills_sound(), "nothing is open where orders are killed, but where that goes on");
        assert!(self.are_closed_accounts_empty(), "no closed account has or gets anything");
        assert!(self.are_auction_orders_noted(), "orders for an auction gather, and are found");
        assert!(self.are_levels_added_up(), "what is open at a limit is what is open of its orders");
        let mut money = Money::ZERO;
        let mut shares = vec![Position::ZERO; self.symbols.all().len()];
        let (mut open_orders, mut executions, mut open_client_orders, mut reached_orders, mut deadlines, mut icebergs) =
            (0usize, 0usize, 0usize, 0usize, 0usize, 0usize);
        let (mut trailing, mut added_up) = (0usize, 0usize);
        let (mut pending_orders, mut due_orders) = (0usize, 0usize);
        let mut being_reached = BTreeSet::new();
        let mut last: Option<(SymbolIndex, Side, terms::Price)> = None;
        self.export(&mut |item| match item {
            StateItem::Head { .. } | StateItem::Symbol { .. } | StateItem::Watch { .. } => {}
            StateItem::Fees { fees, .. } => assert!(fees.is_any(), "fees are fees of something"),
            StateItem::Tier { tier, .. } => assert!(tier != Tier::FIRST, "everybody is of the first tier"),
            StateItem::AccountStatus { account, status } => {
                assert!(status != AccountStatus::NEW && self.account_status(account) == status, "a told status is one");
            }
            StateItem::Kill { scope } => assert!(self.kills().is_killed(scope), "what is told is killed"),
            StateItem::Calendar { through } => assert!(through > Time::ZERO, "a calendar was followed"),
            StateItem::Protection { account, .. } => {
                assert!((account.0 as usize) < self.accounts.all().len(), "who is protected is there");
            }
            StateItem::Message(message) => {
                assert!(
                    message.epoch > 0 && message.position > 0,
                    "a message of the shared log has a writer and a place"
                );
            }
            StateItem::PhaseChanged { symbol, at } => {
                assert!(self.symbol_name(symbol).is_some(), "a phase that was changed is that of a symbol");
                assert!(self.shared_log.has_phase_since(symbol, at), "what is told was noted");
            }
            StateItem::Limits { account, limits } => {
                assert!(limits != AccountLimits::NONE && limits.is_sound(), "limits say something that can be obeyed");
                assert!(self.account_limits(account) == limits, "what is told is the limit");
            }
            StateItem::Group { group, .. } => assert!(group != Group::NONE, "a group is one"),
            StateItem::Phase { phase, .. } => {
                assert!(phase.phase != Phase::Open && phase.is_sound(), "a phase is one");
            }
            StateItem::Rules { rules, .. } => {
                assert!(
                    rules != SymbolRules::NONE && rules.check() == Ok(()),
                    "rules say something that can be obeyed"
                );
            }
            StateItem::Account { balance, .. } => {
                assert!(!balance.is_negative(), "no balance is negative");
                money = money.plus(balance);
            }
            StateItem::Position { symbol, shares: position, .. } => {
                assert!(!position.is_negative(), "no position is negative");
                shares[symbol.0 as usize] = shares[symbol.0 as usize].plus(position);
            }
            StateItem::Order { order, symbol, side, limit, open, .. } => {
                assert!(!open.is_zero(), "an order on a book has something open");
                assert!(order < self.next_order, "an order has an id that was given out");
                if let Some((_, _, last_limit)) = last.filter(|last| (last.0, last.1) == (symbol, side)) {
                    let worse = match side {
                        Side::Buy => limit < last_limit,
                        Side::Sell => limit > last_limit,
                    };
                    assert!(worse || limit == last_limit, "best price first");
                }
                last = Some((symbol, side, limit));
                let (held, held_shares) = self.held_beside(order, &NewOrder::limit(symbol, side, limit, open));
                money = money.plus(held);
                shares[symbol.0 as usize] = shares[symbol.0 as usize].plus(held_shares);
                open_orders = open_orders.saturating_add(1);
            }
            StateItem::Link { order, partner } => {
                let slots = [order, partner].map(|order| self.orders.find(order));
                let [Some(one), Some(other)] = slots else { panic!("linked orders are open") };
                assert!(self.are_a_pair(one, other), "linked orders are a pair");
            }
            StateItem::Kind { kind, .. } => assert!(kind.rests(), "an order on a book is of a kind that rests"),
            StateItem::Execution(execution) => {
                assert!(!execution.shares.is_zero(), "an execution has shares");
                executions = executions.saturating_add(1);
            }
            StateItem::Executed(executed) => {
                assert!(executed.is_past(), "an order with few executions keeps them");
                added_up = added_up.saturating_add(1);
            }
            StateItem::Stop { order, placed, is_reached, trail, .. } => {
                if trail.is_some() {
                    let trigger = placed.trigger.expect("it waits for a price");
                    assert!(!is_reached && trigger.is_stop_loss(placed.side), "what follows the market limits a loss");
                    trailing = trailing.saturating_add(1);
                }
                let NewOrder { symbol, shares: open, trigger, .. } = placed;
                assert!(!open.is_zero() && order < self.next_order, "an order that waits was placed and is open");
                let trigger = trigger.expect("it waits for a price");
                let is_left = trail.is_none() && self.stops.triggers_left(symbol).reaches(trigger);
                let is_reached_now = self.stops.last_price(symbol).is_some_and(|last| trigger.is_reached_by(last));
                assert!(
                    is_reached || is_left || !is_reached_now,
                    "what the last price reaches is left, or was reached"
                );
                if !is_reached && is_left {
                    assert!(self.stops.is_being_reached(symbol), "where triggers are left they are being reached");
                    being_reached.insert(symbol);
                }
                let (held, held_shares) = self.held_beside(order, &placed);
                money = money.plus(held);
                shares[symbol.0 as usize] = shares[symbol.0 as usize].plus(held_shares);
                open_orders = open_orders.saturating_add(1);
                let is_next = is_reached && self.phase(symbol).phase == Phase::Open;
                reached_orders = reached_orders.saturating_add(usize::from(is_next));
            }
            StateItem::Delayed { order, placed, is_under_way, .. } => {
                let NewOrder { symbol, shares: open, .. } = placed;
                assert!(!open.is_zero() && order < self.next_order, "an order that waits was placed and is open");
                let is_for_auction = placed.kind.is_for_auction();
                assert!(
                    is_for_auction || self.stops.delays(symbol),
                    "an order that waits for its turn keeps others waiting, unless it waits for an auction"
                );
                assert!(!is_under_way || self.stops.is_under_way(symbol), "what is told is under way");
                let is_cut = is_under_way && (placed.kind == OrderKind::FillOrKill || is_for_auction);
                assert!(!is_cut, "an order that executes wholly or not at all, or in an auction, is not under way");
                let (held, held_shares) = self.held_beside(order, &placed);
                money = money.plus(held);
                shares[symbol.0 as usize] = shares[symbol.0 as usize].plus(held_shares);
                open_orders = open_orders.saturating_add(1);
                let its_phase = if is_for_auction { Phase::Auction } else { Phase::Open };
                let is_next = self.phase(symbol).phase == its_phase;
                reached_orders = reached_orders.saturating_add(usize::from(is_next));
            }
            StateItem::Pending { order, working, is_due, .. } => {
                assert!(self.pends_on(order) == Some(working), "an order that waits for another one knows for which");
                let is_open = self.orders.find(working).is_some_and(|slot| !self.orders.get(slot).open.is_zero());
                assert!(is_open != is_due, "it waits while its working order is open");
                due_orders = due_orders.saturating_add(usize::from(is_due));
                open_orders = open_orders.saturating_add(1);
                pending_orders = pending_orders.saturating_add(1);
            }
            StateItem::Deadline { order, until } => {
                let is_open = self.orders.find(order).is_some_and(|slot| !self.orders.get(slot).open.is_zero());
                assert!(is_open && self.deadline(order) == Some(until), "an order with a deadline is open");
                deadlines = deadlines.saturating_add(1);
            }
            StateItem::Iceberg { order, display, shown } => {
                let slot = self.orders.find(order).expect("an order that shows a part is open");
                let open = self.open_of(slot);
                assert!(!open.is_zero() && !display.is_zero() && shown <= display.min(open), "a part is shown");
                assert!(shown.is_zero() == self.is_in_no_book(slot), "what rests shows something");
                assert!(least_display(open) <= display, "an order is shown in a few parts");
                icebergs = icebergs.saturating_add(1);
            }
            StateItem::ClientOrder { order, id, account, done, .. } => {
                assert!(order < self.next_order, "a client order id stands for an order that was placed");
                match done {
                    Some(done) => assert!(done <= self.time, "what is done was done"),
                    None => open_client_orders = open_client_orders.saturating_add(1),
                }
                let known = done.is_none().then_some(id);
                assert!(self.client_order_id(order) == known, "an open order knows its client order id, and no other");
                let account = self.accounts.get(account).id;
                assert!(self.client_order(account, id) == Ok(order), "a client order id is found");
            }
        });
        assert!(money == self.money_issued, "money is conserved");
        for (index, listing) in self.symbols.all().iter().enumerate() {
            assert!(shares[index] == listing.issued, "shares of {} are conserved", listing.name);
            let symbol = SymbolIndex(u32::try_from(index).expect("invariant: at most 2^32 - 1 symbols"));
            let gathers = self.phase(symbol).phase != Phase::Open;
            assert!(gathers || self.is_uncrossed(symbol), "the best bid of {} is below its best ask", listing.name);
        }
        assert!(open_client_orders == self.client_orders.open_count(), "an open order keeps its client order id");
        assert!(open_orders == self.open_order_count(), "every open order is on its book, or waits");
        assert!(deadlines == self.deadlines.len(), "every deadline is that of one order");
        let followed = (0..self.symbols.all().len()).map(|at| self.stops.trailing(SymbolIndex(at as u32)));
        let counted = [followed.sum::<usize>(), self.stops.trailing_of_all()];
        assert!(counted == [trailing; 2], "every order that follows the market is counted, also among its account's");
        assert!(icebergs == self.icebergs.len(), "every order that shows a part is one");
        let reached_orders = reached_orders.saturating_add(being_reached.len());
        assert!(reached_orders == self.stops.reached_orders(), "orders that were reached are counted");
        assert!(due_orders == self.pendings.due_orders(), "those whose turn comes are counted");
        let waiting = pending_orders.saturating_add(self.stops.len());
        assert!(self.orders.waiting_count() == waiting, "the orders that wait are found apart from the others");
        assert!(pending_orders == self.pendings.len(), "every order that waits for another one is told");
        if self.done_order_count() == 0 {
            assert!(self.orders.record_count() == executions, "what befell forgotten orders is forgotten");
            assert!(self.orders.sum_count() == added_up, "what forgotten orders came to is forgotten");
        }
    }
}
