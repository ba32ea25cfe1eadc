//! Going through the segments batch by batch: checksums, chain, continuity, time. It writes nothing, and does not know
//! what becomes of the commands.

use engine::{Sequence, Time};

use crate::JournalError;
use crate::batch::{BatchHeader, Kind};
use crate::journal::JournalPoint;
use crate::read::BatchView;
use crate::segment::HEADER_BYTES;
use crate::segment_reader::{SegmentReader, Step, Tail};
use crate::storage::Storage;

/// A walk from a point on. `point` is `None` until the first segment is open.
pub(crate) struct Walk<'a, S: Storage> {
    storage: &'a S,
    from: JournalPoint,
    time_floor: Time,
    up_to: Option<Sequence>,
    visit: &'a mut dyn FnMut(&BatchView<'_>) -> Result<(), JournalError>,
    previous: Option<Walked<S::File>>,
    /// The point behind the last batch read.
    pub point: JournalPoint,
    /// The time of the last batch read.
    pub time: Time,
    /// Commands visited.
    pub commands: u64,
    /// Batches visited.
    pub batches: u64,
}

/// A segment that was walked to its end.
#[derive(Debug)]
pub(crate) struct Walked<F> {
    pub reader: SegmentReader<F>,
    /// Behind its last whole batch.
    pub end: u64,
    /// Where its last batch of commands begins.
    pub last_commands: Option<u64>,
    /// Whether a mark stands last.
    pub marked: bool,
    /// Whether the closing mark stands last.
    pub closed: bool,
    /// What was found at `end` that is no batch.
    pub bad: Option<&'static str>,
}

/// The last segments walked; none if `up_to` was reached before the end, or there is no segment.
pub(crate) struct Ends<F> {
    pub last: Option<(Walked<F>, Tail)>,
    pub before_last: Option<Walked<F>>,
}

