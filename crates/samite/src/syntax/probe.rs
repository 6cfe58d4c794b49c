//! `--probe`: `git:REPO[@REMOTE]#REF[=COMMIT]`, `file:PATH[=SHA256]`, `command:WORDS`, `http(s)://…[#contains=TEXT]`,
//! `workspace`.

use super::split_words;
use samite_model::step::Probe;
use samite_model::{Error, Result};

/// The probe that a text declares, before a look at how things stand (see [`crate::probe::prepare`]).
///
/// # Errors
/// `invalid` (`bad_probe`, `bad_quotes`) with what would be right.
pub fn parse_probe(text: &str) -> Result<Probe> {
    let bad = |why: &str| {
        Error::invalid("bad_probe", format!("{text:?} is no probe: {why}")).hint(
            "one of git:REPO#refs/heads/main, git:REPO@origin#refs/heads/main=COMMIT, file:PATH=SHA256, \
             command:WORDS, https://HOST/PATH#contains=TEXT, workspace",
        )
    };
    if text == "workspace" {
        return Ok(Probe::Workspace);
    }
    if text.starts_with("http://") || text.starts_with("https://") {
        return http(text).ok_or_else(|| bad("of a URL's fragment, only contains=TEXT means something"));
    }
    let (kind, rest) = text.split_once(':').ok_or_else(|| bad("it has no kind"))?;
    match kind {
        "git" => git(rest).ok_or_else(|| bad("it names no repository or no ref")),
        "file" if rest.is_empty() => Err(bad("it names no file")),
        "file" => Ok(file(rest)),
        "command" => {
            let argv = split_words(rest)?;
            if argv.first().is_none_or(String::is_empty) {
                return Err(bad("it has no command"));
            }
            Ok(Probe::Command { argv, directory: None, before: None })
        }
        _ => Err(bad("nobody knows its kind")),
    }
}

fn git(text: &str) -> Option<Probe> {
    // A path or a remote may hold a '#', and so may a branch: the ref begins at the first that looks like one.
    let at = text.find("#refs/").or_else(|| text.find("#HEAD")).or_else(|| text.rfind('#'))?;
    let (place, reference) = (text.get(..at)?, text.get(at + 1..)?);
    let (reference, expected) = match reference.rsplit_once('=') {
        Some((reference, expected)) => (reference, Some(expected.to_owned())),
        None => (reference, None),
    };
    let empty = |part: &Option<String>| part.as_ref().is_some_and(String::is_empty);
    if reference.is_empty() || reference.starts_with('-') || empty(&expected) {
        return None;
    }
    let reference = match reference {
        "HEAD" => "HEAD".to_owned(),
        full if full.starts_with("refs/") => full.to_owned(),
        branch => format!("refs/heads/{branch}"),
    };
    let (repository, remote) = split_remote(place);
    let repository = if repository.is_empty() { "." } else { repository }.to_owned();
    let remote = remote.map(str::to_owned);
    Some(Probe::GitRef { repository, remote, reference, before: None, expected })
}

/// Splits at the first `@` that a remote follows: a name, a URL, `user@host:path`, or a path.
fn split_remote(place: &str) -> (&str, Option<&str>) {
    for (at, _) in place.match_indices('@') {
        if let (Some(before), Some(after)) = (place.get(..at), place.get(at + 1..))
            && is_remote(after)
        {
            return (before, Some(after));
        }
    }
    (place, None)
}

fn is_remote(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('-') && !name.contains(['/', '@', ':']);
    let is_path = text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
    let is_url = text.split_once("://").is_some_and(|(scheme, rest)| is_name(scheme) && !rest.is_empty());
    let is_scp = text.split_once('@').is_some_and(|(user, rest)| {
        is_name(user) && rest.split_once(':').is_some_and(|(host, path)| is_name(host) && !path.is_empty())
    });
    is_name(text) || is_path || is_url || is_scp
}

fn file(text: &str) -> Probe {
    let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    match text.rsplit_once('=') {
        Some((path, hash)) if is_hash(hash) && !path.is_empty() => {
            Probe::File { path: path.to_owned(), sha256: Some(hash.to_ascii_lowercase()), before: None }
        }
        _ => Probe::File { path: text.to_owned(), sha256: None, before: None },
    }
}

