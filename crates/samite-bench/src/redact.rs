//! How fast texts are looked through for secrets, on one core: prose without any, and real transcripts line by line.

use crate::Bench;
use crate::table::{Row, Table, Target};
use samite_host::{Clock, SystemClock, files};
use samite_model::Result;
use samite_redact::{Mode, Policy, Redactor};
use std::sync::Arc;

/// So many megabytes a second there are to be.
const PROSE: f64 = 100.0;
const TRANSCRIPTS: f64 = 40.0;
const ROUNDS: usize = 9;

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let redactor = |policy: &Policy| Redactor::new(policy, &[], Arc::new(|_: &[u8]| [0; 4]));
    let secrets = redactor(&Policy { pii: Mode::Off, ..Policy::default() })?;
    let persons = redactor(&Policy::default())?;
    let prose: String = (0..60_000).map(sentence).collect();
    row(table, "redaction: text without secrets", &secrets, prose.as_bytes(), PROSE);
    row(table, "  with personal data reported", &persons, prose.as_bytes(), PROSE);
    let mut transcripts = Vec::new();
    for directory in ["data/claude-code", "data/codex", "data/gemini", "data/swe-agent"] {
        let directory = bench.shared(directory)?;
        for path in files::list(&directory)?.into_iter().map(|name| directory.join(name)) {
            if path.extension().is_some_and(|extension| extension == "jsonl" || extension == "traj") {
                transcripts.extend(files::read(&path)?);
                transcripts.push(b'\n');
            }
        }
    }
    row(table, "redaction: real transcripts", &secrets, &transcripts, TRANSCRIPTS);
    row(table, "  with personal data reported", &persons, &transcripts, TRANSCRIPTS);
    Ok(())
}

/// A line of prose, another one each time.
fn sentence(number: usize) -> String {
    const WORDS: [&str; 24] = [
        "the",
        "parser",
        "reads",
        "each",
        "line",
        "of",
        "a",
        "file",
        "and",
        "then",
        "writes",
        "what",
        "it",
        "found",
        "into",
        "another",
        "table",
        "while",
        "users",
        "wait",
        "for",
        "their",
        "answers",
        "patiently",
    ];
    let mut line = String::new();
    for place in 0..16 {
        let word = number.wrapping_mul(31).wrapping_add(place * 7919).wrapping_mul(2_654_435_761) >> 7;
        line.push_str(WORDS.get(word % WORDS.len()).copied().unwrap_or_default());
        line.push(' ');
    }
    line.push('\n');
    line
}

fn row(table: &mut Table, name: &str, redactor: &Redactor, text: &[u8], wanted: f64) {
    let clock = SystemClock;
    let mut times: Vec<i64> = (0..ROUNDS)
        .map(|_| {
            let begun = clock.now();
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                std::hint::black_box(redactor.redact(line));
            }
            clock.now().saturating_sub(begun).max(1)
        })
        .collect();
    times.sort_unstable();
    let median = times.get(ROUNDS / 2).copied().unwrap_or(1);
    #[expect(clippy::cast_precision_loss, reason = "megabytes and nanoseconds of a measurement are far below 2^52")]
    let ours = text.len() as f64 * 1000.0 / median as f64;
    table.row(&Row { name, ours, other: wanted, unit: "MB/s", ratio: ours / wanted, target: Target::AtLeast(1.0) });
}
