//! A calendar: at which times of the day symbols are put into which phases, what of it is due, and when the days of
//! symbols end. It reads no file and no clock.

use std::collections::VecDeque;
use std::fmt;

use engine::{Command, Deadline, Engine, Phase, Symbol, SymbolIndex, SymbolPhase, Time};

use crate::day_ends::{DAY_US, DayEnds};

/// The most lines of a calendar that say something.
pub const LINES_MAX: usize = 10_000;
/// Commands of a turn, at most: a line may be about every symbol that there is.
const COMMANDS_MAX: usize = 1_000;
const SECOND_US: u64 = 1_000_000;

/// What is done each day, by the time of the day in UTC, and at one time in the order in which it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    lines: Vec<Line>,
    day_ends: DayEnds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// Since midnight. Of lines at one time each is a microsecond behind the one before it, so that each has a time of
    /// its own.
    at_us: u64,
    /// None for every symbol.
    symbol: Option<Symbol>,
    phase: Phase,
}

/// What is wrong with a line of a calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarFault {
    /// From 1.
    pub line: usize,
    pub fault: String,
}

impl fmt::Display for CalendarFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

impl std::error::Error for CalendarFault {}

impl Calendar {
    /// Lines `TIME SYMBOL PHASE`, such as `09:00 SPY open` or `17:30:00 * auction`, and `TIME SYMBOL day-ends`; `#`
    /// begins a comment.
    pub fn parse(text: &str) -> Result<Calendar, CalendarFault> {
        let mut calendar = Calendar::default();
        let mut count = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let said = line.split('#').next().unwrap_or_default();
            if said.trim().is_empty() {
                continue;
            }
            if count == LINES_MAX {
                return Err(CalendarFault { line: number, fault: format!("a calendar has at most {LINES_MAX} lines") });
            }
            count += 1;
            calendar.add(said).map_err(|fault| CalendarFault { line: number, fault })?;
        }
        calendar.lines.sort_by_key(|line| line.at_us);
        for at in 1..calendar.lines.len() {
            let before = calendar.lines[at - 1].at_us;
            calendar.lines[at].at_us = calendar.lines[at].at_us.max(before + 1);
        }
        calendar.day_ends.sort();
        Ok(calendar)
    }

    /// When the days of symbols end.
    pub fn day_ends(&self) -> &DayEnds {
        &self.day_ends
    }

    fn add(&mut self, said: &str) -> Result<(), String> {
        let parts: Vec<&str> = said.split_whitespace().collect();
        let &[time, symbol, what] = &parts[..] else {
            return Err(format!("{} words; a line is a time, a symbol or *, and a phase or day-ends", parts.len()));
        };
        let symbol = match symbol {
            "*" => None,
            name => Some(Symbol::parse(name.as_bytes()).map_err(|error| format!("symbol {name} {error}"))?),
        };
        let at_us = || Ok::<_, String>(second_of_day(time)? * SECOND_US);
        if what == "day-ends" {
            self.day_ends.add(symbol, at_us()?);
        } else {
            let phase =
                Phase::named(what).ok_or_else(|| format!("phase {what} is not open, halted, auction or day-ends"))?;
            self.lines.push(Line { at_us: at_us()?, symbol, phase });
        }
        Ok(())
    }

    /// What is to be done from just after one time up to another, in order, and when. Of more than a day the last day.
    fn between(&self, from: Time, through: Time) -> impl Iterator<Item = (Time, Line)> {
        let from = from.0.max(through.0.saturating_sub(DAY_US));
        let days = from / DAY_US..=through.0 / DAY_US;
        days.flat_map(|day| self.lines.iter().map(move |line| (day * DAY_US + line.at_us, *line)))
            .filter(move |(at, _)| *at > from && *at <= through.0)
            .map(|(at, line)| (Time(at), line))
    }

    /// When something is to be done next.
    fn next(&self, now: Time) -> Option<Time> {
        let midnight = now.0 / DAY_US * DAY_US;
        let today = self.lines.iter().find(|line| midnight + line.at_us > now.0).map(|line| midnight + line.at_us);
        today.or_else(|| self.lines.first().map(|line| midnight + DAY_US + line.at_us)).map(Time)
    }
}

