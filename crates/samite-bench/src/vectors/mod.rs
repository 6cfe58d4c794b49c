//! Exact search by vectors against faiss, how fast vectors are taken in, and the memory that they need.

mod data;
mod faiss;

use crate::Bench;
use crate::table::{Row, Table, Target};
use crate::turns::{count, median, since};
use data::{DIMENSIONS, Kind, Source};
use faiss::Faiss;
use samite_host::{Clock as _, SystemClock, files};
use samite_memory::Bits;
use samite_memory::vectors::{Hit, Part, Query, Rows, nearest};
use samite_model::{Error, Result};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

const MANY: usize = 1_000_000;
const QUERIES: usize = 40;
const TOP: usize = 10;
const ROUNDS: usize = 5;
/// So many bytes of vectors are written at once.
const PIECE: usize = 1 << 22;

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    alone(table)?;
    let directory = bench.directory()?;
    let python = faiss::python(bench, directory.path())?;
    let mut against = |rows: usize, kind: Kind, peer: &str, target: f64| {
        let vectors = directory.path().join("vectors");
        let searched = Turns::new(&python, &vectors, rows, kind, peer)?.measure(table, target);
        files::remove(&vectors)?;
        searched
    };
    against(100_000, Kind::Clustered, "flat", 0.7)?;
    against(100_000, Kind::Gaussian, "flat", 0.7)?;
    against(MANY, Kind::Clustered, "sq8", 0.9)
}

/// Ours and the peer's, over the same vectors.
struct Turns {
    what: String,
    peer: &'static str,
    ours: Rows,
    visible: Bits,
    queries: Vec<Query>,
    faiss: Faiss,
}

impl Turns {
    fn new(python: &Path, path: &Path, rows: usize, kind: Kind, peer: &str) -> Result<Self> {
        let mut source = Source::new(kind);
        let mut file = files::AppendFile::create(path)?;
        let mut bytes = Vec::new();
        let mut ours = Rows::new(DIMENSIONS)?;
        let mut queries = Vec::with_capacity(QUERIES);
        for number in 0..rows + QUERIES {
            let vector = source.next();
            bytes.extend(vector.iter().flat_map(|component| component.to_le_bytes()));
            if bytes.len() >= PIECE {
                file.append(&bytes)?;
                bytes.clear();
            }
            match u32::try_from(number) {
                Ok(document) if number < rows => ours.push(document, &vector)?,
                _ => queries.push(Query::new(&vector)?),
            }
        }
        file.append(&bytes)?;
        let faiss = Faiss::new(python, path, [rows, QUERIES, TOP], peer)?;
        let what = format!("vectors, {rows} {}", kind.name());
        let peer = if peer == "flat" { "faiss flat" } else { "faiss SQ8" };
        Ok(Self { what, peer, visible: Bits::all(ours.len()), ours, queries, faiss })
    }

    /// Searches for every query, with so many threads.
    fn search(&self, threads: NonZeroUsize, seconds: &mut Vec<f64>) -> Result<Vec<Vec<Hit>>> {
        let part = Part { rows: &self.ours, visible: &self.visible };
        let search = |query| {
            let began = SystemClock.now();
            let found = nearest(&[part], query, TOP, threads);
            seconds.push(since(began));
            found
        };
        self.queries.iter().map(search).collect()
    }

