//! Sends the tickers of all symbols that changed to connections that follow all of them, some at a time.

use std::time::{Duration, Instant};

use feed::{ReadModel, SymbolFollowers, View};
use terms::SymbolIndex;

use crate::topic::{Envelope, StreamTopic, Tickers, Wrap};
use crate::{events, names, stream};
use http_gateway::hub::Hub;
use http_gateway::shared_text::SharedText;

/// The shortest time between two messages, each of at most [`AT_ONCE`] symbols: if more change, each is sent less
/// often.
const EVERY: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 500;

/// The streams of all symbols that connections follow.
#[derive(Debug, Default)]
pub(crate) struct AllTickers {
    followed: Vec<(Tickers, Envelope)>,
    /// The time of the next message; `None` before the first.
    next: Option<Instant>,
}

impl AllTickers {
    pub(crate) fn begin(&mut self, tickers: Tickers, envelope: Envelope) {
        self.followed.push((tickers, envelope));
    }

    pub(crate) fn end(&mut self, tickers: Tickers, envelope: Envelope) {
        self.followed.retain(|its| *its != (tickers, envelope));
    }

    /// Sends what is due. Returns the time of the next message if it sent one.
    pub(crate) fn tell_due(&mut self, model: &mut ReadModel<Hub>, at: Instant) -> Option<Instant> {
        if self.followed.is_empty() {
            return None;
        }
        if let Some(next) = self.next.filter(|next| at < *next) {
            return Some(next);
        }
        let mut changed = model.view.take_changed_symbols(SymbolFollowers::Compatible, AT_ONCE);
        changed.retain(|symbol| names::is_traded(&model.view, *symbol));
        if changed.is_empty() {
            return None;
        }
        for &(tickers, envelope) in &self.followed {
            let message = || event(&model.view, tickers, envelope, &changed);
            model.watcher.tell(StreamTopic::OfAll(tickers, envelope).topic(), || SharedText::from(message()));
        }
        self.next = Some(at + EVERY);
        self.next
    }
}

fn event(view: &View, tickers: Tickers, envelope: Envelope, changed: &[SymbolIndex]) -> String {
    let of = |symbol: SymbolIndex| match tickers {
        Tickers::Day => events::ticker(view, symbol, envelope.unit),
        Tickers::Mini => events::mini_ticker(view, symbol, envelope.unit),
        Tickers::Window(window) => events::window_ticker(view, symbol, window, envelope.unit),
    };
    let all: Vec<String> = changed.iter().map(|symbol| of(*symbol)).collect();
    let event = events::list(&all);
    match envelope.wrap {
        Wrap::Raw | Wrap::Api => event,
        Wrap::Combined => events::of_stream(&stream::name_of_all(tickers), &event),
    }
}
