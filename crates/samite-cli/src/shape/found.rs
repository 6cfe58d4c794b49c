//! What redaction found, as answers.

use crate::printer::words::count;
use crate::printer::{Page, Style};
use samite::payload::{FileFound, KindFound};
use samite::redaction::{FoundCounts, FoundOf};
use serde::Serialize;

/// How often a kind of thing was found in a chunk of a file.
#[derive(Debug, Serialize)]
pub(crate) struct KindFoundShape {
    class: &'static str,
    kind: String,
    count: u64,
    fingerprints: Vec<String>,
}

impl KindFoundShape {
    /// The shape of what was found.
    pub(crate) fn new(found: &KindFound) -> Self {
        let KindFound { class, kind, count, fingerprints } = found;
        Self { class: class.name(), kind: kind.clone(), count: *count, fingerprints: fingerprints.clone() }
    }

    /// It in a few words.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.count, self.kind)
    }
}

/// How often a kind of thing was found in entries and in files.
#[derive(Debug, Serialize)]
pub(crate) struct FoundShape {
    class: &'static str,
    kind: String,
    count: u64,
    redacted: u64,
    in_files: u64,
    in_artifacts: u64,
    separate: u64,
}

impl FoundShape {
    /// The shapes of counts.
    pub(crate) fn all(counts: &FoundCounts) -> Vec<Self> {
        counts.all().into_iter().map(Self::new).collect()
    }

    fn new(found: FoundOf) -> Self {
        let FoundOf { class, kind, count, redacted, in_files, in_artifacts, separate } = found;
        Self { class: class.name(), kind, count, redacted, in_files, in_artifacts, separate }
    }

    /// Puts counts on a page: one line for entries, one for files, one for artifacts.
    pub(crate) fn show_all(all: &[Self], page: &mut Page) {
        let words = |number: fn(&Self) -> u64| -> Vec<String> {
            let some = all.iter().filter(|one| number(one) > 0);
            some.map(|one| format!("{} {}", number(one), one.kind)).collect()
        };
        let entries = words(|one| one.count);
        if !entries.is_empty() {
            let replaced: u64 = all.iter().map(|one| one.redacted).sum();
            page.styled(
                Style::Dim,
                format!("redaction found in entries: {} ({replaced} replaced)", entries.join(", ")),
            );
        }
        let files = words(|one| one.in_files);
        if !files.is_empty() {
            let separate: u64 = all.iter().map(|one| one.separate).sum();
            let separate = if separate > 0 { format!(" ({separate} in separate blocks)") } else { String::new() };
            let text =
                format!("redaction found in files: {}{separate}: `samite checkpoint found SESSION`", files.join(", "));
            page.styled(Style::Care, text);
        }
        let artifacts = words(|one| one.in_artifacts);
        if !artifacts.is_empty() {
            page.styled(
                Style::Care,
                format!("redaction found in artifacts: {}: `samite artifact found SESSION`", artifacts.join(", ")),
            );
        }
    }
}

/// A chunk of a file in which something was found when it was stored anew.
#[derive(Debug, Serialize)]
pub(crate) struct FileFoundShape {
    path: String,
    block: String,
    separate: bool,
    found: Vec<KindFoundShape>,
}

impl FileFoundShape {
    /// The shape of what was found.
    pub(crate) fn new(found: &FileFound) -> Self {
        let FileFound { path, block, separate, found } = found;
        let found = found.iter().map(KindFoundShape::new).collect();
        Self { path: path.clone(), block: block.to_string(), separate: *separate, found }
    }

    /// Puts it on a page, in one line.
    pub(crate) fn show(&self, page: &mut Page) {
        show_found(&self.path, &self.found, self.separate, page);
    }
}

/// Puts on a page what was found in something, in one line.
pub(crate) fn show_found(what: &str, found: &[KindFoundShape], separate: bool, page: &mut Page) {
    let words: Vec<String> = found.iter().map(KindFoundShape::words).collect();
    let apart = if separate { "  (separate block)" } else { "" };
    page.spans(&[(Style::Plain, what), (Style::Dim, ": "), (Style::Care, &words.join(", ")), (Style::Dim, apart)]);
}

/// The chunks of files in which a scan found something, in a few words each, and how many files that are.
pub(crate) fn in_scan(report: &serde_json::Value) -> Vec<String> {
    use serde_json::Value;
    let mut files: Vec<(String, Vec<String>)> = Vec::new();
    for one in report.get("found").and_then(Value::as_array).into_iter().flatten() {
        let Some(path) = one.get("path").and_then(Value::as_str) else { continue };
        let kinds = one
            .get("found")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|kind| Some(format!("{} {}", kind.get("count")?.as_u64()?, kind.get("kind")?.as_str()?)));
        match files.iter_mut().find(|file| file.0 == path) {
            Some(file) => file.1.extend(kinds),
            None => files.push((path.to_owned(), kinds.collect())),
        }
    }
    files.into_iter().map(|(path, kinds)| format!("{path}: {}", kinds.join(", "))).collect()
}

/// How many files a scan found something in, in words; nothing where it found none.
pub(crate) fn in_log(report: &serde_json::Value) -> String {
    match in_scan(report).len() {
        0 => String::new(),
        many => format!("redaction found something in {}", count(many as u64, "file")),
    }
}
