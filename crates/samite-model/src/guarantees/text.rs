//! The table of guarantees as a document.

use super::{Claim, Store, Substrate, claims_of};
use std::fmt::Write as _;

/// The table for docs/guarantees.md: a section for each shape that is there, then what is not.
pub fn markdown() -> String {
    let mut text = String::new();
    for store in Store::ALL {
        let substrate = if store == Store::Workspace { " (in a directory)" } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "### {}{substrate}\n", capital(store.name()));
        text.push_str("| failure | coverage | why | what to do | proven by |\n| --- | --- | --- | --- | --- |\n");
        for claim in claims_of(store) {
            let _ = writeln!(text, "{}", row(&claim));
        }
        text.push('\n');
    }
    let substrates: Vec<&str> = Substrate::ALL.into_iter().filter(|one| !one.is_there()).map(Substrate::name).collect();
    let _ = writeln!(text, "Of substrates these are not there yet: {}.", substrates.join(", "));
    text
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn row(claim: &Claim) -> String {
    let coverage = match claim.coverage.bound(None) {
        Some(bound) => format!("bounded: {bound}"),
        None => claim.coverage.name().replace('_', " "),
    };
    let tests: Vec<String> = claim.tests.iter().map(|test| format!("`{test}`")).collect();
    format!("| {} | {coverage} | {} | {} | {} |", claim.failure.words(), claim.why, claim.next, tests.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_a_row_for_each_failure_and_says_what_is_missing() {
        let text = markdown();
        assert_eq!(text.matches("| key loss | not covered | ").count(), 5, "{text}");
        assert!(text.contains("### Session\n\n| failure |") && text.contains("### Workspace (in a directory)\n"));
        assert!(text.contains("Of substrates these are not there yet: overlay, lazy, git, bootstrap."));
        assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| line.split(" | ").count() == 5), "{text}");
    }
}
