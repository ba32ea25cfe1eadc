//! A session: message numbers, heartbeats and resends, from Logon to Logout. It knows no socket and no order. A session
//! lives as long as its connection, and both sides count from 1: TCP loses nothing between them. A client asks by the
//! names of its orders for what happened while it was not connected.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use exchange::Limit;

use crate::frame::{MESSAGE_BYTES_MAX, framed};
use crate::message::{Fault, Fields, Message};
use crate::reasons::SessionRejectReason as Reason;
use crate::tags;
use crate::times;

/// CompID of this server.
pub(crate) const OURS: &str = "PRICETIME";
/// Seconds between heartbeats, at most.
const HEART_BT_INT_MAX: u64 = 3600;
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
    next_out: u64,
    heartbeat: Duration,
    heard: Instant,
    said: Instant,
    /// Whether a TestRequest waits for its answer.
    is_asked: bool,
    /// The number below which a ResendRequest has asked for all missing messages.
    asked_again: Option<u64>,
    kept: VecDeque<KeptMessage>,
    kept_bytes: usize,
    /// The first and the last number that a ResendRequest asked for and did not get yet.
    again: Option<(u64, u64)>,
    /// Bytes that are to be sent.
    out: Vec<u8>,
    ends: bool,
}

/// A message that may be sent again.
struct KeptMessage {
    number: u64,
    kind: &'static str,
    time: String,
    fields: Fields,
}

/// The contents of a Logon.
#[derive(Debug)]
pub(crate) struct Logon<'a> {
    theirs: &'a str,
    heartbeat: Duration,
    resets: bool,
    pub(crate) username: Option<&'a str>,
    pub(crate) password: Option<&'a str>,
}

impl<'a> Logon<'a> {
    /// Reads a Logon. Errors: no session can begin with this message.
    pub(crate) fn read(message: &Message<'a>) -> Result<Logon<'a>, Fault> {
        if message.kind() != "A" {
            return Err(Fault::value(tags::MSG_TYPE, "the first message is a Logon: MsgType(35)=A"));
        }
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
        if !(1..=HEART_BT_INT_MAX).contains(&seconds) {
            let text = format!("HeartBtInt(108) is {seconds}; it is 1 to {HEART_BT_INT_MAX}");
            return Err(Fault::value(tags::HEART_BT_INT, text));
        }
        if message.seq_num(tags::MSG_SEQ_NUM, "MsgSeqNum")? != 1 {
            let text = "MsgSeqNum(34) is 1 in a Logon: a session lives as long as its connection, so set ResetSeqNumFlag(141)=Y \
                        (ResetOnLogon=Y of most engines)";
            return Err(Fault::value(tags::MSG_SEQ_NUM, text));
        }
        Ok(Logon {
            theirs,
            heartbeat: Duration::from_secs(seconds),
            resets: message.flag(tags::RESET_SEQ_NUM_FLAG, "ResetSeqNumFlag")?,
            username: message.get(tags::USERNAME)?,
            password: message.get(tags::PASSWORD)?,
        })
    }
}

fn check_target(message: &Message<'_>) -> Result<(), Fault> {
    match message.need(tags::TARGET_COMP_ID, "TargetCompID")? {
        OURS => Ok(()),
        _ => Err(Fault::value(tags::TARGET_COMP_ID, format!("TargetCompID(56) is {OURS}"))),
    }
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
    let is_name = [tags::SENDER_COMP_ID, tags::TARGET_COMP_ID].map(Some).contains(&fault.tag);
    fault.tag == Some(tags::MSG_SEQ_NUM) || is_name && fault.reason == Reason::Value
}

impl Session {
    /// Begins a session with the answer to a Logon.
    pub(crate) fn begin(logon: &Logon<'_>, now: Instant) -> Session {
        let mut session = Session {
            theirs: logon.theirs.to_owned(),
            next_in: 2,
            next_out: 1,
            heartbeat: logon.heartbeat,
            heard: now,
            said: now,
            is_asked: false,
            asked_again: None,
            kept: VecDeque::new(),
            kept_bytes: 0,
            again: None,
            out: Vec::new(),
            ends: false,
        };
        let fields = Fields::new().add(tags::ENCRYPT_METHOD, 0).add(tags::HEART_BT_INT, logon.heartbeat.as_secs());
        let fields = fields.add_some(tags::RESET_SEQ_NUM_FLAG, logon.resets.then_some("Y"));
        session.send("A", fields);
        session
    }

