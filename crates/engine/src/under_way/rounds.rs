//! Rounds of turns: an `ActivateReached` goes on with the orders of all symbols in equal parts. In a round each symbol
//! whose orders wait for their turn takes one, and between two rounds the due pending orders of as many working orders
//! are placed as symbols have turns, at least of one. So no symbol waits for all orders of another one, however many
//! wait there. The sequence number and the time draw with which symbol the first round begins, so that symbols that
//! take whole commands do not always come before the same others, and nobody chooses it. Rounds are no part of the
//! state: they end with the command.

use terms::{AccountIndex, Event, NewOrder, OrderKind, Sequence, SymbolIndex, Time};

use crate::engine::Engine;
use crate::stops::apply::TURNS_MAX;

/// The executions that a turn may make.
#[derive(Clone, Copy)]
enum Part {
    /// All that the command has left.
    All,
    /// A share of what is left.
    Share,
    /// The executions of a whole command, besides what this one has left.
    Command,
}

/// A command that takes turns in rounds.
struct Rounds {
    /// The place at which the first round begins; none once it has begun.
    place: Option<u64>,
    /// The turns so far.
    turns: usize,
    /// The most turns.
    most: usize,
    /// Whether a fill-or-kill may have the executions of a whole command.
    may_fill: bool,
    /// Whether the pending orders have no further turn.
    passes_over_pendings: bool,
    /// Whether the order whose turn is next needs another command.
    is_over: bool,
}

impl Engine {
    /// Takes turns in rounds until none is left, or the command has done all that it may. `may_fill`: one fill-or-kill
    /// may have the executions of a whole command, and there are the turns of one.
    #[cold]
    pub(crate) fn take_rounds(&mut self, may_fill: bool, events: &mut impl FnMut(Event)) {
        let drawn = drawn_by(self.sequence, self.time);
        let mut rounds = Rounds {
            place: Some(drawn.wrapping_shr(1)),
            turns: 0,
            most: if may_fill { TURNS_MAX } else { self.turns_of_command() },
            may_fill,
            passes_over_pendings: false,
            is_over: false,
        };
        let (mut is_for_pendings, mut was_idle) = (drawn.is_multiple_of(2), false);
        loop {
            let has_taken = match is_for_pendings {
                true => self.take_turns_of_pendings(&mut rounds, events),
                false => self.take_round(&mut rounds, events),
            };
            if was_idle && !has_taken {
                break;
            }
            (is_for_pendings, was_idle) = (!is_for_pendings, !has_taken);
        }
        self.stops.end_rounds();
        self.count_turns(rounds.turns);
    }

    fn goes_on_with(&self, rounds: &Rounds) -> bool {
        !rounds.is_over && self.executions_left > 0 && rounds.turns < rounds.most
    }

    /// Takes a turn of each symbol. Returns whether it took any.
    fn take_round(&mut self, rounds: &mut Rounds, events: &mut impl FnMut(Event)) -> bool {
        match rounds.place.take() {
            Some(place) => self.stops.begin_round_at(place),
            None => self.stops.begin_round(),
        }
        let mut has_taken = false;
        while self.goes_on_with(rounds)
            && let Some(slot) = self.stops.next_turn()
        {
            has_taken = true;
            match self.take_share(slot, rounds, events) {
                Some(turns) => rounds.turns = rounds.turns.saturating_add(turns),
                None => rounds.is_over = true,
            }
        }
        has_taken
    }

    /// Takes the turn of an order, as `take_turn` does, with its part of what the command may execute. A fill-or-kill
    /// that is passed over keeps its place.
    fn take_share(&mut self, slot: u32, rounds: &mut Rounds, events: &mut impl FnMut(Event)) -> Option<usize> {
        let placed = self.stops.placed(&self.orders, slot);
        let shares = self.stops.have_turns_beyond(1) || self.pendings.are_due();
        let order = Some((self.orders.get(slot).account, placed));
        self.stops.serve(placed.symbol);
        match self.part_of([order, None], shares, rounds) {
            Some(part) => self.within(part, |engine| engine.take_turn(slot, events)),
            None => {
                self.stops.pass_over();
                Some(1)
            }
        }
    }

