//! What is sent, in which order, and what a right reply to each request is. No sockets.
//!
//! Throughput is counted in requests. An `order` load is two orders in three requests: of six requests two are a buy and
//! a sell that execute against each other, two are orders that rest, and two cancel orders that rested before; so half
//! of the orders execute and the number of open ones stays where it was.

use std::collections::VecDeque;
use std::ops::Range;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::choice::{self, Choice, Random};
use super::replies::{self, Kind};
use super::requests;

/// Prepared requests are sent round and round.
pub const PREPARED: usize = 1 << 16;
/// Digits of a new account's id: of a time in milliseconds, and six more that count up.
const NEW_ACCOUNT_DIGITS: usize = 19;
const NEW_ACCOUNTS_PER_MS: u64 = 1_000_000;

/// The loads by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    Create,
    Order,
    OrderResting,
    OrderCrossing,
    Lifecycle,
    Mix,
    Query,
    EchoExample,
    Raw,
}

impl Recipe {
    /// With the names that they have on the command line.
    pub const NAMES: [(&str, Recipe); 9] = [
        ("create", Recipe::Create),
        ("order", Recipe::Order),
        ("order-resting", Recipe::OrderResting),
        ("order-crossing", Recipe::OrderCrossing),
        ("lifecycle", Recipe::Lifecycle),
        ("mix", Recipe::Mix),
        ("query", Recipe::Query),
        ("echo-example", Recipe::EchoExample),
        ("raw", Recipe::Raw),
    ];

    /// Whether accounts with money and shares must be there.
    pub fn needs_accounts(self) -> bool {
        !matches!(self, Recipe::Create | Recipe::Lifecycle | Recipe::EchoExample | Recipe::Raw)
    }

    /// Whether it asks about or cancels orders that rested before.
    pub fn needs_open_orders(self) -> bool {
        matches!(self, Recipe::Order | Recipe::Mix | Recipe::Query)
    }

    /// Which kind of request comes at this place of its round.
    pub fn step(self, place: usize) -> Step {
        use Step::{Cancel, Cross, Query, Rest};
        const ORDER: [Step; 6] = [Cross, Rest, Cancel, Cross, Rest, Cancel];
        const MIX: [Step; 10] = [Cross, Rest, Cancel, Cross, Rest, Cancel, Cross, Rest, Cancel, Query];
        match self {
            Recipe::Create => Step::Create,
            Recipe::Order => ORDER[place % ORDER.len()],
            Recipe::OrderResting | Recipe::Raw => Rest,
            Recipe::OrderCrossing => Cross,
            Recipe::Lifecycle => Step::Live,
            Recipe::Mix => MIX[place % MIX.len()],
            Recipe::Query => Query,
            Recipe::EchoExample => Step::Example,
        }
    }
}

impl FromStr for Recipe {
    type Err = String;

    fn from_str(name: &str) -> Result<Recipe, String> {
        let names: Vec<&str> = Recipe::NAMES.iter().map(|(name, _)| *name).collect();
        let found = Recipe::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, recipe)| *recipe).ok_or_else(|| format!("unknown workload {name}; one of {}", names.join(", ")))
    }
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Create,
    /// The next request of a life that goes on, or the first of a new one.
    Live,
    Cross,
    Rest,
    Cancel,
    Query,
    Example,
}

/// An order, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct OpenOrder {
    pub account: u64,
    pub id: u64,
}

/// What the reply to a request must be, and what it leads to.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    account: u64,
    expected: Expected,
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    Created,
    /// Echoes what stands there among the prepared bytes; `rests` when it can be cancelled later.
    Opened {
        echo: (u32, u32),
        rests: bool,
    },
    /// Opened in a life of its own.
    LifeOpened,
    Status {
        id: u64,
        lives: bool,
    },
    Canceled {
        id: u64,
    },
    Refused,
    Anything,
}

/// What a reply turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right(Kind),
    /// An error where the workload expects one.
    RightRefusal,
    /// An error where it expects none.
    Error,
    /// Of another kind, about something else, or no reply of this protocol.
    Wrong,
}

/// Which share of a load one thread makes.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub number: u64,
    pub of: u64,
}

