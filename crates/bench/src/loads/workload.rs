//! The requests of a load as bytes, and the right reply to each. It knows no sockets.

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use super::choice::{Choice, Mix, Next, OpenOrder, OrderKind};
use super::replies::{self, Kind};
use super::{Plan, Share, requests};
use crate::records::{LoadSettings, Recipe};

/// Digits of a new account's id: of a time in milliseconds, and six more that count up.
const NEW_ACCOUNT_DIGITS: usize = 19;
const NEW_ACCOUNTS_PER_MS: u64 = 1_000_000;

/// The expected reply to a request, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    account: u64,
    expected: Expected,
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    Created,
    /// The reply echoes these prepared bytes; `rests` when the order can be canceled later.
    Opened {
        echo: (u32, u32),
        rests: bool,
    },
    /// An order of a life is opened.
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

/// The verdict on a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Right(Kind),
    /// An error where the workload expects one.
    RightRefusal,
    /// An error where it expects none.
    Error,
    /// A reply of another kind, about something else, or not of this protocol.
    Wrong,
}

/// An endless row of requests.
pub struct Workload {
    load: LoadSettings,
    /// Whether a reply must echo its request as our server does; other servers may write attributes in another order.
    strict: bool,
    mix: Mix<Prepared>,
    /// The bytes of prepared requests.
    bytes: Vec<u8>,
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

#[derive(Clone, Copy)]
struct Prepared {
    account: u64,
    /// The ranges of the prepared bytes that hold the request, and what its reply must echo.
    request: (u32, u32),
    echo: (u32, u32),
}

impl Workload {
    /// Returns a thread's part of it, with its part of the orders that were opened beforehand.
    pub fn new(plan: &Plan, share: &Share, open: &[OpenOrder]) -> Workload {
        let load = &plan.load;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let next_account = (now * NEW_ACCOUNTS_PER_MS).saturating_add(share.number);
        let create = requests::frame(&requests::create(next_account, requests::BALANCE));
        let create_offset = create.find("\" balance").unwrap_or(0).saturating_sub(NEW_ACCOUNT_DIGITS);
        let mine = open.iter().skip(share.number as usize).step_by(share.of as usize).copied().collect();
        let mut bytes = Vec::new();
        let mix = Mix::new(load, load.seed.wrapping_add(share.number), mine, |order| prepare(order, &mut bytes));
        Workload {
            load: load.clone(),
            strict: plan.strict,
            mix,
            bytes,
            lives: VecDeque::new(),
            create: create.into_bytes(),
            create_offset,
            next_account,
            account_step: share.of,
            example: requests::frame(requests::EXAMPLE).into_bytes(),
        }
    }

    /// Appends the next request to `out`.
    pub fn append_next(&mut self, out: &mut Vec<u8>) -> Ask {
        match self.mix.next_request() {
            Next::Create => self.append_create(out),
            Next::Live => self.append_life(out),
            Next::Cancel(order) => about(out, order, "cancel", Expected::Canceled { id: order.id }),
            Next::Query(order) => about(out, order, "query", Expected::Status { id: order.id, lives: false }),
            Next::Example => {
                out.extend_from_slice(&self.example);
                Ask { account: 0, expected: Expected::Refused }
            }
            Next::Place { order: Prepared { account, request, echo }, rests } => {
                out.extend_from_slice(&self.bytes[request.0 as usize..request.1 as usize]);
                let recipe = self.load.workload;
                let expected = if recipe == Recipe::Raw {
                    Expected::Anything
                } else {
                    Expected::Opened { echo, rests: rests && recipe.needs_open_orders() }
                };
                Ask { account, expected }
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
                let symbol = account % self.load.symbols;
                let (symbol, shares) = (symbol as usize, 1 + account % 100);
                let order = Choice { account, symbol, buys: true, shares, cents: 14_500, kind: OrderKind::Limit };
                out.extend_from_slice(requests::place(&order).as_bytes());
                Ask { account, expected: Expected::LifeOpened }
            }
            Some(Life::Opened(order)) => about(out, order, "query", Expected::Status { id: order.id, lives: true }),
            Some(Life::Queried(order)) => about(out, order, "cancel", Expected::Canceled { id: order.id }),
        }
    }

    /// Judges the reply to this request; requests that follow from it are sent later.
    pub fn check(&mut self, ask: &Ask, reply: &[u8]) -> Verdict {
        let Some((kind, rest)) = replies::read(reply) else { return Verdict::Wrong };
        let account = ask.account;
        let order = |id| OpenOrder { account, id };
        let right = match (ask.expected, kind) {
            (Expected::Anything, _) => true,
            (Expected::Refused, Kind::Error) => return Verdict::RightRefusal,
            // A market order that overtook the order it was to meet may have executed a resting one.
            (Expected::Canceled { .. }, Kind::Error) if self.load.workload == Recipe::OrderTaking => {
                return Verdict::RightRefusal;
            }
            (_, Kind::Error) => return Verdict::Error,
            (Expected::Created, Kind::Created) => {
                if matches!(self.load.workload, Recipe::Lifecycle) {
                    self.lives.push_back(Life::Created(account));
                }
                true
            }
            (Expected::Opened { echo, rests }, Kind::Opened) => {
                let echoed = !self.strict
                    || rest
                        .get(1..)
                        .is_some_and(|rest| rest.starts_with(&self.bytes[echo.0 as usize..echo.1 as usize]));
                match replies::id(rest).filter(|_| rests) {
                    Some(id) => self.mix.open.push_back(order(id)),
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

/// Appends an order's request to the prepared bytes.
fn prepare(order: &Choice, bytes: &mut Vec<u8>) -> Prepared {
    let (request, attributes) = (requests::place(order), requests::order_attributes(order));
    let start = bytes.len();
    let echo = start + request.find(&attributes).unwrap_or(0);
    bytes.extend_from_slice(request.as_bytes());
    let echo = (echo as u32, (echo + attributes.len()) as u32);
    Prepared { account: order.account, request: (start as u32, bytes.len() as u32), echo }
}

fn about(out: &mut Vec<u8>, order: OpenOrder, child: &str, expected: Expected) -> Ask {
    requests::append_about(out, child, order.account, order.id);
    Ask { account: order.account, expected }
}