    /// Takes the bytes that are to be sent. The caller sends them before it does anything else.
    pub(crate) fn take_out(&mut self) -> Vec<u8> {
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
        !OF_SESSIONS.contains(&message.kind()) && self.header(message).is_ok_and(is_next)
    }

    /// Takes a message; `count` counts it against its member's limits. Returns true if it is for the exchange and its
    /// turn has come: then it is not counted yet.
    pub(crate) fn take(
        &mut self,
        message: &Message<'_>,
        count: impl FnOnce() -> Result<(), Limit>,
        now: Instant,
    ) -> bool {
        let is_due = self.is_asked || now.saturating_duration_since(self.heard) >= self.heartbeat / 2;
        let is_free = message.kind() == "0" && is_due;
        self.heard = now;
        self.is_asked = false;
        let count = || if is_free { Ok(()) } else { count().map_err(|past| Fault::past(&past)) };
        self.try_take(message, count).unwrap_or_else(|fault| {
            if ends(&fault) {
                self.end(&fault.text);
            } else {
                self.reject(message, &fault);
            }
            false
        })
    }

    fn try_take(&mut self, message: &Message<'_>, count: impl FnOnce() -> Result<(), Fault>) -> Result<bool, Fault> {
        let (number, next, is_reset) = match self.header(message) {
            Ok((number, is_reset)) => (number, self.next_in, is_reset),
            Err(fault) if ends(&fault) => return Err(fault),
            Err(fault) => return count().and(Err(fault)),
        };
        if number == next && !is_reset {
            self.next_in += 1;
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
            "A" => return Err(Fault::value(tags::MSG_TYPE, "a session has one Logon")),
            _ => {}
        }
        if number > next && !is_reset && self.asked_again != Some(next) {
            self.asked_again = Some(next);
            let fields = Fields::new().add(tags::BEGIN_SEQ_NO, next).add(tags::END_SEQ_NO, 0);
            self.send("2", fields);
        }
        Ok(false)
    }

    /// Checks the header of a message. Returns the number, and whether it is that of a SequenceReset that may have any.
    fn header(&self, message: &Message<'_>) -> Result<(u64, bool), Fault> {
        if message.need(tags::SENDER_COMP_ID, "SenderCompID")? != self.theirs {
            let text = format!("SenderCompID(49) is that of the Logon, {}", self.theirs);
            return Err(Fault::value(tags::SENDER_COMP_ID, text));
        }
        check_target(message)?;
        let number = message.seq_num(tags::MSG_SEQ_NUM, "MsgSeqNum")?;
        let is_again = message.flag(tags::POSS_DUP_FLAG, "PossDupFlag")?;
        let is_reset = !message.flag(tags::GAP_FILL_FLAG, "GapFillFlag")? && message.kind() == "4";
        if number < self.next_in && !is_again && !is_reset {
            let text = format!("MsgSeqNum(34) is {number}, and {} comes next", self.next_in);
            return Err(Fault::value(tags::MSG_SEQ_NUM, text));
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
        self.next_in = next;
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
                let fields = again.followed_by(&kept.fields);
                let time = times::written(times::now());
                self.out.extend(message(kept.kind, &self.theirs, number, &time, &fields));
            }
            self.again = (number < through).then_some((number + 1, through));
        }
    }

    /// Refuses a message with the reason.
    pub(crate) fn reject(&mut self, message: &Message<'_>, fault: &Fault) {
        let number = message.seq_num(tags::MSG_SEQ_NUM, "MsgSeqNum").unwrap_or(0);
        let fields = Fields::new()
            .add(tags::REF_SEQ_NUM, number)
            .add_some(tags::REF_TAG_ID, fault.tag)
            .add(tags::REF_MSG_TYPE, message.kind())
            .add(tags::SESSION_REJECT_REASON, fault.reason as u8)
            .add(tags::TEXT, &fault.text);
        self.send("3", fields);
    }

