//! Resuming a harness from a branch: its transcript read, made anew and written where the harness finds it.
//!
//! A branch that was forked is, for the harness, a session of its own, whose id is the branch's id as a UUID. So nothing has to
//! be kept of which session is which branch, no crash can part the two, and a hook finds the branch by the session that the
//! harness says it is in.

use super::history::{History, KINDS};
use super::parts::whole;
use super::place::{Place, command, place, uuid, uuid_bytes};
use super::{Target, Written, write};
use crate::client::Client;
use crate::hook::Harness;
use crate::log::ReadOptions;
use crate::workspace::WorkspaceInfo;
use samite_host::files;
use samite_ledger::JournalKind;
use samite_model::{BranchId, Error, JournalId, Position, Result, SessionId};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How a harness is resumed from a branch.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// The harness.
    pub harness: Harness,
    /// The id of the session for it.
    pub session: String,
    /// The directory to start it in.
    pub directory: PathBuf,
    /// Where its transcript is, or is to be.
    pub path: PathBuf,
    /// Whether a transcript is there already: it is never written over.
    pub exists: bool,
    /// The command that resumes it.
    pub command: Vec<String>,
    /// The transcript.
    pub transcript: Written,
    marker: Option<(PathBuf, String)>,
    /// Whether it is of the branch's head, and so may be written.
    whole: bool,
}

impl Client {
    /// How the harness is resumed that worked on a branch, from its head or from the entry at `seq`. None when no harness told its
    /// hooks anything there. Nothing is written.
    ///
    /// # Errors
    /// `not_found` for a branch or position that is not there; `corrupt` when an entry cannot be read.
    pub async fn resumption(
        &self,
        session: SessionId,
        branch: BranchId,
        seq: Option<u64>,
    ) -> Result<Option<Resumption>> {
        let info = self.session(session).await?;
        // A sub-agent is resumed by nobody but its agent.
        if info.created.parent.is_some() {
            return Ok(None);
        }
        let branches = self.branches(session).await?;
        let found = branches.iter().find(|known| known.id == branch);
        let head = self.head(session, branch).await?;
        let at = self.position(session, branch, seq.unwrap_or(head.seq)).await?;
        let history = self.history(session, branch, at.seq).await?;
        let (Some(harness), Some(last)) = (history.harness, history.session.clone()) else { return Ok(None) };
        let forked = found.filter(|known| known.forked_at.is_some());
        let own = uuid(branch.as_bytes());
        let id = if forked.is_some() { own } else { last.clone() };
        let from = history.directory.clone().unwrap_or_default();
        let (directory, moved) = match forked.and_then(|fork| fork.forked_at) {
            Some(at) => self.new_directory(session, branch, &from, at).await?,
            None => (from.clone(), None),
        };
        let now = forked.and_then(|fork| fork.forked_at_time).unwrap_or(info.created_at);
        let target = Target { session: id.clone(), directory: directory.display().to_string(), moved, now };
        let transcript = written(harness, &history, &target);
        let old = history.transcript.clone().unwrap_or_default();
        let place = if id == last || old.as_os_str().is_empty() {
            Place { path: old, marker: None }
        } else {
            place(harness, &old, &from, &target)?
        };
        let exists = !place.path.as_os_str().is_empty() && files::exists(&place.path)?;
        Ok(Some(Resumption {
            harness,
            command: command(harness, &id),
            session: id,
            directory,
            exists,
            path: place.path,
            marker: place.marker,
            transcript,
            whole: at.seq == head.seq,
        }))
    }

    /// The branch that a session of a harness is, where it was resumed from the transcript of one.
    pub(crate) async fn resumed_branch(&self, session: &str) -> Result<Option<(SessionId, BranchId)>> {
        let Some(bytes) = uuid_bytes(session) else { return Ok(None) };
        let Some(state) = self.core.0.ledger.journal(JournalId(bytes)).await? else { return Ok(None) };
        let is_branch = state.kind == JournalKind::Branch && state.owner == self.subject.pseudonym;
        Ok(is_branch.then_some((state.family, state.id)))
    }

    async fn history(&self, session: SessionId, branch: BranchId, to: u64) -> Result<History> {
        let options = ReadOptions { to: Some(to), kinds: KINDS.to_vec(), ..ReadOptions::default() };
        let mut reader = self.read(session, Some(branch), options).await?;
        let mut history = History::default();
        loop {
            let page = reader.next().await?;
            if page.is_empty() {
                return Ok(history);
            }
            for entry in page {
                let entry = self.core.whole(entry)?;
                // Of what was erased nothing is told.
                if let Some(payload) = &entry.payload {
                    history.add(entry.position, entry.header.kind, payload)?;
                }
            }
        }
    }

