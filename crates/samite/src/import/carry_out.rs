//! Carrying out a plan: transcripts become sessions, branches, entries and steps.
//!
//! Entries are appended in batches, each one commit under a guard on the branch's head, so that the positions in it are
//! known before it is made. What the store knows already is skipped, so an import that was cut off goes on.

mod batch;
mod known;
mod target;

use super::claude_code::{AgentIdentity, Finished, KnownRecords, Lines, Planner as ClaudeCode, identify};
use super::frame::lines::Records;
use super::frame::plan::{Begin, BranchRef, Item, LineClass, SessionRef};
use super::frame::report::{Accounting, Finding, FindingKind, Report};
use crate::client::Client;
use crate::payload::ParentSession;
use crate::session::NewSession;
use samite_model::{Error, Result, SessionId};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use target::Target;

/// An import of one or more transcripts.
pub struct Importer<'a> {
    pub(super) client: &'a Client,
    /// The calls that started sub-agents, by agent.
    pub(super) agents: HashMap<String, String>,
    /// What each transcript knew, for its sub-agents.
    known: HashMap<String, KnownRecords>,
    pub(super) total: Accounting,
}

/// What one transcript became.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its session.
    pub session: SessionId,
    /// Sessions of sidechains inside it.
    pub sidechains: Vec<SessionId>,
    /// Every line in one class, and what there is to say.
    pub report: Report,
}

/// The code of the error for a file that is no transcript.
pub const NOT_A_TRANSCRIPT: &str = "not_a_transcript";

/// Is told how many bytes of a transcript were read.
pub type OnBytes<'a> = &'a mut dyn FnMut(u64);

impl<'a> Importer<'a> {
    /// An import into a client's sessions.
    pub fn new(client: &'a Client) -> Self {
        Self { client, agents: HashMap::new(), known: HashMap::new(), total: Accounting::default() }
    }

    /// Every line of all transcripts so far.
    pub fn accounting(&self) -> Accounting {
        self.total
    }

    /// Imports one transcript. `head` and `body` are two readers that stand at its start. When this returns, all of it
    /// is durable; importing it again adds nothing.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while a writer holds the session; `invalid` (`not_a_transcript`) when no line is a
    /// record of Claude Code, and then nothing was written; `invalid` when a line is larger than a payload may be;
    /// `unavailable` when the transcript cannot be read.
    pub async fn transcript(
        &mut self,
        path: &Path,
        head: impl BufRead,
        body: impl BufRead,
        progress: OnBytes<'_>,
    ) -> Result<Imported> {
        let mut identity = identify(path, head)?;
        if !identity.recognised {
            return Err(Error::invalid(NOT_A_TRANSCRIPT, "no line of it is a record of Claude Code")
                .hint("transcripts are in ~/.claude/projects, one file (*.jsonl) for each session"));
        }
        if let Some(AgentIdentity { id, tool_use: tool_use @ None }) = &mut identity.agent {
            *tool_use = self.agents.get(&agent_key(&identity.session_id, id)).cloned();
        }
        let parent_session = identity.session_id.clone();
        let is_agent = identity.agent.is_some();
        let mut planner = ClaudeCode::new(identity);
        if let (true, Some(known)) = (is_agent, self.known.get(&parent_session)) {
            planner = planner.below(known.clone());
        }
        let mut run = Run::new(self.client, &mut self.agents);
        let mut lines = Lines::new(body);
        while let Some(line) = lines.next_line()? {
            progress(line.offset + line.bytes.len() as u64);
            for item in planner.accept(&line) {
                run.carry_out(item).await?;
            }
        }
        let Finished { report, known, current, .. } = planner.finish();
        let imported = run.finish(report, &current).await?;
        if !is_agent {
            self.known.insert(parent_session, known);
        }
        self.total.add(&imported.report.accounting);
        Ok(imported)
    }

    /// Imports one source: reads it record by record and carries the planner's plan out. When this returns, all of it is
    /// durable; importing it again adds nothing.
    ///
    /// # Errors
    /// `conflict` (`lease_held`) while a writer holds the session; as the source's reading; `internal` (`bad_plan`) when
    /// no record begins a session.
    pub(super) async fn carry(
        &mut self,
        mut planner: impl Planner,
        records: &mut impl Records,
        progress: OnBytes<'_>,
    ) -> Result<Imported> {
        let mut run = Run::new(self.client, &mut self.agents);
        let mut last = 0;
        while let Some(record) = records.next_record()? {
            progress(record.offset + record.bytes.len() as u64);
            last = record.number;
            for item in planner.accept(&record) {
                run.carry_out(item).await?;
            }
        }
        let Plan { mut report, current } = planner.finish();
        if records.is_cut() && last > 0 {
            report.findings.push(Finding { line: last, kind: FindingKind::DocumentCut });
        }
        let imported = run.finish(report, &current).await?;
        self.total.add(&imported.report.accounting);
        Ok(imported)
    }
}

/// Plans one source, record by record. A record's items depend on those before it and on nothing after it.
pub(super) trait Planner {
    /// What a record asks for, in order.
    fn accept<'a>(&mut self, record: &super::frame::lines::Line<'a>) -> Vec<Item<'a>>;

    /// Ends the plan after the last record.
    fn finish(self) -> Plan;
}

