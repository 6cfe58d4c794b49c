//! What scans, looks and changes say about a directory that is being closed.

use samite_model::closing::{Finding, What};
use samite_model::tree::{Change, ChangeKind, Content, Entry, TreePath};
use samite_workspace::{Look, ScanReport};

/// What a scan found that is in no tree, or not wholly; and what a person should know. `own` are the paths that samite itself
/// leaves out, which have findings of their own.
pub(super) fn of_scan(report: &ScanReport, own: &[TreePath]) -> Vec<Finding> {
    let at = |what, words: &str, path: &TreePath| Finding::new(what, words).at(path.to_string());
    let mut findings = Vec::new();
    findings
        .extend(report.torn.iter().map(|path| at(What::Torn, "it changed while it was read, again and again", path)));
    findings.extend(report.unreadable.iter().map(|special| at(What::Unreadable, &special.what, &special.path)));
    findings.extend(report.sockets.iter().map(|path| at(What::Socket, "no tree holds a socket", path)));
    let excluded = report.excluded.iter().filter(|path| !own.contains(path));
    findings.extend(excluded.map(|path| at(What::Excluded, "rules leave it out: it is in no tree", path)));
    let secrets = report.secrets.iter();
    findings.extend(secrets.map(|path| at(What::Secret, "it looks as if a secret were inside, and is stored", path)));
    findings
}

/// What a look by names and sizes found not to be in the last tree.
pub(super) fn of_look(look: &Look) -> Vec<Finding> {
    let unsaved = look.unsaved.iter().map(|unsaved| Finding {
        bytes: Some(unsaved.bytes),
        ..Finding::new(What::Unsaved, words(unsaved.kind)).at(unsaved.path.to_string())
    });
    let mut findings: Vec<Finding> = unsaved.collect();
    if !look.complete {
        let words = "there was no time to look at all of the directory: there may be more that is not saved";
        findings.push(Finding::new(What::NotLookedAt, words));
    }
    findings
}

/// What changed between two trees that were taken one right after the other.
pub(super) fn of_changes(changes: &[Change]) -> Vec<Finding> {
    let size = |entry: &Entry| match entry.content {
        Content::File { size, .. } => size,
        _ => 0,
    };
    let finding = |change: &Change| Finding {
        bytes: Some(change.after.as_ref().map_or(0, size)),
        ..Finding::new(What::Changing, "it changed again after it was stored").at(change.path.to_string())
    };
    changes.iter().map(finding).collect()
}

fn words(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "it is new since the last tree",
        ChangeKind::Removed => "it is gone since the last tree",
        ChangeKind::Type => "it became another type of thing since the last tree",
        ChangeKind::Content => "its content changed since the last tree",
        ChangeKind::Metadata => "its permissions or owner changed since the last tree",
        ChangeKind::Time => "its time changed since the last tree",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samite_model::closing::is_safe;
    use samite_workspace::{Special, Unsaved};

    fn path(text: &str) -> TreePath {
        TreePath::new(text).unwrap()
    }

    #[test]
    fn each_sort_of_a_scans_report_is_told_by_its_paths() {
        let report = ScanReport {
            sockets: vec![path("s")],
            unreadable: vec![Special { path: path("u"), what: "Permission denied".into() }],
            torn: vec![path("t")],
            secrets: vec![path(".env")],
            excluded: vec![path("store"), path("x.log")],
            ..ScanReport::default()
        };
        let found = of_scan(&report, &[path("store")]);
        let told: Vec<(&str, &str)> = found.iter().map(|one| (one.what.code(), one.path.as_deref().unwrap())).collect();
        let right = [("torn", "t"), ("unreadable", "u"), ("socket", "s"), ("excluded", "x.log"), ("secret", ".env")];
        assert_eq!(told, right);
        assert_eq!(found[1].words, "Permission denied");
        assert!(!is_safe(&found) && is_safe(&found[3..]));
    }

    #[test]
    fn a_look_that_did_not_come_to_the_end_says_so() {
        let unsaved = vec![Unsaved { path: path("a"), kind: ChangeKind::Content, bytes: 7 }];
        let mut look = Look { unsaved, report: ScanReport::default(), complete: true };
        let found = of_look(&look);
        assert_eq!((found.len(), found[0].what, found[0].bytes), (1, What::Unsaved, Some(7)));
        look.unsaved.clear();
        assert!(is_safe(&of_look(&look)));
        look.complete = false;
        assert_eq!(of_look(&look)[0].what, What::NotLookedAt);
    }
}
