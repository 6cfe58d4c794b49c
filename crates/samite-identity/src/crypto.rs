//! Signatures, checked with ring: what jsonwebtoken asks of whoever brings the cryptography.
//!
//! Only signatures with a public key are known. Whoever could check a shared secret could also sign with it.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use signature::Verifier;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_: &Algorithm, _: &EncodingKey| -> Result<Box<dyn JwtSigner>, Error> {
        Err(ErrorKind::UnsupportedAlgorithm.into())
    },
    verifier_factory: |algorithm: &Algorithm, key: &DecodingKey| -> Result<Box<dyn JwtVerifier>, Error> {
        if algorithm_family(*algorithm) != Some(key.family()) {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        Ok(Box::new(WithKey { algorithm: *algorithm, key: key.clone() }))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// Whether a signature over `signed` is that of the key. Both are as in the token.
pub(crate) fn holds(algorithm: Algorithm, key: &DecodingKey, signed: &str, signature: &str) -> bool {
    // Where somebody installed another provider before, that one checks.
    PROVIDER.install_default().ok();
    jsonwebtoken::crypto::verify(signature, signed.as_bytes(), key, algorithm).unwrap_or(false)
}

/// The algorithms that are known: with a public key, all of them.
pub(crate) fn algorithm_family(algorithm: Algorithm) -> Option<AlgorithmFamily> {
    match algorithm {
        Algorithm::RS256
        | Algorithm::RS384
        | Algorithm::RS512
        | Algorithm::PS256
        | Algorithm::PS384
        | Algorithm::PS512 => Some(AlgorithmFamily::Rsa),
        Algorithm::ES256 | Algorithm::ES384 => Some(AlgorithmFamily::Ec),
        Algorithm::EdDSA => Some(AlgorithmFamily::Ed),
        _ => None,
    }
}

/// A key with the one algorithm that it is used with.
struct WithKey {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for WithKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let held = match self.key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => rsa(self.algorithm).map(|parameters| {
                let n: Vec<u8> = n.iter().copied().skip_while(|byte| *byte == 0).collect();
                let e: Vec<u8> = e.iter().copied().skip_while(|byte| *byte == 0).collect();
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }),
            DecodingKeyKind::SecretOrDer(point) => {
                curve(self.algorithm).map(|with| UnparsedPublicKey::new(with, point).verify(message, signature))
            }
        };
        match held {
            Some(Ok(())) => Ok(()),
            _ => Err(signature::Error::new()),
        }
    }
}

impl JwtVerifier for WithKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn curve(algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
    Some(match algorithm {
        Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &ED25519,
        _ => return None,
    })
}
