//! `/metrics`, for Prometheus: everything that the server measures of itself. docs/METRICS.md lists it.
//!
//! It waits for no other thread, so a server that is stuck still answers.

mod exposition;
mod tls;

use std::fmt;

use axum::extract::{Request, State as Given};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use exchange::containment::Part;
use exchange::{GatewayMetrics, Gauge, Kind, Metrics, Outcome, State, TurnedAway};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

use crate::app_state::AppState;
use crate::clock::now;
use crate::process::Process;
use exposition::{Exposition, Family, In, NUMBERS, TIMES};

const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) async fn metrics(Given(app): Given<AppState>) -> Response {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(app)));
    let mut told = String::new();
    match text::encode(&mut told, &registry) {
        Ok(()) => ([(header::CONTENT_TYPE, KIND)], told).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Counts writes that were refused for their form, because they never get as far as the exchange.
pub(crate) async fn count_malformed(Given(app): Given<AppState>, request: Request, next: Next) -> Response {
    let writes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let response = next.run(request).await;
    let refused = [StatusCode::BAD_REQUEST, StatusCode::PAYLOAD_TOO_LARGE, StatusCode::UNSUPPORTED_MEDIA_TYPE];
    if writes && refused.contains(&response.status()) {
        app.instruments().rest.malformed(1);
    }
    response
}

/// All metrics, as they are when they are requested.
struct Scrape(AppState);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Exposition(encoder);
        self.server(&mut out)?;
        self.requests(&mut out)?;
        self.gateway(&mut out)?;
        self.panics(&mut out)?;
        self.market(&mut out)?;
        self.keeping(&mut out)?;
        self.feed(&mut out)?;
        self.tls(&mut out)?;
        process_metrics(&mut out)
    }
}

const fn family(name: &'static str, unit: Option<In>, help: &'static str) -> Family {
    Family { name, unit, help }
}

impl Scrape {
    fn server(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let about = &self.0.instruments().about;
        out.info(
            family("pricetime_build", None, "Always 1; the labels tell the version and where the market is kept."),
            &[("version", about.version), ("store", about.store)],
        )?;
        let ready = u64::from(self.0.status().get() == State::Ready);
        out.gauge(
            family("pricetime_ready", None, "1 while the server serves clients, as /ready says; otherwise 0."),
            Some(ready),
        )?;
        out.gauge(
            family("pricetime_mode", None, "How far the venue is open: 0 normal, 1 read-only, 2 maintenance."),
            Some(self.0.mode() as u64),
        )
    }

