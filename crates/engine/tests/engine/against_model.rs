//! The engine against the naive model, on random markets. The long form is `examples/against_model.rs`.

use crate::common::duel::Duel;
use crate::common::situations::Situations;
use proptest::prelude::*;
use terms::{
    AccountId, Amendment, AuctionTies, Bond, ClientOrderId, Command, DOLLAR, Deadline, Distance, FundsOrder, Money,
    NewOrder, Op, OrderId, OrderKind, Pause, Phase, Place, Position, Price, Query, SelfTrade, Shares, Side, Symbol,
    SymbolRules, Time, TimeInForce, Trail, Trigger, WaitsFor,
};

#[test]
fn the_engine_does_what_the_model_does() {
    let halves = std::thread::scope(|scope| {
        [1, 2]
            .map(|seed| scope.spawn(move || crate::common::run(seed, 1_200_000, &mut |_| {})))
            .map(|half| half.join().unwrap())
    });
    let mut situations = Situations::new();
    halves.iter().for_each(|half| situations.add(half));
    let rare = situations.rarer_than(10);
    assert!(rare.is_empty(), "too rare to prove anything: {rare:?}\n{situations}");
}

/// A step of a short market, small enough to shrink well.
#[derive(Clone, Debug)]
enum Step {
    Play(Op),
    /// A cancel and an order behind it, without the engine's upkeep between requests.
    Replace(Command, Command),
    TakeDone,
    ForgetSome,
    ExportAndImport,
}

fn account(number: u8) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn symbol(number: u8) -> Symbol {
    Symbol::parse(format!("S{number}").as_bytes()).unwrap()
}

fn any_account() -> impl Strategy<Value = AccountId> {
    (0u8..4).prop_map(account)
}

fn any_symbol() -> impl Strategy<Value = Symbol> {
    (0u8..3).prop_map(symbol)
}

fn any_client_id() -> impl Strategy<Value = ClientOrderId> {
    (0u8..3).prop_map(|number| ClientOrderId::parse(format!("c-{number}").as_bytes()).unwrap())
}

/// Draws a kind, mostly limit, so that the others meet some limit orders.
fn any_kind() -> impl Strategy<Value = OrderKind> {
    prop_oneof![2 => Just(OrderKind::Limit), 1 => proptest::sample::select(OrderKind::ALL.as_slice())]
}

/// Draws a trigger, mostly none. A negative one is reached from above.
fn any_trigger() -> impl Strategy<Value = i64> {
    prop_oneof![3 => Just(0), 1 => -4i64..5]
}

/// Draws a mode, mostly none.
fn any_self_trade() -> impl Strategy<Value = SelfTrade> {
    prop_oneof![2 => Just(SelfTrade::Allowed), 1 => proptest::sample::select(SelfTrade::ALL.as_slice())]
}

/// Draws a deadline, mostly none, some that have passed, and others that pass soon.
fn any_deadline() -> impl Strategy<Value = Option<Deadline>> {
    let begin = 1_700_000_000_000_000u64;
    prop_oneof![3 => Just(None), 1 => (0u64..30).prop_map(move |step| Deadline::from_code(begin + step * 400_000))]
}

type Body = (Symbol, Side, i64, i64, OrderKind, i64, SelfTrade);

fn order((symbol, side, limit, shares, kind, trigger, self_trade): Body) -> NewOrder {
    let (limit, shares) = (Price::from_units(limit).unwrap(), Shares::from_units(shares).unwrap());
    let order = NewOrder::of_kind(kind, symbol, side, limit, shares).with_self_trade(self_trade);
    NewOrder { trigger: Trigger::from_code(trigger), ..order }
}

/// Draws from few prices and sizes, so that the same order comes again.
fn any_client_order() -> impl Strategy<Value = Command> {
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let body = (any_symbol(), side, 1i64..3, 1i64..3, any_kind(), any_trigger(), any_self_trade());
    (any_client_id(), any_account(), body, any_deadline()).prop_map(|(id, account, body, until)| {
        Command::Place(Place::order(account, order(body)).named(Some(id)).until(until))
    })
}

