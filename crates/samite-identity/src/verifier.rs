//! From a token to a principal.

use crate::claims;
use crate::config::{Config, Issuer};
use crate::crypto;
use crate::development;
use crate::fetch::{Fetch, KeySource, SystemFetch};
use crate::key_set::KeySet;
use crate::token::{LONGEST_TOKEN, Token};
use jsonwebtoken::Algorithm;
use samite_host::{Clock, SystemClock};
use samite_model::{Error, Principal, Result};
use serde_json::Value;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Makes principals of tokens. It may be used from any thread, and keeps the keys that it fetched.
pub struct Verifier {
    issuers: Vec<(Issuer, KeySet)>,
    development: Vec<crate::config::DevelopmentToken>,
    is_development: bool,
    clock: Arc<dyn Clock>,
}

impl Verifier {
    /// A verifier by the system's clock, which fetches keys by HTTP and from files. Development tokens count only where
    /// `development` says so.
    ///
    /// # Errors
    /// `invalid` (`bad_identity_config`).
    pub fn new(config: Config, development: bool) -> Result<Self> {
        Self::with(config, development, Arc::new(SystemClock), &(Arc::new(SystemFetch) as Arc<dyn Fetch>))
    }

    /// The same, with another clock and another way to fetch keys.
    ///
    /// # Errors
    /// As [`Verifier::new`].
    pub fn with(config: Config, development: bool, clock: Arc<dyn Clock>, fetch: &Arc<dyn Fetch>) -> Result<Self> {
        config.check()?;
        let Config { issuers, development: tokens } = config;
        let issuers = issuers
            .into_iter()
            .map(|issuer| {
                let source = KeySource::parse(&issuer.keys, Path::new(""))?;
                Ok((issuer, KeySet::new(source, clock.clone(), fetch.clone())))
            })
            .collect::<Result<_>>()?;
        Ok(Self { issuers, development: tokens, is_development: development, clock })
    }

    /// Who calls with this token.
    ///
    /// # Errors
    /// `denied`, with a code for each fault of a token (docs/identity.md lists them); `unavailable` (`keys_unavailable`,
    /// `bad_key_set`) when the issuer's keys cannot be had.
    pub fn principal(&self, token: &str) -> Result<Principal> {
        if token.len() <= LONGEST_TOKEN
            && let Some(principal) = development::principal(&self.development, token)
        {
            if !self.is_development {
                return Err(Error::denied(
                    "development_token",
                    "this is a token for development, which counts for nothing here",
                )
                .hint("send a token of an issuer; --dev lets these count"));
            }
            principal.check()?;
            return Ok(principal);
        }
        let token = Token::parse(token)?;
        // Only what a public key checks: neither nothing, nor a secret that whoever checks has too.
        let algorithm = Algorithm::from_str(&token.algorithm)
            .ok()
            .filter(|algorithm| crypto::algorithm_family(*algorithm).is_some())
            .ok_or_else(wrong_algorithm)?;
        let Some(name) = token.claims.get("iss").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            return Err(Error::denied("missing_issuer", "the token names no issuer").hint("`iss` says who issued it"));
        };
        let Some((issuer, keys)) = self.issuers.iter().find(|(issuer, _)| issuer.name == name) else {
            return Err(Error::denied("unknown_issuer", "the token is of an issuer that is not believed here")
                .hint("name the issuer in the identity configuration, if that is yours to decide"));
        };
        let keys = keys.keys(token.key.as_deref())?;
        let found = keys.find(token.key.as_deref());
        if found.is_empty() {
            let Some(_) = token.key else {
                return Err(Error::denied(
                    "no_key_id",
                    "the token does not say with which of several keys it was signed",
                )
                .hint("have the issuer put `kid` into its tokens"));
            };
            return Err(Error::denied("unknown_token_key", "the token was signed with a key that its issuer has not")
                .hint("get a new token; a new key is known within 30 s, one that was removed is not any more"));
        }
        // The key says with which algorithm it is used; what the token says can only agree.
        let key = found.into_iter().find(|key| key.algorithm == algorithm).ok_or_else(wrong_algorithm)?;
        if !crypto::holds(key.algorithm, &key.public, token.signed, token.signature) {
            return Err(Error::denied("wrong_signature", "the token's signature is not that of its issuer's key")
                .hint("get a new token"));
        }
        claims::principal(&token.claims, issuer, self.clock.now().div_euclid(1_000_000_000))
    }
}

fn wrong_algorithm() -> Error {
    Error::denied("wrong_algorithm", "the token is not signed with the algorithm that its issuer's key is for")
        .hint("RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA, as the key says")
}
