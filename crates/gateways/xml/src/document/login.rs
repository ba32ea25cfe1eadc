//! Parses `login`, with which a client says which member it is. `crate::login` checks the proof.

use std::borrow::Cow;

use super::fault::{FaultCause, Refusal};
use super::fields::Fields;
use super::login_kind::{Login, LoginRequest};
use super::reader::{Tag, Value};
use super::request::Grammar;

impl<'a> Grammar<'a, '_> {
    pub(super) fn login(&mut self, root: &Tag<'a>) -> Result<LoginRequest, Refusal<'a>> {
        const NAMES: [&str; 4] = ["key", "secret", "signature", "cancel-on-disconnect"];
        let fields = Fields::of(&self.reader, &NAMES);
        let refused = |why| Err(Refusal { why, at: root.at });
        let [key, secret, signature, grace] = fields.values;
        let shows = match (fields.unknown, [key, secret, signature]) {
            (Some(name), _) => return refused(FaultCause::RootAttribute { root: "login", name }),
            (None, [None, _, _]) => return refused(FaultCause::NoKey),
            (None, [Some(_), Some(_), Some(_)]) => return refused(FaultCause::TwoProofs),
            (None, [Some(_), None, None]) => Login::Asks,
            (None, [Some(key), Some(secret), None]) => Login::Secret { key: text(key), secret: text(secret) },
            (None, [Some(key), None, Some(signature)]) => {
                Login::Signature { key: text(key), signature: text(signature) }
            }
        };
        let asked = grace.map(super::protection::grace).transpose();
        let grace = asked.map_err(|error| Refusal { why: FaultCause::Grace(error), at: root.at })?;
        if grace.is_some() && shows == Login::Asks {
            return refused(FaultCause::GraceTooEarly);
        }
        self.expect_empty(root)?;
        Ok(LoginRequest { shows, grace })
    }
}

fn text(value: Value<'_>) -> String {
    let bytes: Cow<'_, [u8]> = value.decoded();
    String::from_utf8_lossy(&bytes).into_owned()
}
