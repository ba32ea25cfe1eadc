//! The server's settings: from the command line, else the environment, else a TOML file, else the default.

use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use history::Keep;
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::rewind::RewindBounds;
use serde::{Deserialize, Serialize};
use terms::{Money, Position};

pub use crate::setting_choices::{ClientCertificate, Durability, LogFormat};
use crate::setting_units::{ByteSize, Span, Umask, Whole};
use crate::store_location::StoreLocation;

/// One share, in units of [`Position`].
const SHARE: i128 = 10i128.pow(terms::SHARE_DECIMALS);
/// The most dollars, and shares of a symbol: the engine's own bound.
const ISSUED_MAX: u128 = 10u128.pow(20);

/// Declares each setting once: name, type, default and help, for the command line, the environment, the file and
/// `--print-config`.
macro_rules! settings {
    ($($(#[doc = $help:literal])* $([$($arg:tt)*])? $name:ident: $type:ty = $default:expr, $env:literal;)*) => {
        /// The settings as given, each of them optional.
        #[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct GivenSettings {
            $($(#[doc = $help])* #[arg(long, env = $env $(, $($arg)*)?)]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $name: Option<$type>,)*
        }

        /// The settings in force.
        #[derive(Clone, Debug, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub struct Settings {
            $($(#[doc = $help])* pub $name: $type,)*
        }

        impl GivenSettings {
            /// The settings given here, or else there, or else the defaults.
            fn or(self, there: GivenSettings) -> Settings {
                Settings { $($name: self.$name.or(there.$name).unwrap_or_else(|| $default),)* }
            }
        }
    };
}

settings! {
    /// Address of the XML protocol; port 0 takes a free one
    [value_name = "ADDR"]
    xml: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 12345)), "PRICETIME_XML";
    /// Address of the page, REST, WebSocket, /health, /ready and /metrics
    [value_name = "ADDR"]
    http: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080)), "PRICETIME_HTTP";
    /// Names by which HTTP clients may call this server, besides its addresses and localhost; separated by commas
    [value_name = "NAMES"]
    http_hosts: String = String::new(), "PRICETIME_HTTP_HOSTS";
    /// Another address for the interface compatible with Binance alone, at its root, for clients that accept no path;
    /// empty for none
    [value_name = "ADDR"]
    binance_at: String = String::new(), "PRICETIME_BINANCE_AT";
    /// Address of FIX 4.4; port 0 takes a free one, empty for none. It needs --feed
    [value_name = "ADDR"]
    fix: String = String::new(), "PRICETIME_FIX";
    /// Difference between SendingTime of a FIX message and the server's clock that ends the session; 0s where they are
    /// not compared
    [value_name = "TIME"]
    fix_max_clock_difference: Span = Span(std::time::Duration::from_secs(120)), "PRICETIME_FIX_MAX_CLOCK_DIFFERENCE";
    /// API keys of the interface compatible with Binance; `pricetime keys add` makes them
    [value_name = "FILE"]
    keys: PathBuf = PathBuf::new(), "PRICETIME_KEYS";
    /// File of members, roles and keys; `pricetime access` makes it. Without this setting access.toml in the data
    /// folder counts, if it is there at the start
    [value_name = "FILE"]
    access: PathBuf = PathBuf::new(), "PRICETIME_ACCESS";
    /// File of the key that seals the members of a cluster in its log, the same for each node; `pricetime cluster key`
    /// makes it
    [value_name = "FILE"]
    members_key: PathBuf = PathBuf::new(), "PRICETIME_MEMBERS_KEY";
    /// Listen on other addresses than loopback also without an access file: every client that reaches them may do
    /// everything
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    open_to_anyone: bool = false, "PRICETIME_OPEN_TO_ANYONE";
    /// Keep the caller of each command: member, protocol, connection and address. With an access file the server keeps
    /// callers in any case
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    audit: bool = false, "PRICETIME_AUDIT";
    /// Follow the market for the page, REST, WebSocket and FIX; without it HTTP answers health and metrics only
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    feed: bool = true, "PRICETIME_FEED";
    /// Data folder; the server makes a missing one
    [value_name = "DIR"]
    data: PathBuf = PathBuf::from("data"), "PRICETIME_DATA";
    /// Place of the market: `journal`, in the data folder; a database, postgres://USER:PASSWORD@HOST:5432/DATABASE; or
    /// a log that several servers share, nats://HOST:4222,HOST:4222/NAME
    [value_name = "PLACE", hide_env_values = true]
    store: StoreLocation = StoreLocation::Journal, "PRICETIME_STORE";
    /// Wait until no other server writes to the database, and then take over
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    standby: bool = false, "PRICETIME_STANDBY";
    /// Time that requests wait for a database or a log that is away before the server refuses them
    [value_name = "TIME"]
    store_patience: Span = Span(std::time::Duration::from_secs(5)), "PRICETIME_STORE_PATIENCE";
    /// Number of this server among those that share a log: each has its own, from 1 to 65535
    [value_name = "N"]
    node: u16 = 1, "PRICETIME_NODE";
    /// Only follow a log that several servers share, and refuse every change
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    read_only: bool = false, "PRICETIME_READ_ONLY";
    /// State of a command when its reply may leave
    durability: Durability = Durability::Synced, "PRICETIME_DURABILITY";
    /// Threads that read and write sockets [default: the cores this process may use]
    [value_name = "N"]
    workers: usize = default_workers(), "PRICETIME_WORKERS";
    /// Connections that may wait to be accepted, on each worker's listener and on that for HTTP
    [value_name = "N"]
    backlog: u32 = 8192, "PRICETIME_BACKLOG";
    /// XML connections at once; docs/SECURITY.md says which connections give way to further ones. 0 for as many as the
    /// limit of open files allows
    [value_name = "N"]
    max_connections: usize = 0, "PRICETIME_MAX_CONNECTIONS";
    /// Connections at once from one source address (one /64 network of IPv6), XML, HTTP and FIX together; 0 for no
    /// bound
    [value_name = "N"]
    max_connections_per_address: usize = 16_384, "PRICETIME_MAX_CONNECTIONS_PER_ADDRESS";
    /// The longest request
    [value_name = "SIZE"]
    max_request: ByteSize = ByteSize(1 << 20), "PRICETIME_MAX_REQUEST";
    /// The most elements in a request; `cancel-all`, `kill` and `release` count as a hundredth of it each
    [value_name = "N"]
    max_children: usize = 10_000, "PRICETIME_MAX_CHILDREN";
    /// The longest reply; the server refuses queries that do not fit
    [value_name = "SIZE"]
    max_reply: ByteSize = ByteSize(16 << 20), "PRICETIME_MAX_REPLY";
    /// The most accounts; the server refuses further ones
    [value_name = "N"]
    max_accounts: u64 = 1_000_000, "PRICETIME_MAX_ACCOUNTS";
    /// The most symbols; the server refuses further ones
    [value_name = "N"]
    max_symbols: u64 = 100_000, "PRICETIME_MAX_SYMBOLS";
    /// The most dollars of a new account
    [value_name = "N"]
    max_balance: Whole = Whole(10u128.pow(16)), "PRICETIME_MAX_BALANCE";
    /// The most shares of a symbol that an account may have after an issue
    [value_name = "N"]
    max_position: Whole = Whole(10u128.pow(16)), "PRICETIME_MAX_POSITION";
    /// The most dollars, and shares of each symbol, that one request may issue
    [value_name = "N"]
    max_issue: Whole = Whole(10u128.pow(17)), "PRICETIME_MAX_ISSUE";
    /// The most client order ids of an account: those of its open orders, and of orders that were done in the last 24
    /// hours
    [value_name = "N"]
    max_client_orders: u64 = 1_000_000, "PRICETIME_MAX_CLIENT_ORDERS";
    /// The most client order ids of all accounts; an account may have as many as are left to all
    max_client_orders_in_all: u64 = 4_000_000, "PRICETIME_MAX_CLIENT_ORDERS_IN_ALL";
    /// Close a connection this long after its last complete request
    [value_name = "TIME"]
    idle_timeout: Span = Span(std::time::Duration::from_secs(60)), "PRICETIME_IDLE_TIMEOUT";
    /// Close a connection after its first reply
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    close_after_reply: bool = false, "PRICETIME_CLOSE_AFTER_REPLY";
    /// Put a line with its length in bytes before each reply
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    reply_length: bool = false, "PRICETIME_REPLY_LENGTH";
    /// Size of a journal file
    [value_name = "SIZE"]
    segment_size: ByteSize = ByteSize(64 << 20), "PRICETIME_SEGMENT_SIZE";
    /// Keep every journal file, as an audit trail that can rebuild everything
    [num_args = 0..=1, require_equals = true, default_missing_value = "true"]
    keep_journal: bool = false, "PRICETIME_KEEP_JOURNAL";
    /// Make a snapshot when full journal files hold this many commands since the last one
    [value_name = "N"]
    snapshot_every: u64 = 4_000_000, "PRICETIME_SNAPSHOT_EVERY";
    /// The most commands that the server replays from a snapshot to show a moment of the past; 0 shows none
    [value_name = "N"]
    replay_commands: u64 = 10_000_000, "PRICETIME_REPLAY_COMMANDS";
    /// The most accounts, positions and open orders of a past market that the server shows
    [value_name = "N"]
    replay_items: u64 = 2_000_000, "PRICETIME_REPLAY_ITEMS";
    /// Keep done orders and trades for at least this many days; older ones go in whole files or tables. 0 keeps them
    /// for ever
    [value_name = "N"]
    history_keep_days: u64 = 0, "PRICETIME_HISTORY_KEEP_DAYS";
    /// Remove the oldest done orders and trades, in whole files or tables, while the history holds more than this; 0
    /// for any size
    [value_name = "SIZE"]
    history_keep_bytes: ByteSize = ByteSize(0), "PRICETIME_HISTORY_KEEP_BYTES";
    /// Permissions that new files and folders lack, in octal: with 077 only the server's user may read them, with 027
    /// its group may, too
    [value_name = "MASK"]
    umask: Umask = Umask::OWNER_ALONE, "PRICETIME_UMASK";
    /// Refuse everything but queries, cancels, kills and ends of protections while less than this would be free on the
    /// disk after the next journal file; 0 for never
    [value_name = "SIZE"]
    disk_low: ByteSize = ByteSize(256 << 20), "PRICETIME_DISK_LOW";
    /// The longest leap ahead of the machine's clock that market time follows, once the leap has lasted for ten
    /// minutes; at a start, the longest time since the last command
    [value_name = "TIME"]
    max_clock_leap: Span = Span(std::time::Duration::from_secs(366 * 24 * 60 * 60)), "PRICETIME_MAX_CLOCK_LEAP";
    /// File of the phases of symbols by the time of the day, with lines such as `09:00 SPY open`; empty for none
    [value_name = "FILE"]
    calendar: PathBuf = PathBuf::new(), "PRICETIME_CALENDAR";
    /// Certificate of the server and those of its signers (PEM): with it every address speaks TLS; empty for plain
    /// connections
    [value_name = "FILE"]
    tls_cert: PathBuf = PathBuf::new(), "PRICETIME_TLS_CERT";
    /// Private key of the certificate (PEM); only the server's user may be able to read the file
    [value_name = "FILE"]
    tls_key: PathBuf = PathBuf::new(), "PRICETIME_TLS_KEY";
    /// Ask clients for certificates that these authorities have signed (PEM); empty to ask for none
    [value_name = "FILE"]
    tls_client_ca: PathBuf = PathBuf::new(), "PRICETIME_TLS_CLIENT_CA";
    /// Whether a client has to show a certificate when the server asks for one
    tls_client_cert: ClientCertificate = ClientCertificate::Required, "PRICETIME_TLS_CLIENT_CERT";
    /// Time that a TLS handshake may take; over XML and HTTP a fifth of it while others wait for theirs
    [value_name = "TIME"]
    tls_handshake_timeout: Span = Span(std::time::Duration::from_secs(10)), "PRICETIME_TLS_HANDSHAKE_TIMEOUT";
    /// Stop after this many requests, and print the time that they took; 0 for never
    [value_name = "N"]
    stop_after_requests: u64 = 0, "PRICETIME_STOP_AFTER_REQUESTS";
    /// Lowest level of log lines: error, warn, info, debug or trace
    [value_name = "LEVEL"]
    log_level: String = "info".to_string(), "PRICETIME_LOG_LEVEL";
    /// Format of log lines, on standard error
    log_format: LogFormat = LogFormat::Text, "PRICETIME_LOG_FORMAT";
}

