//! The fields of a message: the parser of those that arrive, and the writer of those that go out.

use std::fmt::{self, Display, Write};

use exchange::Limit;

use crate::frame::SOH;
use crate::reasons::SessionRejectReason as Reason;
use crate::tags::{self, Tag};

/// The highest number of a message. A session that sends a million messages a second gets there in 31 years.
pub(crate) const SEQ_NUM_MAX: u64 = 999_999_999_999_999;

/// A message that arrived: its fields in their order.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    fields: Vec<(Tag, &'a str)>,
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
    /// Reads a body; the last byte of it ends a field.
    pub(crate) fn read(body: &'a [u8]) -> Result<Message<'a>, Fault> {
        let mut fields = Vec::with_capacity(24);
        for field in body.strip_suffix(&[SOH]).unwrap_or(body).split(|byte| *byte == SOH) {
            let no_field = |text: &str| Fault { tag: None, reason: Reason::Format, text: text.to_owned() };
            let text = std::str::from_utf8(field).map_err(|_| no_field("a field is text in UTF-8"))?;
            let (tag, value) = text.split_once('=').ok_or_else(|| no_field("a field is a tag, = and a value"))?;
            let is_tag = (1..=9).contains(&tag.len()) && tag.bytes().all(|byte| byte.is_ascii_digit());
            let tag = tag.parse().ok().filter(|tag: &Tag| is_tag && *tag > 0);
            let tag = tag.ok_or_else(|| no_field("a tag is a number above zero"))?;
            if value.is_empty() {
                return Err(Fault::of(tag, Reason::Format, format!("the field {tag} has no value")));
            }
            fields.push((tag, value));
        }
        match fields.first() {
            Some((tags::MSG_TYPE, _)) => Ok(Message { fields }),
            Some(_) | None => {
                Err(Fault::of(tags::MSG_TYPE, Reason::Format, "MsgType(35) comes right behind BodyLength(9)"))
            }
        }
    }

    /// Returns MsgType.
    pub(crate) fn kind(&self) -> &'a str {
        self.fields.first().map_or("", |(_, value)| value)
    }

    /// Returns a field if it is there. Errors: it is there twice.
    pub(crate) fn get(&self, tag: Tag) -> Result<Option<&'a str>, Fault> {
        let mut values = self.fields.iter().filter(|(its, _)| *its == tag).map(|(_, value)| *value);
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => Err(Fault::of(tag, Reason::Twice, format!("the field {tag} is there twice"))),
            (value, _) => Ok(value),
        }
    }

    /// Returns a field that has to be there. Errors: it is missing, or there twice.
    pub(crate) fn need(&self, tag: Tag, name: &str) -> Result<&'a str, Fault> {
        self.get(tag)?.ok_or_else(|| Fault::of(tag, Reason::Missing, format!("{name}({tag}) is missing")))
    }

    /// Returns a whole number that has to be there.
    pub(crate) fn number(&self, tag: Tag, name: &str) -> Result<u64, Fault> {
        let text = self.need(tag, name)?;
        let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        number.ok_or_else(|| Fault::of(tag, Reason::Format, format!("{name}({tag}) is a whole number")))
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
        let fault = Message::read(body.as_bytes()).expect_err("it is at fault");
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
        assert_eq!(fault("35=D|38=|"), (Some(38), Reason::Format));
        for no_field in ["35=D|x|", "35=D|=1|", "35=D|-1=1|", "35=D|0=1|", "35=D|4294967296=1|", "35=D||"] {
            assert_eq!(fault(no_field), (None, Reason::Format), "{no_field}");
        }
    }

    #[test]
    fn no_value_ends_its_field_early() {
        assert_eq!(Fields::new().add(58, "a\x0135=x").add_some(1, None::<u8>).as_str(), "58=a35=x\x01");
    }
}
