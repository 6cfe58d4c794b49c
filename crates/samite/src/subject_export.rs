//! Everything of a person, in a directory: entries as lines of JSON, files as files, and what proves both.

use crate::client::Client;
use crate::core::Core;
use crate::embedded::Embedded;
use crate::payload::{Handed, is_event};
use crate::views::row;
use crate::whole_directory::WholeDirectory;
use data_encoding::{BASE64, HEXLOWER};
use samite_host::files::{self, AppendFile};
use samite_host::kill_point;
use samite_ledger::{JournalFilter, JournalKind, JournalState, Read, RowQuery, StoredEntry};
use samite_model::erasure::Run;
use samite_model::{BlockId, Error, Header, JournalId, Observer, Position, Principal, Pseudonym, Result, user_name};
use samite_workspace::{RestoreOptions, materialise};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Entries are read in pages of so many.
const PAGE: u64 = 256;

/// What is written into the directory before `subject.json`.
const OURS: [&str; 9] = [
    "artifacts",
    "artifacts.jsonl",
    "audit-key",
    "elsewhere.jsonl",
    "journals",
    "proofs",
    "receipts.jsonl",
    "trees",
    "trees.jsonl",
];

/// How to export.
#[derive(Clone, Debug, Default)]
pub struct SubjectExportOptions {
    /// The user.
    pub user: String,
    /// The directory, which is made and must be empty.
    pub to: PathBuf,
    /// Each tree that was recorded, and not only the last of each branch.
    pub all_trees: bool,
    /// Is told how many entries are written.
    pub observer: Observer,
}

/// What was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectExport {
    /// Whose data, as it stands in headers.
    pub subject: String,
    /// How many journals hold entries of the person.
    pub journals: u64,
    /// How many entries were written.
    pub entries: u64,
    /// How many entries that the person wrote in sessions of others were written beside them.
    pub elsewhere: u64,
    /// How many of them were erased before: only what headers say is left.
    pub erased: u64,
    /// How many trees were written as directories.
    pub trees: u64,
    /// How many artifacts were written.
    pub artifacts: u64,
    /// How many bytes were written in all.
    pub bytes: u64,
    /// How many receipts of the audit log were written.
    pub receipts: u64,
    /// How far each journal with entries of the person had come.
    pub heads: Vec<(JournalId, u64)>,
}

/// What is being written.
struct Export<'a> {
    core: &'a Core,
    subject: Pseudonym,
    options: &'a SubjectExportOptions,
    done: SubjectExport,
}

impl Embedded {
    /// Writes all data of a user into a directory: `subject.json`, which is there once all else is, `journals/ID.jsonl` with a line for each entry (its header's
    /// fields, salt and payload), `elsewhere.jsonl` with one for each that the person wrote in sessions of others, `receipts.jsonl` with a line for each journal (its head, and the stored header of each entry is
    /// in its line), `trees/…`, `artifacts/…`, and receipts of the audit log with its verifier key. Each journal is anchored, and
    /// that it leaves is recorded before the first byte of it is written. When this returns, the lines are durable; files are as
    /// durable as the operating system makes them.
    ///
    /// # Errors
    /// `denied` (`scope_missing`) for who may not read what is its user's, or may not operate the tenant where it is somebody
    /// else's; `not_found` (`no_subject`) when there is nothing of the user; `conflict` (`not_empty`) when the directory holds
    /// something other than what an export left behind that was cut off; `corrupt` naming what cannot be read.
    pub async fn export_subject(&self, client: &Client, options: &SubjectExportOptions) -> Result<SubjectExport> {
        let client = &client.to_hand_out(&options.user).await?;
        let core = &client.core;
        let user = user_name(&options.user)?;
        let subject = client.pseudonym_of_user(&options.user)?;
        if core.0.keys.keys_of(subject)?.is_empty() {
            return Err(Error::not_found("no_subject", "there is nothing of this user in the store")
                .hint("names are compared letter by letter; `samite erase list` shows what was erased already"));
        }
        outside(self.directory(), &options.to)?;
        let directory = WholeDirectory::begin(&options.to, "subject.json", &OURS)?;
        // Receipts say nothing of anybody, and a person gets them whose own principal may not see the log.
        let audit = client.audit_as_tenant();
        audit.anchor(&options.observer).await?;
        let elsewhere = core.words_elsewhere(subject).await?;
        let owned = core.0.ledger.owned(subject).await?;
        let entries = owned.iter().map(Run::count).fold(elsewhere.len() as u64, u64::saturating_add);
        client.record_handed_out(Handed::SubjectExport, Some(subject), entries).await?;
        kill_point("subject.recorded");
        let done = SubjectExport { subject: subject.to_string(), ..SubjectExport::default() };
        let mut export = Export { core, subject, options, done };
        export.journals().await?;
        export.elsewhere(&elsewhere).await?;
        export.trees().await?;
        let principal = Principal {
            tenant: core.0.keys.tenant().clone(),
            user: user.to_owned(),
            agent: "samite".to_owned(),
            workload: "export".to_owned(),
            scopes: Vec::new(),
            parents: Vec::new(),
        };
        // Whether all of it may be handed out was asked above.
        export.artifacts(&self.store().reader(principal)?.tenant_wide()).await?;
        kill_point("subject.written");
        export.done.receipts = audit.receipts(&export.done.heads, &options.to.join("proofs")).await?;
        let key = audit.logs().await?.pop().map(|log| format!("{}\n", log.key)).unwrap_or_default();
        files::write_atomic(&options.to.join("audit-key"), key.as_bytes(), files::PRIVATE_FILE)?;
        export.describe(&directory.part())?;
        directory.end()?;
        for file in files::files_below(&options.to)?.files {
            export.done.bytes += files::size(&file)?;
        }
        Ok(export.done)
    }
}

