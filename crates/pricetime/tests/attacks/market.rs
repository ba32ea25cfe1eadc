//! Attacks by requests to the market: symbols, accounts, money, orders and their ids.

use std::path::Path;

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::bystanders::Habit;

fn bytes_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| if entry.path().is_dir() { bytes_of(&entry.path()) } else { entry.metadata().unwrap().len() })
        .sum()
}

/// Refusals for lack of disk space must not use up the remaining space.
#[test]
fn orders_below_the_low_water_take_nothing_of_the_disk() {
    let limits = Limits { memory: 64 * MIB, ..ORDINARY };
    let scene = Scene::set("orders below the low water", limits, |launch| launch.with("--disk-low 1000000GiB"));
    let data = scene.data();
    let before = bytes_of(&data);
    let attack = scene.attack_beside(Habit::Read);
    let mut client = attack.server().client();
    let orders = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>".repeat(1_000);
    let rounds = size(20, 200);
    for _ in 0..rounds {
        let told = client.ask(&format!("<transactions id=\"1\">{orders}</transactions>"));
        assert_eq!(told.matches("<error").count(), 1_000, "{told:.300}");
    }
    let grown = bytes_of(&data).saturating_sub(before);
    assert!(grown < MIB, "{grown} bytes of the disk");
    attack.end(&format!("{rounds},000 refused, {grown} bytes of the disk"));
}

/// A regression: a cancel that cancels nothing was journaled below the low water, so that the disk was full within
/// seconds.
#[test]
fn cancels_below_the_low_water_take_nothing_of_the_disk() {
    const CANCELS: usize = 10_000;
    let limits = Limits { memory: 64 * MIB, ..ORDINARY };
    let scene = Scene::set("cancels below the low water", limits, |launch| {
        let server = launch.start();
        server.ask("<create><account id=\"1\" balance=\"1000\"/><symbol sym=\"S\"/></create>");
        let orders = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>".repeat(2);
        server.ask(&format!("<transactions id=\"1\">{orders}</transactions>"));
        server.stop();
        launch.with("--disk-low 1000000GiB")
    });
    let data = scene.data();
    let before = (bytes_of(&data), scene.server.state()["sequence"].as_u64().unwrap());
    let attack = scene.attack_beside(Habit::Read);
    let mut client = attack.server().client();
    let rounds = size(10, 100);
    for _ in 0..rounds {
        for (account, order) in [("777", "1"), ("1", "0"), ("1", "3"), ("1", "1")] {
            let cancels = format!("<cancel id=\"{order}\"/>").repeat(CANCELS);
            let told = client.ask(&format!("<transactions id=\"{account}\">{cancels}</transactions>"));
            assert!(told.matches("<error").count() >= CANCELS - 1, "{told:.300}");
        }
    }
    let told = client.ask("<transactions id=\"1\"><cancel id=\"2\"/></transactions>");
    assert!(told.starts_with("<results><canceled id=\"2\">"), "{told}");
    let after = (bytes_of(&data), attack.server().state()["sequence"].as_u64().unwrap());
    assert_eq!(after.1, before.1 + 2, "each open order is canceled once, and nothing else is journaled");
    let grown = after.0.saturating_sub(before.0);
    assert!(grown < MIB, "{grown} bytes of the disk");
    attack.end(&format!("{} refused, {grown} bytes of the disk", rounds * 4 * CANCELS - 1));
}
