//! A session: message numbers, heartbeats and resends. It knows no socket and no order. Its numbers go on over
//! connections: while the client is away the messages about orders get their numbers all the same, and are sent again
//! when the client asks for what it misses.

use std::collections::{HashSet, VecDeque};
use std::fmt::Display;
use std::time::{Duration, Instant};

use exchange::Limit;
use terms::{AccountId, Sequence};

use crate::frame::{MESSAGE_BYTES_MAX, SOH, framed};
use crate::message::{Fault, Fields, Message};
use crate::reasons::SessionRejectReason as Reason;
use crate::session_file::{SavedMessage, SavedSession, SessionFile};
use crate::tags::{self, Tag};
use crate::times;

/// CompID of this server.
pub(crate) const OURS: &str = "PRICETIME";
/// Seconds between heartbeats, at most.
const HEART_BT_INT_MAX: u64 = 3600;
/// Time between two looks at the clock where no heartbeats are sent.
const NO_HEARTBEAT: Duration = Duration::from_secs(3600);
/// Garbled messages since the last one in its turn that end the session.
const GARBLED_MAX: u32 = 16;
/// Numbers that one SequenceReset skips, at most.
const SKIPPED_MAX: u64 = 1_000_000;
/// Time between two Logons within a session that begin its numbers again: its file is synced for each.
const RESET_EVERY: Duration = Duration::from_secs(1);
/// Messages about orders that are kept to be sent again, at most; [`KEPT_BYTES_MAX`] bounds their bytes.
const KEPT_MAX: usize = 1024;
const KEPT_BYTES_MAX: usize = 256 << 10;
/// Bytes of the longest CompID of a client.
const COMP_ID_MAX: usize = 64;
/// The kinds of messages that are about the session itself.
const OF_SESSIONS: [&str; 7] = ["0", "1", "2", "3", "4", "5", "A"];
/// Bytes of the longest text that is echoed: TestReqID(112).
const ECHOED_MAX: usize = 256;

/// A session that has logged on.
pub(crate) struct Session {
    /// CompID of the client.
    theirs: String,
    /// The number of the next message. It exceeds what a message may have once the client has used up all numbers.
    next_in: u64,
    /// The number up to which all messages were done: those behind it are sent again if the connection ends.
    settled_in: u64,
    next_out: u64,
    /// `None` where neither side sends heartbeats.
    heartbeat: Option<Duration>,
    /// The difference between SendingTime and the server's clock, at most; `None` where they are not compared.
    clock_difference_max: Option<Duration>,
    heard: Instant,
    said: Instant,
    /// The number of garbled messages since the last message that had its turn.
    garbled: u32,
    /// Whether a TestRequest waits for its answer.
    is_asked: bool,
    /// The time at which a Logon within the session began the numbers again.
    reset_at: Option<Instant>,
    /// The number below which a ResendRequest has asked for all missing messages.
    asked_again: Option<u64>,
    kept: VecDeque<SavedMessage>,
    kept_bytes: usize,
    /// The first and the last number that a ResendRequest asked for and did not get yet.
    again: Option<(u64, u64)>,
    /// Bytes that are to be sent.
    out: Vec<u8>,
    /// Whether nothing more is sent over this connection.
    ends: bool,
    /// The file in which the session outlives the server.
    file: Option<SessionFile>,
}

/// The contents of a Logon.
#[derive(Debug)]
pub(crate) struct Logon<'a> {
    theirs: &'a str,
    number: u64,
    /// Whether the number may be one that was used before.
    is_again: bool,
    heartbeat: Option<Duration>,
    clock_difference_max: Option<Duration>,
    resets: bool,
    pub(crate) username: Option<&'a str>,
    pub(crate) password: Option<&'a str>,
}

impl<'a> Logon<'a> {
    /// Reads a Logon. Errors: no session can begin with this message.
    pub(crate) fn read(message: &Message<'a>, clock_difference_max: Option<Duration>) -> Result<Logon<'a>, Fault> {
        if message.kind() != "A" {
            return Err(Fault::value(tags::MSG_TYPE, "the first message is a Logon: MsgType(35)=A"));
        }
        message.check_form()?;
        let theirs = message.need(tags::SENDER_COMP_ID, "SenderCompID")?;
        if theirs.len() > COMP_ID_MAX {
            return Err(Fault::value(
                tags::SENDER_COMP_ID,
                format!("SenderCompID(49) has at most {COMP_ID_MAX} bytes"),
            ));
        }
        check_target(message)?;
        if message.need(tags::ENCRYPT_METHOD, "EncryptMethod")? != "0" {
            return Err(Fault::value(tags::ENCRYPT_METHOD, "EncryptMethod(98) is 0: use TLS"));
        }
        let seconds = message.number(tags::HEART_BT_INT, "HeartBtInt")?;
        if seconds > HEART_BT_INT_MAX {
            let text = format!("HeartBtInt(108) is {seconds}; it is 0 to {HEART_BT_INT_MAX}");
            return Err(Fault::value(tags::HEART_BT_INT, text));
        }
        check_times(message, clock_difference_max)?;
        let number = message.seq_num(tags::MSG_SEQ_NUM, "MsgSeqNum")?;
        let resets = message.flag(tags::RESET_SEQ_NUM_FLAG, "ResetSeqNumFlag")?;
        if number == 0 || resets && number != 1 {
            let text =
                format!("MsgSeqNum(34) is {number} in a Logon; it is at least 1, and 1 with ResetSeqNumFlag(141)=Y");
            return Err(Fault::value(tags::MSG_SEQ_NUM, text));
        }
        Ok(Logon {
            theirs,
            number,
            is_again: message.flag(tags::POSS_DUP_FLAG, "PossDupFlag")?,
            heartbeat: (seconds > 0).then(|| Duration::from_secs(seconds)),
            clock_difference_max,
            resets,
            username: message.get(tags::USERNAME)?,
            password: message.get(tags::PASSWORD)?,
        })
    }
}

impl<'a> Logon<'a> {
    /// Returns the client's CompID.
    pub(crate) fn theirs(&self) -> &'a str {
        self.theirs
    }

