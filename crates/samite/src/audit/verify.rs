//! Verifying the log against its key, and the journals against the log.

use super::Audit;
use super::archive::folder_of;
use super::read::PAGE;
use crate::payload::BranchDeleted;
use samite_audit::export::verify_segment;
use samite_audit::log::Published;
use samite_audit::merkle::leaf_hash;
use samite_audit::{Frontier, Hash, Leaf, TreeHead, VerifierKey};
use samite_ledger::{JournalFilter, JournalKind, JournalState, JournalStatus, LogState, Read};
use samite_model::{EntryKind, Error, ErrorKind, JournalId, Link, Observer, Position, Result, hash};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Something that is not as the log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    /// A stable code.
    pub code: &'static str,
    /// The log.
    pub log: u64,
    /// The leaf that is damaged, or that says otherwise.
    pub index: Option<u64>,
    /// The journal that is otherwise.
    pub journal: Option<JournalId>,
    /// Where in it.
    pub seq: Option<u64>,
    /// In words.
    pub message: String,
}

/// What a verification saw.
#[derive(Clone, Debug, Default)]
pub struct AuditReport {
    /// How many logs.
    pub logs: u64,
    /// How many leaves were hashed.
    pub leaves: u64,
    /// How many leaves are not in the store any more, because they were moved to an archive.
    pub archived: u64,
    /// How many of those were not read: the signed head vouches for the roots over them, and nothing was compared with them.
    pub unread: u64,
    /// How many places in journals the leaves name.
    pub places: u64,
    /// How many journals were compared with the log.
    pub journals: u64,
    /// The newest signed head.
    pub head: Option<TreeHead>,
    /// What was found.
    pub findings: Vec<AuditFinding>,
}

/// What the leaves say of a journal: at each seq, a link and the leaf that has it.
type Places = HashMap<JournalId, BTreeMap<u64, (Link, u64, u64)>>;

