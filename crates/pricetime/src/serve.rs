//! `pricetime serve`: opens the data folder, starts the market and its gateways, and stops them in order.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::panic::PanicHookInfo;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use binance::{Binance, Keys};
use exchange::containment::{self, Contained};
use exchange::{Metrics, State, Status};
use fix::Fix;
use http_gateway::{About, Sandbox, Web};
use market::Failed;
use market::timekeeper::Clock;
use rustix::process::{Resource, Rlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use terms::Sequence;
use tls::ServerTls;
use xml::Gateway;

use crate::backend::{self, Backend, Opened};
use crate::connections::Connections;
use crate::demo::{Crowd, Plan, Traders, sandbox};
use crate::encryption;
use crate::feed_start;
use crate::keys;
use crate::logging;
use crate::members::{self, Members};
use crate::settings::{ServeArgs, Settings};
use crate::store_location::StoreLocation;

/// The folder of FIX sessions in the data folder.
const FIX_SESSIONS: &str = "fix-sessions";
/// The time for which a stopping server waits for its clients to take their replies.
const DRAIN_PATIENCE: Duration = Duration::from_secs(2);
/// The most time for a stop. Acknowledged commands are kept by then; the rest would only shorten the next start.
const STOP_PATIENCE: Duration = Duration::from_millis(4500);
/// The time that an answer may take beyond the patience with the database: room for a question in the queue of an
/// order.
const ANSWER_MARGIN: Duration = Duration::from_secs(5);

/// The reason why the server ends.
enum Ending {
    Signal,
    Answered,
    Failed(String),
    Stopped(Result<Sequence, String>),
}

/// Runs the server until it is told to stop. Errors: the reason why it cannot start or go on.
pub fn run(args: &ServeArgs) -> Result<ExitCode, String> {
    serve(args.settings()?, args.print_config, stop_signals()?, None)
}

/// Runs a demo's server, on which the crowd trades, until one of the signals comes.
pub fn run_demo(
    settings: Settings,
    print_config: bool,
    signals: Signals,
    demo: (Plan, Crowd),
) -> Result<ExitCode, String> {
    serve(settings, print_config, signals, Some(demo))
}

/// Catches the signals that tell a server to stop; from now on they do not end the process.
pub fn stop_signals() -> Result<Signals, String> {
    Signals::new([SIGTERM, SIGINT]).map_err(|error| format!("cannot catch signals: {error}"))
}

fn serve(
    settings: Settings,
    print_config: bool,
    signals: Signals,
    demo: Option<(Plan, Crowd)>,
) -> Result<ExitCode, String> {
    if print_config {
        print!("{}", settings.to_toml());
        return Ok(ExitCode::SUCCESS);
    }
    settings.umask.apply();
    logging::start(&settings.log_level, settings.log_format)?;
    abort_on_panic();
    let started = Instant::now();
    let (endings, ended) = channel();
    let status = Status::new();
    let nothing_to_finish = Arc::new(AtomicBool::new(demo.is_none()));
    catch_signals(signals, endings.clone(), status.clone(), Arc::clone(&nothing_to_finish))?;
    if members::are_known(&settings)
        || [&settings.keys, &settings.tls_key, &settings.members_key].iter().any(|path| !path.as_os_str().is_empty())
    {
        keep_secrets_in()?;
    }
    let mut keys = match settings.keys.as_os_str().is_empty() {
        true => Keys::default(),
        false => keys::read(&settings.keys)?,
    };
    let mut demo_notes = Vec::new();
    if demo.is_some() {
        demo_notes.push(crate::demo::NOTE.to_owned());
        if keys.is_empty() {
            demo_notes.push(crate::demo::add_key(&mut keys)?);
        }
    }
    let metrics =
        metrics(settings.fix_address()?.map(|_| "fix").into_iter().chain(demo.as_ref().map(|_| crate::demo::GATEWAY)));
    backend::refuse_unreleased(&settings)?;
    let members = members::open(&settings, &metrics, ending_with_failure(&endings))?;
    let (store, days) = (settings.store.kind(), !settings.calendar()?.day_ends().is_empty());
    let about =
        About { version: env!("CARGO_PKG_VERSION"), demo: demo.is_some(), store, days, read_only: settings.read_only };
    let connections = Connections::allowed(&settings, members::newcomers(&settings))?;
    let access = members.as_ref().map(|members| members.access.clone());
    let elsewhere = members.as_ref().and_then(|members| members.elsewhere.clone());
    let tls = encryption::open(&settings)?;
    if let Some(tls) = &tls {
        encryption::watch(tls.clone())?;
    }
    let of_web = http_gateway::Settings { access, elsewhere, ..web_settings(&settings, &connections, tls.clone()) };
    let dialect = Some(Arc::new(Binance::new(keys)) as _);
    let web = Web::start(of_web, status.clone(), about, metrics.clone(), dialect).map_err(|(address, error)| {
        let flag = if address == settings.http { "--http" } else { "--binance-at" };
        cannot_listen(address, flag, &error)
    })?;
    let state = (&status, &*nothing_to_finish);
    let server =
        Server::start(&settings, (&connections, tls), state, &endings, metrics, (web, demo_notes, members), demo)?;
    status.set(State::Ready);
    server.announce(&settings);
    server.run(&settings, (endings, &ended), &status, started)
}

/// Ends the server when nothing more may be acknowledged.
fn ending_with_failure(endings: &Sender<Ending>) -> Failed {
    let endings = endings.clone();
    Arc::new(move |cause: String| drop(endings.send(Ending::Failed(cause))))
}

/// Forbids core dumps, and keeps other programs of this user from reading the memory or attaching to the process,
/// because it holds secrets of members and the certificate's key. The limit alone does not bind a program that takes
/// dumps from a pipe.
fn keep_secrets_in() -> Result<(), String> {
    let why = |error| format!("cannot forbid core dumps, which hold secrets: {error}");
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(why)?;
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).map_err(why)?;
    Ok(())
}

