//! `--touches`: a resource outside, in the one spelling that two steps on it share.

use samite_model::limits::check_name;
use samite_model::{Error, Result};
use std::path::{Component, Path, PathBuf};

/// The resource that a text names, as one spelling: `git:REMOTE/REF` or `git:URL[#REF]`, `https://…`,
/// `mcp:SERVER/RESOURCE`, `file:PATH` (relative to `base`), or another `scheme:…`. Hosts are in lower case; default
/// ports, user names, fragments, trailing slashes and `.git` are gone; a git URL is the same by each protocol.
///
/// # Errors
/// `invalid` (`bad_target`, `name_too_long` and the like) with what would be right.
pub fn parse_target(text: &str, base: &Path) -> Result<String> {
    let bad = |why: &str| {
        Error::invalid("bad_target", format!("{text:?} is no resource: {why}"))
            .hint("such as git:origin/main, https://api.example.com/items, mcp:SERVER/RESOURCE, file:/srv/data")
    };
    let (scheme, rest) = text.split_once(':').ok_or_else(|| bad("it has no scheme"))?;
    let scheme = scheme.to_ascii_lowercase();
    let well_formed = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.chars().all(|other| other.is_ascii_alphanumeric() || "+.-".contains(other));
    if !well_formed {
        return Err(bad("its scheme is none"));
    }
    let says_nothing = rest.is_empty() || (rest.trim_matches('/').is_empty() && scheme != "file");
    if says_nothing || text.chars().any(char::is_control) {
        return Err(bad("nothing, or nothing that can be read, follows the scheme"));
    }
    let target = match scheme.as_str() {
        "git" => format!("git:{}", git(rest).ok_or_else(|| bad("it names no remote and no URL"))?),
        "http" | "https" => url(&scheme, rest).ok_or_else(|| bad("it has no host"))?,
        "mcp" => {
            let rest = rest.trim_start_matches("//").trim_end_matches('/');
            let server = rest.split('/').next().unwrap_or_default();
            if server.is_empty() {
                return Err(bad("it names no server"));
            }
            format!("mcp:{rest}")
        }
        "file" => format!("file:{}", file(rest, base)),
        _ => format!("{scheme}:{}", rest.trim_end_matches('/')),
    };
    check_name("a resource", &target)?;
    Ok(target)
}

/// `origin/main` stays; a URL of any protocol, or `user@host:path`, becomes `host[:port]/path[#ref]`.
fn git(text: &str) -> Option<String> {
    let (place, reference) = match text.split_once('#') {
        Some((place, reference)) => (place, format!("#{}", reference.trim_start_matches("refs/heads/"))),
        None => (text, String::new()),
    };
    let place = if let Some((scheme, rest)) = place.split_once("://") {
        let scheme = scheme.to_ascii_lowercase();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let port = match scheme.as_str() {
            "ssh" | "git+ssh" => "22",
            "https" => "443",
            "http" => "80",
            "git" => "9418",
            _ => "",
        };
        let host = host(authority, port);
        if host.is_empty() && scheme != "file" {
            return None;
        }
        format!("{host}/{}", repository(path))
    } else if let Some((authority, path)) = place.split_once(':').filter(|(authority, _)| !authority.contains('/')) {
        format!("{}/{}", host(authority, "22"), repository(path))
    } else {
        repository(place).trim_start_matches("refs/remotes/").to_owned()
    };
    (!place.trim_matches('/').is_empty()).then(|| format!("{place}{reference}"))
}

fn repository(path: &str) -> &str {
    let path = path.trim_matches('/');
    path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/')
}

/// `scheme://host[:port]/path?query`.
fn url(scheme: &str, rest: &str) -> Option<String> {
    let rest = rest.strip_prefix("//")?;
    let rest = rest.split('#').next()?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let host = host(authority, if scheme == "https" { "443" } else { "80" });
    if host.is_empty() {
        return None;
    }
    let (path, query) = match after.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (after, String::new()),
    };
    Some(format!("{scheme}://{host}{}{query}", path.trim_end_matches('/')))
}

