//! Fill-or-kill orders of several symbols that wait for their turns, while others wait, too.

use model::workload::Random;
use terms::{
    Bond, Command, DOLLAR, Event, ExecutionBounds, Money, NewOrder, Op, OrderId, OrderKind, Place, Position, Price,
    Shares, Side, Symbol, Time, Trail, Trigger,
};

use crate::bounds::{Market, account, open_of, order};
use crate::common::duel::Duel;

const FILL_OR_KILLS: usize = 20;

/// The executions of each fill-or-kill: all that a command may make.
const EACH: usize = 100;

fn listed(number: usize) -> Symbol {
    Symbol::parse(format!("S{number}").as_bytes()).unwrap()
}

/// Begins a turn that has executed all that it may: each further command executes once, and an order then goes on
/// after ten executions behind those of other symbols. Twenty fill-or-kill orders wait, each in a symbol of its own.
/// Two more symbols have sellers.
fn fill_or_kills_wait() -> (Market, Vec<OrderId>) {
    let bounds = ExecutionBounds { command: EACH as u32, turn: 10, small: 1, share: 10, ..ExecutionBounds::ALL };
    let mut market = Market::with_bounds(bounds);
    for number in 0..FILL_OR_KILLS + 2 {
        let symbol = listed(number);
        market.apply(Command::CreateSymbol { symbol });
        let shares = Position::from_units(1_000);
        market.apply(Command::IssueShares { symbol, account: account(1), shares });
        for _ in 0..EACH {
            market.place(1, NewOrder { symbol, ..order(Side::Sell, 500, 1) });
        }
    }
    for _ in 0..10 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    market.turn = Some(Time(1_000_000));
    market.place(2, order(Side::Buy, 500, 10));
    let waiting = (0..FILL_OR_KILLS).map(|number| {
        let order = NewOrder { symbol: listed(number), ..order(Side::Buy, 500, EACH as i64) };
        market.place(2, NewOrder { kind: OrderKind::FillOrKill, ..order })
    });
    let waiting = waiting.collect();
    assert_eq!(market.engine.reached_orders(), FILL_OR_KILLS);
    (market, waiting)
}

/// Each command executed one of them and nothing else, so an order of another symbol waited for all of them.
#[test]
fn an_order_waits_for_one_fill_or_kill_of_other_symbols_at_a_turn() {
    let (mut market, waiting) = fill_or_kills_wait();
    let rival = market.place(2, NewOrder { symbol: listed(FILL_OR_KILLS), ..order(Side::Buy, 500, 51) });
    let small = market.place(2, NewOrder { symbol: listed(FILL_OR_KILLS + 1), ..order(Side::Buy, 500, 16) });
    assert_eq!((open_of(&market, 2, rival), open_of(&market, 2, small)), (50, 15));
    let mut executed = 0;
    while open_of(&market, 2, small) > 0 {
        market.apply(Command::ActivateReached);
        executed += market.executed();
        market.check();
    }
    assert_eq!(executed, EACH + 50 + 15, "one fill-or-kill, and the two others by turns");
    let open = waiting.iter().filter(|&&order| open_of(&market, 2, order) > 0).count();
    assert_eq!(open, FILL_OR_KILLS - 1, "the others wait for commands of their own");
}

/// Orders that come later take nothing from those that are passed over.
#[test]
fn each_command_executes_one_fill_or_kill_whatever_else_comes() {
    let (mut market, waiting) = fill_or_kills_wait();
    for done in 1..=FILL_OR_KILLS {
        for number in [FILL_OR_KILLS, FILL_OR_KILLS + 1] {
            let symbol = listed(number);
            for _ in 0..30 {
                market.place(1, NewOrder { symbol, ..order(Side::Sell, 500, 1) });
            }
            market.place(2, NewOrder { symbol, ..order(Side::Buy, 500, 30) });
        }
        market.apply(Command::ActivateReached);
        let open = waiting.iter().filter(|&&order| open_of(&market, 2, order) > 0).count();
        assert_eq!(open, FILL_OR_KILLS - done);
        market.check();
    }
}

/// Each command executed the first order of the symbol that had waited longest, until none was left there.
#[test]
fn a_fill_or_kill_does_not_wait_for_all_of_another_symbol() {
    const QUEUED: usize = 9;
    let (mut market, waiting) = fill_or_kills_wait();
    for order in waiting {
        market.apply(Command::CancelOrder { account: account(2), order: order.into() });
    }
    for _ in 0..EACH * (QUEUED - 1) {
        market.place(1, NewOrder { symbol: listed(0), ..order(Side::Sell, 500, 1) });
    }
    let mut place = |number| {
        let order = NewOrder { symbol: listed(number), ..order(Side::Buy, 500, EACH as i64) };
        market.place(2, NewOrder { kind: OrderKind::FillOrKill, ..order })
    };
    for _ in 0..QUEUED {
        place(0);
    }
    let other = place(1);
    let mut commands = 0;
    while open_of(&market, 2, other) > 0 {
        market.apply(Command::ActivateReached);
        commands += 1;
    }
    assert!(commands < QUEUED, "{commands} commands, and two symbols have turns");
    market.check();
}