/// Makes the settings of HTTP.
pub fn web_settings(settings: &Settings, connections: &Connections, tls: Option<ServerTls>) -> http_gateway::Settings {
    let hosts = settings.http_hosts.split(',').map(str::trim).filter(|host| !host.is_empty()).map(str::to_owned);
    http_gateway::Settings {
        address: settings.http,
        compatible_address: settings.compatible_address().unwrap_or_default(),
        hosts: hosts.collect(),
        backlog: settings.backlog,
        places: connections.http.clone(),
        all_places: connections.all(),
        idle_timeout: settings.idle_timeout.0,
        answer_timeout: settings.store_patience.0 + ANSWER_MARGIN,
        access: None,
        elsewhere: None,
        audit: members::audits(settings),
        tls,
    }
}

/// A running server.
struct Server {
    web: Web,
    traders: Option<Traders>,
    /// The traders that an operator may start.
    sandbox: Option<Arc<sandbox::Traders>>,
    backend: Backend,
    gateway: Gateway,
    /// The FIX gateway; none where FIX is not served.
    fix: Option<Fix>,
    opened: Opened,
    members: Option<Members>,
}

impl Server {
    fn start(
        settings: &Settings,
        (connections, tls): (&Connections, Option<ServerTls>),
        (status, nothing_to_finish): (&Status, &AtomicBool),
        endings: &Sender<Ending>,
        metrics: Metrics,
        (web, demo_notes, members): (Web, Vec<String>, Option<Members>),
        demo: Option<(Plan, Crowd)>,
    ) -> Result<Server, String> {
        let failed = ending_with_failure(endings);
        let (backend, opened) = Backend::open(settings, status, metrics.clone(), Clock::system(), failed)?;
        let exchange = members::guarded(members.as_ref(), backend.exchange());
        let fix = fix_settings(settings, connections, tls.clone())?.zip(backend.asker());
        let xml_settings = xml::Settings {
            desk: members::desk(members.as_ref()),
            ..xml_settings(settings, connections, &metrics, tls)
        };
        nothing_to_finish.store(false, Ordering::SeqCst);
        let gateway = xml::start(xml_settings, Arc::clone(&exchange))
            .map_err(|error| cannot_listen(settings.xml, "--xml", &error))?;
        if settings.stop_after_requests > 0 {
            let endings = endings.clone();
            gateway.stop_accepting_after(settings.stop_after_requests, move || drop(endings.send(Ending::Answered)));
        }
        web.watch(Arc::new(gateway.counting()));
        let start_fix = |(fix_settings, asker): (fix::Settings, _)| {
            let access = members.as_ref().map(|members| members.access.clone());
            let (exchange, metrics) = (Arc::clone(&exchange), metrics.gateway("fix"));
            let market = fix::FixBackend::new(exchange, asker, access, metrics, members::audits(settings));
            let address = fix_settings.address;
            Fix::start(fix_settings, market).map_err(|error| cannot_listen(address, "--fix", &error))
        };
        let fix = fix.map(start_fix).transpose()?;
        let can_have = demo.is_none() && !settings.read_only;
        let sandbox = can_have.then(|| Arc::new(sandbox::Traders::new(backend.exchange(), metrics.gateway("rest"))));
        if let Some(asker) = backend.asker() {
            let (xml_port, fix_port) =
                (gateway.local_addr().port(), fix.as_ref().map_or(0, |fix| fix.local_addr().port()));
            let here = sandbox.clone().map(|traders| traders as Arc<dyn Sandbox>);
            let (records, audit, past) = (backend.records(), backend.audit(), backend.past(settings)?);
            if let Some(since) = opened.alone_since.filter(|_| members.is_some()) {
                // All requests that a server before this one took were signed before this one begins.
                std::thread::sleep(http_gateway::SIGNED_AHEAD_MAX.saturating_sub(since.elapsed()));
            }
            let time = opened.time;
            let market = http_gateway::HttpBackend {
                exchange,
                asker,
                records,
                xml_port,
                fix_port,
                sandbox: here,
                audit,
                past,
                time,
            };
            web.open(market);
        }
        let mut opened = opened;
        opened.notes.extend(demo_notes);
        let traders = demo
            .map(|(plan, crowd)| plan.start(crowd, backend.exchange(), metrics.gateway(crate::demo::GATEWAY)))
            .transpose();
        let traders = traders.map_err(|error| format!("cannot start the simulated traders: {error}"))?;
        Ok(Server { web, traders, sandbox, backend, gateway, fix, opened, members })
    }