/// The end of a plan.
#[derive(Debug)]
pub(super) struct Plan {
    /// What there is to say; doubts about steps are among its findings.
    pub(super) report: Report,
    /// The current branch of each session, by [`SessionRef`].
    pub(super) current: Vec<BranchRef>,
}

/// What the store knew of a line before.
enum Before {
    Stored(LineClass),
    Changed(u64, LineClass),
}

/// One plan while it is carried out.
pub(super) struct Run<'a> {
    client: &'a Client,
    targets: Vec<Target>,
    /// The sessions of this plan by their keys.
    keys: HashMap<String, SessionId>,
    agents: &'a mut HashMap<String, String>,
    before: Vec<Before>,
}

impl<'a> Run<'a> {
    pub(super) fn new(client: &'a Client, agents: &'a mut HashMap<String, String>) -> Self {
        Self { client, targets: Vec::new(), keys: HashMap::new(), agents, before: Vec::new() }
    }

    /// Makes everything durable and gives the branches up.
    pub(super) async fn finish(self, mut report: Report, current: &[BranchRef]) -> Result<Imported> {
        let mut sessions = Vec::new();
        for (place, target) in self.targets.into_iter().enumerate() {
            sessions.push(target.session);
            target.finish(self.client, current.get(place).copied()).await?;
        }
        for known in self.before {
            match known {
                Before::Stored(class) => report.accounting.stored_before(class),
                Before::Changed(line, class) => report.changed_since(line, class),
            }
        }
        let mut sessions = sessions.into_iter();
        let session =
            sessions.next().ok_or_else(|| Error::internal("bad_plan", "a plan of a transcript begins no session"))?;
        Ok(Imported { session, sidechains: sessions.collect(), report })
    }

    /// Carries items out, one after the other.
    pub(super) async fn all(&mut self, items: Vec<Item<'_>>) -> Result<()> {
        for item in items {
            self.carry_out(item).await?;
        }
        Ok(())
    }

    pub(super) async fn carry_out(&mut self, item: Item<'_>) -> Result<()> {
        match item {
            Item::Begin(begin) => self.begin(begin).await,
            Item::Fork(fork) => target(&mut self.targets, fork.session)?.fork(self.client, &fork).await,
            Item::Append(append) => {
                let known = target(&mut self.targets, append.session)?.append(&append).await?;
                self.before.extend(known);
                Ok(())
            }
            Item::CallStarted(call) => target(&mut self.targets, call.session)?.call_started(&call),
            Item::CallEnded { session, branch, line, tool_use, failed } => {
                target(&mut self.targets, session)?.call_ended(branch, line, &tool_use, failed)
            }
            Item::AgentLinked { session, agent, tool_use, .. } => {
                let name = target(&mut self.targets, session)?.name.clone();
                self.agents.insert(agent_key(&name, &agent), tool_use);
                Ok(())
            }
            Item::Duplicate { .. } | Item::Blank { .. } => Ok(()),
        }
    }

    async fn begin(&mut self, begin: Begin) -> Result<()> {
        let known = self.client.session_by_key(&begin.key).await?;
        let session = if let Some(session) = known {
            session
        } else {
            let parent = self.parent(&begin).await?;
            let name = match &begin.agent {
                Some(agent) => format!("agent {agent}"),
                None => begin.session_id.clone(),
            };
            let source = source_of(&begin);
            let name = (!name.is_empty() && name.len() <= 512 && !name.chars().any(char::is_control)).then_some(name);
            let new = NewSession {
                name,
                key: Some(begin.key.clone()),
                parent,
                source: Some(source),
                ..NewSession::default()
            };
            self.client.create_session(new).await?.id
        };
        self.keys.insert(begin.key, session);
        self.targets.push(Target::open(self.client, session, begin.session_id).await?);
        Ok(())
    }

    /// The session that this one works for, with the step that started it.
    async fn parent(&self, begin: &Begin) -> Result<Option<ParentSession>> {
        let Some(key) = &begin.parent else { return Ok(None) };
        let session = match self.keys.get(key) {
            Some(session) => Some(*session),
            None => self.client.session_by_key(key).await?,
        };
        let Some(session) = session else { return Ok(None) };
        let step = match &begin.tool_use {
            Some(call) => self.client.step_start(session, call).await?,
            None => None,
        };
        Ok(Some(ParentSession { session, step }))
    }
}

/// What a session remembers of where it came from.
fn source_of(begin: &Begin) -> Value {
    let mut source = Map::new();
    for (name, value) in [
        ("harness", json!(begin.harness)),
        ("session", json!(begin.session_id)),
        ("agent", json!(begin.agent)),
        ("cwd", json!(begin.cwd)),
        ("version", json!(begin.version)),
        ("git_branch", json!(begin.git_branch)),
    ] {
        source.insert(name.to_owned(), value);
    }
    source.extend(begin.more.clone());
    Value::Object(source)
}

fn target(targets: &mut [Target], session: SessionRef) -> Result<&mut Target> {
    targets.get_mut(session.0).ok_or_else(|| Error::internal("bad_plan", "a plan names a session before it begins"))
}

fn agent_key(session: &str, agent: &str) -> String {
    format!("{session}/{agent}")
}
