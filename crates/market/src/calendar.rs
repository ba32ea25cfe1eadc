//! A calendar: the times at which symbols change their phases, and the ends of symbols' days. This file reads no file
//! and no clock.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::civil;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use terms::{Phase, Symbol, Time};

use crate::day_ends::DayEnds;
use crate::day_time::{DayTime, Days, Zone};

/// The most lines of a calendar, without comments.
pub const LINES_MAX: usize = 10_000;
/// The most zones of a calendar.
const ZONES_MAX: usize = 50;
const WEEK: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The lines of a calendar, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    lines: Vec<Line>,
    day_ends: DayEnds,
    zones: Arc<[Zone]>,
}

/// A line about a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    day: DayTime,
    /// Microseconds behind that. Of several lines at one time each is a microsecond after the one before it, so that
    /// each has a time of its own.
    behind_us: u64,
    /// The symbol; none for every symbol.
    pub(crate) symbol: Option<Symbol>,
    pub(crate) phase: Phase,
}

impl Line {
    fn behind(&self, time: Time) -> Time {
        Time(time.0.saturating_add(self.behind_us))
    }

    fn before(&self, time: Time) -> Time {
        Time(time.0.saturating_sub(self.behind_us))
    }
}

/// A fault in a line of a calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarFault {
    /// The number of the line, from 1.
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
    /// Parses lines `[DAYS] TIME SYMBOL PHASE`, such as `09:00 SPY open` or `Mon-Fri 17:30:00 * auction`, and
    /// `[DAYS] TIME SYMBOL day-ends`; `zone NAME` and `closed DATE`; `#` begins a comment.
    pub fn parse(text: &str) -> Result<Calendar, CalendarFault> {
        let mut parser = Parser::default();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            if !words.is_empty() {
                parser.add(&words).map_err(|fault| CalendarFault { line: number, fault })?;
            }
        }
        Ok(parser.finish())
    }

    /// The ends of symbols' days.
    pub fn day_ends(&self) -> &DayEnds {
        &self.day_ends
    }

    pub(crate) fn has_no_lines(&self) -> bool {
        self.lines.is_empty()
    }

    /// The steps from just after one time up to another, in order, with their times. A line that came more than once
    /// is one step, its last.
    pub(crate) fn between(&self, from: Time, through: Time) -> Vec<(Time, Line)> {
        let step = |line: &Line| {
            let at = line.day.last(&self.zones, line.before(from), line.before(through))?;
            Some((line.behind(at), *line))
        };
        let mut steps: Vec<(Time, Line)> = self.lines.iter().filter_map(step).collect();
        steps.sort_by_key(|(at, _)| *at);
        steps
    }

    /// The time of the next step.
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        let next_of = |line: &Line| line.day.after(&self.zones, line.before(now)).map(|at| line.behind(at));
        self.lines.iter().filter_map(next_of).min()
    }
}

/// A calendar whose lines are being read.
#[derive(Default)]
struct Parser {
    /// All lines, those about zones and closed dates, too.
    count: usize,
    lines: Vec<Line>,
    day_ends: DayEnds,
    zones: Vec<Zone>,
    /// The index of the zone of the following lines.
    zone: usize,
    /// The number of lines at each time of a zone's clock.
    at_one_time: HashMap<(usize, civil::Time), u64>,
}

impl Parser {
    fn add(&mut self, words: &[&str]) -> Result<(), String> {
        if self.count == LINES_MAX {
            return Err(format!("a calendar has at most {LINES_MAX} lines"));
        }
        self.count += 1;
        match words {
            ["zone", name] => self.enter_zone(name),
            ["closed", date] => {
                let date = date_named(date)?;
                self.zone_now()?.closed.insert(date);
                Ok(())
            }
            [time, symbol, what] => self.add_line(Days::EACH, time, symbol, what),
            [days, time, symbol, what] => self.add_line(days_named(days)?, time, symbol, what),
            _ => Err(format!(
                "{} words; a line is a time, a symbol or *, and a phase or day-ends, with days in front of it if it is \
                 not of each day; or zone and a name; or closed and a date",
                words.len()
            )),
        }
    }

    fn add_line(&mut self, days: Days, time: &str, symbol: &str, what: &str) -> Result<(), String> {
        let symbol = match symbol {
            "*" => None,
            name => Some(Symbol::parse(name.as_bytes()).map_err(|error| format!("symbol {name} {error}"))?),
        };
        self.zone_now()?;
        let day = |zone| Ok::<_, String>(DayTime { zone, days, time: time_of_day(time)? });
        if what == "day-ends" {
            self.day_ends.add(symbol, day(self.zone)?);
            return Ok(());
        }
        let phase =
            Phase::named(what).ok_or_else(|| format!("phase {what} is not open, halted, auction or day-ends"))?;
        let day = day(self.zone)?;
        let before = self.at_one_time.entry((self.zone, day.time)).or_default();
        // Each zone has a part of the second of its own.
        let behind_us = (self.zone * LINES_MAX) as u64 + *before;
        *before += 1;
        self.lines.push(Line { day, behind_us, symbol, phase });
        Ok(())
    }

