//! Seals the text of an access file: without a key of this kind nobody can read or change it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};

use crate::file::read_secrets;
use crate::random::{random_bytes, random_text};

/// The version of the sealing, which stands in front.
const VERSION: u8 = 1;
/// Bytes of the shortest key: shorter lines can be guessed.
const KEY_BYTES_MIN: usize = 32;
/// Keys of a file, at most: one that seals, and earlier ones.
const KEYS_MAX: usize = 8;
const HEAD: &str = "# Seals the members of a cluster in its log. Each node needs this file. Keep it secret: it opens and changes them.\n\
    # The first line seals, each opens.\n";

/// The keys that seal and open. Without `Debug`, so that none gets into a log.
pub struct SealingKeys(Vec<LessSafeKey>);

/// The place of a sealed text: in another place it does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub cluster: u64,
    pub edition: u64,
}

impl Place {
    fn bytes(self) -> [u8; 33] {
        let mut bytes = [0; 33];
        let parts = [b"pricetime members".as_slice(), &self.cluster.to_le_bytes(), &self.edition.to_le_bytes()];
        bytes.iter_mut().zip(parts.concat()).for_each(|(byte, of)| *byte = of);
        bytes
    }
}

/// Makes a file with a key. Errors: the file exists already, or cannot be written.
pub fn make_sealing_key(path: &Path) -> Result<(), String> {
    let key = random_text().map_err(|error| format!("no randomness for a key: {error}"))?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written =
        file.and_then(|mut file| file.write_all(format!("{HEAD}{key}\n").as_bytes()).and_then(|()| file.sync_all()));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

impl SealingKeys {
    /// Reads the keys of a file, one a line. Errors: it cannot be read, others may read it, or it has none; never a
    /// key.
    pub fn read(path: &Path) -> Result<SealingKeys, String> {
        let mut file = File::open(path).map_err(|error| {
            format!("{}: {error}; `pricetime cluster key FILE` makes one, for all nodes", path.display())
        })?;
        SealingKeys::parse(&read_secrets(&mut file, path)?).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn parse(text: &str) -> Result<SealingKeys, String> {
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        match lines.len() {
            0 => return Err("has no key".to_owned()),
            1..=KEYS_MAX => {}
            count => return Err(format!("has {count} keys; at most {KEYS_MAX}")),
        }
        let key = |line: &&str| match line.len() {
            KEY_BYTES_MIN.. => {
                let bytes = Sha256::digest(line.as_bytes());
                let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map(LessSafeKey::new);
                key.map_err(|_| "has a key that cannot be used".to_owned())
            }
            bytes => Err(format!("has a key of {bytes} bytes; at least {KEY_BYTES_MIN}")),
        };
        lines.iter().map(key).collect::<Result<Vec<LessSafeKey>, String>>().map(SealingKeys)
    }

    /// Seals a text for its place. Errors: there is no randomness.
    pub fn seal(&self, text: &str, place: Place) -> Result<Vec<u8>, String> {
        let key = self.0.first().ok_or("there is no key")?;
        let nonce = random_bytes::<NONCE_LEN>().map_err(|error| format!("no randomness to seal with: {error}"))?;
        let mut sealed = text.as_bytes().to_vec();
        let done =
            key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place.bytes()), &mut sealed);
        done.map_err(|_| "it cannot be sealed")?;
        Ok([&[VERSION], nonce.as_slice(), &sealed].concat())
    }

    /// Opens what was sealed for this place. Errors: it was sealed for another place or by another key, or it was
    /// changed.
    pub fn open(&self, sealed: &[u8], place: Place) -> Result<String, String> {
        let Some((&VERSION, rest)) = sealed.split_first() else {
            return Err("it is sealed as another version of this program does".to_owned());
        };
        let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>().ok_or("it is cut short")?;
        let opened = self.0.iter().find_map(|key| {
            let mut text = text.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let bytes = key.open_in_place(nonce, Aad::from(place.bytes()), &mut text).ok()?.len();
            text.truncate(bytes);
            String::from_utf8(text).ok()
        });
        opened.ok_or_else(|| {
            "it was sealed with another key than this node's, or for another place, or was changed".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    const PLACE: Place = Place { cluster: 7, edition: 3 };
    const KEYS: [&str; 2] = ["first key, which nobody guesses....", "second key, which nobody guesses..."];

    fn keys(text: &str) -> SealingKeys {
        SealingKeys::parse(text).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_in_its_place_with_its_key_and_says_nothing() {
        let one = keys(KEYS[0]);
        let sealed = one.seal("secret = \"sesame\"", PLACE).unwrap();
        assert!(!sealed.windows(6).any(|bytes| bytes == b"sesame"));
        assert_eq!(one.open(&sealed, PLACE).unwrap(), "secret = \"sesame\"");
        assert_ne!(one.seal("secret = \"sesame\"", PLACE).unwrap(), sealed);
        for other in [Place { cluster: 8, ..PLACE }, Place { edition: 4, ..PLACE }] {
            assert!(one.open(&sealed, other).unwrap_err().contains("another place"));
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(one.open(&changed, PLACE).is_err(), "byte {at}");
        }
        assert!(keys(KEYS[1]).open(&sealed, PLACE).is_err() && one.open(&sealed[..9], PLACE).is_err());
        // Another key replaces the first one while both are known.
        let both = keys(&format!("# comment\n{}\n\n{}\n", KEYS[1], KEYS[0]));
        assert!(both.open(&sealed, PLACE).is_ok());
        assert!(keys(KEYS[1]).open(&both.seal("text", PLACE).unwrap(), PLACE).is_ok());
    }

    #[test]
    fn a_key_file_is_its_owners_alone_and_has_keys_that_nobody_guesses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("members.key");
        assert!(SealingKeys::read(&path).err().unwrap().contains("pricetime cluster key"));
        make_sealing_key(&path).unwrap();
        assert!(make_sealing_key(&path).is_err(), "none is written over");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let sealed = SealingKeys::read(&path).unwrap().seal("text", PLACE).unwrap();
        assert_eq!(SealingKeys::read(&path).unwrap().open(&sealed, PLACE).unwrap(), "text");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(SealingKeys::read(&path).err().unwrap().contains("chmod 600"));
        let fault = |text: &str| SealingKeys::parse(text).err().unwrap();
        assert_eq!(fault("# nothing\n"), "has no key");
        assert_eq!(fault("sesame"), "has a key of 6 bytes; at least 32");
        assert_eq!(fault(&format!("{}\n", KEYS[0]).repeat(9)), "has 9 keys; at most 8");
    }
}
