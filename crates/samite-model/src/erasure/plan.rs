//! The traversal.

use super::memory::{self, RecordFacts, SaidFacts};
use super::runs::joined;
use super::{Run, Scope};
use crate::{ArtifactId, EntryKind, FamilyId, JournalId, Position, Pseudonym, RecordId, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};

/// What a journal is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A session's branch.
    Branch,
    /// A session's control journal.
    Control,
    /// The tenant's control journal.
    Tenant,
    /// A workspace's journal, which several sessions may share.
    Workspace,
    /// A memory namespace.
    Memory,
    /// The audit log.
    Audit,
    /// An owner's artifacts.
    Artifacts,
}

impl Role {
    /// Whether an erased person who comes back gets another one: else the journal goes on, with tombstones in it.
    const fn is_closed(self) -> bool {
        matches!(self, Self::Branch | Self::Control | Self::Memory)
    }
}

/// A journal as known.
#[derive(Clone, Debug)]
pub struct JournalFacts {
    /// Its id.
    pub id: JournalId,
    /// Its family.
    pub family: FamilyId,
    /// What it is for.
    pub role: Role,
    /// Whose it is.
    pub owner: Pseudonym,
    /// Where it was forked.
    pub parent: Option<Position>,
    /// The last seq.
    pub head: u64,
    /// The runs of the subject's entries in it.
    pub runs: Vec<Run>,
}

impl JournalFacts {
    pub(super) fn whole(&self) -> Option<Run> {
        let first = self.parent.map_or(0, |parent| parent.seq).saturating_add(1);
        (first <= self.head).then_some(Run { journal: self.id, first, last: self.head })
    }
}

/// A session as known.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    /// The session.
    pub session: SessionId,
    /// Whose it is.
    pub owner: Pseudonym,
    /// The session that it works for.
    pub parent: Option<SessionId>,
    /// The entries elsewhere that name it: its key.
    pub named: Vec<Position>,
}

/// An artifact as known.
#[derive(Clone, Debug)]
pub struct ArtifactFacts {
    /// The artifact.
    pub artifact: ArtifactId,
    /// Whose it is.
    pub owner: Pseudonym,
    /// Its record, what was decided about it, and the entries of branches that say that it was published.
    pub entries: Vec<Position>,
    /// The session that it was made in.
    pub session: SessionId,
    /// What it is called: others of this name in its session are other versions of it.
    pub name: String,
    /// The SHA-256 of its bytes.
    pub sha256: String,
    /// The artifacts that it was made of.
    pub inputs: Vec<ArtifactId>,
}

/// A merge as known.
#[derive(Clone, Copy, Debug)]
pub struct MergeFacts {
    /// The entry of the branch that the other was merged into.
    pub at: Position,
    /// What was merged.
    pub theirs: Position,
}

/// An entry that cannot be read without others, or says what they said.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The entry.
    pub at: Position,
    /// What it refers to.
    pub to: Run,
}

/// An entry in a journal of another owner that goes with a person: it has words of theirs, or their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The entry.
    pub at: Position,
    /// Whether what it says is said again without the person's name, so that its owner keeps it.
    pub said_again: bool,
    /// Whether a legal hold keeps it.
    pub held: bool,
}

/// Whether an entry that somebody wrote in a session of another owner holds words of theirs, which go with them. What else
/// they did there is what that session stands on: files, forks and settings stay.
pub const fn holds_words(kind: EntryKind) -> bool {
    use EntryKind as K;
    matches!(
        kind,
        K::MESSAGE
            | K::MODEL_RESPONSE
            | K::EVENT
            | K::COMPACTION
            | K::TURN_ENDED
            | K::STEP_STARTED
            | K::STEP_COMPLETED
            | K::STEP_FAILED
            | K::STEP_RESOLVED
            | K::STEP_ABANDONED
            | K::STEP_EVIDENCE
            | K::STEP_SEEN
    )
}

