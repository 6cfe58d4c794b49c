//! A key set, read: each key with the one algorithm that it is used with. A key that is of no use here is left out.

use crate::crypto::algorithm_family;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;
use std::str::FromStr;

/// So many keys of a set are looked at.
const MOST: usize = 100;

/// The keys of an issuer.
#[derive(Default)]
pub(crate) struct Keys(Vec<Key>);

/// A key.
pub(crate) struct Key {
    id: Option<String>,
    pub(crate) algorithm: Algorithm,
    pub(crate) public: DecodingKey,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

impl Keys {
    /// Reads a JSON Web Key Set; none when it is not one.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let set: Set = serde_json::from_slice(bytes).ok()?;
        Some(Self(set.keys.into_iter().take(MOST).filter_map(key).collect()))
    }

    /// The keys of an id. Without one it is the only key that there is.
    pub(crate) fn find(&self, id: Option<&str>) -> Vec<&Key> {
        match id {
            Some(id) => self.0.iter().filter(|key| key.id.as_deref() == Some(id)).collect(),
            None if self.0.len() == 1 => self.0.iter().collect(),
            None => Vec::new(),
        }
    }

    /// How many keys there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

fn key(value: Value) -> Option<Key> {
    let named = value.get("alg").map(|alg| alg.as_str().map(Algorithm::from_str));
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    if jwk.common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature) {
        return None;
    }
    if jwk.common.key_operations.as_ref().is_some_and(|all| !all.contains(&KeyOperations::Verify)) {
        return None;
    }
    // What a key's kind allows for: without a name, the usual one of it.
    let usual = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(of) if of.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::EllipticCurve(of) if of.curve == EllipticCurve::P384 => Algorithm::ES384,
        AlgorithmParameters::OctetKeyPair(of) if of.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        // A secret in a set that anybody can read is none, and whoever has it could sign.
        _ => return None,
    };
    let algorithm = match named {
        None => usual,
        Some(Some(Ok(named))) => named,
        // RFC 9864 names the curve.
        Some(_) if usual == Algorithm::EdDSA => usual,
        Some(_) => return None,
    };
    let is_rsa = usual == Algorithm::RS256;
    if algorithm_family(algorithm) != algorithm_family(usual) || (!is_rsa && algorithm != usual) {
        return None;
    }
    Some(Key { id: jwk.common.key_id.clone(), algorithm, public: DecodingKey::from_jwk(&jwk).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_key_has_the_one_algorithm_that_it_is_used_with() {
        let rsa = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "r"});
        let p256 = json!({"kty": "EC", "crv": "P-256", "x": "AQ", "y": "AQ", "kid": "e"});
        let p384 = json!({"kty": "EC", "crv": "P-384", "x": "AQ", "y": "AQ"});
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": "AQ", "alg": "Ed25519"});
        let with = |key: &Value, name: &str, value: Value| {
            let mut key = key.clone();
            key[name] = value;
            key
        };
        let rows = [
            (rsa.clone(), Some(Algorithm::RS256)),
            (with(&rsa, "alg", json!("PS384")), Some(Algorithm::PS384)),
            (with(&rsa, "alg", json!("ES256")), None),
            (with(&rsa, "alg", json!("HS256")), None),
            (with(&rsa, "alg", json!("none")), None),
            (with(&rsa, "alg", json!("RSA-OAEP")), None),
            (with(&rsa, "use", json!("enc")), None),
            (with(&rsa, "use", json!("sig")), Some(Algorithm::RS256)),
            (with(&rsa, "key_ops", json!(["encrypt"])), None),
            (with(&rsa, "key_ops", json!(["verify"])), Some(Algorithm::RS256)),
            (p256.clone(), Some(Algorithm::ES256)),
            (with(&p256, "alg", json!("ES384")), None),
            (p384, Some(Algorithm::ES384)),
            (ed, Some(Algorithm::EdDSA)),
            (json!({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}), None),
            (json!({"kty": "new", "x": 1}), None),
            (json!("nonsense"), None),
        ];
        for (value, expected) in rows {
            assert_eq!(key(value.clone()).map(|key| key.algorithm), expected, "{value}");
        }
    }

    #[test]
    fn a_set_is_read_as_far_as_it_is_of_use() {
        let rsa = json!({"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "r"});
        let set = json!({"keys": [rsa, {"kty": "oct", "k": "AQ"}, 7], "more": true}).to_string();
        let keys = Keys::parse(set.as_bytes()).unwrap();
        assert_eq!((keys.count(), keys.find(Some("r")).len(), keys.find(None).len()), (1, 1, 1));
        assert!(keys.find(Some("x")).is_empty());
        let two = json!({"keys": [rsa, rsa]}).to_string();
        assert!(Keys::parse(two.as_bytes()).unwrap().find(None).is_empty());
        for wrong in ["", "[]", "{}", r#"{"keys":{}}"#] {
            assert!(Keys::parse(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