    /// Prints all addresses, the recovered state, and how to try it.
    fn announce(&self, settings: &Settings) {
        let (xml, http) = (self.gateway.local_addr(), self.web.local_addr());
        let Opened { kept, recovered, notes, .. } = &self.opened;
        let is_tls = !settings.tls_cert.as_os_str().is_empty();
        let (http_scheme, ws_scheme) = if is_tls { ("https", "wss") } else { ("http", "ws") };
        let mut text = format!(
            "pricetime {version}\n\
             \x20 XML        {xml} ({workers} workers{over_tls})\n\
             {page}\
             \x20 health     {http_scheme}://{http}/health, /ready and /metrics\n\
             \x20 {kept}\n\
             \x20 recovered  {recovered}\n",
            version = env!("CARGO_PKG_VERSION"),
            workers = settings.workers,
            over_tls = if is_tls { ", TLS" } else { "" },
            page = match settings.feed {
                true => format!("  page       {http_scheme}://{http}/ (REST at /api/v1, WebSocket at /ws/v1)\n"),
                false => String::new(),
            },
        );
        let compatible = self.web.compatible_addr();
        if let Some(address) = compatible {
            text += &format!("  Binance    {http_scheme}://{address}/api/v3, {ws_scheme}://{address}/ws\n");
        }
        let fix = self.fix.as_ref().map(Fix::local_addr);
        if let Some(address) = fix {
            text += &format!("  FIX        {address} (FIX 4.4{})\n", if is_tls { ", TLS" } else { "" });
        }
        if let Some(members) = &self.members {
            text += &format!("  members    {} keys\n", members.access.keys());
        }
        if let Some(failure) = self.backend.feed_failure() {
            text += &feed_start::warning(&failure);
        }
        if settings.read_only {
            text += "  read-only  it follows the log, and refuses what would change something\n";
        }
        for note in notes {
            text += &format!("  {note}\n");
        }
        let listening = [
            Some(("XML", xml)),
            Some(("HTTP", http)),
            compatible.map(|address| ("Binance", address)),
            fix.map(|address| ("FIX", address)),
        ];
        for (what, address) in listening.into_iter().flatten() {
            if self.members.is_none() && !address.ip().is_loopback() {
                text += &format!(
                    "  warning    {what} is on {address}, which is not loopback: there is no access file, so every client \
                     that reaches it can trade with every account\n"
                );
            }
        }
        text += &format!(
            "try it:      echo '<create><account id=\"1\" balance=\"1000\"/></create>' | pricetime send --to {xml}{trust}{login}\n",
            trust = if is_tls { format!(" --tls-ca {}", settings.tls_cert.display()) } else { String::new() },
            login = if self.members.is_some() { " --login KEY:SECRETFILE" } else { "" },
        );
        // A reader that closed standard output does not want the rest.
        let _ = std::io::stdout().write_all(text.as_bytes());
        let _ = std::io::stdout().flush();
    }

