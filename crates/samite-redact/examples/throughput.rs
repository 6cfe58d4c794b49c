//! Megabytes a second on files: `throughput FILE…`; each line is a document.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a tool for who works on the rules"
)]
use samite_redact::{Mode, Policy, Redactor};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let pii = if std::env::var_os("PII").is_some() { Mode::Report } else { Mode::Off };
    let policy = Policy { pii, ..Policy::default() };
    let redactor = Redactor::new(&policy, &[], Arc::new(|_: &[u8]| [0; 4])).unwrap();
    for file in std::env::args().skip(1) {
        let text = std::fs::read(&file).unwrap();
        let mut best = f64::MAX;
        let mut findings = 0;
        for _ in 0..5 {
            let begun = Instant::now();
            findings = 0;
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                findings += redactor.redact(line).findings.len();
            }
            best = best.min(begun.elapsed().as_secs_f64());
        }
        println!("{:8.1} MB/s {findings:6} findings {file}", text.len() as f64 / best / 1e6);
        if std::env::var_os("SHOW").is_some() {
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                for one in redactor.redact(line).findings {
                    let place = one.place.unwrap_or(0..0);
                    let from = place.start.saturating_sub(60);
                    println!(
                        "   {} {}: {}",
                        one.kind,
                        one.length,
                        String::from_utf8_lossy(&line[from..(place.end + 20).min(line.len())]).replace('\n', " ")
                    );
                }
            }
        }
    }
}
