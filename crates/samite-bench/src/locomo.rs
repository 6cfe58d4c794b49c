//! Which turns of long conversations answer questions about them: what a scorer of evidence retrieval on LoCoMo (Maharana et al. 2024)
//! reads. One turn is one record; nothing but the questions' text is looked at.

use crate::store::Scratch;
use crate::{Bench, By};
use futures_lite::future::block_on;
use samite::Observer;
use samite::memory::{Memory, Namespace, NewRecord, RecordKind, Search, Trust};
use samite_model::{Error, RecordId, Result};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

/// So many turns are named for each question.
const NAMED: usize = 100;

/// Reads conversations and questions, and writes a line for each question: its id, and the turns that answer it best.
pub(crate) fn run(bench: &Bench, data: &Path, to: &Path, by: By) -> Result<()> {
    let data: Value = serde_json::from_slice(&samite_host::files::read(data)?)
        .map_err(|error| Error::invalid("bad_data", format!("{} is not JSON: {error}", data.display())))?;
    let scratch = Scratch::new(bench)?;
    let encoder = Arc::new(samite_embed::Builtin::new(NonZeroUsize::MIN)?);
    let mut lines = String::new();
    for sample in data.as_array().into_iter().flatten() {
        let name = text(sample, "sample_id");
        let memory = scratch.client.memory(Namespace::new(["locomo", name])?);
        let memory = if by == By::Words { memory } else { memory.with_embedder(encoder.clone()) };
        let turns = block_on(take_in(&memory, &sample["conversation"]))?;
        if by == By::All {
            block_on(memory.embed_all(&Observer::default()))?;
        }
        for (number, asked) in sample["qa"].as_array().into_iter().flatten().enumerate() {
            let search = Search { limit: NAMED, ..Search::new(text(asked, "question")) };
            let found = block_on(memory.search(&search))?;
            let ranked: Vec<&str> = found
                .records
                .iter()
                .filter_map(|one| turns.get(&one.standing.record.record).map(String::as_str))
                .collect();
            let line = json!({ "question_id": format!("{name}/q{number}"), "ranked": ranked });
            // Writing to a string does not fail.
            let _ = writeln!(lines, "{line}");
        }
        eprintln!("{name}: {} turns", turns.len());
    }
    samite_host::files::write_atomic(to, lines.as_bytes(), samite_host::files::PRIVATE_FILE)
}

/// Writes the turns of a conversation down, each with who said it, when, and the turn before.
async fn take_in(memory: &Memory, conversation: &Value) -> Result<HashMap<RecordId, String>> {
    let mut turns = HashMap::new();
    let mut sessions: Vec<u64> = conversation
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, _)| name.strip_prefix("session_")?.parse().ok())
        .collect();
    sessions.sort_unstable();
    for session in sessions {
        let date = text(conversation, &format!("session_{session}_date_time")).to_owned();
        let mut previous = None;
        for turn in conversation[format!("session_{session}")].as_array().into_iter().flatten() {
            let mut said = text(turn, "text").to_owned();
            if let Some(caption) = turn["blip_caption"].as_str() {
                let _ = write!(said, " [{caption}]");
            }
            let mut metadata = Map::new();
            metadata.insert("speaker".to_owned(), text(turn, "speaker").into());
            metadata.insert("date".to_owned(), date.clone().into());
            let said = if said.trim().is_empty() { "(nothing)".to_owned() } else { said };
            let new = NewRecord { metadata, previous, ..NewRecord::new(RecordKind::Episodic, said, Trust::User) };
            let written = memory.assert(&new).await?;
            turns.insert(written.record, text(turn, "dia_id").to_owned());
            previous = Some(written.record);
        }
    }
    Ok(turns)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