    fn run(
        self,
        settings: &Settings,
        (endings, ended): (Sender<Ending>, &Receiver<Ending>),
        status: &Status,
        started: Instant,
    ) -> Result<ExitCode, String> {
        match ended.recv() {
            Ok(Ending::Signal) => {}
            Ok(Ending::Answered) => self.print_times(started),
            Ok(Ending::Failed(cause)) => {
                status.set(State::Failed(cause.clone()));
                // No running thread may acknowledge anything more, so the process leaves at once.
                tracing::error!(%cause, "the server cannot go on and stops; start it again to recover, unless the cause says otherwise");
                std::process::exit(1);
            }
            Ok(Ending::Stopped(_)) => unreachable!("invariant: it is stopped below"),
            Err(_) => return Err("no thread is left that could end the server".to_string()),
        }
        status.set(State::Stopping);
        self.stop_within(STOP_PATIENCE, settings.clone(), endings, ended)
    }

    /// Stops on a thread of its own, so that nothing delays the end of the process, and a failure meanwhile is seen.
    fn stop_within(
        self,
        patience: Duration,
        settings: Settings,
        endings: Sender<Ending>,
        ended: &Receiver<Ending>,
    ) -> Result<ExitCode, String> {
        let deadline = Instant::now() + patience;
        let stop = move || drop(endings.send(Ending::Stopped(self.stop(&settings))));
        let started = std::thread::Builder::new().name("stop".to_string()).spawn(stop);
        started.map_err(|error| format!("cannot start a thread: {error}"))?;
        loop {
            match ended.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Ending::Stopped(Ok(last))) => {
                    tracing::info!(commands = last.0, "stopped");
                    return Ok(ExitCode::SUCCESS);
                }
                Ok(Ending::Stopped(Err(cause))) => return Err(cause),
                Ok(Ending::Failed(cause)) => {
                    tracing::error!(%cause, "not all could be written while stopping");
                    std::process::exit(1);
                }
                Ok(Ending::Signal | Ending::Answered) => {}
                Err(_) => {
                    tracing::warn!(
                        "stopping takes longer than {patience:?} and is cut short: all that was acknowledged is kept"
                    );
                    std::process::exit(0);
                }
            }
        }
    }

    /// Prints the times for `--stop-after-requests`.
    fn print_times(&self, started: Instant) {
        let first = self.gateway.first_request_at().unwrap_or(started);
        let last = self.gateway.last_reply_at().unwrap_or(first);
        let execution = last.saturating_duration_since(first);
        println!("requests answered:   {}", self.gateway.counters().requests_answered);
        println!("execution time:      {} us = {:.6} s", execution.as_micros(), execution.as_micros() as f64 / 1e6);
        println!("total running time:  {:.6} s", started.elapsed().as_secs_f64());
    }

    /// Answers what is in flight, then brings everything to the disk.
    fn stop(self, settings: &Settings) -> Result<Sequence, String> {
        self.gateway.stop_accepting();
        if !self.gateway.drain(DRAIN_PATIENCE) {
            tracing::warn!(
                "clients did not take their replies in {DRAIN_PATIENCE:?}; they find by queries what was done"
            );
        }
        drop(self.fix);
        drop(self.web);
        if let Some(traders) = self.traders {
            traders.stop();
        }
        if let Some(sandbox) = self.sandbox {
            sandbox.end();
        }
        self.backend.stop(settings)
    }
}