fn any_command() -> impl Strategy<Value = Command> {
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let body = (any_symbol(), side, 1i64..5, 1i64..6, any_kind(), any_trigger(), any_self_trade());
    let place = (any_account(), body, any_deadline())
        .prop_map(|(account, body, until)| Command::Place(Place::order(account, order(body)).until(until)));
    prop_oneof![
        12 => place,
        6 => any_client_order(),
        1 => (any_account(), any_symbol(), any::<bool>(), 1i128..30, proptest::option::of(any_client_id()), any_self_trade()).prop_map(
            |(account, symbol, buys, funds, client_id, self_trade)| {
                let side = if buys { Side::Buy } else { Side::Sell };
                let order = FundsOrder { symbol, side, funds: Money::from_units(funds), self_trade };
                Command::Place(Place::funds(account, order).named(client_id))
            },
        ),
        2 => (any_account(), any_client_id()).prop_map(|(account, id)| Command::CancelOrder { account, order: id.into() }),
        4 => (any_account(), 0u64..20).prop_map(|(account, order)| Command::CancelOrder { account, order: OrderId(order).into() }),
        1 => (any_account(), any_symbol(), 0i128..8).prop_map(|(account, symbol, shares)| {
            Command::IssueShares { symbol, account, shares: Position::from_units(shares) }
        }),
        1 => (any_account(), 0i128..40).prop_map(|(account, balance)| {
            Command::CreateAccount { account, balance: Money::from_units(balance) }
        }),
        1 => any_symbol().prop_map(|symbol| Command::CreateSymbol { symbol }),
        1 => Just(Command::ActivateReached),
        1 => Just(Command::ExpireOrders),
        2 => (any_account(), 0u64..20, 1i64..6).prop_map(|(account, order, shares)| Command::AmendOrder {
            account,
            order: OrderId(order).into(),
            shares: Shares::from_units(shares).unwrap(),
        }),
        1 => (any_account(), any_client_id(), 1i64..3).prop_map(|(account, id, shares)| Command::AmendOrder {
            account,
            order: id.into(),
            shares: Shares::from_units(shares).unwrap(),
        }),
        4 => any_amendment(),
        2 => (any_symbol(), any_rules()).prop_map(|(symbol, rules)| Command::ChangeRules { symbol, rules }),
        2 => (any_symbol(), proptest::sample::select(Phase::ALL.as_slice()), proptest::option::of((0u64..200).prop_map(Time)))
            .prop_map(|(symbol, phase, due)| Command::ChangePhase { symbol, phase, due }),
        1 => Just(Command::EndAuction),
    ]
}

/// Draws an amendment of one or two terms.
fn any_amendment() -> impl Strategy<Value = Command> {
    let name = prop_oneof![
        4 => (0u64..20).prop_map(|order| OrderId(order).into()),
        1 => any_client_id().prop_map(terms::OrderName::from)
    ];
    let term = (0u8..9, 1i64..6, any_deadline(), proptest::sample::select(TimeInForce::ALL.as_slice()));
    let terms = proptest::collection::vec(term, 1..3);
    (any_account(), name, terms).prop_map(|(account, name, terms)| {
        let bare = Amendment::of(account, name);
        let named = terms.into_iter().fold(bare, |amendment, (which, units, until, tif)| {
            let (price, shares) = (Price::from_units(units).unwrap(), Shares::from_units(units).unwrap());
            match which {
                0 | 1 => amendment.with_shares(shares),
                2 | 3 => amendment.with_limit(price),
                4 => amendment.with_wait(WaitsFor::StopLoss(price)),
                5 => amendment.with_wait(WaitsFor::Trail(Trail::by(price))),
                6 => amendment.with_display(Some(shares).filter(|_| units < 5)),
                7 => amendment.with_deadline(until),
                _ => amendment.with_tif(tif),
            }
        });
        Command::Amend(named)
    })
}

