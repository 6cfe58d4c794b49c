//! Planning an erasure, and recording that it has begun.

use super::memories::empty_namespace;
use super::{EraseOptions, EraseWhat, ErasurePlan, ErasureRecord, refuse_held};
use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::payload::{
    ConsentSet, Counted, DatasetExported, ErasureStarted, Handed, HoldLifted, HoldSet, MergeStarted, NamedActor,
    Unreached,
};
use crate::views;
use samite_host::files::{self, FileLock};
use samite_host::kill_point;
use samite_ledger::{Guard, JournalKind, NewEntry};
use samite_model::erasure::{
    ArtifactFacts, Elsewhere, Facts, Hold, Plan, Run, RunSet, Scope, held, held_also, held_memory, plan,
};
use samite_model::{
    EntryKind, Error, FamilyId, JournalId, KeyId, Position, Pseudonym, RecordId, Result, SessionId, limits,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file that whoever carries an erasure out holds the lock of.
const LOCK: &str = "erasing.lock";

/// How often it is looked again because something was written to a namespace that records go of.
const ROUNDS: usize = 64;

/// Why something is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody asked for it.
    Asked,
    /// It was kept long enough.
    Retention,
}

/// An erasure as it was looked up.
pub(super) struct Prepared {
    pub(super) scope: Scope,
    pub(super) subject: Pseudonym,
    pub(super) plan: Plan,
    pub(super) keys: Vec<KeyId>,
    /// The hold that stands against it.
    pub(super) held: Option<Hold>,
    pub(super) facts: Facts,
}

impl Embedded {
    pub(super) fn erasing_lock(&self) -> PathBuf {
        self.home().join(LOCK)
    }

    /// What an erasure would take. Changes nothing.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not erase, or not what is another's; `not_found` (`no_subject`, `no_session`, `no_artifact`, `no_position`, and `erased` for entries that all went
    /// before) when there is nothing of it; `corrupt` when something that tells cannot be read.
    pub async fn plan_erasure(&self, client: &Client, options: &EraseOptions) -> Result<ErasurePlan> {
        let client = &client.to_erase(&options.what).await?;
        let prepared = client.prepare(&options.what, &options.also).await?;
        let tenant = client.core.as_tenant(client.by())?;
        let mut writers = Vec::new();
        for journal in &prepared.plan.close {
            if let Some(lease) = client.core.0.ledger.holder(*journal).await?
                && lease.expires > client.core.now()
            {
                writers.push(*journal);
            }
        }
        let mut found = tenant.count(&prepared).await?;
        let entries = found.first().map_or(0, |entries| entries.found);
        if prepared.held.is_some() {
            for one in &mut found {
                (one.deleted, one.retained, one.bytes) = (0, one.found, None);
                one.why = Some("a legal hold keeps it".to_owned());
            }
        }
        Ok(ErasurePlan {
            entries,
            found,
            keys: prepared.keys.len(),
            writers,
            derived: prepared.plan.derived.clone(),
            unreached: {
                let (scope, plan) = (&prepared.scope, &prepared.plan);
                let foreign = if scope.destroys_keys() { &plan.foreign } else { &plan.runs };
                let mut unreached = client.core.unreached(scope, prepared.subject, foreign).await?;
                unreached.extend(client.core.layouts_outside(&prepared.plan.close, self.directory()).await?);
                unreached
            },
            held: prepared.held.clone(),
            scope: prepared.scope,
            subject: prepared.subject,
        })
    }

    /// Erases: when this returns, nothing of it can be read in the store any more, and the proof is recorded. One that is cut
    /// off is finished by whoever opens the store for writing next.
    ///
    /// # Errors
    /// As [`Embedded::plan_erasure`]; before anything changes, `denied` (`legal_hold`, or `cannot_destroy` when the master
    /// cannot destroy a key that has to be); `conflict` (`erasure_running`) while another is carried out; later,
    /// `unavailable` (`store_busy`, `busy`) when others are in the way: what was begun is then to be resumed.
    pub async fn erase(&self, client: &Client, options: &EraseOptions) -> Result<ErasureRecord> {
        self.erase_for(&client.to_erase(&options.what).await?, options, Why::Asked).await
    }

