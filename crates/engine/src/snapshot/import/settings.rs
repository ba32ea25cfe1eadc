//! Reads back what was set for symbols, accounts and the market.

use super::Importer;

use terms::{
    AccountIndex, AccountLimits, AccountStatus, Fees, Grace, Group, KillScope, LogMessage, Phase, SymbolIndex,
    SymbolPhase, SymbolRules, Tier, Time,
};

impl Importer {
    pub(super) fn add_phase(&mut self, symbol: SymbolIndex, phase: SymbolPhase) -> Result<(), &'static str> {
        if symbol.0 as usize >= self.engine.symbols.all().len() {
            return Err("a phase of a symbol that was not listed");
        }
        if self.last_phase.replace(symbol).is_some_and(|last| last >= symbol) {
            return Err("a phase before its turn, or twice");
        }
        if phase.phase == Phase::Open || !phase.is_sound() {
            return Err("a phase that is open or invalid");
        }
        self.engine.instruments.set_phase(symbol, phase);
        self.engine.stops.enter(symbol, phase.phase);
        Ok(())
    }

    pub(super) fn add_rules(&mut self, symbol: SymbolIndex, rules: &SymbolRules) -> Result<(), &'static str> {
        if symbol.0 as usize >= self.engine.stops.watched() {
            return Err("rules of a symbol without its last price");
        }
        if self.last_rules.replace(symbol).is_some_and(|last| last >= symbol) {
            return Err("rules before their turn, or twice");
        }
        if *rules == SymbolRules::NONE || rules.reference.is_some() || rules.check().is_err() {
            return Err("rules that say nothing, or that no order could obey");
        }
        self.engine.instruments.set(symbol, rules);
        Ok(())
    }

    /// Whether only symbols whose bands follow executions have a dynamic reference.
    pub(super) fn are_references_sound(&self) -> bool {
        let all = (0..).map(SymbolIndex).take(self.engine.symbols.all().len());
        let instruments = &self.engine.instruments;
        let mut followed = all.filter(|&symbol| instruments.references(symbol).dynamic.is_some());
        followed.all(|symbol| instruments.get(symbol).is_some_and(SymbolRules::has_dynamic_band))
    }

    pub(super) fn add_fees(
        &mut self,
        symbol: SymbolIndex,
        tier: Tier,
        fees: Fees<AccountIndex>,
    ) -> Result<(), &'static str> {
        if self.last_fees.replace((symbol, tier)).is_some_and(|last| last >= (symbol, tier)) {
            return Err("fees before their turn, or twice");
        }
        if !fees.is_any() {
            return Err("fees of nothing");
        }
        self.engine.fees.set(symbol, tier, Some(fees));
        Ok(())
    }

    pub(super) fn add_tier(&mut self, account: AccountIndex, tier: Tier) -> Result<(), &'static str> {
        if self.last_tier.replace(account).is_some_and(|last| last >= account) {
            return Err("the tier of an account before its turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() || tier == Tier::FIRST {
            return Err("the tier of an account that was not listed, or everybody's");
        }
        self.engine.fees.set_tier(account, tier);
        Ok(())
    }

    pub(super) fn add_group(&mut self, account: AccountIndex, group: Group) -> Result<(), &'static str> {
        if self.last_group.replace(account).is_some_and(|last| last >= account) {
            return Err("the group of an account before its turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() || group == Group::NONE {
            return Err("the group of an account that was not listed, or none");
        }
        self.engine.groups.set(account, group);
        Ok(())
    }

    pub(super) fn add_account_status(
        &mut self,
        account: AccountIndex,
        status: AccountStatus,
    ) -> Result<(), &'static str> {
        if self.last_account_status.replace(account).is_some_and(|last| last >= account) {
            return Err("the status of an account before its turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() || status == AccountStatus::NEW {
            return Err("the status of an account that was not listed, or one that says nothing");
        }
        if status.transfers > self.engine.sequence.0 {
            return Err("more transfers of an account than commands");
        }
        self.engine.account_statuses.set(account, status);
        Ok(())
    }

    pub(super) fn add_limits(&mut self, account: AccountIndex, limits: AccountLimits) -> Result<(), &'static str> {
        if self.last_limits.replace(account).is_some_and(|last| last >= account) {
            return Err("the limits of an account before their turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() {
            return Err("the limits of an account that was not listed");
        }
        if limits == AccountLimits::NONE || !limits.is_sound() {
            return Err("limits that say nothing, or that no order could obey");
        }
        self.engine.limits.set(account, limits);
        Ok(())
    }

    /// Adds a kill. All orders were added before it.
    pub(super) fn add_kill(&mut self, scope: KillScope<AccountIndex, SymbolIndex>) -> Result<(), &'static str> {
        if self.last_kill.replace(scope).is_some_and(|last| last >= scope) {
            return Err("a kill before its turn, or twice");
        }
        let is_listed = match scope {
            KillScope::Everything => true,
            KillScope::Account(account) => (account.0 as usize) < self.engine.accounts.all().len(),
            KillScope::Symbol(symbol) => (symbol.0 as usize) < self.engine.symbols.all().len(),
        };
        if !is_listed {
            return Err("a kill of an account or symbol that was not listed");
        }
        self.engine.kills.set(scope, true);
        Ok(())
    }

    pub(super) fn add_protection(&mut self, account: AccountIndex, grace: Grace) -> Result<(), &'static str> {
        if self.last_protection.replace(account).is_some_and(|last| last >= account) {
            return Err("the protection of an account before its turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() {
            return Err("the protection of an account that was not listed");
        }
        self.engine.protections.set(account, Some(grace));
        Ok(())
    }

    pub(super) fn add_calendar(&mut self, through: Time) -> Result<(), &'static str> {
        if through == Time::ZERO || self.engine.calendar_followed().is_some() {
            return Err("a calendar that was followed twice, or up to the beginning of time");
        }
        self.engine.calendar = through;
        Ok(())
    }

    pub(super) fn add_message(&mut self, message: LogMessage) -> Result<(), &'static str> {
        let log = &self.engine.shared_log;
        if log.all().any(|before| before.node >= message.node || before.position == message.position) {
            return Err("a message of the shared log before its turn, or twice");
        }
        if message.epoch == 0 || message.position == 0 {
            return Err("a message of the shared log that nobody can have written");
        }
        self.engine.shared_log.take(message);
        Ok(())
    }

    pub(super) fn add_phase_change(&mut self, symbol: SymbolIndex, at: Time) -> Result<(), &'static str> {
        if self.engine.symbol_name(symbol).is_none() {
            return Err("a change of the phase of a symbol that was not listed");
        }
        let log = &mut self.engine.shared_log;
        if log.phases().any(|(before, _)| before >= symbol) {
            return Err("a change of a phase before its turn, or twice");
        }
        if log.position() == 0 {
            return Err("a change of a phase where no message of a shared log was taken");
        }
        log.note_phase(symbol, at);
        Ok(())
    }
}
