//! The fields of a message: the parser of those that arrive, and the writer of those that go out.

use std::fmt::{self, Display, Write};

use exchange::Limit;

use crate::frame::SOH;
use crate::reasons::SessionRejectReason as Reason;
use crate::tags::{self, Tag};

/// The highest number of a message. A session that sends a million messages a second gets there in 31 years.
pub(crate) const SEQ_NUM_MAX: u64 = 999_999_999_999_999;

/// Fields that hold bytes of any kind, each behind the field with its length.
const DATA: [(Tag, Tag); 16] = [
    (90, 91),
    (93, 89),
    (95, 96),
    (212, 213),
    (348, 349),
    (350, 351),
    (352, 353),
    (354, 355),
    (356, 357),
    (358, 359),
    (360, 361),
    (362, 363),
    (364, 365),
    (445, 446),
    (618, 619),
    (621, 622),
];

/// Digits of a tag.
const TAG_DIGITS_MAX: usize = 9;

/// A message that arrived: its fields in their order.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    kind: &'a str,
    fields: Vec<(Tag, &'a [u8])>,
    /// The first fault of its form. The message has its number all the same, and is refused by it.
    fault: Option<Fault>,
}

/// The reason why a message or one of its fields is refused, for a Reject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) tag: Option<Tag>,
    pub(crate) reason: Reason,
    pub(crate) text: String,
}

impl Fault {
    pub(crate) fn of(tag: Tag, reason: Reason, text: impl Into<String>) -> Fault {
        Fault { tag: Some(tag), reason, text: text.into() }
    }

    /// The fault of a message that exceeds a limit.
    pub(crate) fn past(limit: &Limit) -> Fault {
        Fault { tag: None, reason: Reason::Other, text: limit.to_string() }
    }

    pub(crate) fn value(tag: Tag, text: impl Display) -> Fault {
        Fault::of(tag, Reason::Value, text.to_string())
    }
}

impl<'a> Message<'a> {
    /// Reads a body; the last byte of it ends a field. Errors: it is garbled, as MsgType is not its first field.
    pub(crate) fn read(body: &'a [u8]) -> Result<Message<'a>, Fault> {
        let (mut fields, mut fault) = (Vec::<(Tag, &[u8])>::with_capacity(24), None);
        let mut rest = body.strip_suffix(&[SOH]).unwrap_or(body);
        loop {
            let (field, behind) = match first_field(rest, fields.last()) {
                Ok(cut) => cut,
                Err(its) => {
                    fault.get_or_insert(its);
                    cut_at(rest, rest.iter().position(|byte| *byte == SOH))
                }
            };
            match read_field(field) {
                Ok(field) => fields.push(field),
                Err(its) => drop(fault.get_or_insert(its)),
            }
            let Some(behind) = behind else { break };
            rest = behind;
        }
        match fields.first() {
            Some((tags::MSG_TYPE, kind)) if body.starts_with(b"35=") => {
                Ok(Message { kind: std::str::from_utf8(kind).unwrap_or_default(), fields, fault })
            }
            Some(_) | None => {
                Err(Fault::of(tags::MSG_TYPE, Reason::Format, "MsgType(35) comes right behind BodyLength(9)"))
            }
        }
    }

    /// Returns MsgType.
    pub(crate) fn kind(&self) -> &'a str {
        self.kind
    }

