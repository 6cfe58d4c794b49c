//! The snippets that the shared generator makes, and real transcripts.

use crate::score::{Snippet, assert_floors, redactor, score};
use samite_redact::Mode;
use std::path::PathBuf;
use std::process::Command;

fn shared() -> Option<PathBuf> {
    let directory = std::env::var_os("SAMITE_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    directory.exists().then_some(directory)
}

#[expect(clippy::print_stdout, reason = "the summary of ./test reads what was skipped from here")]
fn skip(why: &str) {
    println!("SKIPPED secrets of the shared generator: {why}");
}

#[test]
fn secrets_of_the_shared_generator_are_found_and_nothing_else_is() {
    let Some(tool) = shared().map(|shared| shared.join("tools/gen_secrets.py")).filter(|tool| tool.exists()) else {
        return skip("there is no shared data");
    };
    let mut snippets = Vec::new();
    for seed in [7_u32, 42, 99, 1234, 20_000] {
        let Ok(output) = Command::new("python3").arg(&tool).arg(seed.to_string()).output() else {
            return skip("python3 is missing");
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let item: serde_json::Value = serde_json::from_str(line).unwrap();
            snippets.push(Snippet {
                kind: format!("{} {}", item["type"], item["emb"]),
                text: item["text"].as_str().unwrap().to_owned(),
                secret: item["secret"].as_str().map(str::to_owned),
                written: None,
            });
        }
    }
    assert!(snippets.len() > 4000);
    assert_floors(&score(&redactor(Mode::Off, Mode::Redact), &snippets), 0.97, 0.98);
}

/// Where each finding in a real transcript was looked at by a person: there are no secrets in these.
#[test]
fn real_transcripts_hold_few_that_only_look_like_secrets() {
    let Some(shared) = shared() else { return skip("there is no shared data") };
    let redactor = redactor(Mode::Off, Mode::Redact);
    let mut bytes = 0;
    let mut found = Vec::new();
    for directory in ["claude-code", "codex", "gemini", "swe-agent"] {
        let Ok(entries) = std::fs::read_dir(shared.join("data").join(directory)) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            #[expect(clippy::disallowed_methods, reason = "a test reads what it is given")]
            let text = std::fs::read(&path).unwrap();
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                bytes += line.len();
                for one in redactor.redact(line).findings {
                    found.push(format!(
                        "{} {}: {}",
                        path.display(),
                        one.kind,
                        one.place.map_or_else(String::new, |place| String::from_utf8_lossy(&line[place]).into_owned())
                    ));
                }
            }
        }
    }
    assert!(bytes > 9_000_000);
    assert!(found.len() <= 12, "{}", found.join("\n"));
}