    /// As [`Embedded::erase`], by a client that has the whole tenant and acts for the person whose data it is.
    pub(crate) async fn erase_for(&self, client: &Client, options: &EraseOptions, why: Why) -> Result<ErasureRecord> {
        limits::check_name("a reason", &options.reason)?;
        if matches!(options.what, EraseWhat::Secret(_)) {
            return Err(Error::invalid("bad_scope", "a registered secret is forgotten, not erased")
                .hint("`samite secrets forget NAME`"));
        }
        self.erase_with(client, options, why, Vec::new()).await
    }

    /// The same for a client that may, with entries that are made in the commit by which it begins.
    pub(super) async fn erase_with(
        &self,
        client: &Client,
        options: &EraseOptions,
        why: Why,
        first: Vec<NewEntry>,
    ) -> Result<ErasureRecord> {
        let core = &client.core;
        let Some(_lock) = FileLock::try_acquire(&self.erasing_lock())? else {
            return Err(Error::conflict("erasure_running", "another erasure is being carried out")
                .hint("wait for it: `samite erase list` shows it"));
        };
        options.observer.tell("looking for what there is", 0, None);
        let mut rounds = 0;
        let started = loop {
            rounds += 1;
            match self.record_start(client, options, why, first.clone()).await {
                // Something was written to a namespace that records go of: it may have been made of them.
                Err(error) if error.code() == "head_moved" && rounds < ROUNDS => {}
                started => break started?,
            }
        };
        kill_point("erase.started");
        core.note_erasure(&started)?;
        kill_point("erase.noted");
        self.carry_out(&started, &options.observer).await
    }

    /// Looks for what goes, and records it.
    async fn record_start(
        &self,
        client: &Client,
        options: &EraseOptions,
        why: Why,
        first: Vec<NewEntry>,
    ) -> Result<ErasureStarted> {
        let core = &client.core;
        let control = core.tenant_control();
        let version = core.0.ledger.registers(control).await?.0;
        let prepared = client.prepare(&options.what, &options.also).await?;
        if let Some(hold) = &prepared.held {
            return Err(refuse_held(hold));
        }
        if prepared.scope.destroys_keys() {
            core.0.keys.master().can_destroy()?;
        }
        let tenant = core.as_tenant(client.by())?;
        let outside = core.layouts_outside(&prepared.plan.close, self.directory()).await?.len();
        let reason = core.kept_words(&options.reason).await?;
        let mut guards = Core::namespaces_stand(&prepared.facts, &prepared.plan.runs, &prepared.plan.close);
        let mut started = tenant.started(prepared, &reason, why).await?;
        started.layouts_outside = outside as u64;
        let draft = core.draft(EntryKind::ERASURE_STARTED, &started, views::erasure_started(&started))?;
        guards.push(Guard::Registers { journal: control, version });
        core.append_as_tenant_after(client.by(), first, vec![draft], guards).await.map_err(|error| {
            if error.code() != "registers_moved" {
                return error;
            }
            Error::conflict("erasure_running", "a hold or an erasure came in between").hint("look again")
        })?;
        Ok(started)
    }
}

