//! Hunting for texts that are to be gone: in raw bytes, and in everything that living keys open.

mod blocks;
mod database;
mod places;
mod search;

use crate::embedded::Embedded;
use samite_model::erasure::canary::SHORTEST;
use samite_model::{Error, Observer, Result};
use search::Search;
use std::path::PathBuf;

/// What to hunt for, and where beside the store.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// The texts.
    pub canaries: Vec<String>,
    /// Files and directories to look through as well, such as that of the master's copies.
    pub also: Vec<PathBuf>,
    /// Is told how many bytes were looked through.
    pub observer: Observer,
}

/// A kind of place that was looked through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweptPlace {
    /// What it is: `ledger`, `log`, `packs`, `keys`, `tables`, `full_text`, `freelist`, `payloads`, `blocks`, …
    pub name: &'static str,
    /// How many files, entries or blocks of it there are.
    pub units: u64,
    /// How many bytes were looked through.
    pub bytes: u64,
    /// How many units could not be opened: their keys are gone.
    pub sealed: u64,
    /// How many units should have been opened and could not be: they are damaged, or their places are. What stands there is not
    /// known.
    pub unread: u64,
    /// Whether something that is known to stand there was found by the same means; none where nothing is known to.
    pub control: Option<bool>,
}

/// Where a text was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Which text, counted from 0.
    pub canary: usize,
    /// In which form.
    pub form: &'static str,
    /// In which kind of place.
    pub place: &'static str,
    /// Where there first: a path, or a journal and seq.
    pub at: String,
    /// How often in that kind of place, in this form.
    pub count: u64,
}

/// What a sweep saw.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// Where it looked.
    pub places: Vec<SweptPlace>,
    /// What it found.
    pub hits: Vec<Hit>,
    /// How many texts it looked for.
    pub canaries: usize,
}

impl Swept {
    /// The texts that were found somewhere, by number.
    pub fn found(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.hits.iter().map(|hit| hit.canary).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// How many units were not looked through although their keys live: a text that was not found may stand there.
    pub fn unread(&self) -> u64 {
        self.places.iter().map(|place| place.unread).sum()
    }

    /// How many bytes were looked through.
    pub fn bytes(&self) -> u64 {
        self.places.iter().map(|place| place.bytes).sum()
    }
}

impl Embedded {
    /// Looks for texts, each in every form that [`samite_model::erasure::canary`] knows, in the raw bytes of all files of the
    /// store and of others that are named, and in all payloads, blocks and names that can be opened, blocks that stand in
    /// packs and are in no index too. What it finds is the answer, not an error.
    ///
    /// # Errors
    /// `invalid` (`bad_canary`) for a text that is too short; `internal` (`sweep_blind`) when what is known to be there was not
    /// found by the same means, so that finding nothing would say nothing.
    pub async fn sweep(&self, options: &SweepOptions) -> Result<Swept> {
        if let Some(short) = options.canaries.iter().find(|text| text.len() < SHORTEST) {
            return Err(Error::invalid("bad_canary", format!("{short:?} has fewer than {SHORTEST} bytes"))
                .hint("shorter texts are found by chance: give a longer part of it"));
        }
        if options.canaries.is_empty() {
            return Err(Error::invalid("bad_canary", "there is nothing to look for").hint("one text a line"));
        }
        let mut search = Search::new(&options.canaries)?;
        let mut places = self.sweep_files(&mut search, options)?;
        places.extend(self.sweep_databases(&mut search)?);
        places.push(self.sweep_payloads(&mut search, &options.observer).await?);
        places.push(self.sweep_blocks(&mut search, &options.observer).await?);
        places.push(self.sweep_names(&mut search)?);
        if let Some(blind) = places.iter().find(|place| place.control == Some(false)) {
            let message = format!("what is known to stand in {} was not found there", blind.name);
            return Err(Error::internal("sweep_blind", message).hint("a sweep that finds nothing would say nothing"));
        }
        Ok(Swept { places, hits: search.into_hits(), canaries: options.canaries.len() })
    }
}
