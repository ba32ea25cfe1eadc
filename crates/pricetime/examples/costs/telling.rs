//! Cases that compare nothing: the kill switch, and the memory of orders that wait.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::load::{self, MARKET};
use crate::server::{Server, member, write_members};

const ORDERS: usize = 100_000;
const STOPS: usize = 1_000_000;
/// Orders of one request.
const AT_ONCE: usize = 1000;
const ROUNDS: usize = 7;

/// Kills an account, and a member with two of them, that have 100,000 open orders, while the member goes on sending.
pub fn kill(binary: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    write_members(&data, &(member("many", "trader", "\"1\", \"3\"", "") + &member("taker", "trader", "\"2\"", "")));
    let server = Server::start(binary, &data, &[]);
    let [mut operator, mut many, mut late, mut taker] =
        ["operator", "many", "many", "taker"].map(|name| server.connect(Some(name), None));
    load::ask(&mut operator, MARKET);
    load::ask(
        &mut operator,
        r#"<create><account id="3" balance="1"/><symbol sym="SPY"><account id="3">1000000000</account></symbol></create>"#,
    );
    for (whom, accounts) in [("account=\"1\"", &["1"][..]), ("member=\"many\"", &["1", "3"][..])] {
        let mut taken = Vec::new();
        for _ in 0..ROUNDS {
            for at in 0..ORDERS / AT_ONCE {
                let account = accounts[at % accounts.len()];
                let reply =
                    load::ask(&mut many, &orders(account, |number| format!("limit=\"{}\"", 100 + (at + number) % 500)));
                assert!(!reply.contains("<error"), "{reply}");
            }
            // Feed and history are on the same core, and may be behind.
            std::thread::sleep(Duration::from_secs(1));
            let began = Instant::now();
            let reply = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while began.elapsed() < Duration::from_millis(300) {
                        load::ask(
                            &mut late,
                            r#"<transactions id="1"><order sym="SPY" amount="-1" limit="100"/></transactions>"#,
                        );
                    }
                });
                let reply = load::ask(&mut operator, &format!("<create><kill {whom}/></create>"));
                taken.push(began.elapsed().as_secs_f64() * 1e3);
                // Whoever buys what there is behind the answer gets nothing of the member.
                let bought = load::ask(
                    &mut taker,
                    r#"<transactions id="2"><order sym="SPY" amount="1000000" type="market"/></transactions>"#,
                );
                assert!(bought.contains("<opened"), "{bought}");
                let id = bought.split("id=\"").last().unwrap().split('"').next().unwrap().to_owned();
                let status =
                    load::ask(&mut taker, &format!("<transactions id=\"2\"><query id=\"{id}\"/></transactions>"));
                assert!(!status.contains("<executed"), "behind the answer: {status}");
                reply
            });
            let ended: usize = reply.split("orders=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            assert!(ended >= ORDERS, "{reply}");
            load::ask(
                &mut operator,
                r#"<create><release account="1"/><release account="3"/><release member="many"/></create>"#,
            );
        }
        let in_turn = taken.iter().map(|ms| format!("{ms:.0}")).collect::<Vec<String>>().join(" ");
        taken.sort_unstable_by(f64::total_cmp);
        println!(
            "kill {whom}, {ORDERS} open orders: {:.1} ms ({:.1} to {:.1}; in turn {in_turn}), nothing executed behind its answer",
            taken[ROUNDS / 2],
            taken[0],
            taken[ROUNDS - 1]
        );
    }
}

/// Measures the resident memory of a waiting order, at few prices and at one of its own, and of a resting one, with the
/// feed and without.
pub fn stops(binary: &str) {
    for (what, prices, waits) in [
        ("waits, of 1,000 prices", 1000, true),
        ("waits, a price each", STOPS, true),
        ("rests, a price each", STOPS, false),
    ] {
        for feed in ["--feed=true", "--feed=false"] {
            let folder = tempfile::tempdir().unwrap();
            let server = Server::start(binary, folder.path(), &[feed]);
            let mut stream = server.connect(None, None);
            load::ask(&mut stream, MARKET);
            let mut place = |at: usize| {
                let price =
                    |number: usize| format!("{}.{:05}", 1 + (at + number) % prices % 10, (at + number) % prices / 10);
                let terms = |number: usize| {
                    if waits {
                        format!("limit=\"1\" stop=\"{}\"", price(number))
                    } else {
                        format!("limit=\"{}\"", price(number))
                    }
                };
                let reply = load::ask(&mut stream, &orders("1", terms));
                assert!(!reply.contains("<error"), "{reply}");
            };
            place(0);
            std::thread::sleep(Duration::from_secs(2));
            let before = server.resident();
            (1..=STOPS / AT_ONCE).for_each(|part| place(part * AT_ONCE));
            // Feed and history may be behind.
            std::thread::sleep(Duration::from_secs(5));
            println!("{feed}, {what}: {:.0} bytes an order", (server.resident() - before) / STOPS as f64);
        }
    }
}

/// A request of many orders to sell one share.
fn orders(account: &str, terms: impl Fn(usize) -> String) -> String {
    let mut text = format!("<transactions id=\"{account}\">");
    (0..AT_ONCE).for_each(|number| write!(text, "<order sym=\"SPY\" amount=\"-1\" {}/>", terms(number)).unwrap());
    text + "</transactions>"
}
