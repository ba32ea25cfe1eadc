//! Requests and replies as bytes on a connection: where they begin and end, their order, and how a connection ends.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with the other tests of sockets")]
mod support;

use std::io::Write;
use std::thread;

use support::{Client, eventually, opened, order, query, results, serve, settings, status};
use xml::Settings;

#[test]
fn a_request_gets_its_reply() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&order(5));
    client.expect(&opened(5, 1));
    client.send(&query(2));
    client.expect(&status(2, 2));
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let served = serve(Settings { workers: 2, ..settings() });
    let mut client = served.client();
    let requests: Vec<u8> = (1..=5000).flat_map(order).collect();
    let mut sender = client.stream.try_clone().unwrap();
    let sending = thread::spawn(move || sender.write_all(&requests).unwrap());
    (1..=5000).for_each(|number| client.expect(&opened(number, number)));
    sending.join().unwrap();
    served.gateway.wait_for_answered(5000);
    assert!(served.batches() < 1000, "a batch a turn, not a batch a request: {}", served.batches());
}

#[test]
fn batches_that_come_back_in_another_order_do_not_change_that_of_the_replies() {
    let served = serve(settings());
    served.answer_backwards();
    served.shut();
    let mut client = served.client();
    for number in 1..=20 {
        client.send(&order(number));
        eventually("the request is submitted", || served.batches() == number);
    }
    served.open();
    (1..=20).for_each(|number| client.expect(&opened(number, number)));
}

#[test]
fn a_client_that_closes_its_sending_half_gets_every_reply_and_then_the_end() {
    let served = serve(settings());
    served.shut();
    let mut client = served.client();
    client.send(&[order(1), order(2), query(3)].concat());
    client.finish_sending();
    served.open();
    client.expect(&[opened(1, 1), opened(2, 2), status(3, 3)].concat());
    client.expect_end();
    eventually("the connection is closed", || served.open_connections() == 0);
}

#[test]
fn a_request_that_is_cut_changes_nothing_and_is_told_what_came() {
    let served = serve(settings());
    let almost = order(2);
    let cuts = [
        (&almost[..almost.len() - 1], "incomplete: 72 of 73 bytes came"),
        (&b"164\r\n<transactions"[..], "incomplete: 13 of 164 bytes came"),
        (b" \n00164\n", "incomplete: 0 of 164 bytes came"),
        (b"164", "incomplete: the line with the length has no end"),
        (b"16 \r", "incomplete: the line with the length has no end"),
    ];
    for (number, (start, told)) in cuts.into_iter().enumerate() {
        let mut client = served.client();
        client.send(&[&order(1)[..], start].concat());
        client.finish_sending();
        client.expect(&opened(1, number + 1));
        client.expect(&format!("<results><error>{told}</error></results>\n"));
        client.expect_end();
    }
    // Bytes that belong to no request are not a cut one.
    let mut client = served.client();
    client.send(b"\r\n\0 ");
    client.finish_sending();
    client.expect_end();
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let served = serve(settings());
    let mut client = served.client();
    for byte in [order(1), order(2)].concat() {
        client.send(&[byte]);
    }
    client.expect(&[opened(1, 1), opened(2, 2)].concat());
}

#[test]
fn requests_may_be_cut_anywhere() {
    let served = serve(settings());
    let mut client = served.client();
    let comment = format!("<!--{}-->", "y".repeat(30_000));
    let body = format!(r#"<transactions id="1">{comment}<query id="1"/></transactions>"#);
    let requests: Vec<u8> =
        (1..=100).flat_map(|number| [order(number), xml::frame(body.as_bytes())].concat()).collect();
    let mut sender = client.stream.try_clone().unwrap();
    let sending = thread::spawn(move || {
        let mut rest = requests.as_slice();
        let mut random = 1u32;
        while !rest.is_empty() {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Pieces have from a few bytes to more than one read takes.
            let longest = [9, 300, 5000, 100_000][(random >> 30) as usize];
            let (piece, after) = rest.split_at(rest.len().min(1 + (random as usize >> 8) % longest));
            sender.write_all(piece).unwrap();
            rest = after;
        }
    });
    (1..=100).for_each(|number| client.expect(&[opened(number, number), status(1, 1)].concat()));
    sending.join().unwrap();
}

#[test]
fn a_request_larger_than_one_read_arrives_whole() {
    let served = serve(settings());
    let mut client = served.client();
    let body = format!(r#"<transactions id="1"><!--{}--><query id="1"/></transactions>"#, "x".repeat(900_000));
    client.send(&[xml::frame(body.as_bytes()), order(7)].concat());
    client.expect(&[status(1, 1), opened(7, 1)].concat());
}

#[test]
fn uncounted_line_ends_and_nuls_between_requests_are_skipped() {
    let served = serve(settings());
    let mut client = served.client();
    let crlf = String::from_utf8(order(2)).unwrap().replacen('\n', "\r\n", 1).into_bytes();
    client.send(&[order(1), b"\0".to_vec(), crlf, b"\r\n\0\0  \n".to_vec(), order(3), b"\0".to_vec()].concat());
    client.expect(&[opened(1, 1), opened(2, 2), opened(3, 3)].concat());
    client.send(&[b"\r\n".to_vec(), order(4)].concat());
    client.expect(&opened(4, 4));
    client.finish_sending();
    client.expect_end();
}

fn check_malformed(what: &[u8], error: &str) {
    let served = serve(settings());
    served.shut();
    let mut client = served.client();
    client.send(&[&order(1), &order(2), what, &order(3)].concat());
    served.open();
    client.expect(&[opened(1, 1), opened(2, 2), results(&format!("<error>{error}</error>"))].concat());
    client.expect_end();
    served.gateway.wait_for_answered(3);
}

#[test]
fn after_a_malformed_length_come_the_earlier_replies_the_error_and_the_end() {
    let number = "the length line is not a number of bytes: expected 1 to 10 digits and a newline before the XML";
    check_malformed(b"GET / HTTP/1.1\r\n\r\n", number);
    check_malformed(b"-5\n", number);
    check_malformed(b"12345678901\n", "the length has more than 10 digits");
    check_malformed(b"1048577\n", "the request is 1048577 bytes long; at most 1048576");
}

#[test]
fn a_client_that_goes_on_sending_after_a_malformed_length_sees_no_reset() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&order(1));
    client.expect(&opened(1, 1));
    client.send(b"what is this\n");
    // More than one read takes, and less than the server discards.
    client.send(&vec![b'x'; 700 << 10]);
    assert!(client.reply().contains("not a number of bytes"));
    client.expect_end();
    client.send(b"still there?");
    client.finish_sending();
    eventually("the connection is closed", || served.open_connections() == 0);
}