/// All that the traversal looks at.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Entries in journals of other owners that go with the person.
    pub elsewhere: Vec<Elsewhere>,
    /// Sessions of other owners in which the person did something that stays.
    pub worked: Vec<SessionId>,
    /// How many entries of the person's sessions others wrote.
    pub by_others: u64,
    /// How many summaries others made of what the person wrote in theirs.
    pub summaries: u64,
    /// Journals, in the order of their making.
    pub journals: Vec<JournalFacts>,
    /// Sessions.
    pub sessions: Vec<SessionFacts>,
    /// Artifacts.
    pub artifacts: Vec<ArtifactFacts>,
    /// Merges.
    pub merges: Vec<MergeFacts>,
    /// The ends of steps, the long outputs of commands and the compactions of the session that entries are erased of.
    pub references: Vec<Reference>,
    /// The segments of the branch by which entries were named, which those lie in; of a namespace, its entries on branches.
    pub named: Vec<Run>,
    /// Records of long-term memory, in namespaces and on branches.
    pub records: Vec<RecordFacts>,
    /// What else was said about them.
    pub said: Vec<SaidFacts>,
    /// The records that were named.
    pub asked: Vec<RecordId>,
}

/// What a thing is that was made of what is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivedKind {
    /// A branch that inherits from it.
    Fork,
    /// A branch that its files were merged into.
    Merge,
    /// Something that was published.
    Artifact,
    /// A session that works for it.
    Session,
    /// A record of long-term memory.
    Record,
}

impl DerivedKind {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Merge => "merge",
            Self::Artifact => "artifact",
            Self::Session => "session",
            Self::Record => "record",
        }
    }
}

/// Why it counts as made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// It was forked off.
    Forked,
    /// Files were merged.
    Merged,
    /// It was made in the session.
    MadeThere,
    /// It was made of an artifact.
    MadeOf,
    /// It is another version of an artifact.
    OtherVersion,
    /// It was started for the session.
    WorksFor,
    /// The person made files, forks or settings in it.
    WorkedThere,
}

impl Because {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forked => "forked",
            Self::Merged => "merged",
            Self::MadeThere => "made_there",
            Self::MadeOf => "made_of",
            Self::OtherVersion => "other_version",
            Self::WorksFor => "works_for",
            Self::WorkedThere => "worked_there",
        }
    }
}

/// A thing that was made of what is erased. It stays until somebody decides that it goes too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Derived {
    /// What it is.
    pub kind: DerivedKind,
    /// Its id: of the branch, artifact or session.
    pub id: FamilyId,
    /// Whose it is.
    pub owner: Pseudonym,
    /// Why.
    pub because: Because,
    /// Whether it was decided that it goes too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken: bool,
}

impl Derived {
    pub(super) const fn new(kind: DerivedKind, id: FamilyId, owner: Pseudonym, because: Because) -> Self {
        Self { kind, id, owner, because, taken: false }
    }
}

/// What an erasure takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The entries that become tombstones, by journal.
    pub runs: Vec<Run>,
    /// The journals that take no entries from then on.
    pub close: Vec<JournalId>,
    /// The artifacts that go.
    pub artifacts: Vec<ArtifactId>,
    /// The sessions that go.
    pub sessions: Vec<SessionId>,
    /// The records that go one by one, and not with their journal.
    pub records: Vec<RecordId>,
    /// Those of the runs that are in journals of other owners, where keys are destroyed: their keys live.
    pub foreign: Vec<Run>,
    /// What was made of it.
    pub derived: Vec<Derived>,
}

