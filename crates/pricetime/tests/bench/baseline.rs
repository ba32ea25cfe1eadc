//! The baseline writer on a PostgreSQL that the tests start: it does what the naive model does, loses nothing in
//! conflicts, and its checks find a wrong row. A baseline that cheats would be no comparison.
#![allow(clippy::wildcard_enum_match_arm)]

use std::process::Command;

use crate::PATIENCE;
use crate::common::bench::binary;
use crate::common::wait::wait_until;
use crate::postgres::Database;
use bench::baseline::{Decimal, Exchange, Market, Order, Side, run_load};
use bench::records::LoadSettings;
use model::Model;
use model::workload::Workload;
use terms::{
    AccountId, AccountIndex, Entry, Event, NewOrder, Op, OrderId, OrderName, Place, Position, Reply, SymbolIndex, Time,
};
use tokio::runtime::Runtime;
use tokio_postgres::Client;

const COMMANDS: usize = 1_000;

async fn connected(database: &Database) -> Client {
    store::connect(&database.url(), "test").await.unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Hundred-millionths of a dollar or a share.
fn amount(units: impl Into<i128>) -> Decimal {
    Decimal::from_i128_with_scale(units.into(), 8)
}

/// The number of an account that the model knows; otherwise one that no account has.
fn number(model: &Model, id: AccountId) -> i64 {
    model.accounts().position(|known| known == id).map_or(-1, |place| place as i64)
}

/// The owner, who makes accounts and symbols, and looks at the rows; a load needs none of it.
struct Owner(Client);

impl Owner {
    async fn of(database: &Database) -> Owner {
        let client = connected(database).await;
        client.batch_execute("SET search_path = pricetime_baseline, pg_temp").await.unwrap();
        Owner(client)
    }

    async fn create_account(&self, account: i64, dollars: Decimal) {
        let sql = "INSERT INTO accounts (id, created, balance) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING";
        self.0.execute(sql, &[&account, &dollars]).await.unwrap();
    }

    async fn create_symbol(&self, symbol: &str) {
        let sql = "INSERT INTO books (symbol, issued) VALUES ($1, 0) ON CONFLICT DO NOTHING";
        self.0.execute(sql, &[&symbol]).await.unwrap();
    }

    /// Gives an account new shares; nothing if either is unknown.
    async fn issue(&self, account: i64, symbol: &str, shares: Decimal) {
        let sql = "WITH issued AS (
                UPDATE books SET issued = issued + $3
                WHERE symbol = $2 AND EXISTS (SELECT FROM accounts WHERE id = $1) RETURNING symbol
            )
            INSERT INTO positions AS p (account, symbol, shares) SELECT $1, symbol, $3 FROM issued
            ON CONFLICT (account, symbol) DO UPDATE SET shares = p.shares + excluded.shares";
        self.0.execute(sql, &[&account, &symbol, &shares]).await.unwrap();
    }

    async fn executions(&self) -> i64 {
        self.0.query_one("SELECT count(*) FROM executions", &[]).await.unwrap().get(0)
    }

    async fn faults(&self) -> Vec<String> {
        self.0.query("SELECT fault FROM faults", &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    }
}

/// A market beside its model.
struct Both {
    model: Model,
    owner: Owner,
    exchange: Exchange,
    /// The buy order, sell order, price and shares of each execution.
    executed: Vec<String>,
}

/// The op as the baseline knows it: it has only limit orders without client order ids.
fn as_the_baseline_knows_it(op: Op) -> Op {
    match op {
        Op::Command(terms::Command::Place(place)) if let Some(order) = place.alone() => {
            let NewOrder { symbol, side, limit, shares, .. } = order;
            let order = NewOrder::limit(symbol, side, limit, shares);
            Op::Command(terms::Command::Place(Place::order(place.account, order)))
        }
        other => other,
    }
}

impl Both {
    async fn apply(&mut self, entry: &Entry) {
        use terms::Command::{
            ActivateReached, Amend, AmendOrder, CancelAll, CancelOrder, ChangeFees, ChangeGroup, ChangeLimits,
            ChangePhase, ChangeRules, ChangeTier, CloseAccount, CreateAccount, CreateSymbol, Deposit, DepositFrom,
            EndAuction, ExpireOrders, FollowCalendar, FreeClientOrderId, FundAccount, GiveShares, IssueShares, Kill,
            KillTogether, Place, Protect, Release, ReleaseTogether, ReplaceOrder, TakeMessage, Unprotect, Withdraw,
        };
        let mut events = Vec::new();
        let reply = self.model.apply(entry, &mut Vec::new(), &mut events);
        let accepted = !matches!(reply, Reply::Rejected(_));
        let model = &self.model;
        match entry.command {
            CreateAccount { account, balance } if accepted => {
                self.owner.create_account(number(model, account), balance.to_string().parse().unwrap()).await;
            }
            CreateSymbol { symbol } => self.owner.create_symbol(&symbol.to_string()).await,
            IssueShares { symbol, account, shares } if accepted => {
                let (account, symbol) = (number(model, account), symbol.to_string());
                self.owner.issue(account, &symbol, amount(shares.units())).await;
            }
            // No order has such an id here: the model refuses it, too.
            Place(place) if place.client_id().is_some() => assert!(!accepted),
            CancelOrder { order: OrderName::Client(_), .. } => assert!(!accepted),
            // The baseline has no bounds on issues.
            CreateAccount { .. } | IssueShares { .. } => {}
            AmendOrder { .. }
            | Amend(_)
            | ReplaceOrder { .. }
            | ActivateReached
            | ExpireOrders
            | EndAuction
            | FollowCalendar { .. }
            | ChangePhase { .. }
            | FreeClientOrderId { .. }
            | ChangeRules { .. }
            | ChangeFees { .. }
            | ChangeTier { .. }
            | ChangeGroup { .. }
            | CancelAll { .. }
            | Kill { .. }
            | Release { .. }
            | KillTogether { .. }
            | ReleaseTogether { .. }
            | Protect { .. }
            | Unprotect { .. }
            | ChangeLimits { .. }
            | FundAccount { .. }
            | Deposit { .. }
            | DepositFrom { .. }
            | Withdraw { .. }
            | CloseAccount { .. }
            | GiveShares { .. }
            | TakeMessage(_) => {
                unreachable!("this workload draws none")
            }
            Place(place) => {
                let NewOrder { symbol, side, limit, shares, .. } =
                    place.alone().expect("this workload draws plain ones");
                let symbol = symbol.to_string();
                let order = Order {
                    account: number(model, place.account),
                    symbol: &symbol,
                    side: if side == terms::Side::Buy { Side::Buy } else { Side::Sell },
                    limit: amount(limit.units()),
                    shares: amount(shares.units()),
                };
                let expected = if let Reply::Opened(OrderId(id)) = reply { Some(id as i64) } else { None };
                assert_eq!(self.exchange.place(&order).await.unwrap(), expected, "{order:?}");
            }
            CancelOrder { account, order: OrderName::Id(order) } => {
                let account = number(model, account);
                let canceled = self.exchange.cancel(account, order.0 as i64).await.unwrap();
                assert_eq!(canceled, accepted, "{entry:?}: {reply:?}");
            }
        }
        let executed: Vec<String> = events.iter().filter_map(|event| self.executed_line(event)).collect();
        self.executed.extend(executed);
        assert_eq!(self.owner.executions().await as usize, self.executed.len(), "{entry:?}: {events:?}");
    }

    fn executed_line(&self, event: &Event) -> Option<String> {
        let Event::Executed { maker, aggressor, price, shares, .. } = event else { return None };
        let buys = self.model.order(*aggressor).side == terms::Side::Buy;
        let (buy, sell) = if buys { (aggressor, maker) } else { (maker, aggressor) };
        Some(format!("{buy}|{sell}|{price}|{shares}"))
    }

    /// Compares every row with the model.
    fn check(&self, database: &Database) {
        let model = &self.model;
        let rows = |sql: &str| database.sql(&format!("SET search_path = pricetime_baseline; {sql}"));
        let accounts = 0..model.accounts().count() as u32;
        let balances: Vec<String> =
            accounts.clone().map(|account| format!("{account}|{}", model.balance(AccountIndex(account)))).collect();
        assert_eq!(rows("SELECT id, trim_scale(balance) FROM accounts ORDER BY id"), balances);
        let mut positions: Vec<String> = accounts
            .flat_map(|account| model.symbols().enumerate().map(move |(symbol, name)| (account, symbol, name)))
            .map(|(account, symbol, name)| {
                (account, name, model.position(AccountIndex(account), SymbolIndex(symbol as u32)))
            })
            .filter(|(_, _, shares)| *shares != Position::ZERO)
            .map(|(account, name, shares)| format!("{account}|{name}|{shares}"))
            .collect();
        positions.sort();
        let mut found = rows("SELECT account, symbol, trim_scale(shares) FROM positions WHERE shares <> 0");
        found.sort();
        assert_eq!(found, positions);
        let executed =
            rows("SELECT buy_order, sell_order, trim_scale(price), trim_scale(shares) FROM executions ORDER BY id");
        assert_eq!(executed, self.executed);
        let orders = (1..=model.orders_placed()).map(|id| model.order(OrderId(id)));
        let open: Vec<String> = orders
            .filter(|order| !order.open.is_zero())
            .map(|order| format!("{}|{}|{}", order.id, order.limit, order.open))
            .collect();
        assert_eq!(
            rows("SELECT id, trim_scale(limit_price), trim_scale(open) FROM orders WHERE open > 0 ORDER BY id"),
            open
        );
    }
}

/// Plays a random market to its end.
async fn played(database: &Database, seed: u64) -> Both {
    Market::make(connected(database).await).await.unwrap();
    let owner = Owner::of(database).await;
    let exchange = Exchange::over(connected(database).await).await.unwrap();
    let mut both = Both { model: Model::new(), owner, exchange, executed: Vec::new() };
    let mut workload = Workload::new(seed);
    let mut sequence = terms::Sequence::ZERO;
    for _ in 0..COMMANDS {
        if let Op::Command(command) = as_the_baseline_knows_it(workload.next_op(&both.model)) {
            sequence = sequence.next();
            let time = Time(1_700_000_000_000_000 + sequence.0);
            both.apply(&Entry { sequence, time, command }).await;
        }
    }
    assert_eq!(both.owner.faults().await, Vec::<String>::new());
    assert_eq!(both.exchange.retries, 0, "nobody else is there");
    both
}

#[test]
fn one_transaction_an_order_does_what_the_model_does() {
    let database = crate::postgres::database();
    let mut executions = Vec::new();
    for seed in 1..=6 {
        let both = runtime().block_on(played(&database, seed));
        both.check(&database);
        executions.push(both.executed.len());
    }
    assert!(executions.iter().sum::<usize>() > 100, "markets in which little happens show little: {executions:?}");
}

fn load(connections: u64) -> LoadSettings {
    let (duration, warmup) = (Some(0.7), 0.1);
    LoadSettings { connections, duration, warmup, accounts: 100, symbols: 2, seed: 1, ..LoadSettings::default() }
}

#[test]
fn eight_connections_that_get_in_each_others_way_make_and_lose_nothing() {
    let database = crate::postgres::database();
    let mut looks = 0;
    let outcome = run_load(&database.url(), &load(8), &mut || looks += 1).unwrap();
    assert_eq!((outcome.invalid_because.clone(), looks), (Vec::new(), 2));
    let (requests, orders) = (outcome.counts.answered, outcome.counts.kinds["opened"]);
    assert!(requests > orders && orders > 0, "{requests} requests, {orders} orders");
    assert_eq!(outcome.latency.count, requests);
    let executed = database.sql("SELECT count(*) > 0 FROM pricetime_baseline.executions");
    assert_eq!(executed, ["t"]);
}

const MAKE_ACCOUNT: (i64, Decimal) = (1, Decimal::ONE_THOUSAND);

#[test]
fn an_order_that_another_overtakes_starts_again_and_is_counted() {
    let database = crate::postgres::database();
    let runtime = runtime();
    let mut exchange = runtime.block_on(async {
        Market::make(connected(&database).await).await.unwrap();
        let owner = Owner::of(&database).await;
        owner.create_account(MAKE_ACCOUNT.0, MAKE_ACCOUNT.1).await;
        owner.create_symbol("SPY").await;
        Exchange::over(connected(&database).await).await.unwrap()
    });
    database.sql("BEGIN; UPDATE pricetime_baseline.books SET turn = turn + 1 WHERE symbol = 'SPY'");
    std::thread::scope(|scope| {
        let placing = scope.spawn(|| {
            let order = Order {
                account: MAKE_ACCOUNT.0,
                symbol: "SPY",
                side: Side::Buy,
                limit: Decimal::TEN,
                shares: 3.into(),
            };
            let id = runtime.block_on(exchange.place(&order)).unwrap();
            (id, exchange.retries)
        });
        // A transaction sees the statistics once, unless it drops what it saw.
        let waits = "SELECT pg_stat_clear_snapshot(); SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE books%'";
        wait_until("the order to wait for its book", PATIENCE, || database.sql(waits).last().unwrap() == "1");
        database.sql("COMMIT");
        let (id, retries) = placing.join().unwrap();
        assert!(id.is_some());
        assert_eq!(retries, 1);
    });
    assert_eq!(database.sql("SELECT trim_scale(balance) FROM pricetime_baseline.accounts"), ["970"]);
}

/// A change to the rows, its undoing, and the fault that it must cause.
const SABOTAGE: [(&str, &str, &str); 6] = [
    (
        "UPDATE accounts SET balance = balance + 0.0000000000000001 WHERE id = 1",
        "UPDATE accounts SET balance = balance - 0.0000000000000001 WHERE id = 1",
        "money was made or lost",
    ),
    (
        "UPDATE positions SET shares = shares - 0.00000001 WHERE account = 7 AND symbol = 'SYM1'",
        "UPDATE positions SET shares = shares + 0.00000001 WHERE account = 7 AND symbol = 'SYM1'",
        "shares were made or lost: SYM1",
    ),
    (
        "UPDATE accounts SET balance = balance - created * 2 WHERE id = 2",
        "UPDATE accounts SET balance = balance + created * 2 WHERE id = 2",
        "somebody has less than nothing: account 2",
    ),
    (
        "UPDATE orders SET limit_price = limit_price + 100000 WHERE open > 0 AND buys",
        "UPDATE orders SET limit_price = limit_price - 100000 WHERE open > 0 AND buys",
        "a book is crossed: SYM",
    ),
    (
        "UPDATE orders SET canceled = canceled + 1 WHERE id = 3",
        "UPDATE orders SET canceled = canceled - 1 WHERE id = 3",
        "executed of it: order 3",
    ),
    (
        "UPDATE executions SET price = price + 1000 WHERE id = (SELECT min(id) FROM executions)",
        "UPDATE executions SET price = price - 1000 WHERE id = (SELECT min(id) FROM executions)",
        "an execution that its orders could not have agreed to",
    ),
];

#[test]
fn every_kind_of_wrong_row_is_found() {
    let database = crate::postgres::database();
    let outcome = run_load(&database.url(), &load(2), &mut || ()).unwrap();
    assert_eq!(outcome.invalid_because, Vec::<String>::new());
    let faults = || runtime().block_on(async { Owner::of(&database).await.faults().await });
    database.sql("SET search_path = pricetime_baseline");
    for (wrong, right, said) in SABOTAGE {
        database.sql(wrong);
        assert!(faults().iter().any(|fault| fault.contains(said)), "{wrong}: {:?}", faults());
        database.sql(right);
        assert_eq!(faults(), Vec::<String>::new(), "{right}");
    }
}

#[test]
fn a_run_whose_rows_were_changed_by_hand_is_invalid() {
    let database = crate::postgres::database();
    let mut looks = 0;
    // The change comes between the last order and the checks. The load's runtime has no room for another one.
    let mut change = || {
        looks += 1;
        if looks == 2 {
            let sql = "UPDATE pricetime_baseline.accounts SET balance = balance + 1 WHERE id = 5";
            std::thread::scope(|scope| scope.spawn(|| database.sql(sql)).join().unwrap());
        }
    };
    let outcome = run_load(&database.url(), &load(2), &mut change).unwrap();
    assert!(
        outcome.invalid_because.iter().any(|fault| fault.starts_with("money was made or lost")),
        "{:?}",
        outcome.invalid_because
    );
}

#[test]
fn the_command_prints_a_row_for_each_number_of_connections() {
    let database = crate::postgres::database();
    let output = Command::new(binary())
        .args(["baseline", "--connections", "1,3", "--seconds", "0.3", "--accounts", "100"])
        .env_clear()
        .env("PRICETIME_STORE", database.url().secret())
        .output()
        .unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{stdout}{stderr}");
    let rows = |connections: &str| {
        stdout.lines().filter(|line| line.trim_matches(['│', ' ']).split(' ').next() == Some(connections)).count()
    };
    assert_eq!((rows("1"), rows("3")), (1, 1), "{stdout}");
    assert!(stdout.contains("valid: every row was checked"), "{stdout}");
    let output =
        Command::new(binary()).args(["baseline", "--store", "postgres://postgres@127.0.0.1:1/none"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("refused"), "{output:?}");
}