/// The arguments of `pricetime serve`.
#[derive(Args, Clone, Debug, Default)]
pub struct ServeArgs {
    /// TOML file with the same settings (`max-request = "1MiB"`); options and environment variables come first
    #[arg(long, env = "PRICETIME_CONFIG")]
    pub config: Option<PathBuf>,
    /// Print the settings in force as TOML, and end
    #[arg(long)]
    pub print_config: bool,
    #[command(flatten)]
    pub given: GivenSettings,
}

impl ServeArgs {
    /// The settings in force. Errors: a file that cannot be read, an unknown or impossible setting.
    pub fn settings(&self) -> Result<Settings, String> {
        let file = self.config.as_deref().map(read_file).transpose()?.unwrap_or_default();
        let settings = self.given.clone().or(file);
        settings.check()?;
        Ok(settings)
    }
}

impl Settings {
    /// Writes the settings as a TOML file that reads back the same.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("invariant: every setting is a string, a flag or a number below 2^63")
    }

    /// The compatible interface's own address; none where it has none.
    pub fn compatible_address(&self) -> Result<Option<SocketAddr>, String> {
        address("binance-at", &self.binance_at)
    }

    /// The address of FIX; none where FIX is not served.
    pub fn fix_address(&self) -> Result<Option<SocketAddr>, String> {
        address("fix", &self.fix)
    }

    /// The longest reply in bytes.
    pub fn reply_bytes_max(&self) -> usize {
        usize::try_from(self.max_reply.0).unwrap_or(usize::MAX)
    }

    /// The bounds on answers: no more executions than a reply has room for.
    pub fn answer_limits(&self) -> AnswerLimits {
        AnswerLimits { request_executions_max: xml::executions_max(self.reply_bytes_max()) }
    }

    /// The free bytes on the disk below which new orders and accounts are refused. The next journal file takes its room
    /// at once, and `disk_low` bytes must still be free then.
    pub fn disk_low_bytes(&self) -> u64 {
        match self.disk_low.0 {
            0 => 0,
            low => low.saturating_add(self.segment_size.0),
        }
    }

    /// The bounds of what is kept of the past.
    pub fn history(&self) -> Keep {
        const DAY_US: u64 = 24 * 60 * 60 * 1_000_000;
        let some = |value: u64| (value > 0).then_some(value);
        Keep { age_us: some(self.history_keep_days * DAY_US), bytes: some(self.history_keep_bytes.0) }
    }

    /// The bounds of markets of the past.
    pub fn rewind_bounds(&self) -> RewindBounds {
        RewindBounds { commands: self.replay_commands, items: self.replay_items }
    }

    /// The bounds on what clients may have the server keep.
    pub fn bounds(&self) -> Bounds {
        let dollars = |whole: Whole| Money::from_units(whole.times(terms::DOLLAR).min(Money::CAP.units()));
        let shares = |whole: Whole| Position::from_units(whole.times(SHARE).min(Position::CAP.units()));
        Bounds {
            accounts: self.max_accounts,
            symbols: self.max_symbols,
            balance: dollars(self.max_balance),
            position: shares(self.max_position),
            request_money: dollars(self.max_issue),
            request_shares: shares(self.max_issue),
            client_orders: self.max_client_orders,
            client_orders_in_all: self.max_client_orders_in_all,
        }
    }

    /// Reads the calendar file. Errors: it cannot be read, or the number of a faulty line.
    pub fn calendar(&self) -> Result<Calendar, String> {
        /// A file size above that of any calendar with the most lines.
        const BYTES_MAX: u64 = 1 << 20;
        if self.calendar.as_os_str().is_empty() {
            return Ok(Calendar::default());
        }
        let fault = |fault: &dyn std::fmt::Display| format!("calendar {}: {fault}", self.calendar.display());
        let file = std::fs::File::open(&self.calendar).map_err(|error| fault(&error))?;
        let mut text = String::new();
        file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| fault(&error))?;
        if text.len() as u64 > BYTES_MAX {
            return Err(fault(&"it is longer than 1 MiB"));
        }
        Calendar::parse(&text).map_err(|error| fault(&error))
    }

    fn check(&self) -> Result<(), String> {
        self.calendar()?;
        self.compatible_address()?;
        if self.fix_address()?.is_some() && !self.feed {
            return Err("fix tells what becomes of orders from the feed, which feed = false leaves out".to_string());
        }
        let at_least = |name: &str, value: u64, bound: u64| {
            if value < bound { Err(format!("{name} is {value}; at least {bound}")) } else { Ok(()) }
        };
        let at_most = |name: &str, value: u64, bound: u64| {
            if value > bound { Err(format!("{name} is {value}; at most {bound}")) } else { Ok(()) }
        };
        at_least("workers", self.workers as u64, 1)?;
        at_most("workers", self.workers as u64, 1024)?;
        at_least("backlog", self.backlog.into(), 1)?;
        at_most("max-connections", self.max_connections as u64, u32::MAX.into())?;
        at_most("max-connections-per-address", self.max_connections_per_address as u64, u32::MAX.into())?;
        at_least("max-request", self.max_request.0, 64)?;
        // The framing refuses a length of more than 10 digits.
        at_most("max-request", self.max_request.0, 1 << 30)?;
        at_least("max-children", self.max_children as u64, 1)?;
        at_most("max-children", self.max_children as u64, 10_000_000)?;
        at_least("max-reply", self.max_reply.0, 1024)?;
        at_most("max-reply", self.max_reply.0, 1 << 32)?;
        at_least("max-accounts", self.max_accounts, 1)?;
        at_most("max-accounts", self.max_accounts, u32::MAX.into())?;
        at_least("max-symbols", self.max_symbols, 1)?;
        at_most("max-symbols", self.max_symbols, u32::MAX.into())?;
        at_most("max-client-orders", self.max_client_orders, u32::MAX.into())?;
        at_most("max-client-orders-in-all", self.max_client_orders_in_all, u32::MAX.into())?;
        for (name, whole) in
            [("max-balance", self.max_balance), ("max-position", self.max_position), ("max-issue", self.max_issue)]
        {
            if whole.0 > ISSUED_MAX {
                return Err(format!("{name} is {whole}; at most {ISSUED_MAX}"));
            }
        }
        at_least("segment-size", self.segment_size.0, 64 << 10)?;
        at_most("segment-size", self.segment_size.0, 1 << 40)?;
        at_least("node", self.node.into(), 1)?;
        at_least("snapshot-every", self.snapshot_every, 1)?;
        at_most("snapshot-every", self.snapshot_every, i64::MAX as u64)?;
        at_most("stop-after-requests", self.stop_after_requests, i64::MAX as u64)?;
        at_most("history-keep-days", self.history_keep_days, 1_000_000)?;
        at_most("history-keep-bytes", self.history_keep_bytes.0, i64::MAX as u64)?;
        at_most("disk-low", self.disk_low.0, i64::MAX as u64)?;
        if self.read_only && !matches!(self.store, StoreLocation::Log(_)) {
            return Err("read-only follows a log that other servers write to: it needs store = nats://…".to_string());
        }
        if !self.members_key.as_os_str().is_empty() && !matches!(self.store, StoreLocation::Log(_)) {
            return Err("members-key seals members in the log of a cluster: it needs store = nats://…".to_string());
        }
        match &self.store {
            StoreLocation::Journal if self.standby => {
                return Err("standby waits for a database: it needs store = postgres://…".to_string());
            }
            StoreLocation::Database(_) if self.durability == Durability::Written => {
                return Err("durability is written, but with a database every reply waits for the commit".to_string());
            }
            StoreLocation::Log(_) if self.durability == Durability::Written => {
                return Err(
                    "durability is written, but what a node took of the log it has to have on its disk".to_string()
                );
            }
            StoreLocation::Log(_) if self.standby => {
                return Err("standby waits for a database; of a log any number of servers can be nodes".to_string());
            }
            StoreLocation::Invalid(fault) => return Err(format!("store: {fault}")),
            StoreLocation::Journal | StoreLocation::Database(_) | StoreLocation::Log(_) => {}
        }
        if self.tls_handshake_timeout.0.is_zero() {
            return Err("tls-handshake-timeout is 0s; at least 1ms".to_string());
        }
        if self.idle_timeout.0.is_zero() {
            return Err("idle-timeout is 0s; at least 1ms".to_string());
        }
        Ok(())
    }
}