impl<'a, S: Storage> Walk<'a, S> {
    pub fn new(
        storage: &'a S,
        from: JournalPoint,
        time_floor: Time,
        up_to: Option<Sequence>,
        visit: &'a mut dyn FnMut(&BatchView<'_>) -> Result<(), JournalError>,
    ) -> Self {
        let (point, time) = (JournalPoint::ZERO, Time::ZERO);
        Walk { storage, from, time_floor, up_to, visit, previous: None, point, time, commands: 0, batches: 0 }
    }

    /// Walks `segments`, oldest first, beginning with the one that holds the command behind `from`.
    pub fn run(&mut self, segments: &[(Sequence, String)]) -> Result<Ends<S::File>, JournalError> {
        let next = self.from.sequence.next();
        let start = segments.partition_point(|(first, _)| *first <= next).saturating_sub(1);
        let mut before_last = None;
        for (first, name) in &segments[start..] {
            let reader = SegmentReader::open(self.storage, name, *first)?;
            self.enter(&reader)?;
            before_last = self.previous.take();
            match self.segment(reader)? {
                Some(walked) => self.previous = Some(walked),
                None => return Ok(Ends { last: None, before_last: None }),
            }
        }
        let tail = self.judge_end()?;
        if self.point.sequence < self.from.sequence {
            return Err(JournalError::EndsBefore { from: self.from.sequence, end: self.point.sequence });
        }
        self.time = self.time.max(self.time_floor);
        Ok(Ends { last: self.previous.take().zip(tail), before_last })
    }

    /// Checks that a segment continues the one before it, or that the walk may begin with it.
    fn enter(&mut self, reader: &SegmentReader<S::File>) -> Result<(), JournalError> {
        let header = reader.header;
        let Some(previous) = &mut self.previous else {
            let next = self.from.sequence.next();
            if header.first > next {
                return Err(missing(next, header.first, format!("before {}", reader.name)));
            }
            self.point = JournalPoint { sequence: Sequence(header.first.0.saturating_sub(1)), chain: header.chain };
            self.time = header.time;
            return self.check_history(&reader.name);
        };
        if header.folder != previous.reader.header.folder {
            return Err(JournalError::OtherFolder { segment: reader.name.clone() });
        }
        let next = self.point.sequence.next();
        if header.first == next && header.chain == self.point.chain {
            return Ok(());
        }
        let tail = previous.reader.tail(previous.end)?;
        if tail.written_end > previous.end && !previous.closed {
            return Err(JournalError::Damaged {
                segment: previous.reader.name.clone(),
                offset: previous.end,
                first: next,
                found: format!("{}, though {} follows", previous.bad.unwrap_or("nothing"), reader.name),
            });
        }
        if header.first > next {
            let place = format!("between {} and {}", previous.reader.name, reader.name);
            return Err(missing(next, header.first, place));
        }
        Err(JournalError::Damaged {
            segment: reader.name.clone(),
            offset: 0,
            first: header.first,
            found: format!(
                "it does not continue {}, which ends at command {}",
                previous.reader.name, self.point.sequence
            ),
        })
    }

    /// Walks one segment; none if `up_to` was reached in it.
    fn segment(&mut self, reader: SegmentReader<S::File>) -> Result<Option<Walked<S::File>>, JournalError> {
        let name = reader.name.clone();
        let end = HEADER_BYTES as u64;
        let mut walked = Walked { reader, end, last_commands: None, marked: false, closed: false, bad: None };
        while !walked.closed {
            // Checked before the next bytes are read: in a live folder they may be half written.
            if self.up_to.is_some_and(|up_to| self.point.sequence >= up_to) {
                return Ok(None);
            }
            match walked.reader.step(walked.end)? {
                Step::End => break,
                Step::Bad(why) => {
                    walked.bad = Some(why);
                    break;
                }
                Step::Batch { header, checksum, payload, batch_bytes } => {
                    self.check_continues(&header, &name, walked.end)?;
                    match header.kind {
                        Kind::Commands => {
                            let point = JournalPoint { sequence: last_of(&header), chain: checksum };
                            if self.up_to.is_some_and(|up_to| point.sequence > up_to) {
                                return Ok(None);
                            }
                            self.commands(&BatchView {
                                segment: &name,
                                offset: walked.end,
                                bytes: batch_bytes,
                                first: header.first,
                                count: header.count,
                                time: header.time,
                                payload,
                                point,
                            })?;
                            walked.last_commands = Some(walked.end);
                            walked.marked = false;
                        }
                        Kind::Mark => walked.marked = true,
                        Kind::Closing => walked.closed = true,
                    }
                    walked.end += batch_bytes;
                }
            }
        }
        Ok(Some(walked))
    }

    fn commands(&mut self, batch: &BatchView<'_>) -> Result<(), JournalError> {
        self.point = batch.point;
        self.time = batch.time;
        if batch.point.sequence <= self.from.sequence {
            return self.check_history(batch.segment);
        }
        if batch.first <= self.from.sequence {
            return Err(self.other_history(batch.segment));
        }
        if batch.time < self.time_floor {
            return Err(time_runs_back(batch.segment, batch.first, batch.time, self.time_floor));
        }
        self.commands += u64::from(batch.count);
        self.batches += 1;
        (self.visit)(batch)
    }

    /// A whole batch must continue the one before: its checksum proves that it was written as it is.
    fn check_continues(&self, header: &BatchHeader, segment: &str, offset: u64) -> Result<(), JournalError> {
        let next = self.point.sequence.next();
        if header.first != next || header.chain_before != self.point.chain {
            let found = format!("a whole batch of command {} that does not continue the one before it", header.first);
            return Err(JournalError::Damaged { segment: segment.to_owned(), offset, first: next, found });
        }
        if header.kind == Kind::Commands && header.time < self.time {
            return Err(time_runs_back(segment, header.first, header.time, self.time));
        }
        Ok(())
    }

    fn check_history(&self, segment: &str) -> Result<(), JournalError> {
        if self.point.sequence == self.from.sequence && self.point.chain != self.from.chain {
            return Err(self.other_history(segment));
        }
        Ok(())
    }

    fn other_history(&self, segment: &str) -> JournalError {
        JournalError::OtherHistory { from: self.from.sequence, segment: segment.to_owned() }
    }

    /// Tells a power cut, which leaves no whole batch behind the bad one, from damage, which may.
    fn judge_end(&mut self) -> Result<Option<Tail>, JournalError> {
        let Some(last) = &mut self.previous else { return Ok(None) };
        let next = self.point.sequence.next();
        if last.closed {
            return Err(JournalError::NextMissing { first: next, after: last.reader.name.clone() });
        }
        let tail = last.reader.tail(last.end)?;
        match tail.whole_batch {
            Some((offset, behind)) => {
                let what = match behind.kind {
                    Kind::Commands => "a whole batch",
                    Kind::Mark | Kind::Closing => "a mark that it was durable",
                };
                let bad = last.bad.unwrap_or("nothing");
                let found = format!("{bad}, though {what} stands behind it at byte {offset}");
                Err(JournalError::Damaged { segment: last.reader.name.clone(), offset: last.end, first: next, found })
            }
            None => Ok(Some(tail)),
        }
    }
}

fn last_of(header: &BatchHeader) -> Sequence {
    // A whole batch has at least one command.
    Sequence(header.first.0.saturating_add(u64::from(header.count) - 1))
}

fn missing(first: Sequence, found: Sequence, place: String) -> JournalError {
    JournalError::Missing { first, last: Sequence(found.0 - 1), place }
}

fn time_runs_back(segment: &str, first: Sequence, found: Time, before: Time) -> JournalError {
    JournalError::TimeRunsBack { segment: segment.to_owned(), first, found, before }
}