/// Draws small rules for small orders; rules that no order could obey become none.
fn any_rules() -> impl Strategy<Value = SymbolRules> {
    let shares = |units| Shares::from_units(units).unwrap();
    (1i64..3, 1i64..3, 1i64..3, 1i128..4, 0u32..15_000, 0u8..8).prop_map(
        move |(tick, lot, least, value, band, more)| {
            let rules = SymbolRules {
                tick: Price::from_units(tick).unwrap(),
                lot: shares(lot),
                shares_min: shares(least),
                value_min: Money::from_units(value),
                band_up: Distance::from_hundredths(band),
                band_down: Distance::from_hundredths(band.min(9_999)),
                is_halted: more == 0,
                interruption: Pause::from_seconds(u32::from(more >= 3)).filter(|_| band > 0),
                band_size: shares(if band > 0 { least } else { 1 }),
                static_up: Distance::from_hundredths(band / 2),
                static_down: Distance::from_hundredths(u32::from(more == 1) * 1_000),
                reference: Price::from_units(lot).filter(|_| more == 1),
                auction_ties: if more % 2 == 0 { AuctionTies::Pressure } else { AuctionTies::Nearest },
                ..SymbolRules::NONE
            };
            if more < 5 && rules.check().is_ok() { rules } else { SymbolRules::NONE }
        },
    )
}

/// Draws an order on the condition of a cancel.
fn any_replacement() -> impl Strategy<Value = Step> {
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let body = (any_symbol(), side, 1i64..5, 1i64..6, any_kind(), any_trigger(), any_self_trade());
    let canceled = prop_oneof![
        (0u64..20).prop_map(|order| OrderId(order).into()),
        any_client_id().prop_map(terms::OrderName::from)
    ];
    (any_account(), canceled, body, proptest::option::of(any_client_id()), any::<bool>()).prop_map(
        |(account, order_name, body, client_id, keeps)| {
            let place = Place::order(account, order(body)).named(client_id);
            let (first, bond) = match keeps {
                true => (Command::ReplaceOrder { account, order: order_name }, Bond::Replacing),
                false => (Command::CancelOrder { account, order: order_name }, Bond::IfCanceled),
            };
            Step::Replace(first, Command::Place(place.bound(bond)))
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        15 => any_command().prop_map(|command| Step::Play(Op::Command(command))),
        2 => any_replacement(),
        3 => (any_account(), 0u64..20).prop_map(|(account, order)| Step::Play(Op::Query(Query { account, order: OrderId(order).into() }))),
        1 => (any_account(), any_client_id())
            .prop_map(|(account, id)| Step::Play(Op::Query(Query { account, order: id.into() }))),
        1 => Just(Step::TakeDone),
        1 => Just(Step::ForgetSome),
        1 => Just(Step::ExportAndImport),
    ]
}

/// Opens three accounts (the fourth is unknown at first) with a little of two symbols (the third is unknown at first).
fn opened() -> Duel {
    let mut duel = Duel::new(7, 1);
    for number in 0..2 {
        duel.play(Op::Command(Command::CreateSymbol { symbol: symbol(number) }));
    }
    for number in 0..3 {
        let account = account(number);
        let balance = Money::from_units(60);
        duel.play(Op::Command(Command::CreateAccount { account, balance }));
        for name in 0..2 {
            let shares = Position::from_units(12);
            duel.play(Op::Command(Command::IssueShares { symbol: symbol(name), account, shares }));
        }
    }
    duel
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_short_market_goes_as_in_the_model(steps in proptest::collection::vec(any_step(), 1..60)) {
        let mut duel = opened();
        for step in steps {
            match step {
                Step::Play(op) => duel.play(op),
                Step::Replace(cancel, placing) => [cancel, placing].map(Op::Command).into_iter().for_each(|op| duel.play(op)),
                Step::TakeDone => duel.take_done(),
                Step::ForgetSome => duel.forget_some(),
                Step::ExportAndImport => duel.export_and_import(),
            }
        }
        duel.end();
    }
}

/// The last balance event must have the balance. A regression: an order that bought all from its own account, below its
/// limit, ended with its first balance and made no event, while the event of the sale, before the improvement was given
/// back, had a lower one.
#[test]
fn a_buy_from_oneself_tells_the_balance_it_ends_with() {
    let mut duel = Duel::new(1, 1);
    let (account, symbol) = (account(1), symbol(1));
    let place = |side, dollars: i64| {
        let limit = Price::from_units(dollars * 100_000_000).unwrap();
        let shares = Shares::from_units(100_000_000).unwrap();
        Op::Command(Command::Place(Place::order(account, NewOrder::limit(symbol, side, limit, shares))))
    };
    duel.play(Op::Command(Command::CreateSymbol { symbol }));
    duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(100 * DOLLAR) }));
    duel.play(Op::Command(Command::IssueShares { symbol, account, shares: Position::from_units(100_000_000) }));
    duel.play(place(Side::Sell, 8));
    duel.play(place(Side::Buy, 10));
    duel.end();
}

