//! Carrying an erasure out, in stages that each may be done again.

use super::kept::KINDS;
use super::{ErasureRecord, ErasureState};
use crate::client::Client;
use crate::core::{Core, from_json};
use crate::embedded::Embedded;
use crate::gc::Collecting;
use crate::payload::{Counted, DerivedRoot, Erased, ErasureStarted};
use crate::views::{self, Projection};
use data_encoding::HEXLOWER;
use samite_host::kill_point;
use samite_ledger::{Erasure, JournalFilter, JournalKind, JournalStatus, Read};
use samite_model::erasure::{Derived, Root, Run, Scope};
use samite_model::{EntryKind, Error, ErrorKind, Header, JournalId, KeyId, Observer, Position, Result};
use samite_workspace::Collected;
use std::collections::HashSet;

/// So many entries are looked at, and become tombstones, at once.
const BATCH: u64 = 512;
/// So many runs do.
const RUNS: usize = 256;
/// An entry names at most so many trees.
const NAMED: usize = 2048;

/// How far an erasure came.
pub(super) enum Carried {
    /// It is done.
    Done(Box<ErasureRecord>),
    /// Nothing of it can be read, and others are in the way of taking the rest of it off the disk.
    Waits(Error),
}

/// A proof lists so much that was made of what was erased: it is to go into a receipt.
const LISTED: usize = 1000;

/// What there was of an erasure's entries.
#[derive(Default)]
struct Found {
    runs: Vec<Run>,
    /// Where keys are destroyed: those under keys of others, which live.
    foreign: Vec<Run>,
    root: Root,
    /// The doubts about steps that are among them.
    doubts: Vec<String>,
    /// How many still have their payload.
    left: u64,
}

impl Embedded {
    /// Carries out an erasure that has begun. Whoever calls this holds the lock.
    pub(super) async fn carry_out(&self, started: &ErasureStarted, observer: &Observer) -> Result<ErasureRecord> {
        match self.carry_on(started, observer).await? {
            Carried::Done(record) => Ok(*record),
            Carried::Waits(error) => Err(error),
        }
    }

