//! Authorities and certificates for tests, and a server that has one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

use crate::common::folder::Folder;
use crate::common::server::Launch;

/// An authority that signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// A certificate and its key, in PEM.
pub struct Signed {
    pub cert: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = named(name, Vec::new());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Signs a certificate for a server on this machine.
    pub fn server(&self, name: &str) -> Signed {
        self.sign(
            named(name, vec!["localhost".to_owned(), "127.0.0.1".to_owned()]),
            ExtendedKeyUsagePurpose::ServerAuth,
        )
    }

    pub fn client(&self, name: &str) -> Signed {
        self.sign(named(name, Vec::new()), ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// Signs a certificate that has expired.
    pub fn expired(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Signed {
        let mut params = named(name, vec!["localhost".to_owned()]);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.sign(params, usage)
    }

    fn sign(&self, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) -> Signed {
        params.extended_key_usages.push(usage);
        let key = KeyPair::generate().unwrap();
        Signed { cert: params.signed_by(&key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }
}

fn named(name: &str, hosts: Vec<String>) -> CertificateParams {
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A server's files: its certificate and key, and the authority that signed it.
pub struct Pki {
    pub authority: Authority,
    pub folder: PathBuf,
}

impl Pki {
    pub fn new(folder: &Folder) -> Pki {
        let authority = Authority::new("authority of the test");
        let pki = Pki { folder: folder.path().to_owned(), authority };
        pki.place(&pki.authority.server("first"));
        pki.write("authority.pem", &pki.authority.pem);
        pki
    }

    /// Replaces the server's certificate at once, as programs that renew certificates do.
    pub fn place(&self, signed: &Signed) {
        self.write("cert.pem", &signed.cert);
        self.write("key.pem", &signed.key);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let (new, path) = (self.path(&format!("{name}.new")), self.path(name));
        std::fs::write(&new, text).unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::rename(&new, &path).unwrap();
        path
    }

    /// A server with this certificate.
    pub fn launch(&self, folder: &Folder) -> Launch {
        let show = |path: &Path| path.display().to_string();
        Launch::new(&folder.data()).with(&format!(
            "--tls-cert {} --tls-key {}",
            show(&self.path("cert.pem")),
            show(&self.path("key.pem"))
        ))
    }
}
