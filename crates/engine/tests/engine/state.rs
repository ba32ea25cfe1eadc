//! The state exported and imported: an altered one is refused or read as it stands, and the hash sees every part.

use std::collections::HashSet;

use engine::{DoneOrders, Engine, Importer};
use model::Model;
use model::workload::{Random, Workload};
use terms::{
    AccountId, AccountLimit, AccountLimits, AuctionTies, BandReferences, CLIENT_ORDER_ID_KEPT_US, ClientOrderId,
    Command, DOLLAR, Deadline, Distance, Entry, Executed, Fee, FeeRate, Grace, Group, KillScope, Money, NewOrder, Op,
    OrderId, OrderKind, Pause, Phase, Place, Position, Price, SelfTrade, Sequence, Shares, Side, StateItem, Symbol,
    SymbolPhase, Tier, Time, Trail, Trigger, TriggersLeft,
};

/// Makes an engine after this many random commands.
fn market(seed: u64, ops: usize) -> Engine {
    let mut workload = Workload::with_client_orders(seed)
        .with_all_kinds()
        .with_terms()
        .with_links()
        .with_rules()
        .with_icebergs()
        .with_fees()
        .with_groups()
        .with_phases()
        .with_trails()
        .with_pendings()
        .with_mass_cancels()
        .with_kills()
        .with_protections()
        .with_limits()
        .with_messages()
        .with_funding()
        .with_closings();
    let mut model = Model::new();
    let mut engine = Engine::new(seed, DoneOrders::Drop);
    let mut requests = Vec::new();
    for _ in 0..ops {
        if requests.is_empty() {
            requests = workload.next_request(&model);
        }
        if let Op::Command(command) = requests.remove(0) {
            let sequence = engine.sequence().next();
            let entry = Entry { sequence, time: Time(sequence.0 * 700_000), command };
            model.apply(&entry, &mut Vec::new(), &mut Vec::new());
            engine.apply(&entry, &mut Vec::new(), &mut |_| {});
        }
    }
    engine
}

fn export(engine: &Engine) -> Vec<StateItem> {
    let mut items = Vec::new();
    engine.export(&mut |item| items.push(item));
    items
}

/// The engine that the items make, if they make one.
fn import(items: &[StateItem]) -> Option<Engine> {
    let mut importer = Importer::new(3, DoneOrders::Keep);
    for item in items {
        importer.add(*item).ok()?;
    }
    importer.finish().ok()
}

/// Leaves one of the items out, doubles it, swaps it with its neighbour, or changes it a little.
fn altered(items: &[StateItem], random: &mut Random) -> Vec<StateItem> {
    let mut items = items.to_vec();
    let place = random.below(items.len());
    match random.below(4) {
        0 => {
            items.remove(place);
        }
        1 => items.insert(random.below(items.len() + 1), items[place]),
        2 => {
            let other = random.below(items.len());
            items.swap(place, other);
        }
        _ => items[place] = different(items[place], random),
    }
    items
}