/// Makes the metrics: of the gateways that the server always has, and of these.
pub fn metrics(others: impl Iterator<Item = &'static str>) -> Metrics {
    Metrics::new(&["xml", "rest"].into_iter().chain(others).collect::<Vec<&str>>())
}

/// Makes the settings of FIX; none where FIX is not served.
fn fix_settings(
    settings: &Settings,
    connections: &Connections,
    tls: Option<ServerTls>,
) -> Result<Option<fix::Settings>, String> {
    let most = settings.fix_max_clock_difference.0;
    let of = |address| fix::Settings {
        address,
        backlog: settings.backlog,
        places: connections.fix.clone(),
        sessions: matches!(settings.store, StoreLocation::Journal).then(|| settings.data.join(FIX_SESSIONS)),
        clock_difference_max: (!most.is_zero()).then_some(most),
        tls,
    };
    Ok(settings.fix_address()?.map(of))
}

fn xml_settings(
    settings: &Settings,
    connections: &Connections,
    metrics: &Metrics,
    tls: Option<ServerTls>,
) -> xml::Settings {
    xml::Settings {
        address: settings.xml,
        workers: settings.workers,
        backlog: settings.backlog,
        places: connections.xml.clone(),
        request_bytes_max: usize::try_from(settings.max_request.0).unwrap_or(usize::MAX),
        children_max: settings.max_children,
        reply_bytes_max: settings.reply_bytes_max(),
        idle_timeout: settings.idle_timeout.0,
        close_after_reply: settings.close_after_reply,
        reply_length: settings.reply_length,
        metrics: metrics.gateway("xml"),
        audit: members::audits(settings),
        tls,
        ..xml::Settings::default()
    }
}

/// The reason why a gateway does not start, in words that name the address and the setting to change.
#[expect(clippy::wildcard_enum_match_arm, reason = "the system may say what no list of ours has")]
fn cannot_listen(address: SocketAddr, flag: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{address} is in use by another program; stop it or choose another address with {flag}")
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("{address} is not an address of this machine; choose another with {flag}")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{address} may not be used by this user; choose a port above 1023 with {flag}")
        }
        _ => format!("cannot listen on {address}: {error}; choose another address with {flag}"),
    }
}

/// Ends the process on a panic: nothing that a thread left half done may be acknowledged. Tasks for one client end
/// alone.
pub fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_second(panic) {
            match containment::panicked(panic) {
                Contained::No => {}
                Contained::Told => return,
                Contained::ToLog(part, what) => {
                    tracing::error!(
                        part = part.name(),
                        what,
                        "a fault of the server ended what it did for one client; please report it"
                    );
                    return;
                }
            }
        }
        report(panic);
        eprintln!(
            "pricetime: this is a fault of the server, which stops; nothing acknowledged is lost. Start it again, and please report the \
             lines above"
        );
        std::process::abort();
    }));
}

/// Whether the panic came while another one was cleaning up.
fn is_second(panic: &PanicHookInfo<'_>) -> bool {
    panic.payload().downcast_ref::<&str>().is_some_and(|words| words.contains("in a destructor during cleanup"))
}

/// Handles signals. The first signal asks for an orderly stop, or ends the process if the server has answered no client
/// yet and has no folder to remove. The second signal ends the process.
fn catch_signals(
    mut signals: Signals,
    endings: Sender<Ending>,
    status: Status,
    nothing_to_finish: Arc<AtomicBool>,
) -> Result<(), String> {
    // A write past the limit on the size of files must fail, and stop the server with its reason, and not end the
    // process.
    let ignored = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, ignored).map_err(|error| format!("cannot catch signals: {error}"))?;
    let watch = move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            status.set(State::Stopping);
            tracing::info!(signal, "stopping");
            if nothing_to_finish.load(Ordering::SeqCst) {
                // No client was answered yet, and the next start repeats what is half done.
                std::process::exit(0);
            }
            let _ = endings.send(Ending::Signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".to_string())
        .spawn(watch)
        .map(|_| ())
        .map_err(|error| format!("cannot start a thread: {error}"))
}
