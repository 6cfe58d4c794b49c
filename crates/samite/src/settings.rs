//! What a person decides for a whole session: the last such entry of its control journal holds.

use crate::client::Client;
use crate::core::Draft;
use crate::views::{self, register};
use samite_ledger::{Append, Commit, Guard, JournalState, Register};
use samite_model::settings::{Branching, Cadence, Settings};
use samite_model::{EntryKind, Error, Position, Result, SessionId, limits};

/// How often a change looks again because the session changed under it.
const ROUNDS: usize = 64;

impl Client {
    /// What is decided for a session; the defaults where nothing was.
    ///
    /// # Errors
    /// `not_found` when there is no such session.
    pub async fn settings(&self, session: SessionId) -> Result<Settings> {
        let control = self.control(session).await?;
        let (_, registers) = self.core.0.ledger.registers(control.id).await?;
        self.settings_in(&control, &registers).await
    }

    /// The settings that a control journal's registers point to.
    pub(crate) async fn settings_in(&self, control: &JournalState, registers: &[Register]) -> Result<Settings> {
        match registers.iter().find(|entry| entry.kind == register::SETTINGS) {
            Some(found) => self.core.entry_at(Position { journal: control.id, seq: found.seq }).await?.json(),
            None => Ok(Settings::default()),
        }
    }

    /// Changes what is decided for a session, and answers with what holds from now on. When this returns, it is durable.
    /// Where nothing changes, nothing is written.
    ///
    /// # Errors
    /// `not_found` when there is no such session; `invalid` for bounds that nothing can keep to, or a bad pattern.
    pub async fn change_settings(&self, session: SessionId, change: impl Fn(&mut Settings)) -> Result<Settings> {
        let control = self.control(session).await?;
        for _ in 0..ROUNDS {
            let (version, registers) = self.core.0.ledger.registers(control.id).await?;
            let before = self.settings_in(&control, &registers).await?;
            let mut after = before.clone();
            change(&mut after);
            check(&after)?;
            if after == before {
                return Ok(after);
            }
            let entry = self.core.seal(control.id, &self.author(0), self.settings_draft(&after)?)?;
            let commit = Commit {
                guards: vec![Guard::Registers { journal: control.id, version }],
                appends: vec![Append { journal: control.id, entries: vec![entry] }],
                ..Commit::default()
            };
            match self.core.0.ledger.commit(commit).await {
                Err(error) if error.code() == "registers_moved" => {}
                other => return other.map(|_| after),
            }
        }
        Err(Error::conflict("session_contended", "the session keeps changing").hint("try again"))
    }

    pub(crate) fn settings_draft(&self, settings: &Settings) -> Result<Draft> {
        self.core.draft(EntryKind::SESSION_SETTINGS, settings, views::session_settings())
    }
}

/// Refuses what cannot be kept to.
pub(crate) fn check(settings: &Settings) -> Result<()> {
    if let Cadence::Adaptive(bounds) = &settings.cadence {
        bounds.check()?;
    }
    settings.deliver.iter().try_for_each(|pattern| limits::check_name("a pattern", pattern))?;
    samite_workspace::check_patterns(&settings.deliver)
}

/// Refuses a fork or a rewind that the session's policy does not allow.
pub(crate) fn check_branching(session: SessionId, settings: &Settings, rewind: bool) -> Result<()> {
    let what = match (settings.branching, rewind) {
        (Branching::Tree, _) | (Branching::Rewind, true) => return Ok(()),
        (Branching::Rewind, false) => "forks",
        (Branching::Linear, _) => "forks and rewinds",
    };
    let (session, policy) = (session.short(), settings.branching.name());
    Err(Error::denied(
        "branching_denied",
        format!("session {session} does not allow {what}: its branching is {policy}"),
    )
    .hint(format!("`samite session set {session} --branching tree` allows both, if that is yours to decide")))
}

/// Refuses a merge that the session's policy does not allow: where nothing may be forked, nothing is brought together.
pub(crate) fn check_merging(session: SessionId, settings: &Settings) -> Result<()> {
    if settings.branching == Branching::Tree {
        return Ok(());
    }
    let (session, policy) = (session.short(), settings.branching.name());
    let message = format!("session {session} does not allow merges: its branching is {policy}");
    Err(Error::denied("branching_denied", message)
        .hint(format!("`samite session set {session} --branching tree` allows them, if that is yours to decide")))
}
