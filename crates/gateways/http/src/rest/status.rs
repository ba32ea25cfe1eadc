//! The state of the server and what it measures.

use axum::Json;
use axum::extract::State;
use exchange::{Mode, State as Standing};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app_state::AppState;
use crate::clock::now;
use crate::problem::Problem;
use crate::schema_values;

/// A server and its market at a glance.
#[derive(Serialize, ToSchema)]
#[schema(as = ServerStatus)]
pub(crate) struct StatusShape {
    #[schema(value_type = schema_values::Standing)]
    status: &'static str,
    /// The version of the program.
    version: &'static str,
    /// Whether it is a market of play money and simulated traders.
    demo: bool,
    /// The store of the market: `journal` or `postgres`.
    store: &'static str,
    /// The port of the XML protocol; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u16>, required = false)]
    xml_port: Option<u16>,
    /// The port of FIX; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u16>, required = false)]
    fix_port: Option<u16>,
    /// Whether orders may end with the day: the calendar has the day's end of some symbols.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    orders_for_the_day: bool,
    /// The mode of the venue; absent while it is normal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schema_values::Mode, required = false)]
    mode: Option<&'static str>,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Count)]
    uptime_seconds: u64,
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Count)]
    accounts: usize,
    #[schema(value_type = schema_values::Count)]
    symbols: usize,
    #[schema(value_type = schema_values::Count)]
    open_orders: usize,
    /// The number of accounts that are protected: their orders are canceled when their client is gone; absent while
    /// there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::Count>)]
    protected: Option<usize>,
}

/// Shows the state of the server, and how much its market has.
#[utoipa::path(
    get, path = "/status", operation_id = "getStatus", tag = "Server",
    responses((status = 200, description = "How it stands", body = StatusShape)),
)]
pub(crate) async fn status(State(app): State<AppState>) -> Result<Json<StatusShape>, Problem> {
    let (about, ports) = (app.market()?.about.clone(), [app.market()?.xml_port, app.market()?.fix_port]);
    let [xml_port, fix_port] = ports.map(|port| Some(port).filter(|port| *port > 0));
    let status = match app.status().get() {
        Standing::Standby => "standby",
        Standing::Recovering => "recovering",
        Standing::StoreAway => "store-away",
        Standing::Ready => "ready",
        Standing::Stopping => "stopping",
        Standing::Failed(_) => "failed",
    };
    let mode = Some(app.mode()).filter(|mode| *mode != Mode::Normal).map(Mode::name);
    let uptime = app.started().elapsed().as_secs();
    let shown = app.look(move |model| {
        let view = &model.view;
        StatusShape {
            status,
            version: about.version,
            demo: about.demo,
            store: about.store,
            xml_port,
            fix_port,
            orders_for_the_day: about.days,
            mode,
            time: now(),
            uptime_seconds: uptime,
            sequence: view.sequence().0,
            accounts: view.accounts().len(),
            symbols: view.listings().len(),
            open_orders: view.open_orders(),
            protected: Some(view.protections().count()).filter(|&count| count > 0),
        }
    });
    Ok(Json(shown.await?))
}

/// The server's clock.
#[derive(Serialize, ToSchema)]
#[schema(as = ServerTime)]
pub(crate) struct TimeShape {
    #[schema(value_type = schema_values::Time)]
    time: u64,
}

/// Shows the server's time.
#[utoipa::path(
    get, path = "/time", operation_id = "getTime", tag = "Server",
    responses((status = 200, description = "The time", body = TimeShape)),
)]
pub(crate) async fn time() -> Json<TimeShape> {
    Json(TimeShape { time: now() })
}