/// A client must not make the engine look through a whole book for an order that takes nothing.
#[test]
fn a_fill_or_kill_and_an_order_for_money_look_at_a_thousand_orders() {
    let mut duel = Duel::new(1, 1_000);
    let (account, symbol) = (account(1), symbol(1));
    let (limit, one) = (Price::from_units(100_000_000).unwrap(), Shares::from_units(100_000_000).unwrap());
    duel.play(Op::Command(Command::CreateSymbol { symbol }));
    duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(3_000 * DOLLAR) }));
    duel.play(Op::Command(Command::IssueShares { symbol, account, shares: Position::from_units(200_300_000_000) }));
    let place = |order| Op::Command(Command::Place(Place::order(account, order)));
    (0..2_003).for_each(|_| duel.play(place(NewOrder::limit(symbol, Side::Sell, limit, one))));
    for (shares, resting) in [(1_001, 2_003), (1_000, 1_003)] {
        let shares = Shares::from_units(shares * one.units()).unwrap();
        duel.play(place(NewOrder::of_kind(OrderKind::FillOrKill, symbol, Side::Buy, limit, shares)));
        assert_eq!(duel.model().open_orders().len(), resting);
    }
    let order = FundsOrder {
        symbol,
        side: Side::Buy,
        funds: Money::from_units(1_500 * DOLLAR),
        self_trade: SelfTrade::Allowed,
    };
    duel.play(Op::Command(Command::Place(Place::funds(account, order))));
    assert_eq!(duel.model().open_orders().len(), 3);
    duel.end();
}

/// One execution reaches more orders than one command activates, at prices in another order than that of their placing.
/// The rest keep their order, wait for commands of their own, can be canceled meanwhile, and are the same after an
/// import.
#[test]
fn orders_that_are_reached_together_are_activated_a_thousand_at_a_time() {
    let mut duel = Duel::new(1, 1_000);
    let (account, symbol) = (account(1), symbol(1));
    let price = |units: i64| Price::from_units(units).unwrap();
    let one = Shares::from_units(1).unwrap();
    duel.play(Op::Command(Command::CreateSymbol { symbol }));
    duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(10 * DOLLAR) }));
    duel.play(Op::Command(Command::IssueShares { symbol, account, shares: Position::from_units(100_000) }));
    let place = |order| Op::Command(Command::Place(Place::order(account, order)));
    let limit = |side, limit| place(NewOrder::limit(symbol, side, price(limit), one));
    for nth in 0..2_200 {
        let trigger = Trigger::from_above(price(50 - nth % 3));
        duel.play(place(NewOrder::limit(symbol, Side::Sell, price(1_000 + nth), one).triggered_by(trigger)));
    }
    let lower = NewOrder::limit(symbol, Side::Sell, price(5_000), one).triggered_by(Trigger::from_above(price(30)));
    duel.play(place(lower));
    duel.play(limit(Side::Buy, 40));
    duel.play(limit(Side::Sell, 40));
    assert_eq!(duel.model().reached_orders(), 1_200, "a thousand are activated at once");
    duel.play(limit(Side::Buy, 30));
    duel.play(limit(Side::Sell, 30));
    assert_eq!(duel.model().reached_orders(), 1_201, "whoever reaches others meanwhile does not activate them");
    duel.export_and_import();
    // These are the first reached order, the last, and some between.
    let reached: Vec<OrderId> = duel.model().open_orders().filter(|order| order.waits).map(|order| order.id).collect();
    for order in [reached[0], reached[1_199], reached[7], reached[8], reached[600]] {
        duel.play(Op::Command(Command::CancelOrder { account, order: order.into() }));
    }
    assert_eq!(duel.model().reached_orders(), 1_196);
    duel.play(Op::Command(Command::ActivateReached));
    assert_eq!(duel.model().reached_orders(), 196);
    duel.export_and_import();
    duel.play(Op::Command(Command::ActivateReached));
    assert_eq!(duel.model().reached_orders(), 0);
    duel.play(Op::Command(Command::ActivateReached));
    duel.end();
}

