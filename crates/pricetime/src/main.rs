//! The binary: reads the command line and runs the command.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Parser, Subcommand};
use pricetime::access_tool::{self, AccessArgs};
use pricetime::backup::{self, BackupArgs};
use pricetime::check::CheckArgs;
use pricetime::cluster_tool::{self, ClusterArgs};
use pricetime::demo::command::{self as demo, DemoArgs};
use pricetime::docs_tool::{self, DocsArgs};
use pricetime::health::{self, HealthArgs};
use pricetime::journal_tool::{self, JournalArgs};
use pricetime::keys::{self, KeysArgs};
use pricetime::send::SendArgs;
use pricetime::setting_units::Umask;
use pricetime::settings::ServeArgs;
use pricetime::state::{self, StateArgs};
use pricetime::store_tool::{self, StoreArgs};
use pricetime::tls_tool::{self, TlsToolArgs};
use pricetime::verify::{self, VerifyArgs};
use pricetime::{check, send, serve};
use signal_hook::consts::SIGPIPE;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The end of the help texts of `serve`, whose settings may come from three places.
const DEFAULTS: &str =
    "Settings that are not given have their defaults: `pricetime serve --print-config` prints all of them.";

/// An exchange matching server: price-time priority, exact accounts, durable acknowledgements.
#[derive(Parser)]
#[command(name = "pricetime", version, about, args_conflicts_with_subcommands = true, after_help = DEFAULTS)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Run the exchange; `pricetime` without a command does the same
    #[command(after_help = DEFAULTS)]
    Serve(Box<ServeArgs>),
    /// Run a market of play money, with simulated traders and three days of history
    Demo(Box<DemoArgs>),
    /// Send XML files to a server and print its replies
    Send(SendArgs),
    /// Ask a server whether it serves clients
    Health(HealthArgs),
    /// Print accounts, positions, holds, open orders, totals and the state hash of a data folder or database
    State(StateArgs),
    /// Check everything in a data folder: journal, snapshots and history
    Verify(VerifyArgs),
    /// Check, print or count the journal of a data folder
    Journal(JournalArgs),
    /// Copy a market between a data folder and a PostgreSQL database, or check the rows
    Store(Box<StoreArgs>),
    /// Make, replace or ask about the log that the servers of a cluster share
    Cluster(ClusterArgs),
    /// Make API keys for clients that are written for Binance
    Keys(KeysArgs),
    /// Change or list members, their roles and keys, or set the mode of the venue
    Access(AccessArgs),
    /// Make a certificate for TLS on one machine
    Tls(TlsToolArgs),
    /// Copy a data folder, also of a running server, and check the copy
    Backup(BackupArgs),
    /// Run some 200 cases of the XML protocol against any server, and print which of them pass
    Check(CheckArgs),
    /// Write the documents as a web site into a folder; every server shows it under /docs
    Docs(DocsArgs),
    /// Say where the benchmarks are
    #[command(hide = true, disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    Umask::OWNER_ALONE.apply();
    if matches!(cli.command, Some(Command::Verify(_) | Command::Journal(_))) {
        end_with_the_reader();
    }
    let done = match cli.command {
        None => serve::run(&cli.serve),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Send(args)) => send::run(args).map_err(|error| error.to_string()),
        Some(Command::Health(args)) => health::run(&args),
        Some(Command::Docs(args)) => docs_tool::run(&args),
        Some(Command::State(args)) => state::run(&args),
        Some(Command::Verify(args)) => verify::run(&args),
        Some(Command::Journal(args)) => journal_tool::run(&args),
        Some(Command::Store(args)) => store_tool::run(&args),
        Some(Command::Cluster(args)) => cluster_tool::run(&args),
        Some(Command::Keys(args)) => keys::run(&args),
        Some(Command::Access(args)) => access_tool::run(&args),
        Some(Command::Tls(args)) => tls_tool::run(&args),
        Some(Command::Backup(args)) => backup::run(&args),
        Some(Command::Check(args)) => check::run(args).map_err(|error| error.to_string()),
        Some(Command::Bench { words }) => Err(format!(
            "the benchmarks are a program of their own: pricetime-bench {}(build it with cargo build --release -p \
             pricetime-bench; it lies beside this one)",
            words.iter().map(|word| format!("{word} ")).collect::<String>()
        )),
    };
    done.unwrap_or_else(|error| {
        eprintln!("pricetime: {error}");
        ExitCode::from(2)
    })
}

/// Ends a tool without a connection silently, as tools do, when nobody reads its output any more (`pricetime verify
/// data | head -1`): a print would panic otherwise.
fn end_with_the_reader() {
    let ends = Arc::new(AtomicBool::new(true));
    if let Err(error) = signal_hook::flag::register_conditional_default(SIGPIPE, ends) {
        eprintln!("pricetime: the signal of a closed pipe is not watched: {error}");
    }
}
