//! docs/errors.md is the table of all codes, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose errors people and programs see.
const CRATES: [&str; 14] = [
    "samite-model",
    "samite-host",
    "samite-identity",
    "samite-keys",
    "samite-ledger",
    "samite-blocks",
    "samite-workspace",
    "samite-audit",
    "samite-policy",
    "samite-redact",
    "samite-embed",
    "samite-memory",
    "samite",
    "samite-cli",
];

/// The kinds, with their exit statuses.
const KINDS: [(&str, u8); 8] = [
    ("internal", 1),
    ("invalid", 2),
    ("not_found", 3),
    ("conflict", 4),
    ("fenced", 5),
    ("denied", 6),
    ("unavailable", 7),
    ("corrupt", 8),
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cells of the rows of every table in a document that has these headings.
pub(crate) fn rows(document: &str, headings: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let mut rows = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        if !line.starts_with('|') {
            inside = false;
        } else if cells(line) == headings {
            inside = true;
        } else if inside && !line.starts_with("| ---") {
            rows.push(cells(line));
        }
    }
    rows
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.to_string_lossy().ends_with("tests.rs")
        {
            found.push(path);
        }
    }
}

/// A source file without its comments and its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    lines.join("\n")
}

/// The string that stands at the beginning of some code, itself or as a constant of the same file.
fn string(rest: &str, file: &str) -> Option<String> {
    if let Some(rest) = rest.strip_prefix('"') {
        return rest.split('"').next().map(str::to_owned);
    }
    let name: String = rest.chars().take_while(|char| char.is_ascii_uppercase() || *char == '_').collect();
    let constant = format!("const {name}: &str = \"");
    (!name.is_empty()).then(|| file.split(&constant).nth(1)?.split('"').next().map(str::to_owned))?
}

/// Every code in the sources, with its kind.
fn codes() -> BTreeSet<(String, String)> {
    let mut files = Vec::new();
    for name in CRATES {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    let mut codes = BTreeSet::new();
    for path in files {
        let file = code(&path);
        for (kind, _) in KINDS {
            for rest in file.split(&format!("Error::{kind}(")).skip(1) {
                let rest = rest.trim_start();
                let shown: String = rest.chars().take(40).collect();
                let code = string(rest, &file).unwrap_or_else(|| {
                    panic!("{}: an error's code is written where it is made: {shown}", path.display())
                });
                codes.insert((code, kind.to_owned()));
            }
        }
    }
    codes
}

#[test]
fn every_code_stands_in_the_table_of_errors_and_no_other_does() {
    let document = fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let mut listed = BTreeSet::new();
    for row in rows(&document, &["code", "kind", "exit status", "what to do next"]) {
        let [code, kind, status, next] = row.as_slice() else { panic!("{row:?}") };
        assert!(KINDS.contains(&(kind.as_str(), status.parse().unwrap())), "{row:?}");
        assert!(next.len() > 5, "{row:?}");
        assert!(listed.insert((code.clone(), kind.clone())), "twice: {row:?}");
    }
    let codes = codes();
    let missing: Vec<_> = codes.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&codes).collect();
    assert!(missing.is_empty() && stale.is_empty(), "not in docs/errors.md: {missing:?}; no longer a code: {stale:?}");
    assert!(codes.len() > 150);
}

#[test]
fn the_kinds_stand_in_the_table_of_kinds() {
    let document = fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let listed: Vec<(String, u8)> = rows(&document, &["kind", "exit status", "what the caller does"])
        .into_iter()
        .map(|row| (row[0].clone(), row[1].parse().unwrap()))
        .collect();
    let kinds: Vec<(String, u8)> = KINDS.iter().map(|(kind, status)| ((*kind).to_owned(), *status)).collect();
    assert_eq!(listed, kinds);
}

#[test]
fn every_command_that_a_duty_leans_on_is_there() {
    let place = crate::support::Place::new();
    let there: BTreeSet<String> = crate::help::commands(&place).into_iter().collect();
    let document = fs::read_to_string(root().join("docs/compliance.md")).unwrap();
    // What begins with a small letter and is no file, variable or option is a command, with its options after it.
    let spans = document.split('`').skip(1).step_by(2);
    let words = |span: &str| -> Vec<String> {
        let word =
            |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-');
        span.split(' ').take_while(word).map(str::to_owned).collect()
    };
    let named: BTreeSet<String> = spans.map(|span| words(span).join(" ")).filter(|name| !name.is_empty()).collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<&String> = named.difference(&there).collect();
    assert!(missing.is_empty(), "docs/compliance.md names what is no command: {missing:?}");
}
