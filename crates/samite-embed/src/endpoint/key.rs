//! The key that an endpoint asks for.

use samite_model::{Error, Result};
use std::fmt;
use zeroize::Zeroizing;

/// The longest key, in bytes.
const LONGEST: usize = 4_096;

/// Answers the key that is to be sent now.
pub type KeySource = Box<dyn Fn() -> Result<ApiKey> + Send + Sync>;

/// A key. It is wiped from memory when nobody needs it, and shown by nothing.
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// The key in an environment variable.
    ///
    /// # Errors
    /// `invalid` (`no_api_key`) when there is none, and (`bad_api_key`) when it cannot be one.
    pub fn from_environment(variable: &str) -> Result<Self> {
        let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else {
            return Err(Error::invalid("no_api_key", format!("the environment variable {variable} has no key"))
                .hint("set it to the endpoint's key, or name a file that holds it"));
        };
        let value = value.into_encoded_bytes();
        Self::from_bytes(&Zeroizing::new(value))
    }

    /// The key in a file's bytes; white space around it is not part of it.
    ///
    /// # Errors
    /// `invalid` (`bad_api_key`) when it is empty, too long, or has other characters than visible ASCII.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let key = bytes.trim_ascii();
        if key.is_empty() || key.len() > LONGEST || !key.iter().all(u8::is_ascii_graphic) {
            return Err(unusable());
        }
        Ok(Self(Zeroizing::new(String::from_utf8_lossy(key).into_owned())))
    }

    /// As it stands in a request's `authorization`.
    pub(super) fn bearer(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("Bearer {}", self.0.as_str()))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey")
    }
}

/// A key that is none; what it is, nobody is told.
pub(super) fn unusable() -> Error {
    Error::invalid("bad_api_key", "what was given as the endpoint's key is none")
        .hint("a key is one line of visible ASCII characters, at most 4,096")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_line_and_is_not_shown() {
        let key = ApiKey::from_bytes(b" sk-12/+= \n").unwrap();
        assert_eq!(key.bearer().as_str(), "Bearer sk-12/+=");
        assert_eq!(format!("{key:?}"), "ApiKey");
        for wrong in
            [b"".as_slice(), b" \n", b"two words", b"two\r\nlines", b"\xff\xfe", "schlüssel".as_bytes(), &[b'x'; 4_097]]
        {
            let error = ApiKey::from_bytes(wrong).unwrap_err();
            assert_eq!(error.code(), "bad_api_key");
            assert!(!error.message().contains("two"));
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let error = ApiKey::from_environment("SAMITE_TEST_NO_SUCH_KEY").unwrap_err();
        assert_eq!(error.code(), "no_api_key");
        assert!(error.message().contains("SAMITE_TEST_NO_SUCH_KEY"));
        let path = ApiKey::from_environment("CARGO_PKG_NAME").unwrap();
        assert_eq!(path.bearer().as_str(), "Bearer samite-embed");
    }
}