fn different(item: StateItem, random: &mut Random) -> StateItem {
    let which = random.below(4);
    match item {
        StateItem::Head { sequence, time, next_order } => match which {
            0 => StateItem::Head { sequence: sequence.next(), time, next_order },
            1 => StateItem::Head { sequence, time: Time(time.0 + 1), next_order },
            _ => StateItem::Head { sequence, time, next_order: OrderId(next_order.0 + 1) },
        },
        StateItem::Account { id, balance } => match which {
            0 => StateItem::Account { id: AccountId::parse(b"31337").unwrap(), balance },
            1 => StateItem::Account { id, balance: Money::from_units(-1 - balance.units()) },
            _ => StateItem::Account { id, balance: balance.plus(Money::from_units(1)) },
        },
        StateItem::Symbol { name, issued } => match which {
            0 => StateItem::Symbol { name: Symbol::parse(b"OTHER").unwrap(), issued },
            _ => StateItem::Symbol { name, issued: issued.plus(Position::from_units(1)) },
        },
        StateItem::Position { account, symbol, shares } => match which {
            0 => StateItem::Position { account, symbol, shares: Position::ZERO },
            1 => StateItem::Position { account, symbol: terms::SymbolIndex(symbol.0 + 1), shares },
            2 => StateItem::Position { account: terms::AccountIndex(account.0 + 1), symbol, shares },
            _ => StateItem::Position { account, symbol, shares: shares.plus(Position::from_units(1)) },
        },
        StateItem::Order { order, account, symbol, side, limit, open } => match which {
            0 => StateItem::Order { order: OrderId(order.0 + 1), account, symbol, side, limit, open },
            1 => {
                let limit = Price::from_units(limit.units() / 2 + 1).unwrap();
                StateItem::Order { order, account, symbol, side, limit, open }
            }
            2 => StateItem::Order { order, account: terms::AccountIndex(account.0 + 1), symbol, side, limit, open },
            _ => {
                let open = Shares::from_units(open.units() / 2).unwrap();
                StateItem::Order { order, account, symbol, side, limit, open }
            }
        },
        StateItem::Kind { kind, self_trade } => match which {
            0 => StateItem::Kind { kind: random.pick(&OrderKind::ALL), self_trade },
            1 => StateItem::Kind { kind, self_trade: random.pick(&SelfTrade::ALL) },
            _ => StateItem::Kind { kind: OrderKind::Limit, self_trade: SelfTrade::Allowed },
        },
        StateItem::Execution(mut execution) => {
            match which {
                0 => execution.price = Price::from_units(execution.price.units() / 2 + 1).unwrap(),
                1 => execution.time = Time(execution.time.0 + 1),
                2 => execution.fee = Fee::from_code(execution.fee.code() ^ 1).unwrap_or(Fee::NONE),
                _ => execution.shares = Shares::from_units(execution.shares.units() / 2).unwrap(),
            }
            StateItem::Execution(execution)
        }
        StateItem::Executed(Executed { executions, shares, money }) => StateItem::Executed(match which {
            0 => Executed { executions: executions / 2, shares, money },
            1 => Executed { executions, shares: Shares::from_units(shares.units() / 2).unwrap(), money },
            2 => Executed { executions, shares, money: Money::from_units(money.units() + 1) },
            _ => Executed { executions: executions + 1, shares, money },
        }),
        StateItem::Watch { symbol, last, left, references } => match which {
            0 => StateItem::Watch { symbol: terms::SymbolIndex(symbol.0 + 1), last, left, references },
            1 => StateItem::Watch { symbol, last: None, left, references },
            2 if random.percent(50) => {
                StateItem::Watch { symbol, last, left, references: BandReferences { dynamic: last, ..references } }
            }
            3 if random.percent(50) => {
                let fixed = references.fixed.map_or(Some(Price::MAX), |_| None);
                StateItem::Watch { symbol, last, left, references: BandReferences { fixed, ..references } }
            }
            2 => StateItem::Watch { symbol, last, left: TriggersLeft { up_to: last, ..left }, references },
            3 => StateItem::Watch { symbol, last, left: TriggersLeft { down_to: last, ..left }, references },
            _ => {
                let last = Price::from_units(last.map_or(1, Price::units) / 2 + 1);
                StateItem::Watch { symbol, last, left, references }
            }
        },
        StateItem::Phase { symbol, mut phase } => {
            match which {
                0 => return StateItem::Phase { symbol: terms::SymbolIndex(symbol.0 + 1), phase },
                1 => phase.until = Some(Time(phase.until.map_or(1, |until| until.0 + 1))),
                2 => phase.phase = Phase::Open,
                _ => phase = SymbolPhase { phase: Phase::Halted, until: phase.until },
            }
            StateItem::Phase { symbol, phase }
        }
        StateItem::Rules { symbol, mut rules } => {
            let half = |shares: Shares| Shares::from_units(shares.units() / 2).unwrap();
            match random.below(16) {
                0 => return StateItem::Rules { symbol: terms::SymbolIndex(symbol.0 + 1), rules },
                1 => rules.tick = Price::from_units(rules.tick.units() / 2 + 1).unwrap(),
                2 => rules.lot = half(rules.lot),
                3 => rules.shares_min = half(rules.shares_min),
                4 => rules.shares_max = half(rules.shares_max),
                5 => rules.value_min = rules.value_min.minus(Money::from_units(1)),
                6 => rules.value_max = rules.value_max.plus(Money::from_units(1)),
                7 => rules.band_up = if rules.band_up.is_some() { None } else { Some(Distance::MAX) },
                8 => rules.band_down = if rules.band_down.is_some() { None } else { Some(Distance::DOWN_MAX) },
                9 => {
                    rules.interruption = Pause::from_seconds(rules.interruption.map_or(1, |pause| pause.seconds() + 1))
                }
                10 => rules.band_size = rules.band_size.plus(Shares::MIN),
                11 => rules.static_up = if rules.static_up.is_some() { None } else { Some(Distance::MAX) },
                12 => rules.static_down = if rules.static_down.is_some() { None } else { Some(Distance::DOWN_MAX) },
                13 => rules.reference = Some(Price::MIN),
                14 => {
                    let is_pressed = rules.auction_ties == AuctionTies::Pressure;
                    rules.auction_ties = if is_pressed { AuctionTies::Nearest } else { AuctionTies::Pressure };
                }
                _ => rules.is_halted = !rules.is_halted,
            }
            StateItem::Rules { symbol, rules }
        }
        StateItem::Pending { mut order, mut account, mut placed, mut working, mut is_due } => {
            match random.below(8) {
                0 => order = OrderId(order.0 + 1),
                1 => account = terms::AccountIndex(account.0 + 1),
                2 => placed.side = placed.side.opposite(),
                3 => placed.limit = Price::from_units(placed.limit.units() / 2 + 1).unwrap(),
                4 => placed.shares = Shares::from_units(placed.shares.units() / 2).unwrap(),
                5 => working = OrderId(working.0 + 1),
                6 => placed.symbol.0 += 1,
                _ => is_due = !is_due,
            }
            StateItem::Pending { order, account, placed, working, is_due }
        }
        StateItem::Stop { order, account, placed, is_reached, trail } => {
            let (mut order, mut account, mut placed, mut is_reached) = (order, account, placed, is_reached);
            let mut trail = trail;
            match random.below(10) {
                0 => order = OrderId(order.0 + 1),
                1 => account = terms::AccountIndex(account.0 + 1),
                2 => placed.side = placed.side.opposite(),
                3 => placed.limit = Price::from_units(placed.limit.units() / 2 + 1).unwrap(),
                4 => placed.shares = Shares::from_units(placed.shares.units() / 2).unwrap(),
                5 => placed.trigger = Trigger::from_code(Trigger::code(placed.trigger) / 2),
                6 => placed.symbol.0 += 1,
                7 => trail = Trail::from_code(Trail::code(trail) + 1),
                8 => trail = if trail.is_some() { None } else { Trail::by_bips(100) },
                _ => is_reached = !is_reached,
            }
            StateItem::Stop { order, account, placed, is_reached, trail }
        }
        StateItem::Delayed { mut order, mut account, mut placed, mut is_under_way } => {
            match random.below(7) {
                0 => order = OrderId(order.0 + 1),
                1 => account = terms::AccountIndex(account.0 + 1),
                2 => placed.side = placed.side.opposite(),
                3 => placed.limit = Price::from_units(placed.limit.units() / 2 + 1).unwrap(),
                4 => placed.shares = Shares::from_units(placed.shares.units() / 2).unwrap(),
                5 => placed.symbol.0 += 1,
                _ => is_under_way = !is_under_way,
            }
            StateItem::Delayed { order, account, placed, is_under_way }
        }
        StateItem::Link { order, partner } => match which {
            0 => StateItem::Link { order: OrderId(order.0 + 1), partner },
            1 => StateItem::Link { order, partner: OrderId(partner.0 + 1) },
            _ => StateItem::Link { order: partner, partner: order },
        },
        StateItem::Deadline { order, until } => match which {
            0 => StateItem::Deadline { order: OrderId(order.0 + 1), until },
            1 => StateItem::Deadline { order, until: Deadline::from_code(until.time().0 / 2 + 1).unwrap() },
            _ => StateItem::Deadline { order, until: Deadline::from_code(until.time().0 + 1).unwrap() },
        },
        StateItem::Iceberg { order, display, shown } => match which {
            0 => StateItem::Iceberg { order: OrderId(order.0 + 1), display, shown },
            1 => StateItem::Iceberg { order, display: Shares::from_units(display.units() / 2).unwrap(), shown },
            _ => StateItem::Iceberg { order, display, shown: Shares::from_units(shown.units() / 2).unwrap() },
        },
        StateItem::ClientOrder { order, id, account, placed, until, display, trail, done } => {
            let day = CLIENT_ORDER_ID_KEPT_US;
            let (mut order, mut id, mut account, mut placed) = (order, id, account, placed);
            let (mut until, mut display, mut trail, mut done) = (until, display, trail, done);
            match random.below(13) {
                0 => order = OrderId(order.0 + 1),
                1 => id = ClientOrderId::parse(b"another").unwrap(),
                2 => account = terms::AccountIndex(account.0 + 1),
                3 => placed.side = placed.side.opposite(),
                4 => placed.limit = Price::from_units(placed.limit.units() / 2 + 1).unwrap(),
                5 => placed.shares = Shares::from_units(placed.shares.units() / 2).unwrap(),
                6 => done = done.map(|done| Time(done.0.saturating_sub(day))),
                7 => done = done.map(|done| Time(done.0 + 1)),
                8 => until = Deadline::from_code(Deadline::code(until) / 2 + 1),
                9 => placed.self_trade = random.pick(&SelfTrade::ALL),
                11 => trail = if trail.is_some() { None } else { Trail::by_bips(100) },
                10 => display = if display.is_some() { None } else { Some(placed.shares) },
                _ => done = if done.is_some() { None } else { Some(Time(7)) },
            }
            StateItem::ClientOrder { order, id, account, placed, until, display, trail, done }
        }
        StateItem::Fees { mut symbol, mut tier, mut fees } => {
            match random.below(5) {
                0 => symbol.0 += 1,
                1 => tier = Tier::new(tier.number() ^ 1).unwrap(),
                2 => fees.account.0 += 1,
                3 => fees.maker = FeeRate::from_millionths(fees.maker.millionths() / 2).unwrap(),
                _ => fees.taker = FeeRate::from_millionths(fees.taker.millionths() / 2).unwrap(),
            }
            StateItem::Fees { symbol, tier, fees }
        }
        StateItem::Tier { account, tier } => match which {
            0 => StateItem::Tier { account: terms::AccountIndex(account.0 + 1), tier },
            _ => StateItem::Tier { account, tier: Tier::new(tier.number() ^ 1).unwrap() },
        },
        StateItem::Group { account, group } => match which {
            0 => StateItem::Group { account: terms::AccountIndex(account.0 + 1), group },
            _ => StateItem::Group { account, group: Group::new(group.number() ^ 1).unwrap() },
        },
        StateItem::AccountStatus { account, mut status } => match which {
            0 => StateItem::AccountStatus { account: terms::AccountIndex(account.0 + 1), status },
            1 => {
                status.is_closed ^= true;
                StateItem::AccountStatus { account, status }
            }
            _ => {
                status.transfers ^= 1;
                StateItem::AccountStatus { account, status }
            }
        },
        StateItem::Calendar { through } => StateItem::Calendar { through: Time(through.0 + 1) },
        StateItem::Protection { account, grace } => match which {
            0 => StateItem::Protection { account: terms::AccountIndex(account.0 + 1), grace },
            _ => StateItem::Protection { account, grace: Grace::from_millis((grace.millis() + 1) % 60_000).unwrap() },
        },
        StateItem::Limits { account, mut limits } => {
            let most = |bound: terms::Shares| Shares::from_units(bound.units() ^ 1).unwrap();
            match random.below(6) {
                0 => return StateItem::Limits { account: terms::AccountIndex(account.0 + 1), limits },
                1 => {
                    limits.open_orders = std::num::NonZeroU32::new(limits.open_orders.map_or(1, |most| most.get() + 1))
                }
                2 => limits.order_shares = most(limits.order_shares),
                3 => limits.order_value = Money::from_units(limits.order_value.units() ^ 1),
                4 => limits.position = most(limits.position),
                _ => {
                    limits.collar = Distance::from_hundredths(limits.collar.map_or(1, |collar| collar.hundredths() ^ 2))
                }
            }
            StateItem::Limits { account, limits }
        }
        StateItem::Message(mut message) => {
            match random.below(4) {
                0 => message.node = terms::NodeId::new(message.node.number() + 1).unwrap(),
                1 => message.epoch ^= 1,
                2 => message.number += 1,
                _ => message.position ^= 1,
            }
            StateItem::Message(message)
        }
        StateItem::PhaseChanged { symbol, at } => match which {
            0 => StateItem::PhaseChanged { symbol: terms::SymbolIndex(symbol.0 + 1), at },
            _ => StateItem::PhaseChanged { symbol, at: terms::Time(at.0 ^ 1) },
        },
        StateItem::Kill { scope } => StateItem::Kill {
            scope: match scope {
                KillScope::Everything => KillScope::Account(terms::AccountIndex(0)),
                KillScope::Account(account) => KillScope::Account(terms::AccountIndex(account.0 + 1)),
                KillScope::Symbol(symbol) => KillScope::Symbol(terms::SymbolIndex(symbol.0 + 1)),
            },
        },
    }
}

