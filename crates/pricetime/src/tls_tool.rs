//! `pricetime tls self-signed`: makes a certificate and its key for a start on one machine, without an authority.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};

/// The names that every certificate has.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The days of a certificate: browsers refuse longer ones.
const DAYS: u32 = 825;

/// The arguments of `pricetime tls`.
#[derive(Args, Debug)]
pub struct TlsToolArgs {
    #[command(subcommand)]
    command: TlsCommand,
}

#[derive(Subcommand, Debug)]
enum TlsCommand {
    /// Make a certificate that signs itself and its key: cert.pem and key.pem in a folder
    SelfSigned {
        /// The folder; a missing one is made
        folder: PathBuf,
        /// Name or address by which clients call the server, besides localhost; may be repeated
        #[arg(long, value_name = "NAME")]
        host: Vec<String>,
    },
}

/// Runs `pricetime tls`.
pub fn run(args: &TlsToolArgs) -> Result<ExitCode, String> {
    let TlsCommand::SelfSigned { folder, host } = &args.command;
    let (cert, key) = self_signed(folder, host)?;
    let (cert, key) = (cert.display(), key.display());
    println!(
        "certificate  {cert}\nkey          {key}\n\
         Start the server with:  pricetime serve --tls-cert {cert} --tls-key {key}\n\
         Ask it with:            pricetime health --tls-ca {cert}\n\
         \x20                       curl --cacert {cert} https://localhost:8080/ready"
    );
    Ok(ExitCode::SUCCESS)
}

fn self_signed(folder: &Path, hosts: &[String]) -> Result<(PathBuf, PathBuf), String> {
    let names: Vec<String> = HERE.iter().map(|name| (*name).to_owned()).chain(hosts.iter().cloned()).collect();
    let mut params = CertificateParams::new(names).map_err(|error| format!("--host: {error}"))?;
    params.distinguished_name.push(DnType::CommonName, hosts.first().map_or("localhost", String::as_str));
    params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
    // Clocks of clients may be behind.
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + DAY * (DAYS - 1)).into();
    let pair = KeyPair::generate().map_err(|error| format!("cannot make a key: {error}"))?;
    let certificate = params.self_signed(&pair).map_err(|error| format!("cannot make a certificate: {error}"))?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    // Neither file is made if the other exists.
    for path in [&cert, &key] {
        if path.exists() {
            return Err(format!("{}: it is there already; move it away, or choose another folder", path.display()));
        }
    }
    write_new(&key, &pair.serialize_pem())?;
    write_new(&cert, &certificate.pem())?;
    Ok((cert, key))
}

/// Writes a new file that only its owner may read.
fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let at = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(at)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(at)
}
