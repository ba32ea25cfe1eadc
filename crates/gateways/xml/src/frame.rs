//! Framing: finds where one request ends and the next begins in a stream of bytes. It knows nothing of their contents.
//!
//! A request is one line with its length in bytes, then that many bytes. Source: docs/PROTOCOL.md, framing.

use std::ops::Range;

use thiserror::Error;

use crate::number::push_decimal;

/// Digits of the longest length.
const LENGTH_DIGITS_MAX: usize = 10;
/// White space between the digits of a length and the end of its line, at most.
const TRAILING_BLANKS_MAX: usize = 64;

/// The start of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A part of a request; read on.
    Incomplete,
    /// A whole request: its XML is `buffer[body]`, and `consumed` bytes of the buffer are done with.
    Request {
        /// The XML, without the length line.
        body: Range<usize>,
        /// The bytes that this request took, with skipped white space and the length line.
        consumed: usize,
    },
    /// A line that is no length, so that nothing after it can be trusted: answer and close.
    Malformed(FrameError),
}

/// The reason why a line is no length. The client gets its `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The line has something other than digits, or digits and then something other than its end.
    #[error(
        "the length line is not a number of bytes: expected 1 to {} digits and a newline before the XML",
        LENGTH_DIGITS_MAX
    )]
    NotANumber,
    /// Too many digits for any acceptable length.
    #[error("the length has more than {} digits", LENGTH_DIGITS_MAX)]
    TooManyDigits,
    /// A request that is too long.
    #[error("the request is {announced} bytes long; at most {maximum}")]
    TooLarge {
        /// The length that the line gave, in bytes.
        announced: u64,
        /// The longest request, in bytes.
        maximum: usize,
    },
}

/// Looks at the start of `buffer`, which holds bytes as they arrived. White space and NULs before the length line are
/// skipped and counted in `consumed`; when nothing else is there, [`skippable`] says what may be dropped. The ranges
/// are into `buffer`. Source: docs/PROTOCOL.md, framing.
pub fn next_frame(buffer: &[u8], request_bytes_max: usize) -> Frame {
    let digits_start = skippable(buffer);
    let line = &buffer[digits_start..];
    let (mut digits, mut announced) = (0, 0u64);
    while let Some(digit @ b'0'..=b'9') = line.get(digits)
        && digits <= LENGTH_DIGITS_MAX
    {
        announced = announced * 10 + u64::from(digit - b'0');
        digits += 1;
    }
    if digits > LENGTH_DIGITS_MAX {
        return Frame::Malformed(FrameError::TooManyDigits);
    }
    if digits == 0 {
        return if line.is_empty() { Frame::Incomplete } else { Frame::Malformed(FrameError::NotANumber) };
    }
    let line_end = match end_of_line(&line[digits..]) {
        LineEnd::After(bytes) => digits_start + digits + bytes,
        LineEnd::NotYet => return Frame::Incomplete,
        LineEnd::Other => return Frame::Malformed(FrameError::NotANumber),
    };
    let length = match usize::try_from(announced) {
        Ok(length) if length <= request_bytes_max => length,
        _ => return Frame::Malformed(FrameError::TooLarge { announced, maximum: request_bytes_max }),
    };
    if buffer.len() - line_end < length {
        return Frame::Incomplete;
    }
    let end = line_end + length;
    Frame::Request { body: line_end..end, consumed: end }
}

/// Returns the error for a client whose stream ends behind `buffer`, which begins with an unfinished request.
pub fn incomplete(buffer: &[u8]) -> String {
    let line = &buffer[skippable(buffer)..];
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match end_of_line(&line[digits..]) {
        LineEnd::After(end) => {
            let announced = String::from_utf8_lossy(&line[..digits]);
            format!("incomplete: {} of {} bytes came", line.len() - digits - end, announced.trim_start_matches('0'))
        }
        LineEnd::NotYet | LineEnd::Other => "incomplete: the line with the length has no end".to_string(),
    }
}

/// Returns how many leading bytes of `buffer` belong to no request (white space and NULs), so that a buffer need not
/// keep them.
pub fn skippable(buffer: &[u8]) -> usize {
    let belongs = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0);
    buffer.iter().position(belongs).unwrap_or(buffer.len())
}

/// Frames a request as it is sent: the length line and the body.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + LENGTH_DIGITS_MAX + 1);
    push_decimal(&mut out, body.len() as u64);
    out.push(b'\n');
    out.extend_from_slice(body);
    out
}

enum LineEnd {
    /// The line ends after this many bytes.
    After(usize),
    NotYet,
    Other,
}

/// Looks for blanks, then `\n` or `\r\n`. The blanks are bounded, so that a line without an end does not grow for ever.
fn end_of_line(rest: &[u8]) -> LineEnd {
    if rest.first() == Some(&b'\n') {
        return LineEnd::After(1);
    }
    let blanks = rest.iter().take(TRAILING_BLANKS_MAX + 1).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if blanks > TRAILING_BLANKS_MAX {
        return LineEnd::Other;
    }
    match &rest[blanks..] {
        [b'\n', ..] => LineEnd::After(blanks + 1),
        [b'\r', b'\n', ..] => LineEnd::After(blanks + 2),
        [] | [b'\r'] => LineEnd::NotYet,
        _ => LineEnd::Other,
    }
}