impl Client {
    /// Looks up what is meant, and what of it there is.
    async fn prepare(&self, what: &EraseWhat, also: &[FamilyId]) -> Result<Prepared> {
        let core = &self.core;
        let mut made_in = None;
        let mut asked: Vec<RecordId> = Vec::new();
        let (scope, subject) = match what {
            EraseWhat::User(user) => (Scope::User, self.pseudonym_of_user(user)?),
            EraseWhat::Session(session) => (Scope::Session { session: *session }, self.control(*session).await?.owner),
            EraseWhat::Artifact(artifact) => {
                let record = self.artifact(*artifact).await?;
                made_in = Some(record.record.lineage.session);
                (Scope::Artifact { artifact: *artifact }, self.subject.pseudonym)
            }
            EraseWhat::Entries { session, branch, from, to } => {
                let (from, to) = (*from, *to);
                if from == 0 || from > to {
                    return Err(Error::invalid("bad_range", format!("there are no entries from {from} to {to}"))
                        .hint("write the first and the last seq: SESSION@3..7"));
                }
                let state = self.branch_state(*session, *branch).await?;
                core.ancestry(Position { journal: state.id, seq: to }).await?;
                (Scope::Entries { session: *session, branch: *branch, from, to }, state.owner)
            }
            EraseWhat::Memory(namespace) | EraseWhat::Records { namespace, .. } => {
                let owner = self.subject.pseudonym;
                let (journal, state) = core.memory_state(owner, namespace).await?;
                if state.is_none() {
                    return Err(empty_namespace());
                }
                if let EraseWhat::Records { records, .. } = what {
                    asked.extend(records);
                    (Scope::Records { journal }, owner)
                } else {
                    (Scope::Memory { journal }, owner)
                }
            }
            EraseWhat::Secret(name) => {
                let secret = FamilyId(core.secret_hash(name));
                (Scope::Secret { secret }, core.owner_of_secret(name).await?)
            }
        };
        let keys = if scope.destroys_keys() { core.0.keys.keys_of(subject)? } else { Vec::new() };
        if scope.destroys_keys() && keys.is_empty() {
            return Err(Error::not_found("no_subject", "there is nothing of this user in the store")
                .hint("names are compared letter by letter; `samite erase list` shows what was erased already"));
        }
        let holds = core.holds().await?;
        let mut facts = core.erasure_facts(&scope, subject, &holds).await?;
        if let Scope::Records { journal } = scope {
            if asked.is_empty() {
                return Err(Error::invalid("bad_scope", "no record is named")
                    .hint("`samite memory list` shows those there are"));
            }
            let is_here = |record: &RecordId| {
                facts.records.iter().any(|known| known.at.journal == journal && known.record == *record)
            };
            if let Some(other) = asked.iter().find(|record| !is_here(record)) {
                return Err(crate::memory::no_record(*other));
            }
            facts.asked = asked;
        }
        let plan = plan(&scope, subject, &facts, also);
        if let Scope::Entries { session, branch, from, to } = scope {
            let before = core.erased_before(None).await?;
            if let (0, 1..) = core.count_entries(&plan.runs, &before).await? {
                let (session, branch) = (session.short(), branch.short());
                let what =
                    format!("what there was at {from}..{to} of branch {branch} of session {session} was erased before");
                return Err(Error::not_found("erased", what).hint("`samite erase list` shows when, and why"));
            }
        }
        for id in also {
            let taken = plan.derived.iter().find(|one| one.taken && one.id == *id);
            let Some(taken) = taken else {
                return Err(Error::invalid("not_derived", format!("{id} was not made of what is erased"))
                    .hint("--plan lists what was, with its id"));
            };
            // Whose it is has not asked.
            if taken.owner != self.authority.subject {
                self.operator().await?;
            }
        }
        let mut held = held(&holds, &scope, subject, made_in)
            .or_else(|| held_also(&holds, &plan, &facts))
            .or_else(|| held_memory(&holds, &scope, &plan, &facts))
            .cloned();
        if held.is_none() {
            held = core.held_writer(&holds, subject, &plan.runs).await?;
        }
        Ok(Prepared { scope, subject, plan, keys, held, facts })
    }

