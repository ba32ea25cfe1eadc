//! `pricetime check`: runs the rules of the protocol against a server, ours or another's, and says which hold.
//!
//! Every case makes up its own accounts and symbols, so a server may have a past and need not be ours. Cases are data
//! ([`cases`]); this file runs them and decides the exit code.

mod case;
mod cases;
mod expect;
mod fault;
mod groups;
mod names;
mod probe;
mod report;
mod script;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use self::case::{Case, Kind};
use self::fault::Fault;
use self::groups::GROUPS;
use self::names::Fresh;
use self::probe::{Exchange, Probe, Server};
use crate::client::parse_timeout;
use crate::login::{Login, LoginError};
use crate::tls_client::TlsArgs;

/// Check that a server keeps the rules of the protocol
///
/// Sends small requests with made-up accounts and symbols, which stay on the server, and compares the replies. Exits
/// with 0 when every rule of the public specification holds (with --strict: every rule), with 1 when one does not, and
/// with 2 when the server cannot be reached.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// Address of the server
    #[arg(value_name = "HOST:PORT", default_value = "127.0.0.1:12345")]
    pub server: String,
    /// Run only the cases that have this text in their group, name or rule
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// List the cases and send nothing
    #[arg(long)]
    pub list: bool,
    /// Check also the decisions of Pricetime where the public specification is silent
    #[arg(long)]
    pub strict: bool,
    /// Print all requests and replies of each failed case, not only the last ones
    #[arg(long, short)]
    pub verbose: bool,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    /// Time to wait for each reply (10s, 250ms, 2m)
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_timeout)]
    pub timeout: Duration,
    /// Log in on each connection, with the id of a key that signs with a secret and the file that holds nothing but the
    /// secret
    #[arg(long, env = "PRICETIME_LOGIN", value_name = "KEY:SECRETFILE")]
    pub login: Option<Login>,
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// The reason why nothing was checked; the exit code is then 2.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The server cannot be reached, or refuses the login.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// The options of TLS are wrong.
    #[error("{0}")]
    Tls(String),
    /// The filter leaves no case.
    #[error("no case has {0:?} in its group, name or rule: `pricetime check --list` shows them")]
    NothingMatches(String),
    /// The report could not be printed.
    #[error("could not print the report ({0})")]
    Print(#[from] io::Error),
}

/// A case that was run.
struct Finding {
    group: &'static str,
    case: Case,
    result: Result<(), Fault>,
    said: Vec<Exchange>,
}

/// Runs the cases and prints the findings.
pub fn run(args: CheckArgs) -> Result<ExitCode, CheckError> {
    let cases = select(args.filter.as_deref());
    if cases.is_empty() {
        return Err(CheckError::NothingMatches(args.filter.unwrap_or_default()));
    }
    let output = &mut io::stdout().lock();
    if args.list {
        report::list(output, &cases, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let tls = args.tls.connector().map_err(CheckError::Tls)?;
    let server = Server { address: args.server, timeout: args.timeout, tls, login: args.login };
    let findings = check(&server, &cases)?;
    if args.json {
        report::json(output, &server, &findings)?;
    } else {
        report::table(output, &server, &findings, args.verbose)?;
    }
    let holds = |finding: &Finding| finding.result.is_ok() || (finding.case.kind == Kind::Decided && !args.strict);
    Ok(if findings.iter().all(holds) { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The cases that a filter leaves, with the heading of their group.
fn select(filter: Option<&str>) -> Vec<(&'static str, Case)> {
    let wanted = filter.unwrap_or_default().to_lowercase();
    let all = GROUPS.iter().flat_map(|group| group.all().map(|case| (group.name, case)));
    all.filter(|(group, case)| [group, case.name, case.rule].iter().any(|text| text.to_lowercase().contains(&wanted)))
        .collect()
}

/// Runs cases against a server. Errors: it cannot be reached at all.
fn check(server: &Server, cases: &[(&'static str, Case)]) -> Result<Vec<Finding>, LoginError> {
    drop(server.connect()?);
    let progress = io::stderr().is_terminal();
    let mut findings = Vec::with_capacity(cases.len());
    for (index, &(group, case)) in cases.iter().enumerate() {
        if progress {
            let mut terminal = io::stderr();
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(terminal, "\r\x1b[K{}/{} {}", index + 1, cases.len(), case.name).and(terminal.flush());
        }
        let mut probe = Probe::new(server, Fresh::new());
        let result = case.body.run(&mut probe);
        findings.push(Finding { group, case, result, said: probe.said });
    }
    if progress {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    Ok(findings)
}