/// The host in lower case, with its port unless that is the default one, without a user; empty when it is none.
fn host(authority: &str, default_port: &str) -> String {
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    // The colons of an address in brackets are its own.
    let name_end = if host.starts_with('[') { host.find(']').map(|at| at + 1) } else { host.find(':') };
    let (name, port) = host.split_at(name_end.unwrap_or(host.len()));
    let port = port.strip_prefix(':').unwrap_or(port);
    let is_open = name.starts_with('[') && !name.ends_with(']');
    if name.is_empty() || is_open || !port.bytes().all(|digit| digit.is_ascii_digit()) {
        String::new()
    } else if port.is_empty() || port == default_port {
        name.to_owned()
    } else {
        format!("{name}:{port}")
    }
}

/// An absolute path without `.`, `..` and empty parts, as text alone: nothing is looked up.
fn file(path: &str, base: &Path) -> String {
    let path = path.strip_prefix("//").map_or(path, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
    let mut clean = PathBuf::from("/");
    for part in base.join(path).components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => drop(clean.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    clean.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> String {
        parse_target(text, Path::new("/work/tree")).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn one_resource_has_one_spelling() {
        for (right, spellings) in [
            ("git:origin/main", &["git:origin/main", "GIT:origin/main/", "git:refs/remotes/origin/main"][..]),
            (
                "git:github.com/owner/name",
                &[
                    "git:https://GitHub.com/owner/name.git",
                    "git:https://github.com:443/owner/name/",
                    "git:https://user:secret@github.com/owner/name",
                    "git:ssh://git@github.com:22/owner/name.git",
                    "git:git@github.com:owner/name.git",
                ],
            ),
            ("git:example.com:2222/a/b#main", &["git:ssh://example.com:2222/a/b.git#refs/heads/main"]),
            ("git:/srv/name", &["git:file:///srv/name.git"]),
            (
                "https://api.example.com/items",
                &[
                    "https://api.example.com/items",
                    "HTTPS://API.example.com:443/items/",
                    "https://user@api.example.com/items#part",
                ],
            ),
            ("https://api.example.com", &["https://api.example.com/", "https://api.example.com:/"]),
            ("https://h/a?b=/c/", &["https://h/a/?b=/c/"]),
            ("http://127.0.0.1:8080/Case", &["http://127.0.0.1:8080/Case"]),
            ("http://[::1]:8080/x", &["http://[::1]:8080/x"]),
            ("http://[::1]/x", &["http://[::1]:80/x", "http://[::1]/x"]),
            ("mcp:tickets/issue/7", &["mcp:tickets/issue/7", "mcp://tickets/issue/7/"]),
            (
                "file:/srv/data",
                &["file:/srv/data", "file:///srv//data/", "file:/srv/./x/../data", "file:../../srv/data"],
            ),
            ("file:/work/tree/a b", &["file:a b", "file:./a b/"]),
            ("mailto:someone@example.com", &["mailto:someone@example.com"]),
        ] {
            for spelling in spellings {
                assert_eq!(parse(spelling), right, "{spelling}");
            }
        }
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in [
            "",
            "origin/main",
            ":x",
            "https:",
            "https://",
            "https:///path",
            "https:host",
            "mcp:",
            "mcp:/",
            "file:",
            "git:",
            "git:/",
            "1x:y",
            "a b:c",
            "https://h/\n",
            "https://h:x/",
            "https://h:1:2/",
            "other:/",
            "https://[::1",
        ] {
            assert_eq!(parse_target(text, Path::new("/")).unwrap_err().code(), "bad_target", "{text:?}");
        }
        assert!(parse_target(&format!("x:{}", "y".repeat(600)), Path::new("/")).is_err());
    }

    proptest! {
        #[test]
        fn a_spelling_is_its_own_spelling(text in "(git|https|http|mcp|file|other):(//)?[a-zA-Z0-9@:/.#?=-]{1,30}") {
            if let Ok(once) = parse_target(&text, Path::new("/work")) {
                // A git URL has lost its protocol, and is then read as a remote's name, which stays.
                if !once.starts_with("git:") {
                    prop_assert_eq!(parse_target(&once, Path::new("/work")).unwrap(), once);
                }
            }
        }
    }
}