    /// Counts what is found. The first are entries.
    pub(super) async fn count(&self, prepared: &Prepared) -> Result<Vec<Counted>> {
        let all = |store: &str, count: usize| Counted {
            store: store.to_owned(),
            found: count as u64,
            deleted: count as u64,
            retained: 0,
            bytes: None,
            why: None,
        };
        let before = self.core.erased_before(None).await?;
        let (there, _) = self.core.count_entries(&prepared.plan.runs, &before).await?;
        let mut entries = all("entries", 0);
        (entries.found, entries.deleted) = (there, there);
        entries.why = Some("headers, links and commitments stay, so that what follows still verifies".to_owned());
        let blocks = self.count_blocks(&prepared.scope, prepared.subject, &prepared.plan).await?;
        let mut counted = vec![entries];
        counted.extend(blocks);
        counted.push(all("sessions", prepared.plan.sessions.len()));
        counted.push(all("artifacts", prepared.plan.artifacts.len()));
        let records = self.core.count_records(&prepared.plan.runs).await?;
        counted.push(all("records", usize::try_from(records).unwrap_or(usize::MAX)));
        let said = Core::said_and_stays(&prepared.facts, &prepared.plan.records);
        if said > 0 {
            let why = "what was decided of several records at once stays while one of them does, and that their source was revoked: with reasons";
            counted.push(Counted {
                store: "said_of_records".to_owned(),
                found: said,
                deleted: 0,
                retained: said,
                bytes: None,
                why: Some(why.to_owned()),
            });
        }
        counted.push(all("keys", prepared.keys.len()));
        if prepared.scope == Scope::User {
            counted.extend(in_others(&prepared.facts));
            counted.extend(self.core.decisions_about(prepared.subject).await?);
        }
        Ok(counted)
    }

    async fn started(&self, prepared: Prepared, reason: &str, why: Why) -> Result<ErasureStarted> {
        let core = &self.core;
        let found = self.count(&prepared).await?;
        let Prepared { scope, subject, plan, keys, facts, .. } = prepared;
        let mut sessions = plan.sessions.clone();
        if let Scope::Entries { session, .. } = scope {
            sessions.push(session);
        }
        let traces = core.traces(&sessions).await?;
        let mut artifact_hashes = Vec::new();
        // Who comes back has other keys, and what goes with a person goes with all their sessions.
        let hashed = |one: &&ArtifactFacts| {
            plan.artifacts.contains(&one.artifact) && (scope != Scope::User || one.owner != subject)
        };
        // What is due is let go, and nobody asked that it never be there again.
        for one in facts.artifacts.iter().filter(hashed).filter(|_| why == Why::Asked) {
            artifact_hashes.push(FamilyId(core.artifact_hash(one.owner, one.session, &one.name, &one.sha256)?));
        }
        artifact_hashes.sort_unstable();
        artifact_hashes.dedup();
        let mut records = plan.records.clone();
        records.sort_unstable();
        records.dedup();
        let record_hashes = match why {
            Why::Asked => core.record_hashes(&facts, &records).await?,
            Why::Retention => Vec::new(),
        };
        let runs = if scope.destroys_keys() { plan.foreign } else { plan.runs };
        let kept = Some(core.rows_to_keep(&runs, &plan.close).await?);
        let commitments = core.commitments(&runs, &plan.close).await?;
        let goes = matches!(scope, Scope::User | Scope::Session { .. });
        Ok(ErasureStarted {
            erasure: FamilyId(core.random_id()?),
            actor: self.actor,
            named: NamedActor::of(&self.named),
            reason: reason.to_owned(),
            begun: core.now(),
            epoch: core.0.keys.epoch()?,
            // Those of a person are found by their keys, in an older copy of the store too.
            runs,
            commitments,
            artifact_hashes,
            records,
            record_hashes,
            kept,
            layouts_outside: 0,
            close: plan.close,
            sessions: plan.sessions,
            artifacts: plan.artifacts,
            session_keys: if goes { traces.keys } else { Vec::new() },
            workspaces: traces.workspaces,
            lives: if matches!(scope, Scope::Entries { .. }) { Vec::new() } else { traces.lives },
            found,
            derived: plan.derived,
            replayed: false,
            scope,
            subject,
            keys,
        })
    }
}

