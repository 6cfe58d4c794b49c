//! Transcripts of other harnesses.

use crate::support::{World, run, shared};
use samite::ReadOptions;
use samite::artifact::ArtifactFilter;
use samite::import::{Checkpoints, Harness, Imported, Importer};
use samite_host::files;
use samite_model::{EntryKind, SessionId};
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

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/imports")
}

/// What a session holds: how many entries of some kinds its branches have themselves.
pub(crate) async fn holds(world: &World, session: SessionId) -> Vec<(u16, usize)> {
    let kinds = [
        EntryKind::MESSAGE,
        EntryKind::MODEL_RESPONSE,
        EntryKind::EVENT,
        EntryKind::STEP_STARTED,
        EntryKind::STEP_COMPLETED,
        EntryKind::STEP_FAILED,
    ];
    let mut found: Vec<(u16, usize)> = kinds.iter().map(|kind| (kind.code(), 0)).collect();
    for branch in world.client.branches(session).await.unwrap() {
        let from = branch.forked_at.map_or(1, |at| at.seq + 1);
        let options = ReadOptions { from, ..ReadOptions::default() };
        let all = world.client.read(session, Some(branch.id), options).await.unwrap().all().await.unwrap();
        for (code, count) in &mut found {
            *count += all.iter().filter(|entry| entry.header.kind.code() == *code).count();
        }
    }
    found
}

pub(crate) async fn threads(world: &World, checkpoints: &Checkpoints) -> Vec<(String, Imported)> {
    let mut importer = Importer::new(&world.client);
    let mut found = Vec::new();
    for thread in checkpoints.threads().unwrap() {
        let became = importer.thread(checkpoints, &thread, &mut |_| {}).await.unwrap();
        found.push((thread, became));
    }
    assert_eq!(importer.accounting().lines(), checkpoints.rows().unwrap());
    found
}

pub(crate) async fn assert_sound(world: &World) {
    let verified = world.store.verify(false, None).await.unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    assert!(verified.stale_views.is_empty(), "{:?}", verified.stale_views);
}

/// Checks what the graph of the fixtures left in threads of some rows.
async fn assert_threads(world: &World, checkpoints: &Checkpoints, rows: [u64; 2]) {
    let first = threads(world, checkpoints).await;
    let mut held = Vec::new();
    for ((thread, imported), (rows, doubts, branches)) in first.iter().zip([(rows[0], 0, 2), (rows[1], 1, 1)]) {
        let accounting = imported.report.accounting;
        assert_eq!((accounting.imported, accounting.reported), (rows, 0), "{thread}: {:?}", imported.report);
        let codes: Vec<_> = imported.report.findings.iter().map(|finding| finding.kind.code()).collect();
        assert_eq!(codes, vec!["in_doubt"; doubts], "{thread}");
        assert_eq!(world.client.branches(imported.session).await.unwrap().len(), branches, "{thread}");
        let counts: Vec<usize> = holds(world, imported.session).await.into_iter().map(|(_, count)| count).collect();
        held.push(counts);
    }
    // thread-1: three questions with a call, its result and an answer each, one call of which failed.
    let (one, two) = (usize::try_from(rows[0]).unwrap(), usize::try_from(rows[1]).unwrap());
    assert_eq!(held, [vec![6, 6, one, 3, 2, 1], vec![1, 1, two, 1, 0, 0]]);
    let second = threads(world, checkpoints).await;
    for ((thread, again), rows) in second.iter().zip(rows) {
        assert_eq!((again.report.accounting.imported, again.report.accounting.duplicates), (0, rows), "{thread}");
    }
    for ((_, imported), held) in first.iter().zip(held) {
        let counts: Vec<usize> = holds(world, imported.session).await.into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, held);
    }
    assert_sound(world).await;
}

#[test]
fn threads_of_a_real_sqlite_saver_become_sessions_with_their_forks_and_steps() {
    let world = World::new();
    let checkpoints = Checkpoints::open(&fixtures().join("langgraph/checkpoints.db")).unwrap();
    run(assert_threads(&world, &checkpoints, [39, 8]));
}

#[test]
fn threads_of_a_real_postgresql_dump_become_the_same() {
    let world = World::new();
    let checkpoints = Checkpoints::from_dump(&fixtures().join("langgraph/dump.sql"), &mut |_| {}).unwrap();
    run(assert_threads(&world, &checkpoints, [54, 11]));
}

