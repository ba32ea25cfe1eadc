//! The requests, as bytes made beforehand, and what a right reply to them looks like. No sockets, no clock but the one
//! that makes account ids new.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

/// Prepared requests are sent round and round.
const PREPARED: usize = 1 << 16;
/// Digits of a new account's id that count up.
const COUNTER_DIGITS: usize = 10;

/// An endless row of requests.
pub struct Workload {
    bytes: Vec<u8>,
    requests: Vec<Range<usize>>,
    next: usize,
    reply_start: &'static [u8],
    reply_end: &'static [u8],
    /// Where in a request the number of the request is written, in decimal.
    counter: Option<Counter>,
}

struct Counter {
    offset: usize,
    value: u64,
}

/// An order to query, and whose it is.
pub struct OpenOrder {
    pub account: u32,
    pub id: u64,
}

impl Workload {
    /// Buys and sells that all rest: the buys' prices below the sells', each price once a round and symbol.
    pub fn orders(accounts: u32, symbols: u32, seed: u64) -> Workload {
        let mut random = Random(seed);
        let mut workload = Workload::empty(b"<results><opened");
        for number in 0..PREPARED {
            let symbol = number % symbols as usize;
            let buys = (number / symbols as usize).is_multiple_of(2);
            // An odd factor makes a permutation of the numbers below a power of two.
            let cents = number.wrapping_mul(40_503) % PREPARED + if buys { 1 } else { 100_001 };
            let shares = 1 + random.below(100);
            let account = 1 + random.below(u64::from(accounts));
            workload.push(&order(account, symbol, if buys { "" } else { "-" }, shares, cents));
        }
        workload
    }

    /// A buy and a sell in turn, at prices that always cross, of amounts that are equal in the long run: what a book
    /// holds open stays small, and many executions are partial.
    pub fn crossing(accounts: u32, symbols: u32, seed: u64) -> Workload {
        let mut random = Random(seed);
        let symbols = symbols as usize;
        let pairs = (PREPARED / 2 / symbols).max(1) * symbols;
        let shares: Vec<u64> = (0..pairs).map(|_| 1 + random.below(100)).collect();
        let mut workload = Workload::empty(b"<results><opened");
        for pair in 0..pairs {
            let symbol = pair % symbols;
            let tick = random.below(10) as usize;
            let [buyer, seller] = [(); 2].map(|()| 1 + random.below(u64::from(accounts)));
            workload.push(&order(buyer, symbol, "", shares[pair], 10_000 + tick));
            // The next pair of the same symbol lends its amount.
            workload.push(&order(seller, symbol, "-", shares[(pair + symbols) % pairs], 10_000 - tick));
        }
        workload
    }

    /// Accounts that exist nowhere yet.
    pub fn create() -> Workload {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let body = format!(
            "{}<create>\n  <account id=\"{now}{:0>COUNTER_DIGITS$}\" balance=\"100000\"/>\n</create>\n",
            XML_DECLARATION, 0
        );
        let mut workload = Workload::empty(b"<results><created");
        workload.push(&body);
        let marker = b"\" balance";
        let at = workload.bytes.windows(marker.len()).position(|window| window == marker);
        let offset = at.expect("invariant: the request names a balance") - COUNTER_DIGITS;
        workload.counter = Some(Counter { offset, value: 0 });
        workload
    }

    /// Queries of `orders`, in their order.
    pub fn query(orders: &[OpenOrder]) -> Workload {
        let mut workload = Workload::empty(b"<results><status");
        for OpenOrder { account, id } in orders {
            let child = format!("<query id=\"{id}\"/>");
            workload.push(&transactions(u64::from(*account), &child));
        }
        workload
    }

    /// `SET` of one key to 200 bytes, as `redis-benchmark -t set -d 200` sends it.
    pub fn redis_set() -> Workload {
        let mut workload = Workload::empty(b"+OK");
        workload.reply_end = b"\r\n";
        let key = "key:__rand_int__";
        let value = "x".repeat(200);
        let bytes = format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n{value}\r\n", key.len(), value.len());
        workload.push_raw(bytes.as_bytes());
        workload
    }

    /// Appends the next request to `out`.
    pub fn append_next(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes[self.requests[self.next].clone()]);
        self.next += 1;
        if self.next == self.requests.len() {
            self.next = 0;
        }
        if let Some(counter) = &mut self.counter {
            let at = start + counter.offset;
            write_decimal(&mut out[at..at + COUNTER_DIGITS], counter.value);
            counter.value += 1;
        }
    }

    /// Whether `reply`, one line with its end, is what a request of this workload should get.
    pub fn accepts(&self, reply: &[u8]) -> bool {
        reply.starts_with(self.reply_start) && reply.ends_with(self.reply_end)
    }

    fn empty(reply_start: &'static [u8]) -> Workload {
        let (bytes, requests) = (Vec::new(), Vec::new());
        Workload { bytes, requests, next: 0, reply_start, reply_end: b"</results>\n", counter: None }
    }

    fn push(&mut self, body: &str) {
        self.push_raw(frame(body).as_bytes());
    }

    fn push_raw(&mut self, request: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(request);
        self.requests.push(start..self.bytes.len());
    }
}

const XML_DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// `body` with its length line.
pub fn frame(body: &str) -> String {
    format!("{}\n{body}", body.len())
}

/// A request of `account` with these children, laid out as the protocol's published examples are.
pub fn transactions(account: u64, children: &str) -> String {
    format!("{XML_DECLARATION}<transactions id=\"{account}\">\n  {children}\n</transactions>\n")
}

/// The name of the symbol of this number.
pub fn symbol_name(number: usize) -> String {
    format!("SYM{number}")
}

/// An `<order>`; `sign` is `-` for a sell.
pub fn order_child(symbol: usize, sign: &str, shares: u64, cents: usize) -> String {
    let sym = symbol_name(symbol);
    format!("<order sym=\"{sym}\" amount=\"{sign}{shares}\" limit=\"{}.{:02}\"/>", cents / 100, cents % 100)
}

fn order(account: u64, symbol: usize, sign: &str, shares: u64, cents: usize) -> String {
    transactions(account, &order_child(symbol, sign, shares, cents))
}

fn write_decimal(out: &mut [u8], value: u64) {
    let mut rest = value;
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// SplitMix64: the same choices for the same seed, everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
