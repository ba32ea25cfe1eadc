//! The thread that looks up orders for queries: the number of its statements, and the order of waiting look-ups.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::common::market::Market;
use crate::common::postgres::{Database, Server};
use exchange::{Answer, LookedUpOrder, Lookup, Unavailable, Wanted};
use market::exchange_handle::ExchangeHandle;
use store::{History, Stop, sql_reader};
use terms::{AccountId, Executed, Execution, Op, OrderId, Query, Reply, Shares, Status};

/// The number of statements that a server has executed so far, without begins and ends of transactions.
fn statements(server: &Server) -> usize {
    server.log().lines().filter(|line| line.contains("LOG:  execute ")).count()
}

fn readers(database: &Database) -> ExchangeHandle {
    let history = |name: &str| History::connect(&database.url(), name, Duration::from_secs(60), Stop::new()).unwrap();
    let failed: market::Failed = std::sync::Arc::new(|fault: String| assert!(fault.is_empty(), "{fault}"));
    ExchangeHandle::new(sql_reader::start(history("short"), history("long"), &failed).unwrap())
}

/// Every done order with executions, as a look-up of an open order with these executions, and the executions.
fn executed(market: &Market) -> Vec<(LookedUpOrder, Vec<Execution>)> {
    let done = market.done_orders().into_iter().filter(|done| !done.executions.is_empty());
    done.map(|done| {
        let executions = Wanted::First(Executed::of(&done.executions));
        (LookedUpOrder { order: done.order, account: done.account, executions }, done.executions)
    })
    .collect()
}

/// Looks up orders. `back` gets the look-up when it is over.
fn ask(handle: &ExchangeHandle, orders: Vec<LookedUpOrder>, back: impl FnOnce(Lookup) + Send + 'static) {
    exchange::Exchange::look_up(handle, Lookup::new(orders.into_iter(), None, back));
}

/// The answer of a look-up about an open order whose executions the rows have.
fn told(lookup: Lookup, order: OrderId, account: AccountId, executed: Executed) -> (Answer, Vec<Execution>) {
    let op = Op::Query(Query { account, order: order.into() });
    let mut executions = Vec::new();
    let answer = lookup.answers(&mut executions).answer(&op, Answer::Reply(open(order, executed)));
    (answer, executions)
}

/// The engine's reply about an open order whose executions the rows have.
fn open(order: OrderId, executed: Executed) -> Reply {
    let (open, elsewhere) = (Shares::from_units(1).unwrap(), Some(Box::new(executed)));
    Reply::Status(Status { order, open, terms: None, canceled: None, executions: 0..0, elsewhere })
}

#[test]
fn first_executions_of_many_orders_are_read_with_one_statement() {
    let server = Server::start(&["log_statement=all"]);
    let database = server.database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(3).with_fees();
    market.run(&mut writer, 3000);
    let all = executed(&market);
    assert!(all.len() > 200, "{}", all.len());
    let mut history = History::connect(&database.url(), "history", Duration::from_secs(60), Stop::new()).unwrap();
    let before = statements(&server);
    let mut asked: Vec<(OrderId, usize)> = all.iter().map(|(asked, all)| (asked.order, all.len())).collect();
    let mut expected: Vec<Vec<Execution>> = all.into_iter().map(|(_, executions)| executions).collect();
    // The look-up repeats an order, asks for fewer executions than there are, for none, and for an order that never
    // was.
    asked.push(asked[0]);
    expected.push(expected[0].clone());
    let long = expected.iter().position(|executions| executions.len() > 2).unwrap();
    asked.push((asked[long].0, 2));
    expected.push(expected[long][..2].to_vec());
    asked.extend([(asked[long].0, 0), (OrderId(i64::MAX as u64), 9)]);
    expected.extend([Vec::new(), Vec::new()]);
    assert_eq!(history.first_executions(&asked).unwrap(), expected);
    assert_eq!(statements(&server) - before, 1);
}

/// A regression: each open order was a statement of its own, 64 of them for each look-up, and all waiting look-ups were
/// read before the first one was answered.
#[test]
fn look_ups_of_open_orders_go_in_rounds_of_few_statements() {
    let server = Server::start(&["log_statement=all"]);
    let database = server.database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(5);
    market.run(&mut writer, 3000);
    let all = executed(&market);
    let handle = readers(&database);
    let (list, single) = (&all[..128], &all[128]);
    let before = statements(&server);
    let (sender, answers) = channel();
    // No read runs until all of them wait.
    database.sql("BEGIN; LOCK TABLE pricetime.executions IN ACCESS EXCLUSIVE MODE");
    for at in 0..20 {
        let sender = sender.clone();
        let orders = list.iter().map(|(asked, _)| *asked).collect();
        ask(&handle, orders, move |lookup| sender.send((at, lookup)).unwrap());
    }
    let (asked, executions) = single.clone();
    ask(&handle, vec![asked], move |lookup| sender.send((20, lookup)).unwrap());
    database.sql("COMMIT");
    let mut order = Vec::new();
    for (at, lookup) in answers {
        order.push(at);
        if at == 20 {
            let wanted = Executed::of(&executions);
            let (answer, found) = told(lookup, asked.order, asked.account, wanted);
            assert!(matches!(answer, Answer::Reply(Reply::Status(Status { elsewhere: None, .. }))), "{answer:?}");
            assert_eq!(found, executions);
        }
    }
    // 2,561 orders come at 256 a round.
    let taken = statements(&server) - before;
    assert!(taken <= 24, "{taken} statements");
    // A look-up of one order waits for a turn of each of the others, and not for all their orders.
    assert!(order.iter().position(|at| *at == 20).unwrap() < 5, "{order:?}");
}

