//! The outside of a token: three parts, and a header that says how it was signed.

use crate::json::{self, Fault};
use data_encoding::BASE64URL_NOPAD;
use samite_model::{Error, Result};
use serde_json::{Map, Value};

/// The longest token that is looked at, in bytes.
pub const LONGEST_TOKEN: usize = 16 << 10;

/// A token before anything of it is believed.
pub(crate) struct Token<'a> {
    /// What it says it was signed with.
    pub(crate) algorithm: String,
    /// Which key it says.
    pub(crate) key: Option<String>,
    /// What it claims.
    pub(crate) claims: Map<String, Value>,
    /// The bytes that are signed.
    pub(crate) signed: &'a str,
    /// The signature, in base64.
    pub(crate) signature: &'a str,
}

impl<'a> Token<'a> {
    /// Takes a token apart.
    ///
    /// # Errors
    /// `denied`: `token_too_large`, `malformed_token`, `duplicate_claim`, `unsupported_header`, `wrong_token_type`.
    pub(crate) fn parse(text: &'a str) -> Result<Self> {
        if text.len() > LONGEST_TOKEN {
            return Err(Error::denied("token_too_large", format!("the token is longer than {LONGEST_TOKEN} bytes"))
                .hint("have the issuer leave out claims that nobody needs"));
        }
        let (signed, signature) = text.rsplit_once('.').ok_or_else(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
        if claims.contains('.') || signature.is_empty() && header.is_empty() {
            return Err(malformed());
        }
        let header = part(header)?;
        let claims = part(claims)?;
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(Error::denied("unsupported_header", "the token demands an extension that samite has not")
                .hint("use a plain signed token"));
        }
        if let Some(of_type) = header.get("typ") {
            let of_type = of_type.as_str().unwrap_or_default().to_ascii_lowercase();
            if !matches!(of_type.strip_prefix("application/").unwrap_or(&of_type), "jwt" | "at+jwt") {
                return Err(Error::denied("wrong_token_type", "the token is not of a type that gives access")
                    .hint("send an access token"));
            }
        }
        let algorithm = header.get("alg").and_then(Value::as_str).ok_or_else(malformed)?.to_owned();
        let key = match header.get("kid") {
            None => None,
            Some(key) => Some(key.as_str().ok_or_else(malformed)?.to_owned()),
        };
        Ok(Self { algorithm, key, claims, signed, signature })
    }
}

fn part(text: &str) -> Result<Map<String, Value>> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| malformed())?;
    json::object(&bytes).map_err(|fault| match fault {
        Fault::NoObject => malformed(),
        Fault::Twice => Error::denied("duplicate_claim", "a name stands twice in the token")
            .hint("two readers could take it for two different tokens: have the issuer mend it"),
    })
}

fn malformed() -> Error {
    Error::denied("malformed_token", "this is no signed JSON Web Token")
        .hint("send the access token as it was issued: three parts in base64, with dots between")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        format!("{}.{}.c2ln", BASE64URL_NOPAD.encode(header.as_bytes()), BASE64URL_NOPAD.encode(claims.as_bytes()))
    }

    #[test]
    fn a_token_is_taken_apart() {
        let text = token(r#"{"alg":"ES256","kid":"k","typ":"at+jwt"}"#, r#"{"sub":"a"}"#);
        let parsed = Token::parse(&text).unwrap();
        assert_eq!((parsed.algorithm.as_str(), parsed.key.as_deref(), parsed.signature), ("ES256", Some("k"), "c2ln"));
        assert_eq!(parsed.claims["sub"], "a");
        assert!(text.starts_with(parsed.signed));
    }

    #[test]
    fn what_is_none_says_so() {
        let right = token(r#"{"alg":"ES256"}"#, "{}");
        let cases = [
            (String::new(), "malformed_token"),
            ("a.b".to_owned(), "malformed_token"),
            ("..".to_owned(), "malformed_token"),
            (format!("{right}.x"), "malformed_token"),
            (format!("{right} "), ""),
            (right.replace('.', "=."), "malformed_token"),
            (token("[]", "{}"), "malformed_token"),
            (token("{}", "{}"), "malformed_token"),
            (token(r#"{"alg":1}"#, "{}"), "malformed_token"),
            (token(r#"{"alg":"ES256","kid":7}"#, "{}"), "malformed_token"),
            (token(r#"{"alg":"ES256","alg":"none"}"#, "{}"), "duplicate_claim"),
            (token(r#"{"alg":"ES256"}"#, r#"{"sub":"a","sub":"b"}"#), "duplicate_claim"),
            (token(r#"{"alg":"ES256","crit":["exp"]}"#, "{}"), "unsupported_header"),
            (token(r#"{"alg":"ES256","typ":"dpop+jwt"}"#, "{}"), "wrong_token_type"),
            (token(r#"{"alg":"ES256"}"#, &format!("{{\"x\":\"{}\"}}", "x".repeat(LONGEST_TOKEN))), "token_too_large"),
        ];
        for (text, code) in cases {
            match Token::parse(&text) {
                Ok(_) => assert_eq!(code, "", "{text}"),
                Err(error) => assert_eq!(error.code(), code, "{text}"),
            }
        }
    }
}
