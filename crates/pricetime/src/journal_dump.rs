//! `pricetime journal dump`: prints every command of a journal, with its caller where that was kept. This file does not
//! know what commands do.

use std::io::{BufWriter, Write};
use std::iter::repeat_n;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use journal::{Caller, CallerReader, Disk, JournalPoint, VisitError};
use serde_json::json;
use terms::{AccountId, Command, Entry};

#[derive(Args, Debug)]
pub struct DumpArgs {
    /// Data folder of a stopped or a running server
    pub folder: PathBuf,
    /// Print only the commands of this member
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Print only the commands of this connection
    #[arg(long, value_name = "NUMBER")]
    session: Option<u64>,
    /// Print only the commands that name this account
    #[arg(long, value_name = "NUMBER", value_parser = account)]
    account: Option<AccountId>,
    /// Format of the output
    #[arg(long, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Number, time in microseconds since 1970, command, and in brackets its caller, if the journal has it
    Text,
    /// A JSON object on each line
    Json,
}

/// The caller of a command.
#[derive(Clone, Copy)]
enum By<'a> {
    /// Callers were not kept.
    Unknown,
    /// The server itself.
    Server,
    Caller(&'a Caller),
}

/// Prints what the arguments select. Errors: the journal's, or nobody reads the output.
pub fn dump(
    disk: &Disk,
    oldest: JournalPoint,
    args: &DumpArgs,
    describe: fn(&Command) -> String,
) -> Result<ExitCode, String> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut reader = CallerReader::default();
    let end = journal::visit_batches(disk, oldest, None, &mut |batch| {
        let mut by = Vec::new();
        reader.read(batch, |asked| {
            by.extend(repeat_n(asked.by.map_or(By::Server, By::Caller), asked.commands as usize));
        })?;
        let mut by = by.into_iter();
        let mut print = |entry: Entry| -> Result<(), VisitError> {
            let by = by.next().unwrap_or(By::Unknown);
            if args.wants(by, &entry.command) {
                let what = describe(&entry.command);
                writeln!(out, "{}", args.format.line(&entry, &what, by))?;
            }
            Ok(())
        };
        Ok(batch.entries_to_show(&mut print)?)
    });
    end.map_err(|error| error.to_string())?;
    out.flush().map_err(|error| error.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn account(text: &str) -> Result<AccountId, String> {
    AccountId::parse(text.as_bytes()).map_err(|why| why.to_string())
}

impl DumpArgs {
    fn wants(&self, by: By<'_>, command: &Command) -> bool {
        if self.account.is_some() && command.account() != self.account {
            return false;
        }
        let By::Caller(caller) = by else {
            return self.member.is_none() && self.session.is_none();
        };
        self.member.as_ref().is_none_or(|member| *member == caller.member)
            && self.session.is_none_or(|session| session == caller.session)
    }
}

impl Format {
    fn line(self, entry: &Entry, what: &str, by: By<'_>) -> String {
        let (command, time) = (entry.sequence.0, entry.time.0);
        match self {
            Format::Text => format!("{command} {time} {what}{}", in_brackets(by)),
            Format::Json => {
                let by = match by {
                    By::Unknown => json!(null),
                    By::Server => json!({"protocol": null}),
                    By::Caller(Caller { protocol, session, member, key, address }) => {
                        json!({"protocol": protocol, "session": session, "member": member, "key": key, "address": address})
                    }
                };
                json!({"command": command, "time_us": time, "what": what, "by": by}).to_string()
            }
        }
    }
}

fn in_brackets(by: By<'_>) -> String {
    let Caller { protocol, session, member, key, address } = match by {
        By::Unknown => return String::new(),
        By::Server => return " [the server itself]".to_owned(),
        By::Caller(caller) => caller,
    };
    let named = |what: &str, name: &str| if name.is_empty() { String::new() } else { format!("{what} {name}, ") };
    format!(" [{}{}{protocol} session {session}, {address}]", named("member", member), named("key", key))
}
