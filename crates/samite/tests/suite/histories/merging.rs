//! Merges in histories, against three maps of paths.

use super::disk::{LINES, Listing, look, tree};
use super::model::{Node, RULES, Tree, above, is_within, paths, recorded};
use super::world::{Check, Said as _, World, hold};
use samite::merge::{Choice, MergeReport, MergeRequest, MergeState};
use samite::payload::Merged;
use samite::{ReadOptions, WriterOptions};
use samite_model::BlockId;
use samite_model::tree::{ConflictKind, Side};
use std::collections::BTreeSet;

/// What both sides make of one value: what only one changed, or both alike; none where it is to be decided.
fn both<T: PartialEq + Clone>(base: &T, ours: &T, theirs: &T) -> Option<T> {
    if ours == theirs || theirs == base { Some(ours.clone()) } else { (ours == base).then(|| theirs.clone()) }
}

/// Both sides changed it, each otherwise.
struct Undecided;

/// The same of a path. What a file holds and its permissions are two things.
fn path_of_both(base: Option<&Node>, ours: Option<&Node>, theirs: Option<&Node>) -> Result<Option<Node>, Undecided> {
    if let Some(whole) = both(&base, &ours, &theirs) {
        return Ok(whole.cloned());
    }
    match (base, ours, theirs) {
        (
            Some(Node::File { bytes: b, mode: m }),
            Some(Node::File { bytes: ob, mode: om }),
            Some(Node::File { bytes: tb, mode: tm }),
        ) => {
            let bytes = both(b, ob, tb).ok_or(Undecided)?;
            Ok(Some(Node::File { bytes, mode: both(m, om, tm).ok_or(Undecided)? }))
        }
        _ => Err(Undecided),
    }
}

/// A text of which each line is there once, by its lines.
fn lines(node: Option<&Node>) -> Option<Vec<&[u8]>> {
    let Some(Node::File { bytes, .. }) = node else { return None };
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let once: BTreeSet<&[u8]> = lines.iter().copied().collect();
    (bytes.ends_with(b"\n") && lines.len() == LINES && once.len() == LINES).then_some(lines)
}

/// What two changed texts are together.
enum Texts {
    /// The changed lines lie apart: this.
    Apart(Vec<u8>),
    /// Both changed one line, each otherwise.
    Overlap,
    /// They touch, or lines are not told apart.
    Unclear,
}

fn texts(base: Option<&Node>, ours: Option<&Node>, theirs: Option<&Node>) -> Texts {
    let (Some(base), Some(ours), Some(theirs)) = (lines(base), lines(ours), lines(theirs)) else {
        return Texts::Unclear;
    };
    let changed = |side: &[&[u8]]| -> Vec<usize> { (0..LINES).filter(|line| side[*line] != base[*line]).collect() };
    let (by_ours, by_theirs) = (changed(&ours), changed(&theirs));
    let pairs = || by_ours.iter().flat_map(|a| by_theirs.iter().map(move |b| (*a, *b)));
    if pairs().all(|(a, b)| a.abs_diff(b) > 1) {
        let merged = (0..LINES).map(|line| if ours[line] == base[line] { theirs[line] } else { ours[line] });
        return Texts::Apart(merged.collect::<Vec<_>>().concat());
    }
    if pairs().any(|(a, b)| a == b && ours[a] != theirs[b]) { Texts::Overlap } else { Texts::Unclear }
}

fn bytes_of(node: Option<&Node>) -> Option<&[u8]> {
    match node {
        Some(Node::File { bytes, .. }) => Some(bytes),
        _ => None,
    }
}

/// A conflict, whoever decided it.
struct Decided {
    path: String,
    kind: ConflictKind,
    choice: String,
}

