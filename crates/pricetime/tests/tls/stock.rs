//! Clients of others: openssl, curl and Python's ssl, without changes.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::client::frame;
use crate::common::folder::Folder;
use crate::peer::MARKET;
use crate::pki::Pki;

/// Runs a program with this standard input. Returns its output, and whether it succeeded.
fn run(program: &str, arguments: &[&str], input: &[u8]) -> (bool, String) {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}; ./test installs what the tests need"));
    let mut stdin = child.stdin.take().unwrap();
    // A program that is refused does not read its input.
    let _ = stdin.write_all(input);
    drop(stdin);
    let ran = child.wait_with_output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    (ran.status.success(), said)
}

const PYTHON: &str = r#"
import socket, ssl, sys
host, port, ca = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context(cafile=ca)
def connect():
    return context.wrap_socket(socket.create_connection((host, port), timeout=30), server_hostname="localhost")
def ask(stream, body):
    stream.sendall(b"%d\n%s" % (len(body), body))
    reply = b""
    while not reply.endswith(b"</results>\n"):
        part = stream.recv(65536)
        assert part, reply
        reply += part
    return reply
with connect() as stream:
    print(stream.version())
    assert b"<opened" in ask(stream, b'<transactions id="2"><order sym="SPY" amount="-1" limit="100"/></transactions>')
    # The end is said on both sides.
    stream.unwrap()
try:
    with context.wrap_socket(socket.create_connection((host, port)), server_hostname="elsewhere.example") as stream:
        raise AssertionError("a certificate for another name was taken")
except ssl.SSLCertVerificationError:
    print("refused")
"#;

#[test]
fn openssl_curl_and_python_speak_it() {
    let folder = Folder::new("tls-stock");
    let pki = Pki::new(&folder);
    // openssl stays until the server ends the connection.
    let server = pki.launch(&folder).with("--idle-timeout 1s").start();
    let ca = pki.path("authority.pem");
    let ca = ca.to_str().unwrap();
    let (xml, http) = (server.xml.to_string(), format!("https://localhost:{}/ready", server.http.port()));
    let request = frame(MARKET);
    for version in ["-tls1_3", "-tls1_2"] {
        let arguments = ["s_client", "-quiet", version, "-CAfile", ca, "-verify_return_error", "-connect", &xml];
        let (well, said) = run("openssl", &arguments, &request);
        assert!(well && said.contains("<results>"), "{said}");
    }
    let refused =
        run("openssl", &["s_client", "-quiet", "-tls1_1", "-cipher", "ALL@SECLEVEL=0", "-connect", &xml], &request);
    assert!(!refused.0, "{}", refused.1);
    for version in ["--tlsv1.3", "--tls-max=1.2"] {
        let version: Vec<&str> = version.split('=').collect();
        let (well, said) =
            run("curl", &[&version[..], &["--silent", "--show-error", "--cacert", ca, &http]].concat(), b"");
        assert!(well && said.contains("ok"), "{said}");
    }
    let (well, said) = run("curl", &["--silent", "--show-error", &http], b"");
    assert!(!well && said.contains("certificate"), "{said}");
    let port = server.xml.port().to_string();
    run("python3", &["-c", PYTHON, "127.0.0.1", &port, ca], b"");
    let (well, said) = run("python3", &["-c", PYTHON, "127.0.0.1", &port, ca], b"");
    assert!(well && said.contains("TLSv1.3") && said.contains("refused"), "{said}");
    server.stop();
}