#[test]
fn altered_state_is_refused_or_read_as_it_stands() {
    let mut random = Random::new(1);
    let (mut refused, mut read) = (0, 0);
    for seed in 0..40 {
        let engine = market(seed, 400);
        let (items, hash) = (export(&engine), engine.state_hash());
        for _ in 0..100 {
            let altered = altered(&items, &mut random);
            let Some(imported) = import(&altered) else {
                refused += 1;
                continue;
            };
            imported.check_invariants();
            let found = export(&imported);
            let first = found.iter().zip(&altered).find(|(found, given)| found != given);
            assert!(found == altered, "seed {seed}: read otherwise than it stands, first at {first:?}");
            assert_eq!(imported.state_hash() == hash, altered == items, "seed {seed}: the hash sees every part");
            read += 1;
        }
    }
    assert!(refused > 500 && read > 500, "{refused} refused, {read} read");
}

/// Both have applied as many commands, so that nothing else differs.
#[test]
fn who_is_protected_is_part_of_the_state() {
    let account = AccountId::parse(b"1").unwrap();
    let protect = |millis| Command::Protect { account, grace: Grace::from_millis(millis).unwrap() };
    let last = [Command::Unprotect { account, is_lost: false, through: None }, protect(0), protect(5_000)];
    let hashes = last.map(|last| {
        let mut engine = Engine::new(1, DoneOrders::Drop);
        for command in [Command::CreateAccount { account, balance: Money::ZERO }, last] {
            let entry = Entry { sequence: engine.sequence().next(), time: Time(1), command };
            engine.apply(&entry, &mut Vec::new(), &mut |_| {});
        }
        let imported = import(&export(&engine)).unwrap();
        assert_eq!(imported.state_hash(), engine.state_hash());
        engine.state_hash()
    });
    let different: HashSet<u64> = hashes.into_iter().collect();
    assert_eq!(different.len(), hashes.len());
}

