//! The port to simulated traders, which an operator may start on an empty market. The program implements them.

use terms::{AccountId, Symbol};

/// Orders and cancels of all traders together per second, at most.
pub const SANDBOX_RATE_MAX: u32 = 1_000;

/// An account of a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct SandboxAccount {
    pub account: AccountId,
    pub name: &'static str,
    /// The trader's strategy; `None` for the account that is for people.
    pub strategy: Option<&'static str>,
}

/// The plan of the traders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxPlan {
    pub rate: u32,
    /// The seed of their random choices.
    pub seed: u64,
    /// The strategies that trade.
    pub strategies: Vec<&'static str>,
}

/// The state of the traders.
#[derive(Clone, Debug)]
pub struct SandboxStanding {
    pub running: bool,
    /// Whether they have to stop, and cancel their orders.
    pub stopping: bool,
    /// The present plan, or the last one.
    pub plan: SandboxPlan,
    /// The commands that they have sent since they were started.
    pub commands: u64,
}

/// The traders. No call waits for the market.
pub trait Sandbox: Send + Sync + 'static {
    fn accounts(&self) -> Vec<SandboxAccount>;
    fn symbols(&self) -> Vec<Symbol>;
    /// Returns all strategies.
    fn strategies(&self) -> &'static [&'static str];
    fn standing(&self) -> SandboxStanding;
    /// Starts them; makes their accounts and symbols first, if `opens`. Errors: they trade already, or the system has
    /// no thread left.
    fn start(&self, plan: SandboxPlan, opens: bool) -> Result<(), String>;
    /// Lets them cancel their orders and stop.
    fn stop(&self);
}
