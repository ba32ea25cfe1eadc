//! Measures the nanoseconds to read a request and to write its reply, beside quick-xml reading the same bytes.
//!
//! Run with `cargo bench -p xml --bench parse`, or for one subject `cargo bench -p xml --bench parse -- "one order,
//! parse"`. The runs of all subjects alternate and are shorter than a turn on a busy core, so that the shortest is
//! undisturbed. It uses no sockets and no engine.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use std::hint::black_box;
use std::time::Instant;

use exchange::Answer;
use quick_xml::events::Event;
use terms::{Cancellation, Execution, Fee, OrderId, Price, Reply, Shares, Status, Time};
use xml::{Documents, Limits, ReplyLimits, write_reply};

const RUNS: usize = 201;
const REQUESTS_PER_BATCH: usize = 64;
const BATCHES_PER_RUN: usize = 30;

/// A batch of requests.
type Batch = Box<dyn FnMut()>;

const ONE_ORDER: &[u8] = br#"<?xml version="1.0" encoding="UTF-8"?>
<transactions id="1234567">
  <order sym="SPY" amount="100" limit="145.67"/>
</transactions>
<!-- a comment of some length makes it two hundred bytes in all -->
"#;

const FOUR_ITEMS: &[u8] = br#"<?xml version="1.0" encoding="UTF-8"?>
<transactions id="1234567">
  <order sym="SPY" amount="300" limit="125"/>
  <order sym="SPY" amount="-100.5" limit="130.25"/>
  <query id="1234"/>
  <cancel id="1233"/>
</transactions>
"#;

fn main() {
    println!("one order: {} bytes; four items: {} bytes", ONE_ORDER.len(), FOUR_ITEMS.len());
    let mut subjects: Vec<(&str, Batch)> = vec![
        ("one order, parse", parsing(ONE_ORDER)),
        ("one order, quick-xml reads and decodes", quick_xml_reading(ONE_ORDER)),
        ("one order, reply", replying(ONE_ORDER, &[Answer::Reply(Reply::Opened(OrderId(1_234_567)))])),
        ("four items, parse", parsing(FOUR_ITEMS)),
        ("four items, quick-xml reads and decodes", quick_xml_reading(FOUR_ITEMS)),
        ("four items, reply", replying(FOUR_ITEMS, &four_answers())),
    ];
    if let Some(wanted) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        subjects.retain(|(name, _)| *name == wanted);
    }
    let mut nanoseconds = vec![Vec::new(); subjects.len()];
    for _ in 0..RUNS {
        for ((_, batch), figures) in subjects.iter_mut().zip(&mut nanoseconds) {
            let start = Instant::now();
            for _ in 0..BATCHES_PER_RUN {
                batch();
            }
            figures.push(start.elapsed().as_nanos() as f64 / (BATCHES_PER_RUN * REQUESTS_PER_BATCH) as f64);
        }
    }
    println!("{:<42} {:>8} {:>8} {:>8}  ns a request, of {RUNS} runs", "", "median", "least", "most");
    for ((name, _), figures) in subjects.iter().zip(&mut nanoseconds) {
        figures.sort_by(f64::total_cmp);
        println!("{name:<42} {:>8.0} {:>8.0} {:>8.0}", figures[RUNS / 2], figures[0], figures[RUNS - 1]);
    }
}

fn parsing(body: &'static [u8]) -> Batch {
    let mut documents = Documents::new();
    let limits = Limits { children_max: 10_000 };
    Box::new(move || {
        documents.clear();
        for _ in 0..REQUESTS_PER_BATCH {
            documents.parse(black_box(body), &limits);
        }
        black_box(documents.requests.ops());
    })
}

/// Does the same work with quick-xml: reads all events, decodes all attributes, checks duplicates and end names.
fn quick_xml_reading(body: &'static [u8]) -> Batch {
    Box::new(move || {
        for _ in 0..REQUESTS_PER_BATCH {
            let mut reader = quick_xml::Reader::from_reader(black_box(body));
            loop {
                match reader.read_event().unwrap() {
                    Event::Start(tag) | Event::Empty(tag) => {
                        for attribute in tag.attributes() {
                            let attribute = attribute.unwrap();
                            black_box(attribute.normalized_value(quick_xml::XmlVersion::Explicit1_0).unwrap());
                        }
                    }
                    Event::Eof => break,
                    event => {
                        black_box(event);
                    }
                }
            }
        }
    })
}

fn replying(body: &'static [u8], answers: &[Answer]) -> Batch {
    let mut documents = Documents::new();
    for _ in 0..REQUESTS_PER_BATCH {
        documents.parse(body, &Limits { children_max: 10_000 });
    }
    let answers: Vec<Answer> = answers.iter().cloned().cycle().take(documents.requests.ops().len()).collect();
    let executions = executions();
    let limits = ReplyLimits { reply_bytes_max: 1 << 24, length_line: false };
    let mut out = Vec::new();
    Box::new(move || {
        out.clear();
        for request in 0..REQUESTS_PER_BATCH {
            write_reply(&mut out, black_box(&documents), request, &answers, &executions, &limits);
        }
        black_box(&out);
    })
}

fn shares(whole: i64) -> Shares {
    Shares::from_units(whole * 100_000_000).unwrap()
}

fn executions() -> Vec<Execution> {
    let execution = |whole, price| Execution {
        shares: shares(whole),
        price: Price::from_units(price).unwrap(),
        time: Time(1_700_000_000_000_000),
        fee: Fee::NONE,
    };
    vec![execution(200, 12_700_000_000), execution(17, 12_567_000_000)]
}

fn four_answers() -> [Answer; 4] {
    let canceled = Some(Cancellation { shares: shares(83), time: Time(1_700_000_000_000_000) });
    [
        Answer::Reply(Reply::Opened(OrderId(1_234_567))),
        Answer::Reply(Reply::Opened(OrderId(1_234_568))),
        Answer::Reply(Reply::Status(Status {
            order: OrderId(7),
            open: shares(100),
            terms: None,
            canceled: None,
            executions: 0..2,
            elsewhere: None,
        })),
        Answer::Reply(Reply::Canceled(Status {
            order: OrderId(7),
            open: Shares::ZERO,
            terms: None,
            canceled,
            executions: 0..1,
            elsewhere: None,
        })),
    ]
}