    fn enter_zone(&mut self, name: &str) -> Result<(), String> {
        let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| {
            format!(
                "zone {name} is not in the time zone database; a name is such as America/New_York, Europe/Berlin or UTC"
            )
        })?;
        let known = self.zones.iter().position(|of| of.zone == zone);
        self.zone = known.unwrap_or(self.zones.len());
        if known.is_none() {
            if self.zones.len() == ZONES_MAX {
                return Err(format!("a calendar has at most {ZONES_MAX} zones"));
            }
            self.zones.push(Zone::new(zone));
        }
        Ok(())
    }

    /// The zone of the following lines: UTC unless one was named.
    fn zone_now(&mut self) -> Result<&mut Zone, String> {
        if self.zones.is_empty() {
            self.zones.push(Zone::new(TimeZone::UTC));
        }
        self.zones.get_mut(self.zone).ok_or_else(|| "its zone is unknown".to_owned())
    }

    fn finish(self) -> Calendar {
        let zones: Arc<[Zone]> = self.zones.into();
        Calendar { lines: self.lines, day_ends: self.day_ends.in_zones(Arc::clone(&zones)), zones }
    }
}

/// Reads a date, or days of the week such as `Mon-Fri` or `Mon,Wed,Fri`.
fn days_named(days: &str) -> Result<Days, String> {
    if days.starts_with(|first: char| first.is_ascii_digit()) {
        return date_named(days).map(Days::Date);
    }
    let fault = || format!("days {days} are neither days of the week, such as Mon-Fri or Mon,Wed, nor a date");
    let number_of = |name: &str| WEEK.iter().position(|day| *day == name).ok_or_else(fault);
    let mut week = 0;
    for part in days.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut day, last) = (number_of(first)?, number_of(last)?);
        week |= 1 << day;
        while day != last {
            day = (day + 1) % WEEK.len();
            week |= 1 << day;
        }
    }
    Ok(Days::Week(week))
}

/// Reads a date such as `2026-12-25`.
fn date_named(date: &str) -> Result<civil::Date, String> {
    let is_plain = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let date_read = date.parse::<civil::Date>().ok().filter(|_| is_plain);
    date_read.ok_or_else(|| format!("date {date} is not a day such as 2026-12-25"))
}