    /// Whether the numbers begin again.
    pub(crate) fn resets(&self) -> bool {
        self.resets
    }

    /// Checks that a session of which nothing is known can begin. Errors: the client goes on with another one.
    pub(crate) fn check_first(&self) -> Result<(), String> {
        match self.number {
            1 => Ok(()),
            number => Err(format!(
                "MsgSeqNum(34) is {number}, and the server knows no session of this name: begin one with ResetSeqNumFlag(141)=Y"
            )),
        }
    }
}

fn check_target(message: &Message<'_>) -> Result<(), Fault> {
    match message.need(tags::TARGET_COMP_ID, "TargetCompID")? {
        OURS => Ok(()),
        _ => Err(Fault::of(tags::TARGET_COMP_ID, Reason::CompId, format!("TargetCompID(56) is {OURS}"))),
    }
}

/// Compares SendingTime with the server's clock, and OrigSendingTime with SendingTime.
fn check_times(message: &Message<'_>, clock_difference_max: Option<Duration>) -> Result<(), Fault> {
    let time = |tag, name: &str| {
        let time = times::read(message.need(tag, name)?);
        time.ok_or_else(|| Fault::of(tag, Reason::Format, format!("{name}({tag}) is a time as 20260131-12:34:56.789")))
    };
    let (sent, now) = (time(tags::SENDING_TIME, "SendingTime")?, times::now());
    let differs = Duration::from_micros(sent.0.abs_diff(now.0));
    if let Some(most) = clock_difference_max.filter(|most| differs > *most) {
        let (now, most) = (times::written(now), most.as_secs());
        let text = format!("SendingTime(52) differs from the server's clock, {now}, by more than {most} s");
        return Err(Fault::of(tags::SENDING_TIME, Reason::SendingTime, text));
    }
    // A SequenceReset was not sent before.
    if !message.flag(tags::POSS_DUP_FLAG, "PossDupFlag")? || message.kind() == "4" {
        return Ok(());
    }
    if time(tags::ORIG_SENDING_TIME, "OrigSendingTime")? > sent {
        let text = "OrigSendingTime(122) is after SendingTime(52)";
        return Err(Fault::of(tags::ORIG_SENDING_TIME, Reason::SendingTime, text));
    }
    Ok(())
}

/// Turns the third parties of a message around, for the answer to it.
pub(crate) fn third_parties(message: &Message<'_>) -> Fields {
    const TURNED: [(Tag, Tag); 4] = [
        (tags::DELIVER_TO_COMP_ID, tags::ON_BEHALF_OF_COMP_ID),
        (tags::DELIVER_TO_SUB_ID, tags::ON_BEHALF_OF_SUB_ID),
        (tags::ON_BEHALF_OF_COMP_ID, tags::DELIVER_TO_COMP_ID),
        (tags::ON_BEHALF_OF_SUB_ID, tags::DELIVER_TO_SUB_ID),
    ];
    let named = |tag| message.get(tag).ok().flatten().filter(|name| name.len() <= COMP_ID_MAX);
    TURNED.into_iter().fold(Fields::new(), |fields, (theirs, ours)| fields.add_some(ours, named(theirs)))
}

/// Writes the Logout to a client that has no session.
pub(crate) fn refusal(theirs: Option<&str>, text: &str) -> Vec<u8> {
    message("5", theirs.unwrap_or("UNKNOWN"), 1, &times::written(times::now()), &Fields::new().add(tags::TEXT, text))
}

fn message(kind: &str, theirs: &str, number: u64, time: &str, fields: &Fields) -> Vec<u8> {
    let header = Fields::new()
        .add(tags::MSG_TYPE, kind)
        .add(tags::SENDER_COMP_ID, OURS)
        .add(tags::TARGET_COMP_ID, theirs)
        .add(tags::MSG_SEQ_NUM, number)
        .add(tags::SENDING_TIME, time);
    framed([header.as_str(), fields.as_str()].concat().as_bytes())
}

/// Whether a fault of a message ends its session.
fn ends(fault: &Fault) -> bool {
    fault.tag == Some(tags::MSG_SEQ_NUM) || is_rejected_last(fault)
}

/// Whether a Reject says the fault before the Logout does.
fn is_rejected_last(fault: &Fault) -> bool {
    matches!(fault.reason, Reason::CompId | Reason::SendingTime)
}

impl Session {
    /// Begins a session with the answer to a Logon.
    pub(crate) fn begin(logon: &Logon<'_>, now: Instant) -> Session {
        let mut session = Session::new(logon.theirs, now);
        session.log_on(logon, now);
        session
    }

    /// Makes the session of a file, which no client has yet.
    pub(crate) fn restored(theirs: &str, saved: SavedSession, file: SessionFile) -> Session {
        let mut session = Session::new(theirs, Instant::now());
        (session.next_in, session.settled_in, session.next_out) = (saved.next_in, saved.next_in, saved.next_out);
        session.ends = true;
        saved.kept.into_iter().for_each(|message| session.keep(message));
        session.file = Some(file);
        session
    }

    fn new(theirs: &str, now: Instant) -> Session {
        Session {
            theirs: theirs.to_owned(),
            next_in: 1,
            settled_in: 1,
            next_out: 1,
            heartbeat: None,
            clock_difference_max: None,
            heard: now,
            said: now,
            garbled: 0,
            is_asked: false,
            reset_at: None,
            asked_again: None,
            kept: VecDeque::new(),
            kept_bytes: 0,
            again: None,
            out: Vec::new(),
            ends: false,
            file: None,
        }
    }

    /// Keeps the session in a file from now on.
    pub(crate) fn keep_in(&mut self, file: SessionFile) {
        self.file = Some(file);
    }

