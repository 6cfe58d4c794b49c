//! `samite memory stats`.

use super::encoder::with_encoder;
use crate::printer::words::count;
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_host::{Clock, SystemClock};
use samite_model::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// List your namespaces, with how much is in each
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  samite memory stats")]
pub(crate) struct Stats {}

#[derive(Serialize)]
struct Namespaces {
    namespaces: Vec<NamespaceShape>,
}

#[derive(Serialize)]
struct NamespaceShape {
    namespace: Vec<String>,
    journal: String,
    /// The last entry's seq.
    head: u64,
    /// Records that are found.
    found: u64,
    quarantined: u64,
    pinned: u64,
    /// Records that ended.
    ended: u64,
    /// Records that are found, by kind.
    kinds: Vec<KindCount>,
    /// The vectors, by the space of the model that makes them.
    spaces: Vec<SpaceShape>,
}

#[derive(Serialize)]
struct SpaceShape {
    /// The name of the model.
    model: String,
    /// What the space is, in words.
    name: String,
    /// The id of the space.
    space: String,
    dimensions: usize,
    /// Whether the model is being changed to this one.
    next: bool,
    /// Records that have a vector.
    made: u64,
    /// Records that have none yet, and are found by their words.
    behind: u64,
}

#[derive(Serialize)]
struct KindCount {
    kind: &'static str,
    count: u64,
}

impl Answer for Namespaces {
    fn show(&self, page: &mut Page) {
        if self.namespaces.is_empty() {
            return page.styled(Style::Dim, "no namespaces");
        }
        let mut table = Table::new(&[
            ("NAMESPACE", Column::Flexible),
            ("FOUND", Column::Right),
            ("PINNED", Column::Right),
            ("QUARANTINED", Column::Right),
            ("ENDED", Column::Right),
            ("HEAD", Column::Right),
        ]);
        for one in &self.namespaces {
            let name = one.namespace.join(" / ");
            let numbers =
                [one.found, one.pinned, one.quarantined, one.ended, one.head].map(|number| number.to_string());
            table.row(std::iter::once(name).chain(numbers));
        }
        page.table(&table);
        for one in &self.namespaces {
            for space in one.spaces.iter().filter(|space| space.next || space.behind > 0) {
                let (name, all) = (one.namespace.join(" / "), space.made + space.behind);
                let what = if space.next { "is being changed to" } else { "has vectors of" };
                let line = format!("{name} {what} {}: {} of {all}", space.model, space.made);
                page.styled(Style::Dim, line);
            }
        }
        page.styled(Style::Dim, count(self.namespaces.len() as u64, "namespace"));
    }
}

impl Stats {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        // A store that is only read has nothing beside its ledger.
        let client = surface.open(Access::Write)?.client().await?;
        let now = SystemClock.now();
        let mut namespaces = Vec::new();
        for (namespace, state) in client.memory_namespaces().await? {
            let standings = client.memory(namespace.clone()).standings(None).await?;
            let settings = standings.settings();
            let mut one = NamespaceShape {
                namespace: namespace.segments().to_vec(),
                journal: state.id.to_string(),
                head: state.head,
                found: 0,
                quarantined: 0,
                pinned: 0,
                ended: 0,
                kinds: Vec::new(),
                spaces: Vec::new(),
            };
            for state in with_encoder(surface, client.memory(namespace.clone()))?.spaces().await? {
                one.spaces.push(SpaceShape {
                    name: state.model.space.to_string(),
                    model: state.model.name,
                    space: state.model.space.id().to_string(),
                    dimensions: state.model.space.dimensions(),
                    next: state.is_next,
                    made: state.made,
                    behind: state.behind,
                });
            }
            let mut kinds: BTreeMap<&'static str, u64> = BTreeMap::new();
            for standing in standings.all() {
                if standing.ended.is_some() {
                    one.ended += 1;
                } else if standing.is_quarantined(settings) {
                    one.quarantined += 1;
                } else if standing.is_found(settings, now) {
                    one.found += 1;
                    one.pinned += u64::from(standing.pinned);
                    *kinds.entry(standing.record.kind.name()).or_default() += 1;
                }
            }
            one.kinds = kinds.into_iter().map(|(kind, count)| KindCount { kind, count }).collect();
            namespaces.push(one);
        }
        surface.printer.answer(&Namespaces { namespaces })?;
        Ok(ExitCode::SUCCESS)
    }
}
