//! Extreme rules, fees and limits, and orders that depend on them; then a kill, a restart, and a check of the folder.

use std::collections::BTreeMap;
use std::process::Command;

use super::extremes::{DECIMAL, WHOLE, goes_on, launch, set_up};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::PATIENCE;
use crate::common::talk::order;
use crate::common::wait::wait_until;

const AMOUNTS: [&str; 5] = ["0.00000001", "1", "1.00000001", "4294967295", "92233720368.54775807"];
const LIMITS: [&str; 4] = ["0.00000001", "1", "4294967295", "92233720368.54775807"];
/// Shares of per cent, beside the amounts.
const PARTS: [&str; 4] = ["0.0001", "50", "99.9999", "100"];

/// Settings of a symbol or an account, with the place of their values. The symbol is `S`, and the account `A`.
const SETTINGS: [(&str, &str); 23] = [
    ("tick", "<rules sym=\"S\" tick=\"V\"/>"),
    ("lot", "<rules sym=\"S\" lot=\"V\"/>"),
    ("tick and lot", "<rules sym=\"S\" tick=\"V\" lot=\"V\"/>"),
    ("fewest shares", "<rules sym=\"S\" min-shares=\"V\"/>"),
    ("most shares", "<rules sym=\"S\" max-shares=\"V\"/>"),
    ("least value", "<rules sym=\"S\" min-value=\"V\"/>"),
    ("most value", "<rules sym=\"S\" max-value=\"V\"/>"),
    ("band above", "<rules sym=\"S\" band-up=\"V\"/>"),
    ("band below", "<rules sym=\"S\" band-down=\"V\"/>"),
    ("bands", "<rules sym=\"S\" tick=\"1\" band-up=\"V\" band-down=\"V\"/>"),
    ("band of a size", "<rules sym=\"S\" band-size=\"V\"/>"),
    ("interruption", "<rules sym=\"S\" band-up=\"1\" band-down=\"1\" interruption=\"V\"/>"),
    ("static band", "<rules sym=\"S\" static-up=\"50\" static-down=\"50\" reference=\"V\"/>"),
    ("static band above", "<rules sym=\"S\" static-up=\"V\" reference=\"1\"/>"),
    ("maker", "<fees sym=\"S\" maker=\"V\" account=\"8\"/>"),
    ("taker", "<fees sym=\"S\" taker=\"V\" account=\"8\"/>"),
    ("both fees", "<fees sym=\"S\" maker=\"V\" taker=\"V\" account=\"8\"/>"),
    ("fees to oneself", "<fees sym=\"S\" maker=\"V\" taker=\"V\" account=\"A\"/>"),
    ("open orders", "<limits account=\"A\" open-orders=\"V\"/>"),
    ("shares of an order", "<limits account=\"A\" order-shares=\"V\"/>"),
    ("value of an order", "<limits account=\"A\" order-value=\"V\"/>"),
    ("position", "<limits account=\"A\" position=\"V\"/>"),
    ("collar", "<limits account=\"A\" collar=\"V\"/>"),
];

#[test]
fn orders_under_extreme_rules_fees_and_limits_outlast_a_kill_and_a_restart() {
    let folder = Folder::new("extremes-dependent");
    let server = launch(&folder).start();
    set_up(&server);
    let mut client = server.client();
    client.ask("<create><account id=\"8\" balance=\"0\"/></create>");
    let values: Vec<&str> = DECIMAL.into_iter().chain(WHOLE).chain(PARTS).collect();
    // Every buy may execute with every sell that came before it.
    let pairs: String = AMOUNTS
        .iter()
        .flat_map(|amount| LIMITS.iter().map(move |limit| (amount, limit)))
        .map(|(amount, limit)| order("S", &format!("-{amount}"), limit) + &order("S", amount, limit))
        .collect();
    let (mut set, mut opened, mut number) = (BTreeMap::new(), 0, 100);
    for (name, setting) in SETTINGS {
        for value in &values {
            number += 1;
            let own = |text: &str| {
                let symbol = text.replace("sym=\"S\"", &format!("sym=\"S{number}\""));
                symbol.replace("\"A\"", &format!("\"{number}\"")).replace("\"V\"", &format!("\"{value}\""))
            };
            let made = "<account id=\"A\" balance=\"100000000000000\"/>\
                <symbol sym=\"S\"><account id=\"A\">1000000000000</account></symbol>";
            let told = client.ask(&own(&format!("<create>{made}{setting}</create>")));
            if !told.contains("<changed") {
                continue;
            }
            *set.entry(name).or_insert(0) += 1;
            let told = client.ask(&own(&format!("<transactions id=\"A\">{pairs}</transactions>")));
            assert!(told.starts_with("<results><"), "{name} {value}: {told:.300}");
            opened += told.matches("<opened").count();
        }
    }
    assert_eq!(set.len(), SETTINGS.len(), "all were set with some value: {set:?}");
    println!("{opened} orders were opened under {set:?}");
    assert!(opened > 2_000, "{opened}");
    goes_on(&server, "extreme rules, fees and limits");
    let told = client.ask("<create><kill/></create>");
    assert!(told.contains("<killed"), "{told}");
    let account = |http: &Http, number: usize| http.read(&format!("/api/v1/accounts/{number}"));
    let all =
        |http: &Http| [8, 9].into_iter().chain(101..=number).map(|number| account(http, number)).collect::<Vec<_>>();
    let http = Http::new(server.http);
    wait_until("the kill is done", PATIENCE, || all(&http).iter().all(|account| account["open_orders"] == 0));
    assert!(client.ask("<create><release/></create>").contains("<changed"));
    client.ask(&format!("<transactions id=\"101\">{}</transactions>", pairs.replace("\"S\"", "\"S101\"")));
    goes_on(&server, "a kill");
    let before = all(&http);
    server.kill();
    let server = launch(&folder).start();
    let after = all(&Http::new(server.http));
    for (before, after) in before.iter().zip(&after) {
        for field in ["balance", "held", "open_orders", "positions"] {
            assert_eq!(before[field], after[field], "{field}: {before}");
        }
    }
    goes_on(&server, "a restart");
    server.stop();
    let verified = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("verify").arg(folder.data()).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}