    /// Places the due pending orders of as many working orders as symbols have turns, at least of one. Returns whether
    /// it placed any.
    fn take_turns_of_pendings(&mut self, rounds: &mut Rounds, events: &mut impl FnMut(Event)) -> bool {
        let most = self.stops.symbols_with_turns().max(1);
        (0..most).take_while(|_| self.take_turn_of_pendings(rounds, events)).count() > 0
    }

    /// Places the pending orders that are due next, as `take_share` brings an order to its book. Returns whether it
    /// placed any; if these need another command, pending orders have no further turn in this one.
    fn take_turn_of_pendings(&mut self, rounds: &mut Rounds, events: &mut impl FnMut(Event)) -> bool {
        if !self.pendings.are_due() || rounds.passes_over_pendings || !self.goes_on_with(rounds) {
            return false;
        }
        let due = self.next_due();
        if due.iter().all(Option::is_none) {
            return false;
        }
        let due = due.map(|due| due.map(|pending| (self.orders.get(pending.slot).account, pending.placed)));
        let part = self.part_of(due, self.stops.have_turns_beyond(0), rounds);
        let turns = part.and_then(|part| {
            self.within(part, |engine| engine.turns_of_release().filter(|_| engine.release_next(events)))
        });
        rounds.turns = rounds.turns.saturating_add(turns.unwrap_or(0));
        rounds.passes_over_pendings = turns.is_none();
        turns.is_some()
    }

    /// The part of the command's executions that orders have at their turn: a share if there are others. A fill-or-kill
    /// is not cut: the first one of an `ActivateReached` that may need more than a share has the executions of a whole
    /// command besides, so that it takes none from others. None for further ones, and in other commands, whose turn
    /// would not count them: these are passed over.
    fn part_of(
        &self,
        orders: [Option<(AccountIndex, NewOrder<SymbolIndex>)>; 2],
        shares: bool,
        rounds: &mut Rounds,
    ) -> Option<Part> {
        let mut orders = orders.iter().flatten();
        if !shares || orders.clone().all(|(_, placed)| placed.kind != OrderKind::FillOrKill) {
            return Some(if shares { Part::Share } else { Part::All });
        }
        if !orders.any(|(account, placed)| self.fills_beyond_share(*account, placed)) {
            return Some(Part::All);
        }
        std::mem::take(&mut rounds.may_fill).then_some(Part::Command)
    }

    /// Has a turn make no more than its part of the executions. Orders whose following it ended beyond that count for
    /// the command.
    fn within<T>(&mut self, part: Part, take: impl FnOnce(&mut Engine) -> T) -> T {
        let left = self.executions_left;
        let (may, kept) = match part {
            Part::All => (left, 0),
            Part::Share => (left.min(self.execution_bounds.share), left.saturating_sub(self.execution_bounds.share)),
            Part::Command => (self.execution_bounds.command, left),
        };
        self.executions_left = may;
        let taken = take(self);
        let beyond = self.overdrawn.min(kept);
        let kept = kept.saturating_sub(beyond);
        self.overdrawn = self.overdrawn.saturating_sub(beyond);
        self.executions_left = match part {
            Part::All | Part::Share => self.executions_left.saturating_add(kept),
            Part::Command => kept,
        };
        taken
    }
}

/// The number that a command draws, which is the same whenever it is applied. Neighbours draw numbers far apart.
/// Clients know the sequence number, and can move it with commands of theirs; nobody chooses the microsecond.
fn drawn_by(sequence: Sequence, time: Time) -> u64 {
    let mixed = sequence.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ time.0;
    let mixed = (mixed ^ mixed.wrapping_shr(30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed.wrapping_shr(27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed.wrapping_shr(31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another number would make another market of the same commands.
    #[test]
    fn the_drawn_number_is_pinned_and_takes_the_time_with_it() {
        let drawn = |sequence: u64, time: u64| drawn_by(Sequence(sequence), Time(time));
        assert_eq!(drawn(1, 1_700_000_000_000_000), 0x0FF3_9950_26C4_C07D);
        let begin = |time: u64| drawn(7, 1_700_000_000_000_000 + time) % 2;
        let ones: u64 = (0..1_000).map(begin).sum();
        assert!((400..600).contains(&ones), "a microsecond more is another draw: {ones} of 1,000");
    }
}