/// `HH:MM` or `HH:MM:SS`.
fn second_of_day(time: &str) -> Result<u64, String> {
    let fault = || format!("time {time} is not HH:MM or HH:MM:SS, from 00:00 to 23:59:59");
    let mut second = 0;
    let parts: Vec<&str> = time.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return Err(fault());
    }
    for (part, (below, unit)) in parts.into_iter().zip([(24, 3_600), (60, 60), (60, 1)]) {
        let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = part.parse().ok().filter(|number| digits && *number < below).ok_or_else(fault)?;
        second += number * unit;
    }
    Ok(second)
}

/// A calendar, and how far it was followed.
#[derive(Debug)]
pub(crate) struct Scheduled {
    calendar: Calendar,
    /// All that was to be done up to here is done, or stands in `due`.
    through: Time,
    /// When something is to be done behind that: no turn has to look through the lines.
    next: Option<Time>,
    due: VecDeque<Step>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    line: Line,
    due: Time,
    /// Of a line about every symbol: the first that was not looked at.
    next: u32,
}

impl Scheduled {
    /// Of a market whose last command was at this time. What was to be done since then is due.
    pub(crate) fn new(calendar: Calendar, last: Time, now: Time) -> Scheduled {
        let through = if last == Time::ZERO { now } else { last };
        Scheduled { next: calendar.next(through), calendar, through, due: VecDeque::new() }
    }

    /// The server knew nothing of the market behind this time: what was to be done since then is due.
    pub(crate) fn begin_at(&mut self, last: Time) {
        if last != Time::ZERO && last < self.through {
            (self.through, self.next) = (last, self.calendar.next(last));
        }
    }

    /// When the symbol's day ends next.
    pub(crate) fn day_end(&self, symbol: Symbol, now: Time) -> Option<Deadline> {
        self.calendar.day_ends.next(symbol, now)
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        !self.due.is_empty() || self.next.is_some_and(|next| next <= now)
    }

