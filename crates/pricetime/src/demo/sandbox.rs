//! The demo's traders, which an operator of a running server starts and stops.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use exchange::{Exchange, GatewayMetrics};
use http_gateway::{Sandbox, SandboxAccount, SandboxPlan, SandboxStanding};
use terms::Symbol;

use super::crowd::{Crowd, Pace, STRATEGIES};
use super::trade;
use super::venue::Live;

/// The traders of a server, which wait to be started.
pub struct Traders {
    exchange: Arc<dyn Exchange>,
    metrics: GatewayMetrics,
    stop: Arc<AtomicBool>,
    commands: Arc<AtomicU64>,
    state: Mutex<SandboxState>,
}

struct SandboxState {
    plan: SandboxPlan,
    /// The running crowd's thread, which returns the crowd when it has stopped; none if the market had ended.
    running: Option<JoinHandle<Option<Crowd>>>,
    /// The crowd as it stopped, with the seed with which it began.
    rests: Option<(u64, Crowd)>,
}

impl Traders {
    pub fn new(exchange: Arc<dyn Exchange>, metrics: GatewayMetrics) -> Traders {
        let plan = SandboxPlan { rate: 50, seed: 1, strategies: STRATEGIES.to_vec() };
        let state = Mutex::new(SandboxState { plan, running: None, rests: None });
        Traders { exchange, metrics, stop: Arc::default(), commands: Arc::default(), state }
    }

    /// Stops the traders with the server, and waits for that.
    pub fn end(&self) {
        self.stop.store(true, Ordering::Release);
        let running = self.lock().running.take();
        if let Some(running) = running {
            // The thread has reported its own panic.
            drop(running.join());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SandboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SandboxState {
    /// Notes that the traders have stopped, if they have.
    fn tend(&mut self) {
        if let Some(ended) = self.running.take_if(|running| running.is_finished()) {
            let crowd = ended.join().ok().flatten();
            self.rests = crowd.map(|crowd| (self.plan.seed, crowd));
        }
    }
}

impl Sandbox for Traders {
    fn accounts(&self) -> Vec<SandboxAccount> {
        Crowd::accounts().map(|(account, name, strategy)| SandboxAccount { account, name, strategy }).collect()
    }

    fn symbols(&self) -> Vec<Symbol> {
        Crowd::symbols().collect()
    }

    fn strategies(&self) -> &'static [&'static str] {
        &STRATEGIES
    }

    fn standing(&self) -> SandboxStanding {
        let mut state = self.lock();
        state.tend();
        let is_there = state.running.is_some();
        let stopping = is_there && self.stop.load(Ordering::Acquire);
        let commands = self.commands.load(Ordering::Relaxed);
        SandboxStanding { running: is_there && !stopping, stopping, plan: state.plan.clone(), commands }
    }

    fn start(&self, plan: SandboxPlan, opens: bool) -> Result<(), String> {
        let mut state = self.lock();
        state.tend();
        if state.running.is_some() {
            return Err(
                "the simulated traders trade already, or are stopping: stop them first, and start them then".to_owned()
            );
        }
        let SandboxPlan { rate, seed, .. } = plan;
        // With the same seed the crowd continues.
        let mut crowd = match state.rests.take() {
            Some((before, crowd)) if before == seed => crowd,
            Some((_, crowd)) => crowd.drawn_anew(seed),
            None => Crowd::new(seed, Pace::of_rate(rate)),
        };
        crowd.only(&plan.strategies);
        crowd.goes(Pace::of_rate(rate));
        self.stop.store(false, Ordering::Release);
        self.commands.store(0, Ordering::Relaxed);
        let mut venue = Live::new(Arc::clone(&self.exchange), self.metrics.clone());
        let (stop, commands) = (Arc::clone(&self.stop), Arc::clone(&self.commands));
        let running = std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
            if opens {
                crowd.open(&mut venue)?;
            }
            trade(&mut crowd, &mut venue, rate, &stop, &commands)?;
            crowd.close(&mut venue)?;
            Some(crowd)
        });
        state.running = Some(running.map_err(|error| format!("the system gives no thread for them: {error}"))?);
        state.plan = plan;
        Ok(())
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
}
