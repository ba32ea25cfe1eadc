//! Walks through the segments batch by batch: checksums, chain, continuity, time. It writes nothing, and does not know
//! what happens to the commands.

use terms::{Sequence, Time};

use crate::JournalError;
use crate::batch::{BatchHeader, Kind, split_payload};
use crate::batch_view::BatchView;
use crate::point::JournalPoint;
use crate::segment::{HEADER_BYTES, segments_among};
use crate::segment_reader::{SegmentReader, Step, Tail};
use crate::storage::Storage;
use crate::varint::CodecError;

/// A segment: the number of its first command, and its name.
type Listed = (Sequence, String);

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
    /// The number of commands visited.
    pub commands: u64,
    /// The number of batches visited.
    pub batches: u64,
}

/// A segment that was walked to its end.
#[derive(Debug)]
pub(crate) struct Walked<F> {
    pub reader: SegmentReader<F>,
    /// The offset behind its last whole batch.
    pub end: u64,
    /// The offset of the last batch of commands before which everything was synced: it and what follows may not be
    /// durable.
    pub last_commands: Option<u64>,
    /// Whether a mark stands last.
    pub marked: bool,
    /// Whether the closing mark stands last.
    pub closed: bool,
    /// The fault at `end` that makes the bytes there no batch.
    pub bad: Option<&'static str>,
}

impl<F> Walked<F> {
    fn new(reader: SegmentReader<F>) -> Walked<F> {
        let end = HEADER_BYTES as u64;
        Walked { reader, end, last_commands: None, marked: false, closed: false, bad: None }
    }
}

/// The continuation behind the segments walked so far.
enum End<F> {
    /// No whole batch; none if there is no segment.
    Tail(Option<Tail>),
    /// Batches that were appended meanwhile to the last segment.
    Batches(Walked<F>),
    /// Segments that were made meanwhile.
    Segments(Vec<Listed>),
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

    /// Walks `segments`, oldest first, beginning with the one that holds the command behind `from`. A server may be
    /// appending meanwhile: the walk includes what it adds.
    pub fn run(&mut self, segments: &[Listed]) -> Result<Ends<S::File>, JournalError> {
        let next = self.from.sequence.next();
        let start = segments.partition_point(|(first, _)| *first <= next).saturating_sub(1);
        let mut listed = segments[start..].to_vec();
        if start > 0 {
            self.check_folder(&segments[start - 1], &segments[start])?;
        }
        let mut before_last = None;
        let tail = loop {
            for (first, name) in std::mem::take(&mut listed) {
                let reader = SegmentReader::open(self.storage, &name, first)?;
                self.enter(&reader)?;
                before_last = self.previous.take();
                if !self.segment(Walked::new(reader))? {
                    return Ok(Ends { last: None, before_last: None });
                }
            }
            match self.end()? {
                End::Tail(tail) => break tail,
                End::Segments(newer) => listed = newer,
                End::Batches(walked) => {
                    if !self.segment(walked)? {
                        return Ok(Ends { last: None, before_last: None });
                    }
                }
            }
        };
        if self.point.sequence < self.from.sequence {
            return Err(JournalError::EndsBefore { from: self.from.sequence, end: self.point.sequence });
        }
        self.time = self.time.max(self.time_floor);
        Ok(Ends { last: self.previous.take().zip(tail), before_last })
    }

    /// Checks that the first segment of the walk is of the folder of the one before it. That one is not needed: if it
    /// cannot be read, nothing is compared.
    fn check_folder(&self, (before, skipped): &Listed, (first, segment): &Listed) -> Result<(), JournalError> {
        let Ok(skipped) = SegmentReader::open(self.storage, skipped, *before) else {
            return Ok(());
        };
        let reader = SegmentReader::open(self.storage, segment, *first)?;
        match skipped.header.folder == reader.header.folder {
            true => Ok(()),
            false => Err(JournalError::OtherFolder { segment: segment.clone() }),
        }
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

    /// Walks a segment from `walked.end` to its end; returns false if `up_to` was reached before.
    fn segment(&mut self, mut walked: Walked<S::File>) -> Result<bool, JournalError> {
        let (name, rules) = (walked.reader.name.clone(), walked.reader.header.rules);
        while !walked.closed {
            // This check comes before the next bytes are read: in a live folder they may be half written.
            if self.up_to.is_some_and(|up_to| self.point.sequence >= up_to) {
                return Ok(false);
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
                                return Ok(false);
                            }
                            let BatchHeader { first, count, time, has_callers, behind_unsynced, .. } = header;
                            let (segment, offset, bytes) = (&*name, walked.end, batch_bytes);
                            let Some((callers, payload)) = split_payload(payload, has_callers) else {
                                let (segment, source) = (name, CodecError::Truncated);
                                return Err(JournalError::Undecodable { segment, sequence: first, source });
                            };
                            let view = BatchView {
                                segment,
                                rules,
                                offset,
                                bytes,
                                first,
                                count,
                                time,
                                callers,
                                payload,
                                point,
                            };
                            self.commands(&view)?;
                            if !behind_unsynced || walked.last_commands.is_none() {
                                walked.last_commands = Some(walked.end);
                            }
                            walked.marked = false;
                        }
                        Kind::Mark => walked.marked = true,
                        Kind::Closing => walked.closed = true,
                    }
                    walked.end += batch_bytes;
                }
            }
        }
        self.previous = Some(walked);
        Ok(true)
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

    /// Checks that a whole batch continues the one before: its checksum proves that it was written as it is.
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

    /// Judges the bytes behind the last segment's last whole batch. It tells a power cut, which leaves no whole batch
    /// behind the bad one, from damage, which may.
    fn end(&mut self) -> Result<End<S::File>, JournalError> {
        let Some(mut last) = self.previous.take() else { return Ok(End::Tail(None)) };
        let next = self.point.sequence.next();
        if last.closed {
            let names = self.storage.list().map_err(JournalError::io("list the data folder"))?;
            let newer: Vec<_> = segments_among(names).into_iter().filter(|(first, _)| *first >= next).collect();
            if newer.is_empty() {
                return Err(JournalError::NextMissing { first: next, after: last.reader.name });
            }
            self.previous = Some(last);
            return Ok(End::Segments(newer));
        }
        let tail = last.reader.tail(last.end)?;
        if let Some((offset, behind)) = tail.whole_batch {
            // It may have been written after the place before it was read, together with the batch that belongs there.
            last.reader.forget_read();
            if matches!(last.reader.step(last.end)?, Step::Batch { .. }) {
                last.bad = None;
                return Ok(End::Batches(last));
            }
            let what = match behind.kind {
                Kind::Commands => "a whole batch",
                Kind::Mark | Kind::Closing => "a mark that it was durable",
            };
            let bad = last.bad.unwrap_or("nothing");
            let found = format!("{bad}, though {what} stands behind it at byte {offset}");
            return Err(JournalError::Damaged { segment: last.reader.name, offset: last.end, first: next, found });
        }
        self.previous = Some(last);
        Ok(End::Tail(Some(tail)))
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
