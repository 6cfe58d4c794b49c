//! Verifying the log against its key, and the journals against the log.

use super::Audit;
use super::archive::folder_of;
use super::archived::ArchivedPart;
use super::read::PAGE;
use super::seen::{AuditReport, Seen, behind};
use crate::payload::BranchDeleted;
use samite_audit::export::{read_head, verify_part};
use samite_audit::log::Published;
use samite_audit::merkle::leaf_hash;
use samite_audit::tile::{FULL, TileKind, TilePath};
use samite_audit::{Frontier, Leaf, TreeHead, VerifierKey};
use samite_host::files;
use samite_ledger::{JournalFilter, JournalKind, JournalState, JournalStatus, LogState, Read};
use samite_model::{Error, ErrorKind, JournalId, Link, Observer, Position, Result, hash};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

impl Audit {
    /// Verifies every log of the tenant: the signature of its head under `keys` (none given: the tenant's own key), every
    /// leaf up to the root, and the last published head; then that each journal is as far as leaves name it what they say.
    ///
    /// # Errors
    /// `not_found` (`no_audit_log`) when nothing was logged yet; those of the ledger other than damage, which is a finding.
    pub async fn verify(&self, keys: &[VerifierKey], observer: &Observer) -> Result<AuditReport> {
        self.verify_with(keys, &[], observer).await
    }

    /// The same, with what was moved to these archives read as well.
    ///
    /// # Errors
    /// As [`Audit::verify`]; what reading the archives answers.
    pub async fn verify_with(
        &self,
        keys: &[VerifierKey],
        archives: &[PathBuf],
        observer: &Observer,
    ) -> Result<AuditReport> {
        let newest = self.state(None).await?.log;
        for archive in archives {
            if !files::exists(archive)? {
                return Err(Error::not_found("archive_missing", format!("there is no archive {}", archive.display()))
                    .hint("name a folder that leaves were moved to, once it is mounted"));
            }
        }
        let published = self.published()?;
        let mut seen = Seen::default();
        for log in 1..=newest {
            let Some(state) = self.client.core.0.ledger.audit_log(Some(log)).await? else {
                seen.found("missing_log", log, None, format!("log {log} is not there, and a later one is"));
                continue;
            };
            self.verify_log(state, keys, archives, published.of(log), &mut seen, observer).await?;
        }
        for head in published.all().iter().filter(|head| head.log > newest) {
            seen.found("published_log_missing", newest, None, behind(head));
        }
        seen.forgive();
        self.compare(&mut seen, observer).await?;
        Ok(seen.report)
    }

    /// Goes through a log from its first leaf on. Where the store does not have the next one, it was moved to an archive, perhaps a
    /// moment ago, or it is missing.
    async fn verify_log(
        &self,
        mut state: LogState,
        keys: &[VerifierKey],
        archives: &[PathBuf],
        published: Option<&Published>,
        seen: &mut Seen,
        observer: &Observer,
    ) -> Result<()> {
        let (log, ledger) = (state.log, &self.client.core.0.ledger);
        seen.report.logs += 1;
        seen.ended = (log, state.size);
        let mut head = self.head_seen(&state, keys, seen)?;
        let (mut frontier, mut parts) = (Frontier::new(), Vec::new());
        while frontier.size() < state.size {
            let from = frontier.size();
            let most = usize::try_from(state.size - from).unwrap_or(PAGE).min(PAGE);
            let page = ledger.leaves(log, from, most).await?;
            for (index, bytes) in (from..).zip(&page) {
                frontier.push(leaf_hash(bytes));
                seen.note(log, index, bytes);
                if let Some(published) = published.filter(|published| published.head.size == index + 1) {
                    seen.compare_published(published, frontier.root(), index);
                }
            }
            seen.report.leaves += page.len() as u64;
            observer.tell("verifying leaves", frontier.size(), Some(state.size));
            if page.len() == most {
                continue;
            }
            let has = |part: &&ArchivedPart| page.is_empty() && (part.from..part.to).contains(&from);
            if parts.iter().find(has).is_none() {
                parts = self.parts(log).await?;
            }
            let part = parts.iter().find(has);
            if part.is_some_and(|part| part.to > state.size) {
                // It has grown, and what was its end was moved since.
                if let Some(grown) = ledger.audit_log(Some(log)).await? {
                    state = grown;
                    seen.ended = (log, state.size);
                    head = self.head_seen(&state, keys, seen)?;
                }
            }
            let Some(part) = part.filter(|part| part.to <= state.size && from.is_multiple_of(u64::from(FULL))) else {
                // What is after it is no part of any root that can be computed.
                let index = frontier.size();
                seen.found("missing_leaf", log, Some(index), format!("leaf {index} of log {log} is not there"));
                return Ok(());
            };
            self.verify_moved(part, archives, published, &mut frontier, seen, observer)?;
        }
        if let Some(published) = published.filter(|published| published.head.size > state.size) {
            seen.lost("published_head_missing", published, None, behind(published));
        }
        if let Some(head) = head {
            if (head.size, head.root) != (frontier.size(), frontier.root()) {
                let what = format!(
                    "the signed head of log {log} has {} leaves and the root {}; its leaves are {} with the root {}",
                    head.size,
                    head.root,
                    frontier.size(),
                    frontier.root()
                );
                seen.found("other_root", log, None, what);
            }
            seen.report.head = Some(head);
        }
        Ok(())
    }