    /// The same, telling apart what is in the way when nothing can be read any more.
    pub(super) async fn carry_on(&self, started: &ErasureStarted, observer: &Observer) -> Result<Carried> {
        let core = &self.store().core;
        let tenant = core.as_tenant(started.by())?;
        let all = started.scope.destroys_keys();

        observer.tell("fencing writers", 0, None);
        let close = core.to_close(started).await?;
        // What a collection that this person began took would else count as missing.
        // What is done of it by somebody who came back is somebody else's.
        let reached = all && core.others_reached(started.erasure).await?;
        if !reached {
            core.carry_over(started).await?;
        }
        kill_point("erase.carried_over");
        let keys = started.keys.clone();
        core.0.ledger.erase(Erasure { close: close.clone(), keys, ..Erasure::default() }).await?;
        // One that is done elsewhere is done again in a copy from before its end.
        let replayed = started.replayed || core.noted_erasures()?.done.contains(&started.erasure);
        if replayed {
            // They are of those who used the store that this is a copy of.
            tenant.end_pins(None).await?;
        } else if all && !reached {
            tenant.end_pins(Some(started.subject)).await?;
        }
        kill_point("erase.fenced");
        let mut notes = 0;
        if all && !reached {
            // Until their keys are gone nobody can come back, and all that is noted is theirs.
            notes = self.erase_all_notes(started)?;
            core.reach_others(started).await?;
        }
        if all {
            kill_point("erase.others");
        }

        if all {
            observer.tell("destroying keys", 0, None);
            core.0.keys.destroy_keys_of(started.subject, &started.keys)?;
            kill_point("erase.keys_destroyed");
        }

        let doubts = self.doubts()?;
        let found = core.found(started, &close, &doubts, observer).await?;
        let total = (found.runs.len() + found.foreign.len()) as u64;
        let mut done = 0;
        let closed: HashSet<JournalId> = close.iter().copied().collect();
        // Rows stay where something is appended still, and where that was recorded.
        let (closing, open): (Vec<Run>, Vec<Run>) =
            if all { &found.foreign } else { &found.runs }.iter().partition(|run| closed.contains(&run.journal));
        let by_key: &[Run] = if all { &found.runs } else { &[] };
        let kept = if started.kept.is_some() { KINDS.to_vec() } else { Vec::new() };
        let lists = [(by_key, Some(started.subject), Vec::new()), (&closing, None, Vec::new()), (&open, None, kept)];
        for (all_runs, owner, keep) in lists {
            for runs in all_runs.chunks(RUNS) {
                observer.tell("making tombstones", done, Some(total));
                done += runs.len() as u64;
                for batch in batches(runs) {
                    let keep = keep.clone();
                    core.0.ledger.erase(Erasure { runs: batch, owner, keep, ..Erasure::default() }).await?;
                    kill_point("erase.tombstones");
                }
            }
        }
        observer.tell("removing files", 0, None);
        let files = notes + self.erase_files(started, &found.doubts)? + self.erase_namespaces(started, &close).await?;
        kill_point("erase.files_removed");

        let collected = match self.clean(started, &tenant, observer).await {
            Err(error) if error.kind() == ErrorKind::Unavailable => return Ok(Carried::Waits(error)),
            collected => collected?,
        };
        let left = core.found(started, &close, &HashSet::new(), observer).await?.left;
        let blocks = if all { tenant.blocks_left(started.subject, &started.keys).await? } else { 0 };
        if left > 0 || blocks > 0 {
            let what = format!("{left} payloads and {blocks} blocks are still there");
            let error = Error::unavailable("erasure_incomplete", what).hint("`samite erase resume` goes on");
            return Ok(Carried::Waits(error));
        }
        let derived_root = root_of(&started.derived);
        let erased = Erased {
            erasure: started.erasure,
            scope: started.scope,
            subject: started.subject,
            actor: started.actor,
            reason: started.reason.clone(),
            begun: started.begun,
            done: core.now(),
            root: HEXLOWER.encode(&found.root.finish()),
            entries: found.root.leaves(),
            keys: started.keys.clone(),
            epochs: (started.epoch, core.0.keys.epoch()?),
            stores: stores(started, replayed, &found, &collected, files),
            unreached: self.still_unreached(started).await?,
            derived: if derived_root.is_none() { started.derived.clone() } else { Vec::new() },
            derived_root,
            replayed,
        };
        let draft = core.draft(EntryKind::ERASED, &erased, views::erased(&erased))?;
        core.append_as_tenant(started.by(), vec![draft], Vec::new()).await?;
        kill_point("erase.recorded");
        core.note_done(&[started.erasure])?;
        let proof = core.said_of_tenant::<Erased>(EntryKind::ERASED).await?.pop();
        Ok(Carried::Done(Box::new(ErasureRecord { state: ErasureState::Done, started: started.clone(), proof })))
    }

    /// Takes the blocks that nothing needs any more, and what is left of anything in the database's file and its log.
    async fn clean(&self, started: &ErasureStarted, tenant: &Client, observer: &Observer) -> Result<Collected> {
        observer.tell("taking blocks", 0, None);
        let collected = match started.scope {
            // It has no blocks.
            Scope::Secret { .. } => Collected::default(),
            _ => tenant.collect_all(started.subject, observer).await?,
        };
        kill_point("erase.collected");
        observer.tell("writing the database anew", 0, None);
        self.ledger().compact().await?;
        kill_point("erase.compacted");
        Ok(collected)
    }

    async fn still_unreached(&self, started: &ErasureStarted) -> Result<Vec<crate::payload::Unreached>> {
        let core = &self.store().core;
        let runs = core.foreign_runs(started).await?;
        let mut unreached = core.unreached(&started.scope, started.subject, &runs).await?;
        if !core.is_noted(started.erasure)? {
            for one in unreached.iter_mut().filter(|one| matches!(one.what.as_str(), "backup" | "other_copy")) {
                "it is deleted: this master keeps no note by which an older copy would be erased when it is opened"
                    .clone_into(&mut one.until);
            }
        }
        unreached.extend((0..started.layouts_outside).map(|_| super::start::layout_outside(None)));
        Ok(unreached)
    }
}

