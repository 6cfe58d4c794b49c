//! What of a person is in journals of other owners: words that they wrote there, and entries that name them.
//!
//! Words go. An entry that names the person and tells its owner something, such as who read what, is said again with a
//! pseudonym in place of the name before it goes: its owner keeps what it says.

use crate::core::{Author, Core, Draft, to_json};
use crate::log::Entry;
use crate::payload::{
    ArtifactRecord, ErasureExtended, ErasureStarted, GrantRevoked, Granted, PublishedBy, ReadRecorded,
};
use crate::tenant::By;
use crate::views::{self, Projection, register};
use samite_host::kill_point;
use samite_ledger::{Append, Commit, Guard, JournalFilter, JournalKind, JournalState, NewEntry, Read, Register};
use samite_model::access::{Grant, fallen};
use samite_model::audit::WrittenBy;
use samite_model::erasure::{Elsewhere, Hold, Run, RunSet, holds_words};
use samite_model::{
    ArtifactId, EntryId, EntryKind, Error, FamilyId, Header, JournalId, Owner, Position, Principal, Pseudonym, Result,
    SessionId, Tenant,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};

const PAGE: usize = 512;

/// So many entries are said again in one commit.
const TOGETHER: usize = 256;

/// How often it is looked again because holds or grants changed.
const ROUNDS: usize = 64;

/// What there is of a person in journals of others.
#[derive(Debug, Default)]
pub(super) struct InOthers {
    pub(super) elsewhere: Vec<Elsewhere>,
    /// Sessions in which they did something that stays.
    pub(super) worked: Vec<SessionId>,
    /// How many entries others wrote in journals that go with the person.
    pub(super) by_others: u64,
    /// How many summaries others made of what the person wrote.
    pub(super) summaries: u64,
}

/// The ids of grants that stand.
type Standing = HashSet<[u8; 16]>;

/// An entry that names the person, as its owner keeps it.
enum Again {
    Read(ReadRecorded),
    Granted(Granted),
    Revoked(GrantRevoked),
    Published(Box<ArtifactRecord>),
}

/// How an erased principal stands in what is said again.
pub(crate) fn nameless(tenant: &Tenant, subject: Pseudonym) -> Principal {
    Principal {
        tenant: tenant.clone(),
        user: format!("erased {}", subject.short()),
        agent: "erased".to_owned(),
        workload: "erased".to_owned(),
        scopes: Vec::new(),
        parents: Vec::new(),
    }
}

