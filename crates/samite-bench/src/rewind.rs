//! A rewind of ten changed files in a large workspace, against the walk that looks at every file.

use crate::Bench;
use crate::store::Scratch;
use crate::table::{Row, Table, Target};
use crate::turns::{median, seconds};
use crate::workspace::{copy, workspace};
use futures_lite::future::block_on;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, statat};
use rustix::time::{ClockId, clock_gettime};
use samite::payload::ForkReason;
use samite::workspace::{CheckpointOptions, RestoreRequest};
use samite::{ForkOptions, WriterOptions};
use samite_host::files;
use samite_model::{Error, Result};
use std::path::{Path, PathBuf};

const ROUNDS: usize = 7;
const CHANGED: usize = 10;

/// CPU seconds and seconds that passed, of several runs.
#[derive(Default)]
struct Times {
    cpu: Vec<f64>,
    wall: Vec<f64>,
}

impl Times {
    fn of(&mut self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        let before = cpu();
        self.wall.push(seconds(act)?);
        self.cpu.push(cpu() - before);
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a measurement")]
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Looks at everything below a directory, and hands the files over.
fn walk(directory: &Path, each: &mut impl FnMut(PathBuf)) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = openat(CWD, directory, flags, Mode::empty())?;
    for entry in Dir::read_from(&top)? {
        let entry = entry?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let stat = statat(&top, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        match stat.st_mode & 0o170_000 {
            0o040_000 => walk(&directory.join(&*entry.file_name().to_string_lossy()), each)?,
            0o100_000 => each(directory.join(&*entry.file_name().to_string_lossy())),
            _ => {}
        }
    }
    Ok(())
}

/// Looks at everything below a directory.
///
/// # Errors
/// `unavailable` or `not_found`, naming the directory, when it cannot be read.
pub(crate) fn walk_all(directory: &Path) -> Result<()> {
    walk(directory, &mut |_| {}).map_err(|error| files::io_error("walk", directory, error.into()))
}

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let place = bench.directory()?;
    let directory = place.path().join("copy");
    copy(&workspace(bench, place.path())?, &directory)?;
    let failed = |error: rustix::io::Errno| files::io_error("walk", &directory, error.into());
    let ours = Scratch::new(bench)?;
    let (session, writer) = ours.session()?;
    block_on(ours.client.attach(session, None, &directory))?;
    let take = CheckpointOptions { no_environment: true, ..CheckpointOptions::default() };
    let first = block_on(writer.checkpoint(take.clone()))?.position.seq;
    block_on(writer.release())?;
    let mut found = Vec::new();
    walk(&directory, &mut |path| found.push(path)).map_err(failed)?;
    found.sort();
    let changed: Vec<&PathBuf> = found.iter().step_by((found.len() / CHANGED).max(1)).take(CHANGED).collect();
    let (mut rewinds, mut walks) = (Times::default(), Times::default());
    for round in 0..ROUNDS {
        for path in &changed {
            files::write_atomic(path, format!("changed in round {round}\n").as_bytes(), 0o644)?;
        }
        block_on(ours.client.checkpoint(session, None, WriterOptions::default(), take.clone()))?;
        walks.of(|| walk(&directory, &mut |_| {}).map_err(failed))?;
        rewinds.of(|| {
            let options = ForkOptions { seq: Some(first), reason: ForkReason::Rewind, ..ForkOptions::default() };
            let request = RestoreRequest::default();
            let back = ours.client.rewind(session, options, WriterOptions::default(), &request);
            let (_, restored) = block_on(back)?;
            let report = restored.map(|restored| restored.report);
            match report.filter(|report| report.is_complete() && report.replaced == changed.len() as u64) {
                Some(_) => Ok(()),
                None => Err(Error::internal("not_rewound", "a rewind did not put ten files back")),
            }
        })?;
    }
    let mut row = |name: &str, ours: &mut Vec<f64>, other: &mut Vec<f64>, unit: &str| {
        let (ours, other) = (median(ours), median(other));
        table.row(&Row { name, ours, other, unit, ratio: ours / other, target: Target::AtMost(2.5) });
    };
    row("rewind, ten files changed / a stat walk", &mut rewinds.cpu, &mut walks.cpu, "CPU s");
    row("rewind, ten files changed / a stat walk", &mut rewinds.wall, &mut walks.wall, "s");
    Ok(())
}
