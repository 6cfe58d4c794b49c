use crate::support::{NOW, Pair, claims, code, config, set, system, unsigned, verifier};
use data_encoding::BASE64URL_NOPAD;
use ring::hmac;
use samite_host::TestClock;
use samite_identity::{Config, LONGEST_TOKEN, Verifier};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

#[test]
fn keys_of_every_kind_that_is_known_make_principals() {
    for pair in [Pair::rsa(false), Pair::p256(), Pair::p384(), Pair::ed()] {
        let (verifier, ..) = verifier(&[pair.public("k")]);
        let principal = verifier.principal(&pair.token("k", &claims())).unwrap();
        assert_eq!(principal.user, "https://issuer.example|ada", "{}", pair.algorithm());
        assert_eq!(principal.tenant.as_str(), "acme");
        assert_eq!((principal.agent.as_str(), principal.workload.as_str()), ("editor", "pod-7"));
        // With the only key there is, its id may be left out.
        let without = pair.token_with(&json!({"alg": pair.algorithm()}), &claims().to_string());
        assert_eq!(code(&verifier, &without), "");
    }
    // An RSA key that is for another padding is used with that alone.
    let pair = Pair::rsa(false);
    let mut public = pair.public("k");
    public["alg"] = json!("PS384");
    let (verifier, ..) = verifier(&[public]);
    assert_eq!(code(&verifier, &pair.token_with(&json!({"alg": "PS384", "kid": "k"}), &claims().to_string())), "");
    assert_eq!(code(&verifier, &pair.token("k", &claims())), "wrong_algorithm");
}

#[test]
fn the_algorithm_is_the_keys_and_never_the_headers() {
    let pair = Pair::rsa(false);
    let (verifier, answers, _) = verifier(&[pair.public("k")]);
    let text = claims().to_string();
    // None, in every spelling, with and without a signature.
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let signed = unsigned(&json!({"alg": alg, "kid": "k"}), &text);
        assert_eq!(code(&verifier, &format!("{signed}.")), "wrong_algorithm", "{alg}");
        assert_eq!(
            code(&verifier, &pair.token_with(&json!({"alg": alg, "kid": "k"}), &text)),
            "wrong_algorithm",
            "{alg}"
        );
    }
    // The public key, in each form in which somebody may have it, as the secret of an HMAC.
    let public = pair.public("k");
    let Pair::Rsa(rsa) = &pair else { unreachable!() };
    let modulus = BASE64URL_NOPAD.decode(public["n"].as_str().unwrap().as_bytes()).unwrap();
    let der = ring::signature::KeyPair::public_key(rsa).as_ref().to_vec();
    for secret in [modulus, der, public.to_string().into_bytes(), set(std::slice::from_ref(&public)).into_bytes()] {
        for (alg, of) in [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)] {
            let signed = unsigned(&json!({"alg": alg, "kid": "k"}), &text);
            let tag = hmac::sign(&hmac::Key::new(of, &secret), signed.as_bytes());
            let token = format!("{signed}.{}", BASE64URL_NOPAD.encode(tag.as_ref()));
            assert_eq!(code(&verifier, &token), "wrong_algorithm", "{alg}");
        }
    }
    // Nor another algorithm of the same key, nor of another kind of key.
    for alg in ["RS512", "PS256", "ES256", "EdDSA"] {
        assert_eq!(
            code(&verifier, &pair.token_with(&json!({"alg": alg, "kid": "k"}), &text)),
            "wrong_algorithm",
            "{alg}"
        );
    }
    for alg in ["RS1", "ES256K", "rs256"] {
        assert_eq!(
            code(&verifier, &pair.token_with(&json!({"alg": alg, "kid": "k"}), &text)),
            "wrong_algorithm",
            "{alg}"
        );
    }
    assert_eq!(answers.count(), 1);
    // A key or an address in the header is not looked at.
    let other = Pair::rsa(true);
    for header in [
        json!({"alg": "RS256", "kid": "k", "jwk": other.public("k")}),
        json!({"alg": "RS256", "kid": "k", "jku": "http://127.0.0.1:9/keys"}),
        json!({"alg": "RS256", "kid": "k", "x5u": "http://127.0.0.1:9/keys"}),
    ] {
        assert_eq!(code(&verifier, &other.token_with(&header, &text)), "wrong_signature", "{header}");
    }
    // A secret in the set is no key.
    let (verifier, ..) = self::verifier(&[json!({"kty": "oct", "kid": "s", "k": "c2VjcmV0"}), pair.public("k")]);
    let signed = unsigned(&json!({"alg": "HS256", "kid": "s"}), &text);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"secret"), signed.as_bytes());
    let token = format!("{signed}.{}", BASE64URL_NOPAD.encode(tag.as_ref()));
    assert_eq!(code(&verifier, &token), "wrong_algorithm");
}

