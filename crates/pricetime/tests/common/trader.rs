//! A client that trades at random on one connection and remembers all its answers, and its requests without one. It
//! panics as soon as an answer contradicts an earlier one.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use model::workload::Random;

use super::client::{Client, NoReply, frame};
use super::decimal;
use super::orders::{Account, Done, Order, Placed, SYMBOLS, digest};
use super::reply::{Element, Status};
use super::server::{PATIENCE, connect};

/// The most traders: the orders of each have shares that differ in their last digits.
pub const TRADERS_MAX: i64 = 16;
const ACCOUNTS_MAX: usize = 6;
/// The number of live orders above which cancels prevail.
const LIVE_MAX: usize = 60;
const DOLLARS: i128 = 10i128.pow(16);
const SHARE: i64 = 100_000_000;

/// A client with accounts of its own.
pub struct Trader {
    index: usize,
    random: Random,
    pub accounts: Vec<Account>,
    /// The acknowledged orders that were not seen done.
    pub live: BTreeMap<u64, Order>,
    pub done: Vec<Done>,
    /// The executions of done orders: shares bought less shares sold, by symbol, price and second.
    pub traded: BTreeMap<(usize, i64, u64), i128>,
    /// The ids acknowledged since this was last emptied.
    pub new_ids: Vec<u64>,
    /// The requests without an answer, oldest first.
    pub pending: VecDeque<Request>,
    /// Whether a part of the reply to the oldest of them came.
    pub reply_began: bool,
    /// The number of acknowledged commands.
    pub acknowledged: u64,
    serial: i64,
    accounts_asked: usize,
}

/// A request as it was sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub body: String,
    pub items: Vec<Item>,
}

/// One child of a request.
#[derive(Clone, Debug)]
pub enum Item {
    Create(Account),
    Order(Placed),
    /// An order that must be refused.
    Refused,
    Cancel(u64),
    Query(u64),
    /// A query for a done order, by its place in the list of them.
    QueryDone(usize),
}

/// The end of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// Every request was answered.
    Finished,
    /// The server closed it.
    Closed,
    /// The connection broke.
    Reset,
    /// A request was refused because the server's database is away.
    Refused,
}

/// The refusal of a server that cannot reach its database.
const STORE_AWAY: &str = "store is away: nothing was changed";