/// Done and open orders take turns in a request, and one of them has more executions than there is room for.
#[test]
fn a_look_up_tells_done_orders_and_open_ones_in_its_order() {
    let database = crate::common::postgres::database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(3);
    market.run(&mut writer, 2000);
    let handle = readers(&database);
    let all = executed(&market);
    let asked = |at: usize, asked: &LookedUpOrder| match at % 3 {
        0 => *asked,
        1 => LookedUpOrder { executions: Wanted::All, ..*asked },
        _ => LookedUpOrder { executions: Wanted::Nothing, ..*asked },
    };
    for room in [usize::MAX, 50] {
        let orders: Vec<LookedUpOrder> = all.iter().enumerate().map(|(at, (order, _))| asked(at, order)).collect();
        let (sender, answers) = channel();
        let lookup = Lookup::new(orders.iter().copied(), Some(room), move |lookup| sender.send(lookup).unwrap());
        exchange::Exchange::look_up(&handle, lookup);
        let mut found = Vec::new();
        let answers = answers.recv().unwrap().answers(&mut found);
        let (mut left, mut is_cut) = (room, false);
        for ((order, executions), asked) in all.iter().zip(&orders) {
            let op = Op::Query(Query { account: order.account, order: order.order.into() });
            let (told, wants) = match asked.executions {
                Wanted::First(executed) => (open(order.order, executed), true),
                Wanted::All => (Reply::Done(order.order), true),
                Wanted::Nothing => (Reply::Done(order.order), false),
            };
            is_cut |= wants && executions.len() > left;
            left = left.saturating_sub(if wants { executions.len() } else { 0 });
            match answers.answer(&op, Answer::Reply(told)) {
                Answer::Reply(Reply::Status(status)) => {
                    assert!(!is_cut && status.elsewhere.is_none(), "{status:?}");
                    let expected = if wants { &executions[..] } else { &[] };
                    assert_eq!(found[status.executions], *expected, "order {}", order.order);
                }
                answer @ (Answer::Reply(_) | Answer::Unavailable(_)) => {
                    assert!(is_cut && answer == Answer::Unavailable(Unavailable::ReplyTooLarge), "{answer:?}");
                }
            }
        }
        assert_eq!(is_cut, room == 50);
    }
}

/// The rows have other executions than the engine's sum: they are no longer kept, and the answer has the sum.
#[test]
fn executions_that_do_not_add_up_are_told_as_a_sum() {
    let database = crate::common::postgres::database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(3);
    market.run(&mut writer, 1000);
    let handle = readers(&database);
    // Where the first and the last are equal, the others add up to the same with either of them.
    let differ = |executions: &[Execution]| match executions {
        [_, rest @ ..] => !rest.is_empty() && Executed::of(rest) != Executed::of(&executions[..rest.len()]),
        [] => false,
    };
    let (asked, executions) = executed(&market).into_iter().find(|(_, executions)| differ(executions)).unwrap();
    let lost = Executed::of(&executions[1..]);
    let wanted = LookedUpOrder { executions: Wanted::First(lost), ..asked };
    let (sender, answers) = channel();
    ask(&handle, vec![wanted], move |lookup| sender.send(lookup).unwrap());
    let (answer, found) = told(answers.recv().unwrap(), asked.order, asked.account, lost);
    let Answer::Reply(Reply::Status(status)) = answer else { panic!("{answer:?}") };
    assert_eq!((status.elsewhere.as_deref(), status.executions, found), (Some(&lost), 0..0, Vec::new()));
}

/// A panic in a look-up once ended the server: here the numbers of orders in the database end before those of clients.
#[test]
fn a_look_up_that_panics_is_refused_alone() {
    let server = Server::start(&[]);
    let database = server.database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(3).with_fees();
    market.run(&mut writer, 3000);
    let (known, executions) = executed(&market).remove(0);
    let handle = readers(&database);
    let (back, answers) = channel();
    let ask = |order: OrderId| {
        let back = back.clone();
        ask(&handle, vec![LookedUpOrder { order, ..known }], move |lookup| drop(back.send((order, lookup))));
    };
    // The first one keeps the thread busy while the others gather in a round.
    let unknown = OrderId(u64::MAX);
    [known.order, known.order, unknown, known.order].into_iter().for_each(ask);
    let Wanted::First(sum) = known.executions else { panic!("a look-up of first executions") };
    for _ in 0..4 {
        let (order, lookup) = answers.recv_timeout(Duration::from_secs(60)).expect("an answer");
        let (answer, read) = told(lookup, order, known.account, sum);
        match order == unknown {
            true => assert_eq!(answer, Answer::Unavailable(Unavailable::Fault)),
            false => assert_eq!(read, executions, "{answer:?}"),
        }
    }
}
