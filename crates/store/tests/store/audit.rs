//! The audit trail in rows: each command's caller is found, and removed with the orders of its time.

use crate::common::market::Market;
use crate::common::postgres::{Database, database};
use engine::DoneOrders;
use store::{CallerIds, CallerRow, CommandRow, Keep, Retention, Writer};
use terms::Time;

/// The caller of a command: none, or one of few.
fn caller(command: u64) -> Option<u64> {
    (!command.is_multiple_of(5)).then_some(command / 40 % 7 + 1)
}

/// Commits random commands with their callers.
fn play(market: &mut Market, writer: &mut Writer, ids: &mut CallerIds<u64>) {
    for commands in [1, 30, 7, 60] {
        let first = market.engine.sequence().0 + 1;
        market.play(commands);
        let last = market.engine.sequence().0;
        let rows = market.effects.audit();
        ids.begin((last + 1 - first) as usize, rows);
        for command in first..=last {
            let id = caller(command).map(|number| ids.of(number, command, rows, |id| row(id, number)));
            rows.commands.push(CommandRow { time: Time(command), caller: id, what: format!("what {command}") });
        }
        market.commit(writer).unwrap();
    }
}

fn row(id: u64, number: u64) -> CallerRow {
    let (member, key) = (format!("member {number}"), String::new());
    CallerRow { id, protocol: "xml".to_owned(), session: number, member, key, address: "2001:db8::1".to_owned() }
}

/// Checks that exactly the kept commands are in the view.
fn check(database: &Database) -> u64 {
    let rows = database.sql("SELECT command, what, coalesce(session, 0), coalesce(member, ''), key IS NULL FROM pricetime.audit ORDER BY command");
    let first = rows[0].split('|').next().unwrap().parse().unwrap();
    for (row, command) in rows.iter().zip(first..) {
        let told = match caller(command) {
            Some(number) => format!("{command}|what {command}|{number}|member {number}|t"),
            None => format!("{command}|what {command}|0||t"),
        };
        assert_eq!(*row, told);
    }
    let last: u64 = database.sql("SELECT sequence FROM pricetime.command_sequence")[0].parse().unwrap();
    assert_eq!(first + rows.len() as u64 - 1, last);
    first
}

#[test]
fn each_commands_caller_is_found_and_goes_with_the_orders_of_its_time() {
    let database = database();
    database.with_small_parts(60);
    let mut market = Market::of_all_kinds(7);
    let mut epoch = None;
    for life in 0..12 {
        let (mut writer, mut ids) = (database.writer(&format!("life {life}")), CallerIds::default());
        market.engine = writer.load(1, DoneOrders::Keep).unwrap().engine;
        for _ in 0..3 {
            play(&mut market, &mut writer, &mut ids);
        }
        epoch = Some(writer.epoch());
        writer.close();
    }
    assert_eq!(check(&database), 1);
    let callers =
        |what: &str| database.sql(&format!("SELECT {what} FROM pricetime.callers"))[0].parse::<u64>().unwrap();
    let noted = callers("count(*)");
    assert!(noted > 12 && noted <= 12 * 7, "{noted} callers: each once a life");
    let keep = Keep { age_us: None, bytes: Some(1) };
    let removed = Retention::new(&database.url(), "retention", keep, epoch.unwrap()).unwrap().remove_now().unwrap();
    assert!(removed > 0);
    let first = check(&database);
    let first_order = "SELECT o.sequence FROM pricetime.kept k JOIN pricetime.orders o ON o.id >= k.first_order ORDER BY o.id LIMIT 1";
    let first_order: u64 = database.sql(first_order)[0].parse().unwrap();
    assert!(1 < first && first <= first_order, "{first} {first_order}");
    assert!(callers("count(*)") < noted && callers("min(id)") >= first);
}
