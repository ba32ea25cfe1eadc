//! Turns of the orders of all symbols, by which the market goes on with what earlier commands left. See
//! docs/PROTOCOL.md, how much one command does.

use std::collections::{BTreeSet, VecDeque};

use terms::{Event, OrderId, OrderKind, SymbolIndex};

use crate::exchange::Model;
use crate::triggering::TURNS_MAX;

/// The executions that a turn may make.
enum Part {
    All,
    Share,
    WholeCommand,
}

impl Model {
    /// Takes turns in rounds: those of the symbols, one each, then as many of the next pending orders, and so on.
    pub(crate) fn take_rounds(&mut self, mut may_fill: bool, events: &mut Vec<Event>) {
        let drawn = self.draw();
        let (mut turns, mut pendings_wait) = (0, false);
        let most = if may_fill { TURNS_MAX } else { self.turns_of_command() };
        let may_take = |model: &Model, turns: usize| turns < most && model.executions_left > 0;
        let (mut is_first_round, mut is_for_pendings, mut idle) = (true, drawn.is_multiple_of(2), 0);
        self.passed_over.clear();
        while idle < 2 {
            let mut has_taken = false;
            if is_for_pendings {
                let are_due = self.due_orders().next().is_some();
                let times = if are_due { self.symbols_with_turns().max(1) } else { 0 };
                for _ in 0..times {
                    let due = self.next_due();
                    if due.is_empty() || pendings_wait || !may_take(self, turns) {
                        break;
                    }
                    let part = self.part(&due, self.have_turns(None), &mut may_fill);
                    let counted = part.and_then(|part| self.with_part(part, |model| model.release_due(&due, events)));
                    has_taken |= counted.is_some();
                    pendings_wait = counted.is_none();
                    turns += counted.unwrap_or(0);
                }
            } else {
                let mut line = VecDeque::new();
                if std::mem::replace(&mut is_first_round, false) {
                    line = self.in_line();
                    line.rotate_left((drawn / 2).checked_rem(line.len() as u64).unwrap_or(0) as usize);
                }
                while may_take(self, turns)
                    && let Some(next) = self.next_in(&mut line)
                {
                    has_taken = true;
                    let id = self.reached[next];
                    let symbol = self.order(id).symbol;
                    let shares = self.have_turns(Some(symbol)) || self.due_orders().next().is_some();
                    self.served.push(symbol);
                    let Some(part) = self.part(&[id], shares, &mut may_fill) else {
                        self.passed_over.push(symbol);
                        turns += 1;
                        continue;
                    };
                    let counted = self.with_part(part, |model| {
                        let counted = model.turns(&[id]);
                        (!model.are_too_much(&[id])).then(|| {
                            model.take_turn(next, events);
                            counted
                        })
                    });
                    let Some(counted) = counted else {
                        self.served.clear();
                        self.turns_in_turn += turns;
                        return;
                    };
                    turns += counted;
                }
                self.served.clear();
            }
            idle = if has_taken { 0 } else { idle + 1 };
            is_for_pendings = !is_for_pendings;
        }
        self.turns_in_turn += turns;
    }

    /// The number that the command draws.
    fn draw(&self) -> u64 {
        let mut drawn = self.sequence.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.time.0;
        for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB)] {
            drawn = (drawn ^ (drawn >> shift)).wrapping_mul(factor);
        }
        drawn ^ (drawn >> 31)
    }

    /// The symbols whose orders have turns, the one that has waited longest first.
    fn in_line(&self) -> VecDeque<SymbolIndex> {
        let mut line: VecDeque<(usize, SymbolIndex)> = VecDeque::new();
        for symbol in (0..self.symbols.len() as u32).map(SymbolIndex) {
            line.extend(self.next_turn(Some(symbol)).map(|next| (next, symbol)));
        }
        line.make_contiguous().sort();
        line.into_iter().map(|(_, symbol)| symbol).collect()
    }

    /// The order whose turn is next if symbols stand in this line, as an index into `reached`.
    fn next_in(&self, line: &mut VecDeque<SymbolIndex>) -> Option<usize> {
        while let Some(symbol) = line.pop_front() {
            if let Some(next) = self.next_turn(Some(symbol)) {
                return Some(next);
            }
        }
        self.next_turn(None)
    }

    /// The number of symbols whose orders have turns, also if they had theirs in this round.
    fn symbols_with_turns(&self) -> usize {
        let symbols: BTreeSet<SymbolIndex> = self.reached.iter().map(|&order| self.order(order).symbol).collect();
        symbols.into_iter().filter(|&symbol| self.has_turns(symbol)).count()
    }

    /// Whether orders have turns that are of another symbol than this one, or further triggers are to be reached.
    fn have_turns(&self, but: Option<SymbolIndex>) -> bool {
        let mut others = self.reached.iter().map(|&order| self.order(order).symbol).filter(|&other| Some(other) != but);
        others.any(|other| self.has_turns(other)) || self.being_reached().next().is_some()
    }

    /// Places orders whose working order was executed. Returns the turns that these count as; none if they need another
    /// command.
    fn release_due(&mut self, due: &[OrderId], events: &mut Vec<Event>) -> Option<usize> {
        let turns = self.turns(due);
        (!self.are_too_much(due) && self.release_next(events)).then_some(turns)
    }

    /// The executions of orders whose turn it is; none if they are passed over.
    fn part(&self, orders: &[OrderId], shares: bool, may_fill: &mut bool) -> Option<Part> {
        if !shares {
            return Some(Part::All);
        }
        if orders.iter().any(|&order| self.fills_beyond_share(order)) {
            return std::mem::take(may_fill).then_some(Part::WholeCommand);
        }
        let is_fill = |&order: &OrderId| self.order(order).kind == OrderKind::FillOrKill;
        Some(if orders.iter().any(is_fill) { Part::All } else { Part::Share })
    }

    fn with_part<T>(&mut self, part: Part, take: impl FnOnce(&mut Model) -> T) -> T {
        let left = self.executions_left;
        let share = i64::from(self.execution_bounds.share).min(left);
        self.executions_left = match part {
            Part::All => left,
            Part::Share => share,
            Part::WholeCommand => self.execution_bounds.command.into(),
        };
        let taken = take(self);
        self.executions_left = match part {
            Part::All => self.executions_left,
            Part::Share => left - share + self.executions_left,
            Part::WholeCommand => left + self.executions_left.min(0),
        };
        taken
    }

    /// The number of symbols that the last command passed over, if it took turns: a fill-or-kill was first.
    pub fn passed_over(&self) -> usize {
        self.passed_over.len()
    }
}