/// Reads an address, which may be empty.
fn address(name: &str, text: &str) -> Result<Option<SocketAddr>, String> {
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| format!("{name} is {text:?}; it is ADDRESS:PORT")),
    }
}

fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn read_file(path: &Path) -> Result<GivenSettings, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // The parser's own text would show the line, which may hold the password of a database.
    toml::from_str(&text).map_err(|error| {
        let line =
            error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.matches('\n').count() + 1);
        format!("{}, line {line}: {}", path.display(), error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back_as_the_same_settings() {
        let settings = ServeArgs::default().settings().expect("the defaults are sound");
        let file: GivenSettings = toml::from_str(&settings.to_toml()).expect("what to_toml wrote");
        let again = GivenSettings::default().or(file);
        assert_eq!(again.to_toml(), settings.to_toml());
        assert_eq!(again.max_request, ByteSize(1 << 20));
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let file: GivenSettings = toml::from_str("workers = 3\nmax-request = \"2MiB\"").expect("settings");
        let line = GivenSettings { workers: Some(5), ..GivenSettings::default() };
        let settings = line.or(file);
        assert_eq!((settings.workers, settings.max_request), (5, ByteSize(2 << 20)));
    }

    /// A regression: with journal files larger than the bytes to keep free, the next file ended the server before
    /// anything was refused.
    #[test]
    fn the_next_journal_file_leaves_free_what_is_to_stay_free() {
        let low = |segment_size: u64, disk_low: u64| {
            let given = GivenSettings {
                segment_size: Some(ByteSize(segment_size)),
                disk_low: Some(ByteSize(disk_low)),
                ..GivenSettings::default()
            };
            ServeArgs { given, ..ServeArgs::default() }.settings().expect("sound settings").disk_low_bytes()
        };
        assert_eq!((low(64 << 20, 256 << 20), low(1 << 30, 1 << 20)), (320 << 20, (1 << 30) + (1 << 20)));
        assert_eq!(low(1 << 30, 0), 0);
    }

    #[test]
    fn an_unknown_or_impossible_setting_is_named() {
        let error = toml::from_str::<GivenSettings>("worker = 3").map(|_| ()).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("worker")));
        let none =
            ServeArgs { given: GivenSettings { workers: Some(0), ..GivenSettings::default() }, ..ServeArgs::default() };
        assert_eq!(none.settings().map(|_| ()), Err("workers is 0; at least 1".to_string()));
    }
}
