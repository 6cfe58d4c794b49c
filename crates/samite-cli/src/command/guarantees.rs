//! `samite guarantees`.

use crate::printer::{Answer, Column, Page, Style, Table};
use crate::reference::Reference;
use crate::shape::TreeShape;
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::guarantees::{Claim, Coverage, Failure, Store, Substrate, claims, claims_of};
use samite_model::settings::Settings;
use samite_model::{Error, Result};
use serde::Serialize;
use std::process::ExitCode;

/// Show what is covered, bounded or not covered when something fails, and what to do about it
///
/// For each shape of state and each failure: `covered` (nothing acknowledged is lost, nothing is done twice), `bounded`
/// (at most so much is lost) or not covered, with why and what to do. With a session, the bound is that of its own
/// checkpoints. Each claim names the tests that prove it (--json); what nothing proves is not claimed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite guarantees
  samite guarantees 3f2a --of workspace
  samite guarantees --json \\
      | jq '.claims[] | select(.coverage == \"not_covered\") | .failure'")]
pub(crate) struct Guarantees {
    /// The session whose bounds to show: SESSION or SESSION:BRANCH
    session: Option<Reference>,
    /// Only this shape: session, workspace, memory, artifacts or audit
    #[arg(long, value_name = "SHAPE", value_parser = parse_store)]
    of: Option<Store>,
}

fn parse_store(name: &str) -> Result<Store> {
    Store::from_name(name).ok_or_else(|| {
        Error::invalid("bad_store", format!("{name:?} is no shape of state"))
            .hint(Store::ALL.map(Store::name).join(", "))
    })
}

#[derive(Serialize)]
struct Holds {
    session: Option<String>,
    cadence: Option<&'static str>,
    /// The last tree of the session's branch.
    last: Option<TreeShape>,
    claims: Vec<ClaimShape>,
    substrates: Vec<&'static str>,
    #[serde(skip)]
    of: Vec<(Store, Vec<Claim>)>,
    #[serde(skip)]
    settings: Option<Settings>,
}

#[derive(Serialize)]
struct ClaimShape {
    store: &'static str,
    substrate: Option<&'static str>,
    failure: &'static str,
    coverage: &'static str,
    bound: Option<String>,
    why: &'static str,
    next: &'static str,
    tests: &'static [&'static str],
}

impl ClaimShape {
    fn new(claim: &Claim, settings: Option<&Settings>) -> Self {
        Self {
            store: claim.store.name(),
            substrate: claim.substrate.map(Substrate::name),
            failure: claim.failure.name(),
            coverage: claim.coverage.name(),
            bound: claim.coverage.bound(settings),
            why: claim.why,
            next: claim.next,
            tests: claim.tests,
        }
    }
}

/// How wide a paragraph is.
const WIDTH: usize = 78;

/// A paragraph in lines that fit, each after this.
fn wrapped(page: &mut Page, style: Style, indent: &str, text: &str) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > WIDTH {
            page.spans(&[(Style::Plain, indent), (style, &line)]);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    page.spans(&[(Style::Plain, indent), (style, &line)]);
}

fn word(coverage: Coverage) -> &'static str {
    match coverage {
        Coverage::NotCovered => "not covered",
        other => other.name(),
    }
}

/// So that a column for each shape fits.
fn short(coverage: Coverage) -> &'static str {
    match coverage {
        Coverage::NotCovered => "no",
        other => word(other),
    }
}

impl Answer for Holds {
    fn show(&self, page: &mut Page) {
        let shown = &self.of;
        let mut columns = vec![("FAILURE", Column::Left)];
        let names: Vec<String> = shown.iter().map(|(store, _)| store.name().to_uppercase()).collect();
        columns.extend(names.iter().map(|name| (name.as_str(), Column::Left)));
        let mut table = Table::new(&columns);
        for failure in Failure::ALL {
            let of = |claims: &Vec<Claim>| {
                claims.iter().find(|claim| claim.failure == failure).map(|claim| short(claim.coverage))
            };
            let cells = shown.iter().map(|(_, claims)| of(claims).unwrap_or("-").to_owned());
            table.row([failure.words()].into_iter().chain(cells));
        }
        if !shown.is_empty() {
            page.table(&table);
        }
        if let (Some(cadence), Some(session)) = (self.cadence, &self.session) {
            page.gap();
            let last = self.last.as_ref().map_or_else(|| "none".to_owned(), TreeShape::words);
            page.facts(&[("session", session.clone()), ("checkpoints", cadence.to_owned()), ("last tree", last)]);
        }
        for (store, claims) in shown {
            page.gap();
            page.styled(Style::Strong, store.name());
            for claim in claims {
                let style = match claim.coverage {
                    Coverage::Covered => Style::Good,
                    Coverage::Bounded(_) => Style::Care,
                    Coverage::NotCovered => Style::Bad,
                };
                let failure = claim.failure.words();
                page.spans(&[
                    (Style::Plain, "  "),
                    (Style::Plain, &failure),
                    (Style::Plain, ": "),
                    (style, word(claim.coverage)),
                ]);
                if let Some(bound) = claim.coverage.bound(self.settings.as_ref()) {
                    wrapped(page, Style::Care, "    ", &format!("at most lost: {bound}"));
                }
                wrapped(page, Style::Plain, "    ", claim.why);
                wrapped(page, Style::Dim, "    ", claim.next);
            }
        }
        page.gap();
        page.line(format!("workspaces are plain directories: no {} yet", list(&self.substrates_missing())));
    }
}

fn list(names: &[&str]) -> String {
    names.join(", ")
}

impl Holds {
    fn substrates_missing(&self) -> Vec<&'static str> {
        Substrate::ALL.into_iter().map(Substrate::name).filter(|name| !self.substrates.contains(name)).collect()
    }
}

impl Guarantees {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let (mut session, mut last, mut settings) = (None, None, None);
        if let Some(reference) = &self.session {
            let client = surface.open(Access::Read)?.client().await?;
            let found = reference.find_branch(&client).await?;
            let branch = found.branch_or_current(&client).await?;
            last = client.tree_at(client.head(found.session, branch).await?).await?.as_ref().map(TreeShape::new);
            settings = Some(client.settings(found.session).await?);
            session = Some(found.session.to_string());
        }
        let all = self.of.map_or_else(claims, claims_of);
        let stores: Vec<Store> = self.of.map_or_else(|| Store::ALL.to_vec(), |store| vec![store]);
        surface.printer.answer(&Holds {
            session,
            cadence: settings.as_ref().map(|settings| settings.cadence.name()),
            last,
            claims: all.iter().map(|claim| ClaimShape::new(claim, settings.as_ref())).collect(),
            substrates: Substrate::ALL.into_iter().filter(|one| one.is_there()).map(Substrate::name).collect(),
            of: stores.into_iter().map(|store| (store, claims_of(store))).collect(),
            settings,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
