//! Fees, in answers and in requests.

use feed::View;
use serde::{Deserialize, Serialize};
use terms::{AccountId, AccountIndex, Fee, FeeRate, Fees, Price, Shares, SymbolIndex, Taken, Tier};
use utoipa::ToSchema;

use crate::input;
use crate::problem::Problem;
use crate::schema_values;

/// The fees that the accounts of a tier pay for executions in a symbol: per cent of the shares that a buyer receives,
/// and of the dollars that a seller does. A missing rate is zero, and so is a missing tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Fees)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeesShape {
    #[schema(value_type = Option<schema_values::Tier>)]
    #[serde(default)]
    tier: u64,
    /// The maker's rate: of the order that was on the book first.
    #[schema(value_type = Option<schema_values::FeeRate>)]
    #[serde(default = "nothing")]
    maker: String,
    /// The taker's rate: of the order that executed with it as it came.
    #[schema(value_type = Option<schema_values::FeeRate>)]
    #[serde(default = "nothing")]
    taker: String,
    /// The account that gets the fees. It may be missing where both rates are zero.
    #[schema(value_type = Option<schema_values::Account>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
}

fn nothing() -> String {
    FeeRate::ZERO.to_string()
}

impl FeesShape {
    fn of(tier: Tier, fees: &Fees<AccountIndex>, view: &View) -> FeesShape {
        FeesShape {
            tier: tier.number().into(),
            maker: fees.maker.to_string(),
            taker: fees.taker.to_string(),
            account: Some(view.account(fees.account).id.to_string()),
        }
    }

    /// Returns the fees of each tier that pays any.
    pub(crate) fn all(view: &View, symbol: SymbolIndex) -> Vec<FeesShape> {
        let of = |tier| Some(FeesShape::of(tier, &view.fees().get(symbol, tier)?, view));
        Tier::all().filter_map(of).collect()
    }

    /// Hides the account that gets them, unless the asker may know it.
    pub(crate) fn hide_unless(&mut self, may: impl Fn(AccountId) -> bool) {
        let account = self.account.as_deref().and_then(|account| input::account(account).ok());
        if !account.is_some_and(may) {
            self.account = None;
        }
    }

    /// Reads the fees. Errors: the field that is invalid.
    pub(crate) fn read(&self) -> Result<(Tier, Option<Fees>), Problem> {
        let tier = tier(self.tier)?;
        let maker = input::amount("maker", &self.maker, FeeRate::of)?;
        let taker = input::amount("taker", &self.taker, FeeRate::of)?;
        let account = self.account.as_deref().map(input::account).transpose()?;
        if maker == FeeRate::ZERO && taker == FeeRate::ZERO {
            return Ok((tier, None));
        }
        let account = account.ok_or_else(|| Problem::field("account", "account is missing: somebody gets the fees"))?;
        Ok((tier, Some(Fees { maker, taker, account })))
    }
}

/// Reads a tier. Errors: there is no such tier.
pub(crate) fn tier(number: u64) -> Result<Tier, Problem> {
    let tier = u8::try_from(number).ok().and_then(Tier::new);
    tier.ok_or_else(|| Problem::field("tier", format!("tier {}", terms::TierError)))
}

/// Returns what an order paid for an execution, and of what: of the shares that it bought, or of the dollars that it
/// sold for. `None` where it paid nothing.
pub(super) fn paid(fee: Fee, price: Price, shares: Shares) -> (Option<String>, Option<&'static str>) {
    let said = |taken: Taken| (taken.text().as_str().to_owned(), if taken.is_shares() { "shares" } else { "dollars" });
    fee.taken(price, shares).map(said).unzip()
}
