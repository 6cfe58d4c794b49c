//! Erasures and holds as answers.

use crate::printer::words::{bytes, count, rfc3339, short_id, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use samite::Client;
use samite::erasure::{Derived, ErasurePlan, ErasureRecord, ErasureState, Hold, HoldOn, Scope};
use samite::payload::{Counted, Unreached};
use samite_model::{EntryKind, Result};
use serde::Serialize;

/// What of a person's data.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ScopeShape {
    of: &'static str,
    subject: String,
    session: Option<String>,
    branch: Option<String>,
    artifact: Option<String>,
    namespace: Option<String>,
    from: Option<u64>,
    to: Option<u64>,
    /// Whether the branch is its session's current one, and need not be named.
    #[serde(skip)]
    is_current: bool,
}

impl ScopeShape {
    async fn new(scope: &Scope, subject: String, client: Option<&Client>) -> Self {
        let none = Self {
            of: scope.name(),
            subject,
            session: None,
            branch: None,
            artifact: None,
            namespace: None,
            from: None,
            to: None,
            is_current: false,
        };
        match scope {
            Scope::User | Scope::Secret { .. } => none,
            Scope::Session { session } => Self { session: Some(session.to_string()), ..none },
            Scope::Memory { journal } | Scope::Records { journal } => {
                Self { namespace: Some(journal.to_string()), ..none }
            }
            Scope::Artifact { artifact } => Self { artifact: Some(artifact.to_string()), ..none },
            Scope::Entries { session, branch, from, to } => Self {
                session: Some(session.to_string()),
                branch: Some(branch.to_string()),
                from: Some(*from),
                to: Some(*to),
                // Of a session that is not there any more, or is another's, nobody can tell.
                is_current: match client {
                    Some(client) => client.current_branch(*session).await.is_ok_and(|current| current == *branch),
                    None => false,
                },
                ..none
            },
        }
    }

    /// The same where there is little room: what tells one from others comes first.
    fn short_words(&self) -> String {
        if let Some(namespace) = &self.namespace {
            return format!("{} {}", self.of, short_id(namespace));
        }
        let (Some(from), Some(to), Some(session), Some(branch)) = (self.from, self.to, &self.session, &self.branch)
        else {
            return self.words();
        };
        if self.is_current {
            format!("entries {from}..{to} of {}", short_id(session))
        } else {
            format!("entries {from}..{to} of :{}", short_id(branch))
        }
    }

    fn words(&self) -> String {
        let short = |id: &Option<String>| id.as_deref().map(short_id).unwrap_or_default();
        match (self.of, self.from, self.to) {
            ("session", ..) => format!("session {}", short(&self.session)),
            ("artifact", ..) => format!("artifact {}", short(&self.artifact)),
            ("memory", ..) => format!("namespace {}", short(&self.namespace)),
            ("records", ..) => format!("records of namespace {}", short(&self.namespace)),
            ("secret", ..) => "a registered secret".to_owned(),
            (_, Some(from), Some(to)) if self.is_current => format!("entries {}@{from}..{to}", short(&self.session)),
            (_, Some(from), Some(to)) => {
                format!("entries {}:{}@{from}..{to}", short(&self.session), short(&self.branch))
            }
            _ => format!("user {}", short_id(&self.subject)),
        }
    }
}

/// How much of something was found, deleted and retained.
#[derive(Clone, Debug, Serialize)]
struct CountedShape {
    store: String,
    found: u64,
    deleted: u64,
    retained: u64,
    bytes: Option<u64>,
    why: Option<String>,
}

impl CountedShape {
    fn new(counted: &Counted) -> Self {
        let Counted { store, found, deleted, retained, bytes, why } = counted.clone();
        Self { store, found, deleted, retained, bytes, why }
    }
}

fn counted_table(counted: &[CountedShape], page: &mut Page) {
    let mut table = Table::new(&[
        ("WHAT", Column::Left),
        ("FOUND", Column::Right),
        ("GOES", Column::Right),
        ("STAYS", Column::Right),
        ("BYTES", Column::Right),
        ("WHY", Column::Flexible),
    ]);
    for one in counted {
        table.row([
            one.store.clone(),
            one.found.to_string(),
            one.deleted.to_string(),
            one.retained.to_string(),
            one.bytes.map(bytes).unwrap_or_default(),
            one.why.clone().unwrap_or_default(),
        ]);
    }
    page.table(&table);
}

/// Something that was made of what is erased.
#[derive(Clone, Debug, Serialize)]
struct DerivedShape {
    kind: &'static str,
    id: String,
    owner: String,
    because: &'static str,
    taken: bool,
}

impl DerivedShape {
    fn new(derived: &Derived) -> Self {
        Self {
            kind: derived.kind.name(),
            id: derived.id.to_string(),
            owner: derived.owner.to_string(),
            because: derived.because.name(),
            taken: derived.taken,
        }
    }
}

