//! A server in this process, on a clock that the test moves.

use std::path::Path;
use std::sync::Arc;

use binance::{Binance, Keys};
use exchange::{Metrics, Newcomers, State, Status};
use http_gateway::{About, Web};
use market::timekeeper::Clock;
use pricetime::backend::Backend;
use pricetime::connections::Connections;
use pricetime::serve::{metrics, web_settings};
use pricetime::settings::{GivenSettings, ServeArgs, Settings};
use pricetime::store_location::StoreLocation;

use super::http::Http;

pub struct Here {
    pub settings: Settings,
    pub backend: Backend,
    pub web: Web,
    pub metrics: Metrics,
    status: Status,
}

impl Here {
    /// Opens the market; `serve` makes it reachable.
    pub fn open(given: GivenSettings, clock: Clock) -> Here {
        Here::open_with_keys(given, clock, Keys::default())
    }

    fn open_with_keys(given: GivenSettings, clock: Clock, keys: Keys) -> Here {
        let free = Some("127.0.0.1:0".parse().unwrap());
        let given = GivenSettings { xml: free, http: free, workers: Some(1), ..given };
        let settings = ServeArgs { given, ..ServeArgs::default() }.settings().unwrap();
        let (status, metrics) = (Status::new(), metrics(std::iter::empty()));
        let failed = Arc::new(|fault: String| panic!("{fault}"));
        let (backend, _) = Backend::open(&settings, &status, metrics.clone(), clock, failed).unwrap();
        let about = About {
            version: "test",
            demo: false,
            store: settings.store.kind(),
            days: false,
            read_only: settings.read_only,
        };
        let of_web = web_settings(&settings, &Connections::allowed(&settings, Newcomers::Wait).unwrap(), None);
        let dialect = Some(Arc::new(Binance::new(keys)) as _);
        let web = Web::start(of_web, status.clone(), about, metrics.clone(), dialect).unwrap();
        Here { settings, backend, web, metrics, status }
    }

    /// Serves the market of this folder, or of this database.
    pub fn start(data: &Path, store: Option<&str>, clock: Clock, keys: Keys) -> Here {
        let store = store.map(|store| store.parse::<StoreLocation>().unwrap());
        let given = GivenSettings { data: Some(data.to_owned()), store, ..GivenSettings::default() };
        let here = Here::open_with_keys(given, clock, keys);
        here.serve();
        here
    }

    pub fn serve(&self) {
        let (exchange, asker, records) =
            (self.backend.exchange(), self.backend.asker().unwrap(), self.backend.records());
        self.web.open(http_gateway::HttpBackend {
            exchange,
            asker,
            records,
            xml_port: 0,
            fix_port: 0,
            sandbox: None,
            audit: None,
            past: None,
            time: terms::Time(0),
        });
        self.status.set(State::Ready);
    }

    pub fn http(&self) -> Http {
        Http::new(self.web.local_addr())
    }

    /// Ends the server, and returns its settings.
    pub fn stop(self) -> Settings {
        drop(self.web);
        self.backend.stop(&self.settings).unwrap();
        self.settings
    }
}
