//! Lives in which the log itself is damaged: it loses its end, a message in it, or a bit of one. No node may go on as
//! if nothing had happened: one that goes on has what the log has, and one that ends has said why. The clocks of the
//! log's servers agree: if a lost message is sent again, and comes to its old position at an earlier time, the next
//! mark shows it.

use super::judge::Judge;
use super::tally::Tally;
use super::world::{State, World};
use super::{many, named};
use crate::message::{Message, checksum};

/// Lives of the short form.
const ROUNDS: u64 = 200;
/// The number of last messages of which one is damaged.
const RECENT: usize = 60;
/// The most messages lost at the end.
const END_MAX: usize = 20;

/// Damages a log. Returns false if it has nothing to damage.
fn damage(world: &World) -> bool {
    let mut log = world.log.borrow_mut();
    let count = log.messages.len();
    if count < 2 {
        return false;
    }
    world.is_damaged.set(true);
    let draw = |below: usize| world.draw(below) as usize;
    let at = count - 2 - draw(RECENT.min(count - 1));
    match draw(3) {
        0 => {
            world.count("ends lost");
            world.has_lost.set(true);
            log.messages.truncate(count - 1 - draw(END_MAX.min(count)));
        }
        1 => {
            world.count("messages removed");
            log.messages[at] = None;
        }
        _ => {
            world.count("messages changed");
            if let Some((_, bytes)) = &mut log.messages[at] {
                let mut changed = bytes.to_vec();
                let bit = draw(changed.len() * 8);
                changed[bit / 8] ^= 1 << (bit % 8);
                *bytes = changed.into();
            }
        }
    }
    true
}

/// A new judge of a log that lost its end; none if the writer of a remaining message had taken a lost one, so that no
/// node reads past it.
fn read_again(world: &World) -> Option<Judge> {
    let (mut judge, log) = (Judge::new(), world.log.borrow());
    for (at, message) in log.messages.iter().enumerate() {
        let (time, bytes) = message.as_ref().expect("none was removed");
        let read = Message::read(bytes).expect("none was changed");
        let named = read.behind;
        let found = (named.position as usize).checked_sub(1).map(|behind| log.messages.get(behind));
        let is_there = found.is_none_or(|found| {
            found.and_then(Option::as_ref).is_some_and(|(_, bytes)| checksum(bytes) == named.checksum)
        });
        if !is_there || named.position > at as u64 || judge.is_ahead(&read) {
            return None;
        }
        judge.hear(*time, bytes, false, &mut Tally::default());
    }
    Some(judge)
}

/// Checks that nodes that serve have what the log has; if no node can follow the log from its beginning, that they are
/// the same.
fn check(world: &World) {
    let judge = match world.has_lost.get() {
        true => read_again(world),
        false => Some(world.judge.replace(Judge::new())),
    };
    let mut expected = judge.map(|judge| (judge.engine.sequence(), judge.engine.state_hash()));
    for place in &world.places[..4] {
        let place = place.borrow();
        let State::Up(node) = &place.state else {
            assert!(place.said.is_some(), "node {} does not serve, and has said nothing", place.number);
            world.count("nodes that do not serve");
            continue;
        };
        world.count("nodes that go on");
        let found = (node.engine().sequence(), node.engine().state_hash());
        assert_eq!(found, *expected.get_or_insert(found), "node {} goes on with another state", place.number);
    }
}

fn live(seed: u64) -> Tally {
    named(seed, || {
        let world = World::new(seed);
        world.log.borrow_mut().clocks_agree = true;
        let steps = 20 + world.draw(150);
        for _ in 0..steps {
            world.step_any();
        }
        let is_damaged = damage(&world);
        while world.step_any() {}
        world.come_to_rest();
        // A node that goes on shows the others which messages it has taken.
        (0..4).for_each(|at| world.in_peace(at, |node| world.asks(node)));
        world.come_to_rest();
        if is_damaged {
            check(&world);
        }
        world.end();
        world.tally.take()
    })
}

#[test]
fn nobody_goes_on_with_a_log_that_lost_or_changed_what_it_took() {
    let (rounds, tally) = many(ROUNDS, live);
    if rounds < ROUNDS {
        return;
    }
    for (what, enough) in [
        ("ends lost", 40),
        ("messages changed", 40),
        ("messages removed", 40),
        ("nodes that do not serve", 200),
        ("nodes that go on", 50),
        ("processes that noticed the damage", 200),
    ] {
        assert!(tally.get(what) > enough, "too few {what}:\n{tally}");
    }
}
