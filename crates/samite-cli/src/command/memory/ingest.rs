//! `samite memory ingest`.

use super::new::parse_trust;
use super::within::Within;
use crate::input::{asked, can_ask};
use crate::printer::words::count;
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite::memory::{
    Document, DocumentFormat, DocumentTree, HeldDocument, Ingested, Ingester, Memory, NotRead, Trust, document_tree,
    read_document,
};
use samite_model::{Error, Result};
use serde::Serialize;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// Take in a document, or all documents of a directory, a record for each piece
///
/// Text, Markdown, code and HTML are cut into pieces, each with where in the document it is. A document that comes again is compared:
/// what is the same stays, and only the difference is written. It is the same document if it has the same name: NAME/path/in/it for a
/// directory, where NAME is the directory's own name or what --name says, wherever it lies; NAME alone for a single file. What is
/// hidden, in .gitignore or .samiteignore, not text in UTF-8, too long, or behind a symbolic link is left out.
///
/// Documents are trusted as what a tool said, unless it is said otherwise: a search finds them in a short list of their own, so that
/// none can crowd out or pass for what the user said. Give --trust user for what you wrote or stand behind, and it is among the rest;
/// give --trust web for what nobody looked at yet, and it waits for approval.
///
/// Documents that are gone from the directory stay, and are named, until --delete-missing retracts their pieces. That is shown first;
/// where nobody can be asked it needs --yes. What somebody forgot or revoked does not come back.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite memory ingest -n manual docs --trust user
  samite memory ingest -n manual docs --trust user --delete-missing --plan
  samite memory ingest -n manual /tmp/unpacked --name docs --yes
  samite memory ingest -n reading page.html --trust web")]
pub(crate) struct Ingest {
    #[command(flatten)]
    within: Within,
    /// The file or directory
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    /// What it is called, instead of its own name
    #[arg(long)]
    name: Option<String>,
    /// Who stands behind it: user, operator, model, tool or web
    #[arg(long, default_value = "tool", value_parser = parse_trust)]
    trust: Trust,
    /// How it is read, instead of what its name or beginning says: plain, markdown, code or html
    #[arg(long, value_parser = parse_format)]
    format: Option<DocumentFormat>,
    /// Leave out files of more bytes than this
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20)]
    largest: u64,
    /// Retract the pieces of documents that are gone from the directory
    #[arg(long)]
    delete_missing: bool,
    /// Show what would be done, and change nothing
    #[arg(long, conflicts_with = "yes")]
    plan: bool,
    /// Retract what is gone without asking
    #[arg(long)]
    yes: bool,
}

fn parse_format(text: &str) -> std::result::Result<DocumentFormat, String> {
    DocumentFormat::from_name(text).ok_or_else(|| "write plain, markdown, code or html".to_owned())
}

/// What came of a directory.
#[derive(Default, Serialize)]
struct Taken {
    /// Whether nothing was changed.
    plan: bool,
    documents: Vec<One>,
    skipped: Vec<Skipped>,
    /// Documents that are gone, and whose pieces stand.
    missing: Vec<String>,
    #[serde(skip)]
    trust: Option<Trust>,
}

/// What came of a document.
#[derive(Serialize)]
struct One {
    name: String,
    format: Option<&'static str>,
    kept: u64,
    added: u64,
    replaced: u64,
    ended: u64,
    forgotten: u64,
    revoked: u64,
}

#[derive(Serialize)]
struct Skipped {
    name: String,
    /// The reason, or the code of an error.
    reason: String,
}

impl One {
    fn new(done: Ingested) -> Self {
        Self {
            name: done.name,
            format: done.format.map(DocumentFormat::name),
            kept: done.kept as u64,
            added: done.added as u64,
            replaced: done.replaced as u64,
            ended: done.ended as u64,
            forgotten: done.forgotten as u64,
            revoked: done.revoked as u64,
        }
    }

    fn is_unchanged(&self) -> bool {
        self.added + self.replaced + self.ended + self.forgotten + self.revoked == 0
    }
}

impl Answer for Taken {
    fn show(&self, page: &mut Page) {
        let changed: Vec<&One> = self.documents.iter().filter(|one| !one.is_unchanged()).collect();
        if !changed.is_empty() {
            let numbers = ["KEPT", "NEW", "CHANGED", "GONE", "LEFT OUT"].map(|name| (name, Column::Right));
            let columns: Vec<_> = [("DOCUMENT", Column::Flexible)].into_iter().chain(numbers).collect();
            let mut table = Table::new(&columns);
            for one in &changed {
                let left_out = one.forgotten + one.revoked;
                let counts = [one.kept, one.added, one.replaced, one.ended, left_out].map(|count| count.to_string());
                table.row([one.name.clone()].into_iter().chain(counts));
            }
            page.table(&table);
            page.gap();
        }
        let unchanged = self.documents.len() - changed.len();
        if unchanged > 0 {
            page.line(format!("{} unchanged", count(unchanged as u64, "document")));
        }
        if self.documents.is_empty() {
            page.styled(Style::Dim, "no documents");
        }
        for one in &self.skipped {
            page.styled(Style::Care, format!("left out: {} ({})", one.name, words(&one.reason)));
        }
        let (forgotten, revoked): (u64, u64) =
            self.documents.iter().fold((0, 0), |sum, one| (sum.0 + one.forgotten, sum.1 + one.revoked));
        if forgotten > 0 {
            page.styled(Style::Care, format!("{} left out: somebody forgot what they say", count(forgotten, "piece")));
        }
        if revoked > 0 {
            page.styled(Style::Care, format!("{} left out: revoked with their source", count(revoked, "piece")));
        }
        for name in &self.missing {
            page.styled(Style::Care, format!("gone, and still found: {name}"));
        }
        if !self.missing.is_empty() {
            page.styled(Style::Dim, "--delete-missing retracts what is gone");
        }
        let came = changed.iter().any(|one| one.added + one.replaced > 0);
        match self.trust {
            _ if self.plan => page.styled(Style::Dim, "a plan: nothing was changed"),
            Some(Trust::Tool) if came => {
                page.styled(Style::Dim, "found in a list of their own, as a tool's words; see --trust");
            }
            Some(Trust::Web) if came => page.styled(Style::Dim, "they wait in `samite memory quarantine list`"),
            _ => {}
        }
    }
}

