//! Where keys come from.

use crate::config::wrong;
use samite_host::files;
use samite_model::{Error, Result};
use std::fmt;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::Agent;

/// The largest key set, in bytes.
pub(crate) const LARGEST: u64 = 256 << 10;

/// How long an issuer may take to answer.
const LONGEST: Duration = Duration::from_secs(5);

/// Where a key set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// Behind a URL.
    Url(String),
    /// In a file.
    File(PathBuf),
}

impl KeySource {
    /// Reads what a configuration says: `https://…`, `http://…` on this machine only, or a file, relative to `directory`.
    ///
    /// # Errors
    /// `invalid` (`bad_identity_config`).
    pub fn parse(text: &str, directory: &Path) -> Result<Self> {
        let Some((scheme, rest)) = text.split_once("://") else {
            if text.is_empty() {
                return Err(wrong("an issuer's keys are nowhere"));
            }
            return Ok(Self::File(directory.join(text)));
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() || authority.contains('@') || text.chars().any(char::is_whitespace) {
            return Err(wrong("the URL of an issuer's keys names a host and no user"));
        }
        match scheme {
            "https" => Ok(Self::Url(text.to_owned())),
            "http" if is_here(authority) => Ok(Self::Url(text.to_owned())),
            _ => Err(wrong("keys come by https, or by http from this machine")),
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Whether the host of a URL is this machine.
fn is_here(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Gets key sets.
pub trait Fetch: Send + Sync + 'static {
    /// The bytes of one.
    ///
    /// # Errors
    /// `unavailable` when they cannot be had now.
    fn fetch(&self, from: &KeySource) -> Result<Vec<u8>>;
}

/// Gets them by HTTP and from files: at most 256 KiB, within 5 s, following no redirect.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemFetch;

impl Fetch for SystemFetch {
    fn fetch(&self, from: &KeySource) -> Result<Vec<u8>> {
        let failed = |why: String| {
            Error::unavailable("keys_unavailable", format!("the keys at {from} cannot be read: {why}"))
                .hint("see that the issuer answers, or that the file is there")
        };
        let bytes = match from {
            KeySource::File(path) => files::read_regular(path, LARGEST + 1)
                .map_err(|error| failed(error.message().to_owned()))?
                .ok_or_else(|| failed("it is no file".to_owned()))?,
            KeySource::Url(url) => get(url).map_err(failed)?,
        };
        if bytes.len() as u64 > LARGEST {
            return Err(failed(format!("it is larger than {LARGEST} bytes")));
        }
        Ok(bytes)
    }
}

fn get(url: &str) -> Result<Vec<u8>, String> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(LONGEST))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("samite/", env!("CARGO_PKG_VERSION")));
    if url.starts_with("http://") {
        // A proxy would look at its own machine.
        config = config.proxy(None);
    }
    let agent: Agent = config.build().into();
    let mut response = agent.get(url).header("accept", "application/json").call().map_err(|error| error.to_string())?;
    if !response.status().is_success() {
        return Err(format!("the answer is {}", response.status().as_u16()));
    }
    let mut body = Vec::new();
    response.body_mut().as_reader().take(LARGEST + 1).read_to_end(&mut body).map_err(|error| error.to_string())?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_by_https_or_from_this_machine() {
        let parse = |text: &str| KeySource::parse(text, Path::new("/etc/samite"));
        for url in ["https://issuer.example/keys", "http://127.0.0.1:8080/k", "http://[::1]/k", "http://localhost/k"] {
            assert_eq!(parse(url).unwrap(), KeySource::Url(url.to_owned()));
        }
        assert_eq!(parse("keys.json").unwrap(), KeySource::File("/etc/samite/keys.json".into()));
        assert_eq!(parse("/srv/keys.json").unwrap(), KeySource::File("/srv/keys.json".into()));
        for wrong in [
            "",
            "http://issuer.example/keys",
            "http://localhost.example/keys",
            "http://127.0.0.1@issuer.example/keys",
            "http://127.0.0.1.example/keys",
            "https://user:secret@issuer.example/keys",
            "https:///keys",
            "file:///etc/keys",
            "ftp://127.0.0.1/keys",
            "https://issuer.example/a b",
        ] {
            assert_eq!(parse(wrong).unwrap_err().code(), "bad_identity_config", "{wrong}");
        }
    }
}