    /// Goes on through what was moved: what an archive has is read there, and of the rest the roots are taken.
    fn verify_moved(
        &self,
        part: &ArchivedPart,
        archives: &[PathBuf],
        published: Option<&Published>,
        frontier: &mut Frontier,
        seen: &mut Seen,
        observer: &Observer,
    ) -> Result<()> {
        let (log, from, to) = (part.log, frontier.size(), part.to);
        let mut known = frontier.clone();
        // Some of its leaves may have been read before they were moved.
        let before = usize::try_from((from - part.from) / u64::from(FULL)).unwrap_or(usize::MAX);
        part.bundles.iter().skip(before).for_each(|root| known.push_bundle(*root));
        seen.report.archived += to - from;
        let mut read = std::mem::replace(frontier, known.clone());
        if from == 0 {
            // The first leaf of a log is what names the head whose place it took.
            seen.previous.extend(part.previous.clone());
        }
        let Some(folder) = with_most(archives, part, from)? else {
            seen.report.unread += to - from;
            return Ok(());
        };
        let verified = verify_part(&folder, &self.key_of(log)?, from..to, &mut |index, bytes| {
            if index == read.size() && index < to {
                read.push(leaf_hash(bytes));
                seen.note(log, index, bytes);
                if let Some(published) = published.filter(|published| published.head.size == index + 1) {
                    seen.compare_published(published, read.root(), index);
                }
            }
            if index.is_multiple_of(PAGE as u64) {
                observer.tell("verifying leaves", index, None);
            }
            Ok(())
        })?;
        let name = folder.display();
        if let Some(found) = verified.findings.first() {
            seen.report.unread += to - from;
            seen.found("damaged_archive", log, found.index, format!("{name}: {} {}", found.file, found.what));
        } else if read.size() < to {
            seen.report.unread += to - from;
            let what = format!("{name} ends at leaf {}, and had leaves {from} to {to}", read.size());
            seen.found("damaged_archive", log, Some(read.size()), what);
        } else {
            seen.report.leaves += to - from;
            if read != known {
                let what = format!("{name} has other leaves {from} to {to} than were moved there");
                seen.found("other_archive", log, Some(from), what);
            }
        }
        Ok(())
    }

