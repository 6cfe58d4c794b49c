use data_encoding::BASE64URL_NOPAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PSS_SHA384, RsaKeyPair,
};
use samite_host::TestClock;
use samite_identity::{Config, Fetch, KeySource, SystemFetch, Verifier};
use samite_model::{Error, Result};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

pub(crate) const ISSUER: &str = "https://issuer.example";
/// When the tests begin, in seconds.
pub(crate) const NOW: i64 = 1_700_000_000;

/// A key pair.
pub(crate) enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair, &'static str),
    Ed(Ed25519KeyPair),
}

impl Pair {
    /// One of two keys that were made for these tests and guard nothing.
    pub(crate) fn rsa(second: bool) -> Self {
        let one: &[u8] = include_bytes!("keys/rsa-one.pk8");
        let two: &[u8] = include_bytes!("keys/rsa-two.pk8");
        Self::Rsa(RsaKeyPair::from_pkcs8(if second { two } else { one }).unwrap())
    }

    pub(crate) fn p256() -> Self {
        let random = SystemRandom::new();
        let bytes = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes.as_ref(), &random).unwrap(), "P-256")
    }

    pub(crate) fn p384() -> Self {
        let random = SystemRandom::new();
        let bytes = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, bytes.as_ref(), &random).unwrap(), "P-384")
    }

    pub(crate) fn ed() -> Self {
        let bytes = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(bytes.as_ref()).unwrap())
    }

    /// The public half as a key of a set.
    pub(crate) fn public(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        match self {
            Self::Rsa(pair) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
                json!({"kty": "RSA", "kid": id, "use": "sig", "n": text(&n), "e": text(&e)})
            }
            Self::Ec(pair, curve) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({"kty": "EC", "kid": id, "crv": curve, "x": text(x), "y": text(y)})
            }
            Self::Ed(pair) => {
                json!({"kty": "OKP", "kid": id, "crv": "Ed25519", "x": text(pair.public_key().as_ref())})
            }
        }
    }

    fn sign(&self, message: &[u8], algorithm: &str) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                if algorithm == "PS384" {
                    pair.sign(&RSA_PSS_SHA384, &random, message, &mut signature).unwrap();
                } else {
                    pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                }
                signature
            }
            Self::Ec(pair, _) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// The algorithm that such a key is for.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ec(_, "P-256") => "ES256",
            Self::Ec(..) => "ES384",
            Self::Ed(_) => "EdDSA",
        }
    }

    /// A token signed by it.
    pub(crate) fn token(&self, id: &str, claims: &Value) -> String {
        self.token_with(&json!({"alg": self.algorithm(), "kid": id, "typ": "JWT"}), &claims.to_string())
    }

    /// A token with any header and any text for claims.
    pub(crate) fn token_with(&self, header: &Value, claims: &str) -> String {
        let signed = unsigned(header, claims);
        let algorithm = header["alg"].as_str().unwrap_or_default();
        let signature = BASE64URL_NOPAD.encode(&self.sign(signed.as_bytes(), algorithm));
        format!("{signed}.{signature}")
    }
}

/// The first two parts of a token.
pub(crate) fn unsigned(header: &Value, claims: &str) -> String {
    let text = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    format!("{}.{}", text(&header.to_string()), text(claims))
}

/// Claims that are right at the beginning of the tests, and for an hour.
pub(crate) fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "ada", "aud": "samite", "exp": NOW + 3600, "iat": NOW,
        "tenant": "acme", "azp": "editor", "workload": "pod-7",
    })
}

pub(crate) fn set(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

pub(crate) fn config(keys: &str) -> Config {
    let text = format!("[[issuer]]\nname = {ISSUER:?}\naudience = [\"samite\"]\nkeys = {keys:?}\n");
    Config::parse(&text, Path::new("/")).unwrap()
}

/// The way to fetch that is real.
pub(crate) fn system() -> Arc<dyn Fetch> {
    Arc::new(SystemFetch)
}

/// An issuer's answers, counted.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) set: Mutex<Option<String>>,
    pub(crate) count: AtomicUsize,
}

impl Answers {
    pub(crate) fn say(&self, set: Option<String>) {
        *self.set.lock().unwrap() = set;
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

pub(crate) struct Counted(pub(crate) Arc<Answers>);

impl Fetch for Counted {
    fn fetch(&self, _: &KeySource) -> Result<Vec<u8>> {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        let set = self.0.set.lock().unwrap().clone();
        set.map(String::into_bytes).ok_or_else(|| Error::unavailable("keys_unavailable", "the issuer does not answer"))
    }
}

/// A verifier whose issuer has these keys, with what counts its fetches and moves its clock.
pub(crate) fn verifier(keys: &[Value]) -> (Verifier, Arc<Answers>, Arc<TestClock>) {
    let answers = Arc::new(Answers::default());
    answers.say(Some(set(keys)));
    let clock = Arc::new(TestClock::new(NOW * 1_000_000_000));
    let fetch: Arc<dyn Fetch> = Arc::new(Counted(answers.clone()));
    let verifier = Verifier::with(config("https://issuer.example/keys"), false, clock.clone(), &fetch).unwrap();
    (verifier, answers, clock)
}

/// The code that a token is refused with; nothing when it is not.
pub(crate) fn code(verifier: &Verifier, token: &str) -> &'static str {
    match verifier.principal(token) {
        Ok(_) => "",
        Err(error) => {
            // Nothing of a token stands in what is said of it.
            let shown = format!("{error:?}");
            for part in token.split('.').filter(|part| part.len() > 12) {
                assert!(!shown.contains(part), "{shown}");
            }
            error.code()
        }
    }
}
