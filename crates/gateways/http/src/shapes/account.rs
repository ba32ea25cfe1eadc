//! Accounts with their balances and positions.

use feed::{Holding, View};
use serde::Serialize;
use terms::{AccountIndex, AccountLimits, Group, KillScope, SymbolIndex, Tier};
use utoipa::ToSchema;

use super::LimitsShape;
use crate::schema_values;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Account)]
pub(crate) struct AccountShape {
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::Money)]
    balance: String,
    #[schema(value_type = schema_values::Money)]
    held: String,
    positions: Vec<HoldingShape>,
    #[schema(value_type = schema_values::Count)]
    open_orders: u32,
    /// The tier whose fees it pays; absent for an account that was not put into one.
    #[schema(value_type = Option<schema_values::Tier>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<u8>,
    /// The group that it belongs to; absent without one.
    #[schema(value_type = Option<schema_values::Group>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    /// The number of its deposits and withdrawals; absent for an account without any.
    #[schema(value_type = Option<schema_values::Count>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    transfers: Option<u64>,
    /// Whether it is closed; absent for an account that is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<bool>,
    /// Whether it takes no orders until it is released; absent for an account that takes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    killed: Option<bool>,
    /// The grace after which its orders are canceled when its client is gone, as `5s`; absent for an account that is
    /// not protected.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_on_disconnect: Option<String>,
    /// The limits of the account; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<LimitsShape>,
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    /// The symbol behind which the next positions begin.
    #[schema(value_type = Option<schema_values::Symbol>, required = true)]
    next: Option<String>,
}

/// Positions that are shown, at most.
pub(crate) const POSITIONS_MAX: usize = 1000;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Holding)]
struct HoldingShape {
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Position)]
    shares: String,
    #[schema(value_type = schema_values::Position)]
    held: String,
}

impl AccountShape {
    /// Returns the account with its first positions.
    pub(crate) fn of(view: &View, account: AccountIndex) -> AccountShape {
        AccountShape::page(view, account, None, POSITIONS_MAX)
    }

    /// Returns the account with `limit` of its positions behind the symbol `after`.
    pub(crate) fn page(view: &View, account: AccountIndex, after: Option<SymbolIndex>, limit: usize) -> AccountShape {
        let (tier, group) = (view.fees().tier(account), view.groups().of(account));
        let killed = view.kills().is_killed(KillScope::Account(account)).then_some(true);
        let grace = view.protections().of(account);
        let limits = view.account_limits(account);
        let limits = (limits != AccountLimits::NONE).then(|| LimitsShape::of(&limits));
        let account = view.account(account);
        let mut rest = account.holdings.behind(after);
        let page: Vec<Holding> = rest.by_ref().take(limit).collect();
        let name = |holding: &Holding| view.listing(holding.symbol).name.to_string();
        let next = page.last().filter(|_| rest.next().is_some()).map(name);
        let shape = |holding: &Holding| HoldingShape {
            symbol: name(holding),
            shares: holding.shares.to_string(),
            held: holding.held.to_string(),
        };
        AccountShape {
            account: account.id.to_string(),
            balance: account.balance.to_string(),
            held: account.held.to_string(),
            positions: page.iter().map(shape).collect(),
            open_orders: account.open_orders,
            tier: Some(tier).filter(|&tier| tier != Tier::FIRST).map(Tier::number),
            group: Some(group).filter(|&group| group != Group::NONE).map(Group::number),
            transfers: Some(account.status.transfers).filter(|&transfers| transfers > 0),
            closed: account.status.is_closed.then_some(true),
            killed,
            cancel_on_disconnect: grace.map(|grace| grace.to_string()),
            limits,
            sequence: view.sequence().0,
            next,
        }
    }
}