    /// Notes that all reports of an account up to a command are among the messages.
    pub(crate) fn note_position(&mut self, account: AccountId, through: Sequence) {
        self.file.iter_mut().for_each(|file| file.note_position(account, through));
    }

    /// Notes that all reports were told that may have been sent before.
    pub(crate) fn make_whole(&mut self) {
        self.file.iter_mut().for_each(SessionFile::make_whole);
    }

    /// Returns the ExecIDs of the reports that may be sent again.
    pub(crate) fn exec_ids(&self) -> HashSet<String> {
        let named = format!("{}=", tags::EXEC_ID);
        let id = |kept: &SavedMessage| {
            kept.fields.split(char::from(SOH)).find_map(|field| field.strip_prefix(&named)).map(str::to_owned)
        };
        self.kept.iter().filter_map(id).collect()
    }

    /// Writes what the server has to know of the session after its end. Where that fails the session lives on in memory
    /// alone: a file that lacks its end would use numbers again.
    pub(crate) fn save(&mut self) {
        let Some(file) = &mut self.file else { return };
        file.note_numbers(self.settled_in, self.next_out);
        let written = match file.write() {
            Ok(true) => file.rewrite(self.kept.iter()),
            written => written.map(drop),
        };
        if let Err(error) = written {
            tracing::error!(%error, session = self.theirs, "the file of a FIX session cannot be written: the session ends with the server");
            self.file.take().into_iter().for_each(SessionFile::remove);
        }
    }

    /// Goes on with a session over a new connection: answers its Logon, and asks for what is missing. A number that was
    /// used before ends it.
    pub(crate) fn log_on(&mut self, logon: &Logon<'_>, now: Instant) {
        (self.heartbeat, self.clock_difference_max) = (logon.heartbeat, logon.clock_difference_max);
        (self.heard, self.said) = (now, now);
        (self.is_asked, self.asked_again, self.again) = (false, None, None);
        (self.garbled, self.ends) = (0, false);
        self.out.clear();
        if logon.number < self.next_in && !logon.is_again {
            return self.end(&too_low(logon.number, self.next_in));
        }
        self.answer(logon);
        if logon.number > self.next_in {
            self.ask_again();
        } else if logon.number == self.next_in {
            self.next_in += 1;
        }
        self.settle();
    }

    /// Begins the numbers of both sides again, as the client's Logon says.
    fn reset(&mut self, logon: &Logon<'_>) {
        (self.next_in, self.next_out, self.reset_at) = (2, 1, Some(Instant::now()));
        (self.asked_again, self.again, self.garbled) = (None, None, 0);
        self.kept.clear();
        self.kept_bytes = 0;
        self.file.iter_mut().for_each(SessionFile::reset);
        self.answer(logon);
        self.settle();
    }

    /// Sends the answer to a Logon.
    fn answer(&mut self, logon: &Logon<'_>) {
        let fields = Fields::new()
            .add(tags::ENCRYPT_METHOD, 0)
            .add(tags::HEART_BT_INT, logon.heartbeat.map_or(0, |heartbeat| heartbeat.as_secs()));
        self.send("A", fields.add_some(tags::RESET_SEQ_NUM_FLAG, logon.resets.then_some("Y")));
    }

    /// Asks for all messages from the next one on.
    fn ask_again(&mut self) {
        self.asked_again = Some(self.next_in);
        let fields = Fields::new().add(tags::BEGIN_SEQ_NO, self.next_in).add(tags::END_SEQ_NO, 0);
        self.send("2", fields);
    }

    /// Notes that all messages which were taken are done.
    pub(crate) fn settle(&mut self) {
        self.settled_in = self.next_in;
    }

    /// Ends the connection without a word: the client no longer reads.
    pub(crate) fn cut(&mut self) {
        self.ends = true;
        self.out.clear();
    }

    /// Goes on without a client, whose messages that are not done are sent again.
    pub(crate) fn leave(&mut self) {
        self.cut();
        self.next_in = self.settled_in;
        self.again = None;
        self.save();
    }

    /// Takes the bytes that are to be sent. The caller sends them before it does anything else.
    pub(crate) fn take_out(&mut self) -> Vec<u8> {
        // Before they leave, so that no number is used for something else after the server's end.
        self.save();
        std::mem::take(&mut self.out)
    }

    /// Whether so much waits to be sent that it has to be sent first.
    pub(crate) fn is_full(&self) -> bool {
        self.out.len() >= 16 * MESSAGE_BYTES_MAX
    }

    /// Whether the session takes no more messages.
    pub(crate) fn has_ended(&self) -> bool {
        self.ends
    }

    /// Whether a message is for the exchange and its turn has come.
    pub(crate) fn is_next_request(&self, message: &Message<'_>) -> bool {
        let is_next = |(number, _)| number == self.next_in;
        !OF_SESSIONS.contains(&message.kind()) && self.header(message).is_ok_and(is_next) && self.check(message).is_ok()
    }

    /// Whether a message is a Logout that ends the session.
    pub(crate) fn is_goodbye(&self, message: &Message<'_>) -> bool {
        message.kind() == "5" && self.header(message).is_ok_and(|(number, _)| number >= self.next_in)
    }

    /// Counts a garbled message, which is ignored: the next message shows the gap. Ends a session that sends nothing
    /// else.
    pub(crate) fn ignore_garbled(&mut self, fault: &impl Display) {
        self.garbled += 1;
        if self.garbled >= GARBLED_MAX {
            self.end(&format!("{GARBLED_MAX} garbled messages came, and none in its turn: {fault}"));
        }
    }

    /// Checks what does not depend on the numbers of a message.
    fn check(&self, message: &Message<'_>) -> Result<(), Fault> {
        message.check_form()?;
        check_times(message, self.clock_difference_max)?;
        message.flag(tags::GAP_FILL_FLAG, "GapFillFlag").map(drop)
    }