/// What is gathered on the way through the logs.
#[derive(Default)]
struct Seen {
    places: Places,
    /// The entries that say where a branch was cut.
    deletions: HashMap<JournalId, Vec<u64>>,
    /// Published heads that their log does not have, and the findings that they are unless a later log names them.
    lost: Vec<(TreeHead, AuditFinding)>,
    /// The heads that logs name that took the place of another.
    previous: Vec<TreeHead>,
    /// The newest log whose first leaf was not read, because it was moved to an archive.
    unread_beginning: u64,
    /// The newest log, and how many leaves of it were read.
    ended: (u64, u64),
    report: AuditReport,
}

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
        let published = self.published()?;
        let mut seen = Seen::default();
        for log in 1..=newest {
            let Some(state) = self.client.core.0.ledger.audit_log(Some(log)).await? else {
                seen.found("missing_log", log, None, format!("log {log} is not there, and a later one is"));
                continue;
            };
            seen.ended = (log, state.size);
            let published = published.of(log);
            let frontier = self.verify_archived(&state, archives, published, &mut seen).await?;
            self.verify_log(&state, keys, published, frontier, &mut seen, observer).await?;
        }
        for head in published.all().iter().filter(|head| head.log > newest) {
            seen.found("published_log_missing", newest, None, behind(head));
        }
        seen.forgive();
        self.compare(&mut seen, observer).await?;
        Ok(seen.report)
    }

    async fn verify_log(
        &self,
        state: &LogState,
        keys: &[VerifierKey],
        published: Option<&Published>,
        mut frontier: Frontier,
        seen: &mut Seen,
        observer: &Observer,
    ) -> Result<()> {
        let log = state.log;
        seen.report.logs += 1;
        let head = match self.signed_head(state, keys) {
            Ok(head) => Some(head),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                seen.found("bad_head", log, None, error.message().to_owned());
                None
            }
            Err(error) => return Err(error),
        };
        let mut from = frontier.size();
        while from < state.size {
            let page = match self.page(log, from, state.size).await {
                Ok(page) => page,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    // What is after it is no part of any root that can be computed.
                    let there = self.client.core.0.ledger.leaves(log, from, PAGE).await.map_or(0, |page| page.len());
                    seen.found("missing_leaf", log, Some(from + there as u64), error.message().to_owned());
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            for (index, bytes) in (from..).zip(&page) {
                let hash = leaf_hash(bytes);
                frontier.push(hash);
                seen.note(log, index, bytes);
                if let Some(published) = published.filter(|published| published.head.size == index + 1) {
                    seen.compare_published(published, frontier.root(), index);
                }
            }
            from += page.len() as u64;
            seen.report.leaves += page.len() as u64;
            observer.tell("verifying leaves", from, Some(state.size));
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

    /// Goes through what is not in the store any more: what an archive has is read there, and of the rest the roots are taken.
    async fn verify_archived(
        &self,
        state: &LogState,
        archives: &[PathBuf],
        published: Option<&Published>,
        seen: &mut Seen,
    ) -> Result<Frontier> {
        let (log, mut frontier) = (state.log, Frontier::new());
        for part in self.parts(log).await? {
            seen.report.archived += part.to - part.from;
            if part.from != frontier.size() || part.to > state.size {
                let what = format!(
                    "leaves {} to {} are said to be archived, and those before them are not",
                    part.from, part.to
                );
                seen.found("archive_gap", log, Some(part.from), what);
                return Ok(frontier);
            }
            let mut known = frontier.clone();
            for root in &part.bundles {
                known.push_bundle(*root);
            }
            let mut was_read = false;
            for archive in archives {
                let folder = folder_of(archive, log)?;
                let mut read = frontier.clone();
                let verified =
                    verify_segment(&folder, &self.key_of(log)?, &[], part.from..part.to, &mut |index, bytes| {
                        if index == read.size() && index < part.to {
                            read.push(leaf_hash(bytes));
                            seen.note(log, index, bytes);
                            if let Some(published) = published.filter(|published| published.head.size == index + 1) {
                                seen.compare_published(published, read.root(), index);
                            }
                        }
                        Ok(())
                    })?;
                if verified.is_right() && read.size() == part.to {
                    was_read = true;
                    seen.report.leaves += part.to - part.from;
                    if read != known {
                        let what = format!(
                            "{} has other leaves {} to {} than were moved there",
                            folder.display(),
                            part.from,
                            part.to
                        );
                        seen.found("other_archive", log, Some(part.from), what);
                    }
                    break;
                }
                if let Some(found) = verified.findings.first() {
                    let what = format!("{}: {} {}", folder.display(), found.file, found.what);
                    seen.found("damaged_archive", log, found.index, what);
                }
            }
            if !was_read {
                seen.report.unread += part.to - part.from;
                // The first leaf of a log is what names the head whose place it took.
                seen.unread_beginning = seen.unread_beginning.max(if part.from == 0 { log } else { 0 });
            }
            frontier = known;
        }
        Ok(frontier)
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
            from = from.max(self.minimum(log).await?);
            while from < state.size {
                let page = match self.page(log, from, state.size).await {
                    Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(()),
                    page => page?,
                };
                for leaf in page.iter().filter_map(|bytes| Leaf::parse(bytes).ok()) {
                    seen.note_deletion(&leaf);
                }
                from += page.len() as u64;
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

impl Seen {
    fn found(&mut self, code: &'static str, log: u64, index: Option<u64>, message: String) {
        self.report.findings.push(AuditFinding { code, log, index, journal: None, seq: None, message });
    }

    fn found_at(
        &mut self,
        code: &'static str,
        (log, index): (u64, u64),
        journal: JournalId,
        seq: u64,
        message: String,
    ) {
        let (index, journal, seq) = (Some(index), Some(journal), Some(seq));
        self.report.findings.push(AuditFinding { code, log, index, journal, seq, message });
    }

    /// Takes note of the places that a leaf names.
    fn note(&mut self, log: u64, index: u64, bytes: &[u8]) {
        let leaf = match Leaf::parse(bytes) {
            Ok(leaf) => leaf,
            Err(error) => {
                self.found("bad_leaf", log, Some(index), format!("leaf {index} of log {log}: {}", error.message()));
                return;
            }
        };
        self.note_deletion(&leaf);
        self.previous.extend(leaf.previous.clone());
        let own = (leaf.journal, leaf.seq, leaf.link);
        let others = leaf.anchors.iter().map(|anchor| (anchor.journal, anchor.seq, anchor.link));
        for (journal, seq, link) in std::iter::once(own).chain(others) {
            let place = self.places.entry(journal).or_default().entry(seq).or_insert((link, log, index));
            if place.0 != link {
                let what = format!("the log has two links of journal {journal} at seq {seq}");
                self.found_at("two_links", (log, index), journal, seq, what);
            }
        }
    }

    fn note_deletion(&mut self, leaf: &Leaf) {
        if leaf.act.as_str() == EntryKind::BRANCH_DELETED.name() {
            self.deletions.entry(leaf.journal).or_default().push(leaf.seq);
        }
    }

    fn lost(&mut self, code: &'static str, published: &Published, index: Option<u64>, message: String) {
        let finding = AuditFinding { code, log: published.log, index, journal: None, seq: None, message };
        self.lost.push((published.head.clone(), finding));
    }

    /// A published head that a log does not have is what an older copy of the store lacks. Once a later log names it, that is
    /// recorded, and nothing new. Where the beginning of a later log was moved away and not read, it is taken to name it: what was
    /// not read is counted.
    fn forgive(&mut self) {
        let named = std::mem::take(&mut self.previous);
        let lost = std::mem::take(&mut self.lost).into_iter();
        self.report.findings.extend(
            lost.filter(|(head, finding)| !named.contains(head) && finding.log >= self.unread_beginning)
                .map(|(_, finding)| finding),
        );
    }

    fn compare_published(&mut self, published: &Published, root: Hash, index: u64) {
        if published.head.root != root {
            let what = format!(
                "the head of log {} that was published at {} leaves has the root {}, and the log had {root} then",
                published.log, published.head.size, published.head.root
            );
            self.lost("published_head_differs", published, Some(index), what);
        }
    }
}

fn behind(published: &Published) -> String {
    format!(
        "a head of log {} with {} leaves was published, and the store does not have it: it is an older copy of itself",
        published.log, published.head.size
    )
}
