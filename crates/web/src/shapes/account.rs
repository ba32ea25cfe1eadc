//! Accounts with what they own.

use engine::{AccountIndex, Position};
use feed::View;
use serde::Serialize;
use utoipa::ToSchema;

use crate::describe::values;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Account)]
pub(crate) struct AccountShape {
    #[schema(value_type = values::Account)]
    account: String,
    #[schema(value_type = values::Money)]
    balance: String,
    #[schema(value_type = values::Money)]
    held: String,
    positions: Vec<HoldingShape>,
    #[schema(value_type = values::Count)]
    open_orders: u32,
    #[schema(value_type = values::Sequence)]
    sequence: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Holding)]
struct HoldingShape {
    #[schema(value_type = values::Symbol)]
    symbol: String,
    #[schema(value_type = values::Position)]
    shares: String,
    #[schema(value_type = values::Position)]
    held: String,
}

impl AccountShape {
    pub(crate) fn of(view: &View, account: AccountIndex) -> AccountShape {
        let account = view.account(account);
        let there = account
            .holdings
            .iter()
            .filter(|holding| holding.shares != Position::ZERO || holding.held != Position::ZERO);
        AccountShape {
            account: account.id.to_string(),
            balance: account.balance.to_string(),
            held: account.held.to_string(),
            positions: there
                .map(|holding| HoldingShape {
                    symbol: view.listing(holding.symbol).name.to_string(),
                    shares: holding.shares.to_string(),
                    held: holding.held.to_string(),
                })
                .collect(),
            open_orders: account.open_orders,
            sequence: view.sequence().0,
        }
    }
}