/// What the erasure of a scope of a subject's data takes, and what was made of it. Of what was made of it, things with these
/// ids go too, and what was made of those is looked at in turn.
pub fn plan(scope: &Scope, subject: Pseudonym, facts: &Facts, also: &[FamilyId]) -> Plan {
    let mut plan = match scope {
        Scope::User => user(subject, facts),
        Scope::Session { session } => of_session(*session, facts),
        Scope::Artifact { artifact } => of_artifact(*artifact, facts),
        Scope::Entries { from, to, .. } => entries(*from, *to, facts),
        Scope::Secret { .. } => Plan { runs: facts.named.clone(), ..Plan::default() },
        Scope::Memory { journal } => memory::whole(*journal, facts),
        Scope::Records { .. } => memory::some(&facts.asked, facts),
    };
    let mut taken: BTreeSet<Derived> = BTreeSet::new();
    loop {
        plan.runs = joined(std::mem::take(&mut plan.runs));
        let found = derived(scope, &plan, facts);
        // What was made of what is to be forgotten would tell it.
        let forgets = |one: &&Derived| {
            matches!(scope, Scope::Records { .. }) && one.kind == DerivedKind::Record && one.owner == subject
        };
        let goes = |one: &&Derived| also.contains(&one.id) || forgets(one);
        let more: Vec<Derived> = found.iter().filter(goes).filter(|one| !taken.contains(*one)).copied().collect();
        if more.is_empty() {
            let stays = found.into_iter().filter(|one| !taken.contains(one));
            plan.derived = taken.iter().map(|one| Derived { taken: true, ..*one }).chain(stays).collect();
            plan.derived.sort_unstable();
            plan.runs.extend(memory::said_of(&plan.records, facts));
            plan.runs = joined(std::mem::take(&mut plan.runs));
            break;
        }
        for one in more {
            take(&mut plan, &one, facts);
            taken.insert(one);
        }
    }
    if scope.destroys_keys() {
        plan.foreign = joined(std::mem::take(&mut plan.foreign));
    } else {
        plan.foreign.clear();
    }
    plan
}

/// Adds what goes with a thing that was made of what is erased.
fn take(plan: &mut Plan, one: &Derived, facts: &Facts) {
    let more = match one.kind {
        DerivedKind::Session => of_session(one.id, facts),
        DerivedKind::Artifact => of_artifact(ArtifactId(one.id.0), facts),
        DerivedKind::Record => memory::some(&[RecordId(one.id.0)], facts),
        // The session goes on, as after the erasure of entries.
        DerivedKind::Fork => {
            let fork = facts.journals.iter().find(|journal| journal.id.0 == one.id.0);
            Plan { runs: fork.and_then(JournalFacts::whole).into_iter().collect(), ..Plan::default() }
        }
        // The files that were merged are in all that followed.
        DerivedKind::Merge => {
            let merges = facts.merges.iter().filter(|merge| merge.at.journal.0 == one.id.0);
            let first = merges.filter(|merge| has(&plan.runs, merge.theirs)).map(|merge| merge.at.seq).min();
            let into = facts.journals.iter().find(|journal| journal.id.0 == one.id.0);
            let runs = first.zip(into).map(|(first, into)| Run { journal: into.id, first, last: into.head });
            Plan { runs: runs.into_iter().collect(), ..Plan::default() }
        }
    };
    plan.foreign.extend(more.runs.iter().copied());
    plan.runs.extend(more.runs);
    plan.close.extend(more.close);
    plan.artifacts.extend(more.artifacts);
    plan.sessions.extend(more.sessions);
    plan.records.extend(more.records);
}

fn user(subject: Pseudonym, facts: &Facts) -> Plan {
    let of_subject = |journal: &&JournalFacts| journal.owner == subject && journal.role.is_closed();
    let elsewhere = || facts.elsewhere.iter().filter(|one| !one.held).map(|one| self::one(one.at));
    Plan {
        runs: facts.journals.iter().flat_map(|journal| journal.runs.iter().copied()).chain(elsewhere()).collect(),
        foreign: elsewhere().collect(),
        close: facts.journals.iter().filter(of_subject).map(|journal| journal.id).collect(),
        artifacts: facts.artifacts.iter().filter(|one| one.owner == subject).map(|one| one.artifact).collect(),
        sessions: facts.sessions.iter().filter(|one| one.owner == subject).map(|one| one.session).collect(),
        ..Plan::default()
    }
}

fn of_session(session: SessionId, facts: &Facts) -> Plan {
    let of_it = || facts.journals.iter().filter(|journal| journal.family == session && journal.role.is_closed());
    let named = facts.sessions.iter().filter(|one| one.session == session).flat_map(|one| &one.named);
    Plan {
        runs: of_it().filter_map(JournalFacts::whole).chain(named.map(|at| one(*at))).collect(),
        close: of_it().map(|journal| journal.id).collect(),
        sessions: vec![session],
        ..Plan::default()
    }
}

fn of_artifact(artifact: ArtifactId, facts: &Facts) -> Plan {
    let of_it = facts.artifacts.iter().filter(|one| one.artifact == artifact).flat_map(|one| &one.entries);
    Plan { runs: of_it.map(|at| one(*at)).collect(), artifacts: vec![artifact], ..Plan::default() }
}

