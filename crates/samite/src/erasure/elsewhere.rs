//! What of a person is in journals of other owners: words that they wrote there, and entries that name them.
//!
//! Words go. An entry that names the person and tells its owner something, such as who read what, is said again with a
//! pseudonym in place of the name before it goes: its owner keeps what it says.

use crate::core::{Author, Core, Draft};
use crate::log::Entry;
use crate::payload::{ErasureExtended, ErasureStarted, GrantRevoked, Granted, ReadRecorded};
use crate::tenant::By;
use crate::views::{self, Projection};
use samite_ledger::{Append, Commit, JournalFilter, JournalKind, JournalState, Read};
use samite_model::erasure::{Elsewhere, Hold, Run, holds_words};
use samite_model::{EntryKind, Header, JournalId, Owner, Position, Principal, Pseudonym, Result, SessionId};
use std::collections::{BTreeSet, HashSet};

const PAGE: usize = 512;

/// What there is of a person in journals of others.
#[derive(Debug, Default)]
pub(super) struct InOthers {
    pub(super) elsewhere: Vec<Elsewhere>,
    /// Sessions in which they did something that stays.
    pub(super) worked: Vec<SessionId>,
    /// How many entries others wrote in journals that go with the person.
    pub(super) by_others: u64,
}

/// An entry that names the person, as its owner keeps it.
enum Again {
    Read(ReadRecorded),
    Granted(Granted),
    Revoked(GrantRevoked),
}

/// How an erased principal stands in what is said again.
pub(crate) fn nameless(principal: &Principal, subject: Pseudonym) -> Principal {
    Principal {
        tenant: principal.tenant.clone(),
        user: format!("erased {}", subject.short()),
        agent: "erased".to_owned(),
        workload: "erased".to_owned(),
        scopes: Vec::new(),
        parents: Vec::new(),
    }
}

impl Core {
    /// The pseudonyms under which a person acted. They stand in headers, which stay.
    async fn actors_of(&self, subject: Pseudonym) -> Result<HashSet<Pseudonym>> {
        let control = self.tenant_control();
        let mut actors = HashSet::new();
        let Some(state) = self.0.ledger.journal(control).await? else { return Ok(actors) };
        for header in self.headers_of(&state, vec![EntryKind::PRINCIPAL_SEEN]).await? {
            if header.1.owner == subject {
                actors.insert(header.1.actor);
            }
        }
        Ok(actors)
    }

    /// The headers of a journal's own entries.
    async fn headers_of(&self, state: &JournalState, kinds: Vec<EntryKind>) -> Result<Vec<(Position, Header)>> {
        let mut headers = Vec::new();
        let mut from = state.parent.map_or(1, |parent| parent.seq + 1);
        while from <= state.head {
            let read = Read {
                kinds: kinds.clone(),
                limit: PAGE,
                payloads: false,
                unchecked: true,
                ..Read::range(state.id, from, state.head)
            };
            let page = self.0.ledger.read(read).await?;
            let Some(last) = page.last() else { break };
            from = last.seq + 1;
            for stored in &page {
                headers.push((Position { journal: state.id, seq: stored.seq }, Header::decode(&stored.header)?));
            }
        }
        Ok(headers)
    }