    /// When something is due next; now, if it is.
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        if self.is_due(now) { Some(now) } else { self.next }
    }

    /// The commands that do the next of what is due. What is at the same time comes one line a turn: a line is about
    /// what the one before made. Where several nodes share a log each has a calendar: a line is left out where one of
    /// them did it, or somebody changed the phase since it was due, and else says when it was due, so that the same is
    /// seen to where the command is applied.
    pub(crate) fn take(&mut self, engine: &Engine, now: Time) -> Vec<Command> {
        if self.next.is_some_and(|next| next <= now) {
            self.due.extend(self.calendar.between(self.through, now).map(|(due, line)| Step { line, due, next: 0 }));
            (self.through, self.next) = (now, self.calendar.next(now));
        }
        let Some(Step { line, due, next }) = self.due.pop_front() else { return Vec::new() };
        let Line { symbol, phase, .. } = line;
        let (asked, log) = (SymbolPhase { phase, until: None }, engine.shared_log());
        let is_shared = log.position() > 0;
        let is_left = |at: &SymbolIndex| match is_shared {
            true => !log.has_phase_since(*at, due),
            false => engine.phase(*at) != asked,
        };
        let found: Vec<SymbolIndex> = match symbol {
            Some(name) => engine.symbol_named(name).into_iter().filter(is_left).collect(),
            None => {
                let all = next..u32::try_from(engine.symbol_count()).unwrap_or(u32::MAX);
                all.map(SymbolIndex).filter(is_left).take(COMMANDS_MAX).collect()
            }
        };
        if let Some(last) = found.last().filter(|_| found.len() == COMMANDS_MAX) {
            self.due.push_front(Step { line, due, next: last.0 + 1 });
        }
        let names = found.into_iter().filter_map(|at| engine.symbol_name(at));
        let due = is_shared.then_some(due);
        names.map(|symbol| Command::ChangePhase { symbol, phase, due }).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use engine::{DoneOrders, Entry, Importer, LogMessage, NodeId};

    use super::*;

    fn symbol(name: &str) -> Symbol {
        Symbol::parse(name.as_bytes()).unwrap()
    }

    fn at(day: u64, hour: u64, minute: u64) -> Time {
        Time(day * DAY_US + (hour * 60 + minute) * 60 * SECOND_US)
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

    #[test]
    fn a_line_that_cannot_be_is_named_with_what_it_has_to_be() {
        let fault = |text: &str| Calendar::parse(text).unwrap_err().to_string();
        let time = "is not HH:MM or HH:MM:SS, from 00:00 to 23:59:59";
        for said in ["24:00", "9:00", "09", "09:60", "09:00:60", "09:00:00:00", "+9:00", "ab:cd"] {
            assert_eq!(fault(&format!("# first\n\n{said} * open")), format!("line 3: time {said} {time}"));
        }
        assert_eq!(fault("09:00 * closed"), "line 1: phase closed is not open, halted, auction or day-ends");
        assert_eq!(fault("09:00 *"), "line 1: 2 words; a line is a time, a symbol or *, and a phase or day-ends");
        assert!(fault("9:00 * day-ends").starts_with("line 1: time 9:00 is not HH:MM"));
        assert!(fault("09:00 S-Y open").starts_with("line 1: symbol S-Y has characters other than"));
        let long = "09:00 * open\n".repeat(LINES_MAX + 1);
        assert_eq!(fault(&long), "line 10001: a calendar has at most 10000 lines");
        assert_eq!(Calendar::parse("# nothing\n").unwrap(), Calendar::default());
    }

    #[test]
    fn what_is_due_is_done_once_and_what_was_missed_up_to_a_day_back() {
        let calendar =
            Calendar::parse("17:30 * halted # the end\n08:00 * auction\n09:00 SPY open\n09:00 NONE open").unwrap();
        let mut engine = with_symbols(&["SPY", "IBM"]);
        let mut scheduled = Scheduled::new(calendar.clone(), Time::ZERO, at(3, 7, 0));
        assert_eq!((scheduled.is_due(at(3, 7, 59)), scheduled.next(at(3, 7, 59))), (false, Some(at(3, 8, 0))));
        assert!(scheduled.take(&engine, at(3, 7, 59)).is_empty());
        let change = |name: &str, phase| Command::ChangePhase { symbol: symbol(name), phase, due: None };
        let told = scheduled.take(&engine, at(3, 8, 0));
        assert_eq!(told, [change("SPY", Phase::Auction), change("IBM", Phase::Auction)]);
        told.into_iter().for_each(|command| apply(&mut engine, command));
        assert!(!scheduled.is_due(at(3, 8, 1)));
        // Two lines at one time: one a turn. One is about a symbol that there is not.
        assert_eq!(scheduled.take(&engine, at(3, 9, 0)), [change("SPY", Phase::Open)]);
        let next = Time(at(3, 9, 0).0 + 1);
        assert!(!scheduled.is_due(at(3, 9, 0)) && scheduled.is_due(next) && scheduled.take(&engine, next).is_empty());
        assert_eq!(scheduled.next(at(3, 18, 0)), Some(at(3, 18, 0)), "the end is due");
        // A server that was away for a week does what the last day has.
        let mut scheduled = Scheduled::new(calendar, at(3, 9, 1), at(10, 8, 30));
        let mut turns = 0;
        while scheduled.is_due(at(10, 8, 30)) {
            scheduled.take(&engine, at(10, 8, 30)).into_iter().for_each(|command| apply(&mut engine, command));
            turns += 1;
        }
        assert_eq!((turns, engine.phase(SymbolIndex(1)).phase), (4, Phase::Auction));
    }

    /// A node that was asleep at nine did what its calendar had for nine when it woke, whatever an operator had done
    /// meanwhile.
    #[test]
    fn where_nodes_share_a_log_a_line_that_comes_late_undoes_nothing() {
        let mut engine = with_symbols(&["SPY", "IBM"]);
        let message = LogMessage { position: 1, node: NodeId::new(1).unwrap(), epoch: 1, number: 0 };
        apply(&mut engine, Command::TakeMessage(message));
        let calendar = Calendar::parse("09:00 * open\n09:00 SPY auction\n09:00 SPY open").unwrap();
        let [mut first, mut late] = [(); 2].map(|()| Scheduled::new(calendar.clone(), at(3, 8, 0), at(3, 8, 0)));
        let nine = |line: u64| Time(at(3, 9, 0).0 + line);
        let due = |name: &str, phase, line| Command::ChangePhase { symbol: symbol(name), phase, due: Some(nine(line)) };
        let spoken = |phase| Command::ChangePhase { symbol: symbol("SPY"), phase, due: None };
        apply_at(&mut engine, at(3, 8, 30), spoken(Phase::Halted));
        // Also a line that changes nothing is taken note of.
        let told = first.take(&engine, nine(0));
        assert_eq!(told, [due("SPY", Phase::Open, 0), due("IBM", Phase::Open, 0)]);
        told.into_iter().for_each(|command| apply_at(&mut engine, nine(5), command));
        assert!(late.take(&engine, nine(0)).is_empty(), "the other node's calendar says the same");
        // Lines of one time are told from each other.
        for (line, phase) in [(1, Phase::Auction), (2, Phase::Open)] {
            assert_eq!(first.take(&engine, nine(line)), [due("SPY", phase, line)]);
            apply_at(&mut engine, nine(5), due("SPY", phase, line));
            assert_eq!(engine.phase(SymbolIndex(0)).phase, phase);
        }
        apply_at(&mut engine, nine(5), due("SPY", Phase::Auction, 1));
        assert_eq!(engine.phase(SymbolIndex(0)).phase, Phase::Open, "it was done");
        apply_at(&mut engine, at(3, 10, 0), spoken(Phase::Halted));
        assert!(late.take(&engine, at(3, 10, 1)).is_empty());
        for line in 0..3 {
            apply_at(&mut engine, at(3, 10, 1), due("SPY", Phase::Open, line));
            assert_eq!(engine.phase(SymbolIndex(0)).phase, Phase::Halted, "somebody halted it since");
        }
        // A start from a snapshot knows as much.
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
    fn a_line_about_every_symbol_takes_as_many_turns_as_it_needs() {
        let names: Vec<String> = (0..2_500).map(|number| format!("S{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut engine = with_symbols(&names);
        let calendar = Calendar::parse("00:00:01 * halted").unwrap();
        let mut scheduled = Scheduled::new(calendar, at(1, 0, 0), at(1, 0, 0));
        let mut turns = Vec::new();
        while scheduled.is_due(at(1, 0, 1)) {
            let told = scheduled.take(&engine, at(1, 0, 1));
            turns.push(told.len());
            told.into_iter().for_each(|command| apply(&mut engine, command));
        }
        assert_eq!(turns, [1_000, 1_000, 500]);
        assert!((0..2_500).all(|at| engine.phase(SymbolIndex(at)).phase == Phase::Halted));
    }
    #[test]
    fn a_day_ends_at_the_next_time_of_its_symbol_or_of_every_one() {
        let calendar =
            Calendar::parse("21:00 * day-ends\n09:00 * open\n22:30 SPY day-ends\n17:00 SPY day-ends").unwrap();
        let end = |name: &str, now: Time| calendar.day_ends().next(symbol(name), now).map(Deadline::time);
        assert_eq!(end("IBM", at(3, 20, 59)), Some(at(3, 21, 0)));
        assert_eq!(
            end("IBM", at(3, 21, 0)),
            Some(at(4, 21, 0)),
            "what is placed at the end of a day is placed the next day"
        );
        assert_eq!(end("SPY", at(3, 0, 0)), Some(at(3, 17, 0)));
        assert_eq!(end("SPY", at(3, 17, 0)), Some(at(3, 21, 0)));
        assert_eq!(end("SPY", at(3, 21, 0)), Some(at(3, 22, 30)));
        assert_eq!(end("SPY", at(3, 23, 59)), Some(at(4, 17, 0)));
        let none = Calendar::parse("21:00 SPY day-ends\n17:00 * halted").unwrap();
        assert_eq!(none.day_ends().next(symbol("IBM"), at(3, 0, 0)), None);
        let mut scheduled = Scheduled::new(calendar, Time::ZERO, at(3, 20, 0));
        assert_eq!(scheduled.next(at(3, 20, 0)), Some(at(4, 9, 0)), "the end of a day is no phase");
        assert!(scheduled.take(&with_symbols(&["SPY"]), at(3, 22, 0)).is_empty());
    }
}