/// Entries, with those that cannot be read without them, or say what they said.
fn entries(from: u64, to: u64, facts: &Facts) -> Plan {
    let within = |run: &Run| {
        let (first, last) = (run.first.max(from), run.last.min(to));
        (first <= last).then_some(Run { first, last, ..*run })
    };
    let mut runs: Vec<Run> = facts.named.iter().filter_map(within).collect();
    loop {
        let meets = |what: &Run| runs.iter().any(|run| run.meets(what));
        let more: Vec<Run> = facts
            .references
            .iter()
            .filter(|reference| meets(&reference.to) && !meets(&one(reference.at)))
            .map(|reference| one(reference.at))
            .collect();
        if more.is_empty() {
            return Plan { runs, ..Plan::default() };
        }
        runs.extend(more);
    }
}

fn one(at: Position) -> Run {
    Run { journal: at.journal, first: at.seq, last: at.seq }
}

/// Whether one of the runs holds this entry, or one before it in its journal.
fn has(runs: &[Run], at: Position) -> bool {
    runs.iter().any(|run| run.journal == at.journal && run.first <= at.seq)
}

fn derived(scope: &Scope, plan: &Plan, facts: &Facts) -> Vec<Derived> {
    let runs: HashSet<JournalId> = plan.runs.iter().map(|run| run.journal).collect();
    let closed: HashSet<JournalId> = plan.close.iter().copied().collect();
    let erased = |at: Position| has(&plan.runs, at);
    let journal = |id: JournalId| facts.journals.iter().find(|journal| journal.id == id);
    let mut found: BTreeSet<Derived> = memory::made_of(plan, facts).into_iter().collect();
    // A fork shares the entries that go of a branch, and none of them is a file.
    let branches = !matches!(scope, Scope::Memory { .. } | Scope::Records { .. });
    let open = |fork: &&JournalFacts| branches && fork.role == Role::Branch && !closed.contains(&fork.id);
    for fork in facts.journals.iter().filter(open) {
        if fork.parent.is_some_and(|parent| runs.contains(&parent.journal) && erased(parent)) {
            let (id, owner) = (FamilyId(fork.id.0), fork.owner);
            found.insert(Derived::new(DerivedKind::Fork, id, owner, Because::Forked));
        }
    }
    let merges = facts.merges.iter().filter(|_| branches);
    for merge in merges.filter(|merge| erased(merge.theirs) && !closed.contains(&merge.at.journal)) {
        if let Some(into) = journal(merge.at.journal) {
            let (id, owner) = (FamilyId(into.id.0), into.owner);
            found.insert(Derived::new(DerivedKind::Merge, id, owner, Because::Merged));
        }
    }
    let named = |one: &ArtifactFacts| (one.owner, one.session, one.name.clone());
    let goes = |one: &&ArtifactFacts| plan.artifacts.contains(&one.artifact);
    let versions: HashSet<_> = facts.artifacts.iter().filter(goes).map(named).collect();
    for artifact in facts.artifacts.iter().filter(|one| !plan.artifacts.contains(&one.artifact)) {
        let because = if plan.sessions.contains(&artifact.session) {
            Because::MadeThere
        } else if versions.contains(&named(artifact)) {
            Because::OtherVersion
        } else if artifact.inputs.iter().any(|input| plan.artifacts.contains(input)) {
            Because::MadeOf
        } else {
            continue;
        };
        let (id, owner) = (FamilyId(artifact.artifact.0), artifact.owner);
        found.insert(Derived::new(DerivedKind::Artifact, id, owner, because));
    }
    for session in facts.sessions.iter().filter(|one| !plan.sessions.contains(&one.session)) {
        if session.parent.is_some_and(|parent| plan.sessions.contains(&parent)) {
            let (id, owner) = (session.session, session.owner);
            found.insert(Derived::new(DerivedKind::Session, id, owner, Because::WorksFor));
        }
        if *scope == Scope::User && facts.worked.contains(&session.session) {
            found.insert(Derived::new(DerivedKind::Session, session.session, session.owner, Because::WorkedThere));
        }
    }
    found.into_iter().collect()
}
