//! TLS to the database: which certificates are accepted, and that the password is never printed.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::bench::binary;
use crate::common::folder::Folder;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;
use crate::postgres::{Database, give_away};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustix::process::Signal;

const PASSWORD: &str = "s3cret/of the+test";
/// The password as it is written in a URL.
const PASSWORD_ENCODED: &str = "s3cret%2Fof%20the%2Btest";
const MARKET: &str = r#"<create><account id="1" balance="1000"/><symbol sym="SPY"/></create>"#;
const ORDER: &str = r#"<transactions id="1"><order sym="SPY" amount="7" limit="11"/></transactions>"#;

/// An authority, and a certificate that it signed for one name.
struct Signed {
    authority: String,
    certificate: String,
    key: String,
}

fn signed_for(name: &str) -> Signed {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(params, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    Signed { authority, certificate: certificate.pem(), key: key.serialize_pem() }
}

/// A PostgreSQL to which the role `trader` has access with its password, and only over TLS if the server has a
/// certificate.
struct Cluster {
    server: crate::postgres::Server,
    database: Database,
    /// The certificate of its authority.
    authority: PathBuf,
    /// Removed when dropped.
    _files: tempfile::TempDir,
}

impl Cluster {
    fn start(signed: Option<&Signed>) -> Cluster {
        let files = tempfile::Builder::new().prefix("postgres-tls-").tempdir().unwrap();
        give_away(files.path());
        let place = |name: &str, text: &str| {
            let file = files.path().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            give_away(&file);
            file
        };
        let setting = |name: &str, file: &Path| format!("{name}={}", file.display());
        let kind = if signed.is_some() { "hostssl" } else { "host" };
        let rules = format!("host all postgres 127.0.0.1/32 trust\n{kind} all trader 127.0.0.1/32 scram-sha-256\n");
        let mut settings = vec![setting("hba_file", &place("hba", &rules))];
        let mut authority = PathBuf::new();
        if let Some(Signed { authority: of, certificate, key }) = signed {
            authority = place("authority.pem", of);
            settings.push("ssl=on".to_owned());
            settings.push(setting("ssl_cert_file", &place("certificate.pem", certificate)));
            settings.push(setting("ssl_key_file", &place("key.pem", key)));
        }
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let server = crate::postgres::Server::start(&settings);
        let database = server.database();
        database.sql(&format!("CREATE ROLE trader LOGIN PASSWORD '{PASSWORD}'"));
        database.sql(&format!("GRANT CREATE ON DATABASE {} TO trader", database.name));
        Cluster { server, database, authority, _files: files }
    }

    fn url(&self, password: &str, host: &str, query: &str) -> String {
        let Database { port, name, .. } = &self.database;
        format!("postgres://trader:{password}@{host}:{port}/{name}?{query}")
    }

    /// A server that trusts `authority`, or only the system's authorities, as far as `mode` says.
    fn launch(&self, folder: &Folder, mode: &str, authority: Option<&Path>) -> Launch {
        let authority = authority.map_or(String::new(), |file| format!("&sslrootcert={}", file.display()));
        let url = self.url(PASSWORD_ENCODED, "127.0.0.1", &format!("sslmode={mode}{authority}"));
        Launch::new(&folder.data()).with("--log-level trace").in_database(&url)
    }

    /// Whether each connection of a server is encrypted.
    fn connections(&self) -> Vec<String> {
        self.database.sql(
            "SELECT s.ssl, s.version LIKE 'TLSv1.%' FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
             WHERE a.usename = 'trader' AND a.datname = current_database()",
        )
    }
}

fn check_silent(said: &str) {
    assert!(![PASSWORD, PASSWORD_ENCODED, "s3cret"].iter().any(|secret| said.contains(secret)), "{said}");
}

fn check_refused(launch: &Launch, words: &[&str]) {
    let ended = launch.try_start().err().expect("a refusal");
    assert!(!ended.status.success(), "{ended:?}");
    assert!(words.iter().all(|word| ended.stderr.contains(word)), "{words:?}: {}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    check_silent(&format!("{ended:?}"));
}

fn trade(server: &Server) {
    let told = server.ask(ORDER);
    assert!(told.contains("<opened"), "{told}");
}

#[test]
fn a_connection_with_a_verified_certificate_serves_and_never_says_the_password() {
    let signed = signed_for("127.0.0.1");
    let mut cluster = Cluster::start(Some(&signed));
    let folder = Folder::new("postgres-tls");
    let server = cluster.launch(&folder, "verify-full", Some(&cluster.authority)).with("--store-patience 120s").start();
    server.ask(MARKET);
    trade(&server);
    let connections = cluster.connections();
    assert!(connections.len() >= 2 && connections.iter().all(|line| line == "t|t"), "{connections:?}");
    // A broken connection is noted in the log, and made again over TLS.
    cluster.server.end("KILL");
    cluster.server.run();
    trade(&server);
    assert!(server.process.log().contains("connected to the database again"), "{}", server.process.log());
    let connections = cluster.connections();
    assert!(!connections.is_empty() && connections.iter().all(|line| line == "t|t"), "{connections:?}");
    assert_eq!(server.state()["accounts"].as_array().unwrap().len(), 1, "`state` reads it, too");
    check_silent(&server.banner);
    let ended = server.stop();
    check_silent(&format!("{ended:?}"));
    // None of the system's authorities signed the certificate.
    check_refused(&cluster.launch(&folder, "verify-ca", None), &["TLS to the database"]);
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let cluster = Cluster::start(Some(&signed_for("127.0.0.1")));
    let folder = Folder::new("postgres-tls");
    let other = folder.path().join("other.pem");
    std::fs::write(&other, signed_for("127.0.0.1").authority).unwrap();
    for mode in ["verify-full", "verify-ca", "require"] {
        let launch = cluster.launch(&folder, mode, Some(&other));
        check_refused(
            &launch,
            &["TLS to the database: postgres://trader@127.0.0.1", "invalid peer certificate", "sslrootcert"],
        );
    }
    check_refused(&cluster.launch(&folder, "verify-full", Some(Path::new("/nowhere.pem"))), &["/nowhere.pem"]);
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    check_refused(&cluster.launch(&folder, "verify-full", Some(&empty)), &["no trusted authority was found"]);
    // The connection is still encrypted if the mode requires nothing else.
    let server = cluster.launch(&folder, "require", None).start();
    server.ask(MARKET);
    trade(&server);
    assert!(cluster.connections().iter().all(|line| line == "t|t"));
    server.stop();
}

#[test]
fn a_certificate_for_another_host_is_refused_unless_only_the_authority_matters() {
    let signed = signed_for("db.example");
    let cluster = Cluster::start(Some(&signed));
    let folder = Folder::new("postgres-tls");
    let full = cluster.launch(&folder, "verify-full", Some(&cluster.authority));
    check_refused(&full, &["TLS to the database: postgres://trader@127.0.0.1", "not valid for name", "sslmode"]);
    for mode in ["verify-ca", "require"] {
        let server = cluster.launch(&folder, mode, Some(&cluster.authority)).start();
        assert!(cluster.connections().iter().all(|line| line == "t|t"));
        server.stop();
    }
}

#[test]
fn a_database_without_tls_is_refused_by_whoever_requires_it() {
    let cluster = Cluster::start(None);
    let folder = Folder::new("postgres-tls");
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, signed_for("127.0.0.1").authority).unwrap();
    for mode in ["verify-full", "verify-ca", "require"] {
        let launch = cluster.launch(&folder, mode, Some(&authority));
        check_refused(&launch, &["TLS to the database: postgres://trader@127.0.0.1", "server does not support TLS"]);
    }
    let server = cluster.launch(&folder, "prefer", None).start();
    server.ask(MARKET);
    trade(&server);
    assert!(cluster.connections().iter().all(|line| line.starts_with("f|")), "{:?}", cluster.connections());
    server.stop();
}

#[test]
fn a_wrong_password_is_refused_and_not_said() {
    let cluster = Cluster::start(Some(&signed_for("127.0.0.1")));
    let folder = Folder::new("postgres-tls");
    let url = cluster.url("s3cret-of-another", "127.0.0.1", "sslmode=require");
    let launch = Launch::new(&folder.data()).with("--log-level trace").in_database(&url);
    check_refused(&launch, &["password authentication failed for user \"trader\""]);
}

/// A database that is restarted cuts handshakes. A standby once took that for a fault of TLS, and ended.
#[test]
fn a_standby_waits_for_a_database_that_cuts_its_handshakes() {
    let (folder, listener) = (Folder::new("postgres-tls-cut"), TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    // The thread waits in accept until the test process ends.
    std::thread::spawn(move || {
        for mut near in listener.incoming().map_while(Result::ok) {
            // It agrees to TLS, and is gone.
            near.read_exact(&mut [0; 8]).and_then(|()| near.write_all(b"S")).unwrap();
        }
    });
    let launch = || {
        let url = format!("postgres://trader:{PASSWORD_ENCODED}@127.0.0.1:{port}/market?sslmode=require");
        Launch::new(&folder.data()).in_database(&url)
    };
    let mut standby = launch().with("--standby").spawn();
    wait_until("it waits for the database", PATIENCE, || {
        assert!(standby.is_running(), "{}", standby.log());
        standby.log().contains("the database is away")
    });
    standby.signal(Signal::TERM);
    assert_eq!(standby.wait_for_end(PATIENCE).status.code(), Some(0));
    check_refused(&launch(), &["cannot reach the database postgres://trader@127.0.0.1", "TLS handshake"]);
}

#[test]
fn the_bench_makes_its_databases_over_tls() {
    let cluster = Cluster::start(Some(&signed_for("127.0.0.1")));
    cluster.database.sql("ALTER ROLE trader CREATEDB");
    let folder = Folder::new("postgres-tls-bench");
    let other = folder.path().join("other.pem");
    std::fs::write(&other, signed_for("127.0.0.1").authority).unwrap();
    let bench = |words: &str, authority: &Path| {
        let query = format!("sslmode=verify-full&sslrootcert={}", authority.display());
        let mut command = Command::new(binary());
        command.env_clear().current_dir(folder.path()).args(words.split(' '));
        command.args(["--store", &cluster.url(PASSWORD_ENCODED, "127.0.0.1", &query)]);
        let output = command.output().unwrap();
        let printed = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
        check_silent(&printed);
        (output.status.code(), printed)
    };
    // The role has access only over TLS.
    for words in ["run -n 500 -c 5 --warmup 0 --accounts 100", "baseline --connections 2 --seconds 0.2 --accounts 100"]
    {
        let (code, printed) = bench(words, &cluster.authority);
        assert_eq!(code, Some(0), "{words}: {printed}");
        let (code, printed) = bench(words, &other);
        assert_eq!(code, Some(2), "{words}: {printed}");
        assert!(printed.contains("TLS to the database") && printed.contains("invalid peer certificate"), "{printed}");
    }
    let left = cluster.database.sql("SELECT datname FROM pg_database WHERE datname LIKE 'pricetime_bench%'");
    assert_eq!(left, [""; 0]);
}
