//! `samite erase`: erasing, and looking after erasures.

mod list;
mod prove;
mod resume;
mod show;
mod sweep;

use crate::input::{asked, can_ask};
use crate::printer::{Answer, Page};
use crate::reference::Reference;
use crate::shape::{ErasurePlanShape, ErasureShape};
use crate::surface::{Access, Surface};
use clap::{Args, Subcommand};
use samite::Client;
use samite::embedded::Embedded;
use samite::erasure::{EraseOptions, EraseWhat};
use samite::memory::Namespace;
use samite_model::{Error, FamilyId, Observer, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Erase a person's data, or a part of it, so that it comes back from nowhere, with a proof
///
/// The plan is shown first: what goes, what stays and why, what others made of it, and what is not reached. Then writers are
/// fenced; a user's keys are destroyed where the master key lives; payloads, rows and blocks are deleted, packs and the
/// database written anew. Headers, links and commitments stay as tombstones, so that `verify` still accepts the rest. What
/// is cut off is finished by whoever opens the store for writing next; a copy that is older is erased before it serves.
/// Where nobody can be asked it needs --yes.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "samite erase [OPTIONS] --reason <REASON> <WHAT>\n       samite erase <COMMAND>",
    after_long_help = "\
Examples:
  samite erase --user ada --reason 'request 1742' --plan
  samite erase --user ada --reason 'request 1742' --yes
  samite erase --session 3f2a --reason 'made by mistake'
  samite erase --entries 3f2a@17..21 --reason 'a password' --yes
  samite erase --artifact 9c41 --reason 'not ours' --yes
  samite erase --artifact 9c41 --also 77d0 --reason 'not ours' --plan
  samite erase --memory team --memory notes --reason 'asked for' --yes
  samite erase list"
)]
pub(crate) struct Erase {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    what: What,
    /// Why: it stays in the proof, and should name nobody
    #[arg(long, required = true)]
    reason: Option<String>,
    /// Erase this too, of what the plan says was made of it: an id, or its beginning; may be repeated
    #[arg(long, value_name = "ID")]
    also: Vec<String>,
    /// Only show what would go
    #[arg(long)]
    plan: bool,
    /// Erase without asking
    #[arg(long, conflicts_with = "plan")]
    yes: bool,
}

/// What to erase.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct What {
    /// All data of a user, with the keys that sealed it
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// A session, with all of its branches
    #[arg(long, value_name = "SESSION")]
    session: Option<Reference>,
    /// An artifact: its record, its bytes and its inputs
    #[arg(long, value_name = "ARTIFACT")]
    artifact: Option<String>,
    /// Entries of a branch: SESSION@FIRST..LAST, or SESSION:BRANCH@FIRST..LAST
    #[arg(long, value_name = "ENTRIES")]
    entries: Option<String>,
    /// A namespace of your long-term memory, a segment each time: --memory team --memory notes
    #[arg(long, value_name = "SEGMENT")]
    memory: Vec<String>,
}

/// What can be done with erasures that there are.
#[derive(Debug, Subcommand)]
enum Other {
    List(list::List),
    Show(show::Show),
    Prove(prove::Prove),
    Resume(resume::Resume),
    Sweep(sweep::Sweep),
}

#[derive(Serialize)]
struct Answered {
    planned: bool,
    plan: ErasurePlanShape,
    erased: Option<ErasureShape>,
}

impl Answer for Answered {
    fn show(&self, page: &mut Page) {
        if let Some(erased) = &self.erased {
            return erased.show(page);
        }
        self.plan.show(page);
        page.gap();
        page.line("nothing was touched");
    }
}

impl What {
    async fn find(self, client: &Client) -> Result<EraseWhat> {
        if let Some(user) = self.user {
            return Ok(EraseWhat::User(user));
        }
        if let Some(artifact) = self.artifact {
            return Ok(EraseWhat::Artifact(client.find_artifact(&artifact).await?));
        }
        if !self.memory.is_empty() {
            return Ok(EraseWhat::Memory(Namespace::new(self.memory)?));
        }
        if let Some(session) = self.session {
            return Ok(EraseWhat::Session(session.find_session(client).await?));
        }
        let entries = self.entries.unwrap_or_default();
        let bad = || {
            Error::invalid("bad_range", format!("{entries:?} names no entries"))
                .hint("write the first and the last seq: SESSION@3..7")
        };
        let (rest, range) = entries.rsplit_once('@').ok_or_else(bad)?;
        let (from, to) = range.split_once("..").unwrap_or((range, range));
        let (Ok(from), Ok(to)) = (from.parse(), to.parse()) else { return Err(bad()) };
        let reference: Reference =
            rest.parse().map_err(|why: String| Error::invalid("bad_range", why).hint("write SESSION@3..7"))?;
        let found = reference.find_branch(client).await?;
        let branch = found.branch_or_current(client).await?;
        Ok(EraseWhat::Entries { session: found.session, branch, from, to })
    }
}

