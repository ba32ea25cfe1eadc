//! REST, under `/api/v1`: docs/API.md is its interface.

mod accounts;
mod amend;
mod audit;
mod fees;
mod groups;
mod kills;
mod limits;
mod members;
mod modes;
mod order_lists;
mod order_problem;
mod orders;
mod past_market;
mod phases;
mod placing;
#[cfg(feature = "fuzz")]
mod reading;
mod replace;
mod sandbox;
mod seconds;
mod sessions;
mod status;
mod symbols;
mod transfers;

#[cfg(feature = "fuzz")]
pub(crate) use reading::read;

use axum::http::Method;
use exchange::Unavailable;
use feed::HistoryError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app_state::AppState;
use crate::history_pages::HistoryFault;
use crate::problem::Problem;
use crate::problem_code::Code;

/// Returns all of it but the descriptions.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(status::status))
        .routes(routes!(seconds::seconds))
        .routes(routes!(status::time))
        .routes(routes!(sessions::who, sessions::log_in, sessions::log_out))
        .routes(routes!(members::list, members::add))
        .routes(routes!(members::change, members::remove))
        .routes(routes!(members::add_key))
        .routes(routes!(members::remove_key))
        .routes(routes!(audit::list))
        .routes(routes!(sandbox::of, sandbox::run))
        .routes(routes!(modes::mode, modes::change_mode))
        .routes(routes!(symbols::list))
        .routes(routes!(symbols::one))
        .routes(routes!(symbols::book))
        .routes(routes!(symbols::queues))
        .routes(routes!(past_market::book))
        .routes(routes!(past_market::queues))
        .routes(routes!(past_market::events))
        .routes(routes!(symbols::trades))
        .routes(routes!(symbols::candles))
        .routes(routes!(symbols::issue))
        .routes(routes!(symbols::change_rules))
        .routes(routes!(fees::of, fees::change))
        .routes(routes!(phases::change_phase))
        .routes(routes!(accounts::list, accounts::create))
        .routes(routes!(accounts::one, transfers::close))
        .routes(routes!(fees::change_tier))
        .routes(routes!(groups::change_group))
        .routes(routes!(transfers::deposit))
        .routes(routes!(transfers::withdraw))
        .routes(routes!(kills::account))
        .routes(routes!(limits::of, limits::change))
        .routes(routes!(kills::symbol))
        .routes(routes!(kills::member))
        .routes(routes!(kills::is_everything, kills::everything))
        .routes(routes!(orders::list, orders::cancel_all))
        .routes(routes!(accounts::executions))
        .routes(routes!(placing::place))
        .routes(routes!(order_lists::place))
        .routes(routes!(
            orders::one_by_client_id,
            orders::cancel_by_client_id,
            replace::replace_by_client_id,
            amend::amend_by_client_id
        ))
        .routes(routes!(orders::place_in_queue))
        .routes(routes!(orders::one, orders::cancel, replace::replace, amend::amend))
}

/// Answers for unknown paths under it.
pub(crate) async fn nothing_here() -> Problem {
    let detail = "there is nothing at this path; docs/API.md lists what there is";
    Problem::new(Code::NotFound, detail)
}

pub(crate) async fn wrong_method(method: Method) -> Problem {
    let detail = format!("{method} is not for this path; docs/API.md lists what is");
    Problem::new(Code::MethodNotAllowed, detail)
}

fn unreadable(error: HistoryError) -> Problem {
    Problem::unreadable(&error)
}

/// The refusal for a history that cannot answer.
fn troubled(trouble: HistoryFault) -> Problem {
    match trouble {
        HistoryFault::Unreadable(error) => unreadable(error),
        HistoryFault::Away => Problem::unavailable(Unavailable::StoreAway),
        HistoryFault::Crowded => Problem::crowded(),
        HistoryFault::NotReady => Problem::not_ready(),
        HistoryFault::Fault => Problem::fault(),
    }
}

/// The refusal of a `before` at which no page ended.
fn bad_cursor() -> Problem {
    Problem::field("before", "before is the `next` of a page of the same list")
}
