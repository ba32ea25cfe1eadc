//! The refusals of REST: their codes and statuses.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The code, the status, and when it comes.
const CODES: [(&str, u16, &str); 92] = [
    ("malformed", 400, "Not JSON, or a field or parameter is missing, unknown or of the wrong form: `field`"),
    ("unauthenticated", 401, "Nobody has proven who asks, or the proof is wrong, over or used before"),
    ("foreign-host", 403, "The header `Host` does not name this server"),
    ("foreign-origin", 403, "A page of another server sent it"),
    ("not-permitted", 403, "It is for members of another role"),
    ("unknown-account", 404, "There is no such account, or it is not the member's"),
    ("unknown-symbol", 404, "There is no such symbol"),
    ("unknown-order", 404, "The account has no such order"),
    ("unknown-member", 404, "There is no member of this name"),
    ("unknown-key", 404, "The member has no such key"),
    ("not-found", 404, "There is nothing at this path"),
    ("method-not-allowed", 405, "The method is not for this path"),
    (
        "no-sandbox",
        409,
        "No simulated traders can be started here, they trade already, or they ended before their market was there",
    ),
    ("no-audit", 409, "The market is kept in a database, which tells who asked for which command"),
    ("no-journal", 409, "The market has no journal of its own, or the server's settings want no replays"),
    ("no-members", 409, "The server has no access file, so nobody logs in"),
    ("account-exists", 409, "There is such an account"),
    ("unknown-payer", 409, "The account that an issuer's budget is of does not exist"),
    ("member-exists", 409, "There is a member of this name"),
    ("last-operator", 409, "Nobody could change members any more: no operator would have a key that counts"),
    (
        "written-otherwise",
        409,
        "The access file has no tables `[[member]]` and `[[member.key]]`: it is changed by hand",
    ),
    ("nothing-open", 409, "All of the order is executed or canceled"),
    ("nothing-to-amend", 409, "All of the order is executed or canceled"),
    ("amends-one-of-two", 409, "The order is linked with another one, which would have other shares then"),
    ("amends-pending", 409, "The order waits for another one to be executed, and is not placed yet"),
    ("not-canceled", 409, "The order that it was to replace was not canceled, so nothing was placed"),
    ("client-order-id-taken", 409, "It stands for another order"),
    ("halted", 409, "Trading in the symbol is halted: orders can be canceled"),
    (
        "in-auction",
        409,
        "The orders of the symbol gather: only limit orders without self-trade prevention, and orders with a stop, are placed",
    ),
    ("halted-by-rules", 409, "The rules of the symbol halt it, so it cannot open"),
    ("killed", 409, "The kill switch is on for the account, the symbol or everything."),
    ("kill-goes-on", 409, "Orders of what is to be released are still being canceled: release it when that is over."),
    ("nothing-to-trail", 409, "Nothing of the symbol was executed yet, so that a stop has no price to follow"),
    ("no-longer-kept", 410, "It was there, and is older than what the server keeps"),
    ("too-large", 413, "The body is longer than 64 KiB"),
    ("not-json", 415, "The header `content-type: application/json` is missing"),
    ("outside-budget", 422, "An issuer may create other accounts than this one"),
    ("insufficient-funds", 422, "The account has not enough money"),
    ("insufficient-shares", 422, "The account has not enough shares"),
    ("would-take", 422, "A post-only order would execute at once"),
    ("triggers-at-once", 422, "An execution reaches the order's `stop` or `take_profit` already"),
    ("trail-too-far", 422, "So far behind the last price there is none to wait for"),
    ("past-open-orders", 422, "The account has as many open orders as it may"),
    ("past-order-shares", 422, "More shares than an order of the account may have"),
    ("past-order-value", 422, "More dollars than an order of the account may be worth"),
    (
        "past-position",
        422,
        "The account would have more shares of the symbol than it may, with those that its open buys may bring",
    ),
    ("past-collar", 422, "The limit is farther from the market than those of the account may be"),
    ("too-many-trails", 422, "1,000 stops follow the price of the symbol already"),
    ("deadline-passed", 422, "The order would end before it is placed"),
    (
        "no-day-end",
        422,
        "The order is to end with the day, and the server's calendar does not say when the day of its symbol ends",
    ),
    ("not-in-a-cluster", 422, "Cancel on disconnect is not offered where several servers share a market"),
    ("amends-upward", 422, "The order has no more shares than that already: amending takes some off"),
    ("amends-below-executed", 422, "As many shares of the order were executed, or more"),
    ("funds-trade-nothing", 422, "Nobody is on the other side, or a share costs too much for these funds"),
    ("off-tick", 422, "A limit or `stop` is not a multiple of the symbol's `tick`"),
    ("off-lot", 422, "The shares, or the `display`, are not a multiple of the symbol's `lot`"),
    ("display-out-of-range", 422, "The `display` is less than a hundredth of the shares, or more than all"),
    ("shares-out-of-range", 422, "Fewer shares than the symbol's `min_shares`, or more than its `max_shares`"),
    (
        "value-out-of-range",
        422,
        "Limit times shares is less than the symbol's `min_value`, or more than its `max_value`",
    ),
    ("outside-band", 422, "The limit, or the price at which the order would execute, is outside the symbol's band"),
    ("order-too-large", 422, "More shares, or dollars, than an order of this member may have"),
    ("too-much-money", 422, "More dollars than an account, a request or all accounts together may be given"),
    (
        "too-many-shares",
        422,
        "More shares of the symbol than an account, a request or all accounts together may be given",
    ),
    (
        "replay-too-large",
        422,
        "To show that moment would take more commands, or memory, than the server's settings allow",
    ),
    ("no-accounts", 422, "The member has no accounts that could be killed"),
    ("too-many-accounts", 422, "The server keeps no more accounts, or a member has more than are killed together"),
    ("too-many-symbols", 422, "The server keeps no more symbols"),
    ("too-many-client-order-ids", 422, "The account has no more client order ids: an order without one is taken"),
    ("too-many-messages", 429, "More requests a second than this member may send: `Retry-After`"),
    ("too-many-connections-of-member", 429, "As many WebSockets and XML connections are open as this member may have"),
    ("too-many-orders", 429, "More orders a second than this member may place"),
    ("too-many-tries", 429, "Too many wrong proofs came from this address, or too many passwords are being compared"),
    ("members-unwritable", 500, "The access file cannot be changed or read"),
    ("journal-unreadable", 500, "The journal or a snapshot cannot be read"),
    ("replay-ended", 500, "The server shows the past no more until it is started again"),
    ("history-unreadable", 500, "The files of the history cannot be read"),
    ("record-damaged", 500, "What the server keeps of this is damaged"),
    ("internal-fault", 500, "A fault of the server, which its log tells: what was asked for may have been done"),
    ("read-only", 503, "The venue is read-only: members look, and change nothing"),
    ("read-only-node", 503, "The server only follows other nodes of its cluster: send it to one of those"),
    ("maintenance", 503, "The venue is under maintenance: there are no members but operators"),
    (
        "replay-busy",
        503,
        "Others are shown the past, or that moment takes longer than one answer may: ask again, `Retry-After`",
    ),
    ("disk-low", 503, "The disk is nearly full"),
    ("store-away", 503, "The database cannot be reached"),
    (
        "behind",
        503,
        "The server has not applied the command yet that `pricetime-at-least` names: ask again, or another server",
    ),
    ("too-many-waiting", 503, "100,000 orders of the symbol wait already while the server executes a large one"),
    ("would-wait", 503, "An order with `funds` would wait for its turn, so its shares are not known: send it again"),
    ("full", 503, "The exchange cannot hold more"),
    ("too-many-connections", 503, "All connections are taken: only /health, /ready and /metrics are answered"),
    (
        "feed-unavailable",
        503,
        "What shows the market has ended by a fault of the server: nothing was done, and XML goes on",
    ),
    ("not-ready", 503, "The server is starting, waiting or stopping"),
    ("outcome-unknown", 504, "The database went away meanwhile: ask for the order later"),
];

