//! The refusals of REST in its description.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::problem_code::Code;

/// The schema of all refusals.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "description": "A refusal.",
        "properties": {
            "type": {"type": "string", "const": "about:blank"},
            "title": {"type": "string", "description": "The code in words."},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "code": {"type": "string", "enum": Code::ALL, "description": "For programs; never changes its meaning."},
            "detail": {"type": "string", "description": "For people."},
            "field": {"type": "string", "description": "The field or parameter that is at fault."},
            "rule": {
                "type": "string",
                "pattern": "^[0-9]+\\.[0-9]+$",
                "description": "The number of the written rule that refuses: 8.4 is the fourth one of page 8 (docs/rules).",
            },
        },
        "required": ["type", "title", "status", "code", "detail"],
        "examples": [{
            "type": "about:blank",
            "title": "Insufficient funds",
            "status": 422,
            "code": "insufficient-funds",
            "detail": "Insufficient funds: 1250 needed, 1000 available",
            "rule": "1.12",
        }],
    })
}

/// Returns the responses with these codes, by status.
pub(super) fn responses(codes: &[Code]) -> BTreeMap<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in Code::ALL.iter().filter(|code| codes.contains(code)) {
        by_status.entry(code.status().as_u16()).or_default().push(*code);
    }
    by_status.into_iter().map(|(status, codes)| (status.to_string(), response(status, &codes))).collect()
}

fn response(status: u16, codes: &[Code]) -> Value {
    let meanings: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.name(), code.meaning())).collect();
    let narrowed = json!({"properties": {"status": {"type": "integer", "enum": [status]}, "code": {"enum": codes}}});
    json!({
        "description": meanings.join(". "),
        "content": {"application/problem+json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/Problem"}, narrowed]},
        }},
    })
}

#[cfg(test)]
mod tests {
    use terms::{BrokenRule, Money, PastLimit, Position, Reject, Shares};

    use super::*;
    use crate::problem::Problem;
    use crate::problem_code::{AMENDMENT, ANY_ORDER, ORDER_ALONE};

    /// Whether the engine can refuse a new order so. REST checks the bonds between orders before it places them.
    fn meets_an_order(reject: &Reject) -> bool {
        match reject {
            Reject::UnknownAccount
            | Reject::UnknownSymbol
            | Reject::InsufficientFunds { .. }
            | Reject::InsufficientShares { .. }
            | Reject::WouldTake { .. }
            | Reject::TriggersAtOnce { .. }
            | Reject::NothingToTrail
            | Reject::TrailTooFar { .. }
            | Reject::TooManyTrails { .. }
            | Reject::FundsTradeNothing { .. }
            | Reject::BreaksRule(_)
            | Reject::DeadlinePassed { .. }
            | Reject::DisplayOutOfBounds { .. }
            | Reject::DisplayOffLot { .. }
            | Reject::ClientOrderIdTaken { .. }
            | Reject::AccountClosed
            | Reject::Killed(_)
            | Reject::PastLimit(_)
            | Reject::TooManyWaiting { .. }
            | Reject::WouldWait
            | Reject::Full => true,
            Reject::AccountExists
            | Reject::AccountInUse(_)
            | Reject::NotNextTransfer { .. }
            | Reject::UnknownPayer
            | Reject::TooMuchMoney { .. }
            | Reject::TooManyShares { .. }
            | Reject::UnknownOrder
            | Reject::NothingOpen
            | Reject::NothingToAmend
            | Reject::AmendsUpward { .. }
            | Reject::AmendsBelowExecuted { .. }
            | Reject::AmendsOneOfTwo { .. }
            | Reject::CannotAmend(_)
            | Reject::AmendsPending { .. }
            | Reject::NotCanceled
            | Reject::Kept
            | Reject::NotLinked
            | Reject::CannotLink { .. }
            | Reject::CannotWork
            | Reject::NotWorking
            | Reject::CannotPend { .. }
            | Reject::HaltedByRules
            | Reject::KillGoesOn => false,
        }
    }

    /// Whether the engine can refuse other terms for an open order so.
    fn meets_an_amendment(reject: &Reject) -> bool {
        match reject {
            Reject::UnknownAccount
            | Reject::UnknownOrder
            | Reject::NothingToAmend
            | Reject::AmendsBelowExecuted { .. }
            | Reject::AmendsOneOfTwo { .. }
            | Reject::AmendsUpward { .. }
            | Reject::CannotAmend(_)
            | Reject::AmendsPending { .. }
            | Reject::CannotLink { .. }
            | Reject::CannotWork
            | Reject::InsufficientFunds { .. }
            | Reject::InsufficientShares { .. }
            | Reject::WouldTake { .. }
            | Reject::TriggersAtOnce { .. }
            | Reject::NothingToTrail
            | Reject::TrailTooFar { .. }
            | Reject::TooManyTrails { .. }
            | Reject::BreaksRule(_)
            | Reject::DeadlinePassed { .. }
            | Reject::DisplayOutOfBounds { .. }
            | Reject::DisplayOffLot { .. }
            | Reject::Killed(_)
            | Reject::PastLimit(_)
            | Reject::TooManyWaiting { .. }
            | Reject::Full => true,
            Reject::AccountExists
            | Reject::AccountClosed
            | Reject::AccountInUse(_)
            | Reject::NotNextTransfer { .. }
            | Reject::UnknownPayer
            | Reject::UnknownSymbol
            | Reject::TooMuchMoney { .. }
            | Reject::TooManyShares { .. }
            | Reject::FundsTradeNothing { .. }
            | Reject::WouldWait
            | Reject::NothingOpen
            | Reject::ClientOrderIdTaken { .. }
            | Reject::NotCanceled
            | Reject::Kept
            | Reject::NotLinked
            | Reject::NotWorking
            | Reject::CannotPend { .. }
            | Reject::HaltedByRules
            | Reject::KillGoesOn => false,
        }
    }