/// A command of a random market with five symbols and two rich accounts.
fn any_command(random: &mut Random, orders: u64) -> Command {
    let account = account(1 + random.below(2) as u32);
    let kinds = [OrderKind::Limit, OrderKind::FillOrKill];
    let side = random.pick(&[Side::Buy, Side::Sell]);
    let trigger = random.pick(&[0, 0, 0, 0, 0, 2, -2]);
    let order = NewOrder {
        symbol: listed(random.below(5)),
        kind: random.pick(&kinds),
        trigger: Trigger::from_code(trigger),
        ..order(side, 1 + random.below(3) as i64, 1 + random.below(8) as i64)
    };
    match random.below(24) {
        0..3 => Command::ActivateReached,
        3 => Command::CancelOrder { account, order: OrderId(1 + random.any() % orders).into() },
        4..9 => {
            let order = NewOrder { kind: OrderKind::Limit, trigger: None, ..order };
            let display = Shares::from_units(1).unwrap();
            Command::Place(Place::iceberg(account, order, display).unwrap_or(Place::order(account, order)))
        }
        9..11 => {
            let order = NewOrder { kind: OrderKind::Limit, trigger: None, ..order };
            let trail = Trail::by(Price::MIN);
            Command::Place(Place::trailing(account, order, trail).unwrap())
        }
        _ => Command::Place(Place::order(account, order)),
    }
}

/// An order of a random market, and one that waits until it has executed.
fn any_pending(random: &mut Random, orders: u64) -> Option<[Command; 2]> {
    let Command::Place(place) = any_command(random, orders) else { return None };
    let (account, order) = (place.account, place.alone()?);
    let working = NewOrder { kind: OrderKind::Limit, trigger: None, ..order };
    let pending = NewOrder { side: order.side.opposite(), ..order };
    Some([
        Command::Place(Place::order(account, working).bound(Bond::Working { two_wait: false })),
        Command::Place(Place::order(account, pending).bound(Bond::Pending)),
    ])
}

/// The random markets of the long comparison have few symbols in which orders wait at the same time.
#[test]
fn the_model_takes_the_same_turns() {
    let (mut passed_over, mut released, mut more_than_once, mut moved) = (0, 0, 0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let command = 4 + random.below(8) as u32;
        let share = 1 + random.below(2) as u32;
        let bounds = ExecutionBounds {
            command,
            turn: random.below(4) as u32,
            small: random.below(2) as u32,
            share,
            ..ExecutionBounds::ALL
        };
        let mut duel = Duel::with_bounds(seed, 40, bounds);
        let mut play = |command| {
            let waited = duel.model().all_reached_orders() > 0;
            let events = duel.play_heard(Op::Command(command));
            if command == Command::ActivateReached {
                passed_over += usize::from(duel.model().passed_over() > 0);
                let is_release = |event: &Event| matches!(event, Event::OrderReleased { .. });
                let is_turn =
                    |event: &Event| matches!(event, Event::OrderTriggered { .. } | Event::OrderResumed { .. });
                let first = events.iter().position(is_release);
                let is_between = first.is_some_and(|first| events[first..].iter().any(is_turn));
                released += usize::from(waited && is_between);
                moved += usize::from(events.iter().any(|event| matches!(event, Event::TrailsMoved { .. })));
                more_than_once += usize::from(events.iter().filter(|event| is_turn(event)).count() > 5);
            }
            duel.model().orders_placed()
        };
        for number in [1, 2] {
            let balance = Money::from_units(DOLLAR * 1_000);
            play(Command::CreateAccount { account: account(number), balance });
            for symbol in (0..5).map(listed) {
                play(Command::CreateSymbol { symbol });
                let shares = Position::from_units(1_000_000);
                play(Command::IssueShares { symbol, account: account(number), shares });
            }
        }
        let mut orders = 0;
        for _ in 0..1_000 {
            let two = if random.percent(10) { any_pending(&mut random, orders.max(1)) } else { None };
            match two {
                Some(two) => two.into_iter().for_each(|command| orders = play(command)),
                None => orders = play(any_command(&mut random, orders.max(1))),
            }
        }
        duel.end();
    }
    assert!(passed_over > 500, "too few commands pass over an order: {passed_over}");
    assert!(released > 100, "too few commands place a pending order before others have their turns: {released}");
    assert!(moved > 100, "too few commands move triggers: {moved}");
    assert!(more_than_once > 20, "too few commands have a second round: {more_than_once}");
}