/// What of a person is in journals of others, and of others in theirs.
fn in_others(facts: &Facts) -> Vec<Counted> {
    let mut counted = Vec::new();
    let mut add = |store: &str, found: u64, retained: u64, why: &str| {
        if found > 0 {
            let (store, why) = (store.to_owned(), Some(why.to_owned()));
            counted.push(Counted { store, found, deleted: found - retained, retained, bytes: None, why });
        }
    };
    let count = |said_again: bool, held: bool| {
        let is_it = |one: &&Elsewhere| one.said_again == said_again && (!held || one.held);
        facts.elsewhere.iter().filter(is_it).count() as u64
    };
    let why = "words and grants of this person in what others own; a legal hold keeps what stays";
    add("words_elsewhere", count(false, false), count(false, true), why);
    let why = "what others own that names this person is said again under a pseudonym; a legal hold keeps what stays";
    add("names_elsewhere", count(true, false), count(true, true), why);
    let why = "others wrote it in what is this person's own: it is under the same keys";
    add("words_of_others", facts.by_others, 0, why);
    let why =
        "others' summaries of what this person wrote are their own words, and stay: see whether they say too much";
    add("summaries_elsewhere", facts.summaries, facts.summaries, why);
    counted
}

/// Who owns what a person wrote and is named in elsewhere, and where that is.
#[derive(Debug, Default)]
pub(crate) struct Others {
    pub(crate) owners: BTreeSet<Pseudonym>,
    pub(crate) sessions: BTreeSet<SessionId>,
    pub(crate) entries: RunSet,
}

impl Core {
    /// The owners of entries that go with a person and are not theirs.
    async fn others_of(&self, subject: Pseudonym, runs: &[Run]) -> Result<Others> {
        let entries = RunSet::new(runs.iter().copied());
        let mut others = Others::default();
        for journal in entries.journals() {
            let Some(state) = self.0.ledger.journal(journal).await? else { continue };
            match state.kind {
                JournalKind::TenantControl => {
                    for (at, header) in self.headers_of(&state, vec![EntryKind::READ_RECORDED]).await? {
                        others.owners.extend(entries.has(at).then_some(header.owner));
                    }
                }
                kind => {
                    others.owners.insert(state.owner);
                    if matches!(kind, JournalKind::Branch | JournalKind::SessionControl) {
                        others.sessions.insert(state.family);
                    }
                }
            }
        }
        others.owners.remove(&subject);
        others.entries = entries;
        Ok(others)
    }

    /// The tenant's own records of decisions about a person: they stay.
    async fn decisions_about(&self, subject: Pseudonym) -> Result<Option<Counted>> {
        let about = |owner: Pseudonym| owner == subject;
        let mut found = 0;
        for (_, said) in self.said_of_tenant::<ConsentSet>(EntryKind::CONSENT_SET).await? {
            found += u64::from(about(said.on.subject()));
        }
        for (_, said) in self.said_of_tenant::<HoldSet>(EntryKind::HOLD_SET).await? {
            found += u64::from(about(said.on.subject()));
        }
        for (_, said) in self.said_of_tenant::<HoldLifted>(EntryKind::HOLD_LIFTED).await? {
            found += u64::from(about(said.on.subject()));
        }
        let why =
            "consents and holds are the tenant's own records: they have a pseudonym, and the words given with them";
        Ok((found > 0).then(|| Counted {
            store: "decisions".to_owned(),
            found,
            deleted: 0,
            retained: found,
            bytes: None,
            why: Some(why.to_owned()),
        }))
    }

    /// The layouts of open merges of these branches that are not in the store: what they hold is in the hands of whoever
    /// decides.
    async fn layouts_outside(&self, close: &[JournalId], store: &Path) -> Result<Vec<Unreached>> {
        let mut found = Vec::new();
        for journal in close {
            let Some(state) = self.0.ledger.journal(*journal).await?.filter(|state| state.kind == JournalKind::Branch)
            else {
                continue;
            };
            let mut paths = BTreeSet::new();
            for entry in self.entries_of(&state, vec![EntryKind::MERGE_STARTED]).await? {
                if entry.payload.is_some() {
                    let started: MergeStarted = entry.json()?;
                    paths.extend(started.layout.map(PathBuf::from));
                }
            }
            for path in paths {
                if !path.starts_with(store) && files::exists(&path)? {
                    found.push(layout_outside(Some(path.display().to_string())));
                }
            }
        }
        Ok(found)
    }

