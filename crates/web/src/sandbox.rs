//! Simulated traders that somebody may start on an empty market. Who they are and what they do, the program says.

use engine::{AccountId, Symbol};

/// Orders and cancels a second of all traders together, at most.
pub const SANDBOX_RATE_MAX: u32 = 1_000;

/// An account of a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct SandboxAccount {
    pub account: AccountId,
    pub name: &'static str,
    /// What the trader does; none of the account that is for people.
    pub strategy: Option<&'static str>,
}

/// How the traders are to trade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPlan {
    pub rate: u32,
    /// What they do is drawn from it.
    pub seed: u64,
    /// Those that trade.
    pub strategies: Vec<&'static str>,
}

/// How the traders stand.
#[derive(Clone, Debug)]
pub struct SandboxStanding {
    pub running: bool,
    /// They are told to stop, and take their orders back.
    pub stopping: bool,
    /// As they trade, or traded last.
    pub plan: SandboxPlan,
    /// What they have sent since they were started.
    pub commands: u64,
}

/// The traders. None of this waits for the market.
pub trait Sandbox: Send + Sync + 'static {
    fn accounts(&self) -> Vec<SandboxAccount>;
    fn symbols(&self) -> Vec<Symbol>;
    /// All that there are.
    fn strategies(&self) -> &'static [&'static str];
    fn standing(&self) -> SandboxStanding;
    /// Lets them trade; first makes their accounts and symbols, if `opens`. Errors: they trade already, or the system gives no thread.
    fn start(&self, plan: SandboxPlan, opens: bool) -> Result<(), String>;
    /// Has them take their orders back and stop.
    fn stop(&self);
}