/// A reason for a person.
fn words(reason: &str) -> &str {
    match reason {
        "binary" => "not text in UTF-8",
        "too_long" => "longer than --largest",
        "link" => "a symbolic link",
        "special" => "no file",
        "name" => "its name is no text, or has control characters",
        "unreadable" => "cannot be read",
        "gone" => "it went meanwhile",
        "less_trusted" => "its pieces are trusted more than --trust says",
        other => other,
    }
}

impl Ingest {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let tree = document_tree(&self.path, self.name.as_deref())?;
        let access = if self.plan { Access::Read } else { Access::Create };
        let client = surface.open(access)?.client().await?;
        let memory = self.within.of(&client)?;
        let taken = self.take(surface, &memory, &tree).await?;
        surface.printer.answer(&taken)?;
        Ok(ExitCode::SUCCESS)
    }

    async fn take(&self, surface: &Surface, memory: &Memory, tree: &DocumentTree) -> Result<Taken> {
        let mut ingester = memory.ingester();
        let mut taken = Taken { plan: self.plan, trust: Some(self.trust), ..Taken::default() };
        let gone = self.gone(&mut ingester, tree).await?;
        if self.delete_missing && !self.plan && !self.yes && !gone.is_empty() {
            self.ask(surface, &gone)?;
        }
        let skip = |name: &str, reason: NotRead| Skipped { name: name.to_owned(), reason: reason.name().to_owned() };
        taken.skipped = tree.skipped.iter().map(|(name, reason)| skip(name, *reason)).collect();
        let progress = surface.printer.progress("taking in documents");
        for (number, file) in (0..).zip(&tree.files) {
            progress.set(number, Some(tree.files.len() as u64));
            let bytes = match read_document(file, self.largest, self.format) {
                Ok(bytes) => bytes,
                Err(reason) if tree.is_directory => {
                    taken.skipped.push(skip(&file.name, reason));
                    continue;
                }
                Err(reason) => {
                    let why = words(reason.name());
                    return Err(Error::invalid("not_a_document", format!("{}: {why}", file.path.display()))
                        .hint("give text in UTF-8: plain, Markdown, code or HTML"));
                }
            };
            let document = Document { name: &file.name, bytes: &bytes, format: self.format, trust: self.trust };
            let done = if self.plan { ingester.plan(&document).await } else { ingester.ingest(&document).await };
            match done {
                Ok(done) => taken.documents.push(One::new(done)),
                // What one document may not do says nothing of the others.
                Err(error) if error.code() == "less_trusted" && tree.is_directory => {
                    taken.skipped.push(Skipped { name: file.name.clone(), reason: error.code().to_owned() });
                }
                Err(error) => return Err(error),
            }
        }
        drop(progress);
        if self.delete_missing && !self.plan {
            for document in &gone {
                taken.documents.push(One::new(ingester.withdraw(document).await?));
            }
        } else if self.delete_missing {
            for HeldDocument { name, pieces, .. } in gone {
                taken.documents.push(One::new(Ingested { name, ended: pieces, ..Ingested::default() }));
            }
        } else {
            taken.missing = gone.into_iter().map(|one| one.name).collect();
        }
        taken.skipped.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(taken)
    }

    /// The documents of this directory that stand and are not there any more. What is there and is not read is not gone.
    async fn gone(&self, ingester: &mut Ingester<'_>, tree: &DocumentTree) -> Result<Vec<HeldDocument>> {
        let mut there: HashSet<String> = HashSet::new();
        for file in &tree.files {
            there.insert(ingester.known_by(&file.name).await?);
        }
        // Below what cannot be looked at nobody knows what is there.
        let is_unseen = |document: &HeldDocument| {
            tree.skipped.iter().any(|(skipped, _)| {
                document
                    .name
                    .strip_prefix(skipped.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let held = ingester.documents().await?.into_iter();
        let gone =
            held.filter(|one| tree.has_place_for(&one.name) && !there.contains(&one.document) && !is_unseen(one));
        Ok(gone.collect())
    }

    fn ask(&self, surface: &Surface, gone: &[HeldDocument]) -> Result<()> {
        let what = count(gone.len() as u64, "document");
        let would = Error::invalid("not_confirmed", format!("the pieces of {what} would be retracted"))
            .hint("nothing was touched; --yes does it, --plan shows it");
        if !can_ask() {
            return Err(would);
        }
        surface.printer.aside_page(|page| {
            for one in gone {
                page.line(format!("{}: {}", one.name, count(one.pieces as u64, "piece")));
            }
        });
        if asked(&format!("retract the pieces of {what} in {}?", self.path.display()))? { Ok(()) } else { Err(would) }
    }
}
