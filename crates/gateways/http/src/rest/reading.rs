//! Requests that are read and go nowhere: fuzzing reads many in the time of one that is answered.

use axum::extract::Query;
use axum::http::Uri;
use serde::de::DeserializeOwned;
use terms::OrderId;

use super::amend::AmendBody;
use super::kills::KillAsked;
use super::members::{KeyAsked, MemberAsked, RightsAsked};
use super::order_lists::{self, PlaceOrderListBody};
use super::placing::{PlaceOrderBody, Placing};
use super::{accounts, audit, fees, groups, modes, orders, past_market, sandbox, sessions, symbols, transfers};
use crate::problem::Problem;
use crate::shapes::{FeesShape, LimitsShape, PhaseAsked, RulesShape};

/// Reads a request's query string and its body, as the handlers of its path do.
pub(crate) fn read(method: &str, target: &Uri, body: &[u8]) {
    let path = target.path().strip_prefix("/api/v1/").unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    query_of(&parts, target);
    let is_read = match (method, &parts[..]) {
        (_, ["orders"]) => placing(body),
        ("PATCH", ["orders", ..]) => of(body).and_then(|asked: AmendBody| asked.read(OrderId(1).into()).map(drop)),
        (_, ["orders", ..]) => placing(body),
        (_, ["order-lists"]) => of::<PlaceOrderListBody>(body).and_then(|asked| order_lists::read(asked).map(drop)),
        (_, ["accounts"]) => of::<accounts::Create>(body).map(drop),
        (_, [.., "shares"]) => of::<symbols::Issue>(body).map(drop),
        (_, [.., "limits"]) => of::<LimitsShape>(body).and_then(|asked| asked.read().map(drop)),
        (_, [.., "rules"]) => of::<RulesShape>(body).and_then(|asked| asked.read().map(drop)),
        (_, [_, _, "fees"] | [_, _, "fees", _]) => of::<FeesShape>(body).and_then(|asked| asked.read().map(drop)),
        (_, [.., "phase"]) => of::<PhaseAsked>(body).and_then(|asked| asked.read().map(drop)),
        (_, [.., "tier"]) => of::<fees::TierShape>(body).map(drop),
        (_, [.., "deposits" | "withdrawals"]) => {
            of::<transfers::TransferBody>(body).and_then(|asked| asked.read().map(drop))
        }
        (_, [.., "group"]) => of::<groups::GroupShape>(body).map(drop),
        (_, [.., "mode"]) => of::<modes::ModeShape>(body).map(drop),
        (_, [.., "kill"]) => of::<KillAsked>(body).map(drop),
        (_, ["session"]) => of::<sessions::LogIn>(body).map(drop),
        (_, ["sandbox", ..]) => of::<sandbox::RunBody>(body).map(drop),
        (_, ["members"]) => of::<MemberAsked>(body).map(drop),
        (_, ["members", _, "keys"]) => of::<KeyAsked>(body).map(drop),
        (_, ["members", ..]) => of::<RightsAsked>(body).map(drop),
        _ => Ok(()),
    };
    drop(is_read);
}

fn placing(body: &[u8]) -> Result<(), Problem> {
    of::<PlaceOrderBody>(body).and_then(|asked| Placing::read(&asked)).map(drop)
}

fn of<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    crate::input::object(body)
}

fn query_of(parts: &[&str], target: &Uri) {
    match parts {
        ["orders"] | ["accounts", _, "orders"] => query::<orders::List>(target),
        ["orders", ..] => query::<orders::Owner>(target),
        ["symbols"] => query::<symbols::List>(target),
        [.., "book"] => query::<symbols::Depth>(target),
        [.., "trades"] => query::<symbols::Trades>(target),
        [.., "candles"] => query::<symbols::Candles>(target),
        [.., "executions"] => query::<accounts::Executions>(target),
        ["accounts"] => query::<accounts::List>(target),
        ["audit"] => query::<audit::Audit>(target),
        ["past", ..] => query::<past_market::BookAt>(target),
        _ => {}
    }
}

fn query<T: DeserializeOwned>(target: &Uri) {
    drop(Query::<T>::try_from_uri(target));
}