    /// What an erasure of these entries, where keys are destroyed of those of others, does not reach.
    pub(super) async fn unreached(&self, scope: &Scope, subject: Pseudonym, runs: &[Run]) -> Result<Vec<Unreached>> {
        let all = scope.destroys_keys();
        let others = if all { self.others_of(subject, runs).await? } else { Others::default() };
        let mut unreached = Vec::new();
        let entry = |what: &str, which: Option<String>, why: &str, until: &str| Unreached {
            what: what.to_owned(),
            which,
            why: why.to_owned(),
            until: until.to_owned(),
        };
        let in_backup = if all {
            "payloads, trees and what was stored separately of files in it open for nobody; other chunks of files are under the \
             tenant's key, which lives"
        } else {
            "what was erased is in it as it was, under keys that live"
        };
        let in_backup = if others.owners.is_empty() {
            in_backup.to_owned()
        } else {
            format!(
                "{in_backup}; what the person wrote in what others own is in it as it was, under their keys, which live"
            )
        };
        let backups: Vec<(Position, crate::payload::BackedUp)> = self.said_of_tenant(EntryKind::BACKED_UP).await?;
        for (_, backup) in backups {
            unreached.push(entry(
                "backup",
                Some(backup.to),
                &in_backup,
                "it is deleted, or opened with this master key, which erases there before anything is served",
            ));
        }
        for processor in self.processors_ever().await? {
            let why = format!("it was given {} in {}", processor.receives.join(", "), processor.region);
            unreached.push(entry("processor", Some(processor.name), &why, "whoever has it deletes it"));
        }
        for (_, dataset) in self.said_of_tenant::<DatasetExported>(EntryKind::DATASET_EXPORTED).await? {
            let of_others = dataset.sources.iter().any(|source| others.sessions.contains(&source.session));
            if dataset.may_hold(scope, subject) || of_others {
                let why = "it was exported for training, and what was learned from it is not known here";
                unreached.push(entry("dataset", Some(dataset.dataset.to_string()), why, "whoever has it deletes it"));
            }
        }
        let (handed, keys) = self.handed_out(scope, subject, &others).await?;
        for one in handed {
            let (what, why) = match one.what {
                Handed::Revealed => ("revealed", "what an entry says was shown to others in a receipt"),
                _ if one.subject != Some(subject) => (
                    "subject_export",
                    "all data of somebody in whose sessions the person wrote was written into a directory, unsealed",
                ),
                _ => ("subject_export", "all data of the person was written into a directory, unsealed"),
            };
            unreached.push(entry(what, Some(one.handover.to_string()), why, "whoever has it deletes it"));
        }
        let any = "a backup, clone or snapshot of the disk that samite was not told of";
        unreached.push(entry("other_copy", None, any, "it is deleted; one of the store is erased when it is opened"));
        if all {
            let why = "an exported master key that was made before opens a backup that was made before";
            let until = "it is destroyed: export the key again, and delete the older one";
            for one in keys {
                unreached.push(entry("key_export", Some(one.to_string()), why, until));
            }
            unreached.push(entry(
                "key_export",
                None,
                "one of which there is no record: the master's file itself copied",
                until,
            ));
        }
        let why = "files in the workspaces' own directories, and what agents keep of their own, are not samite's";
        unreached.push(entry("workspace", None, why, "whoever has them deletes them"));
        let why = "a disk or file system may keep what was overwritten or removed";
        unreached.push(entry("disk", None, why, "it writes over it; encrypt the disk"));
        Ok(unreached)
    }
}

/// What is said of a merge's layout that is not in the store. Its path is a word of the person: no proof has it.
pub(super) fn layout_outside(which: Option<String>) -> Unreached {
    Unreached {
        what: "layout".to_owned(),
        which,
        why: "files of an open merge were laid out there, outside of the store, where somebody decides".to_owned(),
        until: "whoever decides deletes the directory".to_owned(),
    }
}