    fn requests(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let metrics = &self.0.instruments().metrics;
        let counts = metrics.gateways().iter().flat_map(|gateway| {
            let pairs = Kind::ALL.into_iter().flat_map(|kind| Outcome::ALL.map(|outcome| (kind, outcome)));
            // A malformed write is neither a kind nor an outcome of anything else.
            let possible =
                pairs.filter(|(kind, outcome)| (*kind == Kind::Malformed) == (*outcome == Outcome::Malformed));
            possible.map(move |(kind, outcome)| {
                let labels = [("gateway", gateway.name()), ("kind", kind.name()), ("outcome", outcome.name())];
                (labels, gateway.requests(kind, outcome))
            })
        });
        out.counters(
            family(
                "pricetime_requests",
                None,
                "Requests, by what they asked for and what came of it. An XML request counts once for each of its children.",
            ),
            counts,
        )?;
        let refusals = metrics.gateways().iter().flat_map(|gateway| {
            let labels = |limit| [("gateway", gateway.name()), ("limit", limit)];
            gateway.limit_refusals().map(move |(limit, refused)| (labels(limit), refused))
        });
        out.counters(
            family(
                "pricetime_limit_refusals",
                None,
                "Commands and queries refused because they were past a limit of their account or of their member.",
            ),
            refusals,
        )?;
        let turned_away = metrics.gateways().iter().flat_map(|gateway| {
            let labels = |why: TurnedAway| [("gateway", gateway.name()), ("reason", why.name())];
            gateway.all_turned_away().map(move |(why, times)| (labels(why), times))
        });
        out.counters(
            family(
                "pricetime_turned_away",
                None,
                "Requests, logins and connections turned away before they asked the exchange for anything, by reason.",
            ),
            turned_away,
        )?;
        let labelled = |gateway: &GatewayMetrics| ([("gateway", gateway.name())], gateway.answers());
        let answers: Vec<_> = metrics.gateways().iter().map(labelled).collect();
        out.histograms(
            family(
                "pricetime_request",
                Some(In::Seconds),
                "Requests, by the time from handing their batch to the exchange to getting its answers.",
            ),
            &TIMES,
            answers.iter().map(|(labels, reading)| (&labels[..], reading.clone())),
        )?;
        let stages = metrics.stages().map(|(stage, reading)| ([("stage", stage)], reading));
        out.histograms(
            family("pricetime_stage", Some(In::Seconds), "Requests, by the time that their batch spent in a stage."),
            &TIMES,
            stages.iter().map(|(labels, reading)| (&labels[..], reading.clone())),
        )?;
        out.histograms(
            family(
                "pricetime_batch",
                Some(In::Operations),
                "Turns of the sequencer, by their number of commands and queries. With a database: transactions, and \
                 reads of its sequence row for turns of queries alone.",
            ),
            &NUMBERS,
            std::iter::once((&[][..], metrics.turns())),
        )?;
        turns(out, metrics)?;
        out.gauge(
            family(
                "pricetime_queue",
                Some(In::Operations),
                "Commands and queries that were handed to the exchange and are not answered yet.",
            ),
            Some(metrics.ops_in_flight()),
        )
    }

    fn gateway(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let instruments = self.0.instruments();
        let counters = instruments.counters.get().map(|counters| counters());
        let counters = counters.as_ref();
        let mut connections = vec![(&[("gateway", "http")][..], instruments.connections.count() as u64)];
        if let Some(counters) = counters {
            connections.insert(0, (&[("gateway", "xml")], counters.connections_open));
        }
        out.gauges(
            family("pricetime_connections", None, "Connections that are open now. Those of http include WebSockets."),
            &connections,
        )?;
        self.places(out)?;
        out.gauge(
            family("pricetime_websockets", None, "WebSockets that are open now."),
            Some(instruments.websockets.count() as u64),
        )?;
        out.counter(
            family("pricetime_xml_connections_accepted", None, "XML connections that were accepted."),
            counters.map(|counters| counters.connections_accepted),
        )?;
        out.counter(
            family(
                "pricetime_xml_connections_shed",
                None,
                "XML connections that were closed because their clients did not read their replies and memory ran short.",
            ),
            counters.map(|counters| counters.connections_shed),
        )?;
        out.gauge(
            family(
                "pricetime_xml_held",
                Some(In::Bytes),
                "Bytes of XML requests with their answers whose replies wait for an earlier reply, the history or their client.",
            ),
            counters.map(|counters| counters.held_bytes),
        )?;
        out.counter(
            family(
                "pricetime_xml_accept_pauses",
                None,
                "How often a worker paused accepting, because there were too many connections or open files.",
            ),
            counters.map(|counters| counters.accept_pauses),
        )?;
        out.counter(
            family("pricetime_xml_documents", None, "Complete XML requests that were read, malformed ones included."),
            counters.map(|counters| counters.requests),
        )?;
        out.counter(
            family("pricetime_xml_reply", Some(In::Bytes), "Bytes of XML replies that the kernel took."),
            counters.map(|counters| counters.reply_bytes),
        )
    }

    fn panics(&self, out: &mut Exposition<'_>) -> fmt::Result {
        out.counters(
            family(
                "pricetime_contained_panics",
                None,
                "Faults of the server that ended one request, session or question, or the feed, and nothing else; the log tells each.",
            ),
            Part::ALL.into_iter().map(|part| ([("part", part.name())], part.panics())),
        )
    }