impl Core {
    /// The pseudonyms under which a person acted. They stand in headers, which stay.
    pub(super) async fn actors_of(&self, subject: Pseudonym) -> Result<HashSet<Pseudonym>> {
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
    pub(super) async fn headers_of(
        &self,
        state: &JournalState,
        kinds: Vec<EntryKind>,
    ) -> Result<Vec<(Position, Header)>> {
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
    pub(super) async fn readable(&self, at: Position) -> Result<Option<Entry>> {
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
                JournalKind::Artifacts => {
                    vec![EntryKind::GRANTED, EntryKind::GRANT_REVOKED, EntryKind::ARTIFACT_PUBLISHED]
                }
                JournalKind::TenantControl => vec![EntryKind::READ_RECORDED],
                _ => continue,
            };
            let keeps = |owner: Pseudonym| crate::erasure::keeps(holds, owner, state.family);
            let mut words: HashSet<Position> = HashSet::new();
            let mut standing: Option<Standing> = None;
            for (at, header) in self.headers_of(&state, kinds).await? {
                let held = keeps(header.owner);
                let is_record = state.kind == JournalKind::Artifacts;
                match header.kind {
                    EntryKind::GRANTED
                    | EntryKind::GRANT_REVOKED
                    | EntryKind::READ_RECORDED
                    | EntryKind::ARTIFACT_PUBLISHED
                        if is_record || header.kind != EntryKind::ARTIFACT_PUBLISHED =>
                    {
                        let Some(entry) = self.readable(at).await?.filter(|_| header.owner != subject) else {
                            continue;
                        };
                        if self.names(&entry, subject)? {
                            if standing.is_none() {
                                standing = Some(self.grants_standing(state.id).await?.1);
                            }
                            let standing = standing.get_or_insert_default();
                            let said_again = self.said_again(&entry, subject, standing)?.is_some();
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
                found.summaries += self.with_their_ends(&state, &mut words).await?;
                let held = keeps(state.owner);
                found.elsewhere.extend(words.into_iter().map(|at| Elsewhere { at, said_again: false, held }));
            }
        }
        found.elsewhere.sort_unstable_by_key(|one| (one.at.journal, one.at.seq));
        found.worked = worked.into_iter().collect();
        Ok(found)
    }

    /// Adds what cannot be read without one of these entries: the ends of steps, whoever wrote them. How many summaries of any
    /// of it stay is the answer.
    async fn with_their_ends(&self, state: &JournalState, words: &mut HashSet<Position>) -> Result<u64> {
        let references = self.references(state, false).await?;
        loop {
            let before = words.len();
            for reference in &references {
                if words.contains(&Position { journal: reference.to.journal, seq: reference.to.first }) {
                    words.insert(reference.at);
                }
            }
            if words.len() == before {
                break;
            }
        }
        let taken = RunSet::new(words.iter().map(|at| Run { journal: at.journal, first: at.seq, last: at.seq }));
        let mut summaries: HashSet<Position> = HashSet::new();
        for reference in self.references(state, true).await? {
            let of_words = taken.of(reference.to.journal).iter().any(|run| run.meets(&reference.to));
            if of_words && !words.contains(&reference.at) {
                summaries.insert(reference.at);
            }
        }
        Ok(summaries.len() as u64)
    }

    /// What a person wrote in sessions of others, and is there.
    pub(crate) async fn words_elsewhere(&self, subject: Pseudonym) -> Result<Vec<Position>> {
        let actors = self.actors_of(subject).await?;
        let mut words = Vec::new();
        for state in self.0.ledger.journals(JournalFilter::default()).await? {
            let of_session = matches!(state.kind, JournalKind::Branch | JournalKind::SessionControl);
            if !of_session || state.owner == subject {
                continue;
            }
            for (at, header) in self.headers_of(&state, Vec::new()).await? {
                let is_theirs = actors.contains(&header.actor) && holds_words(header.kind);
                if is_theirs && self.readable(at).await?.is_some() {
                    words.push(at);
                }
            }
        }
        Ok(words)
    }

    fn is_user(&self, user: &str, subject: Pseudonym) -> Result<bool> {
        Ok(self.0.keys.owner_pseudonym(&Owner::new(format!("user:{user}"))?) == subject)
    }

    fn names(&self, entry: &Entry, subject: Pseudonym) -> Result<bool> {
        Ok(match entry.header.kind {
            EntryKind::READ_RECORDED => self.is_user(&entry.json::<ReadRecorded>()?.reader.user, subject)?,
            EntryKind::GRANT_REVOKED => self.is_user(&entry.json::<GrantRevoked>()?.by.user, subject)?,
            EntryKind::ARTIFACT_PUBLISHED => self.is_user(&entry.json::<ArtifactRecord>()?.by.user, subject)?,
            _ => {
                let granted: Granted = entry.json()?;
                let to = granted.grant.to.user.as_deref().map(|user| self.is_user(user, subject)).transpose()?;
                to == Some(true) || self.is_user(&granted.grant.by.user, subject)?
            }
        })
    }

    /// What an entry that names the person says without the name. A grant to the person says nothing then: it ends. One that they
    /// gave ends with what they were granted, unless a policy let them; neither that nor one that does not stand is to stand
    /// again, nor what it took the place of: what is left of it is their end.
    fn said_again(&self, entry: &Entry, subject: Pseudonym, standing: &Standing) -> Result<Option<Again>> {
        Ok(Some(match entry.header.kind {
            EntryKind::READ_RECORDED => {
                let said: ReadRecorded = entry.json()?;
                Again::Read(ReadRecorded { reader: nameless(&said.reader.tenant, subject), ..said })
            }
            EntryKind::GRANT_REVOKED => {
                let said: GrantRevoked = entry.json()?;
                Again::Revoked(GrantRevoked { by: nameless(&said.by.tenant, subject), ..said })
            }
            EntryKind::ARTIFACT_PUBLISHED => {
                let said: ArtifactRecord = entry.json()?;
                let erased = "erased".to_owned();
                let user = format!("erased {}", subject.short());
                let by = PublishedBy { user, agent: erased.clone(), workload: erased };
                Again::Published(Box::new(ArtifactRecord { by, ..said }))
            }
            _ => {
                let mut said: Granted = entry.json()?;
                if said.grant.to.user.as_deref().map(|user| self.is_user(user, subject)).transpose()? == Some(true) {
                    return Ok(None);
                }
                said.grant.by = nameless(&said.grant.by.tenant, subject);
                let stands = standing.contains(entry.header.id.as_bytes());
                if !stands && said.replaces.is_empty() {
                    return Ok(None);
                }
                said.replaces.push(entry.header.id);
                if stands && said.grant.by_policy {
                    Again::Granted(said)
                } else {
                    Again::Revoked(GrantRevoked { grants: said.replaces, by: said.grant.by })
                }
            }
        }))
    }

    /// After the fence: takes what came meanwhile into the erasure, and says again what others keep. When this returns, that no
    /// more is looked for is durable: whoever comes back by the name is somebody else.
    pub(super) async fn reach_others(&self, started: &ErasureStarted) -> Result<()> {
        let again = self.take_late(started).await?;
        for (journal, places) in &again {
            self.say_again(*journal, places, started).await?;
        }
        self.end_what_rests(&again, started).await?;
        kill_point("erase.said_again");
        let reached = ErasureExtended { erasure: started.erasure, runs: Vec::new(), kept: Vec::new(), reached: true };
        let draft = self.draft(EntryKind::ERASURE_EXTENDED, &reached, views::erasure_extended(&reached))?;
        self.append_as_tenant(started.by(), vec![draft], Vec::new()).await
    }

    /// Ends what others were granted by those whom the person had let in: it rests on what goes.
    async fn end_what_rests(&self, gone: &BTreeMap<JournalId, Vec<Position>>, started: &ErasureStarted) -> Result<()> {
        for (&journal, goes) in gone {
            let Some(state) = self.0.ledger.journal(journal).await? else { continue };
            let Some(owner) = self.0.keys.owner_name(state.owner)? else { continue };
            let (_, registers) = self.0.ledger.registers(journal).await?;
            // What is about different artifacts does not rest on each other.
            let mut grants: BTreeMap<Option<ArtifactId>, (Vec<EntryId>, Vec<Grant>)> = BTreeMap::new();
            for register in registers.iter().filter(|register| register.kind == register::GRANT) {
                let at = Position { journal, seq: register.seq };
                let Some(entry) = self.readable(at).await?.filter(|_| !goes.contains(&at)) else { continue };
                let granted: Granted = entry.json()?;
                let (ids, about) = grants.entry(granted.artifact).or_default();
                ids.push(entry.header.id);
                about.push(granted.grant);
            }
            for (ids, about) in grants.into_values() {
                let fallen = fallen(&owner, &about);
                let fallen: Vec<EntryId> = fallen.into_iter().filter_map(|place| ids.get(place).copied()).collect();
                if !fallen.is_empty() {
                    let by = nameless(self.0.keys.tenant(), started.subject);
                    let said = GrantRevoked { grants: fallen, by };
                    let draft = self.draft(EntryKind::GRANT_REVOKED, &said, views::grant_revoked(&said))?;
                    let sealed = self.seal_for(state.owner, journal, started.by(), draft)?;
                    self.append_sealed(journal, vec![sealed], Vec::new()).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether all that an erasure takes of what is in journals of others was found and said again.
    pub(super) async fn others_reached(&self, erasure: FamilyId) -> Result<bool> {
        let (_, registers) = self.0.ledger.registers(self.tenant_control()).await?;
        let says = |one: &Register| one.kind == register::EXTENDED && one.hash == erasure.0 && one.value == [1];
        Ok(registers.iter().any(says))
    }

    /// Takes what came since an erasure was planned, unless a hold keeps it, and returns what is to be said again, by journal.
    async fn take_late(&self, started: &ErasureStarted) -> Result<BTreeMap<JournalId, Vec<Position>>> {
        for _ in 0..ROUNDS {
            let (version, holds) = self.holds_at().await?;
            let found = self.in_others(started.subject, &holds).await?.elsewhere;
            let known = RunSet::new(self.foreign_runs(started).await?);
            let late: Vec<Run> = found
                .iter()
                .filter(|one| !one.held && !known.has(one.at))
                .map(|one| Run { journal: one.at.journal, first: one.at.seq, last: one.at.seq })
                .collect();
            if !late.is_empty() {
                let kept = self.rows_to_keep(&late, &started.close).await?;
                let extended = ErasureExtended { erasure: started.erasure, runs: late, kept, reached: false };
                let draft = self.draft(EntryKind::ERASURE_EXTENDED, &extended, views::erasure_extended(&extended))?;
                let guard = Guard::Registers { journal: self.tenant_control(), version };
                match self.append_as_tenant(started.by(), vec![draft], vec![guard]).await {
                    // A hold came in between.
                    Err(error) if error.code() == "registers_moved" => continue,
                    other => other?,
                }
            }
            let mut again: BTreeMap<JournalId, Vec<Position>> = BTreeMap::new();
            for one in found.iter().filter(|one| one.said_again && !one.held) {
                again.entry(one.at.journal).or_default().push(one.at);
            }
            return Ok(again);
        }
        Err(Error::unavailable("store_busy", "holds keep changing").hint("`samite erase resume` goes on"))
    }

    /// Says entries of a journal again without the person's name, as far as that was not done.
    async fn say_again(&self, journal: JournalId, places: &[Position], started: &ErasureStarted) -> Result<()> {
        let Some(state) = self.0.ledger.journal(journal).await? else { return Ok(()) };
        let mut known: Option<HashSet<(Pseudonym, u16, Vec<u8>)>> = None;
        let mut batch: Vec<NewEntry> = Vec::new();
        let (_, standing) = self.grants_standing(journal).await?;
        for at in places {
            let Some(entry) = self.readable(*at).await? else { continue };
            let (kind, said, views) = match self.said_again(&entry, started.subject, &standing)? {
                Some(Again::Granted(_)) => {
                    self.grant_again(&entry, started).await?;
                    continue;
                }
                Some(Again::Read(said)) => (EntryKind::READ_RECORDED, to_json(&said)?, Projection::default()),
                Some(Again::Revoked(said)) => (EntryKind::GRANT_REVOKED, to_json(&said)?, views::grant_revoked(&said)),
                Some(Again::Published(said)) => {
                    let hasher = self.hasher(entry.header.owner, state.family);
                    let views = crate::artifact::views::recorded(&hasher, &said)?;
                    (EntryKind::ARTIFACT_PUBLISHED, to_json(&*said)?, views)
                }
                None => continue,
            };
            if known.is_none() {
                // What was said again is later than the first of them.
                let rest = JournalState { parent: places.first().copied(), ..state };
                known = Some(self.said_since(&rest).await?);
            }
            let owner = entry.header.owner;
            if !known.get_or_insert_default().insert((owner, kind.code(), said.clone())) {
                continue;
            }
            let draft = Draft { id: self.entry_id()?, kind, payload: said, views };
            batch.push(self.seal_for(owner, journal, started.by(), draft)?);
            if batch.len() >= TOGETHER {
                self.append_sealed(journal, std::mem::take(&mut batch), Vec::new()).await?;
            }
        }
        if batch.is_empty() { Ok(()) } else { self.append_sealed(journal, batch, Vec::new()).await }
    }

    /// What a journal says of reads, of grants that were taken back, and of artifacts, whose it is and by which kind.
    async fn said_since(&self, state: &JournalState) -> Result<HashSet<(Pseudonym, u16, Vec<u8>)>> {
        let mut said = HashSet::new();
        let mut kinds = vec![EntryKind::READ_RECORDED, EntryKind::GRANT_REVOKED];
        if state.kind == JournalKind::Artifacts {
            kinds.push(EntryKind::ARTIFACT_PUBLISHED);
        }
        for (at, header) in self.headers_of(state, kinds).await? {
            let Some(entry) = self.readable(at).await? else { continue };
            let words = match header.kind {
                EntryKind::READ_RECORDED => to_json(&entry.json::<ReadRecorded>()?)?,
                EntryKind::ARTIFACT_PUBLISHED => to_json(&entry.json::<ArtifactRecord>()?)?,
                _ => to_json(&entry.json::<GrantRevoked>()?)?,
            };
            said.insert((header.owner, header.kind.code(), words));
        }
        Ok(said)
    }

    /// Says a grant again without the name of who gave it, while it stands.
    async fn grant_again(&self, entry: &Entry, started: &ErasureStarted) -> Result<()> {
        let journal = entry.position.journal;
        for _ in 0..ROUNDS {
            let (version, standing) = self.grants_standing(journal).await?;
            let draft = match self.said_again(entry, started.subject, &standing)? {
                Some(Again::Granted(said)) => {
                    let mut draft = self.draft(EntryKind::GRANTED, &said, Projection::default())?;
                    draft.views = views::granted(draft.id, &said);
                    draft
                }
                Some(Again::Revoked(said)) => {
                    self.draft(EntryKind::GRANT_REVOKED, &said, views::grant_revoked(&said))?
                }
                _ => return Ok(()),
            };
            let sealed = self.seal_for(entry.header.owner, journal, started.by(), draft)?;
            match self.append_sealed(journal, vec![sealed], vec![Guard::Registers { journal, version }]).await {
                // It may have been taken back.
                Err(error) if error.code() == "registers_moved" => {}
                other => return other,
            }
        }
        Err(Error::unavailable("store_busy", "grants keep changing").hint("`samite erase resume` goes on"))
    }

    /// The ids of the grants of a journal that stand, with the version of its registers.
    async fn grants_standing(&self, journal: JournalId) -> Result<(u64, Standing)> {
        let (version, registers) = self.0.ledger.registers(journal).await?;
        let grants = registers.iter().filter(|one| one.kind == register::GRANT);
        Ok((version, grants.map(|one| one.hash).collect()))
    }

    /// Seals an entry for the owner of a journal, in the tenant's name.
    fn seal_for(&self, owner: Pseudonym, journal: JournalId, by: By, draft: Draft) -> Result<NewEntry> {
        let subject = self.0.keys.subject_of(owner)?;
        let author = Author { subject, actor: by.actor, named: by.named, by: WrittenBy::Owner, epoch: 0 };
        self.seal(journal, &author, draft)
    }

    async fn append_sealed(&self, journal: JournalId, entries: Vec<NewEntry>, guards: Vec<Guard>) -> Result<()> {
        let commit = Commit { appends: vec![Append { journal, entries }], guards, ..Commit::default() };
        match self.0.ledger.commit(commit).await {
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