fn http(text: &str) -> Option<Probe> {
    let (url, contains) = match text.split_once('#') {
        Some((url, fragment)) => (url, Some(percent_decode(fragment.strip_prefix("contains=")?)?)),
        None => (text, None),
    };
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?']).next()?;
    (!host.is_empty()).then(|| Probe::HttpGet { url: url.to_owned(), contains, before: None })
}

/// `%20` and the like become what they stand for.
fn percent_decode(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let (digits, after) = after.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(repository: &str, remote: Option<&str>, reference: &str, expected: Option<&str>) -> Probe {
        Probe::GitRef {
            repository: repository.to_owned(),
            remote: remote.map(str::to_owned),
            reference: reference.to_owned(),
            before: None,
            expected: expected.map(str::to_owned),
        }
    }

    #[test]
    fn git_refs() {
        let main = "refs/heads/main";
        for (text, right) in [
            ("git:/r#refs/heads/main", git("/r", None, main, None)),
            ("git:#main", git(".", None, main, None)),
            ("git:.#HEAD", git(".", None, "HEAD", None)),
            ("git:/r@origin#refs/heads/main=0123abc", git("/r", Some("origin"), main, Some("0123abc"))),
            ("git:/r@origin#refs/heads/main=HEAD", git("/r", Some("origin"), main, Some("HEAD"))),
            ("git:.@git@example.com:o/r.git#main", git(".", Some("git@example.com:o/r.git"), main, None)),
            ("git:.@https://u@example.com/o/r#main", git(".", Some("https://u@example.com/o/r"), main, None)),
            ("git:.@/srv/r.git#main", git(".", Some("/srv/r.git"), main, None)),
            ("git:/home/@scope/r#main", git("/home/@scope/r", None, main, None)),
            ("git:/home/@scope/r@origin#main", git("/home/@scope/r", Some("origin"), main, None)),
            ("git:/a#b#refs/heads/fix#7", git("/a#b", None, "refs/heads/fix#7", None)),
        ] {
            assert_eq!(parse_probe(text).unwrap(), right, "{text}");
        }
        for text in ["git:", "git:/r", "git:/r#", "git:/r#main=", "git:/r#--upload-pack=x"] {
            assert_eq!(parse_probe(text).unwrap_err().code(), "bad_probe", "{text}");
        }
    }

    #[test]
    fn files_commands_urls_and_the_workspace() {
        let hash = "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let file = |path: &str, sha256: Option<String>| Probe::File { path: path.to_owned(), sha256, before: None };
        assert_eq!(parse_probe("file:out/a=b").unwrap(), file("out/a=b", None));
        assert_eq!(parse_probe(&format!("file:a={hash}")).unwrap(), file("a", Some(hash.to_lowercase())));
        assert_eq!(
            parse_probe("command:test -e 'a b'").unwrap(),
            Probe::Command { argv: ["test", "-e", "a b"].map(str::to_owned).to_vec(), directory: None, before: None }
        );
        let url = |url: &str, contains: Option<&str>| Probe::HttpGet {
            url: url.to_owned(),
            contains: contains.map(str::to_owned),
            before: None,
        };
        assert_eq!(parse_probe("http://localhost:8080/a?b=c").unwrap(), url("http://localhost:8080/a?b=c", None));
        assert_eq!(parse_probe("https://h/a#contains=x%20y").unwrap(), url("https://h/a", Some("x y")));
        assert_eq!(parse_probe("workspace").unwrap(), Probe::Workspace);
        for text in [
            "",
            "workspaces",
            "file:",
            "command:",
            "command:''",
            "http://",
            "https:///a",
            "https://h#top",
            "https://h#contains=%2",
            "ftp://h/a",
        ] {
            assert_eq!(parse_probe(text).unwrap_err().code(), "bad_probe", "{text}");
        }
        assert_eq!(parse_probe("command:'x").unwrap_err().code(), "bad_quotes");
    }
}