    /// Takes a message; `count` counts it against its member's limits. Returns true if it is for the exchange and its
    /// turn has come: then it is not counted yet.
    pub(crate) fn take(
        &mut self,
        message: &Message<'_>,
        count: impl FnOnce() -> Result<(), Limit>,
        now: Instant,
    ) -> bool {
        let silent = now.saturating_duration_since(self.heard);
        let is_due = self.is_asked || self.heartbeat.is_some_and(|heartbeat| silent >= heartbeat / 2);
        let is_free = message.kind() == "0" && is_due;
        self.heard = now;
        self.is_asked = false;
        let count = || if is_free { Ok(()) } else { count().map_err(|past| Fault::past(&past)) };
        self.try_take(message, count).unwrap_or_else(|fault| {
            if !ends(&fault) || is_rejected_last(&fault) {
                self.reject(message, &fault);
            }
            if ends(&fault) {
                self.end(&fault.text);
            }
            false
        })
    }

    fn try_take(&mut self, message: &Message<'_>, count: impl FnOnce() -> Result<(), Fault>) -> Result<bool, Fault> {
        if message.kind() == "A" && message.flag(tags::RESET_SEQ_NUM_FLAG, "ResetSeqNumFlag") == Ok(true) {
            count()?;
            self.check_names(message)?;
            let logon = Logon::read(message, self.clock_difference_max)?;
            if self.reset_at.is_some_and(|reset_at| reset_at.elapsed() < RESET_EVERY) {
                let text = "the numbers begin again once a second at most";
                return Err(Fault::value(tags::RESET_SEQ_NUM_FLAG, text));
            }
            self.reset(&logon);
            return Ok(false);
        }
        let (number, next, is_reset) = match self.header(message) {
            Ok((number, is_reset)) => (number, self.next_in, is_reset),
            Err(fault) if ends(&fault) => return Err(fault),
            Err(fault) => return count().and(Err(fault)),
        };
        let checked = self.check(message);
        if number == next && !is_reset {
            // A message that is refused had its turn, too: it would be the same again.
            self.next_in += 1;
            self.garbled = 0;
            if let Err(fault) = checked {
                return if ends(&fault) { Err(fault) } else { count().and(Err(fault)) };
            }
            if !OF_SESSIONS.contains(&message.kind()) {
                return Ok(true);
            }
        }
        // A Logout ends the session also beyond the limits.
        if message.kind() == "5" && number >= next {
            self.end("goodbye");
            return Ok(false);
        }
        // What is refused is asked for again: it may have filled a gap.
        count().inspect_err(|_| self.asked_again = None)?;
        checked?;
        match message.kind() {
            "4" if is_reset => self.skip_to(message)?,
            // It had its turn.
            _ if number < next => {}
            // A ResendRequest is answered at once, whatever its number, or both sides could wait for each other.
            "2" => self.send_again(message)?,
            _ if number > next => {}
            "1" => {
                let id = message.need(tags::TEST_REQ_ID, "TestReqID")?;
                if id.len() > ECHOED_MAX {
                    return Err(Fault::value(
                        tags::TEST_REQ_ID,
                        format!("TestReqID(112) has at most {ECHOED_MAX} bytes"),
                    ));
                }
                self.send("0", Fields::new().add(tags::TEST_REQ_ID, id));
            }
            "4" => self.skip_to(message)?,
            "A" => {
                let text = "a session has one Logon, and further ones with ResetSeqNumFlag(141)=Y";
                return Err(Fault::value(tags::MSG_TYPE, text));
            }
            _ => {}
        }
        if number > next && !is_reset && self.asked_again != Some(next) {
            self.ask_again();
        }
        Ok(false)
    }

    fn check_names(&self, message: &Message<'_>) -> Result<(), Fault> {
        if message.need(tags::SENDER_COMP_ID, "SenderCompID")? != self.theirs {
            let text = format!("SenderCompID(49) is that of the Logon, {}", self.theirs);
            return Err(Fault::of(tags::SENDER_COMP_ID, Reason::CompId, text));
        }
        check_target(message)
    }

    /// Checks the header of a message. Returns the number, and whether it is that of a SequenceReset that may have any.
    fn header(&self, message: &Message<'_>) -> Result<(u64, bool), Fault> {
        self.check_names(message)?;
        let number = message.seq_num(tags::MSG_SEQ_NUM, "MsgSeqNum")?;
        let is_set = |tag| message.flag(tag, "").unwrap_or(false);
        let is_again = is_set(tags::POSS_DUP_FLAG);
        let is_reset = !is_set(tags::GAP_FILL_FLAG) && message.kind() == "4";
        if number < self.next_in && !is_again && !is_reset {
            return Err(Fault::value(tags::MSG_SEQ_NUM, too_low(number, self.next_in)));
        }
        Ok((number, is_reset))
    }

    /// Sets the number that comes next, as the client's SequenceReset says.
    fn skip_to(&mut self, message: &Message<'_>) -> Result<(), Fault> {
        let next = message.seq_num(tags::NEW_SEQ_NO, "NewSeqNo")?;
        if next < self.next_in {
            let text = format!("NewSeqNo(36) is {next}, and {} comes next: numbers only rise", self.next_in);
            return Err(Fault::value(tags::NEW_SEQ_NO, text));
        }
        if next - self.next_in > SKIPPED_MAX {
            let text =
                format!("NewSeqNo(36) is {next}; it skips more than {SKIPPED_MAX} numbers from {}", self.next_in);
            return Err(Fault::value(tags::NEW_SEQ_NO, text));
        }
        self.next_in = next;
        self.garbled = 0;
        Ok(())
    }