/// The ids that are meant, of what was made of what is erased, and of what was made of that in turn.
async fn also(store: &Embedded, client: &Client, options: &EraseOptions, words: &[String]) -> Result<Vec<FamilyId>> {
    let mut ids: Vec<FamilyId> = Vec::new();
    let mut open: Vec<&String> = words.iter().collect();
    while !open.is_empty() {
        let plan = store.plan_erasure(client, &EraseOptions { also: ids.clone(), ..options.clone() }).await?;
        let before = open.len();
        let mut ambiguous = None;
        open.retain(|word| {
            let begins = |id: &FamilyId| !word.is_empty() && id.to_string().starts_with(&word.to_ascii_lowercase());
            let mut found: Vec<FamilyId> = plan.derived.iter().map(|one| one.id).filter(begins).collect();
            found.dedup();
            match found.as_slice() {
                [] => true,
                [one] => {
                    ids.push(*one);
                    false
                }
                _ => {
                    ambiguous = Some((*word).clone());
                    true
                }
            }
        });
        if let Some(word) = ambiguous {
            return Err(Error::invalid(
                "ambiguous_prefix",
                format!("{word} is the beginning of several ids of the plan"),
            )
            .hint("give more digits: --plan lists them"));
        }
        if open.len() == before {
            let word = open.first().map(|word| (*word).clone()).unwrap_or_default();
            return Err(Error::invalid("not_derived", format!("{word} was not made of what is erased"))
                .hint("--plan lists what was, with its id"));
        }
    }
    Ok(ids)
}

impl Erase {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        match self.other {
            Some(Other::List(command)) => return command.run(surface).await,
            Some(Other::Show(command)) => return command.run(surface).await,
            Some(Other::Prove(command)) => return command.run(surface).await,
            Some(Other::Resume(command)) => return command.run(surface).await,
            Some(Other::Sweep(command)) => return command.run(surface).await,
            None => {}
        }
        let store = surface.open(if self.plan { Access::Read } else { Access::Write })?;
        let client = store.client().await?;
        let what = self.what.find(&client).await?;
        let Self { reason, also, plan, yes, .. } = self;
        let asked = Asked { what, reason: reason.unwrap_or_default(), also, plan, yes };
        asked.run(surface, &store, &client).await
    }
}

/// An erasure as it is asked for.
pub(super) struct Asked {
    pub(super) what: EraseWhat,
    pub(super) reason: String,
    pub(super) also: Vec<String>,
    /// Whether only the plan is shown.
    pub(super) plan: bool,
    /// Whether nobody is asked.
    pub(super) yes: bool,
}

impl Asked {
    /// Shows what would go, asks where it has to, and erases.
    pub(super) async fn run(self, surface: &Surface, store: &Embedded, client: &Client) -> Result<ExitCode> {
        let mut options =
            EraseOptions { what: self.what, reason: self.reason, also: Vec::new(), observer: Observer::default() };
        let progress = surface.printer.progress("looking for what there is");
        options.also = also(store, client, &options, &self.also).await?;
        let plan = ErasurePlanShape::new(&store.plan_erasure(client, &options).await?, client).await;
        drop(progress);
        let asks = !self.yes && !self.plan;
        if asks && !can_ask() {
            return Err(Error::invalid("not_confirmed", plan.words())
                .hint("nothing was touched; --yes erases it, --plan shows what goes and what stays"));
        }
        if self.plan {
            surface.printer.answer(&Answered { planned: true, plan, erased: None })?;
            return Ok(ExitCode::SUCCESS);
        }
        if asks && !surface.printer.is_json() {
            surface.printer.aside_page(|page| plan.show(page));
        }
        if asks && !asked("erase it for good?")? {
            return Err(Error::invalid("not_confirmed", "nothing was erased").hint("nothing was touched"));
        }
        let progress = surface.printer.progress("erasing");
        options.observer = progress.observer();
        let record = store.erase(client, &options).await?;
        drop(progress);
        surface.printer.answer(&Answered {
            planned: false,
            plan,
            erased: Some(ErasureShape::new(&record, Some(client)).await),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