/// `SAMITE_TEST_POSTGRESQL` is the address of a server where this test may make tables in a schema of its own name.
#[test]
fn threads_of_a_postgresql_server_become_the_same() {
    let Ok(address) = std::env::var("SAMITE_TEST_POSTGRESQL") else {
        eprintln!("SKIPPED: SAMITE_TEST_POSTGRESQL names no PostgreSQL server");
        return;
    };
    let psql = |arguments: &[&str]| {
        let mut command = std::process::Command::new("psql");
        command.arg(&address).args(["-qX", "-v", "ON_ERROR_STOP=1"]).args(arguments);
        assert!(command.status().unwrap().success(), "{arguments:?}");
    };
    let tables = "checkpoints, checkpoint_blobs, checkpoint_writes, checkpoint_migrations";
    psql(&["-c", &format!("DROP TABLE IF EXISTS {tables}")]);
    let place = tempfile::tempdir().unwrap();
    let dump = String::from_utf8(files::read(&fixtures().join("langgraph/dump.sql")).unwrap()).unwrap();
    // Servers of other versions do not know it.
    let dump = dump.replace("SET transaction_timeout = 0;", "");
    files::write_atomic(&place.path().join("dump.sql"), dump.as_bytes(), 0o600).unwrap();
    psql(&["-f", &place.path().join("dump.sql").to_string_lossy()]);
    // However the server writes bytes by itself.
    for form in ["hex", "escape"] {
        let sign = if address.contains('?') { '&' } else { '?' };
        let address = format!("{address}{sign}options=-c%20bytea_output%3D{form}");
        let world = World::new();
        let checkpoints = Checkpoints::from_server(&address, &mut |_| {}).unwrap();
        run(assert_threads(&world, &checkpoints, [54, 11]));
    }
    psql(&["-c", &format!("DROP TABLE {tables}")]);
    let error = Checkpoints::from_server(&address, &mut |_| {}).unwrap_err();
    assert_eq!(error.code(), "checkpoints_unreadable");
    assert!(error.message().contains("checkpoints"), "{error:?}");
}

#[test]
fn a_database_that_grew_adds_its_new_rows() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    let whole = fixtures().join("langgraph/checkpoints.db");
    let path = place.path().join("checkpoints.db");
    files::write_atomic(&path, &files::read(&whole).unwrap(), 0o600).unwrap();
    run(async {
        let cut = rusqlite::Connection::open(&path).unwrap();
        let newest = "checkpoint_id >= '1f1ec5ed-061d'";
        cut.execute_batch(&format!("DELETE FROM checkpoints WHERE {newest}; DELETE FROM writes WHERE {newest}"))
            .unwrap();
        let first = threads(&world, &Checkpoints::open(&path).unwrap()).await;
        let then = threads(&world, &Checkpoints::open(&whole).unwrap()).await;
        assert_eq!(first[0].1.session, then[0].1.session);
        let accounting = (first[0].1.report.accounting, then[0].1.report.accounting);
        assert_eq!(accounting.1.imported + accounting.1.duplicates, 39);
        assert_eq!(accounting.1.duplicates, accounting.0.imported);
        let counts: Vec<usize> = holds(&world, then[0].1.session).await.into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, [6, 6, 39, 3, 2, 1]);
        assert_sound(&world).await;
    });
}

#[test]
fn rows_that_cannot_be_decoded_or_hang_off_nothing_are_kept_and_named() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("checkpoints.db");
    files::write_atomic(&path, &files::read(&fixtures().join("langgraph/checkpoints.db")).unwrap(), 0o600).unwrap();
    run(async {
        let database = rusqlite::Connection::open(&path).unwrap();
        // cos.system: a pickle that would run a command.
        database
            .execute_batch(
                "DELETE FROM checkpoints WHERE thread_id = 'thread-1'; DELETE FROM writes WHERE thread_id = 'thread-1';
                 UPDATE checkpoints SET type = 'pickle', checkpoint = x'63706f7369780a73797374656d0a'
                     WHERE checkpoint_id LIKE '1f1ec5ed-07c9%';
                 UPDATE writes SET value = x'93' WHERE checkpoint_id LIKE '1f1ec5ed-07c7%' AND idx = 0;
                 INSERT INTO writes VALUES ('thread-2', '', 'gone', 't', '', 0, 'notes', 'msgpack', x'a178');
                 INSERT INTO checkpoints VALUES ('thread-2', 'inner:1', '1', 'gone', 'msgpack', x'80', '{}')",
            )
            .unwrap();
        let found = threads(&world, &Checkpoints::open(&path).unwrap()).await;
        let (report, inner) = (&found[0].1.report, found[0].1.sidechains[0]);
        let codes: Vec<_> = report.findings.iter().map(|finding| (finding.line, finding.kind.code())).collect();
        let expected =
            [(2, "undecodable"), (4, "undecodable"), (7, "in_doubt"), (9, "parent_missing"), (10, "parent_missing")];
        assert_eq!((codes, report.accounting.imported, report.accounting.reported), (expected.to_vec(), 6, 4));
        let parent = world.client.session(inner).await.unwrap().created.parent.unwrap();
        assert_eq!(parent.session, found[0].1.session);
        assert_sound(&world).await;
    });
}

/// An item with a file as base64.
fn item(id: &str, name: &str, base64: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"role\":\"user\",\"content\":[{{\"type\":\"input_file\",\
         \"filename\":\"{name}\",\"file_data\":\"data:text/plain;base64,{base64}\"}}]}}\n"
    )
}

