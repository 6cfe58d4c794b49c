//! What an imported session's records say, where a turn is shown.

use super::Said;
use crate::client::Client;
use crate::import::Teller;
use crate::log::{Entry, ReadOptions};
use crate::payload::Event;
use crate::step::StepRecord;
use samite_model::{BranchId, EntryKind, Result, SessionId};
use serde_json::Value;
use std::collections::BTreeMap;

/// What an event says; none where it says nothing to a person. One that its writer gave a role to is words as it stands.
pub(super) fn said(teller: Option<&mut Teller>, seq: u64, time: i64, event: &Event<'_>) -> Option<Said> {
    let attribute = |name: &str| event.attributes.as_ref().and_then(|known| known.get(name));
    let role = attribute("role").and_then(Value::as_str).map(str::to_owned);
    if role.is_none()
        && let Some(told) = teller.and_then(|teller| teller.tell(event.body, record(event)))
    {
        let (role, text) = told.words?;
        return Some(Said { seq, time: told.time, role: Some(role.name().to_owned()), text });
    }
    let text = std::str::from_utf8(event.body).unwrap_or_default().to_owned();
    Some(Said { seq, time: Some(time), role, text })
}

/// Where in the body the record is, when it does not fill it.
fn record(event: &Event<'_>) -> Option<(usize, usize)> {
    let range = event.attributes.as_ref()?.get("record")?;
    let at = |which: usize| range.get(which)?.as_u64().and_then(|at| usize::try_from(at).ok());
    Some((at(0)?, at(1)?))
}

/// The entry that holds the input of a call, where its step does not.
fn input_elsewhere(step: &StepRecord) -> Option<u64> {
    match &step.started.input {
        Value::Object(fields) if fields.len() == 1 => fields.get("in_entry")?.as_u64(),
        _ => None,
    }
}

impl Client {
    /// What the model said between two seqs of an imported branch. The inputs of steps that stand in those entries, or in
    /// others, are filled in.
    pub(super) async fn imported(
        &self,
        session: SessionId,
        branch: BranchId,
        (first, head): (u64, u64),
        source: &str,
        steps: &mut [StepRecord],
    ) -> Result<Vec<Said>> {
        let Some(mut teller) = Teller::of(source) else { return Ok(Vec::new()) };
        let mut wanted: BTreeMap<u64, Vec<&mut StepRecord>> = BTreeMap::new();
        for step in steps {
            if let Some(seq) = input_elsewhere(step) {
                wanted.entry(seq).or_default().push(step);
            }
        }
        let mut answers = Vec::new();
        let kinds = vec![EntryKind::MODEL_RESPONSE];
        let options = ReadOptions { from: first, to: Some(head), kinds, ..ReadOptions::default() };
        let mut reader = self.read(session, Some(branch), options).await?;
        loop {
            let page = reader.next().await?;
            if page.is_empty() {
                break;
            }
            for entry in page {
                let entry = self.core.whole(entry)?;
                if entry.payload.is_none() {
                    continue;
                }
                let seq = entry.position.seq;
                let event = entry.event()?;
                // Another's response, which is no record of the harness, is not told: only what was imported is known.
                answers.extend(
                    said(Some(&mut teller), seq, entry.header.time, &event)
                        .filter(|said| said.role.as_deref() == Some("assistant")),
                );
                if let Some(steps) = wanted.remove(&seq) {
                    fill(&teller, &event, steps);
                }
            }
        }
        for (seq, steps) in wanted {
            let only = ReadOptions { from: seq, to: Some(seq), ..ReadOptions::default() };
            let found = self.read(session, Some(branch), only).await?.all().await?;
            if let Some(entry) = found.into_iter().next().filter(Entry::is_event) {
                let entry = self.core.whole(entry)?;
                if entry.payload.is_some() {
                    fill(&teller, &entry.event()?, steps);
                }
            }
        }
        Ok(answers)
    }
}

/// Gives steps the inputs that a record has for them.
fn fill(teller: &Teller, event: &Event<'_>, steps: Vec<&mut StepRecord>) {
    for step in steps {
        if let Some(input) = teller.input(event.body, record(event), &step.started.key) {
            step.started.input = input;
        }
    }
}