/// Reads `HH:MM` or `HH:MM:SS`.
fn time_of_day(time: &str) -> Result<civil::Time, String> {
    let fault = || format!("time {time} is not HH:MM or HH:MM:SS, from 00:00 to 23:59:59");
    let parts: Vec<&str> = time.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return Err(fault());
    }
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(parts) {
        let is_plain = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| is_plain).ok_or_else(fault)?;
    }
    let [hour, minute, second] = numbers;
    civil::Time::new(hour, minute, second, 0).map_err(|_| fault())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use terms::Deadline;

    use super::*;

    const DAY_US: u64 = 86_400 * 1_000_000;

    fn symbol(name: &str) -> Symbol {
        Symbol::parse(name.as_bytes()).unwrap()
    }

    fn at(day: u64, hour: u64, minute: u64) -> Time {
        Time(day * DAY_US + (hour * 60 + minute) * 60 * 1_000_000)
    }

    fn time(text: &str) -> Time {
        Time(u64::try_from(text.parse::<jiff::Timestamp>().unwrap().as_microsecond()).unwrap())
    }

    #[test]
    fn a_line_that_cannot_be_is_named_with_what_it_has_to_be() {
        let fault = |text: &str| Calendar::parse(text).unwrap_err().to_string();
        let time = "is not HH:MM or HH:MM:SS, from 00:00 to 23:59:59";
        for said in ["24:00", "9:00", "09", "09:60", "09:00:60", "09:00:00:00", "+9:00", "ab:cd"] {
            assert_eq!(fault(&format!("# first\n\n{said} * open")), format!("line 3: time {said} {time}"));
        }
        assert_eq!(fault("09:00 * closed"), "line 1: phase closed is not open, halted, auction or day-ends");
        let forms = "a line is a time, a symbol or *, and a phase or day-ends, with days in front of it if it is not of \
                     each day; or zone and a name; or closed and a date";
        assert_eq!(fault("09:00 *"), format!("line 1: 2 words; {forms}"));
        assert_eq!(fault("Mon-Fri 09:00 * open now"), format!("line 1: 5 words; {forms}"));
        let days = "are neither days of the week, such as Mon-Fri or Mon,Wed, nor a date";
        for said in ["mon", "Mon-", "Mon-Fri-Sat", "Mon,", "every"] {
            assert_eq!(fault(&format!("{said} 09:00 * open")), format!("line 1: days {said} {days}"));
        }
        for said in ["2026-02-30", "2026-12", "20261225", "2026-12-25T00:00"] {
            let date = format!("line 1: date {said} is not a day such as 2026-12-25");
            assert_eq!(fault(&format!("{said} 09:00 * open")), date);
            assert_eq!(fault(&format!("closed {said}")), date);
        }
        assert!(
            fault("zone New_York").starts_with("line 1: zone New_York is not in the time zone database; a name is")
        );
        let zones: String =
            jiff::tz::TimeZoneDatabase::bundled().available().map(|name| format!("zone {name}\n")).collect();
        assert!(fault(&zones).ends_with("a calendar has at most 50 zones"));
        assert!(fault("9:00 * day-ends").starts_with("line 1: time 9:00 is not HH:MM"));
        assert!(fault("09:00 S-Y open").starts_with("line 1: symbol S-Y has characters other than"));
        let long = "09:00 * open\n".repeat(LINES_MAX + 1);
        assert_eq!(fault(&long), "line 10001: a calendar has at most 10000 lines");
        assert_eq!(Calendar::parse("# nothing\n").unwrap(), Calendar::default());
    }

    /// The steps of a calendar from one time to another, each as its time and what it says.
    fn steps(text: &str, from: &str, through: &str) -> Vec<String> {
        let calendar = Calendar::parse(text).unwrap();
        let mut steps = Vec::new();
        let mut now = time(from);
        while let Some(next) = calendar.next(now).filter(|next| *next <= time(through)) {
            for (at, line) in calendar.between(now, next) {
                let at_second = jiff::Timestamp::from_second(i64::try_from(at.0 / 1_000_000).unwrap()).unwrap();
                let symbol = line.symbol.map_or("*".to_owned(), |symbol| symbol.to_string());
                steps.push(format!("{at_second} {symbol} {}", line.phase.name()));
            }
            now = next;
        }
        steps
    }

    #[test]
    fn lines_are_of_days_of_the_week_and_of_dates_in_their_zone() {
        let calendar = "
            zone America/New_York
            Mon-Fri 09:30 * open
            Mon-Fri 16:00 * halted
            closed 2026-11-26               # Thanksgiving
            closed 2026-11-27               # the day after it is short
            2026-11-27 09:30 * open
            2026-11-27 13:00 * halted
            zone Asia/Tokyo
            Sat,Sun 12:00 BTC auction";
        let seen = steps(calendar, "2026-11-25T12:00:00Z", "2026-11-30T23:00:00Z");
        let expected = [
            "2026-11-25T14:30:00Z * open",
            "2026-11-25T21:00:00Z * halted",
            "2026-11-27T14:30:00Z * open",
            "2026-11-27T18:00:00Z * halted",
            "2026-11-28T03:00:00Z BTC auction",
            "2026-11-29T03:00:00Z BTC auction",
            "2026-11-30T14:30:00Z * open",
            "2026-11-30T21:00:00Z * halted",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_server_that_was_away_does_each_line_once_however_long_ago_it_came_last() {
        let calendar = Calendar::parse("Mon-Fri 09:30 * open\nMon-Fri 16:00 * halted\nclosed 2026-11-26").unwrap();
        let missed = |from: &str, through: &str| {
            let steps = calendar.between(time(from), time(through));
            steps.into_iter().map(|(at, line)| (at, line.phase)).collect::<Vec<_>>()
        };
        let [opened, halted] = ["2026-11-27T09:30:00Z", "2026-11-27T16:00:00Z"].map(time);
        let both = [(opened, Phase::Open), (halted, Phase::Halted)];
        assert_eq!(missed("2026-11-27T08:00:00Z", "2026-11-30T08:00:00Z"), both, "over a weekend");
        assert_eq!(missed("2026-11-27T12:00:00Z", "2026-11-30T08:00:00Z"), both[1..]);
        assert_eq!(missed("2020-01-01T00:00:00Z", "2026-11-30T08:00:00Z"), both, "over years");
        assert_eq!(missed("2026-11-25T17:00:00Z", "2026-11-27T08:00:00Z"), [], "over a closed day");
    }

    #[test]
    fn lines_of_one_moment_in_two_zones_have_times_of_their_own() {
        let text = "zone Europe/London\n14:30 * auction\nzone America/New_York\n09:30 * open\n09:30 SPY halted";
        let calendar = Calendar::parse(text).unwrap();
        let first = time("2026-11-25T14:30:00Z");
        let at: Vec<u64> = calendar
            .between(time("2026-11-25T12:00:00Z"), time("2026-11-25T15:00:00Z"))
            .iter()
            .map(|(at, _)| at.0 - first.0)
            .collect();
        assert_eq!(at, [0, 10_000, 10_001]);
        assert_eq!(calendar.next(Time(first.0 + 10_000)), Some(Time(first.0 + 10_001)));
    }

    #[test]
    fn a_day_ends_early_on_a_date_of_its_own() {
        let text = "zone America/New_York\nMon-Fri 16:00 * day-ends\nclosed 2026-11-27\n2026-11-27 13:00 * day-ends";
        let calendar = Calendar::parse(text).unwrap();
        let end = |now: &str| calendar.day_ends().next(symbol("SPY"), time(now)).map(Deadline::time);
        assert_eq!(end("2026-11-26T21:00:00Z"), Some(time("2026-11-27T18:00:00Z")));
        assert_eq!(end("2026-11-27T18:00:00Z"), Some(time("2026-11-30T21:00:00Z")));
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
    }
}