    fn measure(mut self, table: &mut Table, target: f64) -> Result<()> {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let (mut one, mut all, mut their_one, mut their_own) = (vec![], vec![], vec![], vec![]);
        let (mut found, mut theirs) = (vec![], vec![]);
        self.search(NonZeroUsize::MIN, &mut Vec::new())?;
        self.faiss.search(1)?;
        for _ in 0..ROUNDS {
            found = self.search(NonZeroUsize::MIN, &mut one)?;
            let searched = self.faiss.search(1)?;
            their_one.extend(searched.seconds);
            theirs = searched.found;
            self.search(threads, &mut all)?;
            their_own.extend(self.faiss.search(0)?.seconds);
        }
        let times = [&mut one, &mut all, &mut their_one, &mut their_own].map(|seconds| median(seconds) * 1000.0);
        let [one, all, their_one, their_own] = times;
        let (what, peer) = (&self.what, self.peer);
        let mut row = |name: &str, ours: f64, other: f64, unit: &str, ratio: f64, target: Target| {
            table.row(&Row { name, ours, other, unit, ratio, target });
        };
        let at_most = Target::AtMost(target);
        row(&format!("{what} / {peer}, 1 thread"), one, their_one, "ms p50", one / their_one, at_most);
        row(&format!("  / {peer}, its own threads"), one, their_own, "ms p50", one / their_own, at_most);
        let best = their_one.min(their_own);
        row(&format!("  with {threads} threads / its best"), all, best, "ms p50", all / best, at_most);
        let recall = recall(&found, &theirs);
        if peer == "faiss flat" {
            row("  recall of the first 10", recall, 1.0, "", recall, Target::AtLeast(0.99));
        }
        Ok(())
    }
}

/// What part of theirs ours are.
fn recall(ours: &[Vec<Hit>], theirs: &[Vec<u64>]) -> f64 {
    let both = ours.iter().zip(theirs);
    let found = both.map(|(ours, theirs)| ours.iter().filter(|hit| theirs.contains(&u64::from(hit.document))).count());
    count(found.sum::<usize>()) / count(theirs.iter().map(Vec::len).sum::<usize>())
}

/// How fast vectors are taken in, and what memory they need: in a process of its own.
fn alone(table: &mut Table) -> Result<()> {
    let failed = |error: std::io::Error| Error::unavailable("no_process", "a process cannot be started").because(error);
    let program = std::env::current_exe().map_err(failed)?;
    let output = Command::new(program).args(["--only-vectors", &MANY.to_string()]).output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [ingest, peak, bytes] = numbers.as_slice() else {
        return Err(Error::internal("vectors_failed", format!("vectors: the process said {text:?}")));
    };
    table.row(&Row {
        name: "vectors, taken in without embedding",
        ours: *ingest,
        other: 20_000.0,
        unit: "rows/s",
        ratio: ingest / 20_000.0,
        target: Target::AtLeast(1.0),
    });
    if *peak == 0.0 {
        table.skip("vectors, memory: the system does not say how much a process had");
        return Ok(());
    }
    table.row(&Row {
        name: "vectors, peak memory of 1000000 / their bytes",
        ours: peak / 1e6,
        other: bytes / 1e6,
        unit: "MB",
        ratio: peak / bytes,
        target: Target::AtMost(1.2),
    });
    Ok(())
}

/// What that process does: takes vectors in, searches, and answers with rows a second, the most memory it had, and the rows'
/// bytes.
pub(crate) fn only_vectors(rows: usize) -> Result<[f64; 3]> {
    let mut source = Source::new(Kind::Clustered);
    let mut ours = Rows::new(DIMENSIONS)?;
    let mut took = 0.0;
    for number in 0..rows {
        let vector = source.next();
        let began = SystemClock.now();
        ours.push(u32::try_from(number).unwrap_or(u32::MAX), &vector)?;
        took += since(began);
    }
    let visible = Bits::all(ours.len());
    let query = Query::new(&source.next())?;
    nearest(&[Part { rows: &ours, visible: &visible }], &query, TOP, NonZeroUsize::MIN)?;
    let mut bytes = 0;
    ours.encode_to(|piece| {
        bytes += piece.len();
        Ok(())
    })?;
    Ok([count(rows) / took, peak(), count(bytes)])
}

/// The most memory that this process had, in bytes; 0 where the system does not say.
fn peak() -> f64 {
    let status = files::read(Path::new("/proc/self/status")).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or_default() * 1024.0
}
