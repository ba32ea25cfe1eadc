//! The bytes between requests: length lines, what is skipped, what is refused. Source: docs/PROTOCOL.md, framing.

use proptest::prelude::*;
use xml::{Frame, FrameError, frame, next_frame, skippable};

const MAX: usize = 1 << 20;

#[track_caller]
fn check_request(buffer: &[u8], body: &[u8], consumed: usize) {
    match next_frame(buffer, MAX) {
        Frame::Request { body: range, consumed: all } => {
            assert_eq!((&buffer[range], all), (body, consumed));
        }
        other => panic!("{other:?}"),
    }
    for end in 0..consumed {
        assert_eq!(next_frame(&buffer[..end], MAX), Frame::Incomplete, "after {end} bytes");
    }
}

#[track_caller]
fn check_malformed(buffer: &[u8], error: FrameError) {
    assert_eq!(next_frame(buffer, MAX), Frame::Malformed(error), "{:?}", String::from_utf8_lossy(buffer));
}

#[test]
fn a_request_is_a_length_line_and_so_many_bytes() {
    check_request(b"9\n<create/>", b"<create/>", 11);
    check_request(b"9\n<create/>12\nrest", b"<create/>", 11);
    check_request(b"10\n<create/>\n", b"<create/>\n", 13);
}

#[test]
fn both_line_ends_end_the_length_line() {
    check_request(b"4\r\n<a/>", b"<a/>", 7);
    check_request(b"4 \t \r\n<a/>", b"<a/>", 10);
}

#[test]
fn blanks_around_the_number_are_trimmed() {
    check_request(b" \t4 \t\n<a/>", b"<a/>", 10);
}

#[test]
fn leading_zeros_count_as_digits() {
    check_request(b"0000000004\n<a/>", b"<a/>", 15);
    check_malformed(b"00000000004\n<a/>", FrameError::TooManyDigits);
}

#[test]
fn white_space_and_nuls_between_requests_are_skipped() {
    check_request(b"\r\n \t\n\0\x004\n<a/>", b"<a/>", 13);
    assert_eq!(skippable(b"\r\n\0 \t4\n"), 5);
    assert_eq!(skippable(b"4\n"), 0);
    assert_eq!(next_frame(b"\r\n \0", MAX), Frame::Incomplete);
    assert_eq!(skippable(b"\r\n \0"), 4);
}

#[test]
fn the_body_starts_right_after_the_line_even_with_white_space() {
    check_request(b"4\n\n\0\n\n", b"\n\0\n\n", 6);
}

#[test]
fn a_length_of_zero_is_a_request_without_a_body() {
    check_request(b"0\n", b"", 2);
}

#[test]
fn a_length_that_is_no_number_is_malformed() {
    for line in ["-1\n", "+1\n", "x\n", "<create/>", "1x\n", "1 2\n", "0x10\n", "1.5\n", "١\n", "1\rx", "1\0\n"] {
        check_malformed(line.as_bytes(), FrameError::NotANumber);
    }
}

#[test]
fn a_line_that_can_no_longer_be_a_length_is_malformed_before_it_ends() {
    check_malformed(b"12345678901", FrameError::TooManyDigits);
    check_malformed(b"G", FrameError::NotANumber);
    check_malformed(&[b"1", &b" ".repeat(65)[..]].concat(), FrameError::NotANumber);
    assert_eq!(next_frame(b"1234567890", MAX), Frame::Incomplete);
}

#[test]
fn a_length_over_the_maximum_is_malformed_and_the_bound_is_named() {
    check_request(&frame(&vec![b' '; MAX]), &vec![b' '; MAX], MAX + 8);
    check_malformed(b"1048577\n", FrameError::TooLarge { announced: 1_048_577, maximum: MAX });
    check_malformed(b"9999999999\n", FrameError::TooLarge { announced: 9_999_999_999, maximum: MAX });
    let told = FrameError::TooLarge { announced: 1_048_577, maximum: MAX }.to_string();
    assert_eq!(told, "the request is 1048577 bytes long; at most 1048576");
    assert_eq!(FrameError::TooManyDigits.to_string(), "the length has more than 10 digits");
    let told = FrameError::NotANumber.to_string();
    assert_eq!(told, "the length line is not a number of bytes: expected 1 to 10 digits and a newline before the XML");
}

/// Reads as a connection does: bytes arrive in pieces, and whole requests are taken out.
fn requests_in_pieces(stream: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut buffer = Vec::new();
    let mut requests = Vec::new();
    let mut arrived = 0;
    for &cut in cuts.iter().chain([&stream.len()]) {
        buffer.extend_from_slice(&stream[arrived..cut]);
        arrived = cut;
        while let Frame::Request { body, consumed } = next_frame(&buffer, MAX) {
            requests.push(buffer[body].to_vec());
            buffer.drain(..consumed);
        }
        buffer.drain(..skippable(&buffer));
    }
    assert_eq!(buffer, b"");
    requests
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_cut_anywhere_gives_the_same_requests(
        parts in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..40), "[ \t\r\n\0]{0,4}"), 0..5)
    ) {
        let mut stream = Vec::new();
        for (body, between) in &parts {
            stream.extend_from_slice(&frame(body));
            stream.extend_from_slice(between.as_bytes());
        }
        let bodies: Vec<Vec<u8>> = parts.into_iter().map(|(body, _)| body).collect();
        for cut in 0..=stream.len() {
            prop_assert_eq!(&requests_in_pieces(&stream, &[cut]), &bodies);
        }
        let every_byte: Vec<usize> = (0..stream.len()).collect();
        prop_assert_eq!(&requests_in_pieces(&stream, &every_byte), &bodies);
    }

    #[test]
    fn no_bytes_make_the_framing_panic(buffer in proptest::collection::vec(any::<u8>(), 0..64), max in 0..100usize) {
        if let Frame::Request { body, consumed } = next_frame(&buffer, max) {
            prop_assert!(body.end == consumed && consumed <= buffer.len() && body.len() <= max);
        }
        prop_assert!(skippable(&buffer) <= buffer.len());
    }
}
