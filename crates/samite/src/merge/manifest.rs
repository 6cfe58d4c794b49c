//! The manifest of a merge that waits for decisions. It is an agent's to edit, so that nothing in it but its decisions is
//! believed.

use super::RepositoryMerge;
use super::decision::Choice;
use data_encoding::HEXLOWER;
use samite_model::tree::{Conflict, Content, Entry, Side};
use samite_model::{BranchId, Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Its name in the layout.
pub(super) const NAME: &str = "manifest.json";
/// A longer one is not read.
pub(super) const LIMIT: u64 = 64 << 20;
/// Paths of one conflict that are listed.
const LISTED: usize = 100;

/// What to do with it, for whoever opens it.
const HOW: &str = "set \"decision\" of each conflict to \"ours\", \"theirs\", \"base\", \"proposed\", \"removed\" or the name \
                   of a file in this directory, then run: samite merge --continue";

/// The manifest.
#[derive(Debug, Serialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    pub(super) how: &'static str,
    pub(super) session: String,
    pub(super) from: String,
    pub(super) into: String,
    pub(super) conflicts: Vec<Listed>,
}

/// A conflict in the manifest.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    /// Known by its sides: a decision is about these.
    pub(super) id: String,
    pub(super) path: String,
    /// The path as it is, in hexadecimal, where `path` cannot show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    kind: samite_model::tree::ConflictKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    renamed_from: Option<String>,
    pub(super) base: Option<Described>,
    pub(super) ours: Option<Described>,
    pub(super) theirs: Option<Described>,
    pub(super) proposed: Option<String>,
    /// What is in it and differs between the sides, of a directory or repository that is decided whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inside: Vec<String>,
    /// The commits that leave a git repository where the other side is taken, and how to keep both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repository: Option<RepositoryMerge>,
    pub(super) decision: Option<String>,
}

/// What a side has there.
#[derive(Debug, Serialize)]
pub(super) struct Described {
    #[serde(rename = "type")]
    of: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    mode: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// The file of the layout that holds its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
}

impl Described {
    fn new(entry: &Entry) -> Self {
        let target = match &entry.content {
            Content::Symlink(target) => Some(String::from_utf8_lossy(target).into_owned()),
            _ => None,
        };
        Self {
            of: entry.content.entry_type().name(),
            size: matches!(entry.content, Content::File { .. }).then(|| entry.content.size()),
            mode: format!("{:04o}", entry.metadata.mode),
            target,
            file: None,
        }
    }
}

impl Manifest {
    pub(super) fn new(session: String, from: String, into: String) -> Self {
        Self { format: 1, how: HOW, session, from, into, conflicts: Vec::new() }
    }
}

/// Whether these bytes are the manifest of a merge into a branch.
pub(super) fn is_into(bytes: &[u8], into: BranchId) -> bool {
    #[derive(Deserialize)]
    struct Into {
        into: String,
    }
    serde_json::from_slice::<Into>(bytes).is_ok_and(|manifest| manifest.into == into.to_string())
}

/// What a conflict is known by in a manifest.
pub(super) fn id(conflict: &Conflict) -> String {
    HEXLOWER.encode(conflict.identity().get(..16).unwrap_or_default())
}

impl Listed {
    pub(super) fn new(conflict: &Conflict, decision: Option<String>) -> Self {
        let [base, ours, theirs] = Side::ALL.map(|side| conflict.entry(side).map(Described::new));
        let path = conflict.path.to_string();
        let inside = match &conflict.scope {
            samite_model::tree::Scope::Within(_) => differing(conflict),
            samite_model::tree::Scope::Paths(_) => Vec::new(),
        };
        Self {
            id: id(conflict),
            path_hex: (path.as_bytes() != conflict.path.as_bytes()).then(|| HEXLOWER.encode(conflict.path.as_bytes())),
            path,
            kind: conflict.kind,
            renamed_from: conflict.from.as_ref().map(ToString::to_string),
            base,
            ours,
            theirs,
            proposed: None,
            inside,
            repository: None,
            decision,
        }
    }
}

/// The first paths in a conflict that the two sides do not have alike.
fn differing(conflict: &Conflict) -> Vec<String> {
    let [_, ours, theirs] = &conflict.sides;
    let listing = |side: &Vec<_>| samite_model::tree::Listing::new(side.clone());
    let changes = samite_model::tree::diff(&listing(ours), &listing(theirs));
    changes.iter().take(LISTED).map(|change| change.path.to_string()).collect()
}

/// A manifest as it is read: decisions by the ids of conflicts, and which paths had one.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    pub(super) by_id: BTreeMap<String, Choice>,
    pub(super) paths: Vec<String>,
    /// The files of each conflict, by its number there.
    pub(super) numbers: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Read {
    format: u32,
    conflicts: Vec<ReadConflict>,
}

#[derive(Deserialize)]
struct ReadConflict {
    id: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    decision: Option<String>,
}

impl Decisions {
    /// Reads a manifest.
    ///
    /// # Errors
    /// `invalid`: `bad_manifest` when it is none, `bad_decision` naming the path.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let bad = |why: String| {
            Error::invalid("bad_manifest", format!("the merge's {NAME} cannot be read: {why}"))
                .hint("put it right, or remove it: `samite merge --continue` then writes it anew")
        };
        let read: Read = serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
        if read.format != 1 {
            return Err(bad(format!("its format is {}", read.format)));
        }
        let mut decisions = Self::default();
        for (conflict, number) in read.conflicts.into_iter().zip(1_u64..) {
            decisions.numbers.insert(conflict.id.clone(), number);
            let Some(decision) = conflict.decision else { continue };
            let choice =
                decision.parse::<Choice>().map_err(|error| error.context(format!("at {:?}", conflict.path)))?;
            decisions.paths.push(conflict.path);
            decisions.by_id.insert(conflict.id, choice);
        }
        Ok(decisions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_read_and_nothing_else_is_believed() {
        let text = br#"{"format": 1, "how": 7, "conflicts": [
            {"id": "a", "path": "x", "decision": "ours", "ours": {"file": "../../etc/passwd"}},
            {"id": "b", "path": "y", "decision": null}, {"id": "c", "decision": "1.mine"}]}"#;
        let read = Decisions::read(text).unwrap();
        let ids: Vec<(&str, &str)> = read.by_id.iter().map(|(id, choice)| (id.as_str(), choice.name())).collect();
        assert_eq!(ids, [("a", "ours"), ("c", "file")]);
        for (bad, code) in [
            ("", "bad_manifest"),
            ("{", "bad_manifest"),
            ("[]", "bad_manifest"),
            (r#"{"format": 2, "conflicts": []}"#, "bad_manifest"),
            (r#"{"format": 1, "conflicts": [{"path": "x"}]}"#, "bad_manifest"),
            (r#"{"format": 1, "conflicts": [{"id": "a", "path": "x", "decision": "/etc/passwd"}]}"#, "bad_decision"),
            (r#"{"format": 1, "conflicts": [{"id": "a", "decision": "../x"}]}"#, "bad_decision"),
            (r#"{"format": 1, "conflicts": [{"id": "a", "decision": 5}]}"#, "bad_manifest"),
        ] {
            assert_eq!(Decisions::read(bad.as_bytes()).unwrap_err().code(), code, "{bad}");
        }
    }
}