    /// Begins to send the kept messages of the range again, with the gaps between them filled.
    fn send_again(&mut self, message: &Message<'_>) -> Result<(), Fault> {
        let last = self.next_out - 1;
        let from = message.seq_num(tags::BEGIN_SEQ_NO, "BeginSeqNo")?;
        let through = match message.seq_num(tags::END_SEQ_NO, "EndSeqNo")? {
            0 => last,
            through => through.min(last),
        };
        if from == 0 || from > through {
            let text = format!("BeginSeqNo(7) is {from}; it is 1 to {last}, and at most EndSeqNo(16)");
            return Err(Fault::value(tags::BEGIN_SEQ_NO, text));
        }
        self.again = Some((from, through));
        self.go_on();
        Ok(())
    }

    /// Whether the answer to a ResendRequest goes on when what waits was sent.
    pub(crate) fn sends_again(&self) -> bool {
        self.again.is_some()
    }

    /// Goes on with the answer to a ResendRequest, until so much waits that it has to be sent first.
    pub(crate) fn go_on(&mut self) {
        while let Some((next, through)) = self.again.filter(|_| !self.is_full()) {
            let at = self.kept.partition_point(|kept| kept.number < next);
            let kept = self.kept.get(at).filter(|kept| kept.number <= through);
            let number = kept.map_or(through + 1, |kept| kept.number);
            if next < number {
                self.out.extend(gap(&self.theirs, next, number));
            }
            if let Some(kept) = kept {
                let again = Fields::new().add(tags::POSS_DUP_FLAG, "Y").add(tags::ORIG_SENDING_TIME, &kept.time);
                let fields = again.followed_by(&Fields::written(kept.fields.clone()));
                let time = times::written(times::now());
                self.out.extend(message(&kept.kind, &self.theirs, number, &time, &fields));
            }
            self.again = (number < through).then_some((number + 1, through));
        }
    }

    /// Refuses a message with the reason.
    pub(crate) fn reject(&mut self, message: &Message<'_>, fault: &Fault) {
        let number = message.seq_num(tags::MSG_SEQ_NUM, "MsgSeqNum").unwrap_or(0);
        let fields = third_parties(message)
            .add(tags::REF_SEQ_NUM, number)
            .add_some(tags::REF_TAG_ID, fault.tag)
            .add(tags::REF_MSG_TYPE, message.kind())
            .add(tags::SESSION_REJECT_REASON, fault.reason as u8)
            .add(tags::TEXT, &fault.text);
        self.send("3", fields);
    }

    /// Sends a message of the session layer, which is not kept.
    pub(crate) fn send(&mut self, kind: &'static str, fields: Fields) {
        if !self.ends {
            let _ = self.put(kind, &fields);
        }
    }

    /// Sends a message about orders, and keeps it to be sent again. Without a client it is only kept.
    pub(crate) fn send_kept(&mut self, kind: &'static str, fields: Fields) {
        let (number, time) = self.put(kind, &fields);
        self.file.iter_mut().for_each(|file| file.add(number, kind, &time, fields.as_str()));
        self.keep(SavedMessage { number, kind: kind.to_owned(), time, fields: fields.as_str().to_owned() });
    }

    fn keep(&mut self, message: SavedMessage) {
        self.kept_bytes += message.fields.len();
        self.kept.push_back(message);
        while self.kept.len() > KEPT_MAX || self.kept_bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_bytes -= oldest.fields.len();
        }
    }

    fn put(&mut self, kind: &'static str, fields: &Fields) -> (u64, String) {
        let (number, time) = (self.next_out, times::written(times::now()));
        self.next_out += 1;
        self.said = Instant::now();
        if !self.ends {
            self.out.extend(message(kind, &self.theirs, number, &time, fields));
        }
        (number, time)
    }

    /// Sends a Logout with the reason, and ends the session.
    pub(crate) fn end(&mut self, text: &str) {
        if !self.ends {
            self.send("5", Fields::new().add(tags::TEXT, text));
            self.ends = true;
        }
    }

    /// The time at which to look at the clock again.
    pub(crate) fn next_look(&self) -> Instant {
        let Some(heartbeat) = self.heartbeat else { return self.next_beat() };
        let silent = if self.is_asked { heartbeat.saturating_mul(2) } else { heartbeat };
        self.next_beat().min(self.heard + silent + heartbeat / 5)
    }

    /// Sends a heartbeat, sends a TestRequest to a silent client, or ends the session.
    pub(crate) fn look_at_the_clock(&mut self, now: Instant) {
        let Some(heartbeat) = self.heartbeat else { return };
        let silent = now.saturating_duration_since(self.heard);
        if silent >= heartbeat * 2 + heartbeat / 5 {
            return self.end("nothing came for more than two heartbeats");
        }
        if silent >= heartbeat + heartbeat / 5 && !self.is_asked {
            self.is_asked = true;
            self.send("1", Fields::new().add(tags::TEST_REQ_ID, times::written(times::now())));
        }
        self.beat(now);
    }

    /// The time of the next heartbeat, if nothing else is sent before.
    pub(crate) fn next_beat(&self) -> Instant {
        self.heartbeat.map_or_else(|| Instant::now() + NO_HEARTBEAT, |heartbeat| self.said + heartbeat)
    }

    /// Sends a heartbeat if it is time.
    pub(crate) fn beat(&mut self, now: Instant) {
        let silent = now.saturating_duration_since(self.said);
        if self.heartbeat.is_some_and(|heartbeat| silent >= heartbeat) {
            self.send("0", Fields::new());
        }
    }
}

fn too_low(number: u64, next: u64) -> String {
    format!("MsgSeqNum(34) is {number}, and {next} comes next")
}