    /// Sends a message of the session layer, which is not kept.
    pub(crate) fn send(&mut self, kind: &'static str, fields: Fields) {
        let _ = self.put(kind, &fields);
    }

    /// Sends a message about orders, and keeps it to be sent again.
    pub(crate) fn send_kept(&mut self, kind: &'static str, fields: Fields) {
        let (number, time) = self.put(kind, &fields);
        self.kept_bytes += fields.as_str().len();
        self.kept.push_back(KeptMessage { number, kind, time, fields });
        while self.kept.len() > KEPT_MAX || self.kept_bytes > KEPT_BYTES_MAX {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_bytes -= oldest.fields.as_str().len();
        }
    }

    fn put(&mut self, kind: &'static str, fields: &Fields) -> (u64, String) {
        let (number, time) = (self.next_out, times::written(times::now()));
        self.next_out += 1;
        self.said = Instant::now();
        self.out.extend(message(kind, &self.theirs, number, &time, fields));
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
        let silent = if self.is_asked { self.heartbeat.saturating_mul(2) } else { self.heartbeat };
        self.next_beat().min(self.heard + silent + self.heartbeat / 5)
    }

    /// Sends a heartbeat, sends a TestRequest to a silent client, or ends the session.
    pub(crate) fn look_at_the_clock(&mut self, now: Instant) {
        let silent = now.saturating_duration_since(self.heard);
        if silent >= self.heartbeat * 2 + self.heartbeat / 5 {
            return self.end("nothing came for more than two heartbeats");
        }
        if silent >= self.heartbeat + self.heartbeat / 5 && !self.is_asked {
            self.is_asked = true;
            self.send("1", Fields::new().add(tags::TEST_REQ_ID, times::written(times::now())));
        }
        self.beat(now);
    }

    /// The time of the next heartbeat, if nothing else is sent before.
    pub(crate) fn next_beat(&self) -> Instant {
        self.said + self.heartbeat
    }

    /// Sends a heartbeat if it is time.
    pub(crate) fn beat(&mut self, now: Instant) {
        if now.saturating_duration_since(self.said) >= self.heartbeat {
            self.send("0", Fields::new());
        }
    }
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

    fn body(kind: &str, number: u64, fields: &str) -> Vec<u8> {
        format!("35={kind}|{HEADER}34={number}|52=20260101-00:00:00|{fields}").replace('|', "\x01").into_bytes()
    }

    fn begin(now: Instant) -> Session {
        let logon = body("A", 1, "98=0|108=10|141=Y|");
        let message = Message::read(&logon).expect("it is one");
        let mut session = Session::begin(&Logon::read(&message).expect("it is a logon"), now);
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
            Logon::read(&Message::read(&bytes).expect("it is one")).map(|_| ()).map_err(|fault| fault.tag)
        };
        assert_eq!(fault("98=0|108=30|", 1), Ok(()));
        assert_eq!(fault("98=1|108=30|", 1), Err(Some(98)));
        assert_eq!(fault("98=0|108=0|", 1), Err(Some(108)));
        assert_eq!(fault("98=0|108=3601|", 1), Err(Some(108)));
        assert_eq!(fault("98=0|108=30|", 2), Err(Some(34)));
        assert_eq!(fault("98=0|", 1), Err(Some(108)));
    }

    #[test]
    fn messages_have_their_turns_and_what_is_missing_is_asked_for_once() {
        let mut session = begin(Instant::now());
        assert_eq!(take(&mut session, "D", 2, ""), (true, vec![]));
        assert_eq!(take(&mut session, "D", 5, ""), (false, vec!["35=2|34=2|7=3|16=0|".to_owned()]));
        assert_eq!(take(&mut session, "D", 6, ""), (false, vec![]), "it was asked for");
        assert_eq!(take(&mut session, "4", 3, "43=Y|123=Y|36=5|"), (false, vec![]));
        assert_eq!(take(&mut session, "D", 5, "43=Y|"), (true, vec![]));
        assert_eq!(take(&mut session, "D", 5, "43=Y|"), (false, vec![]), "it had its turn");
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
        for past_the_end in [past, u64::MAX] {
            let mut session = begin(Instant::now());
            assert_eq!(take(&mut session, "4", 2, &format!("36={highest}|")), (false, vec![]));
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