impl World<'_> {
    pub(super) async fn merge(
        &mut self,
        line: usize,
        other: usize,
        automatic: bool,
        choices: usize,
    ) -> Check<Option<usize>> {
        let Some((line, directory)) = self.working(line) else { return Ok(None) };
        let Some(from) = self.other_line(line, other) else { return Ok(None) };
        let (session, into) = self.line(line);
        let id = self.sessions[session];
        let head = self.client.head(id, from).await.said("head")?;
        let Some(theirs) = self.client.tree_at(head).await.said("their tree")? else { return Ok(None) };
        let before = look(&self.directories[directory]);
        let theirs = tree(&self.listing_of(theirs.tree.root)?);
        let request = MergeRequest { auto: automatic, ..MergeRequest::default() };
        let merged = self.client.merge(id, from, Some(into), WriterOptions::default(), &request).await;
        let mut report = match merged {
            // What a deleted branch had may be what they have in common.
            Err(error) if error.code() == "tree_collected" && self.counts.contains_key("branches deleted") => {
                return Ok(None);
            }
            other => other.said("merge")?,
        };
        if report.state == MergeState::Open {
            hold!(look(&self.directories[directory]) == before, "a merge that is not decided changed something");
            self.note_last(line, directory, &before, None).await?;
            let side = |number: usize| if choices >> (number % 16) & 1 == 0 { Side::Ours } else { Side::Theirs };
            let take = report.undecided.iter().enumerate();
            let take = take.map(|(number, open)| (open.path.to_string(), Choice::Side(side(number)))).collect();
            let gives_up = choices.is_multiple_of(5);
            let request = MergeRequest { auto: automatic, take, ..MergeRequest::default() };
            let gone_on = if gives_up {
                None
            } else {
                match self.client.continue_merge(id, Some(into), WriterOptions::default(), &request).await {
                    // Two decisions may not go together.
                    Err(error) if error.code() == "merge_shape" => None,
                    other => Some(other.said("continue a merge")?),
                }
            };
            let Some(gone_on) = gone_on else {
                self.client.abort_merge(id, Some(into), WriterOptions::default()).await.said("abort a merge")?;
                hold!(look(&self.directories[directory]) == before, "a merge that was given up changed something");
                self.note_last(line, directory, &before, None).await?;
                self.count("merges that somebody decided");
                return Ok(Some(directory));
            };
            self.count("merges that somebody decided");
            report = gone_on;
        }
        let after = look(&self.directories[directory]);
        if report.state == MergeState::UpToDate {
            hold!(after == before, "a merge of nothing changed something");
            return Ok(Some(directory));
        }
        hold!(report.state == MergeState::Merged, "a decided merge is {:?}", report.state);
        self.count("merges");
        let Some(done) = &report.restored else { return Err("a merge did nothing".to_owned()) };
        if self.shared && directory == 0 {
            self.count("merges in a directory that others work in");
        }
        self.note_ours(line, directory, &before, &report).await?;
        let merged = tree(&self.listing_of(done.target)?);
        if let [base] = report.bases.as_slice() {
            let base = self.client.tree_at(*base).await.said("the ancestor's tree")?;
            let base = match base {
                Some(base) => tree(&self.listing_of(base.tree.root)?),
                None => Tree::new(),
            };
            is_merged(&base, &recorded(&tree(&before)), &theirs, &merged, &report, automatic)?;
        }
        let listed: Vec<String> = done.report.kept.iter().map(|kept| kept.path.to_string()).collect();
        let now = tree(&after);
        for path in paths(&[&now, &merged]).into_iter().filter(|path| now.get(*path) != merged.get(*path)) {
            let was_left_out = path.contains(".log") && tree(&before).get(path) == now.get(path);
            let named = std::iter::once(path).chain(above(path)).any(|path| listed.iter().any(|kept| kept == path));
            hold!(
                was_left_out || named || path.contains('\n'),
                "{path:?} is not as merged, and not listed: {listed:?}"
            );
        }
        self.note_last(line, directory, &after, Some((done.target, merged))).await?;
        Ok(Some(directory))
    }

    /// Notes the checkpoint that a merge took of what it was merged with.
    async fn note_ours(&mut self, line: usize, directory: usize, before: &Listing, report: &MergeReport) -> Check {
        let (session, branch) = self.line(line);
        let seq = report.position.ok_or("a merge without an entry")?.seq;
        let options = ReadOptions { from: seq, to: Some(seq), ..ReadOptions::default() };
        let mut reader = self.client.read(self.sessions[session], Some(branch), options).await.said("read")?;
        let merged: Merged = reader.next().await.said("read")?[0].json().said("the merge's entry")?;
        let ours = self.client.tree_at(merged.ours).await.said("our tree")?.ok_or("a merge without our tree")?;
        hold!(ours.position == merged.ours, "what a merge names as ours is no tree");
        self.note(session, directory, merged.ours, ours.tree.root, before);
        Ok(())
    }

    fn listing_of(&self, root: BlockId) -> Check<Listing> {
        self.materialised(root)
    }
}