fn derived_table(derived: &[DerivedShape], page: &mut Page) {
    if derived.is_empty() {
        return;
    }
    page.gap();
    page.styled(Style::Care, "made of it: what stays is for somebody to decide about; --also ID takes it too");
    let mut table = Table::new(&[
        ("", Column::Left),
        ("WHAT", Column::Left),
        ("ID", Column::Left),
        ("OWNER", Column::Left),
        ("BECAUSE", Column::Flexible),
    ]);
    for one in derived {
        let because = one.because.replace('_', " ");
        let word = if one.taken { "goes" } else { "stays" };
        table.row([word.to_owned(), one.kind.to_owned(), short_id(&one.id), short_id(&one.owner), because]);
    }
    page.table(&table);
}

/// Something that an erasure does not reach.
#[derive(Clone, Debug, Serialize)]
struct UnreachedShape {
    what: String,
    which: Option<String>,
    why: String,
    until: String,
}

impl UnreachedShape {
    fn new(unreached: &Unreached) -> Self {
        let Unreached { what, which, why, until } = unreached.clone();
        Self { what, which, why, until }
    }
}

fn unreached_lines(unreached: &[UnreachedShape], page: &mut Page) {
    page.gap();
    page.line("not reached:");
    for one in unreached {
        let which = one.which.as_deref().map(|which| format!(" {which}")).unwrap_or_default();
        page.line(format!("  {}{which}: {}", one.what.replace('_', " "), one.why));
        page.styled(Style::Dim, format!("    until {}", one.until));
    }
}

/// What an erasure would take.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErasurePlanShape {
    scope: ScopeShape,
    entries: u64,
    found: Vec<CountedShape>,
    keys: usize,
    writers: Vec<String>,
    derived: Vec<DerivedShape>,
    unreached: Vec<UnreachedShape>,
    held: Option<HoldShape>,
}

impl ErasurePlanShape {
    pub(crate) async fn new(plan: &ErasurePlan, client: &Client) -> Self {
        Self {
            scope: ScopeShape::new(&plan.scope, plan.subject.to_string(), Some(client)).await,
            entries: plan.entries,
            found: plan.found.iter().map(CountedShape::new).collect(),
            keys: plan.keys,
            writers: plan.writers.iter().map(ToString::to_string).collect(),
            derived: plan.derived.iter().map(DerivedShape::new).collect(),
            unreached: plan.unreached.iter().map(UnreachedShape::new).collect(),
            held: plan.held.as_ref().map(HoldShape::new),
        }
    }

    /// What would go, in a line.
    pub(crate) fn words(&self) -> String {
        if let Some(held) = &self.held {
            let (what, reason) = (self.scope.words(), &held.reason);
            return match &held.session {
                Some(session) => format!(
                    "{what}: nothing goes, a legal hold on session {} stands against it: {reason}; what else there is goes by itself \
                     (`samite erase --session`)",
                    short_id(session)
                ),
                None => format!("{what}: nothing goes, a legal hold stands against it: {reason}"),
            };
        }
        let keys = if self.keys > 0 { format!(", and {}", count(self.keys as u64, "key")) } else { String::new() };
        format!("{}: {} would become tombstones{keys}", self.scope.words(), count(self.entries, "entry"))
    }

    pub(crate) fn show(&self, page: &mut Page) {
        page.styled(if self.held.is_some() { Style::Care } else { Style::Plain }, self.words());
        counted_table(&self.found, page);
        if !self.writers.is_empty() {
            let writers = count(self.writers.len() as u64, "writer");
            page.styled(Style::Care, format!("{writers} at work would be fenced"));
        }
        derived_table(&self.derived, page);
        unreached_lines(&self.unreached, page);
    }
}

/// An erasure, with its proof.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErasureShape {
    id: String,
    state: &'static str,
    scope: ScopeShape,
    reason: String,
    actor: String,
    begun: String,
    done: Option<String>,
    replayed: bool,
    proof: Option<ProofShape>,
    #[serde(skip)]
    at: i64,
}

/// The proof of deletion.
#[derive(Clone, Debug, Serialize)]
struct ProofShape {
    journal: String,
    seq: u64,
    kind: String,
    root: String,
    entries: u64,
    keys: Vec<String>,
    epoch_before: u64,
    epoch_after: u64,
    stores: Vec<CountedShape>,
    unreached: Vec<UnreachedShape>,
    derived: Vec<DerivedShape>,
    derived_root: Option<String>,
}