/// Both have applied as many commands, so that nothing else differs.
#[test]
fn what_is_killed_is_part_of_the_state() {
    let (account, symbol) = (AccountId::parse(b"1").unwrap(), Symbol::parse(b"SPY").unwrap());
    let everything = KillScope::Everything;
    let last = [
        Command::Release { scope: everything },
        Command::Kill { scope: everything },
        Command::Kill { scope: KillScope::Account(account) },
        Command::Kill { scope: KillScope::Symbol(symbol) },
    ];
    let hashes = last.map(|last| {
        let mut engine = Engine::new(1, DoneOrders::Drop);
        let made = [Command::CreateAccount { account, balance: Money::ZERO }, Command::CreateSymbol { symbol }, last];
        for command in made {
            let entry = Entry { sequence: engine.sequence().next(), time: Time(1), command };
            engine.apply(&entry, &mut Vec::new(), &mut |_| {});
        }
        let imported = import(&export(&engine)).unwrap();
        assert_eq!(imported.state_hash(), engine.state_hash());
        engine.state_hash()
    });
    let different: HashSet<u64> = hashes.into_iter().collect();
    assert_eq!(different.len(), hashes.len());
}

#[test]
fn limits_are_part_of_the_state() {
    let account = AccountId::parse(b"1").unwrap();
    let said = [None].into_iter().chain(AccountLimit::ALL.map(Some));
    let hashes: Vec<u64> = said
        .map(|limit| {
            let mut limits = AccountLimits::NONE;
            let amount = terms::Decimal::parse(b"7").unwrap();
            limit.into_iter().for_each(|limit| limits.set_amount(limit, amount).unwrap());
            let mut engine = Engine::new(1, DoneOrders::Drop);
            let made =
                [Command::CreateAccount { account, balance: Money::ZERO }, Command::ChangeLimits { account, limits }];
            for command in made {
                let entry = Entry { sequence: engine.sequence().next(), time: Time(1), command };
                engine.apply(&entry, &mut Vec::new(), &mut |_| {});
            }
            let imported = import(&export(&engine)).unwrap();
            assert_eq!(imported.state_hash(), engine.state_hash());
            engine.state_hash()
        })
        .collect();
    assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
}