#[test]
fn a_client_that_never_stops_sending_is_closed() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(b"what is this\n");
    assert!(client.reply().contains("not a number of bytes"));
    while client.stream.write_all(&[b'x'; 4096]).is_ok() {}
    eventually("the connection is closed", || served.open_connections() == 0);
}

#[test]
fn a_closing_connection_whose_client_stays_is_closed_after_a_while() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(b"what is this\n");
    client.reply();
    client.expect_end();
    eventually("the connection is closed", || served.open_connections() == 0);
}

#[test]
fn a_client_that_vanishes_leaves_nothing_behind() {
    let served = serve(settings());
    served.shut();
    let mut client = served.client();
    client.send(&[order(1), order(2)].concat());
    eventually("the requests are submitted", || served.gateway.counters().requests == 2);
    socket2::SockRef::from(&client.stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(client);
    eventually("the connection is closed", || served.open_connections() == 0);
    let mut other = served.client();
    other.send(&order(3));
    served.open();
    other.expect(&opened(3, 3));
    eventually("all are counted", || served.gateway.requests_answered() == 3);
}

#[test]
fn close_after_reply_serves_one_request_a_connection() {
    let served = serve(Settings { close_after_reply: true, ..settings() });
    for number in 1..=3 {
        let mut client = served.client();
        client.send(&[order(number), order(100), b"rubbish".to_vec()].concat());
        client.expect(&opened(number, number));
        client.expect_end();
    }
    served.gateway.wait_for_answered(3);
    assert_eq!(served.gateway.counters().requests, 3);
}

#[test]
fn a_line_with_the_length_may_come_before_each_reply() {
    let served = serve(Settings { reply_length: true, ..settings() });
    let mut client = served.client();
    client.send(&[order(1), order(2)].concat());
    for number in 1..=2 {
        let reply = opened(number, number);
        client.expect(&format!("{}\n{reply}", reply.len()));
    }
}

#[test]
fn bad_xml_is_answered_and_the_connection_goes_on() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&[xml::frame(b"<transactions"), order(1)].concat());
    let error = client.reply();
    assert!(error.starts_with("<results><error>") && error.ends_with("</error></results>\n"), "{error}");
    client.expect(&opened(1, 1));
}

#[test]
fn what_the_exchange_cannot_do_now_is_said() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&[query(support::NO_DISK), order(1)].concat());
    let error = client.reply();
    assert!(error.starts_with(&format!(r#"<results><error id="{}">"#, support::NO_DISK)), "{error}");
    client.expect(&opened(1, 1));
}

#[test]
fn an_announced_length_allocates_nothing() {
    let served = serve(Settings { request_bytes_max: 1 << 30, ..settings() });
    let before = virtual_bytes();
    let mut clients: Vec<Client> = (0..64).map(|_| served.client()).collect();
    for client in &mut clients {
        client.send(&order(1));
        client.reply();
        client.send(b"1073741824\n<transactions");
    }
    // The server has read all starts when it closes the connections because the rest is missing.
    clients.iter().for_each(Client::finish_sending);
    for client in &mut clients {
        client.expect("<results><error>incomplete: 13 of 1073741824 bytes came</error></results>\n");
        client.expect_end();
    }
    let grown = virtual_bytes().saturating_sub(before);
    assert!(grown < 1 << 30, "{grown} bytes for 64 announced GiB");
}

/// Returns the most address space that this process ever had.
fn virtual_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