    /// Where the harness works on a branch: the same place in the branch's workspace as it was in the workspace where it worked
    /// before, whichever branch has that now. With both workspaces, where they are not one.
    async fn new_directory(
        &self,
        session: SessionId,
        branch: BranchId,
        from: &Path,
        at: Position,
    ) -> Result<(PathBuf, Option<(String, String)>)> {
        let workspaces = self.workspaces(session).await?;
        let Some(own) = workspaces.iter().find(|workspace| workspace.branch == branch) else {
            return Ok((from.to_owned(), None));
        };
        let real = files::canonical(from).unwrap_or_else(|_| from.to_owned());
        if real.starts_with(&own.directory) {
            return Ok((from.to_owned(), None));
        }
        let within = |workspace: &WorkspaceInfo| real.strip_prefix(&workspace.directory).map(Path::to_owned).ok();
        // Of workspaces in each other, the inmost.
        let inmost = workspaces.iter().filter_map(within).min_by_key(|within| within.components().count());
        if let Some(within) = inmost {
            let root = from.ancestors().nth(within.components().count()).unwrap_or(from).display().to_string();
            let directory =
                if within.as_os_str().is_empty() { own.directory.clone() } else { own.directory.join(within) };
            return Ok((directory, Some((root, own.directory.display().to_string()))));
        }
        // It worked elsewhere, and goes on there: unless what it worked in is no workspace any more.
        let is_same = self.tree_at(at).await?.is_none_or(|tree| tree.tree.workspace == own.id);
        if is_same {
            return Ok((from.to_owned(), None));
        }
        let roots = (from.display().to_string(), own.directory.display().to_string());
        Ok((own.directory.clone(), Some(roots)))
    }
}

impl Resumption {
    /// Writes the transcript where the harness finds it, unless one is there. When this returns, it is durable. Returns whether
    /// it was written.
    ///
    /// # Errors
    /// `invalid` (`not_at_head`) when it is of a position before the branch's head, from which no harness can go on without
    /// a fork; `not_found` (`no_transcript_path`) when the hooks never named a transcript; `denied` or `unavailable`, naming the path.
    pub fn write(&self) -> Result<bool> {
        if !self.whole {
            return Err(Error::invalid("not_at_head", "a transcript of a position within a branch is only shown")
                .hint("fork or rewind to the position: that writes the transcript of the new branch"));
        }
        let Some(directory) = self.path.parent().filter(|directory| directory.is_absolute()) else {
            return Err(Error::not_found(
                "no_transcript_path",
                format!("{} never told its hooks where its transcript is", self.harness.name()),
            )
            .hint("`samite session transcript` prints it: put it where the agent keeps its sessions"));
        };
        if self.exists {
            return Ok(false);
        }
        files::create_private_dir(directory)?;
        if let Some((marker, owner)) = &self.marker {
            files::write_new(marker, owner.as_bytes(), files::PRIVATE_FILE)?;
        }
        samite_host::kill_point("transcript.before_write");
        let written = files::write_new(&self.path, &self.transcript.bytes, files::PRIVATE_FILE)?;
        samite_host::kill_point("transcript.written");
        Ok(written)
    }
}

/// The transcript of a branch, of the harness's own as it is, or of what was kept of that. A file may be gone, or have lost
/// what it had when a turn ended last: that is taken which lacks less of what the branch has, and then that which has more.
fn written(harness: Harness, history: &History, target: &Target) -> Written {
    let write = |original: Option<&[u8]>| write(harness, original, &history.happened, target);
    let Some(path) = history.transcript.as_ref().filter(|path| path.is_absolute()) else { return write(None) };
    let based = |bytes: Vec<u8>| if harness == Harness::Codex { with_base(path, &bytes) } else { bytes };
    let there = if path.is_file() { files::read(path).ok() } else { None };
    let kept = whole(&history.parts, path).filter(|kept| there.as_ref().is_none_or(|there| !there.starts_with(kept)));
    let (there, kept) = (there.map(based), kept.map(based));
    let of_file = write(there.as_deref());
    let Some(of_kept) = kept.map(|kept| write(Some(&kept))) else { return of_file };
    let lacks = |written: &Written| (written.made, std::cmp::Reverse(written.kept));
    if lacks(&of_kept) < lacks(&of_file) { of_kept } else { of_file }
}

/// How many rollouts may stand on one another.
const BASES: usize = 64;

/// A rollout with what it stands on: Codex CLI forks by naming another rollout and how much of it holds.
fn with_base(path: &Path, bytes: &[u8]) -> Vec<u8> {
    let first_of = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    let meta = first_of(bytes);
    let mut records = bytes.get(meta.len()..).unwrap_or_default().to_vec();
    let mut first = meta.clone();
    for _ in 0..BASES {
        let base = serde_json::from_slice::<Value>(&first).ok().and_then(|meta| {
            let base = meta.pointer("/payload/history_base")?;
            Some((base.get("thread_id")?.as_str()?.to_owned(), base.get("end_byte_offset")?.as_u64()?))
        });
        let Some((thread, end)) = base else { break };
        let Some(mut below) = rollout_of(path, &thread).and_then(|path| files::read(&path).ok()) else { break };
        below.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        first = first_of(&below);
        let mut all = below.get(first.len()..).unwrap_or_default().to_vec();
        all.append(&mut records);
        records = all;
    }
    [meta, records].concat()
}

/// The rollout of a session, in the directory of sessions that another is in.
fn rollout_of(beside: &Path, session: &str) -> Option<PathBuf> {
    let sessions = beside.ancestors().find(|above| above.file_name().is_some_and(|name| name == "sessions"))?;
    let ending = format!("-{session}.jsonl");
    let below = files::files_below(sessions).ok()?;
    below.files.into_iter().find(|path| path.to_string_lossy().ends_with(&ending))
}
