//! A session as an answer.

use crate::printer::words::{count, rfc3339, time};
use crate::printer::{Answer, Page};
use samite::SessionInfo;
use samite::payload::ParentSession;
use samite_model::Error;
use serde::Serialize;
use serde_json::{Value, json};

/// A session.
#[derive(Debug, Serialize)]
pub(crate) struct SessionShape {
    id: String,
    name: Option<String>,
    created: String,
    principal: Value,
    parent: Option<ParentSession>,
    source: Option<Value>,
    current: String,
    head: u64,
    branches: usize,
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
            principal: json!({
                "tenant": principal.tenant,
                "user": principal.user,
                "agent": principal.agent,
                "workload": principal.workload,
            }),
            parent: info.created.parent.clone(),
            source: info.created.source.clone(),
            current: info.current.to_string(),
            head: info.head,
            branches: info.branches,
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
        let part = |name: &str| self.principal.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        page.facts(&[
            ("session", self.id.clone()),
            ("name", self.name.clone().unwrap_or_default()),
            ("made", format!("{} by {} ({})", time(self.created_at), part("user"), part("agent"))),
            (
                "works for",
                self.parent.as_ref().map_or_else(String::new, |parent| {
                    let step = parent.step.map_or_else(String::new, |step| format!(", step at seq {}", step.seq));
                    format!("session {}{step}", parent.session)
                }),
            ),
            ("imported from", self.source.as_ref().map_or_else(String::new, ToString::to_string)),
            (
                "branch",
                format!(
                    "{} is current, at seq {} ({})",
                    self.current,
                    self.head,
                    count(self.branches as u64, "branch")
                ),
            ),
        ]);
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
        error: Value,
    },
}

impl SessionRow {
    /// The row of what listing answered.
    pub(crate) fn new(session: &Result<SessionInfo, Error>) -> Self {
        match session {
            Ok(info) => Self::Readable(Box::new(SessionShape::new(info))),
            Err(error) => Self::Unreadable {
                error: json!({"kind": error.kind().name(), "code": error.code(), "message": error.message()}),
            },
        }
    }

    /// The cells: id, name, current branch, head, branches, made.
    pub(crate) fn cells(&self) -> [String; 6] {
        match self {
            Self::Readable(session) => [
                session.id.chars().take(12).collect(),
                session.name.clone().unwrap_or_default(),
                session.current.chars().take(12).collect(),
                session.head.to_string(),
                session.branches.to_string(),
                time(session.created_at),
            ],
            Self::Unreadable { error } => {
                let message = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
                ["unreadable".to_owned(), message, String::new(), String::new(), String::new(), String::new()]
            }
        }
    }
}
