//! The address of an endpoint.

use samite_model::{Error, Result};
use std::net::IpAddr;

/// A base URL that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    url: String,
    host: String,
    plain: bool,
}

fn wrong(what: &str) -> Error {
    Error::invalid("bad_endpoint", what).hint("write the address before `/embeddings`: `https://HOST/v1`")
}

impl Base {
    /// Reads `http://HOST[:PORT][/PATH]` or the same with `https`. Errors repeat nothing of it: people paste keys into addresses.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("an endpoint's address begins with https://"))?;
        let plain = match scheme.to_ascii_lowercase().as_str() {
            "https" => false,
            "http" => true,
            _ => return Err(wrong("an endpoint is asked by https, or by http")),
        };
        if text.chars().any(|char| char.is_whitespace() || char.is_control()) || text.contains(['?', '#', '\\']) {
            return Err(wrong("an endpoint's address has no white space, no query and no fragment"));
        }
        let authority = rest.split('/').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(wrong("an endpoint's address names no user"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => inner.split_once(']').ok_or_else(|| wrong("an endpoint's address has half a bracket"))?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        if host.is_empty()
            || !(port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()))
        {
            return Err(wrong("an endpoint's address names a host, and a port after a colon"));
        }
        Ok(Self { url: text.trim_end_matches('/').to_owned(), host: host.to_ascii_lowercase(), plain })
    }

    /// Refuses to send what others on the way could read.
    pub(super) fn allow(&self, key: bool, plain_http: bool) -> Result<()> {
        if !self.plain || self.is_here() {
            return Ok(());
        }
        if key {
            return Err(wrong("a key is sent by https only, or by http to this machine"));
        }
        if plain_http { Ok(()) } else { Err(wrong("texts are sent by https, or by http to this machine")) }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is this machine.
    pub(super) fn is_here(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Where embeddings are made.
    pub(super) fn embeddings(&self) -> String {
        format!("{}/embeddings", self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_perhaps_a_port_and_a_path() {
        for (text, host, url) in [
            ("https://api.example.com/v1", "api.example.com", "https://api.example.com/v1/embeddings"),
            ("https://API.Example.com/v1/", "api.example.com", "https://API.Example.com/v1/embeddings"),
            ("http://127.0.0.1:8080", "127.0.0.1", "http://127.0.0.1:8080/embeddings"),
            ("http://[::1]:8080/v1", "::1", "http://[::1]:8080/v1/embeddings"),
            ("http://[::1]", "::1", "http://[::1]/embeddings"),
        ] {
            let base = Base::parse(text).unwrap();
            assert_eq!((base.host(), base.embeddings().as_str()), (host, url));
        }
    }

    #[test]
    fn other_texts_are_refused_and_not_repeated() {
        for text in [
            "",
            "api.example.com",
            "ftp://x/v1",
            "https://",
            "https:///v1",
            "https://a b",
            "https://user:s3cret@x/v1",
            "https://x/v1?key=s3cret",
            "https://x/#s3cret",
            "https://x:port",
            "https://[::1",
            "https://[::1]x",
            "https://x\\@y/",
            "https://x\r\nauthorization: s3cret",
        ] {
            let error = Base::parse(text).unwrap_err();
            assert_eq!(error.code(), "bad_endpoint", "{text}");
            assert!(!error.message().contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn nothing_is_readable_on_the_way_without_leave() {
        let allowed = |text: &str, key, plain_http| Base::parse(text).unwrap().allow(key, plain_http).is_ok();
        for here in ["http://localhost/v1", "http://127.0.0.9/v1", "http://[::1]/v1", "https://x/v1"] {
            assert!(allowed(here, true, false), "{here}");
        }
        for other in ["http://x/v1", "http://localhost.example/v1", "http://127.0.0.1.example/v1", "http://10.0.0.1/v1"]
        {
            assert!(
                !allowed(other, true, true) && !allowed(other, true, false) && !allowed(other, false, false),
                "{other}"
            );
            assert!(allowed(other, false, true), "{other}");
        }
    }
}
