//! The peer: faiss, in a Python process that searches when it is told to.

use super::data::DIMENSIONS;
use crate::Bench;
use samite_host::files;
use samite_model::{Error, Result};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SCRIPT: &str = include_str!("../../peers/faiss_search.py");
/// The version that is installed when nothing else is given.
const PACKAGES: [&str; 2] = ["faiss-cpu==1.15.1", "numpy"];

fn failed(what: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::unavailable("no_faiss", format!("faiss: {what}")).because(error)
}

/// A Python that has faiss: the one that was named, one that is made in a scratch directory, or the system's.
pub(super) fn python(bench: &Bench, scratch: &Path) -> Result<PathBuf> {
    if let Some(python) = &bench.faiss {
        return Ok(python.clone());
    }
    let made = scratch.join("faiss");
    let run = |command: &mut Command| {
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.map(|status| status.success()).map_err(failed("there is no Python"))
    };
    if bench.make_faiss {
        let python = made.join("bin/python");
        let done = run(Command::new("python3").args(["-m", "venv"]).arg(&made))?
            && run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
        return if done { Ok(python) } else { Err(Error::unavailable("no_faiss", "faiss: pip could not install it")) };
    }
    if run(Command::new("python3").args(["-c", "import faiss"]))? {
        return Ok(PathBuf::from("python3"));
    }
    Err(Error::not_found("no_faiss", "faiss: Python has none; give --faiss PYTHON or --make-faiss"))
}

/// The process, with the vectors of a file in an index.
pub(super) struct Faiss {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What a search for each of the queries took, and the rows that it found.
pub(super) struct Searched {
    pub(super) seconds: Vec<f64>,
    pub(super) found: Vec<Vec<u64>>,
}

impl Drop for Faiss {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Faiss {
    /// Starts it over a file of vectors; `kind` is that of the script.
    pub(super) fn new(python: &Path, vectors: &Path, counts: [usize; 3], kind: &str) -> Result<Self> {
        let script = vectors.with_extension("py");
        files::write_atomic(&script, SCRIPT.as_bytes(), files::PRIVATE_FILE)?;
        let [rows, queries, top] = counts.map(|count| count.to_string());
        let mut child = Command::new(python)
            .arg(script)
            .arg(vectors)
            .args([&DIMENSIONS.to_string(), &rows, &queries, &top, kind])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed("it cannot be started"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::internal("no_faiss", "faiss: it has no input or output"));
        };
        let mut faiss = Self { child, input, output: BufReader::new(output) };
        match faiss.line()?.trim() {
            "ready" => Ok(faiss),
            other => Err(Error::unavailable("no_faiss", format!("faiss: it said {other:?}"))),
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(failed("it does not answer"))?;
        Ok(line)
    }

    /// Searches for every query with so many threads; 0 for as many as it takes by itself.
    pub(super) fn search(&mut self, threads: usize) -> Result<Searched> {
        writeln!(self.input, "{threads}").and_then(|()| self.input.flush()).map_err(failed("it takes no commands"))?;
        let line = self.line()?;
        let said = || Error::unavailable("no_faiss", format!("faiss: it said {line:?}"));
        let answer: Value = serde_json::from_str(&line).map_err(|error| said().because(error))?;
        let list = |name: &str| answer.get(name).and_then(Value::as_array).ok_or_else(said);
        let seconds = list("seconds")?.iter().filter_map(Value::as_f64).collect();
        let numbers = |list: &Value| list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        Ok(Searched { seconds, found: list("found")?.iter().map(numbers).collect() })
    }
}