#[test]
fn a_stream_without_its_head_is_refused() {
    let items = export(&market(1, 400));
    assert!(import(&items).is_some());
    assert!(import(&items[1..]).is_none());
    assert!(import(&[]).is_none());
    let account = StateItem::Account { id: AccountId::parse(b"1").unwrap(), balance: Money::ZERO };
    assert!(import(&[account]).is_none());
}

/// A symbol without its last price was taken, and its first stop order ended the server.
#[test]
fn a_state_with_a_symbol_without_its_last_price_is_refused() {
    let mut engine = Engine::new(1, DoneOrders::Drop);
    for (number, name) in (1..).zip([b"A", b"B"]) {
        let command = Command::CreateSymbol { symbol: Symbol::parse(name).unwrap() };
        engine.apply(&Entry { sequence: Sequence(number), time: Time(1), command }, &mut Vec::new(), &mut |_| {});
    }
    let items = export(&engine);
    let fault = |without: u32| {
        let mut importer = Importer::new(1, DoneOrders::Drop);
        let is_left_out = |item: &&StateItem| matches!(item, StateItem::Watch { symbol, .. } if symbol.0 == without);
        let added = items.iter().filter(|item| !is_left_out(item)).try_for_each(|item| importer.add(*item));
        added.and_then(|()| importer.finish().map(drop)).err().map(|error| error.fault)
    };
    let out_of_turn = Some("a last price out of its turn: each symbol has one or none, in their order");
    let lacking = Some("a symbol without its last price: each that was listed has one, or none yet");
    assert_eq!([fault(0), fault(1), fault(2)], [out_of_turn, lacking, None]);
}