/// Imports items, and says what was added, with name, version and bytes of each artifact, and the kinds of all entries.
async fn items(world: &World, directory: &Path, text: &str) -> (u64, Vec<(String, u64, String)>, Vec<EntryKind>) {
    let path = directory.join("chat.jsonl");
    files::write_atomic(&path, text.as_bytes(), 0o600).unwrap();
    let mut importer = Importer::new(&world.client);
    let became = importer.source(Harness::Responses, &path, &mut |_| {}).await.unwrap();
    let mut artifacts = Vec::new();
    let filter = ArtifactFilter { session: Some(became.session), all_versions: true, ..ArtifactFilter::default() };
    for artifact in world.client.artifacts(&filter).await.unwrap() {
        let mut bytes = Vec::new();
        world.client.artifact_bytes(artifact.record.artifact, None, &mut bytes).await.unwrap();
        artifacts.push((artifact.record.name, artifact.record.version, String::from_utf8(bytes).unwrap()));
    }
    let all = world.client.read(became.session, None, ReadOptions::default()).await.unwrap().all().await.unwrap();
    assert_sound(world).await;
    let kinds = all.iter().map(|entry| entry.header.kind).collect();
    (became.report.accounting.imported, artifacts, kinds)
}

#[test]
fn attachments_are_artifacts_before_their_item_and_importing_again_makes_no_version() {
    let world = World::new();
    let place = tempfile::tempdir().unwrap();
    run(async {
        let (message, published) = (EntryKind::MESSAGE, EntryKind::ARTIFACT_PUBLISHED);
        // "one" twice, then "two", then "one" again, all under one name.
        let mut text = item("a", "x.txt", "b25l") + &item("b", "x.txt", "b25l") + &item("c", "x.txt", "dHdv");
        text += &item("d", "x.txt", "b25l");
        let version = |name: &str, version, bytes: &str| (name.to_owned(), version, bytes.to_owned());
        let mut right = vec![version("x.txt", 1, "one"), version("x.txt", 2, "two"), version("x.txt", 3, "one")];
        // What is there already is no new version, and is known by one more id.
        let mut kinds = [published, message].repeat(4);
        assert_eq!(items(&world, place.path(), &text).await, (4, right.clone(), kinds.clone()));
        assert_eq!(items(&world, place.path(), &text).await, (0, right.clone(), kinds.clone()));
        // What was added since is all that is; an item that was changed since is told, and has its file.
        text += &item("e", "y.txt", "dGhyZWU=");
        let text = text.replace("dHdv", "VFdP");
        right.extend([version("x.txt", 4, "TWO"), version("y.txt", 1, "three")]);
        kinds.extend([published, message, published, message]);
        assert_eq!(items(&world, place.path(), &text).await, (1, right.clone(), kinds.clone()));
        assert_eq!(items(&world, place.path(), &text).await, (0, right, kinds));
    });
}

/// Imports what a harness left in a directory beside the repository, twice.
fn assert_imported_once(harness: Harness, name: &str, expected: (u64, u64)) {
    let Some(directory) = shared(&format!("data/{name}")) else { return };
    let world = World::new();
    run(async {
        let found = harness.arrange(files::files_below(&directory).unwrap().files);
        let mut counts = Vec::new();
        for _ in 0..2 {
            let mut importer = Importer::new(&world.client);
            for path in &found {
                match importer.source(harness, path, &mut |_| {}).await {
                    Ok(_) => {}
                    Err(error) => assert_eq!(error.code(), "not_a_transcript", "{}", path.display()),
                }
            }
            let accounting = importer.accounting();
            counts.push((accounting.imported, accounting.duplicates, accounting.reported));
        }
        let (imported, reported) = expected;
        assert_eq!(counts, [(imported, 0, reported), (0, imported, reported)], "{name}");
        assert_sound(&world).await;
    });
}

#[test]
fn real_sources_of_other_harnesses_are_imported_once() {
    assert_imported_once(Harness::Codex, "codex", (59, 1));
    assert_imported_once(Harness::GeminiCli, "gemini", (26, 0));
    assert_imported_once(Harness::SweAgent, "swe-agent", (348, 0));
}

#[test]
fn a_real_conversation_of_openhands_is_imported_once_with_its_fork() {
    let world = World::new();
    run(async {
        let found = Harness::OpenHands.arrange(files::files_below(&fixtures().join("openhands")).unwrap().files);
        assert_eq!(found.len(), 1);
        let mut importer = Importer::new(&world.client);
        let one = importer.source(Harness::OpenHands, &found[0], &mut |_| {}).await.unwrap();
        let branches = world.client.branches(one.session).await.unwrap();
        assert_eq!((branches.len(), one.report.accounting.imported), (2, 14));
        let counts: Vec<usize> = holds(&world, one.session).await.into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, [7, 6, 1, 4, 1, 2]);
        let again = importer.source(Harness::OpenHands, &found[0], &mut |_| {}).await.unwrap();
        assert_eq!((again.report.accounting.imported, again.report.accounting.duplicates), (0, 14));
        assert_sound(&world).await;
    });
}
