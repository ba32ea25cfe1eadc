//! Logs in to the XML protocol: asks for the challenge and signs it, so that no secret is sent.

use std::path::PathBuf;
use std::str::FromStr;

use crate::client::{Client, ClientError};

/// A key, and the file of its secret, which is never an argument that others see in the process list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    key: String,
    secret_file: PathBuf,
}

/// The reason why a login failed.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The file of the secret cannot be read.
    #[error("the secret cannot be read from {file}: {source}")]
    Secret { file: PathBuf, source: std::io::Error },
    /// The server could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server refused the login.
    #[error(
        "the server did not let us in: {0}; a key of the kind `hmac` is needed here, since one of the kind `secret` cannot sign"
    )]
    Refused(String),
}

impl FromStr for Login {
    type Err = String;

    fn from_str(text: &str) -> Result<Login, String> {
        match text.split_once(':') {
            Some((key, file)) if !key.is_empty() && !file.is_empty() => {
                Ok(Login { key: key.to_owned(), secret_file: PathBuf::from(file) })
            }
            _ => Err("a login is KEY:SECRETFILE".to_owned()),
        }
    }
}

impl Login {
    /// Logs a connection in. Errors: the secret cannot be read, or the server refuses.
    pub fn log_in(&self, client: &mut Client) -> Result<(), LoginError> {
        let secret = std::fs::read_to_string(&self.secret_file);
        let secret = secret.map_err(|source| LoginError::Secret { file: self.secret_file.clone(), source })?;
        let key = &self.key;
        let challenge = ask(client, &format!("<login key=\"{key}\"/>"))?;
        let nonce = challenge.split_once("nonce=\"").and_then(|(_, rest)| rest.split_once('"'));
        let Some((nonce, _)) = nonce else { return Err(LoginError::Refused(challenge)) };
        let signature = xml::login_signature(secret.trim(), nonce);
        let answer = ask(client, &format!("<login key=\"{key}\" signature=\"{signature}\"/>"))?;
        if answer.contains("<logged-in ") { Ok(()) } else { Err(LoginError::Refused(answer)) }
    }
}

fn ask(client: &mut Client, request: &str) -> Result<String, ClientError> {
    client.send_frame(request.as_bytes())?;
    Ok(String::from_utf8_lossy(&client.read_reply()?.bytes).trim().to_owned())
}
