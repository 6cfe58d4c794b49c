//! The table of ratios.

use serde_json::{Value, json};

/// Which side of its target a ratio should be on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
}

impl Target {
    fn met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(target) => ratio >= target,
            Self::AtMost(target) => ratio <= target,
        }
    }

    fn words(self) -> String {
        match self {
            Self::AtLeast(target) => format!(">= {target}"),
            Self::AtMost(target) => format!("<= {target}"),
        }
    }
}

/// One comparison.
pub(crate) struct Row<'a> {
    /// What is compared.
    pub(crate) name: &'a str,
    /// What ours measured.
    pub(crate) ours: f64,
    /// What the limit or peer measured.
    pub(crate) other: f64,
    /// In what both are measured.
    pub(crate) unit: &'a str,
    /// Ours by the other's.
    pub(crate) ratio: f64,
    /// What the ratio should be.
    pub(crate) target: Target,
}

/// Prints rows as they come, or all at the end as JSON.
pub(crate) struct Table {
    json: bool,
    rows: Vec<Value>,
    skipped: Vec<String>,
}

impl Table {
    pub(crate) fn new(json: bool) -> Self {
        if !json {
            println!(
                "{:<46} {:>12} {:>12} {:<12} {:>7} {:>9} met",
                "measured in turns, medians", "ours", "other", "", "ratio", "target"
            );
        }
        Self { json, rows: Vec::new(), skipped: Vec::new() }
    }

    pub(crate) fn row(&mut self, row: &Row<'_>) {
        let met = row.target.met(row.ratio);
        let target = row.target.words();
        if self.json {
            self.rows.push(json!({
                "name": row.name, "ours": row.ours, "other": row.other, "unit": row.unit, "ratio": row.ratio,
                "target": target, "met": met,
            }));
        } else {
            println!(
                "{:<46} {:>12} {:>12} {:<12} {:>7.3} {:>9} {}",
                row.name,
                number(row.ours),
                number(row.other),
                row.unit,
                row.ratio,
                target,
                if met { "yes" } else { "NO" }
            );
        }
    }

    /// Says what was not measured, and why.
    pub(crate) fn skip(&mut self, why: &str) {
        if self.json {
            self.skipped.push(why.to_owned());
        } else {
            println!("SKIPPED: {why}");
        }
    }

    pub(crate) fn end(self) {
        if self.json {
            println!("{}", json!({ "rows": self.rows, "skipped": self.skipped }));
        }
    }
}

fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
