//! Attacks on XML by whole or unfinished requests.

use std::time::{Duration, Instant};

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::{Client, frame};
use crate::common::server::PATIENCE;
use crate::common::wait::wait_until;
use crate::peers::has_answer;

#[test]
fn documents_made_to_hurt_are_refused_quickly() {
    const BYTES: usize = (1 << 20) - 100;
    let fill = |piece: &str| piece.repeat(BYTES / piece.len());
    let numbered = |piece: &dyn Fn(usize) -> String| -> String { (0..BYTES / 12).map(piece).collect() };
    let laughs: String =
        (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    let documents = [
        ("deep nesting", fill("<a>")),
        ("deep nesting in a child", format!("<create>{}", fill("<a>"))),
        ("an entity bomb", format!("<!DOCTYPE c [<!ENTITY l0 \"ha\">{laughs}]><create>&l9;</create>")),
        ("references", format!("<create><account id=\"{}\" balance=\"1\"/></create>", fill("&#49;"))),
        ("unknown entities", format!("<create><account id=\"{}\"/></create>", fill("&l;"))),
        ("a long attribute", format!("<create><account id=\"{}\" balance=\"1\"/></create>", fill("1"))),
        ("a long number", format!("<create><account id=\"1\" balance=\"{}\"/></create>", fill("9"))),
        ("a long name", format!("<create><{}/></create>", fill("a"))),
        ("attributes", format!("<create {}/>", numbered(&|n| format!("a{n:06}=\"\" ")))),
        ("attributes of a child", format!("<create><account {}/></create>", numbered(&|n| format!("a{n:06}=\"\" ")))),
        ("comments", format!("<create>{}</create>", fill("<!---->"))),
        ("instructions", format!("<create>{}</create>", fill("<?a?>"))),
        ("an open comment", format!("<create><!--{}", fill("-"))),
        (
            "pieces of text",
            format!("<create><symbol sym=\"S\"><account id=\"1\">{}</account></symbol></create>", fill("1<!---->")),
        ),
        ("blanks", fill(" ")),
        ("opening brackets", fill("<")),
    ];
    let limits = Limits { memory: 64 * MIB, ..ORDINARY };
    let mut attack = Scene::set("documents made to hurt", limits, |launch| launch).attack();
    let mut client = attack.server().client();
    let mut slowest = Duration::ZERO;
    for (what, document) in &documents {
        let started = Instant::now();
        let reply = client.ask(document);
        slowest = slowest.max(started.elapsed());
        assert!(reply.starts_with("<results>") && reply.len() < document.len() * 2 + 1000, "{what}: {reply:.300}");
    }
    attack.took("the slowest", slowest, Duration::from_secs(1));
    attack.end("each answered");
}

/// A regression: as soon as unfinished requests took up their bound, every honest one that came in two segments was
/// refused.
#[test]
fn who_hoards_unfinished_requests_goes_and_who_sends_two_segments_is_answered() {
    const HOARDERS: usize = 276;
    const FITTING: usize = 256;
    const BYTES: usize = 1 << 20;
    let limits = Limits { memory: (256 + 96) * MIB, ..ORDINARY };
    let title = "276 megabytes of unfinished XML";
    // One worker has one bound for them all.
    let attack = Scene::set(title, limits, |launch| launch.with("--workers 1 --idle-timeout 10m")).attack();
    let mut honest = attack.server().client();
    let hoard = |honest: &mut Client| {
        let mut hoarder = attack.server().client();
        hoarder.send(&frame(&" ".repeat(BYTES))[..BYTES]).unwrap();
        ask_in_two_segments(honest);
        hoarder
    };
    let mut hoarders: Vec<Client> = (0..HOARDERS).map(|_| hoard(&mut honest)).collect();
    let mut refused = 0;
    for _ in 0..size(3, 30) {
        let is_refused = |hoarder: &mut Client| has_answer(&hoarder.stream);
        wait_until("those too many to be refused", PATIENCE, || {
            hoarders.iter().filter(|hoarder| has_answer(&hoarder.stream)).count() >= HOARDERS - FITTING
        });
        for mut hoarder in hoarders.extract_if(.., is_refused).collect::<Vec<_>>() {
            let told = hoarder.rest().unwrap();
            assert!(told.starts_with("<results><error>too many unfinished requests: "), "{told}");
            refused += 1;
        }
        // The attackers come again.
        hoarders.resize_with(HOARDERS, || hoard(&mut honest));
    }
    let asked = HOARDERS + refused;
    attack.end(&format!("{refused} of {asked} refused, the longest; two segments answered {asked} times"));
}

/// Sends a request in two segments; the answer to an earlier request shows that the first one was read.
fn ask_in_two_segments(client: &mut Client) {
    let request = frame("<create><!-- in two segments --></create>");
    let (start, rest) = request.split_at(20);
    client.send(&[&request, start].concat()).unwrap();
    assert_eq!(client.reply().unwrap(), "<results></results>\n");
    client.send(rest).unwrap();
    assert_eq!(client.reply().unwrap(), "<results></results>\n");
}
