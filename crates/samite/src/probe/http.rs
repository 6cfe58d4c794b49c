//! An HTTP GET: 2xx means that it happened, 404 or 410 that it did not.

use super::{cannot_tell, evidence, without_secrets};
use samite_model::step::{Evidence, Verdict};
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;
use ureq::Agent;

/// How much of a body is read.
const LONGEST: u64 = 1 << 20;
const MOST_REDIRECTS: usize = 5;

pub(super) fn look(url: &str, contains: Option<&str>, time_limit: Duration) -> Evidence {
    // Each redirect may take as long again, so the whole is bounded once more.
    let (owned, contains) = (url.to_owned(), contains.map(str::to_owned));
    let asked = samite_host::look::within(time_limit, move |_| follow(&owned, contains.as_deref(), time_limit));
    asked.unwrap_or_else(|| {
        cannot_tell(format!("GET {}: no answer within {} s", without_secrets(url), time_limit.as_secs_f32()))
    })
}

fn follow(url: &str, contains: Option<&str>, time_limit: Duration) -> Evidence {
    let mut config = Agent::config_builder()
        .timeout_global(Some(time_limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("samite/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        // A proxy would look at its own machine.
        config = config.proxy(None);
    }
    let agent: Agent = config.build().into();
    let mut url = url.to_owned();
    for _ in 0..=MOST_REDIRECTS {
        let name = without_secrets(&url);
        let response = agent.get(&url).header("cache-control", "no-cache").call();
        let mut response = match response {
            Ok(response) => response,
            Err(error) => return cannot_tell(format!("GET {name}: {error}")),
        };
        let status = response.status().as_u16();
        if matches!(status, 301 | 302 | 303 | 307 | 308) {
            let location = response.headers().get("location").and_then(|location| location.to_str().ok());
            match location.and_then(|location| join(&url, location)) {
                Some(next) if origin(&next) == origin(&url) => url = next,
                Some(next) => {
                    return cannot_tell(format!("GET {name}: {status} to another host, {}", without_secrets(&next)));
                }
                None => return cannot_tell(format!("GET {name}: {status} to nowhere")),
            }
            continue;
        }
        return match (status, contains) {
            (404 | 410, _) => evidence(Verdict::DidNot, format!("GET {name}: {status}")),
            (200..=299, None) => evidence(Verdict::Happened, format!("GET {name}: {status}")),
            (200..=299, Some(contains)) => {
                let mut body = Vec::new();
                match response.body_mut().as_reader().take(LONGEST + 1).read_to_end(&mut body) {
                    Ok(_) => judge_body(&name, status, &body, contains),
                    Err(error) => cannot_tell(format!("GET {name}: {status}, but the body ends in: {error}")),
                }
            }
            _ => cannot_tell(format!("GET {name}: {status}")),
        };
    }
    cannot_tell(format!("GET {}: too many redirects", without_secrets(&url)))
}

fn judge_body(name: &str, status: u16, body: &[u8], contains: &str) -> Evidence {
    let found = contains.is_empty() || body.windows(contains.len()).any(|window| window == contains.as_bytes());
    let size = body.len() as u64;
    if found {
        evidence(Verdict::Happened, format!("GET {name}: {status}, and the body contains {contains:?}"))
    } else if size > LONGEST {
        cannot_tell(format!(
            "GET {name}: {status}, and the first {LONGEST} bytes of the body do not contain {contains:?}"
        ))
    } else {
        evidence(
            Verdict::DidNot,
            format!("GET {name}: {status}, and the body ({size} bytes) does not contain {contains:?}"),
        )
    }
}

/// Scheme, host and port of a URL, as far as two are the same.
fn origin(url: &str) -> Option<(String, String)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?.to_ascii_lowercase();
    let default = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(default).unwrap_or(&authority).to_owned();
    Some((scheme, authority))
}

/// Where a redirect leads.
fn join(url: &str, location: &str) -> Option<String> {
    let location = location.split('#').next().unwrap_or_default();
    if location.contains("://") {
        return Some(location.to_owned());
    }
    let (scheme, rest) = url.split_once("://")?;
    if location.starts_with("//") {
        return Some(format!("{scheme}:{location}"));
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if location.starts_with('/') {
        return Some(format!("{scheme}://{authority}{location}"));
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    (!location.is_empty()).then(|| format!("{scheme}://{authority}{directory}/{location}"))
}

fn is_loopback(url: &str) -> bool {
    let Some((_, authority)) = origin(url) else { return false };
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_joined() {
        let base = "http://h:1/a/b?c#d";
        for (location, right) in [
            ("/x", "http://h:1/x"),
            ("x?y", "http://h:1/a/x?y"),
            ("//other/x", "http://other/x"),
            ("https://h/x#y", "https://h/x"),
        ] {
            assert_eq!(join(base, location).unwrap(), right);
        }
        assert_eq!(join("http://h", "x").unwrap(), "http://h/x");
        assert_eq!(join(base, ""), None);
    }

    #[test]
    fn origins_and_loopback() {
        assert_eq!(origin("http://u@H:80/x"), origin("HTTP://h"));
        assert_ne!(origin("http://h"), origin("https://h"));
        assert_ne!(origin("http://h:8080"), origin("http://h"));
        for url in ["http://localhost/", "http://127.0.0.1:8080/x", "http://[::1]:80", "http://127.9.9.9"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["http://localhost.example.com", "http://10.0.0.1", "nonsense"] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