/// A replay on another machine or in a later build must reach the same state. This figure may change only together with
/// the version of the matching rules.
#[test]
fn the_state_hash_of_a_fixed_market_never_changes() {
    let (one, two) = (AccountId::parse(b"01").unwrap(), AccountId::parse(b"2").unwrap());
    let symbol = Symbol::parse(b"SPY").unwrap();
    let place = |account, side, cents: i64, shares: i64| {
        Command::Place(Place::order(
            account,
            NewOrder::limit(
                symbol,
                side,
                Price::from_units(cents * 1_000_000).unwrap(),
                Shares::from_units(shares * 100_000_000).unwrap(),
            ),
        ))
    };
    let commands = [
        Command::CreateAccount { account: one, balance: Money::from_units(1_000_000 * DOLLAR) },
        Command::CreateAccount { account: two, balance: Money::from_units(DOLLAR / 3) },
        Command::CreateSymbol { symbol },
        Command::IssueShares { symbol, account: two, shares: Position::from_units(12_345_678_901) },
        place(one, Side::Buy, 12_500, 30),
        place(two, Side::Sell, 12_400, 10),
        place(two, Side::Sell, 13_050, 50),
        place(one, Side::Buy, 13_051, 20),
        place(one, Side::Buy, 12_500, 1),
        Command::CancelOrder { account: one, order: OrderId(1).into() },
    ];
    let mut engine = Engine::new(9, DoneOrders::Keep);
    for (sequence, command) in (1..).zip(commands) {
        let entry = Entry { sequence: Sequence(sequence), time: Time(1_700_000_000_000_000 + sequence), command };
        engine.apply(&entry, &mut Vec::new(), &mut |_| {});
    }
    assert_eq!(engine.open_order_count(), 2);
    assert_eq!(engine.state_hash(), 0x2E8B_8FA1_B0EC_DBFF);
}

