//! A calendar that a server follows: the steps that are due, and the commands that they come to.

use std::collections::{HashMap, VecDeque};

use engine::Engine;
use terms::{Command, Deadline, Phase, Symbol, SymbolIndex, SymbolPhase, Time};

use crate::calendar::{Calendar, Line};

/// The most phases that a turn changes: a line may be about every symbol.
const COMMANDS_MAX: usize = 1_000;

/// A calendar, and the time up to which it was followed, which is in the market's state, too. A server that ends while
/// it follows the calendar, or cannot follow it because its disk is full, continues from there at its next start.
#[derive(Debug)]
pub(crate) struct Scheduled {
    calendar: Calendar,
    /// The time up to which all steps are done, or stand in `due`.
    through: Time,
    /// The time of the next step behind that, so that a turn need not search the lines.
    next: Option<Time>,
    due: VecDeque<Step>,
    /// The time to be noted when nothing is due any more.
    to_note: Option<Time>,
    /// The server has started, and notes the turn's time when nothing is due any more. No later start does older lines.
    starts: bool,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    line: Line,
    due: Time,
    /// The first symbol not looked at yet, for a line about every symbol.
    next: u32,
}

impl Scheduled {
    /// Makes the schedule of a market that starts at `now`. The steps since its calendar was last followed are due. A
    /// calendar that was never followed begins after the market's last command.
    pub(crate) fn new(calendar: Calendar, engine: &Engine, now: Time) -> Scheduled {
        let last = if engine.time() == Time::ZERO { now } else { engine.time() };
        let (followed, due) = (engine.calendar_followed(), VecDeque::new());
        let (through, starts) = (followed.unwrap_or(last), followed.is_some() || !calendar.has_no_lines());
        Scheduled { next: calendar.next(through), calendar, through, due, to_note: None, starts }
    }

    /// The server knew nothing of the market after this time, so the steps since then are due.
    pub(crate) fn begin_at(&mut self, last: Time) {
        if last != Time::ZERO && last < self.through {
            (self.through, self.next) = (last, self.calendar.next(last));
        }
    }

    /// The next end of the symbol's day.
    pub(crate) fn day_end(&self, symbol: Symbol, now: Time) -> Option<Deadline> {
        self.calendar.day_ends().next(symbol, now)
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.starts || self.to_note.is_some() || self.next.is_some_and(|next| next <= now)
    }

    /// The time of the next due step; now, if one is due.
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        if self.is_due(now) { Some(now) } else { self.next }
    }

    /// The commands of the next due steps. After the last one, a command notes how far the calendar was followed.
    pub(crate) fn take(&mut self, engine: &Engine, now: Time) -> Vec<Command> {
        if self.starts || self.next.is_some_and(|next| next <= now) {
            // The note of another node says nothing of lines that only this one has. Each command says when it was due.
            let steps = self.calendar.between(self.through, now);
            self.to_note = steps.last().map(|(due, _)| *due).or(self.to_note);
            self.due.extend(steps.into_iter().map(|(due, line)| Step { line, due, next: 0 }));
            (self.through, self.next) = (now, self.calendar.next(now));
        }
        // A line is about the market that the lines before it made.
        let mut asked = HashMap::new();
        let mut commands = Vec::new();
        while let Some(step) = self.due.front_mut() {
            step.take(engine, &mut asked, &mut commands);
            if commands.len() == COMMANDS_MAX {
                return commands;
            }
            self.due.pop_front();
        }
        let (starts, to_note) = (std::mem::take(&mut self.starts), self.to_note.take());
        commands.extend(note(engine, if starts { Some(now) } else { to_note }));
        commands
    }

    /// The command that notes that nothing is due in a turn at this time, in which clients change phases.
    pub(crate) fn caught_up(&self, engine: &Engine, now: Time) -> Option<Command> {
        if self.is_due(now) { None } else { note(engine, Some(now)) }
    }
}

/// The command that notes how far the calendar was followed, if that is further than the state says.
fn note(engine: &Engine, through: Option<Time>) -> Option<Command> {
    let followed = engine.calendar_followed();
    let through = through.filter(|through| followed.is_none_or(|followed| *through > followed));
    through.map(|through| Command::FollowCalendar { through })
}