    /// Checks the form of the fields. Errors: the fault of the first malformed field.
    pub(crate) fn check_form(&self) -> Result<(), Fault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Returns a field if it is there. Errors: it is there twice, or is no text.
    pub(crate) fn get(&self, tag: Tag) -> Result<Option<&'a str>, Fault> {
        let mut values = self.fields.iter().filter(|(its, _)| *its == tag).map(|(_, value)| *value);
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => Err(Fault::of(tag, Reason::Twice, format!("the field {tag} is there twice"))),
            (value, _) => {
                let text = value.map(std::str::from_utf8).transpose();
                text.map_err(|_| Fault::of(tag, Reason::Format, format!("the field {tag} is no text of ASCII")))
            }
        }
    }

    /// Returns a field that has to be there. Errors: it is missing, or there twice.
    pub(crate) fn need(&self, tag: Tag, name: &str) -> Result<&'a str, Fault> {
        self.get(tag)?.ok_or_else(|| Fault::of(tag, Reason::Missing, format!("{name}({tag}) is missing")))
    }

    /// Returns a whole number that has to be there.
    pub(crate) fn number(&self, tag: Tag, name: &str) -> Result<u64, Fault> {
        let text = self.need(tag, name)?;
        number_of(text.as_bytes())
            .ok_or_else(|| Fault::of(tag, Reason::Format, format!("{name}({tag}) is a whole number")))
    }

    /// Returns a message number, or 0, which some fields use with a meaning of its own. Errors: it exceeds
    /// [`SEQ_NUM_MAX`], from which a session could not count on.
    pub(crate) fn seq_num(&self, tag: Tag, name: &str) -> Result<u64, Fault> {
        let number = self.number(tag, name)?;
        if number > SEQ_NUM_MAX {
            return Err(Fault::value(tag, format!("{name}({tag}) is {number}; at most {SEQ_NUM_MAX}")));
        }
        Ok(number)
    }

    /// Whether a flag is there and set. Errors: its value is neither Y nor N.
    pub(crate) fn flag(&self, tag: Tag, name: &str) -> Result<bool, Fault> {
        match self.get(tag)? {
            None | Some("N") => Ok(false),
            Some("Y") => Ok(true),
            Some(_) => Err(Fault::value(tag, format!("{name}({tag}) is Y or N"))),
        }
    }
}

/// Cuts the first field off. Errors: its length is another one than the field before it says.
fn first_field<'a>(bytes: &'a [u8], before: Option<&(Tag, &[u8])>) -> Result<(&'a [u8], Option<&'a [u8]>), Fault> {
    let data = before.and_then(|(tag, length)| {
        let (_, data) = DATA.iter().find(|(its, _)| its == tag)?;
        let named = format!("{data}=");
        bytes.starts_with(named.as_bytes()).then(|| (*data, *tag, named.len(), number_of(length)))
    });
    let Some((data, tag, named, length)) = data else {
        return Ok(cut_at(bytes, bytes.iter().position(|byte| *byte == SOH)));
    };
    let end = length.and_then(|length| usize::try_from(length).ok()?.checked_add(named));
    match end {
        Some(end) if end == bytes.len() => Ok((bytes, None)),
        Some(end) if bytes.get(end) == Some(&SOH) => Ok(cut_at(bytes, Some(end))),
        Some(_) | None => {
            let text = format!("the field {data} does not end where the field {tag} says");
            Err(Fault::of(data, Reason::Format, text))
        }
    }
}

fn cut_at(bytes: &[u8], end: Option<usize>) -> (&[u8], Option<&[u8]>) {
    match end.and_then(|end| bytes.split_at_checked(end)) {
        Some((field, behind)) => (field, behind.get(1..)),
        None => (bytes, None),
    }
}

fn read_field(field: &[u8]) -> Result<(Tag, &[u8]), Fault> {
    let no_tag = |text: &str| Fault { tag: None, reason: Reason::InvalidTag, text: text.to_owned() };
    let equals = field.iter().position(|byte| *byte == b'=');
    let equals = equals.ok_or_else(|| no_tag("a field is a tag, = and a value"))?;
    let (tag, value) = (&field[..equals], &field[equals + 1..]);
    let tag = Some(tag).filter(|tag| tag.len() <= TAG_DIGITS_MAX).and_then(number_of);
    let tag = tag.and_then(|tag| Tag::try_from(tag).ok()).filter(|tag| *tag > 0);
    let tag = tag.ok_or_else(|| no_tag("a tag is a number above zero"))?;
    if value.is_empty() {
        return Err(Fault::of(tag, Reason::NoValue, format!("the field {tag} has no value")));
    }
    Ok((tag, value))
}