/// What stands for a list that is longer than a proof has room for.
fn root_of(derived: &[Derived]) -> Option<DerivedRoot> {
    if derived.len() <= LISTED {
        return None;
    }
    let mut root = Root::default();
    for one in derived {
        root.push_bytes(&[&one.id.0[..], &one.owner.0, &[u8::from(one.taken)]].concat());
    }
    Some(DerivedRoot { count: root.leaves(), root: HEXLOWER.encode(&root.finish()) })
}

/// Runs of few enough entries for one transaction each.
fn batches(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut batches: Vec<Vec<Run>> = vec![Vec::new()];
    let mut size = 0;
    for run in runs {
        let mut first = run.first;
        while first <= run.last {
            if size >= BATCH {
                batches.push(Vec::new());
                size = 0;
            }
            let last = run.last.min(first.saturating_add(BATCH - size).saturating_sub(1));
            if let Some(batch) = batches.last_mut() {
                batch.push(Run { first, last, ..*run });
            }
            size += last - first + 1;
            first = last.saturating_add(1);
        }
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

/// What was found, deleted and retained. An erasure that was cut off counts as if it had gone through.
fn stores(started: &ErasureStarted, replayed: bool, found: &Found, collected: &Collected, files: u64) -> Vec<Counted> {
    let mut stores = started.found.clone();
    if let Some(entries) = stores.iter_mut().find(|one| one.store == "entries") {
        entries.found = found.root.leaves();
        entries.deleted = found.root.leaves();
    }
    if replayed
        && started.scope.destroys_keys()
        && let Some(blocks) = stores.iter_mut().find(|one| one.store == "blocks")
    {
        blocks.found = collected.blocks + blocks.retained;
        (blocks.deleted, blocks.bytes) = (collected.blocks, Some(collected.bytes));
        blocks.why = Some("all that nothing needs: without the keys nobody can tell which were whose".to_owned());
    }
    let all = |store: &str, count: u64, bytes: Option<u64>, why: Option<&str>| Counted {
        store: store.to_owned(),
        found: count,
        deleted: count,
        retained: 0,
        bytes,
        why: why.map(str::to_owned),
    };
    let packs = collected.packs_dropped + collected.packs_rewritten;
    stores.push(all("packs", packs, None, Some("removed, or written anew without what went")));
    stores.push(all("files", files, None, Some("stat caches, signs of life, laid out conflicts, notes of hooks")));
    let why = "written anew, its log emptied: no gap or free page holds what was there";
    stores.push(all("database", 1, None, Some(why)));
    stores
}

impl Core {
    /// The journals that are to be closed and are there. In an older copy of the store a session may have others than those
    /// that were noted.
    pub(super) async fn to_close(&self, started: &ErasureStarted) -> Result<Vec<JournalId>> {
        let noted: HashSet<JournalId> = started.close.iter().copied().collect();
        let states = self.0.ledger.journals(JournalFilter::default()).await?;
        let mut close = Vec::new();
        for state in states {
            let closes = matches!(state.kind, JournalKind::Branch | JournalKind::SessionControl | JournalKind::Memory);
            let is_meant = match started.scope {
                Scope::User => closes && state.owner == started.subject && self.is_sealed_by(&state, started).await?,
                Scope::Session { session } => closes && state.family == session,
                Scope::Memory { journal } => state.kind == JournalKind::Memory && state.family.0 == journal.0,
                Scope::Artifact { .. } | Scope::Entries { .. } | Scope::Secret { .. } | Scope::Records { .. } => false,
            };
            // Sessions that were made of it, and of which it was decided that they go too.
            let goes_too = closes && state.owner != started.subject && started.sessions.contains(&state.family);
            if noted.contains(&state.id) || is_meant || goes_too {
                close.push(state.id);
            }
        }
        Ok(close)
    }

    /// Whether a journal's first own entry is under one of an erasure's keys; one without entries belongs to its session.
    async fn is_sealed_by(&self, state: &samite_ledger::JournalState, started: &ErasureStarted) -> Result<bool> {
        if state.status == JournalStatus::Deleted {
            return Ok(false);
        }
        let first = state.parent.map_or(1, |parent| parent.seq + 1);
        let read = Read { payloads: false, unchecked: true, ..Read::range(state.id, first, first) };
        let Some(entry) = self.0.ledger.read(read).await?.into_iter().next() else {
            return Ok(started.sessions.contains(&state.family));
        };
        Ok(started.keys.contains(&Header::decode(&entry.header)?.key))
    }

    /// Says again, in the tenant's own name, which trees and artifacts were collected, and which secrets are registered, where the
    /// person who goes had said it.
    async fn carry_over(&self, started: &ErasureStarted) -> Result<()> {
        let control = self.tenant_control();
        if !started.scope.destroys_keys() {
            return Ok(());
        }
        let mut again = Collecting::default();
        for run in self.0.ledger.owned(started.subject).await?.into_iter().filter(|run| run.journal == control) {
            let read = Read { kinds: vec![EntryKind::COLLECTED], ..Read::range(control, run.first, run.last) };
            for stored in self.0.ledger.read(read).await? {
                let entry = self.whole(self.open(control, &stored)?)?;
                if let Some(payload) = &entry.payload {
                    let said: Collecting = from_json("a collection", payload)?;
                    again.trees.extend(said.trees);
                    again.artifacts.extend(said.artifacts);
                }
            }
        }
        let known = self.collected_as_tenant().await?;
        again.trees.retain(|tree| !known.trees.contains(tree));
        again.artifacts.retain(|artifact| !known.artifacts.contains(artifact));
        // They keep what they say out of the store, whoever registered them.
        let mut drafts = self.secrets_of(started.subject).await?;
        for trees in again.trees.chunks(NAMED) {
            let what = Collecting { trees: trees.to_vec(), artifacts: Vec::new() };
            drafts.push(self.draft(EntryKind::COLLECTED, &what, Projection::default())?);
        }
        for artifacts in again.artifacts.chunks(NAMED) {
            let what = Collecting { trees: Vec::new(), artifacts: artifacts.to_vec() };
            drafts.push(self.draft(EntryKind::COLLECTED, &what, Projection::default())?);
        }
        if drafts.is_empty() { Ok(()) } else { self.append_as_tenant(started.by(), drafts, Vec::new()).await }
    }

    /// The entries of an erasure that are there, with the root over their commitments.
    async fn found(
        &self,
        started: &ErasureStarted,
        close: &[JournalId],
        doubts: &HashSet<String>,
        observer: &Observer,
    ) -> Result<Found> {
        let all = started.scope.destroys_keys();
        let mut runs: Vec<(Run, bool)> = Vec::new();
        if all {
            runs.extend(self.0.ledger.owned(started.subject).await?.into_iter().map(|run| (run, false)));
        }
        runs.extend(self.runs_of(started, close).await?.into_iter().map(|run| (run, true)));
        let keys: HashSet<KeyId> = started.keys.iter().copied().collect();
        let mut found = Found::default();
        // What an earlier erasure took is not taken by this one.
        let before = self.erased_before(Some(started.erasure)).await?;
        let mut looked = 0;
        for (run, is_named) in runs {
            let mut from = run.first;
            while from <= run.last {
                observer.tell("looking at entries", looked, None);
                let to = run.last.min(from.saturating_add(BATCH - 1));
                // As it is stored: what is damaged goes too.
                let read = Read { unchecked: true, ..Read::range(run.journal, from, to) };
                for stored in self.0.ledger.read(read).await? {
                    looked += 1;
                    let header = Header::decode(&stored.header)?;
                    // Whoever came back has other keys.
                    if !is_named && !keys.contains(&header.key) {
                        continue;
                    }
                    let at = Position { journal: run.journal, seq: stored.seq };
                    if stored.payload.is_none() && before.may_have(at, header.key) {
                        continue;
                    }
                    found.root.push(&header.commitment);
                    found.left += u64::from(stored.payload.is_some());
                    let id = header.id.to_string();
                    if doubts.contains(&id) {
                        found.doubts.push(id);
                    }
                    let into = if all && is_named { &mut found.foreign } else { &mut found.runs };
                    match into.last_mut() {
                        Some(last) if last.journal == at.journal && last.last.saturating_add(1) == at.seq => {
                            last.last = at.seq;
                        }
                        _ => into.push(Run { journal: at.journal, first: at.seq, last: at.seq }),
                    }
                }
                from = to.saturating_add(1);
            }
        }
        Ok(found)
    }

    /// The runs of an erasure that are named, as far as their journals are there: all of them where less than all of a person's
    /// data goes, else those in journals of others.
    async fn runs_of(&self, started: &ErasureStarted, close: &[JournalId]) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for run in &self.foreign_runs(started).await? {
            let Some(state) = self.0.ledger.journal(run.journal).await? else { continue };
            let last = run.last.min(state.head);
            if run.first <= last && !close.contains(&run.journal) {
                runs.push(Run { last, ..*run });
            }
        }
        for journal in close {
            let state = self.journal(*journal).await?;
            // What is the person's goes by its keys.
            if started.scope.destroys_keys() && state.owner == started.subject {
                continue;
            }
            let first = state.parent.map_or(1, |parent| parent.seq + 1);
            if first <= state.head {
                runs.push(Run { journal: *journal, first, last: state.head });
            }
        }
        runs.sort_unstable();
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u8, first: u64, last: u64) -> Run {
        Run { journal: JournalId([number; 16]), first, last }
    }

    #[test]
    fn a_long_list_is_one_hash_in_the_proof_and_fits_into_a_receipt() {
        use samite_model::erasure::{Because, DerivedKind};
        use samite_model::{FamilyId, Pseudonym};
        let one = |number: usize| {
            let mut id = [0; 16];
            id[..8].copy_from_slice(&(number as u64).to_be_bytes());
            let (kind, because) = (DerivedKind::Session, Because::WorksFor);
            Derived { kind, id: FamilyId(id), owner: Pseudonym([7; 16]), because, taken: number == 3 }
        };
        let list = |count| -> Vec<Derived> { (0..count).map(one).collect() };
        assert_eq!(root_of(&list(LISTED)), None);
        let listed = serde_json::to_vec(&list(LISTED)).unwrap();
        // A receipt has room for a MiB, and the payload is in base64 there.
        assert!(listed.len() * 4 / 3 < (1 << 20) / 2, "{}", listed.len());
        let root = root_of(&list(LISTED + 1)).unwrap();
        assert_eq!((root.count, root.root.len()), (LISTED as u64 + 1, 64));
        let mut other = list(LISTED + 1);
        other[3].taken = false;
        assert_ne!(root_of(&other).unwrap().root, root.root);
    }

    #[test]
    fn runs_are_cut_into_transactions_of_few_entries() {
        assert_eq!(batches(&[]), Vec::<Vec<Run>>::new());
        assert_eq!(batches(&[run(1, 1, 3), run(2, 5, 5)]), [vec![run(1, 1, 3), run(2, 5, 5)]]);
        let cut = batches(&[run(1, 1, 10), run(2, 1, 2 * BATCH)]);
        assert_eq!(
            cut,
            [
                vec![run(1, 1, 10), run(2, 1, BATCH - 10)],
                vec![run(2, BATCH - 9, 2 * BATCH - 10)],
                vec![run(2, 2 * BATCH - 9, 2 * BATCH)],
            ]
        );
    }
}