#[test]
fn a_token_that_was_changed_anywhere_is_refused() {
    let pair = Pair::p256();
    let (verifier, ..) = verifier(&[pair.public("k"), Pair::p256().public("other")]);
    let token = pair.token("k", &claims());
    assert_eq!(code(&verifier, &token), "");
    let mut refused = 0;
    for at in (0..token.len()).step_by(7) {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert_ne!(code(&verifier, &changed), "", "{at}");
        refused += 1;
    }
    assert!(refused > 40);
    // Another key of the same issuer, another tenant under the old signature, a signature cut short or left out.
    assert_eq!(code(&verifier, &pair.token("other", &claims())), "wrong_signature");
    let mut other = claims();
    other["tenant"] = json!("victim");
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let header = signed.split_once('.').unwrap().0;
    let stolen = format!("{header}.{}.{signature}", BASE64URL_NOPAD.encode(other.to_string().as_bytes()));
    assert_eq!(code(&verifier, &stolen), "wrong_signature");
    assert_eq!(code(&verifier, &format!("{signed}.")), "wrong_signature");
    assert_eq!(code(&verifier, &token[..token.len() - 4]), "wrong_signature");
    // With several keys, which one it is must be said.
    let without = pair.token_with(&json!({"alg": "ES256"}), &claims().to_string());
    assert_eq!(code(&verifier, &without), "no_key_id");
}

#[test]
fn each_fault_of_a_signed_token_is_decided_right() {
    let pair = Pair::ed();
    let (verifier, ..) = verifier(&[pair.public("k")]);
    let with = |name: &str, value: Option<Value>| {
        let mut said = claims();
        match value {
            None => drop(said.as_object_mut().unwrap().remove(name)),
            Some(value) => said[name] = value,
        }
        code(&verifier, &pair.token("k", &said))
    };
    for (name, value, expected) in [
        ("aud", Some(json!("another-application")), "wrong_audience"),
        ("aud", None, "missing_audience"),
        ("nbf", Some(json!(NOW.to_string())), "bad_time"),
        ("iat", Some(json!(NOW + 1)), ""),
        ("iat", Some(json!(NOW + 60)), ""),
        ("iat", Some(json!(NOW + 61)), "token_from_future"),
        ("exp", Some(json!(NOW - 59)), ""),
        ("exp", Some(json!(NOW - 60)), "token_expired"),
        ("exp", None, "missing_expiry"),
        ("iss", None, "missing_issuer"),
        ("iss", Some(json!("https://issuer.example/")), "unknown_issuer"),
        ("iss", Some(json!("https://evil.example")), "unknown_issuer"),
        ("sub", None, "missing_subject"),
        ("tenant", None, "missing_tenant"),
        ("azp", None, "missing_agent"),
        ("workload", None, "missing_workload"),
    ] {
        assert_eq!(with(name, value.clone()), expected, "{name} = {value:?}");
    }
    let text = claims().to_string();
    let header = json!({"alg": "EdDSA", "kid": "k"});
    let twice = text.replacen("\"tenant\"", "\"tenant\":\"victim\",\"tenant\"", 1);
    assert_eq!(code(&verifier, &pair.token_with(&header, &twice)), "duplicate_claim");
    let mut large = claims();
    large["padding"] = json!("x".repeat(LONGEST_TOKEN));
    assert_eq!(code(&verifier, &pair.token("k", &large)), "token_too_large");
    for nonsense in ["", "a", "a.b.c", "Bearer x.y.z", &"x".repeat(1 << 20)] {
        assert!(matches!(code(&verifier, nonsense), "malformed_token" | "token_too_large"), "{}", nonsense.len());
    }
}

#[test]
fn a_development_token_counts_only_where_that_was_asked_for() {
    let text = "[[development]]\ntoken = \"development-only-1\"\ntenant = \"acme\"\nuser = \"ada\"\nagent = \"editor\"\nworkload = \"laptop\"\nscopes = [\"samite:all\"]\n";
    let make = |development| {
        let config = Config::parse(text, Path::new("/")).unwrap();
        Verifier::with(config, development, Arc::new(TestClock::new(0)), &system()).unwrap()
    };
    let principal = make(true).principal("development-only-1").unwrap();
    assert_eq!((principal.user.as_str(), principal.scopes), ("ada", vec!["samite:all".to_owned()]));
    assert_eq!(code(&make(false), "development-only-1"), "development_token");
    for development in [true, false] {
        assert_eq!(code(&make(development), "development-only-2"), "malformed_token");
        assert_eq!(code(&make(development), "development-only-"), "malformed_token");
    }
    assert_eq!(
        code(&Verifier::new(config("/nowhere/keys.json"), true).unwrap(), "development-only-1"),
        "malformed_token"
    );
}