#[test]
fn the_state_hash_of_a_fixed_market_with_client_order_ids_never_changes() {
    let account = AccountId::parse(b"01").unwrap();
    let symbol = Symbol::parse(b"SPY").unwrap();
    let place = |id: &str, side, cents: i64| {
        Command::Place(
            Place::order(
                account,
                NewOrder::limit(
                    symbol,
                    side,
                    Price::from_units(cents * 1_000_000).unwrap(),
                    Shares::from_units(300_000_000).unwrap(),
                ),
            )
            .named(Some(ClientOrderId::parse(id.as_bytes()).unwrap())),
        )
    };
    let commands = [
        Command::CreateAccount { account, balance: Money::from_units(1_000_000 * DOLLAR) },
        Command::CreateSymbol { symbol },
        Command::IssueShares { symbol, account, shares: Position::from_units(12_345_678_901) },
        place("executed", Side::Buy, 12_500),
        place("123e4567-e89b-12d3-a456-426614174000", Side::Sell, 12_500),
        place("rests", Side::Sell, 13_050),
        place("canceled", Side::Buy, 12_400),
        Command::CancelOrder { account, order: ClientOrderId::parse(b"canceled").unwrap().into() },
    ];
    let mut engine = Engine::new(9, DoneOrders::Keep);
    let mut apply = |sequence, time, command| {
        let entry = Entry { sequence: Sequence(sequence), time: Time(time), command };
        engine.apply(&entry, &mut Vec::new(), &mut |_| {});
        engine.state_hash()
    };
    let mut hash = 0;
    for (sequence, command) in (1..).zip(commands) {
        hash = apply(sequence, 1_700_000_000_000_000 + sequence, command);
    }
    assert_eq!(hash, 0x65FB_C375_1686_72D8, "with one open and three done");
    let later = 1_700_000_000_000_007 + CLIENT_ORDER_ID_KEPT_US;
    assert_eq!(
        apply(9, later, Command::CreateSymbol { symbol }),
        0x4F43_075A_E987_0D88,
        "with one open and the one canceled last"
    );
}