    fn places(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.instruments().places.iter().map(|(name, places)| (*name, places.counts())).collect();
        let proven: Vec<_> = all.iter().map(|(name, counts)| ([("gateway", *name)], counts.proven as u64)).collect();
        let proven: Vec<_> = proven.iter().map(|(labels, proven)| (&labels[..], *proven)).collect();
        out.gauges(
            family(
                "pricetime_member_connections",
                None,
                "Connections that are open now and have a place of their own, as a member's.",
            ),
            &proven,
        )?;
        let refused = all.iter().flat_map(|(name, counts)| {
            [("address", counts.refused_of_address), ("full", counts.refused_taken)]
                .map(|(reason, count)| ([("gateway", *name), ("reason", reason)], count))
        });
        out.counters(
            family(
                "pricetime_connections_refused",
                None,
                "Connections that got no place: their `address` had as many as one may have, or all were taken (`full`).",
            ),
            refused,
        )?;
        let gave_way = all.iter().flat_map(|(name, counts)| {
            [("address", counts.gave_way_of_address), ("member", counts.gave_way_of_member)]
                .map(|(holder, count)| ([("gateway", *name), ("holder", holder)], count))
        });
        out.counters(
            family(
                "pricetime_connections_gave_way",
                None,
                "Connections that were closed because others needed their places, of the `address` or the `member` with the most.",
            ),
            gave_way,
        )
    }

    fn market(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let metrics = &self.0.instruments().metrics;
        out.counter(
            family("pricetime_commands", None, "Commands that got a number since the market began. Queries get none."),
            metrics.get(Gauge::Commands),
        )?;
        out.gauge(family("pricetime_accounts", None, "Accounts of the market."), metrics.get(Gauge::Accounts))?;
        out.gauge(family("pricetime_symbols", None, "Symbols of the market."), metrics.get(Gauge::Symbols))?;
        out.gauge(family("pricetime_open_orders", None, "Orders that are open."), metrics.get(Gauge::OpenOrders))?;
        out.gauge(
            family(
                "pricetime_client_order_ids",
                None,
                "Client order ids that stand for an order; 191 bytes of memory each. `--max-client-orders-in-all` bounds them.",
            ),
            metrics.get(Gauge::ClientOrderIds),
        )?;
        out.gauge(
            family(
                "pricetime_protected_accounts",
                None,
                "Accounts whose orders are canceled when nobody is there for them.",
            ),
            metrics.get(Gauge::Protected),
        )?;
        out.counter(
            family(
                "pricetime_disconnected_orders",
                None,
                "Orders canceled because nobody was there for their accounts.",
            ),
            metrics.get(Gauge::Disconnected).or(Some(0)),
        )?;
        let killed = [
            ("everything", Gauge::KilledEverything),
            ("account", Gauge::KilledAccounts),
            ("symbol", Gauge::KilledSymbols),
        ];
        let killed = killed.map(|(scope, gauge)| ([("scope", scope)], metrics.get(gauge)));
        let killed: Vec<_> = killed.iter().filter_map(|(labels, killed)| Some((&labels[..], (*killed)?))).collect();
        if !killed.is_empty() {
            out.gauges(
                family(
                    "pricetime_killed",
                    None,
                    "What is killed: `everything` is 1 or 0, `account` and `symbol` how many are.",
                ),
                &killed,
            )?;
        }
        let lead = metrics.get(Gauge::MarketTime).map(|time| time.saturating_sub(now()) as f64 / 1e6);
        out.gauge(
            family(
                "pricetime_clock_lead",
                Some(In::Seconds),
                "How far market time is ahead of the machine's clock, because the clock was set back or was wrong. Market time \
                 stands still until the clock has caught up.",
            ),
            lead,
        )?;
        out.gauge(
            family(
                "pricetime_clock_leap",
                Some(In::Seconds),
                "How far the machine's clock has leapt ahead of market time, which does not follow it; as of the last turn.",
            ),
            metrics.get(Gauge::ClockLeapMicros).map_or(Some(0.0), |micros| Some(micros as f64 / 1e6)),
        )
    }

