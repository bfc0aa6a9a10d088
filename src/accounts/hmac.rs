//! HMAC for tokens, from ring, which TLS depends on anyway.
//!
//! jsonwebtoken's own back ends depend on RSA and elliptic curves, which no token of this service uses.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use ring::hmac::{self, Key};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this module the provider of jsonwebtoken; later calls change nothing.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

struct Hmac {
    algorithm: Algorithm,
    key: Key,
}

impl Hmac {
    fn new(algorithm: Algorithm, secret: &[u8]) -> Result<Self, Error> {
        let hash = match algorithm {
            Algorithm::HS256 => hmac::HMAC_SHA256,
            Algorithm::HS384 => hmac::HMAC_SHA384,
            Algorithm::HS512 => hmac::HMAC_SHA512,
            _ => return Err(ErrorKind::InvalidAlgorithm.into()),
        };
        let key = Key::new(hash, secret);
        Ok(Self { algorithm, key })
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is jsonwebtoken's"
)]
fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    if key.family() != AlgorithmFamily::Hmac {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(Hmac::new(*algorithm, key.as_bytes())?))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is jsonwebtoken's"
)]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    if key.family() != AlgorithmFamily::Hmac {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(Hmac::new(*algorithm, key.try_get_as_bytes()?)?))
}

impl Signer<Vec<u8>> for Hmac {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(hmac::sign(&self.key, message).as_ref().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hmac {
    /// Compares in constant time.
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        hmac::verify(&self.key, message, signature).map_err(|_| signature::Error::new())
    }
}

impl JwtSigner for Hmac {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl JwtVerifier for Hmac {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
