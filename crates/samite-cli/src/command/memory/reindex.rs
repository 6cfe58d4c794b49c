//! `samite memory reindex`.

use super::encoder::{whole, with_encoder, with_models};
use super::within::Within;
use crate::printer::words::count;
use crate::printer::{Answer, Page};
use crate::surface::{Access, Surface};
use clap::Args;
use samite_model::Result;
use serde::Serialize;
use std::process::ExitCode;

/// Make the vectors of all records that have none yet, or change the model that makes them
///
/// A search makes some by itself, the newest first, and finds the rest by their words. They are kept sealed beside the database, are in
/// no backup, and are made again where they are gone.
///
/// With --to they are made with another model too. Writing and searching go on: until all are made, searches are answered by both, and
/// then by the new one alone, in every process; the old ones are removed. The same command goes on with a change that was interrupted.
/// An endpoint gets texts only where it is a processor that is registered to receive memory (`samite processor register`).
#[derive(Debug, Args)]
#[command(after_long_help = "\
A model is `builtin`, `file:DIR` with a `model.onnx` and its `tokenizer.json`
or `vocab.txt`, or `endpoint:NAME`, which `endpoints.json` in the store's
directory describes, and which is a processor of that name.

Examples:
  samite memory reindex -n notes
  samite memory reindex -n notes --to file:models/bge-small --rate 50
  samite memory reindex -n notes --abandon")]
pub(crate) struct Reindex {
    #[command(flatten)]
    within: Within,
    /// Change to this model
    #[arg(long, value_name = "MODEL")]
    to: Option<String>,
    /// So many records a second at most
    #[arg(long, value_name = "NUMBER", requires = "to", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Give up a change that has begun
    #[arg(long, conflicts_with = "to")]
    abandon: bool,
}

#[derive(Serialize)]
struct Reindexed {
    /// How many vectors were made.
    made: u64,
    /// The model, where one was named or given up.
    model: Option<String>,
    /// The id of its space.
    space: Option<String>,
    /// Whether it is another one than before.
    changed: bool,
    /// Whether a change to it was given up.
    abandoned: bool,
}

impl Answer for Reindexed {
    fn show(&self, page: &mut Page) {
        if let (true, Some(model)) = (self.abandoned, &self.model) {
            return page.line(format!("given up: the model is not changed to {model}"));
        }
        page.line(format!("{} made", count(self.made, "vector")));
        match (&self.model, self.changed) {
            (Some(model), true) => {
                page.line(format!("the model is {model} now; the vectors of the one before are gone"));
            }
            (Some(model), false) => page.line(format!("the model was {model} before")),
            (None, _) => {}
        }
    }
}

impl Reindex {
    pub(super) async fn run(self, surface: &Surface) -> Result<ExitCode> {
        let client = surface.open(Access::Write)?.client().await?;
        let memory = self.within.of(&client)?;
        let mut done = Reindexed { made: 0, model: None, space: None, changed: false, abandoned: false };
        if self.abandon {
            let model = with_models(surface, &memory)?.abandon_model().await?;
            done.space = Some(model.space.id().to_string());
            (done.model, done.abandoned) = (Some(model.name), true);
        } else {
            let progress = surface.printer.progress("making vectors");
            match &self.to {
                Some(name) => {
                    let outcome = with_models(surface, &memory)?
                        .change_model(&whole(name), self.rate, &progress.observer())
                        .await?;
                    done.space = Some(outcome.model.space.id().to_string());
                    (done.made, done.model, done.changed) = (outcome.made, Some(outcome.model.name), outcome.changed);
                }
                None => done.made = with_encoder(surface, memory)?.embed_all(&progress.observer()).await?,
            }
        }
        surface.printer.answer(&done)?;
        Ok(ExitCode::SUCCESS)
    }
}