    /// Writes the metrics of the place that keeps the market.
    fn keeping(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let instruments = self.0.instruments();
        let metrics = &instruments.metrics;
        let times = std::iter::once((&[][..], metrics.syncs()));
        match instruments.about.is_database() {
            false => out.histograms(
                family(
                    "pricetime_journal_sync",
                    Some(In::Seconds),
                    "Syncs of the journal, by the time that the disk took.",
                ),
                &TIMES,
                times,
            )?,
            true => out.histograms(
                family(
                    "pricetime_store_commit",
                    Some(In::Seconds),
                    "Transactions, by the time that the database took.",
                ),
                &TIMES,
                times,
            )?,
        }
        let recovery = metrics.get(Gauge::RecoveryMicros).map(|micros| micros as f64 / 1e6);
        out.gauge(
            family(
                "pricetime_recovery",
                Some(In::Seconds),
                "How long the start took to read the state: snapshot and journal, or the database.",
            ),
            recovery,
        )?;
        out.gauge(
            family("pricetime_recovered_commands", None, "Commands that the start replayed from the journal."),
            metrics.get(Gauge::RecoveredCommands),
        )?;
        let age = metrics.get(Gauge::SnapshotTime).map(|time| (now() as f64 / 1e6 - time as f64).max(0.0));
        out.gauge(
            family(
                "pricetime_snapshot_age",
                Some(In::Seconds),
                "Age of the newest snapshot; absent until there is one.",
            ),
            age,
        )?;
        out.gauge(
            family("pricetime_data_free", Some(In::Bytes), "Free room on the disk of the data folder."),
            metrics.get(Gauge::DataFreeBytes),
        )?;
        if instruments.about.is_database() {
            return Ok(());
        }
        let commands = metrics.get(Gauge::Commands).unwrap_or_default();
        let behind = metrics.get(Gauge::HistoryCommands).map(|followed| commands.saturating_sub(followed));
        out.gauge(
            family("pricetime_history_lag_commands", None, "Commands that the history has not followed yet."),
            behind,
        )?;
        let damaged = [("history", Gauge::DamagedInHistory)];
        out.counters(
            family(
                "pricetime_damaged_records",
                None,
                "Records that were found damaged when they were read. Each counts once, up to 10,000; the log names them.",
            ),
            damaged.into_iter().filter_map(|(kept, gauge)| Some(([("kept", kept)], metrics.get(gauge)?))),
        )?;
        self.log(out)
    }

    /// Writes the metrics of the log that this server shares with others, if it does.
    fn log(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let metrics = &self.0.instruments().metrics;
        let figures = [
            ("pricetime_log_epoch", "How many times this node of the cluster was started.", Gauge::LogEpoch),
            ("pricetime_log_taken_messages", "The last message of the log that this node has taken.", Gauge::LogTaken),
            ("pricetime_log_end_messages", "The last message of the log that this node knows of.", Gauge::LogEnd),
            (
                "pricetime_log_compared_message",
                "The message of the log before which the nodes last compared their states.",
                Gauge::MarkPosition,
            ),
            ("pricetime_log_states_same", "Nodes whose state was this node's there, itself included.", Gauge::MarkSame),
            ("pricetime_log_states_other", "Nodes whose state was another one there.", Gauge::MarkOther),
            (
                "pricetime_log_members_away",
                "Whether the members' stream beside the log cannot be asked: changes of members on other nodes are not seen.",
                Gauge::MembersAway,
            ),
        ];
        figures.into_iter().try_for_each(|(name, help, gauge)| out.gauge(family(name, None, help), metrics.get(gauge)))
    }