/// Reads a whole number, with or without leading zeros.
fn number_of(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// Fields that go out, behind the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(String);

impl Fields {
    pub(crate) fn new() -> Fields {
        Fields::default()
    }

    /// Adds a field. Leaves out bytes that would end it early.
    pub(crate) fn add(mut self, tag: Tag, value: impl Display) -> Fields {
        let _ = write!(self.0, "{tag}=");
        let _ = write!(Clean(&mut self.0), "{value}");
        self.0.push(char::from(SOH));
        self
    }

    /// Adds a field if it has a value.
    pub(crate) fn add_some(self, tag: Tag, value: Option<impl Display>) -> Fields {
        match value {
            Some(value) => self.add(tag, value),
            None => self,
        }
    }

    /// Fields that were written before.
    pub(crate) fn written(text: String) -> Fields {
        Fields(text)
    }

    /// Appends other fields.
    pub(crate) fn followed_by(mut self, others: &Fields) -> Fields {
        self.0.push_str(&others.0);
        self
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A writer that drops the bytes that end fields.
struct Clean<'a>(&'a mut String);

impl Write for Clean<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(text.chars().filter(|character| *character != char::from(SOH)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (Option<Tag>, Reason) {
        let body = text.replace('|', "\x01");
        let fault =
            Message::read(body.as_bytes()).and_then(|message| message.check_form()).expect_err("it is at fault");
        (fault.tag, fault.reason)
    }

    #[test]
    fn fields_are_read_and_faults_are_named() {
        let body = b"35=D\x0111=a=b\x0138=07\x0143=Y\x0154=1\x0154=2\x01";
        let message = Message::read(body).expect("it is one");
        assert_eq!((message.kind(), message.get(11), message.number(38, "OrderQty")), ("D", Ok(Some("a=b")), Ok(7)));
        assert_eq!((message.flag(43, "PossDupFlag"), message.flag(97, "PossResend")), (Ok(true), Ok(false)));
        assert_eq!(message.get(54).map_err(|fault| fault.reason), Err(Reason::Twice));
        assert_eq!(message.need(44, "Price").map_err(|fault| fault.text), Err("Price(44) is missing".to_owned()));
        assert_eq!(message.number(11, "n").map_err(|fault| fault.reason), Err(Reason::Format));
        assert_eq!(fault("11=a|35=D|"), (Some(35), Reason::Format));
        assert_eq!(fault("35=D|38=|"), (Some(38), Reason::NoValue));
        for no_field in ["35=D|x|", "35=D|=1|", "35=D|-1=1|", "35=D|0=1|", "35=D|4294967296=1|", "35=D||"] {
            assert_eq!(fault(no_field), (None, Reason::InvalidTag), "{no_field}");
        }
        let message = Message::read(b"35=D\x0138=\x01x\x0134=0007\x01").expect("its number is there");
        assert_eq!(message.number(34, "MsgSeqNum"), Ok(7), "a message with a fault has its number");
    }

    /// A text with an umlaut in Latin-1 ended its session, and so did signatures, which may hold any byte.
    #[test]
    fn data_is_as_long_as_its_length_says_and_text_may_be_latin_1() {
        let body = b"35=D\x0195=05\x0196=a\x01=\xff9\x0158=M\xfcller\x0154=1\x0193=3\x0189=\x01\x01\x01\x01";
        let message = Message::read(body).expect("it is one");
        assert_eq!((message.check_form(), message.get(54)), (Ok(()), Ok(Some("1"))));
        assert_eq!(message.get(58).map_err(|fault| (fault.tag, fault.reason)), Err((Some(58), Reason::Format)));
        assert_eq!(message.fields.len(), 7);
        for wrong in ["35=D|95=4|96=abc|", "35=D|95=2|96=abc|54=1|", "35=D|95=x|96=abc|", "35=D|95=99999999999|96=abc|"]
        {
            assert_eq!(fault(wrong), (Some(96), Reason::Format), "{wrong}");
        }
        let without = Message::read(b"35=D\x0196=a\x0154=1\x01").expect("it is one");
        assert_eq!((without.check_form(), without.get(54)), (Ok(()), Ok(Some("1"))), "a field without its length");
    }

    #[test]
    fn no_value_ends_its_field_early() {
        assert_eq!(Fields::new().add(58, "a\x0135=x").add_some(1, None::<u8>).as_str(), "58=a35=x\x01");
    }
}
