//! An interface in other words over the same server. It has a crate of its own, and the program puts both together.

use axum::Router;

use crate::app_state::AppState;
use crate::route_needs::DialectPaths;

/// An interface in other words: routes under a prefix, their needs, and layers around all routes.
pub trait Dialect: Send + Sync {
    /// Returns its paths, for the checks that come before its handlers.
    fn paths(&self) -> DialectPaths;

    /// Returns its routes, with the prefix.
    fn routes(&self, app: &AppState) -> Router<AppState>;

    /// Puts its layers around the routes of all interfaces. They let requests of others pass as they are.
    fn around(&self, routes: Router<AppState>) -> Router<AppState>;

    /// Serves its routes at the root: `routes` answers each request as if it had the prefix, and nothing else.
    fn at_root(&self, routes: Router) -> Router;
}