    #[test]
    fn operations_that_place_or_amend_orders_describe_all_refusals_of_an_order() {
        let rejects = [
            Reject::AccountExists,
            Reject::UnknownAccount,
            Reject::UnknownPayer,
            Reject::UnknownSymbol,
            Reject::TooMuchMoney { issued: Money::ZERO },
            Reject::TooManyShares { issued: Position::ZERO },
            Reject::WouldTake { price: terms::Price::MAX },
            Reject::TriggersAtOnce { trigger: terms::Trigger::from_below(terms::Price::MIN), last: terms::Price::MAX },
            Reject::FundsTradeNothing { funds: Money::ZERO },
            Reject::NothingToTrail,
            Reject::TrailTooFar { trail: terms::Trail::by(terms::Price::MAX), last: terms::Price::MIN },
            Reject::TooManyTrails { most: terms::TRAILING_MAX, of_account: false },
            Reject::BreaksRule(BrokenRule::Halted),
            Reject::BreaksRule(BrokenRule::Auction),
            Reject::BreaksRule(BrokenRule::NotInAuction),
            Reject::BreaksRule(BrokenRule::AuctionWithoutBand),
            Reject::HaltedByRules,
            Reject::Killed(terms::KillScope::Everything),
            Reject::KillGoesOn,
            Reject::PastLimit(PastLimit::OpenOrders { most: std::num::NonZeroU32::MIN }),
            Reject::PastLimit(PastLimit::OrderShares { most: Shares::MIN }),
            Reject::PastLimit(PastLimit::OrderValue { most: Money::CAP }),
            Reject::PastLimit(PastLimit::Position { most: Shares::ZERO }),
            Reject::PastLimit(PastLimit::Collar {
                side: terms::Side::Buy,
                limit: terms::Price::MAX,
                worst: terms::Price::MIN,
            }),
            Reject::BreaksRule(BrokenRule::LimitOffTick { limit: terms::Price::MIN, tick: terms::Price::MAX }),
            Reject::BreaksRule(BrokenRule::TriggerOffTick { trigger: terms::Price::MIN, tick: terms::Price::MAX }),
            Reject::BreaksRule(BrokenRule::OffLot { shares: Shares::MIN, lot: Shares::MAX }),
            Reject::BreaksRule(BrokenRule::TooFewShares { shares: Shares::MIN, least: Shares::MAX }),
            Reject::BreaksRule(BrokenRule::TooManyShares { shares: Shares::MAX, most: Shares::MIN }),
            Reject::BreaksRule(BrokenRule::TooLittleValue { value: Money::ZERO, least: Money::CAP }),
            Reject::BreaksRule(BrokenRule::TooMuchValue { value: Money::CAP, most: Money::ZERO }),
            Reject::BreaksRule(BrokenRule::OutsideBand {
                limit: terms::Price::MAX,
                low: terms::Price::MIN,
                high: terms::Price::MIN,
            }),
            Reject::UnknownOrder,
            Reject::NothingOpen,
            Reject::NothingToAmend,
            Reject::AmendsUpward { shares: terms::Shares::MAX },
            Reject::AmendsBelowExecuted { executed: terms::Shares::MAX },
            Reject::AmendsOneOfTwo { partner: terms::OrderId(1) },
            Reject::AmendsPending { working: terms::OrderId(1) },
            Reject::CannotAmend(terms::AmendFault::HasNoLimit),
            Reject::CannotLink { order: terms::OrderId(1) },
            Reject::CannotWork,
            Reject::DeadlinePassed {
                until: terms::Deadline::new(terms::Time(1)).expect("a time"),
                now: terms::Time(2),
            },
            Reject::DisplayOutOfBounds { display: Shares::MIN, least: Shares::MAX, most: Shares::MAX },
            Reject::DisplayOffLot { display: Shares::MIN, lot: Shares::MAX },
            Reject::NotCanceled,
            Reject::Kept,
            Reject::TooManyWaiting { most: 100_000 },
            Reject::WouldWait,
            Reject::Full,
        ];
        for reject in &rejects {
            let code = Problem::of(reject).code;
            // Every operation with a body, or that places orders, names the three others.
            let others = [Code::Full, Code::TooManyWaiting, Code::WouldWait];
            let is_described = [ANY_ORDER, ORDER_ALONE, &others].concat().contains(&code);
            assert_eq!(is_described, meets_an_order(reject), "{reject:?}");
            let is_described = AMENDMENT.contains(&code) || code == Code::Full;
            assert_eq!(is_described, meets_an_amendment(reject), "{reject:?}");
        }
    }

    #[test]
    fn refusals_that_are_over_soon_say_when_to_try_again() {
        for (reject, again) in
            [(Reject::WouldWait, Some(1)), (Reject::TooManyWaiting { most: 1 }, Some(1)), (Reject::Full, None)]
        {
            assert_eq!(Problem::of(&reject).again_in_s(), again, "{reject}");
        }
    }
}