/// The codes that a request to place an order can be refused with. Every operation that places orders names them as
/// `@order`, or as `@order-of-a-list` without [`ALONE`].
const ORDER: [&str; 28] = [
    "unknown-account",
    "unknown-symbol",
    "client-order-id-taken",
    "too-many-client-order-ids",
    "insufficient-funds",
    "insufficient-shares",
    "would-take",
    "triggers-at-once",
    "nothing-to-trail",
    "trail-too-far",
    "too-many-trails",
    "deadline-passed",
    "no-day-end",
    "funds-trade-nothing",
    "halted",
    "in-auction",
    "killed",
    "past-open-orders",
    "past-order-shares",
    "past-order-value",
    "past-position",
    "past-collar",
    "off-tick",
    "off-lot",
    "display-out-of-range",
    "shares-out-of-range",
    "value-out-of-range",
    "outside-band",
];

/// The codes of [`ORDER`] that no order of a list gets: none of them is for funds or has a `display`.
const ALONE: [&str; 2] = ["funds-trade-nothing", "display-out-of-range"];

/// Returns the codes that a name in the list of an operation stands for: a group, or the code itself.
pub(super) fn named(name: &str) -> Vec<&str> {
    match name {
        "@order" => ORDER.to_vec(),
        "@order-of-a-list" => ORDER.into_iter().filter(|code| !ALONE.contains(code)).collect(),
        code => vec![code],
    }
}