impl Export<'_> {
    fn place(&self, parts: &[&str]) -> PathBuf {
        parts.iter().fold(self.options.to.clone(), |path, part| path.join(part))
    }

    fn directory(&self, parts: &[&str]) -> Result<PathBuf> {
        let path = self.place(parts);
        files::create_private_dir(&path)?;
        Ok(path)
    }

    fn line(file: &mut AppendFile, value: &Value) -> Result<()> {
        file.append(format!("{value}\n").as_bytes()).map(|_| ())
    }

    /// The entries of each journal, and what they can be checked against.
    async fn journals(&mut self) -> Result<()> {
        self.directory(&["journals"])?;
        let mut receipts = AppendFile::create(&self.place(&["receipts.jsonl"]))?;
        let mut runs: BTreeMap<JournalId, Vec<Run>> = BTreeMap::new();
        for run in self.core.0.ledger.owned(self.subject).await? {
            runs.entry(run.journal).or_default().push(run);
        }
        for (journal, runs) in runs {
            let state = self.core.journal(journal).await?;
            let mut file = AppendFile::create(&self.place(&["journals", &format!("{journal}.jsonl")]))?;
            for run in runs {
                self.run(&state, run, &mut file).await?;
            }
            file.sync()?;
            self.done.journals += 1;
            self.done.heads.push((journal, state.head));
            let parent = state.parent.map(|at| json!({ "journal": at.journal, "seq": at.seq }));
            Self::line(
                &mut receipts,
                &json!({
                    "journal": journal, "family": state.family, "kind": state.kind.code(), "owner": state.owner,
                    "parent": parent, "head": state.head, "head_link": state.head_link,
                }),
            )?;
        }
        receipts.sync()
    }

    /// What the person wrote in sessions of others: a line each, as of an own one.
    async fn elsewhere(&mut self, words: &[Position]) -> Result<()> {
        let mut file = AppendFile::create(&self.place(&["elsewhere.jsonl"]))?;
        for at in words {
            let state = self.core.journal(at.journal).await?;
            for stored in self.core.0.ledger.read(Read::range(at.journal, at.seq, at.seq)).await? {
                let line = self.entry(&state, &stored)?;
                Self::line(&mut file, &line)?;
                self.done.elsewhere += 1;
            }
        }
        file.sync()
    }

    async fn run(&mut self, state: &JournalState, run: Run, file: &mut AppendFile) -> Result<()> {
        let mut from = run.first;
        while from <= run.last {
            let to = run.last.min(from.saturating_add(PAGE - 1));
            for stored in self.core.0.ledger.read(Read::range(run.journal, from, to)).await? {
                let line = self.entry(state, &stored)?;
                Self::line(file, &line)?;
                self.done.entries += 1;
            }
            self.options.observer.tell("writing entries", self.done.entries, None);
            from = to.saturating_add(1);
        }
        Ok(())
    }

    /// An entry, with all that its commitment and its link can be checked by.
    fn entry(&mut self, state: &JournalState, stored: &StoredEntry) -> Result<Value> {
        let header = Header::decode(&stored.header)?;
        let entry = self.core.whole(self.core.open(state.id, stored)?)?;
        let salt = match &stored.payload {
            Some(sealed) if entry.payload.is_some() => {
                Some(HEXLOWER.encode(&self.core.0.keys.open_payload(&header, state.id, sealed)?.salt))
            }
            _ => None,
        };
        self.done.erased += u64::from(entry.payload.is_none());
        let mut line = json!({
            "journal": state.id, "seq": stored.seq, "id": header.id, "kind": header.kind.name(), "time": header.time,
            "epoch": header.epoch, "actor": header.actor, "owner": header.owner,
            "commitment": header.commitment, "header": HEXLOWER.encode(&stored.header), "link": stored.link,
            "salt": salt, "erased": entry.payload.is_none(),
        });
        let Some(payload) = &entry.payload else { return Ok(line) };
        // The very bytes, by which the commitment is checked; and what they say.
        if let Some(object) = line.as_object_mut() {
            object.insert("payload_base64".to_owned(), BASE64.encode(payload).into());
            if is_event(header.kind) {
                let event = entry.event()?;
                object.insert("dedupe".to_owned(), json!(event.dedupe));
                object.insert("attributes".to_owned(), json!(event.attributes));
                object.insert("body".to_owned(), said(event.body));
            } else {
                object.insert("body".to_owned(), said(payload));
            }
        }
        Ok(line)
    }

    /// The trees of the person's branches, as directories.
    async fn trees(&mut self) -> Result<()> {
        let states = self.core.0.ledger.journals(JournalFilter::default()).await?;
        let mut listed = AppendFile::create(&self.place(&["trees.jsonl"]))?;
        for state in states.iter().filter(|state| state.kind == JournalKind::Branch && state.owner == self.subject) {
            let at = Position { journal: state.id, seq: state.head };
            let limit = if self.options.all_trees { usize::MAX } else { 1 };
            let query = RowQuery { at, kind: row::TREE, hashes: Vec::new(), limit };
            for found in self.core.0.ledger.rows(query).await? {
                let root = BlockId::from_slice(&found.value)?;
                let is_there = self.core.0.blocks.find_blocks(vec![root]).await?.iter().all(Option::is_some);
                let name = format!("{}@{}", found.position.journal, found.position.seq);
                let into = self.place(&["trees", &name]);
                if is_there && !files::exists(&into)? {
                    self.directory(&["trees"])?;
                    self.put(root, &into)?;
                    self.done.trees += 1;
                    self.options.observer.tell("writing trees", self.done.trees, None);
                }
                let directory = is_there.then(|| format!("trees/{name}"));
                Self::line(
                    &mut listed,
                    &json!({ "branch": state.id, "at": found.position, "root": root, "directory": directory }),
                )?;
            }
        }
        listed.sync()
    }

    /// Artifacts, with their inputs, below their ids: `artifact` has the bytes.
    async fn artifacts(&mut self, client: &Client) -> Result<()> {
        let mut listed = AppendFile::create(&self.place(&["artifacts.jsonl"]))?;
        for artifact in client
            .artifacts(&crate::artifact::ArtifactFilter {
                all_versions: true,
                ..crate::artifact::ArtifactFilter::default()
            })
            .await?
        {
            let id = artifact.record.artifact.to_string();
            let root = artifact.record.root;
            let is_there = self.core.0.blocks.find_blocks(vec![root]).await?.iter().all(Option::is_some);
            if is_there {
                self.directory(&["artifacts"])?;
                let into = self.place(&["artifacts", &id]);
                self.put(root, &into)?;
                self.done.artifacts += 1;
            }
            let file = is_there.then(|| format!("artifacts/{id}"));
            Self::line(&mut listed, &json!({ "record": artifact.record, "directory": file }))?;
        }
        listed.sync()
    }

    /// Puts a tree into a directory.
    fn put(&self, root: BlockId, into: &Path) -> Result<()> {
        let options = RestoreOptions::new(self.core.random_id()?, self.subject, None, root);
        let made = materialise(&self.core.blocks(), into, &options)?;
        match made.failed.first() {
            Some(failed) => {
                Err(Error::conflict("not_put_back", format!("{} could not be made: {}", failed.path, failed.what))
                    .hint("give a directory on a file system that can hold it"))
            }
            None => Ok(()),
        }
    }

    fn describe(&self, to: &Path) -> Result<()> {
        let about = json!({
            "user": user_name(&self.options.user)?, "subject": self.done.subject, "exported_at": self.core.now(),
            "journals": self.done.journals, "entries": self.done.entries, "elsewhere": self.done.elsewhere,
            "erased": self.done.erased,
            "trees": self.done.trees, "artifacts": self.done.artifacts,
        });
        files::write_atomic(to, format!("{about:#}\n").as_bytes(), files::PRIVATE_FILE)
    }
}

/// Bytes as JSON: themselves where they are JSON, else text, else base64.
pub(crate) fn said(bytes: &[u8]) -> Value {
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return json!({ "json": value });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({ "text": text }),
        Err(_) => json!({ "base64": BASE64.encode(bytes) }),
    }
}

/// Refuses a directory in the store itself.
pub(crate) fn outside(store: &Path, to: &Path) -> Result<()> {
    if files::canonical_to_be(to)?.starts_with(files::canonical(store)?) {
        return Err(Error::invalid("inside_store", format!("{} is in the store itself", to.display()))
            .hint("give a directory elsewhere"));
    }
    Ok(())
}
