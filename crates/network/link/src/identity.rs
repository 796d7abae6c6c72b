//! Who the two ends are: raw public keys in TLS 1.3 (RFC 7250), each pinned by the other end.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use fanfare_crypto::{Identity, PublicKey};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    SignatureAlgorithm, SignatureScheme,
    client::{
        AlwaysResolvesClientRawPublicKeys,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{WebPkiSupportedAlgorithms, ring, verify_tls13_signature_with_raw_key},
    pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime},
    server::{
        AlwaysResolvesServerRawPublicKeys,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
    sign::{CertifiedKey, Signer, SigningKey},
};

/// What both ends call this protocol.
const ALPN: &[u8] = b"fanfare/1";
/// An Ed25519 key as SubjectPublicKeyInfo begins so (RFC 8410, 4).
const SPKI_HEAD: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The keys that may link to this node, and the names that they have here. All copies are one list.
#[derive(Debug, Clone, Default)]
pub struct Peers {
    names: Arc<RwLock<BTreeMap<PublicKey, String>>>,
    refused: Arc<AtomicU64>,
}

impl Peers {
    /// One more, or another name for one.
    pub fn add(&self, key: PublicKey, name: &str) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        names.insert(key, name.to_owned());
    }

    /// These and no others from now on.
    pub fn replace(&self, all: impl IntoIterator<Item = (PublicKey, String)>) {
        let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
        *names = all.into_iter().collect();
    }

    /// What this key is called here; `None` for a stranger's.
    #[must_use]
    pub fn name(&self, key: &PublicKey) -> Option<String> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Handshakes of strangers so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

fn spki(key: &PublicKey) -> Vec<u8> {
    [&SPKI_HEAD[..], &key.0].concat()
}

/// The Ed25519 key in a SubjectPublicKeyInfo.
pub(crate) fn key_of(spki: &[u8]) -> Option<PublicKey> {
    let (head, key) = spki.split_at_checked(SPKI_HEAD.len())?;
    (head == SPKI_HEAD).then(|| key.try_into().ok().map(PublicKey)).flatten()
}

/// Signs handshakes.
#[derive(Debug, Clone)]
struct Own(Arc<Identity>);

impl SigningKey for Own {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let known = offered.contains(&SignatureScheme::ED25519);
        known.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }
    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(SubjectPublicKeyInfoDer::from(spki(&self.0.public())))
    }
    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Own {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signature = self.0.sign_handshake(message);
        signature.map(|bytes| bytes.to_vec()).ok_or_else(|| Error::General("no handshake".into()))
    }
    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

fn certified(identity: &Arc<Identity>) -> Arc<CertifiedKey> {
    let key = CertificateDer::from(spki(&identity.public()));
    Arc::new(CertifiedKey::new(vec![key], Arc::new(Own(identity.clone()))))
}

/// Which keys the other end may have.
#[derive(Debug)]
enum Admitted {
    /// The one that was named.
    Only(PublicKey),
    /// All that are listed.
    Listed(Peers),
}

/// Checks the other end.
#[derive(Debug)]
struct Pinned {
    admitted: Admitted,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn new(admitted: Admitted) -> Arc<Self> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        Arc::new(Self { admitted, algorithms })
    }

    fn check(&self, end: &CertificateDer<'_>) -> Result<(), Error> {
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let key = key_of(end).ok_or(CertificateError::BadEncoding)?;
        match &self.admitted {
            Admitted::Only(only) if *only == key => Ok(()),
            Admitted::Only(_) => Err(unknown),
            Admitted::Listed(peers) if peers.name(&key).is_some() => Ok(()),
            Admitted::Listed(peers) => {
                peers.refused.fetch_add(1, Ordering::Relaxed);
                Err(unknown)
            }
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }
}

/// TLS 1.2 is never offered.
fn too_old() -> Error {
    Error::PeerIncompatible(PeerIncompatible::Tls13RequiredForQuic)
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end).map(|()| ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, key, signed)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        end: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end).map(|()| ClientCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, key, signed)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> std::io::Error {
    std::io::Error::other(error)
}

/// TLS of the end that dials.
pub(crate) fn client(
    identity: &Arc<Identity>,
    peer: PublicKey,
) -> std::io::Result<Arc<QuicClientConfig>> {
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(Pinned::new(Admitted::Only(peer)))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified(
            identity,
        ))));
    tls.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(QuicClientConfig::try_from(tls).map_err(refused)?))
}

/// TLS of the end that is dialled.
pub(crate) fn server(
    identity: &Arc<Identity>,
    peers: Peers,
) -> std::io::Result<Arc<QuicServerConfig>> {
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?
        .with_client_cert_verifier(Pinned::new(Admitted::Listed(peers)))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified(identity))));
    tls.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(QuicServerConfig::try_from(tls).map_err(refused)?))
}
