//! Writers that are careless: what they lose must be seen, or the other tests prove nothing.

use crate::cuts::{After, replay};
use crate::planned::CARELESS;
use crate::recording::{Recording, Worker};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// This writer has done so much.
#[derive(Debug, Serialize, Deserialize)]
struct Act(Careless, i64);

/// What a writer leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Careless {
    /// Nothing.
    Careful,
    /// The sync of a commit: SQLite with `synchronous = NORMAL`.
    Commit,
    /// The sync of the file before it gets its name.
    File,
    /// The sync of the directory after.
    Directory,
}

const ALL: [Careless; 4] = [Careless::Careful, Careless::Commit, Careless::File, Careless::Directory];

fn open(folder: &Path, careless: Careless) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(folder.join(format!("{careless:?}.db"))).unwrap();
    let synchronous = if careless == Careless::Commit { "NORMAL" } else { "FULL" };
    let settings = format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};");
    database.execute_batch(&settings).unwrap();
    database
}

#[test]
fn child() {
    let Some(worker) = Worker::this() else { return };
    let databases: Vec<_> = [Careless::Careful, Careless::Commit]
        .into_iter()
        .map(|careless| {
            let database = open(&worker.mount, careless);
            database.execute_batch("CREATE TABLE IF NOT EXISTS row (number INTEGER PRIMARY KEY);").unwrap();
            (careless, database)
        })
        .collect();
    for number in 1..=40 {
        for (careless, database) in &databases {
            database.execute("INSERT INTO row VALUES (?1)", [number]).unwrap();
            worker.acknowledge(&Act(*careless, number));
        }
        for careless in [Careless::File, Careless::Directory] {
            write_file(&worker.mount, careless, number);
            worker.acknowledge(&Act(careless, number));
        }
    }
}

fn path(folder: &Path, careless: Careless) -> std::path::PathBuf {
    folder.join(format!("{careless:?}.txt"))
}

fn write_file(folder: &Path, careless: Careless, number: i64) {
    let temporary = folder.join("temporary");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary).unwrap();
    file.write_all(number.to_string().as_bytes()).unwrap();
    if careless != Careless::File {
        file.sync_all().unwrap();
    }
    fs::rename(&temporary, path(folder, careless)).unwrap();
    if careless != Careless::Directory {
        fs::File::open(folder).unwrap().sync_all().unwrap();
    }
}

/// How much of a writer's work is there.
fn found(folder: &Path, careless: Careless) -> i64 {
    match careless {
        Careless::Careful | Careless::Commit => {
            let count = "SELECT coalesce(max(number), 0) FROM row";
            open(folder, careless).query_row(count, [], |row| row.get(0)).unwrap_or(0)
        }
        Careless::File | Careless::Directory => {
            let text = fs::read_to_string(path(folder, careless)).unwrap_or_default();
            text.parse().unwrap_or(0)
        }
    }
}

fn losses(after: &After<'_, Act>) -> Vec<Careless> {
    let lost = |careless: &Careless| {
        let acknowledged = after.acts.iter().filter(|act| act.0 == *careless).map(|act| act.1).max();
        found(after.directory, *careless) < acknowledged.unwrap_or(0)
    };
    ALL.into_iter().filter(lost).collect()
}

#[test]
fn what_a_careless_writer_loses_is_seen() {
    let recording = Recording::make(|workload| {
        assert!(workload.start("careless::child", 0, None).wait().unwrap().success());
    });
    let Some(recording) = recording else { return };
    let counts = ALL.map(|careless| (careless, AtomicUsize::new(0)));
    replay(recording, &CARELESS, |after| {
        for lost in losses(after) {
            let (_, count) = counts.iter().find(|(careless, _)| *careless == lost).unwrap();
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    for (careless, count) in &counts {
        let lost = count.load(Ordering::Relaxed);
        assert_eq!(lost > 0, *careless != Careless::Careful, "{careless:?} lost something in {lost} cuts");
    }
}
