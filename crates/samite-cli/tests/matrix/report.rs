//! The matrix's table.

use crate::cell::{Cell, Counts};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What came of the cells.
#[derive(Default)]
pub(crate) struct Report {
    rows: BTreeMap<String, Row>,
    /// What is wrong, with the cell's name.
    pub(crate) faults: Vec<String>,
}

#[derive(Default)]
struct Row {
    cells: usize,
    counts: Counts,
    faults: usize,
}

impl Report {
    /// Adds a cell with what came of it.
    pub(crate) fn add(&mut self, cell: &Cell, result: Result<Counts, String>) {
        let row = self.rows.entry(cell.scenario.name()).or_default();
        row.cells += 1;
        let before = self.faults.len();
        match result {
            Ok(counts) => {
                row.counts.kills += counts.kills;
                row.counts.asks += counts.asks;
                row.counts.doubled += counts.doubled;
                row.counts.missing += counts.missing;
                row.counts.lost += counts.lost;
                let mut fault = |is_wrong: bool, what: &str| {
                    if is_wrong {
                        self.faults.push(format!("{}: {what}", cell.name()));
                    }
                };
                fault(counts.doubled > 0, "an effect happened more than once");
                fault(counts.missing > 0, "an effect did not happen");
                fault(counts.lost > 0, "an acknowledged entry is lost");
                fault(counts.asks > 0 && !cell.scenario.may_ask(), "a person was asked although it could be told");
                fault(counts.kills == 0 && !cell.point.may_be_missed(), "nothing was killed");
            }
            Err(why) => self.faults.push(format!("{}: {why}", cell.name())),
        }
        row.faults += usize::from(self.faults.len() > before);
    }

    pub(crate) fn kills(&self) -> usize {
        self.rows.values().map(|row| row.counts.kills).sum()
    }

    /// The table.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        let names = ["cells", "kills", "asks", "doubled", "missing", "lost", "faults"];
        let mut line = |name: &str, numbers: [String; 7]| {
            let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:>8}")).collect();
            writeln!(table, "{name:<40}{}", numbers.concat()).unwrap();
        };
        line("", names.map(str::to_owned));
        let mut total = [0; 7];
        for (name, row) in &self.rows {
            let Counts { kills, asks, doubled, missing, lost } = row.counts;
            let numbers = [row.cells, kills, asks, doubled, missing, lost, row.faults];
            line(name, numbers.map(|number| number.to_string()));
            for (sum, number) in total.iter_mut().zip(numbers) {
                *sum += number;
            }
        }
        line("all", total.map(|number| number.to_string()));
        table
    }
}
