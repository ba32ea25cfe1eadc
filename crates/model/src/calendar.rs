//! A calendar, and what a server that has it does for it, in the plainest way: at each turn all lines of the last day
//! are looked at again. It follows from docs/SETTINGS.md, and shares nothing with the market's own. Its lines are of
//! each day, in UTC: market's `day_time.rs` compares days and zones with a clock on the wall.

use std::fmt;

use terms::{Command, Phase, Symbol, SymbolIndex, SymbolPhase, Time};

use crate::exchange::Model;
use crate::random::Random;

const SECOND_US: u64 = 1_000_000;
const DAY_US: u64 = 86_400 * SECOND_US;

/// Lines of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar(Vec<Line>);

/// A line: at a time of each day a symbol, or every one, goes into a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// Microseconds since midnight. A second has as many lines as it likes, each a microsecond behind the one before.
    at_us: u64,
    symbol: Option<Symbol>,
    phase: Phase,
}

impl Calendar {
    /// Draws a calendar of so many lines in this many seconds from a time on.
    pub fn draw(random: &mut Random, lines: usize, from: Time, seconds: usize) -> Calendar {
        let symbols = [None, Symbol::parse(b"SPY").ok(), Symbol::parse(b"spy").ok()];
        // Most lines open: where nothing is traded there is little to see.
        let phases = [Phase::Open, Phase::Open, Phase::Auction, Phase::Halted];
        let mut drawn: Vec<Line> = (0..lines)
            .map(|_| {
                let second = from.0 / SECOND_US + random.below(seconds) as u64;
                let at_us = second * SECOND_US % DAY_US;
                Line { at_us, symbol: random.pick(&symbols), phase: random.pick(&phases) }
            })
            .collect();
        drawn.sort_by_key(|line| line.at_us);
        let mut before = None;
        for line in &mut drawn {
            line.at_us = before.map_or(line.at_us, |before: u64| line.at_us.max(before + 1));
            before = Some(line.at_us);
        }
        Calendar(drawn)
    }

    /// The lines that are due after one time, through another and within the day before it, with their times.
    pub fn due(&self, from: Time, through: Time) -> impl Iterator<Item = (Time, Option<Symbol>, Phase)> + use<'_> {
        let from = from.0.max(through.0.saturating_sub(DAY_US));
        let days = [through.0 / DAY_US, (through.0 / DAY_US).wrapping_sub(1)];
        let all =
            days.into_iter().rev().filter(|day| *day != u64::MAX).flat_map(|day| {
                self.0.iter().map(move |line| (Time(day * DAY_US + line.at_us), line.symbol, line.phase))
            });
        all.filter(move |(due, ..)| due.0 > from && *due <= through)
    }

    /// The time of the first line behind a time.
    pub fn next(&self, now: Time) -> Option<Time> {
        self.due(now, Time(now.0 + DAY_US)).map(|(due, ..)| due).next()
    }
}

impl fmt::Display for Calendar {
    /// Writes the calendar as a server reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Line { at_us, symbol, phase } in &self.0 {
            let second = at_us / SECOND_US;
            let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
            let name = symbol.map_or_else(|| "*".to_owned(), |symbol| symbol.to_string());
            writeln!(f, "{hour:02}:{minute:02}:{second:02} {name} {}", phase.name())?;
        }
        Ok(())
    }
}

/// A server that follows a calendar alone, without a log that it shares with others.
#[derive(Clone, Debug)]
pub struct Following {
    calendar: Calendar,
    /// The time through which everything is done.
    through: Time,
    /// Whether the start is still to be noted.
    starts: bool,
}

impl Following {
    /// A server that starts when its next command would be at `now`.
    pub fn start(calendar: &Calendar, model: &Model, now: Time) -> Following {
        let last = if model.time() == Time::ZERO { now } else { model.time() };
        let followed = model.calendar_followed();
        Following {
            calendar: calendar.clone(),
            through: followed.unwrap_or(last),
            starts: followed.is_some() || !calendar.0.is_empty(),
        }
    }

    /// Whether a turn at this time begins with the calendar's.
    pub fn is_due(&self, now: Time) -> bool {
        self.starts || self.calendar.due(self.through, now).next().is_some()
    }

    /// The commands of a turn at this time in which it is followed, each with the time at which it was due.
    pub fn follow(&mut self, model: &Model, now: Time) -> Vec<(Time, Command)> {
        if !self.is_due(now) {
            return Vec::new();
        }
        let (mut commands, mut phases, mut last) = (Vec::new(), Vec::new(), None);
        for (due, of, phase) in self.calendar.due(self.through, now) {
            last = Some(due);
            for (at, symbol) in model.symbols().enumerate().filter(|(_, symbol)| of.is_none_or(|of| of == *symbol)) {
                let before = phases.iter().rev().find(|(of, _)| *of == symbol).map(|(_, phase)| *phase);
                let stands = SymbolPhase { phase, until: None };
                let is_so = match before {
                    Some(before) => before == phase,
                    None => model.phase(SymbolIndex(at as u32)) == stands,
                };
                if !is_so {
                    phases.push((symbol, phase));
                    commands.push((due, Command::ChangePhase { symbol, phase, due: None }));
                }
            }
        }
        let to_note = if self.starts { Some(now) } else { last };
        (self.through, self.starts) = (now, false);
        commands.extend(to_note.and_then(|through| Some((through, note(model, through)?))));
        commands
    }

    /// The command of a turn at this time in which clients change phases: nothing was due, where a calendar was ever
    /// followed.
    pub fn caught_up(&self, model: &Model, now: Time) -> Option<Command> {
        model.calendar_followed()?;
        if self.is_due(now) { None } else { note(model, now) }
    }
}

/// The command that notes how far the calendar was followed, unless it was noted.
fn note(model: &Model, through: Time) -> Option<Command> {
    (model.calendar_followed() < Some(through)).then_some(Command::FollowCalendar { through })
}
