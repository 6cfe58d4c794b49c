//! `samite audit log`.

use crate::printer::words::{rfc3339, time};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::reference::Reference;
use crate::surface::{Access, Surface};
use clap::Args;
use samite::audit::{AuditQuery, AuditedAct};
use samite_model::audit::{Coverage, WrittenBy, coverage};
use samite_model::{EntryKind, Error, ErrorKind, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Show what was done, and by whom
///
/// The newest acts by default. Names are those that the store's keys know: an erased person has none any more. With
/// --session also what was decided of it: holds, consents and erasures.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite audit log
  samite audit log --act branch_deleted --act artifact_published
  samite audit log --session . --all
  samite audit log --all --json | jq -r '.acts[] | [.at, .user, .act] | @tsv'")]
pub(crate) struct Log {
    /// Only acts on this session; one that was erased by its whole id
    #[arg(long, value_name = "SESSION")]
    session: Option<Reference>,
    /// Only this act; may be given several times
    #[arg(long, value_name = "ACT")]
    act: Vec<String>,
    /// Only acts of this person, such as ada or user:ada
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// How many, counted from the newest
    #[arg(long, value_name = "N", default_value_t = 30)]
    last: usize,
    /// All of them
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// An older log of this store, by its number
    #[arg(long = "log", value_name = "LOG")]
    older: Option<u64>,
}

/// One act.
#[derive(Debug, Serialize)]
pub(super) struct Act {
    pub(super) log: u64,
    pub(super) index: u64,
    pub(super) at: String,
    #[serde(rename = "act")]
    pub(super) did: String,
    /// That it took something back, in a word.
    pub(super) undone: Option<&'static str>,
    pub(super) user: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) workload: Option<String>,
    pub(super) owner: Option<String>,
    pub(super) session: Option<String>,
    pub(super) journal: String,
    pub(super) seq: u64,
    pub(super) policy: Vec<String>,
    pub(super) consent: Vec<String>,
    #[serde(skip)]
    time: i64,
}

impl Act {
    pub(super) fn new(act: &AuditedAct) -> Self {
        let leaf = &act.leaf;
        Self {
            log: act.log,
            index: act.index,
            at: rfc3339(leaf.at),
            did: leaf.act.to_string(),
            undone: act.undone,
            user: act.actor.user.clone(),
            agent: act.actor.agent.clone(),
            workload: act.actor.workload.clone(),
            owner: act.owner.clone(),
            session: act.session.map(|session| session.to_string()),
            journal: leaf.journal.to_string(),
            seq: leaf.seq,
            policy: leaf.policy.iter().map(ToString::to_string).collect(),
            consent: leaf.consent.iter().map(ToString::to_string).collect(),
            time: leaf.at,
        }
    }

    /// What was done, for a person.
    pub(super) fn what(&self) -> String {
        self.undone.map_or_else(|| self.did.clone(), |undone| format!("{} ({undone})", self.did))
    }

    /// Who, in one word for a person.
    pub(super) fn who(&self) -> String {
        let user = self.user.as_deref().unwrap_or("(erased)");
        match &self.agent {
            Some(agent) => format!("{user} by {agent}"),
            None => user.to_owned(),
        }
    }
}

#[derive(Serialize)]
struct Listed {
    acts: Vec<Act>,
    /// The first leaf of the log that is in the store: those before it were moved to an archive.
    minimum: u64,
    /// Logs from before the store was put back from an older copy, which are not shown.
    earlier: Vec<u64>,
}

impl Answer for Listed {
    fn show(&self, page: &mut Page) {
        if self.acts.is_empty() {
            page.line("nothing that matches was logged");
            return self.show_earlier(page);
        }
        let mut table = Table::new(&[
            ("LEAF", Column::Right),
            ("WHEN", Column::Left),
            ("ACT", Column::Left),
            ("WHO", Column::Flexible),
            ("SESSION", Column::Left),
        ]);
        for act in &self.acts {
            let session = act.session.as_deref().map(crate::printer::words::short_id).unwrap_or_default();
            table.row([act.index.to_string(), time(act.time), act.what(), act.who(), session]);
        }
        page.table(&table);
        self.show_earlier(page);
    }
}

impl Listed {
    fn show_earlier(&self, page: &mut Page) {
        if self.minimum > 0 {
            let what =
                format!("leaves before {} were moved to an archive: `samite retain show` names it", self.minimum);
            page.styled(Style::Dim, what);
        }
        for log in &self.earlier {
            let what = format!("log {log} is from before this store was put back: `samite audit log --log {log}`");
            page.styled(Style::Dim, what);
        }
    }
}

/// Refuses a word that no act has. What is none by itself is one where somebody else than the owner did it.
fn check_act(act: &str) -> Result<()> {
    if EntryKind::from_name(act).is_some() {
        return Ok(());
    }
    let is_act = |kind: &&EntryKind| coverage(**kind, WrittenBy::Owner) == Coverage::Leaf;
    let mut acts: Vec<String> = EntryKind::ALL.iter().filter(is_act).map(|kind| kind.name()).collect();
    acts.sort();
    let hint = format!("acts are {}; and, by others than the owner, any kind of entry", acts.join(", "));
    Err(Error::invalid("unknown_act", format!("{act:?} is no act")).hint(hint))
}

impl Log {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Read)?.client().await?;
        self.act.iter().try_for_each(|act| check_act(act))?;
        let (mut session, mut gone) = (None, None);
        if let Some(reference) = &self.session {
            session = match reference.find_session(&client).await {
                // Leaves stay when a session is erased: the id alone finds them.
                Err(error) if error.kind() == ErrorKind::NotFound => match reference.to_string().parse() {
                    Ok(id) => {
                        gone = Some(error);
                        Some(id)
                    }
                    Err(_) => return Err(error),
                },
                found => Some(found?),
            };
        }
        let query = AuditQuery {
            log: self.older,
            acts: self.act,
            session,
            user: self.user.map(|user| if user.contains(':') { user } else { format!("user:{user}") }),
            last: (!self.all).then_some(self.last),
            ..AuditQuery::default()
        };
        let audit = client.audit();
        let acts: Vec<Act> = audit.read(&query).await?.iter().map(Act::new).collect();
        if let Some(error) = gone.filter(|_| acts.is_empty()) {
            return Err(error);
        }
        let logs = audit.logs().await?;
        let shown = self.older.map_or_else(|| logs.last(), |older| logs.iter().find(|log| log.log == older));
        let minimum = shown.map_or(0, |log| log.minimum);
        let mut earlier: Vec<u64> = logs.iter().map(|log| log.log).collect();
        earlier.pop();
        if self.older.is_some() {
            earlier.clear();
        }
        surface.printer.answer(&Listed { acts, minimum, earlier })?;
        Ok(ExitCode::SUCCESS)
    }
}