/// The schema of all refusals.
pub(super) fn schema() -> Value {
    let codes: Vec<&str> = CODES.iter().map(|(code, ..)| *code).collect();
    json!({
        "type": "object",
        "description": "A refusal.",
        "properties": {
            "type": {"type": "string", "const": "about:blank"},
            "title": {"type": "string", "description": "The code in words."},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "code": {"type": "string", "enum": codes, "description": "For programs; never changes its meaning."},
            "detail": {"type": "string", "description": "For people."},
            "field": {"type": "string", "description": "The field or parameter that is at fault."},
        },
        "required": ["type", "title", "status", "code", "detail"],
        "examples": [{
            "type": "about:blank",
            "title": "Insufficient funds",
            "status": 422,
            "code": "insufficient-funds",
            "detail": "Insufficient funds: 1250 needed, 1000 available",
        }],
    })
}

/// Returns the responses with these codes, by status.
pub(super) fn responses(codes: &[&str]) -> BTreeMap<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<(&str, &str)>> = BTreeMap::new();
    for (code, status, when) in CODES {
        if codes.contains(&code) {
            by_status.entry(status).or_default().push((code, when));
        }
    }
    by_status.into_iter().map(|(status, codes)| (status.to_string(), response(status, &codes))).collect()
}

fn response(status: u16, codes: &[(&str, &str)]) -> Value {
    let told: Vec<String> = codes.iter().map(|(code, when)| format!("`{code}`: {when}")).collect();
    let codes: Vec<&str> = codes.iter().map(|(code, _)| *code).collect();
    let narrowed = json!({"properties": {"status": {"const": status}, "code": {"enum": codes}}});
    json!({
        "description": told.join(". "),
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
            | Reject::Killed(_)
            | Reject::PastLimit(_)
            | Reject::TooManyWaiting { .. }
            | Reject::WouldWait
            | Reject::Full => true,
            Reject::AccountExists
            | Reject::UnknownPayer
            | Reject::TooMuchMoney { .. }
            | Reject::TooManyShares { .. }
            | Reject::UnknownOrder
            | Reject::NothingOpen
            | Reject::NothingToAmend
            | Reject::AmendsUpward { .. }
            | Reject::AmendsBelowExecuted { .. }
            | Reject::AmendsOneOfTwo { .. }
            | Reject::AmendsPending { .. }
            | Reject::NotCanceled
            | Reject::NotLinked
            | Reject::CannotLink { .. }
            | Reject::CannotWork
            | Reject::NotWorking
            | Reject::CannotPend { .. }
            | Reject::HaltedByRules
            | Reject::KillGoesOn => false,
        }
    }

    #[test]
    fn refusals_are_described_as_they_are_sent() {
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
            Reject::TooManyTrails { most: terms::TRAILING_MAX },
            Reject::BreaksRule(BrokenRule::Halted),
            Reject::BreaksRule(BrokenRule::Auction),
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
            Reject::DeadlinePassed {
                until: terms::Deadline::new(terms::Time(1)).expect("a time"),
                now: terms::Time(2),
            },
            Reject::DisplayOutOfBounds { display: Shares::MIN, least: Shares::MAX, most: Shares::MAX },
            Reject::DisplayOffLot { display: Shares::MIN, lot: Shares::MAX },
            Reject::NotCanceled,
            Reject::TooManyWaiting { most: 100_000 },
            Reject::WouldWait,
            Reject::Full,
        ];
        let others = [
            Problem::not_ready(),
            Problem::too_many_connections(),
            Problem::unknown_outcome(),
            Problem::fault(),
            Problem::no_feed(),
            Problem::no_longer_kept(),
            Problem::unavailable(exchange::Unavailable::NoDayEnd {
                symbol: terms::Symbol::parse(b"SPY").expect("letters"),
            }),
            Problem::unavailable(exchange::Unavailable::Shared),
            Problem::unavailable(exchange::Unavailable::ReadOnlyNode),
            Problem::malformed(""),
        ];
        for reject in &rejects {
            let code = Problem::of(reject).code;
            // Every operation with a body, or that places orders, names the three others.
            let is_described = ORDER.contains(&code) || ["full", "too-many-waiting", "would-wait"].contains(&code);
            assert_eq!(is_described, meets_an_order(reject), "{reject:?}");
        }
        for problem in rejects.iter().map(Problem::of).chain(others) {
            let sent = crate::json::value(&problem);
            let described = CODES.iter().find(|(code, ..)| *code == problem.code);
            assert_eq!(described.map(|(_, status, _)| json!(status)), Some(sent["status"].clone()), "{sent}");
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
