//! A session as an answer.

use super::{ErrorShape, PositionShape, PrincipalShape};
use crate::printer::words::{bytes, count, duration, rfc3339, time};
use crate::printer::{Answer, Page};
use samite::SessionInfo;
use samite::payload::ParentSession;
use samite_model::Error;
use samite_model::settings::{Cadence, Settings};
use serde::Serialize;
use serde_json::Value;

/// The session that another works for, and the step that started that one.
#[derive(Debug, Serialize)]
struct ParentShape {
    session: String,
    step: Option<PositionShape>,
}

impl ParentShape {
    fn new(parent: &ParentSession) -> Self {
        Self { session: parent.session.to_string(), step: parent.step.map(PositionShape::from) }
    }
}

/// What is decided for a session.
#[derive(Debug, Serialize)]
pub(crate) struct SettingsShape {
    branching: &'static str,
    authority: &'static str,
    cadence: &'static str,
    max_loss_ns: Option<u64>,
    max_overhead_permille: Option<u32>,
    max_bytes: Option<u64>,
    deliver: Vec<String>,
}

impl SettingsShape {
    /// The shape of settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        let bounds = match settings.cadence {
            Cadence::Adaptive(bounds) => Some(bounds),
            Cadence::Turn | Cadence::Step => None,
        };
        Self {
            branching: settings.branching.name(),
            authority: settings.authority.name(),
            cadence: settings.cadence.name(),
            max_loss_ns: bounds.map(|bounds| bounds.max_loss),
            max_overhead_permille: bounds.map(|bounds| bounds.max_overhead),
            max_bytes: bounds.map(|bounds| bounds.max_bytes),
            deliver: settings.deliver.clone(),
        }
    }

    fn facts(&self) -> [(&'static str, String); 4] {
        let cadence = match (self.max_loss_ns, self.max_overhead_permille, self.max_bytes) {
            (Some(loss), Some(overhead), Some(size)) => {
                format!(
                    "adaptive: lose at most {}, take at most {}.{}% and {}",
                    duration(loss),
                    overhead / 10,
                    overhead % 10,
                    bytes(size)
                )
            }
            _ => format!("at the end of each {}", self.cadence),
        };
        [
            ("branching", self.branching.to_owned()),
            ("authority", self.authority.to_owned()),
            ("checkpoints", cadence),
            ("deliver", self.deliver.join(", ")),
        ]
    }
}

impl Answer for SettingsShape {
    fn show(&self, page: &mut Page) {
        page.facts(&self.facts());
    }
}

/// A session.
#[derive(Debug, Serialize)]
pub(crate) struct SessionShape {
    id: String,
    name: Option<String>,
    created: String,
    principal: PrincipalShape,
    parent: Option<ParentShape>,
    source: Option<Value>,
    /// The current branch.
    branch: String,
    head: u64,
    branch_count: usize,
    settings: SettingsShape,
    #[serde(skip)]
    created_at: i64,
}

impl SessionShape {
    /// The shape of a session.
    pub(crate) fn new(info: &SessionInfo) -> Self {
        let principal = &info.created.principal;
        Self {
            id: info.id.to_string(),
            name: info.created.name.clone(),
            created: rfc3339(info.created_at),
            principal: PrincipalShape::new(principal),
            parent: info.created.parent.as_ref().map(ParentShape::new),
            source: info.created.source.clone(),
            branch: info.current.to_string(),
            head: info.head,
            branch_count: info.branches,
            settings: SettingsShape::new(&info.settings),
            created_at: info.created_at,
        }
    }
}

impl SessionShape {
    /// The id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The name, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl Answer for SessionShape {
    fn show(&self, page: &mut Page) {
        self.show_with(&[], page);
    }
}

impl SessionShape {
    /// Puts it on a page, with more facts at the end.
    pub(crate) fn show_with(&self, more: &[(&str, String)], page: &mut Page) {
        let [branching, authority, cadence, deliver] = self.settings.facts();
        let mut facts = vec![
            ("session", self.id.clone()),
            ("name", self.name.clone().unwrap_or_default()),
            ("made", format!("{} by {} ({})", time(self.created_at), self.principal.user, self.principal.agent)),
            (
                "works for",
                self.parent.as_ref().map_or_else(String::new, |parent| {
                    let step =
                        parent.step.as_ref().map_or_else(String::new, |step| format!(", step at seq {}", step.seq));
                    format!("session {}{step}", parent.session)
                }),
            ),
            ("imported from", self.source.as_ref().map_or_else(String::new, ToString::to_string)),
            (
                "branch",
                format!(
                    "{} is current, at seq {} ({})",
                    self.branch,
                    self.head,
                    count(self.branch_count as u64, "branch")
                ),
            ),
            branching,
            authority,
            cadence,
            deliver,
        ];
        facts.extend(more.iter().map(|(name, fact)| (*name, fact.clone())));
        page.facts(&facts);
    }
}

/// A session in a list. One that cannot be read is in it all the same.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum SessionRow {
    /// It can be read.
    Readable(Box<SessionShape>),
    /// It cannot.
    Unreadable {
        /// Why.
        error: ErrorShape,
    },
}

impl SessionRow {
    /// The row of what listing answered.
    pub(crate) fn new(session: &Result<SessionInfo, Error>) -> Self {
        match session {
            Ok(info) => Self::Readable(Box::new(SessionShape::new(info))),
            Err(error) => Self::Unreadable { error: ErrorShape::new(error) },
        }
    }

    /// The cells: id, name, current branch, head, branches, made.
    pub(crate) fn cells(&self) -> [String; 6] {
        match self {
            Self::Readable(session) => [
                session.id.chars().take(12).collect(),
                session.name.clone().unwrap_or_default(),
                session.branch.chars().take(12).collect(),
                session.head.to_string(),
                session.branch_count.to_string(),
                time(session.created_at),
            ],
            Self::Unreadable { error } => [
                "unreadable".to_owned(),
                error.message.clone(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ],
        }
    }
}