/// One order executes with more working orders than one command releases pending ones. The rest keep their order, wait
/// for commands of their own, can be canceled meanwhile, and are the same after an import.
#[test]
fn orders_whose_working_orders_are_executed_together_are_placed_a_thousand_at_a_time() {
    let mut duel = Duel::new(1, 1_000);
    let (account, symbol) = (account(1), symbol(1));
    let price = |units: i64| Price::from_units(units).unwrap();
    let shares = |units| Shares::from_units(units).unwrap();
    duel.play(Op::Command(Command::CreateSymbol { symbol }));
    duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(10 * DOLLAR) }));
    duel.play(Op::Command(Command::IssueShares { symbol, account, shares: Position::from_units(100_000) }));
    let (client_id, until) = (None, None);
    let play = |duel: &mut Duel, commands: &[Command]| {
        commands.iter().for_each(|command| duel.play(Op::Command(*command)));
    };
    for nth in 0..2_200 {
        let two_wait = nth % 3 == 0;
        let order = NewOrder::limit(symbol, Side::Buy, price(40), shares(1));
        let working = Command::Place(
            Place::order(account, order).named(client_id).until(until).bound(Bond::Working { two_wait }),
        );
        let profit = NewOrder::of_kind(OrderKind::PostOnly, symbol, Side::Sell, price(50 + nth), shares(1));
        let loss =
            NewOrder::limit(symbol, Side::Sell, price(10), shares(1)).triggered_by(Trigger::from_above(price(20)));
        let pending =
            |order| Command::Place(Place::order(account, order).named(client_id).until(until).bound(Bond::Pending));
        let all = [working, pending(profit), pending(loss)];
        play(&mut duel, if two_wait { &all } else { &all[..2] });
    }
    let sell = |units| {
        let order = NewOrder::limit(symbol, Side::Sell, price(40), shares(units));
        Op::Command(Command::Place(Place::order(account, order).named(client_id).until(until)))
    };
    duel.play(sell(2_100));
    let waiting = duel.model().open_orders().filter(|order| order.pends_on.is_some()).count();
    assert_eq!(duel.model().reached_orders(), waiting - 100 - 34, "all but those whose working orders are open");
    assert_eq!(duel.model().links(), 334, "a thousand requests' orders are placed at once");
    duel.export_and_import();
    // These are one order of a pair, one alone, and one of the last.
    let mut due: Vec<OrderId> = duel.model().due_orders().collect();
    due.sort();
    for order in [due[0], due[1], due[due.len() - 1], due[due.len() / 2]] {
        duel.play(Op::Command(Command::CancelOrder { account, order: order.into() }));
    }
    assert!(duel.model().reached_orders() > 0, "what is not placed by one command is placed by later ones");
    duel.export_and_import();
    duel.play(Op::Command(Command::ActivateReached));
    duel.play(Op::Command(Command::ActivateReached));
    assert_eq!(duel.model().reached_orders(), 0);
    duel.play(sell(100));
    assert_eq!(duel.model().open_orders().filter(|order| order.pends_on.is_some()).count(), 0);
    duel.end();
}

/// A falling market sells out order by order: each stop's own execution reaches the next.
#[test]
fn a_cascade_goes_down_level_by_level_and_ends() {
    let mut duel = Duel::new(1, 1);
    let (seller, buyer, symbol) = (account(1), account(2), symbol(1));
    let price = |units: i64| Price::from_units(units).unwrap();
    let one = Shares::from_units(1).unwrap();
    duel.play(Op::Command(Command::CreateSymbol { symbol }));
    for account in [seller, buyer] {
        duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(10_000) }));
    }
    duel.play(Op::Command(Command::IssueShares { symbol, account: seller, shares: Position::from_units(100) }));
    let place = |account, order| Op::Command(Command::Place(Place::order(account, order)));
    for units in (91..=100).rev() {
        duel.play(place(buyer, NewOrder::limit(symbol, Side::Buy, price(units), one)));
    }
    for units in 95..=100 {
        let stop = NewOrder::market(symbol, Side::Sell, one).triggered_by(Trigger::stop_loss(Side::Sell, price(units)));
        duel.play(place(seller, stop));
    }
    // The sale begins at 100, and goes down to 94, below the last stop.
    duel.play(place(seller, NewOrder::market(symbol, Side::Sell, one)));
    assert_eq!(duel.model().resting().count(), 3);
    assert_eq!(duel.model().open_orders().len(), 3, "no order waits any more");
    duel.end();
}
