//! Transcripts of other harnesses.

use crate::support::{World, run, shared};
use samite::ReadOptions;
use samite::import::Importer;
use samite_host::files;
use std::path::{Path, PathBuf};

struct Counted {
    lines: u64,
    imported: u64,
    duplicates: u64,
    reported: u64,
    entries: u64,
}

async fn import(world: &World, directory: &Path) -> Counted {
    let mut importer = Importer::new(&world.client);
    let found = samite::import::claude_code::arrange(files::files_below(directory).unwrap().files);
    let mut sessions = Vec::new();
    for file in found {
        let open = || files::open_reader(&file.path).unwrap();
        let became = importer.transcript(&file.path, open(), open(), &mut |_| {}).await.unwrap();
        sessions.push(became.session);
        sessions.extend(became.sidechains);
    }
    sessions.sort();
    sessions.dedup();
    let mut entries = 0;
    for session in sessions {
        for branch in world.client.branches(session).await.unwrap() {
            let own = branch.forked_at.map_or(1, |at| at.seq + 1);
            let options = ReadOptions { from: own, ..ReadOptions::default() };
            let all = world.client.read(session, Some(branch.id), options).await.unwrap().all().await.unwrap();
            entries += all.iter().filter(|entry| entry.is_event()).count() as u64;
        }
    }
    let total = importer.accounting();
    Counted {
        lines: total.lines(),
        imported: total.imported,
        duplicates: total.duplicates,
        reported: total.reported,
        entries,
    }
}

fn lines_of(directory: &Path) -> u64 {
    let files: Vec<PathBuf> = files::files_below(directory).unwrap().files;
    files
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| files::read(path).unwrap().split_inclusive(|byte| *byte == b'\n').count() as u64)
        .sum()
}

#[test]
fn every_line_of_real_transcripts_is_accounted_for_and_importing_twice_adds_nothing() {
    for name in ["claude-code", "claude-code-edge"] {
        let Some(directory) = shared(&format!("data/{name}")) else { return };
        let world = World::new();
        run(async {
            let first = import(&world, &directory).await;
            assert_eq!(first.lines, lines_of(&directory));
            assert_eq!(first.lines, first.imported + first.duplicates + first.reported);
            let second = import(&world, &directory).await;
            assert_eq!((second.imported, second.entries), (0, first.entries), "{name}");
            assert_eq!(second.lines, first.lines);
            let verified = world.store.verify(false, None).await.unwrap();
            assert!(verified.findings.is_empty(), "{:?}", verified.findings);
            assert!(verified.stale_views.is_empty(), "{:?}", verified.stale_views);
        });
    }
}
