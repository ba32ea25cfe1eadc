//! The rules of a symbol, in answers and in requests.

use serde::{Deserialize, Serialize};
use terms::{AuctionTies, Rule, SymbolRules};
use utoipa::ToSchema;

use crate::input;
use crate::problem::Problem;
use crate::schema_values;

/// The rules that orders in a symbol have to obey. A missing field is no rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[schema(as = Rules)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesShape {
    /// The tick: limits and stops are multiples of it.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tick: Option<String>,
    /// The lot: shares are multiples of it.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lot: Option<String>,
    /// Shares of an order, at least.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_shares: Option<String>,
    /// Shares of an order, at most.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_shares: Option<String>,
    /// Dollars that limit times shares come to, at least.
    #[schema(value_type = Option<schema_values::BalanceAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_value: Option<String>,
    /// Dollars that limit times shares come to, at most.
    #[schema(value_type = Option<schema_values::BalanceAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_value: Option<String>,
    /// Per cent by which prices may be above the last execution between two accounts, the dynamic reference.
    #[schema(value_type = Option<schema_values::Distance>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    band_up: Option<String>,
    /// Per cent by which prices may be below the dynamic reference.
    #[schema(value_type = Option<schema_values::Distance>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    band_down: Option<String>,
    /// Shares of an execution that moves the references, at least.
    #[schema(value_type = Option<schema_values::SharesAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    band_size: Option<String>,
    /// Per cent by which prices may be above the last auction, the static reference.
    #[schema(value_type = Option<schema_values::Distance>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    static_up: Option<String>,
    /// Per cent by which prices may be below the static reference.
    #[schema(value_type = Option<schema_values::Distance>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    static_down: Option<String>,
    /// A new static reference, until the next auction. It is asked, and no answer has it.
    #[schema(value_type = Option<schema_values::LimitAsked>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// Seconds of the auction that an order begins which would execute outside the band.
    #[schema(value_type = Option<schema_values::Pause>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interruption: Option<String>,
    /// The choice of an auction among prices at which as many shares execute and as few are left over. It is `nearest`
    /// if it is missing: the price nearest to that of the last execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auction_ties: Option<TiesShape>,
    /// Whether orders are placed and execute. While they do not, they can be canceled.
    #[serde(default = "trades")]
    trading: bool,
}

/// The choice of an auction among prices that are equally good: the one nearest to the price of the last execution, or
/// the one at the end of the side that has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[schema(as = AuctionTies)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TiesShape {
    Nearest,
    Pressure,
}

fn trades() -> bool {
    true
}

impl RulesShape {
    pub(crate) fn of(rules: &SymbolRules) -> RulesShape {
        let auction_ties = (rules.auction_ties == AuctionTies::Pressure).then_some(TiesShape::Pressure);
        let mut shape = RulesShape { auction_ties, trading: !rules.is_halted, ..RulesShape::default() };
        for rule in Rule::ALL {
            *shape.field_mut(rule).1 = rules.amount(rule).map(|amount| amount.as_str().to_owned());
        }
        shape
    }

    /// Reads the rules. Errors: the field that is invalid, or rules that no order could obey.
    pub(crate) fn read(mut self) -> Result<SymbolRules, Problem> {
        let auction_ties = match self.auction_ties {
            None | Some(TiesShape::Nearest) => AuctionTies::Nearest,
            Some(TiesShape::Pressure) => AuctionTies::Pressure,
        };
        let mut rules = SymbolRules { is_halted: !self.trading, auction_ties, ..SymbolRules::NONE };
        for rule in Rule::ALL {
            let (name, asked) = self.field_mut(rule);
            if let Some(asked) = asked {
                input::amount(name, asked, |amount| rules.set_amount(rule, amount))?;
            }
        }
        rules.check().map_err(|fault| Problem::malformed(fault.to_string()))?;
        Ok(rules)
    }

    fn field_mut(&mut self, rule: Rule) -> (&'static str, &mut Option<String>) {
        match rule {
            Rule::Tick => ("tick", &mut self.tick),
            Rule::Lot => ("lot", &mut self.lot),
            Rule::SharesMin => ("min_shares", &mut self.min_shares),
            Rule::SharesMax => ("max_shares", &mut self.max_shares),
            Rule::ValueMin => ("min_value", &mut self.min_value),
            Rule::ValueMax => ("max_value", &mut self.max_value),
            Rule::BandUp => ("band_up", &mut self.band_up),
            Rule::BandDown => ("band_down", &mut self.band_down),
            Rule::BandSize => ("band_size", &mut self.band_size),
            Rule::StaticUp => ("static_up", &mut self.static_up),
            Rule::StaticDown => ("static_down", &mut self.static_down),
            Rule::Reference => ("reference", &mut self.reference),
            Rule::Interruption => ("interruption", &mut self.interruption),
        }
    }
}