    /// The signed head of a log, or a finding.
    fn head_seen(&self, state: &LogState, keys: &[VerifierKey], seen: &mut Seen) -> Result<Option<TreeHead>> {
        match self.signed_head(state, keys) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                seen.found("bad_head", state.log, None, error.message().to_owned());
                Ok(None)
            }
            head => head.map(Some),
        }
    }

    fn signed_head(&self, state: &LogState, keys: &[VerifierKey]) -> Result<TreeHead> {
        let (head, stored) = self.head(state)?;
        if keys.is_empty() {
            return Ok(head);
        }
        let key = keys.iter().find(|key| key.name() == head.origin).ok_or_else(|| {
            Error::corrupt("other_log", format!("none of the given keys is that of the log {}", head.origin))
        })?;
        TreeHead::open(stored.note.to_string().as_bytes(), key, &[]).map(|opened| opened.head)
    }

    /// Compares each journal with what the leaves say of it. What others did since the leaves were read is no finding: what looks
    /// wrong is looked at once more, with the leaves that came meanwhile.
    async fn compare(&self, seen: &mut Seen, observer: &Observer) -> Result<()> {
        let ledger = &self.client.core.0.ledger;
        let states: HashMap<JournalId, JournalState> =
            ledger.journals(JournalFilter::default()).await?.into_iter().map(|state| (state.id, state)).collect();
        let places = std::mem::take(&mut seen.places);
        let all = places.len() as u64;
        let mut again = Vec::new();
        for (done, (journal, places)) in (0..).zip(places) {
            observer.tell("comparing journals", done, Some(all));
            seen.report.journals += 1;
            seen.report.places += places.len() as u64;
            let before = seen.report.findings.len();
            self.compare_one(journal, states.get(&journal), &places, seen).await?;
            if seen.report.findings.len() > before {
                seen.report.findings.truncate(before);
                again.push((journal, places));
            }
        }
        if again.is_empty() {
            return Ok(());
        }
        self.read_on(seen).await?;
        for (journal, places) in again {
            let state = ledger.journal(journal).await?;
            self.compare_one(journal, state.as_ref(), &places, seen).await?;
        }
        Ok(())
    }

    /// Takes note of the deletions in leaves that came since the log was read.
    async fn read_on(&self, seen: &mut Seen) -> Result<()> {
        let (mut log, mut from) = seen.ended;
        while let Some(state) = self.client.core.0.ledger.audit_log(Some(log)).await? {
            while from < state.size {
                let (first, page) = match self.page_on(log, from, state.size).await {
                    Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(()),
                    page => page?,
                };
                for leaf in page.iter().filter_map(|bytes| Leaf::parse(bytes).ok()) {
                    seen.note_deletion(&leaf);
                }
                from = first + page.len() as u64;
            }
            (log, from) = (log + 1, 0);
        }
        Ok(())
    }

    async fn compare_one(
        &self,
        journal: JournalId,
        state: Option<&JournalState>,
        places: &BTreeMap<u64, (Link, u64, u64)>,
        seen: &mut Seen,
    ) -> Result<()> {
        match (state, places.last_key_value()) {
            (Some(state), _) => self.compare_journal(state, places, seen).await,
            (None, Some((seq, (_, log, index)))) => {
                let what = format!("journal {journal} is not there, and the log has it up to seq {seq}");
                seen.found_at("missing_journal", (*log, *index), journal, *seq, what);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    async fn compare_journal(
        &self,
        state: &JournalState,
        places: &BTreeMap<u64, (Link, u64, u64)>,
        seen: &mut Seen,
    ) -> Result<()> {
        let (Some((first, _)), Some((last, _))) = (places.first_key_value(), places.last_key_value()) else {
            return Ok(());
        };
        // What is below the head that a recorded deletion left is compared; what is above is gone.
        let cut = state.status == JournalStatus::Deleted && self.was_cut(state, seen).await?;
        let own = state.parent.map_or(1, |parent| parent.seq + 1);
        let (mut from, to) = (own, (*last).min(state.head));
        let mut before: Option<Link> = None;
        while from <= to {
            let read = Read { payloads: false, limit: PAGE, ..Read::range(state.id, from, to) };
            let page = match self.client.core.0.ledger.read(read).await {
                Ok(page) => page,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let at = places.range(from..).next().map_or((0, 0), |(_, (_, log, index))| (*log, *index));
                    seen.found_at("damaged_journal", at, state.id, from, error.message().to_owned());
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let Some(newest) = page.last() else { break };
            let next = newest.seq + 1;
            for entry in &page {
                let chained = before.is_none_or(|before| hash::link(before, &entry.header) == entry.link);
                before = Some(entry.link);
                let said = places.get(&entry.seq);
                if chained && said.is_none_or(|(link, _, _)| *link == entry.link) {
                    continue;
                }
                let said = said.or_else(|| places.range(entry.seq..).next().map(|(_, said)| said));
                let at = said.map_or((0, 0), |(_, log, index)| (*log, *index));
                let what = format!("journal {} was changed at or before seq {}", state.id, entry.seq);
                seen.found_at("changed_journal", at, state.id, entry.seq, what);
                return Ok(());
            }
            from = next;
        }
        if let Some((seq, (_, log, index))) = places.range(state.head + 1..).next()
            && !cut
        {
            let what = format!("journal {} ends at seq {}, and the log has it at seq {seq}", state.id, state.head);
            seen.found_at("cut_journal", (*log, *index), state.id, *seq, what);
        }
        if *first < own {
            let what = format!("journal {} begins at seq {own}, and the log has it at seq {first}", state.id);
            seen.found_at("changed_journal", (0, 0), state.id, *first, what);
        }
        Ok(())
    }

    /// Whether an entry that the log has says that a deleted branch was cut where it now ends.
    async fn was_cut(&self, state: &JournalState, seen: &Seen) -> Result<bool> {
        let filter = JournalFilter {
            family: Some(state.family),
            kind: Some(JournalKind::SessionControl),
            ..JournalFilter::default()
        };
        let core = &self.client.core;
        for control in core.0.ledger.journals(filter).await? {
            for seq in seen.deletions.get(&control.id).map(Vec::as_slice).unwrap_or_default() {
                let entry = match core.entry_at(Position { journal: control.id, seq: *seq }).await {
                    Ok(entry) => entry,
                    Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => continue,
                    Err(error) => return Err(error),
                };
                // One that was erased with its session says no more than that there was a deletion.
                let Some(_) = &entry.payload else { return Ok(true) };
                let deleted: BranchDeleted = entry.json()?;
                if deleted.branch == state.id && deleted.kept_to == state.head {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The folder that has the most of some leaves, of those that are given; none where none is given.
fn with_most(archives: &[PathBuf], part: &ArchivedPart, from: u64) -> Result<Option<PathBuf>> {
    let full = u64::from(FULL);
    let mut best: Option<(u64, PathBuf)> = None;
    for archive in archives {
        let folder = folder_of(archive, part.log)?;
        let mut has = 0;
        if read_head(&folder)?.is_some() {
            for index in from / full..part.to / full {
                let path = TilePath { kind: TileKind::Entries, index, width: FULL };
                has += u64::from(files::exists(&folder.join(path.to_string()))?);
            }
        }
        if has > best.as_ref().map_or(0, |(most, _)| *most) {
            best = Some((has, folder));
        }
    }
    if best.is_none() && !archives.is_empty() {
        let ArchivedPart { log, to, archive, .. } = part;
        let what = format!("no archive that was given has leaves {from} to {to} of log {log}, which went to {archive}");
        return Err(Error::not_found("archive_missing", what).hint("name that one as well, with --archive"));
    }
    Ok(best.map(|(_, folder)| folder))
}