impl Step {
    /// Adds the commands of a line, up to `COMMANDS_MAX` in all. `asked` has the phases of the commands before it. If
    /// several nodes share a log, each has a calendar. A line is left out if another node has done it, or if a client
    /// has changed the phase since it was due. Otherwise its commands say when it was due, so that the engine can
    /// decide the same when it applies them.
    fn take(&mut self, engine: &Engine, asked: &mut HashMap<SymbolIndex, Phase>, commands: &mut Vec<Command>) {
        let Line { symbol, phase, .. } = self.line;
        let log = engine.shared_log();
        let due = (log.position() > 0).then_some(self.due);
        let symbols = match symbol {
            Some(name) => engine.symbol_named(name).map_or(0..0, |at| at.0..at.0.saturating_add(1)),
            None => 0..u32::try_from(engine.symbol_count()).unwrap_or(u32::MAX),
        };
        for at in (symbols.start.max(self.next)..symbols.end).map(SymbolIndex) {
            if commands.len() == COMMANDS_MAX {
                return;
            }
            self.next = at.0.saturating_add(1);
            let stands = SymbolPhase { phase, until: None };
            let is_so = match (due, asked.get(&at)) {
                (Some(due), _) => log.has_phase_since(at, due),
                (None, Some(before)) => *before == phase,
                (None, None) => engine.phase(at) == stands,
            };
            if let Some(symbol) = engine.symbol_name(at).filter(|_| !is_so) {
                asked.insert(at, phase);
                commands.push(Command::ChangePhase { symbol, phase, due });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use engine::{DoneOrders, Importer};
    use terms::{Entry, LogMessage, NodeId};

    use super::*;

    const DAY_US: u64 = 86_400 * 1_000_000;

    fn symbol(name: &str) -> Symbol {
        Symbol::parse(name.as_bytes()).unwrap()
    }

    fn at(day: u64, hour: u64, minute: u64) -> Time {
        Time(day * DAY_US + (hour * 60 + minute) * 60 * 1_000_000)
    }

    fn with_symbols(names: &[&str]) -> Engine {
        let mut engine = Engine::new(1, DoneOrders::Keep);
        for name in names {
            apply(&mut engine, Command::CreateSymbol { symbol: symbol(name) });
        }
        engine
    }

    fn apply(engine: &mut Engine, command: Command) {
        apply_at(engine, engine.time(), command);
    }

    fn apply_at(engine: &mut Engine, time: Time, command: Command) {
        let entry = Entry { sequence: engine.sequence().next(), time, command };
        engine.apply(&entry, &mut Vec::new(), &mut |_| {});
    }

    fn change(name: &str, phase: Phase) -> Command {
        Command::ChangePhase { symbol: symbol(name), phase, due: None }
    }

    fn through(time: Time) -> Command {
        Command::FollowCalendar { through: time }
    }

    /// All that is due, turn by turn.
    fn follow(scheduled: &mut Scheduled, engine: &mut Engine, now: Time) -> Vec<Vec<Command>> {
        let mut turns = Vec::new();
        while scheduled.is_due(now) {
            let told = scheduled.take(engine, now);
            told.iter().for_each(|command| apply(engine, *command));
            turns.push(told);
        }
        turns
    }

    #[test]
    fn what_is_due_is_done_once_and_what_was_missed_up_to_a_day_back() {
        let calendar =
            Calendar::parse("17:30 * halted # the end\n08:00 * auction\n09:00 SPY open\n09:00 NONE open").unwrap();
        let mut engine = with_symbols(&["SPY", "IBM"]);
        let mut scheduled = Scheduled::new(calendar.clone(), &engine, at(3, 7, 0));
        // Everything that is due after that is done, whatever happens from now on.
        assert_eq!(follow(&mut scheduled, &mut engine, at(3, 7, 0)), [[through(at(3, 7, 0))]]);
        assert_eq!((scheduled.is_due(at(3, 7, 59)), scheduled.next(at(3, 7, 59))), (false, Some(at(3, 8, 0))));
        assert!(scheduled.take(&engine, at(3, 7, 59)).is_empty());
        let told = follow(&mut scheduled, &mut engine, at(3, 8, 0));
        assert_eq!(told, [[change("SPY", Phase::Auction), change("IBM", Phase::Auction), through(at(3, 8, 0))]]);
        assert!(!scheduled.is_due(at(3, 8, 1)));
        // One line names a symbol that does not exist.
        let told = follow(&mut scheduled, &mut engine, at(3, 9, 1));
        assert_eq!(told, [[change("SPY", Phase::Open), through(Time(at(3, 9, 0).0 + 1))]]);
        assert_eq!(scheduled.next(at(3, 18, 0)), Some(at(3, 18, 0)), "the end is due");
        // A server that was away for a week takes the steps of the last day. Each line is about the market that the
        // line before it makes.
        let mut scheduled = Scheduled::new(calendar, &engine, at(10, 8, 30));
        let told = follow(&mut scheduled, &mut engine, at(10, 8, 30));
        let [halted, auction] =
            [Phase::Halted, Phase::Auction].map(|phase| ["SPY", "IBM"].map(|name| change(name, phase)));
        assert_eq!(told, [[&halted[..], &auction, &[through(at(10, 8, 30))]].concat()]);
        assert_eq!(engine.phase(SymbolIndex(1)).phase, Phase::Auction);
    }

    /// The server passed over all lines up to the time that its clock showed first.
    #[test]
    fn a_new_market_whose_clock_is_set_back_before_its_first_command_follows_the_right_time() {
        let calendar = Calendar::parse("09:00 SPY halted").unwrap();
        let mut engine = Engine::new(1, DoneOrders::Drop);
        let mut scheduled = Scheduled::new(calendar, &engine, at(3, 9, 30));
        assert_eq!(scheduled.take(&engine, at(3, 8, 59)), [through(at(3, 8, 59))]);
        apply_at(&mut engine, at(3, 8, 59), Command::CreateSymbol { symbol: symbol("SPY") });
        assert_eq!(scheduled.next(at(3, 8, 59)), Some(at(3, 9, 0)));
        assert_eq!(scheduled.take(&engine, at(3, 9, 0)), [change("SPY", Phase::Halted), through(at(3, 9, 0))]);
    }

    /// A node that was asleep at nine did what its calendar had for nine when it woke, whatever an operator had done
    /// meanwhile.
    #[test]
    fn where_nodes_share_a_log_a_line_that_comes_late_undoes_nothing() {
        let mut engine = with_symbols(&["SPY", "IBM"]);
        let message = LogMessage { position: 1, node: NodeId::new(1).unwrap(), epoch: 1, number: 0 };
        apply(&mut engine, Command::TakeMessage(message));
        let calendar = Calendar::parse("09:00 * open\n09:00 SPY auction\n09:00 SPY open").unwrap();
        let [mut first, mut late] = [(); 2].map(|()| Scheduled::new(calendar.clone(), &engine, at(3, 8, 0)));
        let nine = |line: u64| Time(at(3, 9, 0).0 + line);
        let due = |name: &str, phase, line| Command::ChangePhase { symbol: symbol(name), phase, due: Some(nine(line)) };
        let spoken = |phase| Command::ChangePhase { symbol: symbol("SPY"), phase, due: None };
        apply_at(&mut engine, at(3, 8, 30), spoken(Phase::Halted));
        // A line that changes nothing is noted, too.
        let told = first.take(&engine, nine(0));
        assert_eq!(told, [due("SPY", Phase::Open, 0), due("IBM", Phase::Open, 0), through(nine(0))]);
        told.into_iter().for_each(|command| apply_at(&mut engine, nine(5), command));
        assert!(late.take(&engine, nine(0)).is_empty(), "the other node's calendar says the same");
        // Lines of the same time are told apart.
        for (line, phase) in [(1, Phase::Auction), (2, Phase::Open)] {
            assert_eq!(first.take(&engine, nine(line)), [due("SPY", phase, line), through(nine(line))]);
            apply_at(&mut engine, nine(5), due("SPY", phase, line));
            assert_eq!(engine.phase(SymbolIndex(0)).phase, phase);
        }
        apply_at(&mut engine, nine(5), due("SPY", Phase::Auction, 1));
        assert_eq!(engine.phase(SymbolIndex(0)).phase, Phase::Open, "it was done");
        apply_at(&mut engine, at(3, 10, 0), spoken(Phase::Halted));
        assert_eq!(late.take(&engine, at(3, 10, 1)), [through(nine(2))]);
        for line in 0..3 {
            apply_at(&mut engine, at(3, 10, 1), due("SPY", Phase::Open, line));
            assert_eq!(engine.phase(SymbolIndex(0)).phase, Phase::Halted, "somebody halted it since");
        }
        // A start from a snapshot knows the same.
        let mut importer = Importer::new(1, DoneOrders::Keep);
        engine.export(&mut |item| importer.add(item).unwrap());
        let mut engine = importer.finish().unwrap();
        apply_at(&mut engine, at(3, 10, 1), due("SPY", Phase::Open, 2));
        assert_eq!(engine.phase(SymbolIndex(0)).phase, Phase::Halted);
        apply_at(
            &mut engine,
            at(4, 9, 0),
            Command::ChangePhase { symbol: symbol("SPY"), phase: Phase::Open, due: Some(at(4, 9, 0)) },
        );
        assert_eq!(engine.phase(SymbolIndex(0)).phase, Phase::Open, "the next day's");
    }

    #[test]
    fn a_line_about_every_symbol_takes_as_many_turns_as_it_needs_and_a_start_between_them_loses_none() {
        let names: Vec<String> = (0..2_500).map(|number| format!("S{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let calendar = Calendar::parse("00:00:01 * halted").unwrap();
        for starts_again in [false, true] {
            let mut engine = with_symbols(&names);
            let mut scheduled = Scheduled::new(calendar.clone(), &engine, at(1, 0, 0));
            follow(&mut scheduled, &mut engine, at(1, 0, 0));
            let told = scheduled.take(&engine, at(1, 0, 1));
            assert_eq!(told.len(), 1_000);
            told.into_iter().for_each(|command| apply(&mut engine, command));
            if starts_again {
                apply(&mut engine, Command::CreateSymbol { symbol: symbol("LATER") });
                scheduled = Scheduled::new(calendar.clone(), &engine, at(1, 0, 2));
            }
            let told = follow(&mut scheduled, &mut engine, at(1, 0, 2));
            let counts: Vec<usize> = told.iter().map(Vec::len).collect();
            assert_eq!(counts, [1_000, 501 + usize::from(starts_again)]);
            assert!((0..2_500).all(|at| engine.phase(SymbolIndex(at)).phase == Phase::Halted));
            let mut scheduled = Scheduled::new(calendar.clone(), &engine, at(1, 0, 3));
            assert_eq!(follow(&mut scheduled, &mut engine, at(1, 0, 3)), [[through(at(1, 0, 3))]], "it is done");
        }
    }

    /// The note of another node once counted for this node's lines, too, so a line that only this one had was not done.
    #[test]
    fn a_line_that_only_one_node_has_is_done_whatever_another_has_noted() {
        let mut engine = with_symbols(&["SPY", "IBM"]);
        let message = LogMessage { position: 1, node: NodeId::new(1).unwrap(), epoch: 1, number: 0 };
        apply(&mut engine, Command::TakeMessage(message));
        let calendar = Calendar::parse("09:00 SPY auction\n09:00 IBM auction");
        let mut node = Scheduled::new(calendar.unwrap(), &engine, at(1, 8, 0));
        follow(&mut node, &mut engine, at(1, 8, 0));
        let ibm = Command::ChangePhase { symbol: symbol("IBM"), phase: Phase::Auction, due: Some(at(1, 9, 0)) };
        [ibm, through(at(1, 9, 1))].into_iter().for_each(|command| apply_at(&mut engine, at(1, 9, 0), command));
        follow(&mut node, &mut engine, at(1, 9, 0));
        assert_eq!(engine.phase(SymbolIndex(0)).phase, Phase::Auction);
    }

    /// 3,000 lines once took a turn each, and so a sync each, and for 16 s orders were taken in symbols that should
    /// have been closed.
    #[test]
    fn lines_about_one_symbol_each_go_together() {
        let names: Vec<String> = (0..1_500).map(|number| format!("S{number}")).collect();
        let mut engine = with_symbols(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let lines: String = names.iter().map(|name| format!("09:00 {name} halted\n")).collect();
        let mut scheduled = Scheduled::new(Calendar::parse(&lines).unwrap(), &engine, at(1, 8, 0));
        follow(&mut scheduled, &mut engine, at(1, 8, 0));
        let counts: Vec<usize> = follow(&mut scheduled, &mut engine, at(1, 9, 1)).iter().map(Vec::len).collect();
        assert_eq!(counts, [1_000, 501]);
    }

    #[test]
    fn the_end_of_a_day_is_no_step() {
        let calendar = Calendar::parse("21:00 * day-ends\n09:00 * open").unwrap();
        let mut engine = with_symbols(&["SPY"]);
        let mut scheduled = Scheduled::new(calendar, &engine, at(3, 20, 0));
        follow(&mut scheduled, &mut engine, at(3, 20, 0));
        assert_eq!(scheduled.next(at(3, 20, 0)), Some(at(4, 9, 0)), "the end of a day is no phase");
        assert!(scheduled.take(&engine, at(3, 22, 0)).is_empty());
    }
}