    /// An entry, where its payload is there and can be opened. What cannot be is named by a verification.
    async fn readable(&self, at: Position) -> Result<Option<Entry>> {
        match self.entry_at(at).await {
            Ok(entry) => Ok(entry.payload.is_some().then_some(entry)),
            Err(error) if error.kind() == samite_model::ErrorKind::Corrupt => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What there is of a person in journals of others.
    pub(super) async fn in_others(&self, subject: Pseudonym, holds: &[Hold]) -> Result<InOthers> {
        let actors = self.actors_of(subject).await?;
        let mut found = InOthers::default();
        let mut worked: BTreeSet<SessionId> = BTreeSet::new();
        for state in self.0.ledger.journals(JournalFilter::default()).await? {
            let of_session = matches!(state.kind, JournalKind::Branch | JournalKind::SessionControl);
            if state.owner == subject {
                if of_session {
                    let headers = self.headers_of(&state, Vec::new()).await?;
                    found.by_others +=
                        headers.iter().filter(|(_, header)| !actors.contains(&header.actor)).count() as u64;
                }
                continue;
            }
            let kinds = match state.kind {
                JournalKind::Branch | JournalKind::SessionControl => Vec::new(),
                JournalKind::Artifacts => vec![EntryKind::GRANTED, EntryKind::GRANT_REVOKED],
                JournalKind::TenantControl => vec![EntryKind::READ_RECORDED],
                _ => continue,
            };
            let keeps = |owner: Pseudonym| crate::erasure::keeps(holds, owner, state.family);
            let mut words: HashSet<Position> = HashSet::new();
            for (at, header) in self.headers_of(&state, kinds).await? {
                let held = keeps(header.owner);
                match header.kind {
                    EntryKind::GRANTED | EntryKind::GRANT_REVOKED | EntryKind::READ_RECORDED => {
                        let Some(entry) = self.readable(at).await?.filter(|_| header.owner != subject) else {
                            continue;
                        };
                        if self.names(&entry, subject)? {
                            let said_again = self.said_again(&entry, subject)?.is_some();
                            found.elsewhere.push(Elsewhere { at, said_again, held });
                        }
                    }
                    _ if !actors.contains(&header.actor) => {}
                    kind if holds_words(kind) => {
                        words.extend(self.readable(at).await?.map(|entry| entry.position));
                    }
                    _ if of_session => {
                        worked.insert(state.family);
                    }
                    _ => {}
                }
            }
            if !words.is_empty() {
                self.with_their_ends(&state, &mut words).await?;
                let held = keeps(state.owner);
                found.elsewhere.extend(words.into_iter().map(|at| Elsewhere { at, said_again: false, held }));
            }
        }
        found.elsewhere.sort_unstable_by_key(|one| (one.at.journal, one.at.seq));
        found.worked = worked.into_iter().collect();
        Ok(found)
    }

    /// Adds what cannot be read without one of these entries: the ends of steps, whoever wrote them.
    async fn with_their_ends(&self, state: &JournalState, words: &mut HashSet<Position>) -> Result<()> {
        let references = self.references(state, false).await?;
        loop {
            let before = words.len();
            for reference in &references {
                if words.contains(&Position { journal: reference.to.journal, seq: reference.to.first }) {
                    words.insert(reference.at);
                }
            }
            if words.len() == before {
                return Ok(());
            }
        }
    }

    fn is_user(&self, user: &str, subject: Pseudonym) -> Result<bool> {
        Ok(self.0.keys.owner_pseudonym(&Owner::new(format!("user:{user}"))?) == subject)
    }

    fn names(&self, entry: &Entry, subject: Pseudonym) -> Result<bool> {
        Ok(match entry.header.kind {
            EntryKind::READ_RECORDED => self.is_user(&entry.json::<ReadRecorded>()?.reader.user, subject)?,
            EntryKind::GRANT_REVOKED => self.is_user(&entry.json::<GrantRevoked>()?.by.user, subject)?,
            _ => {
                let granted: Granted = entry.json()?;
                let to = granted.grant.to.user.as_deref().map(|user| self.is_user(user, subject)).transpose()?;
                to == Some(true) || self.is_user(&granted.grant.by.user, subject)?
            }
        })
    }

    /// What an entry that names the person says without the name. A grant to the person says nothing then: it ends.
    fn said_again(&self, entry: &Entry, subject: Pseudonym) -> Result<Option<Again>> {
        Ok(Some(match entry.header.kind {
            EntryKind::READ_RECORDED => {
                let said: ReadRecorded = entry.json()?;
                Again::Read(ReadRecorded { reader: nameless(&said.reader, subject), ..said })
            }
            EntryKind::GRANT_REVOKED => {
                let said: GrantRevoked = entry.json()?;
                Again::Revoked(GrantRevoked { by: nameless(&said.by, subject), ..said })
            }
            _ => {
                let mut said: Granted = entry.json()?;
                if said.grant.to.user.as_deref().map(|user| self.is_user(user, subject)).transpose()? == Some(true) {
                    return Ok(None);
                }
                said.grant.by = nameless(&said.grant.by, subject);
                said.replaces.push(entry.header.id);
                Again::Granted(said)
            }
        }))
    }

    /// After the fence: takes what came meanwhile into the erasure, and says again what others keep.
    pub(super) async fn reach_others(&self, started: &ErasureStarted) -> Result<()> {
        let holds = self.holds().await?;
        let found = self.in_others(started.subject, &holds).await?;
        let known = self.foreign_runs(started).await?;
        let new = |one: &&Elsewhere| {
            let run = Run { journal: one.at.journal, first: one.at.seq, last: one.at.seq };
            !one.held && !known.iter().any(|known| known.meets(&run))
        };
        let late: Vec<Run> = found
            .elsewhere
            .iter()
            .filter(new)
            .map(|one| Run { journal: one.at.journal, first: one.at.seq, last: one.at.seq })
            .collect();
        if !late.is_empty() {
            let kept = self.rows_to_keep(&late, &started.close).await?;
            let extended = ErasureExtended { erasure: started.erasure, runs: late, kept };
            let draft = self.draft(EntryKind::ERASURE_EXTENDED, &extended, views::erasure_extended(&extended))?;
            self.append_as_tenant(started.by(), vec![draft], Vec::new()).await?;
        }
        for one in found.elsewhere.iter().filter(|one| one.said_again && !one.held) {
            self.say_again(one.at, started).await?;
        }
        Ok(())
    }

    /// Says an entry again without the person's name, unless that was done.
    async fn say_again(&self, at: Position, started: &ErasureStarted) -> Result<()> {
        let Some(entry) = self.readable(at).await? else { return Ok(()) };
        let Some(again) = self.said_again(&entry, started.subject)? else { return Ok(()) };
        let Some(state) = self.0.ledger.journal(at.journal).await? else { return Ok(()) };
        let rest = JournalState { parent: Some(at), ..state };
        for later in self.entries_of(&rest, vec![entry.header.kind]).await? {
            let same = later.header.owner == entry.header.owner
                && later.payload.is_some()
                && match &again {
                    Again::Read(said) => later.json::<ReadRecorded>()? == *said,
                    Again::Revoked(said) => later.json::<GrantRevoked>()? == *said,
                    Again::Granted(_) => later.json::<Granted>()?.replaces.contains(&entry.header.id),
                };
            if same {
                return Ok(());
            }
        }
        let none = Projection::default;
        let draft = match &again {
            Again::Read(said) => self.draft(EntryKind::READ_RECORDED, said, none())?,
            Again::Revoked(said) => self.draft(EntryKind::GRANT_REVOKED, said, views::grant_revoked(said))?,
            Again::Granted(said) => {
                let mut draft = self.draft(EntryKind::GRANTED, said, none())?;
                draft.views = views::granted(draft.id, said);
                draft
            }
        };
        self.append_for(entry.header.owner, at.journal, started.by(), draft).await
    }

    /// Appends to a journal for its owner, in the tenant's name.
    async fn append_for(&self, owner: Pseudonym, journal: JournalId, by: By, draft: Draft) -> Result<()> {
        let subject = self.0.keys.subject_of(owner)?;
        let author = Author { subject, actor: by.actor, named: by.named, epoch: 0 };
        let appends = vec![Append { journal, entries: vec![self.seal(journal, &author, draft)?] }];
        match self.0.ledger.commit(Commit { appends, ..Commit::default() }).await {
            // What is closed goes by itself.
            Err(error) if error.code() == "journal_closed" => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// The entries of an erasure in journals of others: those that were planned, and those that came meanwhile.
    pub(super) async fn foreign_runs(&self, started: &ErasureStarted) -> Result<Vec<Run>> {
        let mut runs = started.runs.clone();
        runs.extend(self.extended_runs(Some(started.erasure)).await?);
        Ok(runs)
    }
}