/// Holds a merged tree against the three that it came of.
fn is_merged(base: &Tree, ours: &Tree, theirs: &Tree, merged: &Tree, report: &MergeReport, automatic: bool) -> Check {
    let decided: Vec<Decided> = report
        .decisions
        .iter()
        .map(|one| Decided { path: one.path.clone(), kind: one.kind, choice: one.choice.clone() })
        .collect();
    // Both names of a file that was moved are decided together: wherever stands what it held.
    let of_moved: Vec<&[u8]> = decided
        .iter()
        .filter(|one| one.kind == ConflictKind::Rename)
        .flat_map(|one| [base, ours, theirs].map(|tree| tree.get(&one.path)))
        .filter_map(bytes_of)
        .collect();
    for path in paths(&[base, ours, theirs, merged]) {
        // A rule that only one side has, and names that are shown otherwise, are tested elsewhere.
        if path.contains(".log") || path == RULES || path.contains('\n') {
            continue;
        }
        let [b, o, t, m] = [base, ours, theirs, merged].map(|tree| tree.get(path));
        let plain = path_of_both(b, o, t);
        let moved = [b, o, t].into_iter().filter_map(bytes_of).any(|bytes| of_moved.contains(&bytes));
        let near = |one: &&Decided| is_within(path, &one.path) || is_within(&one.path, path);
        let Some(conflict) = decided.iter().find(near) else {
            let Ok(right) = plain else {
                hold!(moved, "{path:?} was to be decided: {b:?}, {o:?}, {t:?} became {m:?}");
                continue;
            };
            let holds = merged.keys().any(|other| other != path && is_within(other, path));
            let stays_for_it = holds && m.is_some_and(Node::is_directory);
            hold!(m == right.as_ref() || stays_for_it || moved, "{path:?}: {b:?}, {o:?}, {t:?} became {m:?}");
            continue;
        };
        if conflict.path != path || moved {
            continue;
        }
        let is_right = match conflict.choice.as_str() {
            "ours" => m == o || conflict.kind == ConflictKind::Directory && o.is_none(),
            "theirs" => m == t || conflict.kind == ConflictKind::Directory && t.is_none(),
            _ => true,
        };
        hold!(is_right, "{path:?} was decided {:?}: {o:?}, {t:?} became {m:?}", conflict.choice);
        if conflict.kind != ConflictKind::Edited {
            continue;
        }
        hold!(plain.is_err(), "{path:?} was nothing to decide: {b:?}, {o:?}, {t:?}");
        let proposed = conflict.choice == "proposed";
        match texts(b, o, t) {
            Texts::Apart(right) if automatic => {
                let is_right = matches!(m, Some(Node::File { bytes, .. }) if *bytes == right);
                hold!(proposed && is_right, "{path:?}: edits that lie apart became {m:?}, {:?}", conflict.choice);
            }
            Texts::Overlap => hold!(!proposed, "{path:?}: edits of one line were taken as proposed"),
            Texts::Apart(_) | Texts::Unclear => {}
        }
    }
    Ok(())
}