    /// Writes the metrics of the feed; nothing where there is none.
    fn feed(&self, out: &mut Exposition<'_>) -> fmt::Result {
        let has_failed = self.0.has_market().then(|| u64::from(self.0.feed_failure().is_some()));
        out.gauge(
            family(
                "pricetime_feed_failed",
                None,
                "1 if the feed has ended by a fault of the server: XML alone is served.",
            ),
            has_failed,
        )?;
        let Ok(market) = self.0.market() else { return Ok(()) };
        let (waiting, metrics) = (market.asker.waiting_events() as u64, &self.0.instruments().metrics);
        out.gauge(
            family("pricetime_feed_lag_events", None, "Events that the feed has not followed yet."),
            Some(waiting),
        )?;
        out.gauge(
            family("pricetime_subscribers", None, "WebSockets with at least one subscription, as of the last second."),
            metrics.get(Gauge::Subscribers),
        )?;
        out.gauge(
            family(
                "pricetime_feed_remembered",
                Some(In::Bytes),
                "Bytes of the trades and candles that the feed keeps in memory, as of the last second; older ones are in the history.",
            ),
            metrics.get(Gauge::RememberedBytes),
        )?;
        let budget = self.0.budget();
        out.counter(
            family(
                "pricetime_subscriber_messages",
                Some(In::Bytes),
                "Bytes of the messages that were made for WebSockets. One that many get is made, and counted, once.",
            ),
            Some(budget.made()),
        )?;
        out.gauge(
            family(
                "pricetime_subscriber_waiting",
                Some(In::Bytes),
                "Bytes that wait for all WebSockets to take them, a message that waits for many counted once; at most 256 MiB.",
            ),
            Some(budget.held() as u64),
        )?;
        out.counter(
            family(
                "pricetime_subscribers_too_slow",
                None,
                "WebSockets that were closed because their clients did not take what waited for them.",
            ),
            Some(budget.too_slow()),
        )?;
        out.counter(
            family(
                "pricetime_fix_reports",
                None,
                "Reports that were made for FIX sessions. One that many get is made, and counted, once.",
            ),
            Some(metrics.gateways().iter().map(GatewayMetrics::reports).sum::<u64>()),
        )?;
        out.gauge(
            family(
                "pricetime_fix_reports_waiting",
                None,
                "Reports that wait for FIX sessions, one that waits for many counted once.",
            ),
            Some(metrics.gateways().iter().map(GatewayMetrics::reports_waiting).sum::<u64>()),
        )?;
        out.gauge(
            family(
                "pricetime_fix_unsent",
                Some(In::Bytes),
                "Bytes of messages that were made for FIX sessions and are not sent; at most 256 KiB of each session, 64 MiB of all.",
            ),
            Some(metrics.gateways().iter().map(GatewayMetrics::unsent).sum::<u64>()),
        )
    }
}

/// Writes how requests take turns.
fn turns(out: &mut Exposition<'_>, metrics: &Metrics) -> fmt::Result {
    out.histograms(
        family(
            "pricetime_turn_cost",
            None,
            "Turns of the sequencer with heavy requests, by their estimated cost: 1 is about an order.",
        ),
        &NUMBERS,
        std::iter::once((&[][..], metrics.heavy())),
    )?;
    out.counter(
        family("pricetime_turns_cut", None, "Turns of the sequencer that left heavy requests to later ones."),
        Some(metrics.cut()),
    )?;
    out.counter(
        family(
            "pricetime_requests_passed_over",
            None,
            "Requests that waited in the sequencer's queue while turns of others were taken.",
        ),
        Some(metrics.passed_over()),
    )
}

fn process_metrics(out: &mut Exposition<'_>) -> fmt::Result {
    let Some(process) = Process::look() else { return Ok(()) };
    out.gauge(family("process_resident_memory", Some(In::Bytes), "Resident memory."), Some(process.resident_bytes))?;
    out.counter_of_time(
        family("process_cpu", Some(In::Seconds), "Processor time, in the program and in the kernel."),
        Some(process.cpu_seconds),
    )?;
    out.gauge(
        family("process_start_time", Some(In::Seconds), "When the process was started, counted from the Unix epoch."),
        Some(process.started_seconds),
    )?;
    out.gauge(family("process_open_fds", None, "Open files and sockets."), Some(process.open_files as u64))?;
    out.gauge(family("process_max_fds", None, "The most files and sockets that may be open."), process.open_files_max)
}