fn gap(theirs: &str, from: u64, next: u64) -> Vec<u8> {
    let time = times::written(times::now());
    let fields = Fields::new()
        .add(tags::POSS_DUP_FLAG, "Y")
        .add(tags::ORIG_SENDING_TIME, &time)
        .add(tags::GAP_FILL_FLAG, "Y")
        .add(tags::NEW_SEQ_NO, next);
    message("4", theirs, from, &time, &fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;
    use crate::message::SEQ_NUM_MAX;

    const HEADER: &str = "49=ALICE|56=PRICETIME|";
    const AGAIN: &str = "43=Y|122=20251231-23:59:59|";

    fn body(kind: &str, number: u64, fields: &str) -> Vec<u8> {
        format!("35={kind}|{HEADER}34={number}|52=20260101-00:00:00|{fields}").replace('|', "\x01").into_bytes()
    }

    fn begin(now: Instant) -> Session {
        let logon = body("A", 1, "98=0|108=10|141=Y|");
        let message = Message::read(&logon).expect("it is one");
        let mut session = Session::begin(&Logon::read(&message, None).expect("it is a logon"), now);
        assert_eq!(told(&mut session), ["35=A|34=1|98=0|108=10|141=Y|"]);
        session
    }

    fn take(session: &mut Session, kind: &str, number: u64, fields: &str) -> (bool, Vec<String>) {
        let bytes = body(kind, number, fields);
        let is_about_orders = session.take(&Message::read(&bytes).expect("it is one"), || Ok(()), Instant::now());
        (is_about_orders, told(session))
    }

    /// The messages that were sent, without times and names.
    fn told(session: &mut Session) -> Vec<String> {
        let (out, mut rest, mut all) = (session.take_out(), 0, Vec::new());
        while let Some(frame) = frame::first(&out[rest..]).expect("it is one").filter(|frame| frame.bytes > 0) {
            let text = String::from_utf8(frame.body.to_vec()).expect("it is text").replace('\x01', "|");
            let kept = text
                .split_inclusive('|')
                .filter(|field| !["49=", "52=", "56=", "122=", "112=2"].iter().any(|name| field.starts_with(name)));
            all.push(kept.collect());
            rest += frame.bytes;
            if rest == out.len() {
                break;
            }
        }
        all
    }

    #[test]
    fn a_logon_has_to_be_sound() {
        let fault = |fields: &str, number| {
            let bytes = body("A", number, fields);
            Logon::read(&Message::read(&bytes).expect("it is one"), None).map(|_| ()).map_err(|fault| fault.tag)
        };
        assert_eq!(fault("98=0|108=30|", 1), Ok(()));
        assert_eq!(fault("98=1|108=30|", 1), Err(Some(98)));
        assert_eq!(fault("98=0|108=0|", 1), Ok(()));
        assert_eq!(fault("98=0|108=3601|", 1), Err(Some(108)));
        assert_eq!(fault("98=0|108=30|", 2), Ok(()));
        assert_eq!(fault("98=0|108=30|141=Y|", 2), Err(Some(34)));
        assert_eq!(fault("98=0|108=30|", 0), Err(Some(34)));
        assert_eq!(fault("98=0|", 1), Err(Some(108)));
    }

    #[test]
    fn messages_have_their_turns_and_what_is_missing_is_asked_for_once() {
        let mut session = begin(Instant::now());
        assert_eq!(take(&mut session, "D", 2, ""), (true, vec![]));
        assert_eq!(take(&mut session, "D", 5, ""), (false, vec!["35=2|34=2|7=3|16=0|".to_owned()]));
        assert_eq!(take(&mut session, "D", 6, ""), (false, vec![]), "it was asked for");
        assert_eq!(take(&mut session, "4", 3, "43=Y|123=Y|36=5|"), (false, vec![]));
        assert_eq!(take(&mut session, "D", 5, AGAIN), (true, vec![]));
        assert_eq!(take(&mut session, "D", 5, AGAIN), (false, vec![]), "it had its turn");
        assert_eq!(take(&mut session, "1", 6, "112=here?|"), (false, vec!["35=0|34=3|112=here?|".to_owned()]));
        let (_, told) = take(&mut session, "D", 6, "");
        assert_eq!(told, ["35=5|34=4|58=MsgSeqNum(34) is 6, and 7 comes next|"]);
        assert!(session.has_ended());
    }

    /// A SequenceReset to the highest number of 64 bits and a message of that number: a session counted past the end.
    #[test]
    fn numbers_at_their_extremes_end_the_session_and_nothing_else() {
        let (highest, past) = (SEQ_NUM_MAX, SEQ_NUM_MAX + 1);
        let mut session = begin(Instant::now());
        let (_, told) = take(&mut session, "4", 2, &format!("36={}|", u64::MAX));
        assert!(told[0].contains("371=36|") && told[0].contains(&format!("at most {highest}")), "{told:?}");
        let (_, told) = take(&mut session, "4", 2, &format!("36={}|", 3 + SKIPPED_MAX));
        assert!(told[0].contains("371=36|") && told[0].contains("skips more than 1000000 numbers from 2"), "{told:?}");
        assert_eq!(take(&mut session, "4", 2, &format!("36={}|", 2 + SKIPPED_MAX)), (false, vec![]));
        for past_the_end in [past, u64::MAX] {
            let mut session = begin(Instant::now());
            session.next_in = highest;
            assert_eq!(take(&mut session, "D", highest, ""), (true, vec![]), "the last of all numbers");
            let (_, told) = take(&mut session, "D", past_the_end, "");
            assert!(told[0].contains(&format!("58=MsgSeqNum(34) is {past_the_end}; at most {highest}")), "{told:?}");
            assert!(session.has_ended());
        }
        let values = [0, 1, 2, highest - 1, highest, past, u64::MAX];
        for (reset, number) in values.into_iter().flat_map(|reset| values.map(|number| (reset, number))) {
            for (kind, fields) in [
                ("4", format!("36={reset}|")),
                ("4", format!("123=Y|36={reset}|")),
                ("2", format!("7={reset}|16={number}|")),
                ("2", format!("7={number}|16={reset}|")),
                ("D", String::new()),
            ] {
                let mut session = begin(Instant::now());
                let _ = take(&mut session, kind, 2, &fields);
                for kind in ["D", "2", "4", "1", "D"] {
                    let _ = take(&mut session, kind, number, &format!("{fields}112=x|"));
                }
                session.look_at_the_clock(Instant::now() + Duration::from_secs(3600));
            }
        }
    }

    #[test]
    fn what_is_kept_is_sent_again_and_what_is_not_is_filled() {
        let mut session = begin(Instant::now());
        session.send_kept("8", Fields::new().add(37, "a"));
        session.send("0", Fields::new());
        session.send_kept("8", Fields::new().add(37, "b"));
        let _ = told(&mut session);
        let (_, again) = take(&mut session, "2", 2, "7=1|16=0|");
        let expected = [
            "35=4|34=1|43=Y|123=Y|36=2|",
            "35=8|34=2|43=Y|37=a|",
            "35=4|34=3|43=Y|123=Y|36=4|",
            "35=8|34=4|43=Y|37=b|",
        ];
        assert_eq!(again, expected);
        assert_eq!(take(&mut session, "2", 3, "7=3|16=3|").1, ["35=4|34=3|43=Y|123=Y|36=4|"]);
        for asks_for_nothing in ["7=0|16=0|", "7=50|16=0|", "7=3|16=2|"] {
            let number = session.next_in;
            let (_, told) = take(&mut session, "2", number, asks_for_nothing);
            assert!(told[0].starts_with("35=3|") && told[0].contains("371=7|"), "{told:?}");
        }
        for number in 0..2 * KEPT_MAX {
            session.send_kept("8", Fields::new().add(37, number));
        }
        assert!(session.kept.len() <= KEPT_MAX && session.kept_bytes <= KEPT_BYTES_MAX);
        session.send_kept("8", Fields::new().add(58, "x".repeat(KEPT_BYTES_MAX)));
        assert_eq!((session.kept.len(), session.kept_bytes), (0, 0), "none that is larger than all that is kept");
    }

    #[test]
    fn a_silent_client_is_asked_and_left() {
        let now = Instant::now();
        let mut session = begin(now);
        let at = |seconds| now + Duration::from_secs(seconds);
        session.look_at_the_clock(at(5));
        assert_eq!(told(&mut session), Vec::<String>::new());
        session.look_at_the_clock(at(12));
        assert_eq!(told(&mut session)[0], "35=1|34=2|");
        session.look_at_the_clock(at(13));
        assert!(told(&mut session).iter().all(|told| !told.starts_with("35=1")), "it is asked once");
        session.look_at_the_clock(at(22));
        assert!(session.has_ended() && told(&mut session)[0].starts_with("35=5|"));
    }

    /// Takes a message at this time that is beyond its member's limits. Returns the answers.
    fn beyond(session: &mut Session, kind: &str, number: u64, fields: &str, at: Instant) -> Vec<String> {
        let bytes = body(kind, number, fields);
        let past = || Err(Limit::MessagesPerSecond(1));
        assert!(!session.take(&Message::read(&bytes).expect("it is one"), past, at));
        told(session)
    }

    #[test]
    fn heartbeats_that_are_due_are_free_and_a_refused_sequence_reset_counts_for_nothing() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let is_refused = |told: Vec<String>| assert!(told[0].contains("58=too many messages"), "{told:?}");
        let mut session = begin(now);
        is_refused(beyond(&mut session, "0", 2, "", at(4)));
        assert_eq!(beyond(&mut session, "0", 3, "", at(9)), Vec::<String>::new(), "it is due");
        session.look_at_the_clock(at(21));
        assert!(told(&mut session)[0].starts_with("35=1|"));
        assert_eq!(beyond(&mut session, "0", 4, "", at(21)), Vec::<String>::new(), "it answers a TestRequest");
        let asks = |told: Vec<String>| told.iter().any(|told| told.contains("|7=5|16=0|"));
        assert!(asks(take(&mut session, "D", 9, "").1));
        assert!(!asks(take(&mut session, "D", 10, "").1), "it was asked for");
        is_refused(beyond(&mut session, "4", 5, "36=11|", at(21)));
        assert!(asks(take(&mut session, "D", 11, "").1), "the numbers up to it are missing still");
        assert!(beyond(&mut session, "5", 5, "", at(21))[0].contains("58=goodbye"));
    }

    #[test]
    fn a_message_with_a_fault_has_its_turn_and_is_refused_with_the_reason() {
        let mut session = begin(Instant::now());
        let refused = |session: &mut Session, number, fields: &str| {
            let (is_request, told) = take(session, "D", number, fields);
            assert!(!is_request && told[0].starts_with("35=3|") && told[0].contains("|372=D|"), "{told:?}");
            told[0].split('|').find_map(|field| field.strip_prefix("373=")).map(str::to_owned).expect("a reason")
        };
        assert_eq!(refused(&mut session, 2, "38=|"), "4");
        assert_eq!(refused(&mut session, 3, "0=1|"), "0");
        assert_eq!(refused(&mut session, 4, "x|"), "0");
        assert_eq!(refused(&mut session, 5, "43=Y|"), "1");
        assert_eq!(refused(&mut session, 6, "43=x|"), "5");
        assert_eq!(take(&mut session, "D", 7, ""), (true, vec![]), "the session goes on with the next one");
        assert_eq!(refused(&mut session, 8, "43=Y|122=20260101-00:00:01|"), "10");
        assert!(session.has_ended(), "it was sent again before it was sent");
    }

    /// Logs a client on again. Returns what it gets.
    fn again(session: &mut Session, number: u64, fields: &str) -> Vec<String> {
        session.leave();
        let logon = body("A", number, &format!("98=0|108=10|{fields}"));
        let message = Message::read(&logon).expect("it is one");
        session.log_on(&Logon::read(&message, None).expect("it is a logon"), Instant::now());
        told(session)
    }

    #[test]
    fn numbers_go_on_over_connections() {
        let mut session = begin(Instant::now());
        session.send_kept("8", Fields::new().add(37, "a"));
        assert_eq!(take(&mut session, "5", 2, "").1, ["35=8|34=2|37=a|", "35=5|34=3|58=goodbye|"]);
        session.settle();
        session.send("0", Fields::new());
        session.send_kept("8", Fields::new().add(37, "b"));
        assert_eq!(told(&mut session), Vec::<String>::new(), "nobody is there");
        assert_eq!(again(&mut session, 3, ""), ["35=A|34=5|98=0|108=10|"]);
        assert_eq!(take(&mut session, "2", 4, "7=4|16=0|").1, ["35=8|34=4|43=Y|37=b|", "35=4|34=5|43=Y|123=Y|36=6|"]);
        session.settle();
        let too_low = ["35=5|34=6|58=MsgSeqNum(34) is 4, and 5 comes next|"];
        assert_eq!(again(&mut session, 4, ""), too_low);
        assert!(session.has_ended());
        assert_eq!(again(&mut session, 4, AGAIN), ["35=A|34=7|98=0|108=10|"]);
        assert_eq!(again(&mut session, 9, ""), ["35=A|34=8|98=0|108=10|", "35=2|34=9|7=5|16=0|"]);
        assert_eq!(take(&mut session, "4", 5, "43=Y|123=Y|36=10|"), (false, vec![]));
        assert_eq!(take(&mut session, "D", 10, ""), (true, vec![]));
        // The order was not done before the connection ended.
        session.settle();
        assert_eq!(take(&mut session, "D", 11, ""), (true, vec![]));
        assert_eq!(again(&mut session, 12, ""), ["35=A|34=10|98=0|108=10|", "35=2|34=11|7=11|16=0|"]);
    }

    #[test]
    fn a_client_may_begin_its_numbers_again_in_a_session() {
        let mut session = begin(Instant::now());
        session.send_kept("8", Fields::new().add(37, "a"));
        let _ = told(&mut session);
        let (is_request, told) = take(&mut session, "A", 1, "98=0|108=10|141=Y|");
        assert_eq!((is_request, told), (false, vec!["35=A|34=1|98=0|108=10|141=Y|".to_owned()]));
        assert_eq!(take(&mut session, "2", 2, "7=1|16=0|").1, ["35=4|34=1|43=Y|123=Y|36=2|"]);
        assert!(take(&mut session, "A", 3, "98=0|108=10|").1[0].starts_with("35=3|"));
        let again = take(&mut session, "A", 1, "98=0|108=10|141=Y|").1;
        assert!(again[0].starts_with("35=3|34=3|"), "each has the disk write: {again:?}");
        assert!(take(&mut session, "A", 7, "98=0|108=10|141=Y|").1[0].starts_with("35=5|"));
    }

    #[test]
    fn third_parties_are_turned_around() {
        let mut session = begin(Instant::now());
        let (_, told) = take(&mut session, "D", 2, "115=DESK|116=ANN|128=HUB|38=|");
        assert_eq!(told[0].split("45=").next(), Some("35=3|34=2|115=HUB|128=DESK|129=ANN|"));
    }

    /// A clock that was an hour off was told by nothing, and each ExpireTime was wrong by an hour.
    #[test]
    fn a_sending_time_too_far_from_the_clock_ends_the_session() {
        let logon = |difference_max| {
            let bytes = body("A", 1, "98=0|108=30|");
            Logon::read(&Message::read(&bytes).expect("it is one"), difference_max).map(|_| ())
        };
        let reason = |difference_max| logon(difference_max).map_err(|fault| fault.reason);
        assert_eq!(reason(Some(Duration::from_secs(120))), Err(Reason::SendingTime));
        assert_eq!(reason(Some(Duration::from_secs(1 << 40))), Ok(()));
        let mut session = begin(Instant::now());
        session.clock_difference_max = Some(Duration::from_secs(120));
        let (_, told) = take(&mut session, "0", 2, "");
        assert!(
            told[0].starts_with("35=3|") && told[0].contains("|373=10|") && told[1].starts_with("35=5|"),
            "{told:?}"
        );
        assert!(session.has_ended());
    }

    #[test]
    fn without_heartbeats_nobody_is_asked_and_nobody_left() {
        let now = Instant::now();
        let logon = body("A", 1, "98=0|108=0|");
        let message = Message::read(&logon).expect("it is one");
        let mut session = Session::begin(&Logon::read(&message, None).expect("it is a logon"), now);
        assert_eq!(told(&mut session), ["35=A|34=1|98=0|108=0|"]);
        session.look_at_the_clock(now + Duration::from_secs(1 << 20));
        assert!(!session.has_ended() && told(&mut session).is_empty() && session.next_look() > now);
    }

    #[test]
    fn a_session_of_garbled_messages_ends_and_one_with_some_goes_on() {
        let mut session = begin(Instant::now());
        (1..GARBLED_MAX).for_each(|_| session.ignore_garbled(&"it is one"));
        assert_eq!(take(&mut session, "0", 2, ""), (false, vec![]));
        (1..GARBLED_MAX).for_each(|_| session.ignore_garbled(&"it is one"));
        // A message that is ahead is no turn: the garbled ones are missing.
        assert!(take(&mut session, "0", 4, "").1[0].starts_with("35=2|") && !session.has_ended());
        session.ignore_garbled(&"it is one");
        assert!(session.has_ended() && told(&mut session)[0].contains("58=16 garbled messages came"));
    }

    #[test]
    fn whoever_goes_is_told_goodbye_and_another_name_ends_the_session() {
        let mut session = begin(Instant::now());
        assert_eq!(take(&mut session, "5", 2, "").1, ["35=5|34=2|58=goodbye|"]);
        assert!(session.has_ended());
        let mut session = begin(Instant::now());
        let bytes = String::from_utf8(body("D", 2, "")).expect("it is text").replace("ALICE", "BOB");
        assert!(!session.take(&Message::read(bytes.as_bytes()).expect("it is one"), || Ok(()), Instant::now()));
        assert!(session.has_ended());
    }
}
