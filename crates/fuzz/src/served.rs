//! HTTP over streams in memory, and the texts of its clients: a head, and signatures.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use binance::{Binance, Key, Keys};
use exchange::Exchange;
use hmac::{Hmac, KeyInit, Mac};
use http_gateway::{HttpBackend, InMemory};
use sha2::Sha256;
use terms::AccountId;
use tokio::runtime::Runtime;

use crate::memory_market::MemoryMarket;
use crate::talk::{runtime, talk};

const KEY: &str = "fuzz";
const SECRET: &str = "secret";
/// The word that a signature replaces.
const SIGNED: &[u8] = b"signed";

/// The routes, and the market behind them.
pub(crate) struct Served {
    runtime: Runtime,
    routes: InMemory,
    _behind: MemoryMarket,
}

impl Served {
    pub(crate) fn new() -> Served {
        let (runtime, behind) = (runtime(), MemoryMarket::new());
        let exchange: Arc<dyn Exchange> = behind.exchange.clone();
        let account = AccountId::parse(b"1").expect("a number");
        let mut keys = Keys::default();
        keys.add(Key { key: KEY.to_owned(), secret: SECRET.to_owned(), account });
        let market = HttpBackend {
            exchange,
            asker: behind.asker(),
            records: None,
            xml_port: 0,
            fix_port: 0,
            sandbox: None,
            audit: None,
            past: None,
            time: terms::Time(0),
        };
        let routes = {
            let _entered = runtime.enter();
            InMemory::new(market, None, behind.metrics.clone(), Some(&Binance::new(keys)))
        };
        Served { runtime, routes, _behind: behind }
    }

    /// The connection's answer to these bytes.
    pub(crate) fn answer(&self, bytes: &[u8]) -> Vec<u8> {
        let routes = self.routes.clone();
        self.runtime.block_on(talk(bytes, |stream| async move { routes.serve(stream).await }))
    }
}

/// The rest of a request behind the first line's target.
pub(crate) fn head() -> Vec<u8> {
    format!(" HTTP/1.1\r\nhost: localhost\r\nx-mbx-apikey: {KEY}\r\n").into_bytes()
}

/// The text with a time and a signature in place of the word `signed`, if it is there.
pub(crate) fn signed(text: &[u8]) -> Vec<u8> {
    let Some(at) = text.windows(SIGNED.len()).position(|some| some == SIGNED) else { return text.to_vec() };
    let parameters = text[..at].iter().position(|byte| *byte == b'?').map_or(0, |before| before.saturating_add(1));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let mut signed = text[..at].to_vec();
    signed.extend(format!("timestamp={now}").into_bytes());
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any length is a key's");
    mac.update(&signed[parameters..]);
    let signature: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    signed.extend(format!("&signature={signature}").into_bytes());
    signed.extend_from_slice(&text[at.saturating_add(SIGNED.len())..]);
    signed
}