impl ErasureShape {
    pub(crate) async fn new(record: &ErasureRecord, client: Option<&Client>) -> Self {
        let started = &record.started;
        Self {
            id: started.erasure.to_string(),
            state: match record.state {
                ErasureState::Started => "started",
                ErasureState::Done => "done",
            },
            scope: ScopeShape::new(&started.scope, started.subject.to_string(), client).await,
            reason: started.reason.clone(),
            actor: started.actor.to_string(),
            begun: rfc3339(started.begun),
            done: record.proof.as_ref().map(|(_, erased)| rfc3339(erased.done)),
            replayed: started.replayed || record.proof.as_ref().is_some_and(|(_, erased)| erased.replayed),
            proof: record.proof.as_ref().map(|(position, erased)| ProofShape {
                journal: position.journal.to_string(),
                seq: position.seq,
                kind: EntryKind::ERASED.name(),
                root: erased.root.clone(),
                entries: erased.entries,
                keys: erased.keys.iter().map(ToString::to_string).collect(),
                epoch_before: erased.epochs.0,
                epoch_after: erased.epochs.1,
                stores: erased.stores.iter().map(CountedShape::new).collect(),
                unreached: erased.unreached.iter().map(UnreachedShape::new).collect(),
                // A long list stands where it began; the proof has a hash of it.
                derived_root: erased.derived_root.as_ref().map(|derived| derived.root.clone()),
                derived: if erased.derived_root.is_some() { &started.derived } else { &erased.derived }
                    .iter()
                    .map(DerivedShape::new)
                    .collect(),
            }),
            at: started.begun,
        }
    }
}

impl Answer for ErasureShape {
    fn show(&self, page: &mut Page) {
        let Some(proof) = &self.proof else {
            page.styled(
                Style::Care,
                format!("erasure {} of {} has begun and is not done", self.id, self.scope.words()),
            );
            return page.styled(Style::Dim, "`samite erase resume` finishes it");
        };
        page.line(format!("{} is erased: {}", self.scope.words(), count(proof.entries, "entry")));
        page.facts(&[
            ("erasure", self.id.clone()),
            ("reason", self.reason.clone()),
            ("root of what went", proof.root.clone()),
            ("keys destroyed", proof.keys.len().to_string()),
            ("recorded", format!("seq {} of journal {}", proof.seq, short_id(&proof.journal))),
        ]);
        counted_table(&proof.stores, page);
        derived_table(&proof.derived, page);
        unreached_lines(&proof.unreached, page);
    }
}

/// All erasures.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErasuresShape {
    erasures: Vec<ErasureShape>,
}

impl ErasuresShape {
    /// Without a client all branches are named: asking for one makes who was erased come back.
    pub(crate) async fn new<'a>(records: impl IntoIterator<Item = &'a ErasureRecord>, client: Option<&Client>) -> Self {
        let mut erasures = Vec::new();
        for record in records {
            erasures.push(ErasureShape::new(record, client).await);
        }
        Self { erasures }
    }
}

impl Answer for ErasuresShape {
    fn show(&self, page: &mut Page) {
        if self.erasures.is_empty() {
            return page.line("no erasure");
        }
        let mut table = Table::new(&[
            ("ERASURE", Column::Left),
            ("WHAT", Column::Flexible),
            ("BEGUN", Column::Left),
            ("STATE", Column::Flexible),
            ("ENTRIES", Column::Right),
            ("REASON", Column::Flexible),
        ]);
        for one in &self.erasures {
            let state = match (one.state, one.replayed) {
                ("done", true) => "done again here",
                (state, _) => state,
            };
            table.row([
                short_id(&one.id),
                one.scope.short_words(),
                time(one.at),
                state.to_owned(),
                one.proof.as_ref().map(|proof| proof.entries.to_string()).unwrap_or_default(),
                one.reason.clone(),
            ]);
        }
        page.table(&table);
    }
}

/// A hold.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HoldShape {
    on: &'static str,
    subject: String,
    user: Option<String>,
    session: Option<String>,
    reason: String,
    since: String,
    #[serde(skip)]
    at: i64,
}

impl HoldShape {
    pub(crate) fn new(hold: &Hold) -> Self {
        let (subject, session) = match hold.on {
            HoldOn::User { subject } => (subject, None),
            HoldOn::Session { session, subject } => (subject, Some(session.to_string())),
        };
        Self {
            on: hold.on.name(),
            subject: subject.to_string(),
            user: None,
            session,
            reason: hold.reason.clone(),
            since: rfc3339(hold.since),
            at: hold.since,
        }
    }
}

/// All holds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HoldsShape {
    holds: Vec<HoldShape>,
}

impl HoldsShape {
    pub(crate) async fn new(client: &Client, holds: &[Hold]) -> Result<Self> {
        let mut all = Vec::new();
        for hold in holds {
            let (HoldOn::User { subject } | HoldOn::Session { subject, .. }) = hold.on;
            let user = client.name_of(subject).await?.map(|owner| owner.to_string());
            all.push(HoldShape { user, ..HoldShape::new(hold) });
        }
        Ok(Self { holds: all })
    }
}

impl Answer for HoldsShape {
    fn show(&self, page: &mut Page) {
        if self.holds.is_empty() {
            return page.line("no legal hold");
        }
        let mut table = Table::new(&[
            ("ON", Column::Left),
            ("ID", Column::Left),
            ("OF", Column::Flexible),
            ("SINCE", Column::Left),
            ("REASON", Column::Flexible),
        ]);
        for hold in &self.holds {
            let id = hold.session.as_deref().unwrap_or(&hold.subject);
            let user = hold.user.clone().unwrap_or_default();
            table.row([hold.on.to_owned(), short_id(id), user, time(hold.at), hold.reason.clone()]);
        }
        page.table(&table);
    }
}
