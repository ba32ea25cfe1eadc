//! Attacks on XML by what is asked.

use std::time::{Duration, Instant};

use crate::attack::{Limits, MIB, ORDINARY, Scene};

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
