//! Planning an erasure, and recording that it has begun.

use super::{EraseOptions, EraseWhat, ErasurePlan, ErasureRecord, refuse_held};
use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::payload::{Counted, DatasetExported, ErasureStarted, NamedActor, Unreached};
use crate::views;
use samite_host::files::FileLock;
use samite_host::kill_point;
use samite_ledger::Guard;
use samite_model::erasure::{Plan, Scope, held, plan};
use samite_model::{EntryKind, Error, FamilyId, KeyId, Position, Pseudonym, Result, SessionId, limits};
use std::path::PathBuf;

/// A file that whoever carries an erasure out holds the lock of.
const LOCK: &str = "erasing.lock";

/// An erasure as it was looked up.
pub(super) struct Prepared {
    pub(super) scope: Scope,
    pub(super) subject: Pseudonym,
    pub(super) plan: Plan,
    pub(super) keys: Vec<KeyId>,
    /// The session that an artifact was made in.
    made_in: Option<SessionId>,
}

impl Embedded {
    pub(super) fn erasing_lock(&self) -> PathBuf {
        self.home().join(LOCK)
    }

    /// What an erasure would take. Changes nothing.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not erase, or not what is another's; `not_found` (`no_subject`, `no_session`, `no_artifact`, `no_position`) when there is nothing of it; `corrupt` when
    /// something that tells cannot be read.
    pub async fn plan_erasure(&self, client: &Client, options: &EraseOptions) -> Result<ErasurePlan> {
        let client = &client.to_erase(&options.what)?;
        let prepared = client.prepare(&options.what).await?;
        let tenant = client.core.as_tenant(client.by())?;
        let holds = client.core.holds().await?;
        let mut writers = Vec::new();
        for journal in &prepared.plan.close {
            if let Some(lease) = client.core.0.ledger.holder(*journal).await?
                && lease.expires > client.core.now()
            {
                writers.push(*journal);
            }
        }
        let found = tenant.count(&prepared).await?;
        Ok(ErasurePlan {
            entries: found.first().map_or(0, |entries| entries.found),
            found,
            keys: prepared.keys.len(),
            writers,
            derived: prepared.plan.derived.clone(),
            unreached: client.core.unreached(&prepared.scope, prepared.subject).await?,
            held: held(&holds, &prepared.scope, prepared.subject, prepared.made_in).cloned(),
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
        limits::check_name("a reason", &options.reason)?;
        let client = &client.to_erase(&options.what)?;
        let core = &client.core;
        let Some(_lock) = FileLock::try_acquire(&self.erasing_lock())? else {
            return Err(Error::conflict("erasure_running", "another erasure is being carried out")
                .hint("wait for it: `samite erase list` shows it"));
        };
        options.observer.tell("looking for what there is", 0, None);
        let control = core.tenant_control();
        let version = core.0.ledger.registers(control).await?.0;
        let prepared = client.prepare(&options.what).await?;
        let holds = core.holds().await?;
        if let Some(hold) = held(&holds, &prepared.scope, prepared.subject, prepared.made_in) {
            return Err(refuse_held(hold));
        }
        if prepared.scope.destroys_keys() {
            core.0.keys.master().can_destroy()?;
        }
        let tenant = core.as_tenant(client.by())?;
        let started = tenant.started(prepared, &options.reason).await?;
        let draft = core.draft(EntryKind::ERASURE_STARTED, &started, views::erasure_started(&started))?;
        let guard = Guard::Registers { journal: control, version };
        core.append_as_tenant(client.by(), vec![draft], vec![guard]).await.map_err(|error| {
            if error.code() != "registers_moved" {
                return error;
            }
            Error::conflict("erasure_running", "a hold or an erasure came in between").hint("look again")
        })?;
        kill_point("erase.started");
        core.note_erasure(&started)?;
        kill_point("erase.noted");
        self.carry_out(&started, &options.observer).await
    }
}

impl Client {
    /// Looks up what is meant, and what of it there is.
    async fn prepare(&self, what: &EraseWhat) -> Result<Prepared> {
        let core = &self.core;
        let mut made_in = None;
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
        };
        let keys = if scope.destroys_keys() { core.0.keys.keys_of(subject)? } else { Vec::new() };
        if scope.destroys_keys() && keys.is_empty() {
            return Err(Error::not_found("no_subject", "there is nothing of this user in the store")
                .hint("names are compared letter by letter; `samite erase list` shows what was erased already"));
        }
        let facts = core.erasure_facts(&scope, subject).await?;
        Ok(Prepared { plan: plan(&scope, subject, &facts), scope, subject, keys, made_in })
    }

    /// Counts what is found. The first are entries.
    async fn count(&self, prepared: &Prepared) -> Result<Vec<Counted>> {
        let all = |store: &str, count: usize| Counted {
            store: store.to_owned(),
            found: count as u64,
            deleted: count as u64,
            retained: 0,
            bytes: None,
            why: None,
        };
        let mut entries = all("entries", 0);
        for run in &prepared.plan.runs {
            entries.found += run.count();
        }
        entries.deleted = entries.found;
        entries.why = Some("headers, links and commitments stay, so that what follows still verifies".to_owned());
        let blocks = self.count_blocks(&prepared.scope, prepared.subject, &prepared.plan).await?;
        let mut counted = vec![entries, blocks];
        counted.push(all("sessions", prepared.plan.sessions.len()));
        counted.push(all("artifacts", prepared.plan.artifacts.len()));
        counted.push(all("keys", prepared.keys.len()));
        Ok(counted)
    }

    async fn started(&self, prepared: Prepared, reason: &str) -> Result<ErasureStarted> {
        let core = &self.core;
        let found = self.count(&prepared).await?;
        let Prepared { scope, subject, plan, keys, .. } = prepared;
        let mut sessions = plan.sessions.clone();
        if let Scope::Entries { session, .. } = scope {
            sessions.push(session);
        }
        let traces = core.traces(&sessions).await?;
        let goes = matches!(scope, Scope::User | Scope::Session { .. });
        Ok(ErasureStarted {
            erasure: FamilyId(core.random_id()?),
            actor: self.actor,
            named: NamedActor::of(&self.named),
            reason: reason.to_owned(),
            begun: core.now(),
            epoch: core.0.keys.epoch()?,
            // Those of a person are found by their keys, in an older copy of the store too.
            runs: if scope.destroys_keys() { Vec::new() } else { plan.runs },
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

impl Core {
    /// What an erasure does not reach.
    pub(super) async fn unreached(&self, scope: &Scope, subject: Pseudonym) -> Result<Vec<Unreached>> {
        let all = scope.destroys_keys();
        let mut unreached = Vec::new();
        let entry = |what: &str, which: Option<String>, why: &str, until: &str| Unreached {
            what: what.to_owned(),
            which,
            why: why.to_owned(),
            until: until.to_owned(),
        };
        let in_backup = if all {
            "payloads and trees in it open for nobody; chunks of files are under the tenant's key, which lives"
        } else {
            "what was erased is in it as it was, under keys that live"
        };
        let backups: Vec<(Position, crate::payload::BackedUp)> = self.said_of_tenant(EntryKind::BACKED_UP).await?;
        for (_, backup) in backups {
            unreached.push(entry(
                "backup",
                Some(backup.to),
                in_backup,
                "it is deleted, or opened with this master key, which erases there before anything is served",
            ));
        }
        for processor in self.processors_ever().await? {
            let why = format!("it was given {} in {}", processor.receives.join(", "), processor.region);
            unreached.push(entry("processor", Some(processor.name), &why, "whoever has it deletes it"));
        }
        for (_, dataset) in self.said_of_tenant::<DatasetExported>(EntryKind::DATASET_EXPORTED).await? {
            if dataset.may_hold(scope, subject) {
                let why = "it was exported for training, and what was learned from it is not known here";
                unreached.push(entry("dataset", Some(dataset.dataset.to_string()), why, "whoever has it deletes it"));
            }
        }
        let any = "a backup, clone or snapshot of the disk that samite was not told of";
        unreached.push(entry("other_copy", None, any, "it is deleted; one of the store is erased when it is opened"));
        if all {
            let why = "an exported master key that was made before opens a backup that was made before";
            unreached.push(entry(
                "key_export",
                None,
                why,
                "it is destroyed: export the key again, and delete the older one",
            ));
        }
        let why = "files in the workspaces' own directories, and what agents keep of their own, are not samite's";
        unreached.push(entry("workspace", None, why, "whoever has them deletes them"));
        let why = "a disk or file system may keep what was overwritten or removed";
        unreached.push(entry("disk", None, why, "it writes over it; encrypt the disk"));
        Ok(unreached)
    }
}