impl Trader {
    /// Makes the trader of this index; the seed decides its actions.
    pub fn new(index: usize, seed: u64) -> Trader {
        assert!((index as i64) < TRADERS_MAX);
        Trader {
            index,
            random: Random::new(seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            accounts: Vec::new(),
            live: BTreeMap::new(),
            done: Vec::new(),
            traded: BTreeMap::new(),
            new_ids: Vec::new(),
            pending: VecDeque::new(),
            reply_began: false,
            acknowledged: 0,
            serial: 0,
            accounts_asked: 0,
        }
    }

    /// Creates the first accounts. Panics if the server does not answer.
    pub fn open_accounts(&mut self, xml: SocketAddr) {
        let mut client = connect(xml);
        for _ in 0..2 {
            let request = self.create();
            let reply = client.ask(&request.body);
            self.pending.push_back(request);
            self.answered(&reply);
        }
    }

    /// Sends requests, with several unanswered at a time, until the connection ends or all `requests` are answered.
    pub fn trade(&mut self, xml: SocketAddr, requests: usize) -> End {
        let depth = 1 + self.random.below(12);
        let Ok(mut client) = Client::connect(xml, PATIENCE) else { return End::Reset };
        let mut to_send = requests;
        let mut sending = true;
        loop {
            let mut bytes = Vec::new();
            while sending && to_send > 0 && self.pending.len() < depth {
                let request = self.request();
                bytes.extend(frame(&request.body));
                self.pending.push_back(request);
                to_send -= 1;
            }
            if !bytes.is_empty() && client.send(&bytes).is_err() {
                // There may still be replies to read.
                sending = false;
            }
            if self.pending.is_empty() {
                return End::Finished;
            }
            match client.reply() {
                Ok(reply) => {
                    self.answered(&reply);
                    if reply.contains(STORE_AWAY) {
                        return End::Refused;
                    }
                }
                Err(NoReply::Closed { reset, received }) => {
                    self.reply_began = !received.is_empty();
                    return if reset { End::Reset } else { End::Closed };
                }
                Err(NoReply::TimedOut { .. }) => panic!("nothing came for {PATIENCE:?}"),
            }
        }
    }

    /// Checks the answer to the oldest request and notes what it says.
    pub fn answered(&mut self, reply: &str) {
        let request = self.pending.pop_front().expect("a request for each reply");
        let elements = Element::parse(reply).children;
        let expected: usize = request.items.iter().map(Item::elements).sum();
        assert_eq!(elements.len(), expected, "{} got {reply}", request.body);
        let mut elements = elements.iter();
        let mut last_id: Option<u64> = None;
        for item in request.items {
            let element = elements.next().unwrap();
            let told = || format!("{} got {reply}", request.body);
            if element.text.contains(STORE_AWAY) {
                self.not_asked(&item);
                elements.by_ref().take(item.elements() - 1).for_each(|_| {});
                continue;
            }
            match item {
                Item::Create(account) => {
                    assert!(
                        element.name == "created" && elements.by_ref().take(SYMBOLS.len()).all(|e| e.name == "created"),
                        "{}",
                        told()
                    );
                    self.accounts.push(account);
                    self.acknowledged += 1 + 2 * SYMBOLS.len() as u64;
                }
                Item::Order(placed) => {
                    assert_eq!(element.name, "opened", "{}", told());
                    let id: u64 = element.get("id").parse().unwrap();
                    // The orders of one request have consecutive ids.
                    assert!(last_id.is_none_or(|last| id == last + 1), "{}", told());
                    last_id = Some(id);
                    self.add(id, Order::new(placed));
                    self.acknowledged += 1;
                }
                Item::Refused => assert_eq!(
                    (element.name.as_str(), element.text.as_str()),
                    ("error", "Unknown symbol"),
                    "{}",
                    told()
                ),
                Item::Cancel(id) => {
                    self.acknowledged += 1;
                    if element.name == "canceled" {
                        let status = Status::of(element);
                        assert!(status.canceled.is_some() && self.live.contains_key(&id), "{}", told());
                        self.look(id, status);
                    } else {
                        assert_eq!(element.text, "Order has nothing open to cancel", "{}", told());
                        // An earlier reply may have said already that this order is done.
                        if let Some(order) = self.live.get_mut(&id) {
                            order.nothing_open = true;
                        }
                    }
                }
                Item::Query(id) => {
                    assert_eq!(element.name, "status", "{}", told());
                    self.look(id, Status::of(element));
                }
                Item::QueryDone(place) => {
                    let status = Status::of(element);
                    assert_eq!(digest(&status), self.done[place].digest, "a done order changed: {}", told());
                }
            }
        }
    }

    /// Forgets the client order id of a request that was refused and changed nothing.
    fn not_asked(&mut self, item: &Item) {
        if let Item::Cancel(id) = item
            && let Some(order) = self.live.get_mut(id)
        {
            order.cancel_sent = false;
        }
    }

    /// Notes an order that exists.
    pub fn add(&mut self, id: u64, order: Order) {
        self.new_ids.push(id);
        let before = self.live.insert(id, order);
        assert!(before.is_none(), "order id {id} was given twice");
    }

    /// Notes the status of an order that was open when its status was last seen.
    pub fn look(&mut self, id: u64, status: Status) {
        match self.live.get_mut(&id) {
            Some(order) => {
                order.look(id, status);
                self.archive_if_done(id);
            }
            // An earlier request of the same connection saw that the order is done.
            None => {
                let done = self.done.iter().rev().find(|done| done.id == id).expect("an order of this trader");
                assert_eq!(digest(&status), done.digest, "done order {id} changed to {status:?}");
            }
        }
    }

    fn archive_if_done(&mut self, id: u64) {
        let Some(status) = self.live.get(&id).and_then(Order::done) else { return };
        let status = status.clone();
        let placed = self.live.remove(&id).expect("found above").placed;
        let account = &mut self.accounts[placed.account];
        let (money, shares) = placed.traded(&status);
        account.money_traded += money;
        account.shares_traded[placed.symbol] += shares;
        count_executions(&mut self.traded, &placed, &status);
        self.done.push(Done { id, account: placed.account, digest: digest(&status) });
    }

    fn request(&mut self) -> Request {
        if self.accounts_asked < ACCOUNTS_MAX && self.random.below(400) == 0 {
            return self.create();
        }
        let account = self.random.below(self.accounts.len());
        let mut request =
            Request { body: format!("<transactions id=\"{}\">", self.accounts[account].id), items: Vec::new() };
        for _ in 0..1 + self.random.below(4) {
            let (text, item) = self.child(account);
            request.body.push_str(&text);
            request.items.push(item);
        }
        request.body.push_str("</transactions>");
        request
    }

    fn child(&mut self, account: usize) -> (String, Item) {
        let cancels = if self.live.len() > LIVE_MAX { 60 } else { 20 };
        match self.random.below(100) {
            0..3 => ("<order sym=\"NONE\" amount=\"1\" limit=\"1\"/>".to_string(), Item::Refused),
            3..6 if !self.done.is_empty() => {
                let place = self.random.below(self.done.len());
                if self.done[place].account != account {
                    return self.order(account);
                }
                (format!("<query id=\"{}\"/>", self.done[place].id), Item::QueryDone(place))
            }
            6..16 => match self.any_live(account, false) {
                Some(id) => (format!("<query id=\"{id}\"/>"), Item::Query(id)),
                None => self.order(account),
            },
            roll if roll < 16 + cancels => match self.any_live(account, true) {
                Some(id) => {
                    self.live.get_mut(&id).expect("just found").cancel_sent = true;
                    (format!("<cancel id=\"{id}\"/>"), Item::Cancel(id))
                }
                None => self.order(account),
            },
            _ => self.order(account),
        }
    }

    fn any_live(&mut self, account: usize, to_cancel: bool) -> Option<u64> {
        let fits = |order: &Order| order.placed.account == account && !(to_cancel && order.cancel_sent);
        let fitting: Vec<u64> = self.live.iter().filter(|(_, order)| fits(order)).map(|(id, _)| *id).collect();
        (!fitting.is_empty()).then(|| fitting[self.random.below(fitting.len())])
    }

    fn order(&mut self, account: usize) -> (String, Item) {
        let symbol = self.random.below(SYMBOLS.len());
        let buy = self.random.percent(50);
        let limit = (9_900 + self.random.below(20) as i64 * 10) * (SHARE / 100);
        self.serial += 1;
        let tail = self.serial * TRADERS_MAX + self.index as i64;
        assert!(tail < SHARE, "a test has at most so many orders");
        let shares = (1 + self.random.below(9) as i64) * SHARE + tail;
        let amount = decimal::text(if buy { shares } else { -shares });
        let text =
            format!("<order sym=\"{}\" amount=\"{amount}\" limit=\"{}\"/>", SYMBOLS[symbol], decimal::text(limit));
        (text, Item::Order(Placed { account, symbol, buy, limit, shares }))
    }

    fn create(&mut self) -> Request {
        let id = format!("{}{:03}", self.index + 1, self.accounts_asked);
        let number = (self.index * ACCOUNTS_MAX + self.accounts_asked) as i128;
        self.accounts_asked += 1;
        let (dollars, shares) = (1_000_000_000 + number, 10_000_000 + number);
        let mut body = format!("<create><account id=\"{id}\" balance=\"{dollars}\"/>");
        for symbol in SYMBOLS {
            body.push_str(&format!("<symbol sym=\"{symbol}\"><account id=\"{id}\">{shares}</account></symbol>"));
        }
        body.push_str("</create>");
        let account = Account {
            id,
            created: dollars * DOLLARS,
            issued: [shares * i128::from(SHARE); SYMBOLS.len()],
            money_traded: 0,
            shares_traded: [0; SYMBOLS.len()],
        };
        Request { body, items: vec![Item::Create(account)] }
    }
}

impl Item {
    fn elements(&self) -> usize {
        match self {
            Item::Create(_) => 1 + SYMBOLS.len(),
            Item::Order(_) | Item::Refused | Item::Cancel(_) | Item::Query(_) | Item::QueryDone(_) => 1,
        }
    }
}

/// Adds the shares that an order bought, or subtracts those that it sold. Sums of zero are removed.
pub fn count_executions(traded: &mut BTreeMap<(usize, i64, u64), i128>, placed: &Placed, status: &Status) {
    for executed in &status.executed {
        let key = (placed.symbol, executed.price, executed.time);
        let sum = traded.entry(key).or_default();
        *sum += i128::from(if placed.buy { executed.shares } else { -executed.shares });
        if *sum == 0 {
            traded.remove(&key);
        }
    }
}