/// What a workload is made from.
#[derive(Clone, Debug)]
pub struct Settings {
    pub recipe: Recipe,
    pub accounts: u64,
    pub symbols: u64,
    pub seed: u64,
    /// A reply must echo its request as our server does; others may write attributes in another order.
    pub strict: bool,
}

/// An endless row of requests.
pub struct Workload {
    settings: Settings,
    place: usize,
    bytes: Vec<u8>,
    resting: Ring,
    crossing: Ring,
    /// Orders that rest, oldest first.
    open: VecDeque<OpenOrder>,
    /// Lives that wait for their next request.
    lives: VecDeque<Life>,
    create: Vec<u8>,
    create_offset: usize,
    next_account: u64,
    account_step: u64,
    example: Vec<u8>,
}

enum Life {
    Created(u64),
    Opened(OpenOrder),
    Queried(OpenOrder),
}

#[derive(Default)]
struct Ring {
    orders: Vec<Prepared>,
    next: usize,
}

struct Prepared {
    account: u64,
    request: Range<usize>,
    echo: (u32, u32),
}

impl Ring {
    fn turn(&mut self) -> usize {
        let at = self.next;
        self.next = if at + 1 == self.orders.len() { 0 } else { at + 1 };
        at
    }
}

impl Workload {
    /// A thread's part of it, with its part of the orders that were opened beforehand.
    pub fn new(settings: &Settings, part: Part, open: &[OpenOrder]) -> Workload {
        let recipe = settings.recipe;
        let mut random = Random(settings.seed.wrapping_add(part.number));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let next_account = (now * NEW_ACCOUNTS_PER_MS).saturating_add(part.number);
        let create = requests::frame(&requests::create(next_account, requests::BALANCE));
        let create_offset = create.find("\" balance").unwrap_or(0).saturating_sub(NEW_ACCOUNT_DIGITS);
        let mine = open.iter().skip(part.number as usize).step_by(part.of as usize);
        let mut workload = Workload {
            settings: settings.clone(),
            place: 0,
            bytes: Vec::new(),
            resting: Ring::default(),
            crossing: Ring::default(),
            open: mine.copied().collect(),
            lives: VecDeque::new(),
            create: create.into_bytes(),
            create_offset,
            next_account,
            account_step: part.of,
            example: requests::frame(requests::EXAMPLE).into_bytes(),
        };
        if matches!(recipe, Recipe::Order | Recipe::OrderResting | Recipe::Mix | Recipe::Raw) {
            let choices = choice::resting(&mut random, settings.accounts, settings.symbols, PREPARED);
            workload.resting.orders = choices.iter().map(|order| workload.prepare(order)).collect();
        }
        if matches!(recipe, Recipe::Order | Recipe::OrderCrossing | Recipe::Mix) {
            let choices = choice::crossing(&mut random, settings.accounts, settings.symbols, PREPARED);
            workload.crossing.orders = choices.iter().map(|order| workload.prepare(order)).collect();
        }
        workload
    }

    fn prepare(&mut self, order: &Choice) -> Prepared {
        let &Choice { account, symbol, buys, shares, cents } = order;
        let attributes = requests::order_attributes(symbol, if buys { "" } else { "-" }, shares, cents);
        let request = requests::frame(&requests::transactions(account, &format!("<order {attributes}/>")));
        let start = self.bytes.len();
        let echo = start + request.find(&attributes).unwrap_or(0);
        self.bytes.extend_from_slice(request.as_bytes());
        let echo = (echo as u32, (echo + attributes.len()) as u32);
        Prepared { account, request: start..self.bytes.len(), echo }
    }

    /// Appends the next request to `out`.
    pub fn append_next(&mut self, out: &mut Vec<u8>) -> Ask {
        let step = self.settings.recipe.step(self.place);
        self.place = self.place.wrapping_add(1);
        match step {
            Step::Create => self.append_create(out),
            Step::Live => self.append_life(out),
            Step::Cross => self.append_order(out, false),
            Step::Rest => self.append_order(out, true),
            Step::Cancel => match self.open.pop_front() {
                Some(order) => about(out, order, "cancel", Expected::Canceled { id: order.id }),
                // More requests are under way than orders were open: one is opened instead.
                None => self.append_order(out, true),
            },
            Step::Query => match self.open.pop_front() {
                Some(order) => {
                    self.open.push_back(order);
                    about(out, order, "query", Expected::Status { id: order.id, lives: false })
                }
                None => self.append_order(out, true),
            },
            Step::Example => {
                out.extend_from_slice(&self.example);
                Ask { account: 0, expected: Expected::Refused }
            }
        }
    }

