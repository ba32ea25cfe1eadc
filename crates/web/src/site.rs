//! What all handlers share: how the server stands, and the market once there is one.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use feed::{Asker, Scene};
use gateway::{Counters, Exchange, Pulse, Status};
use tokio::sync::oneshot;

use crate::desk::Desk;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::telling::Telling;
use crate::vitals::Vitals;

/// What the server says of itself.
#[derive(Clone, Debug)]
pub struct About {
    pub version: &'static str,
    /// A market of play money and simulated traders.
    pub demo: bool,
    /// Where the market is kept: `journal` or `postgres`.
    pub store: &'static str,
}

/// The market that is served.
pub struct Market {
    pub about: About,
    pub exchange: Arc<dyn Exchange>,
    pub asker: Asker<Hub>,
    /// What the XML gateway has done so far.
    pub counters: Box<dyn Fn() -> Counters + Send>,
    /// How long answers take.
    pub pulse: Pulse,
}

/// What is left of it once it is served.
pub(crate) struct Served {
    pub(crate) about: About,
    pub(crate) asker: Asker<Hub>,
    pub(crate) desk: Desk,
}

/// Shared by all handlers.
#[derive(Clone)]
pub(crate) struct Site(Arc<Inner>);

struct Inner {
    status: Status,
    started: Instant,
    market: OnceLock<Served>,
    /// Hosts that requests may name, beyond the usual ones.
    hosts: Vec<String>,
    telling: Telling,
}

impl Site {
    pub(crate) fn new(status: Status, hosts: Vec<String>) -> Site {
        Site(Arc::new(Inner {
            status,
            started: Instant::now(),
            market: OnceLock::new(),
            hosts,
            telling: Telling::default(),
        }))
    }

    /// Serves a market from now on. Within the runtime.
    pub(crate) fn open(&self, market: Market) {
        let Market { about, exchange, asker, counters, pulse } = market;
        let telling = self.0.telling.clone();
        asker.ask(move |scene| scene.watcher.count_with(telling));
        asker.ask(move |scene| scene.watcher.measure_with(Vitals::new(counters, pulse, &scene.view)));
        if self.0.market.set(Served { about, asker, desk: Desk::new(exchange) }).is_err() {
            tracing::error!("a market is served already");
        }
    }

    pub(crate) fn status(&self) -> &Status {
        &self.0.status
    }

    pub(crate) fn started(&self) -> Instant {
        self.0.started
    }

    /// Counts what writing to subscribers costs.
    pub(crate) fn telling(&self) -> &Telling {
        &self.0.telling
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.0.hosts
    }

    pub(crate) fn market(&self) -> Result<&Served, Problem> {
        self.0.market.get().ok_or_else(Problem::not_ready)
    }

    pub(crate) fn desk(&self) -> Result<&Desk, Problem> {
        self.market().map(|market| &market.desk)
    }

    /// Looks at the market as it is after all that was answered so far.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Scene<Hub>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (told, seen) = oneshot::channel();
        self.market()?.asker.ask(move |scene| drop(told.send(look(scene))));
        seen.await.map_err(|_| Problem::not_ready())
    }
}
