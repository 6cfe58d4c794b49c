//! Scoring of findings on labelled snippets.

use samite_redact::{Mode, Policy, Redactor};
use std::sync::Arc;

/// A snippet, and the secret in it as it stands there; none when there is none.
pub(crate) struct Snippet {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) secret: Option<String>,
    /// How the secret is written in the text, when that is not as it is.
    pub(crate) written: Option<String>,
}

/// What came of all snippets.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) found: u32,
    pub(crate) missed: u32,
    pub(crate) wrong: u32,
    /// The first of those that were missed and wrong.
    pub(crate) shown: Vec<String>,
}

impl Score {
    pub(crate) fn recall(&self) -> f64 {
        f64::from(self.found) / f64::from(self.found + self.missed)
    }

    pub(crate) fn precision(&self) -> f64 {
        f64::from(self.found) / f64::from(self.found + self.wrong)
    }
}

pub(crate) fn keyed(secret: &[u8]) -> [u8; 4] {
    let hash = secret.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    hash.to_be_bytes()
}

pub(crate) fn redactor(pii: Mode, secrets: Mode) -> Redactor {
    let policy = Policy { pii, secrets, ..Policy::default() };
    Redactor::new(&policy, &[], Arc::new(keyed)).unwrap()
}

fn escaped(text: &str) -> String {
    let whole = serde_json::to_string(text).unwrap();
    whole[1..whole.len() - 1].to_owned()
}

/// A finding counts when it covers the secret's characters or its encoded form; any finding in a snippet without one is
/// wrong.
pub(crate) fn score(redactor: &Redactor, snippets: &[Snippet]) -> Score {
    let mut score = Score::default();
    for snippet in snippets {
        let redacted = redactor.redact(snippet.text.as_bytes());
        let places: Vec<_> = redacted.findings.iter().filter_map(|one| one.place.clone()).collect();
        let Some(secret) = &snippet.secret else {
            if !places.is_empty() {
                score.wrong += 1;
                let found: Vec<_> = places.iter().map(|place| &snippet.text[place.clone()]).collect();
                score.shown.push(format!("wrong {}: {} -> {found:?}", snippet.kind, snippet.text));
            }
            continue;
        };
        let written = snippet.written.clone().unwrap_or_else(|| secret.clone());
        let forms = [written.clone(), escaped(&written), escaped(&escaped(&written))];
        let place = forms.iter().find_map(|form| snippet.text.find(form.as_str()).map(|at| at..at + form.len()));
        let covered = if let Some(place) = place {
            places.iter().any(|found| found.start <= place.start && place.end <= found.end)
        } else {
            // Spread over pieces: its second half must be gone.
            let out = redacted.bytes.unwrap_or_default();
            !places.is_empty() && !String::from_utf8_lossy(&out).contains(&secret[secret.len() / 2..])
        };
        if covered {
            score.found += 1;
        } else {
            score.missed += 1;
            score.shown.push(format!("missed {}: {} -> {:?}", snippet.kind, snippet.text, places));
        }
    }
    score
}

#[expect(clippy::print_stderr, reason = "what a failing floor is made of")]
pub(crate) fn assert_floors(score: &Score, recall: f64, precision: f64) {
    for line in score.shown.iter().take(40) {
        eprintln!("{line}");
    }
    eprintln!("recall {:.3}, precision {:.3} of {}", score.recall(), score.precision(), score.found + score.missed);
    assert!(score.recall() >= recall, "recall {:.3} is below {recall}", score.recall());
    assert!(score.precision() >= precision, "precision {:.3} is below {precision}", score.precision());
}