    fn append_create(&mut self, out: &mut Vec<u8>) -> Ask {
        let (start, account) = (out.len(), self.next_account);
        self.next_account += self.account_step;
        out.extend_from_slice(&self.create);
        let at = start + self.create_offset;
        requests::write_decimal(&mut out[at..at + NEW_ACCOUNT_DIGITS], account);
        Ask { account, expected: Expected::Created }
    }

    fn append_life(&mut self, out: &mut Vec<u8>) -> Ask {
        match self.lives.pop_front() {
            None => self.append_create(out),
            Some(Life::Created(account)) => {
                let symbol = account % self.settings.symbols;
                let attributes = requests::order_attributes(symbol as usize, "", 1 + account % 100, 14_500);
                let request = requests::transactions(account, &format!("<order {attributes}/>"));
                out.extend_from_slice(requests::frame(&request).as_bytes());
                Ask { account, expected: Expected::LifeOpened }
            }
            Some(Life::Opened(order)) => about(out, order, "query", Expected::Status { id: order.id, lives: true }),
            Some(Life::Queried(order)) => about(out, order, "cancel", Expected::Canceled { id: order.id }),
        }
    }

    fn append_order(&mut self, out: &mut Vec<u8>, rests: bool) -> Ask {
        let ring = if rests { &mut self.resting } else { &mut self.crossing };
        let at = ring.turn();
        let Prepared { account, request, echo } = &ring.orders[at];
        out.extend_from_slice(&self.bytes[request.clone()]);
        let expected = match self.settings.recipe {
            Recipe::Raw => Expected::Anything,
            _ => Expected::Opened { echo: *echo, rests: rests && self.settings.recipe.needs_open_orders() },
        };
        Ask { account: *account, expected }
    }

    /// Whether `reply` is what this request must get; what follows from it is sent later.
    pub fn check(&mut self, ask: &Ask, reply: &[u8]) -> Verdict {
        let Some((kind, rest)) = replies::read(reply) else { return Verdict::Wrong };
        let account = ask.account;
        let order = |id| OpenOrder { account, id };
        let right = match (ask.expected, kind) {
            (Expected::Anything, _) => true,
            (Expected::Refused, Kind::Error) => return Verdict::RightRefusal,
            (_, Kind::Error) => return Verdict::Error,
            (Expected::Created, Kind::Created) => {
                if matches!(self.settings.recipe, Recipe::Lifecycle) {
                    self.lives.push_back(Life::Created(account));
                }
                true
            }
            (Expected::Opened { echo, rests }, Kind::Opened) => {
                let echoed = !self.settings.strict
                    || rest
                        .get(1..)
                        .is_some_and(|rest| rest.starts_with(&self.bytes[echo.0 as usize..echo.1 as usize]));
                match replies::id(rest).filter(|_| rests) {
                    Some(id) => self.open.push_back(order(id)),
                    None if rests => return Verdict::Wrong,
                    None => {}
                }
                echoed
            }
            (Expected::LifeOpened, Kind::Opened) => {
                let id = replies::id(rest);
                self.lives.extend(id.map(|id| Life::Opened(order(id))));
                id.is_some()
            }
            (Expected::Status { id, lives }, Kind::Status) => {
                self.lives.extend(lives.then(|| Life::Queried(order(id))));
                replies::id(rest) == Some(id)
            }
            (Expected::Canceled { id }, Kind::Canceled) => replies::id(rest) == Some(id),
            (_, _) => false,
        };
        if right { Verdict::Right(kind) } else { Verdict::Wrong }
    }
}

fn about(out: &mut Vec<u8>, order: OpenOrder, child: &str, expected: Expected) -> Ask {
    requests::append_about(out, child, order.account, order.id);
    Ask { account: order.account, expected }
}
