//! `samite erase sweep`.

use crate::input::file_or_input;
use crate::printer::words::{bytes, count};
use crate::printer::{Answer, Column, Page, Style, Table};
use crate::surface::{Access, Surface, master_file};
use clap::{Args, ValueEnum};
use samite::erasure::{SweepOptions, Swept};
use samite_model::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The largest list of texts.
const LIMIT: u64 = 64 << 20;

/// Hunt for texts in the whole store: raw bytes, and everything that living keys open
///
/// Each line of the list is looked for as it is, in UTF-16, in base64 wherever it begins, in hexadecimal digits,
/// percent-encoded and as JSON writes it: in all files of the store, in the notes beside it and in what the master keeps, in
/// payloads, in blocks, those that only stand in a pack too, in names, and in the tables, statistics, full-text indexes and
/// free pages of databases. What is known
/// to stand in a place must be found there by the same means: else the sweep fails. To show that your texts would be found,
/// sweep with `--expect found` before you erase. Ends with 1 when it is not as expected.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  samite erase sweep --canaries names.txt --expect found
  samite erase sweep --canaries names.txt
  printf 'Ada Lovelace\\n' | samite erase sweep --canaries - --json")]
pub(super) struct Sweep {
    /// The texts, one a line, in a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    canaries: PathBuf,
    /// What is expected: that none is found, or that each is
    #[arg(long, value_enum, default_value_t = Expect::Gone)]
    expect: Expect,
    /// Look through this file or directory as well; may be repeated
    #[arg(long, value_name = "PATH")]
    also: Vec<PathBuf>,
}

/// What is expected of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Expect {
    /// None is found.
    Gone,
    /// Each is found.
    Found,
}

#[derive(Serialize)]
struct Answered {
    as_expected: bool,
    canaries: usize,
    found: usize,
    missing: Vec<String>,
    bytes: u64,
    places: Vec<Place>,
    hits: Vec<Found>,
}

#[derive(Serialize)]
struct Place {
    name: &'static str,
    units: u64,
    bytes: u64,
    sealed: u64,
    unread: u64,
    control: Option<bool>,
}

#[derive(Serialize)]
struct Found {
    canary: String,
    form: &'static str,
    place: &'static str,
    at: String,
    count: u64,
}

impl Answered {
    fn new(swept: &Swept, canaries: &[String], expect: Expect) -> Self {
        let found = swept.found();
        let text = |number: usize| canaries.get(number).cloned().unwrap_or_default();
        let missing = match expect {
            Expect::Gone => Vec::new(),
            Expect::Found => (0..canaries.len()).filter(|number| !found.contains(number)).map(text).collect(),
        };
        Self {
            as_expected: match expect {
                // What could not be looked through may hold any of them.
                Expect::Gone => found.is_empty() && swept.unread() == 0,
                Expect::Found => found.len() == canaries.len(),
            },
            canaries: canaries.len(),
            found: found.len(),
            missing,
            bytes: swept.bytes(),
            places: swept
                .places
                .iter()
                .map(|place| Place {
                    name: place.name,
                    units: place.units,
                    bytes: place.bytes,
                    sealed: place.sealed,
                    unread: place.unread,
                    control: place.control,
                })
                .collect(),
            hits: swept
                .hits
                .iter()
                .map(|hit| Found {
                    canary: text(hit.canary),
                    form: hit.form,
                    place: hit.place,
                    at: hit.at.clone(),
                    count: hit.count,
                })
                .collect(),
        }
    }
}

impl Answer for Answered {
    fn show(&self, page: &mut Page) {
        let mut table = Table::new(&[
            ("PLACE", Column::Left),
            ("UNITS", Column::Right),
            ("BYTES", Column::Right),
            ("SEALED", Column::Right),
            ("CONTROL", Column::Left),
        ]);
        for place in &self.places {
            table.row([
                place.name.to_owned(),
                place.units.to_string(),
                bytes(place.bytes),
                if place.sealed == 0 { String::new() } else { place.sealed.to_string() },
                if place.control == Some(true) { "found".to_owned() } else { String::new() },
            ]);
        }
        page.table(&table);
        page.gap();
        let style = if self.as_expected { Style::Plain } else { Style::Care };
        let looked = bytes(self.bytes);
        page.styled(style, format!("{} of {} found in {looked}", self.found, count(self.canaries as u64, "text")));
        let unread: u64 = self.places.iter().map(|place| place.unread).sum();
        if unread > 0 {
            let what = format!("{} of blocks or payloads could not be read", count(unread, "unit"));
            page.styled(Style::Care, format!("{what}: `samite verify` says which"));
        }
        for missing in self.missing.iter().take(20) {
            page.line(format!("  not found: {missing}"));
        }
        if self.as_expected {
            return;
        }
        for hit in self.hits.iter().take(20) {
            page.line(format!("  {} ({}) in {}: {}", hit.canary, hit.form, hit.place, hit.at));
        }
    }
}

impl Sweep {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let list = file_or_input("the list of texts", &self.canaries, LIMIT)?;
        let list = String::from_utf8(list)
            .map_err(|_| Error::invalid("bad_canary", "the list of texts is no UTF-8").hint("one text a line"))?;
        let mut canaries: Vec<String> = list.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        canaries.sort_unstable();
        canaries.dedup();
        let store = surface.open(Access::Read)?;
        let progress = surface.printer.progress("looking through the store");
        let mut also = self.also;
        let copies = master_file()?.map(|file| file.with_extension("copies")).filter(|copies| copies.is_dir());
        also.extend(copies);
        let options = SweepOptions { canaries: canaries.clone(), also, observer: progress.observer() };
        let swept = store.sweep(&options).await?;
        drop(progress);
        let answer = Answered::new(&swept, &canaries, self.expect);
        let as_expected = answer.as_expected;
        surface.printer.answer(&answer)?;
        Ok(if as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
